//! The files that a simulation writes: failures to write are detected before the run, and existing files are kept until its end.

use std::fs;
use std::path::PathBuf;

use crate::{PROGRAM, run};

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
