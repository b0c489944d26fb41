//! Tests that silence alone does not make a rank count as failed if another source knows that it is alive.

use pelago_base::{Duration, Instant, Rank};
use pelago_protocol::{Failure, Liveness, Request, UNREACHABLE_AFTER_LIMITS};

use crate::memory::at;
use crate::network::{FAILURE_LIMIT, Network, Weather};

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
