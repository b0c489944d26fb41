//! A lock of one process that costs its owner no atomic read-modify-write while nobody else wants it.
//!
//! Invariants of the unsafe code (`README.md` has the proof):
//!
//! - **B1** A value is touched only through a guard, and there is at most one guard at a time: one of others holds the mutex and has seen the owner
//!   outside after it took the bias; one of the owner holds the mutex, or has announced itself and found the bias.
//! - **B2** The owner's guard borrows the [`Owner`] mutably, of which there is one: it announces and leaves in turn.
#![allow(unsafe_code)]

use core::cell::UnsafeCell;
use core::ops::{Deref, DerefMut};
use std::sync::{Arc, PoisonError};

use crate::asymmetric::{heavy, light, register};
use crate::primitive::{AtomicU32, Mutex, MutexGuard, Ordering, spin_loop, yield_now};

/// Looks at an owner that is inside, before another thread has the core.
const LOOKS: u32 = 100;

/// Values of `bias`: the owner enters by announcing itself, or by the mutex as everybody else.
const OWNER: u32 = 0;
const SHARED: u32 = 1;

/// Values of `inside`.
const OUT: u32 = 0;
const IN: u32 = 1;

/// A lock that favours one owner, after *Quickly Reacquirable Locks* (Dice, Moir and Scherer, 2003).
///
/// While the lock is biased, its [`Owner`] takes it by a store and a load and returns it by a store. Any other thread takes the bias away first, by a
/// [heavy fence](heavy). It gives the bias back when it leaves, unless it [shares](Others::share) the lock: then the owner takes a mutex, until it
/// [claims](Owned::claim) the bias. A thread that panics with the lock leaves it free. Where the kernel refuses membarrier, the lock is a mutex.
///
/// ```
/// let (mut owner, lock) = pelago_sync::BiasedLock::new(1);
/// *owner.lock() += 1;
/// std::thread::spawn(move || assert_eq!(*lock.lock(), 2)).join().unwrap();
/// ```
#[derive(Debug)]
pub struct BiasedLock<T> {
    inside: AtomicU32,
    bias: AtomicU32,
    /// Whether the kernel agrees to heavy fences.
    can_bias: bool,
    others: Mutex<()>,
    value: UnsafeCell<T>,
}

// SAFETY: B1: one thread at a time touches the value.
unsafe impl<T: Send> Sync for BiasedLock<T> {}

/// The favoured side of a [`BiasedLock`].
#[derive(Debug)]
pub struct Owner<T> {
    lock: Arc<BiasedLock<T>>,
}

/// The lock, held by its owner until dropped.
#[derive(Debug)]
#[must_use = "the lock is returned when the guard is dropped"]
pub struct Owned<'a, T> {
    lock: &'a BiasedLock<T>,
    /// None while the lock was biased when it was taken.
    mutex: Option<MutexGuard<'a, ()>>,
}

/// The lock, held by another than its owner until dropped.
#[derive(Debug)]
#[must_use = "the lock is returned when the guard is dropped"]
pub struct Others<'a, T> {
    lock: &'a BiasedLock<T>,
    /// Whether the bias goes back to the owner.
    returns: bool,
    _mutex: MutexGuard<'a, ()>,
}

impl<T> BiasedLock<T> {
    /// A lock that is biased, if the kernel allows it, and its owner. Cost: two system calls.
    pub fn new(value: T) -> (Owner<T>, Arc<Self>) {
        let can_bias = register() && heavy();
        let bias = AtomicU32::new(if can_bias { OWNER } else { SHARED });
        let (inside, others, value) = (AtomicU32::new(OUT), Mutex::new(()), UnsafeCell::new(value));
        let lock = Arc::new(Self { inside, bias, can_bias, others, value });
        (Owner { lock: lock.clone() }, lock)
    }

    /// Waits until nobody else is inside, the owner included. Cost: a heavy fence if the lock is biased.
    ///
    /// # Panics
    /// The kernel refuses the fence that it agreed to when the lock was made.
    pub fn lock(&self) -> Others<'_, T> {
        let mutex = self.others.lock().unwrap_or_else(PoisonError::into_inner);
        let returns = self.take_bias();
        let mut looks = 0;
        while self.inside.load(Ordering::Acquire) == IN {
            looks += 1;
            if looks % LOOKS == 0 { yield_now() } else { spin_loop() }
        }
        Others { lock: self, returns, _mutex: mutex }
    }

    /// As [`lock`](Self::lock), but `None` if somebody is inside. Cost: no heavy fence if the owner is seen inside without one.
    ///
    /// # Panics
    /// As of `lock`.
    pub fn try_lock(&self) -> Option<Others<'_, T>> {
        if self.inside.load(Ordering::Relaxed) == IN {
            return None;
        }
        let mutex = match self.others.try_lock() {
            Ok(mutex) => mutex,
            Err(std::sync::TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(std::sync::TryLockError::WouldBlock) => return None,
        };
        let returns = self.take_bias();
        if self.inside.load(Ordering::Acquire) == IN {
            self.give_bias(returns);
            return None;
        }
        Some(Others { lock: self, returns, _mutex: mutex })
    }

    /// For the holder of the mutex: has the owner take it, too; returns whether it did not before. It may still be inside.
    fn take_bias(&self) -> bool {
        // Acquire: an owner that shares the lock while it is inside is seen there.
        let was_biased = self.bias.load(Ordering::Acquire) == OWNER;
        if was_biased {
            self.bias.store(SHARED, Ordering::Relaxed);
            assert!(heavy(), "the kernel refuses membarrier, which it allowed before: do not forbid it while a job runs");
        }
        was_biased
    }

    /// For the holder of the mutex.
    fn give_bias(&self, gives: bool) {
        if gives {
            // Release: the owner sees what was done inside.
            self.bias.store(OWNER, Ordering::Release);
        }
    }
}

impl<T> Owner<T> {
    /// Waits until nobody else is inside. Cost while the lock is biased: a store and a load, and a store when the guard is dropped.
    #[inline]
    pub fn lock(&mut self) -> Owned<'_, T> {
        let lock = &*self.lock;
        lock.inside.store(IN, Ordering::Relaxed);
        light();
        if lock.bias.load(Ordering::Acquire) == OWNER { Owned { lock, mutex: None } } else { Self::wait(lock) }
    }

    #[cold]
    fn wait(lock: &BiasedLock<T>) -> Owned<'_, T> {
        // Release: whoever sees this owner outside sees what it did before.
        lock.inside.store(OUT, Ordering::Release);
        let mutex = lock.others.lock().unwrap_or_else(PoisonError::into_inner);
        Owned { lock, mutex: Some(mutex) }
    }
}

impl<T> Owned<'_, T> {
    /// Whether the lock was biased when it was taken.
    pub fn is_biased(&self) -> bool {
        self.mutex.is_none()
    }

    /// The lock is biased from now on: others will rarely want it. Cost: nothing if it was.
    #[inline]
    pub fn claim(&mut self) {
        if self.mutex.is_some() {
            self.lock.give_bias(self.lock.can_bias);
        }
    }

    /// The lock is not biased from now on: others will want it more often. Cost: a store.
    pub fn share(&mut self) {
        self.lock.bias.store(SHARED, Ordering::Release);
    }
}

impl<T> Others<'_, T> {
    /// The owner does not get the bias back when this guard is dropped: others will want the lock more often.
    pub fn share(&mut self) {
        self.returns = false;
    }
}

impl<T> Drop for Owned<'_, T> {
    #[inline]
    fn drop(&mut self) {
        if self.mutex.is_none() {
            // Release: others see what was done inside.
            self.lock.inside.store(OUT, Ordering::Release);
        }
    }
}

impl<T> Drop for Others<'_, T> {
    fn drop(&mut self) {
        self.lock.give_bias(self.returns);
    }
}

impl<T> Deref for Owned<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: B1, B2.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T> DerefMut for Owned<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: B1, B2.
        unsafe { &mut *self.lock.value.get() }
    }
}

impl<T> Deref for Others<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: B1.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T> DerefMut for Others<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: B1.
        unsafe { &mut *self.lock.value.get() }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::thread;

    fn is_biased<T>(lock: &BiasedLock<T>) -> bool {
        lock.bias.load(Ordering::Relaxed) == OWNER
    }

    #[test]
    fn the_bias_goes_back_unless_it_is_shared() {
        let (mut owner, lock) = BiasedLock::new(0);
        if !lock.can_bias {
            return eprintln!("not tested: the kernel refuses membarrier");
        }
        *owner.lock() += 1;
        *lock.lock() += 1;
        assert!(is_biased(&lock) && owner.lock().is_biased());
        lock.try_lock().unwrap().share();
        assert!(!is_biased(&lock) && !owner.lock().is_biased());
        *lock.lock() += 1;
        assert!(!is_biased(&lock), "what is shared stays shared");
        owner.lock().claim();
        assert!(is_biased(&lock) && owner.lock().is_biased());
        owner.lock().share();
        assert!(!is_biased(&lock));
        assert_eq!(*owner.lock(), 3);
    }

    #[test]
    fn nobody_enters_while_another_is_inside() {
        let (mut owner, lock) = BiasedLock::new(());
        let held = owner.lock();
        assert!(lock.try_lock().is_none());
        drop(held);
        for shared in [false, true] {
            if shared {
                owner.lock().share();
            }
            let other = lock.try_lock().unwrap();
            assert!(thread::scope(|scope| scope.spawn(|| lock.try_lock().is_none()).join().unwrap()));
            drop(other);
            let held = owner.lock();
            assert!(lock.try_lock().is_none());
            drop(held);
        }
    }

    #[test]
    fn without_membarrier_it_is_a_mutex() {
        let (mut owner, mut lock) = BiasedLock::new(0);
        drop(owner);
        let inner = Arc::get_mut(&mut lock).unwrap();
        (inner.can_bias, inner.bias) = (false, AtomicU32::new(SHARED));
        owner = Owner { lock: lock.clone() };
        owner.lock().claim();
        *lock.lock() += 1;
        assert!(!owner.lock().is_biased() && !is_biased(&lock));
    }

    #[test]
    fn a_thread_that_panics_leaves_it_free() {
        let (mut owner, lock) = BiasedLock::new(0);
        for shares in [false, true] {
            let other = lock.clone();
            assert!(
                thread::spawn(move || if *other.lock() < 9 {
                    panic!("intended")
                })
                .join()
                .is_err()
            );
            assert!(
                std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| if *owner.lock() < 9 {
                    panic!("intended")
                }))
                .is_err()
            );
            let mut held = owner.lock();
            if shares {
                held.share()
            } else {
                held.claim()
            }
            drop(held);
            assert!(lock.try_lock().is_some());
        }
    }

    /// Each adds by a read and a write, so that two inside at once would lose what one added.
    #[test]
    fn nothing_that_was_done_inside_is_lost() {
        const OWN: u64 = if cfg!(miri) { 40 } else { 400_000 };
        const OTHERS: u64 = if cfg!(miri) { 10 } else { 2_000 };
        let (mut owner, lock) = BiasedLock::new(0u64);
        thread::scope(|scope| {
            for share in [false, true] {
                let lock = &lock;
                scope.spawn(move || {
                    for round in 0..OTHERS {
                        let mut held = if round % 2 == 0 { lock.lock() } else { lock.try_lock().unwrap_or_else(|| lock.lock()) };
                        *held += 1;
                        if share && round % 8 == 0 {
                            held.share();
                        }
                    }
                });
            }
            for round in 0..OWN {
                let mut held = owner.lock();
                *held += 1;
                if round % 16 == 0 {
                    held.claim();
                }
            }
        });
        assert_eq!(*lock.lock(), OWN + 2 * OTHERS);
    }
}
