//! Schedules in the GOAL language: the same file runs on every transport and machine, and errors in a file are named.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::{Ended, pelago, run};

fn file(name: &str, text: &str) -> String {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

fn simulated(ranks: u32, file: &str, options: &[&str]) -> Ended {
    run(&[&["sim", "-n", &ranks.to_string(), "--machine", "rx200-qdr", "--quiet"], options, &["goal", file]].concat())
}

/// Returns the microseconds until the last rank has ended.
#[track_caller]
fn microseconds(ended: &Ended) -> f64 {
    ended.expect(0, "");
    ended.output.trim().rsplit(' ').next().unwrap().parse().unwrap()
}

/// Returns a dissemination barrier of 16 ranks. Each rank also sends more messages to its neighbour than a ring has words, before the neighbour receives any.
fn dissemination() -> String {
    let mut text = "num_ranks 16\n".to_owned();
    for rank in 0..16_u32 {
        text += &format!("rank {rank} {{\n");
        for number in 0..100 {
            text += &format!("m{number}: send {}b to {} tag 99\n", number * 17, (rank + 1) % 16);
        }
        for (round, distance) in [1, 2, 4, 8].into_iter().enumerate() {
            text += &format!("s{round}: send 1b to {} tag {round}\n", (rank + distance) % 16);
            text += &format!("r{round}: recv 1b from {} tag {round}\n", (rank + 16 - distance) % 16);
            text += &match round {
                0 => "s0 requires m99\nr0 requires s0\n".to_owned(),
                _ => format!("s{round} requires r{}\nr{round} requires s{round}\n", round - 1),
            };
        }
        for number in 0..100 {
            text += &format!("n{number}: recv 1b from -1 tag -1\nn{number} requires r3\n");
        }
        text += "}\n";
    }
    text
}

/// A get of 512 MiB needs memory for a part of it only, and takes as long as its bytes.
#[test]
fn a_long_get_takes_little_memory() {
    let time = |name: &str, bytes: u64| {
        let file = file(name, &format!("num_ranks 2\nrank 0 {{ get {bytes}b from 1 }}\n"));
        let arguments = ["sim", "-n", "2", "--machine", "rx200-qdr", "--quiet", "--heap", "4M", "goal", &file];
        let (long, _) = pelago(&arguments);
        let mut limited = Command::new("sh");
        limited.args(["-c", "ulimit -v 500000; exec \"$0\" \"$@\""]).arg(long.get_program()).args(long.get_args());
        let ended = limited.output().unwrap();
        assert!(ended.status.success(), "{ended:?}");
        String::from_utf8(ended.stdout).unwrap().trim().rsplit(' ').next().unwrap().parse::<f64>().unwrap()
    };
    let (short, long) = (time("short-get.goal", 32 << 20), time("long-get.goal", 512 << 20));
    assert!((15.5..16.5).contains(&(long / short)), "{short} {long}");
}

#[test]
fn a_pipe_without_a_writer_is_refused() {
    let pipe = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("pipe-{}", std::process::id()));
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let name = pipe.to_str().unwrap();
    let refused = simulated(2, name, &[]);
    fs::remove_file(&pipe).unwrap();
    refused.expect(2, &format!("goal: {name}: it is not a regular file"));
}

#[test]
fn more_virtual_time_than_there_is_ends_a_job() {
    let day = "calc 86400000000000\n";
    let text = |days: usize| format!("num_ranks 2\nrank 0 {{ {} }}\n", day.repeat(days));
    let fits = simulated(2, &file("days.goal", &text(100)), &[]);
    assert_eq!(microseconds(&fits), 100.0 * 86.4e9);
    simulated(2, &file("many-days.goal", &text(300)), &[]).expect(
        1,
        "the job was ended after 106 days of virtual time, the maximum: a time that the program declares, or a value of the machine, is too large",
    );
}

#[test]
fn a_schedule_runs_on_every_transport_and_machine() {
    let file = file("dissemination.goal", &dissemination());
    let says = "goal ranks 16 operations 3328 messages 1664 bytes 1346464 us ";
    let sim = ["sim", "-n", "16", "--quiet", "--machine"];
    for options in [
        &["run", "-n", "16", "--transport", "shm"][..],
        &["run", "-n", "16", "--transport", "udp"],
        &[&sim[..], &["rx200-qdr"]].concat(),
        &[&sim[..], &["tofu2", "--data", "sizes"]].concat(),
        &[&sim[..], &["laptop", "--per-node", "16"]].concat(),
        &[&sim[..], &["rx200-qdr", "--protocol", "--faults", "loss=0.02"]].concat(),
    ] {
        let ended = run(&[options, &["goal", &file]].concat());
        ended.expect(0, "");
        assert!(ended.output.starts_with(says), "{options:?}: {}", ended.output);
    }
    // The same, compressed.
    let packed = format!("{file}.gz");
    fs::write(&packed, Command::new("gzip").arg("-c").arg(&file).output().expect("gzip").stdout).unwrap();
    assert_eq!(simulated(16, &packed, &[]).output, simulated(16, &file, &[]).output);
}

/// A receiver waits for a rank that waits for a sender without room at the receiver. The receiver reads the sender's messages although no receive is
/// posted for them, in any order of arrival.
#[test]
fn a_sender_without_room_is_heard_whatever_overtakes_what() {
    let many = |what: &str| (0..100).map(|number| what.replace('#', &number.to_string())).collect::<String>();
    let text = [
        format!("num_ranks 3\nrank 0 {{\n{}e: send 8b to 2 tag 9\ne requires s99\n}}", many("s#: send 8b to 1 tag 1\n")),
        format!("rank 1 {{\nw: recv 8b from 2 tag 3\n{}}}", many("r#: recv 8b from 0 tag 1\nr# requires w\n")),
        "rank 2 {\na: recv 8b from 0 tag 9\nb: send 8b to 1 tag 3\nb requires a\n}".to_owned(),
    ];
    let file = file("starved.goal", &text.join("\n"));
    for seed in 0..20 {
        let ended = simulated(3, &file, &["--protocol", "--faults", "delay=0.3:300us", "--seed", &seed.to_string()]);
        assert_eq!((ended.code, ended.error.as_str()), (Some(0), ""), "seed {seed}");
    }
}

#[test]
fn computing_takes_its_time_and_excludes_what_is_on_the_same_core() {
    let graph = |text: &str| file("cores.goal", &format!("num_ranks 1\nrank 0 {{ {text}\n}}"));
    let time = |text: &str, options: &[&str]| microseconds(&simulated(1, &graph(text), options));
    assert_eq!(time("calc 5000\ncalc 7000", &[]), 12.0);
    assert_eq!(time("calc 5000 cpu 1\ncalc 7000", &[]), 7.0);
    assert_eq!(time("a: calc 5000 cpu 1\nb: calc 7000\nb requires a\ncalc 3000 cpu 1", &[]), 12.0);
    assert_eq!(time("a: calc 5000 cpu 1\nb: calc 7000\nb irequires a\ncalc 3000 cpu 1", &[]), 8.0);
    assert_eq!(time("calc 5000\ncalc 7000", &["--compute", "zero"]), 0.0);
    let real = run(&["run", "-n", "1", "goal", &graph("calc 5000000\ncalc 7000000")]);
    assert!(microseconds(&real) >= 12_000.0, "{real:?}");
}

/// The overlap of communication and computation depends on the dependencies.
#[test]
fn operations_wait_for_the_end_or_the_beginning_of_others() {
    let time = |dependency: &str| {
        let rank0 = format!("g: get 1000000b from 1\nc: calc 100000\n{dependency}");
        microseconds(&simulated(2, &file("waits.goal", &format!("num_ranks 2\nrank 0 {{\n{rank0}\n}}")), &[]))
    };
    let (apart, beside) = (time("c requires g"), time("c irequires g"));
    assert!(beside >= 100.0 && apart > beside + 90.0, "{apart} {beside}");
}

#[test]
fn what_is_wrong_is_told_once_with_file_line_and_column() {
    for (name, text, says) in [
        (
            "kind.goal",
            "num_ranks 2\nrank 1 {\n  l: wait 5\n}",
            ":3:6: here should be send, recv, calc, put, get or atomic, not \"wait\"",
        ),
        ("brace.goal", "num_ranks 2\nrank 1 {\n  calc 5\n", ":4:1: the part of rank 1 does not end: a } is missing"),
    ] {
        let path = file(name, text);
        for (start, code) in [(&["sim", "-n", "2", "--machine", "rx200-qdr", "--quiet"][..], 2), (&["run", "-n", "2"], 1)] {
            let ended = run(&[start, &["goal", &path]].concat());
            assert!(ended.error.contains(&format!("{name}{says}")), "{ended:?}");
            assert!(ended.code == Some(code) && ended.error.matches("goal: ").count() == 1, "{ended:?}");
        }
    }
    // These errors are found before any rank starts.
    let path = file("few.goal", "num_ranks 2\n");
    let ended = simulated(3, &path, &[]);
    assert!(ended.code == Some(2) && ended.error.contains("is for 2 ranks, the job has 3: use -n 2"), "{ended:?}");
    let ended = simulated(3, "/no/such.goal", &[]);
    assert!(ended.code == Some(2) && ended.error.contains("/no/such.goal: No such file"), "{ended:?}");
    let ended = simulated(3, &file("none.goal", "#!/bin/sh\n"), &[]);
    assert!(ended.code == Some(2) && ended.error.contains("none.goal:1:1: here should be num_ranks"), "{ended:?}");
    let late = |comment: usize| file("late.goal", &format!("//{}\nnum_ranks 3\n", "x".repeat(comment)));
    simulated(3, &late(65_000), &[]).expect(0, "");
    let ended = simulated(3, &late(65_530), &[]);
    let says = "late.goal: num_ranks and its number are not in the first 64 KiB: move comments behind them";
    assert!(ended.code == Some(2) && ended.error.contains(says), "{ended:?}");
}

#[test]
fn a_result_that_is_lost_is_an_error() {
    let file = file("lost.goal", "num_ranks 1\nrank 0 { calc 5 }\n");
    let (mut command, _) = pelago(&["sim", "-n", "1", "--machine", "rx200-qdr", "--quiet", "goal", &file]);
    command.stdout(fs::File::options().write(true).open("/dev/full").unwrap());
    let ended = command.stderr(Stdio::piped()).spawn().unwrap().wait_with_output().unwrap();
    let (code, error) = (ended.status.code(), String::from_utf8(ended.stderr).unwrap());
    let line = "goal: cannot write to the standard output: No space left on device (os error 28)";
    assert!(code == Some(1) && error.lines().any(|said| said == line), "{code:?} {error}");
}

#[test]
fn messages_and_receives_that_do_not_match_are_no_success() {
    let path =
        file("left.goal", "num_ranks 2\nrank 0 { send 8b to 1 tag 5\n send 80b to 1 tag 5 }\nrank 1 { recv 8b from 0 tag 5 }");
    let ended = simulated(2, &path, &[]);
    assert_eq!((ended.code, ended.error.as_str()), (Some(1), "goal: 1 messages were sent that no receive is there for\n"));
    let path = file("never.goal", "num_ranks 2\nrank 0 { send 8b to 1 tag 5 }\nrank 1 {\n recv 8b from 0 tag 6 }");
    let ended = simulated(2, &path, &[]);
    assert!(ended.code == Some(1) && ended.error.contains("never.goal:4: recv 8b from 0 tag 6"), "{ended:?}");
    let many = "send 8b to 1 tag 5\n".repeat(40);
    let path = file("many.goal", &format!("num_ranks 2\nrank 0 {{ {many} }}\nrank 1 {{ recv 8b from 0 tag 6 \n}}"));
    let ended = simulated(2, &path, &[]);
    assert!(ended.code == Some(1) && ended.error.contains("a rank sends more messages than the other one receives"), "{ended:?}");
}
