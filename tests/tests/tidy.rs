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
    let transports = ["pelago-shm", "pelago-udp", "pelago-ofi"];
    for (name, Crate { dependencies, .. }) in &crates {
        let allowed = ["pelago", "pelago-launch", "pelago-tests", "pelago-test-support"].contains(&name.as_str());
        let named = dependencies.iter().any(|dependency| transports.contains(&dependency.as_str()));
        assert!(allowed || !named, "{name} names a transport: only pelago's wiring, the launcher and tests may");
    }
}

/// The dependencies of a program that runs only on real machines, and uses only the operations of the library.
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
    let states = format!("{} external crates", others.len());
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
        for name in ["pelago_shm", "pelago_udp", "pelago_ofi", "pelago_launch"] {
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

/// Limits the number of methods that an implementation of a platform trait for another network, machine or launcher must provide, and a wrapper must
/// forward.
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

/// The installed command is one binary. It contains no code that measures other libraries, except the program that `pelago bench --compare` compiles
/// where the other library is installed (`tools/bench/peers`).
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

/// The example transport of the tutorial is short, and uses only exports of `pelago`.
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
    // Each external crate as name, version, source and checksum.
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

/// A cipher that the shared libraries exclude falls back to code without cipher instructions: correct, but forty times slower.
#[test]
fn shared_libraries_have_the_ciphers_that_datagrams_use() {
    let sealing = std::fs::read_to_string(root().join("protocol/src/wire/seal.rs")).unwrap();
    let used: Vec<&str> = sealing.lines().filter_map(|line| line.strip_prefix("use aegis::")?.split("::").next()).collect();
    assert!(used.len() >= 2, "{used:?}");
    for interface in ["acp", "shmem"] {
        let build = std::fs::read_to_string(root().join("bindings").join(interface).join("build.rs")).unwrap();
        let left_out = build.split_once("const UNUSED_CIPHERS").and_then(|(_, rest)| rest.split_once(';')).expect("a list").1;
        let left_out = left_out.split_once(';').expect("its end").0;
        for cipher in &used {
            assert!(!left_out.contains(&format!("\"{cipher}\"")), "bindings/{interface}/build.rs leaves out {cipher}");
        }
    }
}

/// A page lists every bound of every crate: the constants of the `limits.rs` files, each with its doc comment as the reason.
#[test]
fn the_page_of_limits_is_true() {
    let mut page = String::from(
        "# Limits\n\n\
         Every queue, table and loop has a bound. This page lists the constants, each with its reason: first the `limits.rs` files, then the\n\
         bounds that stand beside the code that keeps them. Relations between constants are asserted where the constants are declared.\n\n\
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
    page += "\n## Beside the code\n\n| limit | value | unit | reason | file |\n|---|---|---|---|---|\n";
    let is_library = |path: &str| {
        LIBRARY.iter().any(|folder| path.starts_with(folder)) && path.contains("/src/") && !path.ends_with("/tests.rs")
    };
    for (path, text) in sources().into_iter().filter(|(path, _)| is_library(path) && !path.ends_with("/limits.rs")) {
        for Limit { name, value, unit, reason } in limits_of(&path, &bounds_of(&text)) {
            page += &format!("| `{name}` | `{value}` | {unit} | {} | `{path}` |\n", reason.replace('|', "\\|"));
        }
    }
    let document = root().join("docs/limits.md");
    if std::env::var_os("PELAGO_RENEW_DOCUMENTS").is_some() {
        std::fs::write(&document, &page).unwrap();
    }
    assert!(
        std::fs::read_to_string(&document).unwrap_or_default() == page,
        "docs/limits.md is out of date: renew it by PELAGO_RENEW_DOCUMENTS=1 cargo test -p pelago-tests --test tidy limits"
    );
}

/// Folders whose code runs in the processes of a job.
const LIBRARY: [&str; 9] =
    ["foundation/", "platform/", "protocol/", "transport/", "simulation/", "runtime/", "library/", "pelago/", "bindings/"];

/// The declarations of constants named `…_MAX` outside of tests, with their doc comments.
fn bounds_of(text: &str) -> String {
    let code = text.split("#[cfg(test)]").next().unwrap_or_default();
    let (mut bounds, mut comment) = (String::new(), String::new());
    for line in code.lines().map(str::trim) {
        if line.starts_with("///") {
            comment += &format!("{line}\n");
            continue;
        }
        let declared = line.split_once("const ").filter(|(start, _)| start.is_empty() || start.starts_with("pub"));
        match declared
            .filter(|(_, rest)| line.ends_with(';') && rest.split(':').next().is_some_and(|name| name.ends_with("_MAX")))
        {
            Some((_, rest)) => bounds += &format!("{comment}pub const {rest}\n"),
            None => bounds += "\n",
        }
        comment.clear();
    }
    bounds
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

/// Returns the value, and the unit that the constant's type or name implies.
fn value_and_unit(name: &str, kind: &str, value: &str) -> (String, &'static str) {
    for (made_by, unit) in [("milliseconds", "ms"), ("microseconds", "µs"), ("nanoseconds", "ns")] {
        if let Some(number) = value.strip_prefix(&format!("Duration::from_{made_by}(")).and_then(|rest| rest.strip_suffix(')')) {
            return (number.to_owned(), unit);
        }
    }
    assert!(kind != "Duration", "tests/tests/tidy.rs: add the unit of {name}, which is {value}");
    let number = value.strip_prefix("Pause::from_millis(").and_then(|rest| rest.strip_suffix(')'));
    if let Some(number) = number {
        return (number.to_owned(), "ms");
    }
    // The first that fits: names of rates contain words of their parts.
    let units = [
        ("BYTES_PER_SECOND", "bytes/s"),
        ("NANOSECONDS_PER_BYTE", "ns/byte"),
        ("BYTES", "bytes"),
        ("SIZE", "bytes"),
        ("BITS", "bits"),
        ("SECONDS", "s"),
        ("MILLISECONDS", "ms"),
        ("MICROSECONDS", "µs"),
        ("NANOSECONDS", "ns"),
        ("NS", "ns"),
    ];
    let unit = units.iter().find(|(words, _)| format!("_{name}_").contains(&format!("_{words}_")));
    (value.to_owned(), unit.map_or("–", |&(_, unit)| unit))
}

/// Code that reads a clock cannot run in virtual time: below the launcher, time is an argument.
#[test]
fn nothing_below_the_launcher_reads_a_clock() {
    let exceptions = BTreeMap::from([
        ("simulation/simulator/src/costs/computing.rs", "measures how long programs compute, which takes real time"),
        ("transport/udp/src/wait_set.rs", "converts a pause for a timer of the kernel, and reads no clock"),
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

/// A file that two crates include would be compiled twice and would belong to neither.
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
    let page = read("docs/book/src/unsafe.md");
    let listed: BTreeSet<String> = page.split('`').filter(|word| word.ends_with(".rs")).map(str::to_owned).collect();
    assert_eq!(listed, islands, "docs/book/src/unsafe.md lists the files that allow unsafe code");
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

/// A module can be read, tested and replaced without the modules that import it. The test checks the modules at the top level of `src` of every crate
/// with a `lib.rs` or `main.rs`; [`imports`] states which imports count.
#[test]
fn modules_import_each_other_in_one_direction() {
    let sources = sources();
    let roots = sources.keys().filter_map(|path| path.strip_suffix("/src/lib.rs").or(path.strip_suffix("/src/main.rs")));
    let roots: BTreeSet<_> = roots.collect();
    assert!(roots.len() > 25, "the crates were found: {roots:?}");
    for root in roots {
        let prefix = format!("{root}/src/");
        let files = sources.iter().filter_map(|(path, text)| Some((path.strip_prefix(&prefix)?, text.as_str())));
        if let Some(cycle) = imports::cycle(&files.collect()) {
            panic!(
                "{root}: modules import each other in a cycle: {cycle}; move what both need into a module that imports neither"
            );
        }
    }
}

#[test]
fn a_cycle_of_imports_is_named() {
    let cycle = |files: &[(&'static str, &'static str)]| imports::cycle(&files.iter().copied().collect());
    let root = ("lib.rs", "mod a;\nmod b;\nmod c;\npub use crate::c::Item;\n");
    let one_way = [root, ("a.rs", "use crate::b::{B, deep::D};\n"), ("b/mod.rs", "use crate::c;\n"), ("c.rs", "")];
    assert_eq!(cycle(&one_way), None);
    let by_use = [
        root,
        ("a.rs", "use crate::{b::B, Unknown};\n"),
        ("b/mod.rs", ""),
        ("b/x.rs", "use super::super::c::C;\n"),
        ("c.rs", "use crate::a;"),
    ];
    assert_eq!(cycle(&by_use).as_deref(), Some("a (a.rs) -> b (b/x.rs) -> c (c.rs) -> a"));
    let by_path = [root, ("a.rs", "fn f() { crate::c::f() }\n"), ("b.rs", ""), ("c.rs", "use crate::a::A;\n")];
    assert_eq!(cycle(&by_path).as_deref(), Some("a (a.rs) -> c (c.rs) -> a"));
    let by_exported_name = [root, ("a.rs", "use crate::Item;\n"), ("b.rs", ""), ("c.rs", "use crate::a::A;\n")];
    assert_eq!(cycle(&by_exported_name).as_deref(), Some("a (a.rs) -> c (c.rs) -> a"));
    let in_tests_and_comments = [
        root,
        ("a.rs", "use crate::c::C;\n"),
        ("c.rs", "// use crate::a;\n#[cfg(test)]\nmod tests {\n    use crate::a::A;\n}\n"),
    ];
    assert_eq!(cycle(&in_tests_and_comments), None);
}

/// The imports among the modules at the top level of a crate, from the text of their files: `use` declarations, and paths that begin with
/// `crate::`. Names that `lib.rs` exports count as those of their modules; comments and tests do not count.
mod imports {
    use std::collections::{BTreeMap, BTreeSet};

    /// For each module, the modules that it imports, each with the importing file.
    type Graph<'t> = BTreeMap<&'t str, BTreeMap<&'t str, &'t str>>;

    /// Returns a cycle, with the files that import the next module; `None` if there is no cycle. Files are named by their paths in `src`.
    pub(super) fn cycle<'t>(files: &BTreeMap<&'t str, &'t str>) -> Option<String> {
        let modules: BTreeSet<&'t str> = files.keys().filter_map(|&path| module(path)).collect();
        let root = files.get("lib.rs").or(files.get("main.rs")).map_or(String::new(), |text| code(text));
        let exported: BTreeMap<String, &'t str> = paths(&root)
            .into_iter()
            .filter_map(|path| {
                let names: Vec<&str> = path.iter().map(String::as_str).filter(|name| !["crate", "self"].contains(name)).collect();
                Some((names.last()?.to_string(), *modules.get::<str>(names.first()?)?))
            })
            .collect();
        let mut graph = Graph::new();
        for (&path, &text) in files {
            let Some(owner) = module(path) else { continue };
            let depth = path.trim_end_matches("/mod.rs").split('/').count();
            for path_of_item in paths(&code(text)) {
                let ups = path_of_item.iter().take_while(|name| *name == "super").count();
                let first = match path_of_item.first().map(String::as_str) {
                    Some("crate") => path_of_item.get(1),
                    _ if ups == depth => path_of_item.get(ups),
                    _ => None,
                };
                let Some(first) = first else { continue };
                let target = modules.get(first.as_str()).or_else(|| exported.get(first.as_str()));
                if let Some(&target) = target.filter(|target| **target != owner) {
                    graph.entry(owner).or_default().entry(target).or_insert(path);
                }
            }
        }
        let mut done = BTreeSet::new();
        modules.iter().find_map(|module| search(&graph, module, &mut Vec::new(), &mut done))
    }

    /// Returns the top-level module that a file belongs to, unless the file is the root or a test.
    fn module(path: &str) -> Option<&str> {
        let module = path.split('/').next()?.trim_end_matches(".rs");
        let is_test = path.split('/').any(|part| part.trim_end_matches(".rs") == "tests");
        (!is_test && !["lib", "main", "bin"].contains(&module)).then_some(module)
    }

    /// Returns the text without comments and test modules.
    fn code(text: &str) -> String {
        let lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        let code = lines.collect::<Vec<_>>().join("\n");
        let tests = code.match_indices("#[cfg(").find(|(at, _)| {
            let mut lines = code[*at..].lines();
            lines.next().is_some_and(|line| line.contains("test"))
                && lines.next().is_some_and(|line| line.starts_with("mod ") && line.ends_with('{'))
        });
        tests.map_or(code.clone(), |(at, _)| code[..at].to_owned())
    }

    /// Returns the paths of all imports, as lists of names.
    fn paths(code: &str) -> Vec<Vec<String>> {
        let mut paths = Vec::new();
        for (at, _) in code.match_indices("use ") {
            let is_word = code[..at].chars().next_back().is_none_or(|before| before.is_whitespace());
            if let Some((tree, _)) = code[at + 4..].split_once(';').filter(|_| is_word) {
                expand(tree, &[], &mut paths);
            }
        }
        for (at, _) in code.match_indices("crate::") {
            let name: String = code[at + 7..].chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            paths.push(vec!["crate".into(), name]);
        }
        paths
    }

    /// Adds the paths of a tree such as `a::{b, c::d}`.
    fn expand(tree: &str, prefix: &[String], paths: &mut Vec<Vec<String>>) {
        let (head, branches) = tree.split_once('{').map_or((tree, None), |(head, rest)| (head, rest.rsplit_once('}')));
        let head = head.split(" as ").next().unwrap_or_default();
        let names = head.split("::").map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned);
        let path: Vec<String> = prefix.iter().cloned().chain(names).collect();
        let Some((branches, _)) = branches else { return paths.push(path) };
        let mut depth = 0;
        let at_top = |c: char| {
            depth += i32::from(c == '{') - i32::from(c == '}');
            c == ',' && depth == 0
        };
        branches.split(at_top).filter(|branch| !branch.trim().is_empty()).for_each(|branch| expand(branch, &path, paths));
    }

    /// Returns a cycle that is reachable from a module, if there is one.
    fn search<'t>(graph: &Graph<'t>, module: &'t str, way: &mut Vec<&'t str>, done: &mut BTreeSet<&'t str>) -> Option<String> {
        if let Some(start) = way.iter().position(|known| *known == module) {
            let steps = way[start..].iter().zip(way[start + 1..].iter().chain([&module]));
            let named: Vec<String> = steps.map(|(from, to)| format!("{from} ({})", graph[from][to])).collect();
            return Some(format!("{} -> {module}", named.join(" -> ")));
        }
        if done.contains(module) {
            return None;
        }
        way.push(module);
        let found = graph.get(module).into_iter().flat_map(BTreeMap::keys).find_map(|next| search(graph, next, way, done));
        way.pop();
        done.insert(module);
        found
    }
}

/// Returns the words of an identifier: `ToRead`, `to_read` and `TO_READ` have the same two words.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let is_constant = !name.contains(char::is_lowercase);
    for letter in name.chars() {
        if letter == '_' || letter.is_uppercase() && !is_constant {
            words.push(String::new());
        }
        if letter != '_' {
            words.last_mut().unwrap().extend(letter.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Returns the public names of a source file: items, fields and methods, with their lines. Tests at its end are ignored.
fn public_names(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let kinds = ["fn", "struct", "enum", "trait", "type", "const", "static", "mod", "unsafe", "async"];
    let code = text.split("\n#[cfg(test)]\nmod tests {").next().unwrap();
    code.lines().enumerate().filter_map(move |(line, text)| {
        let declared = text.trim_start().strip_prefix("pub ")?;
        let mut words = declared.split(|letter: char| !letter.is_alphanumeric() && letter != '_').filter(|word| !word.is_empty());
        let name = words.find(|word| !kinds.contains(word))?;
        (!declared.starts_with("use ")).then_some((line + 1, name))
    })
}

#[test]
fn public_names_use_the_glossary() {
    let glossary = read("docs/book/src/glossary.md");
    let rows = glossary.lines().filter_map(|line| line.strip_prefix("|")?.strip_suffix("|"));
    let replaced: Vec<(String, Vec<String>)> = rows
        .filter_map(|row| {
            let columns: Vec<_> = row.split('|').map(str::trim).collect();
            (columns.len() == 4 && !columns[3].is_empty() && columns[3] != "instead of")
                .then(|| (columns[0], columns[3].replace('`', "")))
        })
        .flat_map(|(term, old)| old.split(", ").map(|old| (term.to_owned(), old.to_owned())).collect::<Vec<_>>())
        .map(|(term, old)| (term, old.split([' ', '_']).map(str::to_owned).collect()))
        .collect();
    assert!(replaced.len() > 25, "the glossary was read: {replaced:?}");
    let mut wrong = Vec::new();
    for (path, text) in sources().into_iter().filter(|(path, _)| path.contains("/src/") && !path.starts_with("tests/")) {
        for (line, name) in public_names(&text) {
            let words = words(name);
            let is_said = |old: &[String]| words.windows(old.len()).any(|some| some == old);
            let old = replaced.iter().filter(|(_, old)| is_said(old));
            wrong.extend(old.map(|(term, old)| format!("{path}:{line}: {name}: say {term:?} instead of {:?}", old.join(" "))));
        }
    }
    assert!(wrong.is_empty(), "docs/book/src/glossary.md gives the words for public names:\n{}", wrong.join("\n"));
}

#[test]
fn words_of_names_are_told_apart() {
    assert_eq!(words("is_parted"), ["is", "parted"]);
    assert_eq!(words("PartedPut"), ["parted", "put"]);
    assert_eq!(words("PARTED_BYTES_MIN"), ["parted", "bytes", "min"]);
    let names: Vec<_> =
        public_names("pub fn lay_down(\n    pub near: u32,\n    fn far(\npub use far::Far;\npub const unsafe fn bring(")
            .collect();
    assert_eq!(names, [(1, "lay_down"), (2, "near"), (5, "bring")]);
}
