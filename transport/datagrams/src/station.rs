//! One rank's side of a transport by datagrams.

use std::collections::VecDeque;

use pelago_base::{Counters, GlobalAddress, Instant, Rank, SegmentId};
use pelago_memory::Cells;
use pelago_platform::{Completion, Failure, Operation, PostError, RegisterError, Token};
use pelago_protocol::{Config, Endpoint, Event, Failure as Reason, PeerIndex, Rejected, Request, Transmit, WRITE_BYTES_MAX};

use crate::segments::{Loan, Loaned, Segments};

/// Completions that wait for the rank to fetch them.
const COMPLETED_MAX: usize = pelago_base::limits::COMPLETIONS_MAX;

/// One rank's side of a transport by datagrams: its conversations, its memory, and what has completed.
pub struct Station {
    endpoint: Endpoint,
    segments: Segments,
    completed: VecDeque<Completion>,
}

/// A write whose bytes are not captured yet: to be [`capture`](Station::capture)d before anything else happens but sending.
#[must_use = "the bytes are captured last"]
pub struct Given<'a> {
    to: PeerIndex,
    loan: Loan<'a>,
}

/// Something about a peer that whoever carries datagrams should know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// A rank that nobody has connected to will be sent to: connect, so that the size of datagrams is known.
    Met(PeerIndex, Rank),
    /// A rank has not answered for the failure limit.
    Lost(Rank),
}

impl Station {
    /// A rank that knows nobody and has no memory.
    pub fn new(config: Config) -> Self {
        let segments = Segments::new(config.layout, config.me);
        Self { endpoint: Endpoint::new(config), segments, completed: VecDeque::new() }
    }

    /// Prepares to reach `rank` by datagrams of up to `datagram_bytes`. Cost: no message.
    pub fn connect(&mut self, rank: Rank, datagram_bytes: usize) -> PeerIndex {
        self.endpoint.connect(rank, datagram_bytes)
    }

    /// As [`Transport::register`](pelago_platform::Transport::register).
    ///
    /// # Errors
    /// As there.
    pub fn register(&mut self, id: SegmentId, memory: Cells<'static>) -> Result<(), RegisterError> {
        self.segments.register(id, memory)
    }

    /// As [`Transport::deregister`](pelago_platform::Transport::deregister).
    pub fn deregister(&mut self, id: SegmentId) -> bool {
        self.segments.close(id);
        let done = !self.endpoint.is_reading(id);
        if done {
            self.segments.remove(id);
        }
        done
    }

    /// Takes over an operation; what it takes to send is ready afterwards.
    ///
    /// # Errors
    /// As [`Transport::post`](pelago_platform::Transport::post).
    pub fn post(&mut self, now: Instant, to: PeerIndex, operation: Operation<'_>, Token(token): Token) -> Result<(), PostError> {
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
        Ok(())
    }

    /// As `post` of a [`Write`](Operation::Write) of any length. What can be sent at once is best sent
    /// [from what was given](Self::transmit_given), before it is captured: so it is copied while it is on its way.
    ///
    /// # Errors
    /// As `post`.
    pub fn give<'a>(
        &mut self,
        now: Instant,
        peer: PeerIndex,
        to: GlobalAddress,
        bytes: &'a [u8],
        Token(token): Token,
    ) -> Result<Given<'a>, PostError> {
        if self.completed.len() >= COMPLETED_MAX {
            return Err(PostError::Full);
        }
        let loan = self.segments.loan(bytes);
        let request = Request::Put { from: loan.local(), to, bytes: bytes.len() as u64 };
        match self.endpoint.submit(now, peer, request, token) {
            Ok(()) => Ok(Given { to: peer, loan }),
            Err(_) => {
                self.segments.take_back(loan.local());
                Err(PostError::Full)
            }
        }
    }

    /// Writes the next datagram to the peer of a write into `buffer`, if one gains nothing by waiting for company.
    pub fn transmit_given(&mut self, now: Instant, given: &Given<'_>, buffer: &mut [u8]) -> Option<Transmit> {
        self.endpoint.poll_transmit_full(now, given.to, &Loaned(&self.segments, given.loan), buffer)
    }

    /// Captures what was given.
    pub fn capture(&mut self, given: Given<'_>) {
        self.segments.capture(given.loan);
    }

    /// Orders what was posted to a peer before what will be.
    pub fn fence(&mut self, to: PeerIndex) {
        self.endpoint.fence(to);
    }

    /// A datagram came; what it asks for is done before the call returns.
    ///
    /// # Errors
    /// It changed nothing, which is counted, and no reason to stop.
    pub fn take_in(&mut self, now: Instant, datagram: &mut [u8]) -> Result<(), Rejected> {
        self.endpoint.handle_datagram(now, datagram, &mut self.segments)
    }

    /// Does what is due by now; returns whether anything was.
    pub fn handle_timeout(&mut self, now: Instant) -> bool {
        let late = self.endpoint.poll_timeout().is_some_and(|due| now >= due);
        if late {
            self.endpoint.handle_timeout(now);
        }
        late
    }

    /// Writes the next datagram to be sent into `buffer`; to one peer only what gains nothing by waiting for company. With `patient`,
    /// acknowledgements wait for a datagram that takes them along.
    #[inline]
    pub fn transmit(&mut self, now: Instant, to: Option<PeerIndex>, buffer: &mut [u8], patient: bool) -> Option<Transmit> {
        match to {
            Some(peer) => self.endpoint.poll_transmit_full(now, peer, &self.segments, buffer),
            None => self.endpoint.poll_transmit(now, &self.segments, buffer, patient),
        }
    }

    /// The next that is found out about a peer, after what has completed until then was noted. Call it until there is nothing.
    pub fn find(&mut self) -> Option<Found> {
        while let Some(event) = self.endpoint.poll_event() {
            match event {
                Event::Completed { token, result, local } => {
                    local.into_iter().for_each(|local| self.segments.take_back(local));
                    self.completed.push_back(Completion { token: Token(token), result: result.map_err(failure) });
                }
                Event::Met(peer, rank) => return Some(Found::Met(peer, rank)),
                Event::Lost(rank) => return Some(Found::Lost(rank)),
            }
        }
        None
    }

    /// Hands over what has completed; returns whether anything had.
    pub fn completed(&mut self, into: &mut Vec<Completion>) -> bool {
        if self.completed.is_empty() {
            return false;
        }
        into.extend(self.completed.drain(..));
        true
    }

    /// Whether the rank may want to look: something has completed, or a peer has written to its memory since this was asked last.
    pub fn has_news(&mut self) -> bool {
        self.segments.take_touched() || !self.completed.is_empty()
    }

    /// Whether there may be something to send or to tell.
    pub fn has_work(&self) -> bool {
        self.endpoint.has_work()
    }

    /// Whether acknowledgements wait for a datagram to take them along.
    pub fn is_owing(&self) -> bool {
        self.endpoint.is_owing()
    }

    /// Bytes that are on their way, if all go to one peer. Cost: a look at each peer that is talked to.
    pub fn stream_bytes(&self) -> Option<u64> {
        self.endpoint.stream_bytes()
    }

    /// When to call [`handle_timeout`](Self::handle_timeout) even if nothing comes.
    pub fn next_deadline(&self) -> Option<Instant> {
        self.endpoint.poll_timeout()
    }

    /// `rank` is known to be gone: everything that waits for it ends.
    pub fn lose(&mut self, now: Instant, rank: Rank) {
        self.endpoint.lose(now, rank);
    }

    /// How often what happened.
    pub fn counters(&self) -> &Counters {
        self.endpoint.counters()
    }
}

fn failure(reason: Reason) -> Failure {
    match reason {
        Reason::PeerLost(rank) => Failure::PeerLost(rank),
        Reason::OutOfBounds(at) => Failure::OutOfBounds(at),
        Reason::Misaligned(at) => Failure::Misaligned(at),
    }
}
