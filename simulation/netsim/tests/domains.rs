//! Closed forms of operations between ranks that a switch or links of pairs connect.

use pelago_base::{Duration, Instant};
use pelago_netsim::{Machine, Netsim, NetworkOperation, Notice};

/// Picoseconds from one rank to another, of the overhead, and of an atomic.
const LATENCY: u64 = 700_000;
const OVERHEAD: u64 = 300_000;
const ATOMIC: u64 = 50_000;

/// Picoseconds of a piece of 1,000 bytes at 100 GB/s, and its bytes.
const PIECE: u64 = 10_000;
const PIECE_BYTES: u64 = 1000;

fn machine(rate: &str) -> Machine {
    let domain = format!(
        "[node.domain]\n{rate} = 100.0\nlatency_ns = 700\noverhead_ns = 300\natomic_ns = 50\npiece_bytes = {PIECE_BYTES}\n"
    );
    Machine::parse(&Machine::bundled("fat-tree-ndr").unwrap().replacen("[[rail]]", &format!("{domain}\n[[rail]]"), 1)).unwrap()
}

/// Posts operations at once, each on behalf of its number; returns the picoseconds at which each was read, took effect and was complete.
fn times(machine: &Machine, operations: &[NetworkOperation]) -> Vec<[u64; 3]> {
    let mut netsim = Netsim::new(machine, 1, 1).unwrap();
    for (number, &operation) in operations.iter().enumerate() {
        netsim.post_in_domain(number as u32, operation, number as u64, Duration::ZERO);
    }
    let mut times = vec![[0; 3]; operations.len()];
    while let Some(notice) = netsim.next() {
        let (token, place) = match notice {
            Notice::Read { token } => (token, 0),
            Notice::Effect { token } => (token, 1),
            Notice::Done { token } => (token, 2),
            other => panic!("{other:?}"),
        };
        times[token as usize][place] = netsim.now().since(Instant::ZERO).as_picoseconds();
    }
    times
}

fn put(from: u32, to: u32, pieces: u64) -> NetworkOperation {
    NetworkOperation::Put { from, to, bytes: pieces * PIECE_BYTES }
}

/// The last time at which any operation takes effect.
fn end(times: &[[u64; 3]]) -> u64 {
    times.iter().map(|[_, effect, _]| *effect).max().unwrap()
}

#[test]
fn an_operation_takes_its_steps() {
    for rate in ["port_gb_per_s", "pair_gb_per_s"] {
        let machine = machine(rate);
        let one = |operation| times(&machine, &[operation])[0];
        let sent = OVERHEAD + 4 * PIECE;
        assert_eq!(one(put(0, 1, 4)), [sent, sent + LATENCY, sent + 2 * LATENCY], "{rate}");
        let sent = OVERHEAD + LATENCY + 4 * PIECE;
        let get = NetworkOperation::Get { by: 0, at: 1, bytes: 4 * PIECE_BYTES };
        assert_eq!(one(get), [sent, sent + LATENCY, sent + LATENCY], "{rate}");
        let copy = NetworkOperation::Copy { by: 2, from: 0, to: 1, bytes: 4 * PIECE_BYTES };
        assert_eq!(one(copy), [sent, sent + LATENCY, sent + 2 * LATENCY], "{rate}");
        let done = OVERHEAD + LATENCY + ATOMIC;
        assert_eq!(one(NetworkOperation::Atomic { by: 0, at: 1 }), [0, done, done + LATENCY], "{rate}");
        let word = NetworkOperation::Put { from: 3, to: 4, bytes: 8 };
        assert_eq!(one(word)[1], OVERHEAD + 80 + LATENCY, "{rate}");
    }
}

#[test]
fn disjoint_pairs_have_the_full_rate() {
    let ring: Vec<_> = (0..8).map(|rank| put(rank, (rank + 3) % 8, 50)).collect();
    for rate in ["port_gb_per_s", "pair_gb_per_s"] {
        assert_eq!(times(&machine(rate), &ring).iter().map(|times| times[1]).max(), Some(OVERHEAD + 50 * PIECE + LATENCY));
    }
}

#[test]
fn an_incast_shares_the_port_of_its_target() {
    let incast: Vec<_> = (1..8).map(|rank| put(rank, 0, 50)).collect();
    let shared = times(&machine("port_gb_per_s"), &incast);
    assert_eq!(end(&shared), OVERHEAD + LATENCY + 7 * 50 * PIECE);
    // They take turns piece by piece, and so end one piece after another.
    for (number, [read, effect, _]) in shared.iter().enumerate() {
        assert_eq!(*read, OVERHEAD + 50 * PIECE, "no sender waits for the port of the target");
        assert_eq!(*effect, OVERHEAD + LATENCY + (7 * 49 + number as u64 + 1) * PIECE, "{number}");
    }
    let apart = times(&machine("pair_gb_per_s"), &incast);
    assert_eq!(end(&apart), OVERHEAD + LATENCY + 50 * PIECE, "each link has its rate");
}

#[test]
fn transfers_of_a_port_take_turns() {
    let from_one: Vec<_> = (1..8).map(|rank| put(0, rank, if rank == 1 { 1 } else { 50 })).collect();
    let shared = times(&machine("port_gb_per_s"), &from_one);
    assert_eq!(shared[0][1], OVERHEAD + PIECE + LATENCY);
    assert_eq!(end(&shared), OVERHEAD + (1 + 6 * 50) * PIECE + LATENCY);
    // A short transfer that is posted last waits for one piece of each other one.
    let mut last = from_one;
    last.rotate_left(1);
    assert_eq!(times(&machine("port_gb_per_s"), &last)[6][1], OVERHEAD + 7 * PIECE + LATENCY);
    let same_pair = [put(0, 1, 50), put(0, 1, 50)];
    assert_eq!(end(&times(&machine("pair_gb_per_s"), &same_pair)), OVERHEAD + 100 * PIECE + LATENCY);
}

#[test]
fn an_exchange_of_all_has_the_full_rate_but_for_some_pieces() {
    let all: Vec<_> = (0..8u32).flat_map(|from| (1..8).map(move |step| put(from, (from + step) % 8, 50))).collect();
    let bound = OVERHEAD + LATENCY + 7 * 50 * PIECE;
    let found = end(&times(&machine("port_gb_per_s"), &all));
    assert!((bound..=bound + 7 * PIECE).contains(&found), "{found} of at least {bound}");
    assert_eq!(end(&times(&machine("pair_gb_per_s"), &all)), OVERHEAD + LATENCY + 50 * PIECE);
}

#[test]
fn a_word_serves_one_atomic_after_another() {
    let atomics: Vec<_> = (1..8).map(|by| NetworkOperation::Atomic { by, at: 0 }).collect();
    assert_eq!(end(&times(&machine("port_gb_per_s"), &atomics)), OVERHEAD + LATENCY + 7 * ATOMIC);
}

#[test]
fn a_machine_without_domains_fails_their_operations() {
    let mut netsim = Netsim::new(&Machine::parse(Machine::bundled("fat-tree-ndr").unwrap()).unwrap(), 1, 1).unwrap();
    netsim.post_in_domain(0, put(0, 1, 1), 5, Duration::ZERO);
    assert!(matches!(netsim.next(), Some(Notice::Failed { token: 5, .. })));
}
