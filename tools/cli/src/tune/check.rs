//! `pelago tune --check`: compares programs on this machine with the same programs in a simulation.

use std::fmt::Write as _;
use std::io;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::thread::available_parallelism;

use pelago_launch::names;
use pelago_simulator::{Computing, Data, SimulationRequest, Summary, VARIABLE};
use serde_json::{Value, json};

use super::noise::{Noise, Verdict};
use super::place::Place;
use crate::statistics::{median, spread};
use crate::sweep::{SWEEP_OUTPUT_BYTES_MAX, first_bytes};
use crate::{CHILD_COMMAND, Refused, bundled};

/// Limits of the errors, in per cent, of a description of a quiet machine: of their median, and of the largest.
const ERROR_MEDIAN_MAX: f64 = 5.0;
const ERROR_MAX: f64 = 10.0;

/// A program to compare, and the place of its time in its output.
#[derive(Clone, Debug, PartialEq)]
struct Case {
    /// The program, bundled or an executable, and its arguments.
    words: Vec<String>,
    /// The word before the time, and the unit of the time in nanoseconds.
    before: &'static str,
    unit_ns: f64,
}

/// Bundled programs.
const CASES: [(&str, &str, f64); 8] = [
    ("ring --repeat 20000 --warm-up 2000", "us", 1e3),
    ("barrier --repeat 20000 --warm-up 2000", "us", 1e3),
    ("alltoall --bytes 4096 --repeat 2000", "us", 1e3),
    ("incast --messages 20000", "us", 1e3),
    ("particles", "total", 1e6),
    ("himeno S --iterations 300", "seconds", 1e9),
    ("sor --size 1024 --iterations 50", "ms", 1e6),
    ("kmeans --points 200000", "ms", 1e6),
];

impl Case {
    fn of(words: &str, before: &'static str, unit_ns: f64) -> Self {
        Self { words: words.split_whitespace().map(str::to_owned).collect(), before, unit_ns }
    }

    /// Returns the program's name for users.
    fn name(&self) -> &str {
        self.words.first().map_or("", |path| path.rsplit('/').next().unwrap_or(path))
    }

    fn is_bundled(&self) -> bool {
        self.words.first().is_some_and(|name| bundled::find(name.as_ref()).is_some())
    }

    /// Finds the time in the program's output, in nanoseconds.
    fn find(&self, text: &str) -> Option<f64> {
        let number: f64 = text.split_whitespace().skip_while(|word| *word != self.before).nth(1)?.parse().ok()?;
        (number > 0.0).then_some(number * self.unit_ns)
    }

    /// Runs the program to its end; returns the time that it prints.
    fn time(&self, command: &mut Command) -> Result<f64, Refused> {
        let refused = |why: &dyn std::fmt::Display| Refused(format!("tune: {}: {why}", self.name()));
        let (text, status) = output_of(command).map_err(|error| refused(&error))?;
        if !status.success() {
            return Err(refused(&status));
        }
        let why = || format!("it printed no time behind the word {} in its first {SWEEP_OUTPUT_BYTES_MAX} bytes", self.before);
        self.find(&text).ok_or_else(|| refused(&why()))
    }

    fn real(&self, this: &Path, place: &Place, ranks: u32) -> Command {
        let mut command = place.run(this, ranks);
        command.args(&self.words);
        command
    }

    fn simulation(&self, this: &Path, place: &Place, ranks: u32, machine: &str) -> Command {
        let request = SimulationRequest {
            machine: machine.into(),
            ranks,
            per_node: place.per_host(ranks),
            seed: 0,
            heap_bytes: None,
            stack_bytes: None,
            protocol: None,
            data: Data::Real,
            computing: Computing::Measured { scale: 1.0 },
            threads: 1,
            time_limit_seconds: None,
            summary: Summary::None,
            progress: false,
            program: self.name().into(),
            report: None,
            trace: None,
            sample: None,
        };
        let (mut words, bundled) = (self.words.iter(), self.is_bundled());
        let mut command = Command::new(this);
        command.args([CHILD_COMMAND, &std::process::id().to_string()]);
        match words.next() {
            Some(path) if !bundled => command.arg(path),
            name => command.arg(this).arg(bundled::COMMAND).args(name),
        };
        command.args(words);
        command.env(VARIABLE, request.to_variable()).env_remove(names::RANK);
        command
    }
}

/// Runs a command to its end; returns the first bytes of its output.
fn output_of(command: &mut Command) -> io::Result<(String, ExitStatus)> {
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
    let text = first_bytes(child.stdout.take().expect("piped"));
    let status = child.wait()?;
    Ok((text?, status))
}

/// A program with a number of ranks, and its times so far in nanoseconds.
struct Comparison {
    case: Case,
    ranks: u32,
    real: Vec<f64>,
    simulated: Vec<f64>,
}

/// The times of all programs.
pub(crate) struct Check {
    comparisons: Vec<Comparison>,
    /// Cores of this machine.
    cores: usize,
}

impl Check {
    /// Compares all bundled programs, or only those in `only`, and `programs`, each of which prints its time behind the word `seconds`.
    pub(crate) fn new(ranks: &[u32], only: &[String], programs: &[String]) -> Result<Self, Refused> {
        let known = CASES.map(|(words, ..)| words.split(' ').next().unwrap_or_default());
        if let Some(unknown) = only.iter().find(|name| !known.contains(&name.as_str())) {
            return Err(Refused(format!("tune: --only {unknown}: the programs are {}", known.join(", "))));
        }
        let cores = available_parallelism().map_or(1, usize::from);
        let cases: Vec<_> = CASES
            .into_iter()
            .map(|(words, before, unit_ns)| Case::of(words, before, unit_ns))
            .filter(|case| only.is_empty() || only.iter().any(|name| name == case.name()))
            .chain(programs.iter().map(|words| Case::of(words, "seconds", 1e9)))
            .collect();
        let of = |ranks: u32| {
            cases.iter().map(move |case| Comparison { case: case.clone(), ranks, real: Vec::new(), simulated: Vec::new() })
        };
        Ok(Self { comparisons: ranks.iter().copied().flat_map(of).collect(), cores })
    }

    /// Runs each program on the hosts of `place`, and then simulated on the machine described by `machine`.
    pub(crate) fn round(&mut self, this: &Path, place: &Place, machine: &str) -> Result<(), Refused> {
        let cores = self.cores;
        self.comparisons.iter_mut().try_for_each(|Comparison { case, ranks, real, simulated }| {
            real.push(case.time(&mut case.real(this, place, *ranks))?);
            // As many simulations as ranks that compute in parallel, so that they share caches and memory bandwidth in the same way.
            let times = std::thread::scope(|scope| {
                let (case, ranks) = (&*case, *ranks);
                let simulate = move || case.time(&mut case.simulation(this, place, ranks, machine));
                let threads: Vec<_> = (0..cores.min(ranks as usize)).map(|_| scope.spawn(simulate)).collect();
                threads
                    .into_iter()
                    .map(|thread| thread.join().expect("a simulation is another process"))
                    .collect::<Result<Vec<_>, _>>()
            })?;
            simulated.push(median(times));
            Ok(())
        })
    }

    /// Adds the spread of the real times to `noise`.
    pub(crate) fn note(&self, noise: &mut Noise) {
        self.comparisons.iter().for_each(|comparison| noise.program(&comparison.real));
    }

    fn results(&self) -> Vec<Outcome<'_>> {
        self.comparisons.iter().map(Outcome::of).collect()
    }

    /// Returns JSON after all rounds: an object for each program, and one for the whole.
    pub(crate) fn json(&self, place: &Place, verdict: &Verdict) -> String {
        let transport = place.transport().name();
        let results = self.results();
        let rows = results.iter().map(|outcome| outcome.json(transport));
        let errors = Errors::of(&results);
        let whole = json!({
            "machine": verdict.word(),
            "verdict": verdict.to_string(),
            "median_error_percent": errors.as_ref().map(|errors| errors.median),
            "largest_error_percent": errors.as_ref().map(|errors| errors.largest),
            "within_limits": errors.filter(|_| matches!(verdict, Verdict::Quiet { .. })).map(|errors| errors.are_small()),
        });
        rows.chain([whole]).map(|value| format!("{value}\n")).collect()
    }

    /// Returns the results as a table.
    pub(crate) fn table(&self, place: &Place, verdict: &Verdict) -> String {
        let mut text = format!(
            "{:<12}{:>6}{:>14}{:>9}{:>16}{:>9}{:>10}\n",
            "program", "ranks", "real µs", "spread", "simulated µs", "spread", "error %"
        );
        let results = self.results();
        results.iter().for_each(|outcome| text.push_str(&outcome.line()));
        if let Some(errors) = Errors::of(&results) {
            let Errors { median, largest } = errors;
            let _ = writeln!(text, "{:<66}{median:>10.1}\n{:<66}{largest:>10.1}", "median error", "largest error");
            if matches!(verdict, Verdict::Quiet { .. }) {
                let are = if errors.are_small() { "within" } else { "beyond" };
                let _ = writeln!(text, "errors are {are} the limits: median {ERROR_MEDIAN_MAX} %, largest {ERROR_MAX} %");
            }
        }
        let _ = writeln!(text, "{} was {verdict}", if place.has_several_hosts() { "this host" } else { "this machine" });
        text
    }
}

/// Result for one program.
struct Outcome<'c> {
    program: &'c str,
    ranks: u32,
    real_us: f64,
    simulated_us: f64,
    spreads: [Option<f64>; 2],
    error_percent: f64,
}

impl<'c> Outcome<'c> {
    fn of(comparison: &'c Comparison) -> Self {
        let Comparison { case, ranks, real, simulated } = comparison;
        let [real_us, simulated_us] = [real, simulated].map(|times| median(times.clone()) / 1e3);
        let spreads = [real, simulated].map(|times| spread(times));
        let errors = simulated.iter().zip(real).map(|(simulated, real)| (simulated / real - 1.0) * 100.0);
        Self { program: case.name(), ranks: *ranks, real_us, simulated_us, spreads, error_percent: median(errors.collect()) }
    }

    fn json(&self, transport: &str) -> Value {
        let [real, simulated] = self.spreads.map(|spread| spread.map(|spread| spread * 100.0));
        json!({
            "program": self.program,
            "ranks": self.ranks,
            "transport": transport,
            "real_us": self.real_us,
            "real_spread_percent": real,
            "simulated_us": self.simulated_us,
            "simulated_spread_percent": simulated,
            "error_percent": self.error_percent,
        })
    }

    fn line(&self) -> String {
        let Self { program, ranks, real_us, simulated_us, error_percent, .. } = self;
        let [real, simulated] =
            self.spreads.map(|spread| spread.map_or("–".into(), |spread| format!("{:.1} %", spread * 100.0)));
        format!("{program:<12}{ranks:>6}{real_us:>14.3}{real:>9}{simulated_us:>16.3}{simulated:>9}{error_percent:>+10.1}\n")
    }
}

/// The errors of all programs, in per cent.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Errors {
    median: f64,
    largest: f64,
}

impl Errors {
    fn of(results: &[Outcome<'_>]) -> Option<Self> {
        let errors: Vec<f64> = results.iter().map(|outcome| outcome.error_percent.abs()).collect();
        let largest = errors.iter().copied().reduce(f64::max)?;
        Some(Self { median: median(errors), largest })
    }

    fn are_small(self) -> bool {
        self.median <= ERROR_MEDIAN_MAX && self.largest <= ERROR_MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(number: usize) -> Case {
        let (words, before, unit_ns) = CASES[number];
        Case::of(words, before, unit_ns)
    }

    #[test]
    fn a_time_stands_behind_its_word() {
        let [ring, particles, himeno] = [0, 4, 5].map(case);
        assert_eq!(ring.find("ring ranks 2 us 0.250\n"), Some(250.0));
        assert_eq!(particles.find("phase slowest ms mean ms\nput 1.0 1.0\ntotal      15.361      15.342\n"), Some(15_361_000.0));
        assert_eq!(himeno.find("seconds    0.5\nMFLOPS     1.0\n"), Some(5e8));
        assert_eq!((ring.find("ring ranks 2 us x"), ring.find("us"), ring.find(""), ring.find("us 0")), (None, None, None, None));
    }

    #[test]
    fn little_is_kept_of_what_a_program_prints() {
        let time = |script: &str| {
            let program = Case::of("p", "seconds", 1e9);
            program.time(Command::new("sh").args(["-c", script])).map_err(|Refused(line)| line)
        };
        let much = format!("head -c {SWEEP_OUTPUT_BYTES_MAX} /dev/zero | tr '\\0' ' '");
        assert_eq!(time(&format!("echo seconds 2; {much}")), Ok(2e9));
        assert!(
            time(&format!("{much}; echo seconds 2")).is_err_and(|line| line.contains("behind the word seconds in its first"))
        );
        assert!(time("echo seconds 2; exit 3").is_err_and(|line| line == "tune: p: exit status: 3"));
    }

    #[test]
    fn every_case_is_a_bundled_program_that_takes_its_arguments() {
        for number in 0..CASES.len() {
            let case = case(number);
            let program = bundled::find(case.name().as_ref()).unwrap();
            assert_eq!((program.check)(&case.words[1..], 2), Ok(()), "{}", case.name());
        }
    }

    fn check(times: &[(&[f64], &[f64])]) -> Check {
        let comparison = |(real, simulated): &(&[f64], &[f64])| Comparison {
            case: case(0),
            ranks: 2,
            real: real.to_vec(),
            simulated: simulated.to_vec(),
        };
        Check { comparisons: times.iter().map(comparison).collect(), cores: 2 }
    }

    #[test]
    fn an_error_is_the_median_of_the_rounds_and_a_noisy_machine_has_no_limits() {
        let check = check(&[
            (&[100.0, 900.0, 100.0], &[110.0, 990.0, 1.0]),
            (&[100.0], &[80.0]),
            (&[100.0], &[100.0]),
            (&[100.0], &[150.0]),
        ]);
        let (place, quiet) = (Place::here(), Verdict::Quiet { lost: 0.0, spread: 0.01 });
        let table = check.table(&place, &quiet);
        for says in ["+10.0", "-20.0", "+0.0", "+50.0", "400.0 %", " 15.0", "beyond the limits", "was quiet"] {
            assert!(table.contains(says), "{says}: {table}");
        }
        let noisy = Verdict::Noisy("others ran".into());
        let table = check.table(&place, &noisy);
        assert!(table.contains("was noisy") && table.contains("do not count") && !table.contains("limits"), "{table}");
        let last = |verdict| serde_json::from_str::<Value>(check.json(&place, verdict).lines().last().unwrap()).unwrap();
        assert_eq!((&last(&quiet)["machine"], &last(&quiet)["within_limits"]), (&json!("quiet"), &json!(false)));
        assert_eq!((&last(&noisy)["machine"], &last(&noisy)["within_limits"]), (&json!("noisy"), &Value::Null));
    }
}
