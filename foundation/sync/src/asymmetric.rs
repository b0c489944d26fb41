//! A pair of fences between processes: the frequent one costs nothing, the rare one bears the cost of both.
//!
//! A [`light`] fence in one thread and a [`heavy`] fence in another pair like full fences: one of them comes first, and reads after the
//! other see writes before the first. Two light fences order nothing. [`heavy`] makes the kernel run a full
//! fence on every core that runs a registered process (membarrier(2), `MEMBARRIER_CMD_GLOBAL_EXPEDITED`, Linux 4.16); a
//! thread that does not run at that moment executed one when it was descheduled. The same idea is in folly's
//! `AsymmetricMemoryBarrier` and in the C++ proposal P1202.
//!
//! Invariants of the unsafe code:
//!
//! - **S1** membarrier takes numbers only and writes no memory of the program; a command that the kernel does not know is an
//!   error.
#![allow(unsafe_code)]

use crate::primitive::{Ordering, fence};

/// The cheap fence. Cost: no instruction; it only keeps the compiler from moving memory accesses across it.
///
/// It pairs with a [`heavy`] only in a process that has called [`register`]. Streaming (non-temporal) stores before it need their own
/// store fence. Callable from any thread.
#[inline(always)]
pub fn light() {
    #[cfg(not(any(loom, miri)))]
    core::sync::atomic::compiler_fence(Ordering::SeqCst);
    #[cfg(any(loom, miri))]
    fence(Ordering::SeqCst);
}

/// The costly fence: orders the caller against every [`light`] in every registered process. Returns whether it did.
///
/// `false`: the kernel refuses membarrier (too old, or forbidden by a filter) and only the caller is fenced. A thread that
/// waits for a write of a light thread must then poll again after a bounded time. Cost: one system call and one interrupt of
/// each core that runs a registered process, some microseconds. Callable from any thread.
#[must_use]
pub fn heavy() -> bool {
    // Represents the pair in a model, and keeps the compiler from moving accesses across the call.
    fence(Ordering::SeqCst);
    let done = kernel::membarrier(kernel::FENCE);
    fence(Ordering::SeqCst);
    done
}

/// Registers this process, so that its [`light`] pairs with [`heavy`] in any process; returns whether the kernel supports this.
///
/// Each process must call it once before its first [`light`], and again after `exec`; further calls are harmless.
/// If it returns `false`, sleepers in other processes may miss writes of this process, even if their own `heavy` returns `true`, and
/// must be told to bound their sleep. Cost: one system call, milliseconds if threads are running.
#[must_use]
pub fn register() -> bool {
    kernel::membarrier(kernel::REGISTER)
}

#[cfg(not(any(loom, miri)))]
mod kernel {
    use core::ffi::c_long;

    pub(super) const FENCE: c_long = libc::MEMBARRIER_CMD_GLOBAL_EXPEDITED as c_long;
    pub(super) const REGISTER: c_long = libc::MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED as c_long;

    pub(super) fn membarrier(command: c_long) -> bool {
        const FLAGS: c_long = 0;
        const CPU: c_long = 0;
        // SAFETY: S1: the three arguments are numbers.
        unsafe { libc::syscall(libc::SYS_membarrier, command, FLAGS, CPU) == 0 }
    }
}

/// Models and Miri have no membarrier: both fences are full fences.
#[cfg(any(loom, miri))]
mod kernel {
    pub(super) const FENCE: () = ();
    pub(super) const REGISTER: () = ();

    pub(super) fn membarrier((): ()) -> bool {
        true
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::primitive::AtomicU64;

    /// Queries the kernel: the supported commands, or those registered by this process, as bits.
    #[cfg(not(miri))]
    fn asked(question: core::ffi::c_int) -> Option<core::ffi::c_long> {
        // SAFETY: S1: the three arguments are numbers.
        let bits = unsafe { libc::syscall(libc::SYS_membarrier, question, 0, 0) };
        (bits >= 0).then_some(bits)
    }

    #[test]
    #[cfg(not(miri))]
    fn what_the_kernel_offers_is_used() {
        const REGISTRATIONS: core::ffi::c_int = 512;
        let offered = asked(libc::MEMBARRIER_CMD_QUERY).is_some_and(|known| known & kernel::FENCE != 0);
        assert_eq!((register(), heavy()), (offered, offered));
        if let Some(registered) = asked(REGISTRATIONS).filter(|_| offered) {
            assert_ne!(registered & kernel::REGISTER, 0);
        }
    }

    /// Store buffering: of two threads that each write their word, fence and read the other's, at least one sees the other's write.
    #[test]
    fn one_of_two_threads_sees_the_other() {
        if !(register() && heavy()) {
            return eprintln!("not tested: the kernel refuses membarrier");
        }
        for _ in 0..if cfg!(miri) { 20 } else { 2_000 } {
            let [mine, other, start] = [(); 3].map(|()| AtomicU64::new(0));
            let meet = || {
                start.fetch_add(1, Ordering::Relaxed);
                while start.load(Ordering::Relaxed) != 2 {
                    std::thread::yield_now();
                }
            };
            let (seen, seen_by_other) = std::thread::scope(|scope| {
                let light_side = scope.spawn(|| {
                    meet();
                    other.store(1, Ordering::Relaxed);
                    light();
                    mine.load(Ordering::Relaxed)
                });
                meet();
                mine.store(1, Ordering::Relaxed);
                assert!(heavy());
                (other.load(Ordering::Relaxed), light_side.join().unwrap())
            });
            assert!(seen + seen_by_other > 0);
        }
    }
}
