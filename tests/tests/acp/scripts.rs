//! `acpcc` and `acprun`: what they find, and what they refuse.

use std::path::PathBuf;
use std::process::{Command, Output};

use crate::build::{LIBRARY_PATH, bindings, libraries};

fn script(name: &str) -> Command {
    let mut command = Command::new(bindings().join("bin").join(name));
    command.env("ACP_LIB", libraries()).env("PELAGO", env!("CARGO_BIN_EXE_pelago-under-test"));
    command.env(LIBRARY_PATH, libraries());
    command
}

fn compiled(script_name: &str, source: &str, name: &str) -> PathBuf {
    let output = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let built =
        script(script_name).arg("-O1").arg(bindings().join("tests/c").join(source)).arg("-o").arg(&output).output().unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    output
}

fn acprun(arguments: &[&str]) -> Output {
    script("acprun").args(arguments).output().unwrap()
}

#[test]
fn programs_are_compiled_and_run_by_the_names_that_users_know() {
    for (compiler, source) in [("acpcc", "interface.c"), ("acpc++", "interface.cpp")] {
        let program = compiled(compiler, source, &format!("{compiler}-program"));
        let ended = acprun(&["-np", "2", program.to_str().unwrap()]);
        assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    }
}

#[test]
fn starter_memory_has_the_size_that_is_asked_for() {
    let program = compiled("acpcc", "bad.c", "acpcc-bad");
    let program = program.to_str().unwrap();
    for network in ["--acp-envnet=udp", "--acp-envnet=shm"] {
        // The program finds that there is nothing past 4096 bytes.
        let ended = acprun(&["--acp-nprocs=2", network, "--acp-startermemsize=4096", program, "calls"]);
        assert_eq!((ended.status.code(), ended.stdout.as_slice()), (Some(0), &b"good\ngood\n"[..]));
        let ended = acprun(&["--acp-nprocs=2", network, "--acp-startermemsize=8192", program, "calls"]);
        assert_eq!(ended.status.code(), Some(1));
    }
}

#[test]
fn what_cannot_be_run_is_said_in_one_line() {
    for (arguments, says) in [
        (&["program"][..], "acprun: say how many processes: -np N"),
        (&["-np"], "acprun: -np needs a number of processes"),
        (&["-np", "many", "program"], "acprun: the number of processes is a number, not \"many\""),
        (&["-np", "2", "--acp-speed=9", "program"], "acprun: there is no option --acp-speed"),
        (&["-np", "2", "--acp-envnet=pigeon", "program"], "acprun: there is no network pigeon: udp, or shm on one host"),
        (&["-np", "2", "--acp-nodefile=/nowhere", "program"], "acprun: cannot read the node file /nowhere"),
    ] {
        let ended = acprun(arguments);
        assert_eq!((ended.status.code(), String::from_utf8_lossy(&ended.stderr).trim_end()), (Some(2), says));
    }
}
