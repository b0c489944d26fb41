//! The memory that a rank gets when it allocates or registers.

use std::panic::{AssertUnwindSafe, catch_unwind};

use pelago_base::{AddressLayout, GlobalAddress, Instant, Rank, SegmentId, Shape};
use pelago_platform::{Fault, Rail};
use pelago_rma::{Error, GlobalPtr, World};

use super::scripted::{HEAP_BYTES, Kind, RANKS, lone};

/// The only rank of its job: an allocation waits for no other rank.
fn only() -> World {
    lone(1).0
}

const ME: Rank = Rank::new(0);

fn panics<T>(call: impl FnOnce() -> T) -> bool {
    catch_unwind(AssertUnwindSafe(call)).is_err()
}

#[test]
fn an_allocation_has_so_many_values_and_no_more() {
    let world = only();
    for length in [0, 1, 7] {
        let symmetric = world.alloc::<u32>(length).unwrap();
        let individual = world.alloc_individual::<u32>(length).unwrap();
        let registered = world.register(vec![0_u32; length]).unwrap();
        assert_eq!([symmetric.len(), individual.len(), registered.len()], [length; 3]);
        assert_eq!([symmetric.is_empty(), individual.is_empty(), registered.is_empty()], [length == 0; 3]);
        assert_eq!([symmetric.local().len(), individual.local().len(), registered.local().len()], [length; 3]);
        let pointers: [&dyn Fn(usize) -> GlobalPtr<u32>; 3] =
            [&|index| symmetric.at(ME, index), &|index| individual.ptr(index), &|index| registered.ptr(index)];
        for pointer in pointers {
            // Even without values, index 0 has an address.
            assert!((0..length.max(1)).all(|index| pointer(index) == pointer(0).add(index as u64)));
            assert!(panics(|| pointer(length.max(1))), "past the end");
        }
        assert!(panics(|| symmetric.at(Rank::new(1), 0)), "there is no such rank");
    }
}

#[test]
fn an_address_says_where_the_memory_lies() {
    let world = only();
    let layout = AddressLayout::new(1, HEAP_BYTES).unwrap();
    let segment = |at: GlobalPtr<u64>| layout.segment(at.address()).unwrap();
    assert_eq!(segment(world.alloc::<u64>(1).unwrap().at(ME, 0)), SegmentId::SYMMETRIC);
    assert_eq!(segment(world.alloc_individual::<u64>(1).unwrap().ptr(0)), SegmentId::INDIVIDUAL);
    let registered = world.register(vec![7_u64; 2]).unwrap();
    assert!(layout.registered_segments().contains(&segment(registered.ptr(0)).number()));
    assert_eq!(registered.local().to_vec(), [7; 2]);
}

/// Objects begin at a cache line, long ones at a page, and share neither.
#[test]
fn allocations_are_aligned() {
    let world = only();
    let layout = AddressLayout::new(1, HEAP_BYTES).unwrap();
    for (bytes, align, room) in
        [(0, 64, 64), (1, 64, 64), (64, 64, 64), (65, 64, 128), (4095, 64, 4096), (4096, 4096, 4096), (4097, 4096, 4160)]
    {
        let symmetric = [0, 1].map(|_| world.alloc::<u8>(bytes).unwrap());
        let individual = [0, 1].map(|_| world.alloc_individual::<u8>(bytes).unwrap());
        let offsets = [
            [0, 1].map(|index| layout.offset(symmetric[index].at(ME, 0).address())),
            [0, 1].map(|index| layout.offset(individual[index].ptr(0).address())),
        ];
        for [one, other] in offsets {
            assert!(one.is_multiple_of(align) && other.is_multiple_of(align), "{bytes} bytes at {one} and {other}");
            assert!(one.abs_diff(other) >= room, "{bytes} bytes at {one} and {other}");
        }
    }
    let small = [64, 4095].map(|bytes| world.alloc_individual::<u8>(bytes).unwrap());
    let offsets = small.map(|memory| layout.offset(memory.ptr(0).address()));
    assert_eq!(offsets[1], offsets[0] + 64, "pages are for what is as long");
}

#[test]
fn what_does_not_fit_is_refused_and_what_is_dropped_is_free() {
    let world = only();
    let whole = HEAP_BYTES as usize;
    for count in [whole + 1, usize::MAX] {
        let refused = [world.alloc::<u8>(count).map(drop), world.alloc_individual::<u8>(count).map(drop)];
        assert!(
            refused.iter().all(|refused| matches!(refused, Err(Error::NoMemory { heap_bytes: HEAP_BYTES, .. }))),
            "{refused:?}"
        );
    }
    for round in 0..3 {
        let all = world.alloc_individual::<u8>(whole).unwrap();
        assert!(world.alloc_individual::<u8>(0).is_err(), "nothing is left");
        assert!(all.local().to_vec().iter().all(|&value| value == 0), "memory comes zeroed");
        all.local().fill(round + 1);
        // The scratch memory of barriers lies in the other heap.
        let most = world.alloc::<u8>(whole / 2).unwrap();
        assert!(world.alloc::<u8>(whole / 2).is_err());
        assert!(most.local().to_vec().iter().all(|&value| value == 0));
        most.local().fill(round + 1);
    }
    let whole = world.register(vec![0_u8; whole]).unwrap();
    let too_long = world.register(vec![0_u8; whole.len() + 1]).map(drop);
    assert_eq!(too_long, Err(Error::TooLong { what: "registered region", bytes: whole.len() + 1, limit: whole.len() }));
}

/// A short put to own memory by a network: the transport has captured its bytes.
#[test]
fn memory_is_free_after_the_writes_of_its_owner_have_arrived() {
    for arrives in [true, false] {
        let (world, script) = lone(RANKS);
        let memory = world.alloc_individual::<u64>(1).unwrap();
        let place = memory.ptr(0);
        world.on(Rail::new(1).unwrap()).put(place, &[1]).unwrap();
        assert_eq!(script.lock().unwrap().kinds, [Kind::Write]);
        if arrives {
            script.lock().unwrap().wakes = Some(Box::new(|script| script.complete(0, Ok(0))));
        }
        drop(memory);
        assert_eq!(world.now() == Instant::ZERO, arrives, "the drop waits");
        assert_eq!(world.alloc_individual::<u64>(1).unwrap().ptr(0) == place, arrives, "the write would change the next object");
    }
}

#[test]
fn who_drops_memory_has_it_no_more() {
    let world = only();
    let first = world.alloc_individual::<u64>(8).unwrap();
    let place = first.ptr(0);
    world.put(place, &[7]).unwrap();
    drop(first);
    assert_eq!(world.get(place), Ok(0), "it is cleared");
    assert_eq!(world.alloc_individual::<u64>(8).unwrap().ptr(0), place, "and given to the next");
    let first = world.alloc::<u64>(8).unwrap();
    let place = first.at(ME, 0);
    world.put(place, &[7]).unwrap();
    drop(first);
    assert_eq!(world.alloc::<u64>(8).unwrap().at(ME, 0), place);
    assert_eq!(world.get(place), Ok(0));
}

/// A transport reads the source of a copy when it sends it, and writes the destination when it arrives.
#[test]
fn memory_of_copies_under_way_is_in_use() {
    let layout = AddressLayout::new(RANKS, HEAP_BYTES).unwrap();
    let there = layout.encode(Rank::new(1), SegmentId::SYMMETRIC, 0).unwrap();
    let there = GlobalPtr::<u64>::from_address(there).unwrap();
    for is_source in [true, false] {
        let (world, script) = lone(RANKS);
        let begin = || {
            let values = world.alloc_individual::<u64>(8).unwrap();
            values.local().store(7, 5);
            let (from, to) = if is_source { (values.ptr(0), there) } else { (there, values.ptr(0)) };
            world.copy(from, to, 8).unwrap();
            values
        };
        let first = begin();
        let place = first.ptr(7);
        // The scripted clock advances to the limit.
        drop(first);
        assert_eq!(world.get(place), Ok(5));
        let second = begin();
        assert_ne!(second.ptr(7), place, "it is not given to the next");
        let place = second.ptr(7);
        script.lock().unwrap().complete(1, Ok(0));
        drop(second);
        assert_eq!(world.get(place), Ok(0), "the copy has ended");
        assert_eq!(world.alloc_individual::<u64>(8).unwrap().ptr(7), place);
    }
}

/// Memory that a rank has dropped is cleared for reuse after the rank's puts to it have arrived.
#[test]
fn memory_is_given_back_when_all_puts_have_arrived() {
    let (world, script) = lone(1);
    let registered = world.register(vec![0_u64]).unwrap();
    world.put(registered.ptr(0), &[1]).unwrap();
    let first = world.alloc::<u64>(1).unwrap();
    let _second = world.alloc::<u64>(1).unwrap();
    let place = first.at(ME, 0);
    world.put(place, &[7]).unwrap();
    drop(first);
    assert_eq!(world.alloc::<u64>(1).map(drop), Err(Error::Fault(Fault::Deadlock)), "the put has yet to arrive");
    assert_eq!(world.get(place), Ok(7), "it is not cleared before that");
    script.lock().unwrap().complete(0, Ok(0));
    assert_eq!(world.alloc::<u64>(1).unwrap().at(ME, 0), place);
    assert_eq!(world.get(place), Ok(0));
}

/// Whether a call wakes a sleeping rank.
fn does_wake(world: &World, call: impl FnOnce(&World)) -> bool {
    let bell = world.reach().bell(ME).unwrap();
    bell.sleep(None, &mut || true);
    call(world);
    !bell.has_sleeper()
}

/// Whether a write to the address wakes the rank.
fn wakes(world: &World, at: GlobalPtr<u64>) -> bool {
    does_wake(world, |world| world.put(at, &[1]).map(drop).unwrap())
}

#[test]
fn whoever_writes_to_memory_wakes_its_owner() {
    let world = only();
    let memory = world.alloc::<u64>(8).unwrap();
    let (at, shape) = (memory.at(ME, 0), Shape::strided(2, 1, 2));
    assert!(does_wake(&world, |world| world.put(at, &[1, 2]).map(drop).unwrap()));
    assert!(does_wake(&world, |world| world.put_strided(at, shape, &[1; 3], shape).map(drop).unwrap()));
    assert!(does_wake(&world, |world| world.copy(at, at.add(1), 1).map(drop).unwrap()));
    assert!(does_wake(&world, |world| world.copy_strided(at, shape, at.add(1), shape).map(drop).unwrap()));
    assert!(does_wake(&world, |world| world.add(at, 1).map(drop).unwrap()));
    assert!(!does_wake(&world, |world| world.get(at).map(drop).unwrap()));
}

#[test]
fn writes_to_quiet_memory_wake_nobody() {
    const WORDS: usize = 1024;
    let world = only();
    let other = world.alloc::<u64>(WORDS).unwrap();
    let quiet = world.alloc::<u64>(WORDS).unwrap().quiet();
    let places = [quiet.at(ME, 0), quiet.at(ME, WORDS - 1)];
    assert_eq!(places.map(|at| wakes(&world, at)), [false; 2], "the whole of it");
    assert_eq!([0, WORDS - 1].map(|index| wakes(&world, other.at(ME, index))), [true; 2], "and nothing else");
    // Only one allocation at a time is quiet; the drop of another one has no effect.
    drop(world.alloc::<u64>(WORDS).unwrap().quiet());
    drop(other);
    assert!(!wakes(&world, places[0]));
    // A second call for the same allocation has no effect.
    drop(quiet.quiet());
    assert!(wakes(&world, places[0]));
    // Writes to a partial page wake the rank.
    let short = world.alloc::<u64>(WORDS / 4).unwrap().quiet();
    assert!(wakes(&world, short.at(ME, 0)));
}

#[test]
fn foreign_addresses_are_found_in_no_allocation() {
    let world = only();
    let nowhere = GlobalPtr::<u64>::from_address(GlobalAddress::from_bits(!7)).unwrap();
    assert!(world.get(nowhere).is_err() && world.put(nowhere, &[1]).and_then(|put| put.wait()).is_err());
}
