//! Tests of a sender with silent peers: how much it sends when one is heard again, and how often it checks many.

use std::cell::Cell;
use std::rc::Rc;

use pelago_base::{Duration, Event, Instant};
use pelago_protocol::Request;

use crate::memory::at;
use crate::network::{CARRIED, Network, Weather};

const DATAGRAM_BYTES: usize = 1400;

/// Every datagram takes five milliseconds.
const FAR: Weather = Weather { lost: 0, repeated: 0, delay: (5_000_000, 5_000_000) };

/// Two ranks that know each other, and the flag that says whether datagrams between them are carried.
fn cut_off(weather: Weather) -> (Network, Rc<Cell<bool>>) {
    let mut network = Network::new(2, 1, weather);
    for (from, to) in [(0, 1), (1, 0)] {
        let write = Request::Write { to: at(network.layout, to, 1, 0), bytes: &[1; 8] };
        network.submit(from, to as usize, write, 0);
        network.wait(from, 0).unwrap();
    }
    let carries = Rc::new(Cell::new(true));
    network.fate = Box::new({
        let carries = carries.clone();
        move |_| carries.get().then_some(Duration::ZERO)
    });
    (network, carries)
}

#[test]
fn the_second_try_takes_all_that_was_sent_for_lost() {
    let (mut network, carries) = cut_off(Weather::FAIR);
    carries.set(false);
    let to = at(network.layout, 1, 1, 0);
    for token in 1..3 {
        network.submit(0, 1, Request::Write { to, bytes: &[1; 8] }, token);
    }
    // Four probes, and the first timeout.
    while network.count(0, Event::DatagramRepeated) < 5 {
        assert!(network.step());
    }
    carries.set(true);
    network.wait(0, 1).unwrap();
    // Some round trips, and less than the shortest wait for an answer. Only two tries of the first datagram have overtaken the second.
    network.run_until(network.now + Duration::from_microseconds(100));
    assert!(network.ended.contains_key(&(0, 2)), "it does not wait for a third");
}

#[test]
fn a_peer_that_is_heard_again_is_sent_two_datagrams_at_first() {
    let (mut network, carries) = cut_off(FAR);
    let bytes = 200_000;
    let (local, to) = (network.local(0, vec![1; bytes]), at(network.layout, 1, 2, 0));
    let put = Request::Put { from: local, to, bytes: bytes as u64 };
    // Repeats until the window has grown.
    for token in 1..20 {
        network.submit(0, 1, put, token);
        network.wait(0, token).unwrap();
    }
    (20..30).for_each(|token| network.submit(0, 1, put, token));
    carries.set(false);
    while network.count(0, Event::DatagramRepeated) < 3 {
        assert!(network.step());
    }
    let asked = network.now;
    carries.set(true);
    // Runs until the first answer, and for half a round trip from then on.
    let heard = network.count(0, Event::DatagramReceived);
    while network.count(0, Event::DatagramReceived) == heard {
        assert!(network.step());
    }
    assert!(network.now > asked);
    let answered = network.now;
    while network.now < answered + Duration::from_milliseconds(4) {
        assert!(network.bytes_on_the_way(1) <= 4 * DATAGRAM_BYTES, "{} bytes", network.bytes_on_the_way(1));
        assert!(network.step());
    }
    (20..30).for_each(|token| assert_eq!(network.wait(0, token), Ok(0)));
}

#[test]
fn to_look_after_many_peers_takes_a_part_of_the_time_only() {
    const PEERS: u32 = 400;
    let mut network = Network::new(PEERS + 1, 1, Weather::FAIR);
    // No peer answers, so that each has its own deadlines repeatedly.
    network.fate = Box::new(|_| None);
    for peer in 1..=PEERS {
        let write = Request::Write { to: at(network.layout, peer, 1, 0), bytes: &[1; 8] };
        network.submit(0, peer as usize, write, u64::from(peer));
    }
    let end = network.now + Duration::from_milliseconds(200);
    let (mut looked, mut looks) = (Instant::ZERO, 0);
    while network.now < end {
        let due = network.endpoints[0].poll_timeout().expect("somebody is to be asked again");
        // Half a microsecond per peer.
        assert!(looks == 0 || due.since(looked) >= Duration::from_microseconds(u64::from(PEERS) / 2), "{due:?} after {looked:?}");
        assert!(network.step());
        (looked, looks) = (due, looks + 1);
    }
    assert!(looks > 100 && network.count(0, Event::DatagramRepeated) > u64::from(PEERS), "{looks} looks");
}

#[test]
fn what_was_repeated_in_vain_delays_nothing_new_for_longer_than_a_round_trip() {
    const BYTES: u64 = 200_000;
    let (round_trip, silence) = (Duration::from_milliseconds(100), Duration::from_milliseconds(4_000));
    let one_way = round_trip.as_nanoseconds() / 2;
    let mut network = Network::with(2, 1, Weather { delay: (one_way, one_way), ..Weather::FAIR }, 65_000, false);
    let to = at(network.layout, 1, 2, 0);
    let put = Request::Put { from: network.local(0, vec![1; BYTES as usize]), to, bytes: BYTES };
    for token in 0..4 {
        network.submit(0, 1, put, token);
        network.wait(0, token).unwrap();
    }
    let until = network.now + silence;
    network.fate = Box::new(move |departure| if departure.at < until { None } else { CARRIED });
    network.submit(0, 1, put, 4);
    network.wait(0, 4).unwrap();
    let before = network.now;
    network.submit(0, 1, Request::Write { to, bytes: b"something new" }, 5);
    network.wait(0, 5).unwrap();
    let taken = network.now.since(before);
    assert!(taken < round_trip * 5 / 2, "{taken:?}");
}
