//! A value that one thread uses, behind a shared reference: a lock without atomic operations, which would each wait for all stores before them.
//!
//! Invariants of the unsafe code:
//!
//! - **O1** Only the owner, the first thread that asks, gets at the value; numbers of threads are never given out twice.
//! - **O2** There is one guard at a time: `is_borrowed` is set while there is one. A guard stays with its thread, as it is not `Send`.
#![allow(unsafe_code)]

use std::cell::{Cell, UnsafeCell};
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU64, Ordering};

/// No thread has this number.
const NOBODY: u64 = 0;

thread_local! {
    /// The number of this thread, once it has one.
    static NUMBER: Cell<u64> = const { Cell::new(NOBODY) };
}

/// A value for the thread that first asks for it.
pub(super) struct OneThread<T> {
    owner: AtomicU64,
    is_borrowed: Cell<bool>,
    value: UnsafeCell<T>,
}

// SAFETY: O1: other threads only read `owner`, which is atomic.
unsafe impl<T: Send> Sync for OneThread<T> {}

impl<T> OneThread<T> {
    pub(super) fn new(value: T) -> Self {
        Self { owner: AtomicU64::new(NOBODY), is_borrowed: Cell::new(false), value: UnsafeCell::new(value) }
    }

    /// The value, until the guard is dropped.
    ///
    /// # Panics
    /// Another thread has asked before, or there is a guard.
    #[inline]
    pub(super) fn lock(&self) -> OneThreadGuard<'_, T> {
        if NUMBER.get() == NOBODY || self.owner.load(Ordering::Relaxed) != NUMBER.get() {
            self.claim();
        }
        assert!(!self.is_borrowed.replace(true), "the simulated job is used while it is used");
        OneThreadGuard { of: self, stays: PhantomData }
    }

    /// Makes this thread the owner.
    #[cold]
    fn claim(&self) {
        static NUMBERS: AtomicU64 = AtomicU64::new(NOBODY);
        if NUMBER.get() == NOBODY {
            NUMBER.set(NUMBERS.fetch_add(1, Ordering::Relaxed) + 1);
        }
        let claimed = self.owner.compare_exchange(NOBODY, NUMBER.get(), Ordering::Relaxed, Ordering::Relaxed);
        assert!(claimed.is_ok(), "a simulated job is used by the thread that runs it alone");
    }
}

/// The only way to the value as long as it exists.
pub(crate) struct OneThreadGuard<'l, T> {
    of: &'l OneThread<T>,
    stays: PhantomData<*const ()>,
}

impl<T> Deref for OneThreadGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: O1, O2.
        unsafe { &*self.of.value.get() }
    }
}

impl<T> DerefMut for OneThreadGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: O1, O2.
        unsafe { &mut *self.of.value.get() }
    }
}

impl<T> Drop for OneThreadGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.of.is_borrowed.set(false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "used while it is used")]
    fn there_is_one_guard_at_a_time() {
        let value = OneThread::new(1);
        *value.lock() += 1;
        let guard = value.lock();
        assert_eq!(*guard, 2);
        let _second = value.lock();
    }

    #[test]
    fn other_threads_do_not_get_at_the_value() {
        let value = OneThread::new(1);
        *value.lock() += 1;
        let other = std::thread::scope(|scope| scope.spawn(|| *value.lock()).join().is_err());
        assert!(other);
        assert_eq!(*value.lock(), 2);
        // A value that nobody has used may be used elsewhere.
        let fresh = OneThread::new(3);
        assert_eq!(std::thread::scope(|scope| scope.spawn(|| *fresh.lock()).join().unwrap()), 3);
    }
}
