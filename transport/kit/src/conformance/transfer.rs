//! T3 once, T4 visible and T12 sizes for `Put`, `Get` and `Copy`: every byte arrives, and no other byte changes.

use fastrand::Rng;
use pelago_base::{Rank, SegmentId};
use pelago_platform::{Operation, PostError};

use super::Fixture;
use super::world::{World, contents, expect, local_shifted, random_bytes};

/// Bytes to move.
const SIZES: [u64; 7] = [0, 1, 7, 8, 64, 4096, 70_000];

/// Offsets of source and target from a multiple of 8.
const SHIFTS: [(u64, u64); 4] = [(0, 0), (0, 5), (3, 0), (1, 6)];

/// Puts of every size and alignment, to another rank and to the poster itself.
pub fn puts_land_whole<F: Fixture>(make: impl Fn(u32) -> F) {
    let mut world = World::new(make, 2);
    let mut expected = world.fill(1);
    let mut random = Rng::with_seed(2);
    let here = Rank::new(0);
    for there in world.ranks() {
        for (segment, size, (from_shift, to_shift)) in cases(&world) {
            let bytes = random_bytes(&mut random, size as usize);
            let from = local_shifted(&bytes, from_shift as usize);
            let to = world.address(there, segment, to_shift);
            assert_eq!(world.run(here, Operation::Put { from, to }), Ok(0));
            expect(&mut expected, there, segment, to_shift, &bytes);
            world.expect_memory(&expected, &format!("a put of {size} bytes to offset {to_shift}"));
        }
    }
}

/// A transfer with the maximum length of a message is accepted as one operation, and a longer one is refused (T12).
pub fn messages_are_as_long_as_they_say<F: Fixture>(make: impl Fn(u32) -> F) {
    let mut world = World::new(make, 2);
    let (here, there) = (Rank::new(0), Rank::new(1));
    let longest = world.capabilities(here).message_bytes_max;
    for segment in world.segments() {
        let (room, at) = (world.segment_bytes(segment), world.address(there, segment, 0));
        let mut expected = world.fill(4);
        let size = longest.min(room);
        let bytes = vec![0x5A; size as usize];
        let fetched = local_shifted(&vec![0; size as usize], 0);
        assert_eq!(world.run(here, Operation::Get { from: at, to: fetched }), Ok(0));
        assert!(contents(fetched) == expected[&(there, segment)][..size as usize], "a get of {size} bytes (T12)");
        assert_eq!(world.run(here, Operation::Put { from: local_shifted(&bytes, 0), to: at }), Ok(0));
        expect(&mut expected, there, segment, 0, &bytes);
        if longest < room {
            let cells = local_shifted(&vec![1; size as usize + 1], 0);
            let copy = Operation::Copy { from: at, to: world.address(here, segment, 0), bytes: size + 1 };
            for operation in [Operation::Put { from: cells, to: at }, Operation::Get { from: at, to: cells }, copy] {
                let refused = world.post_or_refusal(here, operation).map(drop);
                assert_eq!(refused, Err(PostError::TooLong(size as usize + 1)), "{operation:?} (T12)");
            }
        }
        world.expect_memory(&expected, "the longest messages");
    }
}

/// Gets of every size and alignment, from another rank and from the poster itself.
pub fn gets_fetch_all<F: Fixture>(make: impl Fn(u32) -> F) {
    let mut world = World::new(make, 2);
    let expected = world.fill(1);
    let here = Rank::new(0);
    for there in world.ranks() {
        for (segment, size, (from_shift, to_shift)) in cases(&world) {
            // Eight bytes on either side show whether the get wrote outside its target.
            let around = local_shifted(&vec![0xAA; size as usize + 16], to_shift as usize);
            let to = around.part(8, size).expect("inside");
            let from = world.address(there, segment, from_shift);
            assert_eq!(world.run(here, Operation::Get { from, to }), Ok(0));
            let fetched = contents(around);
            let (fetched, after) = fetched.split_at(size as usize + 8);
            let asked = &expected[&(there, segment)][from_shift as usize..][..size as usize];
            assert!(fetched[8..] == *asked, "a get of {size} bytes from offset {from_shift} of rank {there} found other bytes");
            assert!(fetched[..8] == [0xAA; 8] && after == [0xAA; 8], "a get of {size} bytes wrote past its {size} bytes");
        }
    }
    world.expect_memory(&expected, "gets");
}

/// Copies of every size between any two ranks, posted by either end, by a third rank, and within one rank.
pub fn copies_move_between_any_two<F: Fixture>(make: impl Fn(u32) -> F) {
    let mut world = World::new(make, 3);
    let mut expected = world.fill(1);
    let ways = [(0, 0, 1), (0, 1, 0), (2, 0, 1), (0, 1, 1), (0, 0, 0)];
    for (asker, source, target) in ways.map(|(asker, source, target)| (Rank::new(asker), Rank::new(source), Rank::new(target))) {
        for (source_segment, size, (from_offset, to_shift)) in cases(&world) {
            for target_segment in world.segments() {
                // Counted from the end, so that a copy within one segment does not overlap itself unless it is very long.
                let Some(to_offset) = world.segment_bytes(target_segment).checked_sub(size + 8 + to_shift) else { continue };
                let same = (source, source_segment) == (target, target_segment);
                if same && to_offset < from_offset + size {
                    continue;
                }
                let from = world.address(source, source_segment, from_offset);
                let to = world.address(target, target_segment, to_offset);
                assert_eq!(world.run(asker, Operation::Copy { from, to, bytes: size }), Ok(0));
                let moved = expected[&(source, source_segment)][from_offset as usize..][..size as usize].to_vec();
                expect(&mut expected, target, target_segment, to_offset, &moved);
                world.expect_memory(
                    &expected,
                    &format!("a copy of {size} bytes from rank {source} to rank {target} by rank {asker}"),
                );
            }
        }
    }
}

/// Every segment with every size that fits it and every alignment.
fn cases<F: Fixture>(world: &World<F>) -> Vec<(SegmentId, u64, (u64, u64))> {
    let mut cases = Vec::new();
    for segment in world.segments() {
        for size in SIZES.into_iter().filter(|size| size + 16 <= world.segment_bytes(segment)) {
            cases.extend(SHIFTS.map(|shifts| (segment, size, shifts)));
        }
    }
    cases
}
