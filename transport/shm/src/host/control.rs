//! The control blocks in the memory of a host: atomics only, valid when zero (invariant H2 of the crate).

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use pelago_base::Rank;
use pelago_base::limits::RANKS_MAX;
use pelago_platform::Fault;
use pelago_platform::limits::PUBLISHED_BYTES_MAX;
use pelago_sync::{Doorbell, Ring, Watch};

use crate::host::rank_report::RankReport;
use crate::host::region_table;
use crate::limits::{FAILED_RANKS_MAX, INBOX_SLOTS, PROGRESS_THREAD_REPLIES_MAX, SETTINGS_BYTES_MAX, STAGING_BYTES};

/// The control block of the job, at the start of the file. The constants are written before any rank starts.
#[repr(C, align(4096))]
pub struct JobControl {
    /// Identifies a file of this layout.
    pub(crate) magic: AtomicU64,
    /// Number of ranks of the job.
    pub(crate) ranks: AtomicU32,
    /// The first rank of this host.
    pub(crate) first: AtomicU32,
    /// Number of ranks of this host.
    pub(crate) count: AtomicU32,
    /// Size in bytes of each heap.
    pub(crate) heap_bytes: AtomicU64,
    /// The job's secret.
    pub(crate) key: [AtomicU64; 2],
    /// Number of entries in the table of hosts, which follows the control blocks.
    pub(crate) hosts: AtomicU32,
    /// Number of entries in each rank's table of registered regions, which follow the table of hosts.
    pub(crate) regions: AtomicU32,
    /// The PID namespace of the process that created the file: its number, or 0 if that is unknown.
    pub(crate) processes: AtomicU64,
    /// See `HostMemory::settings`: a text, padded by zeros.
    pub(crate) settings: [AtomicU64; SETTINGS_BYTES_MAX / 8],
    /// See [`JobControl::fault`].
    fault: AtomicU32,
    /// Number of arrivals of ranks of this host at meetings so far: the barriers by which ranks start and end together.
    pub(crate) arrivals: AtomicU64,
    /// The last meeting at which the ranks of all hosts have arrived. Not used where all ranks are on this host.
    pub(crate) released: AtomicU64,
    /// Whether the job continues after the failure of ranks.
    pub(crate) fault_tolerant: AtomicU32,
    /// Whether a rank has taken over the report of a deadlock.
    deadlock_reported: AtomicU32,
    /// The numbers of the failed ranks, plus 1, up to the first 0.
    pub(crate) failed_ranks: [AtomicU32; FAILED_RANKS_MAX],
}

/// The job has no fault.
const FAULT_NONE: u32 = 0;
const FAULT_ABORTED: u32 = 1;
const FAULT_DEADLOCK: u32 = 2;
const FAULT_ENDED: u32 = 3;
/// The word is this value plus the number of the first failed rank.
const FAULT_LOST: u32 = 4;
/// The word is this value plus the number of the first rank that is alive but unreachable.
const FAULT_UNREACHABLE: u32 = FAULT_LOST + RANKS_MAX;

impl JobControl {
    /// The first fault of the job, if any.
    #[inline]
    pub fn fault(&self) -> Option<Fault> {
        match self.fault.load(Ordering::Acquire) {
            FAULT_NONE => None,
            FAULT_ABORTED => Some(Fault::Aborted),
            FAULT_DEADLOCK => Some(Fault::Deadlock),
            FAULT_ENDED => Some(Fault::Ended),
            word => Some(match word.checked_sub(FAULT_UNREACHABLE) {
                Some(unreachable) => Fault::Unreachable(Rank::new(unreachable)),
                None => Fault::PeerLost(Rank::new(word - FAULT_LOST)),
            }),
        }
    }

    /// Returns whether the caller is the first that finds the job deadlocked: that rank reports where the ranks wait.
    pub fn claim_deadlock_report(&self) -> bool {
        self.deadlock_reported.swap(1, Ordering::AcqRel) == 0
    }

    /// Records a fault of the job, unless there already is one.
    pub(crate) fn set_fault(&self, fault: Fault) {
        let word = match fault {
            Fault::PeerLost(rank) => FAULT_LOST + rank.number(),
            Fault::Unreachable(rank) => FAULT_UNREACHABLE + rank.number(),
            Fault::Deadlock => FAULT_DEADLOCK,
            Fault::Ended => FAULT_ENDED,
            _ => FAULT_ABORTED,
        };
        let _ = self.fault.compare_exchange(FAULT_NONE, word, Ordering::AcqRel, Ordering::Relaxed);
    }
}

/// The control block of one rank. It begins with the rank's doorbell, where `Reach` looks for it.
#[repr(C, align(4096))]
pub struct RankControl {
    /// Rung after a write to the rank's memory or a reply to one of its requests.
    pub bell: Doorbell,
    /// Rung when a request was put into the inbox.
    pub(crate) progress_thread_bell: Doorbell,
    stage: AtomicU32,
    /// The process ID of the rank in the PID namespace of the job; 0 if the rank is in another one.
    pub(crate) process: AtomicU32,
    /// Number of the rank's threads that wait in the library now.
    pub waiting: AtomicU32,
    /// Number of the rank's threads that use the library.
    pub threads: AtomicU32,
    /// Number of waits of the rank that have ended: a rank whose count does not change while all its threads wait is stuck.
    pub moves: AtomicU64,
    /// Number of datagrams that the rank had sent and received when one of its sleeping threads last counted them.
    pub datagrams: AtomicU64,
    /// The last meeting at which the rank has arrived.
    pub(crate) meeting: AtomicU64,
    /// The waits of the rank, for reports.
    pub report: RankReport,
    /// Number of bytes of `published` in use.
    pub(crate) published_bytes: AtomicU32,
    /// Records that the rank published: see `HostMemory::publish`.
    pub(crate) published: [AtomicU64; PUBLISHED_BYTES_MAX / 8],
    /// Head of the table of registered regions.
    pub(crate) regions: region_table::RegionTableHead,
    /// Number of the rank's threads that poll the inbox or sleep on the bell.
    attending: Watch,
    /// Requests from other ranks.
    pub(crate) inbox: Ring<INBOX_SLOTS, REQUEST_WORDS>,
    /// Replies to this rank's requests.
    pub(crate) replies: [ReplySlot; PROGRESS_THREAD_REPLIES_MAX],
    /// Staging buffer for data to or from another rank's progress thread.
    pub(crate) staging: [AtomicU64; STAGING_BYTES / 8],
}

/// The stage of a rank's life in the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RankStage {
    /// The rank has not called the library.
    Absent,
    /// The rank takes part in the job.
    Joined,
    /// The rank has finished normally.
    Finished,
    /// The process of the rank has ended before it finished.
    Failed,
}

impl RankControl {
    /// The stage of the rank.
    pub fn stage(&self) -> RankStage {
        match self.stage.load(Ordering::Acquire) {
            0 => RankStage::Absent,
            1 => RankStage::Joined,
            2 => RankStage::Finished,
            _ => RankStage::Failed,
        }
    }

    /// Takes part as the rank from now on; `false` if a process has done so already.
    pub(crate) fn join(&self, process: u32) -> bool {
        let taken = [RankStage::Joined, RankStage::Finished].map(|stage| stage as u32);
        let join = |stage| (!taken.contains(&stage)).then_some(RankStage::Joined as u32);
        let joined = self.stage.fetch_update(Ordering::AcqRel, Ordering::Acquire, join).is_ok();
        if joined {
            self.process.store(process, Ordering::Release);
        }
        joined
    }

    /// The process ID of the process that has joined as the rank; 0 before, and if it is in another PID namespace than the creator of the memory.
    pub fn process(&self) -> u32 {
        self.process.load(Ordering::Relaxed)
    }

    /// Records the stage of the rank.
    pub(crate) fn set_stage(&self, stage: RankStage) {
        self.stage.store(stage as u32, Ordering::Release);
    }

    /// Announces that a thread of the rank waits from now on: it serves the inbox at each poll, and sleeps only on the bell.
    pub fn attend(&self) {
        self.attending.begin();
    }

    /// Announces that the thread no longer waits: the progress thread serves the requests that remain.
    ///
    /// Cost: an atomic, a fence, two loads.
    pub fn depart(&self) {
        self.attending.end();
        if !self.inbox.is_empty() {
            self.progress_thread_bell.ring();
        }
    }

    /// Puts a request of rank `from` into the inbox and wakes the thread that serves it: a thread of the rank that waits in the library, or else its
    /// progress thread. Returns whether the inbox had space.
    pub(crate) fn ask(&self, from: Rank, request: [u64; REQUEST_WORDS]) -> bool {
        if self.inbox.push(from.number(), request).is_err() {
            return false;
        }
        if !self.attending.is_kept() {
            self.progress_thread_bell.ring();
        }
        // A rank without a progress thread may sleep on this bell even if it does not attend.
        self.bell.ring();
        true
    }

    /// Whether the rank sleeps with no event pending: neither a ring of its bell nor a request in its inbox.
    pub fn is_unasked(&self) -> bool {
        self.bell.has_sleeper() && self.inbox.is_empty()
    }
}

/// Number of words of a request; see `progress_thread::OwnerRequest`.
pub(crate) const REQUEST_WORDS: usize = 5;

/// Slot for the reply to a request.
#[repr(C, align(64))]
pub(crate) struct ReplySlot {
    /// The number of the request in the high half, its `progress_thread::ReplyStatus` in the low half.
    pub(crate) status: AtomicU64,
    /// The result of an atomic.
    pub(crate) value: AtomicU64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{HostMemory, HostPlan};

    /// Whether `change` rings the bell.
    fn is_rung(bell: &Doorbell, change: impl FnOnce()) -> bool {
        // Announces a sleeper; only a ring removes it.
        bell.sleep(None, &mut || true);
        change();
        !bell.has_sleeper()
    }

    #[test]
    fn a_progress_thread_is_woken_only_for_what_nobody_attends_to() {
        let host = HostMemory::create(&HostPlan::local(1, Some(1 << 20))).unwrap().0;
        let control = host.control(Rank::new(0)).unwrap();
        let bell = &control.progress_thread_bell;
        let ask = || assert!(control.ask(Rank::new(0), [0; REQUEST_WORDS]));
        assert!(is_rung(bell, ask), "nobody waits");
        control.inbox.pop().unwrap();
        control.attend();
        assert!(!is_rung(bell, ask), "somebody looks");
        control.attend();
        control.inbox.pop().unwrap();
        assert!(!is_rung(bell, || control.depart()), "nothing was left behind");
        ask();
        assert!(is_rung(bell, || control.depart()), "a request was left behind");
        assert!(is_rung(bell, ask), "all have gone");
    }
    #[test]
    fn a_rank_is_unasked_while_it_sleeps_and_nothing_stands_in_its_inbox() {
        let host = HostMemory::create(&HostPlan::local(1, Some(1 << 20))).unwrap().0;
        let control = host.control(Rank::new(0)).unwrap();
        let fall_asleep = || control.bell.sleep(None, &mut || true);
        assert!(!control.is_unasked(), "it is awake");
        fall_asleep();
        assert!(control.is_unasked());
        assert!(control.ask(Rank::new(0), [0; REQUEST_WORDS]) && !control.is_unasked(), "it was rung");
        fall_asleep();
        assert!(!control.is_unasked(), "a request that its progress thread has not taken");
        control.inbox.pop().unwrap();
        assert!(control.is_unasked());
    }
}
