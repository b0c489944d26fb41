//! Tests that silence alone does not make a rank count as failed if another source knows that it is alive.

use pelago_base::{Duration, Instant, Rank};
use pelago_protocol::{Failure, Liveness, Request, UNREACHABLE_AFTER_LIMITS};

use crate::memory::at;
use crate::network::{CARRIED, FAILURE_LIMIT, Network, Weather};

const SILENT: Rank = Rank::new(1);

/// Rank 0 writes to rank 1, which does not answer; liveness queries are answered with this.
fn unanswered(liveness: fn(Rank) -> Liveness) -> Network {
    let mut network = Network::new(3, 21, Weather::FAIR);
    network.liveness = liveness;
    network.kill(SILENT.index());
    network.submit(0, 1, Request::Write { to: at(network.layout, 1, 1, 0), bytes: b"hello" }, 0);
    network
}

fn limits(count: u64) -> Duration {
    Duration::from_picoseconds(count * FAILURE_LIMIT.as_picoseconds())
}

#[test]
fn a_rank_that_is_alive_is_not_lost_and_answers_when_it_runs_again() {
    let mut network = unanswered(|_| Liveness::Alive);
    while network.now < Instant::ZERO + limits(UNREACHABLE_AFTER_LIMITS - 1) {
        assert!(network.step(), "it is asked again and again");
    }
    assert!(network.ended.is_empty() && network.lost.is_empty() && network.unreachable.is_empty());
    assert_eq!(network.asked.len() as u64, UNREACHABLE_AFTER_LIMITS - 1, "once in each failure limit: {:?}", network.asked);
    network.dead[SILENT.index()] = false;
    assert_eq!(network.wait(0, 0), Ok(0));
    network.quiet();
    assert!(network.lost.is_empty() && network.unreachable.is_empty());
}

#[test]
fn a_rank_that_is_alive_and_silent_for_very_long_is_unreachable_and_not_lost() {
    let mut network = unanswered(|_| Liveness::Alive);
    assert_eq!(network.wait(0, 0), Err(Failure::Unreachable(SILENT)));
    let took = network.now.since(Instant::ZERO);
    assert!(took >= limits(UNREACHABLE_AFTER_LIMITS) && took < limits(UNREACHABLE_AFTER_LIMITS + 1), "{took:?}");
    assert_eq!((network.lost.len(), network.unreachable.as_slice()), (0, &[(0, SILENT)][..]));
    // Later operations end at once for the same reason, and so does a copy to that rank that another rank performs.
    network.submit(0, 1, Request::Write { to: at(network.layout, 1, 1, 0), bytes: b"late" }, 1);
    assert_eq!(network.ended[&(0, 1)], Err(Failure::Unreachable(SILENT)));
    let (from, to) = (at(network.layout, 0, 1, 0), at(network.layout, 1, 1, 0));
    network.submit(2, 0, Request::Copy { from, to, bytes: 8 }, 0);
    assert_eq!(network.wait(2, 0), Err(Failure::Unreachable(SILENT)));
}

#[test]
fn what_is_known_to_be_lost_ends_at_the_first_question() {
    for liveness in [|_| Liveness::Lost, |_| Liveness::Unknown] as [fn(Rank) -> Liveness; 2] {
        let mut network = unanswered(liveness);
        assert_eq!(network.wait(0, 0), Err(Failure::PeerLost(SILENT)));
        assert!(network.now.since(Instant::ZERO) < limits(2) && network.lost == [(0, SILENT)]);
    }
}

#[test]
fn an_answer_that_comes_late_does_not_end_what_has_been_heard_since() {
    let mut network = unanswered(|_| Liveness::Alive);
    while network.asked.is_empty() {
        network.step();
    }
    network.dead[SILENT.index()] = false;
    assert_eq!(network.wait(0, 0), Ok(0));
    let now = network.now;
    network.submit(0, 1, Request::Write { to: at(network.layout, 1, 1, 0), bytes: b"again" }, 1);
    network.endpoints[0].handle_liveness(now, SILENT, Liveness::Unknown);
    network.endpoints[0].handle_liveness(now, Rank::new(2), Liveness::Lost);
    assert_eq!(network.wait(0, 1), Ok(0));
}

/// A network in which the interfaces have a larger MTU than a switch carries short datagrams only: the answer to a get never arrives, and the rank that
/// waits for it asks for it without end.
#[test]
fn a_rank_that_long_datagrams_do_not_reach_is_unreachable() {
    for liveness in [|_| Liveness::Alive, |_| Liveness::Unknown] as [fn(Rank) -> Liveness; 2] {
        let mut network = Network::new(2, 21, Weather::FAIR);
        network.liveness = liveness;
        let (from, to) = (at(network.layout, 0, 1, 0), network.local(1, vec![0; 5_000]));
        network.submit(1, 0, Request::Get { from, to, bytes: 8 }, 0);
        assert_eq!(network.wait(1, 0), Ok(0));
        network.fate = Box::new(|departure| (departure.datagram.len() <= 1_300).then_some(Duration::ZERO));
        let begun = network.now;
        network.submit(1, 0, Request::Get { from, to, bytes: 5_000 }, 1);
        while network.unreachable.is_empty() && network.step() {}
        assert_eq!((network.unreachable.as_slice(), network.lost.len()), (&[(0, SILENT)][..], 0));
        let took = network.now.since(begun);
        assert!(took >= limits(UNREACHABLE_AFTER_LIMITS) && took < limits(UNREACHABLE_AFTER_LIMITS + 1), "{took:?}");
    }
}

#[test]
fn the_time_in_which_a_rank_is_stopped_is_not_silence_of_its_peers() {
    for liveness in [|_| Liveness::Alive, |_| Liveness::Unknown] as [fn(Rank) -> Liveness; 2] {
        let mut network = Network::new(2, 21, Weather::FAIR);
        network.liveness = liveness;
        network.fate = Box::new(|_| None);
        network.submit(0, 1, Request::Write { to: at(network.layout, 1, 1, 0), bytes: b"hello" }, 0);
        network.run_until(Instant::ZERO + Duration::from_milliseconds(100));
        network.fate = Box::new(|_| CARRIED);
        network.now = network.now + limits(2 * UNREACHABLE_AFTER_LIMITS);
        assert_eq!(network.wait(0, 0), Ok(0));
        assert!(network.lost.is_empty() && network.unreachable.is_empty());
    }
}

#[test]
fn a_silent_peer_is_probed_less_and_less_often() {
    let mut network = unanswered(|_| Liveness::Alive);
    let sent = |network: &Network| network.endpoints[0].counters().of(pelago_base::Event::DatagramSent);
    let mut counts = Vec::new();
    for seconds in 0..UNREACHABLE_AFTER_LIMITS {
        let before = sent(&network);
        while network.now < Instant::ZERO + limits(seconds + 1) && network.step() {}
        counts.push(sent(&network) - before);
    }
    assert!(counts[0] < 80, "{counts:?}");
    let last = counts[counts.len() - 1];
    assert!(last >= 3 && counts[1] < counts[0] && last * 5 < counts[0], "{counts:?}");
}
