//! Operations that do not allocate.

use pelago_base::{AddressLayout, Rank, SegmentId};
use pelago_rma::{GlobalPtr, World};

use super::scripted::{Answer, HEAP_BYTES, Script, lone_with};
use pelago_test_support::counting::allocations;

/// Returns the number of allocations of 10,000 operations, after as many operations have been done.
fn counted(operation: impl Fn(&World, GlobalPtr<u64>, u64)) -> u64 {
    counted_of(u64::MAX, operation)
}

/// The same in a job that moves only sizes of transfers above `data_bytes_max`.
fn counted_of(data_bytes_max: u64, operation: impl Fn(&World, GlobalPtr<u64>, u64)) -> u64 {
    const RANKS: u32 = 2;
    let (world, script) = lone_with(RANKS, Script::default(), data_bytes_max);
    script.lock().unwrap().answer = Answer::Completes;
    let layout = AddressLayout::new(RANKS, HEAP_BYTES).unwrap();
    let to = GlobalPtr::from_address(layout.encode(Rank::new(1), SegmentId::SYMMETRIC, 64).unwrap()).unwrap();
    let run = || (0..10_000).for_each(|value| operation(&world, to, value));
    run();
    let before = allocations();
    run();
    allocations() - before
}

#[test]
fn puts_allocate_nothing() {
    let stream = counted(|world, to, value| {
        world.put(to, &[value]).unwrap();
    });
    assert_eq!(stream, 0, "many in flight");
    let waited = counted(|world, to, value| world.put(to, &[value]).unwrap().wait().unwrap());
    assert_eq!(waited, 0, "one at a time");
}

#[test]
fn atomics_allocate_nothing() {
    let stream = counted(|world, to, value| {
        world.add(to, value).unwrap();
    });
    assert_eq!(stream, 0, "many in flight");
    let fetched = counted(|world, to, value| assert_eq!(world.fetch_add(to, value).unwrap().wait(), Ok(0)));
    assert_eq!(fetched, 0, "one at a time");
}

#[test]
fn order_allocates_nothing() {
    let pairs = counted(|world, to, value| {
        let sent = world.put(to, &[value]).unwrap();
        world.after(&sent).put(to.add(1), &[value]).unwrap();
    });
    assert_eq!(pairs, 0);
    let all = counted(|world, to, value| {
        world.after_all().put(to, &[value]).unwrap();
    });
    assert_eq!(all, 0);
}

#[test]
fn copies_of_own_memory_allocate_nothing() {
    let layout = AddressLayout::new(2, HEAP_BYTES).unwrap();
    let from = GlobalPtr::from_address(layout.encode(Rank::new(0), SegmentId::SYMMETRIC, 4096).unwrap()).unwrap();
    let long = counted(|world, to, value| {
        let sent = world.copy(from, to, 1000).unwrap();
        world.after(&sent).put(to.add(1000), &[value]).unwrap();
    });
    assert_eq!(long, 0);
}

#[test]
fn long_puts_keep_a_copy() {
    let long = counted(|world, to, value| {
        world.put(to, &[value; 100]).unwrap();
    });
    assert!(long >= 10_000, "long puts keep a copy: {long}");
}

#[test]
fn long_puts_by_size_keep_nothing() {
    let long = counted_of(64, |world, to, value| {
        assert!(!world.moves_data());
        world.put(to, &[value; 100]).unwrap();
    });
    assert!(long <= 1, "{long} allocations: the vector of the script may double");
}

#[test]
fn gets_in_a_window_signals_and_compare_sets_allocate_nothing() {
    let window = counted(|world, to, value| {
        if value % 50 == 0 {
            let gets = [(); 50].map(|()| world.start_get(to, 1).unwrap());
            gets.into_iter().for_each(|get| drop(get.wait()));
        }
    });
    assert_eq!(window, 0, "gets");
    // Vectors of the script and the engine may double once more.
    let signals = counted(|world, to, value| {
        world.put_signal(to, &[value], to.add(1), pelago_rma::Signal::Add(1)).unwrap().wait().unwrap();
    });
    assert!(signals <= 1, "{signals} allocations for 10,000 puts with a signal");
    let swaps = counted(|world, to, value| {
        world.compare_set(to, value, value + 1).unwrap();
    });
    assert_eq!(swaps, 0, "compare-and-swaps");
}
