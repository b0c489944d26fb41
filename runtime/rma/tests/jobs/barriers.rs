//! The barrier algorithms.

use std::sync::atomic::{AtomicU64, Ordering};

use pelago_base::{Event, Rank, Team};
use pelago_rma::BarrierAlgorithm::{self, Central, Dissemination, RecursiveDoubling, Ring, Tree};
use pelago_rma::World;

use pelago_test_support::threads::{PLATFORMS, Passed, Platform, on_every_platform, run, run_counted};

/// Powers of two, and sizes between them.
const SIZES: [u32; 8] = [1, 2, 3, 4, 6, 7, 9, 11];

/// Pseudo-random numbers; the same for the same seed.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }

    /// Occasionally lets other ranks run first.
    pub(crate) fn dawdle(&mut self) {
        if self.below(3) == 0 {
            (0..self.below(20)).for_each(|_| std::thread::yield_now());
        }
    }
}

/// Checks that no rank leaves the `number`-th barrier of `members` ranks before all have entered it.
pub(crate) fn meet(come: &AtomicU64, number: u64, members: u32, barrier: impl FnOnce() -> pelago_rma::Result<()>) {
    come.fetch_add(1, Ordering::SeqCst);
    barrier().unwrap();
    let found = come.load(Ordering::SeqCst);
    assert!(found >= number * u64::from(members), "meeting {number} of {members} ended when {found} had come, over all");
}

#[test]
fn nobody_leaves_before_all_have_come() {
    for platform in PLATFORMS {
        for size in SIZES {
            for algorithm in BarrierAlgorithm::ALL {
                let come = AtomicU64::new(0);
                run(platform, size, |world| {
                    let mut random = Random(world.rank().into());
                    for number in 1..=5 {
                        random.dawdle();
                        meet(&come, number, size, || world.barrier_by(algorithm));
                    }
                });
            }
        }
    }
}

#[test]
fn groups_meet_by_every_algorithm() {
    for platform in PLATFORMS {
        let come = AtomicU64::new(0);
        run(platform, 6, |world| {
            let members = Team::of(&[5, 0, 3, 2, 4].map(Rank::new)).unwrap();
            if let Some(group) = world.group(&members).unwrap() {
                for number in 1..=40 {
                    let algorithm = BarrierAlgorithm::ALL.get(number as usize % (BarrierAlgorithm::ALL.len() + 1));
                    meet(&come, number, 5, || {
                        algorithm.map_or_else(|| group.barrier(), |&algorithm| group.barrier_by(algorithm))
                    });
                }
            }
            world.barrier().unwrap();
        });
    }
}

#[test]
fn what_was_put_before_is_visible_after() {
    on_every_platform(&[5], |world, _| {
        let values = world.alloc::<u64>(5).unwrap();
        for algorithm in BarrierAlgorithm::ALL {
            for round in 1..=10 {
                for rank in world.ranks() {
                    world.put(values.at(rank, world.rank().index()), &[round]).unwrap();
                }
                world.barrier_by(algorithm).unwrap();
                assert_eq!(values.local().to_vec(), [round; 5]);
                world.barrier_by(algorithm).unwrap();
            }
        }
    });
}

/// Returns the number of puts and atomics of this rank in one barrier.
fn posted(world: &World, passed: &Passed, algorithm: BarrierAlgorithm) -> [u64; 2] {
    let counts = || [Event::PutPosted, Event::AtomicPosted].map(|event| passed.lock().unwrap().of(event));
    let before = counts();
    world.barrier_by(algorithm).unwrap();
    std::array::from_fn(|index| counts()[index] - before[index])
}

#[test]
fn a_rank_makes_the_steps_of_the_algorithm() {
    for size in SIZES {
        let released = AtomicU64::new(0);
        run_counted(Platform::Remote, size, |world, passed| {
            let (rank, rounds) = (world.rank().number(), size.ilog2());
            let below = 1 << rounds;
            let doubling = match rank {
                surplus if surplus >= below => 1,
                partner if partner + below < size => rounds + 1,
                _ => rounds,
            };
            assert_eq!(posted(world, passed, Ring), [u64::from(size) - 1, 0], "{rank} of {size}");
            assert_eq!(posted(world, passed, RecursiveDoubling), [doubling.into(), 0], "{rank} of {size}");
            assert_eq!(posted(world, passed, Dissemination), [size.next_power_of_two().ilog2().into(), 0], "{rank} of {size}");
            let below = size.saturating_sub(rank * 8 + 1).min(8);
            assert_eq!(posted(world, passed, Tree), [u64::from(below + u32::from(rank > 0)), 0], "{rank} of {size}");
            let [puts, atomics] = posted(world, passed, Central);
            assert_eq!(atomics, u64::from(rank > 0), "rank 0 has the word itself");
            released.fetch_add(puts, Ordering::SeqCst);
        });
        assert_eq!(released.load(Ordering::SeqCst), u64::from(size) - 1, "the last tells the others");
    }
}
