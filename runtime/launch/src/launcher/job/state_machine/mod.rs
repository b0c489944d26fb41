//! The job state machine: its input is events with their times, its output actions on the ranks.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use pelago_base::{Duration, Instant, Rank};
use pelago_platform::Fault;
use pelago_shm::RankStage;
use pelago_shm::limits::FAILED_RANKS_MAX;
use serde::{Deserialize, Serialize};

use crate::launcher::job::outcome::{FailureCause, JobOutcome, RankProcess};
use crate::launcher::limits::{COLLECT, LEAVE, STOP_LOOKS, TERMINATE};

/// The end of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum ProcessEnd {
    Code(i32),
    Signal(i32),
    /// By the kernel, probably because memory ran out.
    OutOfMemory,
}

/// Time limits; `None` is for ever.
#[derive(Clone, Copy, Debug)]
pub(crate) struct JobLimits {
    /// Until ranks have joined, after all of them run.
    pub(crate) start: Option<Duration>,
    /// Of the job.
    pub(crate) time: Option<Duration>,
    /// Maximum time for which a rank may be stopped while others run. There are [`STOP_LOOKS`] checks within this time.
    pub(crate) failure: Duration,
}

/// An action on the remaining ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RankAction {
    /// Release the ranks from this barrier of the bootstrap: all ranks of all hosts have entered it.
    Release(u64),
    /// Report the waits of the ranks.
    Report,
    /// Notify them of a fault of the job.
    Tell(Fault),
    /// Notify them that the job continues without this failed rank.
    ContinueWithout(Rank),
    /// End this rank.
    KillOne(Rank),
    /// Ask them to end.
    Terminate,
    /// End them.
    Kill,
}

/// The participation of the ranks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Census {
    /// Whether any rank has ever joined.
    pub(crate) joined: bool,
    /// The first rank that runs and has not joined.
    pub(crate) absent: Option<RankProcess>,
    /// Number of further such ranks.
    pub(crate) absent_besides: u32,
    /// The count of events, if the ranks are still (`system::stillness`). Ranks of one host detect deadlocks themselves.
    pub(crate) still: Option<u64>,
}

/// The state of one job, from the start of its first rank to the end of its last.
pub(crate) struct JobStateMachine {
    program: String,
    /// Number of ranks that are not started or not ended. Too low if other hosts start ranks while the job ends.
    left: u32,
    unstarted: u32,
    limits: JobLimits,
    time_end: Option<Instant>,
    /// Deadline for the joining of all ranks; set after all are started.
    start_end: Option<Instant>,
    /// The first rank that ended with exit code 0 without having joined.
    unjoined: Option<RankProcess>,
    /// Whether a rank that had joined has ended.
    took_part: bool,
    outcome: Option<JobOutcome>,
    tell: Option<Fault>,
    /// Whether the job continues after the failure of ranks; the failures so far, and the failed ranks of which the others have not been notified.
    fault_tolerant: bool,
    failures: Vec<JobOutcome>,
    failed: VecDeque<Rank>,
    /// Stopped ranks, and the number of checks that found each stopped while another rank ran; ranks to kill for this, and ranks that were killed.
    stopped: BTreeMap<Rank, (RankProcess, u32)>,
    to_kill: VecDeque<Rank>,
    killed: Vec<Rank>,
    terminate_at: Option<Instant>,
    kill_at: Option<Instant>,
    /// Time at which ranks that cannot be killed are left to the kernel.
    give_up_at: Option<Instant>,
}

impl JobStateMachine {
    pub(crate) fn new(program: String, ranks: u32, limits: JobLimits, now: Instant) -> Self {
        Self {
            program,
            left: ranks,
            unstarted: ranks,
            limits,
            time_end: limits.time.map(|limit| now + limit),
            start_end: None,
            unjoined: None,
            took_part: false,
            outcome: None,
            tell: None,
            fault_tolerant: false,
            failures: Vec::new(),
            failed: VecDeque::new(),
            stopped: BTreeMap::new(),
            to_kill: VecDeque::new(),
            killed: Vec::new(),
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

    /// Whether the job ends for another reason than the completion of its ranks.
    pub(crate) fn is_ending(&self) -> bool {
        self.outcome.is_some()
    }

    /// Handles the start of a rank.
    pub(crate) fn handle_start(&mut self, now: Instant) {
        self.unstarted -= 1;
        if self.unstarted == 0 {
            self.start_end = self.limits.start.map(|limit| now + limit);
        }
    }

    /// Handles a failure to start a rank.
    pub(crate) fn handle_start_failure(&mut self, now: Instant, rank: Rank, why: String) {
        self.end(now, JobOutcome::NotStarted(rank, why), Duration::ZERO);
    }

    /// Handles the end of a rank's process.
    pub(crate) fn handle_end(&mut self, now: Instant, process: RankProcess, end: ProcessEnd, stage: RankStage) {
        self.left = self.left.saturating_sub(1);
        if self.outcome.is_some() {
            return self.amend(process, end);
        }
        let rank = process.rank;
        self.stopped.remove(&rank);
        match (end, stage) {
            (ProcessEnd::Signal(_) | ProcessEnd::OutOfMemory, _) if self.killed.contains(&rank) => {
                self.fail_rank(now, rank, JobOutcome::RankFailed(process, FailureCause::Stopped(self.limits.failure)));
            }
            (ProcessEnd::OutOfMemory, _) => self.fail_rank(now, rank, JobOutcome::RankFailed(process, FailureCause::OutOfMemory)),
            (ProcessEnd::Code(0), RankStage::Finished) => self.took_part = true,
            (ProcessEnd::Code(0), RankStage::Absent) => _ = self.unjoined.get_or_insert(process),
            (ProcessEnd::Code(0), _) => self.fail_rank(now, rank, JobOutcome::RankFailed(process, FailureCause::Silent)),
            (ProcessEnd::Code(code), _) => self.fail_rank(now, rank, JobOutcome::ExitCode(process, code)),
            (ProcessEnd::Signal(signal), _) => {
                self.fail_rank(now, rank, JobOutcome::RankFailed(process, FailureCause::Signal(signal)))
            }
        }
        if self.left == 0
            && self.outcome.is_none()
            && let Some(unjoined) = self.unjoined.take()
        {
            let foreign = JobOutcome::NotAPelagoProgram(self.program.clone());
            self.outcome = Some(if self.took_part { JobOutcome::LeftWithoutJoining(unjoined) } else { foreign });
        }
    }

    /// Handles a check that found a rank stopped. If all ranks are stopped, as by a user who stops the job, none of them has failed.
    pub(crate) fn handle_stop(&mut self, now: Instant, process: RankProcess) {
        let rank = process.rank;
        self.stopped.entry(rank).or_insert((process, 0)).1 += 1;
        if self.stopped.len() >= self.left as usize {
            return self.stopped.values_mut().for_each(|(_, seen)| *seen = 0);
        }
        let (process, seen) = &self.stopped[&rank];
        if *seen <= STOP_LOOKS || self.outcome.is_some() || self.killed.contains(&rank) {
            return;
        }
        if self.fault_tolerant {
            // The others must not continue without a rank that could resume.
            self.killed.push(rank);
            self.to_kill.push_back(rank);
        } else {
            let outcome = JobOutcome::RankFailed(process.clone(), FailureCause::Stopped(self.limits.failure));
            self.fail_rank(now, rank, outcome);
        }
    }

    /// Handles a rank that is no longer stopped.
    pub(crate) fn handle_continuation(&mut self, rank: Rank) {
        self.stopped.remove(&rank);
    }

    /// Handles a host that cannot take part; none of its ranks runs.
    pub(crate) fn handle_unready(&mut self, now: Instant, host: Arc<str>, why: String) {
        self.end(now, JobOutcome::HostNotReady(host, why), Duration::ZERO);
    }

    /// Handles the failure of a host with its ranks, `count` from `first` on.
    pub(crate) fn handle_host_failure(&mut self, now: Instant, host: Arc<str>, first: Rank, count: u32) {
        let outcome = JobOutcome::HostFailed { host, first, count };
        let its = |rank: Rank| (first.number()..first.number() + count).contains(&rank.number());
        match &self.outcome {
            None if self.fault_tolerant && self.failures.len() + count as usize <= FAILED_RANKS_MAX => {
                self.failed.extend((first.number()..first.number() + count).map(Rank::new));
                self.failures.push(outcome);
            }
            None => self.fail_rank(now, first, outcome),
            Some(JobOutcome::RankFailed(failed, FailureCause::ReportedByPeer) | JobOutcome::Unreachable(failed))
                if self.terminate_at.is_some() && its(failed.rank) =>
            {
                self.outcome = Some(outcome);
            }
            Some(_) => {}
        }
    }

    /// Handles a fault that the ranks have reported; `process` is the rank that failed or is unreachable, if this is the fault.
    pub(crate) fn handle_fault(&mut self, now: Instant, fault: Fault, process: Option<RankProcess>) {
        let outcome = match (fault, process) {
            (Fault::PeerLost(rank), Some(process)) if self.stopped.contains_key(&rank) => {
                JobOutcome::RankFailed(process, FailureCause::Stopped(self.limits.failure))
            }
            (Fault::PeerLost(_), Some(process)) => JobOutcome::RankFailed(process, FailureCause::ReportedByPeer),
            (Fault::Unreachable(_), Some(process)) => JobOutcome::Unreachable(process),
            (Fault::Deadlock, _) => JobOutcome::Deadlock,
            (Fault::Ended, _) => JobOutcome::Ended,
            _ => JobOutcome::Aborted,
        };
        self.end(now, outcome, LEAVE);
    }

    /// Handles a signal that asks the launcher to end the job; a second signal ends it immediately.
    pub(crate) fn handle_signal(&mut self, now: Instant, signal: i32) {
        match self.outcome {
            Some(JobOutcome::Interrupted(_)) => self.kill_at = self.kill_at.and(Some(now)),
            Some(_) => self.terminate_at = self.terminate_at.and(Some(now)),
            None => self.end(now, JobOutcome::Interrupted(signal), Duration::ZERO),
        }
    }

    /// Records that the program continues after the failure of ranks.
    pub(crate) fn handle_fault_tolerant(&mut self) {
        self.fault_tolerant = true;
    }

    /// Handles output that cannot be written.
    pub(crate) fn handle_output(&mut self, now: Instant, error: rustix::io::Errno) {
        self.end(now, JobOutcome::Output(error), Duration::ZERO);
    }

    /// Handles the passage of time.
    pub(crate) fn handle_time(&mut self, now: Instant) {
        if let (Some(limit), true) = (self.limits.time, self.left > 0 && reached(self.time_end, now)) {
            self.end(now, JobOutcome::TimeLimit(limit), Duration::ZERO);
        }
        if reached(self.give_up_at, now) {
            self.left = 0;
        }
    }

    /// Whether the participation of the ranks is relevant now.
    pub(crate) fn wants_census(&self, now: Instant) -> bool {
        self.outcome.is_none() && self.left > 0 && (reached(self.start_end, now) || self.unjoined.is_some())
    }

    /// Handles the participation of the ranks at `now`.
    pub(crate) fn handle_census(&mut self, now: Instant, census: Census) {
        let late = reached(self.start_end, now);
        let limit = self.limits.start.unwrap_or(Duration::ZERO);
        match (self.unjoined.take(), census.absent) {
            (Some(unjoined), _) if census.joined => self.fail_rank(now, unjoined.rank, JobOutcome::LeftWithoutJoining(unjoined)),
            (_, Some(_)) if late && !census.joined => {
                self.end(now, JobOutcome::NoRankJoined(self.program.clone(), limit), Duration::ZERO);
            }
            (_, Some(absent)) if late => {
                self.end(now, JobOutcome::RanksDidNotJoin(absent, census.absent_besides, limit), Duration::ZERO)
            }
            (unjoined, _) => {
                self.unjoined = unjoined;
                self.start_end = self.start_end.filter(|_| !late);
            }
        }
    }

    /// Returns the next action, if there is one; to be called until there is none.
    pub(crate) fn poll_action(&mut self, now: Instant) -> Option<RankAction> {
        if let Some(fault) = self.tell.take() {
            return Some(RankAction::Tell(fault));
        }
        if let Some(rank) = self.failed.pop_front() {
            return Some(RankAction::ContinueWithout(rank));
        }
        if let Some(rank) = self.to_kill.pop_front() {
            return Some(RankAction::KillOne(rank));
        }
        if reached(self.terminate_at, now) {
            self.terminate_at = None;
            self.kill_at = Some(now + TERMINATE);
            return Some(RankAction::Terminate);
        }
        if reached(self.kill_at, now) {
            self.kill_at = None;
            self.give_up_at = Some(now + COLLECT);
            return Some(RankAction::Kill);
        }
        None
    }

    /// Returns the time of the next check without an event.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        let limits = [self.time_end, self.start_end].into_iter().filter(|_| self.outcome.is_none());
        limits.chain([self.terminate_at, self.kill_at, self.give_up_at]).flatten().min()
    }

    /// Returns the outcome of the job, after its end.
    pub(crate) fn into_outcome(self) -> JobOutcome {
        let mut failures = self.failures;
        match self.outcome {
            Some(outcome) => outcome,
            None if failures.is_empty() => JobOutcome::Finished,
            // No rank was left to continue.
            None if !self.took_part => failures.swap_remove(0),
            None => JobOutcome::ContinuedAfterFailures(failures),
        }
    }

    /// Handles the failure of a rank: a fault-tolerant job continues, any other ends. The other ranks are notified, and leave by themselves.
    fn fail_rank(&mut self, now: Instant, rank: Rank, outcome: JobOutcome) {
        if self.fault_tolerant && self.outcome.is_none() && self.failures.len() < FAILED_RANKS_MAX {
            self.failed.push_back(rank);
            return self.failures.push(outcome);
        }
        self.tell = Some(Fault::PeerLost(rank));
        self.end(now, outcome, LEAVE);
    }

    /// Ends the job unless it is already ending: the first event is reported.
    fn end(&mut self, now: Instant, outcome: JobOutcome, leave: Duration) {
        if self.outcome.is_some() {
            return;
        }
        self.outcome = Some(outcome);
        self.left = self.left.saturating_sub(std::mem::take(&mut self.unstarted));
        self.terminate_at = Some(now + leave);
    }

    /// Completes the description of a failure that only another rank has reported so far, while the ranks end by themselves.
    fn amend(&mut self, process: RankProcess, end: ProcessEnd) {
        let known = match (&self.outcome, end) {
            _ if self.terminate_at.is_none() => return,
            (Some(JobOutcome::RankFailed(failed, FailureCause::ReportedByPeer)), _) if failed.rank != process.rank => return,
            (Some(JobOutcome::RankFailed(_, FailureCause::ReportedByPeer)), ProcessEnd::OutOfMemory) => {
                JobOutcome::RankFailed(process, FailureCause::OutOfMemory)
            }
            (Some(JobOutcome::RankFailed(_, FailureCause::ReportedByPeer)), ProcessEnd::Signal(signal)) => {
                JobOutcome::RankFailed(process, FailureCause::Signal(signal))
            }
            (Some(JobOutcome::RankFailed(_, FailureCause::ReportedByPeer)), ProcessEnd::Code(0)) => {
                JobOutcome::RankFailed(process, FailureCause::Silent)
            }
            // Ranks that end because of a fault of the job, including unreachable ones, have exit code 3; the rank that caused it has another code.
            (Some(JobOutcome::RankFailed(_, FailureCause::ReportedByPeer)), ProcessEnd::Code(3)) => return,
            (Some(JobOutcome::RankFailed(_, FailureCause::ReportedByPeer)), ProcessEnd::Code(code)) => {
                JobOutcome::ExitCode(process, code)
            }
            (Some(JobOutcome::Aborted), ProcessEnd::Code(code)) if code != 0 && code != 3 => JobOutcome::ExitCode(process, code),
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
