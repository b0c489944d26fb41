//! Each rank increments words of any rank: each value is returned to exactly one rank, once, and the sums are exact.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;

use pelago_rma::{Accumulation, Error, Fetch, GlobalPtr, Signal};

use super::{Act, Memory, Trouble, demand};
use crate::crew::Crew;
use crate::random::Random;

/// Kinds of words, by the operations on them. The parameters give the number of words of each kind on each rank.
const KINDS: usize = 7;
const COUNTED: usize = 0;
const SUMMED: usize = 1;
const MIXED: usize = 2;
/// Floating-point numbers are added: integral values, so that the order does not matter.
const FLOATING: usize = 3;
/// The minimum of signed numbers.
const LEAST: usize = 4;
/// A word is incremented after a put to another place, and never at the wrong place.
const SIGNALLED: usize = 5;

/// Ranks claim a free word without a result: at the end, one of the claiming ranks has it.
const CLAIMED: usize = 6;

pub(super) struct Atomics {
    seed: u64,
    steps: u64,
    /// Words of each kind on each rank.
    words: usize,
    /// Maximum number of operations of a rank in flight.
    depth: usize,
    /// Expected final value of each word, by position and word.
    expected: Vec<Cell<u64>>,
    /// Returned values, by position and word.
    found: RefCell<BTreeSet<(usize, u64)>>,
}

impl Atomics {
    pub(super) fn new(random: &mut Random, size: u32) -> Self {
        let words = random.within(1, 3) as usize;
        Self {
            seed: random.draw(),
            steps: random.within(5, 50),
            words,
            depth: random.spread(16) as usize,
            expected: vec![Cell::new(0); KINDS * words * size as usize],
            found: RefCell::default(),
        }
    }

    fn expected(&self, position: u32, word: usize) -> &Cell<u64> {
        &self.expected[self.place(position, word)]
    }

    fn place(&self, position: u32, word: usize) -> usize {
        position as usize * KINDS * self.words + word
    }

    /// Waits for a value, and records it.
    fn note(&self, (position, word, fetch): (u32, usize, Fetch<'_, u64>)) -> Result<(), Trouble> {
        let value = fetch.wait()?;
        let is_new = self.found.borrow_mut().insert((self.place(position, word), value));
        demand!(is_new, "value {value} of word {word} at position {position} came twice");
        let so_far = self.expected(position, word).get();
        demand!(value < so_far, "value {value} of word {word} at position {position} came, but it was counted up {so_far} times");
        Ok(())
    }
}

impl Act for Atomics {
    fn memory(&self) -> Memory {
        Memory { words: KINDS * self.words, bytes: 8 * self.expected.len() / (KINDS * self.words) }
    }

    fn play(&self, crew: &Crew<'_>) -> Result<(), Trouble> {
        let mut random = Random::of(self.seed, crew.position().into());
        let mut under_way = Vec::new();
        for _ in 0..self.steps {
            let (position, operand) = (random.below(crew.size().into()) as u32, random.draw());
            let kind = *random.pick(&[COUNTED, COUNTED, SUMMED, MIXED, FLOATING, LEAST, SIGNALLED, CLAIMED]);
            let word = kind * self.words + random.below(self.words as u64) as usize;
            let (to, expected) = (crew.word(position, word), self.expected(position, word));
            match kind {
                COUNTED => {
                    expected.set(expected.get() + 1);
                    under_way.push((position, word, crew.world().fetch_add(to, 1)?));
                }
                SUMMED => {
                    expected.set(expected.get().wrapping_add(operand));
                    crew.world().add(to, operand)?;
                }
                FLOATING => {
                    let operand = (operand % 1000) as f64;
                    expected.set((f64::from_bits(expected.get()) + operand).to_bits());
                    let to = GlobalPtr::<f64>::from_address(to.address()).map_err(Error::from)?;
                    crew.world().accumulate(to, Accumulation::Sum, operand)?;
                }
                LEAST => {
                    let operand = operand.cast_signed();
                    expected.set(expected.get().cast_signed().min(operand).cast_unsigned());
                    let to = GlobalPtr::<i64>::from_address(to.address()).map_err(Error::from)?;
                    crew.world().accumulate(to, Accumulation::Min, operand)?;
                }
                SIGNALLED => {
                    expected.set(expected.get() + 1);
                    // Each rank has separate bytes at the target.
                    let value = crew.byte(position, 8 * crew.position() as usize);
                    crew.world().put_signal(value, &crew.position().to_le_bytes(), to, Signal::Add(1))?.wait()?;
                }
                CLAIMED => {
                    expected.set(expected.get() | claim(crew.position()));
                    crew.world().compare_set(to, 0, u64::from(crew.position()) + 1)?;
                }
                _ => {
                    expected.set(expected.get() ^ operand);
                    crew.world().xor(to, operand)?;
                }
            }
            if under_way.len() >= self.depth {
                self.note(under_way.swap_remove(random.below(under_way.len() as u64) as usize))?;
                crew.pause();
            }
        }
        under_way.into_iter().try_for_each(|fetch| self.note(fetch))?;
        crew.meet(None)?;
        for word in 0..KINDS * self.words {
            let (found, expected) = (crew.own_word(word), self.expected(crew.position(), word).get());
            let is_right = match found {
                0 => expected == 0,
                owner if word / self.words == CLAIMED => expected & claim(owner as u32 - 1) != 0,
                found => found == expected,
            };
            demand!(is_right, "word {word} is {found:#x}, not {expected:#x}");
        }
        Ok(())
    }
}

/// Returns the bit of a rank that has claimed a word. Ranks with a distance of 64 share a bit.
fn claim(position: u32) -> u64 {
    1 << (position % u64::BITS)
}
