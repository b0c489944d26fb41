//! Pseudorandom numbers from a seed, or from a guide.

/// Number of bytes of a guide for one number.
const GUIDE_BYTES: usize = 4;

/// Given numbers, followed by those of a generator that is the same on every machine.
pub(crate) struct Random {
    generator: fastrand::Rng,
    /// Given numbers that precede those of the seed, in reverse order.
    guide: Vec<u64>,
}

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self { generator: fastrand::Rng::with_seed(seed), guide: Vec::new() }
    }

    /// Returns the generator for part `part` of `seed`.
    pub(crate) fn of_part(seed: u64, part: u64) -> Self {
        Self::new(Self::new(seed).draw() ^ Self::new(part).draw())
    }

    /// Returns a generator with a number for each four of these bytes, followed by the numbers of seed 0.
    pub(crate) fn guided(bytes: &[u8]) -> Self {
        let (words, _) = bytes.as_chunks::<GUIDE_BYTES>();
        let number = |word: &[u8; GUIDE_BYTES]| u64::from(u32::from_le_bytes(*word));
        Self {
            generator: fastrand::Rng::with_seed(0),
            guide: words.iter().rev().map(number).map(|number| number | number << 32).collect(),
        }
    }

    /// Whether the next number is a given one.
    pub(crate) fn is_guided(&self) -> bool {
        !self.guide.is_empty()
    }

    pub(crate) fn draw(&mut self) -> u64 {
        if let Some(number) = self.guide.pop() {
            return number;
        }
        self.generator.u64(..)
    }

    /// Returns a number below `bound`; 0 if `bound` is 0.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.draw() % bound.max(1) as u64) as usize
    }

    /// Returns true in one of `cases` cases.
    pub(crate) fn one_in(&mut self, cases: usize) -> bool {
        self.below(cases) == 0
    }

    pub(crate) fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }

    pub(crate) fn bytes(&mut self, count: usize) -> Vec<u8> {
        let mut bytes = vec![0; count];
        bytes.chunks_mut(8).for_each(|chunk| chunk.copy_from_slice(&self.draw().to_le_bytes()[..chunk.len()]));
        bytes
    }
}
