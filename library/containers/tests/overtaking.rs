//! The heap on a network where what comes behind may come before: no block has two owners, and none is lost.

use std::cell::RefCell;
use std::collections::BTreeSet;

use pelago_base::{Duration, Rank};
use pelago_containers::GlobalHeap;
use pelago_platform::Operation;
use pelago_test_support::faulty::run_late;

/// The memory of all blocks is this rank's, which nobody else maps.
const OWNER: Rank = Rank::new(0);

/// The link of a freed block leaves late; whoever takes the block reads it.
#[test]
fn a_freed_block_is_linked_before_it_is_found() {
    let is_word = |operation: &Operation<'_>| matches!(operation, Operation::Write { bytes, .. } if bytes.len() == 8);
    let owned = RefCell::new(BTreeSet::new());
    run_late(3, is_word, |world| {
        // For all blocks that are owned at a time, and a few that are not: one that is lost is missed.
        let heap = GlobalHeap::new(world, 12 * 128)?;
        if world.rank() != OWNER {
            for round in 0..20 {
                let blocks: Vec<_> = (0..4).map(|_| heap.allocate(OWNER, 100)).collect::<Result<_, _>>()?;
                for block in &blocks {
                    assert!(owned.borrow_mut().insert(block.bits()), "{block:?} has another owner in round {round}");
                }
                world.compute(Duration::from_microseconds(u64::from(world.rank()) * (round % 5)));
                for block in blocks {
                    owned.borrow_mut().remove(&block.bits());
                    heap.free(block)?;
                }
            }
        }
        world.barrier()
    });
}
