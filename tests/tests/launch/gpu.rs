//! Programs on memory of GPUs, with the mock driver of `pelago-cuda`: results equal those of the host, and one line names what a driver refuses.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use pelago_cuda::LIBRARY_VARIABLE;
use pelago_cuda::mock::MockDriver;

use crate::bundled::{HASH, expect_field};
use crate::fields::{CHANNELS, expect};
use crate::{Ended, end, pelago, wait_until_gone};

/// Settings of the mock driver.
const MOCK_VARIABLE: &str = "PELAGO_MOCK_CUDA";

const GPU: [&str; 5] = ["gpu", "--words", "2000", "--rounds", "5"];

fn driver() -> &'static Path {
    static DRIVER: OnceLock<PathBuf> = OnceLock::new();
    DRIVER.get_or_init(|| MockDriver::build(Path::new(env!("CARGO_TARGET_TMPDIR")), "launched-cuda", &[]))
}

/// Runs a job whose ranks find this library as the driver.
fn job_with(library: &str, words: &str, ranks: u32, transport: &str, program: &[&str]) -> Ended {
    let ranks = ranks.to_string();
    let (mut command, mark) = pelago(&[&["run", "-n", &ranks, "--transport", transport][..], program].concat());
    command.env(LIBRARY_VARIABLE, library).env(MOCK_VARIABLE, words);
    let ended = end(command);
    wait_until_gone(&mark);
    ended
}

fn job(words: &str, ranks: u32, transport: &str, program: &[&str]) -> Ended {
    job_with(driver().to_str().expect("a path of letters"), words, ranks, transport, program)
}

/// Returns the hash that `gpu` prints for memory of this name.
#[track_caller]
fn hash(ended: &Ended, memory: &str) -> String {
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let (before, hash) = ended.output.trim_end().rsplit_once(" hash ").expect("a hash");
    assert!(before.ends_with(&format!("memory {memory:?}")), "{ended:?}");
    hash.into()
}

#[test]
fn operations_on_devices_have_the_results_of_the_host() {
    for ranks in [1, 2, 4, 8] {
        let expected = hash(&job("", ranks, "shm", &[&GPU[..], &["--device", "host"]].concat()), "host");
        for transport in ["shm", "udp"] {
            for (kind, words) in
                [("cuda", "devices=3"), ("managed", "devices=3"), ("cuda", "devices=2,ipc-refused"), ("auto", "devices=1")]
            {
                let ended = job(words, ranks, transport, &[&GPU[..], &["--device", kind]].concat());
                assert_eq!(hash(&ended, "mock device 0"), expected, "{ranks} ranks, {transport}, {kind}, {words}");
            }
        }
    }
}

#[test]
fn fields_on_devices_are_bitwise_those_of_the_host() {
    for (arguments, hash) in CHANNELS {
        // The last grid has too few rows and columns for more ranks.
        for ranks in [1, 2, 4, 8].into_iter().filter(|&ranks| ranks == 1 || arguments != CHANNELS[2].0) {
            for (transport, words) in [("shm", "devices=3"), ("udp", "devices=3"), ("shm", "devices=2,ipc-refused")] {
                let program = [&["fields", "--device", "cuda"][..], arguments].concat();
                expect(&job(words, ranks, transport, &program), hash);
            }
        }
    }
}

#[test]
fn himeno_on_devices_is_bitwise_that_of_the_host() {
    for ranks in [1, 2, 4, 8] {
        for transport in ["shm", "udp"] {
            expect_field(&job("devices=3", ranks, transport, &["himeno", "S", "--iterations", "3", "--device", "cuda"]), HASH);
        }
    }
}

/// Streams of several processes synchronize by words in memory of each other; where they cannot, the host exchanges the halos.
#[test]
fn programs_in_streams_of_processes_are_bitwise_those_of_the_host() {
    let found = |ended: &Ended| {
        assert_eq!(ended.code, Some(0), "{ended:?}");
        ended.output.lines().find(|line| line.starts_with("hash")).map(str::to_owned).expect("a hash")
    };
    let drivers = [
        ("devices=3", "shm", true),
        ("devices=1", "shm", true),
        ("devices=2,no-peers", "shm", false),
        ("devices=3,ipc-refused", "shm", false),
        ("devices=3,no-stream-values", "shm", false),
        ("devices=3", "udp", false),
    ];
    for by_host in [&["himeno", "S", "--iterations", "5"][..], &["fields", "--length", "37", "--width", "23", "--steps", "30"]] {
        let queued = [by_host, &["--device", "cuda", "--queued", "--trial-limit", "0", "--explain"]].concat();
        for ranks in [1, 2, 4, 8] {
            let expected = found(&job("", ranks, "shm", by_host));
            // The effect of missing driver features is the same for any number of ranks.
            for (words, transport, is_queued) in drivers.into_iter().take(if ranks == 2 { 6 } else { 1 }) {
                for method in ["direct", "packed"] {
                    let ended = job(words, ranks, transport, &[&queued[..], &["--method", method]].concat());
                    let which = format!("{by_host:?}, {ranks} ranks, {words}, {transport}, {method}");
                    assert_eq!(found(&ended), expected, "{which}");
                    let chosen = format!("streams {method} on streams");
                    let line = ended
                        .output
                        .lines()
                        .find(|line| line.starts_with(&chosen))
                        .unwrap_or_else(|| panic!("{which}: {ended:?}"));
                    assert_eq!(line.contains("chosen: "), is_queued, "{which}: {line}");
                }
            }
        }
    }
}

/// Over a fabric of sockets, device memory is staged, and the plan states the reason.
#[test]
fn a_plan_says_how_a_fabric_reaches_memory_of_devices() {
    if !crate::fabric::is_installed() {
        return;
    }
    let himeno = ["--fabric", "tcp;ofi_rxm", "himeno", "S", "--iterations", "3", "--device", "cuda"];
    let ended = job("devices=1", 2, "ofi", &[&himeno[..], &["--explain"]].concat());
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let line = ended
        .output
        .lines()
        .find(|line| line.starts_with("memory of devices by tcp;ofi_rxm"))
        .unwrap_or_else(|| panic!("{ended:?}"));
    assert!(line.ends_with(": staged by its owner: tcp;ofi_rxm moves no memory by itself"), "{line}");
    expect_field(&job("devices=1", 2, "ofi", &himeno), HASH);
}

/// Returns the line that the program wrote before it failed; only a line of the launcher follows it.
#[track_caller]
fn only_line(ended: &Ended) -> &str {
    let lines: Vec<_> = ended.error.lines().collect();
    let [said, launcher] = lines[..] else { panic!("{ended:?}") };
    assert!(ended.code == Some(1) && launcher.ends_with("failed with exit code 1; the job was ended"), "{ended:?}");
    said
}

#[test]
fn what_the_driver_lacks_is_one_line() {
    let library = driver().to_str().expect("a path of letters");
    for (library, words, why) in [
        ("libno-such-driver.so.1", "", "no CUDA driver: libno-such-driver.so.1: "),
        (library, "no-device", "the CUDA driver finds no device: "),
        (library, "stub", "no CUDA driver: the library is the stub of a toolkit"),
        (library, "old-version", "the CUDA driver has version 10.2, and 11.0 is needed: "),
    ] {
        for kind in ["cuda", "managed"] {
            let ended = job_with(library, words, 4, "shm", &[&GPU[..], &["--device", kind]].concat());
            let said = only_line(&ended);
            assert!(
                said.starts_with(&format!("gpu: rank 0: {why}")) && said.ends_with("give --device host for memory of the host"),
                "{said}"
            );
        }
        for program in ["himeno", "fields"] {
            let ended = job_with(library, words, 4, "shm", &[program, "--device", "cuda"]);
            assert!(only_line(&ended).starts_with(&format!("{program}: rank 0: {why}")), "{ended:?}");
        }
        let ended = job_with(library, words, 4, "shm", &GPU);
        assert!(ended.error.starts_with(&format!("gpu: memory of the host is used: rank 0: {why}")), "{ended:?}");
        assert_eq!(ended.error.lines().count(), 1, "{ended:?}");
        hash(&ended, "host");
    }
}

#[test]
fn a_device_without_room_ends_the_job() {
    let ended = job("out-of-memory", 2, "shm", &[&GPU[..], &["--device", "cuda"]].concat());
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.error.contains("has no 16000 bytes left") && ended.error.contains("the job was ended"), "{ended:?}");
    for program in ["himeno", "fields"] {
        let ended = job("out-of-memory", 4, "shm", &[program, "--device", "cuda"]);
        let said = only_line(&ended);
        assert!(said.starts_with(&format!("{program}: rank 0: ")) && said.contains(" bytes left"), "{ended:?}");
    }
}
