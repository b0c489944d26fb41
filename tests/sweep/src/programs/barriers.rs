//! Ranks synchronize by all barrier algorithms in any order; no rank leaves early, and data that was put before a barrier has arrived after it.

use std::cell::Cell;

use pelago_rma::BarrierAlgorithm;

use super::{Act, Memory, Trouble, demand};
use crate::crew::Crew;
use crate::random::Random;

/// Number of neighbours on the right to which a rank announces its arrival.
const REACH: u32 = 3;

pub(super) struct Barriers {
    size: u32,
    /// The algorithm of each barrier; `None` is the library's choice.
    meetings: Vec<Option<BarrierAlgorithm>>,
    /// Total number of arrivals at barriers.
    come: Cell<u64>,
}

impl Barriers {
    pub(super) fn new(random: &mut Random, size: u32) -> Self {
        let count = random.within(4, if size > 9 { 10 } else { 20 });
        let meeting = |_| Some(*random.pick(&BarrierAlgorithm::ALL));
        let mut meetings: Vec<_> = (0..count).map(meeting).collect();
        meetings.iter_mut().for_each(|meeting| *meeting = meeting.filter(|_| !random.one_in(5)));
        Self { size, meetings, come: Cell::new(0) }
    }
}

impl Act for Barriers {
    fn memory(&self) -> Memory {
        Memory { words: self.size as usize, bytes: 0 }
    }

    fn play(&self, crew: &Crew<'_>) -> Result<(), Trouble> {
        let (position, size) = (crew.position(), crew.size());
        for (number, &algorithm) in (1u64..).zip(&self.meetings) {
            for distance in 1..=REACH.min(size - 1) {
                crew.world().put(crew.word((position + distance) % size, position as usize), &[number])?;
            }
            crew.pause();
            self.come.set(self.come.get() + 1);
            crew.meet(algorithm)?;
            let (come, all) = (self.come.get(), number * u64::from(size));
            demand!(come >= all, "meeting {number} ended when {come} of {all} had come");
            for distance in 1..=REACH.min(size - 1) {
                let left = (position + size - distance) % size;
                let told = crew.own_word(left as usize);
                // The other rank may have announced the next barrier, but none after it.
                let is_right = (number..=number + 1).contains(&told);
                demand!(is_right, "after meeting {number} the word of position {left} is {told}");
            }
        }
        Ok(())
    }
}
