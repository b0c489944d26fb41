//! Segments: what is registered is reached, and nothing else.

use pelago_base::{AtomicOperator, Rank, SegmentId, Width};
use pelago_platform::{Failure, Operation, RegisterError};

use super::Fixture;
use super::world::{World, contents, local};

/// An identifier that is in use is refused; what it names stays reached.
pub fn an_identifier_in_use_is_refused<F: Fixture>(make: impl Fn(u32) -> F) {
    let mut world = World::new(make, 2);
    let (here, there) = (Rank::new(0), Rank::new(1));
    for segment in world.segments() {
        let other = local(&[7; 64]);
        assert_eq!(world.transport(there).register(segment, other), Err(RegisterError::Identifier(segment)));
        let to = world.address(there, segment, 8);
        assert_eq!(world.run(here, Operation::Write { to, bytes: b"reached" }), Ok(0));
        assert_eq!(world.bytes(there, segment, 8, 7), b"reached");
        assert_eq!(contents(other), [7; 64]);
    }
}

/// An identifier that no address can name is refused.
pub fn an_identifier_past_the_last_is_refused<F: Fixture>(make: impl Fn(u32) -> F) {
    let mut world = World::new(make, 1);
    for number in [world.layout().segment_max() + 1, u32::MAX] {
        let segment = SegmentId::new(number).expect("not 0");
        let answer = world.transport(Rank::new(0)).register(segment, local(&[0; 64]));
        assert_eq!(answer, Err(RegisterError::Identifier(segment)));
    }
}

/// Every operation reaches memory from `register` to `deregister`, and again when other memory has taken the identifier.
pub fn memory_is_reached_until_it_is_deregistered<F: Fixture>(make: impl Fn(u32) -> F) {
    let mut world = World::new(make, 2);
    let (here, there) = (Rank::new(0), Rank::new(1));
    let segment = world.spare_segment();
    let (first, second) = (local(&[1; 64]), local(&[2; 64]));
    world.transport(there).register(segment, first).expect("nobody uses the identifier");
    assert_eq!(world.transport(there).register(segment, second), Err(RegisterError::Identifier(segment)));
    reach_all(&mut world, segment);

    let before = contents(first);
    deregister(&mut world, there, segment);
    let to = world.address(there, segment, 0);
    assert_eq!(world.run(here, Operation::Write { to, bytes: b"gone" }), Err(Failure::OutOfBounds(to)));
    assert_eq!(world.run(here, Operation::Put { from: local(b"gone"), to }), Err(Failure::OutOfBounds(to)));
    assert_eq!(contents(first), before, "deregistered memory is left alone");

    world.transport(there).register(segment, second).expect("the identifier is free again");
    reach_all(&mut world, segment);
    assert_eq!(contents(first), before, "the memory that had the identifier before is left alone");
    assert_eq!(contents(second)[..16], *b"secondseFIRSTFIR", "what was written");
}

fn reach_all<F: Fixture>(world: &mut World<F>, segment: SegmentId) {
    let (here, there) = (Rank::new(0), Rank::new(1));
    let at = |offset| world.layout().encode(there, segment, offset).expect("inside");
    let (start, next, last) = (at(0), at(8), at(56));
    let fetched = local(&[0; 8]);
    assert_eq!(world.run(here, Operation::Write { to: start, bytes: b"FIRSTFIR" }), Ok(0));
    assert_eq!(world.run(here, Operation::Copy { from: start, to: next, bytes: 8 }), Ok(0));
    assert_eq!(world.run(here, Operation::Put { from: local(b"secondse"), to: start }), Ok(0));
    assert_eq!(world.run(here, Operation::Get { from: next, to: fetched }), Ok(0));
    assert_eq!(contents(fetched), b"FIRSTFIR");
    let swap = Operation::Atomic { at: last, width: Width::Eight, operator: AtomicOperator::Swap, operand: 99 };
    world.run(here, swap).expect("an aligned word inside");
    assert_eq!(world.run(here, swap), Ok(99));
}

fn deregister<F: Fixture>(world: &mut World<F>, rank: Rank, segment: SegmentId) {
    for _ in 0..1000 {
        if world.transport(rank).deregister(segment) {
            return;
        }
        world.turn();
    }
    panic!("nobody is inside, but {rank} could not deregister");
}
