//! Programs with active messages and work queues, which verify their results: on one host, on several hosts of one machine, over UDP, and simulated.

use crate::{Ended, run};

/// The programs, and the end of the output of each.
const PROGRAMS: [(&[&str], &str); 5] = [
    (&["gups", "--log-words", "9", "--by", "atomics"], " wrong 0"),
    (&["gups", "--log-words", "9", "--by", "messages"], " wrong 0"),
    (&["gups", "--log-words", "9", "--by", "map"], " wrong 0"),
    (&["uts", "--root", "300", "--seed", "4", "--chunk", "4", "--verify"], "uts tree is that of one rank alone"),
    (&["bfs", "--scale", "9", "--roots", "3"], " trees right"),
];

/// Returns the words of a line that depend neither on the number of ranks nor on time.
fn fixed(program: &str, output: &str) -> String {
    let line = output.lines().next().unwrap_or_default();
    let after = |word: &str| line.split(' ').skip_while(|found| *found != word).nth(1).unwrap_or_default().to_owned();
    match program {
        "uts" => ["nodes", "leaves", "depth"].map(after).join(" "),
        "bfs" => ["reached", "edges", "levels"].map(after).join(" "),
        _ => String::new(),
    }
}

#[test]
fn programs_find_what_one_rank_finds() {
    for (program, says) in PROGRAMS {
        let mut alone = None;
        let ways: [(&str, &[&str]); 6] = [
            ("1", &[]),
            ("2", &[]),
            ("5", &[]),
            ("3", &["--transport", "udp"]),
            ("5", &["--rails", "shm:2,udp"]),
            ("4", &["--hosts", "a:2,b:2", "--remote-shell", "env PELAGO_TEST_HOST={host}"]),
        ];
        for (ranks, way) in ways {
            same(&run(&[&["run", "-n", ranks][..], way, program].concat()), (program[0], says), &mut alone);
        }
        for way in [&["--per-node", "2"][..], &["--faults", "loss=0.05,duplicate=0.05,delay=0.1:20us", "--seed", "5"]] {
            let simulated = [&["sim", "--machine", "rx200-qdr", "--quiet", "-n", "4"][..], way, program].concat();
            same(&run(&simulated), (program[0], says), &mut alone);
        }
    }
}

/// Checks that a job has the same results as the earlier ones.
#[track_caller]
fn same(ended: &Ended, (program, says): (&str, &str), alone: &mut Option<String>) {
    ended.expect(0, "");
    assert!(ended.output.trim_end().ends_with(says), "{ended:?}");
    let found = fixed(program, &ended.output);
    assert_eq!(*alone.get_or_insert(found.clone()), found, "{ended:?}");
}

#[test]
fn programs_larger_than_the_memory_name_what_is_missing() {
    let ended = run(&["run", "-n", "2", "bfs", "--scale", "40"]);
    let what = "bfs: there are no 13194139533312 bytes of memory for the vertices of a rank";
    assert!(ended.code == Some(1) && ended.error.contains(what), "{ended:?}");
    run(&["run", "-n", "2", "incast", "--batch", "65537"])
        .expect(2, "incast: invalid value '65537' for '--batch <K>': 65537 is not in 1..=65536");
}

/// A message for which a slot was acquired cannot be lost, so that one that is missing is a failure; with `eager`, losses are a result.
#[test]
fn missing_messages_are_a_failure_only_where_none_can_be_lost() {
    let slow = ["sim", "-n", "3", "--machine", "rx200-qdr", "--quiet", "--protocol", "--faults", "delay=1:50ms,limit=10s"];
    for (method, code) in [("acquire", 1), ("eager", 0)] {
        let ended = run(&[&slow[..], &["incast", "--messages", "3", "--patience-ms", "1", "--method", method]].concat());
        assert!(ended.code == Some(code) && ended.output.contains(" lost 6 "), "{method}: {ended:?}");
    }
}
