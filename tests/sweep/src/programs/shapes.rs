//! Ranks put, get and copy lists of places and strided blocks, and accumulate at lists of places: each word has what the same operations leave in plain
//! memory, and no other word changes.

use pelago_base::Shape;
use pelago_rma::{Accumulation, GlobalPtr, Handle};

use super::{Act, Memory, Trouble, demand};
use crate::crew::Crew;
use crate::random::{Random, stamp};

/// Words of each rank that nobody changes, words that each rank changes at each other one, and words that all ranks accumulate at.
const SOURCE: u64 = 240;
const STRIP: u64 = 120;
const SUMS: u64 = 7;

/// Maximum number of operations of a rank in a phase, which change separate parts of its strip.
const PARTS: u64 = 3;
const PART: u64 = STRIP / PARTS;

pub(super) struct Shapes {
    seed: u64,
    phases: u64,
    size: u32,
}

/// The words of an operation at one end.
struct Places {
    /// The indices, relative to the first word of the part; increasing if they are those of a shape.
    list: Vec<u64>,
    shape: Option<Shape>,
}

/// An operation of a rank.
struct Step {
    /// The rank whose strip it changes, and the first word in it.
    to: u32,
    first: u64,
    target: Places,
    /// The rank from whose source it reads, and the first word.
    from: u32,
    begin: u64,
    source: Places,
    way: Way,
}

#[derive(Clone, Copy)]
enum Way {
    /// Of values in memory of the program.
    Put,
    /// From the source to the strip.
    Copy,
    /// From the source to memory of the program; the strip does not change.
    Get,
}

impl Places {
    /// Draws two lists of equal length within `room` words, without repetitions: as shapes, or any lists.
    fn draw(random: &mut Random, room: u64) -> [Self; 2] {
        if random.one_in(2) {
            let block = random.within(1, 6);
            let count = random.within(1, room / block);
            let shape = |random: &mut Random| {
                let stride = match count {
                    1 => block,
                    _ => random.within(block, (room - block) / (count - 1)),
                };
                Shape::strided(count, block, stride)
            };
            return [shape(random), shape(random)].map(|shape| {
                let list = shape.offsets().flat_map(|offset| offset..offset + block).collect();
                Self { list, shape: Some(shape) }
            });
        }
        let count = random.within(1, room) as usize;
        let mut list = || {
            let mut all: Vec<_> = (0..room).collect();
            for place in 0..count {
                all.swap(place, place + random.below(room - place as u64) as usize);
            }
            all.truncate(count);
            Self { list: all, shape: None }
        };
        [list(), list()]
    }
}

impl Shapes {
    pub(super) fn new(random: &mut Random, size: u32) -> Self {
        Self { seed: random.draw(), phases: random.within(2, 6), size }
    }

    /// Returns the operations of a rank in a phase, which every rank can determine.
    fn steps(&self, phase: u64, position: u32) -> impl Iterator<Item = Step> {
        let mut random = Random::of(self.seed, phase << 32 | u64::from(position));
        let (size, count) = (self.size, random.within(1, PARTS));
        (0..count).map(move |part| {
            let [target, source] = Places::draw(&mut random, PART);
            let [to, from] = [(); 2].map(|()| random.below(size.into()) as u32);
            let way = *random.pick(&[Way::Put, Way::Put, Way::Copy, Way::Get]);
            Step { to, first: part * PART, target, from, begin: random.below(SOURCE - PART), source, way }
        })
    }

    /// Returns a word of a rank's source.
    fn source(&self, position: u32, index: u64) -> u64 {
        stamp(self.seed, [position.into(), index, 1])
    }

    /// Returns the value that an operation writes to the word with the given number of its list.
    fn value(&self, step: &Step, number: usize) -> u64 {
        self.source(step.from, step.begin + step.source.list[number])
    }

    /// Returns what a rank accumulates in a phase: the rank at which, the indices, which may occur several times, and the values.
    fn sums(&self, phase: u64, position: u32) -> (u32, Vec<u64>, Vec<u64>) {
        let mut random = Random::of(self.seed, 1 << 62 | phase << 32 | u64::from(position));
        let (to, count) = (random.below(self.size.into()) as u32, random.within(1, 12));
        (to, (0..count).map(|_| random.below(SUMS)).collect(), (0..count).map(|_| random.draw()).collect())
    }

    fn strip(&self, position: u32) -> u64 {
        SOURCE + SUMS + u64::from(position) * STRIP
    }

    /// Issues an operation. A get is complete on return, and its values are checked.
    fn issue<'w>(&self, crew: &Crew<'w>, step: &Step, is_started: bool) -> Result<Option<Handle<'w>>, Trouble> {
        let world = crew.world();
        let at = |position, index| -> GlobalPtr<u64> { crew.word(position, index as usize) };
        let to = at(step.to, self.strip(crew.position()) + step.first);
        let from = at(step.from, step.begin);
        let values: Vec<_> = (0..step.source.list.len()).map(|number| self.value(step, number)).collect();
        let shapes = step.target.shape.zip(step.source.shape);
        Ok(Some(match (step.way, shapes) {
            (Way::Put, None) => world.put_indexed(to, &step.target.list, &values)?,
            (Way::Put, Some((shape, _))) => world.put_strided(to, shape, &values, shape.packed())?,
            (Way::Copy, None) => world.copy_indexed(from, &step.source.list, to, &step.target.list)?,
            (Way::Copy, Some((target, source))) => world.copy_strided(from, source, to, target)?,
            (Way::Get, shapes) => {
                let mut found = vec![0; values.len()];
                match shapes {
                    Some((_, shape)) => world.get_strided(from, shape, &mut found, shape.packed())?,
                    None if is_started => world.start_get_indexed(from, &step.source.list)?.wait_into(&mut found)?,
                    None => world.get_indexed(from, &step.source.list, &mut found)?,
                }
                demand!(found == values, "a get of {} words from position {} is wrong", values.len(), step.from);
                return Ok(None);
            }
        }))
    }
}

impl Act for Shapes {
    fn memory(&self) -> Memory {
        Memory { words: self.strip(self.size) as usize, bytes: 0 }
    }

    fn play(&self, crew: &Crew<'_>) -> Result<(), Trouble> {
        let (me, world) = (crew.position(), crew.world());
        let mut random = Random::of(self.seed, me.into());
        let source: Vec<_> = (0..SOURCE).map(|index| self.source(me, index)).collect();
        world.put(crew.word(me, 0), &source)?.wait()?;
        crew.meet(None)?;
        let mut sums = [0_u64; SUMS as usize];
        let strips = self.strip(0)..self.strip(self.size);
        for phase in 0..self.phases {
            let mut under_way = Vec::new();
            for step in self.steps(phase, me) {
                crew.pause();
                under_way.extend(self.issue(crew, &step, random.one_in(2))?);
            }
            let (to, places, values) = self.sums(phase, me);
            world.accumulate_indexed(crew.word(to, SOURCE as usize), &places, Accumulation::Sum, &values)?;
            world.wait_all(&under_way)?;
            world.quiet()?;
            crew.meet(None)?;
            let mut expected = vec![0; (strips.end - strips.start) as usize];
            for writer in 0..self.size {
                let changes = |step: &Step| step.to == me && !matches!(step.way, Way::Get);
                for step in self.steps(phase, writer).filter(changes) {
                    let first = u64::from(writer) * STRIP + step.first;
                    for (number, place) in step.target.list.iter().enumerate() {
                        expected[(first + place) as usize] = self.value(&step, number);
                    }
                }
                let (to, places, values) = self.sums(phase, writer);
                for (place, value) in places.iter().zip(values).filter(|_| to == me) {
                    sums[*place as usize] = sums[*place as usize].wrapping_add(value);
                }
            }
            for (index, expected) in strips.clone().zip(&expected) {
                let found = crew.own_word(index as usize);
                demand!(found == *expected, "word {index} is {found:#x}, not {expected:#x}, after phase {phase}");
            }
            for (index, expected) in (SOURCE..).zip(&sums) {
                let found = crew.own_word(index as usize);
                demand!(found == *expected, "sum {index} is {found:#x}, not {expected:#x}, after phase {phase}");
            }
            world.put(crew.word(me, strips.start as usize), &vec![0; expected.len()])?.wait()?;
            crew.meet(None)?;
        }
        Ok(())
    }
}
