//! Ranks share variables: a writer has exclusive access, and reads the data of the previous writer, independent of home and transfer. Then the ranks
//! share a region, by sections and by barriers.

use std::cell::Cell;

use pelago_base::{Duration, Rank};
use pelago_dsm::{Coherence, Counter, Homes, Placement, Region, RegionSettings, Shared, SyncBarrier};
use pelago_rma::{Error, World};

use super::{Act, Memory, Trouble, demand};
use crate::crew::Crew;
use crate::random::{Random, stamp};

/// Words of the variables: one that is piggybacked on the token, one with a single block that is not, and one with many blocks.
const LENGTHS: [usize; 3] = [9, 700, 4500];

/// Time limit of waits with a limit.
const PATIENCE: Duration = Duration::from_microseconds(40);

/// Number of elements of the region, and of its pages.
const ELEMENTS: usize = 300;
const PAGE: usize = 32;

pub(super) struct SharedData {
    seed: u64,
    turns: u64,
    meetings: u64,
    length: usize,
    home: u32,
    homes: Homes,
    coherence: Coherence,
    /// For each variable: number of writes, whether a rank is writing it, and number of ranks that are reading it.
    written: [Cell<u64>; 2],
    writing: [Cell<bool>; 2],
    reading: [Cell<u32>; 2],
}

impl SharedData {
    pub(super) fn new(random: &mut Random, size: u32) -> Self {
        let homes = [Homes::Blocks, Homes::Cyclic, Homes::At(Rank::new(random.below(size.into()) as u32))];
        Self {
            seed: random.draw(),
            turns: random.within(4, if size > 6 { 10 } else { 20 }),
            meetings: random.within(1, 4),
            length: *random.pick(&LENGTHS),
            home: random.below(size.into()) as u32,
            homes: *random.pick(&homes),
            coherence: *random.pick(&[Coherence::Invalidate, Coherence::Update]),
            written: Default::default(),
            writing: Default::default(),
            reading: Default::default(),
        }
    }

    /// Returns a word of a variable after a number of writes: most words do not change from one write to the next.
    fn content(&self, which: usize, written: u64, word: usize) -> u64 {
        let last = written.saturating_sub((written + word as u64) % 7);
        stamp(self.seed, [which as u64, last, word as u64])
    }

    fn check(&self, which: usize, data: &[u64]) -> Result<(), Trouble> {
        let written = self.written[which].get();
        let wrong = (0..data.len()).find(|&word| data[word] != self.content(which, written, word));
        demand!(wrong.is_none(), "word {} of variable {which} is not that of version {written}", wrong.unwrap_or_default());
        Ok(())
    }

    /// Called while this rank has write access to a variable: checks that no other rank has access and that the data are those of the last write. Writes the
    /// next version.
    fn write(&self, crew: &Crew<'_>, which: usize, data: &mut [u64]) -> Result<(), Trouble> {
        demand!(!self.writing[which].replace(true), "two ranks write variable {which}");
        demand!(self.reading[which].get() == 0, "variable {which} is written while it is read");
        self.check(which, data)?;
        crew.pause();
        let written = self.written[which].get() + 1;
        for (word, value) in data.iter_mut().enumerate() {
            *value = self.content(which, written, word);
        }
        self.written[which].set(written);
        self.writing[which].set(false);
        Ok(())
    }

    fn read(&self, crew: &Crew<'_>, which: usize, data: &[u64]) -> Result<(), Trouble> {
        demand!(!self.writing[which].get(), "variable {which} is read while it is written");
        self.reading[which].set(self.reading[which].get() + 1);
        self.check(which, data)?;
        crew.pause();
        self.check(which, data)?;
        self.reading[which].set(self.reading[which].get() - 1);
        Ok(())
    }

    fn take_turn(
        &self,
        crew: &Crew<'_>,
        random: &mut Random,
        which: usize,
        variable: &mut Shared<'_, [u64]>,
    ) -> Result<(), Trouble> {
        crew.pause();
        match random.below(10) {
            0..4 => {
                let mut guard = variable.write()?;
                self.write(crew, which, &mut guard)?;
                guard.release()?;
            }
            4 | 5 => {
                let guard = variable.read()?;
                self.read(crew, which, &guard)?;
                guard.release()?;
            }
            6 => {
                let guard = variable.try_write()?;
                if let Some(mut guard) = guard {
                    self.write(crew, which, &mut guard)?;
                    guard.release()?;
                }
            }
            7 => match variable.write_within(PATIENCE) {
                Ok(mut guard) => {
                    self.write(crew, which, &mut guard)?;
                    guard.release()?;
                }
                Err(Error::TimedOut { .. }) => {}
                Err(error) => return Err(error.into()),
            },
            8 => {
                variable.prefetch()?;
                crew.pause();
                let mut guard = variable.write()?;
                self.write(crew, which, &mut guard)?;
                let guard = guard.downgrade()?;
                self.read(crew, which, &guard)?;
                guard.release()?;
            }
            _ => variable.place(*random.pick(&[Placement::Home, Placement::Migrating]))?,
        }
        Ok(())
    }

    /// Each rank writes the elements at its position in each group of elements, and all ranks read them after each barrier; a sum is updated in
    /// sections.
    fn share_region(&self, crew: &Crew<'_>, world: &World) -> Result<(), Trouble> {
        let settings = RegionSettings { page_length: Some(PAGE), homes: self.homes, coherence: self.coherence };
        let (me, size) = (crew.position() as usize, crew.size() as usize);
        let mut region = Region::<u64>::new(world, ELEMENTS, settings)?;
        let barrier = SyncBarrier::new(world)?;
        let sections = Counter::new(world, Rank::new(self.home), 0)?;
        let value = |meeting: u64, element: usize| stamp(self.seed, [meeting, 3, element as u64]);
        for meeting in 1..=self.meetings {
            for element in (1..ELEMENTS).filter(|element| element % size == me) {
                region.write(element..element + 1)?[0] = value(meeting, element);
            }
            crew.pause();
            // Exclusive: the first element must equal the number of sections, which a counter holds.
            let mut section = region.acquire()?;
            let before = sections.add(1)?;
            let sum = section.read(0..1)?[0];
            demand!(sum == before, "section {before} of the region finds {sum}");
            section.write(0..1)?[0] = sum + 1;
            section.release()?;
            region.barrier()?;
            let found = region.read(0..ELEMENTS)?;
            let wrong = (1..ELEMENTS).find(|&element| found[element] != value(meeting, element));
            demand!(wrong.is_none(), "element {} of the region is not that of meeting {meeting}", wrong.unwrap_or_default());
            demand!(found[0] == meeting * size as u64, "{} sections after meeting {meeting}", found[0]);
            barrier.wait()?;
        }
        Ok(())
    }
}

impl Act for SharedData {
    fn memory(&self) -> Memory {
        Memory::default()
    }

    fn play(&self, crew: &Crew<'_>) -> Result<(), Trouble> {
        let world = crew.world();
        let mut random = Random::of(self.seed, crew.position().into());
        let initial =
            |which: usize, length: usize| -> Vec<u64> { (0..length).map(|word| self.content(which, 0, word)).collect() };
        let (home, other) = (Rank::new(self.home), Rank::new((self.home + 1) % crew.size()));
        let mut variables = [
            Shared::<[u64]>::new(world, home, initial(0, LENGTHS[0]))?,
            Shared::<[u64]>::new(world, other, initial(1, self.length))?,
        ];
        for _ in 0..self.turns {
            let which = random.below(2) as usize;
            self.take_turn(crew, &mut random, which, &mut variables[which])?;
        }
        crew.meet(None)?;
        for (which, variable) in variables.iter_mut().enumerate() {
            let guard = variable.read()?;
            self.check(which, &guard)?;
            guard.release()?;
        }
        self.share_region(crew, world)?;
        crew.meet(None)
    }
}
