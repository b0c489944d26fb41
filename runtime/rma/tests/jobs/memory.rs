//! Allocations and groups that a program creates and drops can be created again, as many at once as the memory permits.

use pelago_base::Event;

use pelago_test_support::threads::{HEAP_BYTES, Platform, run_with_heaps};

#[test]
fn what_is_alive_costs_an_allocation_no_message() {
    run_with_heaps(Platform::Remote, 3, HEAP_BYTES, |world, passed| {
        let operations = || {
            let counters = passed.lock().unwrap();
            [Event::PutPosted, Event::GetPosted, Event::AtomicPosted].map(|event| counters.of(event))
        };
        let mut all = Vec::new();
        let mut cost = |alive: usize| {
            while all.len() < alive {
                all.push(world.alloc::<u8>(1).unwrap());
            }
            world.barrier().unwrap();
            let before = operations();
            all.push(world.alloc::<u8>(1).unwrap());
            let after = operations();
            [0, 1, 2].map(|kind| after[kind] - before[kind])
        };
        let first = cost(1);
        assert_eq!([10, 60, 1000, 1500, 3000].map(&mut cost), [first; 5]);
        world.barrier().unwrap();
    });
}
