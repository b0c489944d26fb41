//! T6 finite: operations that need a failed peer complete, and other operations are not delayed.

use pelago_base::{AtomicOperator, Rank, SegmentId, Width};

use pelago_platform::limits;
use pelago_platform::{Failure, Operation, Token};

use super::Fixture;
use super::world::{World, contents, expect, local};

const HERE: Rank = Rank::new(0);
const OTHER: Rank = Rank::new(1);
const LOST: Rank = Rank::new(2);

/// Operations of every kind that need a failed rank complete: with `PeerLost` if posted after the failure; if before, with `PeerLost` or
/// with the result of an effect that preceded the failure.
pub fn every_operation_completes<F: Fixture>(make: impl Fn(u32) -> F) {
    for index in 0..make(1).segments().len() {
        let mut world = World::new(&make, 3);
        world.fill(1);
        let segment = world.segments()[index];
        let before = post_each_kind(&mut world, segment);
        if !world.peer_failed(LOST) {
            return;
        }
        let mut after = post_each_kind(&mut world, segment);
        world.fence(HERE, LOST);
        world.fence(OTHER, LOST);
        after.extend(post_each_kind(&mut world, segment));
        for token in before {
            let result = world.wait(token);
            assert!(matches!(result, Ok(_) | Err(Failure::PeerLost(LOST))), "posted before the loss: {result:?}");
        }
        for token in after {
            assert_eq!(world.wait(token), Err(Failure::PeerLost(LOST)), "posted after the loss");
        }
        world.quiet();
    }
}

/// Operations between the other ranks continue, mixed with operations that need the failed one.
pub fn others_go_on<F: Fixture>(make: impl Fn(u32) -> F) {
    for index in 0..make(1).segments().len() {
        let mut world = World::new(&make, 3);
        let segment = world.segments()[index];
        if !world.peer_failed(LOST) {
            return;
        }
        let mut expected = world.fill(1);
        for round in 0..10 {
            post_each_kind(&mut world, segment);
            let (fetched, bytes) = (local(&[0; 200]), [round; 200]);
            let (to, from) = (world.address(OTHER, segment, 8), world.address(HERE, segment, 1024));
            assert_eq!(world.run(HERE, Operation::Put { from: local(&bytes), to }), Ok(0));
            assert_eq!(world.run(OTHER, Operation::Copy { from: to, to: from, bytes: 200 }), Ok(0));
            assert_eq!(world.run(OTHER, Operation::Get { from, to: fetched }), Ok(0));
            assert_eq!(contents(fetched), bytes);
            expect(&mut expected, OTHER, segment, 8, &bytes);
            expect(&mut expected, HERE, segment, 1024, &bytes);
        }
        world.quiet();
        expected.retain(|&(rank, _), _| rank != LOST);
        world.expect_memory(&expected, "operations beside a lost rank");
    }
}

/// A queue full of operations that need the failed rank empties, and then accepts operations to others.
pub fn a_full_queue_completes<F: Fixture>(make: impl Fn(u32) -> F) {
    let mut world = World::new(make, 3);
    world.fill(1);
    let segment = world.segments()[0];
    let bytes = [5; 16];
    let write = |rank| Operation::Write { to: rank, bytes: &bytes };
    let (to_lost, to_other) = (world.address(LOST, segment, 0), world.address(OTHER, segment, 0));
    for _ in 0..2 * limits::COMPLETIONS_MAX {
        let _ = world.post_once(HERE, write(to_lost));
    }
    if !world.peer_failed(LOST) {
        return;
    }
    let late = world.post(HERE, write(to_lost));
    assert_eq!(world.run(HERE, write(to_other)), Ok(0));
    assert_eq!(world.bytes(OTHER, segment, 0, 16), bytes);
    assert_eq!(world.wait(late), Err(Failure::PeerLost(LOST)));
    world.quiet();
}

/// Posts operations of every kind that need the failed rank, from both others.
fn post_each_kind<F: Fixture>(world: &mut World<F>, segment: SegmentId) -> Vec<Token> {
    let (there, elsewhere) = (world.address(LOST, segment, 2048), world.address(OTHER, segment, 2048));
    let operations = [
        Operation::Write { to: there, bytes: b"to a lost rank" },
        Operation::Put { from: local(&[1; 300]), to: there },
        Operation::Get { from: there, to: local(&[0; 300]) },
        Operation::Copy { from: there, to: elsewhere, bytes: 300 },
        Operation::Copy { from: elsewhere, to: there, bytes: 300 },
        Operation::Copy { from: there, to: world.address(LOST, segment, 1024), bytes: 300 },
        Operation::Atomic { at: there, width: Width::Eight, operator: AtomicOperator::Add, operand: 1 },
    ];
    let posters = [HERE, OTHER].into_iter();
    posters.flat_map(|from| operations.map(|operation| (from, operation))).map(|(from, what)| world.post(from, what)).collect()
}
