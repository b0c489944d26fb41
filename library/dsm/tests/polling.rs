//! A rank that repeatedly acquires a variable until it reads an expected value does not exclude all others from it in virtual time.

use std::cell::RefCell;

use pelago_base::{Duration, Rank};
use pelago_dsm::{Counter, Placement, Shared};
use pelago_rma::{Result, World};
use pelago_simulator::FaultInjection;
use pelago_test_support::faulty::{run, settings};

const HOME: Rank = Rank::new(0);

/// The time at which another rank sets the expected value.
const LATER: Duration = Duration::from_microseconds(100);

/// Maximum time until the polling rank finds it.
const SOON: Duration = Duration::from_microseconds(50);

/// More polls than fit before `LATER`.
const POLLS_MAX: u32 = 1_000_000;

/// Runs a program with two ranks on one node, and with two ranks on two nodes; over NICs, and over the library's own protocol.
fn everywhere(program: impl Fn(&World) -> Result<Duration>) {
    for (per_node, by_protocol) in [(2, false), (2, true), (1, false), (1, true)] {
        let mut settings = settings(2, per_node, FaultInjection::default());
        settings.protocol = settings.protocol.filter(|_| by_protocol);
        for took in run(&settings, |_| false, |world, _| program(world)) {
            let took = took.expect("nobody dies");
            assert!(took >= LATER && took < LATER + SOON, "{took:?} with {per_node} ranks on a node, by protocol: {by_protocol}");
        }
    }
}

/// One rank `polls`, and the other one `sets` later.
fn later(
    world: &World,
    poller: Rank,
    sets: impl FnOnce() -> Result<()>,
    mut polls: impl FnMut() -> Result<bool>,
) -> Result<Duration> {
    world.barrier()?;
    let begun = world.now();
    if world.rank() == poller {
        let polled = (0..POLLS_MAX).map(|_| polls()).find(|found| !matches!(found, Ok(false)));
        assert!(polled.expect("time passes while a rank polls")?);
    } else {
        world.compute(LATER);
        sets()?;
    }
    let took = world.now() - begun;
    world.barrier()?;
    Ok(took)
}

/// Polls with acquires to read, to write, and without waiting, by the home and by another rank.
#[test]
fn a_variable_that_stays_is_polled() {
    for (poller, way) in (0..2).flat_map(|poller| (0..3).map(move |way| (Rank::new(poller), way))) {
        everywhere(|world| {
            let mut flag = Shared::<u64>::new(world, HOME, 0)?;
            flag.place(Placement::Migrating)?;
            let flag = RefCell::new(flag);
            let polls = || {
                let mut flag = flag.borrow_mut();
                Ok(match way {
                    0 => *flag.read()? == 1,
                    1 => *flag.write()? == 1,
                    _ => flag.try_write()?.is_some_and(|guard| *guard == 1),
                })
            };
            later(world, poller, || flag.borrow_mut().write().map(|mut guard| *guard = 1), polls)
        });
    }
}

/// A number in this rank's own memory is read by a load, which the simulation does not see: a rank that polls it must call `progress`, as for other
/// memory.
#[test]
fn a_counter_at_home_is_polled_by_a_rank_that_looks() {
    everywhere(|world| {
        let counter = Counter::new(world, HOME, 0)?;
        let polls = || {
            world.progress();
            Ok(counter.value()? == 1)
        };
        later(world, HOME, || counter.add(1).map(drop), polls)
    });
}
