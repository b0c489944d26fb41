//! Waiting: giving up the core until an event occurs, and the passing of virtual time.

use pelago_base::{Counters, Duration, Instant, Rank};

/// How a rank waits.
///
/// Contract:
/// - W1 no lost wake-up: `park` returns if, after it was entered, `ready` turns true, a transport completes an operation of this rank, or a
///   transport wakes the rank because its memory was written to (T10).
/// - W2 bounded: `park` returns at `until` at the latest, and when the job has a fault.
/// - W3 idle: while `park` waits, the core is free for other threads.
/// - W4 honest: `park` reports a deadlock only if no rank of the job can make progress: all threads that use the library wait.
pub trait Wait: Send + Sync {
    /// Returns the wait policy, which never changes.
    fn policy(&self) -> WaitPolicy;

    /// Parks until an event of kind `what` may have occurred. `ready` is called after the sleep has been announced to all wakers; if it returns
    /// true, `park` returns at once. Other events than `what` need not end the wait.
    fn park(&self, what: For, until: Option<Instant>, ready: &mut dyn FnMut() -> bool) -> Woken;

    /// Yields the core to another rank of this host, if one is ready to run. Returns whether the caller may poll and yield again: not if other programs
    /// keep the core for long after a yield. A wait then parks, because a scheduler prefers a thread that wakes up.
    fn yield_now(&self) -> bool;

    /// Records the activity of a thread of this rank. Also called around parking, as a rank that waits in the library may serve other ranks
    /// meanwhile.
    fn note(&self, activity: Activity);

    /// Returns the interface that shows waits and counters to observers outside the job; `None` if there are no observers.
    fn reports(&self) -> Option<&dyn Reports> {
        None
    }

    /// Returns the fault of the job, if one is known.
    fn fault(&self) -> Option<Fault>;

    /// From this call on, the failure of a peer is no fault of the job: the other ranks continue.
    fn tolerate_peer_failures(&self);

    /// Returns the rank that failed after `known` others, if the job continues without it.
    fn failed_peer(&self, known: usize) -> Option<Rank>;
}

/// Shows the activity of a rank to observers; the library does not depend on it.
pub trait Reports {
    /// Records that the calling thread goes to sleep at `site`. Returns a number for [`hide`](Self::hide), if there is room to show the wait.
    ///
    /// Called once per wait that sleeps, no matter how often the wait sleeps.
    fn show(&self, site: &WaitSite) -> Option<u8>;

    /// Records that the wait passed to `show` has ended.
    fn hide(&self, place: Option<u8>, site: &WaitSite);

    /// Adds what a context has done since its last call.
    fn tally(&self, tally: &Tally);

    /// Returns the network's counters for this rank, such as datagrams.
    fn counters(&self) -> Counters;
}

/// The operations of a context through a transport since its last report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Number of operations issued.
    pub operations: u64,
    /// Number of their bytes.
    pub bytes: u64,
    /// Change of the number of operations that have not completed.
    pub in_flight: i32,
}

/// How a rank waits on a machine: spinning, yielding, parking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitPolicy {
    /// Number of immediate polls of a wait. Fewer where ranks share cores.
    pub spins: u32,
    /// Number of further polls, each after a [yield](Wait::yield_now), before a wait parks.
    pub yields: u32,
    /// Whether ranks of this host share cores.
    pub is_oversubscribed: bool,
    /// Distance in bytes between words on which one rank waits and which different ranks write, the same on every rank: 16 to 64. 64 is a cache
    /// line and avoids false sharing; smaller values suffice where only one rank runs at any time.
    pub line_bytes: u64,
    /// Whether several threads of a rank may use the library.
    pub takes_threads: bool,
}

impl Default for WaitPolicy {
    /// Never spins or yields; cores are not shared, and several threads may use the library.
    fn default() -> Self {
        Self { spins: 0, yields: 0, is_oversubscribed: false, line_bytes: 64, takes_threads: true }
    }
}

/// Activity of a thread of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activity {
    /// The thread starts to use the library.
    Joins,
    /// The thread stops using the library.
    Leaves,
    /// The thread starts to wait: until it [continues](Self::GoesOn), it polls or parks, and may serve other ranks meanwhile.
    Waits,
    /// The wait has ended.
    GoesOn,
}

/// Time that the library advances explicitly, in a simulation. Absent on a real machine, where computation takes real time.
pub trait VirtualTime: Send + Sync {
    /// Advances time by `duration` of computation.
    fn compute(&self, duration: Duration);

    /// Advances time by what a core needs to gather blocks of `bytes` bytes in total into one piece, or to scatter them.
    fn gather(&self, bytes: u64);

    /// Called when the program enters the library for an operation that involves other ranks: this ends the computation that started when the
    /// library [was left](Self::left). Calls may be nested; the outermost one counts.
    fn entered(&self);

    /// Called when the library returns from the call that [`entered`](Self::entered) announced.
    fn left(&self);
}

/// Events that a rank waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum For {
    /// Any event of the rank: a write to its memory, or the completion of one of its operations.
    Anything,
    /// A write to its memory, by any operation.
    Memory,
    /// A write to this cache line of one of its heaps, numbered from the rank's doorbell as the doorbell does.
    Line(u32),
    /// At most this number of its operations are incomplete.
    AtMost(u32),
}

/// Description of a wait for reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitSite {
    /// Short description of the call.
    pub what: &'static str,
    /// Rank or ranks whose action ends the wait.
    pub awaited: Awaited,
    /// Word that the wait reads, as an offset in the heap of this rank.
    pub word: Option<u64>,
    /// Number of the thread's operations that are incomplete.
    pub in_flight: u32,
}

/// Whose action ends a wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Awaited {
    /// Unknown to the call, for example any rank that may write a value.
    #[default]
    Unknown,
    /// All ranks, as in a central barrier.
    Everyone,
    /// This rank.
    Rank(Rank),
}

/// Reason for the end of a [`Wait::park`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Woken {
    /// An event may have occurred, or the deadline has passed: poll again.
    Look,
    /// The job has a fault; the awaited event may never occur.
    Fault(Fault),
}

/// Fault of the whole job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// A rank ended or stopped answering before the job was over.
    #[error("rank {0} was lost")]
    PeerLost(Rank),
    /// A rank is alive, but another rank has received nothing from it for too long.
    #[error("rank {0} is alive but cannot be reached: no datagram of it has arrived for many times the failure limit")]
    Unreachable(Rank),
    /// The job was aborted.
    #[error("the job was aborted")]
    Aborted,
    /// Every rank waits for another.
    #[error("deadlock: every rank of the job waits and nothing is under way")]
    Deadlock,
    /// A rank has ended the job. This is no error: every process of the job exits with code 0.
    #[error("a rank ended the job")]
    Ended,
}
