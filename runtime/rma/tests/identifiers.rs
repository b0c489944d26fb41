//! What a program makes and drops again can be made again, as often as it likes, and as much of it at once as there is memory.

mod scripted;
#[allow(dead_code)]
mod support;

use std::collections::BTreeSet;

use pelago_base::{AddressLayout, Event, Rank, SegmentId, Team};
use pelago_platform::Token;
use pelago_rma::{Context, Error, GlobalPtr, Handle};
use scripted::lone;
use support::{Platform, run, run_with_heaps};

/// Contexts that a token can tell apart.
const CONTEXTS_MAX: usize = 1 << 16;

fn word(rank: u32) -> GlobalPtr<u64> {
    let layout = AddressLayout::new(2, scripted::HEAP_BYTES).unwrap();
    GlobalPtr::from_address(layout.encode(Rank::new(rank), SegmentId::SYMMETRIC, 64 * 1024).unwrap()).unwrap()
}

fn put(context: &Context) -> Handle<'_> {
    context.put(word(1), &[1]).unwrap()
}

#[test]
fn contexts_are_made_one_after_another_for_ever() {
    let (world, script) = lone(2);
    script.lock().unwrap().completes = true;
    let sharer = world.share();
    for _ in 0..200_000 {
        let context = sharer.context().unwrap();
        put(&context).wait().unwrap();
    }
}

#[test]
fn as_many_contexts_are_there_as_tokens_tell_apart() {
    let (world, _) = lone(2);
    let sharer = world.share();
    let mut others: Vec<_> = (1..CONTEXTS_MAX).map(|_| sharer.context().unwrap()).collect();
    assert!(matches!(sharer.context(), Err(Error::TooMany { limit: CONTEXTS_MAX, .. })));
    others.pop();
    others.push(sharer.context().unwrap());
    assert!(sharer.context().is_err());
}

/// A wait of this job is told at once that nobody moves any more, so that a context is dropped with what it has under way.
#[test]
fn no_context_is_told_of_the_operations_of_one_before_it() {
    let (world, script) = lone(2);
    let sharer = world.share();
    let first = sharer.context().unwrap();
    put(&first);
    drop(first);
    let second = sharer.context().unwrap();
    let pending = put(&second);
    let complete = |index| script.lock().unwrap().complete(index, Ok(0));
    complete(0);
    assert_eq!(pending.test(), Ok(false), "what has ended is another's");
    complete(1);
    assert_eq!(pending.test(), Ok(true));
    // What has completed gives its number back, whoever takes that in.
    for _ in 0..20 {
        let posted = script.lock().unwrap().posted().len();
        for _ in 0..10 {
            put(&sharer.context().unwrap());
        }
        (posted..posted + 10).for_each(complete);
        second.progress();
    }
    let numbers: BTreeSet<_> = script.lock().unwrap().tokens().map(|Token(token)| token >> 48).collect();
    assert!(numbers.len() <= 12, "{numbers:?}: ten at once, the second, and the first");
}

#[test]
fn the_first_context_gives_its_number_to_nobody() {
    let (world, script) = lone(2);
    // Under way before anybody else uses the transport.
    world.put(word(1), &[1]).unwrap();
    let sharer = world.share();
    drop(world);
    let other = sharer.context().unwrap();
    let pending = put(&other);
    script.lock().unwrap().complete(0, Ok(0));
    assert_eq!(pending.test(), Ok(false));
    script.lock().unwrap().complete(1, Ok(0));
    assert_eq!(pending.test(), Ok(true));
}

#[test]
fn thousands_of_symmetric_allocations_are_alive_at_once() {
    const COUNT: usize = 5000;
    for platform in [Platform::Mapped, Platform::Remote] {
        run(platform, 2, |world| {
            let place = |index: usize| (index as u64) << 8 | u64::from(world.rank().next(2));
            let mut all: Vec<_> = (0..COUNT).map(|_| Some(world.alloc::<u64>(1).unwrap())).collect();
            for (index, words) in all.iter().flatten().enumerate() {
                world.put(words.at(world.rank().next(2), 0), &[place(index)]).unwrap();
            }
            world.barrier().unwrap();
            let own = |index: usize| (index as u64) << 8 | u64::from(world.rank());
            assert!(all.iter().flatten().enumerate().all(|(index, words)| words.local().load(0) == own(index)));
            let last = all[COUNT - 1].as_ref().unwrap().at(Rank::new(0), 0).address();
            // Each drops every third, at another phase: all have dropped none; then the same, in an order of its own.
            let phase = world.rank().index();
            (phase..COUNT).step_by(3).for_each(|index| all[index] = None);
            let more = world.alloc::<u64>(1).unwrap();
            assert!(more.at(Rank::new(0), 0).address() > last, "what one rank has is used by nobody");
            for index in (0..COUNT).map(|index| index * 7919 % COUNT).filter(|index| index % 3 == 1 - phase) {
                all[index] = None;
            }
            let left = all.iter().flatten().count();
            for _ in left..COUNT {
                let words = world.alloc::<u64>(1).unwrap();
                assert!(words.at(Rank::new(0), 0).address() <= last, "memory is used again");
                assert_eq!(words.local().load(0), 0, "and comes zeroed");
                all.push(Some(words));
            }
            world.barrier().unwrap();
        });
    }
}

#[test]
fn what_is_alive_costs_an_allocation_no_message() {
    run_with_heaps(Platform::Remote, 3, support::HEAP_BYTES, |world, passed| {
        let operations = || {
            let counters = passed.lock().unwrap();
            [Event::PutPosted, Event::GetPosted, Event::AtomicPosted].map(|event| counters.of(event))
        };
        let mut all = Vec::new();
        let mut cost = |alive: usize| {
            while all.len() < alive {
                all.push(world.alloc::<u8>(1).unwrap());
            }
            world.barrier().unwrap();
            let before = operations();
            all.push(world.alloc::<u8>(1).unwrap());
            let after = operations();
            [0, 1, 2].map(|kind| after[kind] - before[kind])
        };
        let first = cost(1);
        assert_eq!([10, 60, 1000, 1500, 3000].map(&mut cost), [first; 5]);
        world.barrier().unwrap();
    });
}

#[test]
fn thousands_of_groups_are_made_and_dropped() {
    const COUNT: usize = 5000;
    run_with_heaps(Platform::Mapped, 2, 256 << 20, |world, _| {
        let both = Team::all(2);
        let mut all: Vec<_> = (0..COUNT).map(|_| world.group(&both).unwrap().unwrap()).collect();
        for group in all.iter().step_by(499) {
            let mut sum = [1];
            group.allreduce(&mut sum, |one, other| one + other).unwrap();
            assert_eq!(sum, [2]);
        }
        all.clear();
        for round in 0..COUNT {
            let group = world.group(&both).unwrap().unwrap();
            if round % 100 == 0 {
                group.barrier().unwrap();
            }
        }
        world.barrier().unwrap();
    });
}
