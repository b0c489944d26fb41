//! Collective functions of all ranks.

use std::sync::atomic::{AtomicU64, Ordering};

use pelago_base::{Event, Rank, Team};
use pelago_platform::ReductionOperator;
use pelago_rma::{Error, Failure};

use pelago_test_support::threads::{HEAP_BYTES, Platform, on_every_platform, run, run_counted};

const SIZES: [u32; 6] = [1, 2, 3, 4, 5, 8];

#[test]
fn nobody_leaves_a_barrier_before_all_have_come() {
    for platform in [Platform::Mapped, Platform::Remote] {
        for size in SIZES {
            let come = AtomicU64::new(0);
            run(platform, size, |world| {
                for round in 1..=50 {
                    come.fetch_add(1, Ordering::SeqCst);
                    world.barrier().unwrap();
                    assert!(come.load(Ordering::SeqCst) >= round * u64::from(size));
                    world.barrier().unwrap();
                }
            });
        }
    }
}

#[test]
fn a_broadcast_brings_every_length_from_every_root() {
    on_every_platform(&[1, 2, 3, 5], |world, _| {
        for root in world.ranks() {
            for length in [0, 1, 1000, 10_000] {
                let expected: Vec<u32> = (0..length).map(|i| i * 3 + root.number()).collect();
                let mut values = if world.rank() == root { expected.clone() } else { vec![0; length as usize] };
                world.broadcast(root, &mut values).unwrap();
                assert_eq!(values, expected);
            }
        }
    });
}

#[test]
fn a_reduction_is_the_same_everywhere() {
    on_every_platform(&SIZES, |world, _| {
        // Lengths that fit the line of the flag, and lengths that do not.
        for length in [1, 7, 8, 100, 5000] {
            let value = |rank: Rank, i: usize| (rank.number() + 1) as f64 * 0.1 + i as f64;
            let mut values: Vec<f64> = (0..length).map(|i| value(world.rank(), i)).collect();
            world.allreduce(&mut values, |one, other| one + other).unwrap();
            for (i, sum) in values.iter().enumerate() {
                let expected: f64 = world.ranks().map(|rank| value(rank, i)).sum();
                assert!(
                    (sum - expected).abs() <= 1e-9 * expected,
                    "element {i} of {length} on rank {}: {sum}, not {expected}",
                    world.rank()
                );
            }
            let mut bits: Vec<u64> = values.iter().map(|value| value.to_bits()).collect();
            let mine = bits.clone();
            world.broadcast(Rank::new(0), &mut bits).unwrap();
            assert_eq!(bits, mine, "bitwise the same");
        }
    });
}

/// Each other rank sends its part once and receives the result once, each by a put of the values and one of the step.
#[test]
fn a_reduction_takes_two_messages_for_each_member() {
    for size in 1..=9 {
        let puts = AtomicU64::new(0);
        run_counted(Platform::Remote, size, |world, passed| {
            let posted = || passed.lock().unwrap().of(Event::PutPosted);
            let before = posted();
            world.allreduce(&mut [1; 100], |one, other| one + other).unwrap();
            puts.fetch_add(posted() - before, Ordering::SeqCst);
        });
        assert_eq!(puts.load(Ordering::SeqCst), 4 * (u64::from(size) - 1), "{size} ranks");
    }
}

/// The values of a broadcast and the parts of the next reduction may arrive at a member in any order.
#[test]
fn a_reduction_may_follow_a_broadcast_at_once() {
    on_every_platform(&[4, 5], |world, _| {
        for round in 0..30 {
            let root = Rank::new(round % world.size());
            let mut brought = vec![round; 1000];
            brought[0] = if world.rank() == root { 100 + round } else { 0 };
            world.broadcast(root, &mut brought).unwrap();
            let mut sums = vec![1 + world.rank().number(); 1000];
            world.allreduce(&mut sums, |one, other| one + other).unwrap();
            assert_eq!((brought[0], &brought[1..]), (100 + round, &vec![round; 999][..]));
            assert_eq!(sums, vec![world.size() * (world.size() + 1) / 2; 1000], "round {round}");
        }
    });
}

/// The memory of barriers does not overlap with allocations.
#[test]
fn meetings_touch_no_memory_of_the_program() {
    run(Platform::Mapped, 4, |world| {
        let memory = [0, 1].map(|_| {
            let group = world.group(&Team::all(4)).unwrap().unwrap();
            (world.alloc::<u64>(10_000).unwrap(), group)
        });
        memory.iter().for_each(|(words, _)| words.local().fill(7));
        world.barrier().unwrap();
        for (_, group) in &memory {
            group.allreduce(&mut [1; 5000], |one, other| one + other).unwrap();
            group.broadcast(1, &mut [1; 5000]).unwrap();
            world.allreduce(&mut [1; 5000], |one, other| one + other).unwrap();
            world.broadcast(Rank::new(1), &mut [1; 5000]).unwrap();
        }
        world.barrier().unwrap();
        assert!(memory.iter().all(|(words, _)| words.local().to_vec() == [7; 10_000]));
    });
}

#[test]
fn groups_meet_by_themselves() {
    on_every_platform(&[5], |world, _| {
        let odd = Team::of(&[Rank::new(3), Rank::new(1)]).unwrap();
        let even = Team::of(&[Rank::new(0), Rank::new(2), Rank::new(4)]).unwrap();
        let groups = [world.group(&odd).unwrap(), world.group(&even).unwrap()];
        assert_eq!(groups.iter().flatten().count(), 1);
        let group = groups.iter().flatten().next().unwrap();
        for round in 0..20 {
            let mut sum = [world.rank().number() + round];
            group.allreduce(&mut sum, |one, other| one + other).unwrap();
            let members = group.team().size();
            assert_eq!(sum, [round * members + group.team().iter().map(Rank::number).sum::<u32>()]);
            let mut from_last = [world.rank().number()];
            group.broadcast(members - 1, &mut from_last).unwrap();
            assert_eq!(Some(Rank::new(from_last[0])), group.team().rank(members - 1));
            group.barrier().unwrap();
        }
        assert_eq!(group.team().position(world.rank()), Some(group.position()));
        world.barrier().unwrap();
    });
}

#[test]
fn memory_is_used_again_when_all_have_dropped_it() {
    on_every_platform(&[3], |world, _| {
        let first = world.alloc::<u64>(1000).unwrap();
        let place = first.at(Rank::new(0), 0).address();
        first.local().fill(7);
        // One rank keeps its part for a while: no rank may reuse the memory before.
        let mut kept = Some(first);
        if world.rank() != Rank::new(1) {
            kept = None;
        }
        let second = world.alloc::<u64>(1000).unwrap();
        assert_ne!(second.at(Rank::new(0), 0).address(), place);
        drop(kept);
        let third = world.alloc::<u64>(1000).unwrap();
        assert_eq!(third.at(Rank::new(0), 0).address(), place);
        assert!(third.local().to_vec().iter().all(|&value| value == 0), "memory comes zeroed");
        world.barrier().unwrap();
    });
}

#[test]
fn an_impossible_allocation_fails_everywhere_and_harms_nothing() {
    on_every_platform(&[2], |world, _| {
        assert!(matches!(world.alloc::<u64>(usize::MAX / 2), Err(Error::NoMemory { .. })));
        assert!(matches!(world.alloc::<u8>(HEAP_BYTES as usize), Err(Error::NoMemory { .. })));
        let different = world.alloc::<u64>(1 + world.rank().index());
        assert!(matches!(different, Err(Error::Disagreement(_))));
        assert!(world.alloc::<u8>(1).is_ok());
        world.barrier().unwrap();
    });
}

#[test]
fn a_wait_with_a_limit_ends() {
    run(Platform::Mapped, 1, |world| {
        let word = world.alloc::<u64>(1).unwrap();
        let limit = pelago_base::Duration::from_milliseconds(5);
        let ended = world.wait_until_within(limit, word.local(), 0, |value| value == 1);
        assert!(matches!(ended, Err(Error::TimedOut { .. })), "{ended:?}");
        word.local().store(0, 1);
        assert_eq!(world.wait_until_within(limit, word.local(), 0, |value| value == 1), Ok(1));
    });
}

#[test]
fn a_rank_that_has_failed_leaves_with_the_others() {
    for platform in [Platform::Mapped, Platform::Remote] {
        run(platform, 3, |world| {
            let registered = world.register(vec![0u64; 1]).unwrap();
            if world.rank() == Rank::new(1) {
                world.put(registered.ptr(0).add(1), &[1]).unwrap();
            }
            let left = world.leave();
            let failed = matches!(left, Err(Error::Failed(Failure::OutOfBounds(_))));
            assert_eq!((failed, left.is_ok()), (world.rank() == Rank::new(1), world.rank() != Rank::new(1)), "{left:?}");
        });
    }
}

/// The flags carry the length and the operator: ranks that disagree find out together, and the next call works.
#[test]
fn a_reduction_with_different_arguments_fails_on_every_rank() {
    on_every_platform(&[2, 3, 5], |world, _| {
        for (common, other) in [(1, 2), (0, 2), (2, 0), (7, 8), (100, 101), (5000, 100), (2048, 5000)] {
            for odd in world.ranks() {
                let length = if world.rank() == odd { other } else { common };
                let ended = world.allreduce(&mut vec![1_u64; length], |one, other| one + other);
                assert!(matches!(ended, Err(Error::Disagreement(_))), "{length} values where others have {common}: {ended:?}");
            }
            let mut sum = [1_u64; 20];
            world.allreduce(&mut sum, |one, other| one + other).unwrap();
            assert_eq!(sum, [u64::from(world.size()); 20]);
        }
        let operator = if world.rank() == Rank::new(1) { ReductionOperator::Max } else { ReductionOperator::Sum };
        let ended = world.allreduce_words(operator, &mut [1, 2]);
        assert!(matches!(ended, Err(Error::Disagreement(_))), "{ended:?}");
        world.barrier().unwrap();
    });
}

#[test]
fn a_broadcast_of_different_lengths_fails_where_they_differ() {
    on_every_platform(&[2], |world, _| {
        for (own, length) in [(1, 2), (0, 1), (1, 0), (100, 101)] {
            let length = if world.rank() == Rank::new(1) { length } else { own };
            let ended = world.broadcast(Rank::new(0), &mut vec![1_u64; length]);
            assert_eq!(ended.is_err(), world.rank() == Rank::new(1), "{ended:?}");
        }
        world.barrier().unwrap();
    });
    // Rank 2 alone takes rank 1 for the root. From either it hears the values of a call with root 0.
    on_every_platform(&[3], |world, _| {
        let root = Rank::new(u32::from(world.rank() == Rank::new(2)));
        let ended = world.broadcast(root, &mut [world.rank().number()]);
        assert_eq!(ended.is_err(), world.rank() == Rank::new(2), "{ended:?}");
        world.barrier().unwrap();
    });
}

#[test]
fn a_group_has_the_same_team_on_every_rank_and_ranks_of_the_job_alone() {
    on_every_platform(&[2, 3], |world, _| {
        let size = world.size();
        for foreign in [vec![0, size], vec![size + 7, 1, 0]] {
            let team = Team::of(&foreign.into_iter().map(Rank::new).collect::<Vec<_>>()).unwrap();
            assert!(matches!(world.group(&team), Err(Error::Address(_))), "{team:?}");
            assert!(matches!(world.group_within(&team, 0), Err(Error::Address(_))), "{team:?}");
        }
        // Each rank names itself and its neighbour: all are as long.
        let own = Team::of(&[world.rank(), world.rank().next(size)]).unwrap();
        let ended = world.group(&own).map(drop);
        assert!(matches!(ended, Err(Error::Disagreement("the team of a group"))), "{ended:?}");
        assert!(world.group(&Team::all(size)).unwrap().is_some(), "the next call works");
    });
}
