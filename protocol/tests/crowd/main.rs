//! Tests of many ranks on few cores: traffic grows linearly with the number of operations, no buffer is flooded, and no live peer counts as failed.

mod host;

use pelago_base::{Duration, Event, Instant};

use crate::host::{Build, FAILURE_LIMIT, Host};

/// Receive buffer of a socket that may be large, and of one that may not.
const LARGE: u64 = 8 << 20;
const SMALL: u64 = 425_984;

/// Makes each rank write a word to every other rank, its right neighbour first.
fn all_to_all(ranks: u32, cores: usize, buffer_bytes: u64) -> (Host, Duration) {
    let mut host = Host::new(Build { ranks, cores, buffer_bytes, write_bytes: 8 });
    let count = ranks as usize;
    for rank in 0..count {
        host.plans[rank] = (1..count).map(|steps| (rank + steps) % count).collect();
    }
    let took = host.run_until(u64::from(ranks) * u64::from(ranks - 1));
    assert_eq!(host.failed, 0);
    assert!((0..count).all(|from| (0..count).all(|to| host.written(from, to) == u32::from(from != to))), "each once");
    (host, took)
}

#[test]
fn an_exchange_of_all_with_all_takes_as_long_as_it_has_messages() {
    let mut nanoseconds = Vec::new();
    for ranks in [40, 80, 160, 320] {
        let (host, took) = all_to_all(ranks, 2, LARGE);
        let messages = u64::from(ranks) * u64::from(ranks - 1);
        let (sent, repeated) = (host.count(Event::DatagramSent), host.count(Event::DatagramRepeated));
        eprintln!("{ranks} ranks, {messages} messages: {took:?}, {sent} sent, {repeated} repeated, {} dropped", host.dropped);
        assert_eq!(host.dropped, 0);
        assert!(repeated * 50 < messages, "{ranks} ranks repeated {repeated} of {messages}");
        nanoseconds.push(took.as_nanoseconds() / messages);
    }
    let (least, most) = (nanoseconds.iter().min().unwrap(), nanoseconds.iter().max().unwrap());
    assert!(most * 2 < least * 3, "nanoseconds per message: {nanoseconds:?}");
}

#[test]
fn a_thousand_that_write_to_one_at_once_do_not_flood_it() {
    let mut nanoseconds = Vec::new();
    for senders in [250, 500, 1000] {
        // Each rank has a core, as on separate hosts.
        let mut host = Host::new(Build { ranks: senders + 1, cores: senders as usize + 1, buffer_bytes: SMALL, write_bytes: 8 });
        (1..=senders as usize).for_each(|rank| host.plans[rank] = [0; 4].into());
        let took = host.run_until(4 * u64::from(senders));
        let (sent, repeated) = (host.count(Event::DatagramSent), host.count(Event::DatagramRepeated));
        eprintln!("{senders} senders: {took:?}, {sent} sent, {repeated} repeated, {} dropped", host.dropped);
        assert!(host.dropped * 20 <= u64::from(senders), "{senders} senders: {} dropped", host.dropped);
        nanoseconds.push(took.as_nanoseconds() / u64::from(senders));
    }
    let (least, most) = (nanoseconds.iter().min().unwrap(), nanoseconds.iter().max().unwrap());
    assert!(most < &(2 * least), "nanoseconds per sender: {nanoseconds:?}");
}

#[test]
fn long_writes_of_many_to_one_share_its_room() {
    for senders in [50, 100, 200] {
        let cores = senders as usize + 1;
        let mut host = Host::new(Build { ranks: senders + 1, cores, buffer_bytes: SMALL, write_bytes: 30_000 });
        (1..=senders as usize).for_each(|rank| host.plans[rank] = [0; 4].into());
        let took = host.run_until(4 * u64::from(senders));
        let (sent, repeated) = (host.count(Event::DatagramSent), host.count(Event::DatagramRepeated));
        eprintln!("{senders} senders: {took:?}, {sent} sent, {repeated} repeated, {} dropped", host.dropped);
        assert!(host.dropped * 100 <= sent, "{senders} senders: {} of {sent} dropped", host.dropped);
    }
}

#[test]
fn a_rank_that_stops_for_three_seconds_is_given_up_by_none_of_two_hundred() {
    let mut host = Host::new(Build { ranks: 201, cores: 2, buffer_bytes: LARGE, write_bytes: 8 });
    host.stopped[0] = Instant::ZERO + Duration::from_seconds(3.0);
    assert!(Duration::from_seconds(3.0) > FAILURE_LIMIT);
    (1..201).for_each(|rank| host.plans[rank] = [0, 0, 0].into());
    let took = host.run_until(600);
    assert!(took >= Duration::from_seconds(3.0) && host.failed == 0 && host.asked >= 400, "{took:?}, {} asked", host.asked);
    let (sent, repeated) = (host.count(Event::DatagramSent), host.count(Event::DatagramRepeated));
    eprintln!("{took:?}: {sent} sent, {repeated} repeated, {} dropped", host.dropped);
    assert_eq!(host.dropped, 0, "those who wait do not flood it");
}
