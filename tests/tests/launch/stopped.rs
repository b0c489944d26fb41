//! Stopped ranks: a rank that stays stopped counts as failed, and the line says that it is stopped; a rank that is continued has no effect.

use rustix::process::{Pid, Signal, kill_process};

use crate::{PROGRAM, RANK, Running, end, pelago, wait_until_gone};

/// Starts the program of `arguments` with four ranks and a failure limit of one second.
fn start(arguments: &[&str]) -> Running {
    Running::of(4, pelago(&[&["run", "-n", "4", "--failure-limit", "1"], arguments].concat()))
}

fn stop(process: Pid) {
    kill_process(process, Signal::STOP).expect("it runs");
}

const STOPPED: &str = "was stopped (not killed) for longer than the failure limit of 1 s (--failure-limit allows more)";

#[test]
fn a_rank_that_stays_stopped_ends_the_job() {
    for options in [&["--transport", "shm"], &["--transport", "udp"]] {
        let job = start(&[options, &[RANK, "wait"][..]].concat());
        stop(job.processes[2]);
        job.end().1.expect(3, &format!("rank 2 (process *) {STOPPED}; the job was ended"));
    }
}

#[test]
fn a_rank_of_another_host_that_stays_stopped_ends_the_job() {
    let hosts = ["--hosts", "a:2,b:2", "--remote-shell", "env PELAGO_TEST_HOST={host}"];
    let job = start(&[&hosts, &[RANK, "wait"][..]].concat());
    stop(job.processes[3]);
    job.end().1.expect(3, &format!("rank 3 (host b) {STOPPED}; the job was ended"));
}

/// The stopped rank might have received what all wait for.
#[test]
fn ranks_that_wait_for_a_stopped_one_are_not_deadlocked() {
    let hosts = ["--hosts", "a:2,b:2", "--remote-shell", "env PELAGO_TEST_HOST={host}"];
    for (options, place) in [(&[][..], "process *"), (&hosts, "host b")] {
        let limits = ["run", "-n", "4", "--failure-limit", "4"];
        let (mut command, mark) = pelago(&[&limits, options, &[PROGRAM, "stopped deadlock"]].concat());
        command.env("PELAGO_DEADLOCK_SECONDS", "1.5");
        let stopped = STOPPED.replace("1 s", "4 s");
        end(command).expect(3, &format!("rank 3 ({place}) {stopped}; the job was ended"));
        wait_until_gone(&mark);
    }
}

#[test]
fn a_rank_that_a_script_has_started_is_seen_too() {
    let job = start(&["sh", "-c", "$0 wait; true", RANK]);
    stop(job.processes[1]);
    job.end().1.expect(3, &format!("rank 1 (process *) {STOPPED}; the job was ended"));
}

#[test]
fn a_program_that_survives_goes_on_once_the_stopped_rank_is_dead() {
    let job = start(&[PROGRAM, "survive"]);
    stop(job.processes[3]);
    let (_, ended) = job.end();
    ended.expect(0, &format!("rank 3 (process *) {STOPPED}; the others finished"));
    let expected: Vec<_> = (0..3).map(|rank| format!("rank {rank} went on, its words mapped")).collect();
    assert_eq!(ended.sorted_lines(), expected);
}

/// All ranks are stopped for longer than the limit, then continued one after the other. For a rank that is still stopped then, the time before
/// does not count.
#[test]
fn a_job_that_is_stopped_as_a_whole_goes_on() {
    let job = start(&[PROGRAM, "survive"]);
    job.processes.iter().for_each(|&process| stop(process));
    // Longer than the limit, but all ranks are stopped; the launcher must not report anything.
    std::thread::sleep(std::time::Duration::from_millis(2500));
    job.processes.iter().for_each(|&process| kill_process(process, Signal::CONT).expect("it runs"));
    kill_process(job.processes[3], Signal::KILL).expect("it runs");
    job.end().1.expect(0, "rank 3 (process *) was killed by signal 9 (SIGKILL); the others finished");
}
