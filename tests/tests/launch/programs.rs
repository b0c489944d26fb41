//! Programs that use the library, as jobs of several processes.

use crate::{PROGRAM, end, pelago, run, wait_until_gone};

/// Maximum private memory of a rank, in KiB, after start and one barrier.
const PRIVATE_KIB_MAX: u64 = 2048;

#[test]
fn every_operation_works_between_processes() {
    for ranks in ["1", "2", "3", "4", "8"] {
        run(&["run", "-n", ranks, PROGRAM, "everything"]).expect(0, "");
    }
}

#[test]
fn registered_memory_is_reached_whoever_serves_it() {
    for (copy, progress) in [("attach", "auto"), ("thread", "auto"), ("attach", "manual"), ("thread", "manual")] {
        for act in ["registered", "device"] {
            let (mut command, mark) = pelago(&["run", "-n", "3", "--progress", progress, PROGRAM, act]);
            command.env("PELAGO_COPY", copy);
            end(command).expect(0, "");
            wait_until_gone(&mark);
        }
    }
}

#[test]
fn sleepers_wake_when_they_are_written_to() {
    for ranks in ["1", "2", "5"] {
        run(&["run", "-n", ranks, PROGRAM, "wake"]).expect(0, "");
    }
}

#[test]
fn a_deadlock_is_found_and_named() {
    for (ranks, act) in [("1", "deadlock"), ("3", "deadlock"), ("2", "stuck")] {
        let (mut command, mark) = pelago(&["run", "-n", ranks, PROGRAM, act]);
        command.env("PELAGO_DEADLOCK_SECONDS", "1");
        let ended = end(command);
        if ended.error.contains("page faults need userfaultfd") {
            eprintln!("not tested: {}", ended.error);
            continue;
        }
        let report = ended.expect_after_report(1, "deadlock: every rank waits and nothing is under way; the job was ended");
        let waits = report.iter().filter(|line| line.contains("in a value, in the word at offset 0x")).count();
        assert_eq!((waits.to_string(), report.len()), (ranks.to_owned(), waits + 1), "{report:?}");
        wait_until_gone(&mark);
    }
}

#[test]
fn survivors_of_a_lost_rank_learn_of_it_and_may_save_their_work() {
    let ended = run(&["run", "-n", "4", PROGRAM, "lost"]);
    ended.expect(3, "rank 1 (process *) was killed by signal 6 (SIGABRT); the job was ended");
    assert_eq!(ended.sorted_lines(), ["rank 0 saves its work", "rank 2 saves its work", "rank 3 saves its work"]);
}

#[test]
fn a_rank_that_is_lost_at_the_very_end_is_told_once() {
    let ended = run(&["run", "-n", "3", PROGRAM, "late"]);
    ended.expect(3, "rank 1 (process *) was killed by signal 6 (SIGABRT); the job was ended");
}

#[test]
fn a_rank_that_returns_an_error_ends_the_job() {
    let ended = run(&["run", "-n", "3", PROGRAM, "leave"]);
    assert_eq!(ended.code, Some(1));
    let lines: Vec<_> = ended.error.lines().collect();
    assert!(lines[0].starts_with("Error: the handle belongs to another context") && lines.len() == 2, "{lines:?}");
    assert!(lines[1].starts_with("pelago: rank 0 (process ") && lines[1].ends_with("failed with exit code 1; the job was ended"));
}

#[test]
fn a_rank_that_panics_ends_the_job() {
    let ended = run(&["run", "-n", "3", PROGRAM, "panic"]);
    assert_eq!(ended.code, Some(1));
    let last = ended.error.lines().last().unwrap();
    assert!(
        last.starts_with("pelago: rank 1 (process ") && last.ends_with("failed with exit code 101; the job was ended"),
        "{last}"
    );
}

#[test]
fn a_rank_has_little_memory_to_itself() {
    let ended = run(&["run", "-n", "4", PROGRAM, "memory"]);
    ended.expect(0, "");
    for line in ended.sorted_lines() {
        let kilobytes: u64 = line.split_whitespace().nth(3).unwrap().parse().unwrap();
        assert!(kilobytes <= PRIVATE_KIB_MAX, "{line}");
    }
    assert_eq!(ended.sorted_lines().len(), 4);
}

#[test]
fn what_passes_through_the_transport_is_told_on_request() {
    let (mut command, mark) = pelago(&["run", "-n", "2", PROGRAM, "registered"]);
    command.env("PELAGO_STATISTICS", "1").env("PELAGO_TRACE", "1");
    let ended = end(command);
    wait_until_gone(&mark);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let last = |rank: &str| ended.error.lines().rfind(|line| line.starts_with(rank)).unwrap_or_default();
    // 200 additions, one put of many values, one get and one copy, all of which complete.
    assert_eq!(last("rank 1: "), "rank 1: puts_posted 1, gets_posted 1, copies_posted 1, atomics_posted 200, completed 203");
    assert_eq!(last("rank 0: "), "rank 0: nothing passed through the transport");
    assert_eq!(ended.error.lines().filter(|line| line.starts_with("rank 1: ") && line.contains(" post ")).count(), 203);
}
