//! Checks that take more than one cargo command: builds with subsets of the features, with the oldest compiler and for other systems; tests under Miri
//! (undefined behaviour) and ThreadSanitizer (data races).
//!
//! Neither covers everything. Miri supports no inline assembly, shared files or membarrier; under it copies use atomics and all fences are
//! full fences. ThreadSanitizer does not see inline assembly and the standard library.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Verdict;

/// Time limit of each checker in seconds; exceeding it is not a failure, as the machine may be slow.
const LIMIT_S: &str = "240";

/// Exit code of the program `timeout` when the time is up.
const TIME_IS_UP: i32 = 124;

/// Tests for Miri, as arguments of `cargo miri test`. Of the protocol, which has no unsafe code, only the parsing of datagrams is tested, with
/// the cipher in Rust instead of C. The contract tests allocate segments that are too large for an interpreter.
const MIRI: &[&[&str]] = &[
    &["--package", "pelago-sync", "--package", "pelago-memory", "--package", "pelago-base", "--lib"],
    &["--package", "pelago-protocol", "--features", "aegis/pure-rust", "--lib", "wire::", "--", "--skip", "seal"],
];

/// Aliasing model: Tree Borrows. Weak memory emulation is disabled, because Miri (May 2026) ends with an internal error for words that are
/// also written as bytes. Leaks are ignored, because tests leak permanent registrations.
const MIRI_FLAGS: &str = "-Zmiri-tree-borrows -Zmiri-disable-isolation -Zmiri-disable-weak-memory-emulation -Zmiri-ignore-leaks";

/// Tests with threads; the protocol has none. Most tests with ranks as threads are left out: ranks synchronize by locks of the standard
/// library, whose slow paths are not instrumented, so that accesses to protected data would be reported as races.
const THREADS: &[&[&str]] = &[
    &["--package", "pelago-sync", "--package", "pelago-memory", "--package", "pelago-base", "--lib", "--", "--skip", STEPS],
    &["--package", "pelago-kit", "--test", "conformance", "loopback::"],
];

/// A test by single steps of the processor, which cannot stop inside the runtime library of the sanitizer.
const STEPS: &str = "a_word_is_written_whole_and_once";

/// Combinations of features that programs may choose. None may depend on a feature that it does not name. All other checks enable all features.
const FEATURES: &[&str] = &["", "launch", "launch,udp", "simulation", "collectives,containers,dsm,halo,messaging", "serde"];

/// Checks that the library builds without warnings with subsets of its features.
pub(crate) fn features() -> Verdict {
    let passes = FEATURES.iter().all(|chosen| {
        let mut command = Command::new(env!("CARGO"));
        command.args(["clippy", "--quiet", "--package", "pelago", "--no-default-features", "--features", chosen]);
        command.args(["--", "--deny", "warnings"]).status().is_ok_and(|status| status.success())
    });
    if passes { Verdict::Passed } else { Verdict::Failed }
}

/// Checks that the compiler version stated by `rust-version` builds all crates with their tests.
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

/// Other systems for which releases are built or of which the documents say that the code compiles there, each with its C compiler and the package that has it.
const OTHER_TARGETS: &[(&str, &str, &str)] = &[
    ("x86_64-unknown-linux-musl", "musl-gcc", "musl-tools"),
    ("aarch64-unknown-linux-gnu", "aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu libc6-dev-arm64-cross"),
];

/// Checks that the command and the C interfaces compile for other C libraries and processors, whose types of the system differ.
pub(crate) fn other_targets() -> Verdict {
    let installed = said_by(Command::new("rustup").args(["target", "list", "--installed"])).unwrap_or_default();
    let mut missing = Vec::new();
    for &(target, compiler, packages) in OTHER_TARGETS {
        if !installed.lines().any(|line| line == target) {
            missing.push(format!("rustup target add {target}"));
        } else if said_by(Command::new(compiler).arg("--version")).is_none() {
            missing.push(format!("apt-get install {packages}"));
        } else {
            let mut check = Command::new(env!("CARGO"));
            check.args(["check", "--locked", "--target", target, "--package", "pelago-cli"]);
            // With musl there are static executables only, and no shared libraries.
            if target.ends_with("gnu") {
                check.args(["--package", "pelago-acp", "--package", "pelago-shmem"]);
            }
            let checked = check.env("CARGO_TARGET_DIR", root().join("target/other-targets")).status();
            if !checked.is_ok_and(|status| status.success()) {
                eprintln!("the code does not compile for {target}");
                return Verdict::Failed;
            }
        }
    }
    if missing.is_empty() { Verdict::Passed } else { Verdict::Skipped(format!("it needs {}", missing.join("; "))) }
}

/// Checks for undefined behaviour with Miri, an interpreter.
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

/// Checks for data races with the runtime library of the toolchain. Its unstable options are enabled as in the build of the compiler.
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

/// Runs the tests until one fails. The verdict names the tests that are not finished at the time limit.
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

/// Returns the host target of rustc.
fn host() -> Option<String> {
    said_by(Command::new("rustc").arg("-vV"))?.lines().find_map(|line| line.strip_prefix("host: ").map(str::to_owned))
}

pub(crate) fn said_by(command: &mut Command) -> Option<String> {
    let output = command.output().ok().filter(|output| output.status.success())?;
    String::from_utf8(output.stdout).ok().map(|text| text.trim().to_owned())
}

/// Returns the root folder of the repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("xtask lies two folders deep").into()
}
