//! A rank's conversations over its endpoint, driven by the thread that holds their lock: the rank or its progress thread.
//!
//! A put or get of memory whose key is known is an access of the fabric (RMA), in which no core of the target takes part. All other operations are requests
//! that the owner performs: atomics, because atomics of a fabric and of cores do not exclude each other; copies between two other ranks; transfers of short
//! blocks, which travel packed ([`blocks`]); writes with a signal; transfers to and from memory that the fabric does not access, such as that of many devices ([`devices`]).
//!
//! ```text
//!   poster                                owner
//!      │ HELLO, once ─────────────────────▶ │  the first contact: both know each other's endpoint
//!      │ ◀───────────────────────── WELCOME │
//!      │ LOOKUP address ──────────────────▶ │  once for each region: its bounds and its key, which are lent
//!      │ ◀────────────────────────── REGION │
//!      │ ═ fi_write, fi_read ═════════════▶ │  bounds are checked here, the key by the owner's provider
//!      │ ◀────────────────────────── REVOKE │  deregistering waits until all to whom the key was lent gave it back
//!      │ REVOKED ─────────────────────────▶ │
//! ```
//!
//! Each domain of the fabric is a rail with its own port. Messages use the first rail. Accesses that were posted to another rail use that rail once the peer
//! has answered a message that arrived by it, and the first until then: network cards may reach different peers.
//!
//! Messages between two ranks keep their order (`FI_ORDER_SAS`), and so do those that wait for space: each peer has one queue of them. They have sequence
//! numbers, because a provider may report a failure to send a message that has arrived, or has not.

mod asking;
mod atomics;
mod blocks;
mod contact;
mod delivery;
mod detour;
mod devices;
mod serving;
mod silence;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::os::fd::OwnedFd;

use pelago_base::{AddressLayout, AtomicOperator, Failure, GlobalAddress, Rank, Width};
use pelago_memory::{Cells, Region, Regions};
use pelago_platform::{Address, Completion, ConnectError, Endpoint, Flags, Rail, RegisterError, Token};
use slab::Slab;
use zerocopy::{FromZeros, IntoBytes};

use crate::fabric::{Event, FiAddress, Port, Refusal, Registration, Remote, Slot};
use crate::limits::{CALLS_PER_LOOK, LIST_BLOCKS_MAX, RECEIVE_SLOTS, TRANSMIT_SLOTS};
use crate::message::{End, Header, Published, kind, sender};
use blocks::Scattered;
use delivery::Delivery;
use devices::{DeviceSegments, OwnDevice};
pub(crate) use silence::Awaited;

/// Returns the published address of a rank, if there is such a rank.
pub(crate) type Find = Box<dyn Fn(Rank) -> Option<Address> + Send>;

/// The number of the rail that messages use.
const FIRST: usize = 0;

/// Number of bits of an endpoint that hold the index of the peer; those above hold the number of the rail.
const PEER_BITS: u32 = 28;

/// The endpoint of a peer by a rail.
const fn endpoint(peer: usize, rail: usize) -> Endpoint {
    Endpoint((rail << PEER_BITS | peer) as u32)
}

/// The peer of an endpoint, and the number of its rail.
const fn led_to(endpoint: Endpoint) -> (usize, usize) {
    ((endpoint.0 & ((1 << PEER_BITS) - 1)) as usize, (endpoint.0 >> PEER_BITS) as usize)
}

pub(crate) struct Engine {
    /// One port for each rail.
    ports: Vec<Port>,
    me: Rank,
    layout: AddressLayout,
    /// Published with this rank's address: a sender that knows it has read that address.
    nonce: u64,
    find: Find,
    /// Whether the caller obtains the published addresses that `find` does not know; see [`take_wanted`](Self::take_wanted).
    seeks: bool,
    /// Addresses obtained by the caller.
    records: BTreeMap<Rank, Address>,
    /// Ranks whose address is being obtained, and those of them that the caller has not taken yet.
    sought: BTreeSet<Rank>,
    wanted: Vec<Rank>,
    regions: Regions<Own>,
    /// Number of regions that are being deregistered.
    closing: usize,
    peers: Vec<Peer>,
    by_rank: BTreeMap<Rank, usize>,
    operations: Slab<Posted>,
    /// The use of each slot of each rail, by its index.
    uses: Vec<Vec<Use>>,
    /// Receive slots for which the provider had no space, with their rails.
    unposted: Vec<(usize, Slot)>,
    /// Peers and rails for which a test of whether the rail reaches the peer has not been sent.
    unproved: Vec<(usize, usize)>,
    /// Memory for a message that arrived early, when its turn has come.
    spare: Slot,
    /// Operations that another transport must perform.
    detours: VecDeque<usize>,
    /// Peers for which something may have to be sent.
    busy: BTreeSet<usize>,
    /// Peers whose last atomics wait for others that are posted next, to leave with them.
    held: BTreeSet<usize>,
    /// Number of accepted operations whose completion the poster has not fetched.
    accepted: usize,
    /// Maximum number of blocks of a list, and the number of blocks of all lists of operations that have not ended.
    blocks_max: usize,
    listed: usize,
    completed: Vec<Completion>,
    /// Whether a peer has written to this rank's memory since the last [`take_news`](Self::take_news).
    touched: bool,
    /// Peers that failed according to the fabric and were not reported yet.
    losses: Vec<Rank>,
    events: Vec<Event>,
    devices: DeviceSegments,
}

/// The owner's record of a region.
struct Own {
    /// Registrations with the first rails; without any, accesses are requests to the owner.
    registrations: Vec<Registration>,
    /// Peers that hold the key, and the number of times that it was granted to each.
    lent_to: BTreeMap<usize, u64>,
    /// Number of copies in progress that read the region.
    readers: u32,
    /// Whether the region is being deregistered, so that no new access begins.
    is_closing: bool,
    /// Set if the region is in device memory.
    device: Option<OwnDevice>,
}

/// State of the contact with a peer.
enum Way {
    /// The peer is this rank.
    Me,
    /// Its endpoint is not known yet.
    Sought,
    /// It was greeted and has not answered.
    Greeted,
    Open,
    /// Reached by the transport that has introduced it: the fabric does not reach it.
    Around,
    Lost(Failure),
}

struct Peer {
    rank: Rank,
    way: Way,
    address: FiAddress,
    /// The nonce that it has published.
    nonce: u64,
    /// Its ends of the rails after the first, as far as this rank has these rails.
    ends: Vec<End>,
    /// Operations posted to it, by rail: the first, and further ones up to the last by which this rank has connected to it.
    lanes: Vec<Lane>,
    /// Whether a call for it has failed: it counts as failed as soon as no caller is in the middle of a step.
    is_failing: bool,
    /// Second halves of copies, from this rank's memory to the peer, that were not completely sent, in order. They wait for no fence and have their own limit
    /// of requests: otherwise ranks that copy in a circle would wait for each other.
    halves: VecDeque<usize>,
    /// Number of unanswered requests: of operations, and of halves.
    unanswered: [u32; 2],
    /// Messages for which there was no space, in order.
    outbox: VecDeque<Vec<u8>>,
    delivery: Delivery,
    /// Number of checks since it was greeted.
    looks: u32,
    /// Whether it has given a sign of life since the last check.
    was_heard: bool,
    /// Number of accesses in flight to it.
    accesses: usize,
    /// Its regions of which this rank holds the keys, by their first address.
    known: BTreeMap<u64, Known>,
    /// The regions of this rank of which it holds the keys.
    lent: BTreeSet<u64>,
}

/// Operations posted to a peer by one rail.
#[derive(Default)]
struct Lane {
    /// Whether this rank has connected to the peer by this rail, and not only the peer to this rank.
    is_connected: bool,
    /// Whether a fence precedes the next operation.
    fence: bool,
    /// Operations that were posted and not completely sent, in order.
    queue: VecDeque<usize>,
    /// Number of operations that have started and not ended.
    started: u32,
    /// Address for accesses by this rail; `None` for the first rail, and until the peer has answered the test of this rail.
    address: Option<FiAddress>,
    /// The same address before the peer has answered.
    asked: Option<FiAddress>,
}

impl Peer {
    /// Whether operations to the peer have not ended.
    fn is_awaited(&self) -> bool {
        self.is_queued() || !self.halves.is_empty() || self.lanes.iter().any(|lane| lane.started > 0)
    }

    /// Whether operations were not completely sent.
    fn is_queued(&self) -> bool {
        self.lanes.iter().any(|lane| !lane.queue.is_empty())
    }

    /// Whether something must be sent to the peer that does not wait for one of its answers.
    fn has_unsent(&self) -> bool {
        let is_waiting = self.is_queued() || !self.halves.is_empty();
        let is_reached = !matches!(self.way, Way::Greeted | Way::Sought);
        self.delivery.has_unsent() || !self.outbox.is_empty() || is_waiting && is_reached
    }
}

/// A region of a peer.
struct Known {
    bytes: u64,
    /// Keys and addresses for the first rails; without any, accesses are requests to the owner.
    remotes: Vec<Remote>,
    /// The bits of [`region`](crate::message::region).
    flags: u8,
    /// Number of accesses in flight.
    in_flight: u32,
    is_revoked: bool,
    /// Number of times that the owner has granted the key.
    loans: u64,
}

/// An accepted operation, or the second half of a copy: its put to the target.
struct Posted {
    what: What,
    peer: usize,
    /// The rail to which it was posted.
    lane: usize,
    then: Then,
    flags: Flags,
    begun: bool,
    path: Path,
    /// Number of bytes for which requests were sent; of a signalled write on a detour, 1 once the bytes have been written.
    next: u64,
    /// Whether it was completely sent.
    is_sent: bool,
    /// Number of requests and accesses that have not ended.
    unanswered: u32,
    result: Result<u64, Failure>,
}

enum What {
    Write {
        to: GlobalAddress,
        bytes: Box<[u8]>,
    },
    /// From memory of this rank: the local memory of a `Put`, or, for the second half of a copy, the memory at `source`.
    Put {
        from: Region<'static>,
        to: GlobalAddress,
        source: GlobalAddress,
    },
    Get {
        from: GlobalAddress,
        to: Cells<'static>,
    },
    Copy {
        from: GlobalAddress,
        to: GlobalAddress,
        bytes: u64,
    },
    Atomic {
        at: GlobalAddress,
        width: Width,
        operator: AtomicOperator,
        operand: u64,
    },
    Blocks(Box<Scattered>),
    /// Bytes, and a word that is written after them.
    Signalled {
        to: GlobalAddress,
        bytes: Box<[u8]>,
        at: GlobalAddress,
        word: u64,
    },
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Path {
    Undecided,
    /// The owner was asked for the region.
    Looking,
    /// Requests to the owner.
    Requests,
    /// An access of the fabric to the region with this first address.
    Access(u64),
    /// Another transport.
    Around,
}

/// Action at the end of an operation.
enum Then {
    /// Complete the operation, which was posted to this peer by this rail. For a copy of this rank's own memory, `start` is the first address of the region it
    /// reads.
    Complete { token: Token, peer: usize, lane: usize, start: Option<u64> },
    /// Answer the peer that requested the copy, which reads the region with this first address.
    Answer { peer: usize, id: u32, start: u64 },
}

/// The use of a slot.
#[derive(Clone, Copy)]
enum Use {
    Nothing,
    /// A message to a peer, with its length, and the number of earlier attempts that failed.
    Message {
        peer: usize,
        bytes: usize,
        failures: u8,
    },
    Access(usize),
    /// The read behind an access to memory of a device.
    Behind(usize),
}

impl Engine {
    /// Creates the engine with one or more ports, one for each rail.
    pub(crate) fn new(mut ports: Vec<Port>, me: Rank, layout: AddressLayout, nonce: u64, find: Find, seeks: bool) -> Self {
        let spare = ports[FIRST].take().expect("nothing was posted yet");
        Self {
            uses: ports.iter().map(|_| vec![Use::Nothing; RECEIVE_SLOTS + TRANSMIT_SLOTS]).collect(),
            ports,
            spare,
            detours: VecDeque::new(),
            me,
            layout,
            nonce,
            find,
            seeks,
            records: BTreeMap::new(),
            sought: BTreeSet::new(),
            wanted: Vec::new(),
            regions: Regions::new(layout),
            closing: 0,
            peers: Vec::new(),
            by_rank: BTreeMap::new(),
            operations: Slab::new(),
            unposted: Vec::new(),
            unproved: Vec::new(),
            busy: BTreeSet::new(),
            held: BTreeSet::new(),
            accepted: 0,
            blocks_max: LIST_BLOCKS_MAX,
            listed: 0,
            completed: Vec::new(),
            touched: false,
            losses: Vec::new(),
            events: Vec::new(),
            devices: DeviceSegments::default(),
        }
    }

    /// The address of this rank for its peers.
    pub(crate) fn address(&self) -> Address {
        Published { nonce: self.nonce, ends: self.ends() }.to_address()
    }

    fn ends(&self) -> Vec<End> {
        self.ports.iter().map(|port| port.end().clone()).collect()
    }

    /// Descriptors that are readable when an event may have occurred; `None` if a provider has no such descriptor.
    pub(crate) fn descriptors(&self) -> Option<Vec<&OwnedFd>> {
        self.ports.iter().map(Port::descriptor).collect()
    }

    /// Whether a core of this rank takes part in each access of a peer, so that the descriptors signal each access.
    pub(crate) fn serves_accesses(&self) -> bool {
        self.ports.iter().all(Port::is_served_by_core)
    }

    /// Whether the descriptors signal every event from now on.
    pub(crate) fn may_sleep(&mut self) -> bool {
        self.ports.iter_mut().all(Port::may_sleep)
    }

    pub(crate) fn connect(&mut self, rank: Rank, rail: Rail, address: &Address) -> Result<Endpoint, ConnectError> {
        let peer = self.peer(rank, address)?;
        Ok(self.connect_by(peer, rail))
    }

    /// As [`connect`](Self::connect), to a rank whose endpoint may not be known yet: operations posted to it wait until it is known.
    pub(crate) fn connect_sought(&mut self, rank: Rank, rail: Rail) -> Result<Endpoint, ConnectError> {
        let peer = self.reach(rank).map_err(|_| ConnectError::Unreachable(rank))?;
        Ok(self.connect_by(peer, rail))
    }

    fn connect_by(&mut self, peer: usize, rail: Rail) -> Endpoint {
        let (rail, lanes) = (rail.number(), &mut self.peers[peer].lanes);
        if lanes.len() <= rail {
            lanes.resize_with(rail + 1, Lane::default);
        }
        if !std::mem::replace(&mut lanes[rail].is_connected, true) && rail != FIRST {
            self.unproved.push((peer, rail));
        }
        endpoint(peer, rail)
    }

    /// Whether operations have not ended, or regions are being deregistered.
    pub(crate) fn is_waiting(&self) -> bool {
        !self.operations.is_empty() || self.closing > 0
    }

    fn add(&mut self, rank: Rank, way: Way, address: FiAddress, nonce: u64) -> usize {
        let peer = self.peers.len();
        self.by_rank.insert(rank, peer);
        self.peers.push(Peer {
            rank,
            way,
            address,
            nonce,
            ends: Vec::new(),
            lanes: vec![Lane::default()],
            is_failing: false,
            halves: VecDeque::new(),
            unanswered: [0; 2],
            outbox: VecDeque::new(),
            delivery: Delivery::default(),
            looks: 0,
            was_heard: false,
            accesses: 0,
            known: BTreeMap::new(),
            lent: BTreeSet::new(),
        });
        peer
    }

    pub(crate) fn register(&mut self, start: GlobalAddress, memory: Region<'static>) -> Result<(), RegisterError> {
        let own = Own { registrations: Vec::new(), lent_to: BTreeMap::new(), readers: 0, is_closing: false, device: None };
        if self.layout.rank(start) != self.me || !self.regions.insert(start, memory.clone(), own) {
            return Err(RegisterError::Addresses(start));
        }
        // Memory that the provider cannot register is accessed by requests to its owner.
        let (registrations, device) = match &memory {
            _ if memory.bytes() == 0 => (Vec::new(), None),
            Region::Host(cells) => (self.ports.iter_mut().map_while(|port| port.register(*cells).ok()).collect(), None),
            Region::Device(range) => {
                let (registrations, device) = self.register_device(range);
                (registrations, Some(device))
            }
        };
        if let Some((_, own)) = self.regions.get_mut(start) {
            (own.registrations, own.device) = (registrations, device);
        }
        Ok(())
    }

    pub(crate) fn deregister(&mut self, start: GlobalAddress) -> bool {
        let Some((_, own)) = self.regions.get_mut(start) else { return true };
        if !std::mem::replace(&mut own.is_closing, true) {
            self.closing += 1;
            for peer in own.lent_to.keys().copied().collect::<Vec<_>>() {
                self.tell(peer, Header { kind: kind::REVOKE, at: start.bits().into(), ..Header::default() }, &[]);
            }
        }
        let Some((_, own)) = self.regions.get_mut(start) else { return true };
        if !own.lent_to.is_empty() || own.readers > 0 {
            return false;
        }
        self.remove(start);
        true
    }

    fn remove(&mut self, start: GlobalAddress) {
        let Some((memory, own)) = self.regions.remove(start) else { return };
        self.closing -= usize::from(own.is_closing);
        let registrations = self.ports.iter_mut().zip(own.registrations);
        let is_closed = registrations.fold(true, |all, (port, registration)| port.deregister(registration) && all);
        if let Some(device) = own.device {
            self.forget_device(device, memory, is_closed);
        }
    }

    /// Ends all operations to `rank`, which is known to have failed.
    pub(crate) fn peer_failed(&mut self, rank: Rank) {
        let failure = Failure::PeerLost(rank);
        match self.by_rank.get(&rank) {
            Some(&peer) => self.lose(peer, failure),
            None => drop(self.add(rank, Way::Lost(failure), 0, 0)),
        }
    }

    /// Whether the rank should be woken: completions are pending, or memory was written to since the last call.
    pub(crate) fn take_news(&mut self) -> bool {
        std::mem::take(&mut self.touched) | !self.completed.is_empty()
    }

    /// Takes the peers that failed according to the fabric since the last call.
    pub(crate) fn take_losses(&mut self) -> Vec<Rank> {
        std::mem::take(&mut self.losses)
    }

    /// Appends the completions; returns whether there were any.
    pub(crate) fn fetch_completed(&mut self, completed: &mut Vec<Completion>) -> bool {
        self.accepted -= self.completed.len();
        let any = !self.completed.is_empty();
        completed.append(&mut self.completed);
        any
    }

    /// Whether something waits for space in the provider or for a slot, which no descriptor signals.
    pub(crate) fn has_unsent(&self) -> bool {
        !self.busy.is_empty() || !self.unposted.is_empty() || self.devices.has_unread()
    }

    /// Makes progress; returns whether any event occurred.
    pub(crate) fn drive(&mut self) -> bool {
        let mut events = std::mem::take(&mut self.events);
        let mut moved = false;
        for rail in 0..self.ports.len() {
            for _ in 0..CALLS_PER_LOOK {
                let more = self.ports[rail].poll(&mut events);
                moved |= !events.is_empty();
                for event in events.drain(..) {
                    self.handle(rail, event);
                }
                if !more {
                    break;
                }
            }
        }
        self.events = events;
        for (rail, slot) in std::mem::take(&mut self.unposted) {
            self.receive(rail, slot);
        }
        self.prove_rails();
        self.read_behind_all();
        self.release();
        for peer in std::mem::take(&mut self.busy) {
            self.pump(peer);
        }
        moved
    }

    fn handle(&mut self, rail: usize, event: Event) {
        match event {
            Event::Received(slot, bytes) => {
                let memory = self.ports[rail].memory(&slot);
                let mut header = Header::new_zeroed();
                let head = memory.part(0, size_of::<Header>() as u64).filter(|_| bytes >= size_of::<Header>());
                let payload = memory.part(size_of::<Header>() as u64, bytes.saturating_sub(size_of::<Header>()) as u64);
                if let (Some(head), Some(payload)) = (head, payload) {
                    head.read(header.as_mut_bytes());
                    self.take_in(rail, &header, payload);
                }
                self.receive(rail, slot);
            }
            Event::Ended(slot, result) => {
                let used = std::mem::replace(&mut self.uses[rail][slot.index()], Use::Nothing);
                let memory = self.ports[rail].memory(&slot);
                self.ports[rail].give_back(slot);
                match used {
                    Use::Access(key) => self.access_returned(key, rail, result),
                    Use::Behind(key) => self.arrived_at_device(key, result),
                    // The slot is not reused before this copy.
                    Use::Message { peer, bytes, failures } if result.is_err() => {
                        let message = memory.part(0, bytes as u64).expect("it was sent from there").to_vec();
                        self.undelivered(peer, message, failures);
                    }
                    Use::Message { peer, failures, .. } => self.delivered(peer, failures),
                    Use::Nothing => {}
                }
            }
            Event::Unreceived(slot) => self.receive(rail, slot),
            Event::Written => self.touched = true,
        }
    }

    /// Posts a slot to receive the next message.
    fn receive(&mut self, rail: usize, slot: Slot) {
        if let Err((slot, Refusal::Again)) = self.ports[rail].receive(slot) {
            self.unposted.push((rail, slot));
        }
    }

    /// Handles a message that has arrived by a rail. Messages of processes outside the job are ignored.
    fn take_in(&mut self, rail: usize, header: &Header, payload: Cells<'static>) {
        if header.nonce.get() != self.nonce {
            return;
        }
        let known = self.by_rank.get(&sender(header)).copied();
        known.into_iter().for_each(|peer| self.peers[peer].was_heard = true);
        match known {
            Some(peer) if rail == FIRST => self.arrived(peer, header, payload),
            Some(peer) if header.kind == kind::RAIL && usize::from(header.code) == rail => {
                self.tell(peer, Header { kind: kind::RAIL_LEADS, code: header.code, ..Header::default() }, &[]);
            }
            None if rail == FIRST && header.kind == kind::HELLO && header.number.get() == 0 => self.greeted(header, payload),
            _ => {}
        }
    }

    /// Handles the next message of a peer, in order.
    fn accept(&mut self, peer: usize, header: &Header, payload: Cells<'static>) {
        match (&self.peers[peer].way, header.kind) {
            // The peer waits for an answer that cannot be sent: the contact was ended when it did not seem to be needed.
            (Way::Lost(_), _) if header.is_request() || header.kind == kind::REVOKE => self.fabric_lost_for_good(peer),
            (Way::Lost(_) | Way::Me, _) => {}
            (_, kind::HELLO) => self.greeted(header, payload),
            (Way::Sought, _) => {}
            (Way::Greeted | Way::Open, kind::WELCOME) => {
                self.peers[peer].way = Way::Open;
                self.busy.insert(peer);
            }
            // The answer would not reach the peer.
            (Way::Around, _) if self.peers[peer].delivery.is_broken() && (header.is_request() || header.kind == kind::REVOKE) => {
                self.fabric_lost_for_good(peer)
            }
            _ if header.is_request() => self.serve(peer, header, payload),
            (_, kind::ANSWERS) => self.take_answers(peer, payload),
            _ if header.is_answer() => self.take_answer(peer, header, payload),
            (_, kind::REVOKE) => self.revoked(peer, header.at()),
            (_, kind::RAIL_LEADS) => {
                if let Some(lane) = self.peers[peer].lanes.get_mut(usize::from(header.code)) {
                    lane.address = lane.asked;
                }
            }
            (_, kind::WRITTEN) => self.touched = true,
            (_, kind::REVOKED) => self.given_back(peer, header.at(), header.value.get()),
            _ => {}
        }
    }

    /// Schedules a peer for sending, if anything must be sent: an event has occurred for which this may have waited.
    fn resume(&mut self, peer: usize) {
        if self.peers[peer].has_unsent() {
            self.busy.insert(peer);
        }
    }

    /// Sends to a peer as much as there is space for.
    fn pump(&mut self, peer: usize) {
        self.send_again(peer);
        while let Some(message) = self.peers[peer].outbox.pop_front() {
            if !self.send(peer, &message) {
                self.peers[peer].outbox.push_front(message);
                break;
            }
        }
        self.issue_all(peer);
        if self.peers[peer].is_failing {
            self.fabric_lost(peer);
        }
        self.resume(peer);
    }

    /// Ends all operations that need a peer. For accesses in flight the provider reports when it no longer uses local memory, for detours the other transport.
    fn lose(&mut self, peer: usize, failure: Failure) {
        self.forsake(peer, Way::Lost(failure));
        let lost = &mut self.peers[peer];
        lost.delivery.give_up();
        lost.lanes.iter_mut().for_each(|lane| lane.queue.clear());
        lost.halves.clear();
        let needing = self.operations.iter_mut().filter(|(_, operation)| operation.peer == peer);
        let mut ended = Vec::new();
        for (key, operation) in needing {
            operation.is_sent = true;
            operation.result = operation.result.and(Err(failure));
            if !matches!(operation.path, Path::Access(_) | Path::Around) {
                operation.unanswered = 0;
                ended.push(key);
            }
        }
        for key in ended {
            self.end(key);
        }
    }

    /// Ends an operation that has no request or access in flight.
    fn end(&mut self, key: usize) {
        let Posted { what, then, result, begun, .. } = self.operations.remove(key);
        if let What::Blocks(scattered) = what {
            self.listed -= scattered.listed();
        }
        match then {
            Then::Complete { token, peer, lane, start } => {
                start.into_iter().for_each(|start| self.stop_reading(start));
                self.completed.push(Completion { token, result });
                if begun {
                    self.peers[peer].lanes[lane].started -= 1;
                    self.resume(peer);
                }
            }
            Then::Answer { peer, id, start } => {
                self.stop_reading(start);
                self.tell(peer, Header::answer(id.into(), result), &[]);
            }
        }
    }
}

impl Drop for Engine {
    /// Registrations end before the domain that they belong to.
    fn drop(&mut self) {
        while let Some((start, _, _)) = self.regions.at_or_before(GlobalAddress::from_bits(u64::MAX)) {
            self.remove(start);
        }
    }
}
