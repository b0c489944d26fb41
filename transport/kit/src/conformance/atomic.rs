//! T3 once, T4 visible and T11 atomic for atomics.

use std::collections::BTreeSet;

use pelago_base::{AtomicOperator, Rank, Width};
use pelago_platform::{Failure, Operation};

use super::Fixture;
use super::world::{World, expect};

/// Every operator at every width stores the result of [`AtomicOperator::apply`], returns the previous value, and does not change neighbouring words.
pub fn every_operator_agrees_with_its_definition<F: Fixture>(make: impl Fn(u32) -> F) {
    use AtomicOperator::*;
    let mut world = World::new(make, 2);
    let mut expected = world.fill(1);
    let words = [0, 1, 0x7FFF_FFFF, 0xFFFF_FFFF, 0x1_0000_0005, 0x0123_4567_89AB_CDEF, u64::MAX];
    let operators = [
        Load,
        Swap,
        CompareSwap { expected: 5 },
        CompareSwap { expected: 0x1_0000_0005 },
        Add,
        And,
        Or,
        Xor,
        Max,
        Min,
        MaxSigned,
        MinSigned,
    ];
    let floating = [AddFloat, MaxFloat, MinFloat];
    // Each consists of two numbers of four bytes; the word of eight bytes is a number too.
    let numbers = [0, 0x3FF8_0000_3FC0_0000, 0xC008_0000_C040_0000, 0x7FF0_0000_7F80_0000, 0x7FF8_0000_7FC0_0000];
    for (segment, there) in world.segments().into_iter().flat_map(|segment| [0, 1].map(|rank| (segment, Rank::new(rank)))) {
        for (width, offset) in [(Width::Eight, 16), (Width::Four, 16), (Width::Four, 20)] {
            let (bytes, at) = (width.bytes() as usize, world.address(there, segment, offset));
            let all = [triples(&operators, &words), triples(&floating, &numbers)].concat();
            for (operator, old, operand) in all {
                let old = width.truncate(old);
                expect(&mut expected, there, segment, offset, &old.to_le_bytes()[..bytes]);
                let around = &expected[&(there, segment)][..64];
                world.memory(there, segment).part(0, 64).expect("inside").write(around);
                let found = world.run(Rank::new(0), Operation::Atomic { at, width, operator, operand });
                let left = operator.apply(width, old, operand);
                expect(&mut expected, there, segment, offset, &left.to_le_bytes()[..bytes]);
                let what = format!("{operator:?} of {width:?} bytes, {old:#x} with {operand:#x}");
                assert_eq!(found, Ok(old), "{what}");
                assert_eq!(world.bytes(there, segment, 0, 64), expected[&(there, segment)][..64], "{what}");
            }
        }
    }
    world.expect_memory(&expected, "atomics");
}

/// Additions by a core of the owner and by a transport to one word, turn by turn, are each counted once (T11).
pub fn cores_are_excluded<F: Fixture>(make: impl Fn(u32) -> F) {
    const ADDITIONS: u64 = 200;
    let mut world = World::new(make, 2);
    let owner = Rank::new(1);
    for (segment, width) in world.segments().into_iter().flat_map(|segment| [Width::Four, Width::Eight].map(|w| (segment, w))) {
        world.memory(owner, segment).part(0, 8).expect("inside").write(&[0; 8]);
        let (at, bytes) = (world.address(owner, segment, 0), width.bytes());
        let add_by_core = |world: &World<F>| {
            let word = world.memory(owner, segment).part(0, bytes).expect("inside");
            word.atomic(width, AtomicOperator::Add, 1 << 16).expect("aligned");
        };
        for _ in 0..ADDITIONS {
            let add = world.post(Rank::new(0), Operation::Atomic { at, width, operator: AtomicOperator::Add, operand: 1 });
            add_by_core(&world);
            world.turn();
            add_by_core(&world);
            assert!(world.wait(add).is_ok());
        }
        let mut word = [0; 8];
        word[..bytes as usize].copy_from_slice(&world.bytes(owner, segment, 0, bytes));
        assert_eq!(u64::from_le_bytes(word), ADDITIONS + ((2 * ADDITIONS) << 16), "additions of {width:?} bytes (T11)");
    }
}

/// Additions of 1 by all ranks to one word, all in flight together, result in their number, and each smaller number is returned once.
pub fn additions_from_all_ranks_are_each_counted_once<F: Fixture>(make: impl Fn(u32) -> F) {
    const ADDITIONS: usize = 300;
    let mut world = World::new(make, 4);
    for (segment, width) in world.segments().into_iter().flat_map(|segment| [Width::Four, Width::Eight].map(|w| (segment, w))) {
        let owner = Rank::new(1);
        world.memory(owner, segment).part(0, 64).expect("inside").write(&[0; 64]);
        let at = world.address(owner, segment, 8);
        let add = Operation::Atomic { at, width, operator: AtomicOperator::Add, operand: 1 };
        let mut tokens = Vec::new();
        for _ in 0..ADDITIONS {
            tokens.extend(world.ranks().map(|rank| world.post(rank, add)));
        }
        let found = tokens.iter().map(|&token| world.wait(token).expect("an aligned word inside"));
        let found = found.collect::<BTreeSet<_>>();
        assert!(found.iter().copied().eq(0..tokens.len() as u64), "an addition was lost or counted twice (T3)");
        let mut left = [0; 64];
        left[8..16].copy_from_slice(&(tokens.len() as u64).to_le_bytes());
        world.quiet();
        assert_eq!(world.bytes(owner, segment, 0, 64), left, "the sum");
    }
}

/// An atomic on a word that is not at a multiple of its width fails and does not change the word.
pub fn misaligned_words_are_refused<F: Fixture>(make: impl Fn(u32) -> F) {
    let mut world = World::new(make, 2);
    let expected = world.fill(1);
    for segment in world.segments() {
        for (width, offset) in [Width::Four, Width::Eight].into_iter().flat_map(|width| (64..72).map(move |o| (width, o))) {
            if offset % width.bytes() == 0 {
                continue;
            }
            let at = world.address(Rank::new(1), segment, offset);
            let swap = Operation::Atomic { at, width, operator: AtomicOperator::Swap, operand: 0 };
            assert_eq!(world.run(Rank::new(0), swap), Err(Failure::Misaligned(at)), "{width:?} bytes at offset {offset}");
        }
    }
    world.expect_memory(&expected, "misaligned atomics");
}

fn triples(operators: &[AtomicOperator], words: &[u64]) -> Vec<(AtomicOperator, u64, u64)> {
    let pairs = words.iter().flat_map(|&old| words.iter().map(move |&operand| (old, operand)));
    pairs.flat_map(|(old, operand)| operators.iter().map(move |&operator| (operator, old, operand))).collect()
}
