//! T7 timeless: same inputs, same outputs.

use fastrand::Rng;
use pelago_base::{GlobalAddress, Instant, Rank};
use pelago_platform::{Completion, Operation};

use super::Fixture;
use super::generated::operation;
use super::world::{Memory, World};

/// Number of operations in the script.
const OPERATIONS: u32 = 600;

/// A script of posts, fences and turns, run on two fresh jobs, completes the same operations with the same results in the same order
/// at the same times, and leaves the same memory. The operations overlap in memory, without order.
pub fn the_same_script_completes_alike<F: Fixture>(make: impl Fn(u32) -> F) {
    for seed in 0..4 {
        let (first, second) = (run(&make, seed), run(&make, seed));
        if let Some((one, other)) = first.0.iter().zip(&second.0).find(|(one, other)| one != other) {
            panic!("seed {seed}: where the first run has {one:?} the second has {other:?}");
        }
        assert!(first == second, "seed {seed}: the second run completed more, or left other memory");
    }
}

fn run<F: Fixture>(make: impl Fn(u32) -> F, seed: u64) -> (Vec<(Instant, Rank, Completion)>, Memory) {
    let mut world = World::new(make, 3);
    world.about(format!("seed {seed}"));
    world.fill(seed);
    let mut random = Rng::with_seed(seed);
    for _ in 0..OPERATIONS {
        let [from, to] = [0; 2].map(|_| Rank::new(random.u32(..3)));
        match random.u64(..10) {
            0 => world.fence(from, to),
            1 => world.turn(),
            2 => drop(world.post(from, Operation::Write { to: GlobalAddress::NULL, bytes: b"nowhere" })),
            _ => {
                // A refusal is an output too: it affects everything after it.
                let operation = operation(&world, &mut random);
                let _ = world.post_once(from, operation);
            }
        }
    }
    world.quiet();
    let memory = world.snapshot();
    (world.into_log(), memory)
}
