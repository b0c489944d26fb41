//! The memory that a rank of a large job needs for each peer with which it communicates, including the provider's own memory.
//!
//! The peers are in a separate process, so that their memory is not counted.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use pelago_base::{AddressLayout, AtomicOperator, Instant, Rank, SegmentId, Width};
use pelago_memory::Cells;
use pelago_ofi::{FabricError, Ofi, Setup};
use pelago_platform::{Address, Flags, Network, Operation, Registry, Token, Transport};

const RANKS: u32 = 1 << 20;
const HEAP_BYTES: u64 = 4096;
const PEERS: u32 = 64;

/// Environment variable that makes a process of this test hold the peers.
const PEERS_VARIABLE: &str = "PELAGO_TEST_PEERS";

/// Maximum number of bytes that 64 peers may take beyond 2, with all that libfabric 1.17 keeps for each connection: 1.25 MiB were measured, of which libfabric
/// alone takes 1.13 MiB (`tools/peers/connections.c`).
const BYTES_MAX: u64 = 3 << 19;

fn layout() -> AddressLayout {
    AddressLayout::new(RANKS, HEAP_BYTES).unwrap()
}

/// A rank with a heap; `None`, and a line, where the library or the provider is not installed.
fn rank(me: u32) -> Option<Ofi> {
    let setup = Setup {
        me: Rank::new(me),
        layout: layout(),
        fabric: "tcp;ofi_rxm".parse().unwrap(),
        interface: Some(std::net::Ipv4Addr::LOCALHOST.into()),
        find: Box::new(|_| None),
        wake: Box::new(|| ()),
        lost: Box::new(|_| ()),
        progress_thread: false,
        devices: false,
        is_oversubscribed: true,
    };
    let mut ofi = match Ofi::new(setup) {
        Ok(ofi) => ofi,
        Err(error @ (FabricError::Missing(_) | FabricError::None(..))) => {
            eprintln!("skipped: {error}");
            return None;
        }
        Err(error) => panic!("{error}"),
    };
    let memory = Cells::from_mut(vec![0_u64; HEAP_BYTES as usize / 8].leak());
    ofi.register(layout().encode(Rank::new(me), SegmentId::SYMMETRIC, 0).unwrap(), memory.into()).unwrap();
    Some(ofi)
}

/// Number of bytes of this process that are in memory and not shared with another.
fn private_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/self/smaps_rollup").unwrap();
    let kilobytes = |line: &str| line.split_whitespace().nth(1)?.parse::<u64>().ok();
    text.lines().filter(|line| line.starts_with("Private_")).filter_map(kilobytes).sum::<u64>() << 10
}

/// Puts, gets and adds to each of the peers, until all has completed.
fn talk(ofi: &mut Ofi, peers: &[(Rank, Address)], token: &mut u64) {
    let into = Cells::from_mut(vec![0_u64; 1].leak());
    for (peer, address) in peers {
        let endpoint = ofi.connect(None, *peer, address).unwrap();
        let at = layout().encode(*peer, SegmentId::SYMMETRIC, 0).unwrap();
        let add = Operation::Atomic { at, width: Width::Eight, operator: AtomicOperator::Add, operand: 1 };
        let operations = [Operation::Write { to: at, bytes: &[1; 8] }, Operation::Get { from: at, to: into }, add];
        for operation in operations {
            *token += 1;
            ofi.post(Instant::ZERO, endpoint, operation, Flags::NONE, Token(*token)).unwrap();
            let mut completed = Vec::new();
            while completed.is_empty() {
                ofi.progress(Instant::ZERO, &mut completed);
                std::thread::yield_now();
            }
            assert!(completed.iter().all(|done| done.result.is_ok()), "{completed:?}");
        }
    }
}

/// Holds the peers until standard input is closed; does nothing unless the variable is set.
#[test]
fn peers_of_the_other_test() {
    if std::env::var_os(PEERS_VARIABLE).is_none() {
        return;
    }
    let ranks = (1..=PEERS).map(|me| rank(me).expect("it was there before"));
    let ranks: Mutex<Vec<Ofi>> = Mutex::new(ranks.collect());
    for end in ranks.lock().unwrap().iter_mut() {
        let digits: String = end.network().address().0.iter().map(|byte| format!("{byte:02x}")).collect();
        println!("address {digits}");
    }
    std::io::stdout().flush().unwrap();
    let over = Arc::new(AtomicBool::new(false));
    let ends = over.clone();
    std::thread::spawn(move || {
        let _closed = std::io::stdin().read(&mut [0]);
        ends.store(true, Ordering::Relaxed);
    });
    while !over.load(Ordering::Relaxed) {
        ranks.lock().unwrap().iter_mut().for_each(|end| _ = end.progress(Instant::ZERO, &mut Vec::new()));
        std::thread::yield_now();
    }
}

#[test]
fn sixty_four_peers_take_little_more_than_two() {
    let Some(mut ofi) = rank(0) else { return };
    let mut process = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "peers_of_the_other_test", "--nocapture"])
        .env(PEERS_VARIABLE, "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(process.stdout.take().unwrap()).lines().map(|line| line.unwrap());
    let parsed = lines.filter_map(|line| {
        let (_, digits) = line.split_once("address ")?;
        let byte = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).unwrap();
        Some(Address((0..digits.len()).step_by(2).map(byte).collect::<Vec<_>>()))
    });
    let peers: Vec<(Rank, Address)> = (1..=PEERS).map(Rank::new).zip(parsed).collect();
    assert_eq!(peers.len(), PEERS as usize);
    let mut token = 0;
    talk(&mut ofi, &peers[..2], &mut token);
    let two = private_bytes();
    talk(&mut ofi, &peers, &mut token);
    let all = private_bytes();
    drop(process.stdin.take());
    // Its exit status is not needed.
    let _ended = process.wait();
    let more = all.saturating_sub(two);
    eprintln!("2 peers: {two} bytes; {PEERS} peers: {more} bytes more");
    assert!(more <= BYTES_MAX, "{PEERS} peers take {more} bytes more than 2");
}
