//! Ranks that reach each other by the library's own protocol: its datagrams travel over the simulated network, where some of them are lost,
//! late or doubled.

use std::collections::BTreeMap;

use pelago_base::{Counters, Duration, GlobalAddress, Instant, Rank};
use pelago_kit::datagrams::{RankConversations, RankMemory, admit, completed as fetch_completed, deregister, request};
use pelago_memory::Region;
use pelago_netsim::Operation as Message;
use pelago_platform::{Completion, Operation, PostError, RegisterError, Token};
use pelago_protocol::{Config, Event, Key, Liveness, PeerIndex};

use crate::Protocol;
use crate::faults::{Dice, Faults};

/// The payload of a datagram on Ethernet.
const DATAGRAM_BYTES: usize = 1472;

/// Bytes that may be on their way to a rank: what a socket holds.
const RECEIVE_WINDOW_BYTES: u64 = 1 << 20;

/// What of a count comes back with a wake-up.
const ASKED_MASK: u32 = (1 << 29) - 1;

/// The ends of all conversations.
pub(crate) struct Stations {
    protocol: Protocol,
    ranks: Vec<End>,
    /// Datagrams that are on their way.
    datagrams: Vec<Option<Datagram>>,
    free: Vec<u32>,
    /// Datagrams that were lost on purpose.
    lost: u64,
    buffer: Box<[u8]>,
}

/// One rank's end.
struct End {
    conversations: RankConversations,
    memory: RankMemory,
    peers: BTreeMap<Rank, PeerIndex>,
    dice: Dice,
    /// When the rank is looked at next, as far as that was asked for, and which asking it was.
    due: Option<Instant>,
    asked: u32,
    dead: bool,
}

struct Datagram {
    from: Rank,
    to: Rank,
    bytes: Box<[u8]>,
}

/// What a step of a rank asks of the network.
pub(crate) enum Ask {
    /// Send this datagram, so much later than now.
    Send { number: u32, message: Message, from: Rank, later: Duration },
    /// Look at a rank at this time.
    Look { rank: Rank, at: Instant, asked: u32 },
}

/// What a step of a rank has shown.
#[derive(Default)]
pub(crate) struct Shown {
    /// Whether the rank may want to look.
    pub(crate) news: bool,
    /// Ranks that have not answered for too long.
    pub(crate) lost: Vec<Rank>,
}

impl Stations {
    pub(crate) fn new(protocol: Protocol, layout: pelago_base::AddressLayout, ranks: u32, seed: u64) -> Self {
        let end = |number| {
            let (key, receive_window_bytes) = (Key([7; 16]), RECEIVE_WINDOW_BYTES);
            let Protocol { encrypt, failure_limit, .. } = protocol;
            let me = Rank::new(number);
            let config = Config { me, incarnation: 1, layout, key, encrypt, failure_limit, receive_window_bytes };
            let dice = Dice::new(seed, u64::from(number));
            let (conversations, memory) = (RankConversations::new(config), RankMemory::new(layout, me));
            End { conversations, memory, peers: BTreeMap::new(), dice, due: None, asked: 0, dead: false }
        };
        Self {
            ranks: (0..ranks).map(end).collect(),
            protocol,
            datagrams: Vec::new(),
            free: Vec::new(),
            lost: 0,
            buffer: vec![0; DATAGRAM_BYTES].into(),
        }
    }

    pub(crate) fn faults(&self) -> &Faults {
        &self.protocol.faults
    }

    pub(crate) fn register(&mut self, rank: Rank, start: GlobalAddress, memory: Region<'static>) -> Result<(), RegisterError> {
        self.end(rank).memory.register(start, memory)
    }

    pub(crate) fn deregister(&mut self, rank: Rank, start: GlobalAddress) -> bool {
        let End { conversations, memory, .. } = self.end(rank);
        deregister(conversations, memory, start)
    }

    pub(crate) fn post(
        &mut self,
        now: Instant,
        rank: Rank,
        to: Rank,
        operation: Operation<'_>,
        token: Token,
    ) -> Result<(), PostError> {
        let end = self.end(rank);
        let peer = end.peer(to);
        admit(&end.conversations)?;
        end.conversations.submit(now, peer, request(operation)?, token.0).map_err(|_| PostError::Full)
    }

    pub(crate) fn fence(&mut self, rank: Rank, to: Rank) {
        let end = self.end(rank);
        let peer = end.peer(to);
        end.conversations.fence(peer);
    }

    pub(crate) fn completed(&mut self, rank: Rank, into: &mut Vec<Completion>) -> bool {
        fetch_completed(&mut self.end(rank).conversations, into)
    }

    pub(crate) fn peer_failed(&mut self, now: Instant, rank: Rank, failed: Rank) {
        self.end(rank).conversations.peer_failed(now, failed);
    }

    /// A rank dies: it neither sends nor receives any more.
    pub(crate) fn kill(&mut self, rank: Rank) {
        self.end(rank).dead = true;
    }

    /// Whether a rank has died.
    pub(crate) fn is_dead(&self, rank: Rank) -> bool {
        self.ranks[rank.index()].dead
    }

    /// How many datagrams were lost on purpose.
    pub(crate) fn lost(&self) -> u64 {
        self.lost
    }

    /// A datagram arrives; returns at whom.
    pub(crate) fn arrive(&mut self, now: Instant, number: u32) -> Rank {
        let mut datagram = self.datagrams[number as usize].take().expect("the network names datagrams that it has");
        self.free.push(number);
        let end = self.end(datagram.to);
        if !end.dead {
            // What is refused is counted; it changes nothing here.
            let _ = end.conversations.handle_datagram(now, &mut datagram.bytes, &mut end.memory);
        }
        datagram.to
    }

    /// A datagram was lost on the way.
    pub(crate) fn forget(&mut self, number: u32) {
        if self.datagrams[number as usize].take().is_some() {
            self.free.push(number);
        }
    }

    /// The time has come to look at a rank; `false` if it was asked for earlier than something else.
    pub(crate) fn look(&mut self, now: Instant, rank: Rank, asked: u32) -> bool {
        let end = self.end(rank);
        if end.asked & ASKED_MASK != asked || end.dead {
            return false;
        }
        end.due = None;
        end.conversations.handle_timeout(now);
        true
    }

    /// The message by which a datagram travels that was held back.
    pub(crate) fn message(&self, number: u32, per_node: u32) -> (Message, Rank) {
        let datagram = self.datagrams[number as usize].as_ref().expect("a datagram that was held back is kept");
        (datagram.message(per_node), datagram.from)
    }

    /// Sends what a rank has to send, and finds out what it has found out.
    pub(crate) fn settle(&mut self, now: Instant, rank: Rank, per_node: u32, asks: &mut Vec<Ask>) -> Shown {
        let mut shown = Shown::default();
        if self.end(rank).dead {
            return shown;
        }
        loop {
            let end = &mut self.ranks[rank.index()];
            while let Some(event) = end.conversations.poll_event() {
                match event {
                    Event::Met(_, other) => drop(end.peer(other)),
                    // Nobody knows more of a simulated rank than that it is silent.
                    Event::Silent(other) => end.conversations.handle_liveness(now, other, Liveness::Unknown),
                    Event::Lost(other) => shown.lost.push(other),
                    Event::Unreachable(other) => unreachable!("nobody says that {other} is alive"),
                }
            }
            let Some(transmit) = end.conversations.poll_transmit(now, &end.memory, &mut self.buffer, false) else { break };
            let bytes = &self.buffer[..transmit.bytes];
            let mut deliveries = self.protocol.faults.deliveries(&mut end.dice, now, rank, transmit.to).peekable();
            self.lost += u64::from(deliveries.peek().is_none());
            for later in deliveries {
                let datagram = Datagram { from: rank, to: transmit.to, bytes: bytes.into() };
                let message = datagram.message(per_node);
                let number = self.free.pop().unwrap_or(self.datagrams.len() as u32);
                if number as usize == self.datagrams.len() {
                    self.datagrams.push(None);
                }
                self.datagrams[number as usize] = Some(datagram);
                asks.push(Ask::Send { number, message, from: rank, later });
            }
        }
        let end = self.end(rank);
        shown.news = end.memory.take_touched() || end.conversations.completions() > 0;
        if let Some(due) = end.conversations.poll_timeout()
            && end.due.is_none_or(|known| due < known)
        {
            end.due = Some(due);
            end.asked = end.asked.wrapping_add(1);
            asks.push(Ask::Look { rank, at: due.max(now), asked: end.asked });
        }
        shown
    }

    /// What passed, and what of it was refused, on all ranks together.
    pub(crate) fn counters(&self) -> Vec<Counters> {
        self.ranks.iter().map(|end| end.conversations.counters().clone()).collect()
    }

    fn end(&mut self, rank: Rank) -> &mut End {
        &mut self.ranks[rank.index()]
    }
}

impl End {
    fn peer(&mut self, rank: Rank) -> PeerIndex {
        *self.peers.entry(rank).or_insert_with(|| self.conversations.connect(rank, DATAGRAM_BYTES))
    }
}

impl Datagram {
    fn message(&self, per_node: u32) -> Message {
        let [from, to] = [self.from, self.to].map(|rank| rank.number() / per_node);
        Message::Datagram { from, to, bytes: self.bytes.len() as u64 }
    }
}
