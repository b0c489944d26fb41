//! Runs of plans allocate nothing.

use pelago_collectives::{Algorithm, Choice, Collective, Collectives, Settings, Shape, Sum};
use pelago_test_support::counting::{CountingAllocator, allocations};
use pelago_test_support::threads::{Platform, run};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

const SIZE: u32 = 4;

/// Counts the allocations of a rank in so many operations, after some earlier ones.
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

/// Calls without a plan, after the first ones have prepared the operations.
#[test]
fn one_shot_operations_allocate_nothing_in_the_steady_state() {
    run(Platform::Mapped, SIZE, |world| {
        let settings = Settings { memory_bytes: 1 << 20, plan_bytes: 64 << 10, ..Settings::default() };
        let all = Collectives::new(world, &settings).unwrap();
        let me = all.position() as usize;
        let (counts, long) = ([3, 0, 500, 7], 4000);
        let block = vec![1_u64; 510];
        let (mut whole, mut values) = (vec![0_u64; 510], vec![1_u64; long]);
        let mut act = |times: u64| {
            for _ in 0..times {
                all.allgatherv(&block[..counts[me]], &counts, &mut whole).unwrap();
                all.reduce_scatterv(&block, &counts, &mut whole[..counts[me]], Sum).unwrap();
                let sent = [counts[me]; SIZE as usize];
                all.alltoallv(&vec_of(&block, &sent), &sent, &mut whole, &counts).unwrap();
                all.allreduce(&mut values, |one: u64, other: u64| one.wrapping_add(other)).unwrap();
                all.broadcast(1, &mut values).unwrap();
            }
        };
        act(20);
        all.barrier().unwrap();
        let before = allocations();
        act(20);
        // The slice that the test itself allocates for each exchange.
        assert_eq!(allocations() - before, 20);
    });
}

fn vec_of(block: &[u64], counts: &[usize]) -> Vec<u64> {
    // One allocation, for any counts.
    let mut values = Vec::with_capacity(4 * block.len());
    counts.iter().for_each(|&count| values.extend_from_slice(&block[..count]));
    values
}
