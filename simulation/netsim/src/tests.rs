//! Tests that all packets, buffers and records are free again after any sequence of operations.

use pelago_base::Instant;
use proptest::prelude::*;

use crate::machine::Machine;
use crate::netsim::Netsim;
use crate::operation::{NetworkOperation, Notice};

const TOPOLOGIES: [&str; 20] = [
    r#"type = "star""#,
    r#"type = "fat-tree", down = [3, 3, 8], up = [2, 2]"#,
    r#"type = "fat-tree", down = [4, 16], up = [3], routes = "random""#,
    r#"type = "torus", dimensions = [5, 0], nodes_per_router = 2"#,
    r#"type = "torus", dimensions = [4, 3, 0], rings = [true, false, true]"#,
    r#"type = "torus", dimensions = [0, 0], deadlock = "bubble""#,
    r#"type = "ring""#,
    r#"type = "double-ring", deadlock = "bubble""#,
    r#"type = "mesh", dimensions = [0, 0]"#,
    r#"type = "dragonfly", nodes_per_router = 1, routers_per_group = 3, global_links_per_router = 3, routes = "valiant""#,
    r#"type = "graph", links = [[0, 1], [1, 2], [2, 3], [3, 4], [4, 5], [5, 6], [6, 0], [1, 5], [2, 6]], nodes_per_router = 4"#,
    r#"type = "dragonfly", nodes_per_router = 1, routers_per_group = 3, global_links_per_router = 3, routes = "ugal-l""#,
    r#"type = "dragonfly", nodes_per_router = 2, routers_per_group = 2, global_links_per_router = 3, routes = "ugal-g""#,
    r#"type = "fat-tree", down = [3, 3, 8], up = [2, 2], routes = "adaptive""#,
    r#"type = "hyperx", dimensions = [3, 2, 2], nodes_per_router = 2, links_per_pair = [1, 2, 1], routes = "valiant""#,
    r#"type = "hyperx", dimensions = [5], nodes_per_router = 5, routes = "ugal-l""#,
    r#"type = "slim-fly", q = 3, nodes_per_router = 2"#,
    r#"type = "slim-fly", q = 4, routes = "ugal-l""#,
    r#"type = "dragonfly-plus", nodes_per_router = 2, leaves_per_group = 2, spines_per_group = 3, global_links_per_spine = 2, routes = "valiant""#,
    r#"type = "dragonfly-plus", nodes_per_router = 2, leaves_per_group = 2, spines_per_group = 3, global_links_per_spine = 2, routes = "ugal-l""#,
];

/// Number of virtual channels that each topology needs.
const VCS: [u8; 20] = [1, 1, 1, 2, 2, 1, 2, 1, 1, 3, 3, 3, 3, 1, 2, 2, 2, 4, 2, 2];

/// Features of current networks: keys of the NIC, of the router, and of the rail.
const EXTRAS: [[&str; 3]; 11] = [
    ["", "", ""],
    [r#"spread = "packet","#, "", ""],
    [r#"spread = "flowlet", flowlet_ns = 200,"#, "pfc = { xoff_bytes = 250, xon_bytes = 100 },", ""],
    [r#"spread = "pair","#, ECN, DCQCN],
    ["", r#"pfc = { xoff_bytes = 250, xon_bytes = 250 }, ecn = { min_bytes = 0, max_bytes = 500, probability = 0.5 },"#, DCQCN],
    ["", "", r#"congestion = { control = "swift", target_ns = 500, range_ns = 1000 }"#],
    ["", "", CLASSES],
    [
        r#"spread = "packet", order = "round-robin","#,
        r#"pfc = { xoff_bytes = 250, xon_bytes = 100 }, ecn = { min_bytes = 0, max_bytes = 500, probability = 0.5 },"#,
        r#"congestion = { control = "dcqcn", notification_ns = 1000, estimate_ns = 2000, increase_ns = 2000 }
class = [{ name = "control", kinds = ["control"], priority = 1 }, { name = "rest" }]"#,
    ],
    [
        r#"spread = "flowlet", flowlet_ns = 200,"#,
        "",
        r#"congestion = { control = "swift", target_ns = 500, range_ns = 1000 }
class = [{ name = "small", operation_bytes_max = 300, priority = 1 }, { name = "rest" }]"#,
    ],
    [r#"spread = "pair","#, "pfc = { xoff_bytes = 250, xon_bytes = 100 },", HPCC],
    ["", "", r#"congestion = { control = "slingshot", threshold_bytes = 300, recovery_ns = 500 }"#],
];
const CLASSES: &str = r#"class = [{ name = "small", kinds = ["atomic", "put", "datagram"], operation_bytes_max = 900, weight = 2.5 }, { name = "rest" }]"#;
const HPCC: &str = r#"congestion = { control = "hpcc", round_trip_ns = 1000 }"#;
const ECN: &str = "ecn = { min_bytes = 100, max_bytes = 600, probability = 0.5 },";
const DCQCN: &str = r#"congestion = { control = "dcqcn", notification_ns = 1000, estimate_ns = 2000, increase_ns = 2000 }"#;

const KINDS: [&str; 4] = ["infiniband-rc", "infiniband-ud", "tofu", "ethernet"];

fn machine(topology: &str, kind: &str, vcs: u8, loss: f64, [host, write]: [f64; 2], count: u32, extra: usize) -> Machine {
    let [nic, router, rail] = EXTRAS[extra];
    // The buffer must also hold the packets that arrive after it has asked for a pause, and telemetry.
    let has_telemetry = rail == HPCC;
    let (router, buffer) = match router.contains("pfc") {
        true if kind == "ethernet" => ("", if has_telemetry { 800 } else { 552 }),
        true => (router, if has_telemetry { 1200 } else { 900 }),
        false => (router, 552),
    };
    let needs_marks = rail.contains("dcqcn") && !router.contains("ecn");
    let needs_one_route = has_telemetry && ["adaptive", "ugal"].iter().any(|routes| topology.contains(routes));
    let rail = if needs_marks || needs_one_route { "" } else { rail };
    let receive = if buffer == 552 { 300 } else { buffer };
    Machine::parse(&format!(
        r#"
name = "small buffers"
about = """{topology}"""
[[rail]]
kind = "{kind}"
count = {count}
nic = {{ overhead_ns = 100, gap_ns = 5, read_gb_per_s = 3.3, write_gb_per_s = {write}, atomic_ns = 7, packet_bytes = 256,
        header_bytes = 20, control_bytes = 16, {nic} receive_bytes = {receive} }}
receive = {{ slots = 2, service_ns = 100 }}
reliability = {{ timeout_ns = 50000, retries = 200, not_ready_ns = 3000, not_ready_retries = 200 }}
link = {{ gb_per_s = 2.1, cable_ns = 10, loss = {loss} }}
host_link = {{ gb_per_s = {host}, cable_ns = 3 }}
router = {{ routing_ns = 1, vc_allocation_ns = 1, switch_allocation_ns = 1, switch_ns = 10, credit_ns = 2, vcs = {vcs},
            {router} buffer_bytes = {buffer} }}
topology = {{ {topology} }}
{rail}
"#
    ))
    .unwrap()
}

fn operation(nodes: u32) -> impl Strategy<Value = (u32, NetworkOperation)> {
    let node = 0..nodes;
    let bytes = prop_oneof![Just(0u64), 1u64..300, 1u64..4_000];
    (0u8..8, node.clone(), node.clone(), node, bytes).prop_map(|(kind, a, b, c, bytes)| {
        let operation = match kind {
            0..3 => NetworkOperation::Put { from: a, to: b, bytes },
            3 | 4 => NetworkOperation::Get { by: a, at: b, bytes },
            5 => NetworkOperation::Atomic { by: a, at: b },
            6 => NetworkOperation::Copy { by: a, from: b, to: c, bytes },
            _ => NetworkOperation::Datagram { from: a, to: b, bytes },
        };
        (a, operation)
    })
}

/// Posts all operations at once and runs until no event is left.
fn run(machine: &Machine, nodes: u32, operations: &[(u32, NetworkOperation)], answered: bool) {
    let mut netsim = Netsim::new(machine, nodes, 5).unwrap();
    for (token, &(entity, operation)) in operations.iter().enumerate() {
        netsim.post(entity, operation, token as u64);
    }
    let [mut effects, mut ends, mut lost] = [(); 3].map(|()| vec![0; operations.len()]);
    while let Some(notice) = netsim.next() {
        match notice {
            Notice::Effect { token } => effects[token as usize] += 1,
            Notice::Done { token } => ends[token as usize] += 1,
            Notice::Lost { token } => lost[token as usize] += 1,
            Notice::Failed { token, reason } => panic!("{:?} failed: {reason:?}", operations[token as usize]),
            Notice::Read { .. } | Notice::Wake { .. } => {}
        }
    }
    for (number, (_, operation)) in operations.iter().enumerate() {
        let may_be_lost = !answered && matches!(operation, NetworkOperation::Datagram { .. });
        assert_eq!((ends[number], effects[number] + lost[number]), (1, 1), "{operation:?} of {}", machine.about);
        assert!(may_be_lost || lost[number] == 0, "{operation:?}");
    }
    netsim.front.network.assert_empty();
    assert_eq!(netsim.front.transfers.used(), 0);
    assert!(netsim.front.nodes.iter().all(|node| node.slots == 0));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, max_shrink_iters: 300, ..Default::default() })]
    #[test]
    fn all_that_is_posted_ends_and_leaves_nothing(
        operations in prop::collection::vec(operation(24), 1..200),
        topology in 0..TOPOLOGIES.len(),
        kind in 0..KINDS.len(),
        more_vcs in 0u8..3,
        loss in prop_oneof![3 => Just(0.0), 1 => Just(0.02)],
        host in prop_oneof![Just(2.1), Just(1.0), Just(5.0)],
        write in prop_oneof![Just(f64::INFINITY), Just(1.1)],
        count in 1u32..3,
        extra in 0..EXTRAS.len(),
    ) {
        let vcs = VCS[topology] + more_vcs;
        let kind = KINDS[kind];
        let loss = if kind == "tofu" { 0.0 } else { loss };
        let machine = machine(TOPOLOGIES[topology], kind, vcs, loss, [host, write], count, extra);
        run(&machine, 24, &operations, kind == "infiniband-rc" || kind == "tofu");
    }
}

/// With all-to-all traffic, no network deadlocks, although its buffers hold only one or two packets.
#[test]
fn networks_drain() {
    for (number, topology) in TOPOLOGIES.iter().cycle().take(TOPOLOGIES.len() * EXTRAS.len()).enumerate() {
        let (vcs, extra) = (VCS[number % TOPOLOGIES.len()], number / TOPOLOGIES.len());
        let machine = machine(topology, "infiniband-rc", vcs, 0.0, [2.1, 2.0], 1, extra);
        let operations: Vec<_> = (0..24 * 24)
            .map(|pair| (pair / 24, NetworkOperation::Put { from: pair / 24, to: pair % 24, bytes: 1_500 }))
            .collect();
        run(&machine, 24, &operations, true);
    }
}

/// On a lossy rail, each packet is accepted in sequence and exactly once.
#[test]
fn packets_are_taken_in_order_and_once() {
    let machine = machine(TOPOLOGIES[0], "infiniband-rc", 1, 0.5, [2.1, 2.0], 1, 0);
    let mut netsim = Netsim::new(&machine, 2, 5).unwrap();
    netsim.post(0, NetworkOperation::Put { from: 0, to: 1, bytes: 700 }, 0);
    netsim.front.transfers[0].phase = crate::nics::transfer::Phase::Sending;
    let taken = [1, 0, 0, 2, 1, 1, 2].map(|sequence| netsim.front.in_order(0, sequence));
    assert_eq!(taken, [false, true, false, false, true, false, true]);
}

/// Operations that an entity posts at once start as if each had its own event in the queue, although all of them share one.
#[test]
fn operations_posted_at_once_take_one_event_in_the_queue() {
    const EACH: u32 = 50;
    let machine = Machine::parse(Machine::bundled("rx200-qdr").unwrap()).unwrap();
    let run = |is_interrupted: bool| {
        let mut netsim = Netsim::new(&machine, 4, 1).unwrap();
        for entity in 0..2 {
            for number in 0..EACH {
                let to = (entity + 1 + number % 3) % 4;
                netsim.post(entity, NetworkOperation::Put { from: entity, to, bytes: 3_000 }, u64::from(entity * EACH + number));
                if is_interrupted {
                    // Uses a key between those of two operations.
                    netsim.wake_at(Instant::ZERO, entity, 0);
                }
            }
        }
        let pending = netsim.front.queue.len();
        let mut notices = Vec::new();
        while let Some(notice) = netsim.next() {
            if !matches!(notice, Notice::Wake { .. }) {
                notices.push((netsim.now(), notice));
            }
        }
        (pending, notices)
    };
    let (joined, notices) = run(false);
    let (apart, expected) = run(true);
    assert_eq!((joined, apart), (2, 4 * EACH as usize));
    assert_eq!(notices.len(), 3 * 2 * EACH as usize, "read, effect and end of each");
    assert_eq!(notices, expected);
}

/// Kinds of networks that can be divided: topology, and number of virtual channels.
const DIVISIBLE: [(&str, u8); 12] = [
    (TOPOLOGIES[1], 1),
    (TOPOLOGIES[2], 1),
    (TOPOLOGIES[3], 2),
    (TOPOLOGIES[4], 3),
    (TOPOLOGIES[5], 1),
    (TOPOLOGIES[7], 1),
    (TOPOLOGIES[8], 2),
    (TOPOLOGIES[9], 3),
    (TOPOLOGIES[10], 3),
    (TOPOLOGIES[14], 2),
    (TOPOLOGIES[16], 3),
    (TOPOLOGIES[18], 2),
];

/// Traffic classes of networks that can be divided.
const DIVISIBLE_CLASSES: [&str; 3] = [
    "",
    CLASSES,
    r#"class = [{ name = "control", kinds = ["control"], priority = 1 }, { name = "puts", kinds = ["put"], weight = 3 }, { name = "rest" }]"#,
];

/// A machine that can be divided, whose buffers hold one or two packets.
fn divisible(number: usize, kind: &str, times: [f64; 2], [count, planes]: [u32; 2], [spread, classes]: [&str; 2]) -> Machine {
    let (topology, vcs) = DIVISIBLE[number];
    let text = format!(
        r#"
name = "divisible"
about = """{topology}"""
[node]
copy_ns = 30
copy_gb_per_s = 1.5
[[rail]]
kind = "{kind}"
count = {count}
planes = {planes}
nic = {{ overhead_ns = {}, gap_ns = 5, read_gb_per_s = 3.3, write_gb_per_s = 2.0, atomic_ns = 7, packet_bytes = 256,
        header_bytes = 20, control_bytes = 16, {spread} receive_bytes = 300 }}
link = {{ gb_per_s = 2.1, cable_ns = {} }}
host_link = {{ gb_per_s = 1.7, cable_ns = 3 }}
router = {{ routing_ns = 1, vc_allocation_ns = 1, switch_allocation_ns = 1, switch_ns = 10, credit_ns = 2, vcs = {vcs},
            buffer_bytes = 552 }}
topology = {{ {topology} }}
{classes}
"#,
        times[0], times[1]
    );
    Machine::parse(&text).unwrap()
}

/// Posts operations, each of which is followed by another one when it has ended, or by a wait; returns all notices with their times, and the counters.
fn chain(netsim: &mut Netsim, operations: &[(u32, NetworkOperation)]) -> (Vec<(Instant, Notice)>, crate::Statistics) {
    let (mut notices, mut next) = (Vec::new(), operations.len() / 3);
    for (token, &(entity, operation)) in operations[..next].iter().enumerate() {
        netsim.post(entity, operation, token as u64);
    }
    while let Some(notice) = netsim.next() {
        let now = netsim.now();
        notices.push((now, notice));
        let (Notice::Done { token } | Notice::Wake { token }) = notice else { continue };
        if next == operations.len() {
            continue;
        }
        let (entity, operation) = operations[next];
        match notice {
            Notice::Done { .. } if token % 3 == 0 => {
                let later = pelago_base::Duration::from_picoseconds(token % 7 * 40_000);
                netsim.wake_at(now + later, entity, u64::MAX - token);
            }
            _ => {
                netsim.post(entity, operation, next as u64);
                next += 1;
            }
        }
    }
    (notices, netsim.statistics())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, max_shrink_iters: 300, ..Default::default() })]
    #[test]
    fn a_divided_machine_gives_the_same_notices_at_the_same_times(
        operations in prop::collection::vec(operation(24), 3..300),
        topology in 0..DIVISIBLE.len(),
        is_tofu in any::<bool>(),
        overhead in prop_oneof![Just(0.001), Just(5.0), Just(100.0), Just(3_000.0)],
        cable in prop_oneof![Just(0.0), Just(10.0), Just(300.0)],
        counts in [1u32..3, 1..4],
        is_spread in any::<bool>(),
        classes in 0..DIVISIBLE_CLASSES.len(),
        is_shared in any::<bool>(),
        threads in 2u32..6,
    ) {
        let spread = if is_spread { r#"spread = "packet","# } else { "" };
        let keys = [spread, DIVISIBLE_CLASSES[classes]];
        // Classes are for rails of one plane.
        let counts = if classes == 0 { counts } else { [counts[0], 1] };
        let machine = divisible(topology, if is_tofu { "tofu" } else { "infiniband-rc" }, [overhead, cable], counts, keys);
        let mut whole = Netsim::new(&machine, 24, 5).unwrap();
        let mut divided = Netsim::with_threads(&machine, 24, 5, threads).unwrap();
        prop_assert_eq!(divided.threads(), threads, "{}", machine.about);
        if is_shared {
            divided.division.as_mut().unwrap().share_all();
        }
        let (expected, counters) = chain(&mut whole, &operations);
        let (notices, same) = chain(&mut divided, &operations);
        for (number, (notice, expected)) in notices.iter().zip(&expected).enumerate() {
            prop_assert_eq!(notice, expected, "number {}", number);
        }
        prop_assert_eq!(notices.len(), expected.len());
        prop_assert_eq!(same, counters);
        divided.division.as_mut().unwrap().assert_empty();
    }
}
