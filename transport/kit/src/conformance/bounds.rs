//! T8 checked: an address outside registered memory fails the operation and changes nothing.

use pelago_base::{AtomicOperator, GlobalAddress, Rank, Width};
use pelago_platform::{Capabilities, Failure, Operation};

use super::Fixture;
use super::world::{World, contents, local};

const HERE: Rank = Rank::new(0);
const THERE: Rank = Rank::new(1);

/// Operations of every kind that reach past the end of a segment, or name no segment, fail with the address that is outside.
pub fn nothing_outside_is_touched<F: Fixture>(make: impl Fn(u32) -> F) {
    let mut world = World::new(make, 2);
    let expected = world.fill(1);
    let Capabilities { inject_size, message_bytes_max, .. } = world.capabilities(HERE);
    let written_max = inject_size as u64;
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
            // A longer message is refused, whatever its address.
            let others = others.into_iter().filter(|_| bytes <= message_bytes_max);
            for operation in write.into_iter().chain(others) {
                let result = world.run(HERE, operation);
                let named = |at| at == bad || at == good && bytes > world.segment_bytes(inside);
                assert!(matches!(result, Err(Failure::OutOfBounds(at)) if named(at)), "{operation:?}: {result:?}");
                assert!(contents(buffer).iter().all(|&byte| byte == 0xAA), "{operation:?} changed local memory");
                world.expect_memory(&expected, &format!("{operation:?}"));
            }
        }
        // Sizes for which the end of the range wraps around the 64-bit address space or exceeds a segment.
        let (from, to) = (world.address(THERE, inside, 8), world.address(HERE, inside, 8));
        let sizes = [u64::MAX, u64::MAX - 7, 1 << 63, world.layout().segment_bytes() + 1];
        for bytes in sizes.into_iter().filter(|&bytes| bytes <= message_bytes_max) {
            for from in [good, from] {
                let result = world.run(HERE, Operation::Copy { from, to, bytes });
                assert!(matches!(result, Err(Failure::OutOfBounds(at)) if at == from || at == to), "{bytes} bytes: {result:?}");
            }
        }
    }
    world.quiet();
    world.expect_memory(&expected, "operations outside");
}

/// A copy to a rank that the job does not have fails, although an address can name it.
pub fn ranks_that_do_not_exist_are_outside<F: Fixture>(make: impl Fn(u32) -> F) {
    let mut world = World::new(make, 3);
    let expected = world.fill(1);
    let layout = world.layout();
    for segment in world.segments() {
        let from = world.address(THERE, segment, 0);
        let addresses = (0..u64::BITS).map(|bit| GlobalAddress::from_bits(from.bits() | 1 << bit));
        let mut nobody = addresses.filter(|&at| layout.rank(at).number() >= layout.ranks());
        let to = nobody.next().expect("three ranks take two bits");
        assert_eq!(world.run(HERE, Operation::Copy { from, to, bytes: 8 }), Err(Failure::OutOfBounds(to)));
    }
    world.quiet();
    world.expect_memory(&expected, "copies to nobody");
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
            let end = world.segment_bytes(segment) / 8 * 8;
            let at = world.address(THERE, segment, end - 8);
            assert!(world.run(HERE, atomic(at, AtomicOperator::Load)).is_ok(), "the last word");
            let across = world.address(THERE, segment, end - width.bytes() / 2);
            let result = world.run(HERE, atomic(across, AtomicOperator::Swap));
            assert!(matches!(result, Err(Failure::OutOfBounds(at) | Failure::Misaligned(at)) if at == across), "{result:?}");
        }
    }
    world.quiet();
    world.expect_memory(&expected, "atomics outside");
}

/// Words outside registered memory: null, in no segment, past each end, as far past it as an address can be, and with bits that no address
/// of the job has.
fn words_outside<F: Fixture>(world: &World<F>) -> Vec<GlobalAddress> {
    let layout = world.layout();
    let spare = world.address(THERE, world.spare_segment(), 0);
    // A segment that fills the range of its offsets has no addresses past its end.
    let ends = world.segments().into_iter().map(|segment| (segment, world.segment_bytes(segment).next_multiple_of(8)));
    let past = ends.flat_map(|(segment, end)| {
        let last = layout.segment_bytes() - 8;
        [end, last.max(end)].into_iter().filter_map(move |offset| layout.encode(THERE, segment, offset).ok())
    });
    let good = world.address(THERE, world.segments()[0], 0).bits();
    let strange = (0..u64::BITS).map(|bit| GlobalAddress::from_bits(good ^ 1 << bit)).filter(|&at| layout.rank(at) == THERE);
    let strange = strange.filter(|&at| layout.segment(at).is_some() && !layout.is_in_segment(at, 0)).take(1);
    [GlobalAddress::NULL, spare].into_iter().chain(past).chain(strange).collect()
}

/// Addresses and numbers of bytes such that not all of the bytes are registered memory.
fn outside<F: Fixture>(world: &World<F>) -> Vec<(GlobalAddress, u64)> {
    let mut outside = words_outside(world).into_iter().map(|at| (at, 8)).collect::<Vec<_>>();
    for segment in world.segments() {
        let end = world.segment_bytes(segment);
        let ranges = [(end - 1, 2), (end - 8, 9), (end - 100, 200), (0, end + 1)];
        outside.extend(ranges.map(|(offset, bytes)| (world.address(THERE, segment, offset), bytes)));
    }
    outside
}
