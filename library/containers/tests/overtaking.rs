//! The heap on a network that reorders operations: no block has two owners, and none is lost.

use std::cell::RefCell;
use std::collections::BTreeSet;

use pelago_base::{Duration, Rank};
use pelago_containers::{GlobalHeap, GlobalMap};
use pelago_platform::Operation;
use pelago_test_support::faulty::run_late;
use pelago_test_support::simulated;

/// The rank of all blocks, whose memory no other rank maps.
const OWNER: Rank = Rank::new(0);

/// The link of a freed block leaves late; the rank that takes the block reads it.
#[test]
fn a_freed_block_is_linked_before_it_is_found() {
    let is_word = |operation: &Operation<'_>| matches!(operation, Operation::Write { bytes, .. } if bytes.len() == 8);
    let owned = RefCell::new(BTreeSet::new());
    run_late(3, is_word, |world| {
        // Memory for all blocks that are owned at a time, and for few more, so that the loss of a block is noticed.
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

/// A value of several datagrams is overwritten while another rank reads it: its parts arrive in any order, and so could the state that is read after
/// them.
#[test]
fn a_value_that_is_found_is_whole() {
    let mut found = 0;
    for seed in 0..60 {
        let numbers = RefCell::new(BTreeSet::new());
        simulated::run_to_the_end(&simulated::settings_late(3, seed), &format!("seed {seed}"), |world| {
            let heap = GlobalHeap::new(world, 1 << 16)?;
            let map = GlobalMap::<u64, [u64; 400]>::new(&heap, 1)?;
            let key = (0..).find(|key| map.owner(key) == OWNER).unwrap();
            for number in 1..=20 {
                match world.rank().number() {
                    1 => drop(map.set(&key, &[number; 400])?),
                    2 => {
                        let value = map.find(&key)?.unwrap_or([0; 400]);
                        assert!(value.iter().all(|word| *word == value[0]), "seed {seed}: {value:?}");
                        numbers.borrow_mut().insert(value[0]);
                    }
                    _ => {}
                }
            }
            world.barrier()
        });
        found += numbers.borrow().len();
    }
    assert!(found > 120, "values were found between changes: {found}");
}
