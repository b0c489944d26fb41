//! Every operation has its specified effect, for every location of its target.

use pelago_base::{AddressLayout, Event, GlobalAddress, Rank, SegmentId, Shape};
use pelago_platform::{Failure, Rail};
use pelago_rma::{Error, GlobalPtr, Symmetric, World};

use pelago_test_support::threads::{HEAP_BYTES, Platform, on_every_platform, run, run_counted};

#[test]
fn puts_of_every_length_land_whole() {
    on_every_platform(&[1, 2, 3], |world, _| {
        let target = world.rank().next(world.size());
        let inbox = world.alloc::<u16>(20_000).unwrap();
        for length in [0, 1, 2, 3, 7, 8, 100, 2048, 2049, 20_000] {
            let sent: Vec<u16> = (0..length).map(|i| i as u16 ^ length as u16 ^ world.rank().number() as u16).collect();
            world.put(inbox.at(target, 0), &sent).unwrap().wait().unwrap();
            world.barrier().unwrap();
            let left = world.rank().previous(world.size()).number() as u16;
            let seen = inbox.local().to_vec();
            assert!((0..length).all(|i| seen[i] == i as u16 ^ length as u16 ^ left), "{length} values");
            world.barrier().unwrap();
        }
    });
}

#[test]
fn gets_find_what_was_stored() {
    on_every_platform(&[2], |world, _| {
        // Long enough for more operations than may be in flight at once.
        const COUNT: usize = 150_000;
        let memory = world.alloc::<[u32; 3]>(COUNT).unwrap();
        for i in 0..COUNT {
            memory.local().store(i, [world.rank().number(), i as u32, 7]);
        }
        world.barrier().unwrap();
        let peer = world.rank().next(world.size());
        assert_eq!(world.get(memory.at(peer, 4321)).unwrap(), [peer.number(), 4321, 7]);
        for count in [3, 20, COUNT - 10, 3] {
            let mut seen = vec![[0; 3]; count];
            world.get_into(memory.at(peer, 10), &mut seen).unwrap();
            assert!(seen.iter().enumerate().all(|(i, value)| *value == [peer.number(), i as u32 + 10, 7]), "{count} values");
        }
        world.barrier().unwrap();
    });
}

#[test]
fn a_third_rank_copies_between_two_others() {
    on_every_platform(&[3, 4], |world, _| {
        let memory = world.alloc::<u64>(1000).unwrap();
        (0..500).for_each(|i| memory.local().store(i, (1000 * world.rank().index() + i) as u64));
        world.barrier().unwrap();
        let (from, to) = (world.rank().offset(1, world.size()), world.rank().offset(2, world.size()));
        world.copy(memory.at(from, 0), memory.at(to, 500), 500).unwrap().wait().unwrap();
        world.barrier().unwrap();
        let source = world.rank().previous(world.size()).index();
        assert!((0..500).all(|i| memory.local().load(500 + i) == (1000 * source + i) as u64));
        world.barrier().unwrap();
    });
}

#[test]
fn atomics_of_all_ranks_are_each_counted_once() {
    const EACH: u64 = 300;
    on_every_platform(&[1, 2, 4], |world, _| {
        let words = world.alloc::<u64>(2).unwrap();
        let small = world.alloc::<i32>(1).unwrap();
        let home = Rank::new(0);
        let mut seen = Vec::new();
        for _ in 0..EACH {
            seen.push(world.fetch_add(words.at(home, 0), 1).unwrap().wait().unwrap());
            world.add(small.at(home, 0), -2).unwrap();
        }
        assert!(seen.windows(2).all(|pair| pair[0] < pair[1]), "each addition finds a larger word");
        loop {
            let found = world.get(words.at(home, 1)).unwrap();
            if world.compare_swap(words.at(home, 1), found, found + seen.iter().sum::<u64>()).unwrap().wait().unwrap() == found {
                break;
            }
        }
        world.barrier().unwrap();
        let total = EACH * u64::from(world.size());
        assert_eq!(world.get(words.at(home, 0)).unwrap(), total);
        assert_eq!(world.get(words.at(home, 1)).unwrap(), total * (total - 1) / 2, "every number was returned once");
        assert_eq!(world.get(small.at(home, 0)).unwrap(), -2 * total as i32);
        world.barrier().unwrap();
    });
}

/// Every atomic, on a word at `$at`, through the context or through ordered operations.
macro_rules! all_atomics {
    ($by:expr, $at:expr) => {
        $by.set($at, 0b1100).unwrap().wait().unwrap();
        assert_eq!($by.fetch_or($at, 0b0011).unwrap().wait(), Ok(0b1100));
        assert_eq!($by.fetch_and($at, 0b0110).unwrap().wait(), Ok(0b1111));
        assert_eq!($by.fetch_xor($at, 0b0101).unwrap().wait(), Ok(0b0110));
        assert_eq!($by.swap($at, 9).unwrap().wait(), Ok(0b0011));
        assert_eq!($by.compare_swap($at, 8, 1).unwrap().wait(), Ok(9));
        assert_eq!($by.compare_swap($at, 9, 1).unwrap().wait(), Ok(9));
        $by.or($at, 6).unwrap().wait().unwrap();
        $by.and($at, 5).unwrap().wait().unwrap();
        $by.xor($at, 1).unwrap().wait().unwrap();
        assert_eq!($by.fetch($at).unwrap().wait(), Ok(4));
        $by.max($at, 3).unwrap().wait().unwrap();
        assert_eq!($by.fetch_max($at, 7).unwrap().wait(), Ok(4));
        $by.add($at, 2).unwrap().wait().unwrap();
        assert_eq!($by.fetch_add($at, 1).unwrap().wait(), Ok(9));
        $by.max($at, 77).unwrap().wait().unwrap();
        assert_eq!($by.swap($at, 4).unwrap().wait(), Ok(77));
    };
}

#[test]
fn every_atomic_agrees_with_its_definition() {
    on_every_platform(&[2], |world, _| {
        let (words, long) = (world.alloc::<u32>(1).unwrap(), world.alloc::<u64>(1).unwrap());
        if world.rank() == Rank::new(0) {
            let (at, long) = (words.at(Rank::new(1), 0), long.at(Rank::new(1), 0));
            all_atomics!(world, at);
            all_atomics!(world.after_all(), at);
            all_atomics!(world, long);
            all_atomics!(world.after_all(), long);
        }
        world.barrier().unwrap();
    });
}

#[test]
fn what_is_ordered_after_an_operation_comes_after_it() {
    on_every_platform(&[3], |world, _| {
        let (data, flag) = (world.alloc::<u64>(600).unwrap(), world.alloc::<u64>(2).unwrap());
        let (one, two) = (world.rank().offset(1, 3), world.rank().offset(2, 3));
        for round in 1..=20u64 {
            // Data to one rank, then a flag to the other, which must then find the data there.
            let sent = world.put(data.at(one, 0), &[round; 600]).unwrap();
            world.after(&sent).put(flag.at(two, 0), &[round]).unwrap();
            world.wait_until(flag.local(), 0, |seen| seen >= round).unwrap();
            let writer = world.rank().offset(1, 3);
            let reader_of = writer.offset(1, 3);
            let mut seen = [0; 600];
            world.get_into(data.at(reader_of, 0), &mut seen).unwrap();
            assert!(seen.iter().all(|&value| value >= round), "round {round}");
            world.barrier().unwrap();
        }
    });
}

#[test]
fn chains_and_after_all_keep_their_order() {
    on_every_platform(&[2], |world, _| {
        let word = world.alloc::<u64>(1).unwrap();
        let peer = world.rank().next(2);
        let at = word.at(peer, 0);
        for _ in 0..50 {
            world.put(at, &[1u64]).unwrap();
            world.after_all().put(at, &[10u64]).unwrap();
            world
                .chain()
                .then(|next| {
                    world.quiet().unwrap();
                    next.add(at, 5)
                })
                .unwrap()
                .then(|next| next.xor(at, 0xF0))
                .unwrap()
                .then(|next| next.put(at, &[3u64]))
                .unwrap()
                .then(|next| next.add(at, 4))
                .unwrap()
                .wait()
                .unwrap();
            assert_eq!(world.get(at), Ok(7));
        }
        world.barrier().unwrap();
    });
}

#[test]
fn a_fence_orders_operations_to_one_target() {
    on_every_platform(&[2], |world, _| {
        let words = world.alloc::<u64>(2).unwrap();
        let peer = world.rank().next(2);
        for round in 1..=100u64 {
            world.put(words.at(peer, 0), &[round]).unwrap();
            world.fence().unwrap();
            world.put(words.at(peer, 1), &[round]).unwrap();
            world.wait_until(words.local(), 1, |seen| seen >= round).unwrap();
            assert!(words.local().load(0) >= round);
        }
        world.barrier().unwrap();
    });
}

#[test]
fn many_operations_are_waited_for_together() {
    on_every_platform(&[2], |world, _| {
        let words = world.alloc::<u64>(3000).unwrap();
        let peer = world.rank().next(2);
        let handles: Vec<_> = (0..3000).map(|i| world.put(words.at(peer, i), &[i as u64]).unwrap()).collect();
        let first = world.wait_any(&handles).unwrap().unwrap();
        assert!(handles[first].test().unwrap());
        world.wait_all(&handles).unwrap();
        assert_eq!(world.wait_any(&[]), Ok(None));
        world.flush(peer).unwrap();
        world.barrier().unwrap();
        assert!((0..3000).all(|i| words.local().load(i) == i as u64));
        world.barrier().unwrap();
    });
}

#[test]
fn an_address_that_leads_nowhere_is_an_error_that_harms_nothing() {
    on_every_platform(&[2], |world, _| {
        let word = world.alloc::<u64>(1).unwrap();
        let peer = world.rank().next(2);
        let layout_end = GlobalAddress::from_bits(word.at(peer, 0).address().bits() | (HEAP_BYTES - 8));
        let last = GlobalPtr::<u64>::from_address(layout_end).unwrap();
        // With one operation, and with several of which some have valid addresses.
        for (bytes, before) in [(16, 0), (2_000_000, 1_000_000)] {
            let from = GlobalAddress::from_bits(layout_end.bits() - before);
            let mut into = vec![0_u64; bytes / 8];
            assert!(matches!(
                world.get_into(GlobalPtr::from_address(from).unwrap(), &mut into),
                Err(Error::Failed(Failure::OutOfBounds(_)))
            ));
            world.quiet().unwrap();
        }
        assert!(matches!(
            world.put(last, &[1, 2]).unwrap().wait(),
            Err(Error::Failed(Failure::OutOfBounds(address))) if address == layout_end
        ));
        let nowhere = GlobalPtr::<u64>::from_address(GlobalAddress::from_bits(!7)).unwrap();
        assert!(world.get(nowhere).is_err());
        assert!(world.fetch_add(nowhere, 1).and_then(|fetch| fetch.wait()).is_err());
        world.quiet().unwrap();
        let _ = world.put(last, &[1, 2]).unwrap();
        assert!(matches!(world.quiet(), Err(Error::Failed(_))), "a failure that nobody waited for is told by quiet");
        world.quiet().unwrap();
        let failing = world.put(last, &[1, 2]).unwrap();
        let after = world.after(&failing).put(word.at(peer, 0), &[9]).and_then(|handle| handle.wait());
        assert!(matches!(after, Err(Error::Failed(_))), "what was to follow a failure fails");
        assert!(world.after(&failing).put(word.at(peer, 0), &[9]).is_err(), "also when the failure is known");
        let _ = world.quiet();
        world.barrier().unwrap();
        assert_eq!(word.local().load(0), 0);
        world.barrier().unwrap();
    });
}

#[test]
fn handles_of_another_context_are_refused() {
    on_every_platform(&[2], |world, _| {
        let word = world.alloc::<u64>(1).unwrap();
        let at = word.at(world.rank().next(2), 0);
        let other = world.context_factory().context().unwrap();
        let handle = other.put(at, &[1]).unwrap();
        assert!(other.after(&handle).put(at, &[1]).is_ok() && other.wait_all(&[handle]).is_ok());
        assert!(matches!(world.after(&handle).put(at, &[2]), Err(Error::ForeignHandle)));
        assert!(matches!(world.wait_all(&[handle]), Err(Error::ForeignHandle)));
        handle.wait().unwrap();
        world.barrier().unwrap();
    });
}

#[test]
fn threads_of_a_rank_work_side_by_side() {
    const EACH: u64 = 200;
    on_every_platform(&[2], |world, _| {
        let words = world.alloc::<u64>(4).unwrap();
        let peer = world.rank().next(2);
        let factory = world.context_factory();
        let at: Vec<_> = (0..4).map(|i| words.at(peer, i)).collect();
        std::thread::scope(|scope| {
            for thread in 0..3 {
                let (factory, at) = (factory.clone(), &at);
                scope.spawn(move || {
                    let context = factory.context().unwrap();
                    for i in 0..EACH {
                        context.add(at[0], 1).unwrap();
                        let sent = context.put(at[1 + thread], &[i]).unwrap();
                        let seen = context.after(&sent).fetch(at[1 + thread]).unwrap().wait().unwrap();
                        assert_eq!(seen, i);
                    }
                    context.quiet().unwrap();
                });
            }
        });
        world.barrier().unwrap();
        assert_eq!(words.local().load(0), 3 * EACH);
        world.barrier().unwrap();
    });
}

#[test]
fn memory_of_one_rank_is_reached_by_those_who_are_told() {
    on_every_platform(&[2], |world, _| {
        let letter = world.alloc::<u64>(1).unwrap();
        let peer = world.rank().next(2);
        let mine = world.alloc_individual::<u32>(100).unwrap();
        world.put(letter.at(peer, 0), &[mine.ptr(0).address().bits()]).unwrap();
        world.barrier().unwrap();
        let told = GlobalPtr::<u32>::from_address(GlobalAddress::from_bits(letter.local().load(0))).unwrap();
        world.put(told.add(5), &[1, 2, 3]).unwrap().wait().unwrap();
        world.barrier().unwrap();
        assert_eq!(mine.local().range(4..9).to_vec(), [0, 1, 2, 3, 0]);
        drop(mine);
        let again = world.alloc_individual::<u32>(100).unwrap();
        assert!(again.local().to_vec().iter().all(|&value| value == 0), "memory comes zeroed");
        world.barrier().unwrap();
    });
}

#[test]
fn memory_that_the_program_owned_is_reached_until_it_is_taken_back() {
    for platform in [Platform::Remote, Platform::Unruly] {
        run(platform, 2, |world| {
            let letter = world.alloc::<u64>(1).unwrap();
            let peer = world.rank().next(2);
            let mine = world.register(vec![7u64; 50]).unwrap();
            world.put(letter.at(peer, 0), &[mine.ptr(0).address().bits()]).unwrap();
            world.barrier().unwrap();
            let told = GlobalPtr::<u64>::from_address(GlobalAddress::from_bits(letter.local().load(0))).unwrap();
            world.put(told.add(1), &[1, 2]).unwrap().wait().unwrap();
            assert_eq!(world.fetch_add(told, 5).unwrap().wait(), Ok(7));
            world.barrier().unwrap();
            assert_eq!(mine.local().range(0..4).to_vec(), [12, 1, 2, 7]);
            let memory = mine.unregister().unwrap().unwrap();
            assert_eq!(memory[..4], [12, 1, 2, 7]);
            world.barrier().unwrap();
            assert!(matches!(world.get(told), Err(Error::Failed(Failure::OutOfBounds(_)))));
            let next = world.register(vec![0u64; 50]).unwrap();
            assert!(matches!(world.get(told), Err(Error::Failed(Failure::OutOfBounds(_)))), "old addresses lead to nothing new");
            drop(next);
            let too_long = vec![0u8; HEAP_BYTES as usize + 1];
            assert!(matches!(world.register(too_long), Err(Error::TooLong { .. })), "no segment is as long");
            world.register(vec![0u8; HEAP_BYTES as usize]).unwrap();
            world.barrier().unwrap();
        });
    }
}

#[test]
fn addresses_of_allocations_are_what_they_say() {
    run(Platform::Mapped, 3, |world| {
        let memory = world.alloc::<u64>(4).unwrap();
        let address = memory.at(Rank::new(2), 3).address();
        let layout = AddressLayout::new(3, HEAP_BYTES).unwrap();
        assert_eq!((layout.rank(address), layout.segment(address)), (Rank::new(2), Some(SegmentId::SYMMETRIC)));
        assert_eq!(memory.at(Rank::new(2), 0).add(3).address(), address);
    });
}

#[test]
fn an_operation_goes_by_the_rail_that_is_named() {
    run_counted(Platform::Rails, 2, |world, passed| {
        let memory = world.alloc::<u64>(4).unwrap();
        world.barrier().unwrap();
        let (here, other) = (world.rank(), world.rank().next(2));
        let [near, far, all, none] = [0, 1, 2, 3].map(|number| Rail::new(number).unwrap());
        assert_eq!((world.rails().len(), world.rails().to(other), world.rails().reach(none, other)), (2, near, false));
        assert_eq!((world.rails().all(), world.rails().reach(all, other)), (Some(all), true));
        let posted = || {
            let passed = passed.lock().unwrap();
            [Event::PutPosted, Event::AtomicPosted, Event::GetPosted].map(|event| passed.of(event))
        };
        // Through the rail of mapped memory an operation completes immediately, as without a rail.
        let before = posted();
        assert!(world.on(near).put(memory.at(other, 0), &[1]).unwrap().has_ended().unwrap());
        assert_eq!(world.on(near).fetch_add(memory.at(other, 0), 2).unwrap().wait(), Ok(1));
        assert_eq!(posted(), before);
        // Through the other rail it is posted, although the memory is mapped.
        world.on(far).put(memory.at(other, 1), &[5]).unwrap().wait().unwrap();
        assert_eq!(world.on(far).fetch_add(memory.at(other, 1), 2).unwrap().wait(), Ok(5));
        let copied = world.on(far).copy(memory.at(other, 1), memory.at(here, 2), 1).unwrap();
        let told = world.after(&copied).on(near).put(memory.at(other, 3), &[9]).unwrap();
        told.wait().unwrap();
        assert_eq!(memory.local().load(2), 7);
        assert_eq!([0, 1, 2].map(|kind| posted()[kind] - before[kind]), [1, 1, 1]);
        // A rail without a route.
        let refused = world.on(none).put(memory.at(other, 0), &[1]).unwrap_err();
        assert_eq!(refused.to_string(), format!("rail 3 does not lead to rank {other}"));
        world.flush(other).unwrap();
        world.barrier().unwrap();
        assert_eq!([0, 1, 3].map(|index| memory.local().load(index)), [3, 7, 9]);
    });
}

/// Size of a striped transfer.
const LONG_BYTES: usize = 100_000;

#[test]
fn a_long_transfer_goes_by_all_rails_in_parts() {
    run_counted(Platform::Rails, 2, |world, passed| {
        let memory = world.alloc::<u8>(LONG_BYTES).unwrap();
        let (here, other) = (world.rank(), world.rank().next(2));
        let all = world.rails().all().unwrap();
        let values: Vec<u8> = (0..LONG_BYTES).map(|index| (index * 31 + here.index() * 7) as u8).collect();
        world.barrier().unwrap();
        let counted = || {
            let passed = passed.lock().unwrap();
            [Event::PutPosted, Event::GetPosted, Event::CopyPosted].map(|event| passed.of(event))
        };
        let posted = |what: &dyn Fn() -> pelago_rma::Result<()>| {
            let before = counted();
            what().unwrap();
            world.flush_all().unwrap();
            let after = counted();
            [0, 1, 2].map(|kind| after[kind] - before[kind])
        };
        // One part per rail: this counts the parts of the second rail.
        assert_eq!(posted(&|| world.on(all).put(memory.at(other, 0), &values).map(|_| ())), [1, 0, 0]);
        world.barrier().unwrap();
        let brought = memory.local().to_vec();
        assert!((0..LONG_BYTES).all(|index| brought[index] == (index * 31 + other.index() * 7) as u8));
        world.barrier().unwrap();
        // Blocks are distributed: half of a hundred per rail.
        let blocks = |stride| Shape { block: 500, counts: [1, 1, 100], strides: [0, 0, stride] };
        let (dense, sparse) = (blocks(500), blocks(1000));
        memory.local().fill(0);
        world.barrier().unwrap();
        let strided = || world.on(all).put_strided(memory.at(other, 0), sparse, &values, dense).map(|_| ());
        assert_eq!(posted(&strided), [50, 0, 0]);
        world.barrier().unwrap();
        let brought = memory.local().to_vec();
        let expected = |index: usize| ((index / 1000 * 500 + index % 1000) * 31 + other.index() * 7) as u8;
        assert!((0..LONG_BYTES - 500).all(|at| brought[at] == if at % 1000 < 500 { expected(at) } else { 0 }));
        world.barrier().unwrap();
        // From another rank's memory to this one, and on to the other.
        let into = world.alloc::<u8>(LONG_BYTES).unwrap();
        assert_eq!(posted(&|| world.on(all).copy(memory.at(other, 0), into.at(here, 0), LONG_BYTES).map(|_| ())), [0, 1, 0]);
        world.barrier().unwrap();
        assert!(into.local().to_vec() == world_copy(world, &memory, other));
        world.barrier().unwrap();
        // The minimum size of a striped transfer; shorter ones use the best rail.
        assert_eq!(posted(&|| world.on(all).put(into.at(other, 0), &values[..4096]).map(|_| ())), [1, 0, 0]);
        assert_eq!(posted(&|| world.on(all).put(into.at(other, 0), &values[..4095]).map(|_| ())), [0; 3]);
        assert_eq!(world.on(all).fetch_add(into.at(here, 0).cast::<u64>().unwrap(), 0).unwrap().wait().map(drop), Ok(()));
        world.barrier().unwrap();
    });
}

/// Returns the whole memory of a rank.
fn world_copy(world: &World, memory: &Symmetric<'_, u8>, of: Rank) -> Vec<u8> {
    let mut values = vec![0; LONG_BYTES];
    world.get_into(memory.at(of, 0), &mut values).unwrap();
    values
}

#[test]
fn what_follows_a_parted_put_overtakes_no_part() {
    const ROUNDS: u64 = 100;
    const WORDS: usize = 2000;
    let body = |world: &World| {
        let (data, flag) = (world.alloc::<u64>(WORDS).unwrap(), world.alloc::<u64>(1).unwrap());
        let all = world.rails().all().unwrap();
        for round in 1..=ROUNDS {
            if world.rank() == Rank::new(0) {
                let to = data.at(Rank::new(1), 0);
                let put = world.on(all).put(to, &[round; WORDS]).unwrap();
                let flag = flag.at(Rank::new(1), 0);
                // Ordered by a handle, after all, by a fence, by completion.
                match round % 4 {
                    0 => world.after(&put).put(flag, &[round]).map(|_| ()).unwrap(),
                    1 => world.after_all().put(flag, &[round]).map(|_| ()).unwrap(),
                    2 => {
                        world.fence().unwrap();
                        world.put(flag, &[round]).unwrap();
                    }
                    _ => {
                        world.flush(Rank::new(1)).unwrap();
                        world.put(flag, &[round]).unwrap();
                    }
                }
            } else {
                world.wait_until(flag.local(), 0, |seen| seen == round).unwrap();
                assert!(data.local().to_vec() == vec![round; WORDS], "round {round}");
            }
            world.barrier().unwrap();
        }
    };
    [Platform::Rails, Platform::Networks].into_iter().for_each(|platform| run(platform, 2, body));
}

#[test]
fn a_parted_put_waits_for_what_it_is_ordered_after() {
    const WORDS: usize = 2000;
    let body = |world: &World| {
        let data = world.alloc::<u64>(WORDS).unwrap();
        let [near, far, all] = [0, 1, 2].map(|number| Rail::new(number).unwrap());
        if world.rank() == Rank::new(0) {
            for round in 0..50 {
                let to = data.at(Rank::new(1), 0);
                let by = if round % 2 == 0 { near } else { far };
                let first = world.on(by).put(to, &[2 * round; WORDS]).unwrap();
                let second = world.after(&first).on(all).put(to, &[2 * round + 1; WORDS]).unwrap();
                // The last of a sequence of striped operations on two ranks.
                let third = world.after(&second).on(all).copy(to, data.at(Rank::new(2), 0), WORDS).unwrap();
                third.wait().unwrap();
                let mut seen = vec![0; WORDS];
                world.get_into(data.at(Rank::new(2), 0), &mut seen).unwrap();
                assert!(seen == vec![2 * round + 1; WORDS], "round {round}");
            }
        }
        world.barrier().unwrap();
    };
    [Platform::Rails, Platform::Networks].into_iter().for_each(|platform| run(platform, 3, body));
}

/// Sums, minima and maxima of all ranks, accumulated in an unspecified order, have the expected results.
#[test]
fn accumulations_of_all_ranks_leave_sums_minima_and_maxima() {
    use pelago_rma::{Accumulation, Number};
    fn all<T: Number + PartialOrd + core::fmt::Debug>(
        world: &World,
        start: T,
        value: impl Fn(i32) -> T,
        expected: [T; 3],
        what: &str,
    ) {
        let words = world.alloc::<T>(4).unwrap();
        words.local().fill(start);
        world.barrier().unwrap();
        let to = Rank::new(world.size() - 1);
        for round in 0..20 {
            let value = value(round * world.size() as i32 + world.rank().number() as i32);
            for (index, accumulation) in [Accumulation::Sum, Accumulation::Min, Accumulation::Max].into_iter().enumerate() {
                world.accumulate(words.at(to, index), accumulation, value).unwrap();
            }
        }
        world.barrier().unwrap();
        if world.rank() == to {
            assert_eq!(words.local().to_vec()[..3], expected, "{what}");
            assert_eq!(words.local().load(3), start, "{what}");
        }
        // Several at once.
        words.local().fill(start);
        world.barrier().unwrap();
        world.accumulate_all(words.at(to, 0), Accumulation::Max, &[value(0), value(17), value(19)]).unwrap();
        world.barrier().unwrap();
        let greater = |one: T, other: T| if other > one { other } else { one };
        let expected = [0, 17, 19].map(|number| greater(start, value(number)));
        assert!(world.rank() != to || words.local().to_vec()[..3] == expected, "{what}");
        world.barrier().unwrap();
        // At individual indices, more than a batch holds.
        words.local().fill(value(0));
        world.barrier().unwrap();
        let places: Vec<_> = (0..300).map(|number| number % 3).collect();
        let values: Vec<_> = (0..300).map(|number| value(number / 30)).collect();
        world.accumulate_indexed(words.at(to, 1), &places, Accumulation::Max, &values).unwrap();
        assert!(matches!(
            world.accumulate_indexed(words.at(to, 1), &[0], Accumulation::Max, &values),
            Err(Error::WrongNumber { .. })
        ));
        world.barrier().unwrap();
        let expected = [value(0), value(9), value(9), value(9)];
        assert!(world.rank() != to || words.local().to_vec() == expected, "{what}");
        world.barrier().unwrap();
    }
    on_every_platform(&[1, 3], |world, platform| {
        let what = format!("{platform:?}");
        let count = 20 * world.size() as i32;
        // Numbers from -15 on, so that both signs occur; the start value 5 is among them.
        let sum = 5 + (0..count).map(|number| number - 15).sum::<i32>();
        let (least, most) = (-15, 5.max(count - 16));
        all(world, 5_i32, |number| number - 15, [sum, least, most], &what);
        all(world, 5_i64, |number| i64::from(number - 15), [sum, least, most].map(i64::from), &what);
        all(world, 5_f32, |number| (number - 15) as f32, [sum, least, most].map(|value| value as f32), &what);
        all(world, 5_f64, |number| f64::from(number - 15), [sum, least, most].map(f64::from), &what);
        let sum = 5 + (0..count).map(|number| number + 2).sum::<i32>();
        all(world, 5_u32, |number| number as u32 + 2, [sum, 2, count + 1].map(|value| value as u32), &what);
        all(world, 5_u64, |number| number as u64 + 2, [sum, 2, count + 1].map(|value| value as u64), &what);
    });
}

/// An accumulation uses the present number: also after a put, and after earlier values of the same call.
#[test]
fn accumulations_go_on_from_what_is_there() {
    use pelago_rma::Accumulation::Sum;
    on_every_platform(&[2], |world, platform| {
        let numbers = world.alloc::<f64>(4).unwrap();
        world.barrier().unwrap();
        if world.rank() == Rank::new(0) {
            let at = |place| numbers.at(Rank::new(1), place);
            for round in 1..=3 {
                world.accumulate(at(0), Sum, 0.5).unwrap().wait().unwrap();
                world.accumulate(at(1), Sum, 2.0).unwrap().wait().unwrap();
                world.accumulate(at(1), Sum, 2.0).unwrap().wait().unwrap();
                world.put(at(1), &[f64::from(10 * round)]).unwrap().wait().unwrap();
                world.accumulate(at(1), Sum, 1.0).unwrap().wait().unwrap();
                assert_eq!(world.get(at(1)), Ok(f64::from(10 * round + 1)), "{platform:?}");
            }
            world.accumulate_indexed(at(0), &[1, 2, 1, 1, 1, 1, 2, 1, 1, 1, 1], Sum, &[1.0; 11]).unwrap();
            world.quiet().unwrap();
            let mut found = [0.0; 4];
            world.get_into(at(0), &mut found).unwrap();
            assert_eq!(found, [1.5, 40.0, 2.0, 0.0], "{platform:?}");
        }
        world.barrier().unwrap();
    });
}
