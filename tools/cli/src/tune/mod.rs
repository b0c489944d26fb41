//! `pelago tune`: measures this machine, and writes what `pelago sim` needs to know of it.

mod check;
mod figures;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread::available_parallelism;

use clap::Args;
use pelago_bench::{Progress, Row, Transport};
use pelago_netsim::Machine;

use crate::{Refused, bench, outputs, sim, this};
use check::Check;
use figures::Figures;

/// What is measured, as `pelago bench` calls it.
const MEASURED: [&str; 2] = ["visible", "crossing"];

/// The sizes of puts and gets that are measured.
const BYTES: [u64; 10] = [8, 64, 256, 1 << 10, 1 << 12, 1 << 14, 1 << 16, 1 << 18, 1 << 20, 1 << 22];

/// The name of a machine whose description is in no file.
const UNNAMED: &str = "this-machine";

/// Measure this machine and write its description for pelago sim
#[derive(Args)]
#[command(after_help = "\
Two ranks with shared memory measure this machine, as in pelago bench; no other program should run. Each value is the median of the rounds.
With --check, each round also runs ring, barrier, particles and himeno on this machine. The same programs then run as often with --compute
measured on the description, or on the machine of --machine. The output has the medians of real and simulated times, their errors, and the
median error.")]
pub(crate) struct Tune {
    /// File for the description [default: standard output]
    #[arg(short, long, value_name = "FILE", conflicts_with = "machine")]
    output: Option<PathBuf>,
    /// Compare programs on this machine with the same programs in a simulation
    #[arg(long)]
    check: bool,
    /// Use a bundled machine, or the path of a description, instead of measuring
    #[arg(long, value_name = "MACHINE", requires = "check")]
    machine: Option<String>,
    /// With --check: print one JSON object for each program instead of the table
    #[arg(long, requires = "check")]
    json: bool,
    /// Number of rounds of the measurement
    #[arg(long, value_name = "N", default_value_t = 5, allow_negative_numbers = true,
          value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,
}

impl Tune {
    pub(crate) fn main(self) -> Result<ExitCode, Refused> {
        if available_parallelism().is_ok_and(|cores| cores.get() < 2) {
            let why = "two ranks must run at the same time, and this process may use only one core";
            return Err(Refused(format!("tune: {why}")));
        }
        let given = self.machine.as_deref().map(given).transpose()?;
        let name = self.output.as_deref().map_or(UNNAMED.into(), name_of);
        // Found out before a minute of work, not after.
        self.output.as_deref().map_or(Ok(()), outputs::check)?;
        let (this, mut rounds, mut check) = (this()?, Vec::new(), self.check.then(Check::default));
        let progress = Progress::new("rounds", u64::from(self.rounds) * if self.check { 2 } else { 1 });
        for _ in 0..self.rounds {
            progress.step("this machine");
            if given.is_none() {
                rounds.push(measure(&this)?);
            }
            if let Some(check) = &mut check {
                check.run(&this)?;
            }
        }
        let description = (!rounds.is_empty()).then(|| Figures::median(&rounds).describe(&name));
        if let (Some(check), Some(machine)) = (&mut check, given.as_ref().or(description.as_ref())) {
            for _ in 0..self.rounds {
                progress.step("simulation");
                check.simulate(&this, machine)?;
            }
        }
        drop(progress);
        match (&self.output, description) {
            (Some(path), Some(description)) => {
                let written = std::fs::write(path, description);
                written.map_err(|error| Refused(format!("cannot write {}: {error}", path.display())))?;
            }
            (None, Some(description)) if !self.check => print(&description),
            _ => {}
        }
        if let Some(check) = check {
            print(&if self.json { check.json() } else { check.table() });
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// The text of a machine on which a node has two ranks.
fn given(name: &str) -> Result<String, Refused> {
    let text = sim::description(name)?;
    Machine::parse(&text).map_err(|error| Refused(format!("{name}: {error}")))?;
    Ok(text)
}

/// What this machine is like, now.
fn measure(this: &Path) -> Result<Figures, Refused> {
    let rows = pelago_bench::rows(&MEASURED, &BYTES, |ranks, arguments| bench::job(this, Transport::Shm, None, ranks, arguments));
    let rows: Vec<Row> = rows.map_err(|line| Refused(format!("tune: {line}")))?;
    Figures::of(&rows).map_err(|missing| Refused(format!("tune: nothing was measured for {missing}")))
}

/// What a machine is called that is described in this file.
fn name_of(path: &Path) -> String {
    let stem = path.file_stem().map(|stem| stem.to_string_lossy()).unwrap_or_default();
    let name: String = stem.chars().filter(|found| found.is_alphanumeric() || "-_.".contains(*found)).collect();
    if name.is_empty() { UNNAMED.into() } else { name }
}

fn print(text: &str) {
    // A reader that has seen enough is no error.
    let _ = std::io::stdout().write_all(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_is_called_as_its_file() {
        assert_eq!(
            ["laptop.toml", "/a/b/my \"machine\".2.toml", "/"].map(|path| name_of(Path::new(path))),
            ["laptop", "mymachine.2", UNNAMED]
        );
    }
}
