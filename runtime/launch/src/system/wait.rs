//! Waiting on a real machine: yield for a moment, then sleep on the rank's doorbell.

use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::{available_parallelism, yield_now};

use pelago_base::{Counters, Duration, Event, Instant, Rank};
use pelago_platform::{Activity, Clock, Fault, For, Reports, Tally, Wait, WaitPolicy, WaitSite, Woken};
use pelago_shm::{HostMemory, RankControl};
use pelago_sync::Slept;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::OsClock;
use crate::system::report::{HostReport, monotonic_ns};
use crate::system::stillness::{is_stopped, stillness};

/// Number of polls before a wait yields the core, if each rank has its own core: about two microseconds, twice
/// the duration of a barrier.
const SPINS_ALONE: u32 = 2000;

/// The same on an oversubscribed host: the rank for which this one waits may need its core.
const SPINS_SHARED: u32 = 1;

/// Number of yields before a wait sleeps. If ranks share cores, yields pass the core from rank to rank; otherwise
/// they last about ten microseconds, as long as waking a sleeping thread on another core.
const YIELDS: u32 = 50;

/// Duration from which on a yield shows that other programs compute on this core. They keep it for a time slice at each yield, but a
/// thread that wakes up gets the core at once.
const LONG_YIELD: Duration = Duration::from_microseconds(500);

/// One of so many yields is timed; a power of two.
const YIELDS_PER_TIMING: u32 = 16;

/// Minimum number of waits without yields after a yield that took long.
const WAITS_WITHOUT_YIELD_MIN: u32 = 64;
/// Maximum number of waits without yields after a yield that took long. The number doubles with each long yield that follows.
const WAITS_WITHOUT_YIELD_MAX: u32 = 1024;

/// Maximum delay with which a sleeping rank that polls a socket itself notices its doorbell.
const GLANCE: Duration = Duration::from_milliseconds(1);

/// Maximum time for which a rank sleeps on the network before it sleeps on its doorbell. It does not notice the doorbell meanwhile.
const NAP: Duration = Duration::from_milliseconds(1);

/// Maximum interval between two checks of a sleeping rank for a deadlock of the whole job.
const WATCH: Duration = Duration::from_milliseconds(500);

/// Minimum number of checks in the time after which a deadlock is declared.
const WATCHES: u64 = 4;

/// Waits that sleep on the doorbell of a rank.
pub struct OsWait {
    host: Arc<HostMemory>,
    rank: Rank,
    clock: OsClock,
    deadlock_after: Option<Duration>,
    is_oversubscribed: bool,
    yields: Yields,
    /// A socket whose data should wake the rank, if no progress thread watches it.
    socket: OnceLock<OwnedFd>,
    /// The counters of the network, if there is one.
    network: OnceLock<NetworkCounters>,
    /// The short sleep of a rank that receives only through the network.
    nap: OnceLock<Nap>,
}

/// Decides whether the waits of a rank yield, from the duration of earlier yields. Threads of a rank may overwrite numbers of each other, which
/// only changes how often it tries.
#[derive(Default)]
struct Yields {
    /// Number of waits to come that do not yield.
    held: AtomicU32,
    /// The value of `held` after the last long yield, if no short one has followed.
    last: AtomicU32,
    /// Number of yields, of which some are timed: two readings of the clock take a noticeable part of the time of a yield.
    count: AtomicU32,
}

impl Yields {
    /// Calls `yields`, unless earlier ones took long; returns whether another yield is useful.
    fn give_way(&self, now: impl Fn() -> Instant, yields: impl FnOnce()) -> bool {
        let held = self.held.load(Ordering::Relaxed);
        if held > 0 {
            self.held.store(held - 1, Ordering::Relaxed);
            return false;
        }
        let (last, count) = (self.last.load(Ordering::Relaxed), self.count.load(Ordering::Relaxed));
        self.count.store(count.wrapping_add(1), Ordering::Relaxed);
        if last == 0 && !count.is_multiple_of(YIELDS_PER_TIMING) {
            yields();
            return true;
        }
        let begun = now();
        yields();
        let is_long = now().since(begun) >= LONG_YIELD;
        let next = if is_long { (last * 2).clamp(WAITS_WITHOUT_YIELD_MIN, WAITS_WITHOUT_YIELD_MAX) } else { 0 };
        self.last.store(next, Ordering::Relaxed);
        self.held.store(next, Ordering::Relaxed);
        !is_long
    }
}

/// Sleeps until data has arrived through the network, for the given time at most; returns whether data has arrived.
type Nap = Box<dyn Fn(Duration) -> bool + Send + Sync>;

/// Returns the counters of a network.
type NetworkCounters = Box<dyn Fn() -> Counters + Send + Sync>;

/// A wait that the detection of deadlocks counts until this value is dropped: `ready` calls functions of the program, which may panic.
struct CountedWait<'w> {
    control: &'w RankControl,
    count: u32,
}

impl<'w> CountedWait<'w> {
    fn new(control: &'w RankControl, count: u32) -> Self {
        control.waiting.fetch_add(count, Ordering::SeqCst);
        Self { control, count }
    }
}

impl Drop for CountedWait<'_> {
    fn drop(&mut self) {
        self.control.waiting.fetch_sub(self.count, Ordering::SeqCst);
        self.control.moves.fetch_add(1, Ordering::SeqCst);
    }
}

impl OsWait {
    /// Creates the wait object of `rank`, which declares a deadlock after every rank has waited for `deadlock_after`.
    ///
    /// # Panics
    /// `rank` is not on `host`.
    pub fn new(host: Arc<HostMemory>, rank: Rank, clock: OsClock, deadlock_after: Option<Duration>) -> Self {
        assert!(host.control(rank).is_some(), "rank {rank} is on this host");
        let cores = available_parallelism().map_or(1, usize::from);
        let is_oversubscribed = host.count() as usize > cores;
        // Ranks on other hosts are not visible from here: the launcher of the job asks all hosts.
        let deadlock_after = deadlock_after.filter(|_| host.is_whole_job());
        Self {
            host,
            rank,
            clock,
            deadlock_after,
            is_oversubscribed,
            yields: Yields::default(),
            socket: OnceLock::new(),
            network: OnceLock::new(),
            nap: OnceLock::new(),
        }
    }

    /// Wakes sleeping waits also when `socket` becomes readable. For a rank without a progress thread, which notices its doorbell up to a millisecond late.
    ///
    /// # Errors
    /// The system refuses another descriptor.
    pub fn watch(&self, socket: BorrowedFd<'_>) -> std::io::Result<()> {
        let _only_one = self.socket.set(socket.try_clone_to_owned()?);
        Ok(())
    }

    /// Makes waits begin with a sleep by `nap`, which needs no `membarrier`, and from which the network wakes the rank directly instead of its
    /// progress thread. For a rank to whose memory other processes write through the network only.
    pub fn nap_by(&self, nap: impl Fn(Duration) -> bool + Send + Sync + 'static) {
        let _only_one = self.nap.set(Box::new(nap));
    }

    /// Sets the source of the network counters of this rank; only the first call counts.
    pub fn count_network(&self, counted: impl Fn() -> Counters + Send + Sync + 'static) {
        let _only_one = self.network.set(Box::new(counted));
    }

    /// Ends the job for all ranks, without an error: waits of all of them end with [`Fault::Ended`].
    pub fn end_job(&self) {
        self.host.fail(Fault::Ended);
    }

    fn control(&self) -> &RankControl {
        self.host.control(self.rank).expect("checked when made")
    }

    /// Sleeps for a moment, if the rank has no other thread that might wake it; returns whether data has arrived or the time has come.
    fn nap(&self, until: Option<Instant>) -> bool {
        let Some(nap) = self.nap.get().filter(|_| self.control().threads.load(Ordering::Relaxed) <= 1) else { return false };
        nap(until.map_or(NAP, |until| until.since(self.clock.now()).min(NAP)))
            || until.is_some_and(|until| self.clock.now() >= until)
    }

    fn sleep(&self, what: For, until: Option<Instant>, ready: &mut dyn FnMut() -> bool) -> Woken {
        let (mut counted, mut still, mut looked_at) = (None, Duration::ZERO, self.clock.now());
        let watch =
            self.deadlock_after.map_or(WATCH, |limit| WATCH.min(Duration::from_picoseconds(limit.as_picoseconds() / WATCHES)));
        loop {
            let left = until.map_or(watch, |until| until.since(self.clock.now()).min(watch));
            let slept = self.doze(what, left, &mut || ready() || self.fault().is_some());
            if let Some(fault) = self.fault() {
                return Woken::Fault(fault);
            }
            let now = self.clock.now();
            if slept != Slept::TimedOut || ready() || until.is_some_and(|until| now >= until) {
                return Woken::Look;
            }
            self.count_datagrams();
            let Some(limit) = self.deadlock_after else { continue };
            let count = stillness(&self.host);
            // A job that was stopped as a whole may move again: the time since the last look counts as one pause.
            still = if count.is_some() && count == counted { still + now.since(looked_at).min(watch) } else { Duration::ZERO };
            (counted, looked_at) = (count, now);
            if still < limit {
                continue;
            }
            if is_stopped(&self.host) {
                still = Duration::ZERO;
            } else if self.host.job().claim_deadlock_report() {
                eprint!("{}", HostReport::of(&self.host, monotonic_ns()));
                self.host.fail(Fault::Deadlock);
            } else if still >= limit + limit {
                // The rank that claimed the report has died.
                self.host.fail(Fault::Deadlock);
            }
        }
    }

    /// Publishes the number of datagrams so far. While one is not acknowledged, its retransmissions change that number.
    fn count_datagrams(&self) {
        let Some(counted) = self.network.get() else { return };
        let counters = counted();
        let datagrams = [Event::DatagramSent, Event::DatagramRepeated, Event::DatagramReceived].map(|event| counters.of(event));
        self.control().datagrams.store(datagrams.iter().sum(), Ordering::Relaxed);
    }

    /// As [`park`](Wait::park), for events that ring the doorbell and do not arrive through the network, and for callers that poll by `ready` alone.
    pub(crate) fn park_on_bell(&self, what: For, until: Option<Instant>, ready: &mut dyn FnMut() -> bool) -> Woken {
        if let Some(fault) = self.fault() {
            return Woken::Fault(fault);
        }
        // A wait with a time limit is not part of a deadlock: it ends by itself.
        let _counted = CountedWait::new(self.control(), u32::from(until.is_none()));
        self.sleep(what, until, ready)
    }

    fn doze(&self, what: For, limit: Duration, ready: &mut dyn FnMut() -> bool) -> Slept {
        let Some(socket) = self.socket.get() else {
            let (bell, limit) = (&self.control().bell, Some(limit.into()));
            return match what {
                For::Line(line) => bell.sleep_for(line, limit, ready),
                For::Anything | For::Memory | For::AtMost(_) => bell.sleep(limit, ready),
            };
        };
        // The announcement of a sleep shows that the rank sleeps, and a ring removes it; it costs a heavy fence.
        if self.control().bell.has_sleeper() {
            if ready() {
                return Slept::Ready;
            }
        } else {
            let slept = self.control().bell.sleep(Some(std::time::Duration::ZERO), ready);
            if slept != Slept::TimedOut {
                return slept;
            }
        }
        let glance = std::time::Duration::from(limit.min(GLANCE));
        let glance = Timespec { tv_sec: glance.as_secs() as i64, tv_nsec: i64::from(glance.subsec_nanos()) };
        match poll(&mut [PollFd::new(socket, PollFlags::IN)], Some(&glance)) {
            Ok(0) => Slept::TimedOut,
            _ => Slept::Rung,
        }
    }
}

impl Wait for OsWait {
    fn policy(&self) -> WaitPolicy {
        let spins = if self.is_oversubscribed { SPINS_SHARED } else { SPINS_ALONE };
        WaitPolicy { spins, yields: YIELDS, is_oversubscribed: self.is_oversubscribed, ..WaitPolicy::default() }
    }

    fn park(&self, what: For, until: Option<Instant>, ready: &mut dyn FnMut() -> bool) -> Woken {
        match self.fault() {
            // `ready` would leave arriving data to the progress thread: the caller polls instead.
            None if self.nap(until) => Woken::Look,
            _ => self.park_on_bell(what, until, ready),
        }
    }

    fn yield_now(&self) -> bool {
        self.yields.give_way(|| self.clock.now(), yield_now)
    }

    fn note(&self, activity: Activity) {
        let control = self.control();
        match activity {
            Activity::Joins => _ = control.threads.fetch_add(1, Ordering::SeqCst),
            Activity::Leaves => _ = control.threads.fetch_sub(1, Ordering::SeqCst),
            Activity::Waits => control.attend(),
            Activity::GoesOn => control.depart(),
        }
    }

    fn reports(&self) -> Option<&dyn Reports> {
        Some(self)
    }

    fn fault(&self) -> Option<Fault> {
        self.host.job().fault()
    }

    fn tolerate_peer_failures(&self) {
        self.host.set_fault_tolerant();
    }

    fn failed_peer(&self, known: usize) -> Option<Rank> {
        self.host.failed_ranks().nth(known)
    }
}

impl Reports for OsWait {
    fn show(&self, site: &WaitSite) -> Option<u8> {
        self.control().report.show(site, monotonic_ns())
    }

    fn hide(&self, place: Option<u8>, site: &WaitSite) {
        self.control().report.hide(place, site, monotonic_ns());
    }

    fn tally(&self, tally: &Tally) {
        self.control().report.tally(tally);
    }

    fn counters(&self) -> Counters {
        self.network.get().map_or_else(Counters::default, |counted| counted())
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use pelago_shm::HostPlan;

    const ME: Rank = Rank::new(0);
    const OTHER: Rank = Rank::new(1);
    const LIMIT: Duration = Duration::from_milliseconds(4);

    /// Number of polls of a sleeping rank, in much more time than the limit.
    const LOOKS: u32 = 40;

    /// Two ranks that have joined, of which the other one sleeps: its only thread waits, and its doorbell was not rung since.
    fn asleep(plan: &HostPlan<'_>) -> Arc<HostMemory> {
        let host = Arc::new(HostMemory::create(plan).expect("memory for two ranks").0);
        [ME, OTHER].into_iter().for_each(|rank| _ = host.join(rank));
        let other = host.control(OTHER).expect("of this host");
        other.threads.store(1, Ordering::SeqCst);
        other.waiting.store(1, Ordering::SeqCst);
        // Announces a sleep, which only a ring of the doorbell ends.
        other.bell.sleep(None, &mut || true);
        host
    }

    fn plan() -> HostPlan<'static> {
        HostPlan::local(2, Some(1 << 20))
    }

    fn sleeper(host: &Arc<HostMemory>) -> OsWait {
        OsWait::new(host.clone(), ME, OsClock::start(), Some(LIMIT))
    }

    #[test]
    fn waits_do_not_yield_for_a_time_after_a_long_yield() {
        let (yields, now) = (Yields::default(), Cell::new(Instant::ZERO));
        // Returns whether another yield is useful, or `None` without a yield.
        let give_way = |duration: Duration| {
            let begun = now.get();
            let useful = yields.give_way(|| now.get(), || now.set(now.get() + duration));
            (now.get() > begun).then_some(useful)
        };
        let [short, long] = [LONG_YIELD - Duration::from_nanoseconds(1), LONG_YIELD];
        assert!((0..100).all(|_| give_way(short) == Some(true)));
        assert!((0..YIELDS_PER_TIMING).any(|_| give_way(long) == Some(false)), "one of these is timed");
        for waits in [64, 128, 256, 512, 1024, 1024] {
            assert!((0..waits).all(|_| give_way(short).is_none()));
            assert_eq!(give_way(long), Some(false), "the first after that is timed");
        }
        assert!((0..1024).all(|_| give_way(short).is_none()) && give_way(short) == Some(true));
        assert!((0..100).all(|_| give_way(short) == Some(true)), "the core is free again");
        assert!((0..YIELDS_PER_TIMING).any(|_| give_way(long) == Some(false)));
        assert!((0..64).all(|_| give_way(short).is_none()) && give_way(short) == Some(true));
    }

    /// Returns the end of a wait that ends by itself after `looks` polls; `each` is called at every poll.
    fn wait(sleeper: &OsWait, until: Option<Instant>, looks: u32, each: impl Fn()) -> Woken {
        let mut left = looks;
        sleeper.park(For::Anything, until, &mut || {
            each();
            left = left.saturating_sub(1);
            left == 0
        })
    }

    #[test]
    fn a_job_in_which_every_rank_sleeps_is_a_deadlock() {
        let host = asleep(&plan());
        assert_eq!(wait(&sleeper(&host), None, u32::MAX, || ()), Woken::Fault(Fault::Deadlock));
        for end in [HostMemory::finish, |host: &HostMemory, rank| _ = host.mark_failed(rank)] {
            let host = asleep(&plan());
            host.set_fault_tolerant();
            end(&host, OTHER);
            assert_eq!(wait(&sleeper(&host), None, u32::MAX, || ()), Woken::Fault(Fault::Deadlock), "the other has ended");
        }
    }

    #[test]
    fn a_job_that_sleeps_for_less_than_the_limit_is_no_deadlock() {
        let (host, limit) = (asleep(&plan()), Duration::from_milliseconds(100));
        let sleeper = OsWait::new(host, ME, OsClock::start(), Some(limit));
        assert_eq!(wait(&sleeper, None, u32::MAX, || ()), Woken::Fault(Fault::Deadlock));
        assert!(sleeper.clock.now().since(Instant::ZERO) >= limit, "found out before");
    }

    #[test]
    fn a_rank_that_may_move_is_no_part_of_a_deadlock() {
        for why in
            ["it computes", "another of its threads computes", "its operation is in flight", "it was rung, and is about to wake"]
        {
            let host = asleep(&plan());
            let other = host.control(OTHER).expect("of this host");
            match why {
                "it computes" => other.waiting.store(0, Ordering::SeqCst),
                "another of its threads computes" => other.threads.store(2, Ordering::SeqCst),
                "its operation is in flight" => other.report.tally(&Tally { operations: 1, bytes: 8, in_flight: 1 }),
                _ => other.bell.ring(),
            }
            assert_eq!(wait(&sleeper(&host), None, LOOKS, || ()), Woken::Look, "{why}");
        }
        let host = asleep(&plan());
        let other = host.control(OTHER).expect("of this host");
        let moves = || _ = other.moves.fetch_add(1, Ordering::SeqCst);
        assert_eq!(wait(&sleeper(&host), None, LOOKS, moves), Woken::Look, "it wakes now and then, and sleeps again");
        let sends = || _ = other.datagrams.fetch_add(1, Ordering::SeqCst);
        assert_eq!(wait(&sleeper(&host), None, LOOKS, sends), Woken::Look, "it sends datagrams meanwhile");
        let sleeper = sleeper(&host);
        let sent = std::sync::atomic::AtomicU64::new(0);
        sleeper.count_network(move || {
            let mut counters = Counters::default();
            counters.add(Event::DatagramRepeated, sent.fetch_add(1, Ordering::Relaxed));
            counters
        });
        assert_eq!(wait(&sleeper, None, LOOKS, || ()), Woken::Look, "a datagram of this rank is not acknowledged");
    }

    #[test]
    fn who_has_not_come_or_cannot_be_seen_may_move() {
        let absent = Arc::new(HostMemory::create(&plan()).expect("memory for two ranks").0);
        absent.join(ME);
        assert_eq!(wait(&sleeper(&absent), None, LOOKS, || ()), Woken::Look, "the other has yet to join");
        let part = asleep(&HostPlan { count: 2, ..HostPlan::local(3, Some(1 << 20)) });
        assert_eq!(sleeper(&part).deadlock_after, None, "there are ranks on other hosts");
    }

    #[test]
    fn a_wait_that_ends_by_itself_is_no_part_of_a_deadlock() {
        let host = asleep(&plan());
        let sleeper = sleeper(&host);
        let late = sleeper.clock.now() + Duration::from_seconds(1000.0);
        assert_eq!(wait(&sleeper, Some(late), LOOKS, || ()), Woken::Look);
    }

    /// Otherwise a rank that computes after the panic would be part of a deadlock.
    #[test]
    fn a_wait_whose_condition_panics_is_over() {
        let host = asleep(&plan());
        let sleeper = sleeper(&host);
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            sleeper.park(For::Anything, None, &mut || std::panic::resume_unwind(Box::new("a bug of the program")))
        }));
        let control = host.control(ME).expect("of this host");
        assert!(panicked.is_err());
        assert_eq!((control.waiting.load(Ordering::SeqCst), control.moves.load(Ordering::SeqCst)), (0, 1));
    }

    #[test]
    fn a_sleeper_that_is_rung_looks_for_itself() {
        let host = asleep(&plan());
        let sleeper = sleeper(&host);
        let looks = std::cell::Cell::new(0);
        let rung = || {
            looks.set(looks.get() + 1);
            if looks.get() == 1 {
                host.control(ME).expect("of this host").bell.ring();
            }
        };
        assert_eq!(wait(&sleeper, None, u32::MAX, rung), Woken::Look);
    }

    #[test]
    fn a_rank_that_the_network_alone_wakes_naps_before_it_sleeps_on_its_bell() {
        let host = asleep(&plan());
        let sleeper = sleeper(&host);
        let naps = Arc::new(std::sync::Mutex::new(Vec::new()));
        sleeper.nap_by({
            let naps = naps.clone();
            move |limit| {
                let mut naps = naps.lock().unwrap();
                naps.push(limit);
                naps.len() == 1
            }
        });
        let looks = std::cell::Cell::new(0);
        let each = || looks.set(looks.get() + 1);
        assert_eq!((wait(&sleeper, None, 1, each), looks.get()), (Woken::Look, 0), "something has come: the caller looks");
        assert_eq!((wait(&sleeper, None, 1, each), looks.get()), (Woken::Look, 1), "nothing has: it sleeps");
        assert_eq!(*naps.lock().unwrap(), [NAP; 2]);
        let soon = sleeper.clock.now() + Duration::from_microseconds(10);
        while sleeper.clock.now() < soon {}
        assert_eq!((wait(&sleeper, Some(soon), 1, each), looks.get()), (Woken::Look, 1), "its time has come");
        assert_eq!(naps.lock().unwrap().pop(), Some(Duration::ZERO));
        let control = host.control(ME).expect("of this host");
        for _another_thread_would_wake_it_by_the_bell in 0..2 {
            control.threads.fetch_add(1, Ordering::SeqCst);
        }
        wait(&sleeper, None, 1, each);
        assert_eq!((naps.lock().unwrap().len(), looks.get()), (2, 2));
    }
}
