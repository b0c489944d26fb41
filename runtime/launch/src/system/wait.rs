//! Waiting on a real machine: yield for a moment, then sleep on the rank's doorbell.

use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};
use std::thread::{available_parallelism, yield_now};

use pelago_base::{Counters, Duration, Instant, Rank};
use pelago_platform::{Activity, Clock, Fault, For, Reports, Wait, WaitPolicy, WaitSite, Woken};
use pelago_shm::{HostMemory, RankControl, RankStage};
use pelago_sync::Slept;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::OsClock;
use crate::system::report::{HostReport, monotonic_ns};

/// How often a wait looks before it gives up the core, if each rank has its own: about two microseconds, which is twice
/// what a barrier takes.
const SPINS_ALONE: u32 = 2000;

/// The same if the host is oversubscribed: the rank that this one waits for may need its core.
const SPINS_SHARED: u32 = 1;

/// How often a wait lets others run before it sleeps. Where ranks share cores, this is what hands the turn round; where they do not,
/// it lasts some ten microseconds, as long as waking a sleeper on another core.
const YIELDS: u32 = 50;

/// How long a sleeper that has to watch a socket itself may not notice the bell.
const GLANCE: Duration = Duration::from_milliseconds(1);

/// How long a sleeper may wait for the network before it sleeps on its bell. It does not hear the bell meanwhile.
const NAP: Duration = Duration::from_milliseconds(1);

/// How often, at least, a sleeper looks whether the whole job stands still.
const WATCH: Duration = Duration::from_milliseconds(500);

/// How often it looks, at least, in the time after which it declares a deadlock.
const WATCHES: u64 = 4;

/// Sleeping on the doorbell of a rank.
pub struct OsWait {
    host: Arc<HostMemory>,
    rank: Rank,
    clock: OsClock,
    deadlock_after: Option<Duration>,
    is_oversubscribed: bool,
    /// A socket whose data should wake the rank, if no progress thread watches it.
    socket: OnceLock<OwnedFd>,
    /// What the network has counted, if there is one.
    network: OnceLock<NetworkCounters>,
    /// How a rank sleeps for a moment that hears of others by the network alone.
    nap: OnceLock<Nap>,
}

/// Sleeps until something has come by the network, for so long at most; whether it has.
type Nap = Box<dyn Fn(Duration) -> bool + Send + Sync>;

/// Tells what a network has counted.
type NetworkCounters = Box<dyn Fn() -> Counters + Send + Sync>;

impl OsWait {
    /// The waiting of `rank`, which declares a deadlock when every rank has waited for `deadlock_after`.
    ///
    /// # Panics
    /// `rank` is not on `host`.
    pub fn new(host: Arc<HostMemory>, rank: Rank, clock: OsClock, deadlock_after: Option<Duration>) -> Self {
        assert!(host.control(rank).is_some(), "rank {rank} is on this host");
        let cores = available_parallelism().map_or(1, usize::from);
        let is_oversubscribed = host.count() as usize > cores;
        // Ranks on other hosts are out of sight: there, silence of this host's ranks is no deadlock.
        let deadlock_after = deadlock_after.filter(|_| host.is_whole_job());
        Self {
            host,
            rank,
            clock,
            deadlock_after,
            is_oversubscribed,
            socket: OnceLock::new(),
            network: OnceLock::new(),
            nap: OnceLock::new(),
        }
    }

    /// Wakes sleepers when `socket` becomes readable too. For a rank without a progress thread: it notices its bell up to a millisecond late.
    ///
    /// # Errors
    /// The system refuses another descriptor.
    pub fn watch(&self, socket: BorrowedFd<'_>) -> std::io::Result<()> {
        let _only_one = self.socket.set(socket.try_clone_to_owned()?);
        Ok(())
    }

    /// Waits begin with a sleep by `nap`, which needs no `membarrier`, and from which the network wakes the rank itself rather than its progress thread. For a rank
    /// to whose memory other processes write by the network alone.
    pub fn nap_by(&self, nap: impl Fn(Duration) -> bool + Send + Sync + 'static) {
        let _only_one = self.nap.set(Box::new(nap));
    }

    /// What `counted` tells is what the network of this rank has counted; the first time that this is called.
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

    /// Sleeps for a moment, if a rank may that has no other thread which may wake it; whether something has come, or its time.
    fn nap(&self, until: Option<Instant>) -> bool {
        let Some(nap) = self.nap.get().filter(|_| self.control().threads.load(Ordering::Relaxed) <= 1) else { return false };
        nap(until.map_or(NAP, |until| until.since(self.clock.now()).min(NAP)))
            || until.is_some_and(|until| self.clock.now() >= until)
    }

    fn sleep(&self, what: For, until: Option<Instant>, ready: &mut dyn FnMut() -> bool) -> Woken {
        let mut stillness: Option<(Instant, Vec<u64>)> = None;
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
            let Some(limit) = self.deadlock_after else { continue };
            match (&stillness, self.still()) {
                (Some((since, before)), Some(moves)) if *before == moves => {
                    // A rank that was to report, and has died over it, is not waited for longer than that.
                    let still = now.since(*since);
                    if still >= limit && self.host.job().claim_deadlock_report() {
                        eprint!("{}", HostReport::of(&self.host, monotonic_ns()));
                        self.host.fail(Fault::Deadlock);
                    } else if still >= limit + limit {
                        self.host.fail(Fault::Deadlock);
                    }
                }
                (_, moves) => stillness = moves.map(|moves| (now, moves)),
            }
        }
    }

    /// As [`park`](Wait::park), for what rings the bell and does not come by the network; and for callers that look by `ready` alone.
    pub(crate) fn park_on_bell(&self, what: For, until: Option<Instant>, ready: &mut dyn FnMut() -> bool) -> Woken {
        if let Some(fault) = self.fault() {
            return Woken::Fault(fault);
        }
        // A wait with an end is no part of a deadlock: it moves by itself.
        let endless = u32::from(until.is_none());
        self.control().waiting.fetch_add(endless, Ordering::SeqCst);
        let woken = self.sleep(what, until, ready);
        self.control().waiting.fetch_sub(endless, Ordering::SeqCst);
        self.control().moves.fetch_add(1, Ordering::SeqCst);
        woken
    }

    fn doze(&self, what: For, limit: Duration, ready: &mut dyn FnMut() -> bool) -> Slept {
        let Some(socket) = self.socket.get() else {
            let (bell, limit) = (&self.control().bell, Some(limit.into()));
            return match what {
                For::Line(line) => bell.sleep_for(line, limit, ready),
                For::Anything | For::Memory | For::AtMost(_) => bell.sleep(limit, ready),
            };
        };
        if ready() {
            return Slept::Ready;
        }
        let glance = std::time::Duration::from(limit.min(GLANCE));
        let glance = Timespec { tv_sec: glance.as_secs() as i64, tv_nsec: i64::from(glance.subsec_nanos()) };
        match poll(&mut [PollFd::new(socket, PollFlags::IN)], Some(&glance)) {
            Ok(0) => Slept::TimedOut,
            _ => Slept::Rung,
        }
    }

    /// How often each rank has moved, if every rank is asleep for ever unless another moves.
    fn still(&self) -> Option<Vec<u64>> {
        self.host
            .controls()
            .map(|(_, control)| {
                let stuck = match control.stage() {
                    RankStage::Absent => false,
                    // A rank that starts or ends has no thread that uses the library; then it waits, or is no part of this.
                    RankStage::Joined => {
                        let threads = control.threads.load(Ordering::SeqCst).max(1);
                        control.waiting.load(Ordering::SeqCst) >= threads && control.is_unasked()
                    }
                    RankStage::Finished | RankStage::Failed => true,
                };
                stuck.then(|| control.moves.load(Ordering::SeqCst))
            })
            .collect()
    }
}

impl Wait for OsWait {
    fn policy(&self) -> WaitPolicy {
        let spins = if self.is_oversubscribed { SPINS_SHARED } else { SPINS_ALONE };
        WaitPolicy { spins, yields: YIELDS, is_oversubscribed: self.is_oversubscribed, ..WaitPolicy::default() }
    }

    fn park(&self, what: For, until: Option<Instant>, ready: &mut dyn FnMut() -> bool) -> Woken {
        match self.fault() {
            // `ready` would leave what comes to the progress thread: the caller looks.
            None if self.nap(until) => Woken::Look,
            _ => self.park_on_bell(what, until, ready),
        }
    }

    fn yield_now(&self) {
        yield_now();
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

    fn tally(&self, operations: u64, bytes: u64) {
        self.control().report.tally(operations, bytes);
    }

    fn counters(&self) -> Counters {
        self.network.get().map_or_else(Counters::default, |counted| counted())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pelago_shm::HostPlan;

    const ME: Rank = Rank::new(0);
    const OTHER: Rank = Rank::new(1);
    const LIMIT: Duration = Duration::from_milliseconds(4);

    /// Looks of a sleeper in far more time than the limit.
    const LOOKS: u32 = 40;

    /// Two ranks that have joined, of which the other sleeps: its one thread waits, and nobody has rung since.
    fn asleep(plan: &HostPlan<'_>) -> Arc<HostMemory> {
        let host = Arc::new(HostMemory::create(plan).expect("memory for two ranks").0);
        [ME, OTHER].into_iter().for_each(|rank| host.join(rank));
        let other = host.control(OTHER).expect("of this host");
        other.threads.store(1, Ordering::SeqCst);
        other.waiting.store(1, Ordering::SeqCst);
        // Announces a sleeper, which only a ring takes away.
        other.bell.sleep(None, &mut || true);
        host
    }

    fn plan() -> HostPlan<'static> {
        HostPlan::local(2, Some(1 << 20))
    }

    fn sleeper(host: &Arc<HostMemory>) -> OsWait {
        OsWait::new(host.clone(), ME, OsClock::start(), Some(LIMIT))
    }

    /// How a wait ends that ends by itself after so many looks; `each` is done at every look.
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
        for why in ["it computes", "another of its threads computes", "it was rung, and is about to wake"] {
            let host = asleep(&plan());
            let other = host.control(OTHER).expect("of this host");
            match why {
                "it computes" => other.waiting.store(0, Ordering::SeqCst),
                "another of its threads computes" => other.threads.store(2, Ordering::SeqCst),
                _ => other.bell.ring(),
            }
            assert_eq!(wait(&sleeper(&host), None, LOOKS, || ()), Woken::Look, "{why}");
        }
        let host = asleep(&plan());
        let moves = || _ = host.control(OTHER).expect("of this host").moves.fetch_add(1, Ordering::SeqCst);
        assert_eq!(wait(&sleeper(&host), None, LOOKS, moves), Woken::Look, "it wakes now and then, and sleeps again");
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
