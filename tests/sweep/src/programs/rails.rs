//! Each rank puts data to its right neighbour by one network, another or both at once, and then a flag by any of them; ranks update halos in the
//! same way. A rank that reads the flag finds all preceding data.

use pelago_rma::{Handle, Ordered, Rail};

use super::halos::Halos;
use super::{Act, Memory, Trouble, demand};
use crate::crew::Crew;
use crate::random::{Random, stamp};

/// Maximum number of bytes of a put: slightly more than the size at which transfers are divided.
const BYTES_MAX: usize = 20_000;

/// The word that signals the arrival of all data.
const FLAG: usize = 0;

pub(super) struct Rails {
    seed: u64,
    rounds: u64,
    halos: Halos,
}

/// The operations of a rank in a round.
struct Turn {
    bytes: usize,
    /// The rails of the first put of the data, of the second, and of the flag; `None` is the library's choice.
    rails: [Option<Rail>; 3],
    order: Order,
}

/// The means by which the flag is ordered after the data.
#[derive(Clone, Copy)]
enum Order {
    After,
    AfterAll,
    /// A fence by the rail of the data, unless the data used all rails.
    Fence,
    Completion,
}

impl Rails {
    pub(super) fn new(random: &mut Random, size: u32) -> Self {
        Self { seed: random.draw(), rounds: random.within(1, 12), halos: Halos::by_rails(random, size) }
    }

    fn turn(&self, position: u32, round: u64) -> Turn {
        let mut random = Random::of(self.seed, u64::from(position) << 32 | round);
        let bytes = random.spread(BYTES_MAX as u64) as usize;
        let rails = [(); 3].map(|()| Rail::new(random.below(4) as usize).filter(|rail| rail.number() < 3));
        let order = *random.pick(&[Order::After, Order::AfterAll, Order::Fence, Order::Completion]);
        Turn { bytes, rails, order }
    }

    fn content(&self, position: u32, round: u64, bytes: usize) -> Vec<u8> {
        let stamp = stamp(self.seed, [position.into(), round, 1]).to_le_bytes();
        (0..bytes).map(|index| stamp[index % 8] ^ (index / 8) as u8).collect()
    }

    /// Puts wrong data, then the correct data, then the flag, each ordered after the previous one.
    fn put(&self, crew: &Crew<'_>, round: u64) -> Result<(), Trouble> {
        let (world, me, right) = (crew.world(), crew.position(), (crew.position() + 1) % crew.size());
        let Turn { bytes, rails, order } = self.turn(me, round);
        let (data, flag) = (crew.byte(right, 0), crew.word(right, FLAG));
        let neighbour = world.ranks().nth(right as usize).unwrap_or(world.rank());
        let [first, second, last] = rails.map(|rail| rail.filter(|&rail| world.rails().reach(rail, neighbour)));
        let wrong = by(world.after(&Handle::done()), first).put(data, &self.content(me, round + self.rounds, bytes))?;
        let right = by(world.after(&wrong), second).put(data, &self.content(me, round, bytes))?;
        crew.pause();
        let last = match order {
            // With a single rail, no rail stands for all.
            Order::Fence if second.is_none() || second != world.rails().all() => second,
            _ => last,
        };
        let ordered = match order {
            Order::After => world.after(&right),
            Order::AfterAll => world.after_all(),
            Order::Fence => {
                world.fence()?;
                world.after(&Handle::done())
            }
            Order::Completion => {
                right.wait()?;
                world.after(&Handle::done())
            }
        };
        by(ordered, last).put(flag, &[round])?;
        Ok(())
    }

    fn check(&self, crew: &Crew<'_>, round: u64) -> Result<(), Trouble> {
        let left = (crew.position() + crew.size() - 1) % crew.size();
        crew.await_word(FLAG, |seen| seen == round)?;
        let expected = self.content(left, round, self.turn(left, round).bytes);
        let found = crew.content();
        let wrong = expected.iter().zip(&found).position(|(expected, found)| expected != found);
        demand!(wrong.is_none(), "byte {wrong:?} of {} came later than the flag of round {round}", expected.len());
        Ok(())
    }
}

/// Selects the rail, if there is one.
fn by(ordered: Ordered<'_>, rail: Option<Rail>) -> Ordered<'_> {
    match rail {
        None => ordered,
        Some(rail) => ordered.on(rail),
    }
}

impl Act for Rails {
    fn memory(&self) -> Memory {
        Memory { words: FLAG + 1, bytes: BYTES_MAX }
    }

    fn play(&self, crew: &Crew<'_>) -> Result<(), Trouble> {
        for round in 1..=self.rounds {
            self.put(crew, round)?;
            crew.pause();
            self.check(crew, round)?;
            crew.meet(None)?;
        }
        self.halos.play(crew)
    }
}
