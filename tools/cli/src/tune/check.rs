//! `pelago tune --check`: programs that run here, and the same simulated.

use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use pelago_launch::names;
use pelago_simulator::{Computing, Data, SimulationRequest, Summary, VARIABLE};

use serde_json::json;

use super::figures::median;
use crate::{Refused, bundled};

/// Ranks of every program.
const RANKS: u32 = 2;

/// What is compared: a program of its own default size, and where in what it prints its time stands.
struct Case {
    name: &'static str,
    arguments: &'static [&'static str],
    /// The word before the time, and what its unit is in nanoseconds.
    before: &'static str,
    unit_ns: f64,
}

const CASES: [Case; 4] = [
    Case { name: "ring", arguments: &["--repeat", "20000", "--warm-up", "2000"], before: "us", unit_ns: 1e3 },
    Case { name: "barrier", arguments: &["--repeat", "20000", "--warm-up", "2000"], before: "us", unit_ns: 1e3 },
    Case { name: "particles", arguments: &[], before: "total", unit_ns: 1e6 },
    Case { name: "himeno", arguments: &["S", "--iterations", "300"], before: "seconds", unit_ns: 1e9 },
];

/// The times of all programs so far, in nanoseconds.
#[derive(Default)]
pub(crate) struct Check {
    real: [Vec<f64>; CASES.len()],
    simulated: [Vec<f64>; CASES.len()],
}

impl Check {
    /// Runs each program here.
    pub(crate) fn run(&mut self, this: &Path) -> Result<(), Refused> {
        CASES.iter().zip(&mut self.real).try_for_each(|(case, times)| {
            times.push(case.time(&mut case.real(this))?);
            Ok(())
        })
    }

    /// Runs each program simulated on the machine that `machine` describes.
    pub(crate) fn simulate(&mut self, this: &Path, machine: &str) -> Result<(), Refused> {
        CASES.iter().zip(&mut self.simulated).try_for_each(|(case, times)| {
            times.push(case.time(&mut case.simulation(this, machine))?);
            Ok(())
        })
    }

    /// Of each program: its name, the medians of its real and simulated times in microseconds, and the error in per cent.
    fn medians(&self) -> impl Iterator<Item = (&'static str, [f64; 2], f64)> {
        CASES.iter().zip(&self.real).zip(&self.simulated).map(|((case, real), simulated)| {
            let times = [real, simulated].map(|times| median(times.clone()) / 1e3);
            (case.name, times, (times[1] / times[0] - 1.0) * 100.0)
        })
    }

    /// The medians as a JSON object for each program, once all has run.
    pub(crate) fn json(&self) -> String {
        let object = |(program, [real_us, simulated_us], error_percent): (&str, [f64; 2], f64)| {
            let object =
                json!({ "program": program, "real_us": real_us, "simulated_us": simulated_us, "error_percent": error_percent });
            format!("{object}\n")
        };
        self.medians().map(object).collect()
    }

    /// The same as a table.
    pub(crate) fn table(&self) -> String {
        let mut text = format!("{:<12}{:>16}{:>16}{:>10}\n", "program", "real µs", "simulated µs", "error %");
        let mut errors = Vec::new();
        for (program, [real, simulated], error) in self.medians() {
            let _ = writeln!(text, "{program:<12}{real:>16.3}{simulated:>16.3}{error:>+10.1}");
            errors.push(error.abs());
        }
        let _ = writeln!(text, "{:<44}{:>10.1}", "median error", median(errors));
        text
    }
}

impl Case {
    fn real(&self, this: &Path) -> Command {
        let mut command = Command::new(this);
        command.args(["run", "-n", &RANKS.to_string(), "--transport", "shm", self.name]).args(self.arguments);
        command
    }

    fn simulation(&self, this: &Path, machine: &str) -> Command {
        let request = SimulationRequest {
            machine: machine.into(),
            ranks: RANKS,
            per_node: RANKS,
            seed: 0,
            heap_bytes: None,
            stack_bytes: None,
            protocol: None,
            data: Data::Real,
            computing: Computing::Measured { scale: 1.0 },
            time_limit_seconds: None,
            summary: Summary::None,
            progress: false,
            program: self.name.into(),
            report: None,
            trace: None,
        };
        let mut command = Command::new(this);
        command.args([bundled::COMMAND, self.name]).args(self.arguments);
        command.env(VARIABLE, request.to_variable()).env_remove(names::RANK);
        command
    }

    /// Runs a program to its end; returns the time that it prints.
    fn time(&self, command: &mut Command) -> Result<f64, Refused> {
        let refused = |why: &dyn std::fmt::Display| Refused(format!("tune: {}: {why}", self.name));
        let output = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output().map_err(|error| refused(&error))?;
        if !output.status.success() {
            return Err(refused(&output.status));
        }
        let text = String::from_utf8_lossy(&output.stdout);
        self.find(&text).ok_or_else(|| refused(&"it printed no time"))
    }

    /// The time in what the program has printed.
    fn find(&self, text: &str) -> Option<f64> {
        let number: f64 = text.split_whitespace().skip_while(|word| *word != self.before).nth(1)?.parse().ok()?;
        (number > 0.0).then_some(number * self.unit_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_stands_behind_its_word() {
        let [ring, _, particles, himeno] = &CASES;
        assert_eq!(ring.find("ring ranks 2 us 0.250\n"), Some(250.0));
        assert_eq!(particles.find("phase slowest ms mean ms\nput 1.0 1.0\ntotal      15.361      15.342\n"), Some(15_361_000.0));
        assert_eq!(himeno.find("seconds    0.5\nMFLOPS     1.0\n"), Some(5e8));
        assert_eq!((ring.find("ring ranks 2 us x"), ring.find("us"), ring.find(""), ring.find("us 0")), (None, None, None, None));
    }

    #[test]
    fn an_error_is_that_of_the_medians() {
        let real = [vec![100.0, 900.0, 100.0], vec![100.0], vec![100.0], vec![100.0]];
        let simulated = [vec![110.0], vec![80.0], vec![100.0, 103.0, 1.0], vec![150.0]];
        let table = Check { real, simulated }.table();
        assert!(["+10.0", "-20.0", "+0.0", "+50.0"].iter().all(|error| table.contains(error)), "{table}");
        assert!(table.trim_end().ends_with(" 15.0"), "{table}");
    }
}
