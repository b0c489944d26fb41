//! Every example of the book and of the README runs on four ranks.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use pelago_cuda::LIBRARY_VARIABLE;
use pelago_cuda::mock::MockDriver;

const BOOK: &str = env!("CARGO_BIN_EXE_pelago-book");

/// Returns the output lines of a command that succeeds.
fn lines(command: &mut Command) -> Vec<String> {
    let output = command.output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}: {error}", output.status);
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

/// Runs the fragments of every page, and every program, as the ranks of a job that these arguments start.
fn run(platform: &[&str], driver: &str) {
    // Examples contain assertions. These lines are what they print besides.
    let printed = BTreeMap::from([
        ("README.md:7", &["rank 0 holds 4", "rank 1 holds 1", "rank 2 holds 2", "rank 3 holds 3"][..]),
        (
            "messaging.md",
            &["rank 0 has 140 votes for 3", "rank 1: 5 bytes", "rank 1: [104, 101, 108, 108, 111]", "rank 3: 5 bytes"],
        ),
    ]);
    let driver = MockDriver::build(Path::new(env!("CARGO_TARGET_TMPDIR")), driver, &[]);
    let names = lines(&mut Command::new(BOOK));
    assert!(names.len() > 10 && printed.keys().all(|name| names.iter().any(|other| other == name)), "{names:?}");
    for name in &names {
        let lines = lines(Command::new(BOOK).args(platform).args([BOOK, name]).env(LIBRARY_VARIABLE, &driver));
        for line in *printed.get(name.as_str()).unwrap_or(&&[][..]) {
            assert!(lines.iter().any(|printed| printed == line), "{name} prints {line:?}: {lines:#?}");
        }
        // Page faults are not simulated, and some systems forbid them.
        let all_run = !lines.iter().any(|line| line.contains(" is not run: "));
        assert!(all_run || name == "dsm.md", "{name}: {lines:#?}");
    }
}

#[test]
fn examples_run_over_shared_memory() {
    run(&["run", "-n", "4", "--time-limit", "60"], "book-shm");
}

#[test]
fn examples_run_over_udp() {
    run(&["run", "-n", "4", "--time-limit", "60", "--transport", "udp"], "book-udp");
}

#[test]
fn examples_run_simulated() {
    run(&["sim", "-n", "4", "--machine", "rx200-qdr", "--quiet"], "book-sim");
}
