//! Commands of continuous integration: `cargo xtask ci` runs all checks, from the quickest to the longest; `cargo xtask sweep`,
//! `cargo xtask mutants` and `cargo xtask kills` take longer; `cargo xtask publish --dry-run` packages the published crates;
//! `cargo xtask semver` compares their interfaces with those of an earlier revision; and `cargo xtask release` builds tarballs and a Debian
//! package.
#![forbid(unsafe_code)]

mod checkers;
mod mutants;
mod publish;
mod release;
mod semver;

use std::ffi::OsString;
use std::io::{self, BufRead, BufReader};
use std::process::{Child, Command, ExitCode, Stdio};

/// One check.
struct Check {
    name: &'static str,
    how: How,
    /// Folder below `target` that only this check uses; `ci` removes it after the check, so that a small disk suffices.
    leaves: Option<&'static str>,
}

enum How {
    /// Arguments of cargo, and additional environment variables.
    Cargo(&'static [&'static str], &'static [(&'static str, &'static str)]),
    Own(fn() -> Verdict),
}

/// Result of a check.
enum Verdict {
    Passed,
    Failed,
    /// The check could not be made or completed, for this reason.
    Skipped(String),
}

/// Manifest of the example for authors of transports, which is not a member of the workspace.
const TRANSPORT: &str = "examples/transports/tcp/Cargo.toml";

/// All checks. The tests, which include instruction counts, come last, so that the output ends with their summary.
const CHECKS: &[Check] = &[
    Check { name: "format", how: How::Cargo(&["fmt", "--all", "--check"], &[]), leaves: None },
    Check {
        name: "lints",
        how: How::Cargo(&["clippy", "--workspace", "--all-targets", "--all-features", "--", "--deny", "warnings"], &[]),
        leaves: None,
    },
    Check {
        name: "format of the example transport",
        how: How::Cargo(&["fmt", "--manifest-path", TRANSPORT, "--check"], &[]),
        leaves: None,
    },
    Check {
        name: "lints of the example transport",
        how: How::Cargo(
            &["clippy", "--manifest-path", TRANSPORT, "--locked", "--all-targets", "--", "--deny", "warnings"],
            &[("CARGO_TARGET_DIR", "target")],
        ),
        leaves: None,
    },
    Check { name: "features", how: How::Own(checkers::features), leaves: None },
    Check { name: "minimum version of Rust", how: How::Own(checkers::minimum_version), leaves: Some("minimum") },
    Check { name: "other targets", how: How::Own(checkers::other_targets), leaves: Some("other-targets") },
    Check {
        name: "documentation",
        how: How::Cargo(&["doc", "--workspace", "--no-deps", "--all-features"], &[("RUSTDOCFLAGS", "--deny warnings")]),
        leaves: Some("doc"),
    },
    Check {
        name: "model checking",
        how: How::Cargo(
            &["test", "--package", "pelago-sync", "--package", "pelago-messaging", "--release", "--test", "loom"],
            &[("RUSTFLAGS", "--cfg loom"), ("CARGO_TARGET_DIR", "target/loom")],
        ),
        leaves: Some("loom"),
    },
    Check { name: "miri", how: How::Own(checkers::miri), leaves: Some("miri") },
    Check { name: "thread sanitizer", how: How::Own(checkers::thread_sanitizer), leaves: Some("thread-sanitizer") },
    Check { name: "mutants sample", how: How::Own(mutants::sample), leaves: Some("mutants") },
    Check {
        name: "tests of the example transport",
        how: How::Cargo(&["test", "--manifest-path", TRANSPORT, "--locked"], &[("CARGO_TARGET_DIR", "target")]),
        leaves: None,
    },
    Check {
        name: "suites over libfabric",
        how: How::Cargo(OVER_FABRIC, &[("PELAGO_SUITE_FABRIC", "tcp;ofi_rxm")]),
        leaves: None,
    },
    Check { name: "tests", how: How::Cargo(&["test", "--workspace", "--all-features"], &[]), leaves: None },
];

/// Test suites of the library whose ranks are threads, over libfabric where it is installed: at least one test program of each crate. Tests
/// that count the operations of a specific transport and the longest ones are left out.
const OVER_FABRIC: &[&str] = &[
    "test",
    "--all-features",
    "--package",
    "pelago-collectives",
    "--package",
    "pelago-containers",
    "--package",
    "pelago-dsm",
    "--package",
    "pelago-halo",
    "--package",
    "pelago-messaging",
    "--test",
    "executor",
    "--test",
    "bulk",
    "--test",
    "region",
    "--test",
    "shared",
    "--test",
    "sync_barrier",
    "--test",
    "reflect",
    "--test",
    "mailbox",
    "--test",
    "messages",
    "--test",
    "placement",
    "--",
    "--skip",
    "shadows_of_one_side",
    "--skip",
    "blocks_of_a_border",
    "--skip",
    "trials_end",
];

/// Whole jobs on networks with seeded loss, duplication and delay of datagrams.
const SWEEP: &[&str] = &["run", "--quiet", "--release", "--package", "pelago-sweep", "--"];

/// Tests that kill ranks, node daemons and launchers at random times, over shared memory, UDP and three network namespaces.
const KILLS: &[&str] = &["test", "--package", "pelago-tests", "--test", "launch", "--test", "namespaces", "kills::", "--"];

/// Environment variable with the number of repetitions of each kind of kill: seven kinds, so about two hundred kills.
const KILLS_EACH: (&str, &str) = ("PELAGO_KILLS", "29");

fn main() -> ExitCode {
    let chosen = std::env::args().nth(1).unwrap_or_default();
    if chosen == "sweep" {
        return run(SWEEP, &[], std::env::args_os().skip(2));
    }
    if chosen == "kills" {
        return run(KILLS, &[KILLS_EACH], ["--nocapture".into()].into_iter());
    }
    if chosen == "publish" {
        return publish::run(std::env::args().skip(2));
    }
    if chosen == "semver" {
        return semver::run(std::env::args().skip(2));
    }
    if chosen == "release" {
        return release::run(std::env::args().skip(2));
    }
    if chosen == mutants::UNTIL_FAILURE {
        let passed = mutants::until_failure(std::env::args_os().skip(2)).unwrap_or_else(|error| {
            eprintln!("{error}");
            false
        });
        return if passed { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    if chosen == "mutants" {
        return match mutants::run(std::env::args().skip(2)) {
            Verdict::Passed => ExitCode::SUCCESS,
            Verdict::Failed => ExitCode::FAILURE,
            Verdict::Skipped(why) => {
                eprintln!("{why}");
                ExitCode::from(2)
            }
        };
    }
    let checks: Vec<&Check> = CHECKS.iter().filter(|check| chosen == "ci" || chosen == check.name).collect();
    if checks.is_empty() {
        eprintln!(
            "cargo xtask sweep [--seeds N | --seed S] tests faults; cargo xtask mutants tests the tests; cargo xtask kills kills ranks and \
             launchers two hundred times; cargo xtask publish --dry-run packages all crates; cargo xtask semver [REVISION] compares their interfaces with an earlier one; cargo xtask release builds tarballs and a Debian package; cargo \
             xtask ci runs everything; cargo xtask NAME one of:"
        );
        CHECKS.iter().for_each(|check| eprintln!("    {:?}", check.name));
        return ExitCode::from(2);
    }
    for check in checks {
        if !passes(check) {
            return ExitCode::FAILURE;
        }
        if let Some(folder) = check.leaves.filter(|_| chosen == "ci") {
            // A failed removal only costs disk space.
            let _ = std::fs::remove_dir_all(checkers::root().join("target").join(folder));
        }
    }
    ExitCode::SUCCESS
}

/// Runs a program of the workspace with its own arguments, and returns its exit code.
fn run(cargo: &[&str], environment: &[(&str, &str)], arguments: impl Iterator<Item = OsString>) -> ExitCode {
    match Command::new(env!("CARGO")).args(cargo).args(arguments).envs(environment.iter().copied()).status() {
        Ok(status) => status.code().and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from),
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Environment variable with the number of tests that a test runner runs at a time.
const TEST_THREADS: &str = "RUST_TEST_THREADS";

/// Returns one and a half times the number of cores: many tests of whole jobs wait for timeouts and failure limits.
fn test_threads() -> usize {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    cores + cores.div_ceil(2)
}

fn passes(check: &Check) -> bool {
    let verdict = match check.how {
        How::Cargo(arguments, environment) => {
            eprintln!("== {}: cargo {}", check.name, arguments.join(" "));
            let mut command = Command::new(env!("CARGO"));
            command.args(arguments).envs(environment.iter().copied()).stdout(Stdio::piped());
            if std::env::var_os(TEST_THREADS).is_none() {
                command.env(TEST_THREADS, test_threads().to_string());
            }
            match command.spawn().and_then(watch) {
                Ok(true) => Verdict::Passed,
                Ok(false) => Verdict::Failed,
                Err(error) => {
                    eprintln!("{error}");
                    Verdict::Failed
                }
            }
        }
        How::Own(make) => {
            eprintln!("== {}", check.name);
            make()
        }
    };
    match &verdict {
        Verdict::Passed => {}
        Verdict::Failed => eprintln!("== {} FAILED", check.name),
        Verdict::Skipped(why) => eprintln!("== {} skipped: {why}", check.name),
    }
    !matches!(verdict, Verdict::Failed)
}

/// Forwards the output and adds a last line with the totals of all test runners; returns whether the command succeeded.
fn watch(mut child: Child) -> io::Result<bool> {
    let (mut passed, mut failed) = (0, 0);
    for line in BufReader::new(child.stdout.take().expect("piped")).lines() {
        let line = line?;
        if let Some(result) = line.strip_prefix("test result: ") {
            passed += count(result, " passed");
            failed += count(result, " failed");
        }
        println!("{line}");
    }
    if passed + failed > 0 {
        println!("{passed} passed, {failed} failed");
    }
    child.wait().map(|status| status.success())
}

/// Returns the number before `what`.
fn count(result: &str, what: &str) -> u64 {
    let before = result.split(what).next().and_then(|before| before.split_whitespace().last());
    before.and_then(|number| number.parse().ok()).unwrap_or(0)
}
