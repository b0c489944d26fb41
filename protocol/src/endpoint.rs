//! One rank's end of all its conversations.

use std::collections::{BTreeMap, VecDeque};

use pelago_base::{
    AddressLayout, AtomicOperator, Counters, Duration, Event as Counted, Failure, GlobalAddress, Instant, Rank, Width,
};

use crate::memory::{Local, Memory};
use crate::operations::{Operation, Operations, Origin, Put, Source};
use crate::peer::{Peer, Standing, question_pause, unreachable_at};
use crate::receiver::{ACKNOWLEDGE_WITHIN, Owed, Verdict};
use crate::round_trip::{Lateness, Patience, RoundTrip, scattered};
use crate::seal::{Key, Seal};
use crate::sender::{DATAGRAM_CHARGE, Piece, Settled, Spare};
use crate::wire::{self, Acknowledgement, Frame, Header, Place, Reader};

/// Bytes of a [`Request::Write`], and of an answer that is read when the request comes: what fits the smallest datagram.
pub const INJECT_SIZE: usize = 960;

/// Operations of this rank whose end has not been fetched.
const UNDER_WAY_MAX: usize = 4096;

/// Bytes of frames kept for all peers together, above which peers' requests are left to be sent again.
const KEPT_BYTES_MAX: usize = 64 << 20;

/// Failure limits of silence after which operations on a peer that is alive end: the way there must be broken, as a machine that is merely
/// overloaded, with a thousand ranks on two cores, has every process answer within half of that.
pub const UNREACHABLE_AFTER_LIMITS: u64 = 20;

/// Between two looks at all peers, for each of them: to look at one takes a tenth of that.
const LOOK_PAUSE: Duration = Duration::from_nanoseconds(500);

/// No rank is taken to run later than the failure limit divided by this.
const LATENESS_PART: u64 = 2;

/// Where all ranks together may flood one, their first datagrams to it are spread by chance over so long for each of them, and no longer than
/// this in all.
const FIRST_SPACING: Duration = Duration::from_microseconds(4);
const FIRST_SPREAD: Duration = Duration::from_milliseconds(20);

/// Senders share the room of this rank with those that sent within this time.
const SHARING: Duration = Duration::from_milliseconds(10);

/// What an endpoint is made for.
#[derive(Clone, Copy)]
pub struct Config {
    /// The rank whose end it is.
    pub me: Rank,
    /// Tells this process from an earlier or later one that speaks for the same rank.
    pub start: u32,
    /// How the job divides its addresses.
    pub layout: AddressLayout,
    /// The job's secret.
    pub key: Key,
    /// Whether what travels is encrypted, besides being authenticated; the same on all ranks.
    pub encrypt: bool,
    /// After how long without a sign of life of a peer that owes one [`Event::Silent`] asks whether it is alive.
    pub failure_limit: Duration,
    /// How many bytes may be on their way to this rank.
    pub room_bytes: u64,
}

/// A peer that the endpoint knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PeerIndex(pub u32);

/// What to do at a peer.
#[derive(Clone, Copy, Debug)]
pub enum Request<'a> {
    /// Write bytes that are captured; at most [`INJECT_SIZE`].
    Write {
        /// Where to.
        to: GlobalAddress,
        /// What.
        bytes: &'a [u8],
    },
    /// Write local memory, which stays valid until the operation ends.
    Put {
        /// Local memory.
        from: Local,
        /// Where to.
        to: GlobalAddress,
        /// How many bytes.
        bytes: u64,
    },
    /// Fetch to local memory, which stays valid until the operation ends.
    Get {
        /// Where from.
        from: GlobalAddress,
        /// Local memory.
        to: Local,
        /// How many bytes.
        bytes: u64,
    },
    /// Let the peer, who owns `from`, send bytes to the owner of `to`.
    Copy {
        /// Where from.
        from: GlobalAddress,
        /// Where to.
        to: GlobalAddress,
        /// How many bytes.
        bytes: u64,
    },
    /// Work on a word and fetch what was there.
    Atomic {
        /// The word.
        at: GlobalAddress,
        /// Its width.
        width: Width,
        /// What to do.
        operator: AtomicOperator,
        /// With what.
        operand: u64,
    },
}

/// Something that the user should know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// An operation ended.
    Completed {
        /// What its submitter calls it.
        token: u64,
        /// The word that an atomic found, or why the operation failed.
        result: Result<u64, Failure>,
        /// Its local memory, which is free again.
        local: Option<Local>,
    },
    /// A rank was heard of, or is about to be written to, that nobody has connected to: how large datagrams may be is not known.
    Met(PeerIndex, Rank),
    /// A peer that owes a sign of life has given none for the failure limit: [`Endpoint::handle_liveness`] is to say what is known of it.
    /// Until then, operations on it stay pending, and the question is asked again after each failure limit.
    Silent(Rank),
    /// A peer is lost: it was silent for the failure limit, and nobody knows that it is alive.
    Lost(Rank),
    /// A peer is alive, and yet nothing has come of it for [`UNREACHABLE_AFTER_LIMITS`] failure limits.
    Unreachable(Rank),
}

/// What is known of a peer besides its silence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Liveness {
    /// Nothing: its silence is its loss.
    Unknown,
    /// Somebody who would know says that it is alive.
    Alive,
    /// It is gone.
    Lost,
}

/// There is no room for another operation to this peer: fetch what has come, then try again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

/// Why a datagram changed nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rejected {
    /// It was not made with the job's key for this rank, or was altered.
    Forged,
    /// It names no rank of the job, a lost rank, or another process of a rank than the one that spoke first.
    Foreign,
    /// It was executed before.
    Duplicate,
    /// It came before what it waits for.
    Early,
    /// It makes no sense.
    Malformed,
}

/// A datagram that lies in the buffer, to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmit {
    /// To whom.
    pub to: Rank,
    /// The same, as the endpoint knows it.
    pub peer: PeerIndex,
    /// How long it is.
    pub bytes: usize,
    /// Whether there may be more for this peer.
    pub more: bool,
}

/// One rank's end of all its conversations. Drive it like this:
///
/// 1. [`submit`](Self::submit) and [`fence`](Self::fence) say what to do;
/// 2. [`handle_datagram`](Self::handle_datagram) for what has come, [`handle_timeout`](Self::handle_timeout) when
///    [`poll_timeout`](Self::poll_timeout) says so;
/// 3. then [`poll_transmit`](Self::poll_transmit) until there is nothing, and [`poll_event`](Self::poll_event) until there is nothing.
///
/// `now` never goes back.
pub struct Endpoint {
    pub(crate) config: Config,
    pub(crate) seal: Seal,
    pub(crate) peers: Vec<Peer>,
    by_rank: BTreeMap<Rank, u32>,
    /// Peers that are active, and those of them that have something to send.
    active: Vec<u32>,
    pub(crate) queue: VecDeque<u32>,
    /// Peers that wait for an acknowledgement.
    pub(crate) waiting: VecDeque<u32>,
    pub(crate) operations: Operations,
    pub(crate) events: VecDeque<Event>,
    under_way: usize,
    pub(crate) transmissions: u64,
    /// Datagrams to the peer at the front of the queue, one after another.
    pub(crate) burst: u32,
    /// No later than the earliest deadline of a peer, or soon after it.
    due: Instant,
    /// When all peers were looked at last.
    looked: Instant,
    lateness: Lateness,
    /// The round trips of all peers.
    typical: RoundTrip,
    /// How soon a deadline can be that comes from what happens now, unless a pace holds something up.
    soonest: Duration,
    pub(crate) spare: Spare,
    /// Bytes of frames that are kept.
    pub(crate) kept_bytes: usize,
    sharing: Sharing,
    pub(crate) counters: Counters,
}

/// How many peers send to this rank.
#[derive(Default)]
struct Sharing {
    /// Which stretch of [`SHARING`] it is, from 1 on, and who was heard in it and in the one before.
    stretch: u32,
    now: u32,
    before: u32,
}

const NEVER: Instant = Instant::from_picoseconds(u64::MAX);

impl Endpoint {
    /// An end that knows nobody.
    pub fn new(config: Config) -> Self {
        let config = Config { start: wire::start(config.start), ..config };
        Self {
            seal: Seal::new(config.key, config.encrypt),
            config,
            peers: Vec::new(),
            by_rank: BTreeMap::new(),
            active: Vec::new(),
            queue: VecDeque::new(),
            waiting: VecDeque::new(),
            operations: Operations::default(),
            events: VecDeque::new(),
            under_way: 0,
            transmissions: 0,
            burst: 0,
            due: NEVER,
            looked: Instant::ZERO,
            lateness: Lateness::default(),
            typical: RoundTrip::default(),
            soonest: ACKNOWLEDGE_WITHIN.min(question_pause(config.failure_limit)),
            spare: Spare::default(),
            kept_bytes: 0,
            sharing: Sharing::default(),
            counters: Counters::default(),
        }
    }

    /// Prepares to reach `rank`, by datagrams of up to `datagram_bytes`. Calling it again returns the same peer and takes the new size.
    /// Cost: no message.
    pub fn connect(&mut self, rank: Rank, datagram_bytes: usize) -> PeerIndex {
        let index = match self.by_rank.get(&rank) {
            Some(&index) => index,
            None => self.add(rank),
        };
        self.peers[index as usize].datagram_bytes_here = u16::try_from(datagram_bytes).unwrap_or(u16::MAX);
        PeerIndex(index)
    }

    /// Takes over an operation; its end comes as an event with `token`.
    ///
    /// # Errors
    /// There is no room.
    ///
    /// # Panics
    /// The peer did not come from [`connect`](Self::connect), or a write is too long.
    pub fn submit(&mut self, now: Instant, to: PeerIndex, request: Request<'_>, token: u64) -> Result<(), Full> {
        let index = to.0;
        if self.under_way >= UNDER_WAY_MAX || self.operations.is_full() {
            return Err(Full);
        }
        if let Some(failure) = self.peers[index as usize].failure() {
            self.under_way += 1;
            let (result, local) = (Err(failure), request.local());
            self.events.push_back(Event::Completed { token, result, local });
            return Ok(());
        }
        self.activate(now, index);
        let datagram_bytes = self.peers[index as usize].datagram_bytes();
        let Some(active) = &mut self.peers[index as usize].active else { return Err(Full) };
        if !active.sender.has_room() {
            return Err(Full);
        }
        if active.sender.is_idle() {
            active.outstanding_since = now;
        }
        self.under_way += 1;
        if let Request::Write { to, bytes } = request {
            assert!(bytes.len() <= INJECT_SIZE, "a write has at most {INJECT_SIZE} bytes, not {}", bytes.len());
            let frame = Frame::Write { to, bytes };
            self.kept_bytes += active.sender.request(&frame, Some(token), datagram_bytes, &mut self.spare);
            self.enqueue(index);
            return Ok(());
        }
        let operation = self.operations.insert(index, operation(request, token)).expect("not full");
        let (frame, reads_late) = match request {
            Request::Write { to, bytes } => (Frame::Write { to, bytes }, false),
            Request::Put { .. } => {
                active.sender.put(operation);
                self.enqueue(index);
                return Ok(());
            }
            Request::Get { from, bytes, .. } => (Frame::Get { operation, from, bytes }, bytes > INJECT_SIZE as u64),
            Request::Copy { from, to, bytes } => (Frame::Copy { operation, from, to, bytes }, true),
            Request::Atomic { at, width, operator, operand } => {
                (Frame::Atomic { operation, at, width, operator, operand }, false)
            }
        };
        active.sender.await_answer(reads_late);
        self.kept_bytes += active.sender.request(&frame, None, datagram_bytes, &mut self.spare);
        self.enqueue(index);
        Ok(())
    }

    /// Orders operations to a peer: those submitted before take effect before those submitted after. Cost: no message.
    pub fn fence(&mut self, to: PeerIndex) {
        if let Some(active) = &mut self.peers[to.0 as usize].active {
            active.sender.fence();
        }
    }

    /// A datagram came. It is decrypted in place, and what it asks for is done before the call returns.
    ///
    /// # Errors
    /// It changed nothing. That is no reason to stop: whatever is of the job will come again.
    pub fn handle_datagram(&mut self, now: Instant, datagram: &mut [u8], memory: &mut dyn Memory) -> Result<(), Rejected> {
        let outcome = self.take_datagram(now, datagram, memory);
        self.counters.count(match outcome {
            Ok(()) => Counted::DatagramReceived,
            Err(Rejected::Forged) => Counted::DatagramForged,
            Err(Rejected::Foreign) => Counted::DatagramForeign,
            Err(Rejected::Duplicate) => Counted::DatagramDuplicate,
            Err(Rejected::Early) => Counted::DatagramEarly,
            Err(Rejected::Malformed) => Counted::DatagramMalformed,
        });
        outcome
    }

    /// Time has passed.
    pub fn handle_timeout(&mut self, now: Instant) {
        if now < self.due {
            return;
        }
        self.lateness.note(
            now,
            now.since(self.due),
            Duration::from_picoseconds(self.config.failure_limit.as_picoseconds() / LATENESS_PART),
        );
        (self.due, self.looked) = (NEVER, now);
        let mut position = 0;
        while let Some(&index) = self.active.get(position) {
            self.look(now, index);
            if self.peers[index as usize].active.is_some() {
                self.look_at(self.deadline(now, index));
                position += 1;
            } else if self.active.get(position) == Some(&index) {
                self.active.swap_remove(position);
            }
        }
    }

    /// The next thing to tell.
    pub fn poll_event(&mut self) -> Option<Event> {
        let event = self.events.pop_front()?;
        self.under_way -= usize::from(matches!(event, Event::Completed { .. }));
        Some(event)
    }

    /// When to call [`handle_timeout`](Self::handle_timeout) even if nothing comes.
    pub fn poll_timeout(&self) -> Option<Instant> {
        (self.due != NEVER).then_some(self.due)
    }

    /// `rank` is known to be gone: everything that waits for it ends.
    pub fn lose(&mut self, now: Instant, rank: Rank) {
        let index = match self.by_rank.get(&rank) {
            Some(&index) => index,
            None => self.add(rank),
        };
        self.give_up(now, index, Standing::Lost);
    }

    /// What is known of `rank`, as [`Event::Silent`] has asked. A peer that is alive keeps its operations pending, until it is unreachable.
    pub fn handle_liveness(&mut self, now: Instant, rank: Rank, liveness: Liveness) {
        let Some(&index) = self.by_rank.get(&rank) else { return };
        let Some(silent_since) = self.peers[index as usize].silent_since() else { return };
        let is_unreachable = now >= unreachable_at(silent_since, self.config.failure_limit);
        let (standing, event) = match liveness {
            Liveness::Alive if is_unreachable => (Standing::Unreachable, Event::Unreachable(rank)),
            Liveness::Alive => return,
            // An answer that comes late says nothing of a peer that has been heard since.
            Liveness::Unknown if now < silent_since + self.config.failure_limit => return,
            Liveness::Unknown | Liveness::Lost => (Standing::Lost, Event::Lost(rank)),
        };
        self.events.push_back(event);
        self.give_up(now, index, standing);
    }

    /// Whether some of `bytes` bytes of this rank from `start` on are being sent because peers asked for them.
    pub fn is_reading(&self, start: GlobalAddress, bytes: u64) -> bool {
        let is_there = |at: GlobalAddress| at.bits().wrapping_sub(start.bits()) < bytes;
        let read_by = |index: &u32| {
            let active = self.peers[*index as usize].active.as_ref();
            active.is_some_and(|active| active.sender.answers().any(is_there))
        };
        let copied = self.operations.puts().any(|put| matches!(put.from, Source::Segment(from) if is_there(from)));
        copied || self.active.iter().any(read_by)
    }

    /// From which byte on a put of local memory to a peer may still be read: what lies before has arrived. `None` if it has ended.
    pub fn unread_from(&self, to: PeerIndex, local: Local) -> Option<u64> {
        let (number, put) = self.operations.put_of(local)?;
        let active = self.peers[to.0 as usize].active.as_ref();
        let pieces = active.into_iter().flat_map(|active| active.sender.puts_under_way());
        let oldest = pieces.filter(|(operation, _)| *operation == number).map(|(_, offset)| offset).min();
        Some(oldest.unwrap_or(put.next))
    }

    /// Bytes that are on their way, if all go to one peer. Cost: a look at each active peer.
    pub fn stream_bytes(&self) -> Option<u64> {
        let bytes = |index: &u32| self.peers[*index as usize].active.as_ref().map_or(0, |active| active.sender.bytes_in_flight);
        let mut streams = self.active.iter().map(bytes).filter(|&bytes| bytes > 0);
        let stream = streams.next().unwrap_or(0);
        streams.next().is_none().then_some(stream)
    }

    /// How often what happened.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Peers that are known, and those of them for which more than 120 bytes are kept.
    pub fn peers(&self) -> (usize, usize) {
        (self.peers.len(), self.active.len())
    }

    /// The peer of a rank; a new one is told as an event.
    pub(crate) fn meet(&mut self, rank: Rank) -> u32 {
        if let Some(&index) = self.by_rank.get(&rank) {
            return index;
        }
        let index = self.add(rank);
        self.events.push_back(Event::Met(PeerIndex(index), rank));
        index
    }

    fn add(&mut self, rank: Rank) -> u32 {
        let index = self.peers.len() as u32;
        self.peers.push(Peer::new(rank));
        self.by_rank.insert(rank, index);
        index
    }

    pub(crate) fn activate(&mut self, now: Instant, index: u32) {
        let room = self.part();
        let peer = &mut self.peers[index as usize];
        if !peer.activate(now, room) {
            return;
        }
        self.active.push(index);
        // A rank that was never heard may hear of all others at once.
        let crowd = u64::from(self.config.layout.ranks()) * 2 * DATAGRAM_CHARGE;
        if let Some(active) = peer.active.as_mut().filter(|_| peer.transmission == 0 && crowd > self.config.room_bytes) {
            let spread =
                FIRST_SPREAD.as_nanoseconds().min(u64::from(self.config.layout.ranks()) * FIRST_SPACING.as_nanoseconds());
            let chance = u64::from(scattered(peer.rank.number(), self.config.me.number()));
            active.sender.congestion.wait_until(now + Duration::from_nanoseconds((chance * spread) >> 32));
        }
    }

    /// What every other rank may have on its way to this one if all send at once.
    fn part(&self) -> u64 {
        self.config.room_bytes / u64::from(self.config.layout.ranks().saturating_sub(1).max(1))
    }

    /// Remembers that a peer may have something to send.
    pub(crate) fn enqueue(&mut self, index: u32) {
        if let Some(active) = &mut self.peers[index as usize].active {
            if !active.queued && active.sender.has_work() {
                active.queued = true;
                self.queue.push_back(index);
            }
            if !active.waiting && active.receiver.owed() == Owed::Now {
                active.waiting = true;
                self.waiting.push_back(index);
            }
        }
    }

    /// Something happened to a peer, which may want to be looked at sooner. What happened to it before has been noted.
    pub(crate) fn note_deadline(&mut self, now: Instant, index: u32) {
        let is_paced = || self.peers[index as usize].active.as_ref().is_some_and(|active| active.sender.has_new());
        if self.due > now + self.soonest || is_paced() {
            self.look_at(self.deadline(now, index));
        }
    }

    /// All peers are to be looked at when the time of one has come; not so often that looking takes more than a part of the time.
    fn look_at(&mut self, deadline: Instant) {
        let pause = Duration::from_picoseconds(LOOK_PAUSE.as_picoseconds() * self.active.len() as u64);
        self.due = self.due.min(deadline.max(self.looked + pause));
    }

    fn deadline(&self, now: Instant, index: u32) -> Instant {
        self.peers[index as usize].deadline(now, self.config.failure_limit, self.patience(index))
    }

    /// How long to wait for answers of a peer, besides what is known of it.
    fn patience(&self, index: u32) -> Patience {
        let chance = scattered(self.config.me.number(), self.peers[index as usize].rank.number());
        Patience { typical: self.typical, late: self.lateness.get(), chance }
    }

    /// How many bytes one peer may have on their way to this rank.
    pub(crate) fn room(&self) -> u64 {
        self.config.room_bytes / u64::from(self.sharing.now.max(self.sharing.before).max(1))
    }

    fn take_datagram(&mut self, now: Instant, datagram: &mut [u8], memory: &mut dyn Memory) -> Result<(), Rejected> {
        let header = Header::parse(datagram).ok_or(Rejected::Forged)?;
        if header.from.number() >= self.config.layout.ranks() {
            return Err(Rejected::Foreign);
        }
        let body = self.seal.open(header.nonce(self.config.me), datagram).ok_or(Rejected::Forged)?;
        let mut reader = Reader(body);
        let acknowledgement = Acknowledgement::parse(&mut reader).ok_or(Rejected::Malformed)?;
        let place = match header.sequenced {
            true => Some(Place::parse(&mut reader, &header).ok_or(Rejected::Malformed)?),
            false => None,
        };
        let index = self.meet(header.from);
        let peer = &mut self.peers[index as usize];
        if peer.failure().is_some() || *peer.start.get_or_insert(header.start) != header.start {
            return Err(Rejected::Foreign);
        }
        // Anybody may repeat what has come before, which says nothing of the peer and asks for nothing: its answer was sent, or the peer asks again.
        let is_fresh = header.transmission > peer.transmission;
        let is_new = place.is_some_and(|place| peer.is_new(place));
        if is_fresh || is_new {
            self.activate(now, index);
            place.inspect(|_| self.count_sender(now, index));
        }
        let said_more = self.hear(now, index, &header, &acknowledgement);
        let outcome = match place {
            Some(_) if !is_fresh && !is_new => Err(Rejected::Duplicate),
            Some(place) => self.take_in(now, index, &header, place, reader.0, memory),
            None if is_fresh || said_more => Ok(()),
            None => Err(Rejected::Duplicate),
        };
        self.settle(now, index);
        self.enqueue(index);
        self.note_deadline(now, index);
        outcome
    }

    /// What every datagram of a peer says; returns whether it acknowledges anything that was not known to have arrived.
    fn hear(&mut self, now: Instant, index: u32, header: &Header, said: &Acknowledgement) -> bool {
        let peer = &mut self.peers[index as usize];
        let datagram_bytes = peer.datagram_bytes() as u64;
        let Some(active) = &mut peer.active else { return false };
        // Only a new transmission is a sign of life: old ones may be repeated by anybody.
        if header.transmission > peer.transmission {
            (peer.transmission, peer.heard) = (header.transmission, now);
            peer.datagram_bytes_there = said.datagram_bytes;
            active.sender.room = (u64::from(said.room) * Acknowledgement::ROOM_UNIT).max(1);
            if header.sequenced {
                active.receiver.echo = header.transmission;
            }
            if let Some(taken) = active.sender.sample(now, said.echo) {
                peer.round_trip.sample(taken);
                self.typical.sample(taken);
            }
        }
        active.sender.handle_acknowledgement(now, said, datagram_bytes)
    }

    /// What a datagram with a number asks for.
    fn take_in(
        &mut self,
        now: Instant,
        index: u32,
        header: &Header,
        place: Place,
        frames: &[u8],
        memory: &mut dyn Memory,
    ) -> Result<(), Rejected> {
        let peer = &mut self.peers[index as usize];
        let Some(active) = &mut peer.active else { return Ok(()) };
        active.used = now;
        let is_full = self.kept_bytes > KEPT_BYTES_MAX || self.operations.is_full() || active.sender.is_overasked();
        match active.receiver.judge(peer.received, place) {
            Verdict::New if !is_full => {}
            Verdict::Duplicate => {
                active.receiver.owe(now, true);
                return Err(Rejected::Duplicate);
            }
            Verdict::Early | Verdict::New => {
                // However long it has to wait, its sender hears that somebody is there.
                active.receiver.owe(now, header.urgent);
                return Err(Rejected::Early);
            }
        }
        peer.received = active.receiver.note(peer.received, place.sequence);
        active.receiver.owe(now, header.urgent);
        self.execute(now, index, place.sequence, frames, memory)
    }

    /// Ends what is known to have ended.
    pub(crate) fn settle(&mut self, now: Instant, index: u32) {
        loop {
            let peer = &mut self.peers[index as usize];
            let Some(active) = &mut peer.active else { return };
            let Some(settled) = active.sender.settle(peer.refusals_received) else { return };
            self.end_writes(&settled);
            self.kept_bytes -= settled.draft.frames.len();
            if let Some(Piece::Put { operation, .. }) = settled.piece {
                self.end_piece(now, operation, &settled);
            }
            self.spare.give(settled.draft);
        }
    }

    fn end_writes(&mut self, settled: &Settled) {
        if settled.refused.is_empty() {
            let done = settled.draft.writes.iter().map(|&token| Event::Completed { token, result: Ok(0), local: None });
            return self.events.extend(done);
        }
        let mut addresses = wire::frames(&settled.draft.frames).filter_map(|frame| match frame {
            Some(Frame::Write { to, .. }) => Some(to),
            _ => None,
        });
        for (position, &token) in settled.draft.writes.iter().enumerate() {
            let to = addresses.next().unwrap_or(GlobalAddress::NULL);
            let refusal = settled.refused.iter().find(|(refused, _)| usize::from(*refused) == position);
            let result = refusal.map_or(Ok(0), |(_, denied)| Err(denied.at(to)));
            self.events.push_back(Event::Completed { token, result, local: None });
        }
    }

    /// A piece of a put has arrived.
    fn end_piece(&mut self, now: Instant, operation: u32, settled: &Settled) {
        let Some(Operation::Put(put)) = self.operations.get_mut(operation) else { return };
        put.out -= 1;
        if let Some((_, denied)) = settled.refused.iter().find(|(index, _)| *index == u16::MAX) {
            put.failure = put.failure.or(Some(denied.at(put.to)));
        }
        self.end_put(now, operation);
    }

    /// Ends a put if all of it has been sent and has arrived.
    pub(crate) fn end_put(&mut self, now: Instant, operation: u32) {
        let Some(Operation::Put(put)) = self.operations.get_mut(operation) else { return };
        if put.out > 0 || !put.is_sent {
            return;
        }
        let Some(Operation::Put(put)) = self.operations.remove(operation) else { return };
        let result = put.failure.map_or(Ok(0), Err);
        match put.origin {
            Origin::Own { token } => {
                let local = if let Source::Local(local) = put.from { Some(local) } else { None };
                self.events.push_back(Event::Completed { token, result, local });
            }
            Origin::Peer { index, operation } => self.answer_copy(now, index, operation, put.to, result),
        }
    }

    /// Looks after a peer whose time may have come.
    fn look(&mut self, now: Instant, index: u32) {
        let patience = self.patience(index);
        let peer = &mut self.peers[index as usize];
        if peer.doubt_at(self.config.failure_limit).is_some_and(|at| now >= at) {
            self.events.push_back(Event::Silent(peer.rank));
            peer.doubt(now);
        }
        let datagram_bytes = peer.datagram_bytes() as u64;
        let question = peer.question_at(self.config.failure_limit);
        let Some(active) = &mut peer.active else { return };
        active.receiver.handle_timeout(now);
        if active.sender.answer_due(&peer.round_trip, patience).is_some_and(|due| now >= due) {
            active.sender.handle_silence(datagram_bytes);
        } else if question.is_some_and(|at| now >= at) {
            active.sender.probe();
            active.used = now;
        }
        if peer.rest(now) {
            self.counters.count(Counted::PeerIdle);
        }
        self.enqueue(index);
    }

    /// Ends everything that waits for a peer.
    fn give_up(&mut self, now: Instant, index: u32, standing: Standing) {
        let peer = &mut self.peers[index as usize];
        if peer.standing != Standing::Reached {
            return;
        }
        peer.standing = standing;
        let Some(failure) = peer.failure() else { return };
        self.counters.count(if standing == Standing::Lost { Counted::PeerLost } else { Counted::PeerUnreachable });
        let lost = Err(failure);
        if let Some(active) = peer.active.take() {
            // The queues of those that wait for their turn pass over a peer that is not active.
            self.active.retain(|&other| other != index);
            for draft in active.sender.into_drafts() {
                self.kept_bytes -= draft.frames.len();
                self.events.extend(draft.writes.into_iter().map(|token| Event::Completed { token, result: lost, local: None }));
            }
        }
        for operation in self.operations.remove_all(index) {
            if let Operation::Put(Put { origin: Origin::Peer { index, operation }, to, .. }) = operation {
                self.answer_copy(now, index, operation, to, lost);
            } else if let Some((token, local)) = operation.owner() {
                self.events.push_back(Event::Completed { token, result: lost, local });
            }
        }
    }

    /// Counts who sends, so that each of them gets a share of the room.
    fn count_sender(&mut self, now: Instant, index: u32) {
        let stretch = (now.as_picoseconds() / SHARING.as_picoseconds()) as u32 + 1;
        let sharing = &mut self.sharing;
        if sharing.stretch != stretch {
            let follows = sharing.stretch + 1 == stretch;
            *sharing = Sharing { stretch, now: 0, before: if follows { sharing.now } else { 0 } };
        }
        let peer = &mut self.peers[index as usize];
        if peer.counted != stretch {
            peer.counted = stretch;
            sharing.now += 1;
        }
    }
}

impl Request<'_> {
    fn local(&self) -> Option<Local> {
        match *self {
            Self::Put { from: local, .. } | Self::Get { to: local, .. } => Some(local),
            _ => None,
        }
    }
}

impl Operation {
    /// Whom to tell when it ends, if it is this rank's own.
    pub(crate) fn owner(&self) -> Option<(u64, Option<Local>)> {
        match *self {
            Self::Put(Put { origin: Origin::Own { token }, from: Source::Local(local), .. }) => Some((token, Some(local))),
            Self::Put(Put { origin: Origin::Own { token }, .. }) => Some((token, None)),
            Self::Put(_) => None,
            Self::Get { token, to, .. } => Some((token, Some(to))),
            Self::Atomic { token, .. } | Self::Copy { token, .. } => Some((token, None)),
        }
    }
}

fn operation(request: Request<'_>, token: u64) -> Operation {
    match request {
        Request::Write { .. } => unreachable!("a write ends with its datagram"),
        Request::Put { from, to, bytes } => Operation::Put(Put::new(Origin::Own { token }, Source::Local(from), to, bytes)),
        Request::Get { from, to, bytes } => Operation::Get { token, from, to, bytes, received: 0 },
        Request::Copy { from, to, .. } => Operation::Copy { token, from, to },
        Request::Atomic { at, .. } => Operation::Atomic { token, at },
    }
}
