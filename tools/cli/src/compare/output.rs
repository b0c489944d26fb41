//! A comparison as a table and as JSON.

use std::fmt::Write;

use serde_json::{Value, json};

use super::comparison::{Comparison, Row, Side, Unit};
use super::messages::{Pairs, Traffic};
use crate::printable;

/// Returns the comparison of the files `names` as text.
pub(super) fn text(comparison: &Comparison, names: &[String; 2]) -> String {
    let mut text = String::new();
    let columns = titles(&comparison.sides);
    for (name, (title, side)) in names.iter().zip(columns.iter().zip(&comparison.sides)) {
        let _ = writeln!(text, "{title}: {name}: {}", printable(&about(side)));
    }
    for obstacle in &comparison.obstacles {
        let _ = writeln!(text, "NOT THE SAME RUN: {obstacle}");
    }
    for remark in &comparison.remarks {
        let _ = writeln!(text, "note: {}", printable(remark));
    }
    text += "\n";
    let texts: Vec<[String; 3]> = comparison.rows.iter().map(cells).collect();
    let name_width = comparison.rows.iter().map(|row| row.name.len() + 2).chain([SECTION_WIDTH_MIN]).max().unwrap_or(0);
    let width = |column: usize, title: &str| {
        texts.iter().map(|cells| cells[column].chars().count()).chain([title.len()]).max().unwrap_or(0)
    };
    let widths = [width(0, columns[0]), width(1, columns[1]), width(2, DIFFERENCE)];
    let mut line = |name: &str, cells: [&str; 3], mark: &str| {
        let [first, second, difference] = cells;
        let [a, b, c] = widths;
        let line = format!("{name:name_width$}  {first:>a$}  {second:>b$}  {difference:>c$}{mark}");
        let _ = writeln!(text, "{}", line.trim_end());
    };
    line("", [columns[0], columns[1], DIFFERENCE], "");
    let mut section = "";
    for (row, [first, second, difference]) in comparison.rows.iter().zip(&texts) {
        if section != row.section {
            section = &row.section;
            line(section, [""; 3], "");
        }
        line(&format!("  {}", row.name), [first, second, difference], if row.contradicts() { "  !" } else { "" });
    }
    if let Some(Pairs { count, differing, largest }) = comparison.pairs.as_ref().filter(|pairs| pairs.differing > 0) {
        let _ = writeln!(text, "\n{differing} of {count} pairs of ranks exchange other messages; those that differ most:");
        for ((from, to), [first, second]) in largest {
            let side = |of: &Traffic| format!("{} messages, {} bytes", of.count, of.bytes);
            let _ = writeln!(text, "  {from} to {to}: {}; {}", side(first), side(second));
        }
    }
    let _ = writeln!(text, "\n{}", conclusion(comparison));
    text
}

/// Returns the comparison of the files `names` as one JSON object on one line.
pub(super) fn json(comparison: &Comparison, names: &[String; 2]) -> String {
    let runs: Vec<Value> = names.iter().zip(&comparison.sides).map(|(name, side)| run(name, side)).collect();
    let rows: Vec<Value> = comparison
        .rows
        .iter()
        .map(|row| {
            let unit = match row.unit {
                Unit::Picoseconds => "ps",
                Unit::Count => "count",
                Unit::Bytes => "bytes",
            };
            let (difference, [first, second]) = (row.difference_percent(), row.values);
            json!({
                "section": row.section, "name": row.name, "unit": unit, "first": first, "second": second,
                "difference_percent": difference, "contradicts": row.contradicts(),
            })
        })
        .collect();
    let pairs = comparison.pairs.as_ref().map(|pairs| {
        let traffic = |of: &Traffic| json!({ "count": of.count, "bytes": of.bytes });
        let pair = |((from, to), [first, second]): &((u32, u32), [Traffic; 2])| {
            json!({ "from": from, "to": to, "first": traffic(first), "second": traffic(second) })
        };
        let largest: Vec<Value> = pairs.largest.iter().map(pair).collect();
        json!({ "count": pairs.count, "differing": pairs.differing, "largest": largest })
    });
    let whole = json!({
        "runs": runs,
        "obstacles": comparison.obstacles,
        "remarks": comparison.remarks,
        "same_operations": comparison.has_same_operations(),
        "time_difference_percent": comparison.total_time().difference_percent(),
        "rows": rows,
        "pairs": pairs,
    });
    format!("{whole}\n")
}

/// The title of the third column.
const DIFFERENCE: &str = "difference";

/// Minimum width of the first column, in characters.
const SECTION_WIDTH_MIN: usize = 28;

fn run(name: &str, side: &Side) -> Value {
    json!({
        "file": name, "program": side.program, "machine": side.machine, "real": side.is_real, "ranks": side.ranks, "nodes": side.nodes,
        "seed": side.seed, "computing": side.computing,
    })
}

/// Returns the titles of the columns.
fn titles(sides: &[Side; 2]) -> [&'static str; 2] {
    match sides.each_ref().map(|side| side.is_real) {
        [true, false] => ["real", "simulated"],
        [false, true] => ["simulated", "real"],
        _ => ["first", "second"],
    }
}

fn about(side: &Side) -> String {
    let Side { program, machine, ranks, nodes, seed, computing, is_real } = side;
    let (ranks, nodes) = (counted(u64::from(*ranks), "rank"), counted(u64::from(*nodes), "node"));
    if *is_real {
        return format!("{program}, {ranks} on {nodes}, recorded");
    }
    format!("{program}, {ranks} on {nodes} of {machine}, simulated; computing: {computing}; seed {seed}")
}

fn counted(number: u64, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

/// Returns the values of a row and their difference as text.
fn cells(row: &Row) -> [String; 3] {
    let value = |value: Option<u64>| match (value, row.unit) {
        (None, _) => "-".into(),
        (Some(value), Unit::Picoseconds) => time(value as f64),
        (Some(value), Unit::Count | Unit::Bytes) => value.to_string(),
    };
    let [first, second] = row.values.map(value);
    let difference = match row.difference_percent() {
        _ if row.values[0] == row.values[1] => "equal".into(),
        Some(percent) if percent >= 1000.0 => format!("{percent:+.0} %"),
        Some(percent) => format!("{percent:+.1} %"),
        None => "-".into(),
    };
    [first, second, difference]
}

/// Returns a time in a unit in which it is at least 1.
fn time(picoseconds: f64) -> String {
    let (size, unit) = [(1e12, "s"), (1e9, "ms"), (1e6, "µs"), (1e3, "ns")]
        .into_iter()
        .find(|(size, _)| picoseconds.abs() >= *size)
        .unwrap_or((1.0, "ps"));
    let value = picoseconds / size;
    if size == 1.0 { format!("{value} {unit}") } else { format!("{value:.3} {unit}") }
}

/// Returns the difference of the total times, and the activities of ranks that it comes from.
fn conclusion(comparison: &Comparison) -> String {
    let change = |row: &Row| row.values[1].unwrap_or(0) as f64 - row.values[0].unwrap_or(0) as f64;
    let mean =
        |section: &str| comparison.rows.iter().find(|row| row.section == section && row.name == "mean").map_or(0.0, change);
    let total = comparison.total_time();
    let of_first = total.difference_percent().map_or(String::new(), |percent| format!(" ({percent:+.1} %)"));
    let signed = |time_ps: f64| format!("{}{}", if time_ps < 0.0 { "-" } else { "+" }, time(time_ps.abs()));
    format!(
        "the total time differs by {}{of_first}; in the mean of the ranks, computing differs by {} and waiting by {}",
        signed(change(total)),
        signed(mean("computing of a rank")),
        signed(mean("waiting of a rank"))
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_readable_units() {
        let times = [0.0, 999.0, 1500.0, 2.5e6, 2e9, 3.25e12].map(time);
        assert_eq!(times, ["0 ps", "999 ps", "1.500 ns", "2.500 µs", "2.000 ms", "3.250 s"]);
        let row = |values, unit| Row { section: "s".into(), name: "n".into(), unit, values, is_of_program: false };
        assert_eq!(cells(&row([Some(1000), Some(1250)], Unit::Picoseconds)), ["1.000 ns", "1.250 ns", "+25.0 %"]);
        assert_eq!(cells(&row([Some(7), Some(7)], Unit::Count)), ["7", "7", "equal"]);
        assert_eq!(cells(&row([Some(0), Some(7)], Unit::Bytes)), ["0", "7", "-"]);
        assert_eq!(cells(&row([None, Some(7)], Unit::Bytes)), ["-", "7", "-"]);
    }
}
