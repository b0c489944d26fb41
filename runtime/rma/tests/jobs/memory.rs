//! Allocations and groups that a program creates and drops can be created again, as many at once as the memory permits.

use pelago_base::{AddressLayout, Event, Rank, SegmentId};
use pelago_platform::Failure;
use pelago_rma::{Error, GlobalPtr};

use pelago_test_support::threads::{HEAP_BYTES, Platform, on_every_platform, run_with_heaps};

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

/// An allocation is no call that reports failures: the other ranks would wait for a rank that leaves it with an error.
#[test]
fn an_operation_that_has_failed_stops_no_allocation() {
    on_every_platform(&[3], |world, platform| {
        let layout = AddressLayout::new(world.size(), HEAP_BYTES).unwrap();
        let nowhere = layout.encode(Rank::new(1), SegmentId::REGISTERED_FIRST, 0).unwrap();
        let dropped = world.alloc::<u64>(4).unwrap();
        world.barrier().unwrap();
        let fails = world.rank() == Rank::new(0);
        if fails {
            world.put(GlobalPtr::<u64>::from_address(nowhere).unwrap(), &[1]).unwrap();
        }
        drop(dropped);
        assert_eq!(world.alloc::<u64>(4).map(drop), Ok(()), "{platform:?}");
        let failed = Err(Error::Failed(Failure::OutOfBounds(nowhere)));
        assert_eq!(world.quiet(), if fails { failed } else { Ok(()) }, "{platform:?}: the failure is still to be told");
        world.barrier().unwrap();
    });
}

/// A write that is on its way when its rank drops the memory does not reach the next allocation there, and a write to this allocation is not cleared.
#[test]
fn dropped_memory_is_used_again_after_all_writes_to_it() {
    on_every_platform(&[3], |world, platform| {
        let (peer, mut places) = (world.rank().next(world.size()), Vec::new());
        for round in 1..=40 {
            let memory = world.alloc::<u64>(100).unwrap();
            places.push(memory.at(peer, 0));
            world.put(memory.at(peer, 0), &[round]).unwrap();
            world.barrier().unwrap();
            assert_eq!(memory.local().load(0), round, "{platform:?}");
            assert!(memory.local().to_vec()[1..].iter().all(|&word| word == 0), "{platform:?}, round {round}");
            world.barrier().unwrap();
            world.put(memory.at(peer, 1), &[round; 99]).unwrap();
        }
        assert!(places.windows(2).all(|pair| pair[0] == pair[1]), "it is used again");
    });
}
