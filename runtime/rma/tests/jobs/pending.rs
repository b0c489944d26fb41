//! Gets that are waited for later, puts with a signal, compare-and-swaps without a result, and waits for one of several words.

use pelago_base::{AddressLayout, Duration, Event, Rank, SegmentId};
use pelago_platform::Failure;
use pelago_rma::limits::INDEXED_VALUES_MAX;
use pelago_rma::{Error, GlobalPtr, Signal};

use pelago_test_support::threads::{HEAP_BYTES, Platform, on_every_platform, run, run_counted};

#[test]
fn gets_bring_what_was_there_whenever_they_are_waited_for() {
    on_every_platform(&[1, 3], |world, platform| {
        const COUNT: usize = 100_000;
        let memory = world.alloc::<u32>(COUNT).unwrap();
        (0..COUNT).for_each(|index| memory.local().store(index, index as u32 ^ world.rank().number() << 20));
        world.barrier().unwrap();
        let peer = world.rank().next(world.size());
        let value = |index: usize| index as u32 ^ peer.number() << 20;
        // More gets in flight at once than there are cached buffers, of various lengths.
        let lengths = (0..150).map(|number| [1, 2, 0, 63, 700, 3][number % 6] + number % 2);
        let gets = lengths.chain([COUNT - 7]).map(|length| (length, world.start_get(memory.at(peer, 7), length).unwrap()));
        let gets: Vec<_> = gets.collect();
        for (length, get) in gets.into_iter().rev() {
            assert_eq!((get.len(), get.is_empty()), (length, length == 0), "on {platform:?}");
            let mut seen = vec![0; length];
            get.wait_into(&mut seen).unwrap();
            assert!(seen.iter().enumerate().all(|(index, seen)| *seen == value(index + 7)), "{length} on {platform:?}");
        }
        assert_eq!(world.start_get(memory.at(peer, 9), 1).unwrap().wait(), Ok(value(9)));
        assert_eq!(world.start_get(memory.at(peer, 9), 4).unwrap().wait(), Ok(value(9)), "the first");
        assert_eq!(world.start_get(memory.at(peer, 9), 0).unwrap().wait(), Ok(0));
        let wrong = world.start_get(memory.at(peer, 9), 4).unwrap();
        assert!(matches!(wrong.wait_into(&mut [0; 3]), Err(Error::WrongNumber { .. })));
        let tested = world.start_get(memory.at(peer, 3), 2).unwrap();
        while !tested.test().unwrap() {
            std::thread::yield_now();
        }
        assert_eq!(tested.wait(), Ok(value(3)));
        // Discarded without a report.
        drop(world.start_get(memory.at(peer, 3), 2).unwrap());
        world.barrier().unwrap();
    });
}

#[test]
fn a_get_from_nowhere_fails_when_it_is_waited_for_and_tells_nobody_else() {
    run(Platform::Remote, 2, |world| {
        let layout = AddressLayout::new(2, HEAP_BYTES).unwrap();
        let end = layout.encode(world.rank().next(2), SegmentId::SYMMETRIC, HEAP_BYTES - 8).unwrap();
        let end = GlobalPtr::<u64>::from_address(end).unwrap();
        let past = world.start_get(end, 2).unwrap();
        assert_eq!(past.wait(), Err(Error::Failed(Failure::OutOfBounds(end.address()))));
        drop(world.start_get(end, 2).unwrap());
        world.quiet().unwrap();
        assert!(matches!(world.start_get(end, usize::MAX), Err(Error::Invalid(_))));
        world.barrier().unwrap();
    });
}

#[test]
fn indexed_gets_bring_what_was_there_whenever_they_are_waited_for() {
    on_every_platform(&[1, 2], |world, platform| {
        const COUNT: usize = 5_000;
        let memory = world.alloc::<u32>(COUNT).unwrap();
        (0..COUNT).for_each(|index| memory.local().store(index, index as u32 ^ world.rank().number() << 20));
        world.barrier().unwrap();
        let peer = world.rank().next(world.size());
        let from = memory.at(peer, 0);
        let value = |place: &u64| *place as u32 ^ peer.number() << 20;
        let places = |count: u64| (0..count).map(|number| number * 1_237 % COUNT as u64).collect::<Vec<_>>();
        let lists = [700, 1, 0, 20, 4_000].map(places);
        let gets: Vec<_> = lists.iter().map(|places| (places, world.start_get_indexed(from, places).unwrap())).collect();
        for (places, get) in gets.into_iter().rev() {
            assert_eq!((get.len(), get.is_empty()), (places.len(), places.is_empty()), "on {platform:?}");
            let mut seen = vec![0; places.len()];
            get.wait_into(&mut seen).unwrap();
            assert!(seen.iter().copied().eq(places.iter().map(value)), "{} on {platform:?}", places.len());
        }
        assert_eq!(world.start_get_indexed(from, &[4, 9]).unwrap().wait(), Ok(value(&4)), "the first");
        let wrong = world.start_get_indexed(from, &[4, 9]).unwrap();
        assert!(matches!(wrong.wait_into(&mut [0; 3]), Err(Error::WrongNumber { .. })));
        drop(world.start_get_indexed(from, &[3, 3]).unwrap());
        let nowhere = world.start_get_indexed(from, &[0, u64::MAX]).map(drop);
        assert!(matches!(nowhere, Err(Error::Failed(Failure::OutOfBounds(_)))), "{nowhere:?}");
        let many = vec![0; INDEXED_VALUES_MAX + 1];
        let many = world.start_get_indexed(from, &many).map(drop);
        assert_eq!(many, Err(Error::TooMany { what: "values of one indexed get", limit: INDEXED_VALUES_MAX }));
        world.barrier().unwrap();
    });
}

/// All gets of a window are posted before the first wait.
#[test]
fn gets_of_a_window_are_posted_at_once() {
    run_counted(Platform::Remote, 2, |world, passed| {
        let memory = world.alloc::<f64>(64).unwrap();
        world.barrier().unwrap();
        let posted = || passed.lock().unwrap().of(Event::GetPosted);
        let before = posted();
        let gets: Vec<_> = (0..64).map(|at| world.start_get(memory.at(world.rank().next(2), at), 1).unwrap()).collect();
        assert_eq!(posted() - before, 64);
        gets.into_iter().for_each(|get| assert_eq!(get.wait(), Ok(0.0)));
        let there = memory.at(world.rank().next(2), 0);
        let before = posted();
        let gets = [[1, 60], [7, 30], [2, 2]].map(|places| world.start_get_indexed(there, &places).unwrap());
        assert_eq!(posted() - before, 3, "each takes one operation");
        gets.into_iter().for_each(|get| assert_eq!(get.wait(), Ok(0.0)));
        world.barrier().unwrap();
    });
}

/// Every rank sends blocks to the next rank, which waits for the signals of two senders at once.
#[test]
fn whoever_sees_a_signal_sees_the_values() {
    on_every_platform(&[1, 2, 4], |world, platform| {
        const ROUNDS: u64 = 30;
        let (size, rank) = (world.size(), world.rank());
        // The left neighbour signals by a count, the right one by a written word.
        let blocks = world.alloc::<u64>(2 * ROUNDS as usize * 10).unwrap();
        let signals = world.alloc::<u64>(2).unwrap();
        let [right, left] = [rank.next(size), rank.previous(size)];
        for round in 0..ROUNDS {
            for (side, to) in [(0, right), (1, left)] {
                let block = [round * 100 + u64::from(rank); 10];
                let at = blocks.at(to, (side * ROUNDS + round) as usize * 10);
                let signal = if side == 0 { Signal::Add(1) } else { Signal::Set(round + 1) };
                let word = signals.at(to, side as usize);
                // A word that is written several times: one write after another.
                let sent = world.put_signal(at, &block, word, signal).unwrap();
                if side == 1 {
                    sent.wait().unwrap();
                }
            }
        }
        let mut seen = [0; 2];
        while seen != [ROUNDS; 2] {
            let open: Vec<_> = (0..2).filter(|&side| seen[side] < ROUNDS).collect();
            let known = seen;
            let (side, word) = world.wait_until_any(None, signals.local(), &open, |side, word| word > known[side]).unwrap();
            for round in seen[side]..word {
                let from = [left, right][side];
                let at = (side as u64 * ROUNDS + round) as usize * 10;
                // A count shows how many blocks have arrived, but not which.
                if side == 1 || word == ROUNDS {
                    let block = blocks.local().range(at..at + 10).to_vec();
                    assert_eq!(block, [round * 100 + u64::from(from); 10], "round {round} from {from} on {platform:?}");
                }
            }
            seen[side] = word;
        }
        world.barrier().unwrap();
    });
}

#[test]
fn a_wait_for_one_of_several_words_tells_which_and_ends_when_its_time_is_over() {
    on_every_platform(&[2], |world, platform| {
        let words = world.alloc::<u32>(8).unwrap();
        let limit = Duration::from_milliseconds(20_000);
        if world.rank() == Rank::new(0) {
            for at in [5, 2, 7] {
                world.put(words.at(Rank::new(1), at), &[at as u32 + 1]).unwrap().wait().unwrap();
                world.barrier().unwrap();
            }
        } else {
            let mut left = vec![7, 2, 5];
            for _ in 0..3 {
                let (at, value) = world.wait_until_any(Some(limit), words.local(), &left, |_, value| value > 0).unwrap();
                assert_eq!(value as usize, at + 1, "on {platform:?}");
                left.retain(|&index| index != at);
                world.barrier().unwrap();
            }
            let brief = Some(Duration::from_microseconds(100));
            let late = world.wait_until_any(brief, words.local(), &[0, 1], |_, value| value > 0);
            assert!(matches!(late, Err(Error::TimedOut { .. })), "{late:?}");
            assert!(matches!(world.wait_until_any(None, words.local(), &[], |_, _| true), Err(Error::Invalid(_))));
        }
        world.barrier().unwrap();
    });
}

/// Many ranks compare-and-swap many words, without waiting: each word is changed by exactly one rank.
#[test]
fn compare_and_swaps_in_a_window_change_each_word_once() {
    on_every_platform(&[1, 4], |world, platform| {
        const WORDS: usize = 200;
        let words = world.alloc::<u64>(WORDS).unwrap();
        let to = Rank::new(0);
        let me = u64::from(world.rank()) + 1;
        for at in 0..WORDS {
            let set = world.compare_set(words.at(to, at), 0, me).unwrap();
            // Ordered after the first: the word is already changed, and stays.
            world.after(&set).compare_set(words.at(to, at), 0, 99).unwrap();
        }
        world.barrier().unwrap();
        if world.rank() == to {
            let seen = words.local().to_vec();
            assert!(seen.iter().all(|word| (1..=u64::from(world.size())).contains(word)), "{seen:?} on {platform:?}");
        }
        world.barrier().unwrap();
        if world.rank() == to.previous(world.size()) {
            for at in 0..WORDS {
                let found = world.get(words.at(to, at)).unwrap();
                world.compare_set(words.at(to, at), found, 50 + found).unwrap();
            }
        }
        world.barrier().unwrap();
        assert!((0..WORDS).all(|at| (51..=50 + u64::from(world.size())).contains(&world.get(words.at(to, at)).unwrap())));
        world.barrier().unwrap();
    });
}
