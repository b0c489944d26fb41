//! Many simulations by one command: killed, resumed, and with variations of each value of a machine.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::{Ended, PATIENCE, pelago, run, wait_until_gone};

/// A folder that is removed at the end of the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("pelago-sweep-{name}-{}", std::process::id()));
        fs::create_dir(&path).unwrap();
        Self(path)
    }

    fn write(&self, name: &str, text: &str) -> String {
        fs::write(self.0.join(name), text).unwrap();
        self.path(name)
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().into()
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.0.join(name)).unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn sweep(file: &str, arguments: &[&str]) -> Ended {
    run(&[&["sweep", file], arguments].concat())
}

const RUNS: &str = r#"
programs = ["barrier --algorithm {how}"]
machines = ["rx200-qdr"]
ranks = [2, 3, 4, 5, 6]
seeds = [0, 1, 2, 3]
[set]
"rail.link.cable_ns" = [1, 5, 25, "1us", "2us"]
[arguments]
how = ["ring", "dissemination"]
[outputs]
barrier_us = "us"
"#;

fn lines(path: &Path) -> usize {
    fs::read_to_string(path).map_or(0, |text| text.lines().count())
}

#[test]
fn a_sweep_that_was_killed_goes_on_and_comes_to_the_same_table() {
    let folder = Folder::new("killed");
    let file = folder.write("runs.toml", RUNS);
    let whole = sweep(&file, &["-o", &folder.path("whole")]);
    whole.expect(0, &format!("200 runs; 0 failed; the table is in {}", folder.path("whole")));

    let (mut command, mark) = pelago(&["sweep", &file]);
    let mut killed = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let results = folder.0.join("runs.sweep/results.jsonl");
    let start = Instant::now();
    while lines(&results) < 50 && start.elapsed() < PATIENCE {
        sleep(Duration::from_millis(5));
    }
    killed.kill().unwrap();
    killed.wait().unwrap();
    wait_until_gone(&mark);
    let known = lines(&results);
    assert!((50..200).contains(&known), "{known}");
    // The last line is incomplete.
    let text = fs::read(&results).unwrap();
    fs::write(&results, &text[..text.len() - 10]).unwrap();

    let resumed = sweep(&file, &[]);
    resumed.expect(
        0,
        &format!("200 runs, {} of them known before; 0 failed; the table is in {}", known - 1, folder.path("runs.sweep")),
    );
    for name in ["table.csv", "table.json", "table.parquet", "plot.svg"] {
        let [resumed, whole] = ["runs.sweep", "whole"].map(|of| fs::read(folder.0.join(of).join(name)).unwrap());
        assert!(resumed == whole, "{name}");
    }
    let table = folder.read("whole/table.csv");
    let rows: Vec<Vec<&str>> = table.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(rows.len(), 201);
    let column = |name: &str| rows[0].iter().position(|&found| found == name).unwrap();
    let value = |row: &[&str], name: &str| row[column(name)].parse::<f64>().unwrap();
    // A longer cable makes a longer barrier, by both figures.
    let of = |cable: &str| rows.iter().find(|row| row[column("rail.link.cable_ns")] == cable).unwrap();
    for name in ["time_us", "barrier_us"] {
        assert!(value(of("2000"), name) > value(of("1"), name) + 1.0, "{name}");
    }
    // Known runs are not repeated; only those of a changed machine run.
    let again = sweep(&file, &[]);
    assert!(again.error.contains("200 runs, 200 of them known before"), "{again:?}");
    folder.write("runs.toml", &RUNS.replace("\"2us\"", "\"3us\""));
    let changed = sweep(&file, &[]);
    assert!(changed.error.contains("200 runs, 160 of them known before"), "{changed:?}");
}

/// A schedule with other sizes has other times; a file that the program itself writes is no reason to run it again.
#[test]
fn a_run_whose_input_file_has_changed_is_run_again() {
    let folder = Folder::new("inputs");
    let schedule = |bytes: u32| {
        format!("num_ranks 2\nrank 0 {{\nl0: send {bytes}b to 1 tag 0\n}}\nrank 1 {{\nl0: recv {bytes}b from 0 tag 0\n}}\n")
    };
    let [goal, other] = ["s.goal", "other.goal"].map(|name| folder.write(name, &schedule(8)));
    // It writes the file that its argument names.
    let (writer, written) = (folder.write("writer", "#!/bin/sh\necho run >> $1\n"), folder.write("written", ""));
    fs::set_permissions(&writer, fs::Permissions::from_mode(0o755)).unwrap();
    let text = format!(
        "programs = [\"goal {goal}\", \"goal {other}\", \"{writer} {written}\"]\nmachines = [\"rx200-qdr\"]\nranks = [2]\n"
    );
    let file = folder.write("runs.toml", &text);
    let first = sweep(&file, &[]);
    assert!(first.code == Some(0) && first.error.contains("3 runs; 0 failed"), "{first:?}");
    let column = |name: &str| {
        let table = folder.read("runs.sweep/table.csv");
        let place = table.lines().next().unwrap().split(',').position(|found| found == name).unwrap();
        table.lines().skip(1).map(|row| row.split(',').nth(place).unwrap().parse::<f64>().unwrap_or(0.0)).collect::<Vec<_>>()
    };
    let before = column("time_us");
    assert!(sweep(&file, &[]).error.contains("3 runs, 3 of them known before"));
    folder.write("s.goal", &schedule(800_000));
    let changed = sweep(&file, &[]);
    assert!(changed.code == Some(0) && changed.error.contains("3 runs, 2 of them known before"), "{changed:?}");
    let after = column("time_us");
    assert!(after[0] > before[0] + 100.0 && after[1] == before[1], "{before:?} {after:?}");
}

/// It is not known by which of both texts the run was simulated.
#[test]
fn a_machine_that_changes_during_its_run_ends_the_sweep() {
    let folder = Folder::new("changes");
    let machine = folder.write("m.toml", &run(&["sim", "--describe", "--machine", "rx200-qdr"]).output);
    let writer = folder.write("writer", "#!/bin/sh\necho '# more' >> $1\n");
    fs::set_permissions(&writer, fs::Permissions::from_mode(0o755)).unwrap();
    let text = format!("programs = [\"{writer} {machine}\"]\nmachines = [\"{machine}\"]\nranks = [2]\n");
    let file = folder.write("runs.toml", &text);
    sweep(&file, &[]).expect(2, &format!("{machine} or {writer} has changed during the sweep: give the command again"));
    assert_eq!(folder.read("runs.sweep/results.jsonl"), "");
}

/// A picture of an earlier table is not left beside the table of now.
#[test]
fn a_sweep_without_a_picture_has_none() {
    let folder = Folder::new("pictures");
    let text = |ranks: &str| format!("programs = [\"ring\"]\nmachines = [\"rx200-qdr\"]\nranks = [{ranks}]\n");
    let file = folder.write("runs.toml", &text("2, 3"));
    let plot = folder.0.join("runs.sweep/plot.svg");
    assert!(sweep(&file, &[]).code == Some(0) && plot.exists());
    folder.write("runs.toml", &text("2"));
    let one = sweep(&file, &[]);
    assert!(one.code == Some(0) && one.error.contains("no picture: ") && !plot.exists(), "{one:?}");
    let own = folder.write("a.sweep", &text("2"));
    sweep(&own, &[]).expect(
        2,
        &format!("{own}: this is also the name of the folder for results: name another with --output, or rename the file"),
    );
    assert_eq!(sweep(&own, &["-o", &folder.path("results")]).code, Some(0));
}

#[test]
fn files_that_no_sweep_has_written_are_kept() {
    let folder = Folder::new("foreign");
    let file = folder.write("runs.toml", "programs = [\"ring\"]\nmachines = [\"rx200-qdr\"]\nranks = [2]\n");
    let here = folder.path("");
    for name in ["plot.svg", "plot-2.svg", "table.csv", "table.json", "table.parquet", "sensitivity.csv"] {
        let own = folder.write(name, "kept");
        let line =
            "no sweep has written it, as there is no results.jsonl beside it: move it, or name another folder with --output";
        // Twice: the first leaves nothing that makes the second take the folder for that of a sweep.
        (0..2).for_each(|_| sweep(&file, &["-o", &here]).expect(2, &format!("{own}: {line}")));
        assert_eq!(folder.read(name), "kept");
        fs::remove_file(own).unwrap();
    }
    folder.write("table.csv", "kept");
    let foreign = folder.write("results.jsonl", "{\"a\": 1}\n{\"a\": 2}");
    sweep(&file, &["-o", &here])
        .expect(2, &format!("cannot write {foreign}: it is not of a sweep: name another folder with --output"));
    assert_eq!((folder.read("results.jsonl"), folder.read("table.csv")), ("{\"a\": 1}\n{\"a\": 2}".into(), "kept".into()));
    fs::remove_file(foreign).unwrap();
    fs::remove_file(folder.0.join("table.csv")).unwrap();
    (0..2).for_each(|_| assert_eq!(sweep(&file, &["-o", &here]).code, Some(0), "files of users have other names"));
}

/// A word that no program prints is said to leave its column empty; once it is corrected, the runs are repeated.
#[test]
fn a_word_that_nothing_prints_is_named() {
    let folder = Folder::new("words");
    let text = "programs = [\"barrier\"]\nmachines = [\"rx200-qdr\"]\nranks = [2, 3]\n[outputs]\nbarrier_us = \"usec\"\n";
    let file = folder.write("runs.toml", text);
    let wrong = sweep(&file, &[]);
    let says = "outputs: no run has printed a number after the word usec: the column barrier_us is empty";
    assert!(wrong.code == Some(0) && wrong.error.contains(says), "{wrong:?}");
    folder.write("runs.toml", &text.replace("usec", "us"));
    let right = sweep(&file, &[]);
    assert!(right.code == Some(0) && !right.error.contains("outputs: ") && !right.error.contains("known before"), "{right:?}");
    let table = folder.read("runs.sweep/table.csv");
    assert!(table.lines().skip(1).all(|row| row.rsplit(',').next().is_some_and(|last| last.parse::<f64>().is_ok())), "{table}");
}

/// Reads the table in Parquet by another implementation, and compares each cell with the table in CSV.
const PARQUET_EQUALS_CSV: &str = r#"
import csv, sys
import pyarrow.parquet
folder = sys.argv[1]
table = pyarrow.parquet.read_table(folder + "/table.parquet")
rows = list(csv.reader(open(folder + "/table.csv", newline="")))
assert table.column_names == rows[0], table.column_names
for index, row in enumerate(rows[1:]):
    for name, text in zip(rows[0], row):
        value = table[name][index].as_py()
        same = value is None if text == "" else type(value)(text) == value
        assert same, (index, name, text, value)
kinds = [str(table.schema.field(name).type) for name in ("program", "seed", "exit", "time_us", "fault")]
print(table.num_rows, *kinds)
"#;

#[test]
fn the_table_in_parquet_equals_the_table_in_csv() {
    let folder = Folder::new("parquet");
    let text = "programs = [\"barrier\", [\"barrier\", \"--no such, \\\"é\\\"\"]]\nmachines = [\"rx200-qdr\"]\nranks = [2, 3]\nseeds = [0, 9223372036854775807]\n\
                [set]\n\"rail.link.cable_ns\" = [5, \"1us\"]\n[outputs]\nbarrier_us = \"us\"\n";
    let file = folder.write("runs.toml", text);
    assert_eq!(sweep(&file, &[]).code, Some(1), "half of the runs are wrong");
    let table = fs::read(folder.0.join("runs.sweep/table.parquet")).unwrap();
    assert!(table.starts_with(b"PAR1") && table.ends_with(b"PAR1"));
    let python = |script: &str| Command::new("python3").args(["-c", script, &folder.path("runs.sweep")]).output();
    if !python("import pyarrow.parquet").is_ok_and(|output| output.status.success()) {
        println!("not tested: python3 with pyarrow is not installed");
        return;
    }
    let output = python(PARQUET_EQUALS_CSV).unwrap();
    let (said, error) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!((&*said, &*error), ("16 string uint64 int64 double string\n", ""));
}

/// On this machine, the cables determine the time of a barrier, as all other values are small.
#[test]
fn the_value_that_was_made_dominant_is_found() {
    let machine = r#"
name = "cables"
[[rail]]
kind = "infiniband-rc"   # assumed
[rail.nic]
overhead_ns = 10.0       # assumed: little
gap_ns = 1.0             # assumed
read_gb_per_s = 50.0     # assumed
write_gb_per_s = inf     # assumed
packet_bytes = 2048      # assumed
header_bytes = 30        # assumed
control_bytes = 30       # assumed
[rail.link]
gb_per_s = 50.0          # published: a value that is not varied
cable_ns = 9000.0        # assumed: much
[rail.router]
routing_ns = 4.0         # assumed
vc_allocation_ns = 4.0   # assumed
switch_allocation_ns = 4 # assumed
switch_ns = 100.0        # assumed
buffer_bytes = 65536     # assumed
[rail.topology]
type = "star"
"#;
    let folder = Folder::new("dominant");
    let machine = folder.write("cables.toml", machine);
    let sweep_of = |machine: &str, program: &str| {
        format!("programs = [\"{program}\"]\nmachines = [\"{machine}\"]\nranks = [8]\nmeasure = \"us\"\n[outputs]\nus = \"us\"\n")
    };
    let file = folder.write("dominant.toml", &sweep_of(&machine, "barrier --algorithm dissemination"));
    let ended = sweep(&file, &["--sensitivity"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let found: Vec<&str> = ended.output.lines().collect();
    assert!(
        found[0].starts_with("us: mean and largest change") && found[1].contains("rail.link.cable_ns = 9000 (assumed)"),
        "{found:?}"
    );
    let percent = |line: &str| line.trim().split(' ').next().unwrap().parse::<f64>().unwrap();
    assert!(percent(found[1]) > 90.0 && percent(found[2]) < 10.0, "{found:?}");
    let table = folder.read("dominant.sweep/sensitivity.csv");
    assert!(!table.contains("rail.link.gb_per_s") && table.contains("rail.router.switch_ns"), "{table}");
    let all = sweep(&file, &["--sensitivity=all", "--factor", "4"]);
    assert!(folder.read("dominant.sweep/sensitivity.csv").contains("rail.link.gb_per_s"), "{all:?}");
    folder.write("cables.toml", &fs::read_to_string(&machine).unwrap().replace("# assumed", "#"));
    let none = sweep(&file, &["--sensitivity"]);
    assert!(none.code == Some(2) && none.error.contains("--sensitivity=all changes all values"), "{none:?}");
}

#[test]
fn a_run_that_fails_is_a_row_and_wrong_files_are_refused() {
    let folder = Folder::new("failed");
    let file = folder.write("f.toml", "programs = [\"ring\", \"ring --no-such\"]\nmachines = [\"rx200-qdr\"]\nranks = [2]");
    let ended = sweep(&file, &[]);
    assert_eq!((ended.code, ended.output.as_str()), (Some(1), ""), "{ended:?}");
    assert!(ended.error.contains("2 runs; 1 failed"), "{ended:?}");
    let table = folder.read("f.sweep/table.csv");
    let failed = table.lines().nth(2).unwrap();
    assert!(failed.starts_with("1,ring --no-such,rx200-qdr,2,1,0,2,") && failed.contains("no-such"), "{table}");
    assert!(sweep(&file, &["--retry"]).error.contains("2 runs, 1 of them known before; 1 failed"));
    for (text, says) in [
        ("programs = [\"rign\"]\nmachines = [\"rx200-qdr\"]\nranks = [2]", "rign is no bundled program"),
        ("programs = [\"ring\"]\nmachines = [\"no-such\"]\nranks = [2]", "no machine is called no-such"),
        ("programs = [\"ring\"]\nmachines = [\"laptop\"]\nranks = [2]", "has no network"),
        (
            "programs = [\"ring\"]\nmachines = [\"tofu2\"]\nranks = [2]\n[set]\n\"rail.nic.gap\" = [1]",
            "no machine has a rail.nic.gap",
        ),
        ("programs = \"ring\"", "line 1: "),
    ] {
        let wrong = folder.write("wrong.toml", text);
        let ended = sweep(&wrong, &[]);
        assert!(ended.code == Some(2) && ended.error.lines().count() == 1 && ended.error.contains(says), "{ended:?}");
    }
    assert_eq!(sweep("/no/such/file.toml", &[]).code, Some(2));
}

#[test]
fn a_summary_as_json_has_the_figures_of_the_sentence() {
    let sim = ["sim", "-n", "4", "--machine", "rx200-qdr"];
    let [text, json] = [&[][..], &["--json"]].map(|json| run(&[&sim, json, &["ring"]].concat()).error);
    let value = |name: &str| json.split(&format!("\"{name}\":")).nth(1).unwrap().split([',', '}']).next().unwrap().to_owned();
    assert!(text.contains(&format!(" {} events, {} packets", value("events"), value("packets"))), "{text}{json}");
    assert!(json.lines().count() == 1 && value("fault") == "null" && value("end_ps").parse::<u64>().unwrap() > 0);
}
