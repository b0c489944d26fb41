//! One rank's conversations with all its peers.
//!
//! | part | for |
//! |---|---|
//! | this file | submission of operations, and the table of peers |
//! | `operations`, `patterns` | operations in flight; the bytes that they move |
//! | `receive`, `serve` | handling of received datagrams, and execution of their frames |
//! | `requests` | requests of peers that wait for room |
//! | `transmit` | construction of datagrams |
//! | `time` | deadlines and timeouts |
//! | `ending` | completion of operations |
//! | `captures` | memory for captured bytes |

mod captures;
mod ending;
#[cfg(test)]
mod entries;
#[cfg(test)]
mod misconduct;
pub(crate) mod operations;
pub(crate) mod patterns;
mod receive;
mod requests;
mod serve;
mod time;
mod transmit;

use std::collections::{BTreeMap, VecDeque};

use pelago_base::{Blocks, Counters, Duration, Failure, GlobalAddress, Instant, Rank};

use crate::api::{Completion, Config, Event, Full, INJECT_SIZE, Injection, LIST_BLOCKS_MAX, PeerIndex, Request, Signal};
use crate::memory::Memory;
use crate::peer::receiver::Owed;
use crate::peer::round_trip::{Lateness, RoundTrip, Worth, scattered};
use crate::peer::sender::DATAGRAM_CHARGE;
use crate::peer::waiting::{Spare, Transfer};
use crate::peer::{Peer, Standing};
use crate::wire::seal::Seal;
use crate::wire::{self, Frame};
use captures::Captures;
use operations::{Operations, Origin, PendingOperation, Put, Source};
use patterns::{GetBlocks, Pattern, PutBlocks, There};
use requests::Requests;

/// Maximum number of operations of this rank whose completions have not been polled.
pub(crate) const UNDER_WAY_MAX: usize = 4096;

/// Maximum number of blocks in the lists of all operations of a rank. Requests of peers wait while the lists that the rank answers have more.
pub(crate) const LISTED_BLOCKS_MAX: usize = 65_536;

/// In jobs in which all ranks together could flood one, each rank delays its first datagram to a peer by a random time: up to this spacing
/// times the number of ranks, and up to this spread.
const FIRST_SPACING: Duration = Duration::from_microseconds(4);
const FIRST_SPREAD: Duration = Duration::from_milliseconds(20);

/// One rank's end of all its conversations. Drive it like this:
///
/// 1. [`submit`](Self::submit) and [`fence`](Self::fence) for operations and their order;
/// 2. [`handle_datagram`](Self::handle_datagram) for received datagrams, [`handle_timeout`](Self::handle_timeout) at the time that
///    [`poll_timeout`](Self::poll_timeout) returns;
/// 3. then [`poll_transmit`](Self::poll_transmit), [`poll_event`](Self::poll_event) and [`poll_completion`](Self::poll_completion), each
///    until it returns `None`.
///
/// An operation has one entry: a write of up to [`INJECT_SIZE`] bytes in the datagram that carries it, any other in the table of
/// operations in flight, with the caller's token and its local memory.
///
/// `now` never decreases.
pub struct Conversations<M: Memory> {
    pub(crate) config: Config,
    pub(crate) seal: Seal,
    pub(crate) peers: Vec<Peer>,
    by_rank: BTreeMap<Rank, u32>,
    /// Active peers, and the queue of those that have something to send.
    active: Vec<u32>,
    pub(crate) queue: VecDeque<u32>,
    /// Peers that wait for an acknowledgement.
    pub(crate) waiting: VecDeque<u32>,
    pub(crate) operations: Operations<M::Local>,
    pub(crate) requests: Requests,
    pub(crate) events: VecDeque<Event>,
    /// Completions that have not been polled; and the number of operations that have not ended or whose completions have not been polled.
    completions: VecDeque<Completion<M::Local>>,
    under_way: usize,
    pub(crate) transmissions: u64,
    /// Number of consecutive datagrams to the peer at the front of the queue.
    pub(crate) burst: u32,
    /// Time at or before the earliest deadline of a peer, or shortly after it.
    due: Instant,
    /// Time of the last check of all peers.
    looked: Instant,
    lateness: Lateness,
    worth: Worth,
    /// Round-trip estimate over all peers.
    typical: RoundTrip,
    pub(crate) spare: Spare,
    pub(crate) captures: Captures,
    /// Number of frame bytes that are kept for all peers.
    pub(crate) kept_bytes: usize,
    sharing: Sharing,
    pub(crate) counters: Counters,
}

/// Number of peers that send to this rank, for sharing the receive window.
#[derive(Default)]
struct Sharing {
    /// Number of the current time interval, from 1 on, and the number of senders heard in it and in the previous one.
    stretch: u32,
    now: u32,
    before: u32,
}

/// Message of a failed `expect`: an operation is admitted before it enters the table.
const ADMITTED: &str = "there is room in the table of operations";

const NEVER: Instant = Instant::from_picoseconds(u64::MAX);

impl<M: Memory> Conversations<M> {
    /// Creates an end without any known peers.
    pub fn new(config: Config) -> Self {
        let config = Config { incarnation: wire::incarnation(config.incarnation), ..config };
        Self {
            seal: Seal::new(config.key, config.encrypt),
            config,
            peers: Vec::new(),
            by_rank: BTreeMap::new(),
            active: Vec::new(),
            queue: VecDeque::new(),
            waiting: VecDeque::new(),
            operations: Operations::default(),
            requests: Requests::default(),
            events: VecDeque::new(),
            completions: VecDeque::new(),
            under_way: 0,
            transmissions: 0,
            burst: 0,
            due: NEVER,
            looked: Instant::ZERO,
            lateness: Lateness::default(),
            worth: Worth::default(),
            typical: RoundTrip::default(),
            spare: Spare::default(),
            captures: Captures::default(),
            kept_bytes: 0,
            sharing: Sharing::default(),
            counters: Counters::default(),
        }
    }

    /// Prepares to send datagrams of up to `datagram_bytes` to `rank`. A repeated call returns the same peer and sets the new size.
    /// Cost: no message.
    pub fn connect(&mut self, rank: Rank, datagram_bytes: usize) -> PeerIndex {
        let index = match self.by_rank.get(&rank) {
            Some(&index) => index,
            None => self.add(rank),
        };
        self.peers[index as usize].datagram_bytes_here = u16::try_from(datagram_bytes).unwrap_or(u16::MAX);
        PeerIndex(index)
    }

    /// Accepts an operation; its end is reported as a completion with `token`.
    ///
    /// # Errors
    /// There is no room.
    ///
    /// # Panics
    /// The peer did not come from [`connect`](Self::connect), a write is too long, or a list has more than [`LIST_BLOCKS_MAX`] blocks.
    pub fn submit(&mut self, now: Instant, to: PeerIndex, request: Request<'_, M::Local>, token: u64) -> Result<(), Full> {
        let index = to.0;
        if let Request::PutBlocks { blocks: Blocks::List(list), .. } | Request::GetBlocks { blocks: Blocks::List(list), .. } =
            request
        {
            assert!(list.len() <= LIST_BLOCKS_MAX, "a list has at most {LIST_BLOCKS_MAX} blocks, not {}", list.len());
            if self.operations.own.listed + list.len() > LISTED_BLOCKS_MAX {
                return Err(Full);
            }
        }
        self.admit(now, index)?;
        let peer = &mut self.peers[index as usize];
        if let Some(failure) = peer.failure() {
            self.complete(token, Err(failure), request.into_local());
            return Ok(());
        }
        let datagram_bytes = peer.datagram_bytes();
        let Some(active) = &mut peer.active else { return Err(Full) };
        let mut insert = |pending| self.operations.insert(index, pending).expect(ADMITTED);
        let (frame, write, reads_late) = match request {
            Request::Write { to, bytes } => {
                assert!(bytes.len() <= INJECT_SIZE, "a write has at most {INJECT_SIZE} bytes, not {}", bytes.len());
                (Frame::Write { to, bytes }, Some(token), None)
            }
            Request::Put { from, to, bytes } => {
                let put = Put::new(Origin::Own { token }, Source::Local(from), to, bytes);
                active.sender.transfer(Transfer::Put { operation: insert(PendingOperation::Put(put)), is_own: true });
                self.enqueue(index);
                return Ok(());
            }
            Request::PutBlocks { from, from_shape, to, blocks } => {
                let (to, there) = match Pattern::new(to, blocks) {
                    Ok(found) => found,
                    Err(_) => {
                        self.complete(token, Err(Failure::OutOfBounds(to)), Some(from));
                        return Ok(());
                    }
                };
                let blocks = PutBlocks { here: Pattern::Shape(from_shape.canonical()), there: There::Blocks(there) };
                let bytes = from_shape.bytes().unwrap_or(0);
                let put = Put::new(Origin::Own { token }, Source::Local(from), to, bytes).with_blocks(blocks);
                active.sender.transfer(Transfer::Put { operation: insert(PendingOperation::Put(put)), is_own: true });
                self.enqueue(index);
                return Ok(());
            }
            Request::GetBlocks { from, blocks, to, to_shape } => {
                let (from, there) = match Pattern::new(from, blocks) {
                    Ok(found) => found,
                    Err(_) => {
                        self.complete(token, Err(Failure::OutOfBounds(from)), Some(to));
                        return Ok(());
                    }
                };
                let (here, bytes) = (to_shape.canonical(), to_shape.bytes().unwrap_or(0));
                let (shape, asked) = match there {
                    Pattern::Shape(shape) => (Some(shape), None),
                    Pattern::List(list) => (None, Some((list, 0))),
                };
                let blocks = Some(Box::new(GetBlocks { here, asked }));
                let operation = insert(PendingOperation::Get { token, from, to, bytes, received: 0, blocks });
                let Some(shape) = shape else {
                    active.sender.transfer(Transfer::Ask { operation });
                    active.sender.await_answer(true);
                    self.enqueue(index);
                    return Ok(());
                };
                (Frame::GetShape { operation, from, shape }, None, Some(true))
            }
            Request::Get { from, to, bytes } => {
                let operation = insert(PendingOperation::Get { token, from, to, bytes, received: 0, blocks: None });
                (Frame::Get { operation, from, bytes }, None, Some(bytes > INJECT_SIZE as u64))
            }
            Request::Copy { from, to, bytes } => {
                let operation = insert(PendingOperation::Copy { token, from, to });
                (Frame::Copy { operation, from, to, bytes }, None, Some(true))
            }
            Request::Atomic { at, width, operator, operand } => {
                let operation = insert(PendingOperation::Atomic { token, at });
                (Frame::Atomic { operation, at, width, operator, operand }, None, Some(false))
            }
        };
        self.kept_bytes += active.sender.request(&frame, write, datagram_bytes, &mut self.spare);
        // Called after the request is queued. The request may have to wait for an earlier fence, and that fence must not wait for its answer.
        if let Some(reads_late) = reads_late {
            active.sender.await_answer(reads_late);
        }
        self.enqueue(index);
        Ok(())
    }

    /// Like [`submit`](Self::submit) of a [`Write`](Request::Write), but only appends it to a datagram that is already held back while another is
    /// in flight: nothing has to be sent now, and no clock read is needed. Returns whether it did; if not, nothing has changed.
    #[inline]
    pub fn join(&mut self, to: PeerIndex, at: GlobalAddress, bytes: &[u8], token: u64) -> bool {
        if bytes.len() > INJECT_SIZE || self.under_way >= UNDER_WAY_MAX {
            return false;
        }
        let peer = &mut self.peers[to.0 as usize];
        let datagram_bytes = peer.datagram_bytes();
        let Some(active) = peer.active.as_mut().filter(|active| active.queued) else { return false };
        let Some(added) = active.sender.join(at, bytes, token, datagram_bytes) else { return false };
        self.kept_bytes += added;
        self.under_way += 1;
        true
    }

    /// Like `submit` of a [`Write`](Request::Write) of any length. The caller should first send
    /// [from its own bytes](Self::poll_transmit_gathered) whatever can be sent at once, and [capture](Self::capture) them afterwards: the copy then
    /// overlaps with the transmission.
    ///
    /// # Errors
    /// There is no room.
    pub fn inject<'a>(
        &mut self,
        now: Instant,
        peer: PeerIndex,
        to: GlobalAddress,
        bytes: &'a [u8],
        token: u64,
    ) -> Result<Injection<'a>, Full> {
        self.inject_before(now, peer, to, bytes, None, token)
    }

    /// As [`inject`](Self::inject), followed by `signal`, which the last datagram carries.
    ///
    /// # Errors
    /// There is no room.
    pub fn inject_signalled<'a>(
        &mut self,
        now: Instant,
        peer: PeerIndex,
        to: GlobalAddress,
        bytes: &'a [u8],
        signal: Signal,
        token: u64,
    ) -> Result<Injection<'a>, Full> {
        self.inject_before(now, peer, to, bytes, Some(signal), token)
    }

    fn inject_before<'a>(
        &mut self,
        now: Instant,
        peer: PeerIndex,
        to: GlobalAddress,
        bytes: &'a [u8],
        signal: Option<Signal>,
        token: u64,
    ) -> Result<Injection<'a>, Full> {
        let index = peer.0;
        self.admit(now, index)?;
        if let Some(failure) = self.peers[index as usize].failure() {
            self.complete(token, Err(failure), None);
            return Ok(Injection { peer, operation: None, bytes });
        }
        let put = Put { signal, ..Put::new(Origin::Own { token }, Source::Injected, to, bytes.len() as u64) };
        let operation = self.operations.insert(index, PendingOperation::Put(put)).expect(ADMITTED);
        if let Some(active) = &mut self.peers[index as usize].active {
            active.sender.transfer(Transfer::Put { operation, is_own: true });
        }
        self.enqueue(index);
        Ok(Injection { peer, operation: Some(operation), bytes })
    }

    /// Captures the bytes of an injection, from the first byte that is not known to have arrived.
    pub fn capture(&mut self, injection: &Injection<'_>) {
        if let Some(from) = self.unread_from(injection)
            && let Some(PendingOperation::Put(put)) = injection.operation.and_then(|number| self.operations.get_mut(number))
        {
            put.from = Source::Captured { from, bytes: self.captures.copy_of(&injection.bytes[from as usize..]) };
        }
    }

    /// Returns the first byte of an injection that may still have to be sent: all bytes before it have arrived. `None` if it has ended.
    pub fn unread_from(&self, injection: &Injection<'_>) -> Option<u64> {
        let number = injection.operation?;
        let Some(PendingOperation::Put(put)) = self.operations.get(number) else { return None };
        let active = self.peers[injection.peer.0 as usize].active.as_ref();
        let pieces = active.into_iter().flat_map(|active| active.sender.puts_under_way());
        let oldest = pieces.filter(|(operation, _)| *operation == number).map(|(_, offset)| offset).min();
        Some(oldest.unwrap_or(put.next))
    }

    /// Orders operations to a peer: those submitted before take effect before those submitted after. Cost: no message.
    pub fn fence(&mut self, to: PeerIndex) {
        if let Some(active) = &mut self.peers[to.0 as usize].active {
            active.sender.fence();
        }
    }

    /// Returns the number of operations in the table: all in flight except short writes, and copies on behalf of other ranks.
    pub fn operations(&self) -> usize {
        self.operations.len()
    }

    /// Returns the number of captured bytes of injections that have not arrived. Cost: a scan of all operations.
    pub fn captured_bytes(&self) -> usize {
        let captured = |put: &Put<M::Local>| if let Source::Captured { bytes, .. } = &put.from { bytes.len() } else { 0 };
        self.operations.puts().map(captured).sum()
    }

    /// Returns the next event about a peer.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Returns the next completion.
    pub fn poll_completion(&mut self) -> Option<Completion<M::Local>> {
        let completion = self.completions.pop_front()?;
        self.under_way -= 1;
        Some(completion)
    }

    /// Returns all completions. Those that the caller does not take are dropped with the iterator.
    pub fn poll_completions(&mut self) -> impl Iterator<Item = Completion<M::Local>> {
        self.under_way -= self.completions.len();
        self.completions.drain(..)
    }

    /// Returns the number of completions that have not been polled.
    pub fn completions(&self) -> usize {
        self.completions.len()
    }

    /// Records that `rank` has failed: all operations that wait for it end.
    pub fn peer_failed(&mut self, now: Instant, rank: Rank) {
        let index = match self.by_rank.get(&rank) {
            Some(&index) => index,
            None => self.add(rank),
        };
        self.give_up(now, index, Standing::Lost);
    }

    /// Whether any of this rank's `bytes` bytes from `start` on are being sent on behalf of peers (gets and copies).
    pub fn is_reading(&self, start: GlobalAddress, bytes: u64) -> bool {
        let is_there = |at: GlobalAddress| at.bits().wrapping_sub(start.bits()) < bytes;
        let read_by = |index: &u32| {
            let active = self.peers[*index as usize].active.as_ref();
            active.is_some_and(|active| active.sender.answers().any(is_there))
        };
        let copied = self.operations.puts().any(|put| matches!(put.from, Source::Segment(from) if is_there(from)));
        copied || self.active.iter().any(read_by)
    }

    /// Returns the event counters.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Returns the number of known peers, and of those that are active, for which more than 120 bytes are kept.
    pub fn peers(&self) -> (usize, usize) {
        (self.peers.len(), self.active.len())
    }

    /// Admits another operation to a peer and activates the peer, unless operations on it fail.
    fn admit(&mut self, now: Instant, index: u32) -> Result<(), Full> {
        if self.under_way >= UNDER_WAY_MAX {
            return Err(Full);
        }
        if self.peers[index as usize].failure().is_none() {
            self.activate(now, index);
            let active = self.peers[index as usize].active.as_mut().filter(|active| active.sender.has_room()).ok_or(Full)?;
            if active.sender.is_idle() {
                active.outstanding_since = now;
            }
        }
        self.under_way += 1;
        Ok(())
    }

    pub(crate) fn complete(&mut self, token: u64, result: Result<u64, Failure>, local: Option<M::Local>) {
        self.completions.push_back(Completion { token, result, local });
    }

    /// Returns the index of a rank's peer; a new peer is reported as an event.
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
        let receive_window = self.part();
        let peer = &mut self.peers[index as usize];
        if !peer.activate(now, receive_window) {
            return;
        }
        self.active.push(index);
        // A rank that was never heard may receive first datagrams from all other ranks at once.
        let crowd = u64::from(self.config.layout.ranks()) * 2 * DATAGRAM_CHARGE;
        if let Some(active) = peer.active.as_mut().filter(|_| peer.transmission == 0 && crowd > self.config.receive_window_bytes)
        {
            let spread =
                FIRST_SPREAD.as_nanoseconds().min(u64::from(self.config.layout.ranks()) * FIRST_SPACING.as_nanoseconds());
            let chance = u64::from(scattered(peer.rank.number(), self.config.me.number()));
            active.sender.congestion.wait_until(now + Duration::from_nanoseconds((chance * spread) >> 32));
        }
    }

    /// Share of the receive window that each other rank gets if all send at once, but at least a byte: one datagram at a time.
    fn part(&self) -> u64 {
        (self.config.receive_window_bytes / u64::from(self.config.layout.ranks().saturating_sub(1).max(1))).max(1)
    }

    /// Queues a peer that may have something to send.
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

    /// Returns the number of bytes that one peer may have in flight to this rank.
    pub(crate) fn receive_window(&self) -> u64 {
        self.config.receive_window_bytes / u64::from(self.sharing.now.max(self.sharing.before).max(1))
    }
}
