//! Measures the speed of the simulator under random traffic: `cargo run --release -p pelago-netsim --example speed`.

use pelago_netsim::Netsim;
use pelago_test_support::traffic::{Traffic, machine};

/// Returns the CPU seconds of this process, which other processes of the machine disturb less than elapsed time.
fn busy() -> f64 {
    let schedstat = std::fs::read_to_string("/proc/self/schedstat").expect("Linux tells how long a process has run");
    schedstat.split(' ').next().and_then(|nanoseconds| nanoseconds.parse::<f64>().ok()).expect("it is a number") / 1e9
}

fn main() {
    let cases = [
        ("torus 8x8x8", "type = \"torus\"\ndimensions = [8, 8, 8]", 2, 512, 0.3, 60_000),
        ("fat tree 8, 3 levels", "type = \"fat-tree\"\ndown = [8, 8, 8]\nup = [8, 8]", 1, 512, 0.3, 60_000),
        ("torus 16x16x16", "type = \"torus\"\ndimensions = [16, 16, 16]", 2, 4_096, 0.2, 10_000),
        ("fat tree 16, 3 levels", "type = \"fat-tree\"\ndown = [16, 16, 16]\nup = [16, 16]", 1, 4_096, 0.3, 10_000),
    ];
    println!("network                 nodes  load  router Mhop/s  link Mhop/s  Mevent/s  events per router hop");
    for (name, topology, vcs, nodes, load, cycles) in cases {
        let mut netsim = Netsim::new(&machine(topology, 1, vcs, 64, 16), nodes, 1).expect("the case is sound");
        let mut traffic = Traffic::new(&mut netsim, load, 16);
        let start = busy();
        traffic.run(&mut netsim, cycles, |_, random| random.u32(..nodes), |_, _, _| {});
        let seconds = busy() - start;
        let counted = netsim.statistics();
        let crossed = counted.packet_hops - counted.packets;
        println!(
            "{name:22} {nodes:6} {load:5} {:14.2} {:12.2} {:9.2} {:22.2}",
            crossed as f64 / seconds / 1e6,
            counted.packet_hops as f64 / seconds / 1e6,
            counted.events as f64 / seconds / 1e6,
            counted.events as f64 / crossed as f64
        );
    }
}
