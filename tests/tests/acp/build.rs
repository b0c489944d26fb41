//! C programs, compiled and linked with the library that was built with these tests.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Where programs look for libraries first. Cargo names folders there in which an older library may lie.
pub(crate) const LIBRARY_PATH: &str = "LD_LIBRARY_PATH";

/// The transport whose ranks are simulated.
pub(crate) const SIMULATED: &str = "simulated";

/// Every transport on which programs have to do the same.
pub(crate) const TRANSPORTS: [&str; 3] = ["shm", "udp", SIMULATED];

/// Where the C interface lies.
pub(crate) fn bindings() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../bindings/acp")
}

/// Where the library lies.
pub(crate) fn libraries() -> PathBuf {
    let this = std::env::current_exe().expect("a path");
    let folder = this.parent().expect("a folder");
    assert!(folder.join("libacp.so").exists(), "libacp.so is built with these tests in {}", folder.display());
    folder.into()
}

/// Compiles a program of `tests/c`, to `name`.
pub(crate) fn program(source: &str, name: &str) -> PathBuf {
    let output = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let (compiler, standard) = if source.ends_with("cpp") { ("c++", "-std=c++11") } else { ("cc", "-std=c11") };
    let libraries = libraries();
    let mut command = Command::new(compiler);
    command.args([standard, "-O1", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-I"]).arg(bindings().join("include"));
    command.arg(bindings().join("tests/c").join(source)).arg("-o").arg(&output).arg("-L").arg(&libraries);
    command.args(["-lacp", "-lpthread"]).arg(format!("-Wl,-rpath,{}", libraries.display()));
    let built = command.output().unwrap_or_else(|error| panic!("{compiler}: {error}"));
    assert!(built.status.success(), "{source}: {}", String::from_utf8_lossy(&built.stderr));
    output
}

/// Runs a program as the ranks of a job.
pub(crate) fn run(ranks: u32, transport: &str, program: &Path, argument: &str, starter_bytes: Option<u32>) -> Output {
    let mut command = command(ranks, transport, program, &[argument]);
    if let Some(bytes) = starter_bytes {
        command.env("PELAGO_ACP_STARTER_BYTES", bytes.to_string());
    }
    command.output().expect("the command under test")
}

/// As `run`, with several arguments.
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
