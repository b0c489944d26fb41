//! Sensitivity of results to the values of a machine: each value is changed alone, down and up, and the results are compared.

use std::collections::BTreeMap;

use clap::ValueEnum;
use pelago_netsim::{KEYS, Quantity};
use serde_json::Value;

use super::plan::{Run, SWEEP_RUNS_MAX, SWEEP_TEXT_BYTES_MAX, too_long};
use super::table::{Table, real};
use crate::Refused;
use crate::sim::description;

/// Maximum number of values that are listed as dominant.
const DOMINANT_MAX: usize = 10;

/// Which values are changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Which {
    /// Those that the description marks as assumed
    Assumed,
    /// All numbers
    All,
}

/// A value of a description, and the mark in the comment behind it.
#[derive(Clone, Debug, PartialEq)]
struct Marked {
    path: String,
    value: f64,
    is_whole: bool,
    /// The first word of the comment: published, fitted, assumed, measured; empty if there is none.
    mark: String,
}

/// A run with one value changed.
#[derive(Clone, Debug)]
pub(crate) struct Experiment {
    /// Index of the run without the change.
    base: usize,
    marked: Marked,
    /// Runs with the decreased and with the increased value.
    pub(crate) changed: [Run; 2],
}

/// Returns the changes of all values of all runs, by `factor` down and up. Values that the sweep itself varies and changes that make the
/// machine invalid are omitted.
///
/// # Errors
/// A machine is invalid, or there are too many changes.
pub(crate) fn experiments(runs: &[Run], which: Which, factor: f64) -> Result<Vec<Experiment>, Refused> {
    let mut of_machines = BTreeMap::new();
    // Whether a change is possible, by the first run of the same machine and values.
    let mut possible: BTreeMap<_, BTreeMap<String, bool>> = BTreeMap::new();
    let mut experiments = Vec::new();
    let mut bytes: usize = runs.iter().map(Run::text_bytes).sum();
    for (base, run) in runs.iter().enumerate() {
        if !of_machines.contains_key(&run.machine) {
            of_machines.insert(run.machine.clone(), marked(&description(&run.machine)?));
        }
        let is_set = |path: &str| run.set.iter().any(|(set, _)| replaces(set, path));
        for marked in of_machines[&run.machine].iter().filter(|marked| which == Which::All || marked.mark == "assumed") {
            let with = |value: f64| {
                let value = if marked.is_whole { value.round().max(1.0) } else { value };
                Run { changed: Some((marked.path.clone(), value.to_string())), ..run.clone() }
            };
            let changed = [with(marked.value / factor), with(marked.value * factor)];
            let mut is_possible = || {
                let of_machine = possible.entry(run.on()).or_default();
                *of_machine.entry(marked.path.clone()).or_insert_with(|| changed.iter().all(|run| run.check().is_ok()))
            };
            if !is_set(&marked.path) && is_possible() {
                bytes += changed.iter().map(Run::text_bytes).sum::<usize>();
                experiments.push(Experiment { base, marked: marked.clone(), changed });
            }
            if runs.len() + 2 * experiments.len() > SWEEP_RUNS_MAX {
                return Err(Refused(format!("--sensitivity needs more than {SWEEP_RUNS_MAX} runs")));
            }
            if bytes > SWEEP_TEXT_BYTES_MAX {
                return Err(Refused(format!("--sensitivity: {}", too_long())));
            }
        }
    }
    Ok(experiments)
}

/// Whether a value that is set at the path `set` takes the place of the one at `path`. A path without the number of a rail means all rails in
/// `set`, and the only one in `path`. A table takes the place of all its values, and a type of a topology that of its table.
fn replaces(set: &str, path: &str) -> bool {
    let set = set.trim();
    let set = set.strip_suffix(".type").filter(|set| set.ends_with("topology")).unwrap_or(set);
    let is_number = |part: &&str| part.parse::<usize>().is_ok();
    let rail = |path: &str| path.split('.').nth(1).and_then(|part| part.parse::<usize>().ok());
    let is_of_rail = rail(set).is_none_or(|number| number == rail(path).unwrap_or(0));
    let mut parts = path.split('.').filter(|part| !is_number(part));
    is_of_rail && set.split('.').filter(|part| !is_number(part)).all(|part| parts.next() == Some(part))
}

/// Returns the numbers of a description that may be scaled, with the mark from the comment on the same line.
fn marked(text: &str) -> Vec<Marked> {
    let rails = text.lines().filter(|line| line.trim_start().starts_with("[[rail]]")).count();
    let (mut rail, mut table) = (0, String::new());
    let mut found = Vec::new();
    for line in text.lines() {
        let (code, comment) = split_comment(line);
        if code == "[[rail]]" {
            rail += 1;
            table = "rail".into();
        } else if let Some(name) = code.strip_prefix('[').and_then(|code| code.strip_suffix(']')) {
            name.trim().clone_into(&mut table);
        } else if let Some((key, value)) = code.split_once('=') {
            let key = if table.is_empty() { key.trim().to_owned() } else { format!("{table}.{}", key.trim()) };
            let Some((_, quantity)) = KEYS.iter().find(|(known, _)| *known == key) else { continue };
            let is_whole = matches!(quantity, Quantity::Bytes(_) | Quantity::Count(_));
            let scales = is_whole
                || matches!(
                    quantity,
                    Quantity::Nanoseconds | Quantity::GigabytesPerSecond | Quantity::Probability | Quantity::Number
                );
            let value = value.trim().replace('_', "").parse().ok().filter(|value: &f64| value.is_finite() && *value > 0.0);
            if let (true, Some(value)) = (scales, value) {
                let path = match key.strip_prefix("rail.") {
                    Some(rest) if rails > 1 => format!("rail.{}.{rest}", rail - 1),
                    _ => key,
                };
                let mark = comment.split(|found: char| !found.is_alphabetic()).find(|word| !word.is_empty());
                found.push(Marked { path, value, is_whole, mark: mark.unwrap_or_default().to_lowercase() });
            }
        }
    }
    found
}

/// Splits a line of TOML at the first `#` outside a string.
fn split_comment(line: &str) -> (&str, &str) {
    let mut is_text = false;
    for (place, found) in line.char_indices() {
        match found {
            '"' => is_text = !is_text,
            '#' if !is_text => return (line[..place].trim(), &line[place + 1..]),
            _ => {}
        }
    }
    (line.trim(), "")
}

/// Returns the table of all changes; `measures` are the results of the unchanged runs, `changed` those with a decreased and an increased value.
pub(crate) fn table(runs: &[Run], experiments: &[Experiment], measures: &[Option<f64>], changed: &[[Option<f64>; 2]]) -> Table {
    let columns = [
        "program",
        "machine",
        "ranks",
        "per_node",
        "seed",
        "set",
        "path",
        "mark",
        "value",
        "less",
        "more",
        "measure",
        "with_less",
        "with_more",
        "change",
    ];
    let number = |number: Option<f64>| number.map_or(Value::Null, real);
    let row = |(Experiment { base, marked, changed: [less, more] }, of): (&Experiment, &[Option<f64>; 2])| {
        let run = &runs[*base];
        let set = run.set.iter().map(|(path, value)| format!("{path}={value}")).collect::<Vec<_>>().join(" ");
        let value = |run: &Run| run.changed.as_ref().map_or(Value::Null, |(_, value)| value.clone().into());
        vec![
            run.words.join(" ").into(),
            run.machine.clone().into(),
            run.ranks.into(),
            run.per_node.into(),
            run.seed.into(),
            set.into(),
            marked.path.clone().into(),
            marked.mark.clone().into(),
            real(marked.value),
            value(less),
            value(more),
            number(measures[*base]),
            number(of[0]),
            number(of[1]),
            number(change(measures[*base], *of)),
        ]
    };
    Table { columns: columns.map(str::to_owned).into(), rows: experiments.iter().zip(changed).map(row).collect() }
}

/// Returns the larger of both changes relative to the result without a change.
fn change(base: Option<f64>, changed: [Option<f64>; 2]) -> Option<f64> {
    let base = base.filter(|&base| base > 0.0)?;
    changed.into_iter().flatten().map(|changed| (changed / base - 1.0).abs()).reduce(f64::max)
}

/// Returns one line for each of the values with the largest mean change over all runs on a machine.
pub(crate) fn dominant(
    runs: &[Run],
    experiments: &[Experiment],
    measures: &[Option<f64>],
    changed: &[[Option<f64>; 2]],
) -> Vec<String> {
    let mut of_values: BTreeMap<(&str, &str), (Vec<f64>, &Marked)> = BTreeMap::new();
    for (Experiment { base, marked, .. }, of) in experiments.iter().zip(changed) {
        if let Some(change) = change(measures[*base], *of) {
            of_values.entry((&runs[*base].machine, &marked.path)).or_insert_with(|| (Vec::new(), marked)).0.push(change);
        }
    }
    let mean = |changes: &[f64]| changes.iter().sum::<f64>() / changes.len() as f64;
    let mut lines: Vec<(f64, String)> = of_values
        .into_iter()
        .map(|((machine, path), (changes, marked))| {
            let (mean, most) = (mean(&changes), changes.iter().copied().fold(0.0, f64::max));
            let Marked { value, mark, .. } = marked;
            let mark = if mark.is_empty() { "no source" } else { mark };
            (mean, format!("{:>6.1} %  {:>6.1} %  {machine}: {path} = {value} ({mark})", mean * 100.0, most * 100.0))
        })
        .collect();
    lines.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    lines.truncate(DOMINANT_MAX);
    lines.into_iter().map(|(_, line)| line).collect()
}

#[cfg(test)]
mod tests {
    use pelago_netsim::Machine;

    use super::*;

    #[test]
    fn numbers_of_descriptions_are_found_with_their_marks() {
        let found = marked(Machine::bundled("dragonfly-slingshot").unwrap());
        let of = |path: &str| found.iter().find(|marked| marked.path == path);
        let overhead = Marked { path: "rail.nic.overhead_ns".into(), value: 800.0, is_whole: false, mark: "assumed".into() };
        assert_eq!(of("rail.nic.overhead_ns"), Some(&overhead));
        assert!(of("rail.router.vcs").is_some_and(|marked| marked.is_whole && marked.value == 4.0));
        assert!(of("rail.link.gb_per_s").is_some_and(|marked| marked.mark == "published"));
        assert_eq!((of("rail.router.credit_ns"), of("rail.kind")), (None, None), "zero and words cannot be scaled");
        // Paths distinguish the rails of a machine with several, and all paths can be set.
        for name in Machine::names() {
            let text = Machine::bundled(name).unwrap();
            for Marked { path, value, .. } in marked(text) {
                assert!(crate::sim::overrides::apply(text, &[format!("{path}={value}")]).is_ok(), "{name}: {path}");
            }
        }
        assert!(marked(Machine::bundled("ha-pacs-tca").unwrap()).iter().any(|marked| marked.path == "rail.1.nic.overhead_ns"));
        assert_eq!(split_comment("name = \"a # b\" # c: d"), ("name = \"a # b\"", " c: d"));
    }

    #[test]
    fn values_that_the_sweep_varies_are_omitted() {
        for (set, path, expected) in [
            ("rail.nic.gap_ns", "rail.nic.gap_ns", true),
            ("rail.nic.gap_ns", "rail.1.nic.gap_ns", true),
            ("rail.0.nic.gap_ns", "rail.nic.gap_ns", true),
            ("rail.1.nic.gap_ns", "rail.1.nic.gap_ns", true),
            ("rail.1.nic.gap_ns", "rail.0.nic.gap_ns", false),
            ("rail.nic", "rail.0.nic.gap_ns", true),
            ("rail.topology.type", "rail.topology.group_ns", true),
            ("rail.nic.gap_ns", "rail.nic.overhead_ns", false),
            ("node.copy_ns", "rail.nic.gap_ns", false),
        ] {
            assert_eq!(replaces(set, path), expected, "{set} {path}");
        }
        // Both rails of the machine have the value.
        let sweep = "programs = [\"ring\"]\nmachines = [\"ha-pacs-tca\"]\nranks = [2]\n[set]\n\"rail.nic.overhead_ns\" = [77]";
        let runs = super::super::plan::Sweep::parse(sweep).unwrap().runs().unwrap();
        let experiments = experiments(&runs, Which::All, 2.0).unwrap_or_else(|Refused(line)| panic!("{line}"));
        let paths: Vec<&str> = experiments.iter().map(|experiment| &*experiment.marked.path).collect();
        assert!(
            paths.contains(&"rail.1.nic.packet_bytes") && paths.iter().all(|path| !path.ends_with("overhead_ns")),
            "{paths:?}"
        );
    }

    #[test]
    fn the_value_with_the_largest_change_comes_first() {
        let sweep = "programs = [\"ring\"]\nmachines = [\"rx200-qdr\"]\nranks = [2]\n[set]\n\"rail.nic.packet_bytes\" = [1024]";
        let runs = super::super::plan::Sweep::parse(sweep).unwrap().runs().unwrap();
        let experiments = experiments(&runs, Which::All, 2.0).unwrap_or_else(|Refused(line)| panic!("{line}"));
        assert!(experiments.iter().all(|experiment| experiment.marked.path != "rail.nic.packet_bytes"), "the sweep varies it");
        let of = |experiment: &Experiment| match &*experiment.marked.path {
            "rail.nic.overhead_ns" => [Some(5.0), Some(18.0)],
            "rail.link.cable_ns" => [Some(10.0), None],
            _ => [Some(10.0), Some(9.0)],
        };
        let changed: Vec<_> = experiments.iter().map(of).collect();
        let lines = dominant(&runs, &experiments, &[Some(10.0)], &changed);
        assert!(lines[0].contains("80.0 %") && lines[0].contains("rx200-qdr: rail.nic.overhead_ns = "), "{lines:?}");
        assert!(lines[1].contains("10.0 %") && lines.len() <= DOMINANT_MAX, "{lines:?}");
        let table = table(&runs, &experiments, &[Some(10.0)], &changed);
        let row = table.rows.iter().find(|row| row[6] == "rail.nic.overhead_ns").unwrap();
        assert_eq!(
            (row[9].as_str(), row[10].as_str(), row[14].as_f64().map(|change| change > 0.79)),
            (Some("500"), Some("2000"), Some(true))
        );
        assert_eq!(change(None, [Some(1.0); 2]), None);
    }
}
