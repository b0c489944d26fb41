//! Barriers and particle exchange of paper D, as in docs/evaluation/synchronization.md.

use serde_json::Value;

use crate::run;

fn committed() -> Vec<Value> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/evaluation/synchronization.jsonl");
    std::fs::read_to_string(path).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Returns the microseconds of a barrier.
fn barrier(rows: &[Value], algorithm: &str, overhead_ns: u64, ranks: u64) -> f64 {
    let of = |row: &&Value| row["algorithm"] == algorithm && row["overhead_ns"] == overhead_ns && row["ranks"] == ranks;
    rows.iter()
        .find(of)
        .and_then(|row| row["us"].as_f64())
        .unwrap_or_else(|| panic!("{algorithm}, {overhead_ns} ns, {ranks} ranks"))
}

/// Returns the milliseconds of the slowest rank on the simulated machine.
fn exchange(rows: &[Value], seed: u64, sync: &str, count_ns: f64) -> f64 {
    let of = |row: &&Value| {
        row["machine"] == "rx200-qdr"
            && row["seed"] == seed
            && row["sync"] == sync
            && row["costs_ns"][0].as_f64() == Some(count_ns)
    };
    rows.iter().find(of).and_then(|row| row["total_ms"][0].as_f64()).unwrap_or_else(|| panic!("seed {seed}, {sync}"))
}

#[test]
fn barriers_have_the_orders_that_the_paper_states() {
    let rows = committed();
    for overhead in [0, 800, 1000, 1200] {
        for ranks in (4..=32).step_by(2) {
            let [ring, doubling] = ["ring", "recursive-doubling"].map(|algorithm| barrier(&rows, algorithm, overhead, ranks));
            assert!(ranks <= 8 || doubling < ring, "{overhead} ns, {ranks} ranks: {doubling} and {ring}");
        }
        for power in [8, 16] {
            let doubling = |ranks| barrier(&rows, "recursive-doubling", overhead, ranks);
            assert!(doubling(power) < doubling(power + 2), "{overhead} ns: {power} ranks");
        }
    }
    for ranks in (4..=32).step_by(2) {
        for algorithm in ["ring", "recursive-doubling"] {
            let times = [0, 800, 1000, 1200].map(|overhead| barrier(&rows, algorithm, overhead, ranks));
            assert!(times.is_sorted() && times[0] < times[1], "{algorithm}, {ranks} ranks: {times:?}");
        }
    }
}

#[test]
fn synchronization_costs_a_tenth_of_the_clustered_exchange() {
    let rows = committed();
    for seed in 1..=3 {
        let [barriers, arrivals, none] = ["barriers", "arrivals", "none"].map(|sync| exchange(&rows, seed, sync, 80.0));
        assert!(barriers > 1.1 * none && barriers > arrivals && arrivals >= none, "seed {seed}: {barriers}, {arrivals}, {none}");
    }
    // The value with barriers is fitted, the one without is predicted.
    assert!((exchange(&rows, 1, "barriers", 98.8) - 15.2).abs() < 0.05);
    assert!((exchange(&rows, 1, "none", 98.8) / 13.2 - 1.0).abs() < 0.06);
}

/// The committed rows equal the results of this library.
#[test]
fn what_is_committed_is_what_is_simulated() {
    let rows = committed();
    let machine = ["--per-node", "2", "--machine", "rx200-qdr", "--quiet", "--set", "rail.nic.overhead_ns=1000"];
    for (algorithm, ranks) in [("ring", 6), ("ring", 32), ("recursive-doubling", 6), ("recursive-doubling", 32)] {
        let ended = run(&[&["sim", "-n", &ranks.to_string()][..], &machine, &["barrier", "--algorithm", algorithm]].concat());
        ended.expect(0, "");
        let us: f64 = ended.output.trim_end().rsplit(' ').next().unwrap().parse().unwrap();
        assert_eq!(us, barrier(&rows, algorithm, 1000, ranks), "{algorithm}, {ranks} ranks");
    }
    let set =
        ["--clusters", "plummer", "--side", "32", "--dt", "0.3", "--domains", "curve", "--balance", "work", "--format", "json"];
    let mut times = Vec::new();
    let mut checksums = Vec::new();
    for sync in ["barriers", "arrivals", "none"] {
        let ended = run(&[&["sim", "-n", "32"][..], &machine, &["particles", "--sync", sync], &set].concat());
        ended.expect(0, "");
        let row: Value = serde_json::from_str(ended.output.trim()).unwrap();
        times.push(row["total_ms"][0].as_f64().unwrap());
        checksums.push(row["checksum"].clone());
        assert_eq!(row["each"].as_array().unwrap().len(), 32);
    }
    assert!(times[0] > times[1] && times[1] >= times[2], "{times:?}");
    assert!(checksums.iter().all(|checksum| *checksum == checksums[0]), "every particle arrives, whoever waits: {checksums:?}");
}
