//! The process of one rank: start and end.
//!
//! - **L1** Between fork and exec only system calls are made: no allocation, no lock.
//! - **L2** The kernel ends a rank when the *thread* that started it ends, so that `start` must be called by a thread that lives as long as the job.
//! - **L3** The launcher collects orphans (`RankEventLoop` makes it their parent), so that killed processes also disappear.
//! - **L4** `waitid` writes a structure for which zeros are valid: the process is 0 if none is found.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use pelago_base::Rank;
use rustix::io::{Errno, FdFlags, fcntl_setfd};
use rustix::process::{
    Pid, PidfdFlags, Resource, Rlimit, Signal, WaitId, WaitIdOptions, getpid, getppid, kill_process_group, pidfd_open,
    pidfd_send_signal, set_parent_process_death_signal, setrlimit, waitid,
};

use crate::launcher::job::outcome::{ProcessLocation, RankProcess};
use crate::launcher::job::state_machine::ProcessEnd;
use crate::launcher::limits::{COLLECT, ORPHANS_MAX};
use crate::launcher::process::guard::ProcessGuard;
use crate::launcher::process::oom_kills::OomKills;
use crate::launcher::process::reap;
use crate::launcher::system::call_error::{NamedCall, SystemCallError};

/// The process of a rank, with its descendants: a process group.
pub(crate) struct ChildProcess {
    rank: Rank,
    id: Pid,
    /// Present until the end has been detected.
    running: Option<OwnedFd>,
    /// Whether no process of its group is left.
    is_collected: bool,
}

/// The signal by which the kernel ends a process when memory runs out.
const KILLED: i32 = Signal::KILL.as_raw();

/// A started process, and the read ends of its pipes: standard output, then error.
pub(crate) struct Started {
    pub(crate) process: ChildProcess,
    pub(crate) pipes: [OwnedFd; 2],
}

impl ChildProcess {
    /// Starts `command` as `rank`, guarded and with this descriptor limit. The process inherits `descriptors` and gets the number of each in the
    /// variable next to it.
    pub(crate) fn start(
        mut command: Command,
        rank: Rank,
        guard: &ProcessGuard,
        descriptors: &[(&str, BorrowedFd<'_>)],
        limit: Rlimit,
    ) -> io::Result<Started> {
        let (launcher, inherited) =
            (getpid(), descriptors.iter().map(|(_, descriptor)| descriptor.as_raw_fd()).collect::<Vec<_>>());
        command.envs(descriptors.iter().map(|(name, descriptor)| (name, descriptor.as_raw_fd().to_string())));
        let prepare = move || {
            // If these two are refused, the guard ends the ranks of a killed launcher, and the limit stays raised.
            let _ = set_parent_process_death_signal(Some(Signal::KILL));
            let _ = setrlimit(Resource::Nofile, limit);
            if getppid() != Some(launcher) {
                return Err(Errno::SRCH.into());
            }
            for &descriptor in &inherited {
                // SAFETY: `start` borrows the descriptors until the child has left this function.
                fcntl_setfd(unsafe { BorrowedFd::borrow_raw(descriptor) }, FdFlags::empty())?;
            }
            Ok(())
        };
        // SAFETY: L1; errors are numbers and need no allocation.
        unsafe { command.pre_exec(prepare) };
        let mut child = guard.spawn(command.stdout(Stdio::piped()).stderr(Stdio::piped()))?;
        let id = Pid::from_child(&child);
        let (Some(output), Some(error)) = (child.stdout.take(), child.stderr.take()) else { unreachable!("both were asked for") };
        let running = pidfd_open(id, PidfdFlags::empty()).named("pidfd_open").map_err(|refusal| {
            let _ = kill_process_group(id, Signal::KILL);
            guard.remove(child.id());
            reap::wait(COLLECT, || reap::is_group_gone(id));
            io::Error::other(refusal)
        })?;
        Ok(Started {
            process: Self { rank, id, running: Some(running), is_collected: false },
            pipes: [output.into(), error.into()],
        })
    }

    /// The rank and its process.
    pub(crate) fn process(&self) -> RankProcess {
        RankProcess { rank: self.rank, location: ProcessLocation::Local(self.group()) }
    }

    /// The rank.
    pub(crate) fn rank(&self) -> Rank {
        self.rank
    }

    /// The number of the process, and of the group of its descendants.
    pub(crate) fn group(&self) -> u32 {
        self.id.as_raw_nonzero().get() as u32
    }

    /// Returns a descriptor that becomes readable when the process has ended, until `take_end`.
    pub(crate) fn running(&self) -> Option<BorrowedFd<'_>> {
        self.running.as_ref().map(AsFd::as_fd)
    }

    /// Returns how the process ended, if it has, and the descriptor that signalled it; the rest of its group is killed, and has to be collected.
    ///
    /// The group is killed first: until the process is collected, no other group can have its number.
    pub(crate) fn take_end(
        &mut self,
        guard: &ProcessGuard,
        kills: &OomKills,
    ) -> Result<Option<(ProcessEnd, OwnedFd)>, SystemCallError> {
        let Some(running) = &self.running else { return Ok(None) };
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        let Some(status) = waitid(WaitId::PidFd(running.as_fd()), options).named("waitid")? else { return Ok(None) };
        self.signal(Signal::KILL);
        guard.remove(self.group());
        let end = match (status.exit_status(), status.terminating_signal()) {
            (Some(code), _) => ProcessEnd::Code(code),
            (None, Some(KILLED)) if kills.have_risen() => ProcessEnd::OutOfMemory,
            (None, signal) => ProcessEnd::Signal(signal.unwrap_or(0)),
        };
        Ok(self.running.take().map(|running| (end, running)))
    }

    /// Collects ended processes of the group, except the rank's own, whose end `take_end` has to find.
    pub(crate) fn collect_orphans(&self) {
        for _ in 0..ORPHANS_MAX {
            match ended_in_group(self.id) {
                Some(orphan) if orphan != self.id => _ = reap::is_child_gone(orphan),
                _ => return,
            }
        }
    }

    /// Collects ended processes in the group of a process whose end was taken; returns whether none is left. All of the group are children of the
    /// launcher, now or as soon as their parent has ended (L3).
    pub(crate) fn is_gone(&mut self) -> bool {
        self.is_collected = self.is_collected || self.running.is_none() && reap::is_group_gone(self.id);
        self.is_collected
    }

    /// Whether the process is stopped, according to the kernel. A process that is stopped in a debugger is not.
    pub(crate) fn is_stopped(&self) -> bool {
        let Some(running) = &self.running else { return false };
        let options = WaitIdOptions::STOPPED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        waitid(WaitId::PidFd(running.as_fd()), options).is_ok_and(|status| status.is_some_and(|status| status.stopped()))
    }

    /// Sends a signal to the process and its descendants, if it runs.
    pub(crate) fn signal(&self, signal: Signal) {
        let Some(running) = &self.running else { return };
        // The group may contain only the ended process. If groups cannot be signalled, the process still can.
        if kill_process_group(self.id, signal).is_err_and(|error| error != Errno::SRCH) {
            let _ = pidfd_send_signal(running, signal);
        }
    }
}

/// Returns a child of this process that has ended and is in a group, without collecting it.
fn ended_in_group(group: Pid) -> Option<Pid> {
    let options = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
    // SAFETY: L4.
    let found = unsafe {
        let mut found: libc::siginfo_t = std::mem::zeroed();
        let refused = libc::waitid(libc::P_PGID, group.as_raw_nonzero().get() as libc::id_t, &mut found, options) != 0;
        if refused { 0 } else { found.si_pid() }
    };
    Pid::from_raw(found)
}

/// The started ranks, from the first of the host on. Whatever fails in the launcher, none outlives it.
#[derive(Default)]
pub(crate) struct ChildProcesses(pub(crate) Vec<ChildProcess>);

impl Drop for ChildProcesses {
    fn drop(&mut self) {
        self.0.iter().for_each(|rank| rank.signal(Signal::KILL));
        for rank in &mut self.0 {
            rank.running = None;
        }
        reap::wait(COLLECT, || self.0.iter_mut().filter(|rank| !rank.is_collected).all(ChildProcess::is_gone));
    }
}

#[cfg(test)]
mod tests {
    use std::io::BufRead;

    use pelago_base::Duration;
    use rustix::process::{getrlimit, test_kill_process};

    use super::*;

    const PATIENCE: Duration = Duration::from_milliseconds(20_000);

    /// Starts a process that is not a rank; returns it with its pipes.
    fn start(program: &str, arguments: &[&str], guard: &ProcessGuard) -> Started {
        let mut command = Command::new(program);
        command.args(arguments);
        ChildProcess::start(command, Rank::new(0), guard, &[], getrlimit(Resource::Nofile)).unwrap()
    }

    /// The number of the group may soon be that of another group.
    #[test]
    fn the_guard_forgets_a_group_whose_process_has_ended() {
        let (guard, told) = ProcessGuard::recording();
        let Started { mut process, pipes: _pipes } = start("sleep", &["0"], &guard);
        let kills = OomKills::note();
        let has_ended = || process.take_end(&guard, &kills).unwrap().is_some();
        assert!(reap::wait(PATIENCE, has_ended));
        drop(guard);
        let mut words = [0; 16];
        assert_eq!(rustix::io::read(&told, &mut words[..]), Ok(12), "it starts, it runs, it has ended");
        assert_eq!(words[8..12], (process.group() | 1 << 31).to_ne_bytes());
        assert!(reap::wait(PATIENCE, || process.is_gone()));
    }

    #[test]
    fn what_a_rank_has_started_and_left_is_collected_while_it_runs() {
        const STARTED: usize = 3;
        rustix::process::set_child_subreaper(Some(getpid())).unwrap();
        let script = format!("for i in $(seq {STARTED}); do sh -c 'sleep 0 & echo $!'; done; exec sleep 1000");
        let (guard, _told) = ProcessGuard::recording();
        let Started { mut process, pipes: [output, _error] } = start("sh", &["-c", &script], &guard);
        let lines = io::BufReader::new(std::fs::File::from(output)).lines().take(STARTED);
        let orphans: Vec<Pid> = lines.map(|line| Pid::from_raw(line.unwrap().parse().unwrap()).unwrap()).collect();
        let is_gone = |orphan: &Pid| test_kill_process(*orphan) == Err(Errno::SRCH);
        let are_gone = || {
            process.collect_orphans();
            orphans.iter().all(is_gone)
        };
        assert!(orphans.len() == STARTED && reap::wait(PATIENCE, are_gone));
        process.signal(Signal::KILL);
        let has_ended = || ended_in_group(process.id) == Some(process.id);
        assert!(reap::wait(PATIENCE, has_ended));
        process.collect_orphans();
        let end = process.take_end(&guard, &OomKills::note()).unwrap().map(|(end, _)| end);
        assert_eq!(end, Some(ProcessEnd::Signal(KILLED)), "its own end is still to be found");
        assert!(reap::wait(PATIENCE, || process.is_gone()));
    }

    #[test]
    fn ranks_end_with_a_launcher_that_gives_up() {
        let (guard, _told) = ProcessGuard::recording();
        let Started { process, pipes: _pipes } = start("sleep", &["1000"], &guard);
        let id = process.id;
        drop(ChildProcesses(vec![process]));
        assert_eq!(test_kill_process(id), Err(Errno::SRCH));
    }
}
