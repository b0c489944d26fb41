//! Memory of a rank in a job of 1,048,576 ranks: one real rank with the host table of such a job communicates with 64 real endpoints.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::process::{Command, Stdio};
use std::sync::Arc;

use pelago_base::limits::RANKS_MAX;
use pelago_base::{Duration, Rank, SegmentId};
use pelago_launch::{OsClock, names};
use pelago_memory::Cells;
use pelago_platform::Registry;
use pelago_shm::limits::HOSTS_MAX;
use pelago_shm::{HostAddress, HostMemory, HostPlan};
use pelago_udp::{Setup, Socket, Udp, Unwatched};

const RANKS_PER_HOST: u32 = 64;
const HEAP_BYTES: u64 = 1 << 20;
const KEY: [u8; 16] = *b"sixteen letters.";

/// Bounds of the memory that other ranks add to a rank, and other hosts to a host.
const GROWTH_BYTES_MAX: u64 = 1 << 20;
const TABLE_BYTES_PER_HOST: u64 = 32;

#[test]
fn a_rank_of_a_million_takes_little_more_than_one_of_two() {
    let few = private_bytes(2, 1, 1);
    let many_silent = private_bytes(RANKS_MAX, RANKS_PER_HOST, 1);
    let many = private_bytes(RANKS_MAX, RANKS_PER_HOST, RANKS_PER_HOST);
    println!("private memory: {few} bytes with 2 ranks, {many_silent} with {RANKS_MAX} and one peer, {many} and 64 peers");
    let table_bytes = TABLE_BYTES_PER_HOST * u64::from(RANKS_MAX / RANKS_PER_HOST);
    assert!(many_silent < few + table_bytes / 2, "the table of hosts is not this rank's own: {few}, then {many_silent} bytes");
    assert!(many <= few + GROWTH_BYTES_MAX, "64 peers of a million ranks: {few}, then {many} bytes");
}

#[test]
fn the_table_takes_32_bytes_of_each_host_once() {
    let ranks_per_host = RANKS_MAX / HOSTS_MAX as u32;
    let file_bytes = |ranks: u32| {
        let hosts: Vec<_> = (0..ranks / ranks_per_host).map(|host| elsewhere(host, ranks_per_host)).collect();
        let plan = HostPlan { ranks, first: Rank::new(0), count: 1, heap_bytes: Some(HEAP_BYTES), key: KEY, hosts: &hosts };
        let (_host, memory) = HostMemory::create(&plan).unwrap();
        rustix::fs::fstat(&memory).unwrap().st_size as u64
    };
    let grown = file_bytes(RANKS_MAX) - file_bytes(2 * ranks_per_host);
    assert_eq!(grown, TABLE_BYTES_PER_HOST * HOSTS_MAX as u64);
}

/// Returns the private memory of rank 0 after communication with `peers` ranks of the second host.
fn private_bytes(ranks: u32, ranks_per_host: u32, peers: u32) -> u64 {
    let (mine, others) = (consecutive(1, ranks_per_host), consecutive(ranks_per_host, ranks_per_host));
    let mut hosts: Vec<_> = (0..ranks / ranks_per_host).map(|host| elsewhere(host, ranks_per_host)).collect();
    hosts[0].address = mine[0].local_addr().unwrap();
    hosts[1].address = others[0].local_addr().unwrap();
    let count = ranks_per_host;
    let plan = HostPlan { ranks, first: Rank::new(0), count, heap_bytes: Some(HEAP_BYTES), key: KEY, hosts: &hosts };
    let (host, memory) = HostMemory::create(&plan).unwrap();
    let rank_zero = hosts[0].address;
    let peers_first = ranks_per_host;
    let sockets = others.into_iter().take(peers as usize).zip(peers_first..);
    let _peers: Vec<Udp> = sockets.map(|(socket, rank)| end_point(&host, Rank::new(rank), socket, rank_zero)).collect();
    // For rank 0 all other ranks of this job appear to have reached the start barrier.
    host.release(1);
    let arguments = [HEAP_BYTES, u64::from(peers_first), u64::from(peers)].map(|number| number.to_string());
    rank(ranks, &memory, &mine[0], &arguments)
}

/// Runs rank 0 in a separate process; returns its final memory use.
fn rank(ranks: u32, memory: &OwnedFd, socket: &UdpSocket, arguments: &[String]) -> u64 {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pelago-count"));
    command.arg("talk").args(arguments).env(names::RANK, "0").env(names::SIZE, ranks.to_string());
    command.env(names::TRANSPORT, "udp").env(names::MEMORY, inherited(memory)).env(names::SOCKET, inherited(socket));
    let output = command.stderr(Stdio::inherit()).output().expect("the program was built with this test");
    assert!(output.status.success(), "{}", output.status);
    String::from_utf8_lossy(&output.stdout).trim().parse().expect("a number of bytes")
}

/// Creates an endpoint with its own heap that answers requests.
fn end_point(host: &HostMemory, me: Rank, socket: UdpSocket, rank_zero: SocketAddr) -> Udp {
    let mut end = Udp::new(Setup {
        me,
        layout: host.reach().addresses(),
        socket: Socket::adopt(socket.into()).unwrap(),
        key: KEY,
        encrypt: false,
        failure_limit: Duration::from_milliseconds(20_000),
        find: Box::new(move |rank| (rank == Rank::new(0)).then_some(rank_zero)),
        wake: Box::new(|| {}),
        watcher: Box::new(Unwatched),
        clock: Arc::new(OsClock::start()),
        progress_thread: true,
    })
    .unwrap();
    let heap = vec![0_u64; HEAP_BYTES as usize / 8].leak();
    let start = host.reach().addresses().encode(me, SegmentId::SYMMETRIC, 0).unwrap();
    end.register(start, Cells::from_mut(heap).into()).unwrap();
    end
}

/// Returns a host address that is never used.
fn elsewhere(host: u32, ranks_per_host: u32) -> HostAddress {
    let [_, high, middle, low] = host.to_be_bytes();
    HostAddress { first: Rank::new(host * ranks_per_host), address: ([10, high, middle, low], 7000).into() }
}

/// Binds `count` sockets at consecutive ports; the port range has room for `room` ranks.
fn consecutive(count: u32, room: u32) -> Vec<UdpSocket> {
    let bind = |port| UdpSocket::bind((Ipv4Addr::LOCALHOST, port)).ok();
    let all = |first: u16| (0..count as u16).map(|index| bind(first + index)).collect::<Option<Vec<_>>>();
    // The system chooses the first port, so that concurrent tests rarely conflict.
    let chosen = || bind(0)?.local_addr().ok().map(|address| address.port());
    let suits = |first: &u16| u32::from(*first) + room <= u32::from(u16::MAX);
    (0..100).find_map(|_| all(chosen().filter(suits)?)).expect("some ports are free")
}

/// Makes child processes inherit the descriptor; returns its number.
fn inherited(descriptor: &impl AsFd) -> String {
    let descriptor = descriptor.as_fd();
    rustix::io::fcntl_setfd(descriptor, rustix::io::FdFlags::empty()).unwrap();
    descriptor.as_raw_fd().to_string()
}
