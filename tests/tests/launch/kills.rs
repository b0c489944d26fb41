//! Ranks, node daemons and launchers that are killed at random moments of an exchange: exit code and line are correct, and no process is
//! left. `PELAGO_KILLS` sets the number of repetitions for each kind; `cargo xtask kills` repeats 200 times, also in namespaces.

use std::os::unix::process::ExitStatusExt;

use rustix::process::{Signal, kill_process};

use crate::{PROGRAM, Running, pelago, shared_memory_names};
use pelago_test_support::moments::{below, kills, wait};

/// Operations that ranks repeat until they are ended.
const WAYS: [&str; 4] = ["put", "get", "add", "barrier"];

const RANKS: usize = 4;

/// Starts a job, and waits until a random moment of its exchange.
fn start(transport: &str) -> Running {
    let way = WAYS[below(WAYS.len())];
    let ranks = RANKS.to_string();
    let job = Running::of(RANKS, pelago(&["run", "-n", &ranks, "--transport", transport, PROGRAM, "exchange", way]));
    wait();
    job
}

#[test]
fn ranks_at_random_moments() {
    for transport in ["shm", "udp"] {
        for _ in 0..kills() {
            let job = start(transport);
            let victim = below(RANKS);
            kill_process(job.processes[victim], Signal::KILL).expect("it runs");
            let (_, ended) = job.end();
            ended.expect(3, &format!("rank {victim} (process *) was killed by signal 9 (SIGKILL); the job was ended"));
            assert_eq!(shared_memory_names(), [""; 0]);
        }
        eprintln!("{} kills of a rank over {transport}", kills());
    }
}

#[test]
fn launchers_at_random_moments() {
    for transport in ["shm", "udp"] {
        for _ in 0..kills() {
            let job = start(transport);
            job.signal_launcher(Signal::KILL);
            assert_eq!(job.end().0.signal(), Some(Signal::KILL.as_raw()));
            assert_eq!(shared_memory_names(), [""; 0]);
        }
        eprintln!("{} kills of a launcher over {transport}", kills());
    }
}
