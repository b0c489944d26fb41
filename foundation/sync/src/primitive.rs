//! The underlying atomics, fence and futex: those of the machine, or of a model under `cfg(loom)`. Under Miri only the futex is a
//! model, because Miri refuses the argument types with which rustix makes the system call.

use core::time::Duration;

#[cfg(not(loom))]
pub use core::{
    hint::spin_loop,
    sync::atomic::{AtomicU32, AtomicU64, Ordering, fence},
};
#[cfg(loom)]
pub use loom::{
    hint::spin_loop,
    sync::atomic::{AtomicU32, AtomicU64, Ordering, fence},
};

/// Sleeps while `word` is `expected`, until a wake-up or for `timeout`; returns whether the timeout expired.
///
/// `false` only means that the caller should check again: the word differed, a thread woke it, or a signal arrived. The word may lie in
/// memory shared with other processes. A timeout beyond the kernel's range means no timeout; a model has no time and never
/// times out. Orders no memory. Cost: one system call. Callable from any thread.
///
/// # Panics
/// The kernel has no futexes, or the word lies in memory that cannot have one.
pub fn futex_wait(word: &AtomicU32, expected: u32, timeout: Option<Duration>) -> bool {
    system::futex_wait(word, expected, timeout)
}

/// Wakes all threads, of all processes, that sleep on `word`. Cost: one system call. Callable from any thread.
///
/// # Panics
/// The kernel has no futexes, or the word lies in memory that cannot have one.
pub fn futex_wake_all(word: &AtomicU32) {
    system::futex_wake_all(word);
}

#[cfg(not(any(loom, miri)))]
mod system {
    use rustix::io::Errno;
    use rustix::thread::futex::{self, Flags, Timespec};

    use super::{AtomicU32, Duration};

    /// Only threads of the sleeping process would find a private futex.
    const SHARED: Flags = Flags::empty();

    /// The kernel takes the count as a signed number.
    const ALL: u32 = i32::MAX as u32;

    pub(super) fn futex_wait(word: &AtomicU32, expected: u32, timeout: Option<Duration>) -> bool {
        let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
        match futex::wait(word, SHARED, expected, timeout.as_ref()) {
            Ok(()) | Err(Errno::AGAIN | Errno::INTR) => false,
            Err(Errno::TIMEDOUT) => true,
            Err(error) => panic!("the kernel refused to wait on a futex: {error}"),
        }
    }

    pub(super) fn futex_wake_all(word: &AtomicU32) {
        if let Err(error) = futex::wake(word, SHARED, ALL) {
            panic!("the kernel refused to wake a futex: {error}");
        }
    }
}

#[cfg(loom)]
mod system {
    use loom::sync::{Condvar, Mutex};

    use super::{AtomicU32, Duration, Ordering};

    loom::lazy_static! {
        // One queue for all words: a wake-up of another word is spurious, which callers must tolerate anyway.
        static ref QUEUE: (Mutex<()>, Condvar) = (Mutex::new(()), Condvar::new());
    }

    /// As in the kernel, comparing and falling asleep are one step for a waker.
    pub(super) fn futex_wait(word: &AtomicU32, expected: u32, _timeout: Option<Duration>) -> bool {
        let queue = QUEUE.0.lock().expect("no model panics with the lock");
        if word.load(Ordering::Relaxed) == expected {
            drop(QUEUE.1.wait(queue));
        }
        false
    }

    pub(super) fn futex_wake_all(_word: &AtomicU32) {
        let _queue = QUEUE.0.lock().expect("no model panics with the lock");
        QUEUE.1.notify_all();
    }
}

#[cfg(all(miri, not(loom)))]
mod system {
    use std::sync::{Condvar, Mutex};

    use super::{AtomicU32, Duration, Ordering};

    /// One queue for all words, as in the model of loom.
    static QUEUE: (Mutex<()>, Condvar) = (Mutex::new(()), Condvar::new());

    pub(super) fn futex_wait(word: &AtomicU32, expected: u32, timeout: Option<Duration>) -> bool {
        let queue = QUEUE.0.lock().expect("no thread panics with the lock");
        if word.load(Ordering::Relaxed) != expected {
            return false;
        }
        let (_queue, result) =
            QUEUE.1.wait_timeout(queue, timeout.unwrap_or(Duration::MAX)).expect("no thread panics with the lock");
        result.timed_out()
    }

    pub(super) fn futex_wake_all(_word: &AtomicU32) {
        let _queue = QUEUE.0.lock().expect("no thread panics with the lock");
        QUEUE.1.notify_all();
    }
}

/// Makes a constructor `const`, except in a model, whose atomics cannot be created at compile time.
macro_rules! constructor {
    ($(#[$doc:meta])* $visibility:vis fn new() -> Self $body:block) => {
        #[cfg(not(loom))]
        $(#[$doc])*
        $visibility const fn new() -> Self $body

        #[cfg(loom)]
        $(#[$doc])*
        $visibility fn new() -> Self $body
    };
}
pub(crate) use constructor;

/// An array for a [`constructor`], with each element created by its own evaluation of the expression.
macro_rules! array {
    ($element:expr; $count:expr) => {{
        #[cfg(not(loom))]
        let array = [const { $element }; $count];
        #[cfg(loom)]
        let array = core::array::from_fn(|_| $element);
        array
    }};
}
pub(crate) use array;

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_word_that_differs_is_not_waited_on() {
        assert!(!futex_wait(&AtomicU32::new(1), 0, None));
    }

    #[test]
    fn a_wait_without_a_wake_up_times_out() {
        let word = AtomicU32::new(0);
        futex_wake_all(&word);
        assert!(futex_wait(&word, 0, Some(Duration::ZERO)));
        assert!(futex_wait(&word, 0, Some(Duration::from_millis(1))));
    }

    #[test]
    fn a_wait_ends_by_a_wake_up() {
        let word = AtomicU32::new(0);
        std::thread::scope(|scope| {
            scope.spawn(|| while !futex_wait(&word, 0, Some(Duration::MAX)) && word.load(Ordering::Acquire) == 0 {});
            word.store(1, Ordering::Release);
            futex_wake_all(&word);
        });
    }
}
