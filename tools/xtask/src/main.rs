//! What continuous integration runs: `cargo xtask ci`, from the quickest check to the longest.
#![forbid(unsafe_code)]

use std::process::{Command, ExitCode};

/// One check: its name, the arguments of cargo, and what is added to the environment.
struct Check {
    name: &'static str,
    arguments: &'static [&'static str],
    environment: &'static [(&'static str, &'static str)],
}

/// The tests, which count instructions too, come last, so that the output ends with their summary.
const CHECKS: &[Check] = &[
    Check { name: "format", arguments: &["fmt", "--all", "--check"], environment: &[] },
    Check {
        name: "lints",
        arguments: &["clippy", "--workspace", "--all-targets", "--all-features", "--", "--deny", "warnings"],
        environment: &[],
    },
    Check {
        name: "documentation",
        arguments: &["doc", "--workspace", "--no-deps", "--all-features"],
        environment: &[("RUSTDOCFLAGS", "--deny warnings")],
    },
    Check {
        name: "model checking",
        arguments: &["test", "--package", "pelago-sync", "--release", "--test", "loom"],
        environment: &[("RUSTFLAGS", "--cfg loom"), ("CARGO_TARGET_DIR", "target/loom")],
    },
    Check { name: "tests", arguments: &["test", "--workspace", "--all-features"], environment: &[] },
];

fn main() -> ExitCode {
    let chosen = std::env::args().nth(1).unwrap_or_default();
    let checks: Vec<&Check> = CHECKS.iter().filter(|check| chosen == "ci" || chosen == check.name).collect();
    if checks.is_empty() {
        eprintln!("cargo xtask ci runs everything; cargo xtask NAME one of:");
        CHECKS.iter().for_each(|check| eprintln!("    {:?}: cargo {}", check.name, check.arguments.join(" ")));
        return ExitCode::from(2);
    }
    if checks.into_iter().all(passes) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn passes(check: &Check) -> bool {
    eprintln!("== {}: cargo {}", check.name, check.arguments.join(" "));
    let status = Command::new(env!("CARGO")).args(check.arguments).envs(check.environment.iter().copied()).status();
    let passed = status.is_ok_and(|status| status.success());
    if !passed {
        eprintln!("== {} FAILED", check.name);
    }
    passed
}
