//! What plans do not allocate once they are made.
#![allow(unsafe_code)]

#[path = "../../../runtime/rma/tests/support/mod.rs"]
#[allow(dead_code)]
mod support;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use pelago_collectives::{Algorithm, Choice, Collectives, Operation, Settings, Shape, Sum};
use support::{Platform, run};

/// The allocator of the system, which counts for each thread what it is asked for.
struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: it is the system's allocator; counting neither allocates nor fails.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller's promise.
        unsafe { System.realloc(pointer, layout, bytes) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

const SIZE: u32 = 4;

/// How often a rank allocates in so many operations, when some have been done before.
fn allocations(platform: Platform, count: usize, operations: u64) {
    run(platform, SIZE, |world| {
        let settings = Settings { memory_bytes: 1 << 20, plan_bytes: 64 << 10, per_host: Some(2), ..Settings::default() };
        let all = Collectives::new(world, &settings).unwrap();
        for operation in Operation::ALL.into_iter().filter(|&operation| operation != Operation::Barrier) {
            for algorithm in Algorithm::ALL {
                let shape = Shape { operation, algorithm, size: SIZE, count, per_host: 2, commutes: true };
                if !shape.is_possible(platform == Platform::Mapped) {
                    continue;
                }
                let mut plan = all.plan_of(operation, count, Sum, Choice::Fixed(algorithm)).unwrap();
                let blocks = |blocks: u32| vec![1_u64; blocks as usize * count];
                let input = blocks(operation.blocks_in(all.position(), SIZE));
                let mut output = blocks(operation.blocks_out(all.position(), SIZE));
                (0..operations).for_each(|_| plan.run(&input, &mut output).unwrap());
                all.barrier().unwrap();
                let before = ALLOCATIONS.get();
                (0..operations).for_each(|_| plan.run(&input, &mut output).unwrap());
                let found = ALLOCATIONS.get() - before;
                assert_eq!(found, 0, "{operation} {algorithm} of {count} values, {platform:?}");
            }
        }
    });
}

#[test]
fn plans_allocate_nothing_on_mapped_memory() {
    for count in [1, 100, 3000] {
        allocations(Platform::Mapped, count, 50);
    }
}

#[test]
fn allocations_are_counted() {
    let before = ALLOCATIONS.get();
    drop(std::hint::black_box(vec![1_u8; 10]));
    assert_eq!(ALLOCATIONS.get(), before + 1);
}
