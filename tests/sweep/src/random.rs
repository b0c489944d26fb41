//! Pseudorandom numbers from a seed.

/// SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014).
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    /// Returns the generator for `part` of the properties of `seed`.
    pub(crate) fn of(seed: u64, part: u64) -> Self {
        Self(mix(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15)) ^ mix(part.wrapping_add(1)))
    }

    pub(crate) fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        mix(self.0)
    }

    /// Returns a number below `end`, which is above 0.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        ((u128::from(self.draw()) * u128::from(end)) >> 64) as u64
    }

    /// Returns a number from `first` to `last`.
    pub(crate) fn within(&mut self, first: u64, last: u64) -> u64 {
        first + self.below(last - first + 1)
    }

    /// Returns a number from 1 to `last`; the ranges between powers of two are equally likely.
    pub(crate) fn spread(&mut self, last: u64) -> u64 {
        let bits = self.below(u64::from(last.ilog2()) + 1);
        self.within(1 << bits, (2 << bits) - 1).min(last)
    }

    /// Returns true in one of `cases` cases.
    pub(crate) fn one_in(&mut self, cases: u64) -> bool {
        self.below(cases) == 0
    }

    pub(crate) fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len() as u64) as usize]
    }
}

/// Returns a number that depends on the seed and on its `parts`.
pub(crate) fn stamp(seed: u64, parts: [u64; 3]) -> u64 {
    parts.into_iter().fold(mix(seed), |known, part| mix(known ^ part.wrapping_mul(0x9E37_79B9_7F4A_7C15)))
}

/// The finalizer of SplitMix64.
const fn mix(mut word: u64) -> u64 {
    word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    word ^ (word >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stay_inside_their_bounds_and_reach_them() {
        let mut random = Random::of(1, 2);
        let within: Vec<u64> = (0..2000).map(|_| random.within(3, 7)).collect();
        assert!((3..=7).all(|number| within.contains(&number)) && within.iter().all(|number| (3..=7).contains(number)));
        let spread: Vec<u64> = (0..2000).map(|_| random.spread(65_536)).collect();
        assert!(spread.contains(&1) && spread.contains(&65_536) && spread.iter().all(|number| (1..=65_536).contains(number)));
        assert!(spread.iter().filter(|&&number| number < 256).count() > 500, "small ones are as likely as large ones");
    }

    #[test]
    fn parts_of_a_seed_differ() {
        let first = |seed, part| Random::of(seed, part).draw();
        assert_eq!(first(5, 1), first(5, 1));
        assert!(first(5, 1) != first(5, 2) && first(5, 1) != first(6, 1) && first(0, 0) != first(0, 1));
    }
}
