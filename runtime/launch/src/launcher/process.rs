//! One rank's process: starting it and ending it.
//!
//! - **L1** Between fork and exec only system calls are made: no allocation, no lock.
//! - **L2** The kernel ends a rank when the *thread* that started it ends, so `start` belongs on a thread that lives as long as the job.
//! - **L3** The launcher collects orphans (`Watch` makes it their parent), so that what is killed is also gone.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use pelago_base::Rank;
use rustix::io::{Errno, FdFlags, fcntl_setfd};
use rustix::process::{
    Pid, PidfdFlags, Resource, Rlimit, Signal, WaitId, WaitIdOptions, WaitOptions, getpid, getppid, kill_process_group,
    pidfd_open, set_parent_process_death_signal, setrlimit, waitid, waitpgid,
};

use super::course::End;
use super::guard::Guard;
use super::outcome::{Place, Process};

/// The process of a rank, with all that it starts: a process group.
pub(super) struct RankProcess {
    rank: Rank,
    id: Pid,
    /// Until its end has been seen.
    running: Option<OwnedFd>,
}

/// A process that was started, and the ends of the pipes that it writes to: standard output, then error.
pub(super) struct Started {
    pub(super) process: RankProcess,
    pub(super) pipes: [OwnedFd; 2],
}

impl RankProcess {
    /// Starts `command` as `rank`, with this limit on its descriptors. It inherits `descriptors` and learns the number of each from the
    /// variable named beside it.
    pub(super) fn start(
        mut command: Command,
        rank: Rank,
        descriptors: &[(&str, BorrowedFd<'_>)],
        limit: Rlimit,
    ) -> io::Result<Started> {
        let (launcher, inherited) =
            (getpid(), descriptors.iter().map(|(_, descriptor)| descriptor.as_raw_fd()).collect::<Vec<_>>());
        command.envs(descriptors.iter().map(|(name, descriptor)| (name, descriptor.as_raw_fd().to_string())));
        let prepare = move || {
            set_parent_process_death_signal(Some(Signal::KILL))?;
            if getppid() != Some(launcher) {
                return Err(Errno::SRCH.into());
            }
            setrlimit(Resource::Nofile, limit)?;
            for &descriptor in &inherited {
                // SAFETY: `start` borrows the descriptors until the child has left this function.
                fcntl_setfd(unsafe { BorrowedFd::borrow_raw(descriptor) }, FdFlags::empty())?;
            }
            Ok(())
        };
        // SAFETY: L1; errors are numbers and need no memory.
        unsafe { command.pre_exec(prepare) };
        let mut child = command.process_group(0).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        let id = Pid::from_child(&child);
        let (Some(output), Some(error)) = (child.stdout.take(), child.stderr.take()) else { unreachable!("both were asked for") };
        let running = pidfd_open(id, PidfdFlags::empty()).inspect_err(|_| {
            let _ = child.kill().and_then(|()| child.wait());
        })?;
        Ok(Started { process: Self { rank, id, running: Some(running) }, pipes: [output.into(), error.into()] })
    }

    /// The rank and its process.
    pub(super) fn process(&self) -> Process {
        Process { rank: self.rank, place: Place::Here(self.group()) }
    }

    /// The rank.
    pub(super) fn rank(&self) -> Rank {
        self.rank
    }

    /// The number of the process, and of the group of all that it starts.
    pub(super) fn group(&self) -> u32 {
        self.id.as_raw_nonzero().get() as u32
    }

    /// A descriptor that can be read when the process has ended, until `take_end`.
    pub(super) fn running(&self) -> Option<BorrowedFd<'_>> {
        self.running.as_ref().map(AsFd::as_fd)
    }

    /// How the process ended, if it has; what it left in its group is killed and collected.
    ///
    /// Killing comes first: until the process is collected, no other group can have its number.
    pub(super) fn take_end(&mut self, guard: &Guard) -> Result<Option<End>, Errno> {
        let Some(running) = &self.running else { return Ok(None) };
        let status =
            waitid(WaitId::PidFd(running.as_fd()), WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT)?;
        let Some(status) = status else { return Ok(None) };
        self.signal(Signal::KILL);
        guard.remove(self.group());
        // All of the group are children of the launcher by now or as soon as their parent has ended (L3).
        self.collect();
        self.running = None;
        Ok(Some(match (status.exit_status(), status.terminating_signal()) {
            (Some(code), _) => End::Code(code),
            (None, signal) => End::Signal(signal.unwrap_or(0)),
        }))
    }

    /// Waits for all of the group, which have been killed.
    fn collect(&self) {
        while !matches!(waitpgid(self.id, WaitOptions::empty()), Err(Errno::CHILD)) {}
    }

    /// Sends a signal to the process and all that it started, if it runs.
    pub(super) fn signal(&self, signal: Signal) {
        if self.running.is_some() {
            // The group may be empty of all but the ended process.
            let _ = kill_process_group(self.id, signal);
        }
    }
}

impl Drop for RankProcess {
    /// Whatever goes wrong in the launcher, no rank outlives it.
    fn drop(&mut self) {
        self.signal(Signal::KILL);
        if self.running.is_some() {
            self.collect();
        }
    }
}
