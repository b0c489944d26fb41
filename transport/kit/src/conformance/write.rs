//! T2 captured: a `Write` captures its bytes when it is posted.

use fastrand::Rng;
use pelago_base::{Rank, SegmentId};
use pelago_platform::{Operation, PostError};

use super::Fixture;
use super::world::{World, expect, pick, random_bytes};

/// Offsets at which writes begin.
const OFFSETS: [u64; 4] = [0, 1, 3, 8];

/// A write transfers the bytes at the time of the post, even if the buffer is used for the next write at once.
pub fn bytes_may_be_reused_at_once<F: Fixture>(make: impl Fn(u32) -> F) {
    let mut world = World::new(make, 2);
    let mut expected = world.fill(1);
    let there = Rank::new(1);
    for segment in world.segments() {
        let longest = longest(&mut world, segment).min(world.segment_bytes(segment) / 8);
        let mut buffer = vec![0; longest as usize];
        for index in 0..8 {
            buffer.fill(index as u8 + 1);
            let to = world.address(there, segment, index * longest);
            world.post(Rank::new(0), Operation::Write { to, bytes: &buffer });
            expect(&mut expected, there, segment, index * longest, &buffer);
            buffer.fill(0xEE);
        }
    }
    world.quiet();
    world.expect_memory(&expected, "writes from one buffer");
}

/// Writes of every length, from nothing to the longest, change their bytes and no others.
pub fn every_length_lands_whole<F: Fixture>(make: impl Fn(u32) -> F) {
    let mut world = World::new(make, 2);
    let mut expected = world.fill(1);
    let mut random = Rng::with_seed(2);
    for (here, there) in [(Rank::new(0), Rank::new(1)), (Rank::new(1), Rank::new(1))] {
        for segment in world.segments() {
            let longest = longest(&mut world, segment);
            for length in [0, 1, 2, 3, 4, 7, 8, 9, 31, 64, 65, 200, longest - 1, longest].into_iter().filter(|&l| l <= longest) {
                let offset = pick(&mut random, &OFFSETS).min(world.segment_bytes(segment) - length);
                let bytes = random_bytes(&mut random, length as usize);
                let to = world.address(there, segment, offset);
                assert_eq!(world.run(here, Operation::Write { to, bytes: &bytes }), Ok(0));
                expect(&mut expected, there, segment, offset, &bytes);
                world.expect_memory(&expected, &format!("a write of {length} bytes to offset {offset}"));
            }
        }
    }
}

/// A write longer than the longest is refused and changes nothing.
pub fn too_long_is_refused<F: Fixture>(make: impl Fn(u32) -> F) {
    let mut world = World::new(make, 2);
    let expected = world.fill(1);
    let (here, there) = (Rank::new(0), Rank::new(1));
    let length = world.transport(here).network().capabilities().inject_size + 1;
    let to = world.address(there, world.segments()[0], 0);
    let answer = world.post_or_refusal(here, Operation::Write { to, bytes: &vec![0; length] });
    assert_eq!(answer, Err(PostError::TooLong(length)));
    world.quiet();
    world.expect_memory(&expected, "a refused write");
}

/// The longest write that the transport captures and the segment has room for, in bytes.
fn longest<F: Fixture>(world: &mut World<F>, segment: SegmentId) -> u64 {
    let captured = world.transport(Rank::new(0)).network().capabilities().inject_size as u64;
    captured.min(world.segment_bytes(segment))
}
