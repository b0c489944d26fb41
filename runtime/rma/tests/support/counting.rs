//! The allocator of the system, which counts for each thread what it is asked for and given back. A test that takes this module in is counted.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
    static FREED_BYTES: Cell<u64> = const { Cell::new(0) };
}

/// How often this thread has asked for memory, or for more of it.
pub(crate) fn allocations() -> u64 {
    ALLOCATIONS.get()
}

/// How many bytes this thread has given back.
#[allow(dead_code)]
pub(crate) fn freed_bytes() -> u64 {
    FREED_BYTES.get()
}

#[global_allocator]
static COUNTING: Counting = Counting;

struct Counting;

// SAFETY: it is the system's allocator; counting neither allocates nor fails.
unsafe impl GlobalAlloc for Counting {
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

#[test]
fn allocations_are_counted() {
    let before = allocations();
    drop(std::hint::black_box(vec![1_u8; 10]));
    assert_eq!(allocations(), before + 1);
    let mut grows = std::hint::black_box(vec![1_u8; 10]);
    grows.reserve_exact(1000);
    assert_eq!(allocations(), before + 3, "growing asks again");
}
