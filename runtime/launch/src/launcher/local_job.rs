//! A job whose ranks all run on this host.

use std::ffi::OsString;
use std::net::{IpAddr, Ipv4Addr, UdpSocket};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::process::Command;

use pelago_base::limits::{RANKS_MAX, RANKS_PER_HOST_MAX};
use pelago_base::{Duration, Rank};
use pelago_platform::Clock;
use pelago_shm::{HostAddress, HostMemory, HostPlan};

use crate::launcher::LaunchError;
use crate::launcher::job::controller::StandaloneController;
use crate::launcher::job::event_loop;
use crate::launcher::job::outcome::JobOutcome;
use crate::launcher::job::state_machine::{JobLimits, JobStateMachine};
use crate::launcher::output::writer;
use crate::launcher::system::{descriptor_limit, program, sockets, system_calls};
use crate::rank::environment::FAILURE_LIMIT_DEFAULT;
use crate::rank::shared_settings::SharedSettings;
use crate::system::job_key;
use crate::{OsClock, TransportChoice, names};

/// The address at which the ranks of a job on one host receive datagrams.
const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// A job to run on this host.
#[derive(Clone, Debug)]
pub struct LocalJob {
    /// Number of ranks.
    pub ranks: u32,
    /// The program that each of them runs: a path, or a name to look up in `PATH`.
    pub program: OsString,
    /// The program's arguments.
    pub arguments: Vec<OsString>,
    /// Variables of the ranks in addition to the launcher's.
    pub environment: Vec<(OsString, OsString)>,
    /// The transport between the ranks.
    pub transport: TransportChoice,
    /// Maximum size of a heap in bytes; `None` is as much as the machine has.
    pub heap_bytes: Option<u64>,
    /// Whether each line of output begins with the number of the rank that wrote it.
    pub label: bool,
    /// Maximum time until ranks have called the library, after all of them run; `None` is for ever.
    pub start_limit: Option<Duration>,
    /// Maximum duration of the job; `None` is for ever.
    pub time_limit: Option<Duration>,
    /// Maximum time for which a rank may be stopped, as by SIGSTOP, while others run.
    pub failure_limit: Duration,
}

const _: () = assert!(RANKS_PER_HOST_MAX <= RANKS_MAX, "every rank of a full host can be addressed");

impl LocalJob {
    /// Default of the maximum time until ranks have called the library.
    pub const START_LIMIT_DEFAULT: Duration = crate::limits::START_LIMIT_DEFAULT;

    /// Returns a job of `ranks` ranks of `program`, without arguments, labels or a time limit.
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

    /// Runs the job to its end: starts the ranks, forwards their output to this process's output, and leaves no process behind.
    ///
    /// SIGINT, SIGTERM and SIGHUP, unless ignored, end the job meanwhile. The calling thread must live as long as the job,
    /// which it does; no other thread is needed. Rank 0 has this process's standard input unless this is a terminal.
    ///
    /// # Errors
    /// The job could not be started; no process is left.
    pub fn run(&self) -> Result<JobOutcome, LaunchError> {
        let clock = OsClock::start();
        if !(1..=RANKS_PER_HOST_MAX).contains(&self.ranks) {
            return Err(LaunchError::Ranks(self.ranks));
        }
        let program = program::find(&self.program, std::env::var_os("PATH").as_deref())?;
        system_calls::check(self.transport.has_network())?;
        let limit = descriptor_limit::make_room(self.ranks)?;
        let (host, memory, sockets) = self.supplies()?;
        host.set_settings(&self.shared_settings(|name| std::env::var_os(name)).to_string());
        let name = self.program.to_string_lossy().into_owned();
        let state = JobStateMachine::new(name, self.ranks, self.limits(), clock.now());
        let controller = StandaloneController::new(state, writer::writers(self.label)?);
        let command = |rank| self.command(&program, rank);
        let (memory, failure_limit) = (memory.as_fd(), self.failure_limit);
        let supplies =
            event_loop::JobResources { host: &host, memory, sockets, call: None, input: true, command, limit, failure_limit };
        let event_loop = event_loop::RankEventLoop::new(supplies, clock, controller).map_err(|(error, _)| error)?;
        Ok(event_loop.run()?.into_outcome())
    }

    pub(crate) fn limits(&self) -> JobLimits {
        JobLimits { start: self.start_limit, time: self.time_limit, failure: self.failure_limit }
    }

    /// Returns the settings that all ranks have to share; `inherited` are the variables of ranks beside those of the job.
    pub(crate) fn shared_settings(&self, inherited: impl Fn(&str) -> Option<OsString>) -> SharedSettings {
        let given = |name: &str| self.environment.iter().rev().find(|(other, _)| other == name).map(|(_, value)| value.clone());
        SharedSettings::of_launcher(self.transport, |name| given(name).or_else(|| inherited(name)))
    }

    /// Returns the memory of the job, and a socket for each rank if they reach each other over UDP.
    fn supplies(&self) -> Result<(HostMemory, OwnedFd, Vec<UdpSocket>), LaunchError> {
        let plan = HostPlan::local(self.ranks, self.heap_bytes);
        if !self.transport.has_network() {
            let (host, memory) = HostMemory::create(&plan)?;
            return Ok((host, memory, Vec::new()));
        }
        let (port, sockets) = sockets::bind_reachable(LOOPBACK, self.ranks)?;
        let hosts = [HostAddress { first: plan.first, address: (LOOPBACK, port).into() }];
        job_key::keep_from_dumps();
        let key = job_key::draw().map_err(LaunchError::Key)?;
        let (host, memory) = HostMemory::create(&HostPlan { key, hosts: &hosts, ..plan })?;
        Ok((host, memory, sockets))
    }

    /// Returns the command of `rank`.
    pub(crate) fn command(&self, program: &Path, rank: Rank) -> Command {
        let mut command = Command::new(program);
        // If this launcher belongs to a job itself, its ranks must not inherit that job's descriptors, nor write into its records.
        for name in names::OF_ONE_JOB {
            command.env_remove(name);
        }
        command.args(&self.arguments).envs(self.environment.iter().map(|(name, value)| (name, value)));
        command.env(names::RANK, rank.number().to_string());
        command.env(names::SIZE, self.ranks.to_string());
        command.env(names::TRANSPORT, self.transport.to_string());
        command
    }
}
