//! Adaptive routes, congestion control, pauses, and link failures: each behaves as its source describes.

use std::collections::{BTreeMap, BTreeSet};

use pelago_base::Instant;
use pelago_netsim::{FailureReason, LinkEnd, LinkStatistics, Machine, Netsim, NetworkOperation, Notice};
use pelago_test_support::traffic::{Measured, Rng, machine, measure};

const FLITS: u32 = 8;
const WINDOW: (u64, u64) = (5_000, 10_000);

/// Nine groups of four routers, two nodes and two links to other groups each: the shape of figure 5 of Kim et al. (p = h = a/2), smaller.
fn dragonfly(routes: &str, load: f64, target: impl FnMut(u32, &mut Rng) -> u32) -> Measured {
    dragonfly_of(routes, 3, load, target, |_| true)
}

/// As `dragonfly`, with `vcs` virtual channels; only messages from nodes for which `counts` holds are measured.
fn dragonfly_of(
    routes: &str,
    vcs: u8,
    load: f64,
    target: impl FnMut(u32, &mut Rng) -> u32,
    counts: impl Fn(u32) -> bool,
) -> Measured {
    let topology = format!(
        "type = \"dragonfly\"\nnodes_per_router = 2\nrouters_per_group = 4\nglobal_links_per_router = 2\nroutes = \"{routes}\""
    );
    measure(&machine(&topology, 2, vcs, 64, FLITS), 72, load, FLITS, WINDOW, target, counts)
}

fn uniform(_: u32, random: &mut Rng) -> u32 {
    random.u32(..72)
}

/// All nodes of a group send to nodes of the next group: their minimal routes share one link.
fn to_the_next_group(node: u32, random: &mut Rng) -> u32 {
    (node / 8 + 1) % 9 * 8 + random.u32(..8)
}

/// Kim, Dally, Scott, Abts: *Technology-Driven, Highly-Scalable Dragonfly Topology*, ISCA 2008, section 4.3 and figure 8: on the adversarial
/// pattern minimal routes reach a throughput of 1/(a·p), Valiant's half; on uniform traffic Valiant's reach half, minimal ones nearly all; UGAL is
/// like the better one on both, with a higher latency by local queues than by those of all links between groups.
#[test]
fn adaptive_routes_are_like_the_better_of_both() {
    let worst = |routes, load| dragonfly(routes, load, to_the_next_group);
    let even = |routes, load| dragonfly(routes, load, uniform);
    let [minimal, valiant, local, global] =
        ["minimal", "valiant", "ugal-l", "ugal-g"].map(|routes| worst(routes, 0.5).throughput);
    println!("adversarial, offered 0.5: minimal {minimal:.3}, valiant {valiant:.3}, ugal-l {local:.3}, ugal-g {global:.3}");
    // A virtual channel is idle for one cycle after the eight cycles of a packet.
    assert!((minimal / (0.125 * 8.0 / 9.0) - 1.0).abs() < 0.03, "an eighth of a link for each of eight nodes: {minimal}");
    assert!(valiant > 0.35 && valiant < 0.5 && local > 0.8 * valiant && global > 0.9 * valiant);
    let [minimal, valiant, local, global] =
        ["minimal", "valiant", "ugal-l", "ugal-g"].map(|routes| even(routes, 0.55).throughput);
    println!("uniform, offered 0.55: minimal {minimal:.3}, valiant {valiant:.3}, ugal-l {local:.3}, ugal-g {global:.3}");
    assert!(minimal > 0.53 && valiant < 0.47 && local > 0.53 && global > 0.53);
    let [local, global, valiant] = ["ugal-l", "ugal-g", "valiant"].map(|routes| worst(routes, 0.25).latency);
    println!("adversarial, load 0.25: latency of ugal-l {local:.1}, ugal-g {global:.1}, valiant {valiant:.1} cycles");
    assert!(global < local, "only a full queue tells a router of a link that is not its own");
    let [minimal, local, valiant] = ["minimal", "ugal-l", "valiant"].map(|routes| even(routes, 0.1).latency);
    println!("uniform, load 0.1: latency of minimal {minimal:.1}, ugal-l {local:.1}, valiant {valiant:.1} cycles");
    assert!(local < 1.05 * minimal && valiant > 1.3 * minimal);
}

/// Jiang, Kim, Dally: *Indirect Adaptive Routing on Large Scale Interconnection Networks*, ISCA 2009: by its own queues alone, a router learns late
/// that a link of another router to the next group is congested; with progressive routes, the router of that link sends the packets on another way.
/// In this pattern, the nodes of that router send within their router, so that no router with traffic to the next group sees the queue.
#[test]
fn progressive_routes_see_a_queue_of_the_second_router() {
    let exit = |group: u32| {
        // A dragonfly's first link from a group to each other group has the number of that group among the others; two begin at each router.
        let next = (group + 1) % 9;
        group * 4 + (next - u32::from(next > group)) / 2
    };
    let sends = move |node: u32| node / 2 != exit(node / 8);
    let of = |routes: &str, load| {
        let target = move |node, random: &mut Rng| if sends(node) { to_the_next_group(node, random) } else { node ^ 1 };
        dragonfly_of(routes, 4, load, target, sends)
    };
    let [local, progressive, global] = ["ugal-l", "progressive", "ugal-g"].map(|routes| of(routes, 0.3).latency);
    println!("load 0.3: latency of ugal-l {local:.1}, progressive {progressive:.1}, ugal-g {global:.1} cycles");
    assert!(local > 1.5 * global && progressive < 1.1 * global);
    let [minimal, valiant, local, progressive, global] =
        ["minimal", "valiant", "ugal-l", "progressive", "ugal-g"].map(|routes| of(routes, 0.5).throughput);
    println!(
        "offered 0.5: minimal {minimal:.3}, valiant {valiant:.3}, ugal-l {local:.3}, progressive {progressive:.3}, ugal-g {global:.3}"
    );
    // A virtual channel is idle for one cycle after the eight cycles of a packet.
    assert!(minimal < 1.0 / 6.0 && minimal > 0.97 * 8.0 / 9.0 / 6.0, "a sixth of a link for each of six nodes: {minimal}");
    assert!(local < 0.8 * global && progressive > 0.97 * global && progressive > 0.97 * valiant);
    let [minimal, progressive] = ["minimal", "progressive"].map(|routes| dragonfly_of(routes, 4, 0.55, uniform, |_| true));
    assert!(progressive.throughput > 0.97 * minimal.throughput, "uniform traffic stays on minimal routes");
}

/// Routes by the shortest queue, or a separate route for each packet, avoid random collisions of the routes of a permutation.
#[test]
fn routes_by_queues_or_packets_spread_a_permutation_over_a_tree() {
    let throughput = |routes: &str, spread: &str| {
        let text = format!(
            r#"
name = "tree"
[[rail]]
kind = "infiniband-ud"
nic = {{ overhead_ns = 0, read_gb_per_s = inf, write_gb_per_s = inf, packet_bytes = 256, header_bytes = 0, control_bytes = 16, {spread} }}
link = {{ gb_per_s = 1, cable_ns = 5 }}
router = {{ routing_ns = 1, vc_allocation_ns = 1, switch_allocation_ns = 1, switch_ns = 10, credit_ns = 2, buffer_bytes = 4096 }}
topology = {{ type = "fat-tree", down = [8, 8], up = [8], routes = "{routes}" }}
"#
        );
        let mut netsim = Netsim::new(&Machine::parse(&text).unwrap(), 64, 1).unwrap();
        for from in 0..64 {
            // The target is at another router; the targets form a permutation.
            let to = (from / 8 + 1 + from % 8 % 7) % 8 * 8 + from % 8;
            netsim.post(from, NetworkOperation::Put { from, to, bytes: 1 << 18 }, from.into());
        }
        let last = std::iter::from_fn(|| netsim.next().map(|notice| (notice, netsim.now()))).last().unwrap().1;
        f64::from(1 << 18) / last.since(Instant::ZERO).as_nanoseconds() as f64
    };
    let pair = throughput("random", "spread = \"pair\"");
    let flowlet = throughput("random", "spread = \"flowlet\", flowlet_ns = 100");
    let packet = throughput("random", "spread = \"packet\"");
    let adaptive = throughput("adaptive", "");
    println!(
        "slowest of 64 puts, of its link: one route {pair:.2}, flowlets {flowlet:.2}, packets {packet:.2}, adaptive {adaptive:.2}"
    );
    assert!(flowlet > 1.5 * pair && packet > 1.5 * pair && adaptive > 1.5 * pair);
}

/// Two routers of nine nodes each, and nine above them; all links have 1 GB/s.
fn two_leaves(flow_control: &str, congestion: &str) -> Netsim {
    two_leaves_of(flow_control, congestion, 1024, 200)
}

/// As `two_leaves`, with packets of so many bytes, and links of so many nanoseconds.
fn two_leaves_of(flow_control: &str, congestion: &str, packet_bytes: u32, cable_ns: u32) -> Netsim {
    let text = format!(
        r#"
name = "two leaves"
[[rail]]
kind = "infiniband-rc"
nic = {{ overhead_ns = 500, read_gb_per_s = inf, write_gb_per_s = inf, packet_bytes = {packet_bytes}, header_bytes = 0, control_bytes = 64, order = "round-robin", receive_bytes = 200000 }}
link = {{ gb_per_s = 1, cable_ns = {cable_ns} }}
{congestion}
topology = {{ type = "fat-tree", down = [9, 2], up = [9], routes = "random" }}
[rail.router]
routing_ns = 10
vc_allocation_ns = 0
switch_allocation_ns = 0
switch_ns = 100
buffer_bytes = 200000
{flow_control}
"#
    );
    let text = if congestion.contains("hpcc") { text.replace("order =", "spread = \"pair\", order =") } else { text };
    Netsim::new(&Machine::parse(&text).unwrap(), 18, 1).unwrap()
}

const PAUSES: &str = "pfc = { xoff_bytes = 60000, xon_bytes = 40000 }";
const MARKS: &str = "ecn = { min_bytes = 5000, max_bytes = 200000, probability = 0.01 }";
const DCQCN: &str = "congestion = { control = \"dcqcn\" }";
const SWIFT: &str = "congestion = { control = \"swift\", target_ns = 6000, range_ns = 10000 }";

const HPCC: &str = "congestion = { control = \"hpcc\", round_trip_ns = 3500, additive_bytes = 20 }";
const SLINGSHOT: &str = "congestion = { control = \"slingshot\", threshold_bytes = 4000, recovery_ns = 10000 }";

/// Runs flows between nodes, each from its start time on with as many puts of 10,000 bytes as possible; returns the bytes of each flow in each time window.
fn flows(netsim: &mut Netsim, flows: &[(u32, u32, u64)], window_us: u64, windows: usize) -> Vec<Vec<f64>> {
    const BYTES: u64 = 10_000;
    let mut bytes = vec![vec![0.0; windows]; flows.len()];
    let post = |netsim: &mut Netsim, flow: usize| {
        let (from, to, _) = flows[flow];
        netsim.post(from, NetworkOperation::Put { from, to, bytes: BYTES }, flow as u64);
    };
    for (flow, &(from, _, start_us)) in flows.iter().enumerate() {
        netsim.wake_at(Instant::from_picoseconds(start_us * 1_000_000), from, flow as u64);
    }
    while let Some(notice) = netsim.next() {
        let window = (netsim.now().as_picoseconds() / 1_000_000 / window_us) as usize;
        if window >= windows {
            break;
        }
        match notice {
            Notice::Wake { token } => (0..32).for_each(|_| post(netsim, token as usize)),
            Notice::Effect { token } => {
                bytes[token as usize][window] += BYTES as f64;
                post(netsim, token as usize);
            }
            _ => {}
        }
    }
    bytes
}

/// Returns the rate of each flow in GB/s over a range of windows.
fn rates(bytes: &[Vec<f64>], window_us: u64, windows: std::ops::Range<usize>) -> Vec<f64> {
    let length = windows.len() as f64 * window_us as f64 * 1e3;
    bytes.iter().map(|flow| flow[windows.clone()].iter().sum::<f64>() / length).collect()
}

/// Eight nodes send to node 9, and the ninth to node 10, whose links are otherwise idle. With pauses alone, the full buffer before node 9 stops the
/// link between the routers, and so the ninth flow: the victim of Zhu et al., SIGCOMM 2015, section 2.2 and figure 4. With DCQCN the victim gets the
/// rate that it requests (figure 9 there), and likewise with Swift, HPCC and the law after Slingshot; queues are short.
#[test]
fn congestion_control_frees_the_victim_of_an_incast() {
    let all: Vec<(u32, u32, u64)> = (0..8).map(|from| (from, 9, 0)).chain([(8, 10, 0)]).collect();
    let of = |flow_control: &str, congestion: &str| {
        let mut netsim = two_leaves(flow_control, congestion);
        let bytes = flows(&mut netsim, &all, 1000, 20);
        let rates = rates(&bytes, 1000, 5..20);
        let statistics = netsim.statistics();
        assert_eq!(statistics.drops, 0);
        assert_eq!(statistics.marks > 0, congestion == DCQCN);
        (rates[..8].iter().sum::<f64>(), rates[8], statistics.pauses)
    };
    let [credits, pauses] = [of("", ""), of(PAUSES, "")];
    let [dcqcn, swift] = [of(&format!("{PAUSES}\n{MARKS}"), DCQCN), of(PAUSES, SWIFT)];
    let [hpcc, slingshot] = [of(PAUSES, HPCC), of(PAUSES, SLINGSHOT)];
    println!(
        "incast and victim in GB/s, and pauses: credits {credits:.3?}, pauses {pauses:.3?}, DCQCN {dcqcn:.3?}, Swift {swift:.3?}, HPCC {hpcc:.3?}, Slingshot {slingshot:.3?}"
    );
    assert!(dcqcn.2 * 10 < pauses.2 && swift.2 * 10 < pauses.2, "marks and delays come before pauses");
    assert_eq!((hpcc.2, slingshot.2), (0, 0), "telemetry and notifications come before pauses");
    assert!(slingshot.1 > 0.93, "no queue of its own NIC: {slingshot:?}");
    // HPCC keeps a twentieth of each link free, and the route of the victim shares a link with a flow of the incast.
    assert!(hpcc.0 > 0.8 && hpcc.0 < 0.95 && hpcc.1 > 0.75 && hpcc.1 < 0.95, "{hpcc:?}");
    for (incast, victim, _) in [credits, pauses] {
        assert!(incast > 0.97 && victim < 0.6, "{incast} {victim}");
    }
    for (incast, victim, _) in [dcqcn, swift, slingshot] {
        assert!(incast > 0.8 && incast < 1.01 && victim > 0.85, "{incast} {victim}");
    }
}

/// Two flows share a link evenly, even if one has begun long before: each control law in isolation.
#[test]
fn laws_come_to_even_shares() {
    for (name, flow_control, congestion, windows) in [("DCQCN", MARKS, DCQCN, 200), ("Swift", "", SWIFT, 40)] {
        let mut netsim = two_leaves(flow_control, congestion);
        let bytes = flows(&mut netsim, &[(0, 9, 0), (1, 9, 5_000)], 1000, windows);
        let alone = rates(&bytes, 1000, 2..5)[0];
        let shares = rates(&bytes, 1000, windows - 10..windows);
        let even = |window: &usize| {
            let [one, other] = [bytes[0][*window], bytes[1][*window]];
            (one - other).abs() < 0.3 * (one + other)
        };
        let converged = (6..windows).find(even).map(|window| window - 5);
        println!("{name}: alone {alone:.3} GB/s, together {shares:.3?}; within 30 % of the sum after {converged:?} ms");
        assert!(alone > 0.9 && shares.iter().sum::<f64>() > 0.85, "{name}: {alone} {shares:?}");
        assert!((shares[0] - shares[1]).abs() < 0.3 * (shares[0] + shares[1]), "{name}: {shares:?}");
        assert!(converged.is_some_and(|window| window < 60), "{name}: {converged:?}");
    }
}

/// Seventeen packets of 538 bytes are on the way in a round trip of 9.2 us, so that several flows have some packets each.
const FINE: (u32, u32) = (512, 1000);
const FINE_HPCC: &str = "congestion = { control = \"hpcc\", round_trip_ns = 9200, additive_bytes = 50 }";
const FINE_SLINGSHOT: &str = "congestion = { control = \"slingshot\", threshold_bytes = 4000, recovery_ns = 10000 }";

/// Flows that begin one after the other use the rate that each law permits at once, and come to even shares: HPCC by its small step, the
/// law after Slingshot sooner.
#[test]
fn telemetry_and_notifications_come_to_even_shares() {
    for (name, congestion, gap_us, [least, most]) in
        [("HPCC", FINE_HPCC, 6_000, [0.85, 0.95]), ("Slingshot", FINE_SLINGSHOT, 3_000, [0.8, 1.12])]
    {
        let begun: Vec<(u32, u32, u64)> = (0..4).map(|from| (from, 9, gap_us * u64::from(from))).collect();
        let window_us = gap_us / 15;
        let bytes = flows(&mut two_leaves_of(PAUSES, congestion, FINE.0, FINE.1), &begun, window_us, 60);
        for active in 1..=4 {
            let sum = rates(&bytes, window_us, 15 * active - 14..15 * active).iter().sum::<f64>();
            let shares = rates(&bytes, window_us, 15 * active - 5..15 * active);
            println!("{name}: {active} flows together {sum:.3} GB/s; in the last third {shares:.3?}");
            // The 32 puts of a flow end at about the same time, so that up to 0.32 MB of 2.8 MB count at the wrong side of a boundary.
            assert!(sum > least && sum < most, "{name}: {sum}");
            let fair = shares.iter().sum::<f64>() / active as f64;
            assert!(shares[..active].iter().all(|share| (share / fair - 1.0).abs() < 0.25), "{name}: {shares:?}");
        }
    }
}

/// Eight nodes send to node 9; node 10 sends it a word from time to time. Returns how much longer than in the idle network the words take, in
/// nanoseconds: the bytes that are in line for node 9, at 1 GB/s. The mean and the maximum of those after the first 500 us.
fn waiting_of_words(congestion: &str) -> (f64, u64) {
    const WORD: u64 = 1000;
    let delays = |senders: u32| {
        let mut netsim = two_leaves_of(PAUSES, congestion, FINE.0, FINE.1);
        let post = |netsim: &mut Netsim, from: u32| {
            netsim.post(from, NetworkOperation::Put { from, to: 9, bytes: 10_000 }, from.into());
        };
        for from in 0..senders {
            (0..32).for_each(|_| post(&mut netsim, from));
        }
        let at = |number: u64| 500_000_000 + number * 17_000_000;
        (0..100).for_each(|number| netsim.wake_at(Instant::from_picoseconds(at(number)), 10, WORD + number));
        let mut delays = Vec::new();
        while let Some(notice) = netsim.next() {
            match notice {
                Notice::Wake { token } => netsim.post(10, NetworkOperation::Put { from: 10, to: 9, bytes: 8 }, token),
                Notice::Effect { token } if token >= WORD => delays.push(netsim.now().as_picoseconds() - at(token - WORD)),
                Notice::Effect { token } => post(&mut netsim, token as u32),
                _ => {}
            }
            if delays.len() == 100 {
                break;
            }
        }
        delays
    };
    let idle = delays(0)[0];
    let waiting: Vec<u64> = delays(8).iter().map(|delay| (delay - idle) / 1000).collect();
    (waiting.iter().sum::<u64>() as f64 / waiting.len() as f64, waiting.iter().copied().max().unwrap_or(0))
}

/// HPCC promises near-zero queues, as the load stays below 1 (sections 3.1 and 5.2 of the paper): here a packet or two that come at the same time.
/// With the law after Slingshot, the queue is about the threshold, plus what is sent until notifications arrive.
#[test]
fn telemetry_and_notifications_keep_the_queue_of_an_incast_short() {
    let [none, hpcc, slingshot] = ["", FINE_HPCC, FINE_SLINGSHOT].map(waiting_of_words);
    println!("bytes in line at an incast, mean and maximum: none {none:.0?}, HPCC {hpcc:.0?}, Slingshot {slingshot:.0?}");
    assert!(none.0 > 40_000.0, "{none:?}");
    assert!(hpcc.0 < 2.0 * 538.0 && hpcc.1 < 5 * 538, "{hpcc:?}");
    assert!(slingshot.0 < 4_000.0 && slingshot.1 < 10_000, "{slingshot:?}");
}

/// De Sensi et al.: only the flows to the congested endpoint are held back, not others of the same source.
#[test]
fn notifications_hold_back_only_the_flow_of_the_congested_nic() {
    let all: Vec<(u32, u32, u64)> = (0..8).map(|from| (from, 9, 0)).chain([(0, 10, 0)]).collect();
    let [without, with] = ["", SLINGSHOT].map(|congestion| {
        let bytes = flows(&mut two_leaves(PAUSES, congestion), &all, 200, 20);
        rates(&bytes, 200, 5..20)
    });
    println!(
        "flow to an idle NIC from a source of an incast, in GB/s: {:.3} without, {:.3} with notifications",
        without[8], with[8]
    );
    assert!(without[8] < 0.3 && with[8] > 0.8, "{without:?} {with:?}");
    assert!(with[..8].iter().sum::<f64>() > 0.9 && with[1..8].iter().all(|share| (share - 0.125).abs() < 0.03), "{with:?}");
}

/// A packet and its answer carry two bytes of telemetry, and eight for each router of the longest route: 42 for the five routers of a tree of
/// three levels.
#[test]
fn packets_carry_the_telemetry_of_the_longest_route() {
    let bytes_sent = |congestion: &str, topology: &str, nodes: u32| {
        let text = roce("").replace("header_bytes = 0", "header_bytes = 0, spread = \"pair\"");
        let text = text.replace("[rail.router]", &format!("{congestion}\n[rail.router]")).replace("type = \"star\"", topology);
        let mut netsim = Netsim::new(&Machine::parse(&text).unwrap(), nodes, 1).unwrap();
        netsim.post(0, NetworkOperation::Put { from: 0, to: nodes - 1, bytes: 2000 }, 0);
        while netsim.next().is_some() {}
        let of = |node: u32| LinkEnd::Nic { node, nic: 0 };
        let statistics = netsim.statistics();
        [0, nodes - 1].map(|node| statistics.links.iter().find(|link| link.from == of(node)).unwrap().bytes)
    };
    let tree = "type = \"fat-tree\"\ndown = [2, 2, 2]\nup = [2, 2]";
    for (topology, nodes, telemetry) in [("type = \"star\"", 4, 10), (tree, 8, 42)] {
        let [without, with] = ["", HPCC].map(|congestion| bytes_sent(congestion, topology, nodes));
        assert_eq!(without, [2000, 10]);
        assert_eq!(with, [2000 + 2 * telemetry, 10 + 2 * (10 + telemetry)], "two packets, two answers and an acknowledgement");
    }
}

#[test]
fn values_that_no_law_can_have_are_refused() {
    let parse = |congestion: &str| {
        let text = roce("").replace("header_bytes = 0", "header_bytes = 0, spread = \"flowlet\"");
        Machine::parse(&text.replace("[rail.router]", &format!("{congestion}\n[rail.router]")))
    };
    let hpcc = "control = \"hpcc\", round_trip_ns = 1000";
    let slingshot = "control = \"slingshot\"";
    for (table, key, values, reason) in [
        (hpcc, "round_trip_ns", "0 0.5", "must be at least 1"),
        (hpcc, "round_trip_ns", "nan inf -1.0 1e13", "must be nanoseconds, from 0 to 3.6e12"),
        (hpcc, "utilization", "0 nan inf 1.1 -0.5", "must be greater than 0, at most 1"),
        (hpcc, "stages", "1001", "must be from 0 to 1000"),
        (hpcc, "additive_bytes", "0 1073741825", "must be from 1 to 1073741824"),
        (slingshot, "threshold_bytes", "0 1073741825", "must be from 1 to 1073741824"),
        (slingshot, "limited_packets", "0 65537", "must be from 1 to 65536"),
        (slingshot, "recovery_ns", "nan inf -1.0", "must be nanoseconds, from 0 to 3.6e12"),
    ] {
        for value in values.split(' ') {
            let table =
                table.replace(", round_trip_ns = 1000", if key == "round_trip_ns" { "" } else { ", round_trip_ns = 1000" });
            let error = parse(&format!("congestion = {{ {table}, {key} = {value} }}")).unwrap_err().to_string();
            assert!(error.starts_with(&format!("rail.congestion.{key} = ")) && error.ends_with(reason), "{value}: {error}");
        }
    }
    assert!(parse("congestion = { control = \"hpcc\" }").unwrap_err().to_string().ends_with("missing field `round_trip_ns`"));
    let unknown = parse(&format!("congestion = {{ {slingshot}, stages = 5 }}")).unwrap_err().to_string();
    assert!(unknown.contains("unknown field `stages`"), "{unknown}");
    let machine = parse(&format!("congestion = {{ {hpcc} }}")).unwrap();
    assert_eq!(Netsim::obstacle(&machine), Some("NICs control congestion"));
    let text = roce("").replace("[rail.router]", &format!("congestion = {{ {hpcc} }}\n[rail.router]"));
    let prefix = "rail.congestion.control = \"hpcc\": ";
    let spread = Machine::parse(&text).unwrap_err().to_string();
    assert_eq!(spread, format!("{prefix}compares packets of one route, so that nic.spread must be \"pair\" or \"flowlet\""));
    let text = text.replace("header_bytes = 0", "header_bytes = 0, spread = \"pair\"");
    let of = |topology: &str| Machine::parse(&text.replace("type = \"star\"", topology));
    let adaptive = of("type = \"fat-tree\"\ndown = [4, 4]\nup = [4]\nroutes = \"adaptive\"").unwrap();
    let adaptive = Netsim::new(&adaptive, 8, 1).err().unwrap().to_string();
    assert_eq!(adaptive, format!("{prefix}compares packets of one route, so that topology.routes must not depend on queues"));
    let mesh = of("type = \"mesh\"\ndimensions = [16]").unwrap();
    let long = Netsim::new(&mesh, 16, 1).err().unwrap().to_string();
    assert_eq!(long, format!("{prefix}a route passes through up to 16 routers, the telemetry has room for 15"));
    assert!(Netsim::new(&of("type = \"mesh\"\ndimensions = [15]").unwrap(), 15, 1).is_ok());
}

/// With a window of one packet, and receivers without a slot or lossy links, discarded packets no longer count as in flight.
#[test]
fn a_window_opens_again_for_what_is_thrown_away() {
    let swift = "congestion = { control = \"swift\", window_packets = 1 }";
    let hpcc = "congestion = { control = \"hpcc\", round_trip_ns = 1 }";
    let slingshot = "congestion = { control = \"slingshot\", threshold_bytes = 1, recovery_ns = 1e9 }";
    let again = "reliability = { timeout_ns = 50000, retries = 100, not_ready_ns = 2000, not_ready_retries = 100 }";
    let rails = [("receive = { slots = 1, service_ns = 3000 }", ""), ("", "loss = 0.1")];
    for (rail, link, control) in
        [swift, hpcc, slingshot].iter().flat_map(|control| rails.map(|(rail, link)| (rail, link, control)))
    {
        let text = roce("").replace("gb_per_s = 1,", &format!("gb_per_s = 1, {link}{}", if link.is_empty() { "" } else { "," }));
        let text = text.replace("header_bytes = 0", "header_bytes = 0, spread = \"pair\"");
        let text = text.replace("[rail.router]", &format!("{rail}\n{again}\n{control}\n[rail.router]"));
        let mut netsim = Netsim::new(&Machine::parse(&text).unwrap(), 4, 1).unwrap();
        for token in 0..60 {
            let from = 1 + token % 3;
            netsim.post(from, NetworkOperation::Datagram { from, to: 0, bytes: 1500 }, token.into());
        }
        let (mut done, mut failed) = (0, 0);
        while let Some(notice) = netsim.next() {
            done += u32::from(matches!(notice, Notice::Done { .. }));
            failed += u32::from(matches!(notice, Notice::Failed { .. }));
        }
        assert!(
            (done, failed) == (60, 0) && netsim.statistics().retries > 0,
            "{done} of 60, {failed} failed: {rail} {link} {control}"
        );
    }
}

/// A full buffer pauses the link before it, whose buffers then fill up, and so on to the senders; no packet is lost, although senders count no credits.
#[test]
fn pauses_propagate_to_the_senders() {
    let mut netsim = two_leaves(PAUSES, "");
    let all: Vec<(u32, u32, u64)> = (0..8).map(|from| (from, 9, 0)).collect();
    let bytes = flows(&mut netsim, &all, 1000, 20);
    let shares = rates(&bytes, 1000, 5..20);
    assert!(shares.iter().all(|share| (share - 0.125).abs() < 0.05), "{shares:?}");
    let statistics = netsim.statistics();
    assert!(statistics.drops == 0 && statistics.pauses > 100, "{} pauses", statistics.pauses);
    let error = |set: &str| Machine::parse(&roce(set)).unwrap_err().to_string();
    assert!(error("pfc = { xoff_bytes = 10, xon_bytes = 20 }").contains("pfc.xon_bytes = 20: must be from 0 to 10"));
    let little = error("pfc = { xoff_bytes = 3000, xon_bytes = 20 }");
    assert!(little.contains("router.buffer_bytes = 4000: must be at least 5"), "{little}");
}

fn roce(router: &str) -> String {
    format!(
        r#"
name = "roce"
[[rail]]
kind = "infiniband-rc"
nic = {{ overhead_ns = 0, read_gb_per_s = inf, write_gb_per_s = inf, packet_bytes = 1000, header_bytes = 0, control_bytes = 10 }}
link = {{ gb_per_s = 1, cable_ns = 10 }}
[rail.router]
routing_ns = 1
vc_allocation_ns = 1
switch_allocation_ns = 1
switch_ns = 1
buffer_bytes = 4000
{router}
[rail.topology]
type = "star"
"#
    )
}

/// All-to-all traffic. Returns the time of its end, the operations that failed, as their sources times `nodes` plus their targets, and the network.
fn all_to_all(topology: &str, nodes: u32, failure: &str) -> (u64, BTreeSet<u64>, Netsim) {
    all_to_all_by("operation", topology, nodes, failure)
}

/// As `all_to_all`, with packets spread as `spread` says.
fn all_to_all_by(spread: &str, topology: &str, nodes: u32, failure: &str) -> (u64, BTreeSet<u64>, Netsim) {
    all_to_all_on(&lossy_rail(spread, topology, failure), nodes)
}

/// Describes a machine whose NICs repeat what is lost.
fn lossy_rail(spread: &str, topology: &str, failure: &str) -> String {
    format!(
        r#"
name = "all to all"
[[rail]]
kind = "infiniband-rc"
nic = {{ overhead_ns = 100, read_gb_per_s = inf, write_gb_per_s = inf, packet_bytes = 1000, header_bytes = 0, control_bytes = 10, spread = "{spread}" }}
reliability = {{ timeout_ns = 100000, retries = 5 }}
link = {{ gb_per_s = 1, cable_ns = 10 }}
router = {{ routing_ns = 1, vc_allocation_ns = 1, switch_allocation_ns = 1, switch_ns = 10, buffer_bytes = 8000, vcs = 3 }}
topology = {{ {topology} }}
{failure}
"#
    )
}

fn all_to_all_on(machine: &str, nodes: u32) -> (u64, BTreeSet<u64>, Netsim) {
    let mut netsim = Netsim::new(&Machine::parse(machine).unwrap(), nodes, 1).unwrap();
    for from in 0..nodes {
        for step in 1..nodes {
            let to = (from + step) % nodes;
            netsim.post(from, NetworkOperation::Put { from, to, bytes: 20_000 }, u64::from(from * nodes + to));
        }
    }
    let (mut effects, mut end, mut done, mut failed) = (BTreeMap::<u64, u32>::new(), 0, 0, BTreeSet::new());
    while let Some(notice) = netsim.next() {
        match notice {
            Notice::Effect { token } => *effects.entry(token).or_default() += 1,
            Notice::Done { .. } => {
                end = netsim.now().as_picoseconds();
                done += 1;
            }
            Notice::Failed { reason, token } => {
                assert_eq!(reason, FailureReason::RetriesExhausted);
                assert!(failed.insert(token), "an operation fails once");
            }
            _ => {}
        }
    }
    assert!(effects.values().all(|&times| times == 1), "each takes effect once");
    assert_eq!(done + failed.len(), (nodes * (nodes - 1)) as usize, "each is done or has failed");
    (end, failed, netsim)
}

const TREE: &str = "type = \"fat-tree\", down = [4, 4], up = [4]";

/// Returns the number of bytes that a router has sent to other routers.
fn forwarded(netsim: &mut Netsim, router: u32) -> u64 {
    let statistics = netsim.statistics();
    let between = |link: &&LinkStatistics| link.from == LinkEnd::Router(router) && matches!(link.to, LinkEnd::Router(_));
    statistics.links.iter().filter(between).map(|link| link.bytes).sum()
}

/// What a failed spine held or was about to receive is lost and sent again; once the leaf routers know, all other spines carry the traffic, with
/// traffic classes as well.
#[test]
fn an_all_to_all_outlives_a_failed_spine() {
    let spine = "failure = [{ router = 4, at_ns = 50000, detection_ns = 20000 }]";
    let classes = "class = [{ name = \"control\", kinds = [\"control\"], priority = 1 }, { name = \"rest\" }]";
    let adaptive = format!("{TREE}, routes = \"adaptive\"");
    for (tree, classes) in
        [(TREE, ""), (TREE, classes), (&format!("{TREE}, routes = \"random\""), ""), (&adaptive, ""), (&adaptive, classes)]
    {
        let (before, failed, mut without) = all_to_all(tree, 16, classes);
        assert!(failed.is_empty());
        let (after, failed, mut with) = all_to_all(tree, 16, &format!("{classes}\n{spine}"));
        let statistics = with.statistics();
        println!("{tree} {classes}: {before} ps without, {after} ps with a failed spine, {} packets lost", statistics.drops);
        assert!(failed.is_empty(), "{failed:?}");
        assert!(statistics.drops > 0 && statistics.retries > 0 && after > before);
        assert!(forwarded(&mut with, 4) < forwarded(&mut without, 4) / 3, "it fails after less than a third of the time");
        let lost_links: Vec<_> =
            with.statistics().links.into_iter().filter(|link| link.to == LinkEnd::Router(4)).map(|link| link.bytes).collect();
        // At 1 GB/s, the leaf routers send until they know, and what waits for the link then.
        assert!(lost_links.iter().all(|&bytes| bytes < 80_000), "{lost_links:?}");
    }
}

/// The nodes of a failed leaf router cannot be reached, and cannot reach each other; all others do not notice.
#[test]
fn a_failed_leaf_router_fails_the_operations_of_its_nodes() {
    let (_, failed, mut netsim) = all_to_all(TREE, 16, "failure = [{ router = 1, at_ns = 50000, detection_ns = 20000 }]");
    let is_attached = |node: u64| node / 4 == 1;
    let is_cut_off = |token: &u64| is_attached(token / 16) || is_attached(token % 16);
    assert!(failed.iter().all(is_cut_off), "{failed:?}");
    // After 50 us of 300 us, few of the 12 operations from and the 12 to each of the four nodes are over, and few of the 12 between them.
    assert!(failed.len() > 80 && failed.len() <= 108, "{}", failed.len());
    let within = failed.iter().filter(|&token| is_attached(token / 16) && is_attached(token % 16)).count();
    assert!(within > 0, "they share the router");
    assert!(forwarded(&mut netsim, 1) < 4 * 70_000);
    // It comes back before the retries are exhausted.
    let back = "failure = [{ router = 1, at_ns = 50000, until_ns = 200000, detection_ns = 20000 }]";
    let (_, failed, mut netsim) = all_to_all(TREE, 16, back);
    assert!(failed.is_empty(), "{failed:?}");
    assert!(netsim.statistics().drops > 0 && forwarded(&mut netsim, 1) >= 48 * 20_000);
}

/// Two planes, each a tree of four leaf routers and one spine: those of the second plane have the numbers 5 to 9. If its spine fails, or a leaf
/// router, the NICs send over the other plane.
#[test]
fn an_all_to_all_outlives_a_failed_plane() {
    let tree = "type = \"fat-tree\", down = [4, 4], up = [1]";
    for spread in ["operation", "pair", "flowlet", "packet"] {
        let of = |failure: &str| all_to_all_by(spread, tree, 16, &format!("planes = 2\n{failure}"));
        let (before, failed, mut without) = of("");
        assert!(failed.is_empty());
        for router in [9, 6] {
            let failure = format!("failure = [{{ router = {router}, at_ns = 50000, detection_ns = 20000 }}]");
            let (after, failed, mut with) = of(&failure);
            let statistics = with.statistics();
            println!("{spread}: {before} ps without, {after} ps with failed router {router}, {} packets lost", statistics.drops);
            assert!(failed.is_empty(), "{failed:?}");
            assert!(statistics.drops > 0 && after > before);
            assert!(forwarded(&mut with, router) < forwarded(&mut without, router) / 2, "it is not used to the end");
        }
        // A node whose leaf routers fail in both planes cannot be reached.
        let (_, failed, _) = of("failure = [{ router = 1, at_ns = 50000 }, { router = 6, at_ns = 50000 }]");
        assert!(!failed.is_empty());
        // If no router or NIC knows, operations fail, too.
        let (_, failed, _) = of("failure = [{ router = 9, at_ns = 50000, detection_ns = 1e9 }]");
        assert!(!failed.is_empty());
    }
    let refusal = |failure: &str| {
        let rail = format!("[[rail]]\nplanes = 2\nfailure = [{{ {failure}, at_ns = 5 }}]");
        Netsim::new(&Machine::parse(&roce("").replace("[[rail]]", &rail)).unwrap(), 9, 1).err().unwrap().to_string()
    };
    let numbers = "no such router with links; the routers have the numbers 0 to 1";
    assert_eq!(refusal("router = 2"), format!("rail.failure.router = 2: {numbers}"));
    assert_eq!(refusal("link = [0, 1]"), "rail.failure.link = [0, 1]: no link connects these routers");
}

/// Zhao et al., *Insights into DeepSeek-V3*, ISCA 2025: a NIC with several ports must accept the packets of an operation out of order.
#[test]
fn packets_that_overtake_each_other_in_other_planes_are_not_sent_again() {
    let lossy = "planes = 4\nfailure = [{ router = 4, at_ns = 1e9 }]";
    let (end, failed, mut netsim) = all_to_all_by("packet", TREE, 16, lossy);
    let statistics = netsim.statistics();
    let (lossless, ..) = all_to_all_by("packet", TREE, 16, "planes = 4");
    println!("four planes: {lossless} ps without losses, {end} ps where some are possible, {} retries", statistics.retries);
    assert!(failed.is_empty());
    assert_eq!((statistics.drops, statistics.retries), (0, 0));
}

/// Where each output of a router has its own queue, packets that stay in a ring leave in the order in which they came.
#[test]
fn packets_that_stay_in_a_ring_keep_their_order() {
    let ring = lossy_rail("operation", "type = \"ring\", deadlock = \"bubble\"", "").replace("vcs = 3", "vcs = 1");
    let pauses = ring.replace("buffer_bytes", "pfc = { xoff_bytes = 4000, xon_bytes = 2000 }, buffer_bytes");
    for machine in [ring.replace("infiniband-rc", "ethernet"), pauses] {
        let mut netsim = Netsim::new(&Machine::parse(&machine).unwrap(), 8, 1).unwrap();
        // The puts of node 0 take less time than a packet of node 1, behind which they wait at its router.
        (0..15).for_each(|token| netsim.post(0, NetworkOperation::Put { from: 0, to: 3, bytes: 50 }, token));
        netsim.post(1, NetworkOperation::Put { from: 1, to: 3, bytes: 20_000 }, 15);
        let is_effect = |notice| if let Notice::Effect { token } = notice { Some(token) } else { None };
        let effects: Vec<u64> = std::iter::from_fn(|| netsim.next()).filter_map(is_effect).collect();
        assert_eq!(effects, (0..16).collect::<Vec<_>>());
        assert_eq!(netsim.statistics().drops, 0);
    }
}

/// Before a link fails, the times are those of a network without failures, also where packets of an operation take several routes or virtual channels
/// and overtake each other.
#[test]
fn a_failure_to_come_changes_no_time() {
    let dragonfly =
        "type = \"dragonfly\", nodes_per_router = 2, routers_per_group = 2, global_links_per_router = 2, routes = \"ugal-l\"";
    for (spread, topology) in [
        ("operation", TREE),
        ("operation", "type = \"fat-tree\", down = [4, 4], up = [4], routes = \"adaptive\""),
        ("packet", "type = \"fat-tree\", down = [4, 4], up = [4], routes = \"random\""),
        ("packet", "type = \"mesh\", dimensions = [4, 4]"),
        ("operation", dragonfly),
        ("operation", "type = \"hyperx\", dimensions = [4], nodes_per_router = 4, routes = \"ugal-l\""),
    ] {
        let link = if topology.contains("mesh") || topology.contains("hyperx") { "[0, 1]" } else { "[0, 4]" };
        // What waits long is not repeated either.
        let patient = |failure: &str| lossy_rail(spread, topology, failure).replace("timeout_ns = 100000", "timeout_ns = 1e8");
        let (without, ..) = all_to_all_on(&patient(""), 16);
        let (end, failed, mut with) = all_to_all_on(&patient(&format!("failure = [{{ link = {link}, at_ns = 1e9 }}]")), 16);
        let statistics = with.statistics();
        assert_eq!((end, failed.len(), statistics.drops, statistics.retries), (without, 0, 0, 0), "{spread}, {topology}");
    }
}

/// A packet between two routers of a group whose link has failed takes two other links of the group, which costs a router and a cable in each direction.
#[test]
fn a_failed_link_within_a_group_of_a_dragonfly_is_avoided() {
    let dragonfly =
        "type = \"dragonfly\", nodes_per_router = 1, routers_per_group = 4, global_links_per_router = 1, routes = \"ugal-l\"";
    let done = |failure: &str| {
        let mut netsim = Netsim::new(&Machine::parse(&lossy_rail("operation", dragonfly, failure)).unwrap(), 12, 1).unwrap();
        netsim.post(0, NetworkOperation::Put { from: 0, to: 2, bytes: 20_000 }, 1);
        let is_done = std::iter::from_fn(|| netsim.next()).any(|notice| matches!(notice, Notice::Done { .. }));
        (is_done, netsim.now().as_picoseconds())
    };
    let (_, direct) = done("");
    // The three stages and the switch of a router, and the cable.
    let further = 2 * (3 * 1_000 + 10_000 + 10_000);
    assert_eq!(done("failure = [{ link = [0, 2], at_ns = 0 }]"), (true, direct + further));
}

/// Three of the 32 links up of a leaf router are left. The first router tries 16 random routes, all of which a packet and its answer may find broken;
/// a repetition tries others.
#[test]
fn repetitions_try_other_routes_around_failures() {
    let failures: Vec<_> = (2..31).map(|spine| format!("{{ link = [0, {spine}], at_ns = 0 }}")).collect();
    let failures = format!("failure = [{}]", failures.join(", "));
    let (_, failed, mut netsim) = all_to_all("type = \"fat-tree\", down = [2, 2], up = [32]", 4, &failures);
    assert!(failed.is_empty(), "{failed:?}");
    assert!(netsim.statistics().retries > 0, "the first routes were broken");
}

#[test]
fn a_failure_names_links_or_a_router_of_the_network() {
    let refusal = |failure: &str| {
        let machine =
            Machine::parse(&roce("").replace("[rail.topology]", &format!("[[rail.failure]]\n{failure}\n[rail.topology]")));
        machine.and_then(|machine| Netsim::new(&machine, 9, 1)).err().unwrap().to_string()
    };
    let either = "rail.failure: each needs either link = [router, router] or router = NUMBER";
    assert_eq!(refusal("at_ns = 5"), either);
    assert_eq!(refusal("router = 0\nlink = [0, 1]\nat_ns = 5"), either);
    assert_eq!(
        refusal("router = 1\nat_ns = 5"),
        "rail.failure.router = 1: no such router with links; the routers have the numbers 0 to 0"
    );
}

/// Packets that are sent over a failed link are lost and sent again, by another route once the first routers know of the failure; if they never do, or
/// there is no other route, operations fail. Domke, Hoefler, Matsuoka: *Fail-in-Place Network Design*, SC 2014, sections 3 and 5: rerouting keeps all
/// pairs connected, at the loss of the bandwidth of the link.
#[test]
fn an_all_to_all_outlives_a_failed_link_by_other_routes() {
    let failure = |detection: &str| format!("failure = [{{ link = [0, 4], at_ns = 50000, {detection} }}]");
    let known = failure("detection_ns = 20000");
    for (topology, nodes) in [
        ("type = \"fat-tree\", down = [4, 4], up = [4]", 16),
        ("type = \"fat-tree\", down = [4, 4], up = [4], routes = \"adaptive\"", 16),
        (
            "type = \"dragonfly-plus\", nodes_per_router = 2, leaves_per_group = 2, spines_per_group = 2, global_links_per_spine = 2",
            10,
        ),
        ("type = \"hyperx\", dimensions = [5], nodes_per_router = 2, routes = \"ugal-l\"", 10),
        (
            "type = \"dragonfly\", nodes_per_router = 1, routers_per_group = 2, global_links_per_router = 2, routes = \"ugal-l\"",
            10,
        ),
    ] {
        let (before, failed, mut netsim) = all_to_all(topology, nodes, "");
        assert_eq!((failed.len(), netsim.statistics().drops), (0, 0));
        let link_of = |netsim: &mut Netsim| {
            let statistics = netsim.statistics();
            let ends = |end| matches!(end, LinkEnd::Router(0));
            let to = if nodes == 16 { 4 } else { 2 };
            statistics.links.iter().find(|link| ends(link.from) && link.to == LinkEnd::Router(to)).unwrap().bytes
        };
        let known = if nodes == 16 { known.clone() } else { known.replace("[0, 4]", "[0, 2]") };
        let (after, failed, mut with) = all_to_all(topology, nodes, &known);
        let statistics = with.statistics();
        println!("{topology}: {before} ps without, {after} ps with a failed link, {} packets lost", statistics.drops);
        assert!(failed.is_empty());
        assert!(statistics.drops > 0 && statistics.retries > 0 && after > before, "{statistics:?}");
        assert!(link_of(&mut with) < link_of(&mut netsim), "the link is not used to the end");
    }
    let (_, failed, _) = all_to_all(TREE, 16, &failure("detection_ns = 1e9"));
    assert!(!failed.is_empty(), "nobody knows");
    let (_, failed, _) = all_to_all(TREE, 16, &failure("detection_ns = 1e9, until_ns = 200000"));
    assert!(failed.is_empty(), "it works again");
    let (_, failed, _) = all_to_all("type = \"mesh\", dimensions = [4, 4]", 16, &known);
    assert!(!failed.is_empty(), "a mesh has one route");
    let wrong = format!(
        "{}\n[[rail.failure]]\nlink = [0, 7]\nat_ns = 0",
        roce("").replace("[rail.topology]\ntype = \"star\"", "[rail.topology]\ntype = \"ring\"\n")
    );
    let error =
        Netsim::new(&Machine::parse(&wrong.replace("buffer_bytes", "vcs = 2\nbuffer_bytes")).unwrap(), 9, 1).err().unwrap();
    assert_eq!(error.to_string(), "rail.failure.link = [0, 7]: no link connects these routers");
}
