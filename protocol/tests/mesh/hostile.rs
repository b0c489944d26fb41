//! A stranger on the network who sends, replays or alters datagrams changes nothing.

use pelago_base::{AtomicOperator, Event, Width};
use pelago_protocol::{Rejected, Request};

use crate::memory::at;
use crate::network::{Network, Random, Weather};

/// A job that has added, put and fetched, and all datagrams that it took.
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
        for (_, datagram) in &taken {
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

/// Whether a datagram has no number: it can be repeated without harm.
fn is_acknowledgement(datagram: &[u8]) -> bool {
    datagram[3] & 1 == 0
}

#[test]
fn replays_do_not_keep_the_dead_alive() {
    let mut network = recorded(false);
    network.quiet();
    let taken = network.recorded.take().unwrap();
    network.kill(1);
    network.submit(0, 1, Request::Write { to: at(network.layout, 1, 1, 64), bytes: b"hello" }, 1000);
    let mut replayed = taken.iter().filter(|(to, _)| *to == 0).cycle();
    while !network.ended.contains_key(&(0, 1000)) {
        let _ = network.deliver(0, &mut replayed.next().unwrap().1.clone());
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
        for (to, datagram) in taken.iter().filter(|(_, datagram)| !datagram.is_empty()) {
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
        let shown = network.recorded.take().unwrap().iter().any(|(_, datagram)| datagram.windows(64).any(|part| part == [7; 64]));
        assert_eq!(shown, !encrypt);
    }
}
