//! Latency and throughput, compared with a flit-level simulator and with queueing theory.
//!
//! The flit-level figures were made with BookSim 2 (commit 28f4329): input-queued routers that hold the switch for a packet
//! (`hold_switch_for_packet = 1`, `wait_for_tail_credit = 0`), one cycle each for allocating a virtual channel, for allocating
//! the switch and for passing it, `credit_delay = 2`, no speed-up; links of two cycles in the torus and of one in the tree and the mesh; 32
//! flits of buffer per virtual channel unless a case states another size, packets of eight flits. In BookSim a packet to its own node crosses the
//! router of that node; here it stays within the node, so that its latency, which is that of a packet in an idle network, is added. Latency is from
//! generation to the arrival of the last flit, in cycles; load and throughput are in flits per node and cycle. All cases are simulated with the same
//! parameters, which are those of the routers.

use pelago_test_support::traffic::{Measured, Rng, machine, measure};

const TORUS: &str = "type = \"torus\"\ndimensions = [8, 8]";
const MESH: &str = "type = \"mesh\"\ndimensions = [8, 8]";
const TREE: &str = "type = \"fat-tree\"\ndown = [4, 4, 4]\nup = [4, 4]\nroutes = \"random\"";
const NODES: u32 = 64;
const FLITS: u32 = 8;

/// Load and latency.
const TORUS_UNIFORM: [(f64, f64); 4] = [(0.1, 34.91), (0.2, 38.20), (0.3, 43.41), (0.4, 53.10)];
const TORUS_COMPLEMENT: [(f64, f64); 5] = [(0.05, 33.90), (0.1, 34.95), (0.15, 36.52), (0.2, 38.99), (0.25, 43.00)];
const TREE_UNIFORM: [(f64, f64); 4] = [(0.1, 28.93), (0.2, 32.79), (0.3, 39.56), (0.4, 53.65)];
/// Saturation throughput of uniform traffic.
const TORUS_SATURATION: f64 = 0.511;
const TREE_SATURATION: f64 = 0.477;

type Pattern = fn(u32, &mut Rng) -> u32;

/// A name, a topology, cycles of a link, virtual channels, flits of buffer, the traffic pattern, and loads with their latencies.
type Case = (&'static str, &'static str, u32, u8, u32, Pattern, &'static [(f64, f64)]);

/// Further cases.
const MORE: &[Case] = &[
    ("torus, buffer 8", TORUS, 2, 2, 8, uniform, &[(0.1, 35.56), (0.2, 39.85)]),
    ("torus, buffer 16", TORUS, 2, 2, 16, uniform, &[(0.1, 35.04), (0.2, 38.37), (0.3, 44.17)]),
    ("torus, transpose", TORUS, 2, 2, 32, transpose, &[(0.1, 36.05)]),
    ("torus, bitrev", TORUS, 2, 2, 32, reversal, &[(0.1, 37.62)]),
    ("torus, tornado", TORUS, 2, 2, 32, tornado, &[(0.1, 51.34)]),
    ("torus, neighbour", TORUS, 2, 2, 32, neighbour, &[(0.1, 23.52), (0.2, 24.16)]),
    ("torus, 4 VC", TORUS, 2, 4, 32, uniform, &[(0.2, 37.43), (0.4, 48.09), (0.5, 59.58)]),
    ("tree, 4 VC", TREE, 1, 4, 32, uniform, &[(0.2, 30.98), (0.3, 35.01)]),
    ("tree, 2 VC, 16", TREE, 1, 2, 16, uniform, &[(0.2, 30.96)]),
    ("mesh", MESH, 1, 2, 32, uniform, &[(0.1, 36.60), (0.2, 41.65)]),
];

/// Cycles of a packet from a node to itself over its router: two links of one cycle each, three stages, and the packet.
const ALONE: f64 = 2.0 + 3.0 + FLITS as f64;

/// The part of packets that go to their own node.
fn own(pattern: Pattern) -> f64 {
    let mut random = Rng::with_seed(1);
    let rounds = 1000;
    let own = (0..rounds * NODES).filter(|number| pattern(number % NODES, &mut random) == number % NODES).count();
    own as f64 / f64::from(rounds * NODES)
}

fn transpose(node: u32, _: &mut Rng) -> u32 {
    node % 8 * 8 + node / 8
}

fn reversal(node: u32, _: &mut Rng) -> u32 {
    node.reverse_bits() >> 26
}

/// Tornado traffic: the target is just less than half of the ring away in each dimension.
fn tornado(node: u32, _: &mut Rng) -> u32 {
    (node / 8 + 3) % 8 * 8 + (node % 8 + 3) % 8
}

fn neighbour(node: u32, _: &mut Rng) -> u32 {
    (node / 8 + 1) % 8 * 8 + (node % 8 + 1) % 8
}

fn torus(load: f64, window: (u64, u64), target: impl FnMut(u32, &mut Rng) -> u32) -> Measured {
    measure(&machine(TORUS, 2, 2, 32, FLITS), NODES, load, FLITS, window, target, |_| true)
}

fn tree(load: f64, window: (u64, u64), target: impl FnMut(u32, &mut Rng) -> u32) -> Measured {
    measure(&machine(TREE, 1, 1, 32, FLITS), NODES, load, FLITS, window, target, |_| true)
}

fn uniform(_: u32, random: &mut Rng) -> u32 {
    random.u32(..NODES)
}

fn complement(node: u32, _: &mut Rng) -> u32 {
    NODES - 1 - node
}

const WINDOW: (u64, u64) = (5_000, 40_000);

#[test]
fn latencies_are_those_of_flits() {
    let mut errors = Vec::new();
    let mut compare = |case: &str, load: f64, golden: f64, measured: Measured, pattern: Pattern| {
        let latency = measured.latency + own(pattern) * ALONE;
        let error = latency / golden - 1.0;
        println!("{case:17} load {load:4}: {golden:6.2} flit by flit, {latency:6.2} here, {:+.1} %", 100.0 * error);
        errors.push(error.abs());
    };
    for (load, golden) in TORUS_UNIFORM {
        compare("torus, uniform", load, golden, torus(load, WINDOW, uniform), uniform);
    }
    for (load, golden) in TORUS_COMPLEMENT {
        compare("torus, complement", load, golden, torus(load, WINDOW, complement), complement);
    }
    for (load, golden) in TREE_UNIFORM {
        compare("tree, uniform", load, golden, tree(load, WINDOW, uniform), uniform);
    }
    for (case, topology, cable, vcs, buffer, pattern, rows) in MORE {
        let pattern = *pattern;
        for &(load, golden) in *rows {
            let machine = machine(topology, *cable, *vcs, *buffer, FLITS);
            compare(case, load, golden, measure(&machine, NODES, load, FLITS, WINDOW, pattern, |_| true), pattern);
        }
    }
    let mean = errors.iter().sum::<f64>() / errors.len() as f64;
    let worst = errors.iter().copied().fold(0.0, f64::max);
    println!("mean error {:.2} %, worst {:.2} %", 100.0 * mean, 100.0 * worst);
    assert!(mean <= 0.015 && worst <= 0.05);
}

#[test]
fn saturation_is_that_of_flits() {
    // Saturation is measured at loads just beyond it, where additional load does not get through.
    let loads = [0.52, 0.54];
    let most = |measure: &dyn Fn(f64) -> Measured| loads.iter().map(|&load| measure(load).throughput).fold(0.0, f64::max);
    for (case, golden, here) in [
        ("torus", TORUS_SATURATION, most(&|load| torus(load, WINDOW, uniform))),
        ("tree", TREE_SATURATION, most(&|load| tree(load, WINDOW, uniform))),
    ] {
        let error = here / golden - 1.0;
        println!("{case}: saturates at {golden} flit by flit, at {here:.4} here, {:+.1} %", 100.0 * error);
        assert!(error.abs() <= 0.03);
    }
}

/// Packets of many sources meet at one link: their waiting time is that of M/D/1, `ρS / 2(1 − ρ)`.
#[test]
fn packets_wait_at_a_link_as_queueing_theory_says() {
    let (sources, flits) = (128, 64);
    let star = machine("type = \"star\"", 1, 2, 1 << 20, flits);
    // Two links of one cycle, three cycles in the router, the packet itself.
    let alone = f64::from(2 + 3 + flits);
    for utilization in [0.3, 0.5, 0.7, 0.8] {
        let load = utilization / f64::from(sources);
        let measured = measure(&star, sources + 1, load, flits, (100_000, 20_000_000), |_, _| 0, |node| node > 0);
        let service = f64::from(flits);
        let expected = utilization * service / (2.0 * (1.0 - utilization));
        let waited = measured.latency - alone;
        println!("utilization {utilization}: {expected:.2} expected, {waited:.2} waited");
        assert!((waited / expected - 1.0).abs() < 0.03, "{waited} for {expected}");
    }
}

/// Nodes that all send to one node fill the buffers on the way, and delay nodes that send elsewhere.
#[test]
fn a_hot_spot_saturates_the_tree() {
    let hot = |node: u32| node % 4 == 1;
    let innocent = |load_to_hot: f64| {
        let target = move |node: u32, random: &mut Rng| {
            if hot(node) && random.f64() < load_to_hot { 0 } else { 1 + random.u32(..NODES - 1) }
        };
        measure(&machine(TREE, 1, 1, 32, FLITS), NODES, 0.3, FLITS, (20_000, 40_000), target, |node| !hot(node)).throughput
    };
    let (before, little, much) = (innocent(0.0), innocent(0.1), innocent(1.0));
    println!("innocent throughput: {before:.3} without, {little:.3} with a mild, {much:.3} with a hot spot");
    // Sixteen nodes of load 0.3: the last link can carry a tenth of that, but not all of it.
    assert!(little > 0.97 * before, "{little} of {before}");
    assert!(much < 0.7 * before, "{much} of {before}");
}
