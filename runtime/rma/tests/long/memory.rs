//! Many allocations, regions and groups at once, and the maximum number of bytes in flight.

use pelago_base::{Rank, Team};
use pelago_rma::limits::REGION_GAP_BYTES;

use crate::jobs::regions::pointer;
use pelago_test_support::threads::{Platform, on_every_platform, run, run_with_heaps};

/// Ranks exchange the addresses of a hundred thousand regions, and use some.
#[test]
fn a_hundred_thousand_regions_are_alive_at_once() {
    const REGIONS: usize = 100_000;
    run(Platform::Remote, 2, |world| {
        let (me, letter) = (u64::from(world.rank()), world.alloc::<u64>(1).unwrap());
        let regions: Vec<_> = (0..REGIONS as u64).map(|index| world.register(vec![me << 32 | index; 3]).unwrap()).collect();
        let mut addresses: Vec<_> = regions.iter().map(|region| region.ptr(0).address().bits()).collect();
        let list = world.register(addresses.clone()).unwrap();
        letter.local().store(0, list.ptr(0).address().bits());
        world.barrier().unwrap();
        let peer = world.rank().next(2);
        let told = world.get(letter.at(peer, 0)).unwrap();
        let theirs = |index: usize| pointer(world.get(pointer(told + 8 * index as u64)).unwrap());
        for index in (0..REGIONS).step_by(991) {
            let (at, value) = (theirs(index), u64::from(peer) << 32 | index as u64);
            assert_eq!(world.get(at), Ok(value));
            world.put(at.add(1), &[value + 1]).unwrap().wait().unwrap();
            world.copy(at.add(1), at, 1).unwrap().wait().unwrap();
            assert_eq!(world.fetch_add(at.add(2), 2).unwrap().wait(), Ok(value));
        }
        world.barrier().unwrap();
        for (index, region) in regions.iter().enumerate() {
            let value = me << 32 | index as u64;
            let expected = if index % 991 == 0 { [value + 1, value + 1, value + 2] } else { [value; 3] };
            assert_eq!(region.local().to_vec(), expected, "region {index}");
        }
        addresses.sort_unstable();
        assert!(addresses.windows(2).all(|pair| pair[0] + 24 + REGION_GAP_BYTES <= pair[1]), "gaps lie between");
        world.barrier().unwrap();
    });
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
            // Each drops every third allocation, with another phase: no allocation is dropped by all. Then the same set, each in its own order.
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

#[test]
fn long_puts_wait_for_room_and_arrive_whole() {
    const WORDS: usize = 128 * 1024;
    on_every_platform(&[2], |world, _| {
        let memory = world.alloc::<u64>(WORDS).unwrap();
        let peer = world.rank().next(2);
        let rounds = 3 * pelago_platform::limits::CAPTURED_BYTES_MAX / (8 * WORDS);
        for round in 0..rounds as u64 {
            world.after_all().put(memory.at(peer, 0), &vec![round; WORDS]).unwrap();
        }
        world.barrier().unwrap();
        assert!((0..WORDS).all(|i| memory.local().load(i) == rounds as u64 - 1));
        world.barrier().unwrap();
    });
}
