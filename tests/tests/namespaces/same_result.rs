//! Programs compute the same results for any losses and any packet size of the network.

use crate::job::{Ended, PROGRAM, run};
use crate::network::{ETHERNET_BYTES, Family, Network};

/// Result of the bundled solver on each grid, independent of the number of ranks.
const HASHES: [(&str, &str); 2] = [("XS", "3ac77ae4668a5413"), ("S", "79dc8598e66ba7bc")];

/// Hosts, and ranks on each.
const SHAPES: [(usize, u32); 2] = [(2, 2), (3, 1)];

/// Minimum packet size that every IPv6 network supports.
const LEAST_BYTES: u32 = 1280;

/// Maximum packet size of most networks (jumbo frames).
const JUMBO_BYTES: u32 = 9000;

#[test]
fn a_network_that_loses_nothing_little_or_much() {
    for (hosts, slots) in SHAPES {
        for percent in [0, 1, 10] {
            let Some(network) = Network::ordinary(hosts) else { return };
            if percent > 0 && !network.lose(percent) {
                break;
            }
            programs(&network, slots, &[]);
            assert!(percent < 10 || network.counted() > 0, "nothing was lost");
        }
    }
}

#[test]
fn every_way_of_ranks_to_reach_each_other() {
    let Some(network) = Network::ordinary(2) else { return };
    let udp = ["--transport", "udp"];
    let manual = ["--progress", "manual"];
    for percent in [0, 10] {
        if percent > 0 && !network.lose(percent) {
            return;
        }
        for options in [&udp[..], &["--encrypt"], &manual, &[&udp[..], &manual, &["--encrypt"]].concat()] {
            himeno(&network, 2, options, "XS");
            for act in ["everything", "registered", "device"] {
                run(&network, 2, options, &[PROGRAM, act]);
            }
        }
    }
}

#[test]
fn a_network_of_ipv6_alone() {
    let Some(network) = Network::of(&[ETHERNET_BYTES; 2], Family::V6) else { return };
    programs(&network, 2, &[]);
    if network.lose(10) {
        himeno(&network, 2, &["--transport", "udp"], "S");
    }
}

#[test]
fn a_network_of_large_packets_is_used() {
    let Some(network) = Network::of(&[JUMBO_BYTES; 2], Family::V4) else { return };
    let counts = (0..2).all(|host| network.filter(host, &format!("meta length > {ETHERNET_BYTES} counter")));
    programs(&network, 2, &[]);
    assert!(!counts || network.counted() > 0, "all packets were small");
}

#[test]
fn a_host_that_takes_smaller_packets_than_the_others_send() {
    for links in [[LEAST_BYTES, ETHERNET_BYTES], [JUMBO_BYTES, LEAST_BYTES]] {
        let Some(network) = Network::of(&links, Family::V4) else { return };
        programs(&network, 2, &[]);
    }
}

/// Runs the bundled programs.
fn programs(network: &Network, slots: u32, options: &[&str]) {
    ring(network, slots, options);
    HASHES.iter().for_each(|(grid, _)| drop(himeno(network, slots, options, grid)));
}

pub(crate) fn ring(network: &Network, slots: u32, options: &[&str]) {
    let ended = run(network, slots, options, &["ring"]);
    let mut lines: Vec<_> = ended.output.lines().collect();
    lines.sort();
    let ranks = network.hosts().len() * slots as usize;
    let expected: Vec<_> = (0..ranks).map(|rank| format!("rank {rank} holds {}", (rank + ranks - 1) % ranks + 1)).collect();
    assert_eq!(lines, expected);
}

pub(crate) fn himeno(network: &Network, slots: u32, options: &[&str], grid: &str) -> Ended {
    let ended = run(network, slots, options, &["himeno", grid, "--iterations", "3"]);
    let (_, hash) = HASHES.into_iter().find(|(known, _)| *known == grid).expect("a grid");
    assert_eq!(ended.field("hash"), hash, "{ended:?}");
    ended
}
