//! A work queue: each task is executed exactly once, wherever it was created, and queues keep their bounds.

#[allow(dead_code)]
mod common;

use pelago_base::{Duration, Instant, Rank};
use pelago_containers::{WorkQueue, WorkSettings};
use pelago_rma::{Error, Failure, Fault, World};
use pelago_simulator::FaultInjection;
use pelago_test_support::faulty::{run_late, run_with_death};
use pelago_test_support::threads::{Platform, on_every_platform, run};

const SHORT: WorkSettings = WorkSettings { own: 64, shared: 8, chunk: 3 };

/// A task: its unique number, and the number of levels of tasks that it creates.
type Task = [u64; 3];

/// Creates and executes a tree with three children at each node; each rank records its tasks in a bitmap, and each task occurs once.
fn work(world: &World, queue: &WorkQueue<'_, Task>, round: u64) -> pelago_rma::Result<u64> {
    const LEVELS: u64 = 5;
    const TASKS: u64 = (3_u64.pow(LEVELS as u32) - 1) / 2;
    let mut seen = vec![0; TASKS as usize];
    let start = Rank::new((round % u64::from(world.size())) as u32);
    if world.rank() == start {
        queue.push([0, LEVELS - 1, !round])?;
    }
    while let Some([number, levels, check]) = queue.next()? {
        assert_eq!(check, !round, "a task is whole");
        seen[number as usize] += 1;
        if levels > 0 {
            (1..=3).try_for_each(|child| queue.push([3 * number + child, levels - 1, check]))?;
        }
        world.compute(Duration::from_microseconds(3));
    }
    let mine = seen.iter().sum();
    world.allreduce(&mut seen, |one, other| one + other)?;
    assert!(seen.iter().all(|&times| times == 1), "{seen:?}");
    Ok(mine)
}

#[test]
fn every_task_is_worked_at_once() {
    on_every_platform(&[1, 2, 4], |world, platform| {
        let queue = WorkQueue::new(world, SHORT).unwrap();
        for round in 0..if platform == Platform::Mapped { 20 } else { 3 } {
            work(world, &queue, round).unwrap();
        }
    });
}

/// Reads of stolen tasks, or operations on the words of the queues, arrive late: places are not reused before.
#[test]
fn places_are_used_again_when_they_were_read() {
    run_late(
        4,
        |operation| matches!(operation, pelago_platform::Operation::Atomic { .. }),
        |world| {
            let queue = WorkQueue::new(world, WorkSettings { own: 300, shared: 4, chunk: 2 })?;
            (0..3).try_for_each(|round| work(world, &queue, round).map(|_| ()))
        },
    );
}

/// Ranks that request tasks before the first task was added do not detect termination.
#[test]
fn ranks_that_come_early_wait_for_the_first_task() {
    let worked = std::cell::RefCell::new(Vec::new());
    run_late(
        3,
        |_| false,
        |world| {
            let queue = WorkQueue::new(world, SHORT)?;
            for round in 0..3 {
                world.barrier()?;
                if u64::from(world.rank().number()) == round {
                    world.compute(Duration::from_milliseconds(1));
                }
                let mine = work(world, &queue, round)?;
                worked.borrow_mut().push(mine);
            }
            Ok(())
        },
    );
    let worked = worked.into_inner();
    assert!(worked.len() == 9 && worked.iter().all(|&mine| mine > 10), "{worked:?}");
}

#[test]
fn tasks_travel_to_those_who_have_none() {
    let worked = std::cell::RefCell::new(Vec::new());
    run_late(
        4,
        |_| false,
        |world| {
            let queue = WorkQueue::new(world, SHORT)?;
            let mine = work(world, &queue, 0)?;
            worked.borrow_mut().push((mine, queue.counters().stolen));
            Ok(())
        },
    );
    let worked = worked.into_inner();
    assert!(worked.iter().all(|&(mine, _)| mine > 10), "{worked:?}");
    assert!(worked.iter().filter(|&&(_, stolen)| stolen > 0).count() >= 3, "{worked:?}");
}

/// With the default settings, all ranks work on a search of few tasks at a time, and on a list of tasks that one rank added at once.
#[test]
fn few_tasks_and_lists_of_tasks_are_shared_too() {
    let worked = std::cell::RefCell::new(Vec::new());
    run_late(
        4,
        |_| false,
        |world| {
            let queue = WorkQueue::<u64>::new(world, WorkSettings::default())?;
            for list in [vec![12], vec![0; 400]] {
                if world.rank().number() == 0 {
                    queue.push_all(list)?;
                }
                let mut mine = 0;
                while let Some(n) = queue.next()? {
                    mine += 1;
                    if n > 1 {
                        queue.push(n - 1)?;
                        queue.push(n - 2)?;
                    }
                    world.compute(Duration::from_microseconds(50));
                }
                worked.borrow_mut().push(mine);
                world.barrier()?;
            }
            Ok(())
        },
    );
    let worked = worked.into_inner();
    // 465 calls of the recursive function.
    assert_eq!(worked.iter().sum::<u64>(), 465 + 400);
    assert!(worked.len() == 8 && worked.iter().all(|&mine| mine >= 50), "{worked:?}");
}

#[test]
fn a_rank_that_has_too_many_tasks_is_told() {
    run(Platform::Mapped, 2, |world| {
        let queue = WorkQueue::new(world, SHORT).unwrap();
        if world.rank().number() == 0 {
            let mut pushed = 0_u64;
            let error = loop {
                match queue.push([pushed, 0, 0]) {
                    Ok(()) => pushed += 1,
                    Err(error) => break error,
                }
            };
            assert_eq!(error, Error::TooMany { what: "tasks of a rank", limit: 64 });
            // Shared tasks do not count as private ones.
            assert_eq!(pushed, 64 + 5);
            for left in (0..pushed).rev() {
                assert!(queue.next().unwrap().is_some(), "{left} are left");
            }
        }
        world.barrier().unwrap();
        assert_eq!(queue.next(), Ok(None));
        for settings in
            [WorkSettings { shared: 6, ..SHORT }, WorkSettings { chunk: 9, ..SHORT }, WorkSettings { own: 5, ..SHORT }]
        {
            assert!(matches!(WorkQueue::<u64>::new(world, settings), Err(Error::Invalid(_))), "{settings:?}");
        }
        world.barrier().unwrap();
    });
}

/// Whenever a rank dies, the calls of the others end: with its loss, or because all tasks were done before.
#[test]
fn all_ranks_learn_of_a_lost_one() {
    let victim = Rank::new(3);
    let play = |dies: Option<Instant>| {
        let play = |world: &World, begin: &dyn Fn()| {
            world.on_peer_lost(|_| {});
            let queue = WorkQueue::new(world, SHORT)?;
            world.barrier()?;
            begin();
            match work(world, &queue, 0) {
                Ok(_) => Ok(true),
                Err(
                    Error::Failed(Failure::PeerLost(rank) | Failure::Unreachable(rank)) | Error::Fault(Fault::PeerLost(rank)),
                ) => {
                    assert_eq!(rank, victim);
                    Ok(false)
                }
                Err(other) => Err(other),
            }
        };
        run_with_death(4, FaultInjection::default(), (victim, dies), play)
    };
    let (moments, ended) = play(None);
    assert!(ended.iter().all(|ended| *ended == Some(true)) && moments.len() > 15, "{}", moments.len());
    for &moment in moments.iter().step_by(3) {
        let (_, ended) = play(Some(moment));
        assert_eq!(ended[victim.index()], None);
    }
}
