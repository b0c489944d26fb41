//! Whoever is killed, all end, and nothing is left: no process, no memory with a name.

use std::os::unix::process::ExitStatusExt;

use rustix::process::{Signal, kill_process};

use crate::{RANK, Running, run, shared_memory_names};

#[test]
fn a_rank_that_is_killed_ends_the_job() {
    let job = Running::start(&[RANK, "wait"]);
    kill_process(job.processes[3], Signal::KILL).unwrap();
    let (_, ended) = job.end();
    ended.expect(3, "rank 3 (process *) was killed by signal 9 (SIGKILL); the job was ended");
    assert_eq!(shared_memory_names(), [""; 0]);
}

#[test]
fn a_rank_that_is_stopped_ends_with_the_others() {
    let job = Running::start(&[RANK, "wait"]);
    kill_process(job.processes[1], Signal::STOP).unwrap();
    kill_process(job.processes[2], Signal::KILL).unwrap();
    let (_, ended) = job.end();
    ended.expect(3, "rank 2 (process *) was killed by signal 9 (SIGKILL); the job was ended");
}

#[test]
fn a_launcher_that_is_killed_takes_its_ranks_along() {
    let job = Running::start(&[RANK, "wait"]);
    job.signal_launcher(Signal::KILL);
    let (status, _) = job.end();
    assert_eq!(status.signal(), Some(9));
    assert_eq!(shared_memory_names(), [""; 0]);
}

#[test]
fn a_launcher_that_is_killed_takes_along_what_the_ranks_have_started() {
    let job = Running::start(&[RANK, "grandchild", "stay"]);
    job.signal_launcher(Signal::KILL);
    job.end();
    let job = Running::start(&["sh", "-c", "$0 wait; true", RANK]);
    job.signal_launcher(Signal::KILL);
    job.end();
}

#[test]
fn an_interrupt_ends_the_job() {
    for (signal, name) in [(Signal::INT, "2 (SIGINT)"), (Signal::TERM, "15 (SIGTERM)"), (Signal::HUP, "1 (SIGHUP)")] {
        let job = Running::start(&[RANK, "wait"]);
        job.signal_launcher(signal);
        let (_, ended) = job.end();
        ended.expect(130, &format!("interrupted by signal {name}; the job was ended"));
    }
}

#[test]
fn what_a_rank_has_started_ends_with_it() {
    let job = Running::start(&[RANK, "grandchild", "stay"]);
    job.signal_launcher(Signal::INT);
    assert_eq!(job.end().1.code, Some(130));
    run(&["run", "-n", "2", RANK, "grandchild", "leave"]).expect(0, "");
}
