//! Tests of failures: when a peer has failed, operations on it end in bounded time; a live peer is never taken for failed, however bad the network.

use pelago_base::{AtomicOperator, Duration, Event, Rank, Width};
use pelago_protocol::{Failure, Request};

use crate::memory::at;
use crate::network::{FAILURE_LIMIT, Network, Random, Weather};

fn operations(network: &mut Network, from: usize, to: usize) -> Vec<u64> {
    let layout = network.layout;
    let local = network.local(from, vec![1; 100_000]);
    let there = at(layout, to as u32, 1, 0);
    let elsewhere = at(layout, (to as u32 + 1) % layout.ranks(), 2, 0);
    let all = [
        Request::Write { to: there, bytes: b"bytes" },
        Request::Put { from: local, to: there, bytes: 100_000 },
        Request::Get { from: there, to: local, bytes: 8 },
        Request::Get { from: there, to: local, bytes: 100_000 },
        Request::Copy { from: there, to: elsewhere, bytes: 50_000 },
        Request::Atomic { at: there, width: Width::Eight, operator: AtomicOperator::Add, operand: 1 },
    ];
    for (token, request) in all.into_iter().enumerate() {
        network.submit(from, to, request, token as u64);
        network.fence(from, to);
    }
    (0..all.len() as u64).collect()
}

#[test]
fn everything_ends_within_the_limit() {
    for seed in 0..100 {
        let mut random = Random::new(seed);
        let weather = Weather::foul(&mut random);
        let mut network = Network::new(3, seed, weather);
        let tokens = operations(&mut network, 0, 1);
        (0..random.below(60)).for_each(|_| {
            network.step();
        });
        let before = network.now;
        network.kill(1);
        for token in tokens {
            let result = network.wait(0, token);
            assert!(matches!(result, Ok(_) | Err(Failure::PeerLost(_))), "seed {seed}: {result:?}");
        }
        let took = network.now.since(before);
        assert!(took <= FAILURE_LIMIT + Duration::from_milliseconds(200), "seed {seed}: {took:?}");
        network.submit(0, 1, Request::Write { to: at(network.layout, 1, 1, 0), bytes: b"late" }, 99);
        assert_eq!(network.wait(0, 99), Err(Failure::PeerLost(Rank::new(1))));
        // Other ranks continue.
        network.submit(0, 2, Request::Write { to: at(network.layout, 2, 1, 0), bytes: b"well" }, 100);
        assert_eq!(network.wait(0, 100), Ok(0));
    }
}

#[test]
fn a_copy_whose_target_is_gone_ends_and_says_who() {
    let mut network = Network::new(3, 5, Weather::FAIR);
    network.kill(2);
    let (from, to) = (at(network.layout, 1, 1, 0), at(network.layout, 2, 1, 0));
    network.submit(0, 1, Request::Copy { from, to, bytes: 70_000 }, 0);
    assert_eq!(network.wait(0, 0), Err(Failure::PeerLost(Rank::new(2))));
    assert!(network.now.since(pelago_base::Instant::ZERO) > FAILURE_LIMIT, "rank 1 asked until then, and rank 0 waited for it");
    assert_eq!(network.lost, [(1, Rank::new(2))]);
}

#[test]
fn a_rank_that_is_said_to_be_gone_is_gone_at_once() {
    let mut network = Network::new(3, 6, Weather::FAIR);
    network.kill(1);
    let tokens = operations(&mut network, 0, 1);
    let now = network.now;
    network.endpoints[0].peer_failed(now, Rank::new(1));
    network.pump(0);
    for token in tokens {
        assert_eq!(network.ended[&(0, token)], Err(Failure::PeerLost(Rank::new(1))));
    }
    network.quiet();
    assert_eq!(network.endpoints[0].peers(), (1, 0));
}

#[test]
fn another_process_of_a_rank_is_a_stranger() {
    let mut network = Network::new(2, 8, Weather::FAIR);
    let word = at(network.layout, 1, 1, 0);
    let add = Request::Atomic { at: word, width: Width::Eight, operator: AtomicOperator::Add, operand: 1 };
    network.submit(0, 1, add, 0);
    network.wait(0, 0).unwrap();
    // The first process owes nothing, so no rank asks whether it is alive, and it does not count as failed.
    network.quiet();
    network.restart(0);
    // More datagrams than the first process has sent, so that some numbers are new.
    for token in 1..5 {
        network.submit(0, 1, add, token);
    }
    // Its acknowledgements do not complete operations on the rank either.
    network.submit(1, 0, Request::Write { to: at(network.layout, 0, 1, 0), bytes: b"not for it" }, 5);
    for token in 1..5 {
        assert_eq!(network.wait(0, token), Err(Failure::PeerLost(Rank::new(1))));
    }
    assert_eq!(network.wait(1, 5), Err(Failure::PeerLost(Rank::new(0))), "its answers are no signs of life");
    assert_eq!(network.memories[1].word(0), 1, "the second process changes nothing");
    assert!(network.count(1, Event::DatagramForeign) >= 4);
}

#[test]
fn nothing_is_taken_from_a_rank_that_was_given_up() {
    let mut network = Network::new(2, 8, Weather::FAIR);
    let to = at(network.layout, 1, 1, 0);
    network.submit(0, 1, Request::Write { to, bytes: &[1; 8] }, 0);
    network.wait(0, 0).unwrap();
    let now = network.now;
    network.endpoints[1].peer_failed(now, Rank::new(0));
    // A second call has no effect.
    network.endpoints[1].peer_failed(now, Rank::new(0));
    network.submit(0, 1, Request::Write { to, bytes: &[2; 8] }, 1);
    assert_eq!(network.wait(0, 1), Err(Failure::PeerLost(Rank::new(1))), "it gets no answer");
    assert_eq!(network.memories[1].word(0), u64::from_le_bytes([1; 8]));
    assert_eq!((network.count(1, Event::PeerLost), network.endpoints[1].peers()), (1, (1, 0)));
    assert!(network.count(1, Event::DatagramForeign) > 0);
}

#[test]
fn what_all_others_wait_for_is_sent_again_first() {
    let mut network = Network::new(2, 9, Weather::FAIR);
    let local = network.local(0, vec![0; 200_000]);
    for token in 0..20 {
        network.submit(0, 1, Request::Put { from: local, to: at(network.layout, 1, 2, 0), bytes: 200_000 }, token);
        network.wait(0, token).unwrap();
    }
    // The first datagram is lost, then lost again, and then lost together with some of the others.
    network.weather.lost = 1_000_000;
    let to = at(network.layout, 1, 1, 0);
    network.submit(0, 1, Request::Write { to, bytes: &[1; 900] }, 100);
    network.weather.lost = 0;
    for token in 101..500 {
        network.fence(0, 1);
        network.submit(0, 1, Request::Write { to, bytes: &[1; 900] }, token);
    }
    let repeated = |network: &Network| network.endpoints[0].counters().of(Event::DatagramRepeated);
    let before = repeated(&network);
    network.weather.lost = 1_000_000;
    while repeated(&network) < before + 2 {
        network.step();
    }
    network.weather.lost = 0;
    let now = network.now;
    assert_eq!(network.wait(0, 100), Ok(0));
    assert!(network.now.since(now) < Duration::from_milliseconds(100), "{:?}", network.now.since(now));
    network.quiet();
    assert!((100..500).all(|token| network.ended[&(0, token)] == Ok(0)));
}

#[test]
fn what_comes_too_early_is_a_sign_of_life_for_its_sender() {
    let mut network = Network::new(2, 10, Weather::FAIR);
    let to = at(network.layout, 1, 1, 0);
    network.weather.lost = 1_000_000;
    network.submit(0, 1, Request::Write { to, bytes: b"first" }, 0);
    network.weather.lost = 0;
    network.fence(0, 1);
    network.submit(0, 1, Request::Write { to, bytes: b"second" }, 1);
    while network.endpoints[1].counters().of(Event::DatagramEarly) == 0 {
        network.step();
    }
    assert_eq!(network.endpoints[1].counters().of(Event::DatagramSent), 1);
    network.quiet();
    assert_eq!(network.ended[&(0, 0)].and(network.ended[&(0, 1)]), Ok(0));
}

#[test]
fn when_a_rank_is_given_up_the_others_are_looked_after_as_before() {
    let mut network = Network::new(4, 11, Weather::FAIR);
    network.kill(1);
    // The first datagram from rank 0 to rank 2 is lost.
    let mut is_first = true;
    network.fate = Box::new(move |departure| {
        let is_lost = departure.to == 2 && std::mem::take(&mut is_first);
        (!is_lost).then_some(Duration::ZERO)
    });
    let write = |network: &Network, to| Request::Write { to: at(network.layout, to, 1, 0), bytes: b"bytes" };
    for to in [2, 1] {
        let write = write(&network, to);
        network.submit(0, to as usize, write, u64::from(to));
    }
    // Rank 3 is queued for sending, behind rank 1.
    for (to, token) in [(1, 11), (3, 3)] {
        let write = write(&network, to);
        assert!(network.hold(0, to as usize, write, token));
    }
    let now = network.now;
    network.endpoints[0].peer_failed(now, Rank::new(1));
    assert_eq!(network.endpoints[0].peers(), (3, 2));
    network.pump(0);
    assert_eq!([1, 11].map(|token| network.ended[&(0, token)]), [Err(Failure::PeerLost(Rank::new(1))); 2]);
    assert_eq!([2, 3].map(|token| network.wait(0, token)), [Ok(0); 2]);
}

#[test]
fn when_a_rank_is_given_up_the_others_get_their_acknowledgements() {
    let mut network = Network::new(3, 12, Weather::FAIR);
    let to = at(network.layout, 0, 1, 0);
    for from in [1, 2] {
        network.submit(from, 0, Request::Write { to, bytes: b"bytes" }, 0);
    }
    network.arrive();
    let (now, mut buffer) = (network.now, vec![0; 1 << 16]);
    network.endpoints[0].peer_failed(now, Rank::new(1));
    let transmit = network.endpoints[0].poll_transmit(now, &network.memories[0], &mut buffer, false).expect("rank 2 waits");
    assert_eq!(transmit.to, Rank::new(2));
    assert!(network.endpoints[0].poll_transmit(now, &network.memories[0], &mut buffer, false).is_none());
    assert!(!network.endpoints[0].is_owing());
}
