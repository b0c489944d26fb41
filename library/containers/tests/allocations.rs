//! Containers do not allocate in repeated rounds of the same operations.

use pelago_base::Rank;
use pelago_containers::{GlobalHeap, GlobalMap, GlobalMultiset, WorkQueue, WorkSettings};
use pelago_rma::active::QueueSettings;
use pelago_test_support::counting::{CountingAllocator, allocations};
use pelago_test_support::threads::{Platform, run};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// Number of allocations of this thread in the last of three rounds.
fn in_the_last_of_three(mut round: impl FnMut()) -> u64 {
    round();
    round();
    let before = allocations();
    round();
    allocations() - before
}

#[test]
fn tasks_allocate_nothing() {
    run(Platform::Mapped, 1, |world| {
        let queue = WorkQueue::<[u64; 3]>::new(world, WorkSettings { own: 4096, shared: 256, chunk: 16 }).unwrap();
        let count = in_the_last_of_three(|| {
            queue.push([12, 0, 0]).unwrap();
            let mut worked = 0;
            while let Some([levels, ..]) = queue.next().unwrap() {
                worked += 1;
                (0..2 * u64::from(levels > 0)).for_each(|child| queue.push([levels - 1, child, 0]).unwrap());
            }
            assert_eq!((worked, queue.counters().taken % worked), ((1 << 13) - 1, 0));
        });
        assert_eq!(count, 0, "for 8,191 tasks, many of which lay in the ring");
    });
}

/// Barriers, and vectors that double, make a few allocations.
#[test]
fn updates_at_owners_allocate_nothing() {
    const UPDATES: u64 = 20_000;
    for platform in [Platform::Mapped, Platform::Remote] {
        run(platform, 2, |world| {
            let heap = GlobalHeap::new(world, 1 << 20).unwrap();
            let map = GlobalMap::<u64, u64>::new(&heap, 1 << 10).unwrap();
            let counts = GlobalMultiset::<u64>::new(&heap, 1 << 10).unwrap();
            let sums = map.updates(u64::wrapping_add, QueueSettings::default()).unwrap();
            let more = counts.updates(QueueSettings::default()).unwrap();
            let count = in_the_last_of_three(|| {
                for number in 0..UPDATES {
                    sums.update(number % 1000, 1).unwrap();
                    more.insert(number % 1000, 1).unwrap();
                }
                sums.barrier().unwrap();
                more.barrier().unwrap();
            });
            assert!(count < UPDATES / 100, "{platform:?}: {count} allocations for {UPDATES} updates of both kinds");
            if world.rank() == Rank::new(0) {
                assert_eq!((map.find(&7), counts.count(&7)), (Ok(Some(3 * 2 * UPDATES / 1000)), Ok(3 * 2 * UPDATES / 1000)));
            }
            world.barrier().unwrap();
        });
    }
}
