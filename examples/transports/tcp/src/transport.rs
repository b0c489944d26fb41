//! The transport: one connection to each other rank; data move when the rank makes progress.

use std::collections::{BTreeMap, VecDeque};
use std::io::{ErrorKind, Read, Write};
use std::{net::TcpStream, sync::mpsc::Sender};

use pelago::{AddressLayout, GlobalAddress, Instant, Rank, limits, platform::*};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned, little_endian::U16, little_endian::U64};

const TCP: Capabilities = Capabilities::of("tcp");
/// Maximum bytes of a piece: enough to keep a socket busy, few enough to keep a copy. It fits 16 bits.
const PIECE_BYTES: u64 = 32 * 1024;
/// Maximum number of unanswered requests of one rank at another. It bounds the memory that both need for each other.
const WINDOW: u32 = 32;
/// Bytes of requests and answers in a window, both ways: the maximum output queued for a peer within its window, and the input per poll.
const WINDOW_BYTES: usize = 2 * WINDOW as usize * (size_of::<Frame>() + PIECE_BYTES as usize);

/// One rank's end of a network of TCP connections.
pub struct Tcp {
    me: Rank,
    layout: AddressLayout,
    regions: Regions,
    /// All ranks, indexed by the number in their endpoints.
    peers: Vec<Peer>,
    /// Number of accepted operations whose completion was not reported.
    accepted: usize,
    completed: Vec<Completion>,
    /// Receives each rank whose connection ends without a leave message.
    losses: Sender<Rank>,
}

impl Tcp {
    /// Creates the end of rank `me` with non-blocking connections in the order of ranks; none to itself.
    pub fn new(me: Rank, layout: AddressLayout, streams: Vec<Option<TcpStream>>, losses: Sender<Rank>) -> Self {
        let streams = streams.into_iter().enumerate();
        let peers = streams.map(|(rank, stream)| Peer { stream, is_me: rank == me.index(), ..Peer::default() }).collect();
        Self { me, layout, regions: Regions::new(layout), peers, accepted: 0, completed: Vec::new(), losses }
    }

    /// Moves data to and from one peer; returns whether any moved. A peer whose connection has ended, or that sends invalid data, counts as failed.
    fn attend(&mut self, peer: usize) -> bool {
        self.exchange(peer).unwrap_or_else(|| self.lose(peer))
    }

    fn exchange(&mut self, peer: usize) -> Option<bool> {
        let received = self.peers[peer].receive()?;
        let (mut input, mut used) = (std::mem::take(&mut self.peers[peer].input), 0);
        while let Some((frame, payload)) = Frame::parse(&input[used..])? {
            used += size_of::<Frame>() + payload.len();
            match frame.kind {
                LEAVE => self.peers[peer].has_left = true,
                PUT..DONE => self.serve(peer, frame, payload)?,
                _ => self.peers[peer].take_answer(frame, payload)?.into_iter().for_each(|(then, result)| self.end(then, result)),
            }
        }
        input.drain(..used);
        self.peers[peer].input = input;
        Some(received | self.peers[peer].send()?)
    }

    /// Executes a request of a peer; `None` if it is invalid.
    fn serve(&mut self, from: usize, frame: &Frame, payload: &[u8]) -> Option<()> {
        let (at, skip, bytes) = (GlobalAddress::from_bits(frame.at.get()), frame.skip.get(), frame.bytes.get());
        let Some((memory, ())) = self.regions.find(at, frame.whole.get()) else {
            self.peers[from].push(frame.answer(Err(Failure::OutOfBounds(at))), &[]);
            return Some(());
        };
        let memory = memory.part(skip, bytes).filter(|_| bytes <= PIECE_BYTES)?;
        let (failed, mut fetched) = (|_| Failure::Device(at), Vec::new());
        let mut result = match frame.kind {
            PUT => memory.write(Some(payload).filter(|payload| payload.len() as u64 == bytes)?).map(|()| 0).map_err(failed),
            GET | COPY => memory.to_vec().map(|found| fetched = found).map(|()| 0).map_err(failed),
            ATOMIC => {
                let operator = AtomicOperator::from_code(frame.operator, frame.expected.get())?;
                let width = if bytes == 4 { Width::Four } else { Width::Eight };
                let found = memory.atomic(width, operator, frame.value.get());
                found.map_err(failed).and_then(|found| found.ok_or(Failure::Misaligned(at)))
            }
            _ => return None,
        };
        if frame.kind == COPY && result.is_ok() {
            let to = GlobalAddress::from_bits(frame.value.get());
            if let Some(peer) = self.peers.get_mut(self.layout.rank(to).index()) {
                let half = Frame { kind: PUT, at: frame.value, ..*frame };
                peer.post(half, skip + bytes, Local::Bytes(fetched), Then::Answer { to: from, request: *frame });
                self.peers[from].serving += 1;
                return Some(());
            }
            (result, fetched) = (Err(Failure::OutOfBounds(to)), Vec::new());
        }
        self.peers[from].push(frame.answer(result), &fetched);
        Some(())
    }

    fn end(&mut self, then: Then, result: Result<u64, Failure>) {
        match then {
            Then::Complete(token) => self.completed.push(Completion { token, result }),
            Then::Answer { to, request } => {
                self.peers[to].serving -= 1;
                self.peers[to].push(request.answer(result), &[]);
            }
        }
    }

    fn lose(&mut self, peer: usize) -> bool {
        let (lost, rank) = (std::mem::take(&mut self.peers[peer]), Rank::new(peer as u32));
        self.peers[peer].serving = lost.serving;
        _ = lost.stream.filter(|_| !lost.has_left).map(|_| self.losses.send(rank));
        lost.ongoing.into_values().for_each(|operation| self.end(operation.then, Err(Failure::PeerLost(rank))));
        true
    }
}

impl Drop for Tcp {
    /// Sends a leave message to all peers, so that the end of the connections does not count as a failure.
    fn drop(&mut self) {
        for peer in &mut self.peers {
            peer.push(Frame::default(), &[]);
            peer.send();
        }
    }
}

impl Transport for Tcp {
    fn network(&mut self) -> &mut dyn Network {
        self
    }

    fn memory(&mut self) -> &mut dyn Registry {
        self
    }

    fn post(&mut self, _: Instant, to: Endpoint, operation: Operation<'_>, flags: Flags, token: Token) -> Result<(), PostError> {
        let peer = self.peers.get_mut(to.0 as usize).ok_or(PostError::Unknown(to))?;
        peer.fence |= flags.fence;
        let (request, local) = match operation {
            Operation::Write { bytes, .. } if bytes.len() > TCP.inject_size => return Err(PostError::TooLong(bytes.len())),
            Operation::PutBlocks { .. } | Operation::GetBlocks { .. } => return Err(PostError::Blocks),
            Operation::Signalled { .. } => return Err(PostError::Signalled),
            _ if self.accepted == limits::COMPLETIONS_MAX => return Err(PostError::Full),
            _ => Frame::request(&operation).ok_or(PostError::Sizes)?,
        };
        peer.post(request, request.whole.get(), local, Then::Complete(token));
        self.accepted += 1;
        self.attend(to.0 as usize);
        Ok(())
    }

    fn flush(&mut self, _: Instant) {}

    fn progress(&mut self, _: Instant, completed: &mut Vec<Completion>) -> bool {
        let moved = (0..self.peers.len()).fold(false, |moved, peer| moved | self.attend(peer));
        self.accepted -= self.completed.len();
        completed.append(&mut self.completed);
        moved
    }

    fn next_deadline(&self) -> Option<Instant> {
        None
    }

    fn before_sleep(&mut self) {}

    fn extensions(&mut self) -> Option<&mut dyn Extensions> {
        None
    }
}

impl Network for Tcp {
    fn capabilities(&self) -> &Capabilities {
        const { &TCP }
    }

    fn address(&self) -> Address {
        Address(TCP.name.into())
    }

    fn connect(&mut self, rail: Option<Rail>, peer: Rank, address: &Address) -> Result<Endpoint, ConnectError> {
        match rail {
            _ if *address != self.address() => Err(ConnectError::Address(address.clone())),
            None | Some(Rail::FIRST) if peer.index() < self.peers.len() => Ok(Endpoint(peer.number())),
            _ => Err(ConnectError::Unreachable(peer)),
        }
    }

    fn peer_failed(&mut self, _: Instant, peer: Rank) {
        self.lose(peer.index());
    }
}

impl Registry for Tcp {
    fn register(&mut self, start: GlobalAddress, memory: Region<'static>) -> Result<(), RegisterError> {
        let is_registered = self.layout.rank(start) == self.me && self.regions.insert(start, memory, ());
        is_registered.then_some(()).ok_or(RegisterError::Addresses(start))
    }

    fn deregister(&mut self, start: GlobalAddress) -> bool {
        self.regions.remove(start);
        true
    }
}

/// State of the connection to one rank, and whether the next posted operation is behind a fence. The default state is that of a failed rank.
#[derive(Default)]
struct Peer {
    stream: Option<TcpStream>,
    /// Whether the peer is this rank itself: then output is directly input.
    is_me: bool,
    has_left: bool,
    output: VecDeque<u8>,
    input: Vec<u8>,
    /// Operations posted to the peer, by their numbers; and those with unsent pieces.
    ongoing: BTreeMap<u64, Ongoing>,
    unsent: VecDeque<u64>,
    posted: u64,
    unanswered: u32,
    /// Number of unfinished copies requested by this rank, and by the peer.
    copies: u32,
    serving: u32,
    fence: bool,
}

struct Ongoing {
    /// Request for the next piece; the last one ends at byte `end`.
    request: Frame,
    end: u64,
    local: Local,
    then: Then,
    /// Whether the operation waits for earlier copies. All other operations take effect in the order in which they are sent.
    fence: bool,
    unanswered: u32,
    result: Result<u64, Failure>,
}

/// Action at the end of an operation: report its completion; or answer the requester of a copy, of which this is the second half.
enum Then {
    Complete(Token),
    Answer { to: usize, request: Frame },
}

impl Peer {
    /// Starts an operation. Second halves of copies go first: if they waited behind a fence, ranks could wait for each other in a cycle.
    fn post(&mut self, request: Frame, end: u64, local: Local, then: Then) {
        let id = self.posted;
        self.posted += 1;
        let is_half = matches!(then, Then::Answer { .. });
        self.unsent.insert(if is_half { 0 } else { self.unsent.len() }, id);
        let fence = !is_half && std::mem::take(&mut self.fence);
        let request = Frame { id: id.into(), ..request };
        self.ongoing.insert(id, Ongoing { request, end, local, then, fence, unanswered: 0, result: Ok(0) });
    }

    /// Sends as much as possible without blocking; returns whether anything was sent, and `None` if the peer has failed.
    fn send(&mut self) -> Option<bool> {
        while let Some(id) = self.unsent.front().filter(|_| self.unanswered < WINDOW) {
            // A failed operation sends no more pieces, and may have ended.
            let Some(operation) = self.ongoing.get_mut(id).filter(|operation| operation.result.is_ok()) else {
                self.unsent.pop_front();
                continue;
            };
            let skip = operation.request.skip.get();
            if operation.fence && skip == 0 && self.copies > 0 {
                break;
            }
            let bytes = PIECE_BYTES.min(operation.end - skip);
            let payload = match &mut operation.local {
                Local::Bytes(bytes) => std::mem::take(bytes),
                Local::From(cells) => cells.part(skip, bytes).expect("a piece is inside").to_vec(),
                Local::To(_) | Local::Nothing => Vec::new(),
            };
            let request = Frame { bytes: bytes.into(), ..operation.request };
            operation.request.skip += bytes;
            operation.unanswered += 1;
            self.unanswered += 1;
            self.copies += u32::from(request.kind == COPY && skip == 0);
            if skip + bytes == operation.end {
                self.unsent.pop_front();
            }
            self.push(request, &payload);
        }
        let waiting = self.output.len();
        if self.is_me {
            self.input.extend(self.output.drain(..));
        }
        while !self.output.is_empty() {
            match self.stream.as_mut()?.write(self.output.as_slices().0) {
                Ok(sent) => drop(self.output.drain(..sent)),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(_) => return None,
            }
        }
        (self.output.len() <= WINDOW_BYTES && self.serving <= WINDOW).then_some(self.output.len() < waiting)
    }

    fn push(&mut self, frame: Frame, payload: &[u8]) {
        self.output.extend(Frame { payload: (payload.len() as u16).into(), ..frame }.as_bytes());
        self.output.extend(payload);
    }

    /// Reads some of the arrived data; returns whether there was any. The end of the stream is seen after all data.
    fn receive(&mut self) -> Option<bool> {
        let Some(stream) = &mut self.stream else { return Some(!self.input.is_empty()) };
        let before = self.input.len();
        let end = stream.take(WINDOW_BYTES as u64).read_to_end(&mut self.input);
        let any = self.input.len() > before;
        (any || end.is_err_and(|error| error.kind() == ErrorKind::WouldBlock)).then_some(any)
    }

    /// Processes an answer; returns the operation that it completes, if any, and `None` if it does not match a request.
    fn take_answer(&mut self, answer: &Frame, payload: &[u8]) -> Option<Option<(Then, Result<u64, Failure>)>> {
        let (id, skip) = (answer.id.get(), answer.skip.get());
        let operation = self.ongoing.get_mut(&id).filter(|operation| operation.unanswered > 0)?;
        let result = answer.result()?;
        if let (Local::To(cells), Ok(_)) = (&operation.local, result) {
            let bytes = PIECE_BYTES.min(operation.end.checked_sub(skip)?);
            cells.part(skip, bytes).filter(|cells| cells.bytes() == payload.len())?.write(payload);
        }
        operation.result = operation.result.and(result);
        operation.unanswered -= 1;
        self.unanswered -= 1;
        if operation.unanswered > 0 || operation.result.is_ok() && operation.request.skip.get() < operation.end {
            return Some(None);
        }
        let operation = self.ongoing.remove(&id)?;
        self.copies -= u32::from(operation.request.kind == COPY);
        Some(Some((operation.then, operation.result)))
    }
}

// Kinds of frames: leave of the sender; requests; answers, of which the last is a base to which the code of a failure is added.
const LEAVE: u8 = 0;
const PUT: u8 = 1;
const GET: u8 = 2;
const COPY: u8 = 3;
const ATOMIC: u8 = 4;
const DONE: u8 = 5;
const FAILED: u8 = 6;

#[derive(Clone, Copy, Default, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct Frame {
    kind: u8,
    operator: u8,
    payload: U16,
    id: U64,
    /// Start and bytes of the whole operation, which the target checks before it accesses a piece (T8); and the offset of the piece.
    at: U64,
    whole: U64,
    skip: U64,
    bytes: U64,
    /// Operand of an atomic; destination of a copy; in an answer the old value of the word, or the argument of a failure.
    value: U64,
    expected: U64,
}

/// Local data of an operation. A captured payload is a single piece.
enum Local {
    Nothing,
    Bytes(Vec<u8>),
    From(Cells<'static>),
    To(Cells<'static>),
}

impl Frame {
    /// Returns the request for the first piece of an operation; `None` if it moves only sizes.
    fn request(operation: &Operation<'_>) -> Option<(Self, Local)> {
        let frame = |kind, at: GlobalAddress, all| Self { kind, at: at.bits().into(), whole: U64::new(all), ..Self::default() };
        Some(match *operation {
            Operation::Write { to, bytes } => (frame(PUT, to, bytes.len() as u64), Local::Bytes(bytes.into())),
            Operation::Put { from, to } => (frame(PUT, to, from.bytes() as u64), Local::From(from)),
            Operation::Get { from, to } => (frame(GET, from, to.bytes() as u64), Local::To(to)),
            Operation::Copy { from, to, bytes } => (Self { value: to.bits().into(), ..frame(COPY, from, bytes) }, Local::Nothing),
            Operation::Atomic { at, width, operator, operand } => {
                let (operator, expected) = operator.code();
                let (value, expected) = (operand.into(), expected.unwrap_or(0).into());
                (Self { operator, value, expected, ..frame(ATOMIC, at, width.bytes()) }, Local::Nothing)
            }
            _ => return None,
        })
    }

    fn answer(&self, result: Result<u64, Failure>) -> Self {
        let (code, value) = result.map_or_else(Failure::code, |found| (0, found));
        let kind = if result.is_ok() { DONE } else { FAILED + code };
        Self { kind, id: self.id, skip: self.skip, value: value.into(), ..Self::default() }
    }

    /// Returns the result in an answer; `None`, as in `parse`, if the data are invalid.
    fn result(&self) -> Option<Result<u64, Failure>> {
        let failure = |code| Failure::from_code(code, self.value.get()).map(Err);
        if self.kind == DONE { Some(Ok(self.value.get())) } else { self.kind.checked_sub(FAILED).and_then(failure) }
    }

    /// Returns the frame at the start of `bytes` and its payload, if they are complete.
    fn parse(bytes: &[u8]) -> Option<Option<(&Self, &[u8])>> {
        let Ok((frame, rest)) = Self::ref_from_prefix(bytes) else { return Some(None) };
        let payload = Some(u64::from(frame.payload)).filter(|&payload| payload <= PIECE_BYTES)?;
        Some(rest.get(..payload as usize).map(|payload| (frame, payload)))
    }
}
