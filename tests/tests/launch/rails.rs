//! Messages, faces and collectives of paper B over two networks, as in docs/evaluation/rails.md.

use std::collections::HashMap;

use serde_json::Value;

use crate::run;

/// Microseconds by policy, for each operation, number of ranks and number of bytes.
type Times = HashMap<(String, u64, u64), HashMap<String, f64>>;

fn committed() -> Times {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/evaluation/rails-baseline.jsonl");
    let mut times = Times::new();
    for line in std::fs::read_to_string(path).unwrap().lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        let key = (row["operation"].as_str().unwrap().to_owned(), row["ranks"].as_u64().unwrap(), row["bytes"].as_u64().unwrap());
        let policy = row["policy"].as_str().unwrap().to_owned();
        assert!(times.entry(key).or_default().insert(policy, row["us"].as_f64().unwrap()).is_none(), "twice: {line}");
    }
    times
}

/// Returns the largest speedup of the hybrid over MVAPICH2, the sizes at which it is slower, and the number of measured sizes.
fn hybrid(times: &Times, operation: &str, ranks: u64) -> (f64, Vec<u64>, usize) {
    let rows = times.iter().filter(|((name, size, _), _)| name == operation && *size == ranks);
    let mut ratios: Vec<_> = rows.map(|((_, _, bytes), us)| (*bytes, us["mvapich"] / us["hybrid"])).collect();
    ratios.sort_unstable_by_key(|&(bytes, _)| bytes);
    let peak = ratios.iter().map(|&(_, ratio)| ratio).fold(0.0, f64::max);
    (peak, ratios.iter().filter(|&&(_, ratio)| ratio < 1.0).map(|&(bytes, _)| bytes).collect(), ratios.len())
}

#[test]
fn the_hybrid_gains_what_its_paper_tells_and_the_plan_never_loses() {
    let times = committed();
    let dips: [(&str, u64, f64, &[u64], usize); 4] = [
        ("broadcast", 8, 1.21, &[4096, 8192, 1 << 20], 15),
        ("broadcast", 16, 1.14, &[4096, 8192, 1 << 20], 15),
        ("allgather", 8, 1.46, &[1024, 2048], 12),
        ("allgather", 16, 1.40, &[512, 1024], 12),
    ];
    for (operation, ranks, paper, slower, sizes) in dips {
        let (peak, found, measured) = hybrid(&times, operation, ranks);
        assert!((peak - paper).abs() < 0.1, "{operation} of {ranks}: {peak}, published {paper}");
        assert_eq!((found.as_slice(), measured), (slower, sizes), "{operation} of {ranks}");
    }
    for (key, us) in times {
        assert!(us["auto"] <= us["mvapich"] && us["auto"] <= us["hybrid"], "{key:?}: {us:?}");
    }
}

/// The committed rows equal the results of this library: a small message, the peaks, and a dip.
#[test]
fn what_is_committed_is_what_is_simulated() {
    const STAGING: &str = "8K:750:6.714,524280:7600:3.55,1024M:7600:6.714";
    let mvapich = ["--algorithm", "recursive-doubling", "--staging", STAGING];
    let tree = ["--algorithm", "binomial", "--piece", "4M", "--staging", STAGING];
    let halves = ["--rail", "tca,ib", "--piece", "4M", "--algorithm"];
    let placed = |ranks| match ranks {
        8 => ["--per-host", "4", "--order", "0,4,1,5,2,6,3,7"],
        _ => ["--per-host", "8", "--order", "0,8,1,9,2,10,3,11,4,12,5,13,6,14,7,15"],
    };
    let times = committed();
    for (operation, ranks, bytes) in [
        ("broadcast", 8, 16),
        ("broadcast", 16, 1 << 18),
        ("allgather", 8, 1 << 15),
        ("allgather", 16, 1 << 14),
        ("allgather", 16, 512),
    ] {
        let broadcasts = operation == "broadcast";
        let algorithm = if broadcasts { "hierarchical" } else { "recursive-doubling" };
        for (policy, machine, how) in [
            ("mvapich", "ha-pacs-host", if broadcasts { &tree[..] } else { &mvapich }.to_vec()),
            ("hybrid", "ha-pacs-tca", [&placed(ranks)[..], &halves, &[algorithm]].concat()),
        ] {
            let (size, length) = (ranks.to_string(), bytes.to_string());
            let job = [
                "sim",
                "-n",
                &size,
                "--machine",
                machine,
                "--quiet",
                "collectives",
                "--operation",
                operation,
                "--bytes",
                &length,
            ];
            let ended = run(&[&job[..], &["--memory", "64", "--apart", "--format", "json"], &how].concat());
            ended.expect(0, "");
            let row: Value = serde_json::from_str(ended.output.trim()).unwrap();
            let kept = times[&(operation.to_owned(), ranks, bytes)][policy];
            assert_eq!(row["us"].as_f64(), Some(kept), "{policy}, {operation} of {ranks}, {bytes} bytes");
        }
    }
}

/// Returns the rows of figures 4, 6, 9, 10, 14 and 15.
fn figures() -> Vec<Value> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/evaluation/rails-figures.jsonl");
    std::fs::read_to_string(path).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Returns the microseconds of the row with these values.
#[track_caller]
fn figure(rows: &[Value], values: &[(&str, Value)]) -> f64 {
    let mut found = rows.iter().filter(|row| values.iter().all(|(name, value)| row[name] == *value));
    let row = found.next().unwrap_or_else(|| panic!("no row {values:?}"));
    assert!(found.next().is_none(), "several rows {values:?}");
    row["us"].as_f64().or_else(|| row["iteration_us"].as_f64()).unwrap()
}

#[test]
fn the_rails_cross_where_the_page_says() {
    let rows = figures();
    let message = |bytes: u64, rail: &str| figure(&rows, &[("figure", 4.into()), ("bytes", bytes.into()), ("rail", rail.into())]);
    for bytes in [8, 512, 8192, 1 << 18, 1 << 19] {
        assert!(message(bytes, "tca") < message(bytes, "ib"), "published: TCA ahead up to 512 KB; {bytes} bytes");
    }
    assert!(message(1 << 22, "tca") > message(1 << 22, "ib"));
    let tca_ahead = |machine: &str, shape: &str, n: u64| {
        let face = |rail: &str| {
            let values = [("shape", shape.into()), ("n", n.into()), ("rail", rail.into()), ("machine", machine.into())];
            figure(&rows, &values)
        };
        face("tca") < face("ib")
    };
    // The published last edge length at which TCA is faster, and the first at which it is not.
    for (machine, shape, ahead, behind) in
        [("refitted", "block", 320, 384), ("refitted", "block-stride", 512, 576), ("ha-pacs-tca", "stride", 448, 512)]
    {
        assert!(tca_ahead(machine, shape, ahead) && !tca_ahead(machine, shape, behind), "{shape} on {machine}");
    }
}

/// The committed rows equal the results of this library.
#[test]
fn messages_and_faces_are_what_is_simulated() {
    let rows = figures();
    for (rail, bytes) in [("tca", 8u64), ("ib", 8), ("tca", 8192), ("ib", 8192)] {
        let job = ["sim", "-n", "2", "--machine", "ha-pacs-tca", "--quiet", "collectives", "--operation", "broadcast", "--bytes"];
        let how = ["--memory", "64", "--algorithm", "binomial", "--rail", rail, "--piece", "4M", "--apart"];
        let ended = run(&[&job[..], &[&bytes.to_string()], &how].concat());
        ended.expect(0, "");
        let us: f64 = ended.output.trim_end().rsplit(' ').next().unwrap().parse().unwrap();
        let kept = figure(&rows, &[("figure", 4.into()), ("bytes", bytes.into()), ("rail", rail.into())]);
        assert_eq!(us, kept, "{rail}, {bytes} bytes");
    }
    for rail in ["tca", "ib"] {
        let job = ["sim", "-n", "2", "--machine", "ha-pacs-tca", "--quiet", "himeno", "6x64x128", "--iterations", "10"];
        let ended = run(&[&job[..], &["--split", "2x1x1", "--no-overlap", "--rail", rail, "--method", "direct"]].concat());
        ended.expect(0, "");
        let mut words = ended.output.split_whitespace().skip_while(|word| *word != "seconds");
        let us = words.nth(1).unwrap().parse::<f64>().unwrap() / 10.0 * 1e6;
        let values = [("shape", "block".into()), ("n", 64.into()), ("rail", rail.into()), ("machine", "ha-pacs-tca".into())];
        assert!((us - figure(&rows, &values)).abs() < 0.02, "{rail}: {us}");
    }
}
