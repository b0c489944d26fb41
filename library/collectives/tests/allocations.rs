//! What plans do not allocate once they are made.

use pelago_collectives::{Algorithm, Choice, Collective, Collectives, Settings, Shape, Sum};
use pelago_test_support::counting::{CountingAllocator, allocations};
use pelago_test_support::threads::{Platform, run};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

const SIZE: u32 = 4;

/// How often a rank allocates in so many operations, when some have been done before.
fn counted(platform: Platform, count: usize, operations: u64) {
    run(platform, SIZE, |world| {
        let settings = Settings { memory_bytes: 1 << 20, plan_bytes: 64 << 10, per_host: Some(2), ..Settings::default() };
        let all = Collectives::new(world, &settings).unwrap();
        for operation in Collective::ALL.into_iter().filter(|&operation| operation != Collective::Barrier) {
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
                let before = allocations();
                (0..operations).for_each(|_| plan.run(&input, &mut output).unwrap());
                let found = allocations() - before;
                assert_eq!(found, 0, "{operation} {algorithm} of {count} values, {platform:?}");
            }
        }
    });
}

#[test]
fn plans_allocate_nothing_on_mapped_memory() {
    for count in [1, 100, 3000] {
        counted(Platform::Mapped, count, 50);
    }
}
