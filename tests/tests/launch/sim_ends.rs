//! Each way in which a simulated job can end has its exit code, which is that of the same job on a real machine, and its one line.

use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};

use crate::{Ended, PROGRAM, pelago, run};

/// The time limit stands for "does not hang".
const SIM: [&str; 8] = ["sim", "--machine", "rx200-qdr", "--quiet", "-n", "3", "--time-limit", "60"];

fn sim(arguments: &[&str]) -> Ended {
    run(&[&SIM, arguments].concat())
}

/// Runs a simulation, and sends it a signal after the first output of a rank.
fn interrupted(arguments: &[&str], signal: Signal) -> Ended {
    let (mut command, _) = pelago(&[&SIM, arguments].concat());
    let mut process = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut output = BufReader::new(process.stdout.take().unwrap());
    let (mut said, mut error) = (String::new(), String::new());
    assert!(output.read_line(&mut said).unwrap() > 0, "a line of a rank");
    kill_process(Pid::from_child(&process), signal).unwrap();
    process.stderr.take().unwrap().read_to_string(&mut error).unwrap();
    output.read_to_string(&mut said).unwrap();
    Ended { code: process.wait().unwrap().code(), output: said, error }
}

/// Checks the exit code, and the beginning and end of the only line; the time between them may be any.
#[track_caller]
fn expect(ended: &Ended, code: i32, begins: &str, ends: &str) {
    let line = ended.error.strip_suffix('\n').unwrap_or_default();
    assert!(line.starts_with(begins) && line.ends_with(ends) && !line.contains('\n'), "{ended:?}");
    assert_eq!(ended.code, Some(code), "{ended:?}");
}

#[test]
fn a_deadlock_is_told_with_those_who_wait_and_for_what() {
    let deadlock = "deadlock: every rank of the job waits and nothing is under way, after";
    sim(&[PROGRAM, "deadlock"]).expect(1, &format!("{deadlock} 0.003 ms: rank 0, rank 1, rank 2 wait for incoming writes"));
    sim(&["--faults", "kill=2@1ns,told=1us", PROGRAM, "deadlock"]).expect(3, "rank 2 was lost, after 0.001 ms");
    let many = run(&["sim", "--machine", "rx200-qdr", "--quiet", "-n", "20", PROGRAM, "deadlock"]);
    expect(&many, 1, &format!("pelago: {deadlock}"), ", rank 15 wait for incoming writes; and 4 more");
    let lossy = run(&["sim", "--machine", "rx200-qdr", "--quiet", "--set", "rail.link.loss=0.99", "-n", "2", "barrier"]);
    expect(&lossy, 1, &format!("pelago: {deadlock}"), ", after as many repetitions as the machine permits");
}

#[test]
fn a_rank_that_crashes_is_named() {
    sim(&[PROGRAM, "crash", "segv"]).expect(3, "rank 1 was killed by signal 11 (SIGSEGV) at address 0x10; the job was ended");
    sim(&[PROGRAM, "crash", "abort"]).expect(3, "rank 1 was killed by signal 6 (SIGABRT); the job was ended");
    let line = "rank 1 was killed by signal 11 (SIGSEGV) at address 0x10, which it has given to an operation as its own memory; the job was ended";
    for how in ["get", "put"] {
        sim(&[PROGRAM, "wild", how]).expect(3, line);
        sim(&["--protocol", PROGRAM, "wild", how]).expect(3, line);
        sim(&["--per-node", "3", PROGRAM, "wild", how]).expect(3, line);
        run(&["run", "-n", "3", PROGRAM, "wild", how])
            .expect(3, "rank 1 (process *) was killed by signal 11 (SIGSEGV); the job was ended");
    }
    let real = run(&["run", "-n", "3", PROGRAM, "crash", "segv"]);
    real.expect(3, "rank 1 (process *) was killed by signal 11 (SIGSEGV); the job was ended");
}

#[test]
fn an_overflowing_stack_names_its_rank() {
    sim(&["--stack", "64K", PROGRAM, "deep"])
        .expect(3, "rank 1 overflowed its stack of 64 KiB: give each rank more, with --stack");
    sim(&["--stack", "4M", PROGRAM, "deep"]).expect(0, "");
}

/// A signal from another process is not a failure of a rank.
#[test]
fn a_fault_that_another_process_sends_is_nobodys() {
    let ended = interrupted(&[PROGRAM, "crash", "spin"], Signal::SEGV);
    assert_eq!((ended.code, ended.error.as_str()), (None, ""), "by the signal itself");
}

#[test]
fn a_reader_that_leaves_ends_the_simulation_quietly() {
    for command in [&SIM[..], &["run", "-n", "3"]] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let (mut command, _) = pelago(&[command, &["ring"]].concat());
        let mut process = command.stdout(writer).stderr(Stdio::piped()).spawn().unwrap();
        let said = std::io::read_to_string(process.stderr.take().unwrap()).unwrap();
        assert_eq!((process.wait().unwrap().code(), said.as_str()), (Some(141), ""));
    }
    // The summary is written to the error output.
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let (mut command, _) = pelago(&["sim", "--machine", "rx200-qdr", "-n", "3", "ring"]);
    let output = command.stderr(writer).output().unwrap();
    assert_eq!(output.status.code(), Some(141));
}

#[test]
fn a_rank_that_panics_ends_the_job_as_on_a_real_machine() {
    for command in [&SIM[..], &["run", "-n", "3"]] {
        let ended = run(&[command, &[PROGRAM, "panic"]].concat());
        assert!(ended.code == Some(1) && ended.error.contains("on purpose"), "{ended:?}");
        let line = ended.error.lines().last().unwrap_or_default();
        assert!(line.starts_with("pelago: rank 1 ") && line.ends_with("; the job was ended"), "{ended:?}");
    }
}

#[test]
fn a_rank_that_returns_an_error_is_named() {
    let ended = sim(&[PROGRAM, "leave"]);
    assert!(
        ended.code == Some(1) && ended.error.starts_with("pelago: rank 0 returned an error; the job was ended\nError: "),
        "{ended:?}"
    );
}

#[test]
fn a_failure_that_the_others_outlive_says_so() {
    for (way, what) in [("error", "returned an error"), ("panic", "panicked")] {
        let ended = sim(&[PROGRAM, "outlive", way]);
        let line = format!("pelago: rank 1 {what}; the others finished\n");
        assert!(ended.code == Some(1) && ended.error.contains(&line), "{ended:?}");
    }
}

#[test]
fn a_rank_that_ends_the_process_is_named() {
    let line = "rank 1 ended the process in the middle of the job; the job was ended";
    for code in ["0", "5"] {
        sim(&[PROGRAM, "quit", code]).expect(3, line);
    }
    let real = |code| run(&["run", "-n", "3", PROGRAM, "quit", code]);
    real("0").expect(3, "rank 1 (process *) ended with exit code 0 in the middle of the job; the job was ended");
    real("5").expect(1, "rank 1 (process *) failed with exit code 5; the job was ended");
}

/// The reaction of ranks to the failure of another does not change the exit code.
#[test]
fn a_lost_rank_has_the_same_exit_code_however_it_shows() {
    for way in ["return", "panic"] {
        for faults in ["kill=1@200us,limit=20ms", "kill=1@200us,told=1us", "kill=1@200us,told=1s,limit=20ms"] {
            let ended = sim(&["--faults", faults, PROGRAM, "bereaved", way]);
            let line = ended.error.lines().last().unwrap_or_default();
            assert!(line.starts_with("pelago: rank 1 was lost, after "), "{way}, {faults}: {ended:?}");
            assert_eq!(ended.code, Some(3), "{way}, {faults}: {ended:?}");
        }
        for transport in ["shm", "udp"] {
            let ended = run(&["run", "-n", "3", "--transport", transport, PROGRAM, "bereaved", way, "dies"]);
            let line = ended.error.lines().last().unwrap_or_default();
            assert!(line.starts_with("pelago: rank 1 (process ") && line.contains("was killed by signal 6"), "{ended:?}");
            assert_eq!(ended.code, Some(3), "{way}, {transport}: {ended:?}");
        }
    }
}

#[test]
fn a_rank_that_fails_before_it_knows_of_a_loss_is_not_why_the_job_ends() {
    let ended = sim(&["--faults", "kill=1@200us,limit=20ms", PROGRAM, "bereaved", "impatient"]);
    expect(&ended, 3, "pelago: rank 1 was lost, after ", " ms");
    let alone = ["sim", "--machine", "rx200-qdr", "--quiet", "-n", "1", "--faults", "kill=0@200us"];
    expect(&run(&[&alone[..], &[PROGRAM, "deadlock"]].concat()), 3, "pelago: rank 0 was lost, after ", " ms");
}

#[test]
fn a_job_that_goes_on_without_a_rank_ends_well() {
    sim(&["--faults", "kill=1@200us,told=1us", PROGRAM, "outlive"]).expect(0, "");
}

#[test]
fn one_interrupt_ends_a_job_with_a_report_until_then() {
    let page = std::env::temp_dir().join(format!("pelago-interrupted-{}.json", std::process::id()));
    for (signal, code, name) in [(Signal::INT, 130, "2 (SIGINT)"), (Signal::TERM, 143, "15 (SIGTERM)")] {
        let ended = interrupted(&["--report", page.to_str().unwrap(), PROGRAM, "exchange", "barrier"], signal);
        let begins = format!("pelago: interrupted by signal {name}; the job was ended at ");
        expect(&ended, code, &begins, " ms of virtual time");
        assert!(std::fs::read_to_string(&page).unwrap().contains("\"fault\":\"the job was aborted\""));
        std::fs::remove_file(&page).unwrap();
    }
}

#[test]
fn one_interrupt_ends_a_job_whose_rank_never_calls_the_library() {
    for (signal, code, name) in [(Signal::INT, 130, "2 (SIGINT)"), (Signal::TERM, 143, "15 (SIGTERM)")] {
        let ended = interrupted(&[PROGRAM, "crash", "spin"], signal);
        let begins = format!("pelago: interrupted by signal {name}; the job was ended at 0.000 ms of virtual time: rank 1 was");
        expect(&ended, code, &begins, " running, and did not end");
    }
}

#[test]
fn a_job_over_its_time_limit_ends_whatever_its_ranks_do() {
    let limited = |act: &[&str]| run(&[&SIM[..7], &["0.25", PROGRAM], act].concat());
    let begins = "pelago: the time limit of 0.25 s has passed; the job was ended at ";
    expect(&limited(&["exchange", "barrier"]), 4, begins, " ms of virtual time");
    expect(&limited(&["crash", "spin"]), 4, begins, " ms of virtual time: rank 1 was running, and did not end");
    // The program ignores all errors.
    expect(&limited(&["deaf"]), 4, begins, " did not end");
}
