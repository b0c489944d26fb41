//! Tests of a driver's use of its socket and of time, between ranks that the test drives one by one at times of its choice.

use std::net::{Ipv4Addr, UdpSocket};

use pelago_base::{AddressLayout, AtomicOperator, Event, SegmentId, Width};
use pelago_platform::Completion;
use pelago_protocol::{Config, INJECT_SIZE, Key, Memory};

use pelago_memory::Cells;

use super::*;

const HEAP_BYTES: usize = 4 << 20;

/// Longer than any test here takes in virtual time.
const FAILURE_LIMIT: Duration = Duration::from_milliseconds(100_000);

/// Time between two steps of a rank that is driven.
const STEP: Duration = Duration::from_microseconds(20);

/// More steps than any operation takes.
const STEPS_MAX: u32 = 100_000;

/// A clock that stands still: the test supplies the time.
struct Still;

impl Clock for Still {
    fn now(&self) -> Instant {
        Instant::ZERO
    }
}

/// The ranks of a job, each with a heap, and their common time.
struct Job {
    layout: AddressLayout,
    ranks: Vec<Driver>,
    now: Instant,
}

impl Job {
    fn new(ranks: u32) -> Self {
        let layout = AddressLayout::new(ranks, HEAP_BYTES as u64).unwrap();
        let sockets: Vec<_> = (0..ranks).map(|_| bind()).collect();
        let addresses: Vec<_> = sockets.iter().map(Socket::local_address).collect();
        let driver = |(socket, rank): (Socket, u32)| {
            let (me, receive_window_bytes) = (Rank::new(rank), socket.receive_buffer_bytes() as u64 / 2);
            let (key, failure_limit) = (Key([7; 16]), FAILURE_LIMIT);
            let config = Config { me, incarnation: 1, layout, key, encrypt: false, failure_limit, receive_window_bytes };
            let addresses = addresses.clone();
            let find = Box::new(move |rank: Rank| addresses.get(rank.index()).copied());
            let mut driver = Driver::new(socket, config, Arc::new(Still), find, Box::new(Unwatched));
            driver.memory.register(heap(layout, rank), Cells::from_mut(vec![0u64; HEAP_BYTES / 8].leak()).into()).unwrap();
            driver
        };
        Self { layout, ranks: sockets.into_iter().zip(0..).map(driver).collect(), now: Instant::ZERO + STEP }
    }

    /// Connects `from` to `to`; returns the index of the peer.
    fn peer(&mut self, from: usize, to: usize) -> PeerIndex {
        let address = self.ranks[to].socket.local_address();
        self.ranks[from].connect(Rank::new(to as u32), address)
    }

    /// Writes to the heap of a rank.
    fn write(&mut self, from: usize, to: usize, bytes: &[u8]) {
        let (peer, at) = (self.peer(from, to), heap(self.layout, to as u32));
        self.ranks[from].post(self.now, peer, Operation::Write { to: at, bytes }, Flags::NONE, Token(1)).unwrap();
    }

    /// Drives these ranks, one after another, for a step; returns the number of operations of the first of them that have ended.
    fn step(&mut self, ranks: &[usize]) -> usize {
        self.now = self.now + STEP;
        let mut ended = Vec::new();
        for (turn, &rank) in ranks.iter().enumerate() {
            self.ranks[rank].drive(self.now, false);
            let mut others = Vec::new();
            datagrams::completed(&mut self.ranks[rank].conversations, if turn == 0 { &mut ended } else { &mut others });
        }
        assert!(ended.iter().all(|completion: &Completion| completion.result.is_ok()), "{ended:?}");
        ended.len()
    }

    /// Drives all ranks until `operations` operations of the first have ended.
    fn until_ended(&mut self, mut operations: usize) {
        let all: Vec<_> = (0..self.ranks.len()).collect();
        for _ in 0..STEPS_MAX {
            operations -= self.step(&all);
            if operations == 0 {
                return;
            }
        }
        panic!("{operations} operations do not end");
    }

    fn count(&self, rank: usize, event: Event) -> u64 {
        self.ranks[rank].conversations.counters().of(event)
    }
}

fn bind() -> Socket {
    Socket::bind((Ipv4Addr::LOCALHOST, 0).into()).unwrap()
}

fn heap(layout: AddressLayout, rank: u32) -> GlobalAddress {
    layout.encode(Rank::new(rank), SegmentId::SYMMETRIC, 0).unwrap()
}

/// Sends an injected put in batches; returns the number of send calls, of datagrams, and of assembled bytes.
fn batches(job: &mut Job, bytes: &[u8]) -> (usize, usize, usize) {
    let (peer, at) = (job.peer(0, 1), heap(job.layout, 1));
    job.now = job.now + Duration::from_milliseconds(1);
    let (now, driver) = (job.now, &mut job.ranks[0]);
    let injection = driver.conversations.inject(now, peer, at, bytes, 1).unwrap();
    let (mut calls, mut datagrams, mut assembled) = (0, 0, 0);
    loop {
        driver.fill(now, Load::Injected(&injection));
        if driver.outgoing.is_empty() {
            break;
        }
        calls += 1;
        datagrams += driver.outgoing.len();
        assembled += driver.outgoing.assembled_bytes();
        let sent = driver.socket.send_around(&mut driver.outgoing, bytes);
        assert_eq!((sent.left, sent.dropped), (0, 0));
    }
    driver.conversations.capture(&injection);
    job.until_ended(1);
    (calls, datagrams, assembled)
}

/// The cost of a megabyte besides its bytes: a system call for each datagram, an acknowledgement for every eight, and no copy except the
/// kernel's.
#[test]
fn a_long_write_leaves_from_the_memory_of_the_caller() {
    let mut job = Job::new(2);
    // Until the window is as large as the put.
    for round in 0..20 {
        job.write(0, 1, &vec![round; 1 << 20]);
        job.until_ended(1);
    }
    for (bytes, calls, datagrams) in [(64 << 10, 2, 2), (1 << 20, 17, 17)] {
        let content: Vec<u8> = (0..bytes).map(|index| (index % 251) as u8).collect();
        let acknowledged = job.count(1, Event::DatagramSent);
        let (found, of_it, assembled) = batches(&mut job, &content);
        assert_eq!((found, of_it), (calls, datagrams), "{bytes} bytes");
        // Headers and tags; the rest for the last datagram may be so short that it is copied.
        assert!(assembled < 128 * datagrams + 4096, "{assembled} of {bytes} bytes were copied");
        let acknowledgements = job.count(1, Event::DatagramSent) - acknowledged;
        assert!(acknowledgements <= datagrams as u64 / 8 + 2, "{acknowledgements} of {datagrams} datagrams");
        let mut arrived = vec![0; bytes];
        pelago_protocol::Memory::read(&job.ranks[1].memory, heap(job.layout, 1), &mut arrived).unwrap();
        assert!(arrived == content);
    }
}

/// While one datagram is in flight, short writes join the next one, and no datagram is sent for them.
#[test]
fn short_writes_join_a_datagram_that_waits() {
    let mut job = Job::new(2);
    job.write(0, 1, &[1; 8]);
    job.until_ended(1);
    let (peer, at, before) = (job.peer(0, 1), heap(job.layout, 1), job.count(0, Event::DatagramSent));
    let layout = job.layout;
    let place = |number: u64| layout.encode(Rank::new(1), SegmentId::SYMMETRIC, 8 * number).unwrap();
    let write = |number: u64| Operation::Write { to: place(number), bytes: &[7; 8] };
    let now = job.now;
    let driver = &mut job.ranks[0];
    assert!(!driver.join(peer, &write(0), Flags::NONE, Token(0)), "nothing is on its way");
    driver.post(now, peer, write(0), Flags::NONE, Token(0)).unwrap();
    assert!(!driver.join(peer, &write(1), Flags::NONE, Token(1)), "nothing waits");
    driver.post(now, peer, write(1), Flags::NONE, Token(1)).unwrap();
    let mut joined = 2;
    while driver.join(peer, &write(joined), Flags::NONE, Token(joined)) {
        joined += 1;
    }
    let room = 6 << 10;
    assert!(joined * 19 < room && (joined + 20) * 19 > room, "{joined} joined until it was full");
    assert!(!driver.join(peer, &write(0), Flags { fence: true, ..Flags::NONE }, Token(0)), "it is ordered");
    assert!(!driver.join(peer, &Operation::Write { to: at, bytes: &[0; 2000] }, Flags::NONE, Token(0)), "it is long");
    // The full datagram is sent when the next write is posted, which waits: meanwhile the target executes the full one.
    driver.post(now, peer, write(joined), Flags::NONE, Token(joined)).unwrap();
    assert_eq!(job.count(0, Event::DatagramSent) - before, 2);
    joined += 1;
    job.until_ended(joined as usize);
    assert_eq!(job.count(0, Event::DatagramSent) - before, 3);
    let mut arrived = vec![0; 8 * joined as usize];
    pelago_protocol::Memory::read(&job.ranks[1].memory, at, &mut arrived).unwrap();
    assert!(arrived.iter().all(|&byte| byte == 7));
}

#[test]
fn what_a_full_socket_did_not_take_is_copied_before_the_write_returns() {
    let mut job = Job::new(2);
    job.write(0, 1, &[1; 8]);
    job.until_ended(1);
    job.ranks[0].socket.is_full.store(true, std::sync::atomic::Ordering::Relaxed);
    let mut content = vec![7; 50_000];
    job.write(0, 1, &content);
    assert!(job.ranks[0].outgoing.assembled_bytes() > 40_000);
    content.fill(8);
    job.ranks[0].socket.is_full.store(false, std::sync::atomic::Ordering::Relaxed);
    job.until_ended(1);
    let mut arrived = vec![0; content.len()];
    pelago_protocol::Memory::read(&job.ranks[1].memory, heap(job.layout, 1), &mut arrived).unwrap();
    assert!(arrived.iter().all(|&byte| byte == 7));
}

/// Three ranks: the second has not received a write of the first yet, and the third has sent so much to the first that the
/// answer of the second arrives after all that.
fn busy() -> Job {
    let mut job = Job::new(3);
    for (from, to) in [(0, 1), (2, 0)] {
        job.write(from, to, &[1; 8]);
    }
    job.until_ended(1);
    // Acknowledgements that were held back have been sent, and the paths are known.
    (0..500).for_each(|_| _ = job.step(&[0, 1, 2]));
    job.write(0, 1, &[2; 8]);
    for _ in 0..30 {
        job.write(2, 0, &[3; 900]);
    }
    job
}

/// Two ranks, of which the first has written to the second, which does nothing; and a socket outside the job.
fn unanswered() -> (Job, UdpSocket) {
    let mut job = Job::new(2);
    job.write(0, 1, &[1; 8]);
    (job, UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap())
}

#[test]
fn a_rank_that_was_away_takes_in_what_has_come_before_it_finds_anybody_silent() {
    let mut job = busy();
    job.step(&[1]);
    // These ranks have no monitoring: a silent one counts as failed.
    job.now = job.now + FAILURE_LIMIT + FAILURE_LIMIT;
    let ended: usize = (0..100).map(|_| job.step(&[0])).sum();
    assert_eq!((ended, job.count(0, Event::PeerLost)), (1, 0), "the answer lay in its socket");
}

#[test]
fn a_rank_that_was_away_and_finds_nothing_does_at_once_what_is_due() {
    let (mut job, _) = unanswered();
    job.now = job.now + Duration::from_milliseconds(100);
    job.step(&[0]);
    assert!(job.ranks[0].next_deadline().is_some_and(|due| due > job.now));
}

#[test]
fn what_comes_without_end_does_not_put_off_for_ever_what_is_due() {
    let (mut job, stranger) = unanswered();
    job.now = job.now + Duration::from_milliseconds(100);
    let mut looks = 0;
    while job.ranks[0].next_deadline().is_some_and(|due| due <= job.now) {
        assert!(looks <= LOOKS_BEHIND_MAX, "it looks what is due");
        stranger.send_to(&[0; 8], job.ranks[0].socket.local_address()).unwrap();
        job.step(&[0]);
        looks += 1;
    }
    assert!(looks > LOOKS_BEHIND_MAX / 2, "{looks} looks: as many as a socket holds");
}

#[test]
fn a_rank_that_was_not_away_does_what_is_due_though_something_comes() {
    let (mut job, stranger) = unanswered();
    job.now = job.ranks[0].next_deadline().unwrap();
    stranger.send_to(&[0; 8], job.ranks[0].socket.local_address()).unwrap();
    job.step(&[0]);
    assert_eq!(job.count(0, Event::DatagramRepeated), 1);
}

#[test]
fn datagrams_are_no_longer_than_the_way_carries() {
    let mut job = Job::new(2);
    for (from, to) in [(0, 1), (1, 0)] {
        job.write(from, to, &[1; 8]);
    }
    job.until_ended(1);
    let longest = |job: &mut Job, address| {
        let peer = job.ranks[0].connect(Rank::new(1), address);
        job.now = job.now + Duration::from_milliseconds(1);
        let (now, to) = (job.now, heap(job.layout, 1));
        let Driver { conversations, memory, .. } = &mut job.ranks[0];
        let injection = conversations.inject(now, peer, to, &[1; 30_000], 2).unwrap();
        let mut buffer = vec![0; UDP_DATAGRAM_BYTES_MAX];
        let next = || conversations.poll_transmit_gathered(now, &injection, memory, &mut buffer);
        let longest = std::iter::from_fn(next).map(|transmit| transmit.bytes).max().unwrap();
        conversations.capture(&injection);
        longest
    };
    let address = job.ranks[1].socket.local_address();
    assert!(longest(&mut job, address) > 1200, "the other has told what it can take");
    // Broadcasts are not allowed on this socket, so that there is no path.
    let longest = longest(&mut job, (Ipv4Addr::BROADCAST, 9).into());
    assert!((1200 - 7..=1200).contains(&longest), "{longest}: pieces end between words of eight bytes");
}

/// The calls in the source of a function that pass an operation to the next layer.
fn handed_on(source: &str, function: &str) -> Vec<String> {
    let begin = source.find(function).expect(function);
    let body = &source[begin..begin + source[begin..].find("\n    }\n").expect("the end of a method")];
    let calls = [".post(", ".submit(", ".inject("].into_iter().flat_map(|call| body.match_indices(call));
    let receiver = |(at, call): (usize, &str)| {
        let before = body[..at].rsplit(|letter: char| !letter.is_alphanumeric() && letter != '_').next().unwrap_or_default();
        format!("{before}{}", call.trim_end_matches('('))
    };
    calls.map(receiver).collect()
}

/// `Udp`, the driver, which owns the socket, and the conversations: the chain of calls is read from the sources of the three layers.
#[test]
fn a_put_passes_three_layers_on_its_way_to_the_socket() {
    let conversations = include_str!("../../../../protocol/src/conversations/mod.rs");
    let layers = [
        (include_str!("../transport.rs"), "    fn post(", &["driver.post"][..]),
        (include_str!("../driver.rs"), "    pub(crate) fn post(", &["conversations.submit", "conversations.inject"]),
        (conversations, "    pub fn submit(", &[]),
        (conversations, "    pub fn inject<", &[]),
    ];
    for (source, function, expected) in layers {
        assert_eq!(handed_on(source, function), expected, "{function}");
    }
}

/// A put has a record of its caller and one entry of the protocol, which holds the token of the caller. The driver has no table of its own: all
/// its fields are listed here, and none of them grows.
#[test]
fn a_put_is_entered_in_two_tables() {
    let mut job = Job::new(2);
    let peer = job.peer(0, 1);
    let local = Cells::from_mut(vec![1u64; 1].leak());
    for token in 0..100 {
        let put = Operation::Put { from: local, to: heap(job.layout, 1) };
        job.ranks[0].post(job.now, peer, put, Flags::NONE, Token(token)).unwrap();
    }
    let Driver {
        socket: _,
        latest: _,
        conversations,
        memory: _,
        clock: _,
        incoming: _,
        outgoing: _,
        peers,
        find: _,
        watcher: _,
        waiting: _,
        retry: _,
        pause: _,
        looks_behind: _,
    } = &job.ranks[0];
    assert_eq!((conversations.operations(), conversations.completions(), peers.len()), (100, 0, 1));
}

/// As `Context::put_signal` posts them: the values, then, after a fence, the word of the signal; both may be held back. The same holds for a batch of active
/// messages and its flag.
#[test]
fn a_put_and_its_signal_are_one_datagram() {
    let mut job = Job::new(2);
    // Ranks that have exchanged datagrams know their maximum length.
    job.write(0, 1, &[1; 8]);
    job.until_ended(1);
    let (peer, at) = (job.peer(0, 1), heap(job.layout, 1));
    for bytes in [8, INJECT_SIZE] {
        let before = job.count(0, Event::DatagramSent);
        let values = vec![3; bytes];
        let (more, behind) = (Flags { more: true, ..Flags::NONE }, Flags { more: true, ..Flags::FENCE });
        let signal = Operation::Atomic { at, width: Width::Eight, operator: AtomicOperator::Add, operand: 1 };
        let to = GlobalAddress::from_bits(at.bits() + 64);
        job.ranks[0].post(job.now, peer, Operation::Write { to, bytes: &values }, more, Token(1)).unwrap();
        job.ranks[0].post(job.now, peer, signal, behind, Token(2)).unwrap();
        job.ranks[0].release(job.now);
        job.until_ended(2);
        assert_eq!(job.count(0, Event::DatagramSent) - before, 1, "with {bytes} bytes");
    }
}

/// For all lengths, a put with signal takes as many datagrams as one without, and is sent from the memory of the caller.
#[test]
fn a_long_put_and_its_signal_are_as_many_datagrams_as_the_put() {
    let mut job = Job::new(2);
    job.write(0, 1, &[1; 8]);
    job.until_ended(1);
    let (peer, at) = (job.peer(0, 1), heap(job.layout, 1));
    let to = GlobalAddress::from_bits(at.bits() + 64);
    for (word, (bytes, datagrams)) in (7..).zip([(UDP_SIGNALLED_BYTES_MIN, 1), (28_000, 1), (64 << 10, 2), (190_000, 3)]) {
        let before = job.count(0, Event::DatagramSent);
        let values = vec![word as u8; bytes];
        let put = Operation::Signalled { to, bytes: &values, at, word };
        job.ranks[0].post(job.now, peer, put, Flags::NONE, Token(1)).unwrap();
        job.until_ended(1);
        assert_eq!(job.count(0, Event::DatagramSent) - before, datagrams, "with {bytes} bytes");
        let mut there = vec![0; 64 + bytes];
        job.ranks[1].memory.read(at, &mut there).unwrap();
        assert!(there[..8] == word.to_ne_bytes() && there[64..] == values, "with {bytes} bytes");
    }
    let short = Operation::Signalled { to, bytes: &[1; UDP_SIGNALLED_BYTES_MIN - 1], at, word: 1 };
    assert_eq!(job.ranks[0].post(job.now, peer, short, Flags::NONE, Token(1)), Err(PostError::Signalled));
}

/// A rank may compute from then on, and receive no answer that would release operations that wait. An answer of its own does not delay the signal either.
#[test]
fn the_signal_of_a_long_put_leaves_at_once_and_what_follows_a_short_one_waits() {
    let mut job = Job::new(2);
    job.write(0, 1, &[1; 8]);
    job.until_ended(1);
    let (peer, back, at) = (job.peer(0, 1), job.peer(1, 0), heap(job.layout, 1));
    let to = GlobalAddress::from_bits(at.bits() + 64);
    let add = |at| Operation::Atomic { at, width: Width::Eight, operator: AtomicOperator::Add, operand: 1 };
    for (bytes, leave) in [(8, 1), (INJECT_SIZE + 1, 2), (28_000, 2)] {
        for answers in [false, true] {
            if answers {
                job.ranks[1].post(job.now, back, add(heap(job.layout, 0)), Flags::NONE, Token(3)).unwrap();
                job.now = job.now + STEP;
                let before = job.count(0, Event::DatagramSent);
                job.ranks[0].drive(job.now, false);
                assert_eq!(job.count(0, Event::DatagramSent) - before, 1, "the answer");
            }
            let before = job.count(0, Event::DatagramSent);
            let values = vec![3; bytes];
            job.ranks[0].post(job.now, peer, Operation::Write { to, bytes: &values }, Flags::NONE, Token(1)).unwrap();
            job.ranks[0].post(job.now, peer, add(at), Flags::FENCE, Token(2)).unwrap();
            assert_eq!(job.count(0, Event::DatagramSent) - before, leave, "with {bytes} bytes, answers {answers}");
            job.until_ended(2);
        }
    }
}
