//! A rank's conversations over its endpoint, moved by the thread that holds them: the rank or its progress thread.
//!
//! A put or get of memory whose key is known is an access of the fabric, in which no core of the target takes part. All else is a request that the owner
//! performs: atomics, because those of a fabric and those of cores do not exclude each other; copies between two other ranks; transfers
//! to and from memory that the fabric does not reach, such as that of devices.
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
//! Messages between two ranks keep their order (`FI_ORDER_SAS`), and so do those that wait for room: each peer has one queue of them. They are numbered,
//! because a provider may fail to send one that has arrived, or not.

mod asking;
mod delivery;
mod detour;
mod serving;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use pelago_base::{AddressLayout, AtomicOperator, Failure, GlobalAddress, Rank, Width};
use pelago_memory::{Cells, Region, Regions};
use pelago_platform::{Address, Completion, ConnectError, Flags, RegisterError, Token};
use slab::Slab;
use zerocopy::{FromZeros, IntoBytes};

use crate::fabric::{Event, FiAddress, Port, Refusal, Registration, Remote, Slot};
use crate::limits::{CALLS_PER_LOOK, RECEIVE_SLOTS, TRANSMIT_SLOTS};
use crate::message::{Header, Published, kind, sender};
use delivery::Delivery;

/// What a rank has published, if there is such a rank.
pub(crate) type Find = Box<dyn Fn(Rank) -> Option<Address> + Send>;

pub(crate) struct Engine {
    pub(crate) port: Port,
    me: Rank,
    layout: AddressLayout,
    /// Who knows it has read what this rank has published.
    nonce: u64,
    find: Find,
    /// Whether somebody else finds out what ranks have published that `find` does not know; see [`take_wanted`](Self::take_wanted).
    seeks: bool,
    /// What was found out so.
    records: BTreeMap<Rank, Address>,
    /// Ranks of which it is being found out, and those of them for which nobody was asked yet.
    sought: BTreeSet<Rank>,
    wanted: Vec<Rank>,
    regions: Regions<Own>,
    peers: Vec<Peer>,
    by_rank: BTreeMap<Rank, usize>,
    operations: Slab<Posted>,
    /// What each slot is used for, by its index.
    uses: Vec<Use>,
    /// Slots to receive in that the provider has had no room for.
    unposted: Vec<Slot>,
    /// For a message that came before its turn.
    spare: Slot,
    /// Operations that another transport is to perform.
    detours: VecDeque<usize>,
    /// Peers to which something has yet to leave.
    busy: BTreeSet<usize>,
    /// Operations that were accepted, and of whose end the poster was not told.
    accepted: usize,
    completed: Vec<Completion>,
    /// Whether a peer has written to this rank's memory since somebody asked.
    touched: bool,
    /// Peers that the fabric has found to be gone, of which nobody was told yet.
    losses: Vec<Rank>,
    events: Vec<Event>,
}

/// What the owner notes of a region.
struct Own {
    /// How peers reach it; `None` if they ask its owner.
    registration: Option<Registration>,
    /// The peers that know it, and how often each was told.
    lent_to: BTreeMap<usize, u64>,
    /// Copies out of it that are under way.
    readers: u32,
    /// It is to be deregistered, and nothing new begins.
    is_closing: bool,
}

/// How a peer is reached.
enum Way {
    /// It is this rank.
    Me,
    /// Its endpoint is being found out.
    Sought,
    /// It was greeted and has not answered.
    Greeted,
    Open,
    /// By the transport that has introduced it: the fabric does not lead there.
    Around,
    Lost(Failure),
}

struct Peer {
    rank: Rank,
    way: Way,
    address: FiAddress,
    /// The number that it has published.
    nonce: u64,
    /// Whether this rank has connected to it, and not only it to this rank.
    is_connected: bool,
    /// A call for it has failed: it is lost as soon as nobody is in the middle of something.
    is_failing: bool,
    /// Whether what is posted next comes behind a fence.
    fence: bool,
    /// Operations that were posted and have not left, in order.
    queue: VecDeque<usize>,
    /// The same of second halves of copies that others asked for. They wait for no fence and have requests of their own: else ranks that copy in a
    /// circle wait for each other.
    halves: VecDeque<usize>,
    /// Operations that were begun and have not ended.
    started: u32,
    /// Requests without an answer: of operations, and of halves.
    unanswered: [u32; 2],
    /// Messages that have had no room, in order.
    outbox: VecDeque<Vec<u8>>,
    delivery: Delivery,
    /// Looks since it was greeted.
    looks: u32,
    /// Its regions that are lent to this rank, by their first address.
    known: BTreeMap<u64, Known>,
    /// The regions of this rank that are lent to it.
    lent: BTreeSet<u64>,
}

impl Peer {
    /// Whether something to it has yet to leave that does not wait for an answer of it.
    fn has_unsent(&self) -> bool {
        let is_waiting = !self.queue.is_empty() || !self.halves.is_empty();
        let is_reached = !matches!(self.way, Way::Greeted | Way::Sought);
        self.delivery.has_unsent() || !self.outbox.is_empty() || is_waiting && is_reached
    }
}

/// A region of a peer.
struct Known {
    bytes: u64,
    /// How it is reached; `None` if its owner is asked.
    remote: Option<Remote>,
    /// Accesses under way.
    in_flight: u32,
    is_revoked: bool,
    /// How often it was lent: as often as this rank was told of it.
    loans: u64,
}

/// An accepted operation, or the second half of a copy that another rank asked for.
struct Posted {
    what: What,
    peer: usize,
    then: Then,
    flags: Flags,
    begun: bool,
    path: Path,
    /// Bytes that were asked for by requests.
    next: u64,
    /// Whether all of it has left.
    is_sent: bool,
    /// Requests and accesses that have not ended.
    unanswered: u32,
    result: Result<u64, Failure>,
}

enum What {
    Write {
        to: GlobalAddress,
        bytes: Box<[u8]>,
    },
    /// From memory of this rank: that of a `Put`, or, of a half, what begins at `source`.
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
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Path {
    Undecided,
    /// The owner was asked for its region.
    Looking,
    /// By requests to the owner.
    Requests,
    /// By an access of the fabric to the region of this first address.
    Access(u64),
    /// By another transport.
    Around,
}

/// What is to be done when an operation ends.
enum Then {
    /// Its poster is told, who posted it to this peer. A copy of this rank's own memory has read the region of the first address `start`.
    Complete { token: Token, peer: usize, start: Option<u64> },
    /// Who asked for the copy is told; it has read the region of this first address.
    Answer { peer: usize, id: u32, start: u64 },
}

/// What a slot is used for.
#[derive(Clone, Copy)]
enum Use {
    Nothing,
    /// A message of so many bytes to a peer, which has failed so often before.
    Message {
        peer: usize,
        bytes: usize,
        failures: u8,
    },
    Access(usize),
}

impl Engine {
    pub(crate) fn new(mut port: Port, me: Rank, layout: AddressLayout, nonce: u64, find: Find, seeks: bool) -> Self {
        let spare = port.take().expect("nothing was posted yet");
        Self {
            port,
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
            peers: Vec::new(),
            by_rank: BTreeMap::new(),
            operations: Slab::new(),
            uses: vec![Use::Nothing; RECEIVE_SLOTS + TRANSMIT_SLOTS],
            unposted: Vec::new(),
            busy: BTreeSet::new(),
            accepted: 0,
            completed: Vec::new(),
            touched: false,
            losses: Vec::new(),
            events: Vec::new(),
        }
    }

    /// How others reach this rank.
    pub(crate) fn address(&self) -> Address {
        let (fabric, name) = (self.port.fabric(), self.port.name().to_vec());
        Published { fabric, nonce: self.nonce, name }.to_address()
    }

    pub(crate) fn connect(&mut self, rank: Rank, address: &Address) -> Result<usize, ConnectError> {
        let peer = self.peer(rank, address)?;
        self.peers[peer].is_connected = true;
        Ok(peer)
    }

    /// As [`connect`](Self::connect), to a rank whose endpoint is yet to be found out: what is posted to it waits until then.
    pub(crate) fn connect_sought(&mut self, rank: Rank) -> Result<usize, ConnectError> {
        let peer = self.reach(rank).map_err(|_| ConnectError::Unreachable(rank))?;
        self.peers[peer].is_connected = true;
        Ok(peer)
    }

    /// The number of a peer that this rank has connected to.
    pub(crate) fn is_connected(&self, peer: usize) -> bool {
        self.peers.get(peer).is_some_and(|peer| peer.is_connected)
    }

    /// The entry of a rank, which is greeted if it is a new one.
    fn peer(&mut self, rank: Rank, address: &Address) -> Result<usize, ConnectError> {
        let wrong = || ConnectError::Address(address.clone());
        let published = Published::parse(address, self.port.fabric()).ok_or_else(wrong)?;
        if let Some(&peer) = self.by_rank.get(&rank) {
            return Ok(peer);
        }
        if rank == self.me {
            return if published.nonce == self.nonce { Ok(self.add(rank, Way::Me, 0, self.nonce)) } else { Err(wrong()) };
        }
        let fabric_address = self.port.insert(&published.name).ok_or_else(wrong)?;
        let peer = self.add(rank, Way::Greeted, fabric_address, published.nonce);
        self.greet(peer);
        Ok(peer)
    }

    fn greet(&mut self, peer: usize) {
        let name = self.port.name().to_vec();
        self.tell(peer, Header { kind: kind::HELLO, other: self.nonce.into(), ..Header::default() }, &name);
    }

    /// The entry of a rank, whose endpoint is found out if nobody knows it.
    fn reach(&mut self, rank: Rank) -> Result<usize, Failure> {
        let unreachable = Failure::Unreachable(rank);
        if let Some(&peer) = self.by_rank.get(&rank) {
            return Ok(peer);
        }
        if rank == self.me {
            return Ok(self.add(rank, Way::Me, 0, self.nonce));
        }
        let known = self.records.get(&rank).cloned().or_else(|| (self.find)(rank));
        match known {
            Some(address) => match self.peer(rank, &address) {
                Err(_) if self.seeks => Ok(self.add(rank, Way::Around, 0, 0)),
                entered => entered.map_err(|_| unreachable),
            },
            None if self.seeks => {
                self.seek(rank);
                Ok(self.add(rank, Way::Sought, 0, 0))
            }
            None => Err(unreachable),
        }
    }

    fn seek(&mut self, rank: Rank) {
        if self.sought.insert(rank) {
            self.wanted.push(rank);
        }
    }

    /// Takes the ranks of which it is to be found out what they have published; [`found`](Self::found) is called for each.
    pub(crate) fn take_wanted(&mut self) -> Vec<Rank> {
        std::mem::take(&mut self.wanted)
    }

    /// What a rank has published, or why that cannot be found out.
    pub(crate) fn found(&mut self, rank: Rank, found: Result<Address, Failure>) {
        self.sought.remove(&rank);
        let waiting = self.by_rank.get(&rank).copied().filter(|&peer| matches!(self.peers[peer].way, Way::Sought));
        match (found, waiting) {
            (Ok(address), Some(peer)) => {
                let published = Published::parse(&address, self.port.fabric());
                let entered = published.and_then(|it| self.port.insert(&it.name).map(|address| (address, it.nonce)));
                match entered {
                    Some((address, nonce)) => self.enter(peer, address, nonce, Way::Greeted),
                    None => self.go_around(peer),
                }
                self.records.insert(rank, address);
            }
            (Ok(address), None) => drop(self.records.insert(rank, address)),
            (Err(failure), Some(peer)) => self.lose(peer, failure),
            (Err(failure), None) if !self.by_rank.contains_key(&rank) => drop(self.add(rank, Way::Lost(failure), 0, 0)),
            (Err(_), None) => {}
        }
        // Copies to that rank may wait at any peer.
        self.busy.extend((0..self.peers.len()).filter(|&peer| !self.peers[peer].queue.is_empty()));
    }

    /// The endpoint of a peer is known.
    fn enter(&mut self, peer: usize, address: FiAddress, nonce: u64, way: Way) {
        let is_greeted = matches!(way, Way::Greeted);
        let entry = &mut self.peers[peer];
        (entry.address, entry.nonce, entry.way) = (address, nonce, way);
        if is_greeted {
            self.greet(peer);
        }
        self.busy.insert(peer);
    }

    /// Peers that are waited for.
    pub(crate) fn awaited(&self) -> Vec<Rank> {
        let is_awaited = |peer: &&Peer| match peer.way {
            Way::Greeted | Way::Open => peer.started > 0 || !peer.queue.is_empty() || !peer.halves.is_empty(),
            Way::Me | Way::Sought | Way::Around | Way::Lost(_) => false,
        };
        self.peers.iter().filter(is_awaited).map(|peer| peer.rank).collect()
    }

    /// Whether operations have not ended.
    pub(crate) fn has_operations(&self) -> bool {
        !self.operations.is_empty()
    }

    fn add(&mut self, rank: Rank, way: Way, address: FiAddress, nonce: u64) -> usize {
        let peer = self.peers.len();
        self.by_rank.insert(rank, peer);
        self.peers.push(Peer {
            rank,
            way,
            address,
            nonce,
            is_connected: false,
            is_failing: false,
            fence: false,
            queue: VecDeque::new(),
            halves: VecDeque::new(),
            started: 0,
            unanswered: [0; 2],
            outbox: VecDeque::new(),
            delivery: Delivery::default(),
            looks: 0,
            known: BTreeMap::new(),
            lent: BTreeSet::new(),
        });
        peer
    }

    pub(crate) fn register(&mut self, start: GlobalAddress, memory: Region<'static>) -> Result<(), RegisterError> {
        let own = Own { registration: None, lent_to: BTreeMap::new(), readers: 0, is_closing: false };
        if self.layout.rank(start) != self.me || !self.regions.insert(start, memory.clone(), own) {
            return Err(RegisterError::Addresses(start));
        }
        // What the provider has no room for is reached by requests.
        if let Region::Host(cells) = memory
            && cells.bytes() > 0
            && let Ok(registration) = self.port.register(cells)
            && let Some((_, own)) = self.regions.get_mut(start)
        {
            own.registration = Some(registration);
        }
        Ok(())
    }

    pub(crate) fn deregister(&mut self, start: GlobalAddress) -> bool {
        let Some((_, own)) = self.regions.get_mut(start) else { return true };
        if !std::mem::replace(&mut own.is_closing, true) {
            for peer in own.lent_to.keys().copied().collect::<Vec<_>>() {
                self.tell(peer, Header { kind: kind::REVOKE, at: start.bits().into(), ..Header::default() }, &[]);
            }
        }
        let Some((_, own)) = self.regions.get_mut(start) else { return true };
        if !own.lent_to.is_empty() || own.readers > 0 {
            return false;
        }
        let registration = self.regions.remove(start).and_then(|(_, own)| own.registration);
        registration.into_iter().for_each(|registration| self.port.deregister(registration));
        true
    }

    /// `rank` is known to be gone.
    pub(crate) fn peer_failed(&mut self, rank: Rank) {
        let failure = Failure::PeerLost(rank);
        match self.by_rank.get(&rank) {
            Some(&peer) => self.lose(peer, failure),
            None => drop(self.add(rank, Way::Lost(failure), 0, 0)),
        }
    }

    /// Whether somebody wants to know that operations completed or that memory was written to; the latter is forgotten.
    pub(crate) fn take_news(&mut self) -> bool {
        std::mem::take(&mut self.touched) | !self.completed.is_empty()
    }

    /// Peers that the fabric has found to be gone since this was asked last.
    pub(crate) fn take_losses(&mut self) -> Vec<Rank> {
        std::mem::take(&mut self.losses)
    }

    /// Appends what completed.
    pub(crate) fn fetch_completed(&mut self, completed: &mut Vec<Completion>) -> bool {
        self.accepted -= self.completed.len();
        let any = !self.completed.is_empty();
        completed.append(&mut self.completed);
        any
    }

    /// Whether something waits for room in the provider or for a slot, of which no descriptor tells.
    pub(crate) fn has_unsent(&self) -> bool {
        !self.busy.is_empty() || !self.unposted.is_empty()
    }

    /// Moves what can be moved; returns whether anything was.
    pub(crate) fn drive(&mut self) -> bool {
        let mut events = std::mem::take(&mut self.events);
        let mut moved = false;
        for _ in 0..CALLS_PER_LOOK {
            let more = self.port.poll(&mut events);
            moved |= !events.is_empty();
            for event in events.drain(..) {
                self.handle(event);
            }
            if !more {
                break;
            }
        }
        self.events = events;
        for slot in std::mem::take(&mut self.unposted) {
            self.receive(slot);
        }
        for peer in std::mem::take(&mut self.busy) {
            self.pump(peer);
        }
        moved
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Received(slot, bytes) => {
                let memory = self.port.memory(&slot);
                let mut header = Header::new_zeroed();
                let head = memory.part(0, size_of::<Header>() as u64).filter(|_| bytes >= size_of::<Header>());
                let payload = memory.part(size_of::<Header>() as u64, bytes.saturating_sub(size_of::<Header>()) as u64);
                if let (Some(head), Some(payload)) = (head, payload) {
                    head.read(header.as_mut_bytes());
                    self.take_in(&header, payload);
                }
                self.receive(slot);
            }
            Event::Ended(slot, result) => {
                let used = std::mem::replace(&mut self.uses[slot.index()], Use::Nothing);
                let memory = self.port.memory(&slot);
                self.port.give_back(slot);
                match used {
                    Use::Access(key) => self.access_ended(key, result),
                    // The slot is not used again before this has copied it.
                    Use::Message { peer, bytes, failures } if result.is_err() => {
                        let message = memory.part(0, bytes as u64).expect("it was sent from there").to_vec();
                        self.undelivered(peer, message, failures);
                    }
                    Use::Message { peer, failures, .. } => self.delivered(peer, failures),
                    Use::Nothing => {}
                }
            }
            Event::Unreceived(slot) => self.receive(slot),
            Event::Written => self.touched = true,
        }
    }

    /// Lets the next message come to a slot.
    fn receive(&mut self, slot: Slot) {
        if let Err((slot, Refusal::Again)) = self.port.receive(slot) {
            self.unposted.push(slot);
        }
    }

    /// A message has come. Those of strangers are ignored.
    fn take_in(&mut self, header: &Header, payload: Cells<'static>) {
        if header.nonce.get() != self.nonce {
            return;
        }
        match self.by_rank.get(&sender(header)) {
            Some(&peer) => self.arrived(peer, header, payload),
            None if header.kind == kind::HELLO && header.number.get() == 0 => self.greeted(header, payload),
            None => {}
        }
    }

    /// The next message of a peer.
    fn accept(&mut self, peer: usize, header: &Header, payload: Cells<'static>) {
        match (&self.peers[peer].way, header.kind) {
            // It waits for an answer, which cannot be sent: it was given up when it did not seem to be needed.
            (Way::Lost(_), kind::LOOKUP..=kind::COPY | kind::REVOKE) => self.fabric_lost_for_good(peer),
            (Way::Lost(_) | Way::Me, _) => {}
            (_, kind::HELLO) => self.greeted(header, payload),
            (Way::Sought, _) => {}
            (Way::Greeted | Way::Open, kind::WELCOME) => {
                self.peers[peer].way = Way::Open;
                self.busy.insert(peer);
            }
            // The answer would not reach it.
            (Way::Around, kind::LOOKUP..=kind::COPY | kind::REVOKE) if self.peers[peer].delivery.is_broken() => {
                self.fabric_lost_for_good(peer)
            }
            (_, kind::LOOKUP..=kind::COPY) => self.serve(peer, header, payload),
            (_, kind::DONE..=kind::ELSEWHERE) => self.take_answer(peer, header, payload),
            (_, kind::REVOKE) => self.revoked(peer, header.at()),
            (_, kind::REVOKED) => self.given_back(peer, header.at(), header.value.get()),
            _ => {}
        }
    }

    /// A peer makes itself known.
    fn greeted(&mut self, header: &Header, name: Cells<'static>) {
        let (rank, nonce) = (sender(header), header.other.get());
        if rank == self.me || rank.number() >= self.layout.ranks() {
            return;
        }
        let known = self.by_rank.get(&rank).copied();
        let is_entered = known.is_some_and(|peer| self.peers[peer].nonce != 0);
        let peer = match known {
            Some(peer) if is_entered => peer,
            _ => {
                let Some(address) = self.port.insert(&name.to_vec()) else { return };
                let peer = known.unwrap_or_else(|| self.add(rank, Way::Sought, address, nonce));
                if known.is_none() {
                    self.peers[peer].delivery.begin();
                }
                let is_around = matches!(self.peers[peer].way, Way::Around);
                self.enter(peer, address, nonce, if is_around { Way::Around } else { Way::Open });
                peer
            }
        };
        if self.peers[peer].nonce != nonce {
            return;
        }
        match self.peers[peer].way {
            Way::Lost(_) => return,
            // What is posted to it goes on as before.
            Way::Around => {}
            _ => self.peers[peer].way = Way::Open,
        }
        self.tell(peer, Header { kind: kind::WELCOME, ..Header::default() }, &[]);
        self.busy.insert(peer);
    }

    /// Lets leave what has room.
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
        if self.peers[peer].has_unsent() {
            self.busy.insert(peer);
        }
    }

    /// Ends all that needs a peer. Of accesses under way the provider says when it has let go of local memory, and of detours the other transport.
    fn lose(&mut self, peer: usize, failure: Failure) {
        self.forsake(peer, Way::Lost(failure));
        let lost = &mut self.peers[peer];
        lost.delivery.give_up();
        lost.queue.clear();
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

    /// An operation has no request or access under way.
    fn end(&mut self, key: usize) {
        let Posted { then, result, begun, .. } = self.operations.remove(key);
        match then {
            Then::Complete { token, peer, start } => {
                start.into_iter().for_each(|start| self.stop_reading(start));
                self.completed.push(Completion { token, result });
                if begun {
                    self.peers[peer].started -= 1;
                    self.busy.insert(peer);
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
            let removed = self.regions.remove(start).and_then(|(_, own)| own.registration);
            removed.into_iter().for_each(|registration| self.port.deregister(registration));
        }
    }
}
