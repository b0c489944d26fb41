//! Wrong input is one line and exit code 2, before any rank is started.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use crate::{Ended, RANK, end, pelago, run};

#[test]
fn numbers_of_ranks() {
    run(&["run", "-n", "0", RANK, "nothing"]).expect(2, "0 ranks: a job has 1 to 4096 ranks on one host");
    run(&["run", "-n", "4097", RANK, "nothing"]).expect(2, "4097 ranks: a job has 1 to 4096 ranks on one host");
    for number in ["99999999999", "-1", "two", ""] {
        one_line(&["run", "-n", number, RANK, "nothing"], "-n <N>");
    }
}

#[test]
fn programs() {
    let line = "cannot run \"no-such-program\": no such program in PATH; name one in this folder as ./no-such-program";
    run(&["run", "-n", "2", "no-such-program"]).expect(2, &format!("{line}; pelago run --list shows the bundled ones"));
    run(&["run", "-n", "2", "./no-such-program"]).expect(2, "cannot run ./no-such-program: No such file or directory");
    run(&["run", "-n", "2", "/tmp"]).expect(2, "cannot run /tmp: is a directory");
    run(&["run", "-n", "2", "/etc/passwd"]).expect(2, "cannot run /etc/passwd: Permission denied");
    one_line(&["run", "-n", "2"], "PROGRAM");
}

#[test]
fn a_script_whose_interpreter_is_missing_is_named() {
    let path = std::env::temp_dir().join(format!("pelago-script-{}", std::process::id()));
    std::fs::write(&path, "#!/bin/nonexistent\n").unwrap();
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let script = path.to_str().unwrap();
    let why = format!("{script}: the file exists, but the interpreter that it names is missing");
    run(&["run", "-n", "2", script]).expect(2, &format!("rank 0 could not be started: {why}; the job was ended"));
    run(&["sim", "-n", "2", "--machine", "rx200-qdr", script]).expect(2, &format!("cannot run {why}"));
    std::fs::remove_file(path).unwrap();
}

#[test]
fn options() {
    one_line(&["run", RANK, "nothing"], "say how many ranks: -n N");
    let line = "unexpected argument '--labl' found; a similar argument exists: '--label'; see pelago run --help";
    run(&["run", "-n", "2", "--labl", RANK]).expect(2, line);
    one_line(&["run", "-n", "2", "--heap", "12Q", RANK], "12Q");
    one_line(&["run", "-n", "2", "--heap", "4T", RANK], "(--heap, PELAGO_HEAP)");
    one_line(&["run", "-n", "2", "--time-limit", "soon", RANK], "soon");
    one_line(&["run", "-n", "2", "--progress", "never", RANK], "never");
    one_line(&["run", "-n", "2", "--transport", "pigeon", RANK], "pigeon");
    one_line(&["run", "-n", "2", "--failure-limit", "0", RANK], "more than 0");
    one_line(&["fly"], "fly");
    one_line(&["bundled", "nothing"], "nothing");
    // Without a launcher the program is a job of one rank.
    let alone = run(&["bundled", "litmus"]);
    assert_eq!((alone.code, &*alone.error), (Some(2), "litmus: a test needs 2 ranks; give -n 2\n"));
}

#[test]
fn the_environment() {
    let mut command = pelago(&["run", "-n", "2", RANK, "nothing"]).0;
    command.env("PELAGO_PROGRESS", "sometimes");
    end(command).expect(2, "the environment variable PELAGO_PROGRESS cannot be \"sometimes\": it is auto, thread or manual");
    let mut command = pelago(&["run", "-n", "2", RANK, "nothing"]).0;
    command.env("PELAGO_ENCRYPT", OsStr::from_bytes(b"1\xff"));
    end(command).expect(2, "the environment variable PELAGO_ENCRYPT cannot be \"1\u{fffd}\": it is 0 or 1");
}

/// A reader that has closed its end of a pipe is no error.
#[test]
fn output_that_is_lost_is_an_error() {
    for arguments in [
        &["sim", "--list"][..],
        &["run", "--list"],
        &["bench", "--list"],
        &["info"],
        &["run", "--help"],
        &["completions", "bash"],
    ] {
        let (mut command, _) = pelago(arguments);
        command.stdout(std::fs::File::options().write(true).open("/dev/full").unwrap());
        let line = "cannot write to the standard output: No space left on device (os error 28)";
        end_with_output(command).expect(2, line);
        let (mut command, _) = pelago(arguments);
        let (output, reader) = std::os::unix::net::UnixStream::pair().unwrap();
        drop(reader);
        command.stdout(std::os::fd::OwnedFd::from(output));
        end_with_output(command).expect(0, "");
    }
}

/// Runs a command that has its standard output already.
fn end_with_output(mut command: std::process::Command) -> Ended {
    let output = command.stderr(std::process::Stdio::piped()).spawn().unwrap().wait_with_output().unwrap();
    Ended { code: output.status.code(), output: String::new(), error: String::from_utf8(output.stderr).unwrap() }
}

#[track_caller]
fn one_line(arguments: &[&str], says: &str) {
    let ended = run(arguments);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.error.starts_with("pelago: ") && ended.error.contains(says), "{ended:?}");
    assert_eq!((ended.error.lines().count(), ended.output.as_str()), (1, ""), "{ended:?}");
}
