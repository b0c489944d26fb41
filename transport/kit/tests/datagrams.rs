//! Guarantees of a transport by datagrams for posted operations and registered memory, between two ranks that a test connects in virtual
//! time.

use pelago_base::{AddressLayout, AtomicOperator, Duration, Event as Counted, GlobalAddress, Instant, Rank, SegmentId, Width};
use pelago_kit::datagrams::{RankConversations, RankMemory, admit, completed, deregister, request};
use pelago_memory::{Cells, Region};
use pelago_platform::limits::COMPLETIONS_MAX;
use pelago_platform::{Completion, Failure, Operation, PostError, RegisterError, Token};
use pelago_protocol::{Config, Event, INJECT_SIZE, Injection, Key, Liveness, PeerIndex, Rejected, Transmit};

const HEAP_BYTES: usize = 1 << 20;
const DATAGRAM_BYTES: usize = 8000;
const FAILURE_LIMIT: Duration = Duration::from_milliseconds(1000);

/// One of the ranks: the driver of its conversations.
struct Side {
    conversations: RankConversations,
    memory: RankMemory,
}

impl Side {
    fn new(config: Config) -> Self {
        Self { conversations: RankConversations::new(config), memory: RankMemory::new(config.layout, config.me) }
    }

    fn connect(&mut self, rank: Rank, datagram_bytes: usize) -> PeerIndex {
        self.conversations.connect(rank, datagram_bytes)
    }

    fn register(&mut self, start: GlobalAddress, memory: Region<'static>) -> Result<(), RegisterError> {
        self.memory.register(start, memory)
    }

    fn deregister(&mut self, start: GlobalAddress) -> bool {
        deregister(&self.conversations, &mut self.memory, start)
    }

    fn post(&mut self, now: Instant, to: PeerIndex, operation: Operation<'_>, Token(token): Token) -> Result<(), PostError> {
        admit(&self.conversations)?;
        self.conversations.submit(now, to, request(operation)?, token).map_err(|_| PostError::Full)
    }

    fn inject<'a>(
        &mut self,
        now: Instant,
        peer: PeerIndex,
        to: GlobalAddress,
        bytes: &'a [u8],
        Token(token): Token,
    ) -> Result<Injection<'a>, PostError> {
        admit(&self.conversations)?;
        self.conversations.inject(now, peer, to, bytes, token).map_err(|_| PostError::Full)
    }

    fn transmit_injected(&mut self, now: Instant, injection: &Injection<'_>, buffer: &mut [u8]) -> Option<Transmit> {
        let transmit = self.conversations.poll_transmit_gathered(now, injection, &self.memory, buffer)?;
        if let Some(gap) = transmit.gap {
            buffer.copy_within(gap.at..transmit.bytes - gap.bytes, gap.at + gap.bytes);
            buffer[gap.at..][..gap.bytes].copy_from_slice(&injection.source()[gap.from..][..gap.bytes]);
        }
        Some(transmit)
    }

    fn take_in(&mut self, now: Instant, datagram: &mut [u8]) -> Result<(), Rejected> {
        self.conversations.handle_datagram(now, datagram, &mut self.memory)
    }

    /// Handles the timeouts that are due by now; returns whether there were any.
    fn handle_timeout(&mut self, now: Instant) -> bool {
        let is_due = self.next_deadline().is_some_and(|due| now >= due);
        self.conversations.handle_timeout(now);
        is_due
    }

    fn transmit(&mut self, now: Instant, buffer: &mut [u8]) -> Option<Transmit> {
        self.conversations.poll_transmit(now, &self.memory, buffer, false)
    }

    fn find(&mut self) -> Option<Event> {
        self.conversations.poll_event()
    }

    fn completed(&mut self, into: &mut Vec<Completion>) -> bool {
        completed(&mut self.conversations, into)
    }

    fn has_news(&mut self) -> bool {
        self.memory.take_touched() || self.conversations.completions() > 0
    }

    fn next_deadline(&self) -> Option<Instant> {
        self.conversations.poll_timeout()
    }
}

/// Two ranks that know each other, each with a heap.
struct Two {
    now: Instant,
    sides: [Side; 2],
    heaps: [Cells<'static>; 2],
    /// The index of the other rank, for each.
    to: [PeerIndex; 2],
}

fn layout() -> AddressLayout {
    AddressLayout::new(2, HEAP_BYTES as u64).unwrap()
}

fn at(rank: u32, offset: u64) -> GlobalAddress {
    layout().encode(Rank::new(rank), SegmentId::SYMMETRIC, offset).unwrap()
}

fn cells(bytes: usize) -> Cells<'static> {
    Cells::from_mut(vec![0u64; bytes / 8].leak())
}

fn add(rank: u32) -> Operation<'static> {
    Operation::Atomic { at: at(rank, 0), width: Width::Eight, operator: AtomicOperator::Add, operand: 1 }
}

impl Two {
    fn new() -> Self {
        let heaps = [(); 2].map(|()| cells(HEAP_BYTES));
        let mut sides = [0, 1].map(|rank| {
            let (me, layout, key) = (Rank::new(rank), layout(), Key([1; 16]));
            let failure_limit = FAILURE_LIMIT;
            Side::new(Config { me, incarnation: rank, layout, key, encrypt: false, failure_limit, receive_window_bytes: 1 << 22 })
        });
        let to = [0, 1].map(|rank| sides[rank].connect(Rank::new(1 - rank as u32), DATAGRAM_BYTES));
        for ((side, heap), rank) in sides.iter_mut().zip(heaps).zip(0..) {
            side.register(at(rank, 0), heap.into()).unwrap();
        }
        Self { now: Instant::ZERO, sides, heaps, to }
    }

    /// Delivers all datagrams of one rank to the other; returns their number.
    fn pass(&mut self, from: usize) -> usize {
        let mut buffer = [0; DATAGRAM_BYTES];
        let mut count = 0;
        while let Some(Transmit { bytes, .. }) = self.sides[from].transmit(self.now, &mut buffer) {
            let _ = self.sides[1 - from].take_in(self.now, &mut buffer[..bytes]);
            count += 1;
        }
        count
    }

    /// Continues until nothing moves, and some milliseconds longer.
    fn settle(&mut self) {
        for _ in 0..10 {
            while self.pass(0) + self.pass(1) > 0 {}
            self.now = self.now + Duration::from_milliseconds(1);
            for side in &mut self.sides {
                side.handle_timeout(self.now);
                while side.find().is_some() {}
            }
        }
    }

    fn completed(&mut self, rank: usize) -> Vec<Completion> {
        let mut completed = Vec::new();
        assert_eq!(self.sides[rank].completed(&mut completed), !completed.is_empty());
        completed
    }

    /// Posts an operation to the other rank, waits, and returns its result.
    fn result(&mut self, from: usize, operation: Operation<'_>) -> Result<u64, Failure> {
        self.sides[from].post(self.now, self.to[from], operation, Token(77)).unwrap();
        self.settle();
        match self.completed(from)[..] {
            [Completion { token: Token(77), result }] => result,
            ref others => panic!("{others:?}"),
        }
    }
}

#[test]
fn completions_that_nobody_fetches_are_bounded() {
    let mut two = Two::new();
    let now = two.now;
    // Every operation to a failed rank ends at once.
    two.sides[0].conversations.peer_failed(now, Rank::new(1));
    for _ in 0..2 {
        for token in 0..COMPLETIONS_MAX as u64 {
            two.sides[0].post(now, two.to[0], add(1), Token(token)).unwrap();
            while two.sides[0].find().is_some() {}
        }
        assert_eq!(two.sides[0].post(now, two.to[0], add(1), Token(0)), Err(PostError::Full));
        let injected = two.sides[0].inject(now, two.to[0], at(1, 0), &[0; 2000], Token(0));
        assert_eq!(injected.map(drop), Err(PostError::Full));
        let completed = two.completed(0);
        assert_eq!(completed.len(), COMPLETIONS_MAX);
        let tokens = completed.iter().map(|completion| (completion.token, completion.result));
        assert!(tokens.eq((0..).map(Token).zip(std::iter::repeat_n(Err(Failure::PeerLost(Rank::new(1))), COMPLETIONS_MAX))));
    }
}

#[test]
fn what_is_refused_for_lack_of_room_has_no_effect() {
    let mut two = Two::new();
    let local = cells(4096);
    local.write(&[5; 4096]);
    let mut posted = 0;
    for round in 0..3 {
        // More operations than may wait for one rank, by each way of posting.
        let full = |result: Result<(), PostError>| if result == Err(PostError::Full) { 0 } else { result.map(|()| 1).unwrap() };
        for token in 0..2000 {
            let (now, to) = (two.now, two.to[0]);
            let put = Operation::Put { from: local, to: at(1, 0) };
            posted += full(two.sides[0].post(now, to, put, Token(token)));
            let injected = two.sides[0].inject(now, to, at(1, 8192), &[6; 4096], Token(token));
            posted += full(injected.map(|injection| two.sides[0].conversations.capture(&injection)));
        }
        assert!(posted < 600 * (round + 1), "not all: {posted}");
        two.settle();
    }
    let completed = two.completed(0);
    assert_eq!(completed.len(), posted);
    assert!(completed.iter().all(|completion| completion.result == Ok(0)));
    let mut arrived = [0; 4097];
    two.heaps[1].part(0, 4097).unwrap().read(&mut arrived);
    assert!(arrived[..4096] == [5; 4096] && arrived[4096] == 0);
}

#[test]
fn a_write_that_is_too_long_is_refused() {
    let mut two = Two::new();
    let bytes = [1; INJECT_SIZE + 1];
    let (now, to) = (two.now, two.to[0]);
    let too_long = two.sides[0].post(now, to, Operation::Write { to: at(1, 0), bytes: &bytes }, Token(1));
    assert_eq!(too_long, Err(PostError::TooLong(INJECT_SIZE + 1)));
    assert_eq!(two.result(0, Operation::Write { to: at(1, 0), bytes: &bytes[1..] }), Ok(0));
}

#[test]
fn only_what_is_registered_here_is_reached() {
    let mut two = Two::new();
    let end = HEAP_BYTES as u64;
    // The memory of another rank, the byte behind the segment, and a segment that does not exist.
    let absent = layout().encode(Rank::new(1), SegmentId::new(2).unwrap(), 0).unwrap();
    for wrong in [at(0, 64), at(1, end - 7), absent] {
        let refused = Err(Failure::OutOfBounds(wrong));
        assert_eq!(two.result(0, Operation::Write { to: wrong, bytes: &[1; 8] }), refused);
        let to = cells(8);
        assert_eq!(two.result(0, Operation::Get { from: wrong, to }), refused);
        let operator = AtomicOperator::Swap;
        let aligned = GlobalAddress::from_bits(wrong.bits() & !7);
        if aligned == wrong {
            let swap = Operation::Atomic { at: wrong, width: Width::Eight, operator, operand: 9 };
            assert_eq!(two.result(0, swap), refused);
        }
    }
    assert!(!two.sides[1].has_news(), "nothing was touched");
    let misaligned = Operation::Atomic { at: at(1, 4), width: Width::Eight, operator: AtomicOperator::Add, operand: 9 };
    assert_eq!(two.result(0, misaligned), Err(Failure::Misaligned(at(1, 4))));
}

#[test]
fn memory_is_registered_once_and_closed_before_it_goes() {
    let mut two = Two::new();
    let bytes = 200_000;
    two.heaps[1].write(&[3; HEAP_BYTES]);
    assert!(two.sides[1].register(at(1, 0), cells(8).into()).is_err(), "it is in use");
    let to = cells(bytes);
    let (now, peer) = (two.now, two.to[0]);
    two.sides[0].post(now, peer, Operation::Get { from: at(1, 0), to }, Token(1)).unwrap();
    two.pass(0);
    // Reads in progress continue; no new access begins.
    assert!(!two.sides[1].deregister(at(1, 0)));
    assert!(!two.sides[1].deregister(at(1, 0)));
    let late = [Operation::Write { to: at(1, 0), bytes: &[1; 8] }, Operation::Get { from: at(1, 0), to: cells(8) }, add(1)];
    for (token, operation) in (2..).zip(late) {
        two.sides[0].post(now, peer, operation, Token(token)).unwrap();
    }
    let mut completed = Vec::new();
    for _ in 0..20 {
        two.settle();
        completed.extend(two.completed(0));
    }
    completed.sort_by_key(|completion| completion.token.0);
    let refused = Err(Failure::OutOfBounds(at(1, 0)));
    assert_eq!(completed.iter().map(|completion| completion.result).collect::<Vec<_>>(), [Ok(0), refused, refused, refused]);
    let mut read = vec![0; bytes];
    to.read(&mut read);
    assert!(read == vec![3; bytes]);
    assert!(two.sides[1].deregister(at(1, 0)), "nobody reads it any more");
    let other = cells(4096);
    two.sides[1].register(at(1, 0), other.into()).unwrap();
    assert_eq!(two.result(0, add(1)), Ok(0));
}

#[test]
fn a_rank_is_told_when_others_touch_its_memory_and_when_something_completed() {
    let mut two = Two::new();
    let touching = [
        Operation::Write { to: at(1, 0), bytes: &[1; 8] },
        Operation::Put { from: cells(5000), to: at(1, 0) },
        Operation::Copy { from: at(1, 0), to: at(1, 64), bytes: 8 },
        add(1),
    ];
    for operation in touching {
        assert!(!two.sides[0].has_news() && !two.sides[1].has_news());
        let (now, to) = (two.now, two.to[0]);
        two.sides[0].post(now, to, operation, Token(1)).unwrap();
        two.settle();
        assert!(two.sides[1].has_news() && !two.sides[1].has_news(), "{operation:?}");
        assert!(two.sides[0].has_news() && two.sides[0].has_news(), "until it is fetched");
        assert_eq!(two.completed(0).len(), 1);
    }
    assert_eq!(two.result(0, Operation::Get { from: at(1, 0), to: cells(8) }), Ok(0));
    assert!(!two.sides[1].has_news(), "to read touches nothing");
}

#[test]
fn what_is_lost_is_sent_again_when_its_time_has_come() {
    let mut two = Two::new();
    let mut buffer = [0; DATAGRAM_BYTES];
    let (now, to) = (two.now, two.to[0]);
    two.sides[0].post(now, to, add(1), Token(1)).unwrap();
    assert!(two.sides[0].transmit(now, &mut buffer).is_some(), "it is lost");
    assert!(!two.sides[0].handle_timeout(now) && two.pass(0) == 0, "nothing is due");
    two.now = two.sides[0].next_deadline().unwrap();
    assert!(two.sides[0].handle_timeout(two.now) && !two.sides[0].handle_timeout(two.now));
    assert_eq!(two.pass(0), 1);
    assert_eq!(two.sides[0].conversations.counters().of(Counted::DatagramRepeated), 1);
    two.settle();
    assert_eq!(two.completed(0).len(), 1);
}

#[test]
fn whoever_carries_datagrams_is_told_of_ranks_that_speak_and_of_those_that_do_not() {
    let mut two = Two::new();
    let mut third = Side::new(Config {
        me: Rank::new(1),
        incarnation: 1,
        layout: layout(),
        key: Key([1; 16]),
        encrypt: false,
        failure_limit: FAILURE_LIMIT,
        receive_window_bytes: 1 << 22,
    });
    let mut buffer = [0; DATAGRAM_BYTES];
    two.sides[0].post(two.now, two.to[0], add(1), Token(1)).unwrap();
    let Transmit { bytes, .. } = two.sides[0].transmit(two.now, &mut buffer).unwrap();
    third.take_in(two.now, &mut buffer[..bytes]).unwrap();
    assert_eq!(third.find(), Some(Event::Met(PeerIndex(0), Rank::new(0))));
    assert_eq!(third.find(), None);
    // The answers are not delivered.
    let mut lost = Vec::new();
    while lost.is_empty() {
        let due = two.sides[0].next_deadline().expect("it waits for an answer");
        assert!(due > two.now, "what was due has been done");
        two.now = due;
        two.sides[0].handle_timeout(two.now);
        while two.sides[0].transmit(two.now, &mut buffer).is_some() {}
        while let Some(found) = two.sides[0].find() {
            match found {
                Event::Silent(rank) => two.sides[0].conversations.handle_liveness(two.now, rank, Liveness::Unknown),
                found => lost.push(found),
            }
        }
    }
    assert_eq!(lost, [Event::Lost(Rank::new(1))]);
    assert_eq!(two.completed(0)[0].result, Err(Failure::PeerLost(Rank::new(1))));
}

/// A rank with a longer failure limit than the others.
fn side(me: u32) -> Side {
    let failure_limit = Duration::from_seconds(10.0);
    let (layout, key, receive_window_bytes) = (layout(), Key([1; 16]), 1 << 22);
    Side::new(Config { me: Rank::new(me), incarnation: me, layout, key, encrypt: false, failure_limit, receive_window_bytes })
}

/// Delivers all datagrams of `from` to `to`; returns their number.
fn pass(now: Instant, from: &mut Side, to: &mut Side) -> usize {
    let mut buffer = [0; DATAGRAM_BYTES];
    let mut count = 0;
    while let Some(Transmit { bytes, .. }) = from.transmit(now, &mut buffer) {
        to.take_in(now, &mut buffer[..bytes]).unwrap();
        count += 1;
    }
    count
}

/// An address of another rank is not searched in this rank's memory, whichever rank sends the operation.
#[test]
fn an_operation_on_another_rank_finds_nothing() {
    let [mut me, mut peer] = [0, 1].map(side);
    let to = me.connect(Rank::new(1), DATAGRAM_BYTES);
    peer.connect(Rank::new(0), DATAGRAM_BYTES);
    let heap = Cells::from_mut(vec![0_u64; 512].leak());
    let layout = layout();
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
            for side in [&mut me, &mut peer] {
                side.handle_timeout(now);
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
    let [mut me, mut peer] = [0, 1].map(side);
    let [to, _] = [(&mut me, 1), (&mut peer, 0)].map(|(side, rank)| side.connect(Rank::new(rank), DATAGRAM_BYTES));
    let layout = layout();
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
    // Until the data read have arrived, and their sender knows it.
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
    assert_eq!(completed.iter().map(|completion| completion.result).collect::<Vec<_>>(), [Ok(0), outside], "nothing new begins");
    assert!(peer.register(read, memory(8).into()).is_ok() && peer.register(beside, memory(8).into()).is_ok());
}

#[test]
fn a_datagram_around_bytes_of_an_injection_is_whole_with_them() {
    for encrypt in [false, true] {
        let [mut me, mut peer] = [0, 1].map(|rank| {
            let (key, failure_limit, receive_window_bytes) = (Key([1; 16]), FAILURE_LIMIT, 1 << 22);
            let (me, layout, incarnation) = (Rank::new(rank), layout(), rank);
            Side::new(Config { me, incarnation, layout, key, encrypt, failure_limit, receive_window_bytes })
        });
        let to = me.connect(Rank::new(1), 20_000);
        peer.connect(Rank::new(0), 20_000);
        let heap = cells(HEAP_BYTES);
        peer.register(at(1, 0), heap.into()).unwrap();
        let mut now = Instant::ZERO;
        // The first is sent before the peer has announced how large datagrams may be.
        for (round, bytes) in [(1, 8), (2, 50_000), (3, 10_000), (4, 900)] {
            now = now + Duration::from_milliseconds(10);
            let given: Vec<u8> = (0..bytes).map(|number| (number % 251) as u8 ^ round).collect();
            let injection = me.inject(now, to, at(1, 0), &given, Token(round.into())).unwrap();
            let (mut buffer, mut left_out) = (vec![0; 20_000], 0);
            while let Some(Transmit { bytes, gap, .. }) =
                me.conversations.poll_transmit_gathered(now, &injection, &me.memory, &mut buffer)
            {
                let mut whole = match gap {
                    None => buffer[..bytes].to_vec(),
                    Some(gap) => {
                        left_out += gap.bytes;
                        let missing = &injection.source()[gap.from..][..gap.bytes];
                        [&buffer[..gap.at], missing, &buffer[gap.at..bytes - gap.bytes]].concat()
                    }
                };
                assert_eq!(whole.len(), bytes);
                assert_eq!(peer.take_in(now, &mut whole), Ok(()), "{bytes} bytes of {round}");
            }
            me.conversations.capture(&injection);
            // All bytes but short pieces, for which it is not worthwhile; none with encryption.
            let is_left_out = !encrypt && bytes >= 10_000;
            assert_eq!(left_out > bytes / 2, is_left_out, "{left_out} of {bytes}");
            assert!(is_left_out || left_out == 0);
            let mut arrived = vec![0; bytes];
            heap.part(0, bytes as u64).unwrap().read(&mut arrived);
            assert!(arrived == given, "{round}");
            pass(now, &mut peer, &mut me);
        }
    }
}

#[test]
fn only_what_may_be_sent_again_is_captured() {
    let [mut me, mut peer] = [0, 1].map(side);
    let [to, back] = [(&mut me, 1), (&mut peer, 0)].map(|(side, rank)| side.connect(Rank::new(rank), DATAGRAM_BYTES));
    assert_eq!((to, back), (PeerIndex(0), PeerIndex(0)));
    let heap: &mut [u64] = vec![0; HEAP_BYTES / 8].leak();
    let heap = Cells::from_mut(heap);
    let at = layout().encode(Rank::new(1), SegmentId::SYMMETRIC, 0).unwrap();
    peer.register(at, heap.into()).unwrap();
    let text: Vec<u8> = (0..600_000_u32).map(|number| (number % 251) as u8).collect();
    let there = heap.part(0, text.len() as u64).unwrap();
    let mut now = Instant::ZERO;
    // Number of lost datagrams of the first transmission, counted from the end; all of them in the last round.
    for lost in [0, 1, 3, usize::MAX] {
        there.write(&vec![0; text.len()]);
        let mut given = text.clone();
        let injection = me.inject(now, to, at, &given, Token(lost as u64)).unwrap();
        let (mut buffer, mut sent) = ([0; DATAGRAM_BYTES], Vec::new());
        while let Some(Transmit { bytes, .. }) = me.transmit_injected(now, &injection, &mut buffer) {
            sent.push(buffer[..bytes].to_vec());
        }
        let arriving = sent.len().saturating_sub(lost);
        for datagram in &mut sent[..arriving] {
            peer.take_in(now, datagram).unwrap();
        }
        pass(now, &mut peer, &mut me);
        me.conversations.capture(&injection);
        // Datagrams before a loss may not be acknowledged yet.
        let slack = if lost == 0 { 0 } else { 10 * DATAGRAM_BYTES };
        let arrived: usize = sent[..arriving].iter().map(|datagram| datagram.len() - 100).sum();
        assert!(me.conversations.captured_bytes() <= (text.len() + slack).saturating_sub(arrived), "{lost} lost");
        given.fill(0xEE);
        let mut completed = Vec::new();
        while completed.is_empty() {
            now = now + Duration::from_milliseconds(1);
            for side in [&mut me, &mut peer] {
                side.handle_timeout(now);
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
        assert_eq!(me.conversations.captured_bytes(), 0);
    }
}

#[test]
fn an_operation_has_one_entry_until_it_ends_and_none_if_it_is_refused() {
    let mut me = side(0);
    let to = me.connect(Rank::new(1), DATAGRAM_BYTES);
    let at = layout().encode(Rank::new(1), SegmentId::SYMMETRIC, 0).unwrap();
    let local = Cells::from_mut(vec![0u64; 512].leak());
    let now = Instant::ZERO;
    let mut posted = 0;
    for token in 0..1000 {
        posted += usize::from(me.post(now, to, Operation::Put { from: local, to: at }, Token(token)).is_ok());
        let injected = me.inject(now, to, at, &[6; 4096], Token(token));
        posted += usize::from(injected.map(|injection| me.conversations.capture(&injection)).is_ok());
    }
    assert_eq!(me.conversations.operations(), posted, "what is refused has no entry");
    me.conversations.peer_failed(now, Rank::new(1));
    assert_eq!(me.conversations.operations(), 0, "what has ended has none");
    let mut completed = Vec::new();
    assert!(me.completed(&mut completed) && completed.len() == posted);
}
