//! Tests that the state which a rank keeps for operations in flight, its own and those of peers, is bounded, and that operations that have to wait
//! complete later.

use std::cell::Cell;
use std::rc::Rc;

use pelago_base::{AtomicOperator, Duration, Event, Rank, Width};
use pelago_protocol::{Failure, Liveness, Request};

use crate::memory::{Local, at};
use crate::network::{CARRIED, Network, Weather};

/// More than any bound on operations.
const MANY: u64 = 10_000;

fn add(network: &Network, to: u32) -> Request<'static, Local> {
    Request::Atomic { at: at(network.layout, to, 1, 0), width: Width::Eight, operator: AtomicOperator::Add, operand: 1 }
}

/// Returns how many of many operations from rank 0 are accepted while nothing is sent; the accepted ones succeed, and others follow.
fn taken(network: &mut Network, request: Request<'_, Local>, fenced: bool) -> u64 {
    let first = network.ended.len() as u64;
    let mut taken = 0;
    while taken < MANY && network.hold(0, 1, request, first + taken) {
        taken += 1;
        if fenced {
            network.fence(0, 1);
        }
    }
    let other = Request::Write { to: at(network.layout, 2, 1, 0), bytes: b"another's" };
    assert!(taken == 4096 || network.hold(0, 2, other, MANY + first), "what one peer has to wait for does not hold up another");
    network.pump(0);
    network.submit(0, 1, request, 2 * MANY + first);
    network.quiet();
    assert!(network.ended.values().all(Result::is_ok) && network.ended.len() as u64 > first + taken);
    taken
}

#[test]
fn what_waits_for_one_peer_is_bounded() {
    let mut network = Network::new(3, 1, Weather::FAIR);
    let to = at(network.layout, 1, 1, 8);
    let local = network.local(0, vec![0; 4_000]);
    let bytes = [1; 960];
    let large = taken(&mut network, Request::Write { to, bytes: &bytes }, false);
    assert!((256 << 10..(256 << 10) + 1000).contains(&(large * 971)), "a quarter of a megabyte of frames: {large}");
    assert_eq!(taken(&mut network, Request::Write { to, bytes: &bytes[..245] }, false), 1024, "each takes 256 bytes");
    assert_eq!(taken(&mut network, Request::Put { from: local, to, bytes: 4_000 }, false), 256);
    assert_eq!(taken(&mut network, Request::Get { from: to, to: local, bytes: 8 }, false), 512);
    assert_eq!(taken(&mut network, Request::Get { from: to, to: local, bytes: 4_000 }, false), 512);
    let add = add(&network, 1);
    assert_eq!(taken(&mut network, add, false), 512);
    assert_eq!(taken(&mut network, Request::Put { from: local, to, bytes: 4_000 }, true), 64, "each with a fence behind it");
}

#[test]
fn operations_whose_end_is_not_fetched_are_bounded() {
    let mut network = Network::new(3, 1, Weather::FAIR);
    let to = at(network.layout, 1, 1, 8);
    for _ in 0..2 {
        assert_eq!(taken(&mut network, Request::Write { to, bytes: &[1; 8] }, false), 4096);
    }
    // Operations that end at once count as well.
    let mut network = Network::new(3, 1, Weather::FAIR);
    let now = network.now;
    network.endpoints[0].peer_failed(now, Rank::new(1));
    for round in 0..2 {
        let taken = (0..MANY).take_while(|token| network.hold(0, 1, Request::Write { to, bytes: b"late" }, MANY * round + token));
        assert_eq!(taken.count(), 4096);
        network.pump(0);
        assert_eq!(network.ended.len() as u64, 4096 * (round + 1));
    }
    assert!(network.ended.values().all(|result| *result == Err(Failure::PeerLost(Rank::new(1)))));
}

/// A network that drops everything from rank 0 except acknowledgements, until the flag is set.
fn mute(ranks: u32) -> (Network, Rc<Cell<bool>>) {
    let mut network = Network::new(ranks, 1, Weather::FAIR);
    let speaks = Rc::new(Cell::new(false));
    network.fate = Box::new({
        let speaks = speaks.clone();
        move |departure| {
            let is_held_up = departure.from == 0 && departure.datagram[3] & 1 != 0;
            if is_held_up && !speaks.get() { None } else { CARRIED }
        }
    });
    (network, speaks)
}

/// Steps until a rank has dropped `datagrams` datagrams for lack of room.
fn until_left(network: &mut Network, rank: usize, datagrams: u64) {
    while network.count(rank, Event::DatagramEarly) < datagrams {
        assert!(network.step(), "it takes everything");
        assert!(network.lost.is_empty(), "it takes everything");
    }
}

#[test]
fn copies_for_others_are_bounded_and_what_has_no_room_is_done_later() {
    // 4,096 have room: not all of those of the datagram that arrives last.
    const ASKING: usize = 20;
    const EACH: u64 = 509;
    let (mut network, speaks) = mute(ASKING as u32 + 2);
    let layout = network.layout;
    for rank in 2..ASKING + 2 {
        for token in 0..EACH {
            let copy = Request::Copy { from: at(layout, 0, 1, 0), to: at(layout, 1, 2, 8 * token), bytes: 8 };
            assert!(network.hold(rank, 0, copy, token));
        }
        network.pump(rank);
    }
    network.run_until(network.now + Duration::from_milliseconds(100));
    assert_eq!(network.endpoints[0].operations(), 4096);
    // The operations of this rank have room beside those.
    let own = add(&network, 2);
    assert!((0..512).all(|number| network.hold(0, 2, own, MANY + number)));
    // So have its puts to the rank that the copies lead to.
    let from = network.local(0, vec![0; 4_000]);
    let put = Request::Put { from, to: at(layout, 1, 1, 8), bytes: 4_000 };
    assert_eq!((0..MANY).take_while(|number| network.hold(0, 1, put, 3 * MANY + number)).count(), 256);
    speaks.set(true);
    network.submit(0, 2, own, 2 * MANY);
    network.quiet();
    assert_eq!(network.ended.len(), EACH as usize * ASKING + 513 + 256);
    assert!(network.ended.values().all(Result::is_ok), "{:?}", network.ended.values().find(|result| result.is_err()));
    assert_eq!(network.count(0, Event::DatagramEarly), 0, "what has no room waits");
}

/// Ranks, the first two included or not, ask these two for 512 operations each: copies of `bytes` bytes from one of them to the other, and with
/// `fenced` a get and a fence before the copies of the two. All succeed.
fn copy_both_ways(asking: std::ops::Range<usize>, datagram_bytes: usize, bytes: u64, fenced: bool) {
    let mut network = Network::with(asking.end as u32, 1, Weather::FAIR, datagram_bytes, false);
    network.liveness = |_| Liveness::Alive;
    let (layout, mut held) = (network.layout, 0);
    let asked = |rank: usize| (0..2).filter(move |&from| from != rank);
    for (rank, from) in asking.clone().flat_map(|rank| asked(rank).map(move |from| (rank, from))) {
        let (there, to) = (at(layout, from as u32, 1, 0), at(layout, 1 - from as u32, 2, 0));
        let gets = u64::from(fenced && rank < 2);
        if gets > 0 {
            let into = network.local(rank, vec![0; 8]);
            assert!(network.hold(rank, from, Request::Get { from: there, to: into, bytes: 8 }, MANY));
            network.fence(rank, from);
        }
        for number in gets..512 {
            assert!(network.hold(rank, from, Request::Copy { from: there, to, bytes }, 1000 * from as u64 + number));
        }
        held += 512;
    }
    // The two are asked by all others before they ask each other.
    asking.rev().for_each(|rank| network.pump(rank));
    network.quiet();
    let failed: Vec<_> = network.ended.iter().filter(|(_, result)| result.is_err()).collect();
    assert!(failed.is_empty(), "{} of {} failed, such as {:?}", failed.len(), network.ended.len(), failed[0]);
    assert_eq!(network.ended.len(), held);
}

#[test]
fn ranks_that_copy_to_each_other_for_many_others_receive_these_copies() {
    for (datagram_bytes, bytes) in [(1_400, 8), (65_000, 4_000)] {
        for fenced in [false, true] {
            copy_both_ways(0..6, datagram_bytes, bytes, fenced);
        }
        // The table of operations has no room for all.
        copy_both_ways(2..22, datagram_bytes, bytes, false);
        for fenced in [false, true] {
            copy_both_ways(0..22, datagram_bytes, bytes, fenced);
        }
    }
}

#[test]
fn answers_that_are_kept_are_bounded_and_what_has_no_room_is_done_later() {
    // 512 answers of 967 bytes for each rank; at most 64 megabytes are kept.
    const ASKING: usize = 160;
    let (mut network, speaks) = mute(ASKING as u32 + 1);
    let from = at(network.layout, 0, 2, 0);
    for rank in 1..=ASKING {
        let to = network.local(rank, vec![1; 960]);
        for token in 0..512 {
            assert!(network.hold(rank, 0, Request::Get { from, to, bytes: 960 }, token));
        }
        network.pump(rank);
    }
    until_left(&mut network, 0, 20);
    speaks.set(true);
    network.quiet();
    assert_eq!(network.ended.len(), 512 * ASKING);
    assert!(network.ended.values().all(Result::is_ok));
}

#[test]
fn peers_with_much_to_send_take_turns() {
    let mut network = Network::new(4, 1, Weather::FAIR);
    let local = network.local(0, vec![0; 200_000]);
    // Submits puts to all others without sending them.
    let hold = |network: &mut Network, token| {
        for to in 1..4 {
            let put = Request::Put { from: local, to: at(network.layout, to as u32, 2, 0), bytes: 200_000 };
            assert!(network.hold(0, to, put, 100 * to as u64 + token));
        }
    };
    // Repeats until each window exceeds what is sent to a peer in one turn.
    for token in 0..20 {
        hold(&mut network, token);
        network.pump(0);
        for to in 1..4 {
            network.wait(0, 100 * to + token).unwrap();
        }
    }
    (20..30).for_each(|token| hold(&mut network, token));
    network.recorded = Some(Vec::new());
    network.pump(0);
    let departures = network.recorded.take().unwrap();
    let turns: Vec<_> = departures.chunk_by(|one, next| one.to == next.to).map(|turn| (turn[0].to, turn.len())).collect();
    assert_eq!(turns.get(..6), Some(&[(1, 64), (2, 64), (3, 64)].repeat(2)[..]), "{turns:?}");
    network.quiet();
    assert!(network.ended.values().all(Result::is_ok));
}

/// All numbers of both directions are taken by writes that are refused: the refusals need further numbers.
#[test]
fn ranks_that_refuse_all_writes_of_each_other_hear_so() {
    let mut network = Network::new(2, 1, Weather::FAIR);
    let both = [(0, 1), (1, 0)];
    // Repeats until the windows have room for more datagrams than there are numbers.
    for token in 0..40 {
        for (rank, other) in both {
            let from = network.local(rank, vec![1; 200_000]);
            network.submit(rank, other, Request::Put { from, to: at(network.layout, other as u32, 2, 0), bytes: 200_000 }, token);
        }
    }
    while network.ended.len() < 80 {
        assert!(network.step());
    }
    network.fate = Box::new(|_| Some(Duration::from_milliseconds(1)));
    let locals = [0, 1].map(|rank| network.local(rank, vec![1; 8]));
    for (rank, other) in both {
        let before = network.count(rank, Event::DatagramSent);
        for token in 100..1200 {
            let to = at(network.layout, other as u32, 9, 0);
            assert!(network.hold(rank, other, Request::Put { from: locals[rank], to, bytes: 8 }, token));
            network.pump(rank);
        }
        assert_eq!(network.count(rank, Event::DatagramSent) - before, 1024);
    }
    network.fate = Box::new(|_| CARRIED);
    network.quiet();
    for ((rank, token), result) in &network.ended {
        let refused = Err(Failure::OutOfBounds(at(network.layout, 1 - *rank as u32, 9, 0)));
        assert_eq!(*result, if *token < 40 { Ok(0) } else { refused }, "{token} of {rank}");
    }
    assert_eq!(network.ended.len(), 2 * 1140);
}
