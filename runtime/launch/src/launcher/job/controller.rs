//! Who leads the ranks of a host: decides about them, and takes what they write.

use pelago_base::{Instant, Rank};
use pelago_platform::Fault;
use pelago_shm::RankStage;
use rustix::event::PollFd;

use crate::launcher::job::outcome::{Outcome, Process};
use crate::launcher::job::state_machine::{Action, Census, Course, End};
use crate::launcher::output::lines::Sink;
use crate::launcher::output::writer::Outlet;

/// What happened to the ranks of a host, or to its launcher.
pub(crate) enum Event {
    /// The next rank was started.
    Started,
    /// It could not be.
    NotStarted(Rank, String),
    /// A rank's process has ended, after the rank had come so far.
    Ended(Process, End, RankStage),
    /// A rank is stopped: said each time that the launcher looks, which is a few times per failure limit.
    Stopped(Process),
    /// It is stopped no longer.
    Continued(Rank),
    /// The ranks have found the job at fault; this is the rank that is lost or cannot be reached, if it is that fault and the rank is of this
    /// host.
    Fault(Fault, Option<Process>),
    /// The program wants to go on when ranks are lost.
    Survives,
    /// All ranks of this host have come to this meeting, counted from 1.
    Met(u64),
    /// The launcher was asked to end the job.
    Signal(i32),
}

/// What `Watch` asks, tells and gives the output to.
pub(crate) trait Lead {
    /// Something happened.
    fn handle(&mut self, now: Instant, event: Event);

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
    fn poll_action(&mut self, now: Instant) -> Option<Action>;

    /// When to look again without an event.
    fn next_deadline(&self) -> Option<Instant>;

    /// Takes what a rank wrote to its standard output (0) or error (1), as a [`Sink`] does.
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

/// The only launcher of a job.
pub(crate) struct Alone {
    course: Course,
    outlets: [Outlet; 2],
}

impl Alone {
    pub(crate) fn new(course: Course, outlets: [Outlet; 2]) -> Self {
        Self { course, outlets }
    }

    /// How the job ended, once it is over.
    pub(crate) fn into_outcome(self) -> Outcome {
        self.course.into_outcome()
    }
}

impl Lead for Alone {
    fn handle(&mut self, now: Instant, event: Event) {
        match event {
            Event::Started => self.course.handle_start(now),
            Event::NotStarted(rank, why) => self.course.handle_start_failure(now, rank, why),
            Event::Ended(process, end, stage) => self.course.handle_end(now, process, end, stage),
            Event::Stopped(process) => self.course.handle_stop(now, process),
            Event::Continued(rank) => self.course.handle_continuation(rank),
            Event::Fault(fault, process) => self.course.handle_fault(now, fault, process),
            Event::Signal(signal) => self.course.handle_signal(now, signal),
            Event::Survives => self.course.handle_survival(),
            // There are no others to meet.
            Event::Met(_) => {}
        }
    }

    fn handle_time(&mut self, now: Instant) {
        self.course.handle_time(now);
    }

    fn wants_census(&self, now: Instant) -> bool {
        self.course.wants_census(now)
    }

    fn handle_census(&mut self, now: Instant, census: Census) {
        self.course.handle_census(now, census);
    }

    fn wants_start(&self) -> bool {
        self.course.wants_start()
    }

    fn is_over(&self) -> bool {
        self.course.is_over()
    }

    fn is_ending(&self) -> bool {
        self.course.is_ending()
    }

    fn poll_action(&mut self, now: Instant) -> Option<Action> {
        self.course.poll_action(now)
    }

    fn next_deadline(&self) -> Option<Instant> {
        self.course.next_deadline()
    }

    fn push(&mut self, stream: usize, rank: Rank, bytes: &[u8]) {
        self.outlets[stream].push(rank, bytes);
    }

    fn has_room(&self, stream: usize) -> bool {
        self.outlets[stream].has_room()
    }

    fn interest(&self) -> impl Iterator<Item = PollFd<'_>> {
        self.outlets.iter().filter_map(Outlet::interest)
    }

    fn pump(&mut self, now: Instant) -> bool {
        for outlet in &mut self.outlets {
            outlet.flush();
            if let Some(error) = outlet.broken() {
                self.course.handle_output(now, error);
            }
        }
        self.outlets.iter().any(Outlet::is_waiting)
    }

    fn finish(&mut self) {
        // The line that says how the job ended follows here.
        if self.course.is_ending() {
            let [_, error] = &mut self.outlets;
            error.close_line();
        }
    }
}
