//! `pelago run`: its options, and the job that they describe.

mod gathering;
pub(crate) mod hosts;
mod merged;
mod record;
mod report;
mod trace;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use pelago_base::limits::RANKS_PER_HOST_MAX;
use pelago_base::{Duration, Sample};
use pelago_examples::PROGRAMS;
use pelago_launch::launcher::{LateSignals, LaunchError, LocalJob, parse_bytes};
use pelago_launch::{LaunchSettings, TransportChoice, names};
use rustix::process::Signal;

use crate::run::gathering::{Gathering, Parts};
use crate::run::hosts::{OnHosts, Placement};
use crate::{Refused, bundled, end_with, outputs, say};

/// The exit code if a signal asks the command to end.
const INTERRUPTED: u8 = 130;

/// Maximum number of characters of the command in a report.
const PROGRAM_CHARS_MAX: usize = 2000;

/// Run a parallel program on this host, on the hosts of --hosts, or on those of the allocation (Slurm, PBS, LSF, Grid Engine)
#[derive(Args)]
#[command(
    override_usage = "pelago run -n N [OPTIONS] PROGRAM [ARGS…]\n       pelago run [OPTIONS] PROGRAM [ARGS…]   (all slots of an allocation)\n       pelago run --list"
)]
#[command(after_help = "\
Exit codes:
  0    every rank finished
  1    the program failed: an exit code other than 0, shmem_global_exit or acp_abort, a deadlock, or ranks that did not join the job
  2    wrong usage, or the job could not start
  3    a rank or a host failed: killed, stopped for too long, or unreachable
  4    the time limit has passed
  130  interrupted by SIGINT, SIGTERM or SIGHUP
  141  the reader of the output ended, as in pelago run … | head

Environment variables (PELAGO_HEAP to PELAGO_FAILURE_SECONDS are the defaults of options, also for a program that runs without pelago run):
  PELAGO_HEAP, PELAGO_PROGRESS, PELAGO_BIND, PELAGO_TRANSPORT (--transport, --rails), PELAGO_FABRIC, PELAGO_ENCRYPT=1, PELAGO_FAILURE_SECONDS
  PELAGO_DEADLOCK_SECONDS=N  end a job if all of its ranks have waited for N seconds [default: 5; 0: never]
  PELAGO_COPY=thread         copy registered memory by the progress thread of its owner instead of cross-memory attach
  PELAGO_STATISTICS=1        count the operations of each rank, and print the counts at its end
  PELAGO_TRACE=1             print every operation of the transport
  PELAGO_SINGLE=1            under another launcher (mpirun, srun): run each process as a job of one rank

SIGQUIT (Ctrl-\\) reports where each rank waits, and for whom; the job goes on.
Signals: the first SIGINT, SIGTERM or SIGHUP asks the ranks to end, the second kills them; the launcher itself ends within 20 s of the first.
Ctrl-Z stops the launcher but not the ranks. A rank that is stopped while others run fails after the failure limit; if all ranks are stopped,
none fails.

Rank 0 reads the standard input, unless the standard input is a terminal or the job has several hosts.")]
pub(crate) struct Run {
    /// Number of ranks; also -np N [default: all slots of the hosts]
    #[arg(short = 'n', alias = "np", value_name = "N", allow_negative_numbers = true)]
    ranks: Option<u32>,
    /// Number of ranks on each host; also -ppn N
    #[arg(short = 'N', long, alias = "ppn", value_name = "N", allow_negative_numbers = true, value_parser = ranks_per_host())]
    ranks_per_host: Option<u32>,
    /// Prefix each line of output with its rank in brackets
    #[arg(long)]
    label: bool,
    /// End the job after this many seconds
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true, value_parser = seconds)]
    time_limit: Option<Duration>,
    /// Seconds in which all ranks must join the job once they run; 0: no limit
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true, value_parser = seconds, default_value = "30")]
    start_limit: Duration,
    /// How a rank makes progress while its program computes: by a progress thread, manually (inside calls of the library), or as needed [default: auto]
    #[arg(long, value_enum)]
    progress: Option<Progress>,
    /// Bind ranks to cores; auto: an equal share of the cores for each rank, if the host has at least one core per rank [default: auto]
    #[arg(long, value_enum)]
    bind: Option<Bind>,
    /// Largest size of a heap of a rank: bytes, or with K, M, G or T [default: the memory of this machine]
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    heap: Option<u64>,
    /// Transport between ranks: auto, shm, udp or ofi; auto: shared memory intra-node, UDP inter-node; ofi: libfabric inter-node, and intra-node if there is one node [default: auto]
    #[arg(long, value_name = "WORD")]
    transport: Option<TransportChoice>,
    /// Fabric of --transport ofi: a provider of libfabric, and perhaps a domain of it, such as 'tcp;ofi_rxm:eth0'; several, separated by commas, are rails [default: chosen]
    #[arg(long, value_name = "PROVIDER[:DOMAIN]")]
    fabric: Option<String>,
    /// Rails that ranks use together: shm, udp, or shm,udp; shm:N,udp: only the ranks of a group of N share memory
    #[arg(long, value_name = "LIST", conflicts_with = "transport")]
    rails: Option<TransportChoice>,
    /// Encrypt the communication of ranks over a network
    #[arg(long)]
    encrypt: bool,
    /// Seconds after which a stopped rank, or a host that does not answer, counts as failed; a rank that is alive but does not answer over a
    /// network is unreachable after twenty times this limit [default: 5]
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true, value_parser = seconds_above_zero)]
    failure_limit: Option<Duration>,
    /// Write a trace for Perfetto or chrome://tracing to a file: when ranks wait, and the operations that pass through a transport; on
    /// several hosts the file is in a folder that all hosts share
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Record the run as a schedule that pelago sim replays: MACHINE, then goal FILE; all operations pass through a transport, and a rank
    /// records 131072 operations and as many waits; compressed if the name ends in .gz
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Write a report in JSON to a file, as pelago sim --report does, for pelago compare; all operations pass through a transport, and a rank
    /// records the times of 131072 operations and as many waits
    #[arg(long, value_name = "FILE", conflicts_with = "sample")]
    report: Option<PathBuf>,
    /// Part of the job in the files of --trace and --record: RANKS or RANKS@FROM-TO, such as 0-7,512@1.5s-2s or all@10s-; times since all ranks joined the job [default: all]
    #[arg(long, value_name = "RANKS@FROM-TO")]
    sample: Option<Sample>,
    /// End, by SIGTERM, with the process of this number, which started this one; for pelago bench and pelago tune
    #[arg(long, hide = true)]
    end_with_parent: Option<i32>,
    /// List the bundled programs
    #[arg(long)]
    list: bool,
    /// Bundled program, path, or name in PATH; then its arguments
    #[arg(required_unless_present = "list", trailing_var_arg = true, value_names = ["PROGRAM", "ARGS"])]
    command: Vec<OsString>,
    // Last field: the help heading of these options applies to all options that follow.
    #[command(flatten)]
    on: OnHosts,
}

#[derive(Clone, Copy, ValueEnum)]
enum Progress {
    Auto,
    Thread,
    Manual,
}

#[derive(Clone, Copy, ValueEnum)]
enum Bind {
    Auto,
    None,
}

impl Run {
    pub(crate) fn main(self) -> Result<ExitCode, Refused> {
        if self.list {
            return outputs::print(&list()).map(|()| ExitCode::SUCCESS);
        }
        self.end_with_parent.map_or(Ok(()), |parent| end_with(parent, Signal::TERM))?;
        let placement = self.on.placement(self.ranks, self.ranks_per_host)?;
        let mut job = self.job(&placement)?;
        let gathering = self.gathering(placement.ranks)?;
        if let Some(gathering) = &gathering {
            job.environment.push((names::RECORD.into(), gathering.folder().into()));
            if self.record.is_some() || self.report.is_some() {
                job.environment.push((names::RECORD_ALL.into(), "1".into()));
            }
            if let Some(sample) = &self.sample {
                job.environment.push((names::RECORD_SAMPLE.into(), sample.to_string().into()));
            }
        }
        let (ranks, title) = (placement.ranks, title(&self.command));
        let files = self.files().map(Option::<&PathBuf>::cloned);
        let sample = self.sample.clone().unwrap_or_default();
        let outcome = match self.on.place(job, placement)? {
            Ok(cluster) => cluster.run(),
            Err(job) => job.run(),
        };
        let outcome = outcome.map_err(refusal)?;
        if !outcome.is_quiet() {
            say(&outcome.to_string());
        }
        let code = outcome.exit_code();
        let fault = (code != 0).then(|| outcome.to_string());
        let Some(gathering) = gathering else { return Ok(ExitCode::from(code)) };
        let refused = |error: std::io::Error| Refused(format!("the system refuses sigaction: {error}"));
        let late = LateSignals::watch().map_err(refused)?;
        let parts = gathering.parts(ranks, &sample, || !late.have_arrived());
        // Before files are written, during which a signal ends this process.
        drop(gathering);
        let (failed, line) = if late.end_process().map_err(refused)? {
            (INTERRUPTED, "nothing is written: interrupted by a signal after the job".into())
        } else {
            match write(&files, (&title, fault), &parts) {
                Ok(()) => return Ok(ExitCode::from(code)),
                Err(why) => (1, why),
            }
        };
        say(&line);
        Ok(ExitCode::from(if code == 0 { failed } else { code }))
    }

    /// Returns the files of --trace, --record and --report.
    fn files(&self) -> [Option<&PathBuf>; 3] {
        [&self.trace, &self.record, &self.report].map(Option::as_ref)
    }

    /// Creates the folder for recordings if --trace, --record or --report is given.
    fn gathering(&self, ranks: u32) -> Result<Option<Gathering>, Refused> {
        let files = self.files();
        if let Some(sample) = &self.sample {
            if files == [None; 3] {
                return Err(Refused("--sample is for --trace and --record".into()));
            }
            // A job of 0 ranks is refused later.
            if ranks > 0 && sample.count(ranks) == 0 {
                return Err(Refused(format!("--sample {sample}: the job has ranks 0 to {}", ranks - 1)));
            }
        }
        files.into_iter().flatten().try_for_each(|file| outputs::check(file))?;
        let named: Vec<_> = FILE_OPTIONS.into_iter().zip(files.map(|file| file.map(PathBuf::as_path))).collect();
        outputs::check_different(&named)?;
        outputs::check_not_inputs(&named, &self.command)?;
        if let Some(report) = &self.report
            && report.extension().is_some_and(|ending| ending == "html")
        {
            let report = report.display();
            return Err(Refused(format!("--report {report}: pages show simulated jobs; name a file that ends in .json")));
        }
        files.into_iter().flatten().next().map(|file| Gathering::begin(file)).transpose()
    }

    fn job(&self, placement: &Placement) -> Result<LocalJob, Refused> {
        let ranks = placement.ranks;
        // Invalid settings are refused here once instead of by every rank.
        let inherited = LaunchSettings::from_environment().map_err(|error| Refused(error.to_string()))?;
        let (program, arguments) = self.command.split_first().expect("clap requires one");
        let mut job = LocalJob::new(ranks, program);
        job.arguments = arguments.to_vec();
        if let Some(bundled) = bundled::find(program) {
            (bundled.check)(&bundled::texts(arguments)?, ranks).map_err(|why| Refused(format!("{}: {why}", bundled.name)))?;
            job.program = self.on.pelago()?.into();
            job.arguments = [bundled::COMMAND.into(), program.clone()].into_iter().chain(arguments.iter().cloned()).collect();
        }
        job.transport = self.transport.or(self.rails).unwrap_or(inherited.transport);
        if job.transport == TransportChoice::Ofi {
            if self.encrypt || inherited.encrypt {
                return Err(Refused("fabrics do not encrypt: --encrypt needs --transport auto or udp".into()));
            }
            // An error that every rank would report is reported once here. For jobs on other hosts this host is not checked, as they may have libraries
            // that it lacks. Without --fabric only the ranks choose a fabric, as the search takes time.
            match self.fabric.as_deref() {
                _ if !placement.is_here() => Ok(()),
                Some(fabric) => pelago::fabric(Some(fabric)).map(drop),
                None => pelago::fabric_library(),
            }
            .map_err(Refused)?;
        } else if self.fabric.is_some() {
            return Err(Refused("--fabric is for --transport ofi".into()));
        }
        job.heap_bytes = self.heap.or(inherited.heap_bytes);
        job.label = self.label;
        job.time_limit = self.time_limit;
        job.failure_limit = self.failure_limit.unwrap_or(inherited.failure_limit);
        job.start_limit = (self.start_limit > Duration::ZERO).then_some(self.start_limit);
        job.environment.extend(self.variables().map(|(name, value)| (name.into(), value.into())));
        Ok(job)
    }

    /// Environment variables to set for the ranks; ranks inherit all others. An option has a variable also if its value is the default, which the
    /// environment may replace.
    fn variables(&self) -> impl Iterator<Item = (&'static str, String)> {
        let progress = self.progress.map(|progress| (names::PROGRESS, word(&progress)));
        let bind = self.bind.map(|bind| (names::BIND, word(&bind)));
        let encrypt = self.encrypt.then(|| (names::ENCRYPT, "1".into()));
        let failure_limit = self.failure_limit.map(|limit| (names::FAILURE, limit.as_seconds().to_string()));
        let fabric = self.fabric.clone().map(|fabric| (names::FABRIC, fabric));
        progress.into_iter().chain(bind).chain(encrypt).chain(failure_limit).chain(fabric)
    }
}

/// Returns the word of an option's value.
fn word(value: &impl ValueEnum) -> String {
    value.to_possible_value().map_or_else(String::new, |word| word.get_name().to_owned())
}

/// The options that name the files of [`Run::files`].
const FILE_OPTIONS: [&str; 3] = ["--trace", "--record", "--report"];

/// Writes a trace, a schedule and a report, those that are wanted, from the recordings of the ranks.
///
/// # Errors
/// A file cannot be written, or lacks a rank whose recording cannot be read. A rank that has left none was killed, which the end of the job tells.
fn write(
    files: &[Option<PathBuf>; 3],
    (title, fault): (&str, Option<String>),
    parts: &Result<Parts, String>,
) -> Result<(), String> {
    let names = files.iter().flatten().map(|file| file.display().to_string()).collect::<Vec<_>>().join(" and ");
    let parts = parts.as_ref().map_err(|why| format!("nothing is written to {names}: {why}"))?;
    let [trace, record, report] = files;
    let traced = trace.as_ref().map_or(Ok(()), |file| trace::write(file, title.into(), parts));
    let recorded = record.as_ref().map_or(Ok(()), |file| record::write(file, title, parts));
    let reported = report.as_ref().map_or(Ok(()), |file| report::write(file, title.into(), fault, parts));
    let read = match &parts.unreadable[..] {
        [] => Ok(()),
        [why] => Err(format!("{names}: a part of the job is missing: {why}")),
        [why, others @ ..] => {
            Err(format!("{names}: parts of the job are missing: {why}; nor can those of {} others", others.len()))
        }
    };
    traced.and(recorded).and(reported).and(read)
}

/// Returns the command line of the program of a report, truncated to `PROGRAM_CHARS_MAX`.
pub(crate) fn title(command: &[OsString]) -> String {
    let words = command.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ");
    match words.char_indices().nth(PROGRAM_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &words[..end]),
        None => words,
    }
}

pub(crate) fn refusal(error: LaunchError) -> Refused {
    let hint = match &error {
        LaunchError::Unknown(name) => match bundled::similar(name) {
            Some(similar) => format!("; did you mean the bundled program {similar}?"),
            None => "; pelago run --list shows the bundled ones".into(),
        },
        _ => String::new(),
    };
    Refused(format!("{error}{hint}"))
}

fn list() -> String {
    let width = PROGRAMS.iter().map(|program| program.name.len()).max().unwrap_or(0);
    PROGRAMS.iter().map(|program| format!("{:width$}  {}\n", program.name, program.summary)).collect()
}

fn ranks_per_host() -> impl clap::builder::TypedValueParser<Value = u32> {
    clap::value_parser!(u32).range(1..=i64::from(RANKS_PER_HOST_MAX))
}

pub(crate) fn seconds(text: &str) -> Result<Duration, &'static str> {
    let seconds: f64 = text.parse().map_err(|_| "use a number of seconds")?;
    (0.0..1e6).contains(&seconds).then(|| Duration::from_seconds(seconds)).ok_or("use 0 to 1000000 seconds")
}

fn seconds_above_zero(text: &str) -> Result<Duration, &'static str> {
    seconds(text).ok().filter(|limit| *limit > Duration::ZERO).ok_or("use more than 0 and less than 1000000 seconds")
}

pub(crate) fn bytes(text: &str) -> Result<u64, &'static str> {
    parse_bytes(text).filter(|bytes| *bytes > 0).ok_or("use a number of bytes, with K, M, G or T for powers of 1024")
}

#[cfg(test)]
mod tests {
    use clap::FromArgMatches;

    use super::*;

    fn parsed(words: &[&str]) -> Run {
        let command = Run::augment_args(clap::Command::new("run"));
        let matches = command.try_get_matches_from([&["run"], words].concat()).unwrap();
        Run::from_arg_matches(&matches).unwrap()
    }

    #[test]
    fn a_sample_has_ranks_of_the_job() {
        let file = std::env::temp_dir().join(format!("pelago-sampled-{}", std::process::id()));
        let says = |ranks: u32| {
            let words = ["--trace", file.to_str().unwrap(), "--sample", "4", "-n", "0", "ring"];
            parsed(&words).gathering(ranks).map(drop).map_err(|Refused(line)| line)
        };
        assert_eq!(says(4), Err("--sample 4: the job has ranks 0 to 3".into()));
        assert_eq!([says(5), says(0)], [Ok(()), Ok(())], "a job of 0 ranks is refused where it begins");
    }

    #[test]
    fn options_of_ranks_replace_the_environment_also_by_their_defaults() {
        let variables = |options: &[&str]| parsed(&[&["-n", "2"], options, &["ring"]].concat()).variables().collect::<Vec<_>>();
        let of = |name, word: &str| (name, word.to_owned());
        assert_eq!(variables(&[]), []);
        assert_eq!(variables(&["--progress", "auto"]), [of(names::PROGRESS, "auto")]);
        assert_eq!(
            variables(&["--bind", "auto", "--progress", "manual"]),
            [of(names::PROGRESS, "manual"), of(names::BIND, "auto")]
        );
        assert_eq!(variables(&["--bind", "none", "--encrypt"]), [of(names::BIND, "none"), of(names::ENCRYPT, "1")]);
    }
}
