//! C programs, compiled and linked with the library that was built with the tests.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Where programs look for libraries first. Cargo names folders there in which an older library may lie.
pub const LIBRARY_PATH: &str = "LD_LIBRARY_PATH";

/// Where the C interface lies.
pub fn bindings() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bindings/acp")
}

/// Where the library lies.
pub fn libraries() -> PathBuf {
    let this = std::env::current_exe().expect("a path");
    let folder = this.parent().expect("a folder");
    assert!(folder.join("libacp.so").exists(), "libacp.so is built with these tests in {}", folder.display());
    folder.into()
}

/// Compiles a program of `bindings/acp/tests/c`, C or C++ by its name, to `output`, which is returned.
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
