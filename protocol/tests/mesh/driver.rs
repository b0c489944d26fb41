//! Tests of the interface for the driver of an endpoint: whether and what to send, and which memory is still being read.

use pelago_base::{Duration, Rank};
use pelago_protocol::{Injection, PeerIndex, Request, Transmit};

use crate::memory::at;
use crate::network::{Network, Weather};

/// Two ranks that know the maximum datagram size between them: 1,400 bytes.
fn acquainted() -> (Network, PeerIndex) {
    let mut network = Network::new(3, 1, Weather::FAIR);
    for from in [0, 1] {
        write(&mut network, from, 1 - from, 8, 0);
        network.pump(from);
        network.wait(from, 0).unwrap();
    }
    let peer = network.peer(0, 1);
    (network, peer)
}

/// A write that has not been sent.
fn write(network: &mut Network, from: usize, to: usize, bytes: usize, token: u64) {
    let to_address = at(network.layout, to as u32, 1, 0);
    assert!(network.hold(from, to, Request::Write { to: to_address, bytes: &vec![1; bytes] }, token));
}

/// Sends the next datagram of a rank.
fn next(network: &mut Network, from: usize, patient: bool) -> Option<Transmit> {
    let mut buffer = vec![0; 1 << 16];
    let transmit = network.endpoints[from].poll_transmit(network.now, &network.memories[from], &mut buffer, patient)?;
    network.carry_now(transmit.to.index(), &buffer[..transmit.bytes]);
    Some(transmit)
}

/// Sends the next datagram of a rank, unless it is held back.
fn next_full(network: &mut Network, to: PeerIndex) -> Option<Transmit> {
    let mut buffer = vec![0; 1 << 16];
    let transmit = network.endpoints[0].poll_transmit_full(network.now, to, &network.memories[0], &mut buffer)?;
    network.carry_now(transmit.to.index(), &buffer[..transmit.bytes]);
    Some(transmit)
}

#[test]
fn what_is_not_full_waits_for_company_while_something_is_on_its_way() {
    let (mut network, peer) = acquainted();
    assert_eq!(next_full(&mut network, peer), None, "there is nothing");
    write(&mut network, 0, 1, 8, 1);
    let first = next_full(&mut network, peer).expect("nothing is on its way");
    assert!((first.to, first.peer, first.more) == (Rank::new(1), peer, false) && first.bytes < 200, "{first:?}");
    write(&mut network, 0, 1, 8, 2);
    assert_eq!(next_full(&mut network, peer), None);
    write(&mut network, 0, 1, 900, 3);
    assert_eq!(next_full(&mut network, peer), None, "both have room in one datagram");
    write(&mut network, 0, 1, 900, 4);
    let full = next_full(&mut network, peer).expect("those before have filled one");
    assert!(full.bytes > 900 && full.more, "{full:?}");
    assert_eq!(next_full(&mut network, peer), None);
    let from = network.local(0, vec![1; 300]);
    assert!(network.hold(0, 1, Request::Put { from, to: at(network.layout, 1, 2, 0), bytes: 300 }, 5));
    assert!(next_full(&mut network, peer).is_some_and(|piece| piece.bytes > 1200 && !piece.more), "a piece goes along");
    network.quiet();
    assert!((1..=5).all(|token| network.ended[&(0, token)] == Ok(0)));
}

#[test]
fn an_endpoint_says_what_there_is_to_do() {
    let (mut network, _) = acquainted();
    let doing = |network: &Network, rank: usize| {
        let endpoint = &network.endpoints[rank];
        (endpoint.has_work(), endpoint.has_queue(), endpoint.is_owing())
    };
    assert_eq!([0, 1].map(|rank| doing(&network, rank)), [(false, false, false); 2]);
    write(&mut network, 0, 1, 8, 1);
    assert_eq!(doing(&network, 0), (true, true, false));
    assert!(next(&mut network, 0, true).is_some());
    assert_eq!(next(&mut network, 0, true), None);
    assert_eq!(doing(&network, 0), (false, false, false));
    network.arrive();
    assert_eq!(doing(&network, 1), (true, false, true), "an acknowledgement is owed");
    assert_eq!(next(&mut network, 1, true), None, "it may be taken along by something else");
    assert_eq!(doing(&network, 1), (true, false, true));
    assert!(next(&mut network, 1, false).is_some_and(|said| !said.more && said.to == Rank::new(0)));
    assert_eq!((next(&mut network, 1, false), doing(&network, 1)), (None, (false, false, false)));
    network.arrive();
    assert_eq!(doing(&network, 0), (false, false, false));
    assert_eq!(network.endpoints[0].completions(), 1, "a completion is to be fetched");
    network.quiet();
    assert_eq!(network.ended[&(0, 1)], Ok(0));
}

#[test]
fn an_acknowledgement_is_taken_along_by_what_is_sent_meanwhile() {
    let (mut network, _) = acquainted();
    write(&mut network, 0, 1, 8, 1);
    assert!(next(&mut network, 0, true).is_some());
    network.arrive();
    write(&mut network, 1, 0, 8, 2);
    assert!(next(&mut network, 1, true).is_some());
    assert_eq!(next(&mut network, 1, false), None, "nothing is owed any more");
    network.arrive();
    network.pump(0);
    assert_eq!(network.ended.get(&(0, 1)), Some(&Ok(0)));
}

#[test]
fn what_has_arrived_of_a_put_is_read_no_more() {
    const BYTES: usize = 10_000;
    let (mut network, peer) = acquainted();
    let [one, other] = [3, 4].map(|byte| [byte; BYTES]);
    let unread = |network: &Network, injection: &Injection<'_>| network.endpoints[0].unread_from(injection);
    // Number of bytes that have arrived without a gap.
    let come = |network: &Network, segment: usize, byte: u8| {
        let written = network.memories[1].segments[segment].as_ref().unwrap();
        written.iter().position(|&there| there != byte).unwrap() as u64
    };
    let injected = [(1, &one, 1), (2, &other, 2)].map(|(token, bytes, segment)| {
        let to = at(network.layout, 1, segment, 0);
        let injection = network.endpoints[0].inject(network.now, peer, to, bytes, token).unwrap();
        network.endpoints[0].capture(&injection);
        injection
    });
    let [first, second] = &injected;
    assert_eq!([first, second].map(|injection| unread(&network, injection)), [Some(0); 2], "neither has been sent");
    // The third datagram is late, and later ones are not.
    let mut number = 0;
    network.fate = Box::new(move |departure| {
        number += u32::from(departure.from == 0);
        Some(if number == 3 { Duration::from_microseconds(1) } else { Duration::ZERO })
    });
    network.pump(0);
    let mut seen = Vec::new();
    while network.ended.len() < 4 {
        assert!(network.step());
        let (mine, others) = (unread(&network, first), unread(&network, second));
        assert!(mine.is_none_or(|from| from <= come(&network, 0, 3)), "{mine:?}");
        assert!(others.is_none_or(|from| from <= come(&network, 1, 4)), "{others:?}");
        assert_eq!(mine.is_none(), network.ended.contains_key(&(0, 1)));
        seen.extend(mine);
    }
    assert!(seen.is_sorted() && seen.last().is_some_and(|&last| last > 2_000), "two datagrams have come: {seen:?}");
}

#[test]
fn memory_is_read_until_what_was_read_of_it_has_arrived() {
    let (mut network, _) = acquainted();
    let layout = network.layout;
    let (from, bytes) = (at(layout, 1, 2, 1_000), 3_000);
    let into = network.local(0, vec![0; bytes as usize]);
    let requests = [
        Request::Get { from, to: into, bytes },
        Request::Copy { from, to: at(layout, 2, 2, 0), bytes },
        Request::Get { from, to: into, bytes: 8 },
    ];
    for (token, request) in (1..).zip(requests) {
        let is_read = |network: &Network| {
            let endpoint = &network.endpoints[1];
            let about = [(1_000, 1), (0, 1_001), (1_000, bytes)]
                .map(|(start, bytes)| endpoint.is_reading(at(layout, 1, 2, start), bytes));
            assert!(!endpoint.is_reading(at(layout, 1, 2, 0), 1_000) && !endpoint.is_reading(at(layout, 1, 2, 1_001), 9_000));
            assert!(about == [about[0]; 3], "{about:?}");
            about[0]
        };
        network.submit(0, 1, request, token);
        let (mut stretches, before) = (vec![false], network.now);
        while network.step() {
            if stretches.last() != Some(&is_read(&network)) {
                let soon = network.now.since(before) < Duration::from_microseconds(100);
                assert!(soon, "whoever reads it hears at once that all has arrived");
                stretches.push(is_read(&network));
            }
        }
        // The memory of a short get is read at once.
        assert_eq!(stretches, if token == 3 { vec![false] } else { vec![false, true, false] }, "{request:?}");
        assert_eq!(network.ended[&(0, token)], Ok(0));
    }
}
