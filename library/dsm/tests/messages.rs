//! The cost of acquires and releases: issued operations, and round trips for which the rank waits, in virtual time.

use pelago_base::{Duration, Rank};
use pelago_dsm::{Placement, Shared};
use pelago_rma::{Result, World};
use pelago_simulator::FaultInjection;
use pelago_test_support::faulty::{Noted, run, settings};

const HOME: Rank = Rank::new(0);

/// Number of ranks of a job, each on its own node.
const RANKS: u32 = 3;

/// Long enough for all posted operations to take effect.
const LONG: Duration = Duration::from_microseconds(200);

/// A rank that counts its operations.
struct Counting<'w> {
    world: &'w World,
    asked: Noted,
    round_trip: Duration,
}

impl<'w> Counting<'w> {
    fn new(world: &'w World, asked: Noted) -> Result<Self> {
        let words = world.alloc::<u64>(1)?;
        let mut round_trip = Duration::ZERO;
        if world.rank() != HOME {
            for _ in 0..2 {
                let begun = world.now();
                world.fetch(words.at(HOME, 0))?.wait()?;
                round_trip = world.now() - begun;
            }
        }
        world.barrier()?;
        Ok(Self { world, asked, round_trip })
    }

    /// Runs a function when no other operations are in flight; returns its result, the number of issued operations, and the number of round trips for which
    /// it waited.
    fn count<T>(&self, does: impl FnOnce() -> Result<T>) -> Result<(T, usize, u64)> {
        self.world.compute(LONG);
        let (asked, begun) = (self.asked.lock().unwrap().len(), self.world.now());
        let done = does()?;
        let (waited, round_trip) = ((self.world.now() - begun).as_picoseconds(), self.round_trip.as_picoseconds());
        Ok((done, self.asked.lock().unwrap().len() - asked, (waited + round_trip / 2) / round_trip))
    }
}

/// Runs a program on all ranks and returns what it returns on rank 1.
fn on_one<T>(program: impl Fn(&Counting<'_>) -> Result<T>) -> T {
    let settings = settings(RANKS, 1, FaultInjection::default());
    let mut ended = run(&settings, |_| true, |world, asked| program(&Counting::new(world, asked.clone())?));
    assert!(ended.iter().all(Option::is_some));
    ended.swap_remove(1).unwrap()
}

/// A free variable whose data is on this rank: one round trip to acquire it, and none to release it.
#[test]
fn who_releases_does_not_wait() {
    let costs = on_one(|rank| {
        let mut variable = Shared::<u64>::new(rank.world, HOME, 0)?;
        let mut costs = Vec::new();
        if rank.world.rank() == Rank::new(1) {
            *variable.write()? += 1;
            for _ in 0..5 {
                let (mut guard, asked, trips) = rank.count(|| variable.write())?;
                *guard += 1;
                let ((), asked_to_release, trips_to_release) = rank.count(|| guard.release())?;
                costs.push([(asked, trips), (asked_to_release, trips_to_release)]);
            }
        }
        rank.world.barrier()?;
        assert_eq!(*variable.read()?, 6);
        Ok(costs)
    });
    assert_eq!(costs, [[(2, 1), (2, 0)]; 5]);
}

/// A release and the next acquire by the same rank also take one round trip, however close together.
#[test]
fn who_comes_back_at_once_waits_once() {
    let (ended, asked, trips) = on_one(|rank| {
        let mut variable = Shared::<u64>::new(rank.world, HOME, 0)?;
        let mut cost = ((), 0, 0);
        if rank.world.rank() == Rank::new(1) {
            *variable.write()? += 1;
            cost = rank.count(|| {
                (0..100).try_for_each(|_| {
                    *variable.write()? += 1;
                    Ok(())
                })
            })?;
        }
        rank.world.barrier()?;
        assert_eq!(*variable.read()?, 101);
        Ok(cost)
    });
    assert_eq!((ended, asked), ((), 400));
    assert!((95..=125).contains(&trips), "{trips} round trips for 100 sections");
}

/// A kept variable that no other rank has requested: no operation is issued. Another rank that requests it queries the home, and then the rank that
/// keeps it.
#[test]
fn who_keeps_a_variable_sends_nothing() {
    let costs = on_one(|rank| {
        let mut variable = Shared::<u64>::new(rank.world, HOME, 0)?;
        let mut costs = Vec::new();
        if rank.world.rank() == Rank::new(2) {
            variable.place(Placement::Migrating)?;
            for _ in 0..3 {
                *variable.write()? += 1;
                costs.push(rank.count(|| {
                    *variable.write()? += 1;
                    Ok(())
                })?);
            }
            assert_eq!(costs, [((), 0, 0); 3]);
            assert_eq!(variable.statistics().kept, 5);
        }
        rank.world.barrier()?;
        let mut cost = (0, 0);
        if rank.world.rank() == Rank::new(1) {
            let (guard, asked, trips) = rank.count(|| variable.write())?;
            assert_eq!(*guard, 6);
            cost = (asked, trips);
        }
        rank.world.barrier()?;
        // A rank that changes the placement releases the token to the home.
        if rank.world.rank() == Rank::new(2) {
            *variable.write()? += 1;
            variable.place(Placement::Home)?;
        }
        rank.world.barrier()?;
        if rank.world.rank() == Rank::new(1) {
            let (guard, asked, trips) = rank.count(|| variable.write())?;
            assert_eq!((*guard, asked, trips), (7, 3, 2));
        }
        rank.world.barrier()?;
        Ok(cost)
    });
    assert_eq!(costs, (5, 3));
}

/// A free variable whose data is on another rank: the data takes one more round trip.
#[test]
fn data_of_others_is_one_more_round_trip() {
    let cost = on_one(|rank| {
        let mut variable = Shared::<[u64; 8]>::new(rank.world, HOME, Box::new([0; 8]))?;
        if rank.world.rank() == Rank::new(2) {
            variable.write()?[0] = 7;
        }
        rank.world.barrier()?;
        let mut cost = (0, 0);
        if rank.world.rank() == Rank::new(1) {
            let (guard, asked, trips) = rank.count(|| variable.write())?;
            assert_eq!(guard[0], 7);
            cost = (asked, trips);
        }
        rank.world.barrier()?;
        Ok(cost)
    });
    assert_eq!(cost, (3, 2));
}

/// Short data on the rank with the token travels with the token, after it was on that rank twice; longer data does not.
#[test]
fn short_data_comes_along_with_the_token() {
    // The transfer of 4 KiB takes the time of one more round trip.
    for (bytes, expected) in [(64, [(3, 2), (3, 2), (3, 1)]), (4096, [(3, 3), (3, 3), (3, 2)]), (4104, [(3, 3); 3])] {
        let costs = on_one(|rank| {
            let mut variable = Shared::<[u8]>::new(rank.world, HOME, vec![0; bytes])?;
            let mut costs = Vec::new();
            for turn in 1..4 {
                if rank.world.rank() == HOME {
                    variable.write()?.fill(turn);
                }
                rank.world.barrier()?;
                if rank.world.rank() == Rank::new(1) {
                    let (guard, asked, trips) = rank.count(|| variable.write())?;
                    assert!(guard.iter().all(|&byte| byte == turn));
                    costs.push((asked, trips));
                }
                rank.world.barrier()?;
            }
            Ok(costs)
        });
        assert_eq!(costs, expected, "{bytes} bytes");
    }
}

/// A variable that is handed over to a waiting rank: up to 4 KiB of data travel with the token.
#[test]
fn data_travels_with_a_token_that_is_handed_over() {
    for (words, expected) in [(1, (5, 0)), (512, (9, 0)), (513, (2, 1))] {
        let cost = on_one(|rank| {
            let mut variable = Shared::<[u64]>::new(rank.world, HOME, vec![0; words])?;
            let (me, mut cost) = (rank.world.rank(), (0, 0));
            if me == Rank::new(2) {
                let mut guard = variable.write()?;
                guard.fill(7);
                rank.world.compute(LONG);
                let asked = rank.asked.lock().unwrap().len();
                guard.release()?;
                cost.0 = rank.asked.lock().unwrap().len() - asked;
            }
            if me == Rank::new(1) {
                rank.world.compute(Duration::from_microseconds(20));
                let guard = variable.write()?;
                assert!(guard.iter().all(|&word| word == 7));
                drop(guard);
                let statistics = variable.statistics();
                assert_eq!((statistics.hand_overs, statistics.fetched), (1, 1));
                cost.1 = 1 - statistics.piggybacked;
            }
            rank.world.barrier()?;
            let costs = rank.world.alloc::<u64>(1)?;
            rank.world.fetch_add(costs.at(Rank::new(1), 0), cost.0 as u64)?.wait()?;
            rank.world.barrier()?;
            Ok((costs.local().load(0), cost.1))
        });
        assert_eq!(cost, expected, "{words} words");
    }
}

/// A rank that acquires before the release has arrived at the home finds the token where it was left.
#[test]
fn what_is_released_can_be_acquired_before_the_home_knows() {
    on_one(|rank| {
        let mut variables = [HOME, Rank::new(2)].map(|home| Shared::<u64>::new(rank.world, home, 0));
        if let [_, Ok(other)] = &mut variables {
            other.place(Placement::Migrating)?;
        }
        for turn in 1..20 {
            for variable in &mut variables {
                let Ok(variable) = variable else { panic!("it was made") };
                loop {
                    let mut guard = variable.write()?;
                    if *guard % u64::from(RANKS) == u64::from(rank.world.rank().number()) {
                        *guard += 1;
                        break;
                    }
                    if *guard >= turn * u64::from(RANKS) {
                        break;
                    }
                    drop(guard);
                    // The acquire of a kept variable takes no virtual time.
                    rank.world.compute(Duration::from_nanoseconds(100));
                }
            }
        }
        rank.world.barrier()?;
        let [one, other] = variables.each_mut().map(|variable| *variable.as_mut().expect("as above").read().expect("it lives"));
        assert_eq!((one, other), (19 * u64::from(RANKS), 19 * u64::from(RANKS)));
        Ok(())
    });
}

/// The release of a rank takes effect even if the rank drops the variable immediately.
#[test]
fn who_goes_has_released() {
    on_one(|rank| {
        let mut variable = Shared::<u64>::new(rank.world, HOME, 0)?;
        match rank.world.rank().number() {
            1 => {
                rank.world.compute(LONG);
                variable.write()?.clone_from(&9);
            }
            2 => {
                while *variable.read()? != 9 {
                    rank.world.compute(LONG);
                }
            }
            _ => {}
        }
        drop(variable);
        Ok(())
    });
}

/// A rank that waits for the token counts its waits and their time: until the holder has released the token.
#[test]
fn waits_are_counted_with_their_times() {
    const HELD: Duration = Duration::from_microseconds(50);
    const LEAST: Duration = Duration::from_microseconds(35);
    const MOST: Duration = Duration::from_microseconds(65);
    on_one(|rank| {
        let mut variable = Shared::<u64>::new(rank.world, HOME, 0)?;
        let (mut least, mut most) = (Duration::ZERO, Duration::ZERO);
        for waits in 1..=3 {
            (least, most) = (least + LEAST, most + MOST);
            if rank.world.rank() == Rank::new(2) {
                let guard = variable.write()?;
                rank.world.barrier()?;
                rank.world.compute(HELD);
                guard.release()?;
            } else {
                rank.world.barrier()?;
            }
            if rank.world.rank() == Rank::new(1) {
                *variable.write()? += 1;
                let statistics = variable.statistics();
                assert_eq!(statistics.waits, waits);
                assert!((least..most).contains(&statistics.waited), "{:?} in {waits} waits", statistics.waited);
            }
            rank.world.barrier()?;
        }
        assert_eq!(*variable.read()?, 3);
        Ok(())
    });
}
