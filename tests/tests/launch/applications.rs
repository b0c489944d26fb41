//! Programs on active messages and work queues, which verify what they find: on one host, on several that share a machine, over UDP, and simulated.

use crate::{Ended, run};

/// Each, and the end of what it prints.
const PROGRAMS: [(&[&str], &str); 5] = [
    (&["gups", "--log-words", "9", "--by", "atomics"], " wrong 0"),
    (&["gups", "--log-words", "9", "--by", "messages"], " wrong 0"),
    (&["gups", "--log-words", "9", "--by", "map"], " wrong 0"),
    (&["uts", "--root", "300", "--seed", "4", "--chunk", "4", "--verify"], "uts tree is that of one rank alone"),
    (&["bfs", "--scale", "9", "--roots", "3"], " trees right"),
];

/// The words of a line that depend neither on the number of ranks nor on time.
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

/// Whether a job has found the same as the ones before.
#[track_caller]
fn same(ended: &Ended, (program, says): (&str, &str), alone: &mut Option<String>) {
    ended.expect(0, "");
    assert!(ended.output.trim_end().ends_with(says), "{ended:?}");
    let found = fixed(program, &ended.output);
    assert_eq!(*alone.get_or_insert(found.clone()), found, "{ended:?}");
}
