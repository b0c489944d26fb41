//! Variables keep the written values, for all readers and writers, on every platform.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use pelago_base::{Duration, Rank};
use pelago_dsm::{Bundle, Counter, Placement, Shared, acquire};
use pelago_rma::{Error, World};
use pelago_test_support::earlier::after_a_failure;
use pelago_test_support::threads::{PLATFORMS, on_every_platform, run};

const HOME: Rank = Rank::new(0);

fn turns(world: &World) -> u64 {
    if world.size() > 4 { 60 } else { 200 }
}

#[test]
fn nothing_that_is_added_is_lost() {
    on_every_platform(&[1, 2, 3, 5], |world, _| {
        for home in [0, world.size() - 1].map(Rank::new) {
            let mut counter = Shared::<u64>::new(world, home, 7).unwrap();
            for _ in 0..turns(world) {
                *counter.write().unwrap() += 1;
            }
            world.barrier().unwrap();
            assert_eq!(*counter.read().unwrap(), 7 + turns(world) * u64::from(world.size()));
            let statistics = counter.statistics();
            assert_eq!((statistics.writes, statistics.reads), (turns(world), 1));
            world.barrier().unwrap();
        }
    });
}

/// Ranks change the placement at random, read and write, try, stop waiting, and drop a kept variable.
#[test]
fn a_variable_may_stay_where_it_was_held() {
    on_every_platform(&[1, 2, 4], |world, _| {
        for round in 0..2 {
            let mut variable = Shared::<[u64]>::new(world, HOME, vec![0; 40]).unwrap();
            let (me, mut state) = (world.rank().index(), u64::from(world.rank()) + 7 * round);
            let mut written = 0;
            for _ in 0..turns(world) {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                match state >> 33 & 15 {
                    0 => variable.place(Placement::Home).unwrap(),
                    1..6 => variable.place(Placement::Migrating).unwrap(),
                    6 => drop(variable.read().unwrap()),
                    7 => {
                        if let Some(mut guard) = variable.try_write().unwrap() {
                            guard[me] += 1;
                            written += 1;
                        }
                    }
                    8 => {
                        if let Ok(mut guard) = variable.write_within(Duration::from_microseconds(5)) {
                            guard[me] += 1;
                            written += 1;
                        }
                    }
                    _ => {
                        let mut guard = variable.write().unwrap();
                        assert_eq!(guard[me], written);
                        guard[me] += 1;
                        written += 1;
                    }
                }
                assert_eq!(variable.read().unwrap()[me], written);
            }
            let statistics = variable.statistics();
            assert!(statistics.kept > 0 || world.size() > 1, "{statistics}");
            world.barrier().unwrap();
            if me == 0 {
                drop(variable);
            } else {
                assert!(variable.read().unwrap()[me] == written);
            }
            world.barrier().unwrap();
        }
    });
}

/// Writers are exclusive, readers read together, and each sees the last written version.
#[test]
fn writers_are_alone_and_readers_are_not() {
    for platform in PLATFORMS {
        let (inside, latest) = (AtomicI64::new(0), AtomicU64::new(0));
        run(platform, 4, |world| {
            let mut variable = Shared::<[u64]>::new(world, Rank::new(1), vec![0; 100]).unwrap();
            for turn in 0..150 {
                if (turn + world.rank().number()).is_multiple_of(3) {
                    let mut guard = variable.write().unwrap();
                    assert_eq!(inside.fetch_sub(1000, Ordering::SeqCst), 0, "who writes is alone");
                    let next = latest.fetch_add(1, Ordering::SeqCst) + 1;
                    assert!(guard.iter().all(|&value| value == next - 1), "{:?}", guard);
                    guard.fill(next);
                    std::thread::yield_now();
                    assert_eq!(inside.fetch_add(1000, Ordering::SeqCst), -1000);
                } else {
                    let guard = variable.read().unwrap();
                    assert!(inside.fetch_add(1, Ordering::SeqCst) >= 0, "nobody writes while one reads");
                    let expected = latest.load(Ordering::SeqCst);
                    std::thread::yield_now();
                    assert!(guard.iter().all(|&value| value == expected));
                    inside.fetch_sub(1, Ordering::SeqCst);
                }
            }
            world.barrier().unwrap();
        });
    }
}

#[test]
fn readers_read_together() {
    on_every_platform(&[3], |world, _| {
        let mut variable = Shared::<u64>::new(world, HOME, 1).unwrap();
        let guard = variable.read().unwrap();
        // All three ranks hold the variable to read.
        world.barrier().unwrap();
        assert_eq!(*guard, 1);
        world.barrier().unwrap();
        guard.release().unwrap();
    });
}

#[test]
fn only_what_has_changed_travels() {
    on_every_platform(&[2], |world, _| {
        const LENGTH: usize = 8 << 10;
        let mut long = Shared::<[u64]>::new(world, HOME, vec![3; LENGTH]).unwrap();
        let me = world.rank().number() as usize;
        assert_eq!(long.read().unwrap()[LENGTH - 1], 3);
        world.barrier().unwrap();
        let before = long.statistics();
        assert_eq!(before.bytes, if me == 0 { 0 } else { 64 * 8 + 64 * 1024 });
        for turn in 0..10 {
            if turn % 2 == me {
                let mut guard = long.write().unwrap();
                guard.range_mut(100 * turn..100 * turn + 2).copy_from_slice(&[turn as u64, 99]);
            }
            world.barrier().unwrap();
            // No rank has written since, so nothing is fetched a second time.
            for _ in 0..3 {
                let guard = long.read().unwrap();
                for earlier in 0..LENGTH / 100 {
                    let expected = if earlier <= turn { [earlier as u64, 99] } else { [3, 3] };
                    assert_eq!(guard[100 * earlier..100 * earlier + 2], expected);
                }
            }
            world.barrier().unwrap();
        }
        let after = long.statistics();
        assert_eq!(after.fetched - before.fetched, 5, "once for each change by the other");
        // Each fetch has the versions of the blocks, and one block or two.
        assert!((after.bytes - before.bytes) <= 5 * (64 * 8 + 2 * 1024), "{after}");
        world.barrier().unwrap();
    });
}

#[test]
fn a_guard_is_upgraded_downgraded_aborted_and_forgotten() {
    on_every_platform(&[1, 2], |world, _| {
        let mut variable = Shared::<u64>::new(world, HOME, 1).unwrap();
        if world.rank() == HOME {
            let reader = variable.read().unwrap();
            let version = reader.version();
            let mut writer = reader.upgrade().unwrap();
            assert_eq!(writer.version(), version);
            *writer += 1;
            let reader = writer.downgrade().unwrap();
            assert_eq!((*reader, reader.version()), (2, version + 1));
            drop(reader);
            let mut aborted = variable.write().unwrap();
            *aborted = 1000;
            aborted.abort().unwrap();
            assert_eq!(*variable.read().unwrap(), 2);
            let mut forgotten = variable.write().unwrap();
            *forgotten = 1001;
            std::mem::forget(forgotten);
            assert_eq!(*variable.read().unwrap(), 2, "what was not released is gone");
            std::mem::forget(variable.read().unwrap());
            *variable.write().unwrap() = 5;
            let mut forgotten = variable.write().unwrap();
            *forgotten = 6;
            std::mem::forget(forgotten);
            assert!(variable.explain().contains("held to write"), "{}", variable.explain());
            // Another rank would wait until this one drops it.
            drop(variable);
        } else {
            while *variable.read().unwrap() != 5 {
                world.progress();
            }
            drop(variable);
        }
        world.barrier().unwrap();
    });
}

#[test]
fn what_is_written_before_a_panic_is_not_released() {
    on_every_platform(&[1], |world, _| {
        let mut variable = Shared::<u64>::new(world, HOME, 1).unwrap();
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            *variable.write().unwrap() = 2;
            let mut guard = variable.write().unwrap();
            *guard = 3;
            std::panic::resume_unwind(Box::new(()));
        }));
        assert!(panicked.is_err());
        assert_eq!(*variable.try_read().unwrap().unwrap(), 2);
    });
}

#[test]
fn who_does_not_wait_comes_back_later() {
    on_every_platform(&[3], |world, _| {
        let mut variable = Shared::<u64>::new(world, Rank::new(2), 1).unwrap();
        let (mut tries, mut turns) = (0, 0);
        while turns < 30 {
            tries += 1;
            let guard = match tries % 3 {
                0 => variable.try_write().unwrap(),
                1 => match variable.write_within(Duration::from_nanoseconds(tries)) {
                    Ok(guard) => Some(guard),
                    Err(Error::TimedOut { .. }) => None,
                    Err(error) => panic!("{error}"),
                },
                _ => Some(variable.write().unwrap()),
            };
            if let Some(mut guard) = guard {
                *guard += 1;
                turns += 1;
            }
        }
        world.barrier().unwrap();
        assert_eq!(*variable.read().unwrap(), 91);
        world.barrier().unwrap();
        if world.rank() == HOME {
            let _guard = variable.write().unwrap();
            world.barrier().unwrap();
            world.barrier().unwrap();
        } else {
            world.barrier().unwrap();
            assert!(variable.try_read().unwrap().is_none() && variable.try_write().unwrap().is_none());
            let late = variable.read_within(Duration::from_microseconds(50)).map(drop);
            assert!(matches!(late, Err(Error::TimedOut { .. })), "{late:?}");
            world.barrier().unwrap();
        }
        // Ranks that stopped waiting have not changed the variable.
        assert_eq!(*variable.read().unwrap(), 91);
        world.barrier().unwrap();
    });
}

#[test]
fn bad_input_is_refused_by_all() {
    on_every_platform(&[2], |world, _| {
        assert!(matches!(Shared::<u64>::new(world, Rank::new(2), 1), Err(Error::Invalid(_))));
        assert!(matches!(Shared::<[u64]>::new(world, HOME, []), Err(Error::Invalid(_))));
        let length = 1 + world.rank().number() as usize;
        let unequal = Shared::<[u64]>::new(world, HOME, vec![0; length]);
        assert!(matches!(unequal, Err(Error::Disagreement(_))));
    });
}

/// Many variables, each with its own home.
#[test]
fn variables_do_not_disturb_each_other() {
    on_every_platform(&[3], |world, _| {
        let mut many: Vec<_> =
            (0..12).map(|number| Shared::<[u32]>::new(world, Rank::new(number % 3), vec![number; 5]).unwrap()).collect();
        for turn in 0..120_usize {
            let place = turn * 7 % 12;
            many[place].write().unwrap()[turn % 5] += 100;
        }
        world.barrier().unwrap();
        let total: u32 = many.iter_mut().map(|one| one.read().unwrap().iter().sum::<u32>()).sum();
        assert_eq!(total, 66 * 5 + 3 * 120 * 100);
        world.barrier().unwrap();
    });
}

/// Ranks increment a number in turn; each sleeps until its turn.
#[test]
fn who_waits_to_be_told_goes_on_when_it_is_true() {
    on_every_platform(&[2, 3, 5], |world, _| {
        let mut turn = Shared::<[u64]>::new(world, HOME, vec![0; 3]).unwrap();
        let (me, size) = (u64::from(world.rank()), u64::from(world.size()));
        for round in 0..20 {
            let mine = round * size + me;
            let mut guard = turn.write().unwrap().wait_while(|turn| turn[0] != mine).unwrap();
            guard[0] += 1;
            guard.notify_all().unwrap();
        }
        world.barrier().unwrap();
        assert_eq!(turn.read().unwrap()[0], 20 * size);
        world.barrier().unwrap();
    });
}

#[test]
fn one_is_told_for_each_that_tells_and_some_lose_patience() {
    on_every_platform(&[4], |world, _| {
        // The number of items in store, of produced items, and of consumed items.
        let mut store = Shared::<[u64]>::new(world, Rank::new(3), vec![0; 3]).unwrap();
        const EACH: u64 = 50;
        if world.rank().number() < 2 {
            for _ in 0..EACH {
                let mut guard = store.write().unwrap();
                guard[0] += 1;
                guard[1] += 1;
                guard.notify_one().unwrap();
            }
        } else {
            let mut patient = true;
            for _ in 0..EACH {
                let mut guard = store.write().unwrap();
                while guard[0] == 0 {
                    guard = match patient {
                        true => guard.wait().unwrap(),
                        false => guard.wait_within(Duration::from_microseconds(5)).unwrap().0,
                    };
                    patient = !patient;
                }
                guard[0] -= 1;
                guard[2] += 1;
            }
        }
        world.barrier().unwrap();
        assert_eq!(*store.read().unwrap(), [0, 2 * EACH, 2 * EACH]);
        assert!(!store.write().unwrap().notify_one().unwrap(), "nobody is left in the list");
        world.barrier().unwrap();
    });
}

/// A rank stops waiting while another rank holds the variable, and is notified before it acquires the variable again: no other rank gets this
/// notification.
#[test]
fn a_notification_that_comes_after_the_limit_is_reported() {
    on_every_platform(&[2], |world, _| {
        // Whether all are sent, and the number of notifications.
        let mut sent = Shared::<[u64; 2]>::new(world, HOME, [0; 2]).unwrap();
        let mut count = 0;
        if world.rank() == HOME {
            loop {
                let guard = sent.write().unwrap();
                if guard[0] == 1 {
                    assert_eq!(count, guard[1]);
                    break;
                }
                count += u64::from(guard.wait_within(Duration::from_microseconds(1)).unwrap().1);
            }
        } else {
            while count < 20 {
                let mut guard = sent.write().unwrap();
                std::thread::sleep(std::time::Duration::from_micros(200));
                count += u64::from(guard.notify_one().unwrap());
            }
            *sent.write().unwrap() = [1, count];
        }
        world.barrier().unwrap();
    });
}

/// Ranks move amounts from one account to another; a rank that reads all accounts sees a constant sum, and there is no deadlock.
#[test]
fn several_are_acquired_in_any_order() {
    on_every_platform(&[1, 3], |world, _| {
        let make = |number| Shared::<i64>::new(world, Rank::new(number % world.size()), 100).unwrap();
        let mut accounts: Vec<_> = (0..4).map(make).collect();
        let mut rate = Shared::<[i64]>::new(world, HOME, vec![1, 2]).unwrap();
        for turn in 0..60_usize {
            let first = (turn + world.rank().index()) % 4;
            let [from, to] = accounts.get_disjoint_mut([first, (first + 1 + turn % 3) % 4]).unwrap();
            let (mut from, rate, mut to) = acquire((from.to_write(), rate.to_read(), to.to_write())).unwrap();
            *from -= rate[turn % 2];
            *to += rate[turn % 2];
            drop((from, rate, to));
            let all = acquire(accounts.iter_mut().rev().map(Shared::to_read).collect::<Vec<_>>()).unwrap();
            assert_eq!(all.iter().map(|account| **account).sum::<i64>(), 400);
        }
        world.barrier().unwrap();
        let guards = acquire(accounts.iter_mut().map(Shared::to_write).collect::<Vec<_>>()).unwrap();
        drop(guards);
        world.barrier().unwrap();
    });
}

#[test]
fn parts_of_a_bundle_come_together_and_travel_apart() {
    on_every_platform(&[2], |world, _| {
        const LENGTH: usize = 8 << 10;
        let mut bundle = Bundle::<(u8, f64, u64)>::new(world, HOME, (vec![7; 3], vec![0.5; LENGTH], vec![1])).unwrap();
        let me = world.rank().number() as usize;
        let guard = bundle.read().unwrap();
        let (flags, values, count) = guard.parts();
        assert_eq!((flags, values[LENGTH - 1], count), (&[7_u8; 3][..], 0.5, &[1_u64][..]));
        drop(guard);
        let whole = bundle.statistics().bytes;
        world.barrier().unwrap();
        for turn in 0..10 {
            if turn % 2 == me {
                let mut guard = bundle.write().unwrap();
                let (flags, mut values, mut count) = guard.parts_mut();
                assert_eq!(flags[0], 7);
                count[0] += 1;
                values.range_mut(turn..turn + 1)[0] = turn as f64;
                assert_eq!(guard.parts().2, [turn as u64 + 2]);
                guard.release().unwrap();
            }
            world.barrier().unwrap();
        }
        let guard = bundle.read().unwrap();
        assert_eq!(guard.parts().1[..12], [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 0.5, 0.5]);
        assert_eq!((guard.parts().2, guard.version()), (&[11][..], 11));
        drop(guard);
        let moved = bundle.statistics().bytes - whole;
        assert!((1..5 * 4096).contains(&moved), "{moved} bytes: the versions of the blocks, and two blocks each time");
        assert!(bundle.explain().starts_with("3 parts, "), "{}", bundle.explain());
        let unequal = Bundle::<(u8, u64)>::new(world, HOME, (vec![0; 1 + me], vec![0]));
        assert!(matches!(unequal, Err(Error::Disagreement(_))));
    });
}

#[test]
fn what_was_brought_ahead_counts_if_it_is_the_newest() {
    on_every_platform(&[2], |world, _| {
        for length in [1_usize, 5_000] {
            let mut variable = Shared::<[u64]>::new(world, HOME, vec![1; length]).unwrap();
            let meet = || world.barrier().unwrap();
            let me = world.rank().number();
            for round in 0..3 {
                if me == 0 {
                    variable.write().unwrap().fill(10 + round);
                }
                meet();
                if me == 1 {
                    assert!(variable.prefetch().unwrap());
                    assert!(variable.prefetch().unwrap(), "it is on its way");
                }
                meet();
                if me == 0 && round == 1 {
                    variable.write().unwrap().fill(99);
                }
                meet();
                if me == 1 {
                    let before = variable.statistics();
                    let expected = if round == 1 { 99 } else { 10 + round };
                    assert!(variable.read().unwrap().iter().all(|&value| value == expected));
                    let after = variable.statistics();
                    assert_eq!(
                        (after.prefetched - before.prefetched, after.fetched - before.fetched),
                        (u64::from(round != 1), 1)
                    );
                    assert!(!variable.prefetch().unwrap(), "it has the newest");
                }
                meet();
            }
        }
    });
}

#[test]
fn numbers_are_claimed_once() {
    on_every_platform(&[1, 4], |world, _| {
        let (tasks, done) = (Counter::new(world, HOME, 5).unwrap(), Counter::new(world, HOME, 0).unwrap());
        let mut mine = 0;
        while let Some(some) = tasks.claim(7, 1000).unwrap() {
            assert!(some.start >= 5 && some.end <= 1000);
            mine += some.sum::<u64>();
        }
        done.add(mine).unwrap();
        world.barrier().unwrap();
        assert_eq!(done.value().unwrap(), (5..1000).sum::<u64>());
        assert_eq!(done.home(), HOME);
        world.barrier().unwrap();
        if world.rank() == HOME {
            assert_eq!(done.compare_swap(0, 1).unwrap(), (5..1000).sum::<u64>());
        }
        assert!(matches!(Counter::new(world, Rank::new(9), 0), Err(Error::Invalid(_))));
    });
}

/// All of the rest at once, and numbers up to the largest: the sum of concurrent claims does not wrap.
#[test]
fn large_numbers_are_claimed_once() {
    const NUMBERS: u64 = 995;
    for (first, count) in [(5, u64::MAX), (5, 1 << 63), (u64::MAX - NUMBERS, 7), (u64::MAX - NUMBERS, u64::MAX)] {
        on_every_platform(&[1, 4], |world, _| {
            let (tasks, done) = (Counter::new(world, HOME, first).unwrap(), Counter::new(world, HOME, 0).unwrap());
            world.barrier().unwrap();
            while let Some(some) = tasks.claim(count, first + NUMBERS).unwrap() {
                assert!(some.start >= first && some.end <= first + NUMBERS);
                done.add(some.end - some.start).unwrap();
            }
            world.barrier().unwrap();
            assert_eq!(done.value().unwrap(), NUMBERS, "from {first} on, {count} at a time");
        });
    }
}

/// An abort discards the private copy: all data is fetched, not only the blocks that others have changed since.
#[test]
fn what_was_aborted_is_brought_whole() {
    on_every_platform(&[2], |world, _| {
        const LENGTH: usize = 8 << 10;
        let mut long = Shared::<[u64]>::new(world, HOME, vec![3; LENGTH]).unwrap();
        let meet = || world.barrier().unwrap();
        if world.rank() != HOME {
            assert_eq!(long.read().unwrap()[LENGTH / 2], 3);
            let mut guard = long.write().unwrap();
            guard.range_mut(LENGTH / 2..LENGTH / 2 + 2).fill(1000);
            guard.abort().unwrap();
        }
        meet();
        if world.rank() == HOME {
            long.write().unwrap().range_mut(0..1).fill(4);
        }
        meet();
        let guard = long.read().unwrap();
        assert_eq!((guard[0], guard[LENGTH / 2], guard[LENGTH / 2 + 1]), (4, 3, 3));
        drop(guard);
        meet();
    });
}

/// A rank that returned with an earlier failure of the program would leave the others waiting.
#[test]
fn an_earlier_failure_stops_no_constructor() {
    on_every_platform(&[3], |world, _| {
        after_a_failure(world, || Counter::new(world, HOME, 7).unwrap());
        after_a_failure(world, || Shared::<u64>::new(world, HOME, 7).unwrap());
        world.barrier().unwrap();
    });
}
