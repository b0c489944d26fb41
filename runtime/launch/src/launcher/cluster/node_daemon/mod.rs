//! The node daemon: `pelago host`, which `pelago run --hosts` starts on each host through a remote shell.

mod controller;

use std::io::{IsTerminal, stdin, stdout};
use std::net::UdpSocket;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;

use pelago_base::{Duration, Rank};
use pelago_platform::Clock;
use pelago_shm::{HostAddress, HostMemory};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::Rlimit;

use crate::OsClock;
use crate::launcher::cluster::node_daemon::controller::{NodeDaemon, StartCommand};
use crate::launcher::cluster::protocol::message::{FromHost, HostAssignment, VERSION};
use crate::launcher::job::controller::Controller;
use crate::launcher::job::event_loop::{JobResources, RankEventLoop, sleep};
use crate::launcher::job::state_machine::Census;
use crate::launcher::limits::{ADDRESSES_MAX, REASON_BYTES_MAX};
use crate::launcher::system::call_error::NamedCall;
use crate::launcher::system::{descriptor_limit, program, sockets, system_calls};
use crate::launcher::{LaunchError, LocalJob};
use crate::system::network::HostAddresses;
use crate::system::{job_key, shortened};

/// Runs the node daemon of a host. Commands of the launcher of the job arrive on standard input; events and output go to standard output.
///
/// Returns when all work is done, or, with no process left, when the launcher of the job has gone. The calling thread must live as long.
///
/// # Errors
/// Standard input is a terminal, or the ranks cannot be monitored; no process is left. The launcher reports other errors.
pub fn serve() -> Result<(), LaunchError> {
    if stdin().is_terminal() {
        return Err(LaunchError::Uncalled);
    }
    job_key::keep_from_dumps();
    let clock = OsClock::start();
    let (input, output) = (stdin().as_fd().try_clone_to_owned()?, stdout().as_fd().try_clone_to_owned()?);
    let mut daemon = NodeDaemon::new(input, output, clock.now())?;
    let reachable = HostAddresses::here(ADDRESSES_MAX).map_err(LaunchError::Interfaces)?;
    daemon.send(&FromHost::Hello { version: VERSION.into(), reachable });
    let Some(plan) = wait(&mut daemon, clock, NodeDaemon::take_plan)? else { return Ok(()) };
    let part = match PreparedHost::prepare(*plan) {
        Ok(part) => part,
        Err(error) => return refuse(daemon, clock, &error),
    };
    daemon.send(&FromHost::Bound { port: part.port, heap_bytes: HostMemory::heap_bytes_default(part.plan.count) });
    let Some(start) = wait(&mut daemon, clock, |daemon| daemon.take_start(part.plan.count))? else { return Ok(()) };
    match part.make_memory(start) {
        Ok((host, memory)) => part.run(&host, &memory, daemon, clock),
        Err(error) => refuse(daemon, clock, &error),
    }
}

/// A host that is ready to start its ranks.
struct PreparedHost {
    plan: HostAssignment,
    job: LocalJob,
    program: PathBuf,
    limit: Rlimit,
    port: Option<u16>,
    sockets: Vec<UdpSocket>,
}

impl PreparedHost {
    fn prepare(plan: HostAssignment) -> Result<Self, LaunchError> {
        let work = &plan.job;
        std::env::set_current_dir(&work.folder).map_err(|error| LaunchError::Folder(work.folder.clone(), error))?;
        let mut job = LocalJob::new(work.ranks, &work.program);
        job.arguments.clone_from(&work.arguments);
        job.environment.clone_from(&work.environment);
        job.transport = work.transport;
        let program = program::find(&job.program, std::env::var_os("PATH").as_deref())?;
        system_calls::check(plan.address.is_some())?;
        let limit = descriptor_limit::make_room(plan.count)?;
        let bind = |ip| sockets::bind_reachable(ip, plan.count);
        let (port, sockets) = plan.address.map(bind).transpose()?.unzip();
        Ok(Self { job, program, limit, port, sockets: sockets.unwrap_or_default(), plan })
    }

    fn make_memory(&self, start: StartCommand) -> Result<(HostMemory, OwnedFd), LaunchError> {
        let address = |(first, address)| HostAddress { first: Rank::new(first), address };
        let hosts: Vec<_> = start.hosts.into_iter().map(address).collect();
        let HostAssignment { first, count, ref job, .. } = self.plan;
        let (first, heap_bytes) = (Rank::new(first), Some(start.heap_bytes));
        let plan = pelago_shm::HostPlan { ranks: job.ranks, first, count, heap_bytes, key: job.key, hosts: &hosts };
        let (host, memory) = HostMemory::create(&plan)?;
        // Of the job alone: variables that only this host sets for its ranks are a difference to ranks of other hosts.
        host.set_settings(&self.job.shared_settings(|_| None).to_string());
        Ok((host, memory))
    }

    /// Runs from the start of the first rank to the last message.
    fn run(self, host: &HostMemory, memory: &OwnedFd, daemon: NodeDaemon, clock: OsClock) -> Result<(), LaunchError> {
        let call = match pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK).named("pipe2") {
            Ok(call) => call,
            Err(error) => return refuse(daemon, clock, &error.into()),
        };
        let call = (!host.is_whole_job()).then(|| (call.0.as_fd(), call.1.as_fd()));
        let command = |rank| self.job.command(&self.program, rank);
        let failure_limit = Duration::from_milliseconds(self.plan.job.failure_limit_ms);
        let (memory, sockets, limit) = (memory.as_fd(), self.sockets, self.limit);
        let supplies = JobResources { host, memory, sockets, call, input: false, command, limit, failure_limit };
        let mut daemon = match RankEventLoop::new(supplies, clock, daemon) {
            Ok(event_loop) => event_loop.run()?,
            // Without the message the launcher would take the host for a failed one.
            Err((error, daemon)) => return refuse(daemon, clock, &error.into()),
        };
        daemon.send(&FromHost::Done);
        finish(daemon, clock)
    }
}

/// Reports why this host cannot take part.
fn refuse(mut daemon: NodeDaemon, clock: OsClock, error: &LaunchError) -> Result<(), LaunchError> {
    let why = error.to_string();
    daemon.send(&FromHost::Refused(shortened(&why, REASON_BYTES_MAX).to_owned()));
    finish(daemon, clock)
}

/// Waits until all messages have been received by the other side.
fn finish(mut daemon: NodeDaemon, clock: OsClock) -> Result<(), LaunchError> {
    loop {
        listen(&mut daemon, clock);
        if daemon.is_flushed() {
            return Ok(());
        }
        pause(&daemon, clock)?;
    }
}

/// Waits for a message of the job's launcher; `None` if there is nothing left to do.
fn wait<T>(
    daemon: &mut NodeDaemon,
    clock: OsClock,
    mut said: impl FnMut(&mut NodeDaemon) -> Option<T>,
) -> Result<Option<T>, LaunchError> {
    loop {
        listen(daemon, clock);
        let said = said(daemon);
        if said.is_some() || daemon.is_dismissed() {
            return Ok(said);
        }
        pause(daemon, clock)?;
    }
}

fn listen(daemon: &mut NodeDaemon, clock: OsClock) {
    let now = clock.now();
    daemon.pump(now);
    daemon.handle_time(now);
    daemon.handle_census(now, Census::default());
}

fn pause(daemon: &NodeDaemon, clock: OsClock) -> Result<(), LaunchError> {
    let pause = daemon.next_deadline().map_or(Duration::ZERO, |deadline| deadline.since(clock.now()));
    Ok(sleep(pause, daemon.interest())?)
}
