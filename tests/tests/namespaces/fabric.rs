//! Jobs whose hosts reach each other by libfabric, over sockets: ranks find each other by datagrams, compute the same results, and end in the same way.

use rustix::process::Signal;

use crate::job::{PROGRAM, Running, pelago, run};
use crate::network::{ETHERNET_BYTES, Family, Network};
use crate::same_result::{himeno, ring};

/// Options of a job over sockets by libfabric.
const TCP: [&str; 4] = ["--transport", "ofi", "--fabric", "tcp;ofi_rxm"];

/// Whether libfabric is installed; writes a line if not.
fn is_installed() -> bool {
    let missing = ::pelago::fabric_library().err();
    missing.iter().for_each(|why| eprintln!("not tested: {why}"));
    missing.is_none()
}

#[test]
fn programs_compute_the_same_by_a_fabric_between_hosts() {
    if !is_installed() {
        return;
    }
    for (hosts, slots) in [(2, 2), (3, 1), (2, 3)] {
        let Some(network) = Network::ordinary(hosts) else { return };
        ring(&network, slots, &TCP);
        himeno(&network, slots, &TCP, "XS");
        let ranks = hosts * slots as usize;
        let counter = run(&network, slots, &TCP, &["counter", "--turns", "20"]);
        assert!(counter.output.starts_with(&format!("counter ranks {ranks} ")), "{counter:?}");
        for act in ["everything", "registered", "device", "wake"] {
            run(&network, slots, &TCP, &[PROGRAM, act]);
        }
    }
}

#[test]
fn memory_is_not_reached_by_datagrams() {
    let Some(network) = Network::ordinary(2).filter(|_| is_installed()) else { return };
    // Only datagrams with a face of the solver's cube have more than 1000 bytes, but not those with the record of an endpoint.
    let counts = (0..2).all(|host| network.filter(host, "udp length > 1000 counter"));
    himeno(&network, 2, &TCP, "S");
    assert_eq!(network.counted(), 0);
    himeno(&network, 2, &[], "S");
    assert!(!counts || network.counted() > 0, "without a fabric");
}

#[test]
fn a_fabric_that_a_host_does_not_have_is_a_line() {
    let Some(network) = Network::ordinary(2).filter(|_| is_installed()) else { return };
    let options = ["--transport", "ofi", "--fabric", "tcp;ofi_rxm:nosuch"];
    let output = pelago(&network, 1, &options, &["ring"]).output().expect("the command under test");
    let error = String::from_utf8(output.stderr).expect("text");
    // The ranks report the error, because the launcher's host may have other fabrics than theirs.
    assert!(output.status.code() == Some(1) && error.contains("libfabric knows no fabric for tcp;ofi_rxm:nosuch"), "{error}");
}

/// The faces of the solver's cube are transferred over both networks at once, or over the named one.
#[test]
fn interfaces_that_are_named_are_rails() {
    let Some(network) = Network::ordinary(2).filter(|_| is_installed()) else { return };
    network.double();
    let options = ["--transport", "ofi", "--fabric", "tcp;ofi_rxm:net,tcp;ofi_rxm:other"];
    let solve = |rail: &str| {
        let before = ["net", "other"].map(|interface| network.received(interface));
        let ended = run(&network, 2, &options, &["himeno", "S", "--iterations", "20", "--rail", rail, "--explain"]);
        let names = ["tcp;ofi_rxm:net", "tcp;ofi_rxm:other"].map(|name| ended.output.contains(name));
        assert_eq!(names, [true; 2], "{ended:?}");
        let after = ["net", "other"].map(|interface| network.received(interface));
        (ended.field("hash").to_owned(), after[0] - before[0], after[1] - before[1])
    };
    let (alone, by_net, by_other) = solve("tcp;ofi_rxm:net");
    // A face of a host has 32 KiB, and each iteration transfers two.
    const FACES_BYTES: u64 = 20 * (32 << 10);
    assert!(by_net > 2 * FACES_BYTES && by_other < FACES_BYTES / 2, "{by_net} and {by_other} bytes");
    let (hash, by_net, by_other) = solve("tcp;ofi_rxm:other");
    assert!(hash == alone && by_other > 2 * FACES_BYTES && by_net < by_other, "{by_net} and {by_other} bytes");
    let (hash, by_net, by_other) = solve("all");
    assert!(hash == alone && by_net.min(by_other) > FACES_BYTES / 2, "{by_net} and {by_other} bytes");
}

#[test]
fn hosts_whose_fabrics_differ_reach_each_other_by_datagrams() {
    let Some(network) = Network::ordinary(3).filter(|_| is_installed()) else { return };
    // A third host requests copies from one host to another, and the first two have a fabric in common.
    let counts = (0..3).all(|host| network.filter(host, "udp length > 1000 counter"));
    let differing = |program: &str| {
        let fabric = "case $(ip -o address show dev net) in *.3/24*) export PELAGO_FABRIC='sockets';; esac";
        let script = format!("{fabric}; exec {program}");
        run(&network, 2, &TCP, &["sh", "-c", &script])
    };
    for act in ["everything", "registered", "device", "wake"] {
        differing(&format!("{PROGRAM} {act}"));
    }
    assert!(!counts || network.counted() > 0, "by datagrams");
}

#[test]
fn ranks_that_the_fabric_does_not_connect_reach_each_other_by_datagrams() {
    let Some(network) = Network::ordinary(2).filter(|network| is_installed() && network.refuse_streams()) else { return };
    himeno(&network, 1, &TCP, "XS");
    assert!(network.counted() > 0, "they tried to connect");
}

#[test]
fn ranks_meet_over_a_network_that_loses_datagrams() {
    let Some(network) = Network::ordinary(2).filter(|network| is_installed() && network.lose_one_of(10)) else { return };
    himeno(&network, 2, &TCP, "S");
    assert!(network.counted() > 0, "nothing was lost");
}

#[test]
fn a_network_of_ipv6_alone_has_a_fabric() {
    let Some(network) = Network::of(&[ETHERNET_BYTES; 2], Family::V6).filter(|_| is_installed()) else { return };
    himeno(&network, 1, &TCP, "XS");
}

#[test]
fn a_rank_that_is_killed_while_others_use_the_fabric() {
    let Some(network) = Network::ordinary(2).filter(|_| is_installed()) else { return };
    for (way, (rank, host)) in ["put", "get", "add", "barrier"].into_iter().zip([(0, 0), (1, 0), (2, 1), (3, 1)]) {
        let job = Running::start(&network, 2, &TCP, &[PROGRAM, "exchange", way]);
        job.signal(rank, Signal::KILL);
        let host = &network.hosts()[host];
        assert_eq!(job.end_lost(), format!("rank {rank} (host {host}) was killed by signal 9 (SIGKILL)"), "{way}");
    }
}

#[test]
fn a_host_whose_launcher_is_killed_or_that_is_unplugged_from_the_fabric() {
    if !is_installed() {
        return;
    }
    let exchange = |network: &Network, way| Running::start(network, 2, &TCP, &[PROGRAM, "exchange", way]);
    let Some(network) = Network::ordinary(2) else { return };
    let job = exchange(&network, "put");
    job.kill_host(&network, 1);
    assert_eq!(job.end_lost(), format!("host {} failed (ranks 2-3)", network.hosts()[1]));
    drop(network);
    for way in ["put", "get", "add"] {
        let Some(network) = Network::ordinary(2) else { return };
        let job = exchange(&network, way);
        network.unplug(1);
        let line = job.end_lost();
        let unreachable = |rank: usize| format!("rank {rank} (host {}) is alive but unreachable: ", network.hosts()[rank / 2]);
        assert!((0..4).any(|rank| line.starts_with(&unreachable(rank))), "{way}: {line}");
    }
}

/// All ranks are alive, and datagrams pass.
#[test]
fn a_fabric_whose_packets_are_dropped_without_an_error() {
    for way in ["put", "get", "add"] {
        let Some(network) = Network::ordinary(2).filter(|network| is_installed() && network.filter(0, "counter")) else { return };
        let job = Running::start(&network, 1, &TCP, &[PROGRAM, "exchange", way]);
        assert!(network.refuse_streams());
        let line = job.end_lost();
        let unreachable = |rank: usize| format!("rank {rank} (host {}) is alive but unreachable: ", network.hosts()[rank]);
        assert!((0..2).any(|rank| line.starts_with(&unreachable(rank))), "{way}: {line}");
    }
}
