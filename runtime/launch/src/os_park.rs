//! Waiting on a real machine: yield for a moment, then sleep on the rank's doorbell.

use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};
use std::thread::{available_parallelism, yield_now};

use pelago_base::{Duration, Instant, Rank};
use pelago_platform::{Clock, Fault, Park, Woken};
use pelago_shm::{Control, Host, Stage};
use pelago_sync::Slept;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::OsClock;

/// How often a wait looks before it gives up the processor, if each rank has its own: about two microseconds, which is twice
/// what a barrier takes.
const SPINS_ALONE: u32 = 2000;

/// The same where ranks share processors: who is waited for may need this one.
const SPINS_SHARED: u32 = 1;

/// How often a wait lets others run before it sleeps. Where ranks share processors, this is what hands the turn round; where they do
/// not, it lasts some ten microseconds, as long as waking a sleeper on another processor.
const YIELDS: u32 = 50;

/// How long a sleeper that has to watch a socket itself may not notice the bell.
const GLANCE: Duration = Duration::from_milliseconds(1);

/// How often a sleeper looks whether the whole job stands still.
const WATCH: Duration = Duration::from_milliseconds(500);

/// Sleeping on the doorbell of a rank.
pub struct OsPark {
    host: Arc<Host>,
    rank: Rank,
    clock: OsClock,
    deadlock_after: Option<Duration>,
    crowded: bool,
    /// What may become readable when the rank should look, if nobody else watches it.
    socket: OnceLock<OwnedFd>,
}

impl OsPark {
    /// The waiting of `rank`, which declares a deadlock when every rank has waited for `deadlock_after`.
    ///
    /// # Panics
    /// `rank` is not on `host`.
    pub fn new(host: Arc<Host>, rank: Rank, clock: OsClock, deadlock_after: Option<Duration>) -> Self {
        assert!(host.control(rank).is_some(), "{rank} is on this host");
        let processors = available_parallelism().map_or(1, usize::from);
        let crowded = host.count() as usize > processors;
        // Ranks on other hosts are out of sight: there, silence of this host's ranks is no deadlock.
        let deadlock_after = deadlock_after.filter(|_| host.is_whole_job());
        Self { host, rank, clock, deadlock_after, crowded, socket: OnceLock::new() }
    }

    /// Wakes sleepers when `socket` becomes readable too. For a rank without an agent: it notices its bell up to a millisecond late.
    ///
    /// # Errors
    /// The system refuses another descriptor.
    pub fn watch(&self, socket: BorrowedFd<'_>) -> std::io::Result<()> {
        let _only_one = self.socket.set(socket.try_clone_to_owned()?);
        Ok(())
    }

    fn control(&self) -> &Control {
        self.host.control(self.rank).expect("checked when made")
    }

    fn sleep(&self, until: Option<Instant>, ready: &mut dyn FnMut() -> bool) -> Woken {
        let mut stillness: Option<(Instant, Vec<u64>)> = None;
        loop {
            let left = until.map_or(WATCH, |until| until.since(self.clock.now()).min(WATCH));
            let slept = self.doze(left, &mut || ready() || self.fault().is_some());
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
                    if now.since(*since) >= limit {
                        self.host.fail(Fault::Deadlock);
                    }
                }
                (_, moves) => stillness = moves.map(|moves| (now, moves)),
            }
        }
    }

    fn doze(&self, limit: Duration, ready: &mut dyn FnMut() -> bool) -> Slept {
        let Some(socket) = self.socket.get() else { return self.control().bell.sleep(Some(limit.into()), ready) };
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
                    Stage::Absent => false,
                    // A rank that starts or ends has no thread that uses the library; then it waits, or is no part of this.
                    Stage::Joined => {
                        let threads = control.threads.load(Ordering::SeqCst).max(1);
                        control.waiting.load(Ordering::SeqCst) >= threads && control.is_unasked()
                    }
                    Stage::Finished | Stage::Lost => true,
                };
                stuck.then(|| control.moves.load(Ordering::SeqCst))
            })
            .collect()
    }
}

impl Park for OsPark {
    fn park(&self, until: Option<Instant>, ready: &mut dyn FnMut() -> bool) -> Woken {
        if let Some(fault) = self.fault() {
            return Woken::Fault(fault);
        }
        // A wait with an end is no part of a deadlock: it moves by itself.
        let endless = u32::from(until.is_none());
        self.control().waiting.fetch_add(endless, Ordering::SeqCst);
        let woken = self.sleep(until, ready);
        self.control().waiting.fetch_sub(endless, Ordering::SeqCst);
        self.control().moves.fetch_add(1, Ordering::SeqCst);
        woken
    }

    fn spins(&self) -> u32 {
        if self.crowded { SPINS_SHARED } else { SPINS_ALONE }
    }

    fn yields(&self) -> u32 {
        YIELDS
    }

    fn give_way(&self) {
        yield_now();
    }

    fn waits(&self) {
        self.control().attend();
    }

    fn waited(&self) {
        self.control().depart();
    }

    fn is_crowded(&self) -> bool {
        self.crowded
    }

    fn join(&self) {
        self.control().threads.fetch_add(1, Ordering::SeqCst);
    }

    fn leave(&self) {
        self.control().threads.fetch_sub(1, Ordering::SeqCst);
    }

    fn fault(&self) -> Option<Fault> {
        self.host.job().fault()
    }

    fn survive(&self) {
        self.host.survive();
    }

    fn lost(&self, known: usize) -> Option<Rank> {
        self.host.lost().nth(known)
    }
}
