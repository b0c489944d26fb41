//! Tests of how soon the loss of a last datagram is repaired, and how few datagrams are repeated if answers are only late.

use pelago_base::{AtomicOperator, Duration, Event, Width};
use pelago_protocol::Request;

use crate::memory::{Local, at};
use crate::network::{CARRIED, Network, Weather};

/// The shortest wait after which a peer counts as silent.
const SILENCE: Duration = Duration::from_milliseconds(4);

fn write(network: &Network) -> Request<'static, Local> {
    Request::Write { to: at(network.layout, 1, 1, 0), bytes: b"8 bytes." }
}

fn fetch_add(network: &Network) -> Request<'static, Local> {
    Request::Atomic { at: at(network.layout, 1, 1, 8), width: Width::Eight, operator: AtomicOperator::Add, operand: 1 }
}

/// Two ranks that know the round trip: two microseconds in each direction.
fn acquainted(weather: Weather) -> Network {
    let mut network = Network::new(2, 1, Weather::FAIR);
    for token in 0..20 {
        let request = write(&network);
        network.submit(0, 1, request, token);
        network.wait(0, token).unwrap();
    }
    network.quiet();
    network.weather = weather;
    network
}

/// Returns the total time of sequential operations, and the number of those that took longer than a silence.
fn takes(network: &mut Network, operations: u64) -> (Duration, u64) {
    let (begin, mut silent) = (network.now, 0);
    for token in 100..100 + operations {
        let (request, submitted) = (if token % 2 == 0 { write(network) } else { fetch_add(network) }, network.now);
        network.submit(0, 1, request, token);
        network.wait(0, token).unwrap();
        silent += u64::from(network.now.since(submitted) >= SILENCE);
    }
    (network.now.since(begin), silent)
}

#[test]
fn a_lost_request_and_a_lost_answer_are_repeated_long_before_the_peer_counts_as_silent() {
    for (is_write, from) in [(true, 0), (true, 1), (false, 0), (false, 1)] {
        let mut network = acquainted(Weather::FAIR);
        let request = if is_write { write(&network) } else { fetch_add(&network) };
        let mut is_first = true;
        network.fate = Box::new(move |departure| {
            let is_lost = departure.from == from && std::mem::take(&mut is_first);
            (!is_lost).then_some(Duration::ZERO)
        });
        let submitted = network.now;
        network.submit(0, 1, request, 100);
        network.wait(0, 100).unwrap();
        let taken = network.now.since(submitted);
        assert!(taken < Duration::from_microseconds(200), "{taken:?} for a loss on the way from {from}, a write: {is_write}");
        network.quiet();
        let repeated = network.count(0, Event::DatagramRepeated) + network.count(1, Event::DatagramRepeated);
        assert!(repeated <= 1 + u64::from(from == 1 && !is_write), "{repeated}");
    }
}

#[test]
fn a_lost_answer_is_repeated_however_long_the_way_seems_to_its_sender() {
    let mut network = acquainted(Weather::FAIR);
    // Rank 1's own operations were answered late, as rank 0 did not run.
    network.fate = Box::new(|departure| Some(Duration::from_milliseconds(u64::from(departure.from == 0))));
    for token in 0..20 {
        let to = at(network.layout, 0, 1, 0);
        network.submit(1, 0, Request::Write { to, bytes: &[1; 8] }, token);
        network.wait(1, token).unwrap();
    }
    let mut is_first = true;
    network.fate = Box::new(move |departure| (departure.from == 0 || !std::mem::take(&mut is_first)).then_some(Duration::ZERO));
    let (request, submitted) = (fetch_add(&network), network.now);
    network.submit(0, 1, request, 100);
    network.wait(0, 100).unwrap();
    let taken = network.now.since(submitted);
    assert!(taken < Duration::from_microseconds(200), "{taken:?}");
}

#[test]
fn a_loop_of_operations_keeps_its_rate_as_far_as_losses_allow() {
    // Time per operation in microseconds, which is four without loss: a probe is sent 25 after a loss, every third one after twice as many.
    for (lost, microseconds) in [(1_000, 5), (10_000, 6), (100_000, 14), (300_000, 160)] {
        let mut network = acquainted(Weather { lost, ..Weather::FAIR });
        let (taken, silent) = takes(&mut network, 4_000);
        assert!(
            taken < Duration::from_microseconds(microseconds * 4_000),
            "{lost} of a million lost: {taken:?}, {silent} silent"
        );
    }
}

#[test]
fn where_answers_are_late_and_nothing_is_lost_less_than_one_in_a_hundred_is_repeated() {
    // Ranks that share a core run in turns of some milliseconds: datagrams that arrive during another rank's turn are late.
    for turn in [1, 3, 6, 12] {
        let mut network = acquainted(Weather::FAIR);
        let turn = Duration::from_milliseconds(turn);
        network.fate = Box::new(move |departure| {
            let position = departure.at.as_picoseconds() % (8 * turn.as_picoseconds());
            let is_away = departure.to == 1 && position < turn.as_picoseconds();
            if is_away { Some(Duration::from_picoseconds(turn.as_picoseconds() - position)) } else { CARRIED }
        });
        let (_, late) = takes(&mut network, 20_000);
        network.quiet();
        let (sent, repeated) = (network.count(0, Event::DatagramSent), network.count(0, Event::DatagramRepeated));
        assert!(100 * repeated <= sent + 1_000, "turns of {turn:?}: {repeated} of {sent} repeated, {late} operations late");
    }
}

#[test]
fn a_dead_peer_does_not_make_a_rank_slow_to_ask_others() {
    let mut network = Network::new(3, 1, Weather::FAIR);
    for token in 0..1_000 {
        let to = at(network.layout, 1 + (token % 2) as u32, 1, 0);
        network.submit(0, 1 + (token % 2) as usize, Request::Write { to, bytes: &[1; 8] }, token);
        network.wait(0, token).unwrap();
    }
    network.kill(2);
    let to = at(network.layout, 2, 1, 0);
    network.submit(0, 2, Request::Write { to, bytes: &[1; 8] }, 2_000);
    network.run_until(network.now + Duration::from_milliseconds(500));
    let (mut is_first, begin) = (true, network.now);
    network.fate = Box::new(move |departure| (departure.to != 1 || !std::mem::take(&mut is_first)).then_some(Duration::ZERO));
    let to = at(network.layout, 1, 1, 0);
    network.submit(0, 1, Request::Write { to, bytes: &[1; 8] }, 2_001);
    network.wait(0, 2_001).unwrap();
    assert!(network.now.since(begin) < Duration::from_milliseconds(2), "{:?}", network.now.since(begin));
}

#[test]
fn a_peer_that_reads_a_datagram_and_its_repetition_together_echoes_the_first() {
    let mut network = acquainted(Weather::FAIR);
    let (late, late_operations) = (Duration::from_milliseconds(1), 60);
    for operation in 0..late_operations {
        // Enough other operations to restore the short round trip, and to earn a repetition for every third late one.
        for token in 0..40 {
            let request = write(&network);
            network.submit(0, 1, request, 1_000 + 100 * operation + token);
            network.wait(0, 1_000 + 100 * operation + token).unwrap();
        }
        network.fate = Box::new(move |departure| Some(if departure.to == 1 { late } else { Duration::ZERO }));
        let request = write(&network);
        network.submit(0, 1, request, 1_000 + 100 * operation + 50);
        network.run_until(network.now + Duration::from_picoseconds(late.as_picoseconds() / 2));
        network.fate = Box::new(|_| CARRIED);
        network.arrive();
        network.pump(1);
        network.wait(0, 1_000 + 100 * operation + 50).unwrap();
    }
    let repeated = network.count(0, Event::DatagramRepeated);
    assert!(repeated > 4 && repeated <= late_operations / 2, "{repeated}: none of them was needed");
}
