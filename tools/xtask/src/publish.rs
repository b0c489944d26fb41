//! `cargo xtask publish --dry-run`: packages all published crates in the order of their dependencies, and builds each from its package.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::Deserialize;

use crate::checkers;

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    version: String,
    /// Registries to which the package may be published: all by default, none if the list is empty.
    publish: Option<Vec<String>>,
    dependencies: Vec<Dependency>,
    manifest_path: PathBuf,
    targets: Vec<Target>,
}

#[derive(Deserialize)]
struct Target {
    crate_types: Vec<String>,
}

impl Package {
    fn is_published(&self) -> bool {
        self.publish.as_ref().is_none_or(|registries| !registries.is_empty())
    }
}

#[derive(Deserialize)]
struct Dependency {
    name: String,
    /// `*` for a path without a version: cargo leaves such a development dependency out of a package.
    req: String,
    kind: Option<String>,
}

/// Returns the names and manifests of published crates that other Rust crates can use.
pub(crate) fn published_libraries() -> Result<Vec<(String, PathBuf)>, String> {
    let is_library = |package: &Package| {
        let mut types = package.targets.iter().flat_map(|target| &target.crate_types);
        types.any(|name| name == "lib" || name == "rlib")
    };
    let packages = metadata()?.packages.into_iter().filter(|package| package.is_published() && is_library(package));
    Ok(packages.map(|package| (package.name, package.manifest_path)).collect())
}

/// Packages all crates; arguments after `--dry-run` go to `cargo publish`, such as `--no-verify` or `--allow-dirty`.
pub(crate) fn run(mut arguments: impl Iterator<Item = String>) -> ExitCode {
    if arguments.next().as_deref() != Some("--dry-run") {
        eprintln!("cargo xtask publish --dry-run [OPTIONS OF cargo publish]; CONTRIBUTING.md describes a release");
        return ExitCode::from(2);
    }
    match metadata().and_then(|metadata| dry_run(&order(&metadata.packages)?, arguments)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

fn dry_run(published: &[&str], arguments: impl Iterator<Item = String>) -> Result<(), String> {
    eprintln!("crates in the order of publication:");
    published.iter().for_each(|crate_name| eprintln!("    {crate_name}"));
    let runs = checkers::root().join("target/publish");
    let _ = std::fs::remove_dir_all(&runs);
    let mut command = Command::new(env!("CARGO"));
    command.args(["publish", "--dry-run", "--target-dir"]).arg(fresh_folder(&runs)?);
    command.args(published.iter().flat_map(|name| ["--package", name])).args(arguments);
    match command.status() {
        Ok(status) if status.success() => {
            eprintln!("{} crates can be published", published.len());
            Ok(())
        }
        Ok(status) => Err(format!("cargo publish --dry-run: {status}")),
        Err(error) => Err(error.to_string()),
    }
}

/// Returns a folder that no dry run has used. Cargo identifies the unpacked and compiled package by this folder and the crate's name and
/// version: in the folder of an earlier run it would build on the earlier sources of the same version.
fn fresh_folder(runs: &Path) -> Result<PathBuf, String> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_err(|error| error.to_string())?;
    Ok(runs.join(now.as_nanos().to_string()))
}

fn metadata() -> Result<Metadata, String> {
    let mut command = Command::new(env!("CARGO"));
    let output = command.args(["metadata", "--format-version", "1", "--no-deps"]).output().map_err(|error| error.to_string())?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    serde_json::from_slice(&output.stdout).map_err(|error| error.to_string())
}

/// Returns the published crates, each after its dependencies, otherwise by name.
fn order(packages: &[Package]) -> Result<Vec<&str>, String> {
    let all: BTreeMap<&str, &Package> = packages.iter().map(|package| (&*package.name, package)).collect();
    let mut left: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for package in packages.iter().filter(|package| package.is_published()) {
        let mut needs = BTreeSet::new();
        for dependency in &package.dependencies {
            let Some(needed) = all.get(&*dependency.name) else { continue };
            let is_left_out = dependency.kind.as_deref() == Some("dev") && dependency.req == "*";
            if is_left_out {
                continue;
            }
            if !needed.is_published() {
                return Err(format!("{} depends on {}, which is not published", package.name, needed.name));
            }
            if dependency.req == "*" {
                return Err(format!("Cargo.toml: {} needs version = \"{}\" beside its path", needed.name, needed.version));
            }
            needs.insert(&*needed.name);
        }
        left.insert(&package.name, needs);
    }
    let mut order: Vec<&str> = Vec::new();
    while !left.is_empty() {
        let ready = left.iter().find(|(_, needs)| needs.iter().all(|name| order.contains(name))).map(|(name, _)| *name);
        let Some(ready) = ready else { return Err(format!("crates depend on each other in a cycle: {:?}", left.keys())) };
        left.remove(ready);
        order.push(ready);
    }
    Ok(order)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, publish: Option<Vec<String>>, needs: &[(&str, &str, Option<&str>)]) -> Package {
        let dependency = |&(name, req, kind): &(&str, &str, Option<&str>)| Dependency {
            name: name.into(),
            req: req.into(),
            kind: kind.map(String::from),
        };
        let dependencies = needs.iter().map(dependency).collect();
        Package {
            name: name.into(),
            version: "0.1.0".into(),
            publish,
            dependencies,
            manifest_path: PathBuf::new(),
            targets: vec![],
        }
    }

    #[test]
    fn dependencies_come_first() {
        let packages = [
            package("a", None, &[("c", "^0.1", None), ("other", "1", None)]),
            package("b", None, &[("a", "^0.1", Some("dev")), ("tests", "*", Some("dev"))]),
            package("c", None, &[]),
            package("tests", Some(vec![]), &[("a", "*", None)]),
        ];
        assert_eq!(order(&packages), Ok(vec!["c", "a", "b"]));
    }

    #[test]
    fn obstacles_are_named() {
        let on = |kind, req| package("a", None, &[("b", req, kind)]);
        let hidden = || package("b", Some(vec![]), &[]);
        assert!(order(&[on(None, "^0.1"), hidden()]).unwrap_err().contains("not published"));
        assert!(order(&[on(None, "*"), package("b", None, &[])]).unwrap_err().contains("version = \"0.1.0\""));
        let back = package("b", None, &[("a", "^0.1", Some("dev"))]);
        assert!(order(&[on(None, "^0.1"), back]).unwrap_err().contains("cycle"));
    }

    #[test]
    fn each_dry_run_has_a_folder_of_its_own() {
        let runs = Path::new("runs");
        assert_ne!(fresh_folder(runs), fresh_folder(runs));
    }

    /// All published crates of this workspace.
    #[test]
    fn every_published_crate_has_a_place() {
        let metadata = metadata().unwrap();
        let order = order(&metadata.packages).unwrap();
        let at = |name| order.iter().position(|other| *other == name).unwrap_or_else(|| panic!("{name}: {order:?}"));
        assert!(at("pelago-base") < at("pelago-rma") && at("pelago-rma") < at("pelago") && at("pelago") < at("pelago-cli"));
        // A new crate is either published, or listed here with a reason.
        let unpublished = [
            "pelago-book",            // tests
            "pelago-fuzz",            // tests
            "pelago-python",          // goes to the registry of Python
            "pelago-shmem-interface", // generates committed files
            "pelago-sweep",           // tests
            "pelago-test-support",    // tests
            "pelago-tests",           // tests
            "xtask",                  // the steps of continuous integration
        ];
        for package in &metadata.packages {
            let name = &*package.name;
            assert_eq!(
                order.contains(&name),
                !unpublished.contains(&name),
                "{name}: publish it, or add it to the list with the reason"
            );
        }
        assert_eq!(order.len() + unpublished.len(), metadata.packages.len());
    }

    /// The check reports every dependency of a published crate that is not published itself.
    #[test]
    fn no_crate_of_this_workspace_can_be_left_out() {
        let needed: BTreeSet<String> = {
            let metadata = metadata().unwrap();
            let published = metadata.packages.iter().filter(|package| package.is_published());
            let dependencies = published.flat_map(|package| &package.dependencies).filter(|dependency| dependency.kind.is_none());
            let names: BTreeSet<&str> = metadata.packages.iter().map(|package| &*package.name).collect();
            dependencies
                .filter(|dependency| names.contains(&*dependency.name))
                .map(|dependency| dependency.name.clone())
                .collect()
        };
        assert!(needed.len() > 20, "the dependencies were found: {needed:?}");
        for name in needed {
            let mut packages = metadata().unwrap().packages;
            packages.iter_mut().filter(|package| package.name == name).for_each(|package| package.publish = Some(vec![]));
            let why = order(&packages).unwrap_err();
            assert!(why.contains(&format!("depends on {name}, which is not published")), "{name}: {why}");
        }
    }
}
