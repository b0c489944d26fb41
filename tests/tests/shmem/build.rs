//! C programs, compiled and linked with the library that was built with these tests, and run as ranks.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

pub(crate) use pelago_test_support::shmem::{bindings, compiler, libraries, link};

/// The transport whose ranks are simulated.
pub(crate) const SIMULATED: &str = "simulated";

/// Every transport on which programs must have the same results.
pub(crate) const TRANSPORTS: [&str; 3] = ["shm", "udp", SIMULATED];

/// Compiles a program of `tests/c` with additional flags to `name`.
pub(crate) fn program(source: &str, flags: &[&str], name: &str) -> PathBuf {
    pelago_test_support::shmem::program(source, flags, &folder().join(name))
}

/// Returns the folder in which programs are built.
pub(crate) fn folder() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("shmem");
    std::fs::create_dir_all(&folder).expect("a folder");
    folder
}

/// Runs a program as the PEs of a job.
pub(crate) fn run(ranks: u32, transport: &str, program: &Path, arguments: &[&str]) -> Output {
    let mut command = command(ranks, transport, program, arguments);
    command.output().expect("the command under test")
}

/// Returns the command that runs a program as the PEs of a job.
pub(crate) fn command(ranks: u32, transport: &str, program: &Path, arguments: &[&str]) -> Command {
    let machine = ["--machine", "rx200-qdr", "--quiet"];
    let on_a_transport = ["--transport", transport, "--time-limit", "60"];
    let (start, options) = if transport == SIMULATED { ("sim", &machine[..]) } else { ("run", &on_a_transport[..]) };
    command_with(ranks, start, options, program, arguments)
}

/// The same with a subcommand and its options.
pub(crate) fn command_with(ranks: u32, start: &str, options: &[&str], program: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pelago-under-test"));
    command.env("LD_LIBRARY_PATH", libraries());
    command.args([start, "-n", &ranks.to_string()]).args(options).arg(program).args(arguments);
    command
}
