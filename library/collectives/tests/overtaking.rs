//! Plans on a network where datagrams overtake each other: credits do not decrease, and no slot is written before it is read.

use pelago_base::{AtomicOperator, Duration};
use pelago_collectives::{Algorithm, Choice, Collective, Collectives, Model, Settings, Sum};
use pelago_platform::Operation as Posted;
use pelago_rma::{Error, Result, World};
use pelago_test_support::faulty::run_late;
use pelago_test_support::simulated;

/// A given model, so that no team measures one.
const MODEL: Model = Model { latency_ns: 2000.0, message_ns: 200.0, byte_ns: 0.5, turn_ns: 0.0 };

/// Few slots, which all members reuse often.
fn little() -> Settings {
    Settings { memory_bytes: 64 << 10, plan_bytes: 512, per_host: Some(1), model: Some(MODEL), ..Settings::default() }
}

/// Runs plans of two operations in turns, without a barrier, and others in the memory of earlier ones.
fn run_plans(world: &World) -> Result<()> {
    let all = Collectives::new(world, &little())?;
    for round in 0..3 {
        let root = round % world.size();
        let mut sums = all.plan_of(Collective::Allreduce, 3, Sum, Choice::Table)?;
        let mut brought = all.plan::<u64>(Collective::Broadcast { root }, 20, Choice::Table)?;
        for run in 0..24 {
            let value = u64::from(round) << 32 | run;
            let mut values = [value; 20];
            if world.rank().number() != root {
                values = [0; 20];
            }
            brought.run_in_place(&mut values)?;
            assert_eq!(values, [value; 20], "broadcast {run} of round {round}");
            if run % 3 == 0 {
                let mut values = [value + 1; 3];
                sums.run_in_place(&mut values)?;
                assert_eq!(values, [(value + 1) * u64::from(world.size()); 3], "sum {run} of round {round}");
            }
        }
    }
    Ok(())
}

/// In a broadcast the root is as far ahead as slots permit, and members are slow in turns: only their credits hold the root back.
fn run_ahead(world: &World) -> Result<()> {
    let all = Collectives::new(world, &little())?;
    let mut plan = all.plan::<u64>(Collective::Broadcast { root: 0 }, 20, Choice::Fixed(Algorithm::Flat))?;
    for run in 0..200 {
        let mut values = [if world.rank().number() == 0 { run } else { u64::MAX }; 20];
        if world.rank().number() != 0 && run % u64::from(7 * world.size()) == u64::from(7 * world.rank().number()) {
            world.compute(Duration::from_microseconds(300));
        }
        plan.run_in_place(&mut values)?;
        assert_eq!(values, [run; 20], "run {run}");
    }
    Ok(())
}

#[test]
fn credits_are_not_overtaken_by_older_ones() {
    for ranks in [4, 5, 7] {
        for seed in 0..6 {
            simulated::run_to_the_end(&simulated::settings_late(ranks, seed), "a broadcast", run_ahead);
        }
    }
}

#[test]
fn runs_follow_one_another_where_datagrams_overtake_each_other() {
    for ranks in [4, 5, 7] {
        for seed in 0..8 {
            simulated::run_to_the_end(&simulated::settings_late(ranks, seed), "plans", run_plans);
        }
    }
}

/// Credits are sent late, and members that get them do not wait for them: a plan in the memory of an earlier one does not take them as credits for
/// operations that its members have not begun.
#[test]
fn a_plan_hears_nothing_of_the_one_whose_memory_it_has() {
    let is_credit = |posted: &Posted<'_>| matches!(posted, Posted::Atomic { operator: AtomicOperator::Max, .. });
    run_late(4, is_credit, |world| {
        let all = Collectives::new(world, &little())?;
        for round in 0..4 {
            let mut plan = all.plan::<u64>(Collective::Broadcast { root: 0 }, 20, Choice::Fixed(Algorithm::Flat))?;
            for run in 0..40_u64 {
                let value = round << 32 | run;
                let mut values = [if world.rank().number() == 0 { value } else { u64::MAX }; 20];
                if world.rank().number() == 3 && round == 1 && run == 0 {
                    // In the library, where late credits are sent.
                    let waited = world.wait_for("nothing", Some(Duration::from_microseconds(2_000)), || Ok(None::<()>));
                    assert!(matches!(waited, Err(Error::TimedOut { .. })), "{waited:?}");
                }
                plan.run_in_place(&mut values)?;
                assert_eq!(values, [value; 20], "run {run} of round {round}");
            }
        }
        Ok(())
    });
}
