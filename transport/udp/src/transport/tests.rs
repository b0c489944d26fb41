//! Tests of what the transport takes from its process and its socket, and of its reports about peers.

use std::net::{Ipv4Addr, UdpSocket};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use pelago_base::{Event, SegmentId};
use pelago_protocol::Liveness;
use rustix::net::sockopt;

use pelago_memory::Cells;

use super::*;
use crate::limits::{UDP_DATAGRAM_BYTES_MAX, UDP_PUT_DATAGRAM_BYTES_MAX};

const HEAP_BYTES: usize = 2 << 20;

/// Longer than any step of the tests takes, so that a missing event is detected.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(20);

/// A clock that stands still, as the tests supply the time; counts how often it was read.
#[derive(Default)]
struct Still(AtomicU64);

impl Clock for Still {
    fn now(&self) -> Instant {
        self.0.fetch_add(1, Ordering::Relaxed);
        Instant::ZERO
    }
}

/// Two ranks of one process, with their heaps, and the ranks that the first has reported as failed.
struct Two {
    begun: std::time::Instant,
    ends: [Udp; 2],
    clock: Arc<Still>,
    lost: Arc<Mutex<Vec<Rank>>>,
}

/// A watcher that knows nothing of ranks, and records which are lost.
struct Told(Arc<Mutex<Vec<Rank>>>);

impl Watcher for Told {
    fn liveness(&self, _rank: Rank) -> Liveness {
        Liveness::Unknown
    }

    fn lost(&self, rank: Rank) {
        self.0.lock().unwrap().push(rank);
    }

    fn unreachable(&self, rank: Rank) {
        panic!("nobody says that rank {rank} is alive");
    }
}

fn layout() -> AddressLayout {
    AddressLayout::new(2, HEAP_BYTES as u64).unwrap()
}

fn heap(rank: u32) -> GlobalAddress {
    layout().encode(Rank::new(rank), SegmentId::SYMMETRIC, 0).unwrap()
}

fn write(bytes: &[u8]) -> Operation<'_> {
    Operation::Write { to: heap(1), bytes }
}

fn bind() -> Socket {
    Socket::bind((Ipv4Addr::LOCALHOST, 0).into()).unwrap()
}

impl Two {
    /// The ranks find each other at these addresses.
    fn at(sockets: [Socket; 2], addresses: [SocketAddr; 2], failure_limit: Duration, encrypt: bool) -> Self {
        let (lost, clock) = (Arc::new(Mutex::new(Vec::new())), Arc::<Still>::default());
        let mut number = 0;
        let ends = sockets.map(|socket| {
            let (me, told) = (Rank::new(number), lost.clone());
            number += 1;
            let mut end = Udp::new(Setup {
                me,
                layout: layout(),
                socket,
                key: [7; 16],
                encrypt,
                failure_limit,
                find: Box::new(move |rank| addresses.get(rank.index()).copied()),
                wake: Box::new(|| {}),
                watcher: Box::new(Told(told)),
                clock: clock.clone(),
                progress_thread: false,
            })
            .unwrap();
            end.register(heap(number - 1), Cells::from_mut(vec![0u64; HEAP_BYTES / 8].leak()).into()).unwrap();
            end
        });
        Self { begun: std::time::Instant::now(), ends, clock, lost }
    }

    fn new(sockets: [Socket; 2]) -> Self {
        Self::with(sockets, false)
    }

    fn with(sockets: [Socket; 2], encrypt: bool) -> Self {
        let addresses = [&sockets[0], &sockets[1]].map(Socket::local_address);
        Self::at(sockets, addresses, Duration::from_milliseconds(20_000), encrypt)
    }

    fn now(&self) -> Instant {
        Instant::ZERO + self.begun.elapsed().into()
    }

    /// Connects the first rank to the second.
    fn connect(&mut self) -> Endpoint {
        let address = self.ends[1].address();
        self.ends[0].connect(None, Rank::new(1), &address).unwrap()
    }

    /// Drives the given ranks until an operation of the first has completed.
    fn complete(&mut self, driven: &[usize]) -> Completion {
        let mut completed = Vec::new();
        while completed.is_empty() {
            assert!(self.begun.elapsed() < PATIENCE, "it ends");
            for &rank in driven {
                let now = self.now();
                let mut others = Vec::new();
                self.ends[rank].progress(now, if rank == 0 { &mut completed } else { &mut others });
            }
        }
        completed[0]
    }

    /// Posts an operation to the second rank, and waits for its result.
    fn result(&mut self, to: Endpoint, operation: Operation<'_>) -> Result<u64, pelago_platform::Failure> {
        let now = self.now();
        self.ends[0].post(now, to, operation, Flags::NONE, Token(1)).unwrap();
        self.complete(&[0, 1]).result
    }
}

#[test]
fn a_process_is_told_from_another_of_its_rank() {
    let plain = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    plain.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut two = Two::new([bind(), bind()]);
    let address = Address(plain.local_addr().unwrap().to_string().into());
    let to = two.ends[0].connect(None, Rank::new(1), &address).unwrap();
    two.ends[0].post(two.now(), to, write(&[1; 8]), Flags::NONE, Token(1)).unwrap();
    let mut datagram = [0; 2000];
    plain.recv(&mut datagram).unwrap();
    // The place of the process's incarnation in the header.
    let incarnation = u32::from_le_bytes(*datagram[4..].first_chunk().unwrap());
    assert_eq!(incarnation, std::process::id() & 0xFF_FFFF);
}

/// A thread reads the clock before it takes the lock, and meanwhile another thread may have used a later time.
#[test]
fn time_does_not_go_back_from_one_thread_to_another() {
    let mut two = Two::new([bind(), bind()]);
    let (to, into) = (two.connect(), Cells::from_mut(vec![0u64; 1].leak()));
    let [earlier, later] = [1, 5].map(|milliseconds| Instant::ZERO + Duration::from_milliseconds(milliseconds));
    two.ends[0].post(later, to, Operation::Get { from: heap(1), to: into }, Flags::NONE, Token(1)).unwrap();
    let (mut completed, begun) = (Vec::new(), std::time::Instant::now());
    while completed.is_empty() {
        assert!(begun.elapsed() < PATIENCE, "it ends");
        two.ends[1].progress(later, &mut Vec::new());
        two.ends[0].progress(earlier, &mut completed);
    }
    assert!(two.ends[0].next_deadline().is_some_and(|due| due > later), "the answer is acknowledged later");
}

#[test]
fn a_rank_that_is_not_connected_is_not_sent_to() {
    let mut two = Two::new([bind(), bind()]);
    let now = two.now();
    assert_eq!(two.ends[0].post(now, Endpoint(0), write(&[1; 8]), Flags::NONE, Token(1)), Err(PostError::Unknown(Endpoint(0))));
    let to = two.connect();
    assert_eq!(two.ends[0].post(now, Endpoint(1), write(&[1; 8]), Flags::NONE, Token(1)), Err(PostError::Unknown(Endpoint(1))));
    assert_eq!(two.result(to, write(&[1; 8])), Ok(0), "the other finds it although it has not connected either");
}

/// Reading the clock took a sixth of the time of a put.
#[test]
fn puts_that_wait_for_company_read_no_clock() {
    let mut two = Two::new([bind(), bind()]);
    let to = two.connect();
    assert_eq!(two.result(to, write(&[1; 8])), Ok(0));
    let post = |two: &mut Two| two.ends[0].post(Instant::ZERO, to, write(&[2; 8]), Flags::NONE, Token(1)).unwrap();
    let reads = |two: &Two| two.clock.0.load(Ordering::Relaxed);
    let before = reads(&two);
    // The first is sent, the second begins the datagram that the others join.
    (0..2).for_each(|_| post(&mut two));
    let first = reads(&two) - before;
    assert!((1..=4).contains(&first), "{first}");
    (0..300).for_each(|_| post(&mut two));
    assert_eq!(reads(&two) - before, first);
}

#[test]
fn a_put_that_fills_a_datagram_takes_one() {
    let mut two = Two::new([bind(), bind()]);
    let to = two.connect();
    let bytes = vec![1; UDP_DATAGRAM_BYTES_MAX];
    let at = GlobalAddress::from_bits(heap(1).bits() + (1 << 20));
    // At first neither rank knows the maximum datagram size of the other.
    for _ in 0..3 {
        assert_eq!(two.result(to, write(&bytes)), Ok(0));
    }
    let sent = |two: &Two| two.ends[0].counters()().of(Event::DatagramSent);
    for (length, datagrams) in [(UDP_PUT_DATAGRAM_BYTES_MAX, 1), (UDP_DATAGRAM_BYTES_MAX, 2)] {
        let before = sent(&two);
        assert_eq!(two.result(to, Operation::Signalled { to: heap(1), bytes: &bytes[..length], at, word: 7 }), Ok(0));
        assert_eq!(sent(&two) - before, datagrams, "{length} bytes");
    }
}

#[test]
fn datagrams_are_no_longer_than_pays() {
    let mut two = Two::new([bind(), bind()]);
    let to = two.connect();
    let bytes = vec![1; 1 << 20];
    // At first neither rank knows the maximum datagram size of the other.
    for _ in 0..3 {
        assert_eq!(two.result(to, write(&bytes)), Ok(0));
    }
    let sent = |two: &Two| two.ends[0].counters()().of(Event::DatagramSent);
    let before = sent(&two);
    assert_eq!(two.result(to, write(&bytes)), Ok(0));
    let datagrams = (sent(&two) - before) as usize;
    assert!(datagrams >= bytes.len() / UDP_DATAGRAM_BYTES_MAX, "{datagrams} datagrams");
}

#[test]
fn no_more_is_on_its_way_than_the_socket_of_the_receiver_holds() {
    let sockets = [bind(), bind()];
    // The minimum that the kernel allows; less than a kilobyte of it is for datagrams.
    sockopt::set_socket_recv_buffer_size(sockets[1].descriptor(), 1).unwrap();
    let mut two = Two::new(sockets);
    let to = two.connect();
    assert_eq!(two.result(to, write(&[1; 8])), Ok(0), "it has told");
    let counters = two.ends[0].counters();
    let before = counters().of(Event::DatagramSent);
    let (now, bytes) = (two.now(), vec![1; 100_000]);
    two.ends[0].post(now, to, write(&bytes), Flags::NONE, Token(2)).unwrap();
    two.ends[0].progress(now, &mut Vec::new());
    assert_eq!(counters().of(Event::DatagramSent) - before, 1);
}

#[test]
fn who_waits_for_a_rank_that_says_nothing_is_told() {
    let silent = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let (sockets, addresses) = ([bind(), bind()], [silent.local_addr().unwrap(); 2]);
    let mut two = Two::at(sockets, addresses, Duration::from_milliseconds(50), false);
    let to = two.ends[0].connect(None, Rank::new(1), &Address(addresses[1].to_string().into())).unwrap();
    let now = two.now();
    two.ends[0].post(now, to, write(&[1; 8]), Flags::NONE, Token(1)).unwrap();
    assert_eq!(two.complete(&[0]).result, Err(pelago_platform::Failure::PeerLost(Rank::new(1))));
    assert_eq!(*two.lost.lock().unwrap(), [Rank::new(1)]);
}
