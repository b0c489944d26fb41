//! Outputs do not take the place of what a run reads, or of what its program has printed.

use std::fs;
use std::path::PathBuf;

use crate::{pelago, run, wait_until_gone};

const SIM: [&str; 6] = ["sim", "--machine", "rx200-qdr", "--quiet", "-n", "2"];

/// Creates a folder for this test.
fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("pelago-kept-{name}-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    folder
}

#[test]
fn a_file_that_the_run_reads_is_not_replaced() {
    let folder = folder("read");
    let path = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    let (machine, goal) = (path("m.toml"), path("s.goal"));
    fs::write(&machine, run(&["sim", "--describe", "--machine", "rx200-qdr"]).output).unwrap();
    fs::write(&goal, "num_ranks 2\nrank 0 {\n}\nrank 1 {\n}\n").unwrap();
    let before = [&machine, &goal].map(|file| fs::read(file).unwrap());
    for option in ["--report", "--trace"] {
        run(&["sim", "-n", "2", "--machine", &machine, option, &machine, "ring"])
            .expect(2, &format!("{option} and --machine are both {machine}: give each a file of its own"));
        let line = format!("{option} {goal}: the program gets this file by {goal}; name another");
        run(&[&SIM, &[option, &goal, "goal", &goal][..]].concat()).expect(2, &line);
        run(&["run", "-n", "2", option, &goal, "goal", &goal]).expect(2, &line);
    }
    assert_eq!([&machine, &goal].map(|file| fs::read(file).unwrap()), before);
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_report_follows_what_the_program_has_printed() {
    let folder = folder("printed");
    let file = folder.join("output");
    let (mut command, mark) = pelago(&[&SIM, &["--report", "/dev/stdout", "ring"][..]].concat());
    let status = command.stdout(fs::File::create(&file).unwrap()).status().unwrap();
    wait_until_gone(&mark);
    let printed = run(&[&SIM, &["ring"][..]].concat()).output;
    let text = fs::read_to_string(&file).unwrap();
    let report = text.strip_prefix(&printed).unwrap_or_else(|| panic!("{text}"));
    assert!(status.success() && !printed.is_empty() && report.starts_with('{') && report.ends_with("}\n"), "{report}");
    fs::remove_dir_all(folder).unwrap();
}
