//! Latency and throughput against flit-level simulation.

mod support;

use support::{Random, machine, measure};

const TORUS: &str = "type = \"torus\"\ndimensions = [8, 8]";
const TREE: &str = "type = \"fat-tree\"\ndown = [4, 4, 4]\nup = [4, 4]\nroutes = \"random\"";

fn uniform(nodes: u32) -> impl FnMut(u32, &mut Random) -> u32 {
    move |_, random| random.below(nodes)
}

fn complement(nodes: u32) -> impl FnMut(u32, &mut Random) -> u32 {
    move |node, _| nodes - 1 - node
}

const UNIFORM_TORUS: [(f64, f64); 5] = [(0.1, 34.91), (0.2, 38.20), (0.3, 43.41), (0.4, 53.10), (0.5, 104.8)];
const COMPLEMENT_TORUS: [(f64, f64); 5] = [(0.05, 33.90), (0.1, 34.95), (0.15, 36.52), (0.2, 38.99), (0.25, 43.00)];
const UNIFORM_TREE: [(f64, f64); 4] = [(0.1, 28.93), (0.2, 32.79), (0.3, 39.56), (0.4, 53.65)];

#[test]
fn explore() {
    let window = (5_000, 30_000);
    let torus = machine(TORUS, 2, 2, 32, 8);
    for (load, golden) in UNIFORM_TORUS {
        let m = measure(&torus, 64, load, 8, window, uniform(64));
        println!("torus uniform {load}: {golden} {:.2} {:+.1} %", m.latency, 100.0 * (m.latency / golden - 1.0));
    }
    for (load, golden) in COMPLEMENT_TORUS {
        let m = measure(&torus, 64, load, 8, window, complement(64));
        println!("torus complement {load}: {golden} {:.2} {:+.1} %", m.latency, 100.0 * (m.latency / golden - 1.0));
    }
    let tree = machine(TREE, 1, 1, 32, 8);
    for (load, golden) in UNIFORM_TREE {
        let m = measure(&tree, 64, load, 8, window, uniform(64));
        println!("tree uniform {load}: {golden} {:.2} {:+.1} %", m.latency, 100.0 * (m.latency / golden - 1.0));
    }
    for load in [0.52, 0.6, 0.8, 1.0 - 1e-9] {
        println!("torus {load}: 0.511 {:.4}", measure(&torus, 64, load, 8, window, uniform(64)).throughput);
        println!("tree {load}: 0.477 {:.4}", measure(&tree, 64, load, 8, window, uniform(64)).throughput);
    }
}
