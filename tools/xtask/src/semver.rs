//! `cargo xtask semver [REVISION]`: compares the public interface of every published crate with an earlier revision, using cargo-semver-checks.
//!
//! The default revision is the last release tag (`v…`). Before the first release there is no tag, and no compatibility to keep.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::checkers::{root, said_by};
use crate::publish;

/// Compares the interfaces, or reports a missing tool or revision.
pub(crate) fn run(mut arguments: impl Iterator<Item = String>) -> ExitCode {
    let last_release = || said_by(git().args(["describe", "--tags", "--match", "v*", "--abbrev=0"]));
    let Some(revision) = arguments.next().or_else(last_release) else {
        eprintln!("no tag v… yet, so no interface to compare with: cargo xtask semver REVISION compares with another revision");
        return ExitCode::SUCCESS;
    };
    match compare(&revision, &arguments.collect::<Vec<_>>()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

/// Compares the crates named in `only`, or all if it is empty.
fn compare(revision: &str, only: &[String]) -> Result<(), String> {
    if said_by(Command::new("cargo").args(["semver-checks", "--version"])).is_none() {
        return Err("cargo-semver-checks is missing: cargo install --locked cargo-semver-checks".into());
    }
    let crates = publish::published_libraries()?;
    let (old, new): (Vec<_>, Vec<_>) = crates.iter().partition(|(_, manifest)| is_in(revision, manifest));
    new.iter().for_each(|(name, _)| eprintln!("{name}: not in {revision}"));
    let chosen: Vec<&str> =
        old.iter().map(|(name, _)| &**name).filter(|name| only.is_empty() || only.iter().any(|only| only == name)).collect();
    if chosen.is_empty() {
        return Err(format!("{revision} has none of {} crates", crates.len()));
    }
    let mut command = Command::new(env!("CARGO"));
    command.args(["semver-checks", "--baseline-rev", revision]).args(chosen.iter().flat_map(|name| ["--package", name]));
    match command.current_dir(root()).status() {
        Ok(status) if status.success() => {
            eprintln!("{} crates keep their interface since {revision}, or have a version that says otherwise", chosen.len());
            Ok(())
        }
        Ok(status) => Err(format!("cargo semver-checks: {status}")),
        Err(error) => Err(error.to_string()),
    }
}

/// Returns whether a revision contains a file.
fn is_in(revision: &str, file: &Path) -> bool {
    let Ok(file) = file.strip_prefix(root()) else { return false };
    let mut object = PathBuf::from(format!("{revision}:")).into_os_string();
    object.push(file);
    git().args(["cat-file", "-e"]).arg(object).output().is_ok_and(|output| output.status.success())
}

fn git() -> Command {
    let mut git = Command::new("git");
    git.current_dir(root());
    git
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_a_revision_are_found() {
        if said_by(git().args(["rev-parse", "HEAD"])).is_none() {
            return eprintln!("not tested: no repository");
        }
        assert!(is_in("HEAD", &root().join("Cargo.toml")));
        assert!(!is_in("HEAD", &root().join("no-such-file")));
        assert!(!is_in("no-such-revision", &root().join("Cargo.toml")));
    }
}
