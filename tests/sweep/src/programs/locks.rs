//! Ranks acquire a lock in turn: one rank holds it at a time, and reads the value that the previous holder has written.

use std::cell::Cell;

use super::{Act, Memory, Trouble, demand, rest};
use crate::crew::Crew;
use crate::random::Random;

const LOCK: usize = 0;
const VALUE: usize = 1;

pub(super) struct Locks {
    seed: u64,
    turns: u64,
    /// Positions of the lock and of the value.
    lock_at: u32,
    value_at: u32,
    holder: Cell<Option<u32>>,
    taken: Cell<u64>,
}

impl Locks {
    pub(super) fn new(random: &mut Random, size: u32) -> Self {
        let mut position = || random.below(size.into()) as u32;
        let (lock_at, value_at) = (position(), position());
        let turns = random.within(1, if size > 6 { 2 } else { 5 });
        Self { seed: random.draw(), turns, lock_at, value_at, holder: Cell::new(None), taken: Cell::new(0) }
    }

    fn take(&self, crew: &Crew<'_>, random: &mut Random) -> Result<(), Trouble> {
        let mut tries = 0;
        loop {
            let found = crew.world().compare_swap(crew.word(self.lock_at, LOCK), 0, mark(crew))?.wait()?;
            if found == 0 {
                return Ok(());
            }
            demand!(found <= u64::from(crew.size()), "the lock holds {found}, which nobody has written");
            demand!(found != mark(crew), "the lock is held by who does not hold it");
            // An attempt on a lock in mapped memory does not wait, so that a failure would not be detected otherwise.
            crew.look_for_fault()?;
            rest(crew.world(), random, tries);
            tries += 1;
        }
    }
}

impl Act for Locks {
    fn memory(&self) -> Memory {
        Memory { words: 2, bytes: 0 }
    }

    fn play(&self, crew: &Crew<'_>) -> Result<(), Trouble> {
        let mut random = Random::of(self.seed, crew.position().into());
        for _ in 0..self.turns {
            crew.pause();
            self.take(crew, &mut random)?;
            let before = self.holder.replace(Some(crew.position()));
            demand!(before.is_none(), "the lock is taken while position {} holds it", before.unwrap_or_default());
            let value = crew.world().get(crew.word(self.value_at, VALUE))?;
            let taken = self.taken.replace(self.taken.get() + 1);
            demand!(value == taken, "the value is {value} after {taken} turns");
            let put = crew.world().put(crew.word(self.value_at, VALUE), &[value + 1])?;
            crew.pause();
            self.holder.set(None);
            if random.one_in(2) {
                crew.world().after(&put).set(crew.word(self.lock_at, LOCK), 0)?.wait()?;
            } else {
                put.wait()?;
                let found = crew.world().compare_swap(crew.word(self.lock_at, LOCK), mark(crew), 0)?.wait()?;
                demand!(found == mark(crew), "the lock holds {found} when its holder gives it back");
            }
        }
        crew.meet(None)?;
        let all = self.turns * u64::from(crew.size());
        let (lock, value) = (crew.own_word(LOCK), crew.own_word(VALUE));
        demand!(crew.position() != self.lock_at || lock == 0, "the lock holds {lock} in the end");
        demand!(crew.position() != self.value_at || value == all, "the value is {value} after all {all} turns");
        Ok(())
    }
}

/// Returns the value that a holder writes to the lock.
fn mark(crew: &Crew<'_>) -> u64 {
    u64::from(crew.position()) + 1
}
