//! OpenSHMEM programs, compiled and linked with the library that was built with the tests.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The conformance programs, one for each group of routines. Each prints `good` on every PE if all its checks succeed.
pub const GROUPS: [&str; 13] = [
    "setup",
    "transfers",
    "atomics",
    "waits",
    "locks",
    "teams",
    "nested",
    "collectives",
    "reductions",
    "oldsets",
    "threads",
    "sessions",
    "allocations",
];

/// Returns the folder of the C interface.
pub fn bindings() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bindings/shmem")
}

/// Returns the folder of the library.
pub fn libraries() -> PathBuf {
    let this = std::env::current_exe().expect("a path");
    let folder = this.parent().expect("a folder");
    assert!(folder.join("libsma.so").exists(), "libsma.so is built with these tests in {}", folder.display());
    folder.into()
}

/// Returns the command of a compiler with strict warnings.
pub fn compiler(name: &str, standard: &str) -> Command {
    let mut command = Command::new(name);
    command.args([standard, "-O1", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-I"]).arg(bindings().join("include"));
    command
}

/// Compiles and links `source` to `output`, and returns `output`.
pub fn link(mut command: Command, source: &Path, output: &Path) -> PathBuf {
    let libraries = libraries();
    command.arg(source).arg("-o").arg(output).arg("-L").arg(&libraries).args(["-lsma", "-lpthread", "-lm"]);
    let built = command.arg(format!("-Wl,-rpath,{}", libraries.display())).output().expect("a compiler");
    assert!(built.status.success(), "{}: {}", source.display(), String::from_utf8_lossy(&built.stderr));
    output.into()
}

/// Compiles a program of `bindings/shmem/tests/c` with additional flags to `output`, and returns `output`.
pub fn program(source: &str, flags: &[&str], output: &Path) -> PathBuf {
    let mut command = compiler("cc", "-std=c11");
    command.args(flags);
    link(command, &bindings().join("tests/c").join(source), output)
}
