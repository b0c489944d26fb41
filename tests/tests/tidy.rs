//! The rules of this repository; each message says what to do.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the tests lie in the workspace").into()
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Every Rust file of the repository, by its path from the root, with its text.
fn sources() -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut folders = vec![root()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() && name != "target" && !name.starts_with('.') {
                folders.push(path);
            } else if name.ends_with(".rs") {
                let key = path.strip_prefix(root()).unwrap().to_string_lossy().into_owned();
                found.insert(key, std::fs::read_to_string(&path).unwrap());
            }
        }
    }
    assert!(found.len() > 50, "the sources were found");
    found
}

struct Crate {
    layer: u64,
    dependencies: Vec<String>,
}

fn crates() -> BTreeMap<String, Crate> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(root())
        .output()
        .unwrap();
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    packages
        .iter()
        .map(|package| {
            let layer = package["metadata"]["layer"].as_u64();
            let dependencies = package["dependencies"].as_array().unwrap().iter();
            let normal = dependencies.filter(|dependency| dependency["kind"].is_null());
            let name = text(&package["name"]);
            let layer = layer.unwrap_or_else(|| panic!("{name}: its manifest needs [package.metadata] layer = N"));
            (name, Crate { layer, dependencies: normal.map(|dependency| text(&dependency["name"])).collect() })
        })
        .collect()
}

#[test]
fn dependencies_point_downward() {
    let crates = crates();
    for (name, Crate { layer, dependencies }) in &crates {
        for dependency in dependencies {
            if let Some(below) = crates.get(dependency) {
                assert!(
                    below.layer < *layer,
                    "{name} (layer {layer}) uses {dependency} (layer {}): only lower layers",
                    below.layer
                );
            }
        }
    }
    let transports = ["pelago-shm", "pelago-udp"];
    for (name, Crate { dependencies, .. }) in &crates {
        let allowed = ["pelago", "pelago-launch", "pelago-tests"].contains(&name.as_str());
        let named = dependencies.iter().any(|dependency| transports.contains(&dependency.as_str()));
        assert!(allowed || !named, "{name} names a transport: only pelago's wiring and the launcher may");
    }
}

/// What a program needs that runs on real machines alone, and asks for no part of the library beside operations.
#[test]
fn a_small_build_has_few_dependencies() {
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--offline", "--package", "pelago", "--no-default-features", "--features", "launch,udp"])
        .args(["--edges", "normal", "--prefix", "none", "--format", "{p}"])
        .current_dir(root())
        .output()
        .unwrap();
    let tree = String::from_utf8(output.stdout).unwrap();
    let names = tree.lines().filter(|line| !line.is_empty()).map(|line| line.trim_end_matches(" (*)"));
    let (own, others): (BTreeSet<&str>, BTreeSet<&str>) = names.partition(|name| name.starts_with("pelago"));
    assert!(!own.iter().any(|name| name.contains("simulator") || name.contains("collectives")), "{own:?}");
    let states = format!("{} crates of others", others.len());
    assert!(read("README.md").contains(&states), "README.md says how many there are: {states}: {others:#?}");
    assert!(!others.is_empty() && others.len() <= 24, "{others:#?}");
}

#[test]
fn the_table_of_crates_is_true() {
    let architecture = read("ARCHITECTURE.md");
    let rows: BTreeMap<String, u64> = architecture
        .lines()
        .filter_map(|line| {
            let mut cells = line.strip_prefix("| `")?.split('|');
            let name = cells.next()?.trim().trim_end_matches('`').to_owned();
            Some((name, cells.next()?.trim().parse().ok()?))
        })
        .collect();
    let crates: BTreeMap<String, u64> = crates().into_iter().map(|(name, Crate { layer, .. })| (name, layer)).collect();
    assert_eq!(rows, crates, "ARCHITECTURE.md lists every crate with the layer of its manifest");
}

#[test]
fn only_the_wiring_names_concrete_parts() {
    for (path, text) in sources() {
        let concrete = path.starts_with("pelago/src/") && !path.starts_with("pelago/src/wiring/");
        for name in ["pelago_shm", "pelago_udp", "pelago_launch"] {
            assert!(!concrete || !text.contains(name), "{path} names {name}: only the wiring may");
        }
    }
}

#[test]
fn every_file_says_what_it_is_for() {
    for (path, text) in sources() {
        assert!(text.starts_with("//! "), "{path}: begin it with a sentence on what it is for (//! …)");
    }
}

#[test]
fn nothing_is_left_open() {
    let marks = [
        concat!("TO", "DO"),
        concat!("FIX", "ME"),
        concat!("todo", "!("),
        concat!("unimplemented", "!("),
        concat!("#[ig", "nore"),
    ];
    for (path, text) in sources() {
        for mark in marks {
            assert!(!text.contains(mark), "{path} has {mark}: finish it or write it down as an issue");
        }
        assert!(!text.contains(concat!("```ig", "nore")), "{path} has an example that is not compiled");
    }
}

/// Whoever implements the boundary for another network, machine or launcher has this much to write, and a wrapper this much to pass on.
#[test]
fn traits_of_the_boundary_are_small() {
    let mut traits = 0;
    for (path, text) in sources().into_iter().filter(|(path, _)| path.starts_with("platform/src/")) {
        for body in text.split("\npub trait ").skip(1) {
            let name = body.split([' ', ':']).next().unwrap_or_default();
            let body = body.split("\n}\n").next().unwrap_or_default();
            let methods = body.lines().filter(|line| line.starts_with("    fn ")).count();
            assert!((1..=8).contains(&methods), "{path}: {name} has {methods} methods: split it by subject");
            traits += 1;
        }
    }
    assert!(traits >= 8, "the traits were found");
}

/// Whoever installs the command gets one binary, and nothing by which other libraries are measured.
#[test]
fn the_command_holds_nothing_of_its_peers() {
    let manifest = read("tools/cli/Cargo.toml");
    let binaries = manifest.matches("[[bin]]").count() + usize::from(root().join("tools/cli/src/bin").exists());
    assert_eq!(binaries, 1, "tools/cli/Cargo.toml: put what users do not need into another package");
    let peers: Vec<_> = std::fs::read_dir(root().join("tools/peers")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(peers.len() > 5, "they are there: {peers:?}");
    let names: Vec<_> = peers.iter().map(|name| name.to_str().unwrap()).collect();
    for (path, text) in sources().into_iter().filter(|(path, _)| !path.starts_with("tests/")) {
        let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        let named = code.flat_map(|line| names.iter().filter(move |name| line.contains(&format!("peers/{name}"))));
        assert_eq!(named.collect::<Vec<_>>(), Vec::<&&str>::new(), "{path}: only comments lead to tools/peers");
    }
}

/// What the tutorial shows to authors of transports is theirs to write: short, and made of what `pelago` exports.
#[test]
fn the_example_transport_is_small_and_by_others() {
    let folder = "examples/transports/tcp";
    let transport = read(&format!("{folder}/src/transport.rs"));
    let lines = transport.lines().count();
    assert!(
        transport.contains("impl Transport for") && lines <= 400,
        "{lines} lines: a transport takes 400 at most, all of them counted"
    );
    let manifest = read(&format!("{folder}/Cargo.toml"));
    let members = read("Cargo.toml").split("members = [").nth(1).and_then(|rest| rest.split("\n]").next()).unwrap().to_owned();
    assert!(manifest.contains("\n[workspace]\n") && !members.contains("examples/transports"), "it is a workspace of its own");
    let own = manifest.lines().filter_map(|line| line.split_once(" = { path = ")).map(|(name, _)| name);
    assert_eq!(
        own.collect::<Vec<_>>(),
        ["pelago", "pelago-examples", "pelago-kit"],
        "what an author may use, for himeno and for tests besides"
    );
    // Each crate of others as name, version, source and checksum.
    let [known, used] = ["Cargo.lock", &format!("{folder}/Cargo.lock")].map(|path| {
        let lock = read(path);
        let packages = lock.split("[[package]]\n").skip(1).filter(|package| package.contains("\nsource = "));
        packages.map(|package| package.lines().take(4).collect::<Vec<_>>().join(", ")).collect::<BTreeSet<_>>()
    });
    let unknown: Vec<_> = used.difference(&known).collect();
    assert!(
        unknown.is_empty(),
        "{folder}/Cargo.lock: copy the versions of Cargo.lock, so that nothing is built twice: {unknown:?}"
    );
}

/// A page lists every bound of every crate: what the `limits.rs` files say, with the doc comment of each constant as its reason.
#[test]
fn the_page_of_limits_is_true() {
    let mut page = String::from(
        "# Limits\n\n\
         Every queue, table and loop has a bound. These are the constants of all crates, with the reason for each; relations between them are\n\
         asserted where they are declared.\n\n\
         A test writes this page: `PELAGO_RENEW_DOCUMENTS=1 cargo test -p pelago-tests --test tidy limits`.\n",
    );
    let mut names = BTreeSet::new();
    for (path, text) in sources().into_iter().filter(|(path, _)| path.ends_with("/limits.rs")) {
        let limits = limits_of(&path, &text);
        if limits.is_empty() {
            continue;
        }
        page += &format!("\n## `{path}`\n\n| limit | value | unit | reason |\n|---|---|---|---|\n");
        for Limit { name, value, unit, reason } in limits {
            page += &format!("| `{name}` | `{value}` | {unit} | {} |\n", reason.replace('|', "\\|"));
            assert!(names.insert(name.clone()), "{path}: {name} is a limit of another crate too: one of them is enough");
        }
    }
    assert!(names.len() > 60, "the limits were found");
    let document = root().join("docs/limits.md");
    if std::env::var_os("PELAGO_RENEW_DOCUMENTS").is_some() {
        std::fs::write(&document, &page).unwrap();
    }
    assert!(
        std::fs::read_to_string(&document).unwrap_or_default() == page,
        "docs/limits.md is out of date: renew it by PELAGO_RENEW_DOCUMENTS=1 cargo test -p pelago-tests --test tidy limits"
    );
}

struct Limit {
    name: String,
    value: String,
    unit: &'static str,
    reason: String,
}

/// The named constants of a file.
fn limits_of(path: &str, text: &str) -> Vec<Limit> {
    let mut limits: Vec<Limit> = Vec::new();
    let (mut reason, mut follows) = (String::new(), false);
    for line in text.lines().map(str::trim) {
        let declared = ["pub const ", "pub(crate) const ", "pub(super) const "].iter().find_map(|start| line.strip_prefix(start));
        if let Some(more) = line.strip_prefix("///") {
            (reason, follows) = (reason + more, false);
        } else if let Some((name, rest)) = declared.and_then(|declared| declared.split_once(": ")) {
            let declaration = rest.strip_suffix(';').and_then(|rest| rest.split_once(" = "));
            let (kind, value) = declaration.unwrap_or_else(|| panic!("{path}: {name} takes one line"));
            // Constants that follow each other may share a comment.
            let shared = limits.last().filter(|_| follows).map(|limit| limit.reason.clone());
            let reason = shared.unwrap_or_else(|| std::mem::take(&mut reason).trim().to_owned());
            assert!(!reason.is_empty(), "{path}: {name} needs its reason in a doc comment");
            let (value, unit) = value_and_unit(name, kind, value);
            limits.push(Limit { name: name.to_owned(), value, unit, reason });
            follows = true;
        } else {
            (reason, follows) = (String::new(), false);
        }
    }
    limits
}

/// A value, and the unit that the constant's type or name tells.
fn value_and_unit(name: &str, kind: &str, value: &str) -> (String, &'static str) {
    for (made_by, unit) in [("milliseconds", "ms"), ("microseconds", "µs"), ("nanoseconds", "ns")] {
        if let Some(number) = value.strip_prefix(&format!("Duration::from_{made_by}(")).and_then(|rest| rest.strip_suffix(')')) {
            return (number.to_owned(), unit);
        }
    }
    assert!(kind != "Duration", "tests/tests/tidy.rs: add the unit of {name}, which is {value}");
    let units = [("BYTES", "bytes"), ("SIZE", "bytes"), ("BITS", "bits"), ("SECONDS", "s")];
    let unit = units.iter().find(|(word, _)| name.split('_').any(|part| part == *word));
    (value.to_owned(), unit.map_or("–", |&(_, unit)| unit))
}

/// What reads a clock by itself cannot run in virtual time: below the launcher, time is an argument.
#[test]
fn nothing_below_the_launcher_reads_a_clock() {
    let exceptions = BTreeMap::from([
        ("simulation/simulator/src/computing.rs", "measures how long programs compute, which takes real time"),
        ("simulation/simulator/src/rank.rs", "reads the clock first of all for that measurement"),
        ("transport/udp/src/driver.rs", "reads the clock in send_given"),
        ("transport/udp/src/ear.rs", "converts a pause for a timer of the kernel, and reads no clock"),
    ]);
    let folders = ["foundation/", "platform/", "protocol/", "transport/", "simulation/", "runtime/rma/", "library/"];
    let mut found = BTreeSet::new();
    for (path, text) in sources() {
        let is_below =
            folders.iter().any(|folder| path.starts_with(folder)) && path.contains("/src/") && !path.ends_with("/tests.rs");
        let code = text.split("\n#[cfg(test)]\nmod").next().unwrap_or_default();
        let mut lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
        if is_below && lines.any(|line| ["std::time", "SystemTime", "clock_gettime"].iter().any(|name| line.contains(name))) {
            found.insert(path);
        }
    }
    for path in &found {
        assert!(
            exceptions.contains_key(path.as_str()),
            "{path} names std::time: take the time as an argument or from a Clock; only what is about real time is an exception, with its reason"
        );
    }
    for (path, reason) in exceptions {
        assert!(found.contains(path), "{path} ({reason}) is no exception any more: take it off the list");
    }
}

/// A file that two programs include is compiled twice, and belongs to neither.
#[test]
fn no_crate_includes_the_files_of_another() {
    let outside = concat!("#[pa", "th = \"..");
    for (path, text) in sources() {
        assert!(
            !text.contains(outside),
            "{path} includes a file from outside its folder: put what tests share into tests/support"
        );
    }
}

#[test]
fn islands_of_unsafe_code_are_listed() {
    let allow = concat!("#![allow(unsafe", "_code)]");
    let islands: BTreeSet<String> =
        sources().into_iter().filter(|(_, text)| text.lines().any(|line| line == allow)).map(|(path, _)| path).collect();
    let architecture = read("ARCHITECTURE.md");
    let section = architecture.split("## Where unsafe code is allowed").nth(1).expect("the section is there");
    let listed: BTreeSet<String> = section.split('`').filter(|word| word.ends_with(".rs")).map(str::to_owned).collect();
    assert_eq!(listed, islands, "ARCHITECTURE.md lists the files that allow unsafe code");
}

#[test]
fn every_dependency_has_its_reason() {
    let manifest = read("Cargo.toml");
    let section = manifest.split("[workspace.dependencies]").nth(1).and_then(|rest| rest.split("\n[").next()).unwrap();
    for line in section.lines().filter(|line| line.contains('=') && !line.starts_with("pelago")) {
        assert!(line.contains("# "), "Cargo.toml: give the reason on the line: {line}");
    }
}

#[test]
fn the_readme_shows_the_program_that_is_compiled() {
    let readme = read("README.md");
    let shown = readme.split("```rust\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let compiled: String = read("pelago/src/lib.rs")
        .split("//! ```\n")
        .nth(1)
        .unwrap()
        .lines()
        .map(|line| line.strip_prefix("//! ").unwrap_or("").to_owned() + "\n")
        .collect();
    assert_eq!(shown, compiled, "the README's program is the one that pelago/src/lib.rs compiles");
}
