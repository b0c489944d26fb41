//! The test suite of the Python package, on shared memory, over UDP and simulated, with the command and the Rust programs that were built with these
//! tests. If there is no Python 3.11 with NumPy and pytest, and none can be installed, the test prints a line and passes.

use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the tests lie in the workspace")
}

/// Whether a command can be started and succeeds.
fn succeeds(command: &mut Command) -> bool {
    command.output().is_ok_and(|output| output.status.success())
}

/// Returns an interpreter with the packages that the suite needs, of the system or of a virtual environment; otherwise, the reason why there is none.
fn interpreter() -> Result<PathBuf, &'static str> {
    let has = |python: &Path, code| succeeds(Command::new(python).args(["-c", code]));
    let system = PathBuf::from("python3");
    if !has(&system, "import sys; assert sys.version_info >= (3, 11)") {
        return Err("python3 is not 3.11 or later");
    }
    if has(&system, "import numpy, pytest") {
        return Ok(system);
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("python");
    let own = folder.join("bin/python3");
    if !has(&own, "import numpy, pytest") {
        if !succeeds(Command::new(&system).args(["-m", "venv"]).arg(&folder)) {
            return Err("python3 makes no virtual environment");
        }
        let install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--retries", "1", "numpy", "pytest"];
        if !succeeds(Command::new(&own).args(install)) {
            return Err("pip installs no NumPy and no pytest");
        }
    }
    Ok(own)
}

/// Builds the extension module, and assembles the package. Returns its folder.
fn package() -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("inside the target folder");
    let built = Command::new(env!("CARGO"))
        .args(["build", "--package", "pelago-python", "--target-dir"])
        .arg(target)
        .current_dir(root())
        .output()
        .expect("cargo starts");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("package");
    let package = folder.join("pelago");
    std::fs::create_dir_all(&package).unwrap();
    for entry in std::fs::read_dir(root().join("bindings/python/python/pelago")).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            std::fs::copy(&path, package.join(path.file_name().unwrap())).unwrap();
        }
    }
    let library = target.join("debug").join(format!("{DLL_PREFIX}_pelago{DLL_SUFFIX}"));
    let module = package.join("_pelago.abi3.so");
    // The old file is removed, and not overwritten, because an interpreter may have it mapped.
    let _ = std::fs::remove_file(&module);
    std::fs::copy(library, module).unwrap();
    folder
}

#[test]
fn the_suite_of_the_package_passes() {
    let python = match interpreter() {
        Ok(python) => python,
        Err(why) => {
            eprintln!("not tested: {why}");
            return;
        }
    };
    let output = Command::new(python)
        .args(["-m", "pytest", "-q", "-p", "no:cacheprovider"])
        .current_dir(root().join("bindings/python"))
        .env("PYTHONPATH", package())
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("PELAGO", env!("CARGO_BIN_EXE_pelago-under-test"))
        .env("PELAGO_HEAT", env!("CARGO_BIN_EXE_tutorial-heat"))
        .output()
        .unwrap();
    let (said, error) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{said}\n{error}");
    assert!(said.contains(" passed") && !said.contains("skipped"), "{said}");
}
