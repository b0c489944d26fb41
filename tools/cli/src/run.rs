//! `pelago run`: its options, and the job that they describe.

use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use pelago_base::Duration;
use pelago_examples::PROGRAMS;
use pelago_launch::launcher::{Job, LaunchError, parse_bytes};
use pelago_launch::{Settings, TransportChoice, names};

use crate::host::OnHosts;
use crate::{Refused, bundled, say};

/// Run a program as the ranks of a job
#[derive(Args)]
#[command(override_usage = "pelago run -n N [OPTIONS] PROGRAM [ARGS…]\n       pelago run --list")]
#[command(after_help = "\
Exit codes: 0 good; 1 the program failed; 2 wrong usage; 3 a rank was lost; 4 time limit; 130 interrupted.

Environment: PELAGO_DEADLOCK_SECONDS=N (after how long in which every rank waits the job ends; 0 is never; 5 by default),
PELAGO_STATISTICS=1 (count what passes through the transport), PELAGO_TRACE=1 (show it), PELAGO_COPY=thread (do not attach to other
processes' memory), PELAGO_HEAP, PELAGO_PROGRESS, PELAGO_BIND, PELAGO_TRANSPORT, PELAGO_ENCRYPT=1 and PELAGO_FAILURE_SECONDS (as --heap,
--progress, --bind, --transport or --rails, --encrypt and --failure-limit, also for a program that runs alone), PELAGO_SINGLE=1 (a program that
another launcher, such as mpirun or srun, starts runs as a job of one rank; without, it ends with exit code 2).

Signals: the first SIGINT, SIGTERM or SIGHUP asks the ranks to end, the second ends them at once; whatever the launcher waits for, it is gone
20 s after the first. Ctrl-Z stops the launcher and not the ranks. A rank that is stopped while others run is lost after the failure limit; if all
ranks are stopped, none is.

Rank 0 reads the standard input, unless that is a terminal or the job has several hosts.")]
pub(crate) struct Run {
    /// How many ranks
    #[arg(short = 'n', value_name = "N", allow_negative_numbers = true, required_unless_present = "list")]
    ranks: Option<u32>,
    /// Begin each line of output with the number of its rank, in brackets
    #[arg(long)]
    label: bool,
    /// End the job after so many seconds
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true, value_parser = seconds)]
    time_limit: Option<Duration>,
    /// How many seconds ranks have to join the job once all run; 0 is for ever
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true, value_parser = seconds, default_value = "30")]
    start_limit: Duration,
    /// Who serves a rank's registered memory: a progress thread, the rank itself inside its calls, or what suits
    #[arg(long, value_enum, default_value_t)]
    progress: Progress,
    /// Whether ranks keep to cores of their own; auto: an equal part each, if there is one for each rank of a host
    #[arg(long, value_enum, default_value_t)]
    bind: Bind,
    /// The most that a heap of a rank may grow to: bytes, or with K, M, G or T [default: this machine's memory]
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    heap: Option<u64>,
    /// How ranks reach each other: auto, shm or udp; auto: shared memory between ranks of a host, udp between hosts [default: auto]
    #[arg(long, value_name = "WORD")]
    transport: Option<TransportChoice>,
    /// The rails that ranks may use beside each other: shm, udp, or both as shm,udp; shm:N,udp: only ranks of one group of N share memory
    #[arg(long, value_name = "LIST", conflicts_with = "transport")]
    rails: Option<TransportChoice>,
    /// Encrypt what ranks send each other over a network
    #[arg(long)]
    encrypt: bool,
    /// After how many seconds a rank that is stopped, or a host that does not answer, counts as lost; a rank that is alive but does not
    /// answer over a network is unreachable after twenty times as many [default: 5]
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true, value_parser = seconds_above_zero)]
    failure_limit: Option<Duration>,
    /// List the bundled programs
    #[arg(long)]
    list: bool,
    /// A bundled program, a path, or a program in PATH; then its arguments
    #[arg(required_unless_present = "list", trailing_var_arg = true, value_names = ["PROGRAM", "ARGS"])]
    command: Vec<OsString>,
    // The heading of its options holds for all that follow.
    #[command(flatten)]
    on: OnHosts,
}

#[derive(Clone, Copy, Default, ValueEnum)]
enum Progress {
    #[default]
    Auto,
    Thread,
    Manual,
}

#[derive(Clone, Copy, Default, PartialEq, ValueEnum)]
enum Bind {
    #[default]
    Auto,
    None,
}

impl Run {
    pub(crate) fn main(self) -> Result<ExitCode, Refused> {
        if self.list {
            return Ok(list());
        }
        let job = self.job()?;
        let outcome = match self.on.place(job)? {
            Ok(cluster) => cluster.run(),
            Err(job) => job.run(),
        };
        let outcome = outcome.map_err(refusal)?;
        if !outcome.is_quiet() {
            say(&outcome.to_string());
        }
        Ok(ExitCode::from(outcome.exit_code()))
    }

    fn job(&self) -> Result<Job, Refused> {
        // What the ranks would refuse is refused once.
        let inherited = Settings::from_environment().map_err(|error| Refused(error.to_string()))?;
        let (program, arguments) = self.command.split_first().expect("clap requires one");
        let ranks = self.ranks.expect("clap requires it");
        let mut job = Job::new(ranks, program);
        job.arguments = arguments.to_vec();
        if let Some(bundled) = bundled::find(program) {
            (bundled.check)(&bundled::texts(arguments)?, ranks).map_err(|why| Refused(format!("{}: {why}", bundled.name)))?;
            job.program = self.on.pelago()?.into();
            job.arguments = [bundled::COMMAND.into(), program.clone()].into_iter().chain(arguments.iter().cloned()).collect();
        }
        job.transport = self.transport.or(self.rails).unwrap_or(inherited.transport);
        job.heap_bytes = self.heap.or(inherited.heap_bytes);
        job.label = self.label;
        job.time_limit = self.time_limit;
        job.failure_limit = self.failure_limit.unwrap_or(inherited.failure_limit);
        job.start_limit = (self.start_limit > Duration::ZERO).then_some(self.start_limit);
        job.environment.extend(self.variables().map(|(name, value)| (name.into(), value.into())));
        Ok(job)
    }

    /// What the ranks are told by their environment; what is not said here they inherit.
    fn variables(&self) -> impl Iterator<Item = (&'static str, String)> {
        let progress = match self.progress {
            Progress::Auto => None,
            Progress::Thread => Some("thread"),
            Progress::Manual => Some("manual"),
        };
        let progress = progress.map(|word| (names::PROGRESS, word.into()));
        let bind = (self.bind == Bind::None).then(|| (names::BIND, "none".into()));
        let encrypt = self.encrypt.then(|| (names::ENCRYPT, "1".into()));
        let failure_limit = self.failure_limit.map(|limit| (names::FAILURE, limit.as_seconds().to_string()));
        progress.into_iter().chain(bind).chain(encrypt).chain(failure_limit)
    }
}

fn refusal(error: LaunchError) -> Refused {
    let hint = if matches!(error, LaunchError::Unknown(_)) { "; pelago run --list shows the bundled ones" } else { "" };
    Refused(format!("{error}{hint}"))
}

fn list() -> ExitCode {
    let width = PROGRAMS.iter().map(|program| program.name.len()).max().unwrap_or(0);
    for program in PROGRAMS {
        // A reader that has seen enough is no error.
        let _ = writeln!(std::io::stdout(), "{:width$}  {}", program.name, program.summary);
    }
    ExitCode::SUCCESS
}

pub(crate) fn seconds(text: &str) -> Result<Duration, &'static str> {
    let seconds: f64 = text.parse().map_err(|_| "it is a number of seconds")?;
    (0.0..1e6).contains(&seconds).then(|| Duration::from_seconds(seconds)).ok_or("it is between 0 and a million seconds")
}

fn seconds_above_zero(text: &str) -> Result<Duration, &'static str> {
    seconds(text).ok().filter(|limit| *limit > Duration::ZERO).ok_or("it is above 0 and below a million seconds")
}

pub(crate) fn bytes(text: &str) -> Result<u64, &'static str> {
    parse_bytes(text).filter(|bytes| *bytes > 0).ok_or("it is a number of bytes, or of K, M, G or T")
}
