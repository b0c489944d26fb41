//! The bundled programs: the same result for every number of ranks and every split, and one line for wrong arguments.

use rustix::process::{Signal, kill_process};

use crate::{Ended, end, pelago, run, shared_memory_names, wait_until_gone};

/// What `himeno S --iterations 3` must find, whoever computes it.
const HASH: &str = "79dc8598e66ba7bc";
const GOSA: f64 = 3.296794e-3;

#[test]
fn the_ring_closes() {
    for ranks in [1, 2, 5] {
        let ended = run(&["run", "-n", &ranks.to_string(), "ring"]);
        ended.expect(0, "");
        let mut expected: Vec<_> =
            (0..ranks).map(|rank| format!("rank {rank} holds {}", (rank + ranks - 1) % ranks + 1)).collect();
        expected.sort();
        assert_eq!(ended.sorted_lines(), expected);
    }
}

#[test]
fn himeno_is_bitwise_the_same_for_every_number_of_ranks() {
    for ranks in 1..=16 {
        expect_field(&himeno(ranks, &["S", "--iterations", "3"]), HASH);
    }
}

#[test]
fn himeno_is_bitwise_the_same_for_every_split() {
    for split in ["1x1x6", "1x6", "6x1", "2x3", "3x2x1", "1x2x3", "2x1x3"] {
        expect_field(&himeno(6, &["S", "--iterations", "3", "--split", split]), HASH);
    }
    for (ranks, split) in [(8, "2x2x2"), (7, "1x7"), (12, "3x2x2"), (11, "1x1x11"), (16, "2x2x4")] {
        expect_field(&himeno(ranks, &["S", "--iterations", "3", "--split", split]), HASH);
    }
}

#[test]
fn himeno_needs_its_edges_when_b_is_not_zero() {
    let arguments = ["XS", "--iterations", "5", "--b", "0.05"];
    let alone = field(&himeno(1, &arguments), "hash").to_owned();
    assert_ne!(alone, field(&himeno(1, &["XS", "--iterations", "5"]), "hash"));
    for (ranks, split) in [(2, "1x2"), (4, "2x2"), (8, "2x2x2"), (9, "3x3"), (12, "3x2x2"), (5, "1x1x5")] {
        let found = himeno(ranks, &[&arguments[..], &["--split", split]].concat());
        assert_eq!(field(&found, "hash"), alone, "split {split}");
    }
}

#[test]
fn himeno_ends_when_a_rank_is_killed() {
    let (mut command, mark) = pelago(&["run", "-n", "4", "himeno", "S", "--iterations", "1000000"]);
    let launcher = command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap();
    let victim = loop {
        let ranks = crate::with_environment("PELAGO_RANK=2");
        let own = crate::with_environment(&format!("{}={mark}", crate::MARK));
        if let Some(rank) = ranks.into_iter().find(|process| own.contains(process)) {
            break rank;
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    };
    std::thread::sleep(std::time::Duration::from_millis(200));
    kill_process(rustix::process::Pid::from_raw(victim.parse().unwrap()).unwrap(), Signal::KILL).unwrap();
    let output = launcher.wait_with_output().unwrap();
    wait_until_gone(&mark);
    assert_eq!(output.status.code(), Some(3));
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(said, format!("pelago: rank 2 (process {victim}) was killed by signal 9 (SIGKILL); the job was ended\n"));
    assert_eq!(shared_memory_names(), [""; 0]);
}

#[test]
fn wrong_arguments_are_one_line_before_any_rank_starts() {
    for (arguments, says) in [
        (&["himeno", "Q"][..], "himeno: invalid value 'Q'"),
        (&["himeno", "S", "--split", "3x1"], "himeno: split 3x1x1 makes 3 blocks, but there are 4 ranks"),
        (&["himeno", "S", "--iterations", "0"], "himeno: invalid value '0'"),
        (&["himeno", "--b", "much"], "himeno: invalid value 'much'"),
        (&["ring", "round"], "ring: "),
    ] {
        let (mut command, _) = pelago(&["run", "-n", "4"]);
        command.args(arguments);
        let ended = end(command);
        assert!(ended.code == Some(2) && ended.error.starts_with(&format!("pelago: {says}")), "{arguments:?}: {ended:?}");
        assert_eq!(ended.error.lines().count(), 1, "{ended:?}");
    }
}

fn himeno(ranks: u32, arguments: &[&str]) -> Ended {
    let ended = run(&[&["run", "-n", &ranks.to_string(), "himeno"], arguments].concat());
    ended.expect(0, "");
    ended
}

#[track_caller]
fn expect_field(ended: &Ended, hash: &str) {
    assert_eq!(field(ended, "hash"), hash, "{}", ended.output);
    let gosa: f64 = field(ended, "gosa").parse().unwrap();
    assert!((gosa - GOSA).abs() <= 1e-6 * GOSA, "{}", ended.output);
}

fn field<'a>(ended: &'a Ended, name: &str) -> &'a str {
    let line = ended.output.lines().find(|line| line.split_whitespace().next() == Some(name)).expect("a line of the report");
    line.split_whitespace().nth(1).expect("a value")
}
