//! Tests that an attacker on the network who sends, replays or alters datagrams changes nothing.

use pelago_base::{AtomicOperator, Event, Width};
use pelago_protocol::{Rejected, Request};

use crate::memory::at;
use crate::network::{Departure, Network, Random, Weather};

/// Bytes of a datagram that are never encrypted.
const HEADER_BYTES: usize = 16;

/// Returns a job after some operations, with a recording of all its datagrams.
fn recorded(encrypt: bool) -> Network {
    let mut network = Network::with(3, 11, Weather::FAIR, 1400, encrypt);
    network.recorded = Some(Vec::new());
    let local = network.local(0, vec![7; 20_000]);
    let (word, bytes) = (at(network.layout, 1, 1, 0), at(network.layout, 1, 2, 0));
    for round in 0..10 {
        let add = Request::Atomic { at: word, width: Width::Eight, operator: AtomicOperator::Add, operand: 1 };
        network.submit(0, 1, add, 4 * round);
        network.submit(2, 1, add, 4 * round);
        network.submit(0, 1, Request::Put { from: local, to: bytes, bytes: 20_000 }, 4 * round + 1);
        network.submit(0, 1, Request::Copy { from: bytes, to: at(network.layout, 2, 2, 0), bytes: 5_000 }, 4 * round + 2);
        network.submit(0, 1, Request::Write { to: bytes, bytes: &[round as u8; 32] }, 4 * round + 3);
        (0..20).for_each(|_| {
            network.step();
        });
    }
    network
}

fn memories(network: &Network) -> Vec<[Option<Vec<u8>>; 2]> {
    network.memories.iter().map(|memory| memory.segments.clone()).collect()
}

#[test]
fn replayed_datagrams_change_nothing() {
    for idle in [false, true] {
        let mut network = recorded(false);
        network.quiet();
        if !idle {
            network.submit(0, 1, Request::Write { to: at(network.layout, 1, 1, 64), bytes: b"awake" }, 1000);
            network.wait(0, 1000).unwrap();
        }
        let before = memories(&network);
        let (taken, ended) = (network.recorded.take().unwrap(), network.ended.clone());
        for Departure { datagram, .. } in &taken {
            for rank in 0..3 {
                let answer = network.deliver(rank, &mut datagram.clone());
                let harmless = matches!(answer, Err(Rejected::Forged | Rejected::Duplicate)) || is_acknowledgement(datagram);
                assert!(harmless, "{answer:?}");
            }
        }
        assert!(memories(&network) == before, "idle {idle}");
        network.quiet();
        assert!(memories(&network) == before && network.ended == ended, "idle {idle}");
        assert!(network.endpoints[1].counters().of(Event::DatagramDuplicate) > 50);
    }
}

/// Whether a datagram has no sequence number: it can be repeated without harm.
pub(crate) fn is_acknowledgement(datagram: &[u8]) -> bool {
    datagram[3] & 1 == 0
}

#[test]
fn replays_do_not_keep_the_dead_alive() {
    let mut network = recorded(false);
    network.quiet();
    let taken = network.recorded.take().unwrap();
    network.kill(1);
    network.submit(0, 1, Request::Write { to: at(network.layout, 1, 1, 64), bytes: b"hello" }, 1000);
    let mut replayed = taken.iter().filter(|departure| departure.to == 0).cycle();
    while !network.ended.contains_key(&(0, 1000)) {
        let _ = network.deliver(0, &mut replayed.next().unwrap().datagram.clone());
        assert!(network.step(), "the dead rank is found out");
        assert!(network.now.as_picoseconds() < 20_000_000_000_000, "in bounded time");
    }
    assert!(network.ended[&(0, 1000)].is_err());
}

#[test]
fn altered_datagrams_are_refused_and_counted() {
    for encrypt in [false, true] {
        let mut network = recorded(encrypt);
        network.quiet();
        let (before, taken) = (memories(&network), network.recorded.take().unwrap());
        let mut random = Random::new(1);
        let mut counted = 0;
        for Departure { to, datagram, .. } in &taken {
            let mut altered = datagram.clone();
            match random.below(3) {
                0 => altered[random.below(datagram.len() as u64) as usize] ^= 1 << random.below(8),
                1 => altered.truncate(random.below(datagram.len() as u64) as usize),
                _ => altered.push(0),
            }
            let answer = network.deliver(*to, &mut altered);
            assert!(matches!(answer, Err(Rejected::Forged | Rejected::Foreign)), "{answer:?}");
            counted += 1;
        }
        let refused = |network: &Network| -> u64 {
            let of = |event| network.endpoints.iter().map(|endpoint| endpoint.counters().of(event)).sum::<u64>();
            of(Event::DatagramForged) + of(Event::DatagramForeign)
        };
        assert_eq!(refused(&network), counted);
        for _ in 0..10_000 {
            let bytes = random.below(200) as usize;
            let mut noise = random.bytes(bytes);
            assert!(network.deliver(random.below(3) as usize, &mut noise).is_err());
        }
        assert_eq!(refused(&network), counted + 10_000);
        assert!(memories(&network) == before);
    }
}

#[test]
fn encrypted_datagrams_show_nothing() {
    for encrypt in [false, true] {
        let mut network = recorded(encrypt);
        let taken = network.recorded.take().unwrap();
        let shown = taken.iter().any(|departure| departure.datagram.windows(64).any(|part| part == [7; 64]));
        assert_eq!(shown, !encrypt);
    }
}

#[test]
fn two_processes_of_a_rank_never_seal_two_datagrams_alike() {
    // Two encryptions with the same nonce reveal the difference of the two texts; equal texts would be equal.
    let bodies = |start_again: bool| {
        let mut network = Network::with(2, 1, Weather::FAIR, 1400, true);
        if start_again {
            network.restart(0);
        }
        network.recorded = Some(Vec::new());
        network.submit(0, 1, Request::Write { to: at(network.layout, 1, 1, 0), bytes: &[7; 200] }, 0);
        network.recorded.take().unwrap().remove(0).datagram.split_off(HEADER_BYTES)
    };
    let [first, again, second] = [false, false, true].map(bodies);
    assert_eq!(first, again, "everything else is equal");
    let alike = first.iter().zip(&second).filter(|(one, other)| one == other).count();
    assert!(first.len() == second.len() && alike < first.len() / 16, "{alike} of {} bytes", first.len());
}

#[test]
fn a_rank_that_the_job_has_not_is_refused_and_not_remembered() {
    let mut network = Network::new(3, 1, Weather::FAIR);
    network.recorded = Some(Vec::new());
    // The sender has the key, but belongs to a larger job.
    network.submit(2, 0, Request::Write { to: at(network.layout, 0, 1, 0), bytes: b"from three" }, 0);
    let datagram = network.recorded.take().unwrap().remove(0).datagram;
    let mut smaller = Network::new(2, 1, Weather::FAIR);
    assert_eq!(smaller.deliver(0, &mut datagram.clone()), Err(Rejected::Foreign));
    assert_eq!(smaller.endpoints[0].peers(), (0, 0));
    assert_eq!(network.deliver(0, &mut datagram.clone()), Ok(()), "the job that has it takes it");
}
