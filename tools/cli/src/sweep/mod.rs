//! `pelago sweep`: many simulations described by a file, and their results in one table.
//!
//! | file | content |
//! |---|---|
//! | `plan` | the file, and the runs that follow from it |
//! | `execute` | runs as processes, and progress |
//! | `stamps` | whether a program or a file that an argument names has changed |
//! | `results` | a file to which each result is appended, so that a killed sweep can continue |
//! | `table`, `parquet`, `pictures` | output at the end |
//! | `sensitivity` | which values of a machine the results depend on |

mod execute;
mod parquet;
mod pictures;
mod plan;
mod results;
mod sensitivity;
mod stamps;
mod table;

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread::available_parallelism;

use clap::Args;
use pelago_report::files;

use self::execute::Execution;
pub(crate) use self::execute::{SWEEP_OUTPUT_BYTES_MAX, first_bytes};
use self::plan::Run;
use self::results::Results;
use self::sensitivity::{Experiment, Which};
use self::table::Table;
use crate::{Refused, inputs, outputs, say, this};

/// The file of results in the folder of a sweep.
const RESULTS: &str = "results.jsonl";

/// The tables in this folder; the last is that of --sensitivity.
const TABLES: [&str; 4] = ["table.csv", "table.json", "table.parquet", "sensitivity.csv"];

/// Maximum size of the file that describes a sweep, in bytes.
const SWEEP_FILE_BYTES_MAX: u64 = 1 << 20;

/// Maximum number of simulations at once.
const SWEEP_JOBS_MAX: i64 = 1024;

/// Run many simulations: programs, machines, values and seeds in all combinations
#[derive(Args)]
#[command(after_help = "\
The file, in TOML:
  programs = [\"barrier --algorithm {how}\", \"alltoall\"]   # bundled, or paths with a /
  machines = [\"fat-tree-ndr\", \"my-machine.toml\"]
  ranks = [64, 256, 1024]
  per_node = [1]             # optional, and all of the following
  seeds = [0, 1, 2]
  options = [\"--data\", \"sizes\"]                          # of pelago sim, for all runs
  measure = \"time_us\"                                    # what pictures and --sensitivity show
  along = \"ranks\"                                        # what pictures show it over
  [set]
  \"rail.link.cable_ns\" = [5, \"30ns\"]                     # as --set of pelago sim
  [arguments]
  how = [\"ring\", \"dissemination\"]                        # for {how}
  [outputs]
  barrier_us = \"us\"                                      # a column: the number after this word in the program's output

The folder gets results.jsonl (each result when it is there), table.csv, table.json, table.parquet, plot.svg, and sensitivity.csv. The same command
again goes on with the runs that have no result yet; a run whose machine, program, options or outputs have changed, or a
file that an argument of the program names, is run again.

Exit codes: 0 all runs succeeded; 1 some failed, or were ended from outside; 2 wrong usage.")]
pub(crate) struct Sweep {
    /// File that describes the sweep
    file: PathBuf,
    /// Folder for results [default: the file's name with .sweep in place of its ending]
    #[arg(short, long, value_name = "FOLDER")]
    output: Option<PathBuf>,
    /// Simulations at once [default: number of cores]
    #[arg(short, long, value_name = "N", allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(1..=SWEEP_JOBS_MAX))]
    jobs: Option<u32>,
    /// Run those again that have failed
    #[arg(long)]
    retry: bool,
    /// Also change each value of the machines alone, down and up: those that are marked as assumed, or all
    #[arg(long, value_enum, value_name = "VALUES", num_args = 0..=1, require_equals = true, default_missing_value = "assumed")]
    sensitivity: Option<Which>,
    /// Factor of these changes
    #[arg(long, value_name = "F", default_value_t = 2.0, requires = "sensitivity", allow_negative_numbers = true, value_parser = factor)]
    factor: f64,
}

impl Sweep {
    pub(crate) fn main(self) -> Result<ExitCode, Refused> {
        let file = self.file.display();
        let refused = |why: &dyn std::fmt::Display| Refused(format!("{file}: {why}"));
        let text = inputs::read(&self.file, SWEEP_FILE_BYTES_MAX).map_err(|error| refused(&error))?;
        let sweep = plan::Sweep::parse(&text).map_err(|why| refused(&why))?;
        let runs = sweep.runs().map_err(|why| refused(&why))?;
        for run in plan::of_machines(&runs) {
            run.check().map_err(|Refused(why)| refused(&why))?;
        }
        let experiments = match self.sensitivity {
            Some(which) => sensitivity::experiments(&runs, which, self.factor).map_err(|Refused(why)| refused(&why))?,
            None => Vec::new(),
        };
        if self.sensitivity == Some(Which::Assumed) && experiments.is_empty() {
            return Err(refused(
                &"--sensitivity changes values that a machine file marks as assumed, by a comment behind the value that begins with this \
                  word, and there is none that can be changed; --sensitivity=all changes all values",
            ));
        }
        let folder = self.output.clone().unwrap_or_else(|| self.file.with_extension("sweep"));
        if folder == self.file {
            return Err(refused(
                &"this is also the name of the folder for results: name another with --output, or rename the file",
            ));
        }
        check_folder(&folder)?;
        std::fs::create_dir_all(&folder).map_err(|error| Refused(format!("cannot write {}: {error}", folder.display())))?;
        let mut results = Results::open(&folder.join(RESULTS))?;
        if self.retry {
            results.known.retain(|_, outcome| outcome.exit == 0);
        }
        let all = runs.iter().chain(experiments.iter().flat_map(|experiment| &experiment.changed)).cloned();
        let all: Vec<(String, Run)> = all.map(|run| Ok((run.key(&sweep.outputs)?, run))).collect::<Result<_, Refused>>()?;
        for (key, run) in &all {
            if results.known.get(key).is_some_and(|outcome| !run.has_inputs(&outcome.inputs)) {
                results.known.remove(key);
            }
        }
        let cores = available_parallelism().map_or(1, NonZeroUsize::get);
        let outputs = sweep.outputs.iter().map(|(name, word)| (&**name, &**word)).collect();
        let execution = Execution { this: &this()?, jobs: self.jobs.map_or(cores, |jobs| jobs as usize), outputs };
        let before = all.iter().filter(|(key, _)| results.known.contains_key(key)).count();
        let ended = execution.run(&all, &mut results, |run| run.key(&sweep.outputs))?;

        let outcome = |(key, _): &(String, Run)| results.known.get(key).cloned();
        let outcomes: Vec<_> = all.iter().map(outcome).collect();
        let of = |runs: &'_ [(String, Run)], from: usize| -> Table {
            Table::new(&sweep, runs.iter().map(|(_, run)| run).zip(outcomes[from..].iter().map(Option::as_ref)))
        };
        let table = of(&all[..runs.len()], 0);
        let [csv, json, parquet, _] = TABLES;
        write(&folder, csv, table.to_csv())?;
        write(&folder, json, table.to_json())?;
        write(&folder, parquet, parquet::to_parquet(&table))?;
        let pictures = pictures::pictures(&table, &sweep.measure, sweep.along.as_deref()).unwrap_or_else(|why| {
            say(&format!("no picture: {why}"));
            Vec::new()
        });
        pictures.iter().try_for_each(|(name, svg)| write(&folder, name, svg))?;
        // Those of another table in this folder.
        for name in pictures::names().skip(pictures.len()) {
            let _ = std::fs::remove_file(folder.join(name));
        }
        if !experiments.is_empty() {
            let changed = of(&all[runs.len()..], runs.len());
            sensitive(&folder, &runs, &experiments, &sweep.measure, [&table, &changed])?;
        }
        for (name, word) in &sweep.outputs {
            let mut good = outcomes.iter().flatten().filter(|outcome| outcome.exit == 0).peekable();
            if good.peek().is_some() && good.all(|outcome| !outcome.outputs.contains_key(name)) {
                say(&format!("outputs: no run has printed a number after the word {word}: the column {name} is empty"));
            }
        }
        let failed = outcomes.iter().flatten().filter(|outcome| outcome.exit != 0).count();
        let (count, folder) = (all.len(), folder.display());
        let known = if before == 0 { String::new() } else { format!(", {before} of them known before") };
        let ended = if ended == 0 { String::new() } else { format!("; {ended} ended from outside, run the command again") };
        say(&format!("{count} runs{known}; {failed} failed{ended}; the table is in {folder}"));
        Ok(ExitCode::from(u8::from(failed > 0 || !ended.is_empty())))
    }
}

/// Writes the table of changes, and prints the dominant values.
fn sensitive(folder: &Path, runs: &[Run], experiments: &[Experiment], measure: &str, tables: [&Table; 2]) -> Result<(), Refused> {
    let [measures, changed] = tables.map(|table| {
        let column = table.column(measure);
        let number = |row: &Vec<serde_json::Value>| table.figure(row, column?);
        table.rows.iter().map(number).collect::<Vec<_>>()
    });
    let changed: Vec<[Option<f64>; 2]> = changed.chunks_exact(2).map(|pair| [pair[0], pair[1]]).collect();
    write(folder, TABLES[3], sensitivity::table(runs, experiments, &measures, &changed).to_csv())?;
    let head = format!("{measure}: mean and largest change with one value changed");
    let lines = sensitivity::dominant(runs, experiments, &measures, &changed);
    outputs::print(&[&[head], &lines[..]].concat().iter().map(|line| format!("{line}\n")).collect::<String>())
}

/// Checks that a folder has results of a sweep, or none of the files that a sweep replaces and deletes, as those are not of a sweep.
fn check_folder(folder: &Path) -> Result<(), Refused> {
    let is_there = |path: &PathBuf| path.symlink_metadata().is_ok();
    if is_there(&folder.join(RESULTS)) {
        return Ok(());
    }
    let names = TABLES.into_iter().map(str::to_owned).chain(pictures::names());
    match names.map(|name| folder.join(name)).find(is_there) {
        Some(path) => Err(Refused(format!(
            "{}: no sweep has written it, as there is no {RESULTS} beside it: move it, or name another folder with --output",
            path.display()
        ))),
        None => Ok(()),
    }
}

fn write(folder: &Path, name: &str, contents: impl AsRef<[u8]>) -> Result<(), Refused> {
    files::write(&folder.join(name), |file| file.write_all(contents.as_ref())).map_err(Refused)
}

fn factor(text: &str) -> Result<f64, &'static str> {
    text.parse().ok().filter(|factor| *factor > 1.0 && *factor <= 1000.0).ok_or("use a number greater than 1, up to 1000")
}
