//! The ends of the library's own protocol, one for each rank. Their datagrams travel over the simulated network, where the fault injection loses,
//! delays or doubles some of them.

use std::collections::BTreeMap;

use pelago_base::{Counters, Duration, GlobalAddress, Instant, Rank};
use pelago_kit::datagrams::{RankConversations, RankMemory, admit, completed as fetch_completed, deregister, request};
use pelago_memory::Region;
use pelago_netsim::NetworkOperation;
use pelago_platform::{Completion, Operation, PostError, RegisterError, Token};
use pelago_protocol::{Config, Event, Key, Liveness, PeerIndex};

use crate::protocol::faults::{FaultInjection, FaultRandom};
use crate::protocol::settings::Protocol;

/// The payload of a datagram on Ethernet.
const DATAGRAM_BYTES: usize = 1472;

/// Bytes that may be in transit to a rank: the size of a socket's receive buffer.
const RECEIVE_WINDOW_BYTES: u64 = 1 << 20;

/// The ends of all ranks, and the datagrams between them.
pub(crate) struct Stations {
    protocol: Protocol,
    ranks: Vec<StationEnd>,
    /// Datagrams in transit.
    datagrams: Vec<Option<Datagram>>,
    free: Vec<u32>,
    /// Datagrams that the fault injection has dropped.
    dropped: u64,
    buffer: Box<[u8]>,
}

/// One rank's end.
struct StationEnd {
    conversations: RankConversations,
    memory: RankMemory,
    peers: BTreeMap<Rank, PeerIndex>,
    random: FaultRandom,
    /// The time of its timer, if that is set, and how often it was set.
    due: Option<Instant>,
    timer_count: u32,
    dead: bool,
}

struct Datagram {
    from: Rank,
    to: Rank,
    bytes: Box<[u8]>,
}

/// What a station requests of the network.
pub(crate) enum StationRequest {
    /// Send a datagram after a delay.
    Send { number: u32, datagram: NetworkOperation, from: Rank, delay: Duration },
    /// Call [`Stations::handle_timeout`] at this time.
    Timer { rank: Rank, at: Instant, count: u32 },
}

/// What has changed at a station.
#[derive(Default)]
pub(crate) struct StationChanges {
    /// Whether the rank has completions or incoming writes to look at.
    pub(crate) has_news: bool,
    /// Peers that have not answered for too long.
    pub(crate) failed_peers: Vec<Rank>,
}

impl Stations {
    pub(crate) fn new(protocol: Protocol, layout: pelago_base::AddressLayout, ranks: u32, seed: u64) -> Self {
        let end = |number| {
            let (key, receive_window_bytes) = (Key([7; 16]), RECEIVE_WINDOW_BYTES);
            let Protocol { encrypt, failure_limit, .. } = protocol;
            let me = Rank::new(number);
            let config = Config { me, incarnation: 1, layout, key, encrypt, failure_limit, receive_window_bytes };
            let random = FaultRandom::new(seed, u64::from(number));
            let (conversations, memory) = (RankConversations::new(config), RankMemory::new(layout, me));
            StationEnd { conversations, memory, peers: BTreeMap::new(), random, due: None, timer_count: 0, dead: false }
        };
        Self {
            ranks: (0..ranks).map(end).collect(),
            protocol,
            datagrams: Vec::new(),
            free: Vec::new(),
            dropped: 0,
            buffer: vec![0; DATAGRAM_BYTES].into(),
        }
    }

    pub(crate) fn faults(&self) -> &FaultInjection {
        &self.protocol.faults
    }

    pub(crate) fn register(&mut self, rank: Rank, start: GlobalAddress, memory: Region<'static>) -> Result<(), RegisterError> {
        self.end(rank).memory.register(start, memory)
    }

    pub(crate) fn deregister(&mut self, rank: Rank, start: GlobalAddress) -> bool {
        let StationEnd { conversations, memory, .. } = self.end(rank);
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

    pub(crate) fn take_completed(&mut self, rank: Rank, into: &mut Vec<Completion>) -> bool {
        fetch_completed(&mut self.end(rank).conversations, into)
    }

    pub(crate) fn peer_failed(&mut self, now: Instant, rank: Rank, peer: Rank) {
        self.end(rank).conversations.peer_failed(now, peer);
    }

    /// A rank dies: it neither sends nor receives any more.
    pub(crate) fn kill(&mut self, rank: Rank) {
        self.end(rank).dead = true;
    }

    /// Whether a rank has died.
    pub(crate) fn is_dead(&self, rank: Rank) -> bool {
        self.ranks[rank.index()].dead
    }

    /// Datagrams that the fault injection has dropped.
    pub(crate) fn dropped(&self) -> u64 {
        self.dropped
    }

    /// A datagram arrives; returns its receiver.
    pub(crate) fn receive(&mut self, now: Instant, number: u32) -> Rank {
        let mut datagram = self.datagrams[number as usize].take().expect("the network names datagrams that it has");
        self.free.push(number);
        let end = self.end(datagram.to);
        if !end.dead {
            // The counters say what is refused.
            let _ = end.conversations.handle_datagram(now, &mut datagram.bytes, &mut end.memory);
        }
        datagram.to
    }

    /// The network has lost a datagram.
    pub(crate) fn forget(&mut self, number: u32) {
        if self.datagrams[number as usize].take().is_some() {
            self.free.push(number);
        }
    }

    /// How often the timer of a rank's station was set.
    pub(crate) fn timer_count(&self, rank: Rank) -> u32 {
        self.ranks[rank.index()].timer_count
    }

    /// The timer of a rank's station expires; `false` if the rank is dead.
    pub(crate) fn handle_timeout(&mut self, now: Instant, rank: Rank) -> bool {
        let end = self.end(rank);
        if end.dead {
            return false;
        }
        end.due = None;
        end.conversations.handle_timeout(now);
        true
    }

    /// A datagram that was held back, as the network sends it, and its sender.
    pub(crate) fn delayed(&self, number: u32, per_node: u32) -> (NetworkOperation, Rank) {
        let datagram = self.datagrams[number as usize].as_ref().expect("a datagram that was held back is kept");
        (datagram.on_network(per_node), datagram.from)
    }

    /// Takes from a rank's station what it has to send and what it has found out.
    pub(crate) fn settle(
        &mut self,
        now: Instant,
        rank: Rank,
        per_node: u32,
        requests: &mut Vec<StationRequest>,
    ) -> StationChanges {
        let mut changes = StationChanges::default();
        if self.end(rank).dead {
            return changes;
        }
        loop {
            let end = &mut self.ranks[rank.index()];
            while let Some(event) = end.conversations.poll_event() {
                match event {
                    Event::Met(_, other) => drop(end.peer(other)),
                    // The simulator has no launcher that knows whether a silent rank is alive.
                    Event::Silent(other) => end.conversations.handle_liveness(now, other, Liveness::Unknown),
                    Event::Lost(other) => changes.failed_peers.push(other),
                    Event::Unreachable(other) => unreachable!("nobody says that rank {other} is alive"),
                }
            }
            let Some(transmit) = end.conversations.poll_transmit(now, &end.memory, &mut self.buffer, false) else { break };
            let bytes = &self.buffer[..transmit.bytes];
            let mut deliveries = self.protocol.faults.deliveries(&mut end.random, now, rank, transmit.to).peekable();
            self.dropped += u64::from(deliveries.peek().is_none());
            for delay in deliveries {
                let datagram = Datagram { from: rank, to: transmit.to, bytes: bytes.into() };
                let on_network = datagram.on_network(per_node);
                let number = self.free.pop().unwrap_or(self.datagrams.len() as u32);
                if number as usize == self.datagrams.len() {
                    self.datagrams.push(None);
                }
                self.datagrams[number as usize] = Some(datagram);
                requests.push(StationRequest::Send { number, datagram: on_network, from: rank, delay });
            }
        }
        let end = self.end(rank);
        changes.has_news = end.memory.take_touched() || end.conversations.completions() > 0;
        if let Some(due) = end.conversations.poll_timeout()
            && end.due.is_none_or(|known| due < known)
        {
            end.due = Some(due);
            end.timer_count = end.timer_count.wrapping_add(1);
            requests.push(StationRequest::Timer { rank, at: due.max(now), count: end.timer_count });
        }
        changes
    }

    /// The counters of each rank's station.
    pub(crate) fn counters(&self) -> Vec<Counters> {
        self.ranks.iter().map(|end| end.conversations.counters().clone()).collect()
    }

    fn end(&mut self, rank: Rank) -> &mut StationEnd {
        &mut self.ranks[rank.index()]
    }
}

impl StationEnd {
    fn peer(&mut self, rank: Rank) -> PeerIndex {
        *self.peers.entry(rank).or_insert_with(|| self.conversations.connect(rank, DATAGRAM_BYTES))
    }
}

impl Datagram {
    fn on_network(&self, per_node: u32) -> NetworkOperation {
        let [from, to] = [self.from, self.to].map(|rank| rank.number() / per_node);
        NetworkOperation::Datagram { from, to, bytes: self.bytes.len() as u64 }
    }
}
