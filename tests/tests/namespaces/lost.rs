//! If a process is killed, stopped or disconnected, all others end soon, one line names the failed process, and no process is left.

use rustix::process::Signal;

use crate::job::{FAILURE_LIMIT_SECONDS, PROGRAM, Running};
use crate::network::Network;

/// Operations that ranks repeat until they are ended.
const WAYS: [&str; 4] = ["put", "get", "add", "barrier"];

const INLINE: [&str; 2] = ["--progress", "manual"];

/// Starts a job of two hosts with two ranks each, which repeat an operation with their neighbours.
fn exchange(network: &Network, options: &[&str], way: &str) -> Running {
    Running::start(network, 2, options, &[PROGRAM, "exchange", way])
}

#[test]
fn a_rank_that_is_killed() {
    let Some(network) = Network::ordinary(2) else { return };
    for (way, (rank, host)) in WAYS.into_iter().zip([(0, 0), (1, 0), (2, 1), (3, 1)]) {
        let job = exchange(&network, &[], way);
        job.signal(rank, Signal::KILL);
        let host = &network.hosts()[host];
        assert_eq!(job.end_lost(), format!("rank {rank} (host {host}) was killed by signal 9 (SIGKILL)"), "{way}");
    }
}

#[test]
fn a_host_whose_launcher_is_killed() {
    let Some(network) = Network::ordinary(2) else { return };
    for (options, way, host, ranks) in [(&[][..], "put", 1, "2-3"), (&INLINE, "barrier", 0, "0-1")] {
        let job = exchange(&network, options, way);
        job.kill_host(&network, host);
        assert_eq!(job.end_lost(), format!("host {} failed (ranks {ranks})", network.hosts()[host]), "{way}");
    }
}

#[test]
fn a_rank_that_is_stopped_counts_as_lost_and_is_said_to_be_stopped() {
    let Some(network) = Network::ordinary(2) else { return };
    // A rank of the other host repeatedly sends requests to it. A rank that only waits for a value does not know the rank that will write it.
    let job = exchange(&network, &[], "add");
    job.signal(2, Signal::STOP);
    let why = format!(
        "was stopped (not killed) for longer than the failure limit of {FAILURE_LIMIT_SECONDS} s (--failure-limit allows more)"
    );
    assert_eq!(job.end_lost(), format!("rank 2 (host {}) {why}", network.hosts()[1]));
}

#[test]
fn a_host_that_hears_nothing() {
    for (way, options) in [("put", &[][..]), ("get", &[]), ("barrier", &INLINE)] {
        let Some(network) = Network::ordinary(2) else { return };
        let job = exchange(&network, options, way);
        if !network.filter(1, "drop") {
            return;
        }
        assert_cut_off(&network, &job.end_lost());
    }
}

#[test]
fn a_host_that_is_unplugged() {
    for (way, options) in [("add", &["--transport", "udp"][..]), ("put", &INLINE), ("barrier", &[])] {
        let Some(network) = Network::ordinary(2) else { return };
        let job = exchange(&network, options, way);
        network.unplug(1);
        assert_cut_off(&network, &job.end_lost());
    }
}

/// Checks the line of a job in which ranks of one host cannot reach ranks of another, although the launchers know that all are alive. Either rank of a
/// pair may be named as unreachable.
#[track_caller]
fn assert_cut_off(network: &Network, line: &str) {
    let unreachable = |rank: usize| format!("rank {rank} (host {}) is alive but unreachable: ", network.hosts()[rank / 2]);
    assert!((0..4).any(|rank| line.starts_with(&unreachable(rank))), "{line}");
}
