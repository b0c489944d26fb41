//! T10 waking: an operation that writes to a rank's memory wakes that rank, which then sees the written data.

use std::cell::Cell;

use pelago_base::{AtomicOperator, Rank, SegmentId, Width};
use pelago_platform::Operation;

use super::Fixture;
use super::world::{World, contents, local};

const POSTER: Rank = Rank::new(0);
const SOURCE: Rank = Rank::new(1);
const TARGET: Rank = Rank::new(2);

/// Offset of the writes to a target.
const OFFSET: u64 = 512;

/// Operations with a notification wake their target, on every network.
pub fn notified_targets_are_woken<F: Fixture>(make: impl Fn(u32) -> F) {
    let mut world = World::new(make, 3);
    world.notify(true);
    every_write_wakes(&mut world);
}

/// Operations without a notification wake their target if the capabilities say so.
pub fn targets_are_woken_where_all_writes_wake<F: Fixture>(make: impl Fn(u32) -> F) {
    let mut world = World::new(make, 3);
    if world.capabilities(POSTER).wakes_target {
        every_write_wakes(&mut world);
    }
}

fn every_write_wakes<F: Fixture>(world: &mut World<F>) {
    for segment in world.segments() {
        let memory = world.fill(3);
        let copied = memory[&(SOURCE, segment)][..600].to_vec();
        let (put, word) = (vec![0xA5; 600], 0x0102_0304_0506_0708_u64.to_le_bytes());
        let [to, from] = [TARGET, SOURCE].map(|rank| world.address(rank, segment, if rank == TARGET { OFFSET } else { 0 }));
        let swap =
            Operation::Atomic { at: to, width: Width::Eight, operator: AtomicOperator::Swap, operand: u64::from_le_bytes(word) };
        wakes(world, segment, Operation::Write { to, bytes: &[7; 40] }, &[7; 40]);
        wakes(world, segment, Operation::Put { from: local(&put), to }, &put);
        wakes(world, segment, Operation::Copy { from, to, bytes: 600 }, &copied);
        wakes(world, segment, swap, &word);
        let fetched = local(&[0; 8]);
        assert!(world.run(POSTER, Operation::Get { from: to, to: fetched }).is_ok());
        assert_eq!(contents(fetched), word);
        world.quiet();
    }
}

/// An operation wakes the target after it has taken effect there. The target may also be woken before, to perform the operation.
fn wakes<F: Fixture>(world: &mut World<F>, segment: SegmentId, operation: Operation<'_>, after: &[u8]) {
    world.quiet();
    let Some(before) = world.wakes(TARGET) else {
        assert!(world.run(POSTER, operation).is_ok());
        return;
    };
    let token = world.post(POSTER, operation);
    // Number of its wake-ups when the memory was last seen without the effect.
    let wakes_before = Cell::new(Some(before));
    world.until("the target is woken and finds what was written (T10)", |world| {
        let wakes = world.wakes(TARGET);
        let is_there = world.bytes(TARGET, segment, OFFSET, after.len() as u64) == after;
        if !is_there {
            wakes_before.set(wakes);
        }
        is_there && wakes > wakes_before.get()
    });
    assert!(world.wait(token).is_ok());
}
