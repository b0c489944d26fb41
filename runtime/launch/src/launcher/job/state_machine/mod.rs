//! The course of a job as a state machine: what happened goes in with its time, what to do to the ranks comes out.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use pelago_base::limits::FAILED_RANKS_MAX;
use pelago_base::{Duration, Instant, Rank};
use pelago_platform::Fault;
use pelago_shm::RankStage;
use serde::{Deserialize, Serialize};

use crate::launcher::job::outcome::{Death, Outcome, Process};
use crate::launcher::limits::{COLLECT, LEAVE, STOP_LOOKS, TERMINATE};

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum End {
    Code(i32),
    Signal(i32),
    /// By the kernel, probably because memory ran out.
    Memory,
}

/// How long things may take; `None` is for ever.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Until ranks have joined once all of them run.
    pub(crate) start: Option<Duration>,
    /// The job.
    pub(crate) time: Option<Duration>,
    /// For how long a rank may be stopped while others run. Whoever looks does so [`STOP_LOOKS`] times meanwhile.
    pub(crate) failure: Duration,
}

/// What to do to the ranks that are left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
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
pub(crate) struct Census {
    /// Whether any has ever joined.
    pub(crate) joined: bool,
    /// The first that runs and has not joined.
    pub(crate) absent: Option<Process>,
    /// How many more of that kind there are.
    pub(crate) absent_besides: u32,
}

/// The course of one job, from the first rank's start to the last one's end.
pub(crate) struct Course {
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
    pub(crate) fn new(program: String, ranks: u32, limits: Limits, now: Instant) -> Self {
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
    pub(crate) fn wants_start(&self) -> bool {
        self.unstarted > 0
    }

    /// Whether every rank has ended.
    pub(crate) fn is_over(&self) -> bool {
        self.left == 0
    }

    /// Whether the job ends for another reason than that its ranks finished.
    pub(crate) fn is_ending(&self) -> bool {
        self.outcome.is_some()
    }

    /// A rank was started.
    pub(crate) fn handle_start(&mut self, now: Instant) {
        self.unstarted -= 1;
        if self.unstarted == 0 {
            self.start_end = self.limits.start.map(|limit| now + limit);
        }
    }

    /// A rank could not be started.
    pub(crate) fn handle_start_failure(&mut self, now: Instant, rank: Rank, why: String) {
        self.end(now, Outcome::NotStarted(rank, why), Duration::ZERO);
    }

    /// A rank's process ended.
    pub(crate) fn handle_end(&mut self, now: Instant, process: Process, end: End, stage: RankStage) {
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
    pub(crate) fn handle_stop(&mut self, now: Instant, process: Process) {
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
    pub(crate) fn handle_continuation(&mut self, rank: Rank) {
        self.stopped.remove(&rank);
    }

    /// A host cannot take part; none of its ranks runs.
    pub(crate) fn handle_unready(&mut self, now: Instant, host: Arc<str>, why: String) {
        self.end(now, Outcome::Unready(host, why), Duration::ZERO);
    }

    /// A host is lost with its ranks, `count` from `first` on.
    pub(crate) fn handle_host_loss(&mut self, now: Instant, host: Arc<str>, first: Rank, count: u32) {
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
    pub(crate) fn handle_fault(&mut self, now: Instant, fault: Fault, process: Option<Process>) {
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
    pub(crate) fn handle_signal(&mut self, now: Instant, signal: i32) {
        match self.outcome {
            Some(Outcome::Interrupted(_)) => self.kill_at = self.kill_at.and(Some(now)),
            Some(_) => self.terminate_at = self.terminate_at.and(Some(now)),
            None => self.end(now, Outcome::Interrupted(signal), Duration::ZERO),
        }
    }

    /// The program wants to go on when ranks are lost.
    pub(crate) fn handle_survival(&mut self) {
        self.survives = true;
    }

    /// The output cannot be written.
    pub(crate) fn handle_output(&mut self, now: Instant, error: rustix::io::Errno) {
        self.end(now, Outcome::Output(error), Duration::ZERO);
    }

    /// Time has passed.
    pub(crate) fn handle_time(&mut self, now: Instant) {
        if let (Some(limit), true) = (self.limits.time, self.left > 0 && reached(self.time_end, now)) {
            self.end(now, Outcome::TimeLimit(limit), Duration::ZERO);
        }
        if reached(self.give_up_at, now) {
            self.left = 0;
        }
    }

    /// Whether it matters now which ranks take part.
    pub(crate) fn wants_census(&self, now: Instant) -> bool {
        self.outcome.is_none() && self.left > 0 && (reached(self.start_end, now) || self.bystander.is_some())
    }

    /// This is how the ranks did at `now`.
    pub(crate) fn handle_census(&mut self, now: Instant, census: Census) {
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
    pub(crate) fn poll_action(&mut self, now: Instant) -> Option<Action> {
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
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        let limits = [self.time_end, self.start_end].into_iter().filter(|_| self.outcome.is_none());
        limits.chain([self.terminate_at, self.kill_at, self.give_up_at]).flatten().min()
    }

    /// How the job ended, once it is over.
    pub(crate) fn into_outcome(self) -> Outcome {
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
mod tests;
