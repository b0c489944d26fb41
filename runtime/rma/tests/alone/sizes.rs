//! Transfers above a size limit that move sizes only.

use std::sync::{Arc, Mutex};

use pelago_base::{GlobalAddress, Rank, Shape};
use pelago_platform::Transfer;
use pelago_rma::{Error, World};

use super::scripted::{Answer, RANKS, Script, lone_with, word};

/// Maximum size of a transfer whose bytes are moved, and number of values of a longer transfer.
const BYTES_MAX: u64 = 64;
const LONG: usize = 100;

fn job() -> (World, Arc<Mutex<Script>>) {
    let (world, script) = lone_with(RANKS, Script::default(), BYTES_MAX);
    script.lock().unwrap().answer = Answer::Completes;
    (world, script)
}

fn sizes(script: &Mutex<Script>) -> Vec<Transfer> {
    std::mem::take(&mut script.lock().unwrap().sizes)
}

#[test]
fn a_program_that_has_not_asked_is_told() {
    let (world, script) = job();
    let shape = Shape::contiguous(LONG as u64);
    let mut values = [7_u64; LONG];
    assert_eq!(world.put(word(1), &values).map(drop), Err(Error::SizesOnly));
    assert_eq!(world.put_strided(word(1), shape, &values, shape).map(drop), Err(Error::SizesOnly));
    assert_eq!(world.get_into(word(1), &mut values), Err(Error::SizesOnly));
    assert_eq!(world.get_strided(word(1), shape, &mut values, shape), Err(Error::SizesOnly));
    assert_eq!(world.copy(word(0), word(1), LONG).map(drop), Err(Error::SizesOnly));
    assert_eq!(world.copy(word(1), word(0), LONG).map(drop), Err(Error::SizesOnly));
    assert_eq!(script.lock().unwrap().sizes, []);
    // Short transfers, and those of mapped memory, are moved as usual.
    world.put(word(1), &values[..BYTES_MAX as usize / 8]).unwrap().wait().unwrap();
    world.put(word(0), &values).unwrap();
    assert_eq!(world.get(word(0)), Ok(7));
    assert!(!world.moves_data());
    assert!(world.put(word(1), &values).is_ok(), "now it knows");
}

#[test]
fn only_the_sizes_of_long_transfers_travel() {
    let (world, script) = job();
    assert!(!world.moves_data());
    let (bytes, address) = (8 * LONG as u64, |rank| word(rank).address());
    let mut values = [7_u64; LONG];
    world.put(word(1), &values).unwrap().wait().unwrap();
    assert_eq!(sizes(&script), [Transfer::Put { to: address(1), bytes }]);
    world.get_into(word(1), &mut values).unwrap();
    assert_eq!(sizes(&script), [Transfer::Get { from: address(1), bytes }]);
    assert_eq!(values, [7; LONG], "nothing is written");
    world.copy(word(1), word(2), LONG).unwrap().wait().unwrap();
    assert_eq!(sizes(&script), [Transfer::Copy { from: address(1), to: address(2), bytes }]);
    world.copy(word(0), word(2), LONG).unwrap().wait().unwrap();
    assert_eq!(sizes(&script), [Transfer::Put { to: address(2), bytes }]);
    world.copy(word(2), word(0), LONG).unwrap().wait().unwrap();
    assert_eq!(sizes(&script), [Transfer::Get { from: address(2), bytes }]);
    // Longer than the inject size, and than one part of a get.
    let long = vec![7_u64; 40_000];
    world.put(word(1), &long[..10_000]).unwrap().wait().unwrap();
    world.get_into(word(1), &mut vec![0_u64; 40_000]).unwrap();
    let all = [Transfer::Put { to: address(1), bytes: 80_000 }, Transfer::Get { from: address(1), bytes: 320_000 }];
    assert_eq!(sizes(&script), all);
    // Each block separately.
    let (dense, sparse) = (Shape::strided(20, 1, 1), Shape::strided(20, 1, 2));
    let step = |from: GlobalAddress, block: u64| GlobalAddress::from_bits(from.bits() + 16 * block);
    world.put_strided(word(1), sparse, &values, dense).unwrap().wait().unwrap();
    let blocks =
        |transfer: fn(GlobalAddress) -> Transfer| (0..20).map(|block| transfer(step(address(1), block))).collect::<Vec<_>>();
    assert_eq!(sizes(&script), blocks(|to| Transfer::Put { to, bytes: 8 }));
    world.get_strided(word(1), sparse, &mut values, dense).unwrap();
    assert_eq!(sizes(&script), blocks(|from| Transfer::Get { from, bytes: 8 }));
    assert_eq!(values, [7; LONG]);
}

#[test]
fn collective_operations_move_their_bytes() {
    let (world, script) = job();
    let mut values = [1_u64; LONG];
    // The root puts to its children, and waits only at the barrier before.
    assert!(world.broadcast(Rank::new(0), &mut values).is_err(), "nobody else is there");
    assert!(world.allreduce(&mut values, |one, other| one + other).is_err());
    assert_eq!(script.lock().unwrap().sizes, []);
}
