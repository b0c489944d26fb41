//! Strided and indexed transfers and copies equal those of single values, and shapes and places are checked.

use pelago_base::{AddressLayout, Event, Rank, SegmentId, Shape};
use pelago_platform::Failure;
use pelago_rma::{Accumulation, Error, GlobalPtr};

use pelago_test_support::threads::{HEAP_BYTES, Platform, on_every_platform, run, run_counted};

#[test]
fn strided_transfers_equal_naive_ones() {
    on_every_platform(&[2], |world, _| {
        const N: usize = 6;
        let memory = world.alloc::<u32>(N * N * N).unwrap();
        let peer = world.rank().next(world.size());
        let cube: Vec<u32> = (0..(N * N * N) as u32).map(|i| i + 1000 * world.rank().number()).collect();
        let face = |fixed: usize| match fixed {
            0 => Shape { block: N as u64, counts: [1, 1, N as u64], strides: [0, 0, N as u64] },
            1 => Shape { block: N as u64, counts: [1, 1, N as u64], strides: [0, 0, (N * N) as u64] },
            _ => Shape { block: 1, counts: [1, N as u64, N as u64], strides: [0, (N * N) as u64, N as u64] },
        };
        for (mine, theirs) in [(0, 0), (1, 1), (2, 2)] {
            let other = peer.number();
            memory.local().fill(0);
            world.barrier().unwrap();
            world.put_strided(memory.at(peer, 0), face(theirs), &cube, face(mine)).unwrap().wait().unwrap();
            world.barrier().unwrap();
            let seen = memory.local().to_vec();
            let covered: Vec<usize> =
                face(theirs).offsets().flat_map(|start| start as usize..start as usize + face(theirs).block as usize).collect();
            for (i, value) in seen.iter().enumerate() {
                assert_eq!(*value, if covered.contains(&i) { i as u32 + 1000 * other } else { 0 }, "element {i} of face {mine}");
            }
            let mut fetched = vec![0; N * N * N];
            world.get_strided(memory.at(peer, 0), face(theirs), &mut fetched, face(mine)).unwrap();
            assert!(covered.iter().all(|&i| fetched[i] == i as u32 + 1000 * world.rank().number()));
            world.barrier().unwrap();
            let to = Shape { block: 1, ..Shape::strided((N * N) as u64, 1, 1) };
            let from = Shape { block: 1, counts: [1, N as u64, N as u64], strides: [0, (N * N) as u64, N as u64] };
            let to = Shape { counts: from.counts, strides: [0, N as u64, 1], ..to };
            world.copy_strided(memory.at(world.rank(), 0), from, memory.at(peer, 0), to).unwrap().wait().unwrap();
            world.barrier().unwrap();
        }
    });
}

/// Values at indices in any order, some of them twice, on another rank and on this one.
#[test]
fn indexed_transfers_equal_naive_ones() {
    on_every_platform(&[2], |world, _| {
        const WORDS: u64 = 3_000;
        let memory = world.alloc::<u32>(WORDS as usize).unwrap();
        let me = world.rank().number();
        for (peer, count) in
            [(world.rank().next(2), 700), (world.rank(), 50), (world.rank().next(2), 0), (world.rank().next(2), 1)]
        {
            (0..WORDS as usize).for_each(|index| memory.local().store(index, index as u32));
            world.barrier().unwrap();
            let places: Vec<u64> = (0..count).map(|index| index * 1_237 % WORDS).collect();
            let values: Vec<u32> = (0..count as u32).map(|index| index | (me + 1) << 24).collect();
            let put = world.put_indexed(memory.at(peer, 0), &places, &values).unwrap();
            let last = world.after(&put).put_indexed(memory.at(peer, 0), &[WORDS - 1], &[7]).unwrap();
            last.wait().unwrap();
            world.barrier().unwrap();
            let mut expected: Vec<u32> = (0..WORDS as u32).collect();
            let writer = if peer == world.rank() { me } else { 1 - me };
            (0..count as usize).for_each(|index| expected[places[index] as usize] = index as u32 | (writer + 1) << 24);
            expected[WORDS as usize - 1] = 7;
            assert!(memory.local().to_vec() == expected, "{count} values");
            world.barrier().unwrap();
            // Each index twice, in reverse order.
            let asked: Vec<u64> = places.iter().rev().flat_map(|&place| [place, place]).collect();
            let mut found = vec![0; asked.len()];
            world.get_indexed(memory.at(peer, 0), &asked, &mut found).unwrap();
            let value = |index: usize| index as u32 | (me + 1) << 24;
            assert!((0..count as usize).all(|index| found[2 * index] == found[2 * index + 1]));
            assert!((0..count as usize).all(|index| found[2 * (count as usize - 1 - index)] == value(index)));
            world.barrier().unwrap();
        }
    });
}

/// A transport that accepts blocks gets one operation per shape, and one per maximum number of values of a list; another transport gets one per block.
#[test]
fn blocks_go_together_where_a_transport_takes_them() {
    for (platform, shape, list) in [(Platform::Remote, 1, 4), (Platform::Fabric, 200, 200)] {
        run_counted(platform, 2, |world, passed| {
            let memory = world.alloc::<u32>(1_000).unwrap();
            let there = memory.at(world.rank().next(2), 0);
            world.barrier().unwrap();
            let posted = || [Event::PutPosted, Event::GetPosted].map(|event| passed.lock().unwrap().of(event));
            let before = posted();
            let (apart, together) = (Shape::strided(200, 1, 5), Shape::strided(200, 1, 1));
            let places: Vec<u64> = (0..200).map(|index| 5 * index).collect();
            let mut values = [1; 200];
            world.put_strided(there, apart, &values, together).unwrap().wait().unwrap();
            world.put_indexed(there, &places, &values).unwrap().wait().unwrap();
            world.get_strided(there, apart, &mut values, together).unwrap();
            world.get_indexed(there, &places, &mut values).unwrap();
            let after = posted();
            assert_eq!([0, 1].map(|kind| after[kind] - before[kind]), [shape + list; 2], "{platform:?}");
            // From and into the heap in place.
            world.copy_strided(memory.at(world.rank(), 0), apart, there, apart).unwrap().wait().unwrap();
            world.copy_strided(there, apart, memory.at(world.rank(), 0), apart).unwrap().wait().unwrap();
            let after_copies = posted();
            assert_eq!([0, 1].map(|kind| after_copies[kind] - after[kind]), [shape; 2], "{platform:?}");
            world.copy_indexed(there, &places, there, &places).unwrap().wait().unwrap();
            let after_lists = posted();
            assert_eq!([0, 1].map(|kind| after_lists[kind] - after_copies[kind]), [list; 2], "{platform:?}");
            world.barrier().unwrap();
        });
    }
}

/// Between any two ranks, with or without this one.
#[test]
fn indexed_copies_go_from_places_to_places() {
    on_every_platform(&[3], |world, _| {
        const WORDS: u64 = 500;
        let (from, to) = (world.alloc::<u64>(WORDS as usize).unwrap(), world.alloc::<u64>(3 * WORDS as usize).unwrap());
        let me = u64::from(world.rank());
        (0..WORDS).for_each(|index| from.local().store(index as usize, index + WORDS * me));
        world.barrier().unwrap();
        let places: Vec<u64> = (0..200).map(|index| index * 37 % WORDS).collect();
        for ends in [[1, 2], [0, 1], [2, 0], [0, 0]] {
            let [source, target] = ends.map(|distance| (0..distance).fold(world.rank(), |rank, _| rank.next(3)));
            // Each rank writes to its own part.
            let into: Vec<u64> = places.iter().map(|place| WORDS * me + (WORDS - 1 - place)).collect();
            world.copy_indexed(from.at(source, 0), &places, to.at(target, 0), &into).unwrap().wait().unwrap();
            let mut found = vec![0; into.len()];
            world.get_indexed(to.at(target, 0), &into, &mut found).unwrap();
            assert!(found.iter().zip(&places).all(|(&found, place)| found == place + WORDS * u64::from(source)));
        }
        assert!(matches!(
            world.copy_indexed(from.at(world.rank(), 0), &[1], to.at(world.rank(), 0), &[]),
            Err(Error::WrongNumber { .. })
        ));
        world.barrier().unwrap();
    });
}

/// On one platform a value is longer than a message, which is no multiple of it.
#[test]
fn long_values_of_indexed_transfers_arrive() {
    on_every_platform(&[2], |world, _| {
        const WORDS: usize = 300;
        type Long = [u64; WORDS];
        let value = |place: u64| -> Long { std::array::from_fn(|index| 1_000 * place + index as u64) };
        let memory = world.alloc::<Long>(5).unwrap();
        let there = memory.at(world.rank().next(2), 0);
        world.barrier().unwrap();
        world.put_indexed(there, &[4, 0, 3], &[4, 0, 3].map(value)).unwrap().wait().unwrap();
        let mut found = [[0; WORDS]; 4];
        world.get_indexed(there, &[3, 1, 4, 3], &mut found).unwrap();
        assert!(found == [value(3), [0; WORDS], value(4), value(3)]);
        world.barrier().unwrap();
        assert!(memory.local().to_vec() == [value(0), [0; WORDS], [0; WORDS], value(3), value(4)]);
    });
}

#[test]
fn indexed_transfers_are_checked() {
    on_every_platform(&[2], |world, _| {
        let memory = world.alloc::<u32>(10).unwrap();
        let there = memory.at(world.rank().next(2), 0);
        world.barrier().unwrap();
        assert!(matches!(world.put_indexed(there, &[1, 2], &[1]), Err(Error::WrongNumber { .. })));
        assert!(matches!(world.get_indexed(there, &[1], &mut [1, 2]), Err(Error::WrongNumber { .. })));
        let past = u64::MAX / 8;
        assert!(matches!(world.put_indexed(there, &[1, u64::MAX / 2], &[1, 2]), Err(Error::Failed(Failure::OutOfBounds(_)))));
        let put = world.put_indexed(there, &[1, past], &[9, 9]).and_then(|handle| handle.wait());
        assert!(matches!(put, Err(Error::Failed(Failure::OutOfBounds(_)))), "{put:?}");
        let got = world.get_indexed(there, &[1, past], &mut [0; 2]);
        assert!(matches!(got, Err(Error::Failed(Failure::OutOfBounds(_)))), "{got:?}");
        world.barrier().unwrap();
    });
}

/// Addresses have 64 bits, so that an index or a stride near 2^64 bytes would lead to elements before the first one.
#[test]
fn what_reaches_past_the_last_address_does_not_begin_again() {
    on_every_platform(&[2], |world, platform| {
        let memory = world.alloc::<u64>(20).unwrap();
        let (here, there) = (memory.at(world.rank(), 10), memory.at(world.rank().next(2), 10));
        world.barrier().unwrap();
        // Two elements back, and none.
        for index in [(1 << 61) - 2, 1 << 61] {
            let (places, mut found) = ([0, index], [5; 2]);
            let shape = Shape::strided(2, 1, index);
            let refused = [
                world.put_indexed(there, &places, &[1; 2]).and_then(|put| put.wait()),
                world.get_indexed(there, &places, &mut found),
                world.accumulate_indexed(there, &places, Accumulation::Sum, &[1; 2]),
                world.accumulate_indexed(there, &places, Accumulation::Max, &[1; 2]),
                world.put_strided(there, shape, &[1; 2], Shape::strided(2, 1, 1)).and_then(|put| put.wait()),
                world.get_strided(there, shape, &mut found, Shape::strided(2, 1, 1)),
                world.copy_strided(here, Shape::strided(2, 1, 1), there, shape).and_then(|copy| copy.wait()),
                world.copy_strided(there, shape, here, Shape::strided(2, 1, 1)).and_then(|copy| copy.wait()),
            ];
            assert!(
                refused.iter().all(|refused| matches!(refused, Err(Error::Failed(Failure::OutOfBounds(_)) | Error::Shape(_)))),
                "{platform:?}: {refused:?}"
            );
            assert_eq!(found, [5; 2]);
        }
        world.barrier().unwrap();
        assert_eq!(memory.local().to_vec(), [0; 20], "{platform:?}");
    });
}

/// From rank 1 to the last word of its own heap and on to the heap of rank 2: each block uses a route to both of its ranks.
#[test]
fn blocks_of_a_copy_go_to_several_ranks() {
    on_every_platform(&[4], |world, _| {
        let memory = world.alloc::<u64>(2).unwrap();
        let me = u64::from(world.rank());
        memory.local().write(0, &[10 + me, 20 + me]);
        world.barrier().unwrap();
        if me == 0 {
            let layout = AddressLayout::new(world.size(), HEAP_BYTES).unwrap();
            let last = layout.encode(Rank::new(1), SegmentId::SYMMETRIC, HEAP_BYTES - 8).unwrap();
            let apart = (memory.at(Rank::new(2), 0).address().bits() - last.bits()) / 8;
            let (from, to) = (memory.at(Rank::new(1), 0), GlobalPtr::from_address(last).unwrap());
            world.copy_strided(from, Shape::strided(2, 1, 1), to, Shape::strided(2, 1, apart)).unwrap().wait().unwrap();
            assert_eq!(world.get(to), Ok(11));
        }
        world.barrier().unwrap();
        assert_eq!(memory.local().to_vec(), if me == 2 { [21, 22] } else { [10 + me, 20 + me] });
    });
}

#[test]
fn packed_values_travel_in_the_blocks_of_the_target() {
    run(Platform::Remote, 2, |world| {
        let memory = world.alloc::<u32>(100).unwrap();
        let peer = world.rank().next(2);
        let values: Vec<u32> = (0..200).collect();
        // Every other value of the source, to a contiguous destination.
        let (apart, together) = (Shape::strided(100, 1, 2), Shape::strided(100, 1, 1));
        world.put_strided(memory.at(peer, 0), together, &values, apart).unwrap().wait().unwrap();
        world.barrier().unwrap();
        assert!((0..100).all(|i| memory.local().load(i) == 2 * i as u32));
        let mut fetched = vec![0; 200];
        world.get_strided(memory.at(peer, 0), together, &mut fetched, apart).unwrap();
        assert!((0..100).all(|i| fetched[2 * i] == 2 * i as u32 && fetched[2 * i + 1] == 0));
        world.barrier().unwrap();
    });
}

/// The other counts of an empty shape may be of any size.
#[test]
fn empty_shapes_transfer_nothing() {
    on_every_platform(&[2], |world, _| {
        let memory = world.alloc::<u64>(4).unwrap();
        let (here, there) = (memory.at(world.rank(), 0), memory.at(world.rank().next(2), 0));
        memory.local().fill(7);
        world.barrier().unwrap();
        for counts in [[0, u64::MAX, 1], [0, 1 << 40, 1 << 40]] {
            let shape = Shape { block: 2, counts, strides: [1, 2, 4] };
            assert_eq!(world.put_strided(there, shape, &[1; 4], shape).map(|put| put.wait()), Ok(Ok(())));
            assert_eq!(world.copy_strided(there, shape, here, shape).map(|copy| copy.wait()), Ok(Ok(())));
            let mut found = [1; 4];
            assert_eq!((world.get_strided(there, shape, &mut found, shape), found), (Ok(()), [1; 4]));
        }
        world.barrier().unwrap();
        assert_eq!(memory.local().to_vec(), [7; 4]);
    });
}

#[test]
fn shapes_that_do_not_fit_are_refused() {
    run(Platform::Mapped, 1, |world| {
        let memory = world.alloc::<u32>(16).unwrap();
        let there = memory.at(Rank::new(0), 0);
        let past = world.put_strided(there, Shape::strided(4, 1, 2), &[0; 6], Shape::strided(4, 1, 2));
        assert!(matches!(past, Err(Error::ShapePastSlice { needed: 7, length: 6 })), "{past:?}");
        assert!(matches!(
            world.put_strided(there, Shape::strided(4, 1, 2), &[0; 8], Shape::strided(3, 1, 2)),
            Err(Error::Shape(_))
        ));
        assert!(matches!(
            world.get_strided(there, Shape::strided(1 << 63, 4, 4), &mut [0; 8], Shape::strided(1 << 63, 4, 4)),
            Err(Error::Shape(_))
        ));
    });
}
