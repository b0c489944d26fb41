//! The stations of the library's own protocol: the end of each rank. Their datagrams travel over the simulated network, where the fault injection
//! loses, delays or duplicates some of them.

use std::collections::BTreeMap;

use pelago_base::{Counters, Duration, GlobalAddress, Instant, Rank};
use pelago_kit::datagrams::{RankConversations, RankMemory, admit, completed as fetch_completed, deregister, request};
use pelago_memory::Region;
use pelago_netsim::{Datagrams, NetworkOperation};
use pelago_platform::{Completion, Operation, PostError, RegisterError, Token};
use pelago_protocol::{Config, Event, Key, Liveness, PeerIndex};

use super::driver::{Driver, Load};
use crate::protocol::faults::{FaultInjection, FaultRandom};
use crate::protocol::settings::Protocol;
use crate::timer::Timer;

/// Payload of a UDP datagram in one Ethernet frame.
const DATAGRAM_BYTES: usize = 1472;

/// Number of bytes that may be in flight to a rank: the size of a socket's receive buffer.
const RECEIVE_WINDOW_BYTES: u64 = 1 << 20;

/// The stations of all ranks, and the datagrams between them.
pub(crate) struct Stations {
    protocol: Protocol,
    pub(super) ranks: Vec<StationEnd>,
    /// Datagrams in transit.
    datagrams: Vec<Option<Datagram>>,
    free: Vec<u32>,
    /// Number of datagrams that the fault injection has dropped.
    dropped: u64,
    buffer: Box<[u8]>,
    /// Size of the longest datagram.
    datagram_bytes: usize,
}

/// The station of one rank.
pub(super) struct StationEnd {
    pub(super) conversations: RankConversations,
    memory: RankMemory,
    peers: BTreeMap<Rank, PeerIndex>,
    random: FaultRandom,
    timer: Timer,
    dead: bool,
    /// Its driver, used on machines where datagrams take core time.
    pub(super) driver: Box<Driver>,
}

/// A datagram, or several from one rank to another that one system call sends.
#[derive(Clone)]
pub(super) struct Datagram {
    pub(super) from: Rank,
    pub(super) to: Rank,
    pub(super) bytes: Box<[u8]>,
}

/// A request of a station to the network.
pub(crate) enum StationRequest {
    /// Send a datagram after a delay.
    Send { number: u32, datagram: NetworkOperation, from: Rank, delay: Duration },
    /// Call [`Stations::handle_timer`] at this time.
    Timer { rank: Rank, at: Instant },
}

/// The changes at a station.
#[derive(Default)]
pub(crate) struct StationChanges {
    /// Whether the rank has new completions or incoming writes.
    pub(crate) has_news: bool,
    /// Peers that have not answered for too long.
    pub(crate) failed_peers: Vec<Rank>,
    /// Peers that answer, but that a datagram has not reached for too long.
    pub(crate) unreachable_peers: Vec<Rank>,
}

impl Stations {
    pub(crate) fn new(
        protocol: Protocol,
        layout: pelago_base::AddressLayout,
        ranks: u32,
        seed: u64,
        costs: Option<&Datagrams>,
    ) -> Self {
        let datagram_bytes = costs.map_or(DATAGRAM_BYTES, |costs| costs.datagram_bytes as usize);
        let window_bytes = costs.map_or(RECEIVE_WINDOW_BYTES, |costs| u64::from(costs.window_bytes));
        let end = |number| {
            let (key, receive_window_bytes) = (Key([7; 16]), window_bytes);
            let Protocol { encrypt, failure_limit, .. } = protocol;
            let me = Rank::new(number);
            let config = Config { me, incarnation: 1, layout, key, encrypt, failure_limit, receive_window_bytes };
            let random = FaultRandom::new(seed, u64::from(number));
            let (conversations, memory) = (RankConversations::new(config), RankMemory::new(layout, me));
            let (peers, driver) = (BTreeMap::new(), Box::default());
            StationEnd { conversations, memory, peers, random, timer: Timer::default(), dead: false, driver }
        };
        Self {
            ranks: (0..ranks).map(end).collect(),
            protocol,
            datagrams: Vec::new(),
            free: Vec::new(),
            dropped: 0,
            buffer: vec![0; datagram_bytes].into(),
            datagram_bytes,
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
        let peer = self.peer(rank, to);
        let end = self.end(rank);
        admit(&end.conversations)?;
        end.conversations.submit(now, peer, request(operation)?, token.0).map_err(|_| PostError::Full)
    }

    pub(crate) fn fence(&mut self, rank: Rank, to: Rank) {
        let peer = self.peer(rank, to);
        self.end(rank).conversations.fence(peer);
    }

    pub(crate) fn take_completed(&mut self, rank: Rank, into: &mut Vec<Completion>) -> bool {
        fetch_completed(&mut self.end(rank).conversations, into)
    }

    pub(crate) fn peer_failed(&mut self, now: Instant, rank: Rank, peer: Rank) {
        self.end(rank).conversations.peer_failed(now, peer);
    }

    /// Makes a rank dead: it neither sends nor receives from now on.
    pub(crate) fn kill(&mut self, rank: Rank) {
        self.end(rank).dead = true;
    }

    /// Whether a rank has died.
    pub(crate) fn is_dead(&self, rank: Rank) -> bool {
        self.ranks[rank.index()].dead
    }

    /// Returns the number of datagrams that the fault injection has dropped.
    pub(crate) fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Returns the receiver of a datagram in transit.
    pub(crate) fn receiver(&self, number: u32) -> Rank {
        self.datagram(number).to
    }

    /// Receives a datagram that arrives.
    pub(crate) fn receive(&mut self, now: Instant, number: u32) {
        let mut datagram = self.datagrams[number as usize].take().expect("the network names datagrams that it has");
        self.free.push(number);
        let end = self.end(datagram.to);
        if !end.dead {
            // Rejected datagrams appear in the counters.
            for bytes in pelago_protocol::cut(&mut datagram.bytes) {
                let _ = end.conversations.handle_datagram(now, bytes, &mut end.memory);
            }
        }
    }

    /// Removes a datagram that was lost.
    pub(crate) fn forget(&mut self, number: u32) {
        if self.datagrams[number as usize].take().is_some() {
            self.free.push(number);
        }
    }

    /// Handles an event of the timer of a rank's station; returns whether its deadline has passed, unless the rank is dead.
    pub(crate) fn handle_timer(&mut self, now: Instant, rank: Rank) -> bool {
        let end = self.end(rank);
        let is_due = end.timer.is_due(now) && !end.dead;
        if is_due {
            end.conversations.handle_timeout(now);
        }
        is_due
    }

    /// Returns a datagram that was held back, in the form that the network sends, and its sender.
    pub(crate) fn delayed(&self, number: u32, per_node: u32) -> (NetworkOperation, Rank) {
        let datagram = self.datagrams[number as usize].as_ref().expect("a datagram that was held back is kept");
        (datagram.on_network(per_node), datagram.from)
    }

    /// Collects the requests of a rank's station; returns its changes.
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
            self.handle_events(now, rank, &mut changes);
            let end = &mut self.ranks[rank.index()];
            let Some(transmit) = end.conversations.poll_transmit(now, &end.memory, &mut self.buffer, false) else { break };
            let bytes = &self.buffer[..transmit.bytes];
            let mut deliveries = self.protocol.faults.deliveries(&mut end.random, now, rank, transmit.to).peekable();
            self.dropped += u64::from(deliveries.peek().is_none());
            for delay in deliveries {
                let datagram = Datagram { from: rank, to: transmit.to, bytes: bytes.into() };
                let on_network = datagram.on_network(per_node);
                let number = keep(&mut self.datagrams, &mut self.free, datagram);
                requests.push(StationRequest::Send { number, datagram: on_network, from: rank, delay });
            }
        }
        changes.has_news = self.has_news(rank);
        requests.extend(self.timer(now, rank));
        changes
    }

    /// Whether the rank has completions, or incoming writes since the last call.
    pub(crate) fn has_news(&mut self, rank: Rank) -> bool {
        let end = self.end(rank);
        end.memory.take_touched() || end.conversations.completions() > 0
    }

    /// Sets the timer of a rank's station to the deadline of its conversations; returns a request if an event of the timer is needed for that.
    pub(crate) fn timer(&mut self, now: Instant, rank: Rank) -> Option<StationRequest> {
        let end = self.end(rank);
        let due = end.conversations.poll_timeout().filter(|_| !end.dead);
        let at = end.timer.set(now, due)?;
        Some(StationRequest::Timer { rank, at })
    }

    fn handle_events(&mut self, now: Instant, rank: Rank, changes: &mut StationChanges) {
        while let Some(event) = self.end(rank).conversations.poll_event() {
            match event {
                Event::Met(_, other) => drop(self.peer(rank, other)),
                // The simulator has no launcher that knows whether a silent rank is alive.
                Event::Silent(other) => self.end(rank).conversations.handle_liveness(now, other, Liveness::Unknown),
                Event::Lost(other) => changes.failed_peers.push(other),
                Event::Unreachable(other) => changes.unreachable_peers.push(other),
            }
        }
    }

    /// Makes the next datagram of a rank.
    pub(super) fn make(&mut self, now: Instant, rank: Rank, load: Load, changes: &mut StationChanges) -> Option<(Rank, Vec<u8>)> {
        if let Some(made) = self.driver(rank).made.take() {
            return Some(made);
        }
        if self.is_dead(rank) {
            return None;
        }
        self.handle_events(now, rank, changes);
        let StationEnd { conversations, memory, .. } = &mut self.ranks[rank.index()];
        let transmit = match load {
            Load::Any { patient } => conversations.poll_transmit(now, memory, &mut self.buffer, patient),
            Load::Full(to) => conversations.poll_transmit_full(now, to, memory, &mut self.buffer),
        };
        transmit.map(|transmit| (transmit.to, self.buffer[..transmit.bytes].to_vec()))
    }

    pub(crate) fn driver(&mut self, rank: Rank) -> &mut Driver {
        &mut self.ranks[rank.index()].driver
    }

    pub(super) fn datagram(&self, number: u32) -> &Datagram {
        self.datagrams[number as usize].as_ref().expect("a message that has not ended is kept")
    }

    pub(super) fn keep(&mut self, datagram: Datagram) -> u32 {
        keep(&mut self.datagrams, &mut self.free, datagram)
    }

    /// Returns the additional delay of each copy of a message, besides the time of the network; none if the message is lost.
    pub(super) fn deliveries(&mut self, now: Instant, from: Rank, to: Rank) -> Vec<Duration> {
        let random = &mut self.ranks[from.index()].random;
        let delays: Vec<_> = self.protocol.faults.deliveries(random, now, from, to).collect();
        self.dropped += u64::from(delays.is_empty());
        delays
    }

    /// Returns the index of a peer at the station of a rank; connects them on first use.
    pub(crate) fn peer(&mut self, rank: Rank, peer: Rank) -> PeerIndex {
        let datagram_bytes = self.datagram_bytes;
        let StationEnd { peers, conversations, .. } = self.end(rank);
        *peers.entry(peer).or_insert_with(|| conversations.connect(peer, datagram_bytes))
    }

    /// Returns the counters of each rank's station.
    pub(crate) fn counters(&self) -> Vec<Counters> {
        self.ranks.iter().map(|end| end.conversations.counters().clone()).collect()
    }

    fn end(&mut self, rank: Rank) -> &mut StationEnd {
        &mut self.ranks[rank.index()]
    }
}

/// Stores a message until it has arrived; returns its number.
fn keep(datagrams: &mut Vec<Option<Datagram>>, free: &mut Vec<u32>, datagram: Datagram) -> u32 {
    let number = free.pop().unwrap_or(datagrams.len() as u32);
    if number as usize == datagrams.len() {
        datagrams.push(None);
    }
    datagrams[number as usize] = Some(datagram);
    number
}

impl Datagram {
    fn on_network(&self, per_node: u32) -> NetworkOperation {
        let [from, to] = [self.from, self.to].map(|rank| rank.number() / per_node);
        NetworkOperation::Datagram { from, to, bytes: self.bytes.len() as u64 }
    }
}
