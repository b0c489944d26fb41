//! C programs, compiled and linked with the library that was built with these tests, and run as ranks.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

pub(crate) use pelago_test_support::c::{LIBRARY_PATH, bindings, libraries};

/// The transport whose ranks are simulated.
pub(crate) const SIMULATED: &str = "simulated";

/// Every transport on which programs must have the same results.
pub(crate) const TRANSPORTS: [&str; 3] = ["shm", "udp", SIMULATED];

/// Compiles a program of `tests/c` to `name`.
pub(crate) fn program(source: &str, name: &str) -> PathBuf {
    pelago_test_support::c::compile(source, &Path::new(env!("CARGO_TARGET_TMPDIR")).join(name))
}

/// Runs a program as the ranks of a job.
pub(crate) fn run(ranks: u32, transport: &str, program: &Path, argument: &str, starter_bytes: Option<u32>) -> Output {
    let mut command = command(ranks, transport, program, &[argument]);
    if let Some(bytes) = starter_bytes {
        command.env("PELAGO_ACP_STARTER_BYTES", bytes.to_string());
    }
    command.output().expect("the command under test")
}

/// Like `run`, with several arguments.
pub(crate) fn run_with(ranks: u32, transport: &str, program: &Path, arguments: &[&str]) -> Output {
    command(ranks, transport, program, arguments).output().expect("the command under test")
}

fn command(ranks: u32, transport: &str, program: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pelago-under-test"));
    command.env(LIBRARY_PATH, libraries());
    let ranks = ranks.to_string();
    match transport {
        SIMULATED => command.args(["sim", "-n", &ranks, "--machine", "rx200-qdr", "--quiet"]),
        _ => command.args(["run", "-n", &ranks, "--transport", transport, "--time-limit", "60"]),
    };
    command.arg(program).args(arguments);
    command
}
