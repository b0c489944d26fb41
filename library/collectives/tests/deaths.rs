//! A member dies at any moment of an operation: that operation reports the failure to the others, once, and so does any later one; no member waits
//! forever. In virtual time, on the library's own protocol.

use pelago_base::{Duration, Instant, Rank, Team};
use pelago_collectives::{Algorithm, Choice, Collective, Collectives, Model, Settings, Sum};
use pelago_rma::{Error, Failure, Fault, Result, World};
use pelago_simulator::FaultInjection;
use pelago_test_support::faulty::{run_with_death, settings};
use pelago_test_support::simulated;

const RANKS: u32 = 4;
const VICTIM: Rank = Rank::new(2);

/// More runs than there are before the latest death of the victim.
const RUNS_MAX: usize = 20_000;

/// A given model, so that no team measures one.
const MODEL: Model = Model { latency_ns: 2000.0, message_ns: 200.0, byte_ns: 0.5, turn_ns: 0.0 };

/// An operation, an algorithm, and the values of a block.
type Way = (Collective, Algorithm, usize);

/// Few values are sent beside a flag, many are sent later.
const WAYS: [Way; 6] = [
    (Collective::Allreduce, Algorithm::RecursiveDoubling, 3),
    (Collective::Allreduce, Algorithm::Ring, 400),
    (Collective::Alltoall, Algorithm::Pairwise, 100),
    (Collective::Broadcast { root: 0 }, Algorithm::Flat, 3),
    (Collective::Broadcast { root: 2 }, Algorithm::Flat, 400),
    (Collective::Gather { root: 1 }, Algorithm::Flat, 20),
];

fn is_loss(ended: &Result<()>) -> bool {
    matches!(ended, Err(Error::Fault(Fault::PeerLost(VICTIM)) | Error::Failed(Failure::PeerLost(VICTIM))))
}

/// Runs an operation until it fails; then no error of it is left to report, and another operation of the same members fails at once.
fn run_until_lost(world: &World, (operation, algorithm, count): Way, begin: &dyn Fn()) -> Result<()> {
    world.on_peer_lost(|_| {});
    let living: Vec<_> = world.ranks().filter(|&rank| rank != VICTIM).collect();
    let living = world.group(&Team::of(&living).unwrap())?;
    let settings =
        Settings { memory_bytes: 512 << 10, plan_bytes: 16 << 10, per_host: Some(1), model: Some(MODEL), ..Settings::default() };
    let all = Collectives::new(world, &settings)?;
    let mut plan = all.plan_of(operation, count, Sum, Choice::Fixed(algorithm))?;
    let mut other = all.plan_of(Collective::Allreduce, 1, Sum, Choice::Table)?;
    world.barrier()?;
    begin();
    let me = world.rank().number();
    let blocks_in = operation.blocks_in(me, RANKS) as usize * count;
    let blocks_out = operation.blocks_out(me, RANKS) as usize * count;
    let (input, mut output) = (vec![1_u64; blocks_in], vec![0; blocks_out]);
    // The root of a broadcast waits for no member: it detects the failure when the slots are used up.
    let ended = (0..RUNS_MAX).try_for_each(|_| plan.run(&input, &mut output));
    let Some(living) = living else { return Ok(()) };
    assert!(is_loss(&ended), "{ended:?}");
    assert_eq!(world.quiet(), Ok(()), "the operation has told it");
    let begun = world.now();
    assert!(is_loss(&other.run_in_place(&mut [1_u64])), "the loss is known");
    let mut later = all.plan_of(Collective::Allreduce, 1, Sum, Choice::Table);
    let later = later.as_mut().map_err(|error| error.clone()).and_then(|plan| {
        let mut values = [1_u64];
        let mut running = plan.start_in_place(&mut values)?;
        while !running.test()? {
            assert!(world.now() - begun < Duration::from_milliseconds(1_000), "the loss is known");
            world.compute(Duration::from_microseconds(10));
        }
        Ok(())
    });
    assert!(is_loss(&later), "{later:?}");
    living.barrier()?;
    world.quiet()
}

#[test]
fn whoever_runs_a_collective_operation_learns_once_that_a_member_has_died() {
    for way in WAYS {
        let play = |dies: Option<Instant>| {
            run_with_death(RANKS, FaultInjection::default(), (VICTIM, dies), |world, begin| run_until_lost(world, way, begin))
        };
        // The moments after which the victim posted operations, in a job in which it dies late.
        let late = Instant::from_picoseconds(600_000_000);
        let (noted, _) = play(Some(late));
        assert!(noted.len() > 2, "{} operations", noted.len());
        for &at in noted.iter().take(8).chain(noted.iter().rev().take(2)) {
            for later in [1, 900].map(Duration::from_nanoseconds) {
                let (_, ended) = play(Some(at + later));
                assert!(ended.iter().enumerate().all(|(rank, ended)| rank == VICTIM.index() || ended.is_some()), "{way:?}");
            }
        }
    }
}

/// Runs operations of all ranks but the victim, which dies meanwhile.
fn run_without(world: &World, begin: &dyn Fn()) -> Result<()> {
    let members: Vec<_> = world.ranks().filter(|&rank| rank != VICTIM).collect();
    let settings =
        Settings { memory_bytes: 512 << 10, plan_bytes: 16 << 10, per_host: Some(1), model: Some(MODEL), ..Settings::default() };
    let words = world.alloc::<u64>(1)?;
    let all = Collectives::of(world, &Team::of(&members).unwrap(), &settings)?;
    world.barrier()?;
    begin();
    let Some(all) = all else {
        return (0..RUNS_MAX).try_for_each(|_| world.fetch(words.at(Rank::new(0), 0))?.wait().map(drop));
    };
    let mut plan = all.plan_of(Collective::Allreduce, 1, Sum, Choice::Fixed(Algorithm::Flat))?;
    let begun = world.now();
    loop {
        let mut late = [u64::from(world.now() - begun > Duration::from_milliseconds(2))];
        plan.run_in_place(&mut late)?;
        let mut ones = [1_u64];
        plan.run_in_place(&mut ones)?;
        assert_eq!(ones, [u64::from(RANKS) - 1]);
        // All end after the same number of runs.
        if late[0] > 0 {
            break;
        }
    }
    assert_eq!(world.lost(), [VICTIM], "it died while the others waited for each other");
    Ok(())
}

#[test]
fn operations_go_on_when_a_rank_dies_that_is_no_member() {
    let play = |dies| {
        run_with_death(RANKS, FaultInjection::default(), (VICTIM, Some(dies)), |world, begin| {
            world.on_peer_lost(|_| {});
            run_without(world, begin)
        })
    };
    for dies in [600, 650, 700].map(Duration::from_microseconds) {
        let (_, ended) = play(Instant::ZERO + dies);
        assert!(ended.iter().enumerate().all(|(rank, ended)| rank == VICTIM.index() || ended.is_some()), "{ended:?}");
    }
}

/// A job that does not continue without a rank ends the operations of all teams.
#[test]
fn operations_end_with_the_job_when_a_rank_dies_that_is_no_member() {
    let faults = FaultInjection {
        deaths: vec![(VICTIM, Instant::from_picoseconds(600_000_000))],
        announced_after: Some(Duration::from_microseconds(200)),
        ..FaultInjection::default()
    };
    let outcome = simulated::run(&settings(RANKS, 2, faults), |world| run_without(world, &|| {}));
    assert!(outcome.stuck.is_empty(), "{:?} wait for ever", outcome.stuck);
    for (rank, ended) in outcome.results.iter().enumerate() {
        assert!(ended.as_ref().map_or(rank == VICTIM.index(), is_loss), "{rank}: {ended:?}");
    }
}

/// Runs exchanges with counts until one fails; started operations fail as well.
fn exchange_until_lost(world: &World, begin: &dyn Fn()) -> Result<()> {
    world.on_peer_lost(|_| {});
    let settings = Settings { memory_bytes: 512 << 10, plan_bytes: 16 << 10, model: Some(MODEL), ..Settings::default() };
    let all = Collectives::new(world, &settings)?;
    let (counts, input, mut output) = ([300, 0, 2, 40], vec![1_u64; 342], vec![0_u64; 1200]);
    let me = all.position() as usize;
    let mut exchange = || {
        let received = [counts[me]; RANKS as usize];
        all.alltoallv(&input, &counts, &mut output[..received.iter().sum()], &received)
    };
    exchange()?;
    all.start_allreduce(vec![1_u64], Sum)?.wait()?;
    world.barrier()?;
    begin();
    let ended = (0..RUNS_MAX).try_for_each(|_| {
        let sums = all.start_allreduce(vec![1_u64], Sum)?;
        exchange()?;
        sums.wait().map(drop)
    });
    if world.rank() == VICTIM {
        return Ok(());
    }
    assert!(is_loss(&ended), "{ended:?}");
    assert!(is_loss(&exchange()), "the loss is known");
    let _told = world.quiet();
    Ok(())
}

#[test]
fn exchanges_with_counts_and_started_operations_end_when_a_member_dies() {
    let play = |dies: Option<Instant>| run_with_death(RANKS, FaultInjection::default(), (VICTIM, dies), exchange_until_lost);
    let (noted, _) = play(Some(Instant::from_picoseconds(900_000_000)));
    assert!(noted.len() > 2, "{} operations", noted.len());
    for &at in noted.iter().take(6).chain(noted.iter().rev().take(2)) {
        let (_, ended) = play(Some(at + Duration::from_nanoseconds(1)));
        assert!(ended.iter().enumerate().all(|(rank, ended)| rank == VICTIM.index() || ended.is_some()), "{ended:?}");
    }
}

/// Ranks 0 and 1 exchange after an exchange with the victim has failed on both: fragments of that one are not taken for those of a later one.
fn exchange_after_a_failure(world: &World, begin: &dyn Fn()) -> Result<()> {
    world.on_peer_lost(|_| {});
    let me = world.rank().number();
    let settings = Settings { memory_bytes: 512 << 10, plan_bytes: 16 << 10, model: Some(MODEL), ..Settings::default() };
    let pair = world.group(&Team::of(&[0, 1].map(Rank::new)).unwrap())?;
    let words = world.alloc::<u64>(1)?;
    let all = Collectives::new(world, &settings)?;
    let of = |near: &[u32]| all.neighbours(near, near);
    let (with, without) = match me {
        0 => (of(&[1, VICTIM.number()])?, of(&[1])?),
        1 => (of(&[0, VICTIM.number()])?, of(&[0])?),
        2 => (of(&[0, 1])?, of(&[])?),
        _ => (of(&[])?, of(&[])?),
    };
    world.barrier()?;
    begin();
    let Some(pair) = pair else {
        return (0..RUNS_MAX).try_for_each(|_| world.fetch(words.at(Rank::new(0), 0))?.wait().map(drop));
    };
    while world.losses() == 0 {
        world.progress();
        world.compute(Duration::from_microseconds(10));
    }
    for turn in 0..2 {
        if turn == me {
            let ended = with.exchange(&[100 + me; 2], &[1, 1], &mut [0; 2], &[1, 1]);
            assert!(is_loss(&ended), "{ended:?}");
        }
        pair.barrier()?;
    }
    let mut got = [0];
    let ended = without.exchange(&[200 + me], &[1], &mut got, &[1]);
    assert!(ended.is_err() || got == [201 - me], "{ended:?} {got:?}");
    let _told = world.quiet();
    Ok(())
}

#[test]
fn an_exchange_gets_no_values_of_one_that_failed() {
    let dies = Instant::ZERO + Duration::from_milliseconds(2);
    let (_, ended) = run_with_death(RANKS, FaultInjection::default(), (VICTIM, Some(dies)), exchange_after_a_failure);
    assert!(ended[..2].iter().all(Option::is_some), "{ended:?}");
}
