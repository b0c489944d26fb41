//! Requirements of a release: metadata of every published crate, and licences of dependencies that `deny.toml` allows.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the tests lie in the workspace")
}

fn metadata(arguments: &[&str]) -> Vec<Value> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--offline"])
        .args(arguments)
        .current_dir(root())
        .output()
        .unwrap();
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo metadata");
    metadata["packages"].as_array().unwrap().clone()
}

#[test]
fn published_crates_describe_themselves() {
    let packages = metadata(&["--no-deps"]);
    let published: Vec<_> = packages.iter().filter(|package| package["publish"].is_null()).collect();
    assert!(published.len() >= 20, "the published crates were found");
    for package in published {
        let name = package["name"].as_str().unwrap();
        for field in ["description", "license", "readme", "rust_version"] {
            assert!(package[field].as_str().is_some_and(|text| !text.is_empty()), "{name}: its manifest needs {field}");
        }
        for field in ["keywords", "categories"] {
            let words = package[field].as_array().unwrap();
            assert!((1..=5).contains(&words.len()), "{name}: its manifest needs 1 to 5 {field}");
        }
    }
}

/// The texts of the licences are parts of every package, as the licences demand.
#[test]
fn published_crates_contain_their_licences() {
    let is_published = |package: &&Value| package["publish"].is_null() || package["name"] == "pelago-python";
    for package in metadata(&["--no-deps"]).iter().filter(is_published) {
        let folder = Path::new(package["manifest_path"].as_str().unwrap()).parent().unwrap();
        for name in ["LICENSE-APACHE", "LICENSE-MIT"] {
            let same = std::fs::read(folder.join(name)).is_ok_and(|text| text == std::fs::read(root().join(name)).unwrap());
            assert!(same, "{}: ln -s {}", folder.display(), root().join(name).display());
        }
    }
}

/// Whether an SPDX expression of alternatives and conjunctions can be satisfied by these licences.
fn is_allowed(expression: &str, allowed: &BTreeSet<String>) -> bool {
    expression.replace('/', " OR ").split(" AND ").all(|part| {
        let alternatives = part.trim().trim_start_matches('(').trim_end_matches(')');
        alternatives.split(" OR ").any(|licence| allowed.contains(licence.trim()))
    })
}

#[test]
fn licences_of_dependencies_are_allowed() {
    let deny: toml::Table = std::fs::read_to_string(root().join("deny.toml")).unwrap().parse().unwrap();
    let allowed = deny["licenses"]["allow"].as_array().unwrap().iter();
    let allowed: BTreeSet<String> = allowed.map(|licence| licence.as_str().unwrap().to_owned()).collect();
    let packages = metadata(&["--all-features"]);
    let external: Vec<_> = packages.iter().filter(|package| !package["source"].is_null()).collect();
    assert!(external.len() > 50, "the dependencies were found");
    for package in external {
        let expression = package["license"].as_str().unwrap_or("none");
        assert!(is_allowed(expression, &allowed), "{}: {expression} is not among {allowed:?} of deny.toml", package["name"]);
    }
}

#[test]
fn expressions_of_licences_are_read() {
    let allowed = BTreeSet::from(["MIT".to_owned(), "Unicode-3.0".to_owned()]);
    for (expression, expected) in [
        ("MIT", true),
        ("GPL-3.0 OR MIT", true),
        ("MIT/Apache-2.0", true),
        ("(MIT OR Apache-2.0) AND Unicode-3.0", true),
        ("(Apache-2.0 OR GPL-3.0) AND Unicode-3.0", false),
        ("MIT AND GPL-3.0", false),
        ("none", false),
    ] {
        assert_eq!(is_allowed(expression, &allowed), expected, "{expression}");
    }
}

/// The documents that a public project needs, each with the content that readers expect.
#[test]
fn documents_of_a_release_are_there() {
    let version = std::fs::read_to_string(root().join("Cargo.toml")).unwrap().parse::<toml::Table>().unwrap()["workspace"]["package"]
        ["version"]
        .as_str()
        .unwrap()
        .to_owned();
    for (file, text) in [
        ("CHANGELOG.md", &*format!("## {version}")),
        ("CONTRIBUTING.md", "cargo xtask publish --dry-run"),
        ("SECURITY.md", "## How to report"),
        ("CODE_OF_CONDUCT.md", "Report violations"),
        ("README.md", "cargo run --release -- run -n 4 himeno S --iterations 103"),
        ("README.md", "cargo xtask ci"),
    ] {
        let content = std::fs::read_to_string(root().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
        assert!(content.contains(text), "{file} lacks {text:?}");
    }
    let rust = metadata(&["--no-deps"])[0]["rust_version"].as_str().unwrap().to_owned();
    let readme = std::fs::read_to_string(root().join("README.md")).unwrap();
    assert!(readme.contains(&format!("| Rust | {rust} or later |")), "README.md states the minimum Rust version, {rust}");
}

/// Debian refuses a package with a file that another package has. Those of Open MPI have the commands of OpenSHMEM and their manual pages.
#[test]
fn the_debian_package_has_no_file_of_open_mpi() {
    let manifest: toml::Table = std::fs::read_to_string(root().join("tools/cli/Cargo.toml")).unwrap().parse().unwrap();
    let assets = manifest["package"]["metadata"]["deb"]["assets"].as_array().unwrap();
    let text = |asset: &toml::Value, at: usize| asset[at].as_str().unwrap().to_owned();
    for (from, to, names) in [
        ("stage/gnu/bin/", "usr/bin/", ["oshcc", "oshc++", "oshcxx", "oshrun"]),
        ("stage/gnu/share/man/man1/", "usr/share/man/man1/", ["oshcc.1", "oshc++.1", "oshcxx.1", "oshrun.1"]),
    ] {
        for name in names {
            let takes = |pattern: &str| pattern.strip_suffix('*').map_or(pattern == name, |start| name.starts_with(start));
            let of_name = |asset: &&toml::Value| text(asset, 0).split_once(from).is_some_and(|(_, pattern)| takes(pattern));
            let places: Vec<String> = assets.iter().filter(of_name).map(|asset| text(asset, 1)).collect();
            assert!(places.len() == 1 && places[0] != to, "{name}: {places:?}");
        }
    }
}

/// A replacement for Spack, which reads the recipe, runs its `install`, and prints its declarations and calls.
const SPACK: &str = r#"
import sys, types

package = types.ModuleType("spack.package")
def declares(name):
    return lambda *words, **more: print(name, *words, *(f"{key}={value}" for key, value in more.items()))
for name in ["license", "version", "variant", "depends_on"]:
    setattr(package, name, declares(name))
package.which = lambda name, required=False: declares(f"call {name}")
package.Executable = lambda path: declares(f"call {path}")
class Prefix(str):
    def __getattr__(self, name):
        return Prefix(f"{self}/{name}")
class Package:
    pass
package.Package = Package
sys.modules["spack"], sys.modules["spack.package"] = types.ModuleType("spack"), package
package.__all__ = ["license", "version", "variant", "depends_on", "which", "Executable", "Package"]
names = {}
exec(compile(open(sys.argv[1]).read(), sys.argv[1], "exec"), names)
assert names["Pelago"].__doc__ and names["Pelago"].homepage
names["Pelago"]().install(None, Prefix("/prefix"))
"#;

/// Spack is not in the registries of Rust, Python and Debian, so a replacement reads the recipe. The recipe is valid Python, and names existing crates, files
/// and versions.
#[test]
fn the_recipe_of_spack_names_what_is_there() {
    let recipe = root().join("packaging/spack/packages/pelago/package.py");
    let Ok(output) = Command::new("python3").args(["-c", SPACK]).arg(recipe).output() else {
        return eprintln!("not tested: python3 is not installed");
    };
    let (said, error) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{error}");
    let packages = metadata(&["--no-deps"]);
    let rust = packages[0]["rust_version"].as_str().unwrap();
    assert!(said.contains(&format!("depends_on rust@{rust}: type=build")), "the minimum Rust version is {rust}: {said}");
    let built: Vec<_> = said.split_whitespace().filter_map(|word| word.strip_prefix("--package=")).collect();
    assert!(built.contains(&"pelago-cli") && built.contains(&"pelago-shmem") && built.contains(&"pelago-acp"), "{said}");
    for name in built {
        assert!(packages.iter().any(|package| package["name"] == name), "no crate {name}");
    }
    let scripts: Vec<_> = said.lines().filter_map(|line| line.strip_prefix("call sh ")?.split(' ').next()).collect();
    assert!(scripts.len() == 2 && scripts.iter().all(|script| root().join(script).is_file()), "{said}");
    assert!(said.contains("call /prefix/bin/pelago man /prefix/share/man/man1"), "{said}");
}
