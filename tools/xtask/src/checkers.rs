//! What checks more than one command of cargo does: builds with some features alone; and what looks on while tests run: Miri for undefined behaviour, ThreadSanitizer for data races.
//!
//! Neither checks all: Miri knows no inline assembly, no shared files and no membarrier, so that copies are made of atomics and fences are
//! full ones below it; ThreadSanitizer does not see what inline assembly does, nor into the standard library.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Verdict;

/// Each checker is given up after so long: a machine that is slow is no reason to fail.
const LIMIT_S: &str = "240";

/// What the program `timeout` ends with when the time is up.
const TIME_IS_UP: i32 = 124;

/// Tests for Miri, as arguments of `cargo miri test`. Of the protocol, which has no unsafe code, what reads datagrams; its cipher is
/// otherwise made of C. The tests of the contract make segments that are too large for an interpreter.
const MIRI: &[&[&str]] = &[
    &["--package", "pelago-sync", "--package", "pelago-memory", "--package", "pelago-base", "--lib"],
    &["--package", "pelago-protocol", "--features", "aegis/pure-rust", "--lib", "wire::", "--", "--skip", "seal"],
];

/// The memory model of references: Tree Borrows. Without old values for relaxed loads, which Miri (May 2026) does not know for words that
/// are written as bytes as well: it ends with an internal error there. Tests leak what they register for good.
const MIRI_FLAGS: &str = "-Zmiri-tree-borrows -Zmiri-disable-isolation -Zmiri-disable-weak-memory-emulation -Zmiri-ignore-leaks";

/// Tests with threads. The protocol has none. Ranks as threads meet by locks of the standard library, whose slow paths are compiled without
/// checks, so that what they protect would seem to race.
const THREADS: &[&[&str]] = &[
    &["--package", "pelago-sync", "--package", "pelago-memory", "--package", "pelago-base", "--lib"],
    &["--package", "pelago-kit", "--test", "conformance", "loopback::"],
];

/// Features that programs may choose, none of which is to need another that it does not name; all of them together are what else is checked.
const FEATURES: &[&str] = &["", "launch", "launch,udp", "simulation", "collectives,containers,dsm,halo,messaging", "serde"];

/// That the library builds without warnings with some of its features alone.
pub(crate) fn features() -> Verdict {
    let passes = FEATURES.iter().all(|chosen| {
        let mut command = Command::new(env!("CARGO"));
        command.args(["clippy", "--quiet", "--package", "pelago", "--no-default-features", "--features", chosen]);
        command.args(["--", "--deny", "warnings"]).status().is_ok_and(|status| status.success())
    });
    if passes { Verdict::Passed } else { Verdict::Failed }
}

/// That the oldest compiler which `rust-version` promises builds all crates with their tests.
pub(crate) fn minimum_version() -> Verdict {
    let version = env!("CARGO_PKG_RUST_VERSION");
    let toolchain = || {
        let mut command = Command::new("rustup");
        command.args(["run", version]);
        command
    };
    if said_by(toolchain().args(["cargo", "--version"])).is_none() {
        return Verdict::Skipped(format!("it needs rustup toolchain install {version} --profile minimal"));
    }
    let mut check = toolchain();
    check.args(["cargo", "check", "--locked", "--workspace", "--all-targets"]);
    let passes = check.env("CARGO_TARGET_DIR", root().join("target/minimum")).status().is_ok_and(|status| status.success());
    if passes { Verdict::Passed } else { Verdict::Failed }
}

/// Undefined behaviour, by an interpreter.
pub(crate) fn miri() -> Verdict {
    let nightly = || {
        let mut command = Command::new("rustup");
        command.args(["run", "nightly"]);
        command
    };
    let has_miri = nightly().args(["cargo", "miri", "--version"]).output().is_ok_and(|output| output.status.success());
    let has_library = said_by(nightly().args(["rustc", "--print", "sysroot"]))
        .is_some_and(|root| Path::new(&root).join("lib/rustlib/src/rust/library").is_dir());
    if !(has_miri && has_library) {
        return Verdict::Skipped("it needs rustup +nightly component add miri rust-src".into());
    }
    judge(MIRI, |arguments| {
        let mut command = Command::new("timeout");
        command.args([LIMIT_S, "rustup", "run", "nightly", "cargo", "miri", "test"]).args(arguments);
        command.env("MIRIFLAGS", MIRI_FLAGS).env("CARGO_TARGET_DIR", root().join("target/miri")).env("PROPTEST_CASES", "2");
        command
    })
}

/// Data races, by a runtime library that the toolchain ships. What is unstable about it is allowed as in the compiler's own build.
pub(crate) fn thread_sanitizer() -> Verdict {
    let Some((sysroot, host)) = said_by(Command::new("rustc").args(["--print", "sysroot"])).zip(host()) else {
        return Verdict::Skipped("rustc does not say where its libraries are".into());
    };
    let libraries = Path::new(&sysroot).join("lib/rustlib").join(&host).join("lib");
    let is_runtime = |entry: &fs::DirEntry| entry.file_name().to_string_lossy().ends_with("_rt.tsan.a");
    if !fs::read_dir(&libraries).is_ok_and(|entries| entries.flatten().any(|entry| is_runtime(&entry))) {
        return Verdict::Skipped(format!("the toolchain has no runtime for it: {}/librustc-*_rt.tsan.a", libraries.display()));
    }
    judge(THREADS, |arguments| {
        let mut command = Command::new("timeout");
        command.args([LIMIT_S, env!("CARGO"), "test", "--target", &host]).args(arguments);
        command.env("RUSTC_BOOTSTRAP", "1").env("RUSTFLAGS", "-Zsanitizer=thread -Cunsafe-allow-abi-mismatch=sanitizer");
        let suppressions = root().join("tools/xtask/thread-sanitizer.txt");
        command.env("TSAN_OPTIONS", format!("suppressions={}", suppressions.display()));
        command.env("CARGO_TARGET_DIR", root().join("target/thread-sanitizer")).env("PROPTEST_CASES", "16");
        command
    })
}

/// Runs the tests until some fail. What is not done when the time is up is named.
fn judge(tests: &[&[&str]], command: impl Fn(&[&str]) -> Command) -> Verdict {
    let mut given_up = Vec::new();
    for arguments in tests {
        match command(arguments).status().map(|status| status.code()) {
            Ok(Some(0)) => {}
            Ok(Some(TIME_IS_UP)) => given_up.push(arguments.join(" ")),
            Ok(_) => return Verdict::Failed,
            Err(error) => return Verdict::Skipped(format!("timeout: {error}")),
        }
    }
    if given_up.is_empty() {
        return Verdict::Passed;
    }
    let passed = tests.len() - given_up.len();
    Verdict::Skipped(format!("{passed} of {} sets passed; not to the end in {LIMIT_S} s: {}", tests.len(), given_up.join("; ")))
}

/// The target that rustc itself runs on.
fn host() -> Option<String> {
    said_by(Command::new("rustc").arg("-vV"))?.lines().find_map(|line| line.strip_prefix("host: ").map(str::to_owned))
}

pub(crate) fn said_by(command: &mut Command) -> Option<String> {
    let output = command.output().ok().filter(|output| output.status.success())?;
    String::from_utf8(output.stdout).ok().map(|text| text.trim().to_owned())
}

/// The root of the repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("xtask lies two folders deep").into()
}
