//! Tests that replayed datagrams are no signs of life: they keep no peer active, get no answer and take no share of the receive window.

use pelago_base::{Duration, Event, Instant, Rank};
use pelago_protocol::{Rejected, Request};

use crate::memory::at;
use crate::network::{FAILURE_LIMIT, Network, Weather};

/// Returns a job of three ranks after puts to and gets from rank 1, and all datagrams that rank 1 has received.
fn captured() -> (Network, Vec<Vec<u8>>) {
    let mut network = Network::new(3, 31, Weather::FAIR);
    network.recorded = Some(Vec::new());
    for token in 0..30 {
        for from in [0, 2] {
            let local = network.local(from, vec![0; 4_000]);
            network.submit(from, 1, Request::Get { from: at(network.layout, 1, 1, 0), to: local, bytes: 4_000 }, 2 * token);
            let to = at(network.layout, 1, 2, 0);
            network.submit(from, 1, Request::Write { to, bytes: b"captured" }, 2 * token + 1);
            network.wait(from, 2 * token).unwrap();
        }
    }
    network.quiet();
    let captured = network
        .recorded
        .take()
        .unwrap()
        .into_iter()
        .filter(|departure| departure.to == 1)
        .map(|departure| departure.datagram)
        .collect();
    (network, captured)
}

fn sent(network: &Network) -> u64 {
    network.endpoints[1].counters().of(Event::DatagramSent)
}

/// Whether a datagram has no sequence number: it only acknowledges.
fn is_acknowledgement(datagram: &[u8]) -> bool {
    datagram[3] & 1 == 0
}

#[test]
fn an_idle_peer_stays_idle_and_answers_nothing() {
    let (mut network, captured) = captured();
    assert!(captured.iter().any(|datagram| is_acknowledgement(datagram)), "some only acknowledge");
    assert_eq!(network.endpoints[1].peers(), (2, 0));
    let before = sent(&network);
    for datagram in &captured {
        assert_eq!(network.deliver(1, &mut datagram.clone()), Err(Rejected::Duplicate));
        assert_eq!(network.endpoints[1].peers(), (2, 0), "nothing is kept for it");
    }
    network.quiet();
    assert_eq!(sent(&network), before);
}

#[test]
fn an_active_peer_becomes_idle_although_all_is_repeated_for_ever() {
    let (mut network, captured) = captured();
    let to = at(network.layout, 1, 1, 0);
    network.submit(0, 1, Request::Write { to, bytes: b"awake" }, 1000);
    network.wait(0, 1000).unwrap();
    while network.now.since(Instant::ZERO) < Duration::from_seconds(1.0) && network.step() {}
    let (before, begun) = (sent(&network), network.now);
    assert_eq!(network.endpoints[1].peers(), (2, 1));
    let mut repeated = captured.iter().cycle();
    // Replays so often that the peer would never become idle if they counted as traffic.
    while network.endpoints[1].peers().1 > 0 {
        assert_eq!(network.deliver(1, &mut repeated.next().unwrap().clone()), Err(Rejected::Duplicate));
        network.now = network.now + Duration::from_milliseconds(50);
        let now = network.now;
        network.endpoints[1].handle_timeout(now);
        network.pump(1);
        assert!(now.since(begun) < FAILURE_LIMIT, "it never rests");
    }
    assert_eq!(sent(&network), before, "and gets no answer");
}

/// Returns the datagrams and bytes that rank 0 sends to rank 1 before it waits, after replays of `repeated`, or, with `really`, after
/// genuine datagrams of rank 2.
fn burst(repeated: &[Vec<u8>], network: &mut Network, really: bool) -> (u64, u64) {
    let to = at(network.layout, 1, 2, 0);
    let local = network.local(0, vec![9; 240_000]);
    // The congestion window grows, and rank 1 announces its receive window.
    for token in (2000..2200).step_by(5) {
        for datagram in repeated {
            assert_eq!(network.deliver(1, &mut datagram.clone()), Err(Rejected::Duplicate));
        }
        if really {
            network.submit(2, 1, Request::Write { to, bytes: b"really" }, token);
            network.wait(2, token).unwrap();
        }
        for token in token..token + 5 {
            network.submit(0, 1, Request::Put { from: local, to, bytes: 240_000 }, token);
        }
        for token in token..token + 5 {
            network.wait(0, token).unwrap();
        }
    }
    network.recorded = Some(Vec::new());
    for token in 3000..3006 {
        network.submit(0, 1, Request::Put { from: local, to, bytes: 240_000 }, token);
    }
    let lengths: Vec<_> = network
        .recorded
        .take()
        .unwrap()
        .iter()
        .filter(|departure| departure.to == 1)
        .map(|departure| departure.datagram.len())
        .collect();
    network.quiet();
    (lengths.len() as u64, lengths.iter().sum::<usize>() as u64)
}

#[test]
fn who_is_repeated_takes_no_room_from_those_who_send() {
    let [alone, beset, shared] = [(false, false), (true, false), (false, true)].map(|(repeats, really)| {
        let (mut network, captured) = captured();
        let of_two = captured.into_iter().filter(|datagram| datagram[0] == 2).take(20).collect::<Vec<_>>();
        assert_eq!(of_two.len(), 20);
        burst(if repeats { &of_two } else { &[] }, &mut network, really)
    });
    assert_eq!(beset, alone, "as if nobody repeated anything");
    assert!(shared.1 < alone.1 / 4 * 3, "{shared:?} of {alone:?}: whoever really sends has its part");
    let (datagrams, bytes) = alone;
    let room = 1 << 20;
    assert!(bytes + 512 * datagrams <= room + 2_000, "{datagrams} datagrams of {bytes} bytes: each takes 512 besides");
    assert!(bytes + 512 * datagrams > room / 8 * 7, "{datagrams} datagrams of {bytes} bytes: the room is used");
}

#[test]
fn who_is_gone_is_lost_although_its_latest_datagram_is_repeated() {
    let mut network = Network::new(2, 32, Weather::FAIR);
    network.recorded = Some(Vec::new());
    let to = at(network.layout, 1, 1, 0);
    network.submit(0, 1, Request::Write { to, bytes: b"there" }, 0);
    network.wait(0, 0).unwrap();
    let departures = network.recorded.take().unwrap();
    let latest = &departures.iter().rfind(|departure| departure.from == 1).expect("an acknowledgement").datagram;
    network.kill(1);
    network.submit(0, 1, Request::Write { to, bytes: b"where" }, 1);
    let begun = network.now;
    while !network.ended.contains_key(&(0, 1)) {
        assert_eq!(network.deliver(0, &mut latest.clone()), Err(Rejected::Duplicate));
        network.run_until(network.now + Duration::from_milliseconds(100));
        assert!(network.now.since(begun) < Duration::from_picoseconds(2 * FAILURE_LIMIT.as_picoseconds()), "it seems to live");
    }
    assert_eq!(network.lost, [(0, Rank::new(1))]);
}
