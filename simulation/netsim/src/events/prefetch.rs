//! Asking memory for a line of cache before it is needed.
//!
//! Invariants of the unsafe code:
//!
//! - **P1** A prefetch neither reads nor writes as far as the program can tell, and never faults. Any address will do, and that of a reference is mapped.
#![allow(unsafe_code)]

/// Has the line of cache in which `place` begins fetched, without waiting for it. Does nothing on machines of other kinds.
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
