//! T8 checked: an address outside registered memory fails the operation and changes nothing.

use pelago_base::{AddressLayout, AtomicOperator, GlobalAddress, Rank, Width};
use pelago_platform::{Failure, Operation};

use super::Fixture;
use super::world::{World, contents, local};

const HERE: Rank = Rank::new(0);
const THERE: Rank = Rank::new(1);

/// Operations of every kind that reach past the end of a segment, or into none, fail with the address that is outside.
pub fn nothing_outside_is_touched<F: Fixture>(make: impl Fn(u32) -> F) {
    let mut world = World::new(make, 2);
    let expected = world.fill(1);
    let written_max = world.transport(HERE).capabilities().write_bytes_max as u64;
    for inside in world.segments() {
        let good = world.address(THERE, inside, 0);
        for (bad, bytes) in outside(&world) {
            let buffer = local(&vec![0xAA; bytes as usize]);
            let written = contents(buffer.part(0, bytes.min(written_max)).expect("inside"));
            let write = (bytes <= written_max).then_some(Operation::Write { to: bad, bytes: &written });
            let others = [
                Operation::Put { from: buffer, to: bad },
                Operation::Get { from: bad, to: buffer },
                Operation::Copy { from: bad, to: good, bytes },
                Operation::Copy { from: good, to: bad, bytes },
            ];
            for operation in write.into_iter().chain(others) {
                let result = world.run(HERE, operation);
                let named = |at| at == bad || at == good && bytes > world.segment_bytes(inside);
                assert!(matches!(result, Err(Failure::OutOfBounds(at)) if named(at)), "{operation:?}: {result:?}");
                assert!(contents(buffer).iter().all(|&byte| byte == 0xAA), "{operation:?} changed local memory");
                world.expect_memory(&expected, &format!("{operation:?}"));
            }
        }
        for bytes in [u64::MAX, u64::MAX - 7, 1 << 63, world.layout().segment_bytes() + 1] {
            let to = world.address(HERE, inside, 8);
            let result = world.run(HERE, Operation::Copy { from: good, to, bytes });
            assert!(matches!(result, Err(Failure::OutOfBounds(at)) if at == good || at == to), "{bytes} bytes: {result:?}");
        }
        if let Some(to) = nobody(world.layout(), good) {
            let result = world.run(HERE, Operation::Copy { from: good, to, bytes: 8 });
            assert_eq!(result, Err(Failure::OutOfBounds(to)), "to a rank that the job does not have");
        }
    }
    world.quiet();
    world.expect_memory(&expected, "operations outside");
}

/// Atomics on words outside fail, at both widths; the last word of a segment is inside.
pub fn atomics_stay_inside<F: Fixture>(make: impl Fn(u32) -> F) {
    let mut world = World::new(make, 2);
    let expected = world.fill(1);
    for width in [Width::Four, Width::Eight] {
        let atomic = |at, operator| Operation::Atomic { at, width, operator, operand: 0 };
        for at in words_outside(&world) {
            assert_eq!(world.run(HERE, atomic(at, AtomicOperator::Swap)), Err(Failure::OutOfBounds(at)));
        }
        for segment in world.segments() {
            let at = world.address(THERE, segment, world.segment_bytes(segment) / 8 * 8 - 8);
            assert!(world.run(HERE, atomic(at, AtomicOperator::Load)).is_ok(), "the last word");
        }
    }
    world.quiet();
    world.expect_memory(&expected, "atomics outside");
}

/// Words outside registered memory: null, in no segment, past each end, with bits that no address of the job has.
fn words_outside<F: Fixture>(world: &World<F>) -> Vec<GlobalAddress> {
    let layout = world.layout();
    let spare = world.address(THERE, world.spare_segment(), 0);
    // Where a segment ends with what an address can name, nothing past its end can be named.
    let ends = world.segments().into_iter().map(|segment| (segment, world.segment_bytes(segment).next_multiple_of(8)));
    let past = ends.filter_map(|(segment, end)| layout.encode(THERE, segment, end).ok());
    let good = world.address(THERE, world.segments()[0], 0).bits();
    let strange = (0..u64::BITS).map(|bit| GlobalAddress::from_bits(good ^ 1 << bit)).filter(|&at| layout.rank(at) == THERE);
    let strange = strange.filter(|&at| layout.segment(at).is_some() && !layout.is_in_segment(at, 0)).take(1);
    [GlobalAddress::NULL, spare].into_iter().chain(past).chain(strange).collect()
}

/// Addresses from which so many bytes are not all registered memory.
fn outside<F: Fixture>(world: &World<F>) -> Vec<(GlobalAddress, u64)> {
    let mut outside = words_outside(world).into_iter().map(|at| (at, 8)).collect::<Vec<_>>();
    for segment in world.segments() {
        let end = world.segment_bytes(segment);
        let ranges = [(end - 1, 2), (end - 8, 9), (end - 100, 200), (0, end + 1)];
        outside.extend(ranges.map(|(offset, bytes)| (world.address(THERE, segment, offset), bytes)));
    }
    outside
}

/// An address of a rank that the job does not have, if the layout has room for one.
fn nobody(layout: AddressLayout, good: GlobalAddress) -> Option<GlobalAddress> {
    let strange = GlobalAddress::from_bits(good.bits() | 1 << 63);
    (layout.rank(strange).number() >= layout.ranks()).then_some(strange)
}
