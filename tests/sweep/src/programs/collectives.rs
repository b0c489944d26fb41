//! Ranks combine values and distribute them.

use super::{Act, Memory, Trouble, demand};
use crate::crew::Crew;
use crate::random::{Random, stamp};

pub(super) struct Collectives {
    seed: u64,
    steps: u64,
}

impl Collectives {
    pub(super) fn new(random: &mut Random) -> Self {
        Self { seed: random.draw(), steps: random.within(2, 8) }
    }

    fn values(&self, step: u64, position: u32, length: u64) -> Vec<u64> {
        (0..length).map(|index| stamp(self.seed, [step, position.into(), index])).collect()
    }
}

impl Act for Collectives {
    fn memory(&self) -> Memory {
        Memory::default()
    }

    fn play(&self, crew: &Crew<'_>) -> Result<(), Trouble> {
        for step in 0..self.steps {
            // The same numbers on every rank.
            let mut random = Random::of(self.seed, step);
            let (kind, length, root) = (random.below(5), random.spread(2500), random.below(crew.size().into()) as u32);
            crew.pause();
            match kind {
                0 => crew.meet(None)?,
                1 | 2 => {
                    let mut values = self.values(step, crew.position(), length);
                    crew.allreduce(&mut values)?;
                    let mut sums = vec![0u64; length as usize];
                    for position in 0..crew.size() {
                        let of_one = self.values(step, position, length);
                        sums.iter_mut().zip(of_one).for_each(|(sum, value)| *sum = sum.wrapping_add(value));
                    }
                    demand!(values == sums, "an allreduce of {length} values is wrong");
                }
                _ => {
                    let expected = self.values(step, root, length);
                    let mut values = if crew.position() == root { expected.clone() } else { vec![0; length as usize] };
                    crew.broadcast(root, &mut values)?;
                    demand!(values == expected, "a broadcast of {length} values from position {root} is wrong");
                }
            }
        }
        Ok(())
    }
}
