//! A process is killed at a random moment of an exchange among three hosts. `PELAGO_KILLS` sets the number of repetitions for each kind of process.

use rustix::process::Signal;

use crate::job::{PROGRAM, Running};
use crate::network::Network;
use pelago_test_support::moments::{below, kills, wait};

const WAYS: [&str; 4] = ["put", "get", "add", "barrier"];

const HOSTS: usize = 3;

/// Starts a job of two ranks on each host, and waits until a random moment of its exchange.
fn start(network: &Network) -> Running {
    let job = Running::start(network, 2, &[], &[PROGRAM, "exchange", WAYS[below(WAYS.len())]]);
    wait();
    job
}

#[test]
fn somebody_at_random_moments() {
    let Some(network) = Network::ordinary(HOSTS) else { return };
    for _ in 0..kills() {
        let job = start(&network);
        let victim = below(2 * HOSTS);
        job.signal(victim, Signal::KILL);
        let host = &network.hosts()[victim / 2];
        assert_eq!(job.end_lost(), format!("rank {victim} (host {host}) was killed by signal 9 (SIGKILL)"));
    }
    for _ in 0..kills() {
        let job = start(&network);
        let host = below(HOSTS);
        job.kill_host(&network, host);
        let ranks = format!("ranks {}-{}", 2 * host, 2 * host + 1);
        assert_eq!(job.end_lost(), format!("host {} failed ({ranks})", network.hosts()[host]));
    }
    for _ in 0..kills() {
        start(&network).kill_launcher();
    }
    assert!((0..HOSTS).all(|host| network.processes(host).is_empty()));
    eprintln!("{} kills each of a rank, the launcher of a host and the launcher of a job on {HOSTS} hosts", kills());
}
