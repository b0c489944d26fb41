//! The behaviour of each kind of rail when buffers or slots are full, and of NICs when packets are lost.

use std::collections::BTreeMap;

use pelago_base::Instant;
use pelago_netsim::{FailureReason, Machine, Netsim, NetworkOperation, Notice};

/// Sixteen nodes on a switch; `extra` is inserted before the topology.
fn machine(kind: &str, nic: &str, loss: f64, extra: &str) -> Machine {
    Machine::parse(&description(kind, nic, loss, extra)).unwrap()
}

/// The description of `machine`.
fn description(kind: &str, nic: &str, loss: f64, extra: &str) -> String {
    format!(
        r#"
name = "kinds"
[[rail]]
kind = "{kind}"
[rail.nic]
overhead_ns = 100
read_gb_per_s = inf
write_gb_per_s = inf
packet_bytes = 1000
header_bytes = 0
control_bytes = 10
{nic}
[rail.link]
gb_per_s = 1
cable_ns = 10
loss = {loss}
[rail.router]
routing_ns = 1
vc_allocation_ns = 1
switch_allocation_ns = 1
switch_ns = 10
buffer_bytes = 4000
{extra}
[rail.topology]
type = "star"
"#
    )
}

/// The outcome of an operation: its effects, and how it ended.
#[derive(Debug, Default, Clone, PartialEq)]
struct Fate {
    reads: u32,
    effects: Vec<u64>,
    done: Vec<u64>,
    lost: u32,
    failed: Vec<FailureReason>,
}

fn fates(netsim: &mut Netsim) -> BTreeMap<u64, Fate> {
    let mut fates = BTreeMap::<u64, Fate>::new();
    while let Some(notice) = netsim.next() {
        let now = netsim.now().as_picoseconds();
        match notice {
            Notice::Wake { .. } => {}
            Notice::Read { token } => fates.entry(token).or_default().reads += 1,
            Notice::Effect { token } => fates.entry(token).or_default().effects.push(now),
            Notice::Done { token } => fates.entry(token).or_default().done.push(now),
            Notice::Lost { token } => fates.entry(token).or_default().lost += 1,
            Notice::Failed { token, reason } => fates.entry(token).or_default().failed.push(reason),
        }
    }
    fates
}

/// Fifteen nodes send four datagrams each to node 0.
fn incast(machine: &Machine) -> (BTreeMap<u64, Fate>, Netsim) {
    let mut netsim = Netsim::new(machine, 16, 1).unwrap();
    for from in 1..16 {
        for number in 0..4 {
            netsim.post(from, NetworkOperation::Datagram { from, to: 0, bytes: 1000 }, u64::from(from * 4 + number));
        }
    }
    (fates(&mut netsim), netsim)
}

const SLOTS: &str = "[rail.receive]\nslots = 4\nservice_ns = 5000\n";

#[test]
fn datagrams_without_a_slot_are_lost_on_ud() {
    let (fates, mut netsim) = incast(&machine("infiniband-ud", "", 0.0, SLOTS));
    let arrived: usize = fates.values().map(|fate| fate.effects.len()).sum();
    assert!(fates.values().all(|fate| fate.done.len() == 1 && fate.failed.is_empty()));
    // One arrives every microsecond for a minute's worth of 60, four fit, and one is consumed every five.
    assert!((14..=17).contains(&arrived), "{arrived} arrived");
    assert_eq!(netsim.statistics().drops, 60 - arrived as u64);
    assert!(fates.values().all(|fate| fate.effects.len() + fate.lost as usize == 1), "its user hears of each");
}

#[test]
fn datagrams_without_a_slot_wait_in_the_network_of_tofu() {
    let (fates, mut netsim) = incast(&machine("tofu", "receive_bytes = 4000", 0.0, SLOTS));
    assert_eq!(netsim.statistics().drops, 0);
    let mut effects: Vec<u64> = fates.values().flat_map(|fate| fate.effects.clone()).collect();
    effects.sort_unstable();
    assert_eq!(effects.len(), 60);
    assert!(fates.values().all(|fate| fate.done.len() == 1));
    // Once the slots are full, datagrams arrive at the rate of their consumption, one per five microseconds.
    assert!(effects[59] - effects[10] >= 48 * 5_000_000, "{}", effects[59] - effects[10]);
    // Packets that the buffers of the NIC and the switch cannot hold stay at their senders.
    let waiting = netsim.statistics().links.iter().map(|link| link.queue_max).max().unwrap();
    assert!(waiting >= 14, "{waiting} waited for the last link");
}

#[test]
fn back_pressure_lasts_until_the_user_consumes() {
    let mut netsim = Netsim::new(&machine("tofu", "receive_bytes = 4000", 0.0, "[rail.receive]\nslots = 2\n"), 4, 1).unwrap();
    (0..5).for_each(|token| netsim.post(1, NetworkOperation::Datagram { from: 1, to: 0, bytes: 10 }, token));
    let count = |fates: BTreeMap<u64, Fate>| fates.values().map(|fate| fate.effects.len()).sum::<usize>();
    assert_eq!(count(fates(&mut netsim)), 2);
    netsim.consume(0);
    assert_eq!(count(fates(&mut netsim)), 1);
    netsim.consume(0);
    netsim.consume(0);
    assert_eq!(count(fates(&mut netsim)), 2);
}

/// A user reports each datagram that it takes, also those that the host consumes after a service time, because of another rail without one.
#[test]
fn a_slot_with_a_service_time_is_not_freed_before() {
    let rail = |kind: &str, receive: &str| {
        format!(
            r#"
[[rail]]
kind = "{kind}"
{receive}
nic = {{ overhead_ns = 100, read_gb_per_s = inf, write_gb_per_s = inf, packet_bytes = 1000, header_bytes = 0, control_bytes = 10 }}
link = {{ gb_per_s = 1, cable_ns = 10 }}
router = {{ routing_ns = 1, vc_allocation_ns = 1, switch_allocation_ns = 1, switch_ns = 10, buffer_bytes = 4000 }}
topology = {{ type = "star" }}
"#
        )
    };
    let served = rail("infiniband-ud", "receive = { slots = 1, service_ns = 100000 }");
    let machine = Machine::parse(&format!("name = \"two\"\n{served}{}", rail("infiniband-rc", ""))).unwrap();
    let mut netsim = Netsim::new(&machine, 2, 1).unwrap();
    let datagram = NetworkOperation::Datagram { from: 1, to: 0, bytes: 10 };
    netsim.post_by(Some(0), 1, datagram, 0);
    while !matches!(netsim.next(), Some(Notice::Effect { token: 0 })) {}
    netsim.consume(0);
    netsim.post_by(Some(0), 1, datagram, 1);
    assert_eq!(fates(&mut netsim)[&1].lost, 1, "its slot is in use for 100 us");
    netsim.post_by(Some(0), 1, datagram, 2);
    assert_eq!(fates(&mut netsim)[&2].effects.len(), 1);
}

/// Packets of a first try that arrive after the beginning of the second one do not count twice: all eight cross the link.
#[test]
fn a_datagram_that_is_tried_again_arrives_whole() {
    let receive = "[rail.receive]\nslots = 1\n[rail.reliability]\nnot_ready_ns = 0\n";
    let mut netsim = Netsim::new(&machine("infiniband-rc", "", 0.0, receive), 3, 1).unwrap();
    netsim.post(1, NetworkOperation::Datagram { from: 1, to: 0, bytes: 10 }, 0);
    netsim.post(2, NetworkOperation::Datagram { from: 2, to: 0, bytes: 8_000 }, 1);
    // The first of eight packets arrives after some 1.1 us and finds no slot; the next five, which the NIC has read, follow.
    netsim.wake_at(Instant::from_picoseconds(1_500_000), 0, 2);
    while !matches!(netsim.next(), Some(Notice::Wake { .. })) {}
    netsim.consume(0);
    let fates = fates(&mut netsim);
    let [effect] = fates[&1].effects[..] else { panic!("{fates:?}") };
    assert!(effect > (1 + 5 + 8) * 1_000_000, "{effect}: the second try has eight packets of a microsecond");
    assert_eq!(fates[&1].done.len(), 1);
}

#[test]
fn datagrams_without_a_slot_are_tried_again_on_rc() {
    let reliability = "[rail.reliability]\nnot_ready_ns = 20000\nnot_ready_retries = 40\n";
    let (fates, mut netsim) = incast(&machine("infiniband-rc", "", 0.0, &format!("{SLOTS}{reliability}")));
    assert!(fates.values().all(|fate| fate.effects.len() == 1 && fate.done.len() == 1 && fate.reads == 1), "{fates:?}");
    assert!(netsim.statistics().retries > 40);
    assert_eq!(netsim.statistics().drops, 0);
}

#[test]
fn a_receiver_that_is_never_ready_is_an_error_on_rc() {
    let extra = "[rail.receive]\nslots = 1\n[rail.reliability]\nnot_ready_ns = 1000\nnot_ready_retries = 3\n";
    let mut netsim = Netsim::new(&machine("infiniband-rc", "", 0.0, extra), 4, 1).unwrap();
    netsim.post(1, NetworkOperation::Datagram { from: 1, to: 0, bytes: 10 }, 0);
    netsim.post(1, NetworkOperation::Datagram { from: 1, to: 0, bytes: 5_000 }, 1);
    let fates = fates(&mut netsim);
    assert_eq!((fates[&0].effects.len(), fates[&0].done.len()), (1, 1));
    assert_eq!((fates[&1].effects.len(), &fates[&1].failed[..]), (0, &[FailureReason::ReceiverNotReady][..]));
    assert_eq!(netsim.statistics().retries, 3);
}

/// The first packet finds no slot while the second one is read.
#[test]
fn nothing_is_heard_of_an_operation_that_has_failed() {
    let extra = "[rail.receive]\nslots = 1\n[rail.reliability]\nnot_ready_retries = 0\n";
    let slow = description("infiniband-rc", "", 0.0, extra).replace("read_gb_per_s = inf", "read_gb_per_s = 0.5");
    let mut netsim = Netsim::new(&Machine::parse(&slow).unwrap(), 3, 1).unwrap();
    netsim.post(1, NetworkOperation::Datagram { from: 1, to: 0, bytes: 10 }, 0);
    netsim.post(2, NetworkOperation::Datagram { from: 2, to: 0, bytes: 2_000 }, 1);
    let notices: Vec<_> = std::iter::from_fn(|| netsim.next()).collect();
    assert_eq!(notices.last(), Some(&Notice::Failed { token: 1, reason: FailureReason::ReceiverNotReady }), "{notices:?}");
}

/// The owner prepares the bytes for ten milliseconds, ten times the timeout.
#[test]
fn a_preparation_is_no_loss() {
    let failing = "[[rail.failure]]\nrouter = 0\nat_ns = 1e9\n";
    let mut netsim = Netsim::new(&machine("infiniband-rc", "stages = [[4096, 1e7, inf]]", 0.0, failing), 2, 1).unwrap();
    netsim.post(0, NetworkOperation::Get { by: 0, at: 1, bytes: 2_000 }, 0);
    let fates = fates(&mut netsim);
    assert_eq!((fates[&0].done.len(), &fates[&0].failed[..], netsim.statistics().retries), (1, &[][..], 0));
}

#[test]
fn ethernet_drops_at_full_buffers() {
    let (fates, mut netsim) = incast(&machine("ethernet", "", 0.0, ""));
    let arrived: u64 = fates.values().map(|fate| fate.effects.len() as u64).sum();
    assert!(netsim.statistics().drops > 20);
    assert_eq!(arrived + netsim.statistics().drops, 60);
    // The buffer of the full link holds four packets besides the one that is being sent.
    let longest = netsim.statistics().links.iter().map(|link| link.queue_max).max();
    assert_eq!(longest, Some(4));
}

#[test]
fn what_ethernet_drops_is_repeated_where_it_is_answered() {
    let machine = machine("ethernet", "", 0.0, "[rail.reliability]\ntimeout_ns = 200000\nretries = 50\n");
    let mut netsim = Netsim::new(&machine, 16, 1).unwrap();
    (1..16).for_each(|from| netsim.post(from, NetworkOperation::Put { from, to: 0, bytes: 10_000 }, u64::from(from)));
    let fates = fates(&mut netsim);
    assert!(netsim.statistics().drops > 0 && netsim.statistics().retries > 0);
    assert!(fates.values().all(|fate| fate.effects.len() == 1 && fate.done.len() == 1 && fate.failed.is_empty()), "{fates:?}");
}

#[test]
fn operations_take_effect_once_whatever_is_lost() {
    let machine = machine("infiniband-rc", "", 0.05, "[rail.reliability]\ntimeout_ns = 100000\nretries = 30\n");
    for seed in 0..50 {
        let mut netsim = Netsim::new(&machine, 8, seed).unwrap();
        for number in 0..40u32 {
            let (a, b, c) = (number % 8, (number + 1 + number / 8 % 7) % 8, (number + 3) % 8);
            let bytes = u64::from(number * number * 10);
            let operation = match number % 5 {
                0 => NetworkOperation::Put { from: a, to: b, bytes },
                1 => NetworkOperation::Get { by: a, at: b, bytes },
                2 => NetworkOperation::Atomic { by: a, at: b },
                3 => NetworkOperation::Copy { by: a, from: b, to: c, bytes },
                _ => NetworkOperation::Datagram { from: a, to: b, bytes },
            };
            netsim.post(a, operation, u64::from(number));
        }
        let fates = fates(&mut netsim);
        assert_eq!(fates.len(), 40);
        for (number, fate) in fates {
            assert_eq!(
                (fate.effects.len(), fate.done.len(), fate.failed.len()),
                (1, 1, 0),
                "seed {seed}, operation {number}: {fate:?}"
            );
            assert!(fate.effects[0] <= fate.done[0]);
            assert_eq!(fate.reads, u32::from(number % 5 != 2), "seed {seed}, operation {number}");
        }
        assert!(netsim.statistics().drops > 0 && netsim.statistics().retries > 0);
    }
}

#[test]
fn a_link_that_loses_nearly_everything_fails() {
    let machine = machine("infiniband-rc", "", 0.999, "[rail.reliability]\ntimeout_ns = 1000\nretries = 3\n");
    let mut netsim = Netsim::new(&machine, 4, 1).unwrap();
    netsim.post(0, NetworkOperation::Put { from: 0, to: 1, bytes: 10 }, 7);
    let fates = fates(&mut netsim);
    assert_eq!((fates[&7].effects.len(), &fates[&7].failed[..]), (0, &[FailureReason::RetriesExhausted][..]));
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let run = |seed| {
        let mut netsim = Netsim::new(&machine("infiniband-rc", "", 0.02, ""), 16, seed).unwrap();
        (0..64u32).for_each(|number| {
            let (from, to) = (number % 16, number * 7 % 16);
            netsim.post(from, NetworkOperation::Put { from, to, bytes: 4_000 }, number.into());
        });
        (fates(&mut netsim), netsim.statistics())
    };
    assert_eq!(run(3), run(3));
    assert_ne!(run(3).0, run(4).0);
}

#[test]
fn the_order_of_calls_does_not_matter_between_entities() {
    let run = |backwards: bool| {
        let mut netsim = Netsim::new(&machine("infiniband-rc", "", 0.0, ""), 16, 1).unwrap();
        let mut numbers: Vec<u32> = (0..16).collect();
        if backwards {
            numbers.reverse();
        }
        for from in numbers {
            netsim.post(from, NetworkOperation::Put { from, to: (from + 5) % 3, bytes: 3_000 }, from.into());
        }
        (fates(&mut netsim), netsim.statistics())
    };
    assert_eq!(run(false), run(true));
}

#[test]
fn the_busiest_atomic_unit_is_the_one_that_most_atomics_were_sent_to() {
    let mut netsim = Netsim::new(&machine("infiniband-rc", "atomic_ns = 50", 0.0, ""), 16, 1).unwrap();
    assert_eq!(netsim.statistics().busiest_atomics, None);
    for by in 0..15 {
        netsim.post(by, NetworkOperation::Atomic { by, at: if by < 5 { 15 } else { (by + 1) % 5 } }, u64::from(by));
    }
    fates(&mut netsim);
    let busiest = netsim.statistics().busiest_atomics.unwrap();
    assert_eq!((busiest.node, busiest.count, busiest.busy.as_picoseconds()), (15, 5, 5 * 50_000));
}

/// The preparation before the first packet depends on the size, and is done for one transfer after another; transfers without preparation overtake.
#[test]
fn stages_take_time_before_the_first_packet() {
    let stages = "stages = [[100, 0, inf], [1000, 200, inf], [2000, 50, 1]]";
    let time_of = |nic: &str, sizes: &[u64]| -> Vec<u64> {
        let mut netsim = Netsim::new(&machine("infiniband-rc", nic, 0.0, ""), 16, 1).unwrap();
        for (token, &bytes) in (0..).zip(sizes) {
            netsim.post(0, NetworkOperation::Put { from: 0, to: 1 + token as u32, bytes }, token);
        }
        fates(&mut netsim).values().map(|fate| fate.effects[0]).collect()
    };
    let later = |bytes: u64| time_of(stages, &[bytes])[0] - time_of("", &[bytes])[0];
    assert_eq!([100, 101, 1000, 1001, 2000, 4000].map(later), [0, 200_000, 200_000, 1_051_000, 2_050_000, 4_050_000]);
    // The second is staged after the first; the third needs no staging and leaves first.
    let [first, second, third] = time_of(stages, &[1500, 1500, 8])[..] else { panic!() };
    assert!(third < first && second - first == 1_550_000, "{first} {second} {third}");
}

/// A rail with groups connects only the nodes of a group; the machine chooses the first rail that connects the nodes, and the poster may name one.
#[test]
fn rails_are_chosen_or_named() {
    let text = |group: &str, first: &str| {
        let rail = |name: &str, overhead: u32, group: &str| {
            format!(
                r#"
[[rail]]
name = "{name}"
kind = "infiniband-rc"
{group}
nic = {{ overhead_ns = {overhead}, read_gb_per_s = inf, write_gb_per_s = inf, packet_bytes = 1000, header_bytes = 0, control_bytes = 10 }}
link = {{ gb_per_s = 1, cable_ns = 10 }}
router = {{ routing_ns = 1, vc_allocation_ns = 1, switch_allocation_ns = 1, switch_ns = 10, buffer_bytes = 4000 }}
topology = {{ type = "star" }}
"#
            )
        };
        format!("name = \"two\"\nchoice = \"first\"\n{}{}", rail("near", 100, group), rail("far", 1000, first))
    };
    let machine = Machine::parse(&text("group = 2", "")).unwrap();
    assert_eq!(machine.rails().map(|rail| rail.name).collect::<Vec<_>>(), ["near", "far"]);
    let time = |rail: Option<u8>, to: u32| {
        let mut netsim = Netsim::new(&machine, 4, 1).unwrap();
        netsim.post_by(rail, 0, NetworkOperation::Put { from: 0, to, bytes: 8 }, 0);
        fates(&mut netsim)[&0].effects[0]
    };
    let (near, far) = (time(None, 1), time(None, 2));
    assert_eq!(far - near, 900_000);
    assert_eq!([Some(0), Some(1), Some(2)].map(|rail| time(rail, 1)), [near, far, near]);
    assert_eq!([Some(0), Some(1)].map(|rail| time(rail, 2)), [far, far], "one that does not lead there is not taken");
    let netsim = Netsim::new(&machine, 4, 1).unwrap();
    assert_eq!([(0, 1), (0, 2), (1, 2), (2, 3)].map(|(from, to)| netsim.rail_connects(0, from, to)), [true, false, false, true]);
    let refused = Machine::parse(&text("group = 2", "group = 4")).unwrap_err().to_string();
    assert_eq!(refused, "rail.group: one rail at least must lead to all nodes, so have no group");
    assert_eq!(
        Machine::parse(&text("group = 0", "")).unwrap_err().to_string(),
        "rail 0: group = 0: must be from 1 to 4294967295"
    );
}
