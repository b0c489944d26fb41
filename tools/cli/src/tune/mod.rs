//! `pelago tune`: measures this machine, and writes its description for `pelago sim`.
//!
//! | part | for |
//! |---|---|
//! | this file | the command |
//! | `place` | transport between ranks, and their hosts |
//! | `figures`, `network` | measurements of shared memory, and of datagrams, and the description made of them |
//! | `turns` | the time to switch a core to another rank |
//! | `noise` | whether the machine was quiet |
//! | `check` | comparison of programs on this machine with their simulation |

mod check;
mod figures;
mod network;
mod noise;
mod place;
mod turns;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread::available_parallelism;

use clap::Args;
use pelago_bench::{Progress, Row};
use pelago_netsim::Machine;
use pelago_report::files;

use crate::statistics::median;
use crate::{Refused, bundled, outputs, sim, this};
use check::Check;
use figures::{Figures, Head};
use network::NetworkFigures;
use noise::Noise;
use place::Place;

/// Names of the measurements in `pelago bench`, for ranks that share memory and for others.
const MEASURED: [&str; 2] = ["visible", "crossing"];
const MEASURED_APART: [&str; 1] = ["datagrams"];

/// Measured sizes of puts and gets.
const BYTES: [u64; 10] = [8, 64, 256, 1 << 10, 1 << 12, 1 << 14, 1 << 16, 1 << 18, 1 << 20, 1 << 22];

/// Name of a machine whose description is not written to a file.
const UNNAMED: &str = "this-machine";

/// Socket buffer that the transport requests, and the file with the system's limit.
const SOCKET_BUFFER_BYTES: u64 = 4 << 20;
const SOCKET_BUFFER_LIMIT: &str = "/proc/sys/net/core/rmem_max";
const WINDOW_BYTES_MIN: u64 = 1 << 16;

/// Measure this machine and write its description for pelago sim
#[derive(Args)]
#[command(after_help = "\
Two ranks measure this machine, as in pelago bench; no other program should run. Each value is the median of the rounds. Whether the machine was
quiet is measured too: the part of the cores that other programs have, and how much values differ from round to round. The description has
it in its second line; at least 3 rounds are needed to tell.

With --transport udp, ranks communicate by datagrams, on this host or on several (--hosts): what a message costs its sender and its receiver,
by size, and what passes between. The description also has the number of cores, and what a switch between two ranks on one core takes.

With --check, as many rounds follow of ring, barrier, alltoall, incast, particles, himeno, sor, kmeans and the programs of --program: each runs on
this machine, and then with --compute measured on the description, or on the machine of --machine; as many such simulations run at once as ranks
compute at once, so that they share caches and memory as the ranks do. The output has the medians of real and simulated times with their spreads
(the range of the middle half of the rounds), the errors (the median of the rounds), and whether the machine was quiet: errors on a noisy
machine do not count.")]
pub(crate) struct Tune {
    /// File for the description [default: standard output]
    #[arg(short, long, value_name = "FILE", conflicts_with = "machine")]
    output: Option<PathBuf>,
    #[command(flatten)]
    place: Place,
    /// Compare programs on this machine with the same programs in a simulation
    #[arg(long)]
    check: bool,
    /// With --check: numbers of ranks of the programs
    #[arg(short = 'n', value_name = "N,N,…", value_delimiter = ',', default_value = "2", requires = "check",
          value_parser = clap::value_parser!(u32).range(2..=1024))]
    ranks: Vec<u32>,
    /// With --check: compare only these of the bundled programs
    #[arg(long, value_name = "NAME,NAME,…", value_delimiter = ',', requires = "check")]
    only: Vec<String>,
    /// With --check: also compare this program with its arguments, which prints its time behind the word seconds; may be repeated
    #[arg(long = "program", value_name = "COMMAND", requires = "check")]
    programs: Vec<String>,
    /// Use a bundled machine, or the path of a description, instead of measuring
    #[arg(long, value_name = "MACHINE", requires = "check")]
    machine: Option<String>,
    /// With --check: print JSON objects instead of the table: one for each program, and one for the whole
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
        self.place.check()?;
        let given = self.machine.as_deref().map(given).transpose()?;
        let name = self.output.as_deref().map_or(UNNAMED.into(), name_of);
        // Checked before a minute of measurement, not after it.
        self.output.as_deref().map_or(Ok(()), outputs::check)?;
        let (this, place, mut noise) = (this()?, &self.place, Noise::default());
        let mut rounds = Rounds::of(place);
        let mut switches = Vec::new();
        let mut check = self.check.then(|| Check::new(&self.ranks, &self.only, &self.programs)).transpose()?;
        let parts = u64::from(given.is_none()) + u64::from(self.check);
        let progress = Progress::new("rounds", u64::from(self.rounds) * parts);
        for _ in 0..if given.is_none() { self.rounds } else { 0 } {
            progress.step("this machine");
            noise.watch();
            switches.extend(turns::switch_ns());
            rounds.measure(&this, place)?;
        }
        let describe = |noise: &Noise| {
            let switch = (!switches.is_empty()).then(|| median(switches.clone()));
            rounds.describe(&Head::of(&name, Some(&noise.verdict()), switch), place)
        };
        rounds.by_value().iter().for_each(|values| noise.value(values));
        let mut description = given.is_none().then(|| describe(&noise));
        if let (Some(check), Some(machine)) = (&mut check, given.as_ref().or(description.as_ref())) {
            // Real runs and simulations alternate, because the load by other users varies over time.
            for _ in 0..self.rounds {
                progress.step("programs");
                noise.watch();
                check.round(&this, place, machine)?;
            }
            check.note(&mut noise);
            description = given.is_none().then(|| describe(&noise));
        }
        let verdict = noise.verdict();
        drop(progress);
        match (&self.output, description) {
            (Some(path), Some(description)) => {
                files::write(path, |file| file.write_all(description.as_bytes())).map_err(Refused)?;
            }
            (None, Some(description)) if !self.check => outputs::print(&description)?,
            _ => {}
        }
        if let Some(check) = check {
            outputs::print(&if self.json { check.json(place, &verdict) } else { check.table(place, &verdict) })?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Measurements of all rounds.
enum Rounds {
    Shared(Vec<Figures>),
    Network(Vec<NetworkFigures>),
}

impl Rounds {
    fn of(place: &Place) -> Self {
        if place.is_network() { Self::Network(Vec::new()) } else { Self::Shared(Vec::new()) }
    }

    /// Adds one round of measurements.
    fn measure(&mut self, this: &Path, place: &Place) -> Result<(), Refused> {
        let missing = |name: &str| Refused(format!("tune: nothing was measured for {name}"));
        match self {
            Self::Shared(rounds) => rounds.push(Figures::of(&rows(this, place, &MEASURED)?).map_err(missing)?),
            Self::Network(rounds) => rounds.push(NetworkFigures::of(&rows(this, place, &MEASURED_APART)?).map_err(missing)?),
        }
        Ok(())
    }

    /// Returns, for each value, its measurements in all rounds.
    fn by_value(&self) -> Vec<Vec<f64>> {
        match self {
            Self::Shared(rounds) if !rounds.is_empty() => Figures::by_value(rounds),
            Self::Network(rounds) if !rounds.is_empty() => NetworkFigures::by_value(rounds),
            _ => Vec::new(),
        }
    }

    /// Describes the machine by the medians of at least one round.
    fn describe(&self, head: &Head, place: &Place) -> String {
        match self {
            Self::Shared(rounds) => Figures::median(rounds).describe(head),
            Self::Network(rounds) => {
                NetworkFigures::median(rounds).fit().describe(head, window_bytes(), place.has_several_hosts())
            }
        }
    }
}

/// Returns the text of an existing description after checking it.
fn given(name: &str) -> Result<String, Refused> {
    let text = sim::description(name)?;
    Machine::parse(&text).map_err(|error| Refused(format!("{name}: {error}")))?;
    Ok(text)
}

/// Runs a measurement with two ranks and returns its rows.
fn rows(this: &Path, place: &Place, measured: &[&str]) -> Result<Vec<Row>, Refused> {
    let job = |ranks, arguments: &[String]| {
        let mut command = place.run(this, ranks);
        command.arg(this).args([bundled::COMMAND, bundled::BENCH_RANK]).args(arguments);
        command
    };
    pelago_bench::rows(place.transport(), measured, &BYTES, job).map_err(|line| Refused(format!("tune: {line}")))
}

/// Returns the bytes that may be in flight to a rank: half of the system's socket buffer.
fn window_bytes() -> u64 {
    let granted = std::fs::read_to_string(SOCKET_BUFFER_LIMIT).ok().and_then(|text| text.trim().parse::<u64>().ok());
    // The kernel doubles the requested buffer size; root may exceed the limit.
    let may_exceed = rustix::process::geteuid().is_root();
    let bytes = if may_exceed { SOCKET_BUFFER_BYTES } else { granted.unwrap_or(SOCKET_BUFFER_BYTES).min(SOCKET_BUFFER_BYTES) };
    bytes.max(WINDOW_BYTES_MIN)
}

/// Returns the machine name for a description in the file `path`.
fn name_of(path: &Path) -> String {
    let stem = path.file_stem().map(|stem| stem.to_string_lossy()).unwrap_or_default();
    let name: String = stem.chars().filter(|found| found.is_alphanumeric() || "-_.".contains(*found)).collect();
    if name.is_empty() { UNNAMED.into() } else { name }
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
