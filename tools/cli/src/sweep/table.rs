//! The table of a sweep: a row for each run, in the order of the sweep's file.

use std::collections::BTreeSet;

use serde_json::{Map, Number, Value};

use super::plan::{COLUMNS, Run, Sweep};
use super::results::Outcome;
use crate::sim::overrides;

/// Columns of the results of each run, in addition to its parameters.
pub(crate) const FIGURES: [&str; 14] = [
    "exit",
    "time_us",
    "events",
    "packets",
    "packet_hops",
    "bytes",
    "drops",
    "retries",
    "pauses",
    "marks",
    "link_use_max",
    "queue_max",
    "fault",
    "error",
];

/// Largest number up to which each whole number has a floating-point number of its own.
const EXACT_WHOLE: f64 = (1_u64 << 53) as f64;

/// What the cells of a column are, if they are not null.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Text,
    Signed,
    Unsigned,
    Real,
}

/// Column names, and rows with one cell for each column.
#[derive(Debug, PartialEq)]
pub(crate) struct Table {
    pub(crate) columns: Vec<String>,
    pub(crate) rows: Vec<Vec<Value>>,
}

impl Table {
    /// Builds the table of these runs; runs without an outcome have only their parameters.
    pub(crate) fn new<'a>(sweep: &Sweep, runs: impl Iterator<Item = (&'a Run, Option<&'a Outcome>)> + Clone) -> Self {
        let mut parameters = Vec::new();
        for (name, _) in runs.clone().flat_map(|(run, _)| run.arguments.iter().chain(&run.set)) {
            if !parameters.contains(name) {
                parameters.push(name.clone());
            }
        }
        let fixed = COLUMNS.iter().map(|&name| name.to_owned());
        let figures = FIGURES.iter().map(|&name| name.to_owned());
        let columns = fixed.chain(parameters.iter().cloned()).chain(figures).chain(sweep.outputs.keys().cloned()).collect();
        let row = |(number, (run, outcome)): (usize, (&Run, Option<&Outcome>))| {
            let mut row: Vec<Value> = vec![
                number.into(),
                run.words.join(" ").into(),
                run.machine.clone().into(),
                run.ranks.into(),
                run.per_node.into(),
                run.seed.into(),
            ];
            let value = |name: &String| {
                let argument = run.arguments.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
                let set = || run.set.iter().find(|(known, _)| known == name);
                let value = argument.or_else(|| set().map(|(path, value)| overrides::in_unit_of_key(path, value)));
                value.map_or(Value::Null, Value::String)
            };
            row.extend(parameters.iter().map(value));
            row.extend(figures_of(outcome));
            let output =
                |name: &String| outcome.and_then(|outcome| outcome.outputs.get(name)).map_or(Value::Null, |&number| real(number));
            row.extend(sweep.outputs.keys().map(output));
            row
        };
        let mut rows: Vec<_> = runs.enumerate().map(row).collect();
        (COLUMNS.len()..COLUMNS.len() + parameters.len()).for_each(|column| make_numbers(&mut rows, column));
        Self { columns, rows }
    }

    /// Returns the index of a column.
    pub(crate) fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column == name)
    }

    /// Returns the number in a column of a row; `None` if there is none, or if the run failed: its figures are those until the failure.
    pub(crate) fn figure(&self, row: &[Value], column: usize) -> Option<f64> {
        let has_failed = self.column("exit").is_some_and(|exit| row[exit].as_i64() != Some(0));
        if has_failed { None } else { number(&row[column]) }
    }

    /// Returns the indexes of parameter columns with several values.
    pub(crate) fn varied(&self) -> Vec<usize> {
        let parameters = 1..self.columns.iter().position(|name| name == FIGURES[0]).unwrap_or(0);
        let values = |&column: &usize| self.rows.iter().map(|row| row[column].to_string()).collect::<BTreeSet<_>>().len();
        parameters.filter(|column| values(column) > 1).collect()
    }

    /// Returns the kind of each column of a table of runs: parameters of the machine and arguments are what their cells are, columns of outputs are
    /// numbers.
    pub(crate) fn kinds(&self) -> Vec<Kind> {
        let figures = self.columns.iter().position(|name| name == FIGURES[0]).unwrap_or(self.columns.len());
        let kind = |(place, name): (usize, &String)| match name.as_str() {
            "run" | "ranks" | "per_node" | "seed" if place < COLUMNS.len() => Kind::Unsigned,
            _ if place < figures => match self.rows.iter().map(|row| &row[place]).find(|cell| !cell.is_null()) {
                Some(cell) if cell.is_i64() => Kind::Signed,
                Some(cell) if cell.is_f64() => Kind::Real,
                _ => Kind::Text,
            },
            _ if place >= figures + FIGURES.len() => Kind::Real,
            "exit" => Kind::Signed,
            "time_us" | "link_use_max" => Kind::Real,
            "fault" | "error" => Kind::Text,
            _ => Kind::Unsigned,
        };
        self.columns.iter().enumerate().map(kind).collect()
    }

    pub(crate) fn to_csv(&self) -> String {
        let cell = |value: &Value| match value {
            Value::Null => String::new(),
            Value::String(text) if text.contains([',', '"', '\n', '\r']) => format!("\"{}\"", text.replace('"', "\"\"")),
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let head = self.columns.iter().map(|name| cell(&name.clone().into())).collect::<Vec<_>>().join(",");
        let rows = self.rows.iter().map(|row| row.iter().map(cell).collect::<Vec<_>>().join(","));
        std::iter::once(head).chain(rows).map(|line| line + "\n").collect()
    }

    /// Returns a JSON list with one object per line.
    pub(crate) fn to_json(&self) -> String {
        let object = |row: &Vec<Value>| {
            let cells = self.columns.iter().cloned().zip(row.iter().cloned());
            format!("  {}", Value::Object(cells.collect::<Map<_, _>>()))
        };
        format!("[\n{}\n]\n", self.rows.iter().map(object).collect::<Vec<_>>().join(",\n"))
    }
}

/// Replaces the texts of a column by numbers if all of them are numbers, and by whole ones if all of them are whole.
fn make_numbers(rows: &mut [Vec<Value>], column: usize) {
    let number = |row: &Vec<Value>| row[column].as_str()?.parse().ok().filter(|number: &f64| number.is_finite());
    let Some(numbers) = rows.iter().filter(|row| !row[column].is_null()).map(number).collect::<Option<Vec<f64>>>() else {
        return;
    };
    let are_whole = numbers.iter().all(|number| number.fract() == 0.0 && number.abs() <= EXACT_WHOLE);
    for row in rows {
        if let Some(number) = number(row) {
            row[column] = if are_whole { (number as i64).into() } else { real(number) };
        }
    }
}

/// Returns the number in a cell, also if it is stored as text.
pub(crate) fn number(value: &Value) -> Option<f64> {
    value.as_f64().or_else(|| value.as_str()?.parse().ok()).filter(|number: &f64| number.is_finite())
}

/// Returns a JSON number, or null if JSON cannot represent it.
pub(crate) fn real(number: f64) -> Value {
    Number::from_f64(number).map_or(Value::Null, Value::Number)
}

/// Returns the result cells in the order of [`FIGURES`].
fn figures_of(outcome: Option<&Outcome>) -> [Value; FIGURES.len()] {
    let Some(outcome) = outcome else { return [const { Value::Null }; FIGURES.len()] };
    let text = |text: &Option<String>| text.clone().map_or(Value::Null, Value::String);
    let (exit, error) = (outcome.exit.into(), text(&outcome.error));
    let Some(summary) = &outcome.summary else {
        let mut figures = [const { Value::Null }; FIGURES.len()];
        (figures[0], figures[FIGURES.len() - 1]) = (exit, error);
        return figures;
    };
    [
        exit,
        real(summary.end_ps as f64 / 1e6),
        summary.events.into(),
        summary.packets.into(),
        summary.packet_hops.into(),
        summary.bytes.into(),
        summary.drops.into(),
        summary.retries.into(),
        summary.pauses.into(),
        summary.marks.into(),
        real(summary.link_use_max),
        summary.queue_max.into(),
        text(&summary.fault),
        error,
    ]
}

#[cfg(test)]
mod tests {
    use pelago_simulator::SimulationSummary;

    use super::*;

    #[test]
    fn a_table_has_a_row_for_each_run() {
        let text = "programs = [[\"ring\", \"a,\\\"b\"]]\nmachines = [\"rx200-qdr\"]\nranks = [2, 4]\n[outputs]\nus = \"us\"\n[set]\n\"node.copy_ns\" = [1]";
        let sweep = Sweep::parse(text).unwrap();
        let runs = sweep.runs().unwrap();
        let summary = SimulationSummary { end_ps: 1_234_567, events: 9, ..Default::default() };
        let good = Outcome { summary: Some(summary), outputs: [("us".to_owned(), 0.5)].into(), ..Default::default() };
        let table = Table::new(&sweep, [(&runs[0], Some(&good)), (&runs[1], None)].into_iter());
        let csv = table.to_csv();
        let lines: Vec<&str> = csv.lines().collect();
        assert_eq!(
            lines[0],
            "run,program,machine,ranks,per_node,seed,node.copy_ns,exit,time_us,events,packets,packet_hops,bytes,drops,retries,pauses,marks,\
             link_use_max,queue_max,fault,error,us"
        );
        assert_eq!(lines[1], "0,\"ring a,\"\"b\",rx200-qdr,2,1,0,1,0,1.234567,9,0,0,0,0,0,0,0,0.0,0,,,0.5");
        assert_eq!(lines[2], "1,\"ring a,\"\"b\",rx200-qdr,4,1,0,1,,,,,,,,,,,,,,,");
        let json: Vec<Map<String, Value>> = serde_json::from_str(&table.to_json()).unwrap();
        assert_eq!((json.len(), json[0]["us"].as_f64(), json[1]["time_us"].is_null()), (2, Some(0.5), true));
        assert_eq!(table.varied(), [3]);
        for (kind, column) in table.kinds().into_iter().zip(0..) {
            let fits = |cell: &Value| match kind {
                Kind::Text => cell.is_string(),
                Kind::Signed => cell.is_i64(),
                Kind::Unsigned => cell.is_u64(),
                Kind::Real => cell.is_f64(),
            };
            assert!(table.rows.iter().all(|row| row[column].is_null() || fits(&row[column])), "{}", table.columns[column]);
        }
    }

    #[test]
    fn parameters_are_numbers_in_the_units_of_their_keys() {
        let text = "programs = [\"barrier --algorithm {how} --repeat {times}\"]\nmachines = [\"rx200-qdr\"]\nranks = [2]\n[set]\n\
                    \"rail.link.cable_ns\" = [5, \"1us\"]\n\"rail.link.gb_per_s\" = [\"100Gb/s\", 4]\n\"rail.nic.read_gb_per_s\" = [1, inf]\n\
                    [arguments]\nhow = [\"ring\", 7]\ntimes = [1, 2]";
        let sweep = Sweep::parse(text).unwrap();
        let runs = sweep.runs().unwrap();
        let table = Table::new(&sweep, runs.iter().map(|run| (run, None)));
        let kinds: Vec<_> = table.columns.iter().cloned().zip(table.kinds()).skip(COLUMNS.len()).take(5).collect();
        let cells = |name| {
            let column = table.column(name).unwrap();
            table.rows.iter().map(|row| row[column].to_string()).collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>()
        };
        for (name, kind, values) in [
            ("how", Kind::Text, ["\"7\"", "\"ring\""]),
            ("times", Kind::Signed, ["1", "2"]),
            ("rail.link.cable_ns", Kind::Signed, ["1000", "5"]),
            ("rail.link.gb_per_s", Kind::Real, ["12.5", "4.0"]),
            ("rail.nic.read_gb_per_s", Kind::Text, ["\"1\"", "\"inf\""]),
        ] {
            assert!(kinds.contains(&(name.to_owned(), kind)), "{kinds:?}");
            assert_eq!(cells(name), values, "{name}");
        }
    }
}
