//! Each rank puts to its right neighbour, then increments a word there. A rank that reads the count finds the data of the put.

use super::{Act, Memory, Trouble, demand};
use crate::crew::Crew;
use crate::random::{Random, stamp};

/// The word that is incremented. The data of the put follow it.
const COUNT: usize = 0;
const VALUES: usize = 1;

pub(super) struct Ring {
    seed: u64,
    rounds: u64,
    values: usize,
}

impl Ring {
    pub(super) fn new(random: &mut Random) -> Self {
        Self { seed: random.draw(), rounds: random.within(2, 6), values: random.spread(512) as usize }
    }

    fn values(&self, round: u64, position: u32) -> Vec<u64> {
        (0..self.values as u64).map(|index| stamp(self.seed, [round, position.into(), index])).collect()
    }
}

impl Act for Ring {
    fn memory(&self) -> Memory {
        Memory { words: VALUES + self.values, bytes: 0 }
    }

    fn play(&self, crew: &Crew<'_>) -> Result<(), Trouble> {
        let right = (crew.position() + 1) % crew.size();
        let left = (crew.position() + crew.size() - 1) % crew.size();
        for round in 1..=self.rounds {
            crew.pause();
            let put = crew.world().put(crew.word(right, VALUES), &self.values(round, crew.position()))?;
            let count = crew.world().after(&put).fetch_add(crew.word(right, COUNT), 1)?;
            let counted = match round % 2 {
                0 => crew.await_word(COUNT, |count| count >= round)?,
                _ => {
                    let (index, counted) =
                        crew.await_any_word(&[VALUES, COUNT], |index, value| index == COUNT && value >= round)?;
                    demand!(index == COUNT, "word {index} has ended a wait for another one");
                    counted
                }
            };
            demand!(counted == round, "the count is {counted} in round {round}");
            let expected = self.values(round, left);
            let wrong = (0..self.values).find(|&index| crew.own_word(VALUES + index) != expected[index]);
            demand!(wrong.is_none(), "value {} of round {round} is not there when the count is", wrong.unwrap_or_default());
            let found = count.wait()?;
            demand!(found == round - 1, "the neighbour's count was {found} before round {round}");
            crew.meet(None)?;
        }
        Ok(())
    }
}
