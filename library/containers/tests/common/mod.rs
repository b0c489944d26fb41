//! Common parts of the tests of containers.

use fastrand::Rng;
use pelago_base::Rank;
use pelago_rma::World;

use pelago_test_support::threads::Platform;

/// Number of ranks of the jobs.
pub(crate) const RANKS: u32 = 4;

/// Pseudo-random numbers from a seed.
pub(crate) struct Chance(Rng);

impl Chance {
    pub(crate) fn of(world: &World, seed: u64) -> Self {
        Self(Rng::with_seed(seed ^ (u64::from(world.rank()) + 1) << 32))
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0.u64(..bound)
    }

    /// A random rank.
    pub(crate) fn rank(&mut self) -> Rank {
        Rank::new(self.below(u64::from(RANKS)) as u32)
    }

    /// Random bytes, fewer than `bound`.
    pub(crate) fn bytes(&mut self, bound: u64) -> Vec<u8> {
        (0..self.below(bound)).map(|_| self.below(256) as u8).collect()
    }
}

/// Number of operations of each rank: a hundred thousand in total in mapped memory, fewer on networks.
pub(crate) fn operations(platform: Platform) -> u64 {
    match platform {
        Platform::Mapped => 25_000,
        Platform::Remote => 2_500,
        Platform::Fabric | Platform::Unruly | Platform::Rails | Platform::Hosts | Platform::Networks => 500,
    }
}
