//! `cargo xtask release`: builds the packages of a release in `target/packages`, all from the same files.
//!
//! | file | content |
//! |---|---|
//! | `pelago-VERSION-x86_64-linux-gnu.tar.gz` | the command, the C interfaces, manual pages, completions |
//! | `pelago-VERSION-x86_64-linux-musl.tar.gz` | the command as a static executable, manual pages, completions |
//! | `pelago_VERSION-1_amd64.deb` | the same as the first; made by cargo-deb |
//! | `stage/musl` | the files that `packaging/Containerfile` copies into an image |
//! | `SHA256SUMS` | checksums of the files above |

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::checkers::{root, said_by};

const STATIC_TARGET: &str = "x86_64-unknown-linux-musl";

/// Builds all packages, or reports a missing tool.
pub(crate) fn run(mut arguments: impl Iterator<Item = String>) -> ExitCode {
    if let Some(unknown) = arguments.next() {
        eprintln!("cargo xtask release takes no {unknown}; CONTRIBUTING.md describes a release");
        return ExitCode::from(2);
    }
    match all() {
        Ok(packages) => {
            packages.iter().for_each(|package| println!("{}", package.display()));
            ExitCode::SUCCESS
        }
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

fn all() -> Result<Vec<PathBuf>, String> {
    let (version, target) = (env!("CARGO_PKG_VERSION"), root().join("target"));
    let (packages, stage) = (target.join("packages"), target.join("packages/stage"));
    if said_by(Command::new("cargo").args(["deb", "--version"])).is_none() {
        return Err("cargo-deb is missing: cargo install --locked cargo-deb".into());
    }
    if packages.exists() {
        fs::remove_dir_all(&packages).map_err(|error| format!("{}: {error}", packages.display()))?;
    }
    fs::create_dir_all(&stage).map_err(|error| format!("{}: {error}", stage.display()))?;
    let build = ["build", "--release", "--locked", "--package", "pelago-cli"];
    let interfaces = ["--package", "pelago-acp", "--package", "pelago-shmem"];
    call(Command::new(env!("CARGO")).args(build).args(interfaces).env("CARGO_TARGET_DIR", &target))?;
    let built = call(Command::new(env!("CARGO")).args(build).args(["--target", STATIC_TARGET]).env("CARGO_TARGET_DIR", &target));
    built.map_err(|why| format!("{why}\nmissing, perhaps: rustup target add {STATIC_TARGET}; apt-get install musl-tools"))?;

    let command = target.join("release/pelago");
    let (gnu, musl) = (stage.join("gnu"), stage.join("musl"));
    for interface in ["acp", "shmem"] {
        call(
            Command::new("sh").arg(root().join("bindings").join(interface).join("install")).args([&gnu, &target.join("release")]),
        )?;
    }
    let folder = musl.join("bin");
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    call(Command::new("cp").arg(target.join(STATIC_TARGET).join("release/pelago")).arg(&folder))?;
    for tree in [&gnu, &musl] {
        call(Command::new("strip").arg(tree.join("bin/pelago")))?;
        describe(&command, tree)?;
    }
    let mut made = Vec::new();
    for (tree, system) in [(&gnu, "gnu"), (&musl, "musl")] {
        let name = format!("pelago-{version}-x86_64-linux-{system}");
        let archive = packages.join(format!("{name}.tar.gz"));
        call(&mut tarball(tree, &name, &archive))?;
        made.push(archive);
    }
    let package = packages.join(format!("pelago_{version}-1_amd64.deb"));
    let mut deb = Command::new(env!("CARGO"));
    deb.args(["deb", "--no-build", "--package", "pelago-cli", "--output"]).arg(&package).env("CARGO_TARGET_DIR", &target);
    call(deb.current_dir(root()))?;
    made.push(package);
    let names: Vec<&OsStr> = made.iter().filter_map(|path| path.file_name()).collect();
    let sums = said_by(Command::new("sha256sum").args(names).current_dir(&packages)).ok_or("sha256sum fails")?;
    let sums_file = packages.join("SHA256SUMS");
    fs::write(&sums_file, sums + "\n").map_err(|error| format!("{}: {error}", sums_file.display()))?;
    made.push(sums_file);
    Ok(made)
}

/// Adds manual pages and completions, which the command generates, and documents to `tree`.
fn describe(command: &Path, tree: &Path) -> Result<(), String> {
    call(Command::new(command).arg("man").arg(tree.join("share/man/man1")))?;
    let completions = [
        ("bash", "share/bash-completion/completions/pelago"),
        ("zsh", "share/zsh/site-functions/_pelago"),
        ("fish", "share/fish/vendor_completions.d/pelago.fish"),
    ];
    let write = |path: &str, text: String| {
        let path = tree.join(path);
        let folder = path.parent().expect("files lie in folders");
        let written = fs::create_dir_all(folder).and_then(|()| fs::write(&path, text));
        written.map_err(|error| format!("{}: {error}", path.display()))
    };
    for (shell, path) in completions {
        let text = said_by(Command::new(command).args(["completions", shell]));
        write(path, text.ok_or(format!("pelago completions {shell} fails"))? + "\n")?;
    }
    for name in ["README.md", "CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT"] {
        let text = fs::read_to_string(root().join(name)).map_err(|error| format!("{name}: {error}"))?;
        write(&format!("share/doc/pelago/{name}"), text)?;
    }
    Ok(())
}

/// Returns the command for a reproducible archive: entries are sorted, without a user, and have the time of the last commit; everybody may read them,
/// whatever the mask of the user who builds them.
fn tarball(tree: &Path, name: &str, archive: &Path) -> Command {
    let committed = said_by(Command::new("git").args(["log", "-1", "--format=%ct"]).current_dir(root()));
    let mut tar = Command::new("tar");
    tar.args(["--create", "--gzip", "--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--mode=u=rwX,go=rX"]);
    tar.arg(format!("--mtime=@{}", committed.as_deref().unwrap_or("0"))).arg(format!("--transform=s,^[.],{name},"));
    tar.arg("--file").arg(archive).arg("--directory").arg(tree).arg(".");
    tar
}

/// Runs a command to its end.
fn call(command: &mut Command) -> Result<(), String> {
    let name = command.get_program().to_string_lossy().into_owned();
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{name}: {status}")),
        Err(error) => Err(format!("{name}: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// Two archives of equal trees made at different times, and with different masks, are equal.
    #[test]
    fn archives_are_reproducible() {
        let folder = root().join("target/release-archives");
        let _of_an_earlier_run = fs::remove_dir_all(&folder);
        let archives = ["one", "other"].map(|tree| {
            fs::create_dir_all(folder.join(tree).join("bin")).unwrap();
            fs::write(folder.join(tree).join("bin/pelago"), "text").unwrap();
            let mode = if tree == "one" { 0o644 } else { 0o600 };
            fs::set_permissions(folder.join(tree).join("bin/pelago"), fs::Permissions::from_mode(mode)).unwrap();
            let archive = folder.join(format!("{tree}.tar.gz"));
            call(&mut tarball(&folder.join(tree), "pelago-1", &archive)).unwrap();
            archive
        });
        let listed = said_by(Command::new("tar").arg("--list").arg("--file").arg(&archives[0])).unwrap();
        assert!(listed.lines().any(|line| line == "pelago-1/bin/pelago"), "{listed}");
        let [one, other] = archives.map(|archive| fs::read(archive).unwrap());
        assert!(one == other);
    }
}
