//! Tagged messages between pairs of ranks. The data are put into one area at the receiver that all messages share, as they are never read.
//!
//! ```text
//!  sender                                                    receiver
//!    |-- put(data) -------------------------------------------->| its landing area
//!    |-- then set(ring of the sender, message modulo 32) ------>| round and tag in one word
//!    |<------------- max(credit): so many words were read ------| after each 16
//!    |-- fence, add(starved, 1), when 32 were sent, not read --->| reads the rings of all senders, not only of those it waits for
//! ```
//!
//! A message of up to eight bytes consists of its word only. A receiver reads the rings of the ranks named by its open receives. A sender
//! without credit requests a read of its ring, so that messages without an open receive do not block later ones forever.

use std::collections::{HashMap, VecDeque};

use pelago::{Accumulation, Error, Fetch, GlobalAddress, GlobalPtr, Individual, Rank, Result, Signal, Symmetric, World};

use super::{ANY, Graph, Kind};

/// Words in a ring, by which a sender announces messages, and maximum number of announced messages that the receiver has not read.
const RING_WORDS: u64 = 32;

/// Number of messages whose reading is reported to the sender together.
const CREDIT: u64 = RING_WORDS / 2;

/// Maximum bytes of one put, and size of the landing area of each rank.
pub(crate) const PIECE_BYTES: usize = 1 << 20;

/// Data of all messages.
pub(crate) static ZEROS: [u8; PIECE_BYTES] = [0; PIECE_BYTES];

/// Maximum bytes of a message that consists of its word only.
const IN_WORD_BYTES: u64 = 8;

/// The messages of one rank.
pub(crate) struct Messages<'w> {
    world: &'w World,
    pub(crate) landing: Symmetric<'w, u8>,
    /// Number of requests by senders without credit.
    starved: Symmetric<'w, u64>,
    starved_seen: u64,
    rings: Individual<'w, u64>,
    incoming: Vec<Incoming>,
    by_source: HashMap<u32, usize>,
    /// Number of messages that each receiver has reported as read.
    credits: Individual<'w, u64>,
    outgoing: HashMap<u32, Outgoing>,
    matching: Matching,
}

/// A rank that sends to this one.
struct Incoming {
    source: u32,
    read: u64,
    credit: GlobalPtr<u64>,
    /// Number of open receives that name this source.
    open: u32,
}

/// A rank that this one sends to.
struct Outgoing {
    ring: GlobalPtr<u64>,
    sent: u64,
    /// Its index in the credits.
    place: usize,
}

impl<'w> Messages<'w> {
    /// Allocates the memory for the messages of all ranks' graphs. Collective.
    ///
    /// Cost: an atomic, a get and a put for each pair of ranks that communicates, and some barriers.
    pub(crate) fn new(world: &'w World, graph: &Graph) -> Result<Self> {
        let mut targets: Vec<u32> = of_kind(graph, Kind::Send).collect();
        targets.sort_unstable();
        targets.dedup();
        let landing_bytes = graph.operations.iter().filter(|operation| operation.kind != Kind::Compute);
        let landing_bytes = landing_bytes.map(|operation| operation.amount).max().unwrap_or(0);
        let mut landing_bytes = [landing_bytes.clamp(IN_WORD_BYTES, PIECE_BYTES as u64)];
        world.allreduce(&mut landing_bytes, u64::max)?;
        let landing = world.alloc(landing_bytes[0] as usize)?;
        // Words with the addresses of a rank's rings and introductions, and with the number of ranks that send to it.
        const RINGS: usize = 0;
        const INTRODUCTIONS: usize = 1;
        const SENDERS: usize = 2;
        let words = world.alloc::<u64>(3)?;
        let at = |target: u32, word| words.at(Rank::new(target), word);
        let asked: Vec<Fetch<'_, u64>> =
            targets.iter().map(|&target| world.fetch_add(at(target, SENDERS), 1)).collect::<Result<_>>()?;
        let places: Vec<u64> = asked.into_iter().map(Fetch::wait).collect::<Result<_>>()?;
        world.barrier()?;
        let senders = words.local().load(SENDERS) as usize;
        let rings = world.alloc_individual::<u64>((senders * RING_WORDS as usize).max(1))?;
        let introductions = world.alloc_individual::<u64>((2 * senders).max(1))?;
        words.local().store(RINGS, rings.ptr(0).address().bits());
        words.local().store(INTRODUCTIONS, introductions.ptr(0).address().bits());
        let credits = world.alloc_individual::<u64>(targets.len().max(1))?;
        world.barrier()?;
        let mut outgoing = HashMap::with_capacity(targets.len());
        for (place, (&target, &there)) in targets.iter().zip(&places).enumerate() {
            let ring = pointer(world.get(at(target, RINGS))?)?.add(there * RING_WORDS);
            let introduction = pointer(world.get(at(target, INTRODUCTIONS))?)?.add(2 * there);
            world.put(introduction, &[u64::from(world.rank()), credits.ptr(place).address().bits()])?;
            outgoing.insert(target, Outgoing { ring, sent: 0, place });
        }
        world.quiet()?;
        world.barrier()?;
        let mut incoming = Vec::with_capacity(senders);
        let mut by_source = HashMap::with_capacity(senders);
        for place in 0..senders {
            let [source, credit] = [0, 1].map(|word| introductions.local().load(2 * place + word));
            by_source.insert(source as u32, place);
            incoming.push(Incoming { source: source as u32, read: 0, credit: pointer(credit)?, open: 0 });
        }
        let starved = world.alloc(1)?;
        let matching = Matching { left: of_kind(graph, Kind::Receive).count(), ..Matching::default() };
        Ok(Self { world, landing, starved, starved_seen: 0, rings, incoming, by_source, credits, outgoing, matching })
    }

    /// Sends a message; returns when its memory may be reused. While waiting for credit, it reads messages and adds completed receives to `ended`.
    pub(crate) fn send(&mut self, to: u32, tag: u32, bytes: u64, ended: &mut Vec<u32>) -> Result<()> {
        let world = self.world;
        let Outgoing { ring, sent, place } = &self.outgoing[&to];
        let (slot, place, number) = (ring.add(sent % RING_WORDS), *place, *sent);
        let has_credit = |messages: &Self| number - messages.credits.local().load(place) < RING_WORDS;
        if !has_credit(self) {
            // The receiver reads once for each request, and must find all earlier messages.
            world.fence()?;
            world.add(self.starved.at(Rank::new(to), 0), 1)?;
            world.wait_for("room for a message", None, || {
                self.read(ended)?;
                Ok(has_credit(self).then_some(()))
            })?;
        }
        let word = (number / RING_WORDS + 1) << 32 | u64::from(tag);
        let to = Rank::new(to);
        let pieces = if bytes > IN_WORD_BYTES { self.pieces(bytes) } else { Vec::new() };
        match pieces.split_last() {
            None => drop(world.set(slot, word)?),
            Some((last, others)) => {
                for &piece in others {
                    world.put(self.landing.at(to, 0), &ZEROS[..piece])?;
                }
                // Puts to one rank may overtake each other; the fence orders the word after all of them.
                if !others.is_empty() {
                    world.fence()?;
                }
                world.put_signal(self.landing.at(to, 0), &ZEROS[..*last], slot, Signal::Set(word))?;
            }
        }
        self.outgoing.get_mut(&to.number()).expect("it was there").sent += 1;
        Ok(())
    }

    /// Splits a message into pieces for single puts.
    pub(crate) fn pieces(&self, bytes: u64) -> Vec<usize> {
        let piece = self.landing.len() as u64;
        let last = Some(bytes % piece).filter(|&last| last > 0);
        std::iter::repeat_n(piece, (bytes / piece) as usize).chain(last).map(|piece| piece as usize).collect()
    }

    /// Opens a receive; returns whether it completed at once.
    pub(crate) fn receive(&mut self, operation: u32, source: u32, tag: u32) -> bool {
        let ends = self.matching.receive(operation, source, tag);
        if !ends && let Some(&place) = self.by_source.get(&source) {
            self.incoming[place].open += 1;
        }
        ends
    }

    /// Returns whether any receive is open.
    pub(crate) fn is_any_open(&self) -> bool {
        self.matching.open > 0
    }

    /// Reads arrived messages from sources of open receives; adds completed receives to `ended`.
    pub(crate) fn read(&mut self, ended: &mut Vec<u32>) -> Result<()> {
        let starved = self.starved.local().load(0);
        let all = starved != self.starved_seen || self.matching.open_for_any > 0;
        self.starved_seen = starved;
        if !all && self.matching.open == 0 {
            return Ok(());
        }
        for place in 0..self.incoming.len() {
            if all || self.incoming[place].open > 0 {
                self.read_ring(place, ended)?;
            }
        }
        Ok(())
    }

    fn read_ring(&mut self, place: usize, ended: &mut Vec<u32>) -> Result<()> {
        let incoming = &mut self.incoming[place];
        let ring = place * RING_WORDS as usize;
        loop {
            let word = self.rings.local().load(ring + (incoming.read % RING_WORDS) as usize);
            if word >> 32 != incoming.read / RING_WORDS + 1 {
                return Ok(());
            }
            incoming.read += 1;
            if incoming.read.is_multiple_of(CREDIT) {
                // By maximum, as an earlier report may arrive after a later one.
                self.world.accumulate(incoming.credit, Accumulation::Max, incoming.read)?;
            }
            if let Some(receive) = self.matching.arrived(incoming.source, word as u32) {
                ended.push(receive.operation);
                if receive.names_source {
                    incoming.open -= 1;
                }
            } else if self.matching.has_too_many() {
                return Err(Error::Invalid("a rank sends more messages than the other one receives"));
            }
        }
    }

    /// Returns the number of messages for which no receive exists. Collective.
    pub(crate) fn left_over(&mut self) -> Result<u64> {
        self.world.quiet()?;
        self.world.barrier()?;
        let ring_words = RING_WORDS as usize;
        let unread = |(place, incoming): (usize, &Incoming)| {
            (0..ring_words)
                .filter(|&slot| {
                    let word = self.rings.local().load(place * ring_words + slot);
                    let round = incoming.read / RING_WORDS + 1;
                    let expected = if slot as u64 >= incoming.read % RING_WORDS { round } else { round + 1 };
                    word >> 32 == expected
                })
                .count() as u64
        };
        let unread: u64 = self.incoming.iter().enumerate().map(unread).sum();
        let mut left = [unread + self.matching.waiting as u64];
        self.world.allreduce(&mut left, |one, other| one + other)?;
        Ok(left[0])
    }
}

fn of_kind(graph: &Graph, kind: Kind) -> impl Iterator<Item = u32> {
    graph.operations.iter().filter(move |operation| operation.kind == kind).map(|operation| operation.peer)
}

fn pointer(bits: u64) -> Result<GlobalPtr<u64>> {
    GlobalPtr::from_address(GlobalAddress::from_bits(bits)).map_err(|_| Error::Invalid("a rank has told a wrong address"))
}

/// Matching of messages and receives: the first message with a source and tag completes the first open receive that matches them.
#[derive(Default)]
struct Matching {
    /// Open receives, each with its number in the order of all receives.
    receives: HashMap<(u32, u32), VecDeque<(u64, u32)>>,
    open: usize,
    /// Number of open receives from any source.
    open_for_any: usize,
    /// Unexpected messages, each with its number in the order of all messages.
    messages: HashMap<(u32, u32), VecDeque<u64>>,
    waiting: usize,
    /// Number of receives that have not completed, open or not.
    left: usize,
    count: u64,
}

/// A completed receive.
struct Received {
    operation: u32,
    names_source: bool,
}

impl Matching {
    /// Opens a receive; returns whether a matching message has arrived already.
    fn receive(&mut self, operation: u32, source: u32, tag: u32) -> bool {
        let fits = |&&(from, with): &&(u32, u32)| (source == ANY || source == from) && (tag == ANY || tag == with);
        let key = if source != ANY && tag != ANY {
            self.messages.contains_key(&(source, tag)).then_some((source, tag))
        } else {
            let fitting = self.messages.keys().filter(fits);
            fitting.min_by_key(|key| self.messages[key].front()).copied()
        };
        if let Some(key) = key {
            let messages = self.messages.get_mut(&key).expect("it was found");
            messages.pop_front();
            if messages.is_empty() {
                self.messages.remove(&key);
            }
            self.waiting -= 1;
            self.left -= 1;
            return true;
        }
        self.count += 1;
        self.open += 1;
        self.open_for_any += usize::from(source == ANY);
        self.receives.entry((source, tag)).or_default().push_back((self.count, operation));
        false
    }

    /// Takes an arrived message; returns the receive that it completes.
    fn arrived(&mut self, source: u32, tag: u32) -> Option<Received> {
        let keys = [(source, tag), (source, ANY), (ANY, tag), (ANY, ANY)];
        let first = |key: &(u32, u32)| self.receives.get(key).and_then(|receives| receives.front()).copied();
        let found = keys.iter().filter_map(|key| Some((first(key)?, *key))).min();
        let Some(((_, operation), key)) = found else {
            self.count += 1;
            self.waiting += 1;
            self.messages.entry((source, tag)).or_default().push_back(self.count);
            return None;
        };
        let receives = self.receives.get_mut(&key).expect("it was found");
        receives.pop_front();
        if receives.is_empty() {
            self.receives.remove(&key);
        }
        self.open -= 1;
        self.open_for_any -= usize::from(key.0 == ANY);
        self.left -= 1;
        Some(Received { operation, names_source: key.0 != ANY })
    }

    /// Returns whether some message will never be received.
    fn has_too_many(&self) -> bool {
        self.waiting > self.left
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_end_receives_in_the_order_in_which_they_were_opened() {
        let mut matching = Matching { left: 6, ..Matching::default() };
        let ended = |matching: &mut Matching, source, tag| matching.arrived(source, tag).map(|receive| receive.operation);
        assert!(!matching.receive(10, 1, 5));
        assert!(!matching.receive(11, ANY, 5));
        assert!(!matching.receive(12, 1, ANY));
        assert_eq!(ended(&mut matching, 2, 6), None);
        assert_eq!(ended(&mut matching, 1, 5), Some(10));
        assert_eq!(ended(&mut matching, 1, 5), Some(11));
        assert_eq!(ended(&mut matching, 1, 5), Some(12));
        assert_eq!(ended(&mut matching, 1, 7), None);
        assert!(!matching.receive(13, 2, 7));
        assert!(matching.receive(14, ANY, ANY), "the one of rank 2, which came first");
        assert!(matching.receive(15, 1, 7));
        assert_eq!((matching.open, matching.waiting, matching.left), (1, 0, 1));
        assert_eq!(ended(&mut matching, 3, 7), None);
        assert!(!matching.has_too_many());
        assert_eq!(ended(&mut matching, 3, 7), None);
        assert!(matching.has_too_many());
    }
}
