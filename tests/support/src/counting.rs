//! The allocator of the system with counts of allocations and freed bytes for each thread. A test program installs it:
//!
//! ```
//! use pelago_test_support::counting::{CountingAllocator, allocations};
//!
//! #[global_allocator]
//! static ALLOCATOR: CountingAllocator = CountingAllocator;
//!
//! let before = allocations();
//! drop(std::hint::black_box(Box::new(1)));
//! assert_eq!(allocations(), before + 1);
//! ```
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
    static FREED_BYTES: Cell<u64> = const { Cell::new(0) };
}

/// Returns the number of allocations and reallocations of this thread.
pub fn allocations() -> u64 {
    ALLOCATIONS.get()
}

/// Returns the number of bytes that this thread has freed.
pub fn freed_bytes() -> u64 {
    FREED_BYTES.get()
}

/// The counting allocator, to be installed by `#[global_allocator]`.
pub struct CountingAllocator;

// SAFETY: it is the system's allocator; counting neither allocates nor fails.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller's promise.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        FREED_BYTES.set(FREED_BYTES.get() + layout.size() as u64);
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller's promise.
        unsafe { System.realloc(pointer, layout, bytes) }
    }
}
