//! An exchange allocates nothing.
#![allow(unsafe_code)]

#[path = "../../../runtime/rma/tests/support/mod.rs"]
#[allow(dead_code)]
mod support;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use pelago_halo::{Field, Halo, Method, Nodes, Plan, Route, Settings, Template};
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
}

#[global_allocator]
static COUNTING: Counting = Counting;

#[test]
fn exchanges_allocate_nothing() {
    for method in Method::ALL {
        for route in [Route::Direct, Route::Forwarded] {
            run(Platform::Mapped, 4, |world| {
                let template = Template::new([9, 8, 7], Nodes::new([2, 1, 2], [true, true, false]).unwrap()).unwrap();
                let array = template.array().shadow([[1, 2], [1, 1], [1, 0]]).unwrap();
                let mut fields: Vec<_> = (0..3).map(|_| Field::<f64, 3>::new(world, &array).unwrap()).collect();
                let settings = Settings { method: Some(method), route: Some(route), ..Settings::new(Halo::Corners) };
                let mut plan = Plan::build(world, &mut fields, &settings).unwrap();
                plan.reflect(&mut fields).unwrap();
                let before = ALLOCATIONS.get();
                for _ in 0..100 {
                    plan.start(&mut fields).unwrap();
                    plan.wait(&mut fields).unwrap();
                }
                assert_eq!(ALLOCATIONS.get() - before, 0, "{method} {route}");
                drop(vec![0; 100]);
                assert_eq!(ALLOCATIONS.get() - before, 1, "they are counted");
                world.barrier().unwrap();
            });
        }
    }
}
