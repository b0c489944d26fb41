//! Tests of loss detection, retransmission, and probing of silent peers.

use std::cell::Cell;
use std::rc::Rc;

use pelago_base::{AtomicOperator, Duration, Event, Rank, Width};
use pelago_protocol::{Failure, Request};

use crate::hostile::is_acknowledgement;
use crate::memory::{Local, at};
use crate::network::{CARRIED, Network, Weather};

/// A round trip of 10 ms: the shortest wait for an answer is at least a millisecond longer.
const FAR: Weather = Weather { lost: 0, repeated: 0, delay: (5_000_000, 5_000_000) };

fn write(network: &Network, to: u32) -> Request<'static, Local> {
    Request::Write { to: at(network.layout, to, 1, 0), bytes: b"8 bytes." }
}

/// A put of `bytes` bytes from rank 0 to rank 1.
fn put(network: &mut Network, bytes: u64) -> Request<'static, Local> {
    let from: Local = network.local(0, vec![1; bytes as usize]);
    Request::Put { from, to: at(network.layout, 1, 2, 0), bytes }
}

/// Two ranks that know each other and the round trip.
fn acquainted(weather: Weather) -> Network {
    let mut network = Network::new(2, 1, weather);
    for (token, (from, to)) in (0..).zip([(0, 1), (1, 0), (0, 1)]) {
        let request = write(&network, to as u32);
        network.submit(from, to, request, token);
        network.wait(from, token).unwrap();
    }
    network
}

#[test]
fn one_lost_datagram_of_a_stream_is_sent_again_alone_while_the_others_go_on() {
    let mut network = acquainted(FAR);
    let mut number = 0;
    network.fate = Box::new(move |departure| {
        number += u32::from(departure.from == 0);
        (number != 5).then_some(Duration::ZERO)
    });
    let put = put(&mut network, 200_000);
    let before = network.count(0, Event::DatagramSent);
    network.submit(0, 1, put, 10);
    while network.count(0, Event::DatagramRepeated) == 0 {
        assert!(network.step());
    }
    let until_then = network.count(0, Event::DatagramSent) - before;
    network.wait(0, 10).unwrap();
    network.quiet();
    let sent = network.count(0, Event::DatagramSent) - before;
    assert!(until_then < sent / 2, "it was not the last datagram that showed the loss: {until_then} of {sent}");
    // The receiver acknowledges datagrams that arrive out of order.
    assert_eq!(network.count(0, Event::DatagramRepeated), 1);
    assert_eq!(network.count(1, Event::DatagramDuplicate), 0);
}

#[test]
fn what_is_overtaken_by_less_than_three_is_not_taken_for_lost() {
    for (overtaking, repeated) in [(1, 0), (2, 0), (3, 1)] {
        let mut network = acquainted(Weather::FAIR);
        let mut number = 0;
        network.fate = Box::new(move |departure| {
            number += u32::from(departure.from == 0);
            Some(if number == 1 { Duration::from_microseconds(10) } else { Duration::ZERO })
        });
        for token in 10..=10 + overtaking {
            let write = write(&network, 1);
            network.submit(0, 1, write, token);
        }
        network.wait(0, 10).unwrap();
        network.quiet();
        assert_eq!(network.count(0, Event::DatagramRepeated), repeated, "overtaken by {overtaking}");
    }
}

#[test]
fn what_nothing_follows_is_sent_again_until_it_arrives() {
    for tries in [1, 2, 10, 30] {
        let mut network = acquainted(Weather::FAIR);
        let mut number = 0;
        network.fate = Box::new(move |departure| {
            number += u32::from(departure.from == 0);
            (departure.from == 1 || number > tries).then_some(Duration::ZERO)
        });
        let write = write(&network, 1);
        network.submit(0, 1, write, 10);
        assert_eq!(network.wait(0, 10), Ok(0));
        network.quiet();
        assert_eq!(network.count(0, Event::DatagramRepeated), u64::from(tries));
    }
}

#[test]
fn each_wait_for_an_answer_ends_with_another_try() {
    let mut network = acquainted(Weather::FAIR);
    network.kill(1);
    network.recorded = Some(Vec::new());
    let write = write(&network, 1);
    network.submit(0, 1, write, 10);
    while network.count(0, Event::DatagramRepeated) < 7 {
        assert!(network.step());
    }
    let moments: Vec<_> = network.recorded.iter().flatten().map(|departure| departure.at).collect();
    let waits: Vec<u64> = moments.windows(2).map(|pair| pair[1].since(pair[0]).as_picoseconds()).collect();
    let grow = waits.windows(3).all(|waits| waits[1] >= waits[0] && waits[2] >= 3 * waits[0] / 2);
    assert!(grow, "none is shorter than the one before, and each about twice as long as the second before: {waits:?}");
    assert!(waits[5] >= 3 * waits[4] / 2, "those of a silent peer double: {waits:?}");
}

#[test]
fn who_hears_nothing_asks_often_but_not_always_before_it_gives_up() {
    let mut network = acquainted(Weather::FAIR);
    network.kill(1);
    let write = write(&network, 1);
    network.submit(0, 1, write, 10);
    assert_eq!(network.wait(0, 10), Err(Failure::PeerLost(Rank::new(1))));
    let repeated = network.count(0, Event::DatagramRepeated);
    assert!((20..200).contains(&repeated), "{repeated}");
}

#[test]
fn who_hears_nothing_sends_little() {
    let mut network = acquainted(FAR);
    let put = put(&mut network, 200_000);
    for token in 10..20 {
        network.submit(0, 1, put, token);
        network.wait(0, token).unwrap();
    }
    network.submit(0, 1, put, 20);
    let carries = Rc::new(Cell::new(false));
    network.fate = Box::new({
        let carries = carries.clone();
        move |_| carries.get().then_some(Duration::ZERO)
    });
    let (silent, asks) = (network.now, network.now + Duration::from_milliseconds(300));
    network.run_until(asks);
    let before = network.count(0, Event::DatagramSent);
    network.run_until(asks + Duration::from_milliseconds(1000));
    let sent = network.count(0, Event::DatagramSent) - before;
    // Twenty waits of 50 ms, with one probe and at most two full datagrams each.
    assert!((5..=80).contains(&sent), "{sent}");
    carries.set(true);
    assert_eq!(network.wait(0, 20), Ok(0));
    let took = network.now.since(silent);
    assert!(took < Duration::from_milliseconds(2000), "it finds its window again: {took:?}");
}

#[test]
fn after_two_tries_in_vain_all_that_was_sent_is_sent_again() {
    let mut network = acquainted(Weather::FAIR);
    let carries = Rc::new(Cell::new(false));
    network.fate = Box::new({
        let carries = carries.clone();
        move |_| carries.get().then_some(Duration::ZERO)
    });
    for token in 10..13 {
        let write = write(&network, 1);
        network.submit(0, 1, write, token);
    }
    while network.count(0, Event::DatagramRepeated) < 8 {
        assert!(network.step());
    }
    carries.set(true);
    network.wait(0, 10).unwrap();
    // Some round trips, and less than the shortest wait for an answer.
    network.run_until(network.now + Duration::from_microseconds(100));
    assert!(network.ended.contains_key(&(0, 11)) && network.ended.contains_key(&(0, 12)), "not one after the other");
}

/// Rank 0 waits for an answer of rank 1, which needs a route from rank 1 to rank 2; that route carries only acknowledgements until the flag is set.
fn copy_that_is_held_up() -> (Network, Rc<Cell<bool>>) {
    let mut network = Network::new(3, 1, Weather::FAIR);
    let carries = Rc::new(Cell::new(false));
    network.fate = Box::new({
        let carries = carries.clone();
        move |departure| {
            let is_held_up = (departure.from, departure.to) == (1, 2) && !is_acknowledgement(&departure.datagram);
            if is_held_up { carries.get().then_some(Duration::ZERO) } else { CARRIED }
        }
    });
    let (from, to) = (at(network.layout, 1, 1, 0), at(network.layout, 2, 1, 0));
    network.submit(0, 1, Request::Copy { from, to, bytes: 500 }, 0);
    (network, carries)
}

#[test]
fn a_peer_that_owes_an_answer_for_long_is_asked_whether_it_is_there() {
    let (mut network, carries) = copy_that_is_held_up();
    // Rank 2 sends signs of life, so rank 1 continues to try for longer than the failure limit.
    for second in 1..=20 {
        network.run_until(pelago_base::Instant::ZERO + Duration::from_milliseconds(1000 * second));
        let write = write(&network, 1);
        assert!(network.try_submit(2, 1, write, second).is_ok());
    }
    assert_eq!((network.ended.get(&(0, 0)), network.lost.len()), (None, 0), "nobody is taken for lost");
    let asked = network.count(0, Event::DatagramSent);
    assert!((20..=60).contains(&asked), "each second or so: {asked}");
    carries.set(true);
    assert_eq!(network.wait(0, 0), Ok(0));
}

#[test]
fn a_peer_that_owes_an_answer_and_dies_is_found_out() {
    let (mut network, _) = copy_that_is_held_up();
    (0..10).for_each(|_| {
        network.step();
    });
    network.kill(1);
    assert_eq!(network.wait(0, 0), Err(Failure::PeerLost(Rank::new(1))));
}

#[test]
fn an_acknowledgement_that_is_lost_is_sent_again_when_it_is_asked_for() {
    let mut network = acquainted(Weather::FAIR);
    let mut number = 0;
    network.fate = Box::new(move |departure| {
        number += u32::from(departure.from == 1);
        (departure.from == 0 || number > 3).then_some(Duration::ZERO)
    });
    let word = at(network.layout, 1, 1, 64);
    let write = Request::Write { to: word, bytes: b"8 bytes." };
    network.submit(0, 1, write, 10);
    assert_eq!(network.wait(0, 10), Ok(0));
    network.quiet();
    assert_eq!((network.count(0, Event::DatagramRepeated), network.count(1, Event::DatagramDuplicate)), (3, 3));
    // An acknowledgement that the peer delays causes no retransmission.
    let before = network.count(1, Event::DatagramSent);
    let add = Request::Atomic { at: word, width: Width::Eight, operator: AtomicOperator::Add, operand: 1 };
    network.submit(0, 1, add, 11);
    network.wait(0, 11).unwrap();
    network.quiet();
    assert_eq!(network.count(1, Event::DatagramSent) - before, 1);
    assert_eq!(network.count(1, Event::DatagramRepeated), 0);
}

#[test]
fn an_acknowledgement_that_is_lost_is_given_again_by_a_peer_that_rests() {
    let mut network = acquainted(Weather::FAIR);
    let carries_again = network.now + Duration::from_milliseconds(3_000);
    let mut is_first = true;
    network.fate =
        Box::new(move |departure| (std::mem::take(&mut is_first) || departure.at >= carries_again).then_some(Duration::ZERO));
    let write = write(&network, 1);
    network.submit(0, 1, write, 10);
    network.run_until(carries_again);
    assert_eq!(network.endpoints[1].peers(), (1, 0), "it has done what it was asked for, and rests");
    assert_eq!(network.wait(0, 10), Ok(0));
    assert_eq!(network.count(1, Event::DatagramDuplicate), 1);
}
