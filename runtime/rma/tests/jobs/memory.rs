//! Allocations and groups that a program makes and drops again can be made again, as many at once as there is memory.

use pelago_base::{Event, Rank, Team};

use crate::support::{HEAP_BYTES, Platform, run, run_with_heaps};

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
    run_with_heaps(Platform::Remote, 3, HEAP_BYTES, |world, passed| {
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
