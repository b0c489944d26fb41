//! Traffic classes: shares of links by weight and priority, separate buffers, and the rules that descriptions must follow.

use pelago_base::{Duration, Instant};
use pelago_netsim::{Machine, MachineError, Netsim, NetworkOperation, Notice};

/// Time of a packet of 1,024 bytes and its header on a link, and the pause of a virtual channel after it, in picoseconds.
const PACKET: u64 = 1_054_000;
const PAUSE: u64 = 10_000;

/// Small puts and large ones.
const BY_SIZE: &str = r#"class = [{ name = "small", operation_bytes_max = 4096, SHARE }, { name = "large" }]"#;

/// A line of `routers` routers with two nodes each. All links have 1 GB/s.
fn line(kind: &str, routers: u32, router: &str, rail: &str) -> Result<Machine, MachineError> {
    line_of_nics("inf", kind, routers, router, rail)
}

/// The same, with NICs that read from memory at a rate in GB/s.
fn line_of_nics(read: &str, kind: &str, routers: u32, router: &str, rail: &str) -> Result<Machine, MachineError> {
    Machine::parse(&format!(
        r#"
name = "line"
[[rail]]
kind = "{kind}"
nic = {{ overhead_ns = 100, read_gb_per_s = {read}, write_gb_per_s = inf, atomic_ns = 50, packet_bytes = 1024, header_bytes = 30, control_bytes = 30 }}
link = {{ gb_per_s = 1, cable_ns = 20 }}
topology = {{ type = "mesh", dimensions = [{routers}], nodes_per_router = 2 }}
{rail}
[rail.router]
routing_ns = 20
vc_allocation_ns = 10
switch_allocation_ns = 10
switch_ns = 50
credit_ns = 5
buffer_bytes = 32768
{router}
"#
    ))
}

/// Keeps 32 puts of each flow, of a source, a target, and a number of bytes, in flight; returns the rates in GB/s from 1 ms to 5 ms. The second flow
/// ends at `end_ms`.
fn rates(machine: &Machine, nodes: u32, flows: [(u32, u32, u64); 2], end_ms: u64) -> [f64; 2] {
    let mut netsim = Netsim::new(machine, nodes, 1).unwrap();
    let mut sums = [0; 2];
    let post = |netsim: &mut Netsim, flow: usize| {
        let (from, to, bytes) = flows[flow];
        netsim.post(from, NetworkOperation::Put { from, to, bytes }, flow as u64);
    };
    (0..64).for_each(|number| post(&mut netsim, number % 2));
    while let Some(notice) = netsim.next() {
        let nanoseconds = netsim.now().as_picoseconds() / 1_000;
        if nanoseconds >= 5_000_000 {
            break;
        }
        let Notice::Done { token } = notice else { continue };
        let flow = token as usize;
        if nanoseconds >= 1_000_000 {
            sums[flow] += flows[flow].2;
        }
        if flow == 0 || nanoseconds < end_ms * 1_000_000 {
            post(&mut netsim, flow);
        }
    }
    sums.map(|bytes| bytes as f64 / 4e6)
}

/// Where two flows share a link, they share it by weight: at the NIC that both leave, between two routers, and where both enter another router; with
/// credits and with pauses.
#[test]
fn weights_share_a_saturated_link() {
    let of = |routers, router: &str, share: &str, flows: [(u32, u32); 2], end_ms| {
        let classes = if share.is_empty() { String::new() } else { BY_SIZE.replace("SHARE", share) };
        let machine = line("infiniband-rc", routers, router, &classes).unwrap();
        let [(a, b), (c, d)] = flows;
        rates(&machine, 2 * routers, [(a, b, 4_096), (c, d, 10_240)], end_ms)
    };
    let pauses = "pfc = { xoff_bytes = 16384, xon_bytes = 8192 }";
    // Two NICs of one router; one NIC; the NICs of different routers, of which one shares a link with the other's.
    for flows in [[(0, 4), (1, 5)], [(0, 4), (0, 5)], [(0, 4), (2, 5)], [(0, 4), (1, 4)]] {
        for router in ["", pauses, "vcs = 3"] {
            let even = of(3, router, "", flows, 5);
            let weighted = of(3, router, "weight = 3", flows, 5);
            println!("{flows:?}, {router:?}: without classes {even:.3?}, with weights 3 and 1 {weighted:.3?} GB/s");
            let ratio = weighted[0] / weighted[1];
            assert!((ratio / 3.0 - 1.0).abs() < 0.05, "{ratio} {flows:?} {router}");
            assert!(weighted.iter().sum::<f64>() > 0.97 * even.iter().sum::<f64>(), "{weighted:?} {even:?}");
            assert!(even[0] / even[1] < 2.0, "without classes, packets take turns: {even:?}");
        }
    }
    let alone = of(3, "", "weight = 3", [(0, 4), (1, 5)], 0);
    let low = of(3, "", "weight = 1", [(0, 4), (1, 5)], 0);
    assert!(alone[0] > 0.9 && low[0] > 0.9, "the share of a class that is idle goes to the other: {alone:?} {low:?}");
}

/// A NIC that reads more slowly than its link sends reads packets of the classes by weight and priority.
#[test]
fn a_nic_reads_by_turns() {
    let rates_of = |share: &str| {
        let machine = line_of_nics("0.5", "infiniband-rc", 2, "", &BY_SIZE.replace("SHARE", share)).unwrap();
        rates(&machine, 4, [(0, 2, 4_096), (0, 3, 10_240)], 5)
    };
    let [weighted, first] = ["weight = 3", "priority = 1"].map(rates_of);
    println!("reading at 0.5 GB/s: weights 3 and 1 {weighted:.3?}, priority {first:.3?} GB/s");
    assert!((weighted[0] / weighted[1] / 3.0 - 1.0).abs() < 0.05 && weighted.iter().sum::<f64>() > 0.49, "{weighted:?}");
    assert!(first[0] > 0.49 && first[1] < 0.01, "{first:?}");
}

/// Saturates the path of atomics by puts in the same direction; returns the least and the largest latency of an atomic, in picoseconds, and the puts
/// that ended. `senders` put to node `to`; node 0 performs the atomics at node 7.
fn atomics(machine: &Machine, senders: &[u32], to: u32) -> (u64, u64, u32) {
    let mut netsim = Netsim::new(machine, 8, 1).unwrap();
    let put = |netsim: &mut Netsim, from: u32| {
        netsim.post(from, NetworkOperation::Put { from, to, bytes: 50_000 }, u64::from(from));
    };
    let atomic = |netsim: &mut Netsim| {
        netsim.post(0, NetworkOperation::Atomic { by: 0, at: 7 }, 100);
        netsim.now()
    };
    senders.iter().for_each(|&from| (0..8).for_each(|_| put(&mut netsim, from)));
    netsim.wake_at(Instant::from_picoseconds(1_000_000_000), 0, 200);
    let (mut posted, mut least, mut most, mut puts, mut count) = (Instant::ZERO, u64::MAX, 0, 0, 0u64);
    while let Some(notice) = netsim.next() {
        match notice {
            Notice::Wake { .. } => posted = atomic(&mut netsim),
            Notice::Done { token: 100 } => {
                let latency = netsim.now().since(posted).as_picoseconds();
                (least, most, count) = (least.min(latency), most.max(latency), count + 1);
                if count == 300 {
                    break;
                }
                let pause = Duration::from_picoseconds(count * 37_000);
                netsim.wake_at(netsim.now() + pause, 0, 200);
            }
            Notice::Done { token } => {
                puts += 1;
                assert!(puts < 20_000, "the atomics starve");
                put(&mut netsim, token as u32);
            }
            _ => {}
        }
    }
    (least, most, puts)
}

const ATOMICS_FIRST: &str = r#"class = [{ name = "atomics", kinds = ["atomic"], priority = 1 }, { name = "rest" }]"#;

/// An atomic of a higher priority waits at each of the links on its way for the rest of one packet at most, as a packet that is being sent is not
/// interrupted; without classes it waits behind the queues.
#[test]
fn a_higher_priority_waits_for_one_packet_per_link() {
    for router in ["", "pfc = { xoff_bytes = 16384, xon_bytes = 8192 }", "vcs = 2"] {
        let with = |rail: &str| line("infiniband-rc", 4, router, rail).unwrap();
        let (alone, same, _) = atomics(&with(""), &[], 7);
        assert_eq!(alone, same);
        assert_eq!(atomics(&with(ATOMICS_FIRST), &[], 7).0, alone, "classes change no time in an idle network");
        // To node 4, the puts enter the third router with the atomics and leave it over another link.
        for (senders, to) in [(&[0, 1, 2, 4, 6][..], 7), (&[0, 1, 2, 5], 4)] {
            let (_, behind, _) = atomics(&with(""), senders, to);
            let (least, most, puts) = atomics(&with(ATOMICS_FIRST), senders, to);
            println!(
                "{router:?}, puts to {to}: atomics alone {alone} ps, {behind} ps at most, of higher priority {least} to {most} ps"
            );
            // The way has five links; the reply meets acknowledgements of 30 bytes on its way back.
            let bound = alone + 5 * (PACKET + PAUSE) + 5 * (30_000 + PAUSE);
            assert!(most <= bound, "{most} > {bound}");
            assert!(most > alone && puts > 50, "the links are busy: {most}, {puts} puts");
            assert!(behind > alone + 2 * (bound - alone), "{behind} without classes, {bound}");
        }
    }
}

/// Puts that arrive over two virtual channels faster than their receiver's link takes them keep their input port busy. Atomics that arrive at the
/// same port go on over another link.
#[test]
fn a_lower_class_does_not_occupy_an_input_port() {
    let slow = "host_link = { gb_per_s = 0.5, cable_ns = 20 }";
    let machine = line("infiniband-rc", 4, "vcs = 2", &format!("{slow}\n{ATOMICS_FIRST}")).unwrap();
    let (alone, ..) = atomics(&machine, &[], 7);
    let (least, most, puts) = atomics(&machine, &[0, 1], 4);
    println!("slow links of NICs: atomics alone {alone} ps, of higher priority {least} to {most} ps");
    // The rest of a packet at three links, and at that of the NIC; acknowledgements on the way back.
    let bound = alone + 3 * (PACKET + PAUSE) + 2 * PACKET + 5 * (60_000 + PAUSE);
    assert!(most <= bound && most > alone && puts > 20, "{most} > {bound}, {puts} puts");
}

/// Packets that their receiver does not take back up to their senders. They fill the buffers of their class only: an operation of another class
/// takes as long as in an idle network, from the same NIC and to the same receiver too. Without classes it does not end.
#[test]
fn a_blocked_class_does_not_block_another() {
    const SLOTS: &str = "receive = { slots = 1 }\n";
    let classes = r#"class = [{ name = "datagrams", kinds = ["datagram"] }, { name = "rest" }]"#;
    for router in ["", "pfc = { xoff_bytes = 16384, xon_bytes = 8192 }"] {
        let time = |rail: &str, datagrams: u32, [from, to]: [u32; 2]| {
            let machine = line("tofu", 3, router, &format!("{SLOTS}{rail}")).unwrap();
            let mut netsim = Netsim::new(&machine, 6, 1).unwrap();
            for number in 0..datagrams {
                netsim.post(number % 2, NetworkOperation::Datagram { from: number % 2, to: 5, bytes: 4_000 }, 0);
            }
            // By then, nothing moves any more.
            let start = Instant::from_picoseconds(10_000_000_000);
            netsim.wake_at(start, from, 1);
            let mut arrived = 0;
            while let Some(notice) = netsim.next() {
                match notice {
                    Notice::Wake { .. } => netsim.post(from, NetworkOperation::Put { from, to, bytes: 5_000 }, 2),
                    Notice::Done { token: 2 } => return (Some(netsim.now().since(start).as_picoseconds()), arrived),
                    Notice::Effect { token: 0 } => arrived += 1,
                    _ => {}
                }
            }
            (None, arrived)
        };
        for ends in [[1, 4], [0, 5]] {
            let idle = time("", 0, ends).0;
            assert!(idle.is_some());
            assert_eq!(time(classes, 200, ends), (idle, 1), "{ends:?} {router}");
            assert_eq!(time("", 200, ends), (None, 1), "{ends:?} {router}");
        }
    }
}

/// Each operation has its time to itself: classes, whichever, do not change it.
#[test]
fn classes_change_no_time_without_load() {
    let operations = [
        NetworkOperation::Put { from: 0, to: 7, bytes: 8 },
        NetworkOperation::Put { from: 3, to: 4, bytes: 30_000 },
        NetworkOperation::Get { by: 1, at: 6, bytes: 10_000 },
        NetworkOperation::Atomic { by: 0, at: 5 },
        NetworkOperation::Copy { by: 0, from: 3, to: 6, bytes: 9_000 },
        NetworkOperation::Datagram { from: 2, to: 5, bytes: 3_000 },
    ];
    let many = r#"class = [
        { name = "atomics", kinds = ["atomic"], priority = 15 }, { name = "short", operation_bytes_max = 64, weight = 7 },
        { name = "control", kinds = ["control"] }, { name = "rest" }]"#;
    for kind in ["infiniband-rc", "infiniband-ud", "tofu", "ethernet"] {
        let times = |rail: &str| {
            let mut netsim = Netsim::new(&line(kind, 4, "", rail).unwrap(), 8, 1).unwrap();
            let mut notices = Vec::new();
            for (token, operation) in operations.into_iter().enumerate() {
                netsim.post(0, operation, token as u64);
                notices.extend(std::iter::from_fn(|| netsim.next().map(|notice| (netsim.now(), notice))));
            }
            notices
        };
        let expected = times("");
        assert_eq!(expected.iter().filter(|(_, notice)| matches!(notice, Notice::Done { .. })).count(), operations.len());
        for classes in [r#"class = [{ name = "all" }]"#, ATOMICS_FIRST, many] {
            assert_eq!(times(classes), expected, "{kind} {classes}");
        }
    }
}

/// A rate that marks of one class cut does not hold back another class of the same two NICs, whose packets are not marked by the queue of the first.
#[test]
fn marks_and_rates_are_those_of_a_class() {
    let congestion = "congestion = { control = \"dcqcn\" }";
    let router = "ecn = { min_bytes = 5000, max_bytes = 5001, probability = 1 }";
    let latencies = |classes: &str| {
        let machine = line("infiniband-rc", 4, router, &format!("{congestion}\n{classes}")).unwrap();
        let mut netsim = Netsim::new(&machine, 8, 1).unwrap();
        let put =
            |netsim: &mut Netsim, from, bytes, token| netsim.post(from, NetworkOperation::Put { from, to: 7, bytes }, token);
        (0..4).for_each(|from| (0..8).for_each(|_| put(&mut netsim, from, 50_000, u64::from(from))));
        (0..1_000).for_each(|number| netsim.wake_at(Instant::from_picoseconds(number * 4_000_000), 0, 0));
        let (mut posted, mut most) = (vec![Instant::ZERO; 1_000], 0);
        let mut next = 0;
        while let Some(notice) = netsim.next() {
            match notice {
                Notice::Wake { .. } => {
                    posted[next] = netsim.now();
                    put(&mut netsim, 0, 1_000, 1_000 + next as u64);
                    next += 1;
                }
                Notice::Effect { token } if token >= 1_000 => {
                    most = most.max(netsim.now().since(posted[token as usize - 1_000]).as_picoseconds());
                }
                Notice::Done { token } if token < 1_000 && next < 1_000 => put(&mut netsim, token as u32, 50_000, token),
                _ => {}
            }
        }
        assert!(netsim.statistics().marks > 100);
        most
    };
    let (without, with) = (latencies(""), latencies(&BY_SIZE.replace("SHARE", "priority = 1")));
    println!(
        "put of 1,000 bytes beside an incast with DCQCN: {without} ps at most without classes, {with} ps of higher priority"
    );
    assert!(with < 15_000_000 && without > 10 * with, "{without} {with}");
}

#[test]
fn classes_that_make_no_sense_are_refused() {
    let error =
        |router: &str, classes: &str| line("infiniband-rc", 2, router, &format!("class = [{classes}]")).unwrap_err().to_string();
    let rest = "{ name = \"rest\" }";
    for (classes, expected) in [
        ("{ name = \"a\", kinds = [\"put\"], weight = 0 }", "rail.class.weight, class \"a\": 0 must be from 1 to 1000"),
        ("{ name = \"a\", kinds = [\"put\"], weight = nan }", "rail.class.weight, class \"a\": NaN must be from 1 to 1000"),
        ("{ name = \"a\", kinds = [\"put\"], weight = inf }", "rail.class.weight, class \"a\": inf must be from 1 to 1000"),
        ("{ name = \"a\", kinds = [\"put\"], priority = 16 }", "rail.class.priority, class \"a\": 16 must be from 0 to 15"),
        ("{ name = \"a\", kinds = [] }", "rail.class.kinds, class \"a\": must name at least one kind"),
        ("{ name = \"\", kinds = [\"put\"] }", "rail.class.name = \"\": must be a name"),
        ("{ name = \"rest\", kinds = [\"put\"] }", "rail.class.name, class \"rest\": another class has this name"),
        (
            "{ name = \"all\" }",
            "rail.class.kinds, class \"all\": has all packets without kinds or operation_bytes_max, so that it must be the last",
        ),
        (
            "{ name = \"a\", kinds = [\"put\", \"get\"] }, { name = \"b\", kinds = [\"put\"], operation_bytes_max = 8 }",
            "rail.class.kinds, class \"b\": earlier classes have all its packets",
        ),
        ("{ name = \"a\", kinds = [\"sum\"] }", "unknown variant `sum`"),
        ("{ name = \"a\", share = 3 }", "unknown field `share`"),
    ] {
        let error = error("", &format!("{classes}, {rest}"));
        assert!(error.contains(expected), "{classes}: {error}");
    }
    let error_of_last = error("", "{ name = \"a\", kinds = [\"put\"] }");
    assert!(error_of_last.contains("rail.class.kinds, class \"a\": is the last one"), "{error_of_last}");
    let class = |number| format!("{{ name = \"c{number}\", operation_bytes_max = {number} }}");
    let classes: Vec<String> = (0..4).map(class).chain([rest.into()]).collect();
    let too_many = error("vcs = 4", &classes.join(", "));
    assert!(
        too_many.contains("rail.class = 5 classes: must be at most 4, as each has 4 virtual channels (router.vcs)"),
        "{too_many}"
    );
    assert!(line("infiniband-rc", 2, "vcs = 3", &format!("class = [{}]", classes.join(", "))).is_ok());
    // What has no classes.
    let beside = |keys: &str| line("infiniband-rc", 2, "", &format!("{keys}\nclass = [{rest}]")).unwrap_err().to_string();
    let planes = "rail.class: a rail of several planes has no traffic classes; remove rail.class or set rail.planes=1";
    assert_eq!(beside("planes = 2"), planes);
    for control in ["control = \"hpcc\", round_trip_ns = 1000", "control = \"slingshot\""] {
        let error = beside(&format!("congestion = {{ {control} }}"));
        let expected = "routers measure the bytes of all classes together; remove rail.class, or choose \"dcqcn\" or \"swift\"";
        assert!(error.starts_with("rail.class: with rail.congestion.control = ") && error.ends_with(expected), "{error}");
    }
}
