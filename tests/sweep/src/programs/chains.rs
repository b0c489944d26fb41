//! Operations ordered after each other: by fences to one rank, and by chains over several ranks.

use super::{Act, Memory, Trouble, demand};
use crate::crew::Crew;
use crate::random::{Random, stamp};

/// The word that is repeatedly put, with fences in between; then, for each position, words for the begin, the middle and the end of its chain.
const STREAM: usize = 0;
const CHAINS: usize = 1;

pub(super) struct Chains {
    seed: u64,
    size: u32,
    /// Number of puts of a stream, and number of rounds of chains.
    puts: u64,
    rounds: u64,
}

/// The positions of a chain in a round.
struct Course {
    begins: u32,
    passes: u32,
    ends: u32,
    /// Whether the last operation waits for all previous operations, and not only for the last one.
    after_all: bool,
}

impl Chains {
    pub(super) fn new(random: &mut Random, size: u32) -> Self {
        Self { seed: random.draw(), size, puts: random.within(1, 20), rounds: random.within(1, 5) }
    }

    fn course(&self, position: u32, round: u64) -> Course {
        let mut random = Random::of(self.seed, u64::from(position) << 32 | round);
        let mut any = || random.below(self.size.into()) as u32;
        Course { begins: any(), passes: any(), ends: any(), after_all: random.one_in(3) }
    }

    fn word(&self, stage: usize, position: u32) -> usize {
        CHAINS + stage * self.size as usize + position as usize
    }

    fn value(&self, position: u32, round: u64) -> u64 {
        stamp(self.seed, [position.into(), round, 0])
    }

    /// Puts increasing values, and checks that the target never observes a decrease.
    fn stream(&self, crew: &Crew<'_>) -> Result<(), Trouble> {
        let right = (crew.position() + 1) % crew.size();
        for value in 1..=self.puts {
            crew.world().put(crew.word(right, STREAM), &[value])?;
            crew.world().fence()?;
        }
        let mut last = 0;
        while last < self.puts {
            let value = crew.await_word(STREAM, |value| value != last)?;
            demand!((last + 1..=self.puts).contains(&value), "the stream goes from {last} to {value}");
            last = value;
        }
        Ok(())
    }

    /// Issues a put, a copy of its data to another rank, and an increment at a third rank.
    fn issue(&self, crew: &Crew<'_>, round: u64) -> Result<(), Trouble> {
        let (me, world) = (crew.position(), crew.world());
        let Course { begins, passes, ends, after_all } = self.course(me, round);
        let [first, second, third] = [begins, passes, ends].map({
            let mut stage = 0..;
            move |position| crew.word(position, self.word(stage.next().unwrap_or_default(), me))
        });
        let put = world.put(first, &[self.value(me, round)])?;
        let copy = world.after(&put).copy(first, second, 1)?;
        let last = if after_all { world.after_all().add(third, 1)? } else { world.after(&copy).add(third, 1)? };
        crew.pause();
        // The other rounds rely on the barrier, which waits for all operations.
        if round % 2 == 1 {
            last.wait()?;
        }
        Ok(())
    }

    /// Checks that the other operations of a chain that ends here have completed when its count is visible.
    fn look(&self, crew: &Crew<'_>, round: u64) -> Result<(), Trouble> {
        for position in (0..crew.size()).filter(|&position| self.course(position, round).ends == crew.position()) {
            let ended = (1..=round).filter(|&earlier| self.course(position, earlier).ends == crew.position()).count() as u64;
            let count = crew.await_word(self.word(2, position), |count| count >= ended)?;
            demand!(count == ended, "{count} chains of position {position} have ended here, not {ended}");
            let passed = self.course(position, round).passes;
            let value = crew.world().get(crew.word(passed, self.word(1, position)))?;
            demand!(value == self.value(position, round), "the chain of position {position} has ended before its copy");
        }
        Ok(())
    }
}

impl Act for Chains {
    fn memory(&self) -> Memory {
        Memory { words: CHAINS + 3 * self.size as usize, bytes: 0 }
    }

    fn play(&self, crew: &Crew<'_>) -> Result<(), Trouble> {
        self.stream(crew)?;
        for round in 1..=self.rounds {
            self.issue(crew, round)?;
            self.look(crew, round)?;
            crew.meet(None)?;
        }
        Ok(())
    }
}
