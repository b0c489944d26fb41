//! What a station promises to those who post and to those who register, between stations that a test connects in virtual time.

use pelago_base::{AddressLayout, AtomicOperator, Duration, Event, GlobalAddress, Instant, Rank, SegmentId, Width};
use pelago_datagrams::{Found, Station};
use pelago_memory::Cells;
use pelago_platform::limits::COMPLETIONS_MAX;
use pelago_platform::{Completion, Failure, Operation, PostError, Token};
use pelago_protocol::{Config, INJECT_SIZE, Key, Liveness, PeerIndex, Transmit};

const HEAP_BYTES: usize = 1 << 20;
const DATAGRAM_BYTES: usize = 8000;
const FAILURE_LIMIT: Duration = Duration::from_milliseconds(1000);

/// Two ranks that know each other, each with a heap.
struct Two {
    now: Instant,
    stations: [Station; 2],
    heaps: [Cells<'static>; 2],
    /// The other rank, as each knows it.
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
        let mut stations = [0, 1].map(|rank| {
            let (me, layout, key) = (Rank::new(rank), layout(), Key([1; 16]));
            let failure_limit = FAILURE_LIMIT;
            Station::new(Config { me, start: rank, layout, key, encrypt: false, failure_limit, room_bytes: 1 << 22 })
        });
        let to = [0, 1].map(|rank| stations[rank].connect(Rank::new(1 - rank as u32), DATAGRAM_BYTES));
        for ((station, heap), rank) in stations.iter_mut().zip(heaps).zip(0..) {
            station.register(at(rank, 0), heap.into()).unwrap();
        }
        Self { now: Instant::ZERO, stations, heaps, to }
    }

    /// Everything that one has to send comes to the other; returns how many datagrams.
    fn pass(&mut self, from: usize) -> usize {
        let mut buffer = [0; DATAGRAM_BYTES];
        let mut count = 0;
        while let Some(Transmit { bytes, .. }) = self.stations[from].transmit(self.now, None, &mut buffer, false) {
            let _ = self.stations[1 - from].take_in(self.now, &mut buffer[..bytes]);
            count += 1;
        }
        count
    }

    /// Goes on until nothing moves, and some milliseconds further.
    fn settle(&mut self) {
        for _ in 0..10 {
            while self.pass(0) + self.pass(1) > 0 {}
            self.now = self.now + Duration::from_milliseconds(1);
            for station in &mut self.stations {
                station.handle_timeout(self.now);
                while station.find().is_some() {}
            }
        }
    }

    fn completed(&mut self, rank: usize) -> Vec<Completion> {
        let mut completed = Vec::new();
        assert_eq!(self.stations[rank].completed(&mut completed), !completed.is_empty());
        completed
    }

    /// Posts at the other rank, waits, and returns what completes.
    fn result(&mut self, from: usize, operation: Operation<'_>) -> Result<u64, Failure> {
        self.stations[from].post(self.now, self.to[from], operation, Token(77)).unwrap();
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
    // Everything to a lost rank ends at once.
    two.stations[0].lose(now, Rank::new(1));
    for _ in 0..2 {
        for token in 0..COMPLETIONS_MAX as u64 {
            two.stations[0].post(now, two.to[0], add(1), Token(token)).unwrap();
            while two.stations[0].find().is_some() {}
        }
        assert_eq!(two.stations[0].post(now, two.to[0], add(1), Token(0)), Err(PostError::Full));
        let given = two.stations[0].give(now, two.to[0], at(1, 0), &[0; 2000], Token(0));
        assert_eq!(given.map(drop), Err(PostError::Full));
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
        // More than may wait for one rank, by each way of posting.
        let full = |result: Result<(), PostError>| if result == Err(PostError::Full) { 0 } else { result.map(|()| 1).unwrap() };
        for token in 0..2000 {
            let (now, to) = (two.now, two.to[0]);
            let put = Operation::Put { from: local, to: at(1, 0) };
            posted += full(two.stations[0].post(now, to, put, Token(token)));
            let given = two.stations[0].give(now, to, at(1, 8192), &[6; 4096], Token(token));
            posted += full(given.map(|given| two.stations[0].capture(given)));
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
    let too_long = two.stations[0].post(now, to, Operation::Write { to: at(1, 0), bytes: &bytes }, Token(1));
    assert_eq!(too_long, Err(PostError::TooLong(INJECT_SIZE + 1)));
    assert_eq!(two.result(0, Operation::Write { to: at(1, 0), bytes: &bytes[1..] }), Ok(0));
}

#[test]
fn only_what_is_registered_here_is_reached() {
    let mut two = Two::new();
    let end = HEAP_BYTES as u64;
    // The memory of another rank, the byte behind the segment, and a segment that there is none of.
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
    assert!(!two.stations[1].has_news(), "nothing was touched");
    let misaligned = Operation::Atomic { at: at(1, 4), width: Width::Eight, operator: AtomicOperator::Add, operand: 9 };
    assert_eq!(two.result(0, misaligned), Err(Failure::Misaligned(at(1, 4))));
}

#[test]
fn memory_is_registered_once_and_closed_before_it_goes() {
    let mut two = Two::new();
    let bytes = 200_000;
    two.heaps[1].write(&[3; HEAP_BYTES]);
    assert!(two.stations[1].register(at(1, 0), cells(8).into()).is_err(), "it is in use");
    let to = cells(bytes);
    let (now, peer) = (two.now, two.to[0]);
    two.stations[0].post(now, peer, Operation::Get { from: at(1, 0), to }, Token(1)).unwrap();
    two.pass(0);
    // What is being read goes on; nothing new begins.
    assert!(!two.stations[1].deregister(at(1, 0)));
    assert!(!two.stations[1].deregister(at(1, 0)));
    let late = [Operation::Write { to: at(1, 0), bytes: &[1; 8] }, Operation::Get { from: at(1, 0), to: cells(8) }, add(1)];
    for (token, operation) in (2..).zip(late) {
        two.stations[0].post(now, peer, operation, Token(token)).unwrap();
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
    assert!(two.stations[1].deregister(at(1, 0)), "nobody reads it any more");
    let other = cells(4096);
    two.stations[1].register(at(1, 0), other.into()).unwrap();
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
        assert!(!two.stations[0].has_news() && !two.stations[1].has_news());
        let (now, to) = (two.now, two.to[0]);
        two.stations[0].post(now, to, operation, Token(1)).unwrap();
        two.settle();
        assert!(two.stations[1].has_news() && !two.stations[1].has_news(), "{operation:?}");
        assert!(two.stations[0].has_news() && two.stations[0].has_news(), "until it is fetched");
        assert_eq!(two.completed(0).len(), 1);
    }
    assert_eq!(two.result(0, Operation::Get { from: at(1, 0), to: cells(8) }), Ok(0));
    assert!(!two.stations[1].has_news(), "to read touches nothing");
}

#[test]
fn what_is_lost_is_sent_again_when_its_time_has_come() {
    let mut two = Two::new();
    let mut buffer = [0; DATAGRAM_BYTES];
    let (now, to) = (two.now, two.to[0]);
    two.stations[0].post(now, to, add(1), Token(1)).unwrap();
    assert!(two.stations[0].transmit(now, None, &mut buffer, false).is_some(), "it is lost");
    assert!(!two.stations[0].handle_timeout(now) && two.pass(0) == 0, "nothing is due");
    two.now = two.stations[0].next_deadline().unwrap();
    assert!(two.stations[0].handle_timeout(two.now) && !two.stations[0].handle_timeout(two.now));
    assert_eq!(two.pass(0), 1);
    assert_eq!(two.stations[0].counters().of(Event::DatagramRepeated), 1);
    two.settle();
    assert_eq!(two.completed(0).len(), 1);
}

#[test]
fn whoever_carries_datagrams_is_told_of_ranks_that_speak_and_of_those_that_do_not() {
    let mut two = Two::new();
    let mut third = Station::new(Config {
        me: Rank::new(1),
        start: 1,
        layout: layout(),
        key: Key([1; 16]),
        encrypt: false,
        failure_limit: FAILURE_LIMIT,
        room_bytes: 1 << 22,
    });
    let mut buffer = [0; DATAGRAM_BYTES];
    two.stations[0].post(two.now, two.to[0], add(1), Token(1)).unwrap();
    let Transmit { bytes, .. } = two.stations[0].transmit(two.now, None, &mut buffer, false).unwrap();
    third.take_in(two.now, &mut buffer[..bytes]).unwrap();
    assert_eq!(third.find(), Some(Found::Met(PeerIndex(0), Rank::new(0))));
    assert_eq!(third.find(), None);
    // Nobody carries the answers.
    let mut lost = Vec::new();
    while lost.is_empty() {
        let due = two.stations[0].next_deadline().expect("it waits for an answer");
        assert!(due > two.now, "what was due has been done");
        two.now = due;
        two.stations[0].handle_timeout(two.now);
        while two.stations[0].transmit(two.now, None, &mut buffer, false).is_some() {}
        while let Some(found) = two.stations[0].find() {
            match found {
                Found::Silent(rank) => two.stations[0].handle_liveness(two.now, rank, Liveness::Unknown),
                found => lost.push(found),
            }
        }
    }
    assert_eq!(lost, [Found::Lost(Rank::new(1))]);
    assert_eq!(two.completed(0)[0].result, Err(Failure::PeerLost(Rank::new(1))));
}
