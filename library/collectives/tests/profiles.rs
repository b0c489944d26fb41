//! A model that is wrong costs a longer trial, and nothing afterwards: in virtual time, with every algorithm as the judge.

#[path = "../../../simulation/simulator/tests/support/mod.rs"]
#[allow(dead_code)]
mod support;

use pelago_collectives::{Choice, Collectives, Model, Operation, Settings, Sum};
use pelago_rma::{Result, World};

/// Models that say nothing true of any machine; `None` is the measured one.
const MODELS: [Option<Model>; 8] = [
    None,
    // What costs most costs nothing, and the other way round.
    Some(Model { latency_ns: 0.01, message_ns: 10_000.0, byte_ns: 100.0 }),
    Some(Model { latency_ns: 1e9, message_ns: 0.001, byte_ns: 0.0 }),
    // All the same, or nothing at all.
    Some(Model { latency_ns: 1.0, message_ns: 1.0, byte_ns: 1.0 }),
    Some(Model { latency_ns: 0.0, message_ns: 0.0, byte_ns: 0.0 }),
    // Garbage.
    Some(Model { latency_ns: f64::NAN, message_ns: f64::INFINITY, byte_ns: -1.0 }),
    Some(Model { latency_ns: -1e300, message_ns: f64::NAN, byte_ns: f64::NEG_INFINITY }),
    Some(Model { latency_ns: f64::MIN_POSITIVE, message_ns: 1e300, byte_ns: f64::MAX }),
];

/// Operations that are timed one after another.
const REPEATED: u64 = 8;

/// Picoseconds of one operation on the slowest member, by the algorithm that `choice` finds, and its number.
fn time(world: &World, all: &Collectives<'_>, operation: Operation, count: usize, choice: Choice) -> Result<[u64; 2]> {
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
    Ok([slowest[0], plan.algorithm() as u64])
}

#[test]
fn the_choice_is_within_a_tenth_of_the_best_whatever_the_model_says() {
    for (machine, ranks, per_node) in [("rx200-qdr", 5, 1), ("torus-tofud", 8, 2)] {
        support::run(
            &pelago_simulator::Settings { heap_bytes: 32 << 20, ..support::settings(machine, ranks, per_node) },
            |world| {
                let settings = |model| Settings {
                    memory_bytes: 2 << 20,
                    plan_bytes: 256 << 10,
                    per_host: Some(per_node),
                    model,
                    rails: None,
                };
                for (operation, count) in [
                    (Operation::Broadcast { root: 2 }, 2000),
                    (Operation::Allreduce, 1),
                    (Operation::Allreduce, 3000),
                    (Operation::Allgather, 100),
                    (Operation::ReduceScatter, 100),
                    (Operation::Alltoall, 1),
                    (Operation::Scan, 50),
                ] {
                    let judge = Collectives::new(world, &settings(MODELS[1]))?;
                    let mut best = u64::MAX;
                    for candidate in judge.candidates::<u64>(operation, count, true)? {
                        best = best.min(time(world, &judge, operation, count, Choice::Fixed(candidate.algorithm))?[0]);
                    }
                    drop(judge);
                    for model in MODELS {
                        let all = Collectives::new(world, &settings(model))?;
                        let [took, algorithm] = time(world, &all, operation, count, Choice::Trial)?;
                        let plan = all.plan_of::<u64>(operation, count, Sum, Choice::Trial)?;
                        assert!(
                            took * 10 <= best * 11,
                            "{operation} of {count}: {took} instead of {best} ps, {model:?}: {}",
                            plan.explain()
                        );
                        let mut both = [algorithm, !algorithm];
                        world.allreduce(&mut both, u64::min)?;
                        assert_eq!(both, [algorithm, !algorithm], "all members choose alike");
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
