//! The thread that serves peers while the rank computes or sleeps. It does not disturb a rank that polls by itself.

use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

use pelago_base::Rank;
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};

use crate::engine::Engine;
use crate::limits::{EXCUSE_MICROSECONDS_MAX, EXCUSE_MICROSECONDS_MIN, POLL_PAUSE_MICROSECONDS, RAILS_MAX};

/// Number of polls without an event after which the thread sleeps. A read by a peer, which the provider answers by itself, is no event, but wakes the thread.
const LOOKS: u32 = 8;

/// The same number while the rank itself sleeps and leaves its core to the thread: some 30 µs, longer than a peer takes from an answer to its next request.
/// A wake-up takes longer than an answer.
const LOOKS_FOR_SLEEPER: u32 = 64;

/// Maximum number of polls without an event for a sleeping rank, about 140 µs. The number doubles with each sleep that ends within
/// [`SHORT_SLEEP_MICROSECONDS`], as between the gets of a series, none of which is an event. A larger value would keep the core from a peer that shares it
/// with this thread.
const LOOKS_FOR_SLEEPER_MAX: u32 = 256;

/// Number of polls without an event after which the thread of a sleeping rank polls the descriptors instead, where a core serves accesses: they also signal
/// a read by a peer, so that a series of gets keeps the thread awake.
const LOOKS_BEFORE_WATCHING: u32 = 1;

/// Time in µs up to which a sleep is too short to be worthwhile: about ten times what falling asleep and waking take.
const SHORT_SLEEP_MICROSECONDS: u32 = 100;

/// State shared by the rank and its progress thread.
pub(crate) struct Shared {
    engine: Mutex<Engine>,
    wake: Box<dyn Fn() + Send + Sync>,
    lost: Box<dyn Fn(Rank) + Send + Sync>,
    /// Number of polls of the rank.
    looks: AtomicU64,
    /// Whether the rank sleeps.
    sleeping: AtomicBool,
    stop: AtomicBool,
    /// Whether other ranks need the core of this one when it sleeps.
    is_oversubscribed: bool,
}

impl Shared {
    pub(crate) fn new(
        engine: Engine,
        wake: Box<dyn Fn() + Send + Sync>,
        lost: Box<dyn Fn(Rank) + Send + Sync>,
        is_oversubscribed: bool,
    ) -> Self {
        let (looks, sleeping, stop) = (AtomicU64::new(0), AtomicBool::new(false), AtomicBool::new(false));
        Self { engine: Mutex::new(engine), wake, lost, looks, sleeping, stop, is_oversubscribed }
    }

    /// Locks the engine, also after a panic of another thread: its state remains safe to use.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Engine> {
        self.engine.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// As [`lock`](Self::lock), unless another thread holds the lock.
    fn try_lock(&self) -> Option<MutexGuard<'_, Engine>> {
        match self.engine.try_lock() {
            Ok(engine) => Some(engine),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Records a poll of the rank.
    pub(crate) fn attend(&self) {
        self.looks.store(self.looks.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
        if self.sleeping.load(Ordering::Relaxed) {
            self.sleeping.store(false, Ordering::Relaxed);
        }
    }

    /// Reports failed peers and wakes the rank if there is news. Called without the lock.
    pub(crate) fn tell(&self, news: bool, losses: Vec<Rank>) {
        losses.into_iter().for_each(|rank| (self.lost)(rank));
        if news {
            (self.wake)();
        }
    }
}

pub(crate) struct ProgressThread {
    shared: Arc<Shared>,
    call: Arc<OwnedFd>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl ProgressThread {
    pub(crate) fn start(shared: Arc<Shared>) -> std::io::Result<Self> {
        let call = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
        let descriptors = shared.lock().descriptors().map(|all| all.into_iter().map(OwnedFd::try_clone).collect());
        let completions = descriptors.transpose()?;
        let watches = shared.lock().serves_accesses();
        let attendance = Attendance { shared: shared.clone(), call: call.clone(), completions, watches };
        let thread = std::thread::Builder::new().name("pelago-ofi".into()).spawn(move || attendance.run())?;
        Ok(Self { shared, call, thread: Some(thread) })
    }

    /// Announces that the rank is about to sleep.
    pub(crate) fn before_sleep(&self) {
        self.shared.sleeping.store(true, Ordering::SeqCst);
        self.call();
    }

    /// Ends the sleep of the thread.
    pub(crate) fn call(&self) {
        let _ = rustix::io::write(&*self.call, &1_u64.to_ne_bytes());
    }
}

impl Drop for ProgressThread {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::SeqCst);
        self.call();
        if let Some(thread) = self.thread.take() {
            let _ended = thread.join();
        }
    }
}

/// Adapts the number of polls of the thread of a sleeping rank before it sleeps itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Patience {
    /// Number of times that the number of polls was doubled.
    doublings: u32,
    /// Whether the last sleep reached its limit, so that the next has none.
    is_calm: bool,
}

impl Patience {
    const fn looks(self) -> u32 {
        LOOKS_FOR_SLEEPER << self.doublings
    }

    /// Time in µs after which the next sleep counts as a long one; `None`: without a limit.
    fn limit(self) -> Option<u32> {
        (!self.is_calm).then_some(SHORT_SLEEP_MICROSECONDS)
    }

    /// Records the end of a sleep with that limit; `is_woken`: the provider has ended it.
    const fn slept(&mut self, is_woken: bool) {
        let was_short = is_woken && !self.is_calm;
        self.is_calm = !is_woken;
        self.doublings = match was_short {
            true if self.looks() < LOOKS_FOR_SLEEPER_MAX => self.doublings + 1,
            true => self.doublings,
            false => 0,
        };
    }
}

/// The loop that runs on the progress thread.
struct Attendance {
    shared: Arc<Shared>,
    call: Arc<OwnedFd>,
    /// One descriptor for each rail; `None` if a rail has none.
    completions: Option<Vec<OwnedFd>>,
    /// Whether the descriptors signal each access of a peer.
    watches: bool,
}

impl Attendance {
    fn run(&self) {
        let (mut seen, mut idle, mut excuse, mut patience) = (0, 0, EXCUSE_MICROSECONDS_MIN, Patience::default());
        while !self.shared.stop.load(Ordering::SeqCst) {
            let looks = self.shared.looks.load(Ordering::Relaxed);
            let is_attended = !self.shared.sleeping.load(Ordering::SeqCst) && std::mem::replace(&mut seen, looks) != looks;
            if is_attended {
                self.sleep(&[], Some(excuse));
                excuse = (2 * excuse).min(EXCUSE_MICROSECONDS_MAX);
                continue;
            }
            excuse = EXCUSE_MICROSECONDS_MIN;
            // Another thread of the rank holds the lock; waiting for the lock would make it wake this one when it leaves.
            let Some(mut engine) = self.shared.try_lock() else {
                self.sleep(&[], Some(EXCUSE_MICROSECONDS_MIN));
                continue;
            };
            idle = if engine.drive() { 0 } else { idle + 1 };
            let (news, losses) = (engine.take_news(), engine.take_losses());
            let is_rank_asleep = self.shared.sleeping.load(Ordering::Relaxed);
            let is_oversubscribed = self.shared.is_oversubscribed;
            let watched = self.completions.as_deref().filter(|_| self.watches && is_rank_asleep && !is_oversubscribed);
            let looks_max = match watched {
                Some(_) => LOOKS_BEFORE_WATCHING,
                None if is_rank_asleep => patience.looks(),
                None => LOOKS,
            };
            let is_idle = idle >= looks_max;
            let may_sleep = is_idle && (self.completions.is_none() || engine.may_sleep());
            let has_unsent = engine.has_unsent();
            drop(engine);
            self.shared.tell(news, losses);
            if !may_sleep {
                if is_rank_asleep && idle < LOOKS_FOR_SLEEPER {
                    std::hint::spin_loop()
                } else {
                    std::thread::yield_now()
                }
                continue;
            }
            if let Some(descriptors) = watched.filter(|_| !has_unsent)
                && is_ready_soon(descriptors, patience.looks(), || self.is_left_alone())
            {
                idle = 0;
                continue;
            }
            let must_look = self.completions.is_none() || has_unsent;
            let is_patient = is_rank_asleep && !must_look && !is_oversubscribed;
            let pause = if must_look { Some(POLL_PAUSE_MICROSECONDS) } else { patience.limit().filter(|_| is_patient) };
            let is_woken = self.sleep(self.completions.as_deref().unwrap_or_default(), pause);
            if is_patient {
                patience.slept(is_woken);
            }
            // A rank that computes would take the core at the first yield, and keep the answer waiting.
            if is_woken && self.shared.sleeping.load(Ordering::Relaxed) {
                idle = 0;
            }
        }
    }

    /// Sleeps until the rank calls, an operation ends, a peer sends or reads, or `limit` µs, less than a second, have passed. Returns whether the
    /// provider has something to do.
    fn sleep(&self, completions: &[OwnedFd], limit: Option<u32>) -> bool {
        let mut sources: [_; 1 + RAILS_MAX] = std::array::from_fn(|_| PollFd::new(&*self.call, PollFlags::IN));
        for (source, descriptor) in sources[1..].iter_mut().zip(completions) {
            *source = PollFd::new(descriptor, PollFlags::IN);
        }
        let sources = &mut sources[..=completions.len()];
        let limit = limit.map(|limit| Timespec { tv_sec: 0, tv_nsec: i64::from(limit) * 1000 });
        let _ = poll(sources, limit.as_ref());
        let is_woken = sources[1..].iter().any(|source| !source.revents().is_empty());
        if !sources[0].revents().is_empty() {
            let _ = rustix::io::read(&*self.call, &mut [0; 8]);
        }
        is_woken
    }

    /// Whether the rank still sleeps and the thread need not end.
    fn is_left_alone(&self) -> bool {
        self.shared.sleeping.load(Ordering::Relaxed) && !self.shared.stop.load(Ordering::Relaxed)
    }
}

/// Polls up to `looks` times whether one of the descriptors is readable, while `goes_on` holds.
fn is_ready_soon(descriptors: &[OwnedFd], looks: u32, goes_on: impl Fn() -> bool) -> bool {
    let Some(first) = descriptors.first() else { return false };
    let mut sources: [_; RAILS_MAX] =
        std::array::from_fn(|rail| PollFd::new(descriptors.get(rail).unwrap_or(first), PollFlags::IN));
    let sources = &mut sources[..descriptors.len().min(RAILS_MAX)];
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    for look in 0..looks {
        if poll(sources, Some(&at_once)).is_ok_and(|ready| ready > 0) {
            return true;
        }
        if !goes_on() {
            break;
        }
        // A peer may share the core.
        if look < LOOKS_FOR_SLEEPER { std::hint::spin_loop() } else { std::thread::yield_now() }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_readable_descriptor_is_found_and_no_other_is_waited_for() {
        let bells = [(); 2].map(|()| eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).unwrap());
        let looks = std::cell::Cell::new(0);
        let look = || {
            looks.set(looks.get() + 1);
            true
        };
        assert!(!is_ready_soon(&bells, 5, look));
        assert_eq!(looks.take(), 5);
        assert!(!is_ready_soon(&bells, 5, || !look()), "the rank is awake");
        assert_eq!(looks.take(), 1);
        rustix::io::write(&bells[1], &1_u64.to_ne_bytes()).unwrap();
        assert!(is_ready_soon(&bells, 5, look));
        assert_eq!(looks.get(), 0);
        assert!(!is_ready_soon(&[], 5, look));
    }

    #[test]
    fn short_sleeps_make_the_thread_look_longer_and_a_long_one_ends_that() {
        let mut patience = Patience::default();
        assert_eq!((patience.looks(), patience.limit()), (LOOKS_FOR_SLEEPER, Some(SHORT_SLEEP_MICROSECONDS)));
        let looks = [(); 6].map(|()| {
            patience.slept(true);
            patience.looks()
        });
        assert_eq!(looks, [128, 256, 256, 256, 256, 256]);
        patience.slept(false);
        assert_eq!((patience.looks(), patience.limit()), (LOOKS_FOR_SLEEPER, None), "the next sleep is a long one");
        patience.slept(true);
        assert_eq!((patience.looks(), patience.limit()), (LOOKS_FOR_SLEEPER, Some(SHORT_SLEEP_MICROSECONDS)));
    }
}
