//! A rank that polls repeatedly and never waits does not stop virtual time.

use pelago_base::{Duration, Rank};
use pelago_test_support::simulated;

/// When the value that is polled for is set.
const LATER: Duration = Duration::from_microseconds(100);

/// Longest time until the poll finds the value.
const SOON: Duration = Duration::from_microseconds(10);

/// Maximum number of polls, more than needed to let `LATER` pass.
const POLLS_MAX: u32 = 1_000_000;

/// Rank 0 polls for a value that rank 1 sets later; returns the time that this took, and the number of polls.
fn poll(per_node: u32) -> (Duration, u32) {
    let settings = simulated::settings("rx200-qdr", 2, per_node);
    let outcome = simulated::run(&settings, |world| {
        let flag = world.alloc::<u64>(1)?;
        let (owner, begun, mut asked) = (Rank::new(1), world.now(), 0);
        if world.rank() == owner {
            world.compute(LATER);
            world.add(flag.at(owner, 0), 1)?.wait()?;
        } else {
            while world.fetch(flag.at(owner, 0))?.wait()? == 0 {
                asked += 1;
                assert!(asked < POLLS_MAX, "time passes while a rank polls");
            }
        }
        let took = world.now() - begun;
        world.barrier()?;
        Ok((took, asked))
    });
    assert_eq!((outcome.fault, &outcome.stuck[..]), (None, &[][..]));
    outcome.results.into_iter().next().unwrap().unwrap().unwrap()
}

/// Within a node of this machine operations take no time.
#[test]
fn asking_a_neighbour_takes_time_at_last() {
    let (took, asked) = poll(2);
    assert!(took >= LATER && took < LATER + SOON, "{took:?}");
    assert!(asked > 1000, "{asked}: a program that waits for a thousand operations at once does not see it");
}

/// Polls that take time by themselves take no additional time.
#[test]
fn asking_over_a_network_takes_what_it_takes() {
    let (took, asked) = poll(1);
    assert!(took >= LATER && took < LATER + SOON, "{took:?}");
    assert!(asked < 100, "{asked}: a microsecond and more for each");
}

/// A receiver that always has work to compute never waits. If its polls took time, it would be slower than a receiver that is idle at
/// times.
#[test]
fn polls_between_computing_take_no_time() {
    const STEPS: u32 = 1000;
    let step = Duration::from_nanoseconds(200);
    let outcome = simulated::run(&simulated::settings("rx200-qdr", 1, 1), |world| {
        let begun = world.now();
        for _ in 0..STEPS {
            world.progress();
            world.compute(step);
        }
        Ok(world.now() - begun)
    });
    assert_eq!(outcome.results[0], Some(Ok(Duration::from_picoseconds(step.as_picoseconds() * u64::from(STEPS)))));
}
