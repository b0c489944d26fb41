//! Whole jobs on a simulated machine.

use std::cell::{Cell, RefCell};

use pelago_base::{Duration, Instant, Rank};
use pelago_netsim::Machine;
use pelago_platform::Fault;
use pelago_rma::{Error, Result, World};
use pelago_simulator::{Outcome, Settings, simulate};

fn settings(ranks: u32, per_node: u32) -> Settings {
    let machine = Machine::parse(Machine::bundled("rx200-qdr").unwrap()).unwrap();
    Settings {
        machine,
        ranks,
        per_node,
        seed: 1,
        heap_bytes: 4 << 20,
        stack_bytes: 256 << 10,
        protocol: None,
        report: None,
        stop: Default::default(),
    }
}

fn run<R>(settings: &Settings, body: impl Fn(&World) -> Result<R>) -> Outcome<Result<R>> {
    simulate(settings, |parts| {
        let world = World::new(parts)?;
        let value = body(&world)?;
        world.finish()?;
        Ok(value)
    })
    .unwrap()
}

#[test]
fn every_rank_computes_with_the_others() {
    for (ranks, per_node) in [(1, 1), (2, 1), (2, 2), (7, 2), (32, 2), (33, 8)] {
        let outcome = run(&settings(ranks, per_node), |world| {
            let counter = world.alloc::<u64>(2)?;
            world.fetch_add(counter.at(Rank::new(0), 0), 1 + u64::from(world.rank()))?.wait()?;
            let right = world.rank().next(world.size());
            world.put(counter.at(right, 1), &[u64::from(world.rank())])?;
            world.barrier()?;
            let mut sum = [counter.local().load(1)];
            world.allreduce(&mut sum, |one, other| one + other)?;
            Ok((sum[0], world.get(counter.at(Rank::new(0), 0))?))
        });
        let all = u64::from(ranks);
        for result in outcome.results {
            assert_eq!(result.unwrap().unwrap(), (all * (all - 1) / 2, all * (all + 1) / 2), "{ranks} ranks");
        }
        assert_eq!((outcome.fault, outcome.failed, outcome.stuck), (None, None, Vec::new()));
    }
}

#[test]
fn computing_takes_the_time_that_it_is_said_to_take() {
    let outcome = run(&settings(3, 1), |world| {
        world.compute(Duration::from_microseconds(100 * (1 + u64::from(world.rank()))));
        let mine = world.now();
        world.barrier()?;
        Ok((mine, world.now()))
    });
    let times: Vec<(Instant, Instant)> = outcome.results.into_iter().map(|result| result.unwrap().unwrap()).collect();
    for (index, (mine, after)) in times.iter().enumerate() {
        assert_eq!(mine.since(Instant::ZERO), Duration::from_microseconds(100 * (1 + index as u64)));
        let barrier = after.since(Instant::ZERO + Duration::from_microseconds(300));
        assert!((1..10).contains(&(barrier.as_nanoseconds() / 1000)), "after the slowest: {barrier:?}");
    }
}

#[test]
fn the_same_job_has_the_same_events() {
    let job = || {
        let order = RefCell::new(Vec::new());
        let outcome = run(&settings(24, 2), |world| {
            let words = world.alloc::<u64>(64)?;
            for step in 0..20 {
                let to = Rank::new((u32::from(world.rank()) * 7 + step * 5) % world.size());
                world.put(words.at(to, step as usize), &[u64::from(step)])?;
                world.fetch_add(words.at(to, 63), 1)?.wait()?;
                order.borrow_mut().push((world.rank(), world.now()));
            }
            world.barrier()
        });
        (order.into_inner(), outcome.end, format!("{:?}", outcome.statistics))
    };
    let first = job();
    assert!(first.0.len() == 480 && first == job());
}

#[test]
fn ranks_that_wait_for_ever_are_a_deadlock() {
    let outcome = run(&settings(4, 1), |world| {
        let flag = world.alloc::<u64>(1)?;
        if u32::from(world.rank()) % 2 == 1 {
            world.wait_until(flag.local(), 0, |value| value == 7)?;
        }
        world.barrier()
    });
    assert_eq!(outcome.fault, Some(Fault::Deadlock));
    assert_eq!(outcome.stuck.iter().map(|(rank, _)| u32::from(*rank)).collect::<Vec<_>>(), [0, 1, 2, 3]);
    assert!(outcome.results.iter().all(|result| matches!(result, Some(Err(Error::Fault(Fault::Deadlock))))));
}

#[test]
fn a_rank_that_fails_is_lost_to_the_others() {
    let outcome = run(&settings(4, 1), |world| {
        let flag = world.alloc::<u64>(1)?;
        if u32::from(world.rank()) == 2 {
            world.compute(Duration::from_microseconds(50));
            return Err(Error::Disagreement("something of its own"));
        }
        world.wait_until(flag.local(), 0, |value| value == 7)?;
        Ok(())
    });
    assert_eq!((outcome.failed, outcome.fault), (Some(Rank::new(2)), Some(Fault::PeerLost(Rank::new(2)))));
    for (rank, result) in outcome.results.into_iter().enumerate() {
        let expected =
            if rank == 2 { Error::Disagreement("something of its own") } else { Error::Fault(Fault::PeerLost(Rank::new(2))) };
        assert_eq!(result.unwrap().unwrap_err().to_string(), expected.to_string());
    }
}

#[test]
fn a_rank_that_only_looks_lets_time_pass() {
    let outcome = run(&settings(2, 1), |world| {
        let flag = world.alloc::<u64>(1)?;
        let mut looks = 0;
        if u32::from(world.rank()) == 0 {
            world.compute(Duration::from_microseconds(20));
            let put = world.put(flag.at(Rank::new(1), 0), &[1])?;
            while !put.test()? {
                looks += 1;
            }
        } else {
            while flag.local().load(0) == 0 {
                world.progress();
                looks += 1;
            }
        }
        Ok(looks)
    });
    for result in outcome.results {
        assert!((5..1000).contains(&result.unwrap().unwrap()));
    }
}

#[test]
fn a_rank_that_waits_by_the_clock_lets_time_pass() {
    let outcome = run(&settings(2, 1), |world| {
        let start = world.now();
        while world.now() - start < Duration::from_microseconds(50) {}
        world.barrier()?;
        Ok(world.now() - start)
    });
    for result in outcome.results {
        assert!((50..60).contains(&(result.unwrap().unwrap().as_nanoseconds() / 1000)));
    }
}

#[test]
fn many_ranks_have_a_stack_each() {
    let deepest = Cell::new(0);
    let outcome = run(&Settings { heap_bytes: 2 << 20, ..settings(20_000, 4) }, |world| {
        deepest.set(deepest.get().max(deep(100)));
        world.barrier()?;
        Ok(u64::from(world.rank()))
    });
    assert_eq!(deepest.get(), 100);
    assert!(outcome.results.into_iter().map(|result| result.unwrap().unwrap()).eq(0..20_000));
}

/// As many calls inside each other, with some of the stack each.
#[inline(never)]
fn deep(calls: u64) -> u64 {
    let room = std::hint::black_box([calls; 16]);
    if calls == 0 { 0 } else { deep(calls - 1) + room[3] / calls }
}

#[test]
fn a_simulation_of_nobody_cannot_begin() {
    for (ranks, per_node) in [(0, 1), (1, 0)] {
        assert!(simulate(&settings(ranks, per_node), |_| Ok::<_, Error>(())).is_err());
    }
}

#[test]
fn what_a_rank_fetches_itself_may_be_waited_for() {
    let outcome = run(&settings(2, 1), |world| {
        let words = world.alloc::<u64>(2)?;
        words.local().store(1, 7);
        world.barrier()?;
        if u32::from(world.rank()) == 0 {
            let (to, from) = (words.at(Rank::new(0), 0), words.at(Rank::new(1), 1));
            let copied = world.copy(from, to, 1)?;
            world.wait_until(words.local(), 0, |value| value == 7)?;
            copied.wait()?;
        }
        world.barrier()
    });
    assert!(outcome.results.into_iter().all(|result| result.unwrap().is_ok()));
}
