//! The interface between the event loop of a host and the controller that decides about its ranks and takes their output.
//!
//! A job of one host has a [`StandaloneController`]; on each host of a larger job, the node daemon is the controller.

use pelago_base::{Instant, Rank};
use pelago_platform::Fault;
use pelago_shm::RankStage;
use rustix::event::PollFd;

use crate::launcher::job::outcome::{JobOutcome, RankProcess};
use crate::launcher::job::state_machine::{Census, JobStateMachine, ProcessEnd, RankAction};
use crate::launcher::output::lines::LineSink;
use crate::launcher::output::writer::OutputWriter;

/// What happened to the ranks of a host, or to its launcher.
pub(crate) enum RankEvent {
    /// The next rank was started.
    Started,
    /// It could not be.
    NotStarted(Rank, String),
    /// A rank's process has ended, after the rank had come so far.
    Ended(RankProcess, ProcessEnd, RankStage),
    /// A rank is stopped: said each time that the launcher looks, which is a few times per failure limit.
    Stopped(RankProcess),
    /// It is stopped no longer.
    Continued(Rank),
    /// The ranks have reported a fault; this is the rank that failed or is unreachable, if that is the fault and the rank is of this host.
    Fault(Fault, Option<RankProcess>),
    /// The program continues after the failure of ranks.
    FaultTolerant,
    /// All ranks of this host have come to this meeting, counted from 1.
    Met(u64),
    /// The launcher was asked to end the job.
    Signal(i32),
}

/// Decides about the ranks of a host. The event loop reports events and output to it, and executes its actions.
pub(crate) trait Controller {
    /// Something happened.
    fn handle(&mut self, now: Instant, event: RankEvent);

    /// Time has passed.
    fn handle_time(&mut self, now: Instant);

    /// Whether it matters now which ranks take part.
    fn wants_census(&self, now: Instant) -> bool;

    /// This is how the ranks do.
    fn handle_census(&mut self, now: Instant, census: Census);

    /// Whether another rank should be started.
    fn wants_start(&self) -> bool;

    /// Whether every rank has ended.
    fn is_over(&self) -> bool;

    /// Whether the job ends for another reason than that its ranks finished.
    fn is_ending(&self) -> bool;

    /// What to do now, if anything; ask again until there is nothing.
    fn poll_action(&mut self, now: Instant) -> Option<RankAction>;

    /// When to look again without an event.
    fn next_deadline(&self) -> Option<Instant>;

    /// Takes what a rank wrote to its standard output (0) or error (1), as a [`LineSink`] does.
    fn push(&mut self, stream: usize, rank: Rank, bytes: &[u8]);

    /// Whether to read more of that stream from the ranks.
    fn has_room(&self, stream: usize) -> bool;

    /// What to wait for besides the ranks.
    fn interest(&self) -> impl Iterator<Item = PollFd<'_>>;

    /// Passes on what is on its way; `false` if nothing is left of it and there is room for more of every stream.
    fn pump(&mut self, now: Instant) -> bool;

    /// Everything that the ranks wrote has come.
    fn finish(&mut self);
}

/// The controller of a job of one host.
pub(crate) struct StandaloneController {
    state: JobStateMachine,
    writers: [OutputWriter; 2],
}

impl StandaloneController {
    pub(crate) fn new(state: JobStateMachine, writers: [OutputWriter; 2]) -> Self {
        Self { state, writers }
    }

    /// How the job ended, once it is over.
    pub(crate) fn into_outcome(self) -> JobOutcome {
        self.state.into_outcome()
    }
}

impl Controller for StandaloneController {
    fn handle(&mut self, now: Instant, event: RankEvent) {
        match event {
            RankEvent::Started => self.state.handle_start(now),
            RankEvent::NotStarted(rank, why) => self.state.handle_start_failure(now, rank, why),
            RankEvent::Ended(process, end, stage) => self.state.handle_end(now, process, end, stage),
            RankEvent::Stopped(process) => self.state.handle_stop(now, process),
            RankEvent::Continued(rank) => self.state.handle_continuation(rank),
            RankEvent::Fault(fault, process) => self.state.handle_fault(now, fault, process),
            RankEvent::Signal(signal) => self.state.handle_signal(now, signal),
            RankEvent::FaultTolerant => self.state.handle_fault_tolerant(),
            // There are no others to meet.
            RankEvent::Met(_) => {}
        }
    }

    fn handle_time(&mut self, now: Instant) {
        self.state.handle_time(now);
    }

    fn wants_census(&self, now: Instant) -> bool {
        self.state.wants_census(now)
    }

    fn handle_census(&mut self, now: Instant, census: Census) {
        self.state.handle_census(now, census);
    }

    fn wants_start(&self) -> bool {
        self.state.wants_start()
    }

    fn is_over(&self) -> bool {
        self.state.is_over()
    }

    fn is_ending(&self) -> bool {
        self.state.is_ending()
    }

    fn poll_action(&mut self, now: Instant) -> Option<RankAction> {
        self.state.poll_action(now)
    }

    fn next_deadline(&self) -> Option<Instant> {
        self.state.next_deadline()
    }

    fn push(&mut self, stream: usize, rank: Rank, bytes: &[u8]) {
        self.writers[stream].push(rank, bytes);
    }

    fn has_room(&self, stream: usize) -> bool {
        self.writers[stream].has_room()
    }

    fn interest(&self) -> impl Iterator<Item = PollFd<'_>> {
        self.writers.iter().filter_map(OutputWriter::interest)
    }

    fn pump(&mut self, now: Instant) -> bool {
        for writer in &mut self.writers {
            writer.flush();
            if let Some(error) = writer.broken() {
                self.state.handle_output(now, error);
            }
        }
        self.writers.iter().any(OutputWriter::is_waiting)
    }

    fn finish(&mut self) {
        // The line that says how the job ended follows here.
        if self.state.is_ending() {
            let [_, error] = &mut self.writers;
            error.close_line();
        }
    }
}
