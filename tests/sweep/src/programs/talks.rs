//! Ranks exchange two-sided messages of all protocols: in rings, where each receives by tag, and to one rank, which receives from any.

use pelago_base::Rank;
use pelago_messaging::{Lengths, Messages, Party, Received, Settings};

use super::{Act, Memory, Trouble, demand};
use crate::crew::Crew;
use crate::random::{Random, stamp};

/// Slots of each rank, and bytes of a message in them and of an eager one.
const SLOTS: u32 = 4;
const SLOT_BYTES: usize = 160;
const EAGER_BYTES: usize = 64;

/// Maximum length of a message, and number of messages of a rank in a step. No more than its receiver has slots for, as all ranks send before they receive.
const BYTES_MAX: u64 = 700;
const BURST_MAX: u64 = 3;

pub(super) struct Talks {
    seed: u64,
    steps: u64,
    lengths: Lengths,
}

impl Talks {
    pub(super) fn new(random: &mut Random) -> Self {
        let mixed = Lengths { eager_bytes_max: EAGER_BYTES / 2, acquired_bytes_max: SLOT_BYTES };
        let lengths = *random.pick(&[Lengths::EAGER, Lengths::RENDEZVOUS, Lengths::ACQUIRED, mixed]);
        Self { seed: random.draw(), steps: random.within(4, 24), lengths }
    }

    /// Returns a message of a rank, which every rank can determine.
    fn message(&self, from: u32, step: u64, number: u64) -> Vec<u8> {
        let mut random = Random::of(stamp(self.seed, [from.into(), step, number]), 0);
        let bytes = if random.one_in(8) { 0 } else { random.spread(BYTES_MAX) };
        (0..bytes).map(|_| random.draw() as u8).collect()
    }
}

/// The tag of a message.
fn tag(step: u64, number: u64) -> u32 {
    (step << 8 | number) as u32
}

/// One rank's state.
struct Talker<'t, 'm, 'w> {
    talks: &'t Talks,
    party: Party<'m, 'w>,
    me: u32,
    /// Number of messages from each rank.
    received: Vec<u32>,
    own: Random,
}

impl Talker<'_, '_, '_> {
    fn send(&mut self, to: u32, step: u64, burst: u64) -> Result<(), Trouble> {
        for number in 0..burst {
            self.party.send(Rank::new(to), tag(step, number), &self.talks.message(self.me, step, number))?;
        }
        Ok(())
    }

    /// Receives the messages of a rank: by tag in any order if none of them makes its sender wait, else in their order.
    fn receive(&mut self, from: u32, step: u64, burst: u64) -> Result<(), Trouble> {
        let Lengths { eager_bytes_max, acquired_bytes_max } = self.talks.lengths;
        let most = eager_bytes_max.min(EAGER_BYTES).max(acquired_bytes_max.min(SLOT_BYTES));
        let is_free = most > 0 && (0..burst).all(|number| self.talks.message(from, step, number).len() <= most);
        let mut left: Vec<_> = (0..burst).collect();
        let first = self.received[from as usize];
        while !left.is_empty() {
            let place = if is_free { self.own.below(left.len() as u64) as usize } else { 0 };
            let number = left.remove(place);
            let received = self.party.receive(Some(Rank::new(from)), Some(tag(step, number)))?;
            self.check(&received, from, step, number, first + number as u32)?;
        }
        self.received[from as usize] += burst as u32;
        Ok(())
    }

    fn check(&self, received: &Received, from: u32, step: u64, number: u64, count: u32) -> Result<(), Trouble> {
        let is_right = received.from == Rank::new(from)
            && received.tag == tag(step, number)
            && received.number == count
            && received.bytes == self.talks.message(from, step, number);
        demand!(is_right, "message {number} of rank {from} in step {step} is another one, with number {}", received.number);
        Ok(())
    }

    /// Receives the messages of all others, from any.
    fn receive_from_all(&mut self, size: u32, step: u64, burst: u64) -> Result<(), Trouble> {
        let mut seen = vec![vec![false; burst as usize]; size as usize];
        for _ in 0..u64::from(size - 1) * burst {
            let received = self.party.receive(None, None)?;
            let (from, number) = (received.from.number(), u64::from(received.tag) & 0xff);
            demand!(received.tag == tag(step, number) && number < burst, "rank {from} has sent tag {:#x}", received.tag);
            let is_again = std::mem::replace(&mut seen[from as usize][number as usize], true);
            demand!(!is_again, "message {number} of rank {from} came twice in step {step}");
            self.check(&received, from, step, number, self.received[from as usize] + number as u32)?;
        }
        (0..size).filter(|&from| from != self.me).for_each(|from| self.received[from as usize] += burst as u32);
        Ok(())
    }
}

impl Act for Talks {
    fn memory(&self) -> Memory {
        Memory::default()
    }

    fn play(&self, crew: &Crew<'_>) -> Result<(), Trouble> {
        let (me, size, world) = (crew.position(), crew.size(), crew.world());
        let (slots, eager) = (Settings::new(SLOTS, SLOT_BYTES), Settings::new(SLOTS, EAGER_BYTES));
        let messages = Messages::new(world, self.lengths, slots, eager)?;
        let received = vec![0; size as usize];
        let own = Random::of(self.seed, 1 + u64::from(me));
        let mut talker = Talker { talks: self, party: messages.party()?, me, received, own };
        // The same numbers on every rank.
        let mut random = Random::of(self.seed, 0);
        for step in 0..self.steps {
            crew.pause();
            let burst = random.within(1, BURST_MAX);
            if random.one_in(3) {
                let root = random.below(size.into()) as u32;
                if me == root {
                    talker.receive_from_all(size, step, burst)?;
                } else {
                    talker.send(root, step, burst)?;
                }
                // No message of the next step is among those from any rank.
                crew.meet(None)?;
                continue;
            }
            // In each cycle of the ring at least one rank receives first, so that no ranks wait for each other by rendezvous.
            let distance = random.within(1, u64::from(size) - 1) as u32;
            let (to, from) = ((me + distance) % size, (me + size - distance) % size);
            let is_first = me < greatest_common_divisor(distance, size);
            if !is_first {
                talker.send(to, step, burst)?;
            }
            talker.receive(from, step, burst)?;
            if is_first {
                talker.send(to, step, burst)?;
            }
        }
        Ok(())
    }
}

fn greatest_common_divisor(one: u32, other: u32) -> u32 {
    if other == 0 { one } else { greatest_common_divisor(other, one % other) }
}
