//! One thread at a time, and waits that let others in.
//!
//! Threads that wait in the library take part in one wait: the first leads it, and sleeps inside with the lock held. Whoever else wants
//! in says so and wakes it; it hands the lock over and goes on waiting. Others that wait meanwhile look now and then.
#![allow(unsafe_code)]

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread::{sleep, yield_now};
use std::time::Duration as Pause;

use pelago::{Context, Duration, Error, GlobalPtr, Rank, Result, processes};
use pelago_memory::Reach;

/// How long a wait lasts before it is asked whether it may be one without end, which counts towards a deadlock.
const SLICE: Duration = Duration::from_milliseconds(1000);

/// How often a thread that waits beside another looks before it pauses.
const LOOKS: u32 = 20;

/// The shortest and the longest pause between its looks.
const PAUSE: (Pause, Pause) = (Pause::from_micros(10), Pause::from_micros(200));

/// Maximum number of yields of a thread to other threads that want to enter.
const YIELDS_MAX: u32 = 1000;

/// What threads use one at a time: a lock, and waits that hand it over.
pub struct Monitor<T> {
    state: Mutex<State<T>>,
    /// How many threads want in.
    wanted: AtomicU32,
    /// Whether all threads are coroutines of a simulated rank, which take turns.
    are_coroutines: bool,
    /// Where the bell hangs of the rank whose thread may sleep inside.
    reach: Reach,
    rank: Rank,
}

struct State<T> {
    inside: Confined<T>,
    /// Whether a thread leads the wait of all that wait.
    led: bool,
}

/// Invariant **A1**: what is inside is used by one thread at a time, the one that holds the lock, and nothing of it belongs to a thread: a
/// world is bound to its thread by the callback of `on_peer_lost` alone, and nobody here sets one.
struct Confined<T>(T);

// SAFETY: A1.
unsafe impl<T> Send for Confined<T> {}

/// What waits go through.
pub trait Progress {
    /// The way to wait.
    fn context(&self) -> &'static Context;

    /// Does what does not wait and whose time may have come.
    fn progress(&mut self) -> Result<()>;
}

impl<T: Progress> Monitor<T> {
    /// For a state that nobody has used yet; `are_coroutines` says that threads are those of a simulated rank.
    pub fn new(inside: T, are_coroutines: bool) -> Self {
        let (reach, rank) = (inside.context().reach().clone(), inside.context().rank());
        let state = Mutex::new(State { inside: Confined(inside), led: false });
        Self { state, wanted: AtomicU32::new(0), are_coroutines, reach, rank }
    }

    /// Does something, when it is this thread's turn.
    pub fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        f(&mut self.lock().inside.0)
    }

    /// As `with`, unless another thread is inside.
    pub fn try_with<R>(&self, f: impl FnOnce(&mut T) -> R) -> Option<R> {
        self.state.try_lock().ok().map(|mut state| f(&mut state.inside.0))
    }

    /// Waits until `ready` returns something; other threads have their turns meanwhile.
    pub fn wait<R>(&self, what: &'static str, ready: impl FnMut(&mut T) -> Result<Option<R>>) -> Result<R> {
        self.wait_for_word(what, None, ready)
    }

    /// As [`wait`](Self::wait); where `ready` depends on a word of this rank's memory alone, it is not asked again for what others write beside that.
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
        // Nobody else looks for deadlocks of a simulated job.
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

    /// Lets whoever wants in come in.
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

    /// Gives the core away for a moment: whoever asks again and again may hold what the other side needs. Ranks that are simulated have it in turns.
    pub fn yield_core(&self) {
        if !self.are_coroutines {
            yield_now();
        }
    }

    /// Another thread has the lock.
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
        match self.state.try_lock() {
            Ok(state) => return state,
            Err(TryLockError::Poisoned(poisoned)) => return poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => {}
        }
        self.wanted.fetch_add(1, Ordering::SeqCst);
        // It announces itself as a sleeper before it looks for the last time, so that the bell is not missed.
        if let Some(bell) = self.reach.bell(self.rank) {
            bell.ring();
        }
        let state = self.lock_contended();
        self.wanted.fetch_sub(1, Ordering::SeqCst);
        state
    }
}

/// Whether this process has no thread but the calling one and the library's: nobody else can do what is waited for.
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
