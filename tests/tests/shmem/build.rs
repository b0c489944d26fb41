//! C programs, compiled and linked with the library that was built with these tests, and run as ranks.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The transport whose ranks are simulated.
pub(crate) const SIMULATED: &str = "simulated";

/// Every transport on which programs have to do the same.
pub(crate) const TRANSPORTS: [&str; 3] = ["shm", "udp", SIMULATED];

/// Where the C interface lies.
pub(crate) fn bindings() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../bindings/shmem")
}

/// Where the library lies.
pub(crate) fn libraries() -> PathBuf {
    let this = std::env::current_exe().expect("a path");
    let folder = this.parent().expect("a folder");
    assert!(folder.join("libsma.so").exists(), "libsma.so is built with these tests in {}", folder.display());
    folder.into()
}

/// A compiler with the flags of a strict project.
pub(crate) fn compiler(name: &str, standard: &str) -> Command {
    let mut command = Command::new(name);
    command.args([standard, "-O1", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-I"]).arg(bindings().join("include"));
    command
}

/// Compiles and links `source` to `output`, which is returned.
pub(crate) fn link(mut command: Command, source: &Path, output: &Path) -> PathBuf {
    let libraries = libraries();
    command.arg(source).arg("-o").arg(output).arg("-L").arg(&libraries).args(["-lsma", "-lpthread", "-lm"]);
    let built = command.arg(format!("-Wl,-rpath,{}", libraries.display())).output().expect("a compiler");
    assert!(built.status.success(), "{}: {}", source.display(), String::from_utf8_lossy(&built.stderr));
    output.into()
}

/// Compiles a program of `tests/c` with further flags, to `name`.
pub(crate) fn program(source: &str, flags: &[&str], name: &str) -> PathBuf {
    let mut command = compiler("cc", "-std=c11");
    command.args(flags);
    link(command, &bindings().join("tests/c").join(source), &folder().join(name))
}

/// Where programs are built.
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

/// The command that runs a program as the PEs of a job.
pub(crate) fn command(ranks: u32, transport: &str, program: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pelago-under-test"));
    command.env("LD_LIBRARY_PATH", libraries());
    let ranks = ranks.to_string();
    match transport {
        SIMULATED => command.args(["sim", "-n", &ranks, "--machine", "rx200-qdr", "--quiet"]),
        _ => command.args(["run", "-n", &ranks, "--transport", transport, "--time-limit", "60"]),
    };
    command.arg(program).args(arguments);
    command
}
