//! Benchmarks that run only when they are named: the tests check that they run, not their times.

use crate::run;

/// Returns the names and conditions of the rows that `pelago bench` prints.
fn rows(arguments: &[&str]) -> Vec<(String, String)> {
    let ended = run(&[&["bench", "--format", "json"], arguments].concat());
    ended.expect(0, "");
    let field = |line: &str, key: &str| {
        let (_, rest) = line.split_once(&format!("\"{key}\":\""))?;
        rest.split_once('"').map(|(value, _)| value.to_owned())
    };
    let row = |line: &str| (field(line, "name").unwrap(), field(line, "steps").unwrap_or_default());
    ended.output.lines().map(row).collect()
}

#[test]
fn rows_that_are_lost_are_an_error() {
    for arguments in [&["bench", "put"][..], &["bench", "put", "--bytes", "8", "--json"]] {
        let (mut command, mark) = crate::pelago(arguments);
        command.stdout(std::fs::File::options().write(true).open("/dev/full").unwrap());
        let ended = command.stderr(std::process::Stdio::piped()).spawn().unwrap().wait_with_output().unwrap();
        crate::wait_until_gone(&mark);
        let line = "pelago bench: cannot write to the standard output: No space left on device (os error 28)";
        let error = String::from_utf8(ended.stderr).unwrap();
        assert!(ended.status.code() == Some(1) && error.lines().any(|said| said == line), "{arguments:?}: {error}");
    }
}

/// Steps: through the queue, without the queue, and by the communication thread of the target.
#[test]
fn steps_of_tuning_are_measured_on_each_transport() {
    for (transport, steps) in [
        ("shm", "submission=progress-thread,descriptors=built,threads=many,atomics=nic,serving=together"),
        ("shm", "submission=bypass,descriptors=prepared,threads=one,atomics=progress-thread,serving=apart"),
        ("udp", "submission=progress-thread,descriptors=prepared,threads=one,atomics=nic,serving=apart"),
    ] {
        let found = rows(&["tuning", "--transport", transport, "--steps", steps]);
        let names = ["tuning_remote", "tuning_local", "tuning_disturbed"].map(|name| (name.to_owned(), steps.to_owned()));
        assert_eq!(found, names, "{transport}");
    }
}

#[test]
fn operations_over_a_fabric_are_measured() {
    let fabric = ["--transport", "ofi", "--fabric", "tcp;ofi_rxm"];
    let refused = run(&["bench", "put", "--fabric", "shm"]);
    refused.expect(2, "--fabric is for --transport ofi");
    if let Err(why) = ::pelago::fabric_library() {
        return eprintln!("not tested: {why}");
    }
    let found = rows(&[&["put", "get", "fetch_add", "-n", "2", "--bytes", "8,64K"], &fabric[..]].concat());
    let names: Vec<_> = found.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["put", "put", "get", "get", "fetch_add"]);
}

#[test]
fn copies_between_two_others_are_measured_on_each_transport() {
    for transport in ["shm", "udp"] {
        let found = rows(&["copy", "-n", "3", "--bytes", "8,4K", "--transport", transport]);
        assert_eq!(found, ["copy", "copy"].map(|name| (name.to_owned(), String::new())), "{transport}");
    }
    let ended = run(&["bench", "copy"]);
    assert!(ended.code == Some(2) && ended.error.contains("-n 3"), "{ended:?}");
}

/// The two libraries alternate where Open MPI is installed; elsewhere, the message says what to install.
#[test]
fn operations_are_compared_with_open_mpi() {
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_pelago-under-test"));
    command.args(["bench", "put", "--compare", "openmpi"]).env("PATH", "/nonexistent");
    let remedy = "--compare openmpi needs mpicc and mpirun of Open MPI in PATH: apt-get install openmpi-bin libopenmpi-dev";
    let ended = crate::end(command);
    assert!(ended.code == Some(2) && ended.error.contains(remedy), "{ended:?}");
    let refused = run(&["bench", "faces", "--compare", "openmpi"]);
    assert!(refused.code == Some(2) && refused.error.contains("nothing to compare with faces over shm"), "{refused:?}");
    let ended = run(&["bench", "osu_fop_latency", "--compare", "openmpi", "--json"]);
    if ended.error.contains(remedy) {
        return eprintln!("not tested: {remedy}");
    }
    ended.expect(0, "");
    let rows: Vec<serde_json::Value> = ended.output.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let names: Vec<_> = rows.iter().map(|row| (row["name"].as_str().unwrap(), row["bytes"].as_u64().unwrap())).collect();
    assert_eq!(names, [("fetch_add", 8)]);
    let is_compared =
        |row: &serde_json::Value| row["peer_name"] == "openmpi" && row["peer_ratio"].as_f64().is_some_and(|ratio| ratio > 0.0);
    assert!(rows.iter().all(is_compared), "{rows:?}");
}
