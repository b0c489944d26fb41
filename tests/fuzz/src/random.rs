//! Numbers that look random and follow from a seed, or from whoever guides them.

/// Bytes of a guide that make a number.
const GUIDE_BYTES: usize = 4;

/// A generator that is the same on every machine, behind numbers that were given.
pub(crate) struct Random {
    generator: fastrand::Rng,
    /// Numbers to come before those that follow from the seed, the last one first.
    guide: Vec<u64>,
}

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self { generator: fastrand::Rng::with_seed(seed), guide: Vec::new() }
    }

    /// The numbers of part `part` of what follows from `seed`.
    pub(crate) fn of_part(seed: u64, part: u64) -> Self {
        Self::new(Self::new(seed).draw() ^ Self::new(part).draw())
    }

    /// A number for each four of these bytes, and then what follows from 0.
    pub(crate) fn guided(bytes: &[u8]) -> Self {
        let (words, _) = bytes.as_chunks::<GUIDE_BYTES>();
        let number = |word: &[u8; GUIDE_BYTES]| u64::from(u32::from_le_bytes(*word));
        Self {
            generator: fastrand::Rng::with_seed(0),
            guide: words.iter().rev().map(number).map(|number| number | number << 32).collect(),
        }
    }

    /// Whether the next number is one that was given.
    pub(crate) fn is_guided(&self) -> bool {
        !self.guide.is_empty()
    }

    pub(crate) fn draw(&mut self) -> u64 {
        if let Some(number) = self.guide.pop() {
            return number;
        }
        self.generator.u64(..)
    }

    /// A number below `bound`; 0 if there is none.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.draw() % bound.max(1) as u64) as usize
    }

    /// True in one of `cases` cases.
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
