//! One rank's side of a transport by datagrams.

use std::collections::VecDeque;

use pelago_base::{Counters, GlobalAddress, Instant, Rank};
use pelago_memory::{Cells, Region};
use pelago_platform::{Completion, Operation, PostError, RegisterError, Token};
use pelago_protocol::{Config, Endpoint, Event, INJECT_SIZE, Liveness, PeerIndex, Rejected, Request, Transmit};

use crate::segments::{Loan, Loaned, Segments};

/// Completions that wait for the rank to fetch them.
const COMPLETED_MAX: usize = pelago_platform::limits::COMPLETIONS_MAX;

/// One rank's side of a transport by datagrams: its conversations, its memory, and what has completed.
pub struct Station {
    endpoint: Endpoint,
    segments: Segments,
    completed: VecDeque<Completion>,
}

/// A write whose bytes are not captured yet: to be [`capture`](Station::capture)d before anything else happens but sending it and taking in
/// what has come.
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
    /// A rank that owes an answer has given none for the failure limit: [`Station::handle_liveness`] is to say what is known of it.
    Silent(Rank),
    /// A rank was silent for the failure limit, and nobody knew that it was alive.
    Lost(Rank),
    /// A rank is alive, but nothing has come of it for many failure limits.
    Unreachable(Rank),
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

    /// As [`Registry::register`](pelago_platform::Registry::register).
    ///
    /// # Errors
    /// As there.
    pub fn register(&mut self, start: GlobalAddress, memory: Region<'static>) -> Result<(), RegisterError> {
        self.segments.register(start, memory)
    }

    /// As [`Registry::deregister`](pelago_platform::Registry::deregister).
    pub fn deregister(&mut self, start: GlobalAddress) -> bool {
        let Some(bytes) = self.segments.close(start) else { return true };
        let done = !self.endpoint.is_reading(start, bytes);
        if done {
            self.segments.remove(start);
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
            Operation::Write { bytes, .. } if bytes.len() > INJECT_SIZE => return Err(PostError::TooLong(bytes.len())),
            Operation::Write { to, bytes } => Request::Write { to, bytes },
            Operation::Put { from, to } => Request::Put { from: lend(&mut self.segments, from), to, bytes: from.bytes() as u64 },
            Operation::Get { from, to } => Request::Get { from, to: lend(&mut self.segments, to), bytes: to.bytes() as u64 },
            Operation::Copy { from, to, bytes } => Request::Copy { from, to, bytes },
            Operation::Atomic { at, width, operator, operand } => Request::Atomic { at, width, operator, operand },
            Operation::Sized(_) => return Err(PostError::Sizes),
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

    /// Bytes of what was given that are not known to have arrived.
    pub fn unread_bytes(&self, given: &Given<'_>) -> u64 {
        let from = self.endpoint.unread_from(given.to, given.loan.local());
        from.map_or(0, |from| given.loan.bytes() - from)
    }

    /// Captures what was given, from the first byte on that is not known to have arrived.
    pub fn capture(&mut self, given: Given<'_>) {
        if let Some(from) = self.endpoint.unread_from(given.to, given.loan.local()) {
            self.segments.capture(given.loan, from);
        }
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
                    self.completed.push_back(Completion { token: Token(token), result });
                }
                Event::Met(peer, rank) => return Some(Found::Met(peer, rank)),
                Event::Silent(rank) => return Some(Found::Silent(rank)),
                Event::Lost(rank) => return Some(Found::Lost(rank)),
                Event::Unreachable(rank) => return Some(Found::Unreachable(rank)),
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

    /// Whether a peer waits for its turn to be sent to; if not, at most acknowledgements may be sent.
    pub fn has_queue(&self) -> bool {
        self.endpoint.has_queue()
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

    /// What is known of `rank`, as [`Found::Silent`] has asked.
    pub fn handle_liveness(&mut self, now: Instant, rank: Rank, liveness: Liveness) {
        self.endpoint.handle_liveness(now, rank, liveness);
    }

    /// How often what happened.
    pub fn counters(&self) -> &Counters {
        self.endpoint.counters()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pelago_base::{AddressLayout, AtomicOperator, Duration, SegmentId, Width};
    use pelago_platform::Failure;
    use pelago_protocol::Key;

    const HEAP_BYTES: u64 = 1 << 20;
    const DATAGRAM_BYTES: usize = 8000;

    fn station(me: u32) -> Station {
        let layout = AddressLayout::new(2, HEAP_BYTES).unwrap();
        let failure_limit = Duration::from_seconds(10.0);
        let (key, room_bytes) = (Key([1; 16]), 1 << 22);
        Station::new(Config { me: Rank::new(me), start: me, layout, key, encrypt: false, failure_limit, room_bytes })
    }

    /// Everything that `from` has to send comes to `to`; returns how many datagrams.
    fn pass(now: Instant, from: &mut Station, to: &mut Station) -> usize {
        let mut buffer = [0; DATAGRAM_BYTES];
        let mut count = 0;
        while let Some(Transmit { bytes, .. }) = from.transmit(now, None, &mut buffer, false) {
            to.take_in(now, &mut buffer[..bytes]).unwrap();
            count += 1;
        }
        count
    }

    /// What names another rank is not looked for in this rank's memory, whoever brings it.
    #[test]
    fn an_operation_on_another_rank_finds_nothing() {
        let [mut me, mut peer] = [0, 1].map(station);
        let to = me.connect(Rank::new(1), DATAGRAM_BYTES);
        peer.connect(Rank::new(0), DATAGRAM_BYTES);
        let heap = Cells::from_mut(vec![0_u64; 512].leak());
        let layout = AddressLayout::new(2, HEAP_BYTES).unwrap();
        peer.register(layout.encode(Rank::new(1), SegmentId::SYMMETRIC, 0).unwrap(), heap.into()).unwrap();
        let mine = layout.encode(Rank::new(0), SegmentId::SYMMETRIC, 0).unwrap();
        let mut now = Instant::ZERO;
        let mut failures = Vec::new();
        let word = Operation::Atomic { at: mine, width: Width::Eight, operator: AtomicOperator::Add, operand: 1 };
        for operation in [Operation::Write { to: mine, bytes: &[1; 8] }, Operation::Get { from: mine, to: heap }, word] {
            me.post(now, to, operation, Token(0)).unwrap();
            let mut completed = Vec::new();
            while completed.is_empty() {
                now = now + Duration::from_milliseconds(1);
                pass(now, &mut me, &mut peer);
                pass(now, &mut peer, &mut me);
                for station in [&mut me, &mut peer] {
                    station.handle_timeout(now);
                }
                assert_eq!(me.find(), None);
                me.completed(&mut completed);
                assert!(now < Instant::ZERO + Duration::from_seconds(5.0), "it ends");
            }
            failures.extend(completed.into_iter().map(|completion| completion.result));
        }
        assert_eq!(failures, [Err(Failure::OutOfBounds(mine)); 3]);
        let mut found = [0xFF; 8];
        heap.part(0, 8).unwrap().read(&mut found);
        assert_eq!(found, [0; 8]);
    }

    #[test]
    fn a_region_is_taken_back_when_it_is_read_no_more_and_others_at_once() {
        const BYTES: usize = 100_000;
        let [mut me, mut peer] = [0, 1].map(station);
        let [to, _] = [(&mut me, 1), (&mut peer, 0)].map(|(station, rank)| station.connect(Rank::new(rank), DATAGRAM_BYTES));
        let layout = AddressLayout::new(2, HEAP_BYTES).unwrap();
        let [read, beside] = [0, 200_000].map(|offset| layout.encode(Rank::new(1), SegmentId::REGISTERED_FIRST, offset).unwrap());
        let memory = |bytes: usize| Cells::from_mut(vec![7u8; bytes].leak());
        peer.register(read, memory(BYTES).into()).unwrap();
        peer.register(beside, memory(8).into()).unwrap();
        let (mut now, into) = (Instant::ZERO, memory(BYTES));
        me.post(now, to, Operation::Get { from: read, to: into }, Token(1)).unwrap();
        pass(now, &mut me, &mut peer);
        assert!(!peer.deregister(read), "it is being read");
        assert!(peer.deregister(beside) && peer.deregister(beside), "the one beside it is not");
        me.post(now, to, Operation::Get { from: read, to: memory(8) }, Token(2)).unwrap();
        let mut completed = Vec::new();
        // Until what was read has arrived, and its sender knows.
        while completed.len() < 2 || !peer.deregister(read) {
            assert!(now < Instant::ZERO + Duration::from_seconds(5.0), "it ends");
            now = now + Duration::from_milliseconds(1);
            pass(now, &mut me, &mut peer);
            pass(now, &mut peer, &mut me);
            me.handle_timeout(now);
            peer.handle_timeout(now);
            me.find();
            me.completed(&mut completed);
        }
        completed.sort_unstable_by_key(|completion| completion.token.0);
        let outside = Err(Failure::OutOfBounds(read));
        assert_eq!(
            completed.iter().map(|completion| completion.result).collect::<Vec<_>>(),
            [Ok(0), outside],
            "nothing new begins"
        );
        assert!(peer.register(read, memory(8).into()).is_ok() && peer.register(beside, memory(8).into()).is_ok());
    }

    #[test]
    fn only_what_may_be_sent_again_is_captured() {
        let [mut me, mut peer] = [0, 1].map(station);
        let [to, back] = [(&mut me, 1), (&mut peer, 0)].map(|(station, rank)| station.connect(Rank::new(rank), DATAGRAM_BYTES));
        assert_eq!((to, back), (PeerIndex(0), PeerIndex(0)));
        let heap: &mut [u64] = vec![0; HEAP_BYTES as usize / 8].leak();
        let heap = Cells::from_mut(heap);
        let at = AddressLayout::new(2, HEAP_BYTES).unwrap().encode(Rank::new(1), SegmentId::SYMMETRIC, 0).unwrap();
        peer.register(at, heap.into()).unwrap();
        let text: Vec<u8> = (0..600_000_u32).map(|number| (number % 251) as u8).collect();
        let there = heap.part(0, text.len() as u64).unwrap();
        let mut now = Instant::ZERO;
        // How much is lost of what is sent at first, counted in datagrams from the end; all of it in the last round.
        for lost in [0, 1, 3, usize::MAX] {
            there.write(&vec![0; text.len()]);
            let mut given = text.clone();
            let what = me.give(now, to, at, &given, Token(lost as u64)).unwrap();
            let (mut buffer, mut sent) = ([0; DATAGRAM_BYTES], Vec::new());
            while let Some(Transmit { bytes, .. }) = me.transmit_given(now, &what, &mut buffer) {
                sent.push(buffer[..bytes].to_vec());
            }
            let arriving = sent.len().saturating_sub(lost);
            for datagram in &mut sent[..arriving] {
                peer.take_in(now, datagram).unwrap();
            }
            pass(now, &mut peer, &mut me);
            me.capture(what);
            // What comes before a loss may not be acknowledged yet.
            let slack = if lost == 0 { 0 } else { 10 * DATAGRAM_BYTES };
            let arrived: usize = sent[..arriving].iter().map(|datagram| datagram.len() - 100).sum();
            assert!(me.segments.kept_bytes() <= (text.len() + slack).saturating_sub(arrived), "{lost} lost");
            given.fill(0xEE);
            let mut completed = Vec::new();
            while completed.is_empty() {
                now = now + Duration::from_milliseconds(1);
                for station in [&mut me, &mut peer] {
                    station.handle_timeout(now);
                }
                pass(now, &mut me, &mut peer);
                pass(now, &mut peer, &mut me);
                assert_eq!(me.find(), None);
                me.completed(&mut completed);
                assert!(now < Instant::ZERO + Duration::from_seconds(5.0), "it ends");
            }
            assert_eq!(completed.iter().map(|completion| completion.result).collect::<Vec<_>>(), [Ok(0)]);
            let mut arrived = vec![0; text.len()];
            there.read(&mut arrived);
            assert!(arrived == text, "what was given is what arrives, whatever came to its place");
            assert_eq!(me.segments.kept_bytes(), 0);
        }
    }

    #[test]
    fn local_memory_is_given_back_whether_there_is_room_or_not() {
        let mut me = station(0);
        let to = me.connect(Rank::new(1), DATAGRAM_BYTES);
        let at = AddressLayout::new(2, HEAP_BYTES).unwrap().encode(Rank::new(1), SegmentId::SYMMETRIC, 0).unwrap();
        let local = Cells::from_mut(vec![0u64; 512].leak());
        let now = Instant::ZERO;
        let mut posted = 0;
        for token in 0..1000 {
            posted += usize::from(me.post(now, to, Operation::Put { from: local, to: at }, Token(token)).is_ok());
            let given = me.give(now, to, at, &[6; 4096], Token(token));
            posted += usize::from(given.map(|given| me.capture(given)).is_ok());
        }
        // What is refused has its place for as long as it takes to refuse it.
        let (places, free) = me.segments.places();
        assert!(places <= posted + 1 && places - free == posted, "{places} places, {free} free, {posted} posted");
        me.lose(now, Rank::new(1));
        while me.find().is_some() {}
        assert_eq!(me.segments.places(), (places, places), "what has ended keeps none");
    }
}
