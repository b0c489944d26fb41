//! Shallow water: the same fields for every number of ranks, decomposition, method and route, on every platform. The serial run is
//! `examples/src/fields/tests.rs`: whole arrays, without this library.

use crate::{Ended, run};

/// Arguments, and the result of the serial run with them.
pub(crate) const CHANNELS: [(&[&str], &str); 3] = [
    (&["--length", "192", "--width", "128", "--steps", "20"], "2988337b8056d529"),
    (&["--length", "37", "--width", "23", "--steps", "30"], "d2bafc329198df63"),
    (&["--length", "2", "--width", "2", "--steps", "5"], "7937bf7e1ff90c38"),
];

/// Options that select the method and the route: none, and every valid selection.
const WAYS: [&[&str]; 7] = [
    &[],
    &["--method", "direct", "--route", "direct"],
    &["--method", "direct", "--route", "forwarded"],
    &["--method", "packed", "--route", "direct"],
    &["--method", "packed", "--route", "forwarded"],
    &["--method", "fetched", "--route", "direct"],
    &["--method", "fetched", "--route", "forwarded"],
];

#[test]
fn every_number_of_ranks_finds_the_fields_of_a_serial_run() {
    for ranks in 1..=12 {
        expect(&job(ranks, &[], &[CHANNELS[1].0]), CHANNELS[1].1);
    }
    for ranks in [1, 3, 8] {
        expect(&job(ranks, &[], &[CHANNELS[0].0]), CHANNELS[0].1);
    }
    expect(&job(1, &[], &[CHANNELS[2].0]), CHANNELS[2].1);
}

#[test]
fn every_split_and_way_finds_them_on_mapped_memory() {
    let (arguments, hash) = CHANNELS[1];
    for (ranks, split) in [(1, "1x1"), (2, "2x1"), (2, "1x2"), (6, "3x2"), (11, "1x11"), (12, "12x1"), (16, "4x4")] {
        for way in WAYS {
            expect(&job(ranks, &[], &[arguments, &["--split", split], way]), hash);
        }
    }
}

#[test]
fn every_way_finds_them_over_the_network() {
    let (arguments, hash) = CHANNELS[1];
    for (ranks, split) in [(2, "2x1"), (4, "2x2"), (5, "1x5")] {
        for way in WAYS {
            expect(&job(ranks, &["--transport", "udp"], &[arguments, &["--split", split], way]), hash);
        }
    }
}

#[test]
fn every_way_finds_them_on_a_simulated_machine() {
    let (arguments, hash) = CHANNELS[1];
    for (ranks, split, per_node) in [("4", "2x2", "1"), ("6", "3x2", "2"), ("5", "1x5", "1")] {
        for way in WAYS {
            let sim =
                ["sim", "--machine", "rx200-qdr", "--quiet", "-n", ranks, "--per-node", per_node, "fields", "--split", split];
            expect(&run(&[&sim[..], arguments, way].concat()), hash);
        }
    }
    let lossy = ["sim", "--machine", "rx200-qdr", "--quiet", "-n", "4", "--faults", "loss=0.1,duplicate=0.05,delay=0.1:50us"];
    expect(&run(&[&lossy[..], &["--seed", "3", "fields"], arguments].concat()), hash);
}

#[test]
fn the_choice_is_explained() {
    let explained = job(4, &[], &[CHANNELS[1].0, &["--split", "2x2", "--explain"]]);
    let lines: Vec<_> = explained.output.lines().collect();
    for route in ["route direct", "route forwarded"] {
        assert!(
            lines.iter().any(|line| line.starts_with(route) && (line.contains("chosen:") || line.contains("rejected:"))),
            "{explained:?}"
        );
    }
    // Rank 1 is a neighbour on both sides, as the channel is periodic.
    for step in ["rank 1 at (+0 +1)", "rank 1 at (+0 -1)", "rank 2 at (+1 +0)"] {
        let at = lines.iter().position(|line| line.starts_with(step)).unwrap_or_else(|| panic!("{step}: {explained:?}"));
        let ways = [1, 2, 3].map(|line| lines[at + line].trim_start());
        assert!(ways.iter().zip(["direct", "packed", "fetched"]).all(|(line, way)| line.starts_with(way)), "{explained:?}");
        assert_eq!(ways.iter().filter(|line| line.contains("chosen:")).count(), 1, "{explained:?}");
    }
}

fn job(ranks: u32, options: &[&str], arguments: &[&[&str]]) -> Ended {
    let ranks = ranks.to_string();
    run(&[&["run", "-n", &ranks][..], options, &["fields"], &arguments.concat()].concat())
}

#[track_caller]
pub(crate) fn expect(ended: &Ended, hash: &str) {
    ended.expect(0, "");
    assert!(ended.output.lines().any(|line| line.split_whitespace().eq(["hash", hash])), "{ended:?}");
}
