//! The state of a running simulation for other threads and signal handlers, and the control by which they end it.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, AtomicU64, AtomicUsize, Ordering};

use pelago_base::{Instant, Rank};

/// Maximum number of concurrent simulations in one process that the signal handler can identify. A fault in a further simulation is not
/// attributed to a rank.
const KNOWN_MAX: usize = 64;

/// The thread of a free entry; the kernel numbers threads from 1.
const NO_THREAD: i32 = 0;

/// The value of `running` while no rank runs; rank r is r + 1.
const NOBODY: u32 = 0;

static KNOWN: [SimulationStatus; KNOWN_MAX] = [const { SimulationStatus::new() }; KNOWN_MAX];

/// The status of simulations for which no entry is left: written, and never read by the signal handler.
static UNKNOWN: SimulationStatus = SimulationStatus::new();

/// The state of a simulation, written by its own thread.
#[derive(Debug)]
pub(crate) struct SimulationStatus {
    thread: AtomicI32,
    running: AtomicU32,
    /// Whether the simulator works for the running rank.
    is_inside: AtomicBool,
    /// The rank to whose memory an operation of it leads the simulator, encoded as in `running`.
    accessed: AtomicU32,
    now: AtomicU64,
    /// Number of events of the network until `now`.
    events: AtomicU64,
    ended: AtomicU32,
    /// Number of calls of the simulator by ranks.
    calls: AtomicU64,
    /// Whether a rank that makes no calls is interrupted.
    interrupts: AtomicBool,
    /// The rank that has run for seconds without a call although it is interrupted, encoded as in `running`.
    silent: AtomicU32,
    /// Number of suspensions of ranks that made no calls.
    stops: AtomicU64,
    /// The address of the first stack, the distance in bytes from one to the next, the bytes of each and of its guard, and the number of stacks.
    stacks: [AtomicUsize; 5],
}

/// The code that ran when a signal arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AtWork {
    /// The program or the library, on the stack of this rank.
    Rank(u32),
    /// The simulator, on behalf of this rank if a rank has called it.
    Simulator(Option<u32>),
}

impl SimulationStatus {
    const fn new() -> Self {
        Self {
            thread: AtomicI32::new(NO_THREAD),
            running: AtomicU32::new(NOBODY),
            is_inside: AtomicBool::new(false),
            accessed: AtomicU32::new(NOBODY),
            now: AtomicU64::new(0),
            events: AtomicU64::new(0),
            ended: AtomicU32::new(0),
            calls: AtomicU64::new(0),
            interrupts: AtomicBool::new(false),
            silent: AtomicU32::new(NOBODY),
            stops: AtomicU64::new(0),
            stacks: [const { AtomicUsize::new(0) }; 5],
        }
    }

    /// Returns the status of the simulation that the calling thread runs. May be called in a signal handler.
    pub(crate) fn of_this_thread() -> Option<&'static Self> {
        let this = this_thread();
        KNOWN.iter().find(|status| status.thread.load(Ordering::Relaxed) == this)
    }

    /// Returns the status of a simulation that is not observed.
    pub(crate) fn unknown() -> &'static Self {
        &UNKNOWN
    }

    /// Counts a call of the simulator by a rank.
    pub(crate) fn count_call(&self) {
        // Only this thread writes the count.
        self.set_calls(self.calls().wrapping_add(1));
    }

    pub(crate) fn calls(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
    }

    pub(crate) fn set_calls(&self, calls: u64) {
        self.calls.store(calls, Ordering::Relaxed);
    }

    /// Returns the virtual time at which the running rank has continued.
    pub(crate) fn now(&self) -> Instant {
        Instant::from_picoseconds(self.now.load(Ordering::Relaxed))
    }

    /// Records that ranks that make no calls are interrupted.
    pub(crate) fn has_interruptions(&self) {
        self.interrupts.store(true, Ordering::Relaxed);
    }

    /// Counts the suspension of a rank that made no calls.
    pub(crate) fn count_stop(&self) {
        self.stops.fetch_add(1, Ordering::Relaxed);
    }

    /// Records a rank that has run for seconds without a call.
    pub(crate) fn set_silent(&self, rank: u32) {
        self.silent.store(rank + 1, Ordering::Relaxed);
    }

    /// Records the stacks: the values of the field `stacks`.
    pub(crate) fn has_stacks(&self, stacks: [usize; 5]) {
        self.stacks.iter().zip(stacks).for_each(|(place, value)| place.store(value, Ordering::Relaxed));
    }

    /// Returns the size of this rank's stack if `address` lies in its guard.
    pub(crate) fn overflown(&self, rank: u32, address: usize) -> Option<usize> {
        let [first, step, bytes, guard, count] = [0, 1, 2, 3, 4].map(|index: usize| self.stacks[index].load(Ordering::Relaxed));
        let start = first.wrapping_add(rank as usize * step);
        ((rank as usize) < count && (start..start + guard).contains(&address)).then_some(bytes)
    }

    /// Records that a rank continues, after `events` events of the network.
    pub(crate) fn enter(&self, rank: Rank, now: Instant, events: u64) {
        self.now.store(now.as_picoseconds(), Ordering::Relaxed);
        self.events.store(events, Ordering::Relaxed);
        self.running.store(rank.number() + 1, Ordering::Release);
    }

    /// Records that the rank has stopped; `ended` ranks have ended.
    pub(crate) fn leave(&self, ended: u32) {
        self.ended.store(ended, Ordering::Relaxed);
        self.running.store(NOBODY, Ordering::Release);
    }

    /// Sets whether the simulator works for the running rank; returns the previous value.
    pub(crate) fn set_inside(&self, is_inside: bool) -> bool {
        // Only this thread writes the flag.
        let before = self.is_inside.load(Ordering::Relaxed);
        self.is_inside.store(is_inside, Ordering::Relaxed);
        before
    }

    /// Calls `f`, which reads or writes memory that the program of `rank` has named in an operation: if that memory does not exist, the rank has
    /// caused the fault.
    #[inline]
    pub(crate) fn access<R>(&self, rank: Rank, f: impl FnOnce() -> R) -> R {
        let before = self.accessed.load(Ordering::Relaxed);
        self.accessed.store(rank.number() + 1, Ordering::Relaxed);
        let result = f();
        self.accessed.store(before, Ordering::Relaxed);
        result
    }

    /// Returns the rank whose memory the simulator accesses for an operation.
    pub(crate) fn accessed(&self) -> Option<u32> {
        self.accessed.load(Ordering::Relaxed).checked_sub(1)
    }

    pub(crate) fn at_work(&self) -> AtWork {
        match (self.running(), self.is_inside.load(Ordering::Relaxed)) {
            (Some(rank), false) => AtWork::Rank(rank.number()),
            (rank, _) => AtWork::Simulator(rank.map(Rank::number)),
        }
    }

    fn running(&self) -> Option<Rank> {
        self.running.load(Ordering::Acquire).checked_sub(1).map(Rank::new)
    }
}

fn this_thread() -> i32 {
    rustix::thread::gettid().as_raw_nonzero().get()
}

/// The entry of a simulation of the calling thread, held while the simulation runs.
pub(crate) struct StatusEntry(&'static SimulationStatus);

impl StatusEntry {
    /// Registers the simulation that the calling thread begins, for signal handlers and for `watch`.
    pub(crate) fn new(watch: &SimulationControl) -> Self {
        let this = this_thread();
        let claim = |status: &&SimulationStatus| {
            status.thread.compare_exchange(NO_THREAD, this, Ordering::Relaxed, Ordering::Relaxed).is_ok()
        };
        let status = KNOWN.iter().find(claim).unwrap_or(&UNKNOWN);
        status.leave(0);
        status.set_inside(false);
        status.accessed.store(NOBODY, Ordering::Relaxed);
        status.now.store(0, Ordering::Relaxed);
        status.events.store(0, Ordering::Relaxed);
        status.interrupts.store(false, Ordering::Relaxed);
        status.silent.store(NOBODY, Ordering::Relaxed);
        let _ = watch.status.set(status);
        Self(status)
    }

    pub(crate) fn status(&self) -> &'static SimulationStatus {
        self.0
    }
}

impl Drop for StatusEntry {
    fn drop(&mut self) {
        self.0.has_stacks([0; 5]);
        self.0.running.store(NOBODY, Ordering::Relaxed);
        self.0.thread.store(NO_THREAD, Ordering::Relaxed);
    }
}

/// The handle by which another thread observes one simulation and ends it.
#[derive(Debug, Default)]
pub struct SimulationControl {
    is_asked: AtomicBool,
    is_over: AtomicBool,
    status: OnceLock<&'static SimulationStatus>,
}

/// The state of a simulation at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SimulationSnapshot {
    /// The rank that runs.
    pub running: Option<Rank>,
    /// The virtual time.
    pub now: Instant,
    /// Number of events of the network until `now`.
    pub events: u64,
    /// Number of ranks that have ended.
    pub ended: u32,
    /// A count that each call of a rank changes, and each suspension of a rank that makes no calls; `None` unless such ranks are interrupted.
    pub calls: Option<u64>,
    /// A rank that has been interrupted repeatedly for seconds without a call.
    pub silent: Option<Rank>,
}

impl SimulationControl {
    /// Aborts the job as soon as the running rank calls the library or ends.
    pub fn stop(&self) {
        self.is_asked.store(true, Ordering::Relaxed);
    }

    /// Whether all ranks have ended or will never continue.
    pub fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Acquire)
    }

    /// Returns the current state; `None` before the simulation has begun. After its end, returns the last state.
    pub fn snapshot(&self) -> Option<SimulationSnapshot> {
        let status = self.status.get()?;
        let now = status.now();
        let calls =
            status.interrupts.load(Ordering::Relaxed).then(|| status.calls().wrapping_add(status.stops.load(Ordering::Relaxed)));
        let silent = status.silent.load(Ordering::Relaxed).checked_sub(1).map(Rank::new);
        let (events, ended) = (status.events.load(Ordering::Relaxed), status.ended.load(Ordering::Relaxed));
        Some(SimulationSnapshot { running: status.running(), now, events, ended, calls, silent })
    }

    pub(crate) fn is_asked(&self) -> bool {
        self.is_asked.load(Ordering::Relaxed)
    }

    pub(crate) fn finish(&self) {
        self.is_over.store(true, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_is_that_of_whoever_is_at_work() {
        let watch = SimulationControl::default();
        assert_eq!(watch.snapshot(), None);
        let entry = StatusEntry::new(&watch);
        let status = SimulationStatus::of_this_thread().expect("this thread's");
        assert!(std::ptr::eq(status, entry.status()));
        assert_eq!(status.at_work(), AtWork::Simulator(None));
        status.enter(Rank::new(3), Instant::from_picoseconds(7), 11);
        assert_eq!(status.at_work(), AtWork::Rank(3));
        assert_eq!(
            watch.snapshot(),
            Some(SimulationSnapshot {
                running: Some(Rank::new(3)),
                now: Instant::from_picoseconds(7),
                events: 11,
                ended: 0,
                calls: None,
                silent: None
            })
        );
        assert!(!status.set_inside(true));
        assert_eq!(status.at_work(), AtWork::Simulator(Some(3)));
        assert!(status.set_inside(false));
        status.leave(1);
        assert_eq!((status.at_work(), watch.snapshot().map(|snapshot| snapshot.ended)), (AtWork::Simulator(None), Some(1)));
        let inner = status.access(Rank::new(0), || (status.accessed(), status.access(Rank::new(7), || status.accessed())));
        assert_eq!((inner, status.accessed()), ((Some(0), Some(7)), None));
        assert!(std::thread::spawn(|| SimulationStatus::of_this_thread().is_none()).join().unwrap());
        drop(entry);
        assert!(SimulationStatus::of_this_thread().is_none());
        let watches: Vec<SimulationControl> = (0..=KNOWN_MAX).map(|_| SimulationControl::default()).collect();
        let entries: Vec<StatusEntry> = watches.iter().map(StatusEntry::new).collect();
        assert!(std::ptr::eq(entries.last().unwrap().status(), &UNKNOWN), "one too many is not mistaken for another");
    }

    #[test]
    fn only_the_guard_of_ones_own_stack_tells_of_an_overflow() {
        let status = SimulationStatus::new();
        assert_eq!(status.overflown(0, 0), None, "no stacks yet");
        status.has_stacks([0x10000, 0x4000, 0x3000, 0x1000, 2]);
        let guards = |rank| [0xffff, 0x10000, 0x10fff, 0x11000, 0x14000].map(|address| status.overflown(rank, address));
        let here = Some(0x3000);
        assert_eq!(guards(0), [None, here, here, None, None]);
        assert_eq!(guards(1), [None, None, None, None, here]);
        assert_eq!(guards(2), [None; 5]);
        // One stack for all.
        status.has_stacks([0x10000, 0, 0x3000, 0x1000, u32::MAX as usize]);
        assert_eq!([0, 7, 1 << 20].map(|rank| status.overflown(rank, 0x10000)), [here; 3]);
        assert_eq!(status.overflown(7, 0x11000), None);
    }
}
