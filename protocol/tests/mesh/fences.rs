//! Tests of fences: operations after a fence take effect after those before it, without waiting for their completion.

use pelago_base::{AtomicOperator, Event, Width};
use pelago_protocol::{Request, Signal};

use crate::memory::at;
use crate::network::{Network, Random, Weather};

/// Writes data of any size, a fence, and a flag: when the flag is visible, the data is visible.
fn flags(seed: u64) -> u64 {
    let mut random = Random::new(seed);
    let weather = Weather::foul(&mut random);
    let mut network = Network::new(2, random.next(), weather);
    let rounds = 1 + random.below(8);
    let mut expected = Vec::new();
    for round in 1..=rounds {
        let bytes = random.below(6_000) as usize;
        let data = vec![round as u8; bytes];
        let (data_at, flag_at) = (at(network.layout, 1, 2, 0), at(network.layout, 1, 1, 0));
        let local = network.local(0, data.clone());
        network.submit(0, 1, Request::Put { from: local, to: data_at, bytes: bytes as u64 }, 2 * round);
        network.fence(0, 1);
        let (flag, held) = (round.to_le_bytes(), random.below(2) == 0);
        let flag = Request::Write { to: flag_at, bytes: &flag };
        if !held || !network.hold(0, 1, flag, 2 * round + 1) {
            network.submit(0, 1, flag, 2 * round + 1);
        }
        network.fence(0, 1);
        expected.push(bytes);
    }
    network.pump(0);
    let mut seen = 0;
    while network.step() {
        let flag = network.memories[1].word(0);
        assert!(flag >= seen, "{seed:#x}: the flag goes from {seen} to {flag}");
        seen = flag;
        if flag > 0 {
            let data = &network.memories[1].segments[1].as_ref().unwrap()[..expected[flag as usize - 1]];
            assert!(data.iter().all(|&byte| u64::from(byte) >= flag), "{seed:#x}: flag {flag} before its data");
        }
    }
    assert_eq!(seen, rounds, "{seed:#x}");
    assert!(network.ended.values().all(Result::is_ok));
    network.endpoints[1].counters().of(Event::DatagramEarly)
}

#[test]
fn no_flag_is_seen_before_its_data() {
    let early: u64 = (0..1_000).map(|number| flags(0xF1A6_0000 + number)).sum();
    assert!(early > 100, "some datagrams came too early: {early}");
}

#[test]
fn data_and_flag_take_one_round_trip() {
    let mut network = Network::new(2, 1, Weather::FAIR);
    let (data_at, flag_at) = (at(network.layout, 1, 2, 0), at(network.layout, 1, 1, 0));
    network.submit(0, 1, Request::Write { to: data_at, bytes: &[7; 100] }, 0);
    network.fence(0, 1);
    network.submit(0, 1, Request::Write { to: flag_at, bytes: &[1; 8] }, 1);
    network.wait(0, 1).unwrap();
    assert_eq!(network.now.as_picoseconds(), 2 * 2_000_000, "there and back");
}

/// Puts `data` to segment 2 of rank 1, and then `word` to the start of segment 1.
fn put_signalled(network: &mut Network, data: &[u8], word: u64, token: u64) {
    let [to, at] = [2, 1].map(|segment| at(network.layout, 1, segment, 0));
    let signal = Signal { at, word: word.to_le_bytes() };
    let peer = network.peer(0, 1);
    let injection = network.endpoints[0].inject_signalled(network.now, peer, to, data, signal, token).unwrap();
    network.endpoints[0].capture(&injection);
    network.pump(0);
}

/// Performs puts with signal of any size in sequence: when the word of one is visible, its bytes are visible.
fn signals(seed: u64) -> u64 {
    let mut random = Random::new(seed);
    let weather = Weather::foul(&mut random);
    let mut network = Network::new(2, random.next(), weather);
    let (rounds, mut seen, mut expected) = (1 + random.below(8), 0, Vec::new());
    let check = |network: &Network, seen: &mut u64, expected: &[usize]| {
        let word = network.memories[1].word(0);
        assert!(word >= *seen, "{seed:#x}: the word goes from {seen} to {word}");
        *seen = word;
        if word > 0 {
            let data = &network.memories[1].segments[1].as_ref().unwrap()[..expected[word as usize - 1]];
            assert!(data.iter().all(|&byte| u64::from(byte) >= word), "{seed:#x}: word {word} before its bytes");
        }
    };
    for round in 1..=rounds {
        let bytes = random.below(6_000) as usize;
        expected.push(bytes);
        network.fence(0, 1);
        put_signalled(&mut network, &vec![round as u8; bytes], round, round);
        for _ in 0..random.below(20) {
            network.step();
            check(&network, &mut seen, &expected);
        }
    }
    while network.step() {
        check(&network, &mut seen, &expected);
    }
    assert_eq!(seen, rounds, "{seed:#x}");
    assert!(network.ended.len() as u64 == rounds && network.ended.values().all(Result::is_ok), "{seed:#x}");
    network.endpoints[1].counters().of(Event::DatagramEarly)
}

#[test]
fn no_signal_is_seen_before_the_bytes_of_its_put() {
    let early: u64 = (0..1_000).map(|number| signals(0x51_6A00 + number)).sum();
    assert!(early > 100, "some datagrams came too early: {early}");
}

/// Returns the number of datagrams of a put of `bytes` bytes, with or without a signal, between ranks that know the maximum datagram size.
fn datagrams(bytes: usize, signals: bool) -> u64 {
    let mut network = Network::new(2, 1, Weather::FAIR);
    put_signalled(&mut network, &[9; 8], 1, 1);
    network.wait(0, 1).unwrap();
    let before = network.count(0, Event::DatagramSent);
    let data = vec![7; bytes];
    if signals {
        put_signalled(&mut network, &data, 2, 2);
    } else {
        let (peer, to) = (network.peer(0, 1), at(network.layout, 1, 2, 0));
        let injection = network.endpoints[0].inject(network.now, peer, to, &data, 2).unwrap();
        network.endpoints[0].capture(&injection);
        network.pump(0);
    }
    network.wait(0, 2).unwrap();
    assert_eq!(network.memories[1].word(0), if signals { 2 } else { 1 }, "{bytes} bytes");
    assert!(network.memories[1].segments[1].as_ref().unwrap()[..bytes].iter().all(|&byte| byte == 7), "{bytes} bytes");
    network.count(0, Event::DatagramSent) - before
}

#[test]
fn a_signal_takes_a_datagram_only_where_it_has_no_room() {
    let mut apart = 0;
    for bytes in (0..4_000).step_by(37).chain(1_250..1_350) {
        let [alone, signalled] = [false, true].map(|signals| datagrams(bytes, signals));
        // Room for the word in each, and for the number of the datagram that the last one follows.
        let room = 16 * alone as usize + 8;
        assert!(signalled == alone || signalled == datagrams(bytes + room, false), "{bytes} bytes: {alone} and {signalled}");
        apart += u64::from(signalled > alone);
    }
    assert!((1..30).contains(&apart), "{apart}");
}

/// Increments words in order, with a fence between them, some of them held: no word is ahead of one before it.
fn stairs(seed: u64) {
    const WORDS: usize = 20;
    let mut random = Random::new(seed);
    let weather = Weather::foul(&mut random);
    let mut network = Network::new(2, random.next(), weather);
    let rounds = 1 + random.below(20);
    let mut token = 0;
    for _ in 0..rounds {
        for word in 0..WORDS {
            let add = Request::Atomic {
                at: at(network.layout, 1, 1, 8 * word as u64),
                width: Width::Eight,
                operator: AtomicOperator::Add,
                operand: 1,
            };
            token += 1;
            if random.below(4) == 0 || !network.hold(0, 1, add, token) {
                network.submit(0, 1, add, token);
            }
            network.fence(0, 1);
            if random.below(8) == 0 {
                network.step();
            }
        }
    }
    network.pump(0);
    while network.step() {
        let words: Vec<u64> = (0..WORDS).map(|word| network.memories[1].word(8 * word)).collect();
        assert!(words.windows(2).all(|pair| pair[0] >= pair[1]) && words[0] <= words[19] + 1, "{seed:#x}: {words:?}");
    }
    assert_eq!((network.memories[1].word(0), network.memories[1].word(8 * (WORDS - 1))), (rounds, rounds), "{seed:#x}");
    assert!(network.ended.values().all(Result::is_ok));
}

#[test]
fn what_is_fenced_within_a_datagram_is_in_order() {
    (0..1_000).for_each(|number| stairs(0x57A1_0000 + number));
}

#[test]
fn what_is_held_leaves_in_one_datagram_in_spite_of_fences() {
    let mut network = Network::new(2, 1, Weather::FAIR);
    let word = at(network.layout, 1, 1, 0);
    let atomic = |operator, operand| Request::Atomic { at: word, width: Width::Eight, operator, operand };
    let asked = [(AtomicOperator::Swap, 5), (AtomicOperator::Add, 2), (AtomicOperator::CompareSwap { expected: 7 }, 9)];
    // The second time behind a datagram in flight.
    for first in [0, 3] {
        for (token, (operator, operand)) in (first..).zip(asked) {
            network.fence(0, 1);
            assert!(network.hold(0, 1, atomic(operator, operand), token));
        }
        network.pump(0);
    }
    assert_eq!((0..6).map(|token| network.wait(0, token)).collect::<Vec<_>>(), [0, 5, 7, 9, 5, 7].map(Ok));
    assert_eq!(network.memories[1].word(0), 9);
    assert_eq!(network.endpoints[0].counters().of(Event::DatagramSent), 2);
}

#[test]
fn what_is_read_before_a_fence_is_not_what_is_written_after() {
    for seed in 0..200 {
        let mut random = Random::new(seed);
        let weather = Weather::foul(&mut random);
        let mut network = Network::new(2, seed, weather);
        let bytes = random.below(20_000) + 1;
        let place = at(network.layout, 1, 2, 0);
        let (into, from) = (network.local(0, vec![9; bytes as usize]), network.local(0, vec![1; bytes as usize]));
        network.submit(0, 1, Request::Get { from: place, to: into, bytes }, 0);
        network.fence(0, 1);
        network.submit(0, 1, Request::Put { from, to: place, bytes }, 1);
        network.wait(0, 1).unwrap();
        // The data that was read may arrive after the acknowledgement of the put.
        network.wait(0, 0).unwrap();
        assert!(network.memories[0].locals[0].iter().all(|&byte| byte == 0), "seed {seed}");
        assert!(network.memories[1].segments[1].as_ref().unwrap()[..bytes as usize].iter().all(|&byte| byte == 1), "seed {seed}");
    }
}

#[test]
fn what_is_asked_for_in_the_same_datagram_is_read_before_what_is_written_behind_it() {
    // Up to 960 bytes are read when the request arrives; more are read later, and operations after the fence wait for that.
    for bytes in [1, 64, 65, 959, 960, 961, 2_000] {
        let mut network = Network::new(2, 1, Weather::FAIR);
        let place = at(network.layout, 1, 2, 0);
        let into = network.local(0, vec![9; bytes as usize]);
        assert!(network.hold(0, 1, Request::Get { from: place, to: into, bytes }, 0));
        network.fence(0, 1);
        assert!(network.hold(0, 1, Request::Write { to: place, bytes: &[1; 8] }, 1));
        network.pump(0);
        assert_eq!([0, 1].map(|token| network.wait(0, token)), [Ok(0); 2]);
        assert!(network.memories[0].locals[0].iter().all(|&byte| byte == 0), "{bytes} bytes");
        assert_eq!(network.memories[1].segments[1].as_ref().unwrap()[..9], [1, 1, 1, 1, 1, 1, 1, 1, 0]);
    }
}

#[test]
fn a_short_read_that_has_ended_opens_no_fence_for_a_long_one() {
    for bytes in [8, 960] {
        let mut network = Network::new(2, 1, Weather::FAIR);
        let place = at(network.layout, 1, 2, 0);
        let [short, long] = [bytes, 200_000].map(|bytes| (bytes, network.local(0, vec![9; bytes as usize])));
        for (token, (bytes, to)) in [(0, short), (1, long)] {
            assert!(network.hold(0, 1, Request::Get { from: place, to, bytes }, token));
        }
        network.fence(0, 1);
        assert!(network.hold(0, 1, Request::Write { to: at(network.layout, 1, 2, 199_992), bytes: &[1; 8] }, 2));
        network.pump(0);
        assert_eq!([0, 1, 2].map(|token| network.wait(0, token)), [Ok(0); 3]);
        assert!(network.memories[0].locals[1].iter().all(|&byte| byte == 0), "after {bytes} bytes");
    }
}

#[test]
fn reads_behind_many_fences_all_end() {
    let mut network = Network::new(3, 2, Weather::FAIR);
    let layout = network.layout;
    let local = network.local(0, vec![0; 3_000]);
    for token in 0..20 {
        let copy = Request::Copy { from: at(layout, 1, 1, 0), to: at(layout, 2, 1, 0), bytes: 3_000 };
        let get = Request::Get { from: at(layout, 1, 1, 0), to: local, bytes: 3_000 };
        network.submit(0, 1, if token % 2 == 0 { copy } else { get }, token);
        network.fence(0, 1);
    }
    network.quiet();
    assert_eq!(network.ended.len(), 20);
    assert!(network.ended.values().all(Result::is_ok));
}

#[test]
fn a_long_read_between_two_fences_holds_up_what_is_behind_the_second() {
    let mut network = Network::new(2, 1, Weather::FAIR);
    let bytes = 200_000;
    let (from, into) = (network.local(0, vec![2; 4_000]), network.local(0, vec![9; bytes as usize]));
    let requests = [
        Request::Put { from, to: at(network.layout, 1, 1, 0), bytes: 4_000 },
        Request::Get { from: at(network.layout, 1, 2, 0), to: into, bytes },
        Request::Write { to: at(network.layout, 1, 2, bytes - 8), bytes: &[1; 8] },
    ];
    for (token, request) in (0..).zip(requests) {
        assert!(network.hold(0, 1, request, token));
        network.fence(0, 1);
    }
    network.pump(0);
    assert_eq!([0, 1, 2].map(|token| network.wait(0, token)), [Ok(0); 3]);
    assert!(network.memories[0].locals[1].iter().all(|&byte| byte == 0), "it was read before it was written");
}

#[test]
fn fences_behind_each_other_take_no_room() {
    let mut network = Network::new(2, 1, Weather::FAIR);
    let (to, from) = (at(network.layout, 1, 1, 0), network.local(0, vec![2; 4_000]));
    for token in 0..4 {
        // While idle, with unsent operations, and with operations in flight.
        (0..1_000).for_each(|_| network.fence(0, 1));
        assert!(network.hold(0, 1, Request::Put { from, to, bytes: 4_000 }, token));
        if token == 2 {
            network.pump(0);
        }
    }
    network.pump(0);
    network.quiet();
    assert!(network.ended.len() == 4 && network.ended.values().all(Result::is_ok));
}

/// A datagram with a fence in it is nearly full, so that a long read after the fence has no room there and waits for the fence.
#[test]
fn a_long_read_that_has_no_room_behind_a_fence_is_asked_for_after_it() {
    let mut network = Network::new(2, 1, Weather::FAIR);
    let to = at(network.layout, 1, 1, 0);
    let into = network.local(0, vec![0; 4_000]);
    assert!(network.hold(0, 1, Request::Write { to, bytes: &[1; 8] }, 0));
    network.fence(0, 1);
    assert!(network.hold(0, 1, Request::Write { to, bytes: &[2; 940] }, 1));
    assert!(network.hold(0, 1, Request::Get { from: to, to: into, bytes: 4_000 }, 2));
    network.pump(0);
    assert_eq!([0, 1, 2].map(|token| network.wait(0, token)), [Ok(0); 3]);
    assert_eq!(network.memories[0].locals[0][..940], [2; 940]);
}

/// A rank that reads without a pause until it sees a word: the fence in front of the word does not wait for the answers.
#[test]
fn a_fence_is_passed_although_the_peer_always_waits_for_answers() {
    for (bytes, in_flight) in [(200_000, 16), (960, 500)] {
        let mut network = Network::new(2, 1, Weather::FAIR);
        let (data, into) = (network.local(0, vec![1; 5_000]), network.local(1, vec![0; bytes as usize]));
        let get = Request::Get { from: at(network.layout, 0, 1, 0), to: into, bytes };
        (0..in_flight).for_each(|token| network.submit(1, 0, get, token));
        network.wait(1, 0).unwrap();
        assert!(network.hold(0, 1, Request::Put { from: data, to: at(network.layout, 1, 2, 0), bytes: 5_000 }, 0));
        network.fence(0, 1);
        assert!(network.hold(0, 1, Request::Write { to: at(network.layout, 1, 1, 0), bytes: &[1; 8] }, 1));
        network.pump(0);
        let mut next = in_flight;
        while network.memories[1].word(0) == 0 {
            assert!(network.step());
            while next < in_flight + network.ended.len() as u64 && network.try_submit(1, 0, get, next).is_ok() {
                next += 1;
            }
            assert!(next < 20 * in_flight, "the fence is not passed while rank 1 reads {bytes} bytes again and again");
        }
        network.quiet();
        assert!(network.ended.values().all(Result::is_ok));
    }
}
