//! Tests of flow control: bytes in flight, pacing, and sizes of datagrams.

use std::cell::Cell;
use std::rc::Rc;

use pelago_base::{AddressLayout, Duration, Event, Instant, Rank};
use pelago_protocol::{Config, Conversations, Request, Transmit};

use crate::memory::{Local, RankMemory, at};
use crate::network::{Departure, FAILURE_LIMIT, KEY, Network, RECEIVE_WINDOW_BYTES, Weather};

const DATAGRAM_BYTES: usize = 1400;

/// Every datagram takes the same time, which is longer than the sending of a window.
fn far(milliseconds: u64) -> Weather {
    Weather { lost: 0, repeated: 0, delay: (milliseconds * 1_000_000, milliseconds * 1_000_000) }
}

/// Submits a put of `bytes` bytes to the memory of rank 0 or, from rank 0, to that of rank 1.
fn put(network: &mut Network, from: usize, bytes: usize, token: u64) {
    let local = network.local(from, vec![from as u8; bytes]);
    let to = usize::from(from == 0);
    let address = at(network.layout, to as u32, 2, 0);
    network.submit(from, to, Request::Put { from: local, to: address, bytes: bytes as u64 }, token);
}

/// Runs until operations of other ranks have ended; returns the maximum number of bytes in flight to a rank.
fn peak(network: &mut Network, to: usize, operations: &[(usize, u64)]) -> usize {
    let mut peak = 0;
    while !operations.iter().all(|operation| network.ended.contains_key(operation)) {
        assert!(network.step(), "it ends");
        peak = peak.max(network.bytes_on_the_way(to));
    }
    peak
}

#[test]
fn senders_share_what_the_receiver_has_room_for() {
    const SENDERS: usize = 20;
    let mut network = Network::new(SENDERS as u32 + 1, 1, far(2));
    let bytes = 200_000;
    let all = |token: u64| (1..=SENDERS).map(|rank| (rank, token)).collect::<Vec<_>>();
    // In the first round the receiver learns the number of senders.
    (1..=SENDERS).for_each(|rank| put(&mut network, rank, bytes, 0));
    peak(&mut network, 0, &all(0));
    for token in 1..=5 {
        (1..=SENDERS).for_each(|rank| put(&mut network, rank, bytes, token));
        let peak = peak(&mut network, 0, &all(token));
        let room = RECEIVE_WINDOW_BYTES as usize + SENDERS * DATAGRAM_BYTES;
        assert!((room / 4..=room).contains(&peak), "round {token}: {peak} of {room}");
    }
    let repeated: u64 = (0..=SENDERS).map(|rank| network.count(rank, Event::DatagramRepeated)).sum();
    assert_eq!(repeated, 0, "nothing was taken for lost");
    // When the others have nothing more to send, one sender has the whole window.
    network.quiet();
    for token in 10..20 {
        put(&mut network, 1, bytes, token);
        network.wait(1, token).unwrap();
    }
    (20..40).for_each(|token| put(&mut network, 1, bytes, token));
    let alone = peak(&mut network, 0, &[(1, 39)]);
    assert!(alone > RECEIVE_WINDOW_BYTES as usize / 2, "{alone}");
}

#[test]
fn one_sender_fills_the_room_of_the_receiver_and_no_more() {
    // Datagrams are so long that their number is not the limit.
    let datagram_bytes = 8_972;
    let mut network = Network::with(2, 1, far(5), datagram_bytes, false);
    (0..60).for_each(|token| put(&mut network, 0, 200_000, token));
    let peak = peak(&mut network, 1, &[(0, 59)]);
    let room = RECEIVE_WINDOW_BYTES as usize;
    assert!((room / 2..=room + datagram_bytes).contains(&peak), "{peak} of {room}");
}

#[test]
fn a_window_grows_while_nothing_is_lost() {
    let mut network = Network::new(2, 1, far(5));
    (0..50).for_each(|token| put(&mut network, 0, 200_000, token));
    network.wait(0, 49).unwrap();
    // Ten megabytes: 160 round trips with the initial window, 16 and a few with the receive window.
    let round_trips = network.now.since(Instant::ZERO).as_picoseconds() / Duration::from_milliseconds(10).as_picoseconds();
    assert!((10..40).contains(&round_trips), "{round_trips}");
}

#[test]
fn a_window_shrinks_when_something_is_lost() {
    let peaks = (1..=5).map(|seed| {
        let mut network = Network::new(2, seed, far(5));
        network.weather.lost = 100_000;
        (0..50).for_each(|token| put(&mut network, 0, 200_000, token));
        peak(&mut network, 1, &[(0, 49)])
    });
    let peaks: Vec<usize> = peaks.collect();
    // The size to which the window grows before the first loss is random.
    assert!(peaks.iter().all(|&peak| peak < RECEIVE_WINDOW_BYTES as usize / 4), "{peaks:?} where one of ten is lost");
    assert!(peaks.iter().any(|&peak| peak > 50_000), "{peaks:?} where one of ten is lost");
}

#[test]
fn a_long_stream_keeps_its_bandwidth_where_one_of_a_hundred_is_lost() {
    // Twelve megabytes with a receive window of one; each direction takes a tenth of a millisecond.
    let taken = |lost: u64, seed: u64| {
        let mut network = Network::new(2, seed, Weather { lost, repeated: 0, delay: (100_000, 100_000) });
        (0..60).for_each(|token| put(&mut network, 0, 200_000, token));
        (0..60).for_each(|token| assert_eq!(network.wait(0, token), Ok(0)));
        let (taken, sent) = (network.now.since(Instant::ZERO), network.count(0, Event::DatagramSent));
        (taken.as_picoseconds(), sent, network.count(0, Event::DatagramRepeated))
    };
    for seed in 1..=5 {
        let (without, sent, none) = taken(0, seed);
        assert_eq!(none, 0);
        for (lost, times) in [(1_000, 2), (10_000, 2)] {
            let (with, all, repeated) = taken(lost, seed);
            let (expected, about) = (sent * lost / 1_000_000, sent / 100);
            eprintln!("{seed} {lost}: {with} {without} {repeated} {all}");
            assert!(with <= times * without, "{lost} of a million lost: {with} instead of {without} ps");
            assert!(repeated <= expected * 3 / 2 + about, "{repeated} of {all} repeated, {lost} of a million lost");
        }
    }
}

#[test]
fn a_window_leaves_little_by_little() {
    let mut network = Network::new(2, 1, far(5));
    (0..40).for_each(|token| put(&mut network, 0, 200_000, token));
    network.wait(0, 39).unwrap();
    network.recorded = Some(Vec::new());
    (40..60).for_each(|token| put(&mut network, 0, 200_000, token));
    network.wait(0, 59).unwrap();
    let departures = network.recorded.take().unwrap();
    let sent: Vec<&Departure> = departures.iter().filter(|departure| departure.from == 0).collect();
    let at_once = sent.chunk_by(|one, next| one.at == next.at).map(|burst| burst.len() * DATAGRAM_BYTES).max().unwrap();
    assert!(at_once < RECEIVE_WINDOW_BYTES as usize / 4 * 3, "a part of what has room at most: {at_once}");
    // Datagrams that pacing delays are sent when they are due, whether anything is received meanwhile or not.
    let first_answer = departures.iter().position(|departure| departure.from == 1).unwrap();
    let moments = departures[..first_answer].chunk_by(|one, next| one.at == next.at).count();
    assert!(moments > 5, "{moments}");
}

#[test]
fn no_more_datagrams_are_under_way_than_their_receiver_tells_apart() {
    let mut network = Network::new(2, 1, far(1));
    (0..30).for_each(|token| put(&mut network, 0, 200_000, token));
    network.wait(0, 29).unwrap();
    let before = network.count(0, Event::DatagramSent);
    let carries = Rc::new(Cell::new(false));
    network.fate = Box::new({
        let (carries, mut is_first) = (carries.clone(), true);
        move |departure| (departure.from == 1 || !std::mem::take(&mut is_first) || carries.get()).then_some(Duration::ZERO)
    });
    let to = at(network.layout, 1, 1, 0);
    // One datagram each, as soon as pacing allows; all within a round trip.
    for token in 100..1900 {
        network.now = network.now + Duration::from_microseconds(1);
        let _ = network.try_submit(0, 1, Request::Write { to, bytes: &[1; 8] }, token);
    }
    let sent = network.count(0, Event::DatagramSent) - before;
    assert!((900..=1024).contains(&sent), "{sent}");
    network.quiet();
    assert_eq!(network.count(1, Event::DatagramEarly), 0);
    assert!(network.ended.values().all(Result::is_ok));
}

/// Whether a length is that of the longest datagrams of a transfer: pieces end between words of eight bytes.
pub(crate) fn is_full(longest: usize, datagram_bytes: usize) -> bool {
    (datagram_bytes - 7..=datagram_bytes).contains(&longest)
}

#[test]
fn datagrams_are_no_longer_than_both_ends_can_take() {
    for sizes in [[8_972, 1_400], [1_400, 8_972], [4_000, 4_000], [1_000, 8_972]] {
        let mut network = Network::with(2, 1, Weather::FAIR, 0, false);
        network.datagram_bytes = sizes.to_vec();
        network.recorded = Some(Vec::new());
        let longest = |network: &mut Network| {
            let departures = network.recorded.replace(Vec::new()).unwrap();
            departures.iter().map(|departure| departure.datagram.len()).max().unwrap()
        };
        put(&mut network, 0, 10_000, 0);
        assert!(is_full(longest(&mut network), 1200), "the other end has not said anything yet");
        for token in 1..4 {
            put(&mut network, 1, 200_000, token);
            put(&mut network, 0, 200_000, token);
            network.quiet();
        }
        assert!(is_full(longest(&mut network), sizes[0].min(sizes[1]).max(1200)));
    }
}

#[test]
fn what_is_made_after_tries_in_vain_has_the_size_that_every_network_carries() {
    let mut network = Network::with(2, 1, Weather::FAIR, 8_972, false);
    for token in 0..3 {
        put(&mut network, 1, 50_000, token);
        put(&mut network, 0, 50_000, token);
        network.quiet();
    }
    let carries = Rc::new(Cell::new(false));
    network.fate = Box::new({
        let carries = carries.clone();
        move |_| carries.get().then_some(Duration::ZERO)
    });
    let to = at(network.layout, 1, 1, 0);
    network.submit(0, 1, Request::Write { to, bytes: &[1; 8] }, 10);
    // Four probes, and unanswered tries.
    while network.count(0, Event::DatagramRepeated) < 8 {
        assert!(network.step());
    }
    // Writes that are queued now; several would fit a datagram of the size that both ends support.
    network.recorded = Some(Vec::new());
    for token in 11..40 {
        network.submit(0, 1, Request::Write { to, bytes: &[1; 300] }, token);
    }
    network.run_until(network.now + Duration::from_milliseconds(400));
    carries.set(true);
    network.quiet();
    let longest = |network: &mut Network| {
        let departures = network.recorded.replace(Vec::new()).unwrap();
        departures.iter().filter(|departure| departure.from == 0).map(|departure| departure.datagram.len()).max().unwrap()
    };
    let in_vain = longest(&mut network);
    assert!((900..=1200).contains(&in_vain), "{in_vain}");
    assert!((10..40).all(|token| network.ended[&(0, token)] == Ok(0)));
    put(&mut network, 0, 50_000, 40);
    network.quiet();
    assert!(is_full(longest(&mut network), 8_972), "an answer, and all is as before");
}

#[test]
fn nobody_waits_for_an_acknowledgement_that_is_kept_back() {
    // The initial window holds few of the longest datagrams.
    for datagram_bytes in [1_200, 1_400, 8_972, 20_000, 65_507] {
        let mut network = Network::with(2, 1, Weather::FAIR, datagram_bytes, false);
        for (token, from) in [1, 0, 1].into_iter().enumerate() {
            put(&mut network, from, 100, token as u64);
            network.wait(from, token as u64).unwrap();
        }
        let before = network.now;
        put(&mut network, 0, 240_000, 10);
        network.wait(0, 10).unwrap();
        let took = network.now.since(before);
        assert!(took < Duration::from_milliseconds(1), "in datagrams of {datagram_bytes} bytes: {took:?}");
    }
}

/// Returns an end without known peers, in a job of `ranks` ranks.
fn stranger(ranks: u32) -> (Conversations<RankMemory>, RankMemory, AddressLayout) {
    let layout = AddressLayout::new(ranks, 1 << 20).unwrap();
    let (me, receive_window_bytes) = (Rank::new(0), RECEIVE_WINDOW_BYTES);
    let config =
        Config { me, incarnation: 1, layout, key: KEY, encrypt: false, failure_limit: FAILURE_LIMIT, receive_window_bytes };
    (Conversations::new(config), RankMemory::new(layout, me), layout)
}

/// Submits a write of a word to a rank; returns the datagram that is sent for it at once.
fn write(end: &mut (Conversations<RankMemory>, RankMemory, AddressLayout), now: Instant, to: u32) -> Option<Transmit> {
    let (endpoint, memory, layout) = end;
    let peer = endpoint.connect(Rank::new(to), DATAGRAM_BYTES);
    endpoint.submit(now, peer, Request::Write { to: at(*layout, to, 1, 0), bytes: &[1; 8] }, 0).unwrap();
    endpoint.poll_transmit(now, memory, &mut vec![0; 1 << 16], false)
}

#[test]
fn first_datagrams_are_spread_where_all_together_might_flood_one() {
    // A datagram of each rank takes a kilobyte of a megabyte; the spread is four microseconds per rank, at most twenty milliseconds.
    for (ranks, spread) in [(1_024, 0), (1_025, 4_100), (2_000, 8_000), (20_000, 20_000)] {
        let start = Instant::ZERO + Duration::from_milliseconds(7);
        let held_up = (1..1_000).map(|to| {
            let mut end = stranger(ranks);
            if write(&mut end, start, to).is_some() {
                return Duration::ZERO;
            }
            let due = end.0.poll_timeout().unwrap();
            end.0.handle_timeout(due);
            assert!(end.0.poll_transmit(due, &end.1, &mut vec![0; 1 << 16], false).is_some(), "it leaves when its time has come");
            due.since(start)
        });
        let (least, most) = held_up.fold((Duration::from_seconds(1.0), Duration::ZERO), |(least, most), held_up| {
            (least.min(held_up), most.max(held_up))
        });
        let spread = Duration::from_microseconds(spread);
        assert!(most <= spread && most.as_picoseconds() >= spread.as_picoseconds() / 20 * 19, "{ranks} ranks: {most:?}");
        assert!(least.as_picoseconds() <= spread.as_picoseconds() / 20, "{ranks} ranks: {least:?}");
    }
}

#[test]
fn the_more_peers_there_are_the_rarer_they_are_looked_at() {
    // Half a microsecond per peer.
    for (peers, pause) in [(20, 10), (1_000, 500)] {
        let mut end = stranger(1_001);
        for to in 1..=peers {
            let now = Instant::ZERO + Duration::from_microseconds(3 * u64::from(to));
            assert!(write(&mut end, now, to).is_some());
        }
        let mut looked = Instant::ZERO;
        for look in 0..100 {
            let due = end.0.poll_timeout().unwrap();
            assert!(look == 0 || due >= looked + Duration::from_microseconds(pause), "{:?} after a look", due.since(looked));
            looked = due;
            end.0.handle_timeout(looked);
            while end.0.poll_transmit(looked, &end.1, &mut vec![0; 1 << 16], false).is_some() {}
        }
        let often = looked <= Instant::ZERO + Duration::from_milliseconds(1_000);
        assert!(often, "and yet often enough: 100 looks until {looked:?}");
    }
}

#[test]
fn a_rank_that_nothing_is_known_of_is_sent_its_part_of_a_room_at_first() {
    for (ranks, charge) in [(2, 64 << 10), (9, 64 << 10), (65, 16 << 10), (1_000, 1)] {
        let (mut endpoint, mut memory, layout) = stranger(ranks);
        memory.locals.push(vec![1; 100_000]);
        let peer = endpoint.connect(Rank::new(1), DATAGRAM_BYTES);
        let put = Request::Put { from: Local(0), to: at(layout, 1, 2, 0), bytes: 100_000 };
        endpoint.submit(Instant::ZERO, peer, put, 0).unwrap();
        let mut buffer = vec![0; 1 << 16];
        let sent = std::iter::from_fn(|| endpoint.poll_transmit(Instant::ZERO, &memory, &mut buffer, false));
        // Each datagram is charged 512 bytes in addition to its own.
        let charged: usize = sent.map(|transmit| transmit.bytes + 512).sum();
        assert!((charge..charge + 1_712).contains(&charged), "{charged} of {charge} in a job of {ranks}");
    }
}
