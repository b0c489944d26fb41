//! The transport: one connection to each other rank, which moves when the rank makes progress.

use std::collections::{BTreeMap, VecDeque};
use std::io::{ErrorKind, Read, Write};
use std::{net::TcpStream, sync::mpsc::Sender};

use pelago::{AddressLayout, GlobalAddress, Instant, Rank, limits, platform::*};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned, little_endian::U16, little_endian::U64};

const TCP: Capabilities = Capabilities::of("tcp");
/// Bytes of a piece, at most: enough to keep a socket busy, little enough to keep a copy of. 16 bits hold it.
const PIECE_BYTES: u64 = 32 * 1024;
/// Requests of one rank that another has not answered, at most. It bounds what both keep for each other.
const WINDOW: u32 = 32;
/// Bytes of a window both ways, requests and answers: what waits to be sent, at most, to a peer that keeps to it, and what one look takes in.
const WINDOW_BYTES: usize = 2 * WINDOW as usize * (size_of::<Frame>() + PIECE_BYTES as usize);

/// One rank's end of a network of TCP connections.
pub struct Tcp {
    me: Rank,
    layout: AddressLayout,
    regions: Regions,
    /// All ranks. Endpoints carry their numbers.
    peers: Vec<Peer>,
    /// Operations that were accepted, and of whose end the poster was not told.
    accepted: usize,
    completed: Vec<Completion>,
    /// Who is told of each rank whose connection ends before it has said that it leaves.
    losses: Sender<Rank>,
}

impl Tcp {
    /// The end of rank `me`, by these connections to the ranks in their order, which do not block; none to itself.
    pub fn new(me: Rank, layout: AddressLayout, streams: Vec<Option<TcpStream>>, losses: Sender<Rank>) -> Self {
        let streams = streams.into_iter().enumerate();
        let peers = streams.map(|(rank, stream)| Peer { stream, is_me: rank == me.index(), ..Peer::default() }).collect();
        Self { me, layout, regions: Regions::new(layout), peers, accepted: 0, completed: Vec::new(), losses }
    }

    /// Moves what can be moved to and from one peer; returns whether anything was. One that has gone, or writes nonsense, is lost.
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

    /// Does what a peer asks for; `None` if it is nonsense.
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
    /// Nobody is waited for any more: that the connections end now is no loss.
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

    fn two_sided(&mut self) -> Option<&mut dyn TwoSided> {
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

/// What is on its way to and from one rank, and whether what is posted next is behind a fence. That the rank is lost is the default.
#[derive(Default)]
struct Peer {
    stream: Option<TcpStream>,
    /// It is this rank itself: what is sent has arrived.
    is_me: bool,
    has_left: bool,
    output: VecDeque<u8>,
    input: Vec<u8>,
    /// The operations posted to it, by their numbers; and those of them of which not every piece was sent.
    ongoing: BTreeMap<u64, Ongoing>,
    unsent: VecDeque<u64>,
    posted: u64,
    unanswered: u32,
    /// Copies that this rank has asked for, and those that the peer has, which have not ended.
    copies: u32,
    serving: u32,
    fence: bool,
}

struct Ongoing {
    /// Asks for the next piece; beyond byte `end` there is none.
    request: Frame,
    end: u64,
    local: Local,
    then: Then,
    /// Whether it waits for copies that were posted before. All else takes effect in the order in which it is sent.
    fence: bool,
    unanswered: u32,
    result: Result<u64, Failure>,
}

/// What is to be done when an operation ends: its poster is told; or it is the second half of a copy, and who asked for that gets an answer.
enum Then {
    Complete(Token),
    Answer { to: usize, request: Frame },
}

impl Peer {
    /// Begins an operation. Second halves of copies go first: were they to wait behind a fence, ranks could wait for each other in a circle.
    fn post(&mut self, request: Frame, end: u64, local: Local, then: Then) {
        let id = self.posted;
        self.posted += 1;
        let is_half = matches!(then, Then::Answer { .. });
        self.unsent.insert(if is_half { 0 } else { self.unsent.len() }, id);
        let fence = !is_half && std::mem::take(&mut self.fence);
        let request = Frame { id: id.into(), ..request };
        self.ongoing.insert(id, Ongoing { request, end, local, then, fence, unanswered: 0, result: Ok(0) });
    }

    /// Sends what can be sent without waiting; returns whether anything was, and `None` if the peer is lost.
    fn send(&mut self) -> Option<bool> {
        while let Some(id) = self.unsent.front().filter(|_| self.unanswered < WINDOW) {
            // One that has failed needs no more pieces, and may have ended.
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

    /// Takes in some of what has come; returns whether anything had. The end is seen after what came before it.
    fn receive(&mut self) -> Option<bool> {
        let Some(stream) = &mut self.stream else { return Some(!self.input.is_empty()) };
        let before = self.input.len();
        let end = stream.take(WINDOW_BYTES as u64).read_to_end(&mut self.input);
        let any = self.input.len() > before;
        (any || end.is_err_and(|error| error.kind() == ErrorKind::WouldBlock)).then_some(any)
    }

    /// Takes an answer: what ends by it, if anything; `None` if nothing was asked that it could answer.
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

// Kinds of frames: that its sender leaves; requests; answers, the last of which has the code of a failure added.
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
    /// Where the whole operation begins, and how many bytes it has, which its target checks before it touches a piece (T8); and which piece.
    at: U64,
    whole: U64,
    skip: U64,
    bytes: U64,
    /// The operand of an atomic; where a copy goes to; in an answer the word that was found, or what a failure names.
    value: U64,
    expected: U64,
}

/// What an operation moves on the side of its poster. Bytes that were captured are one piece.
enum Local {
    Nothing,
    Bytes(Vec<u8>),
    From(Cells<'static>),
    To(Cells<'static>),
}

impl Frame {
    /// The request for the first piece of an operation; `None` if it moves sizes alone.
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

    /// What an answer says; `None`, here as below, if a peer wrote nonsense.
    fn result(&self) -> Option<Result<u64, Failure>> {
        let failure = |code| Failure::from_code(code, self.value.get()).map(Err);
        if self.kind == DONE { Some(Ok(self.value.get())) } else { self.kind.checked_sub(FAILED).and_then(failure) }
    }

    /// The frame that bytes begin with, and its payload, if all of it is there.
    fn parse(bytes: &[u8]) -> Option<Option<(&Self, &[u8])>> {
        let Ok((frame, rest)) = Self::ref_from_prefix(bytes) else { return Some(None) };
        let payload = Some(u64::from(frame.payload)).filter(|&payload| payload <= PIECE_BYTES)?;
        Some(rest.get(..payload as usize).map(|payload| (frame, payload)))
    }
}
