//! Giving up the processor until something happens.

use pelago_base::{Duration, Instant, Rank};

/// How a rank waits.
///
/// Contract:
/// - P1 no lost wake-up: if `ready` turns true, or another rank writes to this rank's memory or completes an operation of it, after
///   `park` was entered, `park` returns.
/// - P2 bounded: it returns at `until` at the latest, and when the job is at fault.
/// - P3 idle: while it waits the processor is free for others.
/// - P4 honest: it reports a deadlock only if no rank of the job can move any more: all threads that have joined wait.
pub trait Park: Send + Sync {
    /// Waits until something may have changed, unless `ready`, which is asked once everybody knows of the sleeper, says that it already
    /// has.
    fn park(&self, until: Option<Instant>, ready: &mut dyn FnMut() -> bool) -> Woken;

    /// As [`park`](Self::park), for `what` alone: it need not return for anything else.
    fn park_for(&self, what: For, until: Option<Instant>, ready: &mut dyn FnMut() -> bool) -> Woken {
        let _ = what;
        self.park(until, ready)
    }

    /// How many times a wait looks again at once. Fewer where ranks share processors, none in virtual time.
    fn spins(&self) -> u32;

    /// How many times a wait then looks again after it has [given way](Self::give_way), before it parks; none in virtual time.
    fn yields(&self) -> u32;

    /// Lets another rank of this host run, if one is ready to.
    fn give_way(&self);

    /// Lets `duration` of computing pass: in virtual time the clock moves on; on a real machine computing takes its own time, and nothing
    /// happens.
    fn compute(&self, duration: Duration) {
        let _ = duration;
    }

    /// The processor gathers blocks of so many bytes into one piece, or scatters them: as `compute`, for as long as the machine takes for that.
    fn gather(&self, bytes: u64) {
        let _ = bytes;
    }

    /// The program has called the library, for something that leaves this rank: what it has computed since the library
    /// [returned](Self::returned) is over. Calls may be nested; the outermost one counts. On a real machine nobody needs to know.
    fn called(&self) {}

    /// The library returns from what [`called`](Self::called) has announced.
    fn returned(&self) {}

    /// A thread of this rank begins to wait: until it has [waited](Self::waited) it looks, or sleeps in [`park`](Self::park), and so may serve
    /// others meanwhile.
    fn waits(&self) {}

    /// What [`waits`](Self::waits) has announced is over.
    fn waited(&self) {}

    /// Whether ranks of this host share processors.
    fn is_crowded(&self) -> bool;

    /// How far words lie apart that one rank waits for and others write, the same on every rank: from 16 to 64 bytes, which is a line of
    /// cache, so that processors do not take it from each other; less where only one rank runs at any time.
    fn line_bytes(&self) -> u64 {
        64
    }

    /// Whether several threads of this rank may use the library. In virtual time ranks are coroutines of one thread, and none other may.
    fn takes_threads(&self) -> bool {
        true
    }

    /// A thread of this rank begins to use the library.
    fn join(&self);

    /// A thread of this rank has ended to use the library.
    fn leave(&self);

    /// What is known to be wrong with the job.
    fn fault(&self) -> Option<Fault>;

    /// Lets the job go on when ranks are lost, from now on: that is no fault of the job any more.
    fn survive(&self) {}

    /// The rank that was lost after `known` others, if the job goes on without it.
    fn lost(&self, known: usize) -> Option<Rank> {
        let _ = known;
        None
    }
}

/// What a rank waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum For {
    /// Whatever concerns it: its memory is written to, or an operation of it completes.
    Anything,
    /// Its memory is written to, by whatever operation.
    Memory,
    /// No more than so many of its operations have yet to complete.
    AtMost(u32),
}

/// Why a [`Park::park`] ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Woken {
    /// Something may have changed, or the time came: look again.
    Look,
    /// The job is at fault; what was waited for may never come.
    Fault(Fault),
}

/// What is wrong with the whole job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// A rank ended or stopped answering before the job was over.
    #[error("{0} was lost")]
    PeerLost(Rank),
    /// A rank is alive, but another has heard nothing of it for too long.
    #[error("{0} is alive but cannot be reached: nothing of it has come for many times the failure limit")]
    Unreachable(Rank),
    /// Somebody ended the job.
    #[error("the job was aborted")]
    Aborted,
    /// Every rank waits for another.
    #[error("deadlock: every rank of the job waits and nothing is under way")]
    Deadlock,
}
