//! Memory that is freed and allocated again is zero, even if operations to it were still in flight.

use pelago_rma::{Result, World};
use pelago_test_support::simulated;

const WORDS: usize = 8;

/// Puts to all ranks, does not wait, frees the memory, and allocates it again.
fn allocate_again(world: &World) -> Result<()> {
    for round in 1..=20 {
        let words = world.alloc::<u64>(WORDS)?;
        for rank in world.ranks() {
            world.put(words.at(rank, 0), &[round; WORDS])?;
        }
        drop(words);
        let words = world.alloc::<u64>(WORDS)?;
        assert_eq!(words.local().to_vec(), [0; WORDS], "round {round}");
        world.barrier()?;
    }
    Ok(())
}

#[test]
fn nothing_comes_to_memory_after_its_owner_has_cleared_it() {
    for ranks in [2, 4, 7] {
        for seed in 0..4 {
            simulated::run_to_the_end(&simulated::settings_late(ranks, seed), "allocations", allocate_again);
        }
    }
}
