//! T1 bounded: `Full` is temporary, has no effect, and ends through progress; endpoints accept no more than they state.

use std::collections::BTreeSet;

use pelago_base::{AtomicOperator, Rank, Width};

use pelago_platform::limits;
use pelago_platform::{Operation, PostError};

use super::Fixture;
use super::world::{World, expect};

/// Maximum number of consecutive posts with which the test tries to fill a transport.
const POSTS_MAX: usize = 4 * limits::COMPLETIONS_MAX;

/// Number of consecutive refusals after which a queue counts as full. A layer may refuse single posts without a reason.
const REFUSALS_MAX: u32 = 40;

const HERE: Rank = Rank::new(0);
const THERE: Rank = Rank::new(1);

/// Repeatedly posts without progress until the transport is full: accepted operations take effect and complete once, refused ones
/// never.
pub fn is_temporary<F: Fixture>(make: impl Fn(u32) -> F) {
    let mut world = World::new(make, 2);
    let most = world.transport(HERE).network().capabilities().operations_max as usize;
    for segment in world.segments() {
        let mut expected = world.fill(1);
        expect(&mut expected, THERE, segment, 0, &[0; 8]);
        world.memory(THERE, segment).part(0, 8).expect("inside").write(&[0; 8]);
        let (at, to) = (world.address(THERE, segment, 0), world.address(THERE, segment, 64));
        let add = Operation::Atomic { at, width: Width::Eight, operator: AtomicOperator::Add, operand: 1 };
        let mut tokens = Vec::new();
        for round in 0..4 {
            let (mut refusals, before) = (0, tokens.len());
            for _ in 0..POSTS_MAX {
                match world.post_once(HERE, add) {
                    Ok(token) => tokens.push(token),
                    Err(PostError::Full) => refusals += 1,
                    Err(other) => panic!("{other}"),
                }
                if refusals == REFUSALS_MAX {
                    break;
                }
            }
            assert!(tokens.len() - before <= most, "{} of at most {most} operations", tokens.len() - before);
            let bytes = [round; 16];
            if world.post_once(HERE, Operation::Write { to, bytes: &bytes }).is_ok() {
                expect(&mut expected, THERE, segment, 64, &bytes);
            }
            world.quiet();
            tokens.push(world.post(HERE, add));
        }
        let found = tokens.iter().map(|&token| world.wait(token).expect("an aligned word inside")).collect::<BTreeSet<_>>();
        assert!(found.into_iter().eq(0..tokens.len() as u64), "an accepted addition was lost, or a refused one counted");
        expect(&mut expected, THERE, segment, 0, &(tokens.len() as u64).to_le_bytes());
        world.quiet();
        world.expect_memory(&expected, "additions until there is no room");
    }
}

/// Fences cannot be refused, so a transport accepts any number of them, with and without operations in between.
pub fn fences_take_no_room<F: Fixture>(make: impl Fn(u32) -> F) {
    let mut world = World::new(make, 2);
    let mut expected = world.fill(1);
    let (segment, count) = (world.segments()[0], 2 * limits::COMPLETIONS_MAX as u64);
    for index in 0..count {
        let (offset, bytes) = (index % 512, [index as u8]);
        for to in world.ranks() {
            (0..10).for_each(|_| world.fence(HERE, to));
        }
        let to = world.address(THERE, segment, offset);
        world.post(HERE, Operation::Write { to, bytes: &bytes });
        expect(&mut expected, THERE, segment, offset, &bytes);
    }
    world.quiet();
    world.expect_memory(&expected, "fenced writes");
}
