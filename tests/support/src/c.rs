//! C programs, compiled and linked with the library that was built with the tests.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The environment variable with the folders that programs search for libraries first. Cargo sets it to folders that may contain an older library.
pub const LIBRARY_PATH: &str = "LD_LIBRARY_PATH";

/// Whether a program that a test needs is missing. In this case, it prints a line, and the test skips the parts that need the program.
pub fn lacks(program: &str) -> bool {
    let is_there = Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success());
    if !is_there {
        eprintln!("skipped: {program} is not installed");
    }
    !is_there
}

/// Returns the folder of the C interface.
pub fn bindings() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bindings/acp")
}

/// Returns the folder of the library.
pub fn libraries() -> PathBuf {
    let this = std::env::current_exe().expect("a path");
    let folder = this.parent().expect("a folder");
    assert!(folder.join("libacp.so").exists(), "libacp.so is built with these tests in {}", folder.display());
    folder.into()
}

/// Compiles a program of `bindings/acp/tests/c`, C or C++ according to its name, to `output`, and returns `output`.
pub fn compile(source: &str, output: &Path) -> PathBuf {
    let (compiler, standard) = if source.ends_with("cpp") { ("c++", "-std=c++11") } else { ("cc", "-std=c11") };
    let libraries = libraries();
    let mut command = Command::new(compiler);
    command.args([standard, "-O1", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-I"]).arg(bindings().join("include"));
    command.arg(bindings().join("tests/c").join(source)).arg("-o").arg(output).arg("-L").arg(&libraries);
    command.args(["-lacp", "-lpthread"]).arg(format!("-Wl,-rpath,{}", libraries.display()));
    let built = command.output().unwrap_or_else(|error| panic!("{compiler}: {error}"));
    assert!(built.status.success(), "{source}: {}", String::from_utf8_lossy(&built.stderr));
    output.into()
}

/// Installs the results of a build to a folder below `folder`, which is created anew. Returns the folder of the installation.
pub fn install(folder: &Path, pelago: &Path) -> PathBuf {
    let _ = std::fs::remove_dir_all(folder);
    let built = folder.join("built");
    std::fs::create_dir_all(&built).expect("a folder");
    let library = |name: &str| (libraries().join(name), name.to_owned());
    for (from, name) in [library("libacp.so"), library("libacp.a"), (pelago.into(), "pelago".into())] {
        std::os::unix::fs::symlink(from, built.join(name)).expect("a link");
    }
    // Twice, to check that an installation can be overwritten.
    for _ in 0..2 {
        let ended = Command::new(bindings().join("install")).arg(folder.join("acp")).arg(&built).output().expect("install");
        assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    }
    folder.join("acp")
}

/// Builds the programs of `bindings/acp/tests/c/Makefile`, which has the link names of the original, with the installed library. Returns their folder.
pub fn make_programs(prefix: &Path) -> PathBuf {
    let programs = prefix.join("../programs");
    std::fs::create_dir_all(&programs).expect("a folder");
    let mut make = Command::new("make");
    make.arg("-C").arg(bindings().join("tests/c")).env_remove("MAKEFLAGS").env_remove(LIBRARY_PATH);
    let made = make.arg(format!("ACP={}", prefix.display())).arg(format!("OUT={}", programs.display())).output().expect("make");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    programs
}
