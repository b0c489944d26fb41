//! Errors of programs: the result reports them, or the job ends with one line.

use crate::build::{LIBRARY_PATH, SIMULATED, TRANSPORTS, libraries, program, run};

/// Bytes of starter memory that the program expects.
const STARTER_BYTES: u32 = 4096;

/// Returns the exit code and the lines of a job of three ranks, without the numbers of processes.
fn ended(transport: &str, act: &str) -> (Option<i32>, Vec<String>, String) {
    let built = program("bad.c", &format!("bad-{transport}-{act}"));
    let ended = run(3, transport, &built, act, Some(STARTER_BYTES));
    let lines = String::from_utf8(ended.stderr).unwrap();
    let lines = lines.lines().map(|line| match line.split_once("(process ") {
        Some((before, after)) => format!("{}{}", before.trim_end(), after.split_once(')').unwrap().1),
        None => line.to_owned(),
    });
    (ended.status.code(), lines.collect(), String::from_utf8(ended.stdout).unwrap())
}

#[test]
fn calls_that_cannot_be_done_say_so_and_hurt_nobody() {
    for transport in TRANSPORTS {
        let (code, lines, output) = ended(transport, "calls");
        assert_eq!((code, output.as_str()), (Some(0), "good\ngood\ngood\n"), "{lines:?}");
        assert!(lines.iter().all(|line| line.starts_with("acp: ")), "{lines:?}");
        for line in [
            "acp: acp_sync: acp_init comes first, and acp_finalize last",
            "acp: rank 1: acp_init: the library is initialized already",
            "acp: rank 1: acp_query_starter_ga: rank 3 does not exist: the job has 3",
            "acp: rank 1: acp_copy: the destination address is null",
            "acp: rank 1: acp_copy: the destination address 0xffffffffffffffff is not one of this job",
        ] {
            assert!(lines.iter().any(|said| said == line), "{line}: {lines:?}");
        }
        assert!(lines.len() <= 3 * 40, "a program that goes on regardless is not reported for ever");
    }
}

/// The remedy is one of a C program: it has no `GlobalHeap`.
#[test]
fn full_memory_names_the_setting_of_the_job() {
    for transport in TRANSPORTS {
        let (code, lines, output) = ended(transport, "full");
        assert_eq!((code, output.as_str()), (Some(0), "good\ngood\ngood\n"), "{lines:?}");
        let full = |line: &String| {
            line.starts_with("acp: rank 1: acp_malloc: no 1152921504606846976 bytes are left of the ")
                && line.contains("start the job with a larger heap (--heap, PELAGO_HEAP)")
        };
        assert!(lines.iter().any(full), "{lines:?}");
        let long = |line: &String| {
            line.starts_with("acp: rank 1: acp_register_memory: a region of 35184372088832 bytes is too long: at most ")
                && line.ends_with("start the job with a larger heap (--heap, PELAGO_HEAP)")
        };
        assert!(lines.iter().any(long), "{lines:?}");
        assert!(lines.iter().any(|line| line == "acp: rank 1: acp_create_ws: a workspace has at least one byte"), "{lines:?}");
    }
}

#[test]
fn a_job_that_is_aborted_tells_why_and_loses_no_output() {
    for transport in TRANSPORTS {
        let (code, lines, output) = ended(transport, "abort");
        assert_eq!((code, output.as_str()), (Some(1), "unflushed"));
        assert_eq!(lines, ["acp: rank 2: on purpose", "pelago: rank 2 failed with exit code 1; the job was ended"]);
    }
}

#[test]
fn an_operation_that_fails_later_ends_the_job_with_one_line() {
    for transport in TRANSPORTS {
        // In the last two, the rank waits for another rank meanwhile, which would wait for it.
        for act in ["unregistered", "outside", "waits", "frees"] {
            let (code, lines, _) = ended(transport, act);
            assert_eq!((code, lines.len()), (Some(1), 2), "{act}: {lines:?}");
            let [first, second] = [&lines[0], &lines[1]];
            assert!(first.starts_with("acp: rank 0: acp_") && first.contains("not in registered memory"), "{first}");
            assert_eq!(second, "pelago: rank 0 failed with exit code 1; the job was ended");
        }
    }
}

#[test]
fn whatever_ends_a_rank_is_told_once() {
    for (act, code, line) in [
        ("leave", 3, "pelago: rank 0 ended with exit code 0 in the middle of the job; the job was ended"),
        ("die", 3, "pelago: rank 0 was killed by signal 6 (SIGABRT); the job was ended"),
        ("code", 1, "pelago: rank 0 failed with exit code 7; the job was ended"),
        ("deadlock", 1, "pelago: deadlock: every rank waits and nothing is under way; the job was ended"),
    ] {
        assert_eq!(ended("shm", act).0, Some(code), "{act}");
        let lines = ended("udp", act).1;
        assert_eq!(lines.last().map(String::as_str), Some(line), "{act}: {lines:?}");
        // The report of a deadlock also has the waits of the ranks.
        assert!(act == "deadlock" || lines.len() == 1, "{act}: {lines:?}");
        // A simulation reports more: the time, and the waiting ranks.
        let (simulated, lines, _) = ended(SIMULATED, act);
        let begins = line.split([':', ';']).take(2).collect::<Vec<_>>().join(":");
        assert!(simulated == Some(code) && lines.len() == 1 && lines[0].starts_with(&begins), "{act}: {lines:?}");
    }
}

#[test]
fn a_program_of_another_launcher_is_refused() {
    let built = program("bad.c", "bad-foreign");
    let ended =
        std::process::Command::new(built).arg("abort").env("OMPI_COMM_WORLD_SIZE", "4").env(LIBRARY_PATH, libraries()).output();
    let ended = ended.expect("a program");
    let error = String::from_utf8_lossy(&ended.stderr);
    assert_eq!((ended.status.code(), error.lines().count()), (Some(2), 1), "{error}");
    assert!(error.starts_with("pelago: OMPI_COMM_WORLD_SIZE is 4") && ended.stdout.is_empty(), "{error}");
}
