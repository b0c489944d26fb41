//! `pelago compare`: two reports side by side, of a real and a simulated run, or of any two runs.

mod comparison;
mod messages;
mod output;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use pelago_report::{ReadError, Report};

use self::comparison::Comparison;
use crate::{Refused, inputs, outputs, printable, say};

/// Maximum length of a report: twice that of a report with as many spans and messages as a time line has.
const REPORT_BYTES_MAX: u64 = 256 << 20;

/// The exit code if the total times differ by more than `--tolerance`.
const OUT_OF_TOLERANCE: u8 = 1;

/// The exit code if the reports are of different runs.
const DIFFERENT_RUNS: u8 = 3;

/// Compare the reports of two runs of a program: a real and a simulated one, or any two
#[derive(Args)]
#[command(after_help = "\
Reports are written by pelago run --report FILE.json and pelago sim --report FILE.json. Differences are those of the second report from the first, in
per cent of the first. Computing and waiting are times of ranks; latencies are times from the post to the completion of an operation.

Rows with numbers of operations and bytes are marked if they differ. They differ for runs of different programs, arguments or versions, but also where
operations depend on time: atomics that are repeated, polls, and algorithms that the library chooses by the network.

Exit codes:
  0  the reports were compared
  1  --tolerance: the total times differ by more
  2  wrong usage, or a file is not a report
  3  the reports are of different programs, arguments or numbers of ranks, or, with --exact, of different operations

For example:
  pelago run -n 2 --report real.json particles
  pelago tune -o here.toml
  pelago sim -n 2 --per-node 2 --machine here.toml --compute measured --report simulated.json particles
  pelago compare real.json simulated.json")]
pub(crate) struct Compare {
    /// First report, from which differences are measured: the real run
    #[arg(value_name = "REAL.json")]
    first: PathBuf,
    /// Second report: the simulated run
    #[arg(value_name = "SIMULATED.json")]
    second: PathBuf,
    /// Fail if the total time of the second report differs by more than this part of the first, in per cent
    #[arg(long, value_name = "PERCENT", allow_negative_numbers = true, value_parser = percent)]
    tolerance: Option<f64>,
    /// Fail also if numbers of operations or bytes differ
    #[arg(long)]
    exact: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

impl Compare {
    pub(crate) fn main(self) -> Result<ExitCode, Refused> {
        let files = [&self.first, &self.second];
        let [first, second] = files.map(|file| read(file));
        let comparison = Comparison::new([&first?, &second?]);
        let names = files.map(|file| file.display().to_string());
        let text = if self.json { output::json(&comparison, &names) } else { output::text(&comparison, &names) };
        outputs::print(&text)?;
        let (code, line) = self.verdict(&comparison);
        line.iter().for_each(|line| say(line));
        Ok(ExitCode::from(code))
    }

    /// Returns the exit code, and its reason.
    fn verdict(&self, comparison: &Comparison) -> (u8, Option<String>) {
        if let Some(why) = comparison.obstacles.first() {
            return (DIFFERENT_RUNS, Some(format!("the reports are of different runs: {why}")));
        }
        if self.exact && !comparison.has_same_operations() {
            return (DIFFERENT_RUNS, Some("--exact: numbers of operations or bytes differ; the rows are marked".into()));
        }
        let Some(tolerance) = self.tolerance else { return (0, None) };
        let by = match comparison.total_time().difference_percent() {
            Some(percent) if percent.abs() <= tolerance => return (0, None),
            Some(percent) => format!("the total times differ by {percent:+.1} %"),
            None => "the first total time is 0, and the second is not".into(),
        };
        (OUT_OF_TOLERANCE, Some(format!("{by}; --tolerance is {tolerance} %")))
    }
}

/// Reads a report.
fn read(file: &Path) -> Result<Report, Refused> {
    let name = file.display();
    let text = inputs::read(file, REPORT_BYTES_MAX).map_err(|error| Refused(format!("cannot read {name}: {error}")))?;
    Report::from_json(&text).map_err(|error| match error {
        ReadError::Json(error) => {
            let what = if text.trim_start().starts_with("{\"displayTimeUnit\"") {
                "it is a trace".into()
            } else if text.trim_start().starts_with("<!") {
                "it is a page".into()
            } else if error.is_eof() {
                format!("it ends too early: {error}")
            } else {
                printable(&error.to_string())
            };
            Refused(format!("{name} is not a report: {what}; pelago run and pelago sim write reports by --report FILE.json"))
        }
        error => Refused(format!("{name}: {error}")),
    })
}

fn percent(text: &str) -> Result<f64, &'static str> {
    text.parse().ok().filter(|percent: &f64| percent.is_finite() && *percent >= 0.0).ok_or("use a number of per cent, at least 0")
}

#[cfg(test)]
mod tests {
    use pelago_base::Instant;
    use pelago_report::{Facts, Limits, Recorder};

    use super::*;

    fn report(end: u64) -> Report {
        let facts = Facts { program: "p".into(), ranks: 1, end: Instant::from_picoseconds(end), ..Facts::default() };
        Recorder::new(Limits::default()).finish(facts)
    }

    fn code(tolerance: Option<f64>, ends: [u64; 2]) -> u8 {
        let [first, second] = ends.map(report);
        let compare = Compare { first: "a".into(), second: "b".into(), tolerance, exact: false, json: false };
        compare.verdict(&Comparison::new([&first, &second])).0
    }

    #[test]
    fn a_terminal_gets_no_control_characters_of_a_report() {
        let raw = "\x1b[2J\u{9b}1m\r\n\t\u{7f}";
        let named = |name: &str| {
            let (program, machine, fault) = (format!("{name}{raw}"), raw.into(), Some(raw.into()));
            Recorder::new(Limits::default()).finish(Facts { program, machine, ranks: 1, fault, ..Facts::default() })
        };
        let [first, second] = ["p", "q"].map(named);
        let comparison = Comparison::new([&first, &second]);
        let text = output::text(&comparison, &["a", "b"].map(str::to_owned));
        assert!(text.contains("p [2J 1m") && text.contains("had a fault:  [2J"), "{text:?}");
        assert!(!text.chars().any(|letter| letter.is_control() && letter != '\n'), "{text:?}");
        let file = std::env::temp_dir().join(format!("pelago-controls-{}", std::process::id()));
        // A kind of operations that no report has.
        let json = first.to_json().replace("\"latencies\":[]", "\"latencies\":[{\"kind\":\"\\u001b[2J\"}]");
        std::fs::write(&file, json).unwrap();
        let line = read(&file).map_or_else(|Refused(line)| line, |_| String::new());
        assert!(line.contains("unknown variant ` [2J`"), "{line:?}");
        std::fs::remove_file(file).unwrap();
    }

    #[test]
    fn the_tolerance_is_in_per_cent_of_the_first_time() {
        assert_eq!(code(None, [100, 900]), 0);
        assert_eq!([code(Some(10.0), [100, 110]), code(Some(10.0), [100, 90]), code(Some(10.0), [110, 100])], [0, 0, 0]);
        assert_eq!([code(Some(10.0), [100, 111]), code(Some(10.0), [100, 89])], [1, 1]);
        assert_eq!([code(Some(0.0), [0, 0]), code(Some(1e9), [0, 1])], [0, 1], "no part of nothing");
        assert!(percent("-1").is_err() && percent("NaN").is_err() && percent("inf").is_err() && percent("x").is_err());
        assert_eq!(percent("2.5"), Ok(2.5));
    }
}
