//! Each way in which a job can end has its exit code and its one line.

use std::process::Stdio;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::{MARK, PATIENCE, PROGRAM, RANK, pelago, run, wait_until_gone, with_environment};

fn three(act: &[&str]) -> crate::Ended {
    run(&[&["run", "-n", "3", "--start-limit", "1", RANK], act].concat())
}

#[test]
fn ranks_that_finish() {
    for ranks in ["1", "2", "7", "200"] {
        run(&["run", "-n", ranks, RANK, "meet"]).expect(0, "");
        run(&["run", "-n", ranks, RANK, "nothing"]).expect(0, "");
    }
}

#[test]
fn a_rank_that_fails() {
    three(&["code", "1", "101"]).expect(1, "rank 1 (process *) failed with exit code 101; the job was ended");
    run(&["run", "-n", "1", "false"]).expect(1, "rank 0 (process *) failed with exit code 1; the job was ended");
}

/// Here the job is of a program that never ends.
#[test]
fn a_job_ends_with_the_command_that_measures_it() {
    if std::thread::available_parallelism().is_ok_and(|cores| cores.get() < 2) {
        return println!("not tested: pelago tune needs two cores");
    }
    let spins = format!("{PROGRAM} crash spin");
    let (mut command, mark) =
        pelago(&["tune", "--check", "--machine", "laptop", "--rounds", "1", "--only", "ring", "--program", &spins]);
    let mut tune = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let is_spinning = |process: &String| {
        let line = std::fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains("spin")
    };
    let patience = Instant::now() + PATIENCE;
    // The command, the launcher and two ranks.
    while with_environment(&format!("{MARK}={mark}")).iter().filter(|process| is_spinning(process)).count() < 4 {
        assert!(Instant::now() < patience && tune.try_wait().unwrap().is_none(), "the program never ran");
        std::thread::sleep(Duration::from_millis(20));
    }
    kill_process(Pid::from_child(&tune), Signal::TERM).unwrap();
    tune.wait().unwrap();
    wait_until_gone(&mark);
}

#[test]
fn a_rank_that_leaves_in_the_middle() {
    let line = "rank 2 (process *) ended with exit code 0 in the middle of the job; the job was ended";
    three(&["silent", "2"]).expect(3, line);
}

#[test]
fn a_rank_that_crashes() {
    three(&["abort", "0"]).expect(3, "rank 0 (process *) was killed by signal 6 (SIGABRT); the job was ended");
}

#[test]
fn a_fault_that_the_ranks_found() {
    three(&["fault", "1", "lost"]).expect(1, "rank 1 (process *) failed with exit code 101; the job was ended");
    three(&["fault", "1", "deadlock"]).expect(1, "deadlock: every rank waits and nothing is under way; the job was ended");
}

#[test]
fn ranks_that_wait_for_each_other_for_ever() {
    let (mut command, mark) = crate::pelago(&["run", "-n", "3", RANK, "deadlock"]);
    command.env("PELAGO_DEADLOCK_SECONDS", "0.5");
    let line = "deadlock: every rank waits and nothing is under way; the job was ended";
    let report = crate::end(command).expect_after_report(1, line);
    assert!(report.len() == 4 && report[0].ends_with(" has finished"), "{report:?}");
    assert!(report[1..3].iter().all(|line| line.contains("in the start or end of the job, for all ranks")), "{report:?}");
    crate::wait_until_gone(&mark);
}

#[test]
fn a_rank_that_does_not_join() {
    three(&["late", "1"])
        .expect(1, "rank 1 (process *) did not join the job within 1 s; the job was ended (--start-limit allows more)");
    let line = "rank 2 (process *) ended without joining the job, which other ranks joined; the job was ended";
    three(&["bystander", "2"]).expect(1, line);
}

#[test]
fn a_program_that_is_not_a_pelago_program() {
    run(&["run", "-n", "3", "/bin/true"]).expect(1, "/bin/true ended without joining the job: is it a Pelago program?");
    run(&["run", "-n", "3", "--start-limit", "1", "/bin/sleep", "1000"])
        .expect(1, "/bin/sleep did not join the job within 1 s: is it a Pelago program? (--start-limit allows more)");
}

/// For example a script that runs two programs.
#[test]
fn a_second_program_of_a_rank() {
    let ended = run(&["run", "-n", "2", "sh", "-c", "\"$0\" nothing && exec \"$0\" nothing", PROGRAM]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.error.contains(" already: a rank is one program that uses Pelago, which takes part once; "), "{ended:?}");
}

/// Processes inherit ignored signals.
#[test]
fn a_launcher_whose_parent_ignores_how_children_end() {
    let ignoring = |arguments: &[&str]| {
        let mut command = std::process::Command::new("env");
        command.args(["--ignore-signal=CHLD", env!("CARGO_BIN_EXE_pelago-under-test")]).args(arguments);
        crate::end(command)
    };
    ignoring(&["run", "-n", "2", RANK, "meet"]).expect(0, "");
    ignoring(&["run", "-n", "2", "--hosts", "a,b", "--remote-shell", "env PELAGO_TEST_HOST={host}", RANK, "meet"]).expect(0, "");
    let line = "rank 1 (process *) failed with exit code 7; the job was ended";
    ignoring(&["run", "-n", "2", RANK, "code", "1", "7"]).expect(1, line);
}

/// Processes inherit blocked signals: the launcher ends nevertheless, and the ranks do before they are killed.
#[test]
fn a_launcher_whose_parent_blocks_signals() {
    for shell in [None, Some("env PELAGO_TEST_HOST={host}")] {
        let hosts = shell.map_or(Vec::new(), |shell| vec!["--hosts", "a:1,b:1", "--remote-shell", shell]);
        let script = "trap 'echo rank ended; exit 0' TERM; echo rank $$; while :; do sleep 0.01; done";
        let (job, mark) = pelago(&[&["run", "-n", "2"][..], &hosts, &["sh", "-c", script]].concat());
        let [ignored, command @ ..] = &job.get_args().collect::<Vec<_>>()[..] else { unreachable!("env has an option") };
        let mut blocking = std::process::Command::new("env");
        // In this order: signals that have their default dispositions again are not blocked either.
        blocking.arg(ignored).args(["env", "--block-signal=HUP,INT,TERM,QUIT,ALRM"]).args(command).env(MARK, &mark);
        let job = crate::Running::of(2, (blocking, mark));
        job.signal_launcher(Signal::TERM);
        let (status, ended) = job.end();
        assert_eq!((status.code(), ended.output.matches("rank ended").count()), (Some(130), 2), "{ended:?}");
    }
}

/// A process in a session of its own does not end with its rank.
#[test]
fn a_rank_that_joins_when_its_job_has_ended() {
    let late = "echo > \"$1/left\"; until [ -e \"$1/ended\" ]; do sleep 0.01; done; exec \"$0\" nothing";
    let leave = format!("setsid sh -c '{late}' \"$0\" \"$1\" & until [ -e \"$1/left\" ]; do sleep 0.01; done");
    let script = format!("[ $PELAGO_RANK = 0 ] || {{ {leave}; }}; exit 0");
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("late {}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (mut command, mark) = pelago(&["run", "-n", "2", "sh", "-c", &script, PROGRAM, folder.to_str().unwrap()]);
    let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap();
    std::fs::write(folder.join("ended"), "").unwrap();
    wait_until_gone(&mark);
    std::fs::remove_dir_all(folder).unwrap();
    assert_eq!(status.code(), Some(1));
}

#[test]
fn a_job_over_its_time_limit() {
    let line = "the time limit of 0.5 s has passed; the job was ended";
    run(&["run", "-n", "2", "--time-limit", "0.5", "/bin/sleep", "1000"]).expect(4, line);
}

#[test]
fn a_rank_that_ignores_requests_to_end() {
    let script = "trap '' TERM INT HUP; while :; do sleep 1; done";
    let line = "the time limit of 0.5 s has passed; the job was ended";
    run(&["run", "-n", "2", "--time-limit", "0.5", "sh", "-c", script]).expect(4, line);
}
