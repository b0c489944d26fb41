//! T13 blocks: shapes and lists of blocks as one operation, whole or not at all; refused where a rail does not accept them.

use fastrand::Rng;
use pelago_base::{Block, Blocks, GlobalAddress, Rank, SegmentId, Shape};
use pelago_memory::Cells;
use pelago_platform::{Failure, Operation, PostError};

use super::Fixture;
use super::world::{World, contents, expect, local, random_bytes};

const HERE: Rank = Rank::new(0);

/// Blocks that a test owns.
enum Owned {
    Shape(Shape),
    List(Vec<Block>),
}

impl Owned {
    fn blocks(&self) -> Blocks<'_> {
        match self {
            Self::Shape(shape) => Blocks::Shape(shape),
            Self::List(list) => Blocks::List(list),
        }
    }
}

/// Puts and gets of shapes and lists, between this rank and another and within this one, with blocks in local memory too: every byte arrives at its
/// place, and no other byte changes. A rail without blocks refuses them.
pub fn blocks_are_one_operation_where_they_say<F: Fixture>(make: impl Fn(u32) -> F) {
    let mut world = World::new(make, 2);
    let mut expected = world.fill(1);
    let mut random = Rng::with_seed(13);
    for there in world.ranks() {
        let blocks_max = world.blocks_max(HERE, there);
        for segment in world.segments() {
            for case in 0..24 {
                let there_blocks = some_blocks(&mut random, case, blocks_max.clamp(1, 40));
                let blocks = there_blocks.blocks();
                let bytes = blocks.bytes().expect("few");
                let shape = local_shape(&mut random, bytes);
                let first = random_bytes(&mut random, shape.extent().expect("few") as usize + 5);
                let cells = local(&first);
                let offset = random.u64(..100);
                let at = world.address(there, segment, offset);
                let writes = case.is_multiple_of(2);
                let operation = operation(writes, cells, &shape, at, blocks);
                if blocks_max == 0 {
                    assert_eq!(world.post_or_refusal(HERE, operation), Err(PostError::Blocks), "{operation:?} (T13)");
                    continue;
                }
                assert_eq!(world.run(HERE, operation), Ok(0), "{operation:?}");
                let mut places = blocks.each().flat_map(|block| block.offset..block.offset + block.bytes);
                let mut filled = first;
                for near in shape.offsets().flat_map(|place| place..place + shape.block) {
                    let far = offset + places.next().expect("as many");
                    if writes {
                        expect(&mut expected, there, segment, far, &[filled[near as usize]]);
                    } else {
                        filled[near as usize] = expected[&(there, segment)][far as usize];
                    }
                }
                assert!(contents(cells) == filled, "{operation:?} left other bytes in local memory");
                world.expect_memory(&expected, &format!("{operation:?}"));
            }
        }
    }
}

/// If one block of many lies outside a segment, nothing is written and nothing is fetched (T8).
pub fn all_blocks_are_reached_or_none<F: Fixture>(make: impl Fn(u32) -> F) {
    let mut world = World::new(make, 2);
    let expected = world.fill(2);
    let there = Rank::new(1);
    if world.blocks_max(HERE, there) < 3 {
        return;
    }
    for segment in world.segments() {
        let (bytes, at) = (world.segment_bytes(segment), world.address(there, segment, 0));
        let stride = (bytes - 7) / 99 + 1;
        let outside = [
            Owned::Shape(Shape::strided(100, 8, stride)),
            Owned::Shape(Shape { block: 8, counts: [1, 2, 16], strides: [0, bytes - 100, 16] }),
            Owned::List([(0, 8), (bytes - 4, 8), (100, 8)].map(|(offset, bytes)| Block { offset, bytes }).into()),
            Owned::List([(0, 8), (u64::MAX - 2, 8)].map(|(offset, bytes)| Block { offset, bytes }).into()),
        ];
        for blocks in &outside {
            let packed = Shape::contiguous(blocks.blocks().bytes().expect("few"));
            let cells = local(&vec![0xAA; packed.block as usize]);
            for writes in [true, false] {
                let operation = operation(writes, cells, &packed, at, blocks.blocks());
                let result = world.run(HERE, operation);
                assert!(matches!(result, Err(Failure::OutOfBounds(_))), "{operation:?}: {result:?}");
                assert!(contents(cells).iter().all(|&byte| byte == 0xAA), "{operation:?} changed local memory (T8)");
                world.expect_memory(&expected, &format!("{operation:?}"));
            }
        }
        nowhere(&mut world, segment);
    }
    world.quiet();
    world.expect_memory(&expected, "blocks outside");
}

/// Blocks of a segment that no rank has registered.
fn nowhere<F: Fixture>(world: &mut World<F>, segment: SegmentId) {
    let at = world.address(Rank::new(1), segment, 0);
    let spare = world.address(Rank::new(1), world.spare_segment(), 0);
    let list = [Block { offset: 0, bytes: 4 }, Block { offset: spare.bits().wrapping_sub(at.bits()), bytes: 4 }];
    let (cells, packed) = (local(&[1; 8]), Shape::contiguous(8));
    let put = operation(true, cells, &packed, at, Blocks::List(&list));
    assert!(matches!(world.run(HERE, put), Err(Failure::OutOfBounds(_))), "blocks of two segments");
}

/// A list with the maximum number of blocks is one operation, and a longer one is refused.
pub fn lists_are_as_long_as_they_say<F: Fixture>(make: impl Fn(u32) -> F) {
    let mut world = World::new(make, 2);
    let there = Rank::new(1);
    let (blocks_max, segment) = (world.blocks_max(HERE, there), world.segments()[0]);
    if blocks_max == 0 {
        return;
    }
    let mut expected = world.fill(3);
    let (room, at) = (world.segment_bytes(segment), world.address(there, segment, 0));
    let list: Vec<_> = (0..=blocks_max as u64).map(|number| Block { offset: 7 * number % room, bytes: 1 }).collect();
    let (longest, bytes) = (&list[..blocks_max], vec![0x55; list.len()]);
    let cells = local(&bytes);
    let packed = [blocks_max, list.len()].map(|bytes| Shape::contiguous(bytes as u64));
    let refused = world.post_or_refusal(HERE, operation(true, cells, &packed[1], at, Blocks::List(&list)));
    assert_eq!(refused, Err(PostError::Blocks), "{} blocks (T13)", list.len());
    let [short, _] = packed;
    let whole = cells.part(0, short.block).expect("inside");
    assert_eq!(world.run(HERE, operation(true, whole, &short, at, Blocks::List(longest))), Ok(0));
    longest.iter().for_each(|block| expect(&mut expected, there, segment, block.offset, &[0x55]));
    world.expect_memory(&expected, "the longest list");
    // Ends of different sizes are an error of the poster.
    for (cells, shape) in [(whole, &packed[1]), (cells.part(0, short.block - 1).expect("inside"), &short)] {
        let refused = world.post_or_refusal(HERE, operation(true, cells, shape, at, Blocks::List(longest)));
        assert_eq!(refused, Err(PostError::Blocks), "ends that differ (T13)");
    }
    world.quiet();
    world.expect_memory(&expected, "what was refused");
}

fn operation<'a>(writes: bool, local: Cells<'static>, shape: &'a Shape, at: GlobalAddress, blocks: Blocks<'a>) -> Operation<'a> {
    if writes {
        Operation::PutBlocks { from: local, from_shape: shape, to: at, blocks }
    } else {
        Operation::GetBlocks { from: at, blocks, to: local, to_shape: shape }
    }
}

/// Random blocks that do not overlap, of less than 4,000 bytes in all.
fn some_blocks(random: &mut Rng, case: usize, most: usize) -> Owned {
    if case.is_multiple_of(3) {
        let mut places: Vec<u64> = (0..200).collect();
        random.shuffle(&mut places);
        let count = random.usize(..=most.min(60));
        return Owned::List(places[..count].iter().map(|place| Block { offset: 18 * place, bytes: random.u64(..=18) }).collect());
    }
    let (block, counts) = (random.u64(1..=24), [1, 1, 1].map(|least| random.u64(least..=5)));
    let fast = block + random.u64(..8);
    let middle = fast * counts[2] + random.u64(..8);
    Owned::Shape(Shape { block, counts, strides: [middle * counts[1] + random.u64(..8), middle, fast] })
}

/// A shape of `bytes` bytes.
fn local_shape(random: &mut Rng, bytes: u64) -> Shape {
    let counts: Vec<_> = (1..30).filter(|&count| bytes.is_multiple_of(count)).collect();
    let count = counts[random.usize(..counts.len())];
    Shape::strided(count, bytes / count, bytes / count + random.u64(..9))
}
