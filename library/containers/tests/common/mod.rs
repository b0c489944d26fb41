//! What the tests of containers have in common.

use pelago_base::Rank;
use pelago_rma::World;

use crate::support::Platform;

/// Ranks of the jobs here.
pub(crate) const RANKS: u32 = 4;

/// Numbers that look like chance, from a seed.
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn of(world: &World, seed: u64) -> Self {
        Self(seed ^ (u64::from(world.rank()) + 1) << 32)
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ mixed >> 31) % bound
    }

    /// One of the ranks.
    pub(crate) fn rank(&mut self) -> Rank {
        Rank::new(self.below(u64::from(RANKS)) as u32)
    }

    /// Some bytes, fewer than `bound`.
    pub(crate) fn bytes(&mut self, bound: u64) -> Vec<u8> {
        (0..self.below(bound)).map(|_| self.below(256) as u8).collect()
    }
}

/// Operations of each rank: a hundred thousand in all where nothing has to travel.
pub(crate) fn operations(platform: Platform) -> u64 {
    match platform {
        Platform::Mapped => 25_000,
        Platform::Remote => 2_500,
        Platform::Fabric | Platform::Unruly | Platform::Rails | Platform::Hosts | Platform::Networks => 500,
    }
}
