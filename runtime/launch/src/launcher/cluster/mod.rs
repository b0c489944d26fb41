//! Jobs of several hosts: the launcher of the job, which the user starts, and a node daemon on each host, which starts and monitors its ranks.
//!
//! ```text
//!   pelago run --hosts a,b          remote shell              host a
//!   launcher of the job  <---- frames over two pipes ---->  node daemon (pelago host) ---- starts, watches ----> ranks
//! ```
//!
//! | file or folder | content |
//! |---|---|
//! | `host_list` | the hosts that the user names, and the ranks of each |
//! | `remote_shell` | commands on other hosts |
//! | `protocol` | the messages between launcher and node daemons |
//! | `state_machine` | the job state machine of several hosts: its input is messages of hosts, its output messages to hosts |
//! | `event_loop` | the loop of the launcher of the job |
//! | `node_daemon` | the launcher on one host |
//!
//! The launcher and the node daemons communicate through the standard input and output of the remote shell. Therefore the launcher opens no port, the
//! remote shell decides which users may start ranks, and the secret of the job is in no argument and no variable. The end of a pipe reports a
//! dead host; unanswered pings report a silent one.

mod event_loop;
mod host_list;
mod node_daemon;
mod protocol;
mod remote_shell;
mod state_machine;

use std::ffi::OsString;
use std::path::PathBuf;

use pelago_platform::Clock;

pub(crate) use crate::launcher::cluster::host_list::is_name;
pub use crate::launcher::cluster::host_list::{HostList, HostListError, RankAmounts};
pub use crate::launcher::cluster::node_daemon::serve;
pub use crate::launcher::cluster::remote_shell::command::{RemoteShell, RemoteShellError};

use crate::launcher::cluster::protocol::message::JobDescription;
use crate::launcher::cluster::state_machine::{ClusterStateMachine, NetworkChoice};
use crate::launcher::job::outcome::JobOutcome;
use crate::launcher::job::state_machine::JobStateMachine;
use crate::launcher::limits::{DOWN_BYTES_MAX, REASON_BYTES_MAX};
use crate::launcher::output::writer;
use crate::launcher::system::{descriptor_limit, system_calls};
use crate::launcher::{LaunchError, LocalJob};
use crate::rank::environment;
use crate::system::job_key;
use crate::system::network::IpNetwork;
use crate::{OsClock, TransportChoice, names};

/// A job to run on several hosts.
#[derive(Clone, Debug)]
pub struct ClusterJob {
    /// The ranks and their program. The program is looked up on each host; relative paths are relative to this process's working folder, which
    /// must exist on each host.
    pub job: LocalJob,
    /// The hosts.
    pub hosts: HostList,
    /// The remote shell, which runs a command on a host.
    pub remote_shell: RemoteShell,
    /// The path of the `pelago` command on each host.
    pub remote_pelago: PathBuf,
    /// The network between ranks; `None` is a network that all hosts share.
    pub network: Option<IpNetwork>,
    /// The variables of this process that ranks get in addition to those of their host and those whose names begin with `PELAGO_`.
    pub export: Vec<String>,
}

/// The hidden argument by which the `pelago` command becomes the launcher on a host.
pub const HOST_COMMAND: &str = "host";

impl ClusterJob {
    /// Runs the job to its end: starts the node daemons, forwards the output of the ranks to this process's output, and leaves no process behind.
    ///
    /// SIGINT, SIGTERM and SIGHUP, unless ignored, end the job meanwhile. No rank has this process's standard input.
    ///
    /// # Errors
    /// The job could not be started; no process is left.
    pub fn run(&self) -> Result<JobOutcome, LaunchError> {
        let clock = OsClock::start();
        let hosts = self.hosts.place(self.job.ranks)?;
        if hosts.len() > 1 && self.job.transport == TransportChoice::Shm {
            return Err(LaunchError::Apart(hosts.len()));
        }
        let uses_network = hosts.len() > 1 || self.job.transport.has_network();
        let way = uses_network.then(|| self.network.map_or(NetworkChoice::Common, NetworkChoice::Given));
        job_key::keep_from_dumps();
        let work = self.work()?;
        system_calls::check(false)?;
        descriptor_limit::make_room(hosts.len() as u32)?;
        let name = self.job.program.to_string_lossy().into_owned();
        let job = JobStateMachine::new(name, self.job.ranks, self.job.limits(), clock.now());
        let command = [self.remote_pelago.as_os_str(), HOST_COMMAND.as_ref()];
        let calls = hosts.iter().map(|host| self.remote_shell.words(&host.name, &command)).collect();
        // Ranks of a single host detect a deadlock themselves. They also report a value that is no number.
        let deadlock_after = environment::deadlock_after(|name| value_of(&work, name)).ok().flatten().filter(|_| hosts.len() > 1);
        let state = ClusterStateMachine::new(job, work, way, hosts, deadlock_after, clock.now());
        let writers = writer::writers(self.job.label)?;
        Ok(event_loop::HostEventLoop::new(calls, clock, state, writers)?.run()?)
    }

    fn work(&self) -> Result<JobDescription, LaunchError> {
        let work = JobDescription {
            ranks: self.job.ranks,
            program: self.job.program.clone(),
            arguments: self.job.arguments.clone(),
            environment: self.environment()?,
            folder: std::env::current_dir().map_err(LaunchError::WorkingFolder)?,
            transport: self.job.transport,
            heap_bytes: self.job.heap_bytes,
            failure_limit_ms: (self.job.failure_limit.as_seconds() * 1e3).ceil() as u64,
            key: job_key::draw().map_err(LaunchError::Key)?,
        };
        // Leaves room for the host-specific part of each assignment.
        let bytes = serde_json::to_vec(&work).map_err(std::io::Error::from)?.len() + REASON_BYTES_MAX;
        if bytes > DOWN_BYTES_MAX { Err(LaunchError::Large(bytes)) } else { Ok(work) }
    }

    /// Returns the variables of ranks in addition to those of their host; the job's own come last and take precedence, and the variables for the
    /// rank's position come after all of them.
    fn environment(&self) -> Result<Vec<(OsString, OsString)>, LaunchError> {
        let is_of_outer_job = |name: &OsString| names::OF_ONE_JOB.iter().any(|other| name == other);
        let is_ours = |name: &OsString| name.as_encoded_bytes().starts_with(b"PELAGO_") && !is_of_outer_job(name);
        let ours = std::env::vars_os().filter(|(name, _)| is_ours(name)).map(Ok);
        let exported = self.export.iter().map(|name| match std::env::var_os(name) {
            Some(value) => Ok((name.into(), value)),
            None => Err(LaunchError::Export(name.clone())),
        });
        ours.chain(exported).chain(self.job.environment.iter().cloned().map(Ok)).collect()
    }
}

/// Returns the value of a variable of the ranks.
fn value_of(work: &JobDescription, name: &str) -> Option<OsString> {
    work.environment.iter().rev().find(|(other, _)| other == name).map(|(_, value)| value.clone())
}
