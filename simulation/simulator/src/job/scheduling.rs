//! The scheduling of ranks: running, waiting and ending.

use pelago_base::{Duration, Instant, Rank};
use pelago_platform::{Fault, For};
use pelago_report::StopReason;

use super::rank_state::{RankState, RunState};
use super::tokens::WakeUp;
use super::{SimulatedJob, WaitReason};
use crate::costs::cores::Admission;
use crate::ranks::fiber;

/// The weights of a poll without result and of a clock reading, in the count of a rank's polls since it last waited or computed.
pub(crate) const POLL: u32 = 1000;
pub(crate) const CLOCK_READING: u32 = 1;

/// Polling weight that takes no virtual time. Each further poll or clock reading takes [`POLL_TIME`].
const FREE_POLLING_MAX: u32 = 64 * POLL;
const POLL_TIME: Duration = Duration::from_nanoseconds(100);

/// Maximum number of consecutive waits during which virtual time does not advance. Further waits no longer reset the count of polls.
const INSTANT_WAITS_MAX: u32 = 4096;

/// Number of polls of a thread that take no time after another thread of its rank has waited.
const THREAD_POLLS: u32 = 4;

/// Longest interval at which the threads of a rank check whether they can continue.
const THREAD_SLICE: Duration = Duration::from_microseconds(1);

impl SimulatedJob {
    /// Counts a poll without result or a clock reading by its weight; returns the time that it takes, if any.
    pub(crate) fn count_poll(&mut self, rank: Rank, weight: u32) -> Option<Duration> {
        let state = &mut self.ranks[rank.index()];
        state.polling = state.polling.saturating_add(weight);
        (state.polling > FREE_POLLING_MAX).then_some(POLL_TIME)
    }

    /// Resets the count of polls after a rank has computed, as time has passed. With several threads the count is kept, as another thread may poll.
    pub(crate) fn note_computed(&mut self, rank: Rank) {
        if !fiber::has_threads() {
            self.ranks[rank.index()].polling = 0;
        }
    }

    /// Begins the running rank's check of whether it must wait. The check may take time.
    pub(crate) fn begin_check(&mut self) {
        if let Some(rank) = self.running {
            self.ranks[rank.index()].missed_event = false;
        }
    }

    /// Whether an event for `rank` has occurred during its check, so that it must check again.
    pub(crate) fn has_missed_event(&self, rank: Rank) -> bool {
        self.ranks[rank.index()].missed_event
    }

    /// Marks `rank` as waiting for `what`, or until its deadline.
    pub(crate) fn park(&mut self, rank: Rank, until: Option<Instant>, what: For) {
        self.stop(rank, RunState::Parked(what), until);
        if self.is_driven() {
            self.attend(rank);
        }
    }

    /// Marks `rank` as asleep until its deadline.
    pub(crate) fn sleep(&mut self, rank: Rank, until: Instant) {
        self.stop(rank, RunState::Asleep, Some(until));
    }

    /// Marks `rank`, which polls memory without a call, as waiting for a write to its memory, or until its deadline.
    pub(crate) fn stop_polling(&mut self, rank: Rank, until: Option<Instant>) {
        self.stop(rank, RunState::Polling, until);
        if self.is_driven() {
            self.attend(rank);
        }
    }

    /// Enters a barrier of the bootstrap; returns whether the rank was the last, in which case the others are woken.
    pub(crate) fn enter_meeting(&mut self, rank: Rank) -> bool {
        self.ranks[rank.index()].is_meeting = true;
        self.arrived += 1;
        self.end_meeting_if_complete()
    }

    /// Wakes the ranks in a barrier of the bootstrap if all ranks that have not ended have entered it.
    fn end_meeting_if_complete(&mut self) -> bool {
        if self.arrived == 0 || self.arrived < self.size() - self.ended {
            return false;
        }
        self.arrived = 0;
        self.meetings += 1;
        self.ranks.iter_mut().for_each(|state| state.is_meeting = false);
        self.make_all_ready();
        true
    }

    /// Records that a rank is about to run.
    pub(crate) fn resume(&mut self, rank: Rank) {
        self.running = Some(rank);
        self.has_coroutines = true;
        let (now, state) = (self.network.now(), &mut self.ranks[rank.index()]);
        if let Some(since) = state.parked_since.take() {
            state.instant_waits = if now > since { 0 } else { state.instant_waits.saturating_add(1) };
            if state.instant_waits <= INSTANT_WAITS_MAX {
                state.polling = 0;
            }
        }
        if let Some(recorder) = &mut self.recorder {
            recorder.resumed(rank, self.network.now());
        }
    }

    /// Returns the ranks that wait for more than a deadline, with the reason of each.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = (Rank, WaitReason)> {
        (0..).map(Rank::new).zip(&self.ranks).filter_map(|(rank, state)| {
            let waiting = match state.state {
                RunState::Parked(_) if state.is_meeting => WaitReason::Meeting,
                RunState::Parked(For::Memory | For::Line(_)) => WaitReason::Memory,
                RunState::Polling => WaitReason::Polling,
                RunState::Parked(For::AtMost(left)) => WaitReason::Operations(state.in_flight.saturating_sub(left)),
                RunState::Parked(For::Anything) => WaitReason::Anything(state.in_flight),
                _ => return None,
            };
            Some((rank, waiting))
        })
    }

    /// Records a fault of the job, or a tolerated failure of a rank, and wakes all waiting ranks. After a fault no rank waits again, so that the
    /// end of a job whose ranks all fail takes time proportional to their number.
    pub(crate) fn fail(&mut self, fault: Fault) {
        match fault {
            Fault::PeerLost(rank) if self.tolerates_peer_failures => {
                if !self.tolerated_failures.contains(&rank) {
                    self.tolerated_failures.push(rank);
                }
            }
            _ if self.fault.is_some() => return,
            _ => self.fault = Some(fault),
        }
        self.make_all_ready();
    }

    /// Records a rank that has died or that others consider failed. Failures after the fault of the job, and those that it tolerates, are not recorded.
    pub(super) fn note_failed_rank(&mut self, rank: Rank) {
        if self.fault.is_none() && !self.tolerates_peer_failures {
            self.failed_ranks.insert(rank);
        }
    }

    /// Returns the ranks that have died, or that others have considered failed, before the job had a fault, unless it continues without them.
    pub(crate) fn failed_ranks(&self) -> impl Iterator<Item = Rank> {
        self.failed_ranks.iter().copied()
    }

    /// Marks a rank as ended, as its body has ended or never runs again. The others do not wait for it in a barrier of the bootstrap any more, unless
    /// the job has a fault, which ends their waits.
    pub(crate) fn end_rank(&mut self, rank: Rank) {
        let RankState { state, is_meeting, .. } = &mut self.ranks[rank.index()];
        if *state != RunState::Ended {
            *state = RunState::Ended;
            self.arrived -= u32::from(std::mem::take(is_meeting));
            self.ended += 1;
            if let Some(recorder) = &mut self.recorder {
                recorder.stopped(rank, self.network.now(), StopReason::Ended);
            }
            self.give_core_up(rank.number());
            if self.fault.is_none() {
                self.end_meeting_if_complete();
            }
        }
    }

    /// Whether a rank has ended or died.
    pub(crate) fn is_ended(&self, rank: Rank) -> bool {
        self.ranks[rank.index()].state == RunState::Ended
    }

    /// Whether a rank that works needs one of the cores that ranks share. The threads of a rank take turns without them.
    pub(super) fn sleeps_on_core(&self) -> bool {
        self.cores.is_some() && !fiber::has_threads()
    }

    fn stop(&mut self, rank: Rank, mut state: RunState, mut until: Option<Instant>) {
        if fiber::has_threads() {
            // One thread may wait for a change by another thread, which is not an event: each checks again after a slice at the latest.
            let slice = self.now() + THREAD_SLICE;
            until = Some(until.map_or(slice, |until| until.min(slice)));
            state = RunState::Parked(For::Anything);
        }
        let known = &mut self.ranks[rank.index()];
        known.state = state;
        if let Some(recorder) = &mut self.recorder {
            let why = if state == RunState::Asleep { StopReason::Computing } else { StopReason::Waiting };
            recorder.stopped(rank, self.network.now(), why);
        }
        if fiber::has_threads() {
            // Another thread may poll, so that the count is not reset.
            known.polling = known.polling.min(FREE_POLLING_MAX - THREAD_POLLS * POLL);
        } else if state != RunState::Asleep {
            known.parked_since = Some(self.network.now());
        }
        // Slices of a core end a computation, not the timer.
        let is_sliced = state == RunState::Asleep && self.cores.is_some();
        let at = known.timer.set(self.network.now(), until.filter(|_| !is_sliced));
        if let Some(cores) = &mut self.cores {
            if is_sliced {
                let until = until.unwrap_or(self.network.now());
                cores.begin(rank, until.since(self.network.now()));
                return self.compute_on_core(rank.number());
            }
            self.give_core_up(rank.number());
        }
        self.schedule_timer(rank.number(), at);
    }

    fn schedule_timer(&mut self, number: u32, at: Option<Instant>) {
        if let Some(at) = at {
            self.network.wake_at(at, number, WakeUp::Rank { rank: number }.token());
        }
    }

    /// Wakes a rank that has stopped; wakes a sleeping rank only at its deadline.
    pub(crate) fn make_ready(&mut self, number: u32, at_deadline: bool) {
        let RankState { state, missed_event, .. } = &mut self.ranks[number as usize];
        if matches!(state, RunState::Parked(_) | RunState::Polling) || (at_deadline && *state == RunState::Asleep) {
            *state = RunState::Ready;
            self.admit(number);
        } else {
            *missed_event |= *state == RunState::Asleep;
        }
    }

    /// Handles an event of the timer of a rank's wait. The wait may be over, and its deadline later than the event.
    pub(super) fn handle_timer(&mut self, number: u32) {
        let (now, RankState { state, timer, .. }) = (self.network.now(), &mut self.ranks[number as usize]);
        let is_due = timer.is_due(now);
        if !matches!(state, RunState::Parked(_) | RunState::Polling | RunState::Asleep) {
            return;
        }
        if is_due {
            return self.make_ready(number, true);
        }
        let at = timer.schedule(now);
        self.schedule_timer(number, at);
    }

    /// Ends a slice of a rank that computes, which may have to yield its core to others before it has finished.
    pub(super) fn end_slice(&mut self, number: u32) {
        let (now, is_computing) = (self.network.now(), self.ranks[number as usize].state == RunState::Asleep);
        let Some(cores) = self.cores.as_mut().filter(|_| is_computing) else { return };
        if cores.end_slice(number, now, self.noise.as_ref()) == Duration::ZERO {
            self.make_ready(number, true);
        } else if cores.is_wanted(number) {
            self.give_core_up(number);
            self.admit(number);
        } else {
            self.compute_on_core(number);
        }
    }

    /// Lets a rank run as soon as it has a core.
    pub(super) fn admit(&mut self, number: u32) {
        let admission = match &mut self.cores {
            None if self.noise.is_none() => return self.ready.push_back(number),
            None => Admission::After(Duration::ZERO),
            Some(cores) => cores.admit(number),
        };
        match admission {
            Admission::After(Duration::ZERO) if !self.is_interrupted(number) => self.run_on_core(number),
            Admission::After(switch) => self.switch_to(number, switch),
            Admission::Queued => {}
        }
    }

    /// Whether the core of a rank is interrupted.
    fn is_interrupted(&self, number: u32) -> bool {
        let now = self.network.now();
        self.core(number).finish(now, Duration::ZERO) > now
    }

    /// Lets a rank that has a core run after the switch to it.
    fn switch_to(&mut self, number: u32, switch: Duration) {
        let at = self.core(number).finish(self.network.now(), switch);
        self.network.wake_at(at, number, WakeUp::Core { rank: number }.token());
    }

    /// Runs a rank that has been given a core.
    pub(super) fn run_on_core(&mut self, number: u32) {
        match self.ranks[number as usize].state {
            RunState::Ready => self.ready.push_back(number),
            RunState::Asleep => self.compute_on_core(number),
            // The rank has ended meanwhile.
            _ => self.give_core_up(number),
        }
    }

    /// Lets a rank compute for a slice on its core, or until it has finished.
    fn compute_on_core(&mut self, number: u32) {
        let now = self.network.now();
        let Some(cores) = &mut self.cores else { return };
        let until = cores.begin_slice(number, now, self.noise.as_ref());
        self.network.wake_at(until, number, WakeUp::Slice { rank: number }.token());
    }

    fn give_core_up(&mut self, number: u32) {
        if let Some((next, switch)) = self.cores.as_mut().and_then(|cores| cores.release(number)) {
            self.switch_to(next, switch);
        }
    }

    fn make_all_ready(&mut self) {
        (0..self.size()).for_each(|number| self.make_ready(number, false));
    }
}
