//! `pelago compare`: reports of real and simulated runs side by side, its exit codes, and files that are no reports; `pelago run --report`.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::{Ended, PROGRAM, run};

/// A folder of a test, which is removed with its files.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("pelago-compare-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    fn file(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }

    /// Simulates a program on two ranks; returns the path of the report.
    fn simulated(&self, name: &str, options: &[&str], program: &[&str]) -> String {
        let file = self.file(name);
        run(&[&["sim", "-n", "2", "--quiet", "--report", &file], options, program].concat()).expect(0, "");
        file
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

const BARRIER: [&str; 3] = ["barrier", "--repeat", "10"];

fn read(file: &str) -> Value {
    serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap()
}

/// Compares two reports; returns the JSON object.
#[track_caller]
fn compared(options: &[&str], code: i32) -> Value {
    let ended = run(&[&["compare", "--json"], options].concat());
    assert_eq!(ended.code, Some(code), "{ended:?}");
    serde_json::from_str(&ended.output).unwrap()
}

fn row<'c>(comparison: &'c Value, section: &str, name: &str) -> &'c Value {
    let rows = comparison["rows"].as_array().unwrap();
    rows.iter()
        .find(|row| row["section"] == section && row["name"] == name)
        .unwrap_or_else(|| panic!("{section}: {name}: {comparison}"))
}

/// The start of a real job is no part of its report, so that both runs have the same operations.
#[test]
fn a_real_run_and_its_simulation_have_the_same_operations() {
    let folder = Folder::new("real");
    for (name, transport) in [("shm.json", "shm"), ("udp.json", "udp")] {
        let real = folder.file(name);
        run(&[&["run", "-n", "2", "--transport", transport, "--report", &real], &BARRIER[..]].concat()).expect(0, "");
        assert_eq!(fs::read_dir(&folder.0).unwrap().filter(|entry| entry.as_ref().unwrap().path().is_dir()).count(), 0);
        let simulated = folder.simulated("simulated.json", &["--per-node", "2", "--machine", "laptop"], &BARRIER);
        let comparison = compared(&["--exact", &real, &simulated], 0);
        assert_eq!((&comparison["runs"][0]["real"], &comparison["runs"][1]["real"]), (&true.into(), &false.into()));
        assert!(comparison["same_operations"] == true && comparison["obstacles"] == Value::Array(vec![]), "{comparison}");
        let puts = row(&comparison, "put", "count");
        assert!(
            puts["first"].as_u64() > Some(20) && puts["first"] == puts["second"] && puts["difference_percent"] == 0.0,
            "{puts}"
        );
        // The times of the rows are those of the reports.
        for (side, report) in [("first", read(&real)), ("second", read(&simulated))] {
            let (job, ranks) = (&report["job"], &report["ranks"]);
            assert_eq!(row(&comparison, "time", "total")[side], job["end_ps"]);
            assert_eq!(row(&comparison, "waiting of a rank", "median")[side], ranks["waiting"]["median_ps"]);
            let sum = |of: &Value| of["computing_ps"].as_u64().unwrap() + of["waiting_ps"].as_u64().unwrap();
            assert!(
                ranks["rows"].as_array().unwrap().iter().all(|row| (1..=job["end_ps"].as_u64().unwrap()).contains(&sum(row)))
            );
            assert_eq!(row(&comparison, "put: to completion", "max")[side], report["latencies"][0]["to_completion"]["max_ps"]);
        }
        let table = run(&["compare", &real, &simulated]);
        for part in ["real: ", "simulated: ", "\ncomputing of a rank\n", "\nthe total time differs by "] {
            assert!(table.code == Some(0) && table.output.contains(part), "{part:?}: {table:?}");
        }
    }
}

#[test]
fn the_exit_code_tells_scripts_the_result() {
    let folder = Folder::new("codes");
    let near = folder.simulated("near.json", &["--per-node", "2", "--machine", "laptop"], &BARRIER);
    let far = folder.simulated("far.json", &["--machine", "gigabit-ethernet"], &BARRIER);
    run(&["compare", &near, &near, "--exact", "--tolerance", "0"]).expect_quiet(0);
    let ended = run(&["compare", &near, &far, "--tolerance", "5"]);
    assert!(ended.code == Some(1) && ended.error.starts_with("pelago: the total times differ by +"), "{ended:?}");
    run(&["compare", &near, &far, "--exact", "--tolerance", "1e9"]).expect_quiet(0);
    // Another argument: another run, and other operations.
    let longer = folder.simulated("longer.json", &["--per-node", "2", "--machine", "laptop"], &["barrier", "--repeat", "11"]);
    let ended = run(&["compare", &near, &longer, "--tolerance", "1e9"]);
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert!(ended.output.contains("NOT THE SAME RUN: the programs are \"barrier --repeat 10\""), "{ended:?}");
    assert!(ended.output.lines().any(|line| line.contains("count") && line.ends_with(" !")), "{ended:?}");
    // The same command line, but other operations.
    let mut other = read(&longer);
    other["job"]["program"] = "barrier --repeat 10".into();
    let edited = folder.file("edited.json");
    fs::write(&edited, other.to_string()).unwrap();
    assert!(compared(&[&near, &edited], 0)["same_operations"] == false);
    let ended = run(&["compare", &near, &edited, "--exact"]);
    assert!(ended.code == Some(3) && ended.error.starts_with("pelago: --exact: "), "{ended:?}");
}

impl Ended {
    #[track_caller]
    fn expect_quiet(&self, code: i32) {
        assert!(self.code == Some(code) && self.error.is_empty(), "{self:?}");
    }
}

#[test]
fn what_is_no_report_is_named() {
    let folder = Folder::new("wrong");
    let whole = folder.simulated("whole.json", &["--machine", "rx200-qdr", "--trace", &folder.file("trace.json")], &BARRIER);
    let text = fs::read_to_string(&whole).unwrap();
    let write = |name: &str, text: &[u8]| fs::write(folder.0.join(name), text).unwrap();
    write("half.json", &text.as_bytes()[..text.len() / 2]);
    write("empty.json", b"");
    write("binary.json", b"\xff\xfe\x00{");
    write("text.json", b"# no report");
    write("page.html", b"<!doctype html><title>t</title>");
    write("other.json", br#"{"simulation":{"end_ps":5}}"#);
    write("newer.json", text.replacen("\"format\":1", "\"format\":2", 1).as_bytes());
    write("deep.json", "[".repeat(1 << 20).as_bytes());
    for (name, why) in [
        ("half.json", "is not a report: it ends too early: EOF while parsing"),
        ("empty.json", "is not a report: it ends too early"),
        ("binary.json", "cannot read"),
        ("text.json", "is not a report: expected value at line 1"),
        ("page.html", "is not a report: it is a page; pelago run and pelago sim write reports by --report FILE.json"),
        ("trace.json", "is not a report: it is a trace"),
        ("other.json", "is not a report: missing field `format`"),
        ("newer.json", "has format 2, and only format 1 can be read"),
        ("deep.json", "is not a report"),
        ("missing.json", "No such file or directory"),
        ("", "Is a directory"),
        ("/dev/zero", "it has more than 268435456 bytes"),
    ] {
        let file = folder.file(name);
        for files in [[&file, &whole], [&whole, &file]] {
            let ended = run(&["compare", files[0], files[1]]);
            let is_told = ended.error.contains(&file) && ended.error.contains(why) && ended.error.lines().count() == 1;
            assert!(ended.code == Some(2) && is_told && ended.output.is_empty(), "{name}: {ended:?}");
        }
    }
    for (options, why) in
        [(&["--tolerance", "-1"][..], "at least 0"), (&["--tolerance", "NaN"], "at least 0"), (&[], "SIMULATED.json")]
    {
        let files = if options.is_empty() { vec![whole.as_str()] } else { vec![whole.as_str(), &whole] };
        let ended = run(&[&["compare"], options, &files].concat());
        assert!(ended.code == Some(2) && ended.error.contains(why), "{ended:?}");
    }
}

#[test]
fn reports_of_real_runs_say_what_they_lack() {
    let folder = Folder::new("lacks");
    let file = folder.file("real.json");
    let ended = run(&["run", "-n", "3", "--report", &file, PROGRAM, "crash", "abort"]);
    assert!(ended.code != Some(0), "{ended:?}");
    if Path::new(&file).exists() {
        let report = read(&file);
        assert!(report["job"]["recording"]["ranks_missing"].as_u64() > Some(0) && report["job"]["fault"].is_string(), "{report}");
    }
    for (options, why) in [
        (&["--report", "/no/such/folder/file"][..], "cannot write /no/such/folder/file"),
        (&["--report", "page.html"], "--report page.html: pages show simulated jobs; name a file that ends in .json"),
        (&["--report", &file, "--trace", &file], "--trace and --report are both"),
        (&["--report", &file, "--sample", "0"], "cannot be used with"),
    ] {
        let ended = run(&[&["run", "-n", "2"], options, &["ring"]].concat());
        assert!(ended.code == Some(2) && ended.error.contains(why), "{ended:?}");
    }
    let ended = run(&["run", "-n", "2", "--report", &file, "true"]);
    assert!(ended.code == Some(1) && ended.error.contains("no rank has recorded anything"), "{ended:?}");
}
