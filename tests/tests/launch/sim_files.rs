//! The files that a simulation writes: failures to write are detected before the run, and existing files are kept until its end.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::{PATIENCE, PROGRAM, pelago, run, wait_until_gone};

const SIM: [&str; 6] = ["sim", "--machine", "rx200-qdr", "--quiet", "-n", "2"];

/// Creates a folder for this test.
fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("pelago-{name}-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    folder
}

#[test]
fn what_cannot_be_written_is_said_before_the_run() {
    let folder = folder("unwritable");
    let here = folder.join("file");
    fs::write(&here, "").unwrap();
    let below = here.join("file");
    for option in ["--report", "--trace"] {
        for (path, why) in [
            ("/no/such/folder/page.html", "No such file or directory"),
            (folder.to_str().unwrap(), "it is a folder; name a file"),
            (below.to_str().unwrap(), "Not a directory"),
            ("..", "it is a folder"),
        ] {
            let ended = run(&[&SIM, &[option, path, PROGRAM, "crash", "abort"][..]].concat());
            let is_told = ended.error.starts_with(&format!("pelago: cannot write {path}: ")) && ended.error.contains(why);
            assert!(ended.code == Some(2) && is_told && ended.error.lines().count() == 1, "{ended:?}");
            assert_eq!(ended.output, "", "nothing ran");
        }
    }
    let here = here.to_str().unwrap();
    run(&[&SIM, &["--report", here, "--trace", here, "ring"][..]].concat())
        .expect(2, &format!("--report and --trace are both {here}: give each a file of its own"));
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_file_is_kept_until_the_new_one_is_whole() {
    let folder = folder("kept");
    let file = folder.join("report.json");
    let named = file.to_str().unwrap();
    fs::write(&file, "kept").unwrap();
    let names = || fs::read_dir(&folder).unwrap().count();
    run(&[&SIM, &["--report", named, PROGRAM, "crash", "abort"][..]].concat());
    assert_eq!((fs::read_to_string(&file).unwrap().as_str(), names()), ("kept", 1), "the run crashed");
    let spins = ["--report", named, "--time-limit", "0.1", PROGRAM, "crash", "spin"];
    assert_eq!(run(&[&SIM, &spins[..]].concat()).code, Some(4));
    assert_eq!((fs::read_to_string(&file).unwrap().as_str(), names()), ("kept", 1), "the run never ended");
    run(&[&SIM, &["--report", named, "ring"][..]].concat());
    assert!(fs::read_to_string(&file).unwrap().starts_with('{') && names() == 1);
    // A device must not be replaced by a new file.
    run(&[&SIM, &["--report", "/dev/null", "--trace", "/dev/stdout", "barrier"][..]].concat());
    assert!(!fs::metadata("/dev/null").unwrap().is_file());
    let full = run(&[&SIM, &["--report", "/dev/full", "ring"][..]].concat());
    let line = full.error.lines().last().unwrap_or_default();
    assert!(full.code == Some(1) && line.contains("cannot write /dev/full: No space left on device"), "{full:?}");
    assert!(!line.contains("take part"), "{line}");
    fs::remove_dir_all(folder).unwrap();
}

/// Runs a simulation whose error output is on a full disk; returns its exit code.
#[track_caller]
fn with_full_errors(arguments: &[&str]) -> Option<i32> {
    let (mut command, mark) = pelago(&[&["sim", "--machine", "rx200-qdr", "-n", "2"], arguments].concat());
    let full = fs::File::options().write(true).open("/dev/full").unwrap();
    let mut process = command.stdout(std::process::Stdio::null()).stderr(full).spawn().unwrap();
    let patience = Instant::now() + PATIENCE;
    let status = loop {
        if let Some(status) = process.try_wait().unwrap() {
            break status;
        }
        if Instant::now() > patience {
            process.kill().unwrap();
            process.wait().unwrap();
            panic!("{arguments:?} did not end");
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    wait_until_gone(&mark);
    status.code()
}

#[test]
fn an_error_output_that_cannot_be_written_takes_neither_reports_nor_exit_codes_nor_limits() {
    let folder = folder("full");
    let file = folder.join("report.json");
    let report = ["--report", file.to_str().unwrap()];
    for (arguments, code) in [
        (&["ring"][..], 0),
        (&["--json", "ring"], 0),
        (&[PROGRAM, "deadlock"], 1),
        (&["--faults", "kill=1@1ns,told=1us", PROGRAM, "deadlock"], 3),
        (&["--time-limit", "0.25", PROGRAM, "exchange", "barrier"], 4),
    ] {
        assert_eq!(with_full_errors(&[&report[..], arguments].concat()), Some(code), "{arguments:?}");
        assert!(fs::read_to_string(&file).unwrap().starts_with('{'), "{arguments:?}");
        fs::remove_file(&file).unwrap();
    }
    // The thread of the time limit also names a rank that computes without a call, after three seconds.
    for limit in ["0.25", "4"] {
        assert_eq!(with_full_errors(&["--time-limit", limit, PROGRAM, "crash", "spin"]), Some(4), "{limit}");
    }
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_failure_is_told_although_the_report_cannot_be_written() {
    let lost = "pelago: cannot write /dev/full: No space left on device (os error 28)";
    for (arguments, code, fault) in [
        (&["--faults", "kill=1@1ns,told=1us", PROGRAM, "deadlock"][..], 3, "pelago: rank 1 was lost, after "),
        (&["--time-limit", "0.25", PROGRAM, "exchange", "barrier"], 4, "pelago: the time limit of 0.25 s has passed; "),
    ] {
        for reports in [&["--report", "/dev/full"][..], &["--trace", "/dev/full"]] {
            let ended = run(&[&SIM, reports, arguments].concat());
            let lines: Vec<_> = ended.error.lines().collect();
            assert!(ended.code == Some(code) && lines.len() == 2, "{ended:?}");
            assert!(lines[0] == lost && lines[1].starts_with(fault), "{ended:?}");
        }
    }
    // One file that cannot be written does not keep the other back.
    let folder = folder("other");
    let file = folder.join("trace.json");
    let ended = run(&[&SIM, &["--report", "/dev/full", "--trace", file.to_str().unwrap(), "ring"][..]].concat());
    assert!(ended.code == Some(1) && fs::metadata(&file).unwrap().len() > 0, "{ended:?}");
    fs::remove_dir_all(folder).unwrap();
}
