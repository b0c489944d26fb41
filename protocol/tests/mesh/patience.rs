//! Tests of how long a rank waits before a retransmission, which depends on the round trip and on the rank's own scheduling delay.

use pelago_base::{Duration, Event};
use pelago_protocol::{Liveness, Request};

use crate::memory::at;
use crate::network::{FAILURE_LIMIT, Network, Weather};

/// A network that loses one of twenty datagrams.
const LOSSY: Weather = Weather { lost: 50_000, ..Weather::FAIR };

/// A round trip much longer than the wait of a rank that does not know it.
const FAR: Weather = Weather { lost: 0, repeated: 0, delay: (150_000_000, 150_000_000) };

fn repeated(network: &Network) -> u64 {
    network.endpoints[0].counters().of(Event::DatagramRepeated)
}

fn write(network: &mut Network, to: usize, token: u64) {
    let there = at(network.layout, to as u32, 1, 0);
    network.submit(0, to, Request::Write { to: there, bytes: b"far" }, token);
}

#[test]
fn a_long_way_is_known_after_the_first_answer_although_all_was_sent_several_times() {
    let mut network = Network::new(2, 41, FAR);
    write(&mut network, 1, 0);
    network.wait(0, 0).unwrap();
    let first = repeated(&network);
    assert!(first > 1, "nobody knows how long the way is: {first}");
    for token in 1..20 {
        write(&mut network, 1, token);
        network.wait(0, token).unwrap();
    }
    assert_eq!(repeated(&network), first);
}

#[test]
fn what_one_peer_takes_is_expected_of_those_that_nothing_is_known_of() {
    let mut network = Network::new(12, 42, FAR);
    for token in 0..5 {
        write(&mut network, 1, token);
        network.wait(0, token).unwrap();
    }
    let before = repeated(&network);
    for to in 2..12 {
        write(&mut network, to, 10 + to as u64);
    }
    for to in 2..12 {
        network.wait(0, 10 + to).unwrap();
    }
    assert_eq!(repeated(&network), before);
}

#[test]
fn a_rank_that_runs_late_does_not_take_its_peers_for_silent() {
    let mut network = Network::new(2, 43, Weather::FAIR);
    write(&mut network, 1, 0);
    network.wait(0, 0).unwrap();
    network.quiet();
    network.kill(1);
    write(&mut network, 1, 1);
    // The rank does not run for this time, as if another process used its core.
    let away = Duration::from_milliseconds(500);
    network.now = network.now + away;
    let look = |network: &mut Network| {
        let now = network.now;
        network.endpoints[0].handle_timeout(now);
        network.pump(0);
    };
    look(&mut network);
    assert_eq!(repeated(&network), 0, "the peer may have run as late");
    network.now = network.now + away + away;
    look(&mut network);
    assert_eq!(repeated(&network), 1, "now it should have answered");
}

#[test]
fn however_late_a_rank_has_run_it_asks_again_after_the_failure_limit() {
    let mut network = Network::new(3, 44, Weather::FAIR);
    network.liveness = |_| Liveness::Alive;
    write(&mut network, 1, 0);
    network.wait(0, 0).unwrap();
    [1, 2].into_iter().for_each(|rank| network.kill(rank));
    write(&mut network, 1, 1);
    // The rank runs four limits late, twice, and then sends to a peer whose round trip is unknown.
    for _ in 0..2 {
        network.now = network.now + Duration::from_seconds(20.0);
        let now = network.now;
        network.endpoints[0].handle_timeout(now);
        network.pump(0);
    }
    network.recorded = Some(Vec::new());
    write(&mut network, 2, 2);
    let asked = |network: &Network| {
        let asked = network.recorded.iter().flatten().filter(|departure| departure.to == 2);
        asked.map(|departure| departure.at).collect::<Vec<_>>()
    };
    while asked(&network).len() < 2 {
        assert!(network.step());
    }
    let waited = asked(&network)[1].since(asked(&network)[0]);
    // Twice the maximum recorded lateness, which is half of the limit, and up to a quarter of jitter.
    let most = Duration::from_picoseconds(FAILURE_LIMIT.as_picoseconds() / 4 * 5);
    assert!((FAILURE_LIMIT..=most).contains(&waited), "{waited:?}");
}

/// Each rank writes to its right neighbour and waits for the end, 200 times; after the first 100, all ranks are stopped for `pause`. Returns how long
/// the other 100 take.
fn time_after(pause: Duration) -> Duration {
    const RANKS: usize = 6;
    let mut network = Network::new(RANKS as u32, 45, LOSSY);
    network.liveness = |_| Liveness::Alive;
    let mut begun = network.now;
    for token in 0..200 {
        if token == 100 {
            begun = network.now;
        }
        for rank in 0..RANKS {
            let to = (rank + 1) % RANKS;
            let there = at(network.layout, to as u32, 1, 0);
            network.submit(rank, to, Request::Write { to: there, bytes: b"round" }, token);
        }
        if token == 100 {
            // Some datagrams are on their way, and their answers arrive after the pause.
            network.now = network.now + pause;
        }
        (0..RANKS).for_each(|rank| assert_eq!(network.wait(rank, token), Ok(0)));
    }
    network.now.since(begun + pause)
}

#[test]
fn a_job_that_was_stopped_is_as_fast_afterwards_as_before() {
    let without = time_after(Duration::ZERO);
    for seconds in [1.1, 3.0, 8.0, 100.0] {
        let after = time_after(Duration::from_seconds(seconds));
        let most = Duration::from_picoseconds(2 * without.as_picoseconds());
        assert!(after <= most, "{after:?} after a pause of {seconds} s, {without:?} without one");
    }
}
