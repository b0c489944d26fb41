//! `pelago run --trace`: the traces of jobs on one host and on several, of a job with a failed rank, and of files that cannot be written.

use std::fs;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};

use rustix::fs::{CWD, Mode, mkfifoat};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::{PATIENCE, PROGRAM, RANK, pelago, run, wait_until_gone};

/// Creates a folder for this test.
fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("pelago-trace-{name}-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    folder
}

fn read(file: &PathBuf) -> Value {
    serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap()
}

/// Returns the events of a trace with this phase.
fn events<'t>(trace: &'t Value, phase: &str) -> Vec<&'t Value> {
    trace["traceEvents"].as_array().unwrap().iter().filter(|event| event["ph"] == phase).collect()
}

#[test]
fn ranks_of_one_host_have_rows_waits_and_arrows() {
    let folder = folder("one");
    let file = folder.join("trace.json");
    run(&["run", "-n", "3", "--transport", "udp", "--trace", file.to_str().unwrap(), "ring"]).expect(0, "");
    let trace = read(&file);
    assert_eq!(trace["otherData"]["program"], "ring");
    let names: Vec<_> = events(&trace, "M").iter().filter_map(|event| event["args"]["name"].as_str()).collect();
    assert!(["rank 0", "rank 1", "rank 2"].iter().all(|rank| names.contains(rank)), "{names:?}");
    let spans = events(&trace, "X");
    for thread in 1..=3 {
        let of_rank = |name: &str| spans.iter().any(|event| event["tid"] == thread && event["name"] == name);
        assert!(of_rank("put") && of_rank("atomic") && of_rank("put effect"), "thread {thread}: {spans:?}");
    }
    // Each rank puts to the next rank, and adds one there.
    let starts = events(&trace, "s");
    assert!(starts.len() >= 6 && starts.len() == events(&trace, "f").len(), "{starts:?}");
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "the parts of the ranks are gone");
    fs::remove_dir_all(folder).unwrap();
}

/// Here a pipe without a reader, as which a slow disk or a large trace appears to the user.
#[test]
fn a_signal_ends_the_command_while_it_writes_the_trace() {
    let folder = folder("signal");
    let pipe = folder.join("trace.json");
    mkfifoat(CWD, &pipe, Mode::RUSR | Mode::WUSR).unwrap();
    let (mut command, mark) = pelago(&["run", "-n", "2", "--transport", "udp", "--trace", pipe.to_str().unwrap(), "ring"]);
    let mut launcher = command.stdout(Stdio::null()).spawn().unwrap();
    let parts = folder.join(format!(".pelago-{}-trace", launcher.id()));
    let patience = Instant::now() + PATIENCE;
    let (mut has_begun, mut ended) = (false, None);
    while ended.is_none() && Instant::now() < patience {
        if has_begun && !parts.exists() {
            kill_process(Pid::from_child(&launcher), Signal::TERM).unwrap();
        }
        has_begun |= parts.exists();
        std::thread::sleep(Duration::from_millis(5));
        ended = launcher.try_wait().unwrap();
    }
    let _unless_it_has_ended = launcher.kill();
    launcher.wait().unwrap();
    assert_eq!(ended.and_then(|status| status.code()), Some(130));
    wait_until_gone(&mark);
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "the parts of the ranks are gone");
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn clocks_of_several_hosts_are_aligned_and_their_offsets_stated() {
    let folder = folder("hosts");
    let file = folder.join("trace.json");
    let shell = "env PELAGO_TEST_HOST={host}";
    let hosts = ["run", "--hosts", "a:2,b:1,c:2", "--remote-shell", shell, "--trace", file.to_str().unwrap(), "ring"];
    run(&hosts).expect(0, "");
    let trace = read(&file);
    let clocks = trace["otherData"]["clocks"].as_object().unwrap();
    assert_eq!(clocks.len(), 3, "{clocks:?}");
    for (host, clock) in clocks {
        // All hosts are this machine, so that the measured offset is the error.
        let (offset, error) = (clock["offset_ns"].as_i64().unwrap(), clock["error_ns_max"].as_u64().unwrap());
        assert!(offset.unsigned_abs() <= error, "{host}: {clock}");
        assert_eq!(error == 0, host.ends_with("(ranks from 0)"), "{host}: {clock}");
    }
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_killed_rank_is_missing_and_said_to_be() {
    let folder = folder("killed");
    let file = folder.join("trace.json");
    let ended = run(&["run", "-n", "3", "--trace", file.to_str().unwrap(), PROGRAM, "crash", "abort"]);
    assert!(ended.code != Some(0) && ended.error.contains("trace"), "{ended:?}");
    assert_eq!(fs::read_dir(&folder).unwrap().count(), usize::from(file.exists()), "the parts of the ranks are gone");
    // A program that does not use the library leaves no recording.
    let ended = run(&["run", "-n", "2", "--trace", file.to_str().unwrap(), "true"]);
    assert!(ended.error.contains("no rank has recorded anything"), "{ended:?}");
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn what_cannot_be_written_is_said_before_the_job() {
    let ended = run(&["run", "-n", "2", "--trace", "/no/such/folder/file", RANK, "nothing"]);
    assert!(ended.code == Some(2) && ended.error.starts_with("pelago: cannot write /no/such/folder/file: "), "{ended:?}");
}
