//! The protocol, its socket and its memory, moved by whoever holds them: the rank or its agent.

use std::collections::VecDeque;
use std::net::SocketAddr;

use pelago_base::limits::UDP_RUN_BYTES_MAX;
use pelago_base::{Counters, Instant, Rank, SegmentId};
use pelago_memory::Cells;
use pelago_platform::{Completion, Failure, Operation, PostError, RegisterError, Token};
use pelago_protocol::{Endpoint, Event, Failure as Reason, PeerIndex, Request, Transmit, WRITE_BYTES_MAX};

use crate::segments::Segments;
use crate::{Incoming, Outgoing, Socket};

/// Batches that are taken in one after another before what they ask for is answered.
const BATCHES_MAX: usize = 4;

/// Bytes of a datagram, where the way takes so many: a third of what passes the kernel as one message, rounded to whole words.
const DATAGRAM_BYTES_MAX: usize = UDP_RUN_BYTES_MAX / 3 / 8 * 8;

/// Completions that wait for the rank to fetch them.
const COMPLETED_MAX: usize = pelago_base::limits::COMPLETIONS_MAX;

/// Where a rank receives datagrams, if there is such a rank.
pub(crate) type Find = Box<dyn Fn(Rank) -> Option<SocketAddr> + Send>;

/// Called with each rank that has not answered for the failure limit.
pub(crate) type Lost = Box<dyn Fn(Rank) + Send>;

pub(crate) struct Driver {
    socket: Socket,
    endpoint: Endpoint,
    segments: Segments,
    incoming: Incoming,
    outgoing: Outgoing,
    /// Where peers receive, by their index; `None` if nobody knows, which is as if everything to them were lost.
    peers: Vec<Option<SocketAddr>>,
    find: Find,
    lost: Lost,
    completed: VecDeque<Completion>,
}

impl Driver {
    pub(crate) fn new(socket: Socket, endpoint: Endpoint, segments: Segments, find: Find, lost: Lost) -> Self {
        let (incoming, outgoing) = (Incoming::new(), Outgoing::new());
        Self { socket, endpoint, segments, incoming, outgoing, peers: Vec::new(), find, lost, completed: VecDeque::new() }
    }

    pub(crate) fn connect(&mut self, rank: Rank, address: SocketAddr) -> PeerIndex {
        let datagram_bytes = self.socket.payload_bytes_max(address).min(DATAGRAM_BYTES_MAX);
        let peer = self.endpoint.connect(rank, datagram_bytes);
        self.name(peer, Some(address));
        peer
    }

    pub(crate) fn register(&mut self, id: SegmentId, memory: Cells<'static>) -> Result<(), RegisterError> {
        self.segments.register(id, memory)
    }

    pub(crate) fn deregister(&mut self, id: SegmentId) -> bool {
        self.segments.close(id);
        let done = !self.endpoint.is_reading(id);
        if done {
            self.segments.remove(id);
        }
        done
    }

    /// Starts an operation. What gains nothing by waiting for company leaves at once.
    pub(crate) fn post(
        &mut self,
        now: Instant,
        to: PeerIndex,
        operation: Operation<'_>,
        Token(token): Token,
    ) -> Result<(), PostError> {
        if self.completed.len() >= COMPLETED_MAX {
            return Err(PostError::Full);
        }
        let mut lent = None;
        let mut lend = |segments: &mut Segments, cells: Cells<'static>| *lent.insert(segments.lend(cells));
        let request = match operation {
            Operation::Write { bytes, .. } if bytes.len() > WRITE_BYTES_MAX => return Err(PostError::TooLong(bytes.len())),
            Operation::Write { to, bytes } => Request::Write { to, bytes },
            Operation::Put { from, to } => Request::Put { from: lend(&mut self.segments, from), to, bytes: from.bytes() as u64 },
            Operation::Get { from, to } => Request::Get { from, to: lend(&mut self.segments, to), bytes: to.bytes() as u64 },
            Operation::Copy { from, to, bytes } => Request::Copy { from, to, bytes },
            Operation::Atomic { at, width, operator, operand } => Request::Atomic { at, width, operator, operand },
        };
        if self.endpoint.submit(now, to, request, token).is_err() {
            lent.into_iter().for_each(|local| self.segments.take_back(local));
            return Err(PostError::Full);
        }
        self.flush(now, Some(to), true);
        Ok(())
    }

    pub(crate) fn fence(&mut self, to: PeerIndex) {
        self.endpoint.fence(to);
    }

    /// Takes in what has come and sends what is to be sent; returns whether anything moved. With `patient`, acknowledgements of what
    /// has come just now wait: who looks again soon may have a datagram to take them along.
    pub(crate) fn drive(&mut self, now: Instant, patient: bool) -> bool {
        let mut moved = false;
        if self.endpoint.is_owing() {
            // Nothing has come along to take them.
            moved |= self.flush(now, None, false);
        }
        for _ in 0..BATCHES_MAX {
            let messages = self.socket.receive(&mut self.incoming);
            for datagram in self.incoming.messages().flat_map(pelago_protocol::cut) {
                // What is refused is counted; it changes nothing here.
                let _ = self.endpoint.handle_datagram(now, datagram, &mut self.segments);
            }
            moved |= messages > 0;
            if !self.incoming.is_stream() {
                break;
            }
        }
        let late = self.endpoint.poll_timeout().is_some_and(|due| now >= due);
        if late {
            self.endpoint.handle_timeout(now);
        }
        if !moved && !late && !self.endpoint.has_work() && self.outgoing.is_empty() {
            return false;
        }
        self.take_events();
        moved | self.flush(now, None, patient && moved)
    }

    /// Hands over what has completed.
    pub(crate) fn completed(&mut self, into: &mut Vec<Completion>) -> bool {
        if self.completed.is_empty() {
            return false;
        }
        into.extend(self.completed.drain(..));
        true
    }

    /// Whether the rank may want to look: something has completed, or a peer has written to its memory since this was asked last.
    pub(crate) fn has_news(&mut self) -> bool {
        self.segments.take_touched() || !self.completed.is_empty()
    }

    /// Whether acknowledgements wait.
    pub(crate) fn is_owing(&self) -> bool {
        self.endpoint.is_owing()
    }

    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        // What the kernel has not taken has no other deadline than soon.
        if self.outgoing.is_empty() { self.endpoint.poll_timeout() } else { Some(Instant::ZERO) }
    }

    pub(crate) fn lose(&mut self, now: Instant, rank: Rank) {
        self.endpoint.lose(now, rank);
        self.take_events();
    }

    pub(crate) fn counters(&self) -> &Counters {
        self.endpoint.counters()
    }

    pub(crate) fn socket(&self) -> &Socket {
        &self.socket
    }

    /// Sends what is to be sent: everything, or what is worth a datagram to one peer. Returns whether anything left.
    fn flush(&mut self, now: Instant, to: Option<PeerIndex>, patient: bool) -> bool {
        let mut any = false;
        loop {
            let more = self.fill(now, to, patient);
            if self.outgoing.is_empty() {
                return any;
            }
            any = true;
            if self.socket.send(&mut self.outgoing).left > 0 || !more {
                return any;
            }
        }
    }

    /// Assembles datagrams; returns whether there is no room for more rather than nothing to send.
    fn fill(&mut self, now: Instant, to: Option<PeerIndex>, patient: bool) -> bool {
        while let Some(room) = self.outgoing.room(DATAGRAM_BYTES_MAX) {
            let transmit = match to {
                Some(peer) => self.endpoint.poll_transmit_full(now, peer, &self.segments, room),
                None => self.endpoint.poll_transmit(now, &self.segments, room, patient),
            };
            let Some(Transmit { peer, bytes, .. }) = transmit else { return false };
            if let Some(Some(address)) = self.peers.get(peer.0 as usize) {
                self.outgoing.commit(*address, bytes);
            }
        }
        true
    }

    fn take_events(&mut self) {
        while let Some(event) = self.endpoint.poll_event() {
            match event {
                Event::Completed { token, result, local } => {
                    local.into_iter().for_each(|local| self.segments.take_back(local));
                    self.completed.push_back(Completion { token: Token(token), result: result.map_err(failure) });
                }
                Event::Met(peer, rank) => match (self.find)(rank) {
                    Some(address) => drop(self.connect(rank, address)),
                    None => self.name(peer, None),
                },
                Event::Lost(rank) => (self.lost)(rank),
            }
        }
    }

    fn name(&mut self, PeerIndex(index): PeerIndex, address: Option<SocketAddr>) {
        let index = index as usize;
        self.peers.resize(self.peers.len().max(index + 1), None);
        self.peers[index] = address;
    }
}

fn failure(reason: Reason) -> Failure {
    match reason {
        Reason::PeerLost(rank) => Failure::PeerLost(rank),
        Reason::OutOfBounds(at) => Failure::OutOfBounds(at),
        Reason::Misaligned(at) => Failure::Misaligned(at),
    }
}
