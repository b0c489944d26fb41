//! The programs of the tutorials: each prints the output that its page shows, over shared memory, over UDP and simulated. The machine files and the sweep
//! of the book run.

use std::path::{Path, PathBuf};
use std::process::Command;

const RING: &str = env!("CARGO_BIN_EXE_tutorial-ring");
const HEAT: &str = env!("CARGO_BIN_EXE_tutorial-heat");
const KMERS: &str = env!("CARGO_BIN_EXE_tutorial-kmers");
const SHARED: &str = env!("CARGO_BIN_EXE_tutorial-shared");
const TASKS: &str = env!("CARGO_BIN_EXE_tutorial-tasks");
const PIPELINE: &str = env!("CARGO_BIN_EXE_tutorial-pipeline");

/// Returns the output lines of a command that succeeds, sorted, because ranks print in any order.
fn lines_of(command: &mut Command) -> Vec<String> {
    let output = command.output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}: {error}", output.status);
    let mut lines: Vec<_> = String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

/// Returns the output lines of a job, sorted.
fn lines(pelago: &[&str], program: &str) -> Vec<String> {
    lines_of(Command::new(env!("CARGO_BIN_EXE_pelago-under-test")).args(pelago).arg(program))
}

/// Checks the output of a job of `ranks` ranks on every platform.
fn expect(ranks: u32, program: &str, expected: &[&str]) {
    let ranks = ranks.to_string();
    for pelago in [
        &["run", "-n", &ranks, "--time-limit", "60"][..],
        &["run", "-n", &ranks, "--time-limit", "60", "--transport", "udp"],
        &["sim", "-n", &ranks, "--machine", "rx200-qdr", "--quiet"],
    ] {
        assert_eq!(lines(pelago, program), expected, "{pelago:?} {program}");
    }
}

/// Checks that the page shows this text.
fn on_page(page: &str, text: &str) {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/book/src/tutorials").join(page);
    let written = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    assert!(written.contains(text), "{page}: the output is {text:?}");
}

#[test]
fn the_ring_holds_the_numbers_of_left_neighbours_and_one() {
    expect(4, RING, &["rank 0 holds 4", "rank 1 holds 1", "rank 2 holds 2", "rank 3 holds 3"]);
}

#[test]
fn heat_is_the_same_for_every_number_of_ranks() {
    for ranks in [1, 3, 4] {
        let line = format!("heat on {ranks} ranks after 200 steps: 43224.311078");
        expect(ranks, HEAT, &[&line]);
    }
    on_page("heat.md", "heat on 4 ranks after 200 steps: 43224.311078");
}

#[test]
fn kmers_are_the_same_for_every_number_of_ranks() {
    for ranks in [1, 2, 4] {
        expect(ranks, KMERS, &["256 different words of length 4 among 9997", "AAAA occurs 29 times"]);
    }
    on_page("kmers.md", "`256 different words of length 4 among 9997` and `AAAA occurs 29 times`");
}

#[test]
fn the_shared_variable_has_every_result() {
    expect(4, SHARED, &["400 results, sum 79800, maximum 399"]);
    on_page("shared.md", "400 results, sum 79800, maximum 399");
}

#[test]
fn claimed_rows_add_up_for_every_number_of_ranks() {
    for ranks in [1, 4] {
        expect(ranks, TASKS, &["11073 of 65536 points are inside"]);
    }
    on_page("tasks.md", "`11073 of 65536 points are inside`");
}

#[test]
fn simulated_times_are_those_of_the_page() {
    let losing = ["--machine", "tofu2", "--faults", "loss=0.05"];
    for (options, microseconds) in [(&losing[..2], "53.288"), (&["--machine", "rx200-qdr"], "57.893"), (&losing, "87.550")] {
        let sim = lines(&[&["sim", "-n", "4", "--quiet"], options].concat(), PIPELINE);
        assert_eq!(sim, [format!("4 ranks: {microseconds} us for each round")]);
        on_page("simulation.md", &format!("{microseconds} µs (`{}`)", options.last().unwrap()));
    }
    assert_eq!(lines(&["run", "-n", "4", "--time-limit", "60"], PIPELINE).len(), 1);
}

/// Writes the block of TOML on a page of the book that contains this text, with another text before it, into a file. Returns the path of the file.
fn file_of_the_book(name: &str, before: &str, page: &str, part: &str) -> PathBuf {
    let page = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/book/src").join(page)).unwrap();
    let mut blocks = page.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next());
    let block = blocks.find(|block| block.contains(part)).unwrap_or_else(|| panic!("no file with {part:?}"));
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, before.to_owned() + block).unwrap();
    path
}

#[test]
fn machines_and_the_sweep_of_the_book_run() {
    let machine = file_of_the_book("smallest.toml", "", "reference/machine-files.md", "[rail.topology]");
    let text = std::fs::read_to_string(&machine).unwrap();
    let classes = file_of_the_book("classes.toml", &text, "simulator.md", "[[rail.class]]");
    for machine in [machine, classes] {
        let sim = lines(&["sim", "-n", "4", "--machine", machine.to_str().unwrap(), "--quiet"], RING);
        assert_eq!(sim, ["rank 0 holds 4", "rank 1 holds 1", "rank 2 holds 2", "rank 3 holds 3"]);
    }
    let sweep = file_of_the_book("runs.toml", "", "simulator.md", "programs = ");
    let text = std::fs::read_to_string(&sweep).unwrap();
    let fewer = text.replace("ranks = [64, 256, 1024]", "ranks = [4]").replace("seeds = [0, 1, 2]", "seeds = [0]");
    std::fs::write(&sweep, fewer).unwrap();
    let results = Path::new(env!("CARGO_TARGET_TMPDIR")).join("runs.sweep");
    let _ = std::fs::remove_dir_all(&results);
    lines_of(Command::new(env!("CARGO_BIN_EXE_pelago-under-test")).arg("sweep").arg(&sweep));
    let table = std::fs::read_to_string(results.join("table.csv")).unwrap();
    assert_eq!(table.lines().count(), 1 + 2 * 2 * 3, "programs, machines and lengths of cables: {table}");
}
