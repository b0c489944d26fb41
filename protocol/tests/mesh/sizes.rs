//! Tests of the number and size of datagrams that operations take.

use pelago_base::{AtomicOperator, Event, Width};
use pelago_protocol::Request;

use crate::flow::is_full;
use crate::memory::at;
use crate::network::{Network, Weather};

#[test]
fn small_writes_share_datagrams() {
    let mut network = Network::with(2, 1, Weather::FAIR, 8_972, false);
    let to = at(network.layout, 1, 1, 0);
    network.submit(0, 1, Request::Write { to, bytes: &[0; 8] }, 0);
    network.wait(0, 0).unwrap();
    let before = network.endpoints[0].counters().of(Event::DatagramSent);
    let peer = network.peer(0, 1);
    for token in 1..=4000 {
        network.endpoints[0].submit(network.now, peer, Request::Write { to, bytes: &[0; 8] }, token).unwrap();
    }
    network.pump(0);
    network.wait(0, 4000).unwrap();
    let datagrams = network.endpoints[0].counters().of(Event::DatagramSent) - before;
    // The datagrams are nearly full: between 5,900 and 6,144 bytes of frames each.
    assert!((4000 * 19 / 6_144..=4000 * 19 / 5_900 + 1).contains(&datagrams), "{datagrams}");
}

#[test]
fn what_is_asked_and_answered_shares_datagrams_that_are_no_longer_than_the_way_takes() {
    const COUNT: u64 = 60;
    let mut network = Network::new(2, 1, Weather::FAIR);
    let layout = network.layout;
    let there = at(layout, 1, 1, 0);
    let into = network.local(0, vec![0; 300]);
    let compare_swap = AtomicOperator::CompareSwap { expected: 1 };
    // Each request, with the bytes that the request and its answer take in datagrams; datagrams with writes are acknowledged one by one.
    let kinds = [
        (Request::Write { to: there, bytes: &[1; 300] }, 311, 311),
        (Request::Get { from: there, to: into, bytes: 300 }, 21, 307),
        (Request::Copy { from: there, to: at(layout, 1, 2, 0), bytes: 300 }, 29, 13),
        (Request::Atomic { at: there, width: Width::Eight, operator: compare_swap, operand: 1 }, 30, 13),
    ];
    for from in [0, 1] {
        let to = at(layout, 1 - from as u32, 1, 0);
        network.submit(from, 1 - from, Request::Write { to, bytes: b"hello" }, 0);
        network.wait(from, 0).unwrap();
    }
    for (kind, (request, asked, answered)) in (1..).zip(kinds) {
        let before = [0, 1].map(|rank| network.count(rank, Event::DatagramSent));
        network.recorded = Some(Vec::new());
        (0..COUNT).for_each(|number| assert!(network.hold(0, 1, request, kind * COUNT + number)));
        network.pump(0);
        assert!((0..COUNT).all(|number| network.wait(0, kind * COUNT + number).is_ok()));
        let longest = network.recorded.iter().flatten().map(|departure| departure.datagram.len()).max();
        assert!(longest <= Some(1_400), "{longest:?}");
        for (rank, bytes) in [(0, asked), (1, answered)] {
            let sent = network.count(rank, Event::DatagramSent) - before[rank];
            // Room is kept for one more frame and for all words of an acknowledgement; some datagrams only acknowledge.
            let each = (1_400 - 202) / bytes.max(30);
            assert!(sent <= COUNT / each + 4, "{sent} of rank {rank}, {bytes} bytes each");
        }
    }
}

#[test]
fn answers_of_any_size_share_no_datagram_that_is_longer_than_the_way_takes() {
    let mut network = Network::new(2, 1, Weather::FAIR);
    let (from, to) = (at(network.layout, 1, 1, 0), network.local(0, vec![0; 960]));
    network.recorded = Some(Vec::new());
    for token in 0..400 {
        assert!(network.hold(0, 1, Request::Get { from, to, bytes: 50 * (token % 20) }, token));
    }
    network.pump(0);
    network.quiet();
    assert!(network.ended.len() == 400 && network.ended.values().all(Result::is_ok));
    let longest = network.recorded.iter().flatten().map(|departure| departure.datagram.len()).max();
    assert!((Some(1_200)..=Some(1_400)).contains(&longest), "{longest:?}");
}

#[test]
fn a_get_is_two_datagrams() {
    let mut network = Network::new(2, 1, Weather::FAIR);
    let from = at(network.layout, 1, 1, 0);
    let local = network.local(0, vec![0; 8]);
    for token in 0..100 {
        network.submit(0, 1, Request::Get { from, to: local, bytes: 8 }, token);
        network.wait(0, token).unwrap();
    }
    let sent: Vec<u64> = network.endpoints.iter().map(|endpoint| endpoint.counters().of(Event::DatagramSent)).collect();
    assert_eq!(sent, [100, 100]);
}

#[test]
fn many_senders_at_once_share_the_room() {
    // All senders start at the same moment; the receiver grants each a share of its socket's capacity.
    const SENDERS: usize = 40;
    let mut network = Network::new(SENDERS as u32 + 1, 1, Weather { lost: 0, repeated: 0, delay: (20_000, 20_000) });
    let bytes = 100_000;
    for rank in 1..=SENDERS {
        let local = network.local(rank, vec![rank as u8; bytes]);
        let to = at(network.layout, 0, 2, 0);
        network.submit(rank, 0, Request::Put { from: local, to, bytes: bytes as u64 }, 0);
    }
    for rank in 1..=SENDERS {
        network.wait(rank, 0).unwrap();
    }
    let repeated: u64 = network.endpoints.iter().map(|endpoint| endpoint.counters().of(Event::DatagramRepeated)).sum();
    assert_eq!(repeated, 0, "nothing was lost, and nothing was taken for lost");
}

#[test]
fn no_datagram_is_longer_than_the_way_takes() {
    for datagram_bytes in [1_200, 1_400, 8_972, 65_507] {
        // Both directions lose much, so that retransmissions carry long acknowledgements.
        let weather = Weather { lost: 200_000, repeated: 0, delay: (20_000, 60_000) };
        let mut network = Network::with(2, 1, weather, datagram_bytes, false);
        network.recorded = Some(Vec::new());
        for (token, (rank, other)) in [(0, 1), (1, 0)].into_iter().cycle().take(20).enumerate() {
            let local = network.local(rank, vec![1; 200_000]);
            let to = at(network.layout, other as u32, 1, 0);
            network.submit(rank, other, Request::Put { from: local, to, bytes: 200_000 }, token as u64);
        }
        network.quiet();
        let longest = network.recorded.iter().flatten().map(|departure| departure.datagram.len()).max();
        assert!(longest.is_some_and(|longest| is_full(longest, datagram_bytes)), "{longest:?}");
        assert!(network.endpoints.iter().all(|endpoint| endpoint.counters().of(Event::DatagramRepeated) > 10));
    }
}
