//! Starting the ranks of a job on this host or on several, and ending them.
//!
//! | file | holds |
//! |---|---|
//! | `course` | the job as a state machine: what happened goes in, what to do to the ranks comes out |
//! | `outcome` | how a job ended: exit code and line |
//! | `watch` | the loop: signals, ends and output of ranks in one `poll` |
//! | `lead` | who decides about the ranks that the loop watches, and takes their output |
//! | `process` | one rank's process and all that it starts |
//! | `guard` | a small process that ends what ranks have started when the launcher is killed |
//! | `stream`, `lines`, `outlet` | output: from the ranks' pipes; as whole lines; to the launcher's own |
//! | `sockets` | where ranks receive datagrams |
//! | `cluster` | jobs of several hosts |
//! | [`calls`] | what not every system grants |
//! | `stops`, `memory` | which ranks are stopped; whether the kernel killed some for their memory |
//! | `reap` | collecting what was killed, without waiting for what does not die |
//! | `refusal` | what the system refuses the launcher |
//! | `ready`, `signals`, `descriptors`, `program` | parts that those need |
//! | `limits` | the bounds |
//!
//! Nothing of a job has a name in the file system, and when the launcher dies, the kernel kills the ranks and the guard what those
//! have started: nothing stays behind. The launcher waits nowhere but in `poll`, for signals too, and a little for what it has killed.

pub mod calls;
mod cluster;
mod course;
mod descriptors;
mod guard;
mod lead;
mod limits;
mod lines;
mod memory;
mod outcome;
mod outlet;
mod process;
mod program;
mod ready;
mod reap;
mod refusal;
mod signals;
mod sockets;
mod stops;
mod stream;
mod watch;

use std::ffi::OsString;
use std::net::{IpAddr, Ipv4Addr, UdpSocket};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::Command;

use pelago_base::limits::{RANKS_MAX, RANKS_PER_HOST_MAX};
use pelago_base::{Duration, Rank};
use pelago_platform::Clock;
use pelago_shm::{HostAddress, HostMemory, HostMemoryError, HostPlan};

pub use self::cluster::{Cluster, HOST_COMMAND, Hosts, HostsError, Network, NetworkError, RemoteShell, RemoteShellError, serve};
pub use self::outcome::{Death, Outcome, Place, Process};
pub use self::refusal::Refusal;

use self::limits::DOWN_BYTES_MAX;
use crate::environment::FAILURE_LIMIT_DEFAULT;
use crate::{OsClock, TransportChoice, key, names};

/// Where the ranks of a job on one host receive datagrams.
const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

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
    /// How the ranks reach each other.
    pub transport: TransportChoice,
    /// The most bytes of a heap; `None` is as much as the machine has.
    pub heap_bytes: Option<u64>,
    /// Whether each line of output begins with the number of the rank that wrote it.
    pub label: bool,
    /// How long ranks have to call the library once all of them run; `None` is for ever.
    pub start_limit: Option<Duration>,
    /// How long the job may take; `None` is for ever.
    pub time_limit: Option<Duration>,
    /// For how long a rank may be stopped, as by SIGSTOP, while others run.
    pub failure_limit: Duration,
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
        "{processes} processes need {needed} open files in the launcher and {allowed} are allowed; raise the limit (ulimit -n) or start fewer"
    )]
    Descriptors {
        /// The ranks, or the remote shells.
        processes: u32,
        /// Descriptors needed.
        needed: u64,
        /// Descriptors allowed.
        allowed: u64,
    },
    /// The ranks cannot reach each other over UDP.
    #[error("cannot bind {0} UDP sockets to {1}: {2}; {hint}", hint = socket_hint(.2))]
    Sockets(u32, IpAddr, std::io::Error),
    /// The memory of the job cannot be made.
    #[error(transparent)]
    Host(#[from] HostMemoryError),
    /// The hosts do not suit the ranks.
    #[error(transparent)]
    Hosts(#[from] HostsError),
    /// Ranks on several hosts were to share memory.
    #[error("ranks on {0} hosts cannot reach each other by shared memory; use --transport auto or udp")]
    Apart(usize),
    /// A variable that ranks should have is not there.
    #[error("there is no variable {0} to export")]
    Export(String),
    /// Arguments and variables are too many.
    #[error("the command line and its variables take {0} bytes to pass on; {DOWN_BYTES_MAX} are allowed")]
    Large(usize),
    /// The working folder of the job is not one of this host.
    #[error("cannot enter the folder {}: {}", .0.display(), reason(.1))]
    Folder(PathBuf, std::io::Error),
    /// Nobody is there to say what to do.
    #[error(
        "pelago {HOST_COMMAND} is what pelago run --hosts starts on each host; it is told through its standard input what to do"
    )]
    Uncalled,
    /// The system gives no random numbers.
    #[error("cannot draw the key of the job: getrandom and /dev/urandom give no random numbers: {}", reason(.0))]
    Key(std::io::Error),
    /// Datagrams do not reach this host from itself.
    #[error(
        "datagrams do not reach {0} on this machine: {1}; is its interface up (ip link set lo up)? --transport shm needs no network"
    )]
    Unreachable(IpAddr, std::io::Error),
    /// The system refuses a call.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The job cannot be started for another reason.
    #[error("cannot start the job: {0}")]
    System(#[from] std::io::Error),
}

const _: () = assert!(RANKS_PER_HOST_MAX <= RANKS_MAX, "every rank of a full host can be addressed");

impl Job {
    /// How long ranks have to call the library, unless the job says otherwise.
    pub const START_LIMIT_DEFAULT: Duration = crate::limits::START_LIMIT_DEFAULT;

    /// A job of `ranks` ranks of `program`, without arguments, labels or a time limit.
    pub fn new(ranks: u32, program: impl Into<OsString>) -> Self {
        Self {
            ranks,
            program: program.into(),
            arguments: Vec::new(),
            environment: Vec::new(),
            transport: TransportChoice::Auto,
            heap_bytes: None,
            label: false,
            start_limit: Some(Self::START_LIMIT_DEFAULT),
            time_limit: None,
            failure_limit: FAILURE_LIMIT_DEFAULT,
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
        calls::check(self.transport.has_network())?;
        let limit = descriptors::make_room(self.ranks)?;
        let (host, memory, sockets) = self.supplies()?;
        let name = self.program.to_string_lossy().into_owned();
        let course = course::Course::new(name, self.ranks, self.limits(), clock.now());
        let alone = lead::Alone::new(course, outlet::outlets(self.label)?);
        let command = |rank| self.command(&program, rank);
        let (memory, failure_limit) = (memory.as_fd(), self.failure_limit);
        let supplies = watch::Supplies { host: &host, memory, sockets, call: None, input: true, command, limit, failure_limit };
        Ok(watch::Watch::new(supplies, clock, alone)?.run()?.into_outcome())
    }

    fn limits(&self) -> course::Limits {
        course::Limits { start: self.start_limit, time: self.time_limit, failure: self.failure_limit }
    }

    /// The memory of the job, and a socket for each rank if they reach each other over UDP.
    fn supplies(&self) -> Result<(HostMemory, OwnedFd, Vec<UdpSocket>), LaunchError> {
        let plan = HostPlan::local(self.ranks, self.heap_bytes);
        if !self.transport.has_network() {
            let (host, memory) = HostMemory::create(&plan)?;
            return Ok((host, memory, Vec::new()));
        }
        let (port, sockets) = sockets::bind_reachable(LOOPBACK, self.ranks)?;
        let hosts = [HostAddress { first: plan.first, address: (LOOPBACK, port).into() }];
        key::keep_from_dumps();
        let key = key::draw().map_err(LaunchError::Key)?;
        let (host, memory) = HostMemory::create(&HostPlan { key, hosts: &hosts, ..plan })?;
        Ok((host, memory, sockets))
    }

    /// What `rank` runs.
    fn command(&self, program: &Path, rank: Rank) -> Command {
        let mut command = Command::new(program);
        command.args(&self.arguments).envs(self.environment.iter().map(|(name, value)| (name, value)));
        // Where this launcher is itself part of a job, that job's descriptors are none of its ranks'.
        for name in [names::MEMORY, names::SOCKET, names::CALL] {
            command.env_remove(name);
        }
        command.env(names::RANK, rank.number().to_string());
        command.env(names::SIZE, self.ranks.to_string());
        command.env(names::TRANSPORT, self.transport.to_string());
        command
    }
}

/// A number of bytes, with an optional K, M, G or T for powers of 1024, as everywhere in Pelago.
pub fn parse_bytes(text: &str) -> Option<u64> {
    crate::environment::parse_bytes(text)
}

/// What may help where sockets cannot be bound.
fn socket_hint(error: &std::io::Error) -> &'static str {
    match error.kind() {
        std::io::ErrorKind::AddrNotAvailable => {
            "the address is not, or not yet, one that this machine may use: an interface that has just come up needs some seconds"
        }
        _ => "start fewer ranks, or let them use shared memory (--transport shm)",
    }
}

/// What is wrong, without the number of the error.
fn reason(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or_default().into()
}
