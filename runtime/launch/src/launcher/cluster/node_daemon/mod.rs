//! The launcher on a host of a job: what `pelago run` starts through a remote shell.

mod controller;

use std::fs::{read_link, read_to_string};
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
use crate::launcher::cluster::network::{Network, Reachable};
use crate::launcher::cluster::node_daemon::controller::{Deputy, Start};
use crate::launcher::cluster::protocol::message::{Plan, Up, VERSION};
use crate::launcher::job::controller::Lead;
use crate::launcher::job::event_loop::{Supplies, Watch, sleep};
use crate::launcher::job::state_machine::Census;
use crate::launcher::limits::{ADDRESSES_MAX, REASON_BYTES_MAX};
use crate::launcher::system::call_error::Named;
use crate::launcher::system::{descriptor_limit, program, sockets, system_calls};
use crate::launcher::{Job, LaunchError};
use crate::system::job_key;

/// Does a host's part of a job, as the launcher of the job says through standard input; what happens is said to standard output.
///
/// Returns when the part is done, or with nothing left of it when the launcher of the job is gone. The calling thread must live as long.
///
/// # Errors
/// Standard input is a terminal, or the ranks cannot be watched; none is left. Other reasons are the launcher's to say.
pub fn serve() -> Result<(), LaunchError> {
    if stdin().is_terminal() {
        return Err(LaunchError::Uncalled);
    }
    job_key::keep_from_dumps();
    let clock = OsClock::start();
    let (input, output) = (stdin().as_fd().try_clone_to_owned()?, stdout().as_fd().try_clone_to_owned()?);
    let mut deputy = Deputy::new(input, output, clock.now())?;
    deputy.send(&Up::Hello { version: VERSION.into(), reachable: reachable()? });
    let Some(plan) = wait(&mut deputy, clock, Deputy::take_plan)? else { return Ok(()) };
    let part = match Part::prepare(*plan) {
        Ok(part) => part,
        Err(error) => return refuse(deputy, clock, &error),
    };
    deputy.send(&Up::Bound { port: part.port, heap_bytes: HostMemory::heap_bytes_default(part.plan.count) });
    let Some(start) = wait(&mut deputy, clock, |deputy| deputy.take_start(part.plan.count))? else { return Ok(()) };
    match part.make_memory(start) {
        Ok((host, memory)) => part.run(&host, &memory, deputy, clock),
        Err(error) => refuse(deputy, clock, &error),
    }
}

/// What a host has made ready.
struct Part {
    plan: Plan,
    job: Job,
    program: PathBuf,
    limit: Rlimit,
    port: Option<u16>,
    sockets: Vec<UdpSocket>,
}

impl Part {
    fn prepare(plan: Plan) -> Result<Self, LaunchError> {
        let work = &plan.job;
        std::env::set_current_dir(&work.folder).map_err(|error| LaunchError::Folder(work.folder.clone(), error))?;
        let mut job = Job::new(work.ranks, &work.program);
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

    fn make_memory(&self, start: Start) -> Result<(HostMemory, OwnedFd), LaunchError> {
        let address = |(first, address)| HostAddress { first: Rank::new(first), address };
        let hosts: Vec<_> = start.hosts.into_iter().map(address).collect();
        let Plan { first, count, ref job, .. } = self.plan;
        let (first, heap_bytes) = (Rank::new(first), Some(start.heap_bytes));
        let plan = pelago_shm::HostPlan { ranks: job.ranks, first, count, heap_bytes, key: job.key, hosts: &hosts };
        Ok(HostMemory::create(&plan)?)
    }

    /// From the first rank's start to the last word.
    fn run(self, host: &HostMemory, memory: &OwnedFd, deputy: Deputy, clock: OsClock) -> Result<(), LaunchError> {
        let call = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK).named("pipe2")?;
        let call = (!host.is_whole_job()).then(|| (call.0.as_fd(), call.1.as_fd()));
        let command = |rank| self.job.command(&self.program, rank);
        let failure_limit = Duration::from_milliseconds(self.plan.job.failure_limit_ms);
        let (memory, sockets, limit) = (memory.as_fd(), self.sockets, self.limit);
        let supplies = Supplies { host, memory, sockets, call, input: false, command, limit, failure_limit };
        let mut deputy = Watch::new(supplies, clock, deputy)?.run()?;
        deputy.send(&Up::Done);
        finish(deputy, clock)
    }
}

/// Says why this host cannot take part.
fn refuse(mut deputy: Deputy, clock: OsClock, error: &LaunchError) -> Result<(), LaunchError> {
    let mut why = error.to_string();
    why.truncate(why.floor_char_boundary(REASON_BYTES_MAX));
    deputy.send(&Up::Refused(why));
    finish(deputy, clock)
}

/// Waits until all that was said has been taken.
fn finish(mut deputy: Deputy, clock: OsClock) -> Result<(), LaunchError> {
    loop {
        listen(&mut deputy, clock);
        if deputy.is_heard() {
            return Ok(());
        }
        pause(&deputy, clock)?;
    }
}

/// Waits until the launcher of the job has said something; `None` if there is nothing more to do.
fn wait<T>(
    deputy: &mut Deputy,
    clock: OsClock,
    mut said: impl FnMut(&mut Deputy) -> Option<T>,
) -> Result<Option<T>, LaunchError> {
    loop {
        listen(deputy, clock);
        let said = said(deputy);
        if said.is_some() || deputy.is_dismissed() {
            return Ok(said);
        }
        pause(deputy, clock)?;
    }
}

fn listen(deputy: &mut Deputy, clock: OsClock) {
    let now = clock.now();
    deputy.pump(now);
    deputy.handle_time(now);
    deputy.handle_census(now, Census::default());
}

fn pause(deputy: &Deputy, clock: OsClock) -> Result<(), LaunchError> {
    let pause = deputy.next_deadline().map_or(Duration::ZERO, |deadline| deadline.since(clock.now()));
    Ok(sleep(pause, deputy.interest())?)
}

/// Where this host can be reached.
fn reachable() -> std::io::Result<Reachable> {
    let network = |interface: if_addrs::Interface| match interface.addr {
        if_addrs::IfAddr::V4(v4) => Network { address: v4.ip.into(), prefix_bits: v4.prefixlen },
        if_addrs::IfAddr::V6(v6) => Network { address: v6.ip.into(), prefix_bits: v6.prefixlen },
    };
    let interfaces = if_addrs::get_if_addrs()?.into_iter().filter(if_addrs::Interface::is_oper_up);
    // One kernel, and one network of that kernel, which has a loopback of its own.
    let kernel = read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let network_of_kernel = read_link("/proc/self/ns/net").unwrap_or_default();
    let machine = format!("{} {}", kernel.trim(), network_of_kernel.display());
    Ok(Reachable { machine, addresses: interfaces.map(network).take(ADDRESSES_MAX).collect() })
}
