//! Memory that is registered and unregistered, while peers may still access it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use pelago_base::{AddressLayout, Duration, Instant, Rank, SegmentId};
use pelago_platform::RegisterError;
use pelago_rma::limits::{REGION_GAP_BYTES, REGIONS_RETIRED_MAX};
use pelago_rma::{Advance, Background, Context, Error};

use super::scripted::{HEAP_BYTES, Said, lone};
use pelago_test_support::counting::freed_bytes;

#[test]
fn the_heaps_are_registered_as_wholes() {
    let (_world, script) = lone(2);
    let layout = AddressLayout::new(2, HEAP_BYTES).unwrap();
    let heap = |segment| (layout.encode(Rank::new(0), segment, 0).unwrap(), HEAP_BYTES);
    let registered: Vec<_> = script.lock().unwrap().registered.clone().into_iter().collect();
    assert_eq!(registered, [SegmentId::SYMMETRIC, SegmentId::INDIVIDUAL].map(heap));
}

#[test]
fn memory_is_taken_back_when_it_is_dropped() {
    let (world, script) = lone(2);
    let count = || script.lock().unwrap().registered.len();
    let first = world.register(vec![1_u32; 3]).unwrap();
    let address = first.ptr(0).address();
    assert_eq!(count(), 3);
    assert_eq!(script.lock().unwrap().registered.get(&address), Some(&12));
    drop(first);
    assert_eq!(count(), 2);
    let second = world.register(vec![1_u32; 3]).unwrap();
    assert_eq!(second.unregister(), Ok(Some(vec![1; 3])));
    assert_eq!(count(), 2);
}

#[test]
fn who_is_inside_is_waited_for() {
    let (world, script) = lone(2);
    let memory = world.register(vec![1_u64; 3]).unwrap();
    script.lock().unwrap().registry.somebody_is_inside = true;
    script.lock().unwrap().wakes = Some(Box::new(|script| script.registry.somebody_is_inside = false));
    assert_eq!(memory.unregister(), Ok(Some(vec![1; 3])));
    assert_eq!((world.now(), script.lock().unwrap().registered.len()), (Instant::ZERO, 2));
    // For ten seconds; then the memory is leaked.
    let limit = Duration::from_milliseconds(10_000);
    let memory = world.register(vec![1_u64; 3]).unwrap();
    script.lock().unwrap().registry.somebody_is_inside = true;
    assert_eq!(memory.unregister(), Err(Error::TimedOut { what: "the end of a registration", limit }));
    assert_eq!(world.now(), Instant::ZERO + limit);
    let memory = world.register(vec![1_u64; 3]).unwrap();
    drop(memory);
    assert_eq!(world.now(), Instant::ZERO + limit + limit, "once, though it is dropped");
}

/// No bell rings when a peer has read the memory and leaves.
#[test]
fn who_has_left_is_not_waited_for() {
    let (world, script) = lone(2);
    let memory = world.register(vec![1_u64; 3]).unwrap();
    script.lock().unwrap().registry.somebody_is_inside = true;
    script.lock().unwrap().said.clear();
    assert!(memory.unregister().is_err());
    let (said, mut last) = (script.lock().unwrap().said.clone(), Instant::ZERO);
    for said in said {
        if let Said::Park(what, until) = said {
            let until = until.expect("the wait has a limit");
            assert!(until - last <= Duration::from_milliseconds(1), "{what:?} from {last:?} until {until:?}");
            last = until;
        }
    }
    assert_eq!(last, world.now());
}

/// A peer that still accesses the memory may write there.
#[test]
fn memory_that_is_not_taken_back_in_time_is_never_freed() {
    const BYTES: u64 = HEAP_BYTES / 2;
    for is_inside in [false, true] {
        let (world, script) = lone(2);
        let memory = world.register(vec![0_u8; BYTES as usize]).unwrap();
        script.lock().unwrap().registry.somebody_is_inside = is_inside;
        let before = freed_bytes();
        drop(memory);
        assert_eq!(freed_bytes() - before >= BYTES, !is_inside);
    }
}

/// The program's function may catch the panic and continue.
#[test]
fn memory_is_never_freed_after_a_panic_in_the_wait_for_a_peer_that_is_inside() {
    const BYTES: u64 = HEAP_BYTES / 2;
    struct Panics;
    impl Background for Panics {
        fn advance(&self, _: &Context) -> Advance {
            panic!("a function of the program")
        }
    }
    for is_dropped in [false, true] {
        let (world, script) = lone(2);
        let memory = world.register(vec![0_u8; BYTES as usize]).unwrap();
        script.lock().unwrap().registry.somebody_is_inside = true;
        let panics: Rc<dyn Background> = Rc::new(Panics);
        world.go_on_with(&panics).unwrap();
        let before = freed_bytes();
        let ended = catch_unwind(AssertUnwindSafe(|| if is_dropped { drop(memory) } else { drop(memory.unregister()) }));
        assert!(ended.is_err() && freed_bytes() - before < BYTES);
        drop(panics);
    }
}

/// Addresses of a region that was dropped or refused are reused, after the maximum number of later regions.
#[test]
fn addresses_are_used_again() {
    let layout = AddressLayout::new(2, HEAP_BYTES).unwrap();
    let first = SegmentId::new(*layout.registered_segments().start()).unwrap();
    for is_refused in [false, true] {
        let (world, script) = lone(2);
        let register = |bytes| world.register(vec![0_u64; bytes]).map(|memory| memory.ptr(0).address());
        script.lock().unwrap().registry.refuses = is_refused;
        let place = register(1000);
        script.lock().unwrap().registry.refuses = true;
        for _ in 0..REGIONS_RETIRED_MAX {
            assert_eq!(register(1), Err(Error::Register(RegisterError::Full(0))));
        }
        script.lock().unwrap().registry.refuses = false;
        let start = layout.encode(Rank::new(0), first, 0).unwrap();
        assert!(if is_refused { place.is_err() } else { place == Ok(start) });
        assert_eq!(register(1000), Ok(start), "all of them, which no smaller range has");
    }
}

/// Regions that do not fit into a segment lie in the next, and their addresses are reused as well.
#[test]
fn regions_lie_in_as_many_segments_as_they_need() {
    let (world, script) = lone(2);
    let layout = AddressLayout::new(2, HEAP_BYTES).unwrap();
    let whole = HEAP_BYTES as usize / 8;
    let regions = [whole, whole, 1000, 1000].map(|words| world.register(vec![0_u64; words]).unwrap());
    let places = regions.each_ref().map(|region| region.ptr(0).address());
    let segments = places.map(|at| layout.segment(at).unwrap().number() - layout.registered_segments().start());
    assert_eq!((segments, places.map(|at| layout.offset(at))), ([0, 1, 2, 2], [0, 0, 0, 8000 + REGION_GAP_BYTES]));
    let registered: Vec<_> = script.lock().unwrap().registered.keys().copied().collect();
    assert_eq!(registered[2..], places);
    let [.., last] = regions;
    drop(last);
    script.lock().unwrap().registry.refuses = true;
    for _ in 0..REGIONS_RETIRED_MAX {
        assert!(world.register(vec![0_u64]).is_err());
    }
    script.lock().unwrap().registry.refuses = false;
    assert_eq!(world.register(vec![0_u64; 1000]).unwrap().ptr(0).address(), places[3]);
}
