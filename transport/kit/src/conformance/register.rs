//! Segments: registered memory is reachable, and no other memory.

use std::collections::BTreeMap;

use fastrand::Rng;
use pelago_base::{AtomicOperator, GlobalAddress, Rank, SegmentId, Width};
use pelago_memory::Cells;
use pelago_platform::{Failure, Operation, RegisterError};

use super::Fixture;
use super::world::{World, contents, local};

/// Registration at addresses in use is refused; the memory registered there stays reachable.
pub fn addresses_in_use_are_refused<F: Fixture>(make: impl Fn(u32) -> F) {
    let mut world = World::new(make, 2);
    let (here, there) = (Rank::new(0), Rank::new(1));
    for segment in world.segments() {
        let other = local(&[7; 64]);
        let start = world.address(there, segment, 0);
        assert_eq!(world.transport(there).memory().register(start, other.into()), Err(RegisterError::Addresses(start)));
        let to = world.address(there, segment, 8);
        assert_eq!(world.run(here, Operation::Write { to, bytes: b"reached" }), Ok(0));
        assert_eq!(world.bytes(there, segment, 8, 7), b"reached");
        assert_eq!(contents(other), [7; 64]);
    }
}

/// Addresses of no segment, of another rank, or of more than one segment are refused.
pub fn addresses_that_are_not_its_own_are_refused<F: Fixture>(make: impl Fn(u32) -> F) {
    let mut world = World::new(make, 2);
    let (here, spare) = (Rank::new(0), world.spare_segment());
    let last = world.layout().segment_bytes() - 8;
    let wrong = [GlobalAddress::NULL, world.address(Rank::new(1), spare, 0), world.address(here, spare, last)];
    for start in wrong {
        assert_eq!(world.transport(here).memory().register(start, local(&[0; 64]).into()), Err(RegisterError::Addresses(start)));
    }
}

/// Many regions, registered and deregistered in any order, at random places of a segment, against a model: an operation on a registered region
/// accesses its bytes and no others; one outside all regions, or past an end, fails and changes nothing. Ranges that overlap are refused.
pub fn regions_agree_with_an_oracle<F: Fixture>(make: impl Fn(u32) -> F) {
    const PLACES: u64 = 300;
    let mut world = World::new(make, 2);
    let (here, there) = (Rank::new(0), Rank::new(1));
    let segment = world.spare_segment();
    let mut random = Rng::with_seed(7);
    // By start: the memory and its contents.
    let mut regions: BTreeMap<u64, (Cells<'static>, Vec<u8>)> = BTreeMap::new();
    for step in 0..2000u32 {
        let (place, length) = (random.u64(..PLACES) * 8, random.u64(..60));
        let at = world.address(there, segment, place);
        let fits = |start: u64, bytes: u64| {
            regions.iter().any(|(&from, (_, held))| from <= start && start + bytes <= from + held.len() as u64)
        };
        match random.u64(..8) {
            0 | 1 => {
                let (bytes, memory) = (vec![step as u8; length as usize], local(&vec![step as u8; length as usize]));
                let apart = |(&from, (_, held)): (&u64, &(Cells<'_>, Vec<u8>))| {
                    from != place && (place + length <= from || from + held.len() as u64 <= place)
                };
                let free = regions.iter().all(apart);
                let answer = world.transport(there).memory().register(at, memory.into());
                assert_eq!(answer, if free { Ok(()) } else { Err(RegisterError::Addresses(at)) }, "step {step}");
                if free {
                    regions.insert(place, (memory, bytes));
                }
            }
            2 if regions.contains_key(&place) => {
                deregister(&mut world, there, at);
                let (memory, held) = regions.remove(&place).expect("just looked");
                assert_eq!(contents(memory), held, "step {step}: other operations left it alone");
            }
            3 => {
                let swap = Operation::Atomic { at, width: Width::Eight, operator: AtomicOperator::Swap, operand: step.into() };
                let result = world.run(here, swap);
                match regions.range_mut(..=place).next_back().filter(|(from, (_, held))| *from + held.len() as u64 >= place + 8) {
                    Some((from, (_, held))) => {
                        let word = &mut held[(place - from) as usize..][..8];
                        assert_eq!(result, Ok(u64::from_le_bytes((&*word).try_into().expect("eight"))), "step {step}");
                        word.copy_from_slice(&u64::from(step).to_le_bytes());
                    }
                    None => assert_eq!(result, Err(Failure::OutOfBounds(at)), "step {step}"),
                }
            }
            4 if length > 0 => {
                let into = local(&vec![0xEE; length as usize]);
                let result = world.run(here, Operation::Get { from: at, to: into });
                assert_eq!(result, if fits(place, length) { Ok(0) } else { Err(Failure::OutOfBounds(at)) }, "step {step}");
                let found = regions.range(..=place).next_back().filter(|_| fits(place, length));
                let expected = found.map(|(from, (_, held))| held[(place - from) as usize..][..length as usize].to_vec());
                assert_eq!(contents(into), expected.unwrap_or(vec![0xEE; length as usize]), "step {step}");
            }
            _ if length > 0 => {
                let bytes = vec![!(step as u8); length as usize];
                let result = world.run(here, Operation::Write { to: at, bytes: &bytes });
                assert_eq!(result, if fits(place, length) { Ok(0) } else { Err(Failure::OutOfBounds(at)) }, "step {step}");
                if result.is_ok() {
                    let (from, (_, held)) = regions.range_mut(..=place).next_back().expect("it was found");
                    held[(place - from) as usize..][..length as usize].copy_from_slice(&bytes);
                }
            }
            _ => {}
        }
        if step % 100 == 0 {
            regions.values().for_each(|(memory, held)| assert_eq!(contents(*memory), *held, "step {step}"));
        }
    }
}

/// As many regions as a large program has: each is reachable, and the gap behind it is not. Deregistering one does not affect the others.
pub fn regions_are_as_many_as_have_room<F: Fixture>(make: impl Fn(u32) -> F) {
    const REGIONS: u64 = 65_600;
    const BYTES: u64 = 8;
    let mut world = World::new(make, 2);
    let (here, there, layout) = (Rank::new(0), Rank::new(1), world.layout());
    let first = world.spare_segment().number();
    let per_segment = (layout.segment_bytes() / (2 * BYTES)).min(REGIONS);
    // In neither ascending nor descending order.
    let place = |index: u64| index * 40_503 % REGIONS;
    let at = move |index: u64| {
        let segment = SegmentId::new(first + (index / per_segment) as u32).expect("not 0");
        layout.encode(there, segment, index % per_segment * 2 * BYTES).expect("a layout has room for many regions")
    };
    let memory = local(&vec![0; (REGIONS * BYTES) as usize]);
    for index in (0..REGIONS).map(place) {
        let cells = memory.part(index * BYTES, BYTES).expect("inside");
        world.transport(there).memory().register(at(index), cells.into()).expect("nobody has these addresses");
    }
    let check = |world: &mut World<F>, index: u64, value: u64| {
        let add = Operation::Atomic { at: at(index), width: Width::Eight, operator: AtomicOperator::Add, operand: index + 1 };
        assert_eq!(world.run(here, add), Ok(value), "region {index}");
        let past = GlobalAddress::from_bits(at(index).bits() + BYTES);
        let outside = world.run(here, Operation::Write { to: past, bytes: &[1] });
        assert_eq!(outside, Err(Failure::OutOfBounds(past)), "behind region {index}");
    };
    let some = || (0..REGIONS).step_by(997);
    some().for_each(|index| check(&mut world, index, 0));
    for index in (0..REGIONS).map(place).filter(|index| index % 997 != 0) {
        deregister(&mut world, there, at(index));
        memory.part(index * BYTES, BYTES).expect("inside").write(&index.to_le_bytes());
    }
    some().for_each(|index| check(&mut world, index, index + 1));
    let gone = at(1);
    assert_eq!(world.run(here, Operation::Write { to: gone, bytes: &[1] }), Err(Failure::OutOfBounds(gone)));
    some().for_each(|index| deregister(&mut world, there, at(index)));
    for index in 0..REGIONS {
        let expected = if index % 997 == 0 { 2 * (index + 1) } else { index };
        assert_eq!(contents(memory.part(index * BYTES, BYTES).expect("inside")), expected.to_le_bytes(), "region {index}");
    }
}

/// Every operation reaches memory from `register` to `deregister`, and again when other memory is registered at the addresses.
pub fn memory_is_reached_until_it_is_deregistered<F: Fixture>(make: impl Fn(u32) -> F) {
    let mut world = World::new(make, 2);
    let (here, there) = (Rank::new(0), Rank::new(1));
    let segment = world.spare_segment();
    let (first, second) = (local(&[1; 64]), local(&[2; 64]));
    let start = world.address(there, segment, 0);
    world.transport(there).memory().register(start, first.into()).expect("nobody uses the addresses");
    assert_eq!(world.transport(there).memory().register(start, second.into()), Err(RegisterError::Addresses(start)));
    reach_all(&mut world, segment);

    let before = contents(first);
    deregister(&mut world, there, start);
    let to = world.address(there, segment, 0);
    assert_eq!(world.run(here, Operation::Write { to, bytes: b"gone" }), Err(Failure::OutOfBounds(to)));
    assert_eq!(world.run(here, Operation::Put { from: local(b"gone"), to }), Err(Failure::OutOfBounds(to)));
    assert_eq!(contents(first), before, "deregistered memory is left alone");

    world.transport(there).memory().register(start, second.into()).expect("the addresses are free again");
    reach_all(&mut world, segment);
    assert_eq!(contents(first), before, "the memory that had the addresses before is left alone");
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

pub(super) fn deregister<F: Fixture>(world: &mut World<F>, rank: Rank, start: GlobalAddress) {
    for _ in 0..1000 {
        if world.transport(rank).memory().deregister(start) {
            return;
        }
        world.turn();
    }
    panic!("nobody is inside, but rank {rank} could not deregister");
}
