//! C programs on simulated machines: private data of ranks, ends of ranks, and refusals.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use pelago_test_support::c::lacks;

use crate::build::{LIBRARY_PATH, SIMULATED, TRANSPORTS, bindings, libraries, program, run_with};

/// Links only the libraries whose functions the program calls.
const AS_NEEDED: [&str; 1] = ["-Wl,--as-needed"];

/// Returns the lines of an output, sorted, because ranks end in any order.
fn lines(output: &Output) -> Vec<String> {
    let mut lines: Vec<_> = String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

/// Compiles a program of `tests/c` with compiler options.
fn built_with(options: &[&str], source: &str, name: &str) -> PathBuf {
    let output = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let mut command = Command::new("cc");
    command.args(options).arg("-I").arg(bindings().join("include")).arg(bindings().join("tests/c").join(source));
    command
        .arg("-o")
        .arg(&output)
        .arg("-L")
        .arg(libraries())
        .arg(if options == AS_NEEDED { AS_NEEDED[0] } else { "-Wl,--no-as-needed" })
        .arg("-lacp");
    let built = command.output().expect("cc");
    assert!(built.status.success(), "{source}: {}", String::from_utf8_lossy(&built.stderr));
    output
}

fn sim(program: &Path, arguments: &[&str]) -> Output {
    run_with(3, SIMULATED, program, arguments)
}

/// Returns the only line of the refusal of a program.
fn refusal(program: &Path, arguments: &[&str]) -> String {
    let ended = sim(program, arguments);
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert!(ended.status.code() == Some(2) && ended.stdout.is_empty() && said.lines().count() == 1, "{ended:?}");
    said
}

#[test]
fn every_rank_has_its_own_variables_and_its_own_end() {
    let built = program("ranks.c", "ranks");
    let own = |rank: u32| [format!("end of {}", 41 + 100 * rank), format!("last of {}, {}", 41 + 100 * rank, 7 + rank)];
    let mut all: Vec<_> = (0..3).flat_map(own).collect();
    all.sort();
    for transport in TRANSPORTS {
        for how in ["return", "exit"] {
            let ended = run_with(3, transport, &built, &["-n", "12", how]);
            assert_eq!(ended.status.code(), Some(0), "{how}, {transport}: {}", String::from_utf8_lossy(&ended.stderr));
            assert_eq!(lines(&ended), all, "{how}, {transport}");
        }
        // A rank that ends without leaving the job counts as failed.
        let ended = run_with(3, transport, &built, &["-n", "12", "quiet"]);
        assert_eq!((ended.status.code(), &ended.stdout[..]), (Some(3), &b""[..]), "{transport}");
    }
}

#[test]
fn programs_are_simulated_however_they_were_linked() {
    for (name, options) in [
        ("ranks-fixed", &["-no-pie", "-fno-pie"][..]),
        ("ranks-lazy", &["-Wl,-z,lazy", "-Wl,-z,norelro"]),
        ("ranks-now", &["-Wl,-z,now", "-fPIE", "-fno-plt"]),
    ] {
        let ended = sim(&built_with(options, "ranks.c", name), &["-n", "12", "return"]);
        assert_eq!(ended.status.code(), Some(0), "{name}: {}", String::from_utf8_lossy(&ended.stderr));
        let last = lines(&ended).iter().filter(|line| line.starts_with("last of")).count();
        assert_eq!(last, 3, "{name}: {}", String::from_utf8_lossy(&ended.stdout));
    }
    let ended = sim(&built_with(&["-shared", "-fPIC"], "memory.c", "memory.so"), &["3"]);
    assert_eq!((ended.status.code(), &ended.stdout[..]), (Some(0), &b"good\ngood\ngood\n"[..]));
}

#[test]
fn programs_in_cpp_have_their_streams_and_objects() {
    if lacks("c++") {
        return;
    }
    let built = program("streams.cpp", "streams");
    for transport in TRANSPORTS {
        let ended = run_with(3, transport, &built, &[]);
        assert_eq!(ended.status.code(), Some(0), "{transport}: {}", String::from_utf8_lossy(&ended.stderr));
        assert_eq!(lines(&ended), ["grown to 1", "grown to 2", "grown to 3", "thrown", "thrown", "thrown"], "{transport}");
    }
}

#[test]
fn a_rank_that_ends_badly_ends_the_job_with_one_line() {
    let built = program("ranks.c", "ranks-ends");
    let ended = sim(&built, &["-n", "12", "code"]);
    let said = String::from_utf8_lossy(&ended.stderr);
    assert_eq!((ended.status.code(), &*said), (Some(1), "pelago: rank 1 failed with exit code 7; the job was ended\n"));
    let ended = sim(&built, &["-n", "12", "assert"]);
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(said.starts_with("acp: rank 1: ") && said.contains("assertion how == NULL failed"), "{said}");
    assert!(ended.status.code() == Some(3) && said.ends_with("rank 1 was killed by signal 6 (SIGABRT); the job was ended\n"));
}

/// The exit code of a rank that ended without leaving the job, although the report cannot be written.
#[test]
fn a_report_that_cannot_be_written_hides_no_end() {
    let built = program("ranks.c", "ranks-untold");
    let mut command = Command::new(env!("CARGO_BIN_EXE_pelago-under-test"));
    command.env(LIBRARY_PATH, libraries());
    command.args(["sim", "-n", "3", "--machine", "tofu2", "--quiet", "--report", "/dev/full"]).arg(&built);
    let ended = command.args(["-n", "12", "quiet"]).output().unwrap();
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.code() == Some(3) && said.contains("cannot write /dev/full: "), "{said}");
    assert!(said.ends_with(" ended with exit code 0 in the middle of the job; the job was ended\n"), "{said}");
}

#[test]
fn the_same_job_is_the_same_twice() {
    let built = program("ranks.c", "ranks-twice");
    let report = |number: u32| {
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("ranks-{number}.json"));
        let mut command = Command::new(env!("CARGO_BIN_EXE_pelago-under-test"));
        command.env(LIBRARY_PATH, libraries());
        command.args(["sim", "-n", "5", "--machine", "tofu2", "--report"]).arg(&path).arg(&built);
        assert!(command.args(["-n", "12", "return"]).output().unwrap().status.success());
        std::fs::read(&path).unwrap()
    };
    let [one, other] = [1, 2].map(report);
    assert!(!one.is_empty() && one == other);
}

#[test]
fn what_cannot_be_simulated_is_said_in_one_line() {
    let file = |name: &str, bytes: &[u8]| {
        use std::os::unix::fs::PermissionsExt;
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::write(&path, bytes).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path
    };
    let whole = std::fs::read(program("ranks.c", "ranks-whole")).unwrap();
    for (path, says) in [
        (file("no-elf", b"int main(void) { return 0; }"), "is not an ELF program"),
        (file("half-elf", &whole[..whole.len() / 8]), "is a broken ELF program"),
        (built_with(&AS_NEEDED, "empty.c", "no-acp"), "is linked neither with libacp.so nor with Pelago"),
        (built_with(&["-shared", "-fPIC", "-Dmain=other"], "memory.c", "no-main.so"), "has no main that others may call"),
        (libraries().join("libacp.so"), "is a shared object that is not linked with libacp.so"),
    ] {
        let said = refusal(&path, &[]);
        assert!(said.starts_with("pelago: ") && said.contains(says), "{said}");
    }
}

#[test]
fn ranks_that_never_join_are_told_of() {
    let stranger = sim(&built_with(&[], "empty.c", "acp-without-init"), &[]);
    let said = String::from_utf8_lossy(&stranger.stderr);
    assert!(
        stranger.status.code() == Some(1) && said.contains("ended without joining the job: is it a Pelago program?"),
        "{said}"
    );
}

/// Table 3 of paper E: a remote atomic with each step of tuning, on the simulated machine.
#[test]
fn the_steps_of_the_basic_layer_take_what_the_paper_has_measured() {
    let built = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("basic-layer");
    let source = bindings().join("../../docs/evaluation/basic-layer.c");
    let mut command = Command::new("cc");
    command.args(["-O1", "-Wall", "-Wextra", "-Werror", "-I"]).arg(bindings().join("include")).arg(source).arg("-o").arg(&built);
    let compiled = command.arg("-L").arg(libraries()).arg("-lacp").output().expect("cc");
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let run = |ranks: &str, steps: &[&str], arguments: &[&str]| -> Vec<Vec<f64>> {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pelago-under-test"));
        command.env(LIBRARY_PATH, libraries()).args(["sim", "-n", ranks, "--machine", "tofu2", "--quiet"]);
        command.args(steps.iter().map(|step| format!("--set=node.software.{step}")));
        let ended = command.arg(&built).args(arguments).output().unwrap();
        assert!(ended.status.success(), "{steps:?}: {}", String::from_utf8_lossy(&ended.stderr));
        let lines = String::from_utf8(ended.stdout).unwrap();
        let numbers = |line: &str| -> Vec<f64> { line.split([':', ',', '}']).filter_map(|word| word.parse().ok()).collect() };
        lines.lines().map(numbers).collect()
    };
    let measured = |ranks: &str, steps: &[&str]| run(ranks, steps, &["100"]);
    let (progress_thread, bypass, software) = ("submission=progress-thread", "submission=bypass", "atomics=progress-thread");
    let (built_each, many) = ("descriptors=built", "threads=many");
    for (paper_us, steps) in [
        (2.26, &["submission=direct"][..]),
        (8.57, &[progress_thread, software, built_each]),
        (8.61, &[progress_thread, software, built_each, many]),
        (3.91, &[progress_thread, built_each]),
        (3.68, &[progress_thread]),
        (4.44, &[progress_thread, built_each, many]),
        (4.31, &[progress_thread, many]),
        (4.39, &[bypass, built_each, many]),
        (4.26, &[bypass, many]),
    ] {
        let took_us = measured("2", steps)[0][0];
        assert!((took_us / paper_us - 1.0).abs() < 0.05, "{steps:?}: {took_us} us, {paper_us} us in the paper");
    }
    // A separate serving thread beside the ordering progress thread keeps its rank undisturbed.
    let together = measured("4", &[progress_thread, software, "serving=together"]);
    let apart = measured("4", &[progress_thread, software, "serving=apart"]);
    assert!(together[1][0] > 1.5 * together[0][0] && apart[1][0] < 1.01 * apart[0][0], "{together:?} {apart:?}");
    // Figures 1 and 2: a copy between two other ranks compared with a get and a put, by bytes.
    let copies = run("3", &[progress_thread], &["1", "1", "copies"]);
    assert_eq!(copies.iter().map(|row| row[0]).collect::<Vec<_>>(), [8.0, 256.0, 8192.0, 262_144.0]);
    for row in copies {
        assert!(row[1] < 0.8 * row[2], "{} bytes: a copy takes {} us, a get and a put {} us", row[0], row[1], row[2]);
    }
}

/// A word of an earlier synchronization that arrives after one of a later synchronization does not overwrite it.
#[test]
fn meetings_end_where_datagrams_overtake_each_other() {
    let built = program("syncs.c", "syncs");
    for ranks in [4, 5, 7] {
        for seed in 0..16 {
            let (number, chance) = (ranks.to_string(), seed.to_string());
            let mut command = Command::new(env!("CARGO_BIN_EXE_pelago-under-test"));
            command.env(LIBRARY_PATH, libraries()).args(["sim", "-n", &number, "--machine", "rx200-qdr", "--quiet"]);
            let ended = command.args(["--faults", "delay=0.2:50us", "--seed", &chance]).arg(&built).output().unwrap();
            let said = String::from_utf8_lossy(&ended.stderr);
            assert!(ended.status.success(), "{ranks} ranks, seed {seed}: {said}");
            assert_eq!(ended.stdout, b"good\n".repeat(ranks));
        }
    }
}

/// Programs read correct words of containers, and 100,000 regions are found, where datagrams are lost, delayed and duplicated.
#[test]
fn words_of_containers_and_many_regions_survive_a_bad_network() {
    for (name, argument) in [("layout", "3"), ("regions", "100003")] {
        on_bad_networks(name, argument);
    }
}

fn on_bad_networks(name: &str, argument: &str) {
    let built = program(&format!("{name}.c"), &format!("{name}-faults"));
    for (seed, faults) in [("0", "loss=0.1,delay=0.2:50us"), ("1", "loss=0.05,duplicate=0.1,delay=0.1:50us")] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pelago-under-test"));
        command.env(LIBRARY_PATH, libraries()).args(["sim", "-n", "3", "--machine", "rx200-qdr", "--quiet", "--protocol"]);
        let ended = command.args(["--faults", faults, "--seed", seed]).arg(&built).arg(argument).output().unwrap();
        assert!(ended.status.success(), "{name}, {faults}: {}", String::from_utf8_lossy(&ended.stderr));
        assert_eq!(ended.stdout, b"good\n".repeat(3), "{name}, {faults}");
    }
}

/// Simulates a program that polls memory without a call.
fn polls(how: &str, options: &[&str]) -> Output {
    limited("60", options, &program("polling.c", &format!("polling-{how}-{}", options.len())), &[how])
}

/// Simulates a program with a time limit in seconds.
fn limited(seconds: &str, options: &[&str], program: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pelago-under-test"));
    command.env(LIBRARY_PATH, libraries()).args(["sim", "-n", "3", "--machine", "rx200-qdr", "--quiet", "--time-limit", seconds]);
    command.args(options).arg(program).args(arguments).output().unwrap()
}

#[test]
fn ranks_that_poll_memory_without_a_call_let_time_pass() {
    for how in ["starter", "global", "heap", "counted", "atomic", "get", "chain"] {
        let faults = "loss=0.1,duplicate=0.05,delay=0.2:50us";
        for options in [&[][..], &["--faults", "delay=0.5:200us"], &["--protocol", "--faults", faults], &["--per-node", "3"]] {
            let ended = polls(how, options);
            let said = String::from_utf8_lossy(&ended.stderr);
            assert!(ended.status.success() && ended.stdout == b"good\n".repeat(3), "{how}, {options:?}: {said}");
        }
    }
}

/// A rank that computes for a long time is not mistaken for one that polls, regardless of the actions of other ranks.
#[test]
fn a_rank_may_compute_for_long_while_others_poll() {
    let ended = polls("computed", &[]);
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success() && ended.stdout == b"good\n".repeat(3), "{said}");
}

#[test]
fn a_rank_that_polls_memory_which_nobody_writes_is_named() {
    for (how, polling) in [
        ("never", "; rank 2 waits in a loop without calls of the library, for a write to its memory"),
        ("all", ": rank 0, rank 1, rank 2 wait in a loop without calls of the library, for a write to its memory"),
    ] {
        let began = std::time::Instant::now();
        let ended = polls(how, &[]);
        let said = String::from_utf8_lossy(&ended.stderr);
        assert!(ended.status.code() == Some(1) && said.contains(polling) && said.lines().count() == 1, "{how}: {ended:?}");
        assert!(began.elapsed().as_secs() < 20, "{how}");
    }
}

/// A rank that cannot be distinguished from a computing one, or cannot be interrupted, is named, and the job continues.
#[test]
fn a_rank_that_does_not_call_for_seconds_is_named() {
    let named = "pelago: rank 2 has run for 3 s without a call of the library, at ";
    for (source, how) in [("polling.c", "spin"), ("blocked.c", "")] {
        let ended = limited("12", &[], &program(source, &format!("unnamed-{how}")), &[how]);
        let said = String::from_utf8_lossy(&ended.stderr);
        assert!(ended.status.code() == Some(4) && said.contains(named) && said.lines().count() == 2, "{source}: {said}");
    }
}

#[test]
fn calls_take_as_few_round_trips_as_they_say() {
    let built = program("rounds.c", "rounds");
    let ended = sim(&built, &[]);
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    assert_eq!(ended.stdout, b"good\n".repeat(3));
}
