//! Variables keep what was written, whoever reads and writes, on every platform.

#[path = "../../../runtime/rma/tests/support/mod.rs"]
#[allow(dead_code)]
mod support;

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use pelago_base::{Duration, Rank};
use pelago_dsm::Shared;
use pelago_rma::{Error, World};
use support::{PLATFORMS, on_every_platform, run};

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

/// Whoever writes is alone; readers are with readers; each sees the last that was written.
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
        // All three hold it.
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
            // Nobody has written since: nothing has to be brought a second time.
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
        assert_eq!(after.brought - before.brought, 5, "once for each change by the other");
        // The versions of the blocks, and one block or two.
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
        // Those who gave up have left no trace.
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

/// Many variables at once, each with its own home.
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
