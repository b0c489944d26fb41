//! Prefetching of a cache line before it is needed.
//!
//! Invariants of the unsafe code:
//!
//! - **P1** A prefetch neither reads nor writes as far as the program can observe, and never faults. Any address is valid; that of a reference is mapped.
#![allow(unsafe_code)]

/// Prefetches the cache line in which `place` begins, without waiting for it. Does nothing on architectures other than x86-64.
#[inline(always)]
pub fn prefetch<T>(place: &T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: P1.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(place).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = place;
}
