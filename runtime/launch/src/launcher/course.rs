//! The course of a job as a state machine: what happened goes in with its time, what to do to the ranks comes out.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use pelago_base::limits::FAILED_RANKS_MAX;
use pelago_base::{Duration, Instant, Rank};
use pelago_platform::Fault;
use pelago_shm::RankStage;
use serde::{Deserialize, Serialize};

use super::limits::{COLLECT, LEAVE, STOP_LOOKS, TERMINATE};
use super::outcome::{Death, Outcome, Process};

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum End {
    Code(i32),
    Signal(i32),
    /// By the kernel, probably because memory ran out.
    Memory,
}

/// How long things may take; `None` is for ever.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Until ranks have joined once all of them run.
    pub(super) start: Option<Duration>,
    /// The job.
    pub(super) time: Option<Duration>,
    /// For how long a rank may be stopped while others run. Whoever looks does so [`STOP_LOOKS`] times meanwhile.
    pub(super) failure: Duration,
}

/// What to do to the ranks that are left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    /// Tell them that all ranks of all hosts have come to this meeting.
    Release(u64),
    /// Tell them what is wrong with the job.
    Tell(Fault),
    /// Tell them that the job goes on without this rank.
    Lose(Rank),
    /// End this rank.
    KillOne(Rank),
    /// Ask them to end.
    Terminate,
    /// End them.
    Kill,
}

/// Which ranks take part.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Census {
    /// Whether any has ever joined.
    pub(super) joined: bool,
    /// The first that runs and has not joined.
    pub(super) absent: Option<Process>,
    /// How many more of that kind there are.
    pub(super) absent_besides: u32,
}

/// The course of one job, from the first rank's start to the last one's end.
pub(super) struct Course {
    program: String,
    /// Ranks not yet started or not yet ended. Where other hosts start ranks while the job ends, it is too low.
    left: u32,
    unstarted: u32,
    limits: Limits,
    time_end: Option<Instant>,
    /// Until when all ranks should have joined; known when all are started.
    start_end: Option<Instant>,
    /// The first rank that ended in peace without having joined.
    bystander: Option<Process>,
    /// Whether a rank ended that took part.
    took_part: bool,
    outcome: Option<Outcome>,
    tell: Option<Fault>,
    /// Whether the job goes on when ranks are lost; how it lost some, and those that the others have still to be told of.
    survives: bool,
    losses: Vec<Outcome>,
    lost: VecDeque<Rank>,
    /// Ranks that are stopped, and how often that was seen while another ran; those that are to be ended for it, and those that were.
    stopped: BTreeMap<Rank, (Process, u32)>,
    condemned: VecDeque<Rank>,
    executed: Vec<Rank>,
    terminate_at: Option<Instant>,
    kill_at: Option<Instant>,
    /// When ranks that cannot be killed are left to the kernel.
    give_up_at: Option<Instant>,
}

impl Course {
    pub(super) fn new(program: String, ranks: u32, limits: Limits, now: Instant) -> Self {
        Self {
            program,
            left: ranks,
            unstarted: ranks,
            limits,
            time_end: limits.time.map(|limit| now + limit),
            start_end: None,
            bystander: None,
            took_part: false,
            outcome: None,
            tell: None,
            survives: false,
            losses: Vec::new(),
            lost: VecDeque::new(),
            stopped: BTreeMap::new(),
            condemned: VecDeque::new(),
            executed: Vec::new(),
            terminate_at: None,
            kill_at: None,
            give_up_at: None,
        }
    }

    /// Whether another rank should be started.
    pub(super) fn wants_start(&self) -> bool {
        self.unstarted > 0
    }

    /// Whether every rank has ended.
    pub(super) fn is_over(&self) -> bool {
        self.left == 0
    }

    /// Whether the job ends for another reason than that its ranks finished.
    pub(super) fn is_ending(&self) -> bool {
        self.outcome.is_some()
    }

    /// A rank was started.
    pub(super) fn handle_start(&mut self, now: Instant) {
        self.unstarted -= 1;
        if self.unstarted == 0 {
            self.start_end = self.limits.start.map(|limit| now + limit);
        }
    }

    /// A rank could not be started.
    pub(super) fn handle_start_failure(&mut self, now: Instant, rank: Rank, why: String) {
        self.end(now, Outcome::NotStarted(rank, why), Duration::ZERO);
    }

    /// A rank's process ended.
    pub(super) fn handle_end(&mut self, now: Instant, process: Process, end: End, stage: RankStage) {
        self.left = self.left.saturating_sub(1);
        if self.outcome.is_some() {
            return self.amend(process, end);
        }
        let rank = process.rank;
        self.stopped.remove(&rank);
        match (end, stage) {
            (End::Signal(_) | End::Memory, _) if self.executed.contains(&rank) => {
                self.lose(now, rank, Outcome::Lost(process, Death::Stopped(self.limits.failure)));
            }
            (End::Memory, _) => self.lose(now, rank, Outcome::Lost(process, Death::Memory)),
            (End::Code(0), RankStage::Finished) => self.took_part = true,
            (End::Code(0), RankStage::Absent) => _ = self.bystander.get_or_insert(process),
            (End::Code(0), _) => self.lose(now, rank, Outcome::Lost(process, Death::Silent)),
            (End::Code(code), _) => self.lose(now, rank, Outcome::Failed(process, code)),
            (End::Signal(signal), _) => self.lose(now, rank, Outcome::Lost(process, Death::Signal(signal))),
        }
        if self.left == 0
            && self.outcome.is_none()
            && let Some(bystander) = self.bystander.take()
        {
            let foreign = Outcome::Foreign(self.program.clone());
            self.outcome = Some(if self.took_part { Outcome::Left(bystander) } else { foreign });
        }
    }

    /// A rank is stopped, and was seen so once more. Where all are, as by a user who stops the job, nobody waits for any of them.
    pub(super) fn handle_stop(&mut self, now: Instant, process: Process) {
        let rank = process.rank;
        self.stopped.entry(rank).or_insert((process, 0)).1 += 1;
        if self.stopped.len() >= self.left as usize {
            return self.stopped.values_mut().for_each(|(_, seen)| *seen = 0);
        }
        let (process, seen) = &self.stopped[&rank];
        if *seen <= STOP_LOOKS || self.outcome.is_some() || self.executed.contains(&rank) {
            return;
        }
        if self.survives {
            // Others must not go on without a rank that could wake up.
            self.executed.push(rank);
            self.condemned.push_back(rank);
        } else {
            let outcome = Outcome::Lost(process.clone(), Death::Stopped(self.limits.failure));
            self.lose(now, rank, outcome);
        }
    }

    /// A rank is stopped no longer.
    pub(super) fn handle_continuation(&mut self, rank: Rank) {
        self.stopped.remove(&rank);
    }

    /// A host cannot take part; none of its ranks runs.
    pub(super) fn handle_unready(&mut self, now: Instant, host: Arc<str>, why: String) {
        self.end(now, Outcome::Unready(host, why), Duration::ZERO);
    }

    /// A host is lost with its ranks, `count` from `first` on.
    pub(super) fn handle_host_loss(&mut self, now: Instant, host: Arc<str>, first: Rank, count: u32) {
        let outcome = Outcome::HostLost { host, first, count };
        let its = |rank: Rank| (first.number()..first.number() + count).contains(&rank.number());
        match &self.outcome {
            None if self.survives && self.losses.len() + count as usize <= FAILED_RANKS_MAX => {
                self.lost.extend((first.number()..first.number() + count).map(Rank::new));
                self.losses.push(outcome);
            }
            None => self.lose(now, first, outcome),
            Some(Outcome::Lost(lost, Death::Hearsay) | Outcome::Unreachable(lost))
                if self.terminate_at.is_some() && its(lost.rank) =>
            {
                self.outcome = Some(outcome);
            }
            Some(_) => {}
        }
    }

    /// The ranks have found the job at fault; `process` is the rank that is lost or cannot be reached, if it is that fault.
    pub(super) fn handle_fault(&mut self, now: Instant, fault: Fault, process: Option<Process>) {
        let outcome = match (fault, process) {
            (Fault::PeerLost(rank), Some(process)) if self.stopped.contains_key(&rank) => {
                Outcome::Lost(process, Death::Stopped(self.limits.failure))
            }
            (Fault::PeerLost(_), Some(process)) => Outcome::Lost(process, Death::Hearsay),
            (Fault::Unreachable(_), Some(process)) => Outcome::Unreachable(process),
            (Fault::Deadlock, _) => Outcome::Deadlock,
            _ => Outcome::Aborted,
        };
        self.end(now, outcome, LEAVE);
    }

    /// The launcher was asked to end the job; asked again, it does so at once.
    pub(super) fn handle_signal(&mut self, now: Instant, signal: i32) {
        match self.outcome {
            Some(Outcome::Interrupted(_)) => self.kill_at = self.kill_at.and(Some(now)),
            Some(_) => self.terminate_at = self.terminate_at.and(Some(now)),
            None => self.end(now, Outcome::Interrupted(signal), Duration::ZERO),
        }
    }

    /// The program wants to go on when ranks are lost.
    pub(super) fn handle_survival(&mut self) {
        self.survives = true;
    }

    /// The output cannot be written.
    pub(super) fn handle_output(&mut self, now: Instant, error: rustix::io::Errno) {
        self.end(now, Outcome::Output(error), Duration::ZERO);
    }

    /// Time has passed.
    pub(super) fn handle_time(&mut self, now: Instant) {
        if let (Some(limit), true) = (self.limits.time, self.left > 0 && reached(self.time_end, now)) {
            self.end(now, Outcome::TimeLimit(limit), Duration::ZERO);
        }
        if reached(self.give_up_at, now) {
            self.left = 0;
        }
    }

    /// Whether it matters now which ranks take part.
    pub(super) fn wants_census(&self, now: Instant) -> bool {
        self.outcome.is_none() && self.left > 0 && (reached(self.start_end, now) || self.bystander.is_some())
    }

    /// This is how the ranks did at `now`.
    pub(super) fn handle_census(&mut self, now: Instant, census: Census) {
        let late = reached(self.start_end, now);
        let limit = self.limits.start.unwrap_or(Duration::ZERO);
        match (self.bystander.take(), census.absent) {
            (Some(bystander), _) if census.joined => self.lose(now, bystander.rank, Outcome::Left(bystander)),
            (_, Some(_)) if late && !census.joined => {
                self.end(now, Outcome::Idle(self.program.clone(), limit), Duration::ZERO);
            }
            (_, Some(absent)) if late => self.end(now, Outcome::Late(absent, census.absent_besides, limit), Duration::ZERO),
            (bystander, _) => {
                self.bystander = bystander;
                self.start_end = self.start_end.filter(|_| !late);
            }
        }
    }

    /// What to do now, if anything; ask again until there is nothing.
    pub(super) fn poll_action(&mut self, now: Instant) -> Option<Action> {
        if let Some(fault) = self.tell.take() {
            return Some(Action::Tell(fault));
        }
        if let Some(rank) = self.lost.pop_front() {
            return Some(Action::Lose(rank));
        }
        if let Some(rank) = self.condemned.pop_front() {
            return Some(Action::KillOne(rank));
        }
        if reached(self.terminate_at, now) {
            self.terminate_at = None;
            self.kill_at = Some(now + TERMINATE);
            return Some(Action::Terminate);
        }
        if reached(self.kill_at, now) {
            self.kill_at = None;
            self.give_up_at = Some(now + COLLECT);
            return Some(Action::Kill);
        }
        None
    }

    /// When to look again without an event.
    pub(super) fn next_deadline(&self) -> Option<Instant> {
        let limits = [self.time_end, self.start_end].into_iter().filter(|_| self.outcome.is_none());
        limits.chain([self.terminate_at, self.kill_at, self.give_up_at]).flatten().min()
    }

    /// How the job ended, once it is over.
    pub(super) fn into_outcome(self) -> Outcome {
        let mut losses = self.losses;
        match self.outcome {
            Some(outcome) => outcome,
            None if losses.is_empty() => Outcome::Finished,
            // Nobody was left to go on.
            None if !self.took_part => losses.swap_remove(0),
            None => Outcome::Survived(losses),
        }
    }

    /// Ends the job because of a rank, unless it goes on without it; the others are told, and so leave by themselves.
    fn lose(&mut self, now: Instant, rank: Rank, outcome: Outcome) {
        if self.survives && self.outcome.is_none() && self.losses.len() < FAILED_RANKS_MAX {
            self.lost.push_back(rank);
            return self.losses.push(outcome);
        }
        self.tell = Some(Fault::PeerLost(rank));
        self.end(now, outcome, LEAVE);
    }

    /// Ends the job unless it is ending already: what happened first is what is reported.
    fn end(&mut self, now: Instant, outcome: Outcome, leave: Duration) {
        if self.outcome.is_some() {
            return;
        }
        self.outcome = Some(outcome);
        self.left = self.left.saturating_sub(std::mem::take(&mut self.unstarted));
        self.terminate_at = Some(now + leave);
    }

    /// Learns more about a cause that was known by hearsay, while the ranks end by themselves.
    fn amend(&mut self, process: Process, end: End) {
        let known = match (&self.outcome, end) {
            _ if self.terminate_at.is_none() => return,
            (Some(Outcome::Lost(lost, Death::Hearsay)), _) if lost.rank != process.rank => return,
            (Some(Outcome::Lost(_, Death::Hearsay)), End::Memory) => Outcome::Lost(process, Death::Memory),
            (Some(Outcome::Lost(_, Death::Hearsay)), End::Signal(signal)) => Outcome::Lost(process, Death::Signal(signal)),
            (Some(Outcome::Lost(_, Death::Hearsay)), End::Code(0)) => Outcome::Lost(process, Death::Silent),
            // Those who gave up because the job was ended say so with code 3, also one that others could not hear; who ended it has another.
            (Some(Outcome::Lost(_, Death::Hearsay)), End::Code(3)) => return,
            (Some(Outcome::Lost(_, Death::Hearsay)), End::Code(code)) => Outcome::Failed(process, code),
            (Some(Outcome::Aborted), End::Code(code)) if code != 0 && code != 3 => Outcome::Failed(process, code),
            _ => return,
        };
        self.outcome = Some(known);
    }
}

fn reached(moment: Option<Instant>, now: Instant) -> bool {
    moment.is_some_and(|moment| now >= moment)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launcher::outcome::Place;

    const SECOND: Duration = Duration::from_milliseconds(1000);
    const TWO_SECONDS: Duration = Duration::from_milliseconds(2000);
    const LIMITS: Limits = Limits { start: Some(SECOND), time: Some(TWO_SECONDS), failure: SECOND };
    const ENDLESS: Limits = Limits { start: None, time: None, failure: SECOND };

    fn at(milliseconds: u64) -> Instant {
        Instant::ZERO + Duration::from_milliseconds(milliseconds)
    }

    fn process(rank: u32) -> Process {
        Process { rank: Rank::new(rank), place: Place::Here(100 + rank) }
    }

    /// A job of three ranks that all run.
    fn course() -> Course {
        let mut course = Course::new("program".into(), 3, LIMITS, at(0));
        (0..3).for_each(|_| course.handle_start(at(0)));
        course
    }

    fn actions(course: &mut Course, now: Instant) -> Vec<Action> {
        std::iter::from_fn(|| course.poll_action(now)).collect()
    }

    fn census(joined: bool, absent: Option<u32>) -> Census {
        Census { joined, absent: absent.map(process), absent_besides: 0 }
    }

    #[test]
    fn a_program_that_survives_goes_on_until_nobody_is_left() {
        let process = |rank| Process { rank: Rank::new(rank), place: Place::Here(100 + rank) };
        let killed = |rank| Outcome::Lost(process(rank), Death::Signal(9));
        let running = || {
            let mut course = Course::new("program".into(), 3, ENDLESS, Instant::ZERO);
            (0..3).for_each(|_| course.handle_start(Instant::ZERO));
            course.handle_survival();
            course.handle_end(Instant::ZERO, process(1), End::Signal(9), RankStage::Joined);
            assert_eq!(course.poll_action(Instant::ZERO), Some(Action::Lose(Rank::new(1))));
            assert!(course.poll_action(Instant::ZERO).is_none() && !course.is_ending());
            course
        };
        let mut course = running();
        [0, 2].into_iter().for_each(|rank| course.handle_end(Instant::ZERO, process(rank), End::Code(0), RankStage::Finished));
        assert_eq!((course.is_over(), course.into_outcome()), (true, Outcome::Survived(vec![killed(1)])));

        let mut course = running();
        course.handle_end(Instant::ZERO, process(0), End::Code(7), RankStage::Joined);
        course.handle_end(Instant::ZERO, process(2), End::Code(0), RankStage::Finished);
        let outcome = course.into_outcome();
        assert_eq!(outcome, Outcome::Survived(vec![killed(1), Outcome::Failed(process(0), 7)]));
        assert_eq!((outcome.exit_code(), Outcome::Survived(vec![killed(1)]).exit_code()), (1, 0));

        let mut course = running();
        [0, 2].into_iter().for_each(|rank| course.handle_end(Instant::ZERO, process(rank), End::Signal(9), RankStage::Joined));
        assert_eq!(course.into_outcome(), killed(1), "nobody was left");
    }

    #[test]
    fn ranks_that_finish_are_a_good_job() {
        let mut course = course();
        (0..3).for_each(|rank| course.handle_end(at(1), process(rank), End::Code(0), RankStage::Finished));
        course.handle_time(at(5000));
        assert!(course.is_over() && actions(&mut course, at(5000)).is_empty());
        assert_eq!(course.into_outcome(), Outcome::Finished);
    }

    #[test]
    fn the_first_loss_is_reported_and_the_rest_is_ended_step_by_step() {
        let mut course = course();
        course.handle_end(at(10), process(1), End::Signal(9), RankStage::Joined);
        course.handle_end(at(20), process(0), End::Code(3), RankStage::Joined);
        assert_eq!(actions(&mut course, at(20)), [Action::Tell(Fault::PeerLost(Rank::new(1)))]);
        assert_eq!(course.next_deadline(), Some(at(510)));
        assert_eq!(actions(&mut course, at(510)), [Action::Terminate]);
        assert_eq!(actions(&mut course, at(760)), [Action::Kill]);
        course.handle_end(at(761), process(2), End::Signal(9), RankStage::Joined);
        assert!(course.is_over());
        assert_eq!(course.into_outcome(), Outcome::Lost(process(1), Death::Signal(9)));
    }

    #[test]
    fn a_rank_that_leaves_in_the_middle_is_lost() {
        let mut course = course();
        course.handle_end(at(1), process(2), End::Code(0), RankStage::Joined);
        assert_eq!(course.into_outcome(), Outcome::Lost(process(2), Death::Silent));
    }

    #[test]
    fn hearsay_is_replaced_by_the_end_of_the_rank_that_is_lost() {
        let mut course = course();
        course.handle_fault(at(1), Fault::PeerLost(Rank::new(2)), Some(process(2)));
        course.handle_end(at(2), process(0), End::Code(3), RankStage::Joined);
        course.handle_end(at(3), process(2), End::Code(101), RankStage::Failed);
        assert_eq!(course.into_outcome(), Outcome::Failed(process(2), 101));
    }

    #[test]
    fn ranks_killed_by_the_launcher_are_no_cause() {
        let mut course = course();
        course.handle_fault(at(1), Fault::PeerLost(Rank::new(2)), Some(process(2)));
        assert_eq!(actions(&mut course, at(600)), [Action::Terminate]);
        course.handle_end(at(601), process(2), End::Signal(15), RankStage::Failed);
        assert_eq!(course.into_outcome(), Outcome::Lost(process(2), Death::Hearsay));
    }

    #[test]
    fn a_host_is_lost_with_all_its_ranks_and_explains_what_was_heard_of_one() {
        let lost = Outcome::HostLost { host: "b".into(), first: Rank::new(1), count: 2 };
        let mut first = course();
        first.handle_host_loss(at(1), "b".into(), Rank::new(1), 2);
        assert_eq!(actions(&mut first, at(1)), [Action::Tell(Fault::PeerLost(Rank::new(1)))]);
        assert_eq!(first.into_outcome(), lost);

        let mut heard = course();
        heard.handle_fault(at(1), Fault::PeerLost(Rank::new(2)), Some(process(2)));
        heard.handle_host_loss(at(2), "b".into(), Rank::new(1), 2);
        assert_eq!(heard.into_outcome(), lost);

        let mut other = course();
        other.handle_fault(at(1), Fault::PeerLost(Rank::new(0)), Some(process(0)));
        other.handle_host_loss(at(2), "b".into(), Rank::new(1), 2);
        assert_eq!(other.into_outcome(), Outcome::Lost(process(0), Death::Hearsay));
    }

    #[test]
    fn a_rank_that_cannot_be_reached_is_not_said_to_be_lost() {
        let mut course = course();
        course.handle_fault(at(1), Fault::Unreachable(Rank::new(2)), Some(process(2)));
        course.handle_end(at(2), process(0), End::Code(3), RankStage::Joined);
        let outcome = course.into_outcome();
        assert_eq!((outcome.exit_code(), &outcome), (3, &Outcome::Unreachable(process(2))));
        assert!(outcome.to_string().contains("is alive but cannot be reached"), "{outcome}");
    }

    #[test]
    fn who_ended_the_job_is_named() {
        let mut course = course();
        course.handle_fault(at(1), Fault::Aborted, None);
        course.handle_end(at(2), process(0), End::Code(3), RankStage::Joined);
        course.handle_end(at(2), process(1), End::Code(7), RankStage::Joined);
        assert_eq!(course.into_outcome(), Outcome::Failed(process(1), 7));
    }

    #[test]
    fn programs_that_never_join_are_told_from_ranks_that_do_not() {
        let mut foreign = course();
        (0..3).for_each(|rank| foreign.handle_end(at(1), process(rank), End::Code(0), RankStage::Absent));
        assert_eq!(foreign.into_outcome(), Outcome::Foreign("program".into()));

        let mut idle = course();
        assert!(!idle.wants_census(at(999)) && idle.wants_census(at(1000)));
        idle.handle_census(at(1000), census(false, Some(0)));
        assert_eq!(actions(&mut idle, at(1000)), [Action::Terminate]);
        assert_eq!(idle.into_outcome(), Outcome::Idle("program".into(), SECOND));

        let mut late = course();
        late.handle_census(at(1000), census(true, Some(2)));
        assert_eq!(late.into_outcome(), Outcome::Late(process(2), 0, SECOND));

        let mut left = course();
        left.handle_end(at(1), process(1), End::Code(0), RankStage::Absent);
        assert!(left.wants_census(at(2)));
        left.handle_census(at(2), census(false, Some(0)));
        assert!(!left.is_ending() && left.wants_census(at(3)));
        left.handle_census(at(3), census(true, None));
        assert_eq!(actions(&mut left, at(3)), [Action::Tell(Fault::PeerLost(Rank::new(1)))]);
        assert_eq!(left.into_outcome(), Outcome::Left(process(1)));
    }

    #[test]
    fn ranks_that_joined_in_time_have_no_start_limit_any_more() {
        let mut course = course();
        course.handle_time(at(1000));
        course.handle_census(at(1000), census(true, None));
        assert!(!course.wants_census(at(1001)));
        assert_eq!(course.next_deadline(), Some(at(2000)));
        course.handle_time(at(2000));
        assert_eq!(course.into_outcome(), Outcome::TimeLimit(TWO_SECONDS));
    }

    #[test]
    fn a_second_interrupt_does_not_wait() {
        let mut course = course();
        course.handle_signal(at(1), 2);
        assert_eq!(actions(&mut course, at(1)), [Action::Terminate]);
        course.handle_signal(at(2), 2);
        assert_eq!(actions(&mut course, at(2)), [Action::Kill]);
        assert_eq!(course.into_outcome(), Outcome::Interrupted(2));
    }

    #[test]
    fn ranks_that_are_not_started_yet_need_not_end() {
        let mut course = Course::new("program".into(), 3, ENDLESS, at(0));
        course.handle_start(at(0));
        course.handle_start_failure(at(1), Rank::new(1), "no room".into());
        assert!(!course.wants_start() && !course.is_over());
        course.handle_end(at(2), process(0), End::Signal(15), RankStage::Absent);
        assert!(course.is_over());
        assert_eq!(course.into_outcome().exit_code(), 2);
    }

    /// How the job ends of whose ranks these were seen stopped so often, in this order.
    fn stop(course: &mut Course, seen: &[(u32, u32)]) {
        for &(rank, times) in seen {
            (0..times).for_each(|_| course.handle_stop(at(10), process(rank)));
        }
    }

    fn stopped(rank: u32) -> Outcome {
        Outcome::Lost(process(rank), Death::Stopped(SECOND))
    }

    #[test]
    fn a_rank_that_is_stopped_for_longer_than_the_limit_ends_the_job() {
        let mut course = course();
        stop(&mut course, &[(1, STOP_LOOKS)]);
        assert!(!course.is_ending(), "as long as the limit, it may be");
        course.handle_continuation(Rank::new(1));
        stop(&mut course, &[(1, STOP_LOOKS), (2, STOP_LOOKS)]);
        assert!(!course.is_ending(), "it ran in between");
        stop(&mut course, &[(2, 1)]);
        assert_eq!(actions(&mut course, at(10)), [Action::Tell(Fault::PeerLost(Rank::new(2)))]);
        let outcome = course.into_outcome();
        assert_eq!((outcome.exit_code(), &outcome), (3, &stopped(2)));
        assert!(outcome.to_string().contains("was stopped, not dead, for longer than the failure limit of 1 s"), "{outcome}");
    }

    #[test]
    fn a_job_that_is_stopped_as_a_whole_waits_for_nobody() {
        let mut course = course();
        stop(&mut course, &[(0, STOP_LOOKS), (1, STOP_LOOKS), (2, 100), (0, 100), (1, 100)]);
        assert!(!course.is_ending());
        course.handle_continuation(Rank::new(0));
        stop(&mut course, &[(1, STOP_LOOKS)]);
        assert!(!course.is_ending(), "the others are as if stopped just now");
        stop(&mut course, &[(1, 1)]);
        assert_eq!(course.into_outcome(), stopped(1));
    }

    #[test]
    fn who_is_the_only_rank_left_may_be_stopped() {
        let mut course = course();
        [0, 1].into_iter().for_each(|rank| course.handle_end(at(1), process(rank), End::Code(0), RankStage::Finished));
        stop(&mut course, &[(2, 100)]);
        assert!(!course.is_ending());
    }

    #[test]
    fn a_program_that_survives_goes_on_without_a_stopped_rank_once_that_is_dead() {
        let mut course = course();
        course.handle_survival();
        stop(&mut course, &[(1, 100)]);
        assert_eq!(actions(&mut course, at(10)), [Action::KillOne(Rank::new(1))], "once");
        course.handle_end(at(11), process(1), End::Signal(9), RankStage::Joined);
        assert_eq!(actions(&mut course, at(11)), [Action::Lose(Rank::new(1))]);
        [0, 2].into_iter().for_each(|rank| course.handle_end(at(12), process(rank), End::Code(0), RankStage::Finished));
        assert_eq!(course.into_outcome(), Outcome::Survived(vec![stopped(1)]));
    }

    #[test]
    fn a_rank_that_others_do_not_hear_and_that_is_stopped_is_said_to_be() {
        let mut course = course();
        stop(&mut course, &[(2, 1)]);
        course.handle_fault(at(1), Fault::PeerLost(Rank::new(2)), Some(process(2)));
        assert_eq!(course.into_outcome(), stopped(2));
    }

    #[test]
    fn a_rank_that_the_kernel_killed_for_its_memory_says_so() {
        let mut course = course();
        course.handle_end(at(1), process(0), End::Memory, RankStage::Joined);
        let outcome = course.into_outcome();
        assert_eq!(outcome, Outcome::Lost(process(0), Death::Memory));
        assert!(outcome.to_string().contains("killed by signal 9 (SIGKILL), probably because memory ran out"), "{outcome}");
    }

    #[test]
    fn ranks_that_cannot_be_killed_are_left() {
        let mut course = course();
        course.handle_signal(at(0), 15);
        assert_eq!(actions(&mut course, at(0)), [Action::Terminate]);
        assert_eq!(actions(&mut course, at(250)), [Action::Kill]);
        let end = course.next_deadline().unwrap();
        assert_eq!(end, at(250) + COLLECT);
        course.handle_time(at(300));
        assert!(!course.is_over());
        course.handle_time(end);
        assert!(course.is_over());
    }
}
