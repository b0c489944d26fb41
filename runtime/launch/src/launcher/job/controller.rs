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

/// An event of the ranks of a host, or of its launcher.
pub(crate) enum RankEvent {
    /// The next rank was started.
    Started,
    /// The rank could not be started.
    NotStarted(Rank, String),
    /// A rank's process has ended, when the rank was at this stage.
    Ended(RankProcess, ProcessEnd, RankStage),
    /// A rank is stopped: reported at each check, which happens a few times per failure limit.
    Stopped(RankProcess),
    /// The rank is no longer stopped.
    Continued(Rank),
    /// The ranks have reported a fault, with the rank that failed or is unreachable, if this is the fault and the rank is on this host.
    Fault(Fault, Option<RankProcess>),
    /// The program continues after the failure of ranks.
    FaultTolerant,
    /// All ranks of this host have entered this barrier of the bootstrap, counted from 1.
    Met(u64),
    /// The launcher was asked to end the job.
    Signal(i32),
}

/// Decides about the ranks of a host. The event loop reports events and output to it, and executes its actions.
pub(crate) trait Controller {
    /// Handles an event.
    fn handle(&mut self, now: Instant, event: RankEvent);

    /// Handles the passage of time.
    fn handle_time(&mut self, now: Instant);

    /// Whether the participation of the ranks is relevant now.
    fn wants_census(&self, now: Instant) -> bool;

    /// Handles the participation of the ranks.
    fn handle_census(&mut self, now: Instant, census: Census);

    /// Whether another rank should be started.
    fn wants_start(&self) -> bool;

    /// Whether every rank has ended.
    fn is_over(&self) -> bool;

    /// Whether the job ends for another reason than the completion of its ranks.
    fn is_ending(&self) -> bool;

    /// Returns the next action, if there is one; to be called until there is none.
    fn poll_action(&mut self, now: Instant) -> Option<RankAction>;

    /// Returns the time of the next check without an event.
    fn next_deadline(&self) -> Option<Instant>;

    /// Accepts output of a rank on its standard output (0) or error (1), as a [`LineSink`] does.
    fn push(&mut self, stream: usize, rank: Rank, bytes: &[u8]);

    /// Whether to read more output of that stream from the ranks.
    fn has_room(&self, stream: usize) -> bool;

    /// Returns the descriptors to wait for in addition to the ranks.
    fn interest(&self) -> impl Iterator<Item = PollFd<'_>>;

    /// Forwards queued output; `false` if none is left and there is room for more of every stream.
    fn pump(&mut self, now: Instant) -> bool;

    /// Called after all output of the ranks has arrived.
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

    /// Returns the outcome of the job, after its end.
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
            // There are no other hosts.
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
        // The line about the outcome of the job follows here.
        if self.state.is_ending() {
            let [_, error] = &mut self.writers;
            error.close_line();
        }
    }
}
