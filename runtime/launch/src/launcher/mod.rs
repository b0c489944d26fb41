//! Starting the ranks of a job on this host, and ending them.
//!
//! | file | holds |
//! |---|---|
//! | `course` | the job as a state machine: what happened goes in, what to do to the ranks comes out |
//! | `outcome` | how a job ended: exit code and line |
//! | `watch` | the loop: signals, ends and output of ranks in one `poll` |
//! | `process` | one rank's process and all that it starts |
//! | `guard` | a small process that ends what ranks have started when the launcher is killed |
//! | `stream`, `lines` | output: from the ranks' pipes to the launcher's own; whole lines |
//! | `ready`, `signals`, `descriptors`, `program` | parts that those need |
//! | `limits` | the bounds |
//!
//! Nothing of a job has a name in the file system, and when the launcher dies, the kernel kills the ranks and the guard what those
//! have started: nothing stays behind.

mod course;
mod descriptors;
mod guard;
mod limits;
mod lines;
mod outcome;
mod process;
mod program;
mod ready;
mod signals;
mod stream;
mod watch;

use std::ffi::OsString;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::process::Command;

use pelago_base::Duration;
use pelago_base::limits::{RANKS_MAX, RANKS_PER_HOST_MAX};
use pelago_platform::Clock;
use pelago_shm::{Host, HostError};

pub use self::outcome::{Death, Outcome, Process};

use crate::{OsClock, names};

/// A job to run on this host.
#[derive(Clone, Debug)]
pub struct Job {
    /// How many ranks.
    pub ranks: u32,
    /// The program that each of them runs: a path, or a name to look up in `PATH`.
    pub program: OsString,
    /// The program's arguments.
    pub arguments: Vec<OsString>,
    /// Variables that the ranks have besides the launcher's.
    pub environment: Vec<(OsString, OsString)>,
    /// The most bytes of a heap; `None` is as much as the machine has.
    pub heap_bytes: Option<u64>,
    /// Whether each line of output begins with the number of the rank that wrote it.
    pub label: bool,
    /// How long ranks have to call the library once all of them run; `None` is for ever.
    pub start_limit: Option<Duration>,
    /// How long the job may take; `None` is for ever.
    pub time_limit: Option<Duration>,
}

/// A job could not be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LaunchError {
    /// The number of ranks is wrong.
    #[error("{0} ranks: a job has 1 to {RANKS_PER_HOST_MAX} ranks on one host")]
    Ranks(u32),
    /// The program cannot be run.
    #[error("cannot run {}: {}", .0.display(), reason(.1))]
    Program(PathBuf, std::io::Error),
    /// There is no program of this name.
    #[error("cannot run {0:?}: no such program in PATH; name one in this folder as ./{0}")]
    Unknown(String),
    /// So many processes cannot be watched.
    #[error(
        "{ranks} ranks need {needed} open files in the launcher and {allowed} are allowed; raise the limit (ulimit -n) or start fewer"
    )]
    Descriptors {
        /// The ranks.
        ranks: u32,
        /// Descriptors needed.
        needed: u64,
        /// Descriptors allowed.
        allowed: u64,
    },
    /// The memory of the job cannot be made.
    #[error(transparent)]
    Host(#[from] HostError),
    /// The system refuses.
    #[error("cannot watch the ranks: {0}")]
    System(#[from] std::io::Error),
}

const _: () = assert!(RANKS_PER_HOST_MAX <= RANKS_MAX, "every rank of a full host can be addressed");

impl Job {
    /// How long ranks have to call the library, unless the job says otherwise.
    pub const START_LIMIT_DEFAULT: Duration = Duration::from_milliseconds(30_000);

    /// A job of `ranks` ranks of `program`, without arguments, labels or a time limit.
    pub fn new(ranks: u32, program: impl Into<OsString>) -> Self {
        Self {
            ranks,
            program: program.into(),
            arguments: Vec::new(),
            environment: Vec::new(),
            heap_bytes: None,
            label: false,
            start_limit: Some(Self::START_LIMIT_DEFAULT),
            time_limit: None,
        }
    }

    /// Runs the job to its end: starts the ranks, passes their output on to this process's, and leaves none behind.
    ///
    /// SIGINT, SIGTERM and SIGHUP, unless ignored, end the job while this runs. The calling thread must live as long as the job,
    /// which it does; no other thread is needed. Rank 0 has this process's standard input unless that is a terminal.
    ///
    /// # Errors
    /// The job could not be started; nothing runs.
    pub fn run(&self) -> Result<Outcome, LaunchError> {
        let clock = OsClock::start();
        if !(1..=RANKS_PER_HOST_MAX).contains(&self.ranks) {
            return Err(LaunchError::Ranks(self.ranks));
        }
        let program = program::find(&self.program, std::env::var_os("PATH").as_deref())?;
        let limit = descriptors::make_room(self.ranks)?;
        let (host, memory) = Host::create(self.ranks, self.heap_bytes)?;
        let name = self.program.to_string_lossy().into_owned();
        let course = course::Course::new(name, self.ranks, self.start_limit, self.time_limit, clock.now());
        let streams = stream::streams(self.label).map_err(std::io::Error::from)?;
        let command = |rank: pelago_base::Rank| {
            let mut command = Command::new(&program);
            command.args(&self.arguments).envs(self.environment.iter().map(|(name, value)| (name, value)));
            command.env(names::RANK, rank.number().to_string());
            command.env(names::SIZE, self.ranks.to_string());
            command.env(names::MEMORY, std::os::fd::AsRawFd::as_raw_fd(&memory).to_string());
            command
        };
        let watch = watch::Watch::new((&host, memory.as_fd()), command, limit, clock, course, streams)?;
        Ok(watch.run().map_err(std::io::Error::from)?)
    }
}

/// A number of bytes, with an optional K, M, G or T for powers of 1024, as everywhere in Pelago.
pub fn parse_bytes(text: &str) -> Option<u64> {
    crate::environment::parse_bytes(text)
}

/// What is wrong, without the number of the error.
fn reason(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or_default().into()
}
