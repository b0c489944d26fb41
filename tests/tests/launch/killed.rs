//! If any process of a job is killed, all end, and neither a process nor named memory is left.

use std::os::unix::process::ExitStatusExt;
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::{MARK, PATIENCE, RANK, Running, end, pelago, run, shared_memory_names, with_environment};

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

/// Ended processes whose parent does not ask for their end count against the limit of processes of the user.
#[test]
fn what_a_rank_has_started_and_left_is_no_burden_after_its_end() {
    let job = Running::start(&["sh", "-c", "sh -c 'true & true & true &'; exec $0 wait", RANK]);
    let launcher = job.launcher.id().to_string();
    let is_left = |status: &String| {
        let mut words = status.rsplit(')').next().unwrap_or_default().split_whitespace();
        words.next() == Some("Z") && words.next() == Some(launcher.as_str())
    };
    let patience = Instant::now() + PATIENCE;
    loop {
        let processes = std::fs::read_dir("/proc").expect("/proc").filter_map(|entry| entry.ok());
        let stats = processes.filter_map(|entry| std::fs::read_to_string(entry.path().join("stat")).ok());
        let left = stats.filter(is_left).count();
        if left == 0 {
            break;
        }
        assert!(Instant::now() < patience, "{left} ended processes are left");
        std::thread::sleep(Duration::from_millis(5));
    }
    job.signal_launcher(Signal::INT);
    assert_eq!(job.end().1.code, Some(130));
}

/// Returns the processes with this mark that `parent` has started.
fn children(mark: &str, parent: u32) -> Vec<Pid> {
    let is_child = |process: &String| {
        let status = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        status.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(1)?.parse().ok()) == Some(parent)
    };
    let of_job = with_environment(&format!("{MARK}={mark}")).into_iter().filter(is_child);
    of_job.filter_map(|process| Pid::from_raw(process.parse().ok()?)).collect()
}

#[test]
fn ranks_die_with_a_launcher_whose_guard_is_gone() {
    let job = Running::start(&[RANK, "wait"]);
    let mut guards = children(&job.mark, job.launcher.id());
    guards.retain(|process| !job.processes.contains(process));
    assert_eq!(guards.len(), 1, "the launcher has started the ranks and their guard");
    kill_process(guards[0], Signal::KILL).unwrap();
    job.signal_launcher(Signal::KILL);
    job.end();
}

/// Processes that ranks have left are killed and reaped, and so are the guard and the remote shells.
#[test]
fn a_launcher_leaves_no_process_behind() {
    let hosts = ["--hosts", "a,b", "--remote-shell", "env PELAGO_TEST_HOST={host}"];
    for options in [&[][..], &hosts] {
        let (command, mark) = pelago(&[&["run", "-n", "2"], options, &[RANK, "grandchild", "leave"]].concat());
        let mut parent = Command::new(RANK);
        parent.arg("parent").arg(command.get_program()).args(command.get_args()).env(MARK, mark);
        end(parent).expect(0, "");
    }
}
