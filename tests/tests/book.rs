//! Tests of the book in `docs/book`: every page is in its table of contents, the target of every link exists, programs that it includes are
//! compiled. The crate `pelago-book` runs its examples.
//! Builds the book where mdBook is installed (`cargo install mdbook --locked`).

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};
use std::process::Command;

/// The environment variable by which wrappers and the table of contents are renewed.
const RENEW: &str = "PELAGO_RENEW_DOCUMENTS";
const RENEWAL: &str = "renew it by PELAGO_RENEW_DOCUMENTS=1 cargo test -p pelago-tests --test book wrappers";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the tests lie in the workspace").into()
}

fn read(path: impl AsRef<Path>) -> String {
    let path = path.as_ref();
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn is_renewed() -> bool {
    std::env::var_os(RENEW).is_some()
}

/// All Markdown files below a folder, by their paths from the root.
fn pages(folder: &str) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    let mut folders = vec![root().join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() && !name.starts_with('.') && !name.ends_with("target") {
                folders.push(path);
            } else if name.ends_with(".md") {
                found.insert(path.strip_prefix(root()).unwrap().to_owned());
            }
        }
    }
    found
}

/// Returns a path without `.` and `..`.
fn plain(path: &Path) -> PathBuf {
    let mut parts = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => assert!(parts.pop(), "{} leads out of the repository", path.display()),
            Component::CurDir => {}
            part => parts.push(part),
        }
    }
    parts
}

const SOURCE: &str = "docs/book/src";

/// The pages that the book includes from elsewhere: path in the book, path in the repository.
fn wrapped() -> BTreeMap<PathBuf, PathBuf> {
    let fixed = [
        ("architecture.md", "ARCHITECTURE.md"),
        ("changelog.md", "CHANGELOG.md"),
        ("transport.md", "examples/transports/tcp/README.md"),
    ];
    let mut wrapped: BTreeMap<PathBuf, PathBuf> = fixed.into_iter().map(|(page, file)| (page.into(), file.into())).collect();
    for file in pages("docs").into_iter().filter(|file| !file.starts_with("docs/book")) {
        wrapped.insert(file.strip_prefix("docs").unwrap().to_owned(), file);
    }
    wrapped
}

fn wrapper(page: &Path, file: &Path) -> String {
    let ups = SOURCE.split('/').count() + page.components().count() - 1;
    format!("{{{{#include {}{}}}}}\n", "../".repeat(ups), file.display())
}

fn title(text: &str) -> &str {
    text.lines().find_map(|line| line.strip_prefix("# ")).expect("every page begins with its title")
}

/// Returns the table of contents with the existing decisions and evaluations.
fn with_current_lists(summary: &str) -> String {
    let mut renewed = summary.to_owned();
    for (folder, indent) in [("evaluation", ""), ("decisions", "  ")] {
        let part = format!("]({folder}/");
        let files = wrapped().into_iter().filter(|(page, _)| page.starts_with(folder));
        let list: Vec<_> = files.map(|(page, file)| format!("{indent}- [{}]({})", title(&read(file)), page.display())).collect();
        let (mut lines, mut is_first) = (Vec::new(), true);
        for line in renewed.lines() {
            if !line.contains(&part) {
                lines.push(line.to_owned());
            } else if std::mem::take(&mut is_first) {
                lines.extend(list.iter().cloned());
            }
        }
        renewed = lines.join("\n") + "\n";
    }
    renewed
}

#[test]
fn pages_outside_the_book_have_wrappers() {
    let wrapped = wrapped();
    assert!(wrapped.len() > 30, "the documents were found: {wrapped:?}");
    for (page, file) in &wrapped {
        let (path, text) = (root().join(SOURCE).join(page), wrapper(page, file));
        if is_renewed() {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, &text).unwrap();
        }
        let written = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(written == text, "{}: the book lacks {}: {RENEWAL}", path.display(), file.display());
    }
    let summary = read(format!("{SOURCE}/SUMMARY.md"));
    let current = with_current_lists(&summary);
    if is_renewed() {
        std::fs::write(root().join(SOURCE).join("SUMMARY.md"), &current).unwrap();
    } else {
        assert!(summary == current, "{SOURCE}/SUMMARY.md lacks a decision or an evaluation: {RENEWAL}");
    }
}

#[test]
fn the_table_of_contents_lists_every_page_once() {
    let summary = read(format!("{SOURCE}/SUMMARY.md"));
    let mut listed = BTreeSet::new();
    for (target, _) in links(&summary) {
        assert!(listed.insert(PathBuf::from(SOURCE).join(&target)), "SUMMARY.md lists {target} twice");
    }
    let mut pages = pages(SOURCE);
    pages.remove(Path::new("docs/book/src/SUMMARY.md"));
    let missing: Vec<_> = pages.difference(&listed).collect();
    assert!(missing.is_empty(), "SUMMARY.md lacks {missing:?}");
    let dead: Vec<_> = listed.difference(&pages).collect();
    assert!(dead.is_empty(), "SUMMARY.md lists pages that do not exist: {dead:?}");
}

/// The text outside fenced code and code spans, where links count.
fn prose(text: &str) -> String {
    let (mut prose, mut in_code) = (String::new(), false);
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        } else if !in_code {
            prose.extend(line.split('`').step_by(2));
        }
        prose.push('\n');
    }
    prose
}

/// The relative links of a page, each as path and fragment.
fn links(text: &str) -> Vec<(String, String)> {
    let prose = prose(text);
    let targets = prose.match_indices("](").filter_map(|(at, _)| prose[at + 2..].split_once(')').map(|(target, _)| target));
    let local = targets.filter(|target| !["http://", "https://", "mailto:"].iter().any(|start| target.starts_with(start)));
    local
        .map(|target| {
            let (path, fragment) = target.split_once('#').unwrap_or((target, ""));
            (path.to_owned(), fragment.to_owned())
        })
        .collect()
}

/// Returns the anchors of headings, as mdBook and the common forges generate them.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut in_code = false;
    let headings = text.lines().filter(|line| {
        in_code ^= line.trim_start().starts_with("```");
        !in_code && line.starts_with('#')
    });
    let anchor = |heading: &str| {
        let letters = heading.trim_start_matches('#').trim().chars();
        let kept = letters.filter(|letter| letter.is_alphanumeric() || [' ', '-', '_'].contains(letter));
        kept.map(|letter| if letter == ' ' { '-' } else { letter.to_ascii_lowercase() }).collect::<String>()
    };
    headings.map(anchor).collect()
}

/// The target of every link exists in the repository.
#[test]
fn links_lead_somewhere() {
    let mut checked = 0;
    for page in pages("") {
        let text = read(&page);
        for (target, fragment) in links(&text) {
            let path = if target.is_empty() { page.clone() } else { plain(&page.parent().unwrap().join(&target)) };
            assert!(root().join(&path).exists(), "{}: no file {target}", page.display());
            let is_page = path.extension().is_some_and(|extension| extension == "md");
            // The headings of an included page are in the included file.
            let text = |path: &Path| {
                let text = read(path);
                let file = text.strip_prefix("{{#include ").and_then(|rest| rest.strip_suffix("}}\n"));
                file.map_or(text.clone(), |file| read(plain(&path.parent().unwrap().join(file))))
            };
            if is_page && !fragment.is_empty() {
                let anchors = anchors(&text(&path));
                assert!(anchors.contains(&fragment), "{}: {target} has no heading #{fragment}: {anchors:?}", page.display());
            }
            checked += 1;
        }
    }
    assert!(checked > 100, "the links were found: {checked}");
}

/// The target of every link exists in the built book: a page, a file beside a page, or a redirection of `book.toml`.
#[test]
fn links_lead_somewhere_in_the_book() {
    let settings: toml::Value = read("docs/book/book.toml").parse::<toml::Table>().expect("book.toml is read").into();
    let redirections = settings["output"]["html"]["redirect"].as_table().expect("a table");
    let wrapped = wrapped();
    let mut used = BTreeSet::new();
    for page in pages(SOURCE) {
        let inside = page.strip_prefix(SOURCE).unwrap().to_owned();
        let text = wrapped.get(&inside).map_or_else(|| read(&page), read);
        for (target, _) in links(&text).into_iter().filter(|(target, _)| !target.is_empty()) {
            let path = plain(&inside.parent().unwrap().join(&target));
            let html = format!("/{}", path.with_extension("html").display());
            let is_redirected = redirections.contains_key(&html);
            if is_redirected {
                used.insert(html.clone());
            }
            assert!(
                is_redirected || root().join(SOURCE).join(&path).is_file(),
                "{}: in the book, {target} leads to {html}: add a page, or a redirection to book.toml",
                page.display()
            );
        }
    }
    for (from, to) in redirections {
        assert!(used.contains(from), "book.toml: no page links to {from} any more: take the line out");
        let to = plain(&Path::new(from.trim_start_matches('/')).parent().unwrap().join(to.as_str().expect("a path")));
        assert!(root().join(SOURCE).join(to.with_extension("md")).is_file(), "book.toml: {from} is redirected to no page");
    }
}

/// A program in Rust that a page includes is an example of cargo, which `tutorials.rs` runs.
#[test]
fn included_programs_are_compiled_and_run() {
    let (examples, tests) = (read("examples/Cargo.toml"), read("tests/Cargo.toml"));
    let mut shown = BTreeSet::new();
    for page in pages(SOURCE) {
        let text = read(&page);
        for code in text.split("```rust").skip(1).filter_map(|rest| rest.split("```").next()) {
            let included = code.trim().strip_prefix("{{#include ").and_then(|rest| rest.strip_suffix("}}"));
            if let Some(file) = included {
                let file = plain(&page.parent().unwrap().join(file));
                let name = file.file_stem().unwrap().to_string_lossy().into_owned();
                assert!(root().join(&file).exists() && file.starts_with("examples"), "{}: {}", page.display(), file.display());
                assert!(examples.contains(&format!("path = \"{name}.rs\"")), "{name} is an example of cargo");
                assert!(tests.contains(&format!("name = \"tutorial-{name}\"")), "{name} is a program of tutorials.rs");
                shown.insert(name);
            }
        }
    }
    assert!(shown.len() >= 4, "the programs were found: {shown:?}");
}

/// The commands whose help is a page of the reference.
const COMMANDS: [&str; 12] =
    ["", "run", "sim", "compare", "sweep", "bench", "tune", "info", "doctor", "top", "completions", "man"];

/// The page of commands equals the output of `--help`.
#[test]
fn the_page_of_commands_is_true() {
    let mut page = String::from(
        "# Commands\n\nA test writes this page from the output of `--help`: `PELAGO_RENEW_DOCUMENTS=1 cargo test -p pelago-tests --test book commands`.\n",
    );
    for name in COMMANDS {
        let arguments = [name, "--help"].into_iter().filter(|word| !word.is_empty());
        let output = Command::new(env!("CARGO_BIN_EXE_pelago-under-test")).args(arguments).output().unwrap();
        let help = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success() && help.contains("Usage: pelago "), "{name}: {help}");
        let lines: Vec<_> = help.lines().map(str::trim_end).collect();
        page += &format!("\n## {}\n\n```text\n{}\n```\n", format!("pelago {name}").trim_end(), lines.join("\n").trim_end());
    }
    let path = root().join(SOURCE).join("reference/commands.md");
    if is_renewed() {
        std::fs::write(&path, &page).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == page,
        "reference/commands.md is out of date: renew it by PELAGO_RENEW_DOCUMENTS=1 cargo test -p pelago-tests --test book commands"
    );
}

/// The long options in a text, as `--name`.
fn options(text: &str) -> impl Iterator<Item = &str> {
    let is_name = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '-';
    text.match_indices("--").filter_map(move |(at, _)| {
        let begins = !text[..at].ends_with(|letter: char| letter.is_alphanumeric() || letter == '-');
        let name = &text[at..][..text[at..].find(|letter| !is_name(letter)).unwrap_or(text.len() - at)];
        (begins && name[2..].starts_with(|letter: char| letter.is_ascii_lowercase())).then_some(name)
    })
}

/// Each option that a document gives to the command or to a bundled program is in the help of one of them.
#[test]
fn options_in_commands_exist() {
    let said = |arguments: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_pelago-under-test")).args(arguments).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let mut known: BTreeSet<String> = options(&read(format!("{SOURCE}/reference/commands.md"))).map(str::to_owned).collect();
    for program in said(&["run", "--list"]).lines().filter_map(|line| line.split_whitespace().next()) {
        known.extend(options(&said(&["run", "-n", "1", program, "--help"])).map(str::to_owned));
    }
    let mut checked = 0;
    for page in pages("") {
        let text = read(&page).replace("\\\n", " ");
        for line in text.lines() {
            // A command ends with its line, or with the code span in which it stands.
            let commands =
                COMMANDS[1..].iter().flat_map(|name| line.split(&format!("pelago {name} ")).skip(1).collect::<Vec<_>>());
            for option in commands.flat_map(|rest| options(rest.split('`').next().unwrap_or(rest))) {
                assert!(
                    known.contains(option),
                    "{}: neither the command nor a bundled program has {option}: {line}",
                    page.display()
                );
                checked += 1;
            }
        }
    }
    assert!(checked > 1000, "the options were found: {checked}");
}

/// The machines of current networks, which the book lists value by value.
const MACHINES: [&str; 4] = ["dragonfly-slingshot", "fat-tree-ndr", "torus-tofud", "fat-tree-roce"];

/// The page of machines has every value of the machine files with its source.
#[test]
fn the_page_of_machines_is_true() {
    let mut page = "# Values of the machines\n\nEvery value of the bundled machines with current networks, where it comes from, and how far it can be trusted: \
                    *published* (by whom),\n*fitted* (to what), or *assumed* (why). `pelago sweep --sensitivity` shows which assumed values a result depends \
                    on.\n\nA test writes this page from `simulation/netsim/machines`: `PELAGO_RENEW_DOCUMENTS=1 cargo test -p pelago-tests --test book machines`.\n"
        .to_owned();
    for name in MACHINES {
        let text = read(format!("simulation/netsim/machines/{name}.toml"));
        let about = text.lines().find_map(|line| line.strip_prefix("about = \"")?.strip_suffix('"')).unwrap();
        page += &format!("\n## `{name}`\n\n{about}.\n\n| value | | confidence | source or reason |\n|---|---|---|---|\n");
        let mut table = String::new();
        let is_value = |line: &&str| !["#", "name = ", "about = "].iter().any(|start| line.starts_with(start));
        for line in text.lines().filter(is_value) {
            if let Some(name) = line.strip_prefix('[') {
                table = name.trim_matches(['[', ']']).to_owned();
            } else if let Some((key, value)) = line.split_once(" = ") {
                let (value, comment) = value.split_once('#').unwrap_or((value, ""));
                let (confidence, why) = comment.split_once(':').unwrap_or((comment, ""));
                let value = value.trim().replace('|', "\\|");
                page += &format!("| `{table}.{key}` | `{value}` | {} | {} |\n", confidence.trim(), why.trim());
            }
        }
    }
    let path = root().join(SOURCE).join("reference/machines.md");
    if is_renewed() {
        std::fs::write(&path, &page).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == page,
        "reference/machines.md is out of date: renew it by PELAGO_RENEW_DOCUMENTS=1 cargo test -p pelago-tests --test book machines"
    );
}

/// Completions and manual pages cover the subcommands that `--help` lists, and no hidden ones.
#[test]
fn completions_and_manual_pages_cover_every_command() {
    let pelago = || Command::new(env!("CARGO_BIN_EXE_pelago-under-test"));
    for shell in ["bash", "zsh", "fish"] {
        let output = pelago().args(["completions", shell]).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success() && text.lines().count() > 50, "{shell}: {text}");
        assert!(text.contains("failure-limit"), "{shell}: options are completed");
        let hidden = [",bundled)", "(bundled)", "\"bundled\""];
        assert!(!hidden.iter().any(|word| text.contains(word)), "{shell}: internal commands are not completed");
    }
    let output = pelago().args(["completions", "csh"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "an unknown shell is refused");
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("man");
    let _ = std::fs::remove_dir_all(&directory);
    let status = pelago().arg("man").arg(&directory).status().unwrap();
    assert!(status.success());
    let pages: BTreeSet<String> =
        std::fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    let expected = COMMANDS.map(|name| if name.is_empty() { "pelago.1".to_owned() } else { format!("pelago-{name}.1") });
    let missing: Vec<_> = expected.iter().filter(|name| !pages.contains(*name)).collect();
    assert!(missing.is_empty(), "{missing:?} of {pages:?}");
    assert!(!pages.iter().any(|page| ["bundled", "host", "object"].iter().any(|name| page.contains(name))), "{pages:?}");
    assert!(std::fs::read_to_string(directory.join("pelago-run.1")).unwrap().contains("failure"));
}

/// Each shell that is installed loads its completions and completes a command and an option by them.
#[test]
fn completions_load_in_their_shells() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("completions");
    std::fs::create_dir_all(&folder).unwrap();
    let complete_in_bash = |words: &str, last: &str| {
        format!(
            "COMP_WORDS=(pelago {words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); COMPREPLY=(); _pelago pelago {last} pelago; echo \"${{COMPREPLY[@]}}\"; "
        )
    };
    let bash = "source ./pelago.bash; complete -p pelago; ".to_owned()
        + &complete_in_bash("doct", "doct")
        + &complete_in_bash("run --failure-lim", "--failure-lim");
    // zsh completes only interactive input. A script can only check that the function exists and is read without an error.
    let zsh = "fpath=($PWD $fpath); autoload -U compinit; compinit -u -D; echo $_comps[pelago]; autoload +X _pelago && whence -w _pelago; grep -o -- --failure-limit _pelago; \
               grep -o doctor: _pelago";
    let fish = "source pelago.fish; complete -C 'pelago doct'; complete -C 'pelago run --failure-lim'";
    for (shell, file, arguments, script, expected) in [
        (
            "bash",
            "pelago.bash",
            &["--norc", "--noprofile", "-c"][..],
            bash.as_str(),
            &["-F _pelago", "doctor", "--failure-limit"][..],
        ),
        ("zsh", "_pelago", &["-f", "-c"], zsh, &["_pelago: function", "doctor:", "--failure-limit"]),
        ("fish", "pelago.fish", &["--no-config", "-c"], fish, &["doctor\t", "--failure-limit\t"]),
    ] {
        let written = Command::new(env!("CARGO_BIN_EXE_pelago-under-test")).args(["completions", shell]).output().unwrap();
        std::fs::write(folder.join(file), written.stdout).unwrap();
        let Ok(output) = Command::new(shell).args(arguments).arg(script).current_dir(&folder).env("HOME", &folder).output()
        else {
            println!("not tested: {shell} is not installed");
            continue;
        };
        let (said, error) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success() && error.is_empty(), "{shell}: {said}{error}");
        expected.iter().for_each(|word| assert!(said.contains(word), "{shell}: {word:?} is not in {said}"));
    }
}

/// Every variable that programs read is on the page of environment variables.
#[test]
fn environment_variables_are_listed() {
    let page = read(format!("{SOURCE}/reference/environment.md"));
    let mut names = BTreeSet::new();
    for file in ["runtime/launch/src/rank/environment.rs", "simulation/simulator/src/request.rs", "bindings/acp/src/library.rs"] {
        let text = read(file);
        let literals = text.match_indices("\"PELAGO_").filter_map(|(at, _)| text[at + 1..].split_once('"').map(|(name, _)| name));
        names.extend(
            literals.filter(|name| name.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_')).map(str::to_owned),
        );
    }
    assert!(names.len() > 20, "the names were found: {names:?}");
    let missing: Vec<_> = names.iter().filter(|name| !page.contains(&format!("`{name}`"))).collect();
    assert!(missing.is_empty(), "reference/environment.md lacks {missing:?}");
}

/// The book builds without a warning, where mdBook is installed.
#[test]
fn the_book_builds() {
    if Command::new("mdbook").arg("--version").output().is_err() {
        println!("mdbook is not installed: cargo install mdbook --locked");
        return;
    }
    let to = Path::new(env!("CARGO_TARGET_TMPDIR")).join("book");
    let output =
        Command::new("mdbook").arg("build").arg("docs/book").arg("--dest-dir").arg(&to).current_dir(root()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && !said.contains("WARN") && !said.contains("ERROR"), "{said}");
    // The book contains the programs of tutorials, the included pages, and the figures.
    let page = |name: &str| std::fs::read_to_string(to.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert!(page("tutorials/ring.html").contains("fetch_add"));
    assert!(page("decisions/0012-rails.html").contains("12. A rail"));
    assert!(to.join("evaluation/incast-memory.svg").exists());
}
