//! `shmem4py` from the registry of Python, built with the installed library. Where the package is not available, a line says so, and nothing is tested.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::build::bindings;
use crate::examples::install;

/// Groups of routines that `shmem4py` would otherwise replace by its own versions, because it identifies implementations by name.
const PRESENT: [&str; 19] = [
    "malloc_with_hints",
    "team_t",
    "amo_nbi",
    "put_signal",
    "signal_fetch",
    "signal_wait_until",
    "broadcast",
    "collect",
    "fcollect",
    "alltoall",
    "alltoalls",
    "broadcastmem",
    "collectmem",
    "fcollectmem",
    "alltoallmem",
    "alltoallsmem",
    "reduce",
    "wait_test_many",
    "pcontrol",
];

fn succeeds(command: &mut Command) -> bool {
    command.output().is_ok_and(|output| output.status.success())
}

/// Returns an interpreter with `shmem4py`, built with the compiler wrapper of `prefix`; otherwise, the reason why there is none.
fn interpreter(prefix: &Path) -> Result<PathBuf, String> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("shmem4py");
    let python = folder.join("bin/python3");
    // `import shmem4py.shmem` would join a job.
    if succeeds(Command::new(&python).args(["-c", "import shmem4py, numpy"])) {
        return Ok(python);
    }
    if !succeeds(Command::new("python3").args(["-m", "venv"]).arg(&folder)) {
        return Err("python3 makes no virtual environment".into());
    }
    let flags: String = PRESENT.iter().map(|name| format!(" -DPySHMEM_HAVE_shmem_{name}")).collect();
    let path = std::env::join_paths(
        [prefix.join("bin")].into_iter().chain(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default())),
    );
    let mut pip = Command::new(&python);
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--retries", "1", "--no-binary", "shmem4py"]);
    // A cached package refers to the library of another prefix.
    pip.arg("--no-cache-dir");
    // Version 1.0.0 was written for NumPy 1.
    pip.args(["shmem4py==1.0.0", "numpy<2"]).env("PATH", path.expect("a path")).env_remove("LD_LIBRARY_PATH");
    pip.env("CFLAGS", format!("-O0 -DPySHMEM_HAVE_SHMEM_CTX_INVALID{flags}"));
    let installed = pip.output().map_err(|error| format!("pip: {error}"))?;
    if installed.status.success() {
        return Ok(python);
    }
    let said = String::from_utf8_lossy(&installed.stderr).into_owned();
    // An unreachable registry is not a failure of this library, but a compiler error is.
    assert!(!said.contains("error: command") && !said.contains("Failed building wheel"), "{said}");
    Err(format!("pip installs no shmem4py: {}", said.lines().last().unwrap_or_default()))
}

#[test]
fn every_group_of_shmem4py_works() {
    let prefix = install("shmem4py-prefix");
    let python = match interpreter(&prefix) {
        Ok(python) => python,
        Err(why) => return eprintln!("not tested: {why}"),
    };
    for transport in ["shm", "udp"] {
        for ranks in ["1", "2", "4"] {
            let mut command = Command::new(prefix.join("bin/pelago"));
            command.env_remove("LD_LIBRARY_PATH").args(["run", "-n", ranks, "--transport", transport, "--time-limit", "60"]);
            let ended = command.arg(&python).arg(bindings().join("examples/groups.py")).output().expect("the command under test");
            let (out, said) = (String::from_utf8_lossy(&ended.stdout), String::from_utf8_lossy(&ended.stderr));
            let good = out.lines().filter(|line| *line == "good").count();
            assert!(ended.status.success() && good.to_string() == ranks, "{ranks} PEs, {transport}: {out}{said}");
        }
    }
}
