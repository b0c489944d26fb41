//! Mutual exclusion of threads, with waits that hand over the lock.
//!
//! All threads that wait in the library share one wait: the first one leads it and sleeps with the lock held. A thread that wants to
//! enter announces itself and wakes the leader, which hands over the lock and continues its wait afterwards. Further waiting threads
//! poll their conditions with pauses.
#![allow(unsafe_code)]

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread::{sleep, yield_now};
use std::time::Duration as Pause;

use pelago::{Context, Duration, Error, GlobalPtr, Rank, Result, processes};
use pelago_memory::Reach;

use crate::simulated;

/// Time limit of a wait before it checks whether it may become a wait without limit, which counts towards the detection of deadlocks.
const SLICE: Duration = Duration::from_milliseconds(1000);

/// Number of polls of a thread that waits beside the leader before it pauses between polls.
const LOOKS: u32 = 20;

/// The shortest and the longest pause between its polls.
const PAUSE: (Pause, Pause) = (Pause::from_micros(10), Pause::from_micros(200));

/// Maximum number of yields of a thread to other threads that want to enter.
const YIELDS_MAX: u32 = 1000;

/// State that one thread uses at a time, guarded by a lock that waits hand over.
pub struct Monitor<T> {
    state: Mutex<State<T>>,
    /// Number of threads that want to enter.
    wanted: AtomicU32,
    /// Whether all threads are coroutines of a simulated rank, which run one at a time.
    are_coroutines: bool,
    /// Access to the doorbell of `rank`, whose leading thread may sleep inside.
    reach: Reach,
    rank: Rank,
}

struct State<T> {
    inside: Confined<T>,
    /// Whether a thread leads the shared wait.
    led: bool,
}

/// Invariant **A1**: the content is used by one thread at a time, the holder of the lock, and no part of it is bound to a thread: only a
/// callback of `on_peer_lost` binds a world to its thread, and no such callback is set here.
struct Confined<T>(T);

// SAFETY: A1.
unsafe impl<T> Send for Confined<T> {}

/// State whose waits the monitor performs.
pub trait Progress {
    /// The context by which threads wait.
    fn context(&self) -> &'static Context;

    /// Performs pending work that can be done without waiting.
    fn progress(&mut self) -> Result<()>;
}

impl<T: Progress> Monitor<T> {
    /// Returns a monitor of an unused state. `are_coroutines`: the threads are coroutines of a simulated rank.
    ///
    /// # Safety
    /// No part of the state is bound to the calling thread, or shared with anything that is (A1).
    pub unsafe fn new(inside: T, are_coroutines: bool) -> Self {
        let (reach, rank) = (inside.context().reach().clone(), inside.context().rank());
        let state = Mutex::new(State { inside: Confined(inside), led: false });
        Self { state, wanted: AtomicU32::new(0), are_coroutines, reach, rank }
    }

    /// Calls `f` with the state, once this thread holds the lock.
    pub fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        f(&mut self.lock().inside.0)
    }

    /// Like `with`, but returns `None` if another thread holds the lock.
    pub fn try_with<R>(&self, f: impl FnOnce(&mut T) -> R) -> Option<R> {
        self.state.try_lock().ok().map(|mut state| f(&mut state.inside.0))
    }

    /// Waits until `ready` returns a value. Other threads can enter during the wait.
    pub fn wait<R>(&self, what: &'static str, ready: impl FnMut(&mut T) -> Result<Option<R>>) -> Result<R> {
        self.wait_for_word(what, None, ready)
    }

    /// Like [`wait`](Self::wait). If `word` is given, `ready` depends on that word of this rank's memory alone, and writes to other memory do
    /// not cause another call of it.
    pub fn wait_for_word<R>(
        &self,
        what: &'static str,
        word: Option<GlobalPtr<u8>>,
        mut ready: impl FnMut(&mut T) -> Result<Option<R>>,
    ) -> Result<R> {
        let mut state = self.lock();
        let (mut looks, mut pause) = (0, PAUSE.0);
        while state.led {
            state.inside.0.progress()?;
            if let Some(found) = ready(&mut state.inside.0)? {
                return Ok(found);
            }
            state.inside.0.context().progress();
            drop(state);
            looks += 1;
            if self.are_coroutines {
                processes::let_threads_run();
            } else if looks < LOOKS {
                yield_now();
            } else {
                sleep(pause);
                pause = (2 * pause).min(PAUSE.1);
            }
            state = self.lock();
        }
        state.led = true;
        // A wait of a simulated rank has no limit, so that the simulation detects deadlocks.
        let mut limit = Some(SLICE).filter(|_| !self.are_coroutines);
        loop {
            let (context, inside) = (state.inside.0.context(), &mut state.inside.0);
            let look = || {
                inside.progress()?;
                let found = ready(inside)?;
                Ok((found.is_some() || self.wanted.load(Ordering::SeqCst) > 0).then_some(found))
            };
            let looked = match word {
                Some(word) => context.wait_for_word(what, limit, word, look),
                None => context.wait_for(what, limit, look),
            };
            match looked {
                Ok(None) => {
                    drop(state);
                    self.yield_to_waiting();
                    state = self.lock();
                }
                Err(Error::TimedOut { .. }) => limit = Some(SLICE).filter(|_| !is_only_thread()),
                Ok(Some(found)) => {
                    state.led = false;
                    return Ok(found);
                }
                Err(error) => {
                    state.led = false;
                    return Err(error);
                }
            }
        }
    }

    /// Yields until the threads that want to enter have entered, at most [`YIELDS_MAX`] times.
    fn yield_to_waiting(&self) {
        for _ in 0..YIELDS_MAX {
            if self.wanted.load(Ordering::SeqCst) == 0 {
                return;
            }
            if self.are_coroutines {
                processes::let_threads_run();
            } else {
                yield_now();
            }
        }
    }

    /// Yields the core: a thread that polls in a loop may occupy the core that the peer needs. In a simulation, lets threads that want to enter do so.
    pub fn yield_core(&self) {
        if self.are_coroutines {
            self.let_wanting_enter();
        } else {
            yield_now();
        }
    }

    /// Lets coroutines that want to enter run. A coroutine that polls in a loop is suspended only inside, so that they would never find the lock free.
    fn let_wanting_enter(&self) {
        if self.are_coroutines && self.wanted.load(Ordering::SeqCst) > 0 {
            processes::let_threads_run();
        }
    }

    /// Waits for a lock that another thread holds.
    fn lock_contended(&self) -> MutexGuard<'_, State<T>> {
        if self.are_coroutines {
            loop {
                if let Ok(state) = self.state.try_lock() {
                    return state;
                }
                processes::let_threads_run();
            }
        }
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.let_wanting_enter();
        match self.state.try_lock() {
            Ok(state) => return state,
            Err(TryLockError::Poisoned(poisoned)) => return poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => {}
        }
        self.wanted.fetch_add(1, Ordering::SeqCst);
        // The leader arms its doorbell before its last check of `wanted`, so that this ring is not missed.
        if let Some(bell) = self.reach.bell(self.rank) {
            bell.ring();
        }
        let state = self.lock_contended();
        self.wanted.fetch_sub(1, Ordering::SeqCst);
        state
    }
}

/// Locks a mutex that a thread may hold while it waits in the library. Threads of a simulated rank are coroutines: instead of blocking, the caller lets the
/// others run.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    if simulated::running().is_none() {
        return mutex.lock().unwrap_or_else(PoisonError::into_inner);
    }
    loop {
        match mutex.try_lock() {
            Ok(guard) => return guard,
            Err(TryLockError::Poisoned(poisoned)) => return poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => processes::let_threads_run(),
        }
    }
}

/// Whether the process has no threads except the calling one and those of the library: no other thread can then satisfy a wait.
fn is_only_thread() -> bool {
    let Ok(tasks) = std::fs::read_dir("/proc/self/task") else { return false };
    let name = |path: std::path::PathBuf| std::fs::read_to_string(path.join("comm")).unwrap_or_default();
    tasks.flatten().filter(|task| !name(task.path()).starts_with("pelago-")).count() == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_counted() {
        // The thread of the test, and the one that started it.
        assert!(!is_only_thread());
    }
}
