//! The output of ranks is complete, in order, and labelled on request.

use std::io::Write;
use std::process::Stdio;

use crate::{RANK, Running, end, pelago, run, wait_until_gone};

#[test]
fn each_rank_is_heard_in_order() {
    let ended = run(&["run", "-n", "3", RANK, "print"]);
    ended.expect(0, "");
    for rank in 0..3 {
        let name = format!("rank {rank} ");
        let lines: Vec<_> = ended.output.lines().filter(|line| line.starts_with(&name)).collect();
        assert_eq!(lines, (0..5).map(|line| format!("{name}line {line}")).collect::<Vec<_>>());
    }
    assert_eq!(ended.output.lines().count(), 3 * 5 * 2);
}

#[test]
fn labels_are_those_of_the_writers() {
    let ended = run(&["run", "-n", "3", "--label", RANK, "both"]);
    assert_eq!(ended.code, Some(0));
    assert_eq!(ended.sorted_lines(), ["[0] rank 0 out", "[1] rank 1 out", "[2] rank 2 out"]);
    let mut errors: Vec<_> = ended.error.lines().collect();
    errors.sort();
    assert_eq!(errors, ["[0] rank 0 err", "[1] rank 1 err", "[2] rank 2 err"]);
}

#[test]
fn arguments_that_look_like_options_are_the_programs() {
    let ended = run(&["run", "-n", "1", RANK, "echo", "--label", "-n", "7", "--", "x"]);
    ended.expect(0, "");
    assert_eq!(ended.output, "rank 0 --label|-n|7|--|x\n");
}

#[test]
fn a_last_line_without_end_is_not_lost() {
    let alone = run(&["run", "-n", "1", RANK, "unfinished"]);
    assert_eq!(alone.output, "rank 0 has no end");
    let two = run(&["run", "-n", "2", "--label", RANK, "unfinished"]);
    assert_eq!(two.sorted_lines(), ["[0] rank 0 has no end", "[1] rank 1 has no end"]);
}

#[test]
fn a_line_of_any_length_comes_out_unchanged() {
    let ended = run(&["run", "-n", "1", RANK, "long", "1000000"]);
    assert!(ended.output == format!("{}\n", "y".repeat(1_000_000)), "{} bytes", ended.output.len());
}

#[test]
fn much_output_of_many_ranks_stays_in_whole_lines() {
    let ended = run(&["run", "-n", "4", RANK, "flood", "5000"]);
    ended.expect(0, "");
    assert_eq!(ended.output.lines().filter(|line| line.len() == 999).count(), 4 * 5000);
}

#[test]
fn rank_0_reads_the_input() {
    let (mut command, mark) = pelago(&["run", "-n", "2", RANK, "stdin"]);
    let mut launcher = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    launcher.stdin.take().unwrap().write_all(b"hello\n").unwrap();
    let output = launcher.wait_with_output().unwrap();
    let mut lines: Vec<_> = std::str::from_utf8(&output.stdout).unwrap().lines().collect();
    lines.sort();
    assert_eq!(lines, ["rank 0 hello", "rank 1 "]);
    wait_until_gone(&mark);
}

#[test]
fn a_reader_that_leaves_ends_the_job_quietly() {
    let mut job = Running::start(&[RANK, "wait-and-flood"]);
    drop(job.launcher.stdout.take());
    // The other end of the pipe is closed here.
    job.output = std::io::BufReader::new(spare_pipe());
    let (_, ended) = job.end();
    ended.expect(141, "");
}

#[test]
fn a_reader_that_stands_still_does_not_keep_the_job_from_its_time_limit() {
    let job = Running::start(&["--time-limit", "1", RANK, "wait-and-flood"]);
    let (_, ended) = job.end();
    ended.expect(4, "the time limit of 1 s has passed; the job was ended");
}

#[test]
fn output_that_cannot_be_written_is_an_error() {
    let (mut command, _) = pelago(&["run", "-n", "2", RANK, "both"]);
    command.stdout(std::fs::File::create("/dev/full").unwrap());
    let mut launcher = command.stderr(Stdio::piped()).spawn().unwrap();
    assert_eq!(launcher.wait().unwrap().code(), Some(1));
    let error = std::io::read_to_string(launcher.stderr.take().unwrap()).unwrap();
    assert!(error.contains("pelago: cannot write the output of the ranks: No space left"), "{error}");
}

#[test]
fn help_and_lists_are_no_errors() {
    for arguments in [&["--help"][..], &["run", "--help"], &["--version"], &["run", "--list"], &["info"]] {
        let ended = end(pelago(arguments).0);
        ended.expect(0, "");
    }
    assert!(end(pelago(&["info"]).0).output.contains("cross-memory attach"));
}

pub(crate) fn spare_pipe() -> std::process::ChildStdout {
    let mut child = std::process::Command::new("true").stdout(Stdio::piped()).spawn().unwrap();
    child.wait().unwrap();
    child.stdout.take().unwrap()
}
