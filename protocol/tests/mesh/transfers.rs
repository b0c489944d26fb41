//! Tests that transfers of any size arrive completely, between any ranks, and that accesses outside registered memory are refused.

use std::cell::Cell;
use std::rc::Rc;

use pelago_base::{Duration, Event, GlobalAddress};
use pelago_protocol::{Failure, Request};

use crate::memory::{Local, SEGMENT_BYTES, at};
use crate::network::{Network, Random, Weather};

#[test]
fn operations_agree_with_an_oracle() {
    for seed in 0..300 {
        oracle(0x04AC_1E00 + seed);
    }
}

/// Random operations on separate parts of memory, so that order does not matter.
fn oracle(seed: u64) {
    let mut random = Random::new(seed);
    let weather = Weather::foul(&mut random);
    let datagram_bytes = [1_200, 1_400, 8_972, 65_507][random.below(4) as usize];
    let mut network = Network::with(3, random.next(), weather, datagram_bytes, random.below(2) == 1);
    for rank in 0..3 {
        network.memories[rank].segments[0] = Some(random.bytes(SEGMENT_BYTES));
    }
    let mut oracle: Vec<Vec<u8>> = network.memories.iter().map(|memory| memory.segments[1].clone().unwrap()).collect();
    let (mut gets, mut used) = (Vec::new(), [0_usize; 3]);
    for token in 0..random.below(20) + 1 {
        let [from, owner, target] = [0; 3].map(|_| random.below(3) as usize);
        let most = [20, 900, 3_000, 40_000][random.below(4) as usize];
        let bytes = random.below(most) as usize;
        let source = random.below((SEGMENT_BYTES - bytes) as u64) as usize;
        if used[target] + bytes > SEGMENT_BYTES {
            continue;
        }
        let to = at(network.layout, target as u32, 2, used[target] as u64);
        let place = used[target]..used[target] + bytes;
        used[target] += bytes;
        let read = network.memories[owner].segments[0].as_ref().unwrap()[source..source + bytes].to_vec();
        let source = at(network.layout, owner as u32, 1, source as u64);
        match random.below(3) {
            0 if bytes <= 960 => {
                oracle[target][place].copy_from_slice(&read);
                network.submit(from, target, Request::Write { to, bytes: &read }, token);
            }
            0 => {
                oracle[target][place].copy_from_slice(&read);
                let local = network.local(from, read);
                network.submit(from, target, Request::Put { from: local, to, bytes: bytes as u64 }, token);
            }
            1 => {
                let local = network.local(from, vec![0; bytes]);
                gets.push((from, local, read));
                network.submit(from, owner, Request::Get { from: source, to: local, bytes: bytes as u64 }, token);
            }
            _ => {
                oracle[target][place].copy_from_slice(&read);
                network.submit(from, owner, Request::Copy { from: source, to, bytes: bytes as u64 }, token);
            }
        }
    }
    network.quiet();
    assert!(network.ended.values().all(Result::is_ok), "{seed:#x}: {:?}", network.ended);
    for (rank, expected) in oracle.iter().enumerate() {
        assert!(network.memories[rank].segments[1].as_ref() == Some(expected), "{seed:#x}: memory of {rank} differs");
    }
    for (rank, local, expected) in gets {
        assert!(network.memories[rank].locals[local.0 as usize] == expected, "{seed:#x}: a get of {rank} differs");
    }
    assert!(network.endpoints.iter().all(|endpoint| endpoint.peers().1 == 0), "{seed:#x}");
}

/// A datagram may be executed before an earlier one, so that a word that is cut would consist of halves of different ages.
#[test]
fn transfers_are_cut_between_words() {
    for datagram_bytes in [1_200, 1_201, 1_207, 8_972, 65_507] {
        for (kind, start) in (0..3).flat_map(|kind| (0..9).map(move |start| (kind, start))) {
            let mut network = Network::with(3, start, Weather::FAIR, datagram_bytes, start % 2 == 1);
            let (bytes, place) = (200_000, start as usize..start as usize + 200_000);
            let there = at(network.layout, 1, 1, start);
            let local = network.local(0, vec![7; bytes as usize]);
            let request = match kind {
                0 => Request::Put { from: local, to: there, bytes },
                1 => Request::Get { from: there, to: local, bytes },
                _ => Request::Copy { from: there, to: at(network.layout, 2, 1, start), bytes },
            };
            network.submit(0, 1, request, 0);
            network.quiet();
            assert!(network.ended.values().all(Result::is_ok));
            for memory in &network.memories[1..] {
                let accesses = memory.accesses.borrow();
                assert!(accesses.len() >= 3 || (accesses.is_empty() && kind < 2), "{accesses:?}");
                let ends = accesses.iter().flat_map(|range| [range.start, range.end]);
                let inside = ends.filter(|end| ![place.start, place.end].contains(end)).collect::<Vec<_>>();
                assert!(inside.iter().all(|end| end.is_multiple_of(8)), "{datagram_bytes} {kind} {start}: {inside:?}");
            }
        }
    }
}

#[test]
fn what_is_not_registered_is_refused_and_nothing_else() {
    for seed in 0..200 {
        let mut random = Random::new(seed);
        let weather = Weather::foul(&mut random);
        let mut network = Network::new(3, seed, weather);
        let layout = network.layout;
        let end = SEGMENT_BYTES as u64;
        let (inside, across, absent) = (at(layout, 1, 1, 0), at(layout, 1, 1, end - 4), at(layout, 1, 9, 0));
        let local = network.local(0, vec![1; 5_000]);
        let outside = |address| Err(Failure::OutOfBounds(address));
        let requests = [
            (Request::Write { to: inside, bytes: &[1; 8] }, Ok(0)),
            (Request::Write { to: across, bytes: &[1; 8] }, outside(across)),
            (Request::Write { to: absent, bytes: &[1; 8] }, outside(absent)),
            (Request::Write { to: inside, bytes: &[2; 8] }, Ok(0)),
            (Request::Put { from: local, to: across, bytes: 5_000 }, outside(across)),
            (Request::Put { from: local, to: inside, bytes: 5_000 }, Ok(0)),
            (Request::Get { from: absent, to: local, bytes: 5_000 }, outside(absent)),
            (Request::Get { from: across, to: local, bytes: 8 }, outside(across)),
            (Request::Copy { from: inside, to: at(layout, 2, 9, 0), bytes: 8 }, outside(at(layout, 2, 9, 0))),
            (Request::Copy { from: inside, to: at(layout, 2, 1, end - 4), bytes: 8_000 }, outside(at(layout, 2, 1, end - 4))),
            (Request::Copy { from: across, to: inside, bytes: 8 }, outside(across)),
            (Request::Copy { from: inside, to: absent, bytes: 8 }, outside(absent)),
        ];
        for (token, (request, _)) in requests.iter().enumerate() {
            network.submit(0, 1, *request, token as u64);
        }
        network.quiet();
        for (token, (request, expected)) in requests.iter().enumerate() {
            assert_eq!(network.ended[&(0, token as u64)], *expected, "seed {seed}: {request:?}");
        }
        let end = &network.memories[1].segments[0].as_ref().unwrap()[SEGMENT_BYTES - 4..];
        assert_eq!(end, [0; 4], "seed {seed}: a put that leads outside changes nothing");
    }
}

#[test]
fn of_what_shares_a_datagram_each_ends_for_itself() {
    for piece_is_refused in [false, true] {
        let mut network = Network::new(2, 1, Weather::FAIR);
        let layout = network.layout;
        let [inside, absent, beyond] =
            [(1, 0), (9, 0), (1, SEGMENT_BYTES as u64)].map(|(segment, at_byte)| at(layout, 1, segment, at_byte));
        let from = network.local(0, vec![1; 100]);
        let put_to = if piece_is_refused { beyond } else { inside };
        let requests = [inside, absent, inside, beyond, absent, inside].map(|to| Request::Write { to, bytes: &[1; 8] });
        for (token, request) in (0..).zip(requests.into_iter().chain([Request::Put { from, to: put_to, bytes: 100 }])) {
            assert!(network.hold(0, 1, request, token));
        }
        network.pump(0);
        assert_eq!(network.count(0, Event::DatagramSent), 1);
        network.quiet();
        let ended: Vec<_> = network.ended.values().copied().collect();
        let outside = |address| Err(Failure::OutOfBounds(address));
        let put = if piece_is_refused { outside(beyond) } else { Ok(0) };
        assert_eq!(ended, [Ok(0), outside(absent), Ok(0), outside(beyond), outside(absent), Ok(0), put]);
    }
}

#[test]
fn memory_that_is_no_longer_registered_ends_what_reads_it() {
    let mut network = Network::new(2, 3, Weather::FAIR);
    let local = network.local(0, vec![0; 200_000]);
    let from = at(network.layout, 1, 1, 0);
    network.submit(0, 1, Request::Get { from, to: local, bytes: 200_000 }, 0);
    (0..3).for_each(|_| {
        network.step();
    });
    assert!(network.endpoints[1].is_reading(from, 200_000) && network.endpoints[1].is_reading(from, 1));
    let after = at(network.layout, 1, 1, 200_000);
    assert!(!network.endpoints[1].is_reading(at(network.layout, 1, 2, 0), 8) && !network.endpoints[1].is_reading(after, 8));
    network.memories[1].segments[0] = None;
    assert_eq!(network.wait(0, 0), Err(Failure::OutOfBounds(from)));
    network.quiet();
    assert!(!network.endpoints[1].is_reading(from, 200_000));
}

/// Returns a get of bytes of rank 1, and a copy of them from rank 1 to rank 2.
fn reading(network: &mut Network, from: GlobalAddress, bytes: u64) -> [Request<'static, Local>; 2] {
    let into = network.local(0, vec![0; bytes as usize]);
    [Request::Get { from, to: into, bytes }, Request::Copy { from, to: at(network.layout, 2, 2, 0), bytes }]
}

#[test]
fn bytes_that_have_to_be_sent_again_and_are_registered_no_longer_are_refused() {
    for (which, bytes, sent) in [(0, 3_000, 3), (1, 3_000, 3), (0, 200_000, 20), (1, 200_000, 20)] {
        let mut network = Network::new(3, 3, Weather::FAIR);
        let layout = network.layout;
        let from = at(layout, 1, 1, 0);
        let request = reading(&mut network, from, bytes)[which];
        // No data arrives before the memory is deregistered.
        let carries = Rc::new(Cell::new(false));
        network.fate = Box::new({
            let carries = carries.clone();
            move |departure| (departure.datagram.len() < 300 || carries.get()).then_some(Duration::ZERO)
        });
        network.submit(0, 1, request, 0);
        while network.count(1, Event::DatagramSent) < sent {
            assert!(network.step());
        }
        network.memories[1].segments[0] = None;
        carries.set(true);
        assert_eq!(network.wait(0, 0), Err(Failure::OutOfBounds(from)), "{request:?}");
        network.quiet();
        assert!(!network.endpoints[1].is_reading(from, bytes));
        assert!((0..3).all(|rank| network.count(rank, Event::DatagramMalformed) == 0), "{request:?}");
        // Later operations are not delayed.
        network.submit(1, 2, Request::Write { to: at(layout, 2, 1, 0), bytes: b"later" }, 1);
        assert_eq!(network.wait(1, 1), Ok(0));
    }
}

#[test]
fn bytes_that_were_not_sent_yet_and_are_registered_no_longer_are_refused() {
    for which in 0..2 {
        let mut network = Network::new(3, 3, Weather::FAIR);
        let (from, elsewhere) = (at(network.layout, 1, 1, 0), at(network.layout, 1, 2, 0));
        let request = reading(&mut network, from, 200_000)[which];
        // Other operations, which read other memory, continue.
        let others = reading(&mut network, elsewhere, 5_000);
        network.submit(0, 1, request, 0);
        network.step();
        (1..).zip(others).for_each(|(token, other)| network.submit(0, 1, other, token));
        network.memories[1].segments[0] = None;
        assert_eq!([0, 1, 2].map(|token| network.wait(0, token)), [Err(Failure::OutOfBounds(from)), Ok(0), Ok(0)]);
        network.quiet();
    }
}

#[test]
fn whatever_fits_a_window_ends_after_one_round_trip() {
    // The last datagram of a put requests an immediate acknowledgement, however full it is.
    for bytes in (1..4_000).step_by(13) {
        let mut network = Network::new(2, 1, Weather::FAIR);
        let from = network.local(0, vec![1; bytes]);
        let put = Request::Put { from, to: at(network.layout, 1, 2, 0), bytes: bytes as u64 };
        network.submit(0, 1, put, 0);
        network.wait(0, 0).unwrap();
        assert_eq!(network.now.as_picoseconds(), 2 * 2_000_000, "there and back, {bytes} bytes");
        network.quiet();
        // The last but one also requests one, if the rest could fill exactly one datagram.
        assert!(network.count(1, Event::DatagramSent) <= 2, "those before are acknowledged with the last, {bytes} bytes");
    }
}
