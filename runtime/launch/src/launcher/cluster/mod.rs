//! Jobs of several hosts: one launcher, which the user started, and on each host another, which starts and watches the ranks there.
//!
//! | file | holds |
//! |---|---|
//! | `hosts` | which hosts, and which ranks on each |
//! | `shell`, `remote` | the command that runs another on a host; such a command while it runs |
//! | `frame`, `message`, `link` | what launchers tell each other: as bytes, in words, over pipes |
//! | `network` | by which addresses ranks reach each other |
//! | `course` | the job as a state machine: what hosts say goes in, what to tell them comes out |
//! | `watch` | the loop of the launcher of the job |
//! | `deputy`, `host` | the launcher on a host: what it says and is told; its part from hello to the last word |
//!
//! Launchers talk through the standard input and output of the remote shell: no port is opened for them, who may log in may start ranks,
//! and the job's secret is in no argument and no variable. Whoever dies is noticed by the end of a pipe; who only falls silent, by
//! questions without an answer.

mod course;
mod deputy;
mod frame;
mod host;
mod hosts;
mod link;
mod message;
mod network;
mod remote;
mod shell;
mod watch;

use std::ffi::OsString;
use std::path::PathBuf;

use pelago_platform::Clock;

pub use self::host::serve;
pub use self::hosts::{Hosts, HostsError};
pub use self::network::{Network, NetworkError};
pub use self::shell::{RemoteShell, RemoteShellError};

use self::course::{Course, Way};
use self::message::Work;
use super::limits::{DOWN_BYTES_MAX, REASON_BYTES_MAX};
use super::{Job, LaunchError, Outcome, calls, course as job, descriptors, outlet};
use crate::{OsClock, TransportChoice, key};

/// A job to run on several hosts.
#[derive(Clone, Debug)]
pub struct Cluster {
    /// What runs there. The program is looked up on each host; relative paths are relative to this process's working folder, which
    /// must exist on each host.
    pub job: Job,
    /// Where it runs.
    pub hosts: Hosts,
    /// How a command is run on a host.
    pub remote_shell: RemoteShell,
    /// Where the `pelago` command is on each host.
    pub remote_pelago: PathBuf,
    /// By which network ranks reach each other; `None` is one by which all hosts do.
    pub network: Option<Network>,
    /// The variables of this process that ranks have besides those of their host and those whose names begin with `PELAGO_`.
    pub export: Vec<String>,
}

/// The hidden argument by which the `pelago` command becomes the launcher on a host.
pub const HOST_COMMAND: &str = "host";

impl Cluster {
    /// Runs the job to its end: calls the hosts, passes the output of the ranks on to this process's, and leaves none behind.
    ///
    /// SIGINT, SIGTERM and SIGHUP, unless ignored, end the job while this runs. No rank has this process's standard input.
    ///
    /// # Errors
    /// The job could not be started; nothing runs.
    pub fn run(&self) -> Result<Outcome, LaunchError> {
        let clock = OsClock::start();
        let hosts = self.hosts.place(self.job.ranks)?;
        if hosts.len() > 1 && self.job.transport == TransportChoice::Shm {
            return Err(LaunchError::Apart(hosts.len()));
        }
        let uses_network = hosts.len() > 1 || self.job.transport.has_network();
        let way = uses_network.then(|| self.network.map_or(Way::Any, Way::By));
        key::keep_from_dumps();
        let work = self.work()?;
        calls::check(false)?;
        descriptors::make_room(hosts.len() as u32)?;
        let name = self.job.program.to_string_lossy().into_owned();
        let job = job::Course::new(name, self.job.ranks, self.job.limits(), clock.now());
        let command = [self.remote_pelago.as_os_str(), HOST_COMMAND.as_ref()];
        let calls = hosts.iter().map(|host| self.remote_shell.words(&host.name, &command)).collect();
        let course = Course::new(job, work, way, hosts, clock.now());
        let outlets = outlet::outlets(self.job.label)?;
        Ok(watch::Watch::new(calls, clock, course, outlets)?.run()?)
    }

    fn work(&self) -> Result<Work, LaunchError> {
        let work = Work {
            ranks: self.job.ranks,
            program: self.job.program.clone(),
            arguments: self.job.arguments.clone(),
            environment: self.environment()?,
            folder: std::env::current_dir()?,
            transport: self.job.transport,
            heap_bytes: self.job.heap_bytes,
            failure_limit_ms: (self.job.failure_limit.as_seconds() * 1e3).ceil() as u64,
            key: key::draw().map_err(LaunchError::Key)?,
        };
        // With room for what each plan has besides.
        let bytes = serde_json::to_vec(&work).map_err(std::io::Error::from)?.len() + REASON_BYTES_MAX;
        if bytes > DOWN_BYTES_MAX { Err(LaunchError::Large(bytes)) } else { Ok(work) }
    }

    /// Variables that ranks have besides those of their host; the job's own come last and so count, and what a rank is told of its place
    /// comes after all of them.
    fn environment(&self) -> Result<Vec<(OsString, OsString)>, LaunchError> {
        let is_ours = |name: &OsString| name.as_encoded_bytes().starts_with(b"PELAGO_");
        let ours = std::env::vars_os().filter(|(name, _)| is_ours(name)).map(Ok);
        let exported = self.export.iter().map(|name| match std::env::var_os(name) {
            Some(value) => Ok((name.into(), value)),
            None => Err(LaunchError::Export(name.clone())),
        });
        ours.chain(exported).chain(self.job.environment.iter().cloned().map(Ok)).collect()
    }
}
