//! Comparison of every figure and table of the five papers with the results of Pelago: makes `docs/papers.md` from `docs/papers.toml`, and compares.
//!
//! The value of a row is printed by a deterministic command, which this test runs, or lies in a file of rows that a script of `docs/evaluation` makes. In the
//! latter case, the row also names the command; the test runs quick and deterministic commands and compares their output with the file.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use toml::{Table, Value};

/// Number of figures and number of tables of each paper.
const ITEMS: &[(&str, u32, u32)] = &[("A", 6, 0), ("B", 15, 1), ("C", 2, 3), ("D", 7, 1), ("E", 8, 3)];

/// Permitted kinds of the parameters behind a value, in the words of the page.
const KINDS: &[&str] = &["published", "fitted", "assumed", "predicted", "measured", "mechanism"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn text<'r>(row: &'r Table, key: &str) -> Option<&'r str> {
    row.get(key).map(|value| value.as_str().unwrap_or_else(|| panic!("{key} is no text: {row:?}")))
}

fn number(row: &Table, key: &str) -> Option<f64> {
    let number = |value: &Value| value.as_float().or(value.as_integer().map(|value| value as f64));
    row.get(key).map(|value| number(value).unwrap_or_else(|| panic!("{key} is no number: {row:?}")))
}

/// Returns the output of `pelago`.
fn printed(arguments: &str) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pelago-under-test"));
    let ended = command.args(arguments.split_whitespace()).current_dir(root()).stdin(Stdio::null()).output().unwrap();
    assert!(ended.status.success(), "pelago {arguments}: {}", String::from_utf8_lossy(&ended.stderr));
    String::from_utf8(ended.stdout).unwrap()
}

/// Returns the first number after `key`.
fn number_behind(key: &str, output: &str) -> Option<f64> {
    let words = output.split(|c: char| c.is_whitespace() || ",:{}\"[]".contains(c)).filter(|word| !word.is_empty());
    words.skip_while(|&word| word != key).nth(1)?.parse().ok()
}

/// Returns the number `key`, or the first of an array, from the only line of `file` that has it and all values of `wanted`.
fn number_in_file(file: &str, wanted: &Table, key: &str) -> f64 {
    let lines = std::fs::read_to_string(root().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
    let rows = lines.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let number = |row: &serde_json::Value| row[key].as_f64().or_else(|| row[key][0].as_f64());
    let has = |row: &serde_json::Value| {
        number(row).is_some() && wanted.iter().all(|(key, value)| row[key] == serde_json::to_value(value).unwrap())
    };
    let found: Vec<_> = rows.filter(has).collect();
    assert_eq!(found.len(), 1, "rows of {file} with {wanted:?} and a number {key}");
    number(&found[0]).unwrap()
}

/// Commands behind the values of files that together take minutes without optimization.
const SLOW: &[&str] = &[" particles ", " himeno M ", " himeno S "];

/// Returns the command by which the number of a file was made, if this test runs it.
fn made<'r>(row: &'r Table, key: &str) -> Option<&'r str> {
    text(row, key).filter(|made| made.starts_with("sim ") && !SLOW.iter().any(|slow| made.contains(slow)))
}

/// Runs each command once, all in parallel, and returns their outputs.
fn outputs(rows: &[Table]) -> HashMap<String, String> {
    let of = |row| [text(row, "command"), text(row, "over"), made(row, "made"), made(row, "made_over")];
    let mut commands: Vec<_> = rows.iter().flat_map(of).flatten().collect();
    commands.sort_unstable();
    commands.dedup();
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        while let Some(&command) = commands.get(next.fetch_add(1, Ordering::Relaxed)) {
            done.push((command.to_owned(), printed(command)));
        }
        done
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..2).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    })
}

/// Returns the value of a row; `None` if the row names only a mechanism.
fn value(row: &Table, outputs: &HashMap<String, String>) -> Option<f64> {
    let scale = number(row, "scale").unwrap_or(1.0);
    let of = |command: &str, key: &str| {
        number_behind(key, &outputs[command]).unwrap_or_else(|| panic!("pelago {command}: no {key} in {}", outputs[command]))
    };
    if let Some(command) = text(row, "command") {
        let key = text(row, "key")?;
        let here = of(command, key);
        return Some(scale * text(row, "over").map_or(here, |over| of(over, key) / here));
    }
    let file = text(row, "file")?;
    let key = text(row, "key").unwrap_or_else(|| panic!("no key: {row:?}"));
    let of = |names: &str, by: &str| {
        let number = number_in_file(file, row[names].as_table().unwrap(), key);
        if let Some(made) = made(row, by) {
            let printed = number_behind(text(row, "printed").expect("printed"), &outputs[made])
                .unwrap_or_else(|| panic!("pelago {made}: {}", outputs[made]));
            let printed = printed * self::number(row, "printed_scale").unwrap_or(1.0);
            assert!((printed - number).abs() < 0.001 * number + 0.006, "pelago {made}: {printed}, and {number} in {file}");
        }
        number
    };
    let of = |names: &str| of(names, if names == "row" { "made" } else { "made_over" });
    Some(if row.contains_key("over_row") { scale * of("over_row") / of("row") } else { scale * of("row") })
}

/// Maximum deviation from the paper, in percent, that needs no reason.
const DEVIATION_MAX: f64 = 8.0;

/// Returns a command as a user types it.
fn invoked(command: &str) -> String {
    let is_of_pelago = command.split(' ').next() == Some("sim");
    if is_of_pelago { format!("pelago {command}") } else { command.to_owned() }
}

/// Formats a number with four significant digits.
fn shown(number: f64) -> String {
    let digits = if number == 0.0 { 0 } else { (3 - number.abs().log10().floor() as i32).clamp(0, 4) };
    let text = format!("{number:.*}", digits as usize);
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[test]
fn every_figure_and_table_has_its_row() {
    let source = std::fs::read_to_string(root().join("docs/papers.toml")).unwrap();
    let source: Table = source.parse().unwrap();
    let rows: Vec<_> = source["row"].as_array().unwrap().iter().map(|row| row.as_table().unwrap().clone()).collect();
    let papers = source["papers"].as_table().unwrap();

    let mut page = String::from(
        "# The five papers, figure by figure\n\
         \n\
         <!-- Made from docs/papers.toml; do not edit. -->\n\
         \n\
         This page is for readers who ask how exactly Pelago and its simulator reproduce the five papers that the project comes from. It lists all figures and\n\
         tables of the papers, in their order.\n\
         \n\
         | column | meaning |\n\
         |---|---|\n\
         | *value* | the quantity |\n\
         | *paper*, *here* | the value of the paper, or the mechanism that it describes; the value of Pelago |\n\
         | *deviation* | the value of Pelago against that of the paper |\n\
         | *parameters* | the values on which the result depends: **published** values of the paper alone; parameters **fitted** to this value; **predicted** from parameters that were fitted to other values; **assumed** parameters; **measured** on a real machine |\n\
         | *by* | the command, below the table. Of two commands, the value is that of the first divided by that of the second |\n\
         \n\
         A row that differs by more than 8 % from a figure of the paper, or in direction, has its reason below the table. `basic-layer` is made by\n\
         `acpcc -O2 docs/evaluation/basic-layer.c -o basic-layer`, and `pelago-fagus` and `pelago-basic` by `cargo build --release -p pelago-bench`.\n\
         \n\
         `PELAGO_RENEW_DOCUMENTS=1 cargo test -p pelago-tests --test papers` runs the commands and writes this page; without the variable it compares.\n\
         Some values are taken from files of rows; `sh docs/evaluation/papers.sh target/release` renews these files first.\n",
    );
    let outputs = outputs(&rows);
    let mut wrong = Vec::new();
    for &(paper, figures, tables) in ITEMS {
        let about = papers[paper].as_str().unwrap();
        write!(
            page,
            "\n## {paper}. {about}\n\n| | value | paper | here | deviation | parameters | by |\n|---|---|---|---|---|---|---|\n"
        )
        .unwrap();
        let items =
            (1..=figures).map(|number| format!("figure {number}")).chain((1..=tables).map(|number| format!("table {number}")));
        let of_paper: Vec<_> = rows.iter().filter(|row| text(row, "paper") == Some(paper)).collect();
        let (mut commands, mut reasons) = (Vec::new(), Vec::<(usize, String, String)>::new());
        for item in items.chain(["text".to_owned()]) {
            let of_item: Vec<_> = of_paper.iter().filter(|row| text(row, "item") == Some(&item)).collect();
            if of_item.is_empty() && item != "text" {
                wrong.push(format!("paper {paper} has no row for {item}"));
            }
            for row in of_item {
                let what = text(row, "what").expect("what");
                let kind = text(row, "kind").expect("kind");
                assert!(KINDS.contains(&kind), "{kind} of {what}");
                let unit = text(row, "unit").map_or(String::new(), |unit| format!(" {unit}"));
                let (published, here) = (number(row, "published"), value(row, &outputs));
                let deviation = published.zip(here).map(|(published, here)| 100.0 * (here / published - 1.0));
                if let (Some(within), Some(deviation)) = (number(row, "within"), deviation)
                    && deviation.abs() > within
                {
                    wrong.push(format!("paper {paper}, {item}, {what}: {deviation:.1} % from the paper, {within} at most"));
                }
                let command = text(row, "command").or(text(row, "made"));
                assert!(command.is_some() || !row.contains_key("file"), "{what}: by which command was its row made?");
                let by = if let Some(command) = command {
                    let shown = [text(row, "over").or(text(row, "made_over")), Some(command)].into_iter().flatten().map(invoked);
                    commands.push(shown.collect::<Vec<_>>().join("\n"));
                    format!("({})", commands.len())
                } else {
                    text(row, "by").expect("by").to_owned()
                };
                let limits = [("above", -1.0), ("below", 1.0)].map(|(key, sign)| number(row, key).map(|limit| (limit, sign)));
                let is_outside = limits.into_iter().flatten().any(|(limit, sign)| here.unwrap() * sign >= limit * sign)
                    || deviation.is_some_and(|deviation| deviation.abs() > DEVIATION_MAX);
                match text(row, "why") {
                    Some(why) if is_outside => reasons.push((commands.len(), what.to_owned(), why.to_owned())),
                    Some(_) => {
                        wrong.push(format!("paper {paper}, {item}, {what}: agrees, but there is a reason why it does not"))
                    }
                    None if is_outside => {
                        wrong.push(format!("paper {paper}, {item}, {what}: differs, and there is no reason why"))
                    }
                    None => {}
                }
                let paper_says =
                    published.map(|value| format!("{}{unit}", shown(value))).or(text(row, "says").map(str::to_owned));
                let here = here.map(|here| format!("{}{unit}", shown(here)));
                let note = text(row, "note").map_or(String::new(), |note| format!("; {note}"));
                let deviation = deviation.map(|deviation| format!("{deviation:+.1} %"));
                let [paper_says, here, deviation] = [paper_says, here, deviation].map(|cell| cell.unwrap_or("–".into()));
                writeln!(page, "| {item} | {what} | {paper_says} | {here} | {deviation} | {kind}{note} | {by} |").unwrap();
            }
        }
        if !reasons.is_empty() {
            page.push_str("\n**What differs, and why:**\n\n");
            // Rows with the same reason are grouped.
            let mut told: Vec<(String, String)> = Vec::new();
            for (number, what, why) in reasons {
                let row = format!("({number}) {what}");
                match told.iter_mut().find(|(_, other)| *other == why) {
                    Some((rows, _)) => write!(rows, "; {row}").unwrap(),
                    None => told.push((row, why)),
                }
            }
            told.iter().for_each(|(rows, why)| writeln!(page, "- {rows}: {why}").unwrap());
        }
        if !commands.is_empty() {
            page.push_str("\n```text\n");
            for (index, command) in commands.iter().enumerate() {
                for line in command.lines() {
                    writeln!(page, "({}) {line}", index + 1).unwrap();
                }
            }
            page.push_str("```\n");
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let path = root().join("docs/papers.md");
    if std::env::var_os("PELAGO_RENEW_DOCUMENTS").is_some() {
        return std::fs::write(path, page).unwrap();
    }
    let written = std::fs::read_to_string(path).unwrap_or_default();
    let differing = written.lines().zip(page.lines()).find(|(written, page)| written != page);
    assert!(
        written == page,
        "docs/papers.md differs, first here: {differing:?}\nrenew it by PELAGO_RENEW_DOCUMENTS=1 cargo test -p pelago-tests --test papers"
    );
}

#[test]
fn numbers_are_found_and_shown() {
    assert_eq!(number_behind("us", "ring ranks 16 us 17.495 steps 15"), Some(17.495));
    assert_eq!(number_behind("us", "{\"bytes\":8,\"us\":2.5}"), Some(2.5));
    assert_eq!(number_behind("us", "bus 3"), None);
    assert_eq!([0.0, 17.495, 2.0, 123_456.7, 0.012_34].map(shown), ["0", "17.5", "2", "123457", "0.0123"]);
}
