//! A wrong model costs a longer trial, and nothing afterwards: in virtual time, compared with every algorithm.

use pelago_base::{Duration, Instant};
use pelago_collectives::{Algorithm, Choice, Collective, Collectives, Explanation, Model, Plan, Rails, Settings, Sum};
use pelago_rma::{Rail, Result, World};
use pelago_test_support::simulated;

/// Models that are true of no machine; `None` is the measured one.
const MODELS: [Option<Model>; 8] = [
    None,
    // The largest cost is zero, and the other way round.
    Some(Model { latency_ns: 0.01, message_ns: 10_000.0, byte_ns: 100.0, turn_ns: 0.0 }),
    Some(Model { latency_ns: 1e9, message_ns: 0.001, byte_ns: 0.0, turn_ns: 0.0 }),
    // All costs equal, or zero.
    Some(Model { latency_ns: 1.0, message_ns: 1.0, byte_ns: 1.0, turn_ns: 0.0 }),
    Some(Model { latency_ns: 0.0, message_ns: 0.0, byte_ns: 0.0, turn_ns: 0.0 }),
    // Garbage.
    Some(Model { latency_ns: f64::NAN, message_ns: f64::INFINITY, byte_ns: -1.0, turn_ns: 0.0 }),
    Some(Model { latency_ns: -1e300, message_ns: f64::NAN, byte_ns: f64::NEG_INFINITY, turn_ns: f64::NAN }),
    Some(Model { latency_ns: f64::MIN_POSITIVE, message_ns: 1e300, byte_ns: f64::MAX, turn_ns: f64::MAX }),
];

/// Number of operations that are timed one after another.
const REPEATED: u64 = 8;

/// Picoseconds of one operation on the slowest member, by the algorithm that `choice` finds, and the explanation of the choice.
fn time(world: &World, all: &Collectives<'_>, operation: Collective, count: usize, choice: Choice) -> Result<(u64, Explanation)> {
    let mut plan = all.plan_of(operation, count, Sum, choice)?;
    let of = |blocks: u32| vec![1_u64; blocks as usize * count];
    let input = of(operation.blocks_in(all.position(), world.size()));
    let mut output = of(operation.blocks_out(all.position(), world.size()));
    plan.run(&input, &mut output)?;
    world.barrier()?;
    let start = world.now();
    (0..REPEATED).try_for_each(|_| plan.run(&input, &mut output))?;
    let mut slowest = [(world.now() - start).as_picoseconds() / REPEATED];
    world.allreduce(&mut slowest, u64::max)?;
    Ok((slowest[0], plan.explain().clone()))
}

/// All members have the same algorithm with the same rails.
fn assert_alike(world: &World, explained: &Explanation) -> Result<()> {
    let rail = |rail: Option<Rail>| rail.map_or(0, |rail| rail.number() as u64 + 1);
    let chosen = explained.chosen as u64 * 10_000 + rail(explained.rails.intra_node) * 100 + rail(explained.rails.inter_node);
    let mut both = [chosen, !chosen];
    world.allreduce(&mut both, u64::min)?;
    assert_eq!(both, [chosen, !chosen], "all members choose alike: {explained}");
    Ok(())
}

#[test]
fn the_choice_is_within_a_tenth_of_the_best_whatever_the_model_says() {
    for (machine, ranks, per_node) in [("rx200-qdr", 5, 1), ("torus-tofud", 8, 2)] {
        simulated::run(
            &pelago_simulator::Settings { heap_bytes: 32 << 20, ..simulated::settings(machine, ranks, per_node) },
            |world| {
                let settings = |model| Settings {
                    memory_bytes: 2 << 20,
                    plan_bytes: 256 << 10,
                    per_host: Some(per_node),
                    model,
                    ..Settings::default()
                };
                for (operation, count) in [
                    (Collective::Broadcast { root: 2 }, 2000),
                    (Collective::Allreduce, 1),
                    (Collective::Allreduce, 3000),
                    (Collective::Allgather, 100),
                    (Collective::ReduceScatter, 100),
                    (Collective::Alltoall, 1),
                    (Collective::Scan, 50),
                ] {
                    let judge = Collectives::new(world, &settings(MODELS[1]))?;
                    let mut best = u64::MAX;
                    for candidate in judge.candidates::<u64>(operation, count, true)? {
                        best = best.min(time(world, &judge, operation, count, Choice::Fixed(candidate.algorithm))?.0);
                    }
                    drop(judge);
                    for model in MODELS {
                        let all = Collectives::new(world, &settings(model))?;
                        let (took, explained) = time(world, &all, operation, count, Choice::Trial)?;
                        assert!(
                            took * 10 <= best * 11,
                            "{operation} of {count}: {took} instead of {best} ps, {model:?}: {explained}",
                        );
                        assert_alike(world, &explained)?;
                    }
                }
                Ok(())
            },
        )
        .results
        .into_iter()
        .for_each(|result| result.unwrap().unwrap());
    }
}

/// Calls without a plan begin with the model's algorithm. Long operations that are called often are tried, unless the program has set another
/// algorithm.
#[test]
fn a_long_operation_that_is_called_often_is_tried() {
    let outcome =
        simulated::run(&pelago_simulator::Settings { heap_bytes: 32 << 20, ..simulated::settings("rx200-qdr", 5, 1) }, |world| {
            const CALLS: u64 = 6;
            // Steps cost everything, so that every member sends to all.
            let wrong = MODELS[2];
            let settings = |calls_before_trial| Settings {
                memory_bytes: 4 << 20,
                plan_bytes: 256 << 10,
                per_host: Some(1),
                model: wrong,
                calls_before_trial,
                ..Settings::default()
            };
            let (operation, count) = (Collective::Allreduce, 8000);
            let by = |all: &Collectives<'_>| all.prepared::<u64>(operation, count, true);
            let call = |all: &Collectives<'_>, count| all.allreduce(&mut vec![1_u64; count], Sum);
            let all = Collectives::new(world, &settings(Some(CALLS)))?;
            let modelled = all.candidates::<u64>(operation, count, true)?[0].algorithm;
            assert_eq!(by(&all)?, None);
            for _ in 0..CALLS {
                call(&all, count)?;
                call(&all, 10)?;
                assert_eq!(by(&all)?, Some(modelled));
            }
            let mut values = vec![1_u64; count];
            all.allreduce(&mut values, Sum)?;
            assert!(values.iter().all(|&value| value == 5), "the call that tries gives the sum");
            let tried = by(&all)?.expect("it is prepared");
            let took = |algorithm| time(world, &all, operation, count, Choice::Fixed(algorithm)).map(|(took, _)| took);
            assert_ne!(tried, modelled, "the model is wrong");
            assert!(took(tried)? < took(modelled)?);
            assert_eq!(all.prepared::<u64>(operation, 10, true)?, Some(all.candidates::<u64>(operation, 10, true)?[0].algorithm));
            for (all, kept) in [
                (Collectives::new(world, &settings(None))?, modelled),
                (Collectives::new(world, &settings(Some(CALLS)))?, Algorithm::Flat),
            ] {
                if kept == Algorithm::Flat {
                    all.set(operation, 8 * count, kept)?;
                }
                (0..3 * CALLS).try_for_each(|_| call(&all, count))?;
                assert_eq!(by(&all)?, Some(kept));
            }
            Ok(())
        });
    outcome.results.into_iter().for_each(|result| result.unwrap().unwrap());
}

/// With two networks of which a false property is assumed, or one of which is missing, the choice is compared with every algorithm by each pair of
/// rails.
#[test]
fn the_choice_is_within_a_tenth_of_the_best_whatever_is_known_of_the_rails() {
    for (profile, rails) in simulated::PROFILES {
        let settings = pelago_simulator::Settings { heap_bytes: 32 << 20, ..simulated::settings_by(6, &rails) };
        let outcome = simulated::run(&settings, |world| {
            let by = |rails, model| Settings {
                memory_bytes: 2 << 20,
                plan_bytes: 256 << 10,
                per_host: Some(3),
                model,
                rails,
                ..Settings::default()
            };
            let [one, other] = [0, 1].map(Rail::new);
            let pairs = [[one, one], [one, other], [other, one], [other, other]]
                .map(|[near, far]| Rails { intra_node: near, inter_node: far });
            for (operation, count) in [
                (Collective::Broadcast { root: 4 }, 3000),
                (Collective::Allreduce, 1),
                (Collective::Allgather, 500),
                (Collective::Alltoall, 20),
            ] {
                let mut best = u64::MAX;
                for rails in pairs {
                    let judge = Collectives::new(world, &by(Some(rails), MODELS[1]))?;
                    for candidate in judge.candidates::<u64>(operation, count, true)? {
                        best = best.min(time(world, &judge, operation, count, Choice::Fixed(candidate.algorithm))?.0);
                    }
                }
                for model in [MODELS[0], MODELS[5]] {
                    let all = Collectives::new(world, &by(None, model))?;
                    let (took, explained) = time(world, &all, operation, count, Choice::Trial)?;
                    assert!(took * 10 <= best * 11, "{profile}, {count}: {took} instead of {best} ps, {model:?}: {explained}");
                    assert_alike(world, &explained)?;
                }
            }
            Ok(())
        });
        outcome.results.into_iter().for_each(|result| result.unwrap().unwrap());
    }
}

/// Picoseconds of one operation that all members begin at the same instant, on the slowest member.
fn time_apart(world: &World, plan: &mut Plan<'_, '_, u64>, count: usize) -> Result<u64> {
    let mut output = vec![7; count];
    let mut took = [0];
    // The first operation makes connections.
    for _ in 0..2 {
        let mut last = [world.now().as_picoseconds()];
        world.allreduce(&mut last, u64::max)?;
        let start = Instant::from_picoseconds(last[0]) + Duration::from_microseconds(1000);
        world.compute(start - world.now());
        plan.run(&[], &mut output)?;
        took = [(world.now() - start).as_picoseconds()];
        world.allreduce(&mut took, u64::max)?;
    }
    Ok(took[0])
}

/// Operations that run one at a time are compared so: a chain that keeps all links busy is unsuitable for a single long broadcast.
#[test]
fn what_comes_apart_is_tried_apart() {
    let settings = pelago_simulator::Settings { heap_bytes: 32 << 20, ..simulated::settings("rx200-qdr", 8, 1) };
    let outcome = simulated::run(&settings, |world| {
        let (operation, count) = (Collective::Broadcast { root: 0 }, 4096);
        let mut times = [[0; 2]; 2];
        for (apart, times) in [true, false].into_iter().zip(&mut times) {
            let all = Collectives::new(world, &Settings { memory_bytes: 4 << 20, apart, ..Settings::default() })?;
            let mut plan = all.plan_of::<u64>(operation, count, Sum, Choice::Trial)?;
            *times = [time_apart(world, &mut plan, count)?, time(world, &all, operation, count, Choice::Trial)?.0];
        }
        let [[alone, alone_in_a_row], [row_alone, row]] = times;
        assert!(alone * 3 < row_alone * 2, "one takes {alone} ps, by what is best in a row {row_alone}");
        assert!(row * 3 < alone_in_a_row * 2, "each of a row takes {row} ps, by what is best alone {alone_in_a_row}");
        Ok(())
    });
    outcome.results.into_iter().for_each(|result| result.unwrap().unwrap());
}
