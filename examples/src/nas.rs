//! Common parts of the NAS programs: classes, random numbers, and the output line.

use std::io::Write;
use std::process::ExitCode;

use clap::ValueEnum;
use pelago::collectives::{Collectives, Max};
use pelago::{Instant, World};

use crate::usage::Output;

/// Problem sizes of the NAS Parallel Benchmarks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Class {
    /// Sample.
    #[value(name = "S", alias = "s")]
    S,
    /// Workstation.
    #[value(name = "W", alias = "w")]
    W,
    /// The first of the larger ones.
    #[value(name = "A", alias = "a")]
    A,
}

/// The linear congruential generator of the benchmarks: x ← 5¹³·x modulo 2⁴⁶.
///
/// Source: Bailey et al., "The NAS Parallel Benchmarks", RNR-94-007 (1994), section 2.3.
pub(crate) struct Random(u64);

const BITS: u32 = 46;
const FACTOR: u64 = 1_220_703_125;
const SEED: u64 = 314_159_265;

impl Random {
    /// Creates the generator after `numbers` numbers.
    pub(crate) fn after(mut numbers: u64) -> Self {
        let (mut state, mut power) = (SEED, FACTOR);
        while numbers > 0 {
            if numbers & 1 == 1 {
                state = product(state, power);
            }
            power = product(power, power);
            numbers >>= 1;
        }
        Self(state)
    }

    /// Returns the next number, below 2⁴⁶.
    pub(crate) fn bits(&mut self) -> u64 {
        self.0 = product(self.0, FACTOR);
        self.0
    }

    /// Returns the next number, between 0 and 1.
    pub(crate) fn unit(&mut self) -> f64 {
        self.bits() as f64 / (1_u64 << BITS) as f64
    }

    /// Returns the sum of the next four numbers, multiplied by `quarter`, as an integer.
    pub(crate) fn key(&mut self, quarter: u64) -> u32 {
        ((u128::from((0..4).map(|_| self.bits()).sum::<u64>()) * u128::from(quarter)) >> BITS) as u32
    }
}

fn product(one: u64, other: u64) -> u64 {
    one.wrapping_mul(other) & ((1 << BITS) - 1)
}

/// Divides `total` items: returns the range of a rank, and the number of items of each rank.
pub(crate) fn share(total: usize, ranks: u32, rank: u32) -> (core::ops::Range<usize>, Vec<usize>) {
    let bound = |rank: u32| (total as u128 * u128::from(rank) / u128::from(ranks)) as usize;
    (bound(rank)..bound(rank + 1), (0..ranks).map(|rank| bound(rank + 1) - bound(rank)).collect())
}

/// Prints the milliseconds on the slowest rank and the result of the verification.
pub(crate) fn report(
    world: &World,
    all: &Collectives<'_>,
    what: &str,
    start: Instant,
    is_right: bool,
) -> pelago::Result<ExitCode> {
    let mut ends = [(world.now() - start).as_picoseconds(), u64::from(!is_right)];
    all.allreduce(&mut ends, Max)?;
    if world.rank().number() == 0 {
        let verified = if ends[1] == 0 { "verified" } else { "WRONG" };
        let _ = writeln!(Output, "{what} ranks {} ms {:.3} {verified}", world.size(), ends[0] as f64 / 1e9);
    }
    Ok(if ends[1] == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_numbers_are_those_of_a_longer_way() {
        let mut long = Random::after(0);
        (0..1000).for_each(|_| assert!(long.bits() < 1 << BITS));
        assert_eq!(long.bits(), Random::after(1000).bits());
        let mut first = Random::after(0);
        assert_eq!(first.bits(), (u128::from(SEED) * u128::from(FACTOR) % (1 << BITS)) as u64);
    }

    #[test]
    fn shares_are_all_of_it() {
        for (total, ranks) in [(10, 3), (2, 5), (0, 2)] {
            let (_, counts) = share(total, ranks, 0);
            assert_eq!(counts.iter().sum::<usize>(), total);
            let ends: Vec<_> = (0..ranks).map(|rank| share(total, ranks, rank).0).collect();
            assert!(ends.windows(2).all(|pair| pair[0].end == pair[1].start) && ends[0].start == 0);
        }
    }
}
