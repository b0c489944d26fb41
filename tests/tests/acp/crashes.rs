//! C programs that crash or do not return to the library: the messages where they are simulated, and where they are processes.

use crate::build::{SIMULATED, program, run_with};

#[test]
fn a_crash_has_the_same_exit_code_everywhere_and_names_its_rank() {
    let built = program("crash.c", "crash");
    for (how, says) in [
        ("null", "was killed by signal 11 (SIGSEGV) at address 0x0; the job was ended"),
        // The kernel does not report the address.
        ("wild", "was killed by signal 11 (SIGSEGV); the job was ended"),
        ("raise", "was killed by signal 11 (SIGSEGV); the job was ended"),
        ("divide", "was killed by signal 8 (SIGFPE) at instruction 0x"),
        ("trap", "was killed by signal 4 (SIGILL) at instruction 0x"),
        ("bus", "was killed by signal 7 (SIGBUS) at address 0x"),
        ("abort", "was killed by signal 6 (SIGABRT); the job was ended"),
        ("deep", "overflowed its stack of 8192 KiB: give each rank more, with --stack"),
    ] {
        let ended = run_with(3, SIMULATED, &built, &[how]);
        let said = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(ended.status.code(), Some(3), "{how}: {said}");
        assert!(said.starts_with(&format!("pelago: rank 1 {says}")) && said.lines().count() == 1, "{how}: {said}");
        let ended = run_with(3, "shm", &built, &[how]);
        assert_eq!(ended.status.code(), Some(3), "{how}: {}", String::from_utf8_lossy(&ended.stderr));
    }
}

#[test]
fn a_rank_that_never_comes_back_ends_with_the_time_limit() {
    let built = program("crash.c", "crash-spin");
    // A computing rank is interrupted and ends. A rank that sleeps in the system keeps the process alive until the process is ended.
    for (how, line) in [("spin", "pelago: the time limit of 0.25 s has passed"), ("sleep", "rank 1 was running, and did not end")]
    {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_pelago-under-test"));
        command.env(crate::build::LIBRARY_PATH, crate::build::libraries());
        command.args(["sim", "-n", "3", "--machine", "tofu2", "--quiet", "--time-limit", "0.25"]).arg(&built).arg(how);
        let ended = command.output().unwrap();
        let said = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(ended.status.code(), Some(4), "{how}: {said}");
        assert!(said.contains(line) && said.lines().count() == 1, "{how}: {said}");
    }
}

/// Rank 1 waits for them in the library, or sleeps again and again.
#[test]
fn a_rank_that_is_lost_is_no_failure_of_those_who_needed_it() {
    let built = program("crash.c", "crash-lost");
    for (how, faults) in [("nothing", "kill=2@1us,limit=20ms"), ("asleep", "kill=2@1ms,told=1ms")] {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_pelago-under-test"));
        command.env(crate::build::LIBRARY_PATH, crate::build::libraries());
        command.args(["sim", "-n", "3", "--machine", "tofu2", "--quiet", "--time-limit", "60", "--faults", faults]);
        let ended = command.arg(&built).arg(how).output().unwrap();
        let said = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(ended.status.code(), Some(3), "{how}: {said}");
        assert!(said.lines().last().is_some_and(|line| line.starts_with("pelago: rank 2 was lost, after ")), "{how}: {said}");
    }
}
