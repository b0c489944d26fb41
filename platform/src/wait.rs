//! Giving up the core until something happens, and time that passes without one.

use pelago_base::{Counters, Duration, Instant, Rank};

/// How a rank waits.
///
/// Contract:
/// - W1 no lost wake-up: if `ready` turns true, or a transport completes an operation of this rank or wakes it because its memory was
///   written to (T10), after `park` was entered, `park` returns.
/// - W2 bounded: it returns at `until` at the latest, and when the job is at fault.
/// - W3 idle: while it waits the core is free for others.
/// - W4 honest: it reports a deadlock only if no rank of the job can move any more: all threads that use the library wait.
pub trait Wait: Send + Sync {
    /// How waits are made here; it never changes.
    fn policy(&self) -> WaitPolicy;

    /// Waits for `what` until something may have changed, unless `ready`, which is asked once everybody knows of the sleeper, says that it
    /// already has. It need not return for anything but `what`.
    fn park(&self, what: For, until: Option<Instant>, ready: &mut dyn FnMut() -> bool) -> Woken;

    /// Lets another rank of this host run, if one is ready to.
    fn yield_now(&self);

    /// A thread of this rank says what it does. Called around parking too, as a rank that waits in the library may serve others meanwhile.
    fn note(&self, activity: Activity);

    /// Where waits and counters are shown to whoever looks at the job from outside; `None` where nobody does.
    fn reports(&self) -> Option<&dyn Reports> {
        None
    }

    /// What is known to be wrong with the job.
    fn fault(&self) -> Option<Fault>;

    /// From now on the failure of a peer is no fault of the job: the other ranks go on.
    fn tolerate_peer_failures(&self);

    /// The rank that failed after `known` others, if the job goes on without it.
    fn failed_peer(&self, known: usize) -> Option<Rank>;
}

/// Shows what a rank does: nothing of the library depends on it.
pub trait Reports {
    /// The calling thread goes to sleep for `site`. Returns a number for [`hide`](Self::hide), if there is room to show it.
    ///
    /// Called once for each wait that sleeps, however often it does.
    fn show(&self, site: &WaitSite) -> Option<u8>;

    /// The wait that `show` was called for has ended.
    fn hide(&self, place: Option<u8>, site: &WaitSite);

    /// So many more operations, with so many bytes, went through a transport since the last call.
    fn tally(&self, operations: u64, bytes: u64);

    /// What the network has counted for this rank, such as datagrams.
    fn counters(&self) -> Counters;
}

/// How waits are made on a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitPolicy {
    /// How many times a wait looks again at once. Fewer where ranks share cores.
    pub spins: u32,
    /// How many times a wait then looks again after it has [yielded](Wait::yield_now), before it parks.
    pub yields: u32,
    /// Whether ranks of this host share cores.
    pub is_oversubscribed: bool,
    /// How far words lie apart that one rank waits for and others write, the same on every rank: from 16 to 64 bytes, which is a line of
    /// cache, so that cores do not take it from each other; less where only one rank runs at any time.
    pub line_bytes: u64,
    /// Whether several threads of a rank may use the library.
    pub takes_threads: bool,
}

impl Default for WaitPolicy {
    /// Never spins or yields; cores are not shared, and threads are welcome.
    fn default() -> Self {
        Self { spins: 0, yields: 0, is_oversubscribed: false, line_bytes: 64, takes_threads: true }
    }
}

/// What a thread of a rank does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activity {
    /// It begins to use the library.
    Joins,
    /// It has ended to use the library.
    Leaves,
    /// It begins to wait: until it [goes on](Self::GoesOn) it looks, or parks, and so may serve others meanwhile.
    Waits,
    /// It has waited.
    GoesOn,
}

/// Time that passes because the library says so. A real machine has none of it: there computing takes its own time.
pub trait VirtualTime: Send + Sync {
    /// Lets `duration` of computing pass.
    fn compute(&self, duration: Duration);

    /// Lets the time pass in which a core gathers blocks of so many bytes into one piece, or scatters them.
    fn gather(&self, bytes: u64);

    /// The program has called the library, for something that leaves this rank: what it has computed since the library
    /// [was left](Self::left) is over. Calls may be nested; the outermost one counts.
    fn entered(&self);

    /// The library returns from what [`entered`](Self::entered) has announced.
    fn left(&self);
}

/// What a rank waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum For {
    /// Whatever concerns it: its memory is written to, or an operation of it completes.
    Anything,
    /// Its memory is written to, by whatever operation.
    Memory,
    /// This cache line of a heap of it is written to, counted from the doorbell of the rank as the doorbell counts.
    Line(u32),
    /// No more than so many of its operations have yet to complete.
    AtMost(u32),
}

/// What a thread sleeps for, as reports show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitSite {
    /// The call, in a few words.
    pub what: &'static str,
    /// Whose action ends the wait.
    pub awaited: Awaited,
    /// The word that the wait reads, as an offset in the heap of this rank.
    pub word: Option<u64>,
    /// Operations of the thread that have not ended.
    pub in_flight: u32,
}

/// Whose action ends a wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Awaited {
    /// The call does not know: whoever writes a value, for example.
    #[default]
    Unknown,
    /// All ranks, as at a central barrier.
    Everyone,
    /// This rank.
    Rank(Rank),
}

/// Why a [`Wait::park`] ended.
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
    #[error("rank {0} was lost")]
    PeerLost(Rank),
    /// A rank is alive, but another has heard nothing of it for too long.
    #[error("rank {0} is alive but cannot be reached: no datagram of it has arrived for many times the failure limit")]
    Unreachable(Rank),
    /// Somebody ended the job.
    #[error("the job was aborted")]
    Aborted,
    /// Every rank waits for another.
    #[error("deadlock: every rank of the job waits and nothing is under way")]
    Deadlock,
    /// A rank has ended the job, which is no error: every process of the job exits with code 0.
    #[error("a rank ended the job")]
    Ended,
}
