//! Mutation testing: `cargo xtask mutants` runs cargo-mutants and compares the mutations that no test detects with those listed in
//! `tests/mutants`, each with the reason why it is equivalent or harmless.
//!
//! The mutations are made in a copy of the working tree at a fixed path (`target/mutants/tree`), so that a later run builds only the mutants.
//! The copy has a target folder of its own: in a common one, cargo would store a crate of the copy in the same place as that of the working
//! tree and distinguish them by file times alone. A mutation is identified by its file, by its description by cargo-mutants, and by an index
//! among equal descriptions, but not by its line, which changes with every edit.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::Verdict;
use crate::checkers::root;

/// Code to mutate, and the tests that should detect the mutations.
struct Subject {
    /// Name of the list of survivors: `tests/mutants/NAME.toml`.
    name: &'static str,
    package: &'static str,
    /// Globs, each of which matches a file. cargo-mutants skips modules for tests only.
    files: &'static [&'static str],
    /// Integration tests that run in addition to the unit tests, or `*` for all; only a few, so that a mutant costs seconds.
    tests: &'static [&'static str],
}

const SUBJECTS: &[Subject] = &[
    Subject { name: "protocol", package: "pelago-protocol", files: &["protocol/src/**/*.rs"], tests: &["mesh"] },
    Subject { name: "sync", package: "pelago-sync", files: &["foundation/sync/src/*.rs"], tests: &[] },
    Subject { name: "memory", package: "pelago-memory", files: &["foundation/memory/src/*.rs"], tests: &[] },
    Subject { name: "rma", package: "pelago-rma", files: &["runtime/rma/src/**/*.rs"], tests: &["*"] },
    Subject { name: "messaging", package: "pelago-messaging", files: &["library/messaging/src/**/*.rs"], tests: &["*"] },
    Subject {
        name: "dsm",
        package: "pelago-dsm",
        files: &["library/dsm/src/lock/queue.rs", "library/dsm/src/lock/encoding.rs"],
        tests: &["exploration"],
    },
    // The exploration has keywords of its own.
    Subject {
        name: "dsm-remote",
        package: "pelago-dsm",
        files: &["library/dsm/src/lock/remote.rs"],
        tests: &["messages", "polling", "overtaking", "deaths", "shared"],
    },
    Subject {
        name: "collectives",
        package: "pelago-collectives",
        files: &["library/collectives/src/executor.rs"],
        // The tests in virtual time come first: they detect a mutant that waits forever at once.
        tests: &["counts", "deaths", "executor", "overtaking"],
    },
];

/// Files whose mutations continuous integration tries: small files on which all other code depends.
const SAMPLE: &[&str] = &["foundation/sync/src/gate.rs", "foundation/sync/src/ring.rs", "foundation/sync/src/watch.rs"];

/// The argument by which cargo runs test programs through [`until_failure`].
pub(crate) const UNTIL_FAILURE: &str = "until-failure";

/// Number of parallel tests: more than the number of tests that may hang, so that failing tests get to run.
const TEST_THREADS: &str = "--test-threads=12";

/// Long tests are in modules called `long`; mutants run only the others.
const NOT_RUN: &str = "--skip=long::";

/// Minimum time limit of tests in seconds; the limit is five times the time without the mutation.
const TEST_SECONDS_MIN: &str = "10";

// Outcomes of a mutant in the output of cargo-mutants.
const CAUGHT: &str = "CaughtMutant";
const MISSED: &str = "MissedMutant";
const TIMEOUT: &str = "Timeout";
const UNVIABLE: &str = "Unviable";

/// Mutations that are not tried.
const NOT_TRIED: &[&str] = &[
    // Texts of errors and debug output are for people to read.
    r"<impl (fmt::)?(Debug|Display) for ",
    // Test code is not tested.
    r" in tests::|replace tests::",
    // cargo-mutants guesses dozens of constructors that these types do not have.
    r"(CellSlice|Fetch|GlobalPtr|Pair|Range)::(new|from|from_iter)\(",
];

const USAGE: &str = "cargo xtask mutants [--sample | --crate NAME… | --file PATH…] [--since COMMIT] [--resume | --stale]: --sample tries what \
                     continuous integration does; --since tries only mutations of lines that differ from COMMIT; --resume leaves out what a \
                     run before has seen detected; --stale tries nothing, and compares the lists with the mutations that exist";

/// A mutation that no test detects.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Survivor {
    file: String,
    mutation: String,
    /// Index among the mutations of the file with the same description, from 1.
    #[serde(default = "first")]
    which: usize,
    /// Reason why the mutation is equivalent or harmless.
    reason: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Survivors {
    #[serde(default)]
    survivor: Vec<Survivor>,
}

/// A mutation, independent of its line.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Mutation {
    file: String,
    text: String,
    which: usize,
}

/// Options of a run.
#[derive(Default)]
struct Choice {
    crates: BTreeSet<String>,
    files: BTreeSet<String>,
    /// Commit: only lines that differ from it are mutated.
    since: Option<String>,
    resume: bool,
    /// Whether to compare the lists only, without trying mutations.
    stale: bool,
}

/// Number of mutants of a file by outcome.
#[derive(Default)]
struct Count {
    mutants: usize,
    caught: usize,
    missed: usize,
    timeout: usize,
    unviable: usize,
}

/// Tries the mutations for continuous integration.
pub(crate) fn sample() -> Verdict {
    run(["--sample".to_owned()].into_iter())
}

/// Tries the mutations selected by the arguments.
pub(crate) fn run(arguments: impl Iterator<Item = String>) -> Verdict {
    let installed =
        Command::new(env!("CARGO")).args(["mutants", "--version"]).output().is_ok_and(|output| output.status.success());
    if !installed {
        return Verdict::Skipped("cargo-mutants is missing: cargo install cargo-mutants --locked".into());
    }
    let is_clone = Command::new("git").current_dir(root()).args(["rev-parse", "--git-dir"]).output();
    if !is_clone.is_ok_and(|output| output.status.success()) {
        return Verdict::Skipped(
            "mutations are made in a copy of what git sees: git is missing, or this folder is no clone".into(),
        );
    }
    let choice = match choice(arguments) {
        Ok(choice) => choice,
        Err(usage) => return Verdict::Skipped(usage),
    };
    match problems(&choice) {
        Ok(problems) if problems.is_empty() => Verdict::Passed,
        Ok(problems) => {
            problems.iter().for_each(|problem| eprintln!("{problem}"));
            Verdict::Failed
        }
        Err(error) => {
            eprintln!("{error}");
            Verdict::Failed
        }
    }
}

/// Reports survivors that are not listed, listed mutations that no longer survive, and names of files and tests that do not exist.
///
/// # Errors
/// The run failed.
fn problems(choice: &Choice) -> Result<Vec<String>, String> {
    let root = root();
    let is_chosen = |subject: &&Subject| choice.crates.is_empty() || choice.crates.contains(subject.name);
    let subjects: Vec<&Subject> = SUBJECTS.iter().filter(is_chosen).collect();
    let tests = test_targets(&root)?;
    let mut misnamed = Vec::new();
    for subject in &subjects {
        misnamed.extend(subject.misnamed(&root, &tests)?);
    }
    if !misnamed.is_empty() {
        return Ok(misnamed);
    }
    if choice.stale {
        let mut problems = Vec::new();
        for subject in &subjects {
            let mutations = subject.mutations(&root, None)?;
            let listed = listed(&root.join(subject.list()))?;
            println!("{}: {} mutants, {} survivors listed", subject.name, mutations.len(), listed.len());
            problems.extend(gone(&subject.list(), &listed, &mutations));
        }
        return Ok(problems);
    }
    let place = root.join("target/mutants");
    fs::create_dir_all(&place).map_err(said(&place))?;
    let lock = File::create(place.join("lock")).map_err(said(&place))?;
    match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {}
        Err(Errno::WOULDBLOCK) => return Err("another run of cargo xtask mutants is at work in this folder".into()),
        Err(error) => return Err(said(&place)(error.into())),
    }
    let tree = place.join("tree");
    copy(&root, &tree)?;
    let changes = choice.since.as_ref().map(|commit| changes(&root, commit, &place.join("changes.diff"))).transpose()?;
    let (mut problems, mut without) = (Vec::new(), choice.files.clone());
    for subject in subjects {
        let (tried, found) = subject.examine(&root, &tree, &place.join(subject.name), choice, changes.as_deref())?;
        without.retain(|file| !tried.contains(file));
        problems.extend(found);
    }
    problems.extend(without.into_iter().map(|file| format!("{file}: has no mutation in any crate that is examined")));
    Ok(problems)
}

/// Runs a test program until one of its tests fails; returns whether all passed. The test runner itself would wait for the remaining tests,
/// which may hang.
///
/// # Errors
/// The program cannot be run.
pub(crate) fn until_failure(mut command: impl Iterator<Item = OsString>) -> io::Result<bool> {
    let program = command.next().ok_or(io::ErrorKind::InvalidInput)?;
    let mut child = Command::new(program).args(command).args([TEST_THREADS, NOT_RUN]).stdout(Stdio::piped()).spawn()?;
    for line in BufReader::new(child.stdout.take().expect("piped")).lines() {
        let line = line?;
        println!("{line}");
        if line.starts_with("test ") && line.ends_with("FAILED") {
            child.kill()?;
        }
    }
    Ok(child.wait()?.success())
}

fn choice(mut arguments: impl Iterator<Item = String>) -> Result<Choice, String> {
    let mut choice = Choice::default();
    while let Some(argument) = arguments.next() {
        match (argument.as_str(), &mut arguments) {
            ("--sample", _) => choice.files.extend(SAMPLE.iter().map(|&file| file.to_owned())),
            ("--resume", _) => choice.resume = true,
            ("--stale", _) => choice.stale = true,
            ("--since", more) => choice.since = Some(more.next().ok_or(USAGE)?),
            ("--crate", more) => match more.next() {
                Some(name) if SUBJECTS.iter().any(|known| known.name == name) => choice.crates.extend([name]),
                _ => return Err(format!("--crate is one of {:?}", SUBJECTS.iter().map(|known| known.name).collect::<Vec<_>>())),
            },
            ("--file", more) => choice.files.extend([more.next().ok_or(USAGE)?]),
            _ => return Err(USAGE.into()),
        }
    }
    Ok(choice)
}

impl Subject {
    /// Returns the path of the list of survivors.
    fn list(&self) -> String {
        format!("tests/mutants/{}.toml", self.name)
    }

    /// Reports globs that match no file, and tests that do not exist: with either, mutants would be left out or survive.
    fn misnamed(&self, tree: &Path, targets: &BTreeMap<String, BTreeSet<String>>) -> Result<Vec<String>, String> {
        let mut problems = Vec::new();
        for &glob in self.files {
            let output = self.command(tree, [glob].into_iter()).arg("--list-files").output().map_err(said(tree))?;
            if !output.status.success() {
                return Err(format!("{}: {}", self.name, String::from_utf8_lossy(&output.stderr)));
            }
            if output.stdout.trim_ascii().is_empty() {
                problems.push(format!("{}: {glob} matches no file of {}", self.name, self.package));
            }
        }
        problems.extend(self.missing_tests(targets).map(|test| format!("{}: {} has no test {test}", self.name, self.package)));
        Ok(problems)
    }

    /// Returns the named tests that are not targets of the package.
    fn missing_tests(&self, targets: &BTreeMap<String, BTreeSet<String>>) -> impl Iterator<Item = &'static str> {
        let named = self.tests.iter().copied().filter(|&test| test != "*");
        named.filter(|&test| !targets.get(self.package).is_some_and(|tests| tests.contains(test)))
    }

    /// Tries the mutations, only of changed lines if `changes` is given; returns the mutated files, and the problems of the mutations and of the
    /// list.
    fn examine(
        &self,
        root: &Path,
        tree: &Path,
        output: &Path,
        choice: &Choice,
        changes: Option<&Path>,
    ) -> Result<(BTreeSet<String>, Vec<String>), String> {
        let list = self.list();
        let listed = listed(&root.join(&list))?;
        let mutations = self.mutations(tree, None)?;
        let mut problems = gone(&list, &listed, &mutations);
        // Compared by name: in a list of changed lines alone, equal descriptions have other indexes.
        let changed = changes.map(|changes| self.mutations(tree, Some(changes))).transpose()?;
        let is_chosen = |name: &str, mutation: &Mutation| {
            (choice.files.is_empty() || choice.files.contains(&mutation.file))
                && changed.as_ref().is_none_or(|changed| changed.contains_key(name))
        };
        let tried: BTreeMap<String, Mutation> =
            mutations.into_iter().filter(|(name, mutation)| is_chosen(name, mutation)).collect();
        let files: BTreeSet<String> = tried.values().map(|mutation| mutation.file.clone()).collect();
        if files.is_empty() {
            return Ok((files, problems));
        }
        let ends = self.try_them(tree, output, &files, changes, choice.resume)?;
        let mut counts: BTreeMap<&str, Count> = BTreeMap::new();
        for (name, mutation) in &tried {
            // A mutation left out of this run was detected by an earlier one.
            let end = ends.get(name).map_or(CAUGHT, String::as_str);
            counts.entry(&mutation.file).or_default().add(end);
            problems.extend(wrong(mutation, end, listed.contains(mutation), &list));
        }
        counts.iter().for_each(|(file, count)| println!("{file}: {count}"));
        Ok((files, problems))
    }

    /// Returns the mutations of the files by their full names in cargo-mutants.
    fn mutations(&self, tree: &Path, changes: Option<&Path>) -> Result<BTreeMap<String, Mutation>, String> {
        let mut command = self.command(tree, self.files.iter().copied());
        command.args(["--list", "--json"]).args(in_changes(changes));
        let output = command.output().map_err(said(tree))?;
        if !output.status.success() {
            return Err(format!("{}: {}", self.name, String::from_utf8_lossy(&output.stderr)));
        }
        // The output is empty if the changes touch no mutation.
        let list = if output.stdout.trim_ascii().is_empty() { b"[]" } else { output.stdout.as_slice() };
        named(list).ok_or_else(|| "cargo mutants --list says something else than expected".into())
    }

    /// Tries mutations; returns the outcome of each by its full name.
    fn try_them(
        &self,
        tree: &Path,
        output: &Path,
        files: &BTreeSet<String>,
        changes: Option<&Path>,
        resume: bool,
    ) -> Result<BTreeMap<String, String>, String> {
        fs::create_dir_all(output).map_err(said(output))?;
        let mut command = self.command(tree, files.iter().map(String::as_str));
        command.args(in_changes(changes));
        command.args(["--in-place", "--colors", "never", "--output"]).arg(output);
        command.arg("--cargo-arg=--lib").args(self.tests.iter().map(|test| format!("--cargo-arg=--test={test}")));
        let runner = std::env::current_exe().map_err(said(tree))?;
        command.arg(format!("--cargo-arg=--config=target.'cfg(all())'.runner=[{runner:?}, {UNTIL_FAILURE:?}]"));
        if resume {
            command.arg("--iterate");
        }
        command.args(["--minimum-test-timeout", TEST_SECONDS_MIN]);
        command.env("CARGO_TARGET_DIR", tree.with_file_name("target")).env("CARGO_PROFILE_DEV_DEBUG", "0");
        // Property tests use the same inputs for each mutant, and no stored failures of earlier mutants.
        let inputs = [("RNG_SEED", "1"), ("DISABLE_FAILURE_PERSISTENCE", "true"), ("MAX_SHRINK_ITERS", "0")];
        command.envs(inputs.map(|(name, value)| (format!("PROPTEST_{name}"), value)));
        // Link-time optimization triples the build time of a mutant and hardly shortens its tests.
        command.env("CARGO_PROFILE_DEV_LTO", "off");
        let code = command.status().map_err(said(tree))?.code();
        // All caught, survivors, or time-outs.
        if !matches!(code, Some(0 | 2 | 3)) {
            return Err(format!("{}: cargo mutants ended with {code:?}", self.name));
        }
        let path = output.join("mutants.out/outcomes.json");
        let text = fs::read(&path).map_err(said(&path))?;
        let outcomes: Value = serde_json::from_slice(&text).map_err(|error| format!("{}: {error}", path.display()))?;
        let ends = outcomes["outcomes"].as_array().into_iter().flatten().filter_map(|outcome| {
            let name = outcome["scenario"]["Mutant"]["name"].as_str()?;
            Some((name.to_owned(), outcome["summary"].as_str()?.to_owned()))
        });
        Ok(ends.collect())
    }

    fn command<'f>(&self, tree: &Path, files: impl Iterator<Item = &'f str>) -> Command {
        let mut command = Command::new(env!("CARGO"));
        command.args(["mutants", "--no-config", "--package", self.package, "--dir"]).arg(tree);
        command.args(NOT_TRIED.iter().flat_map(|pattern| ["--exclude-re", pattern]));
        command.args(files.flat_map(|file| ["--file", file]));
        command
    }
}

/// Returns the arguments that limit cargo-mutants to changed lines.
fn in_changes(changes: Option<&Path>) -> impl Iterator<Item = &OsStr> {
    changes.into_iter().flat_map(|changes| [OsStr::new("--in-diff"), changes.as_os_str()])
}

/// Writes the changes of the working tree since a commit to `to`; returns this path.
fn changes(root: &Path, commit: &str, to: &Path) -> Result<PathBuf, String> {
    let mut git = Command::new("git");
    git.current_dir(root).args(["diff", "--find-renames=30%", "--no-color", "--no-ext-diff", commit, "--", "*.rs"]);
    let output = git.output().map_err(said(root))?;
    if !output.status.success() {
        return Err(format!("git diff: {}", String::from_utf8_lossy(&output.stderr)));
    }
    fs::write(to, output.stdout).map_err(said(to))?;
    Ok(to.to_owned())
}

/// Returns the names of the integration tests of each package.
fn test_targets(root: &Path) -> Result<BTreeMap<String, BTreeSet<String>>, String> {
    let mut command = Command::new(env!("CARGO"));
    command.current_dir(root).args(["metadata", "--no-deps", "--format-version", "1"]);
    let output = command.output().map_err(said(root))?;
    if !output.status.success() {
        return Err(format!("cargo metadata: {}", String::from_utf8_lossy(&output.stderr)));
    }
    let metadata: Value = serde_json::from_slice(&output.stdout).map_err(|error| format!("cargo metadata: {error}"))?;
    let packages = metadata["packages"].as_array().into_iter().flatten().filter_map(|package| {
        let is_test = |target: &&Value| target["kind"] == json!(["test"]);
        let tests = package["targets"].as_array()?.iter().filter(is_test).filter_map(|target| target["name"].as_str());
        Some((package["name"].as_str()?.to_owned(), tests.map(str::to_owned).collect()))
    });
    Ok(packages.collect())
}

/// Reports listed mutations that no longer exist.
fn gone(list: &str, listed: &BTreeSet<Mutation>, mutations: &BTreeMap<String, Mutation>) -> Vec<String> {
    let known: BTreeSet<&Mutation> = mutations.values().collect();
    let gone = listed.iter().filter(|mutation| !known.contains(mutation));
    gone.map(|mutation| format!("stale in {list}: {mutation}: is no mutation any more")).collect()
}

/// Parses a list of cargo-mutants into mutations by their full names.
fn named(list: &[u8]) -> Option<BTreeMap<String, Mutation>> {
    let mut same: BTreeMap<(String, String), usize> = BTreeMap::new();
    let found: Vec<Value> = serde_json::from_slice(list).ok()?;
    let mutations = found.iter().map(|mutant| {
        let (name, file) = (mutant["name"].as_str()?, mutant["file"].as_str()?);
        // FILE:LINE:COLUMN: TEXT
        let text = name.strip_prefix(file)?.splitn(4, ':').nth(3)?.trim();
        let which = same.entry((file.to_owned(), text.to_owned())).or_default();
        *which += 1;
        Some((name.to_owned(), Mutation { file: file.to_owned(), text: text.to_owned(), which: *which }))
    });
    mutations.collect()
}

/// Returns the problem of a mutation's outcome, if it is one.
fn wrong(mutation: &Mutation, end: &str, is_listed: bool, list: &str) -> Option<String> {
    match (end, is_listed) {
        (MISSED, false) => {
            Some(format!("survived: {mutation}: detect it by a test, or add it to {list} with a reason:\n{}", mutation.entry()))
        }
        (CAUGHT | UNVIABLE, true) => Some(format!("stale in {list}: {mutation}: is detected now")),
        _ => None,
    }
}

/// Reads the survivors listed in a file.
fn listed(path: &Path) -> Result<BTreeSet<Mutation>, String> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(said(path)(error)),
    };
    read(&text).map_err(|error| format!("{}: {error}", path.display()))
}

fn read(text: &str) -> Result<BTreeSet<Mutation>, String> {
    let survivors: Survivors = toml::from_str(text).map_err(|error| error.to_string())?;
    let mut listed = BTreeSet::new();
    for Survivor { file, mutation, which, reason } in survivors.survivor {
        let mutation = Mutation { file, text: mutation, which };
        if reason.trim().is_empty() {
            return Err(format!("{mutation}: give the reason why it is equivalent or harmless"));
        }
        if let Some(twice) = listed.replace(mutation) {
            return Err(format!("{twice}: is listed twice"));
        }
    }
    Ok(listed)
}

impl Count {
    fn add(&mut self, end: &str) {
        self.mutants += 1;
        let way = match end {
            MISSED => &mut self.missed,
            TIMEOUT => &mut self.timeout,
            UNVIABLE => &mut self.unviable,
            _ => &mut self.caught,
        };
        *way += 1;
    }
}

impl Mutation {
    /// Returns the entry of the mutation for the list.
    fn entry(&self) -> String {
        let which = if self.which > 1 { format!("which = {}\n", self.which) } else { String::new() };
        format!("[[survivor]]\nfile = {:?}\nmutation = {:?}\n{which}reason = \"\"\n", self.file, self.text)
    }
}

impl fmt::Display for Mutation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.file, self.text)?;
        if self.which > 1 { write!(f, " (number {} of that text)", self.which) } else { Ok(()) }
    }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { mutants, caught, missed, timeout, unviable } = self;
        write!(f, "{mutants} mutants: {caught} caught, {missed} missed, {timeout} timed out, {unviable} unviable")
    }
}

/// Copies the files of the working tree at `root` that git does not ignore to `tree`. Unchanged files stay untouched, so that they are not
/// rebuilt.
fn copy(root: &Path, tree: &Path) -> Result<(), String> {
    let mut git = Command::new("git");
    git.current_dir(root).args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
    let output = git.output().map_err(said(root))?;
    if !output.status.success() {
        return Err(format!("git ls-files: {}", String::from_utf8_lossy(&output.stderr)));
    }
    let names = String::from_utf8(output.stdout).map_err(|_| "a file's name is not UTF-8")?;
    // Git also lists files whose removal is not committed.
    let named: BTreeSet<&str> = names.split('\0').filter(|name| root.join(name).is_file()).collect();
    for name in &named {
        let (from, to) = (root.join(name), tree.join(name));
        let text = fs::read(&from).map_err(said(&from))?;
        if fs::read(&to).ok().as_deref() != Some(&text) {
            fs::create_dir_all(to.parent().expect("it lies in the tree")).map_err(said(&to))?;
            fs::write(&to, text).map_err(said(&to))?;
        }
    }
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(tree.join(&folder)).map_err(said(tree))? {
            let entry = entry.map_err(said(tree))?;
            let path = folder.join(entry.file_name());
            if entry.path().is_dir() {
                folders.push(path);
            } else if !path.to_str().is_some_and(|name| named.contains(name)) {
                fs::remove_file(entry.path()).map_err(said(&path))?;
            }
        }
    }
    Ok(())
}

/// Formats an error with the path at which it occurred.
fn said(path: &Path) -> impl Fn(std::io::Error) -> String {
    let path = path.display().to_string();
    move |error| format!("{path}: {error}")
}

fn first() -> usize {
    1
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = r#"[
        {"name": "a/b.rs:3:9: replace < with <= in T::f", "file": "a/b.rs"},
        {"name": "a/b.rs:5:1: replace < with <= in T::f", "file": "a/b.rs"},
        {"name": "a/b.rs:5:1: replace a::b -> u8 with 0", "file": "a/b.rs"}
    ]"#;

    fn mutation(text: &str, which: usize) -> Mutation {
        Mutation { file: "a/b.rs".into(), text: text.into(), which }
    }

    #[test]
    fn mutations_are_known_without_their_lines() {
        let named = named(LIST.as_bytes()).unwrap();
        let mutations: BTreeSet<Mutation> = named.into_values().collect();
        let expected = [("replace < with <= in T::f", 1), ("replace < with <= in T::f", 2), ("replace a::b -> u8 with 0", 1)];
        assert_eq!(mutations, expected.map(|(text, which)| mutation(text, which)).into());
    }

    #[test]
    fn what_is_listed_is_read_as_it_would_be_written() {
        let both = [mutation("replace \"a\" with 'b'", 1), mutation("replace \"a\" with 'b'", 2)];
        let text = both.each_ref().map(|mutation| mutation.entry().replace("reason = \"\"", "reason = \"harmless\"")).concat();
        assert_eq!(read(&text).unwrap(), both.clone().into());
        assert!(read(&both[0].entry()).unwrap_err().contains("reason"));
        assert!(read(&[text.as_str(), &text].concat()).unwrap_err().contains("twice"));
        assert!(read(&text.replace("which", "witch")).is_err());
    }

    #[test]
    fn unlisted_survivors_and_listed_ones_that_do_not_survive_are_wrong() {
        let wrong = |end, is_listed| wrong(&mutation("replace < with <= in T::f", 2), end, is_listed, "list.toml");
        assert!(wrong(MISSED, false).unwrap().contains("which = 2"));
        assert!(wrong(CAUGHT, true).unwrap().contains("list.toml"));
        assert!(wrong(UNVIABLE, true).is_some());
        // Time-outs are accepted: tests may exceed the limit on a busy machine.
        for (end, is_listed) in [(MISSED, true), (CAUGHT, false), (UNVIABLE, false), (TIMEOUT, true), (TIMEOUT, false)] {
            assert_eq!(wrong(end, is_listed), None, "{end}");
        }
    }

    #[test]
    fn what_nobody_examines_is_refused() {
        let chosen = |arguments: &[&str]| choice(arguments.iter().map(|&argument| argument.to_owned()));
        assert!(chosen(&["--crate", "sync", "--resume"]).is_ok_and(|choice| choice.resume && choice.crates.contains("sync")));
        for wrong in [&["--crate", "base"][..], &["--crate"], &["--file"], &["sync"]] {
            assert!(chosen(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn stale_entries_are_those_that_are_no_mutation() {
        let listed = [mutation("replace < with <= in T::f", 2), mutation("replace < with <= in T::f", 3)].into();
        let found = gone("list.toml", &listed, &named(LIST.as_bytes()).unwrap());
        assert_eq!(
            found,
            ["stale in list.toml: a/b.rs: replace < with <= in T::f (number 3 of that text): is no mutation any more"]
        );
    }

    #[test]
    fn every_test_that_is_to_detect_mutants_exists() {
        let targets = test_targets(&root()).unwrap();
        let missing = |subject: &Subject| subject.missing_tests(&targets).collect::<Vec<_>>();
        for subject in SUBJECTS {
            assert_eq!(missing(subject), [""; 0], "{}", subject.name);
        }
        let tests: &[&str] = &["mesh", "moved"];
        assert_eq!(missing(&Subject { name: "protocol", package: "pelago-protocol", files: &[], tests }), ["moved"]);
    }

    #[test]
    fn the_lists_of_this_repository_can_be_read() {
        for subject in SUBJECTS {
            listed(&root().join(format!("tests/mutants/{}.toml", subject.name))).unwrap();
        }
    }
}
