//! `pelago run --record`: the recording of a run is a schedule whose replay takes the time of the run.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::run;

/// Returns the path of a file for this test.
fn file(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("pelago-record-{}-{name}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    folder.join("run.goal.gz")
}

fn removed(file: &Path) {
    let folder = file.parent().unwrap();
    assert_eq!(fs::read_dir(folder).unwrap().count(), 1, "the parts of the ranks are gone");
    fs::remove_dir_all(folder).unwrap();
}

/// Records a run. Returns its ranks, operations and seconds, as the launcher states them.
#[track_caller]
fn recorded(file: &Path, options: &[&str], program: &[&str]) -> (String, u64, f64) {
    let ended = run(&[&["run", "--record", file.to_str().unwrap()], options, program].concat());
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let line = ended.error.lines().find(|line| line.contains(".goal.gz: ")).expect("a line on the recording");
    let words: Vec<&str> = line.split_once(".goal.gz: ").unwrap().1.split(' ').collect();
    assert_eq!([words[1], words[3], words[5]], ["ranks,", "operations,", "s;"], "{line}");
    (words[0].to_owned(), words[2].parse().unwrap(), words[4].parse().unwrap())
}

/// Returns the operations and seconds of the replay.
#[track_caller]
fn replayed(file: &Path, machine: &[&str], ranks: &str) -> (u64, f64) {
    let ended = run(&[&["sim", "--quiet", "-n", ranks], machine, &["goal", file.to_str().unwrap()]].concat());
    ended.expect(0, "");
    let words: Vec<&str> = ended.output.split_whitespace().collect();
    (words[4].parse().unwrap(), words[10].parse::<f64>().unwrap() / 1e6)
}

/// Returns the computing time, in seconds, of the rank that computes longest, according to the file.
fn computing(file: &Path) -> f64 {
    let text = Command::new("gzip").arg("-dc").arg(file).output().expect("gzip").stdout;
    let text = String::from_utf8(text).unwrap();
    let of_rank = |part: &str| part.lines().filter_map(|line| line.split_once(": calc ")?.1.parse::<u64>().ok()).sum::<u64>();
    text.split("rank ").map(of_rank).max().unwrap() as f64 / 1e9
}

/// The recording does not contain the time to wake up a rank of a busy machine, so that the replay may be shorter than the run.
#[test]
fn a_recorded_run_replays_in_its_time() {
    let file = file("time");
    let himeno = ["himeno", "XS", "--iterations", "20"];
    let (ranks, operations, seconds) = recorded(&file, &["-n", "2", "--transport", "shm"], &himeno);
    assert!(ranks == "2" && operations > 200, "{operations}");
    let (again, replay) = replayed(&file, &["--machine", "laptop", "--per-node", "2"], "2");
    assert_eq!(again, operations);
    let computing = computing(&file);
    assert!(
        computing > 0.0 && replay >= computing && replay < 1.1 * seconds,
        "{computing} s, recorded {seconds} s, replayed {replay} s"
    );
    // On a network, messages take longer, but computing does not.
    let (_, elsewhere) = replayed(&file, &["--machine", "rx200-qdr"], "2");
    assert!(elsewhere >= computing, "{computing} s, on another machine {elsewhere} s");
    removed(&file);
}

#[test]
fn runs_of_many_programs_replay_to_their_end() {
    for (name, options, program) in [
        ("kmeans", &["-n", "3", "--transport", "shm"][..], &["kmeans", "--points", "600"][..]),
        ("udp", &["-n", "3", "--transport", "udp"], &["is"]),
        ("rails", &["-n", "4", "--rails", "shm:2,udp"], &["collectives", "--repeat", "1"]),
        ("hosts", &["--hosts", "a:2,b:1", "--remote-shell", "env PELAGO_TEST_HOST={host}"], &["alltoall", "--repeat", "5"]),
        ("atomics", &["-n", "3", "--transport", "shm"], &["counter", "--turns", "20"]),
    ] {
        let file = file(name);
        let (ranks, operations, _) = recorded(&file, options, program);
        assert_eq!(replayed(&file, &["--machine", "rx200-qdr"], &ranks).0, operations, "{name}");
        removed(&file);
    }
}

/// Of four ranks on two hosts, only the second of each host is recorded.
#[test]
fn a_sample_is_recorded_and_replays() {
    let file = file("sample");
    let name = file.to_str().unwrap();
    let hosts = ["--hosts", "a:2,b:2", "--remote-shell", "env PELAGO_TEST_HOST={host}"];
    let trace = format!("{name}.json");
    let options = [&hosts[..], &["--trace", &trace, "--sample", "1,3"]].concat();
    let (ranks, operations, _) = recorded(&file, &options, &["alltoall", "--repeat", "3"]);
    assert_eq!(ranks, "2");
    assert_eq!(replayed(&file, &["--machine", "rx200-qdr"], "4").0, operations);
    let text = fs::read_to_string(&trace).unwrap();
    let trace_json: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(trace_json["otherData"]["ranks_missing"], 0);
    assert_eq!(text.matches("\"thread_name\"").count(), 4, "two ranks, and those at the other ends of their operations");
    let offsets = trace_json["otherData"]["clocks"].as_object().unwrap();
    let second = offsets.iter().find(|(host, _)| host.contains("ranks from 2")).expect("the host of rank 3").1;
    assert!(second["error_ns_max"].as_u64() > Some(0), "the first rank of the host has measured its clock: {second}");
    fs::remove_file(&trace).unwrap();
    removed(&file);
}

/// Operations before and after the recorded part of the time are omitted.
#[test]
fn a_part_of_the_time_is_recorded() {
    let file = file("window");
    let himeno = ["himeno", "XS", "--iterations", "60"];
    let (_, all, seconds) = recorded(&file, &["-n", "2", "--transport", "shm"], &himeno);
    let (from, until) = (seconds * 0.5, seconds * 0.75);
    let sample = format!("all@{from}s-{until}s");
    let (ranks, some, _) = recorded(&file, &["-n", "2", "--transport", "shm", "--sample", &sample], &himeno);
    assert!(ranks == "2" && some < all, "{some} of {all}");
    assert_eq!(replayed(&file, &["--machine", "laptop", "--per-node", "2"], "2").0, some);
    // After the end of the job, there are no operations.
    let (_, none, _) = recorded(&file, &["-n", "2", "--transport", "shm", "--sample", "all@100000s-"], &["ring"]);
    assert_eq!(none, 0);
    removed(&file);
}

#[test]
fn what_is_no_sample_is_refused() {
    for (options, why) in [
        (&["--sample", "0"][..], "--sample is for --trace and --record"),
        (&["--record", "/tmp/x", "--sample", "2-9"], "--sample 2-9: the job has ranks 0 to 1"),
        (&["--record", "/tmp/x", "--sample", "0@1s"], "write RANKS or RANKS@FROM-TO"),
    ] {
        let ended = run(&[&["run", "-n", "2"], options, &["ring"]].concat());
        assert!(ended.code == Some(2) && ended.error.contains(why), "{ended:?}");
    }
    let ended = run(&["sim", "-n", "4", "--machine", "rx200-qdr", "--trace", "/tmp/x", "--sample", "4", "ring"]);
    assert!(ended.code == Some(2) && ended.error.contains("the job has ranks 0 to 3"), "{ended:?}");
    let ended = run(&["sim", "-n", "4", "--machine", "rx200-qdr", "--report", "/tmp/x", "--sample", "3", "ring"]);
    assert!(ended.code == Some(2), "{ended:?}");
}

#[test]
fn what_is_not_recorded_is_told() {
    let file = file("lost");
    let name = file.to_str().unwrap();
    let ended = run(&["run", "-n", "2", "--record", name, "true"]);
    assert!(ended.code == Some(1) && ended.error.contains("no rank has recorded anything"), "{ended:?}");
    assert!(!file.exists());
    let ended = run(&["run", "-n", "2", "--record", name, "--trace", name, "ring"]);
    assert!(ended.code == Some(2) && ended.error.contains("give each a file of its own"), "{ended:?}");
    // A trace and a recording of one run.
    let trace = format!("{name}.json");
    recorded(&file, &["-n", "2", "--trace", &trace], &["ring"]);
    assert!(fs::read_to_string(&trace).unwrap().contains("\"traceEvents\""));
    fs::remove_file(trace).unwrap();
    removed(&file);
}
