//! A host from the view of the job's launcher: the remote shell that runs the host's node daemon.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::process::{Command, Stdio};

use pelago_base::Instant;
use rustix::process::{Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, kill_process_group, pidfd_open, waitid};

use crate::launcher::cluster::protocol::link::FrameLink;
use crate::launcher::limits::{COLLECT, SHELL_LEAVE, UP_BYTES_MAX};
use crate::launcher::process::guard::ProcessGuard;
use crate::launcher::process::reap;
use crate::launcher::system::call_error::{NamedCall, SystemCallError};

/// A remote shell, with its descendants on this host: a process group, so that signals of the terminal reach only the launcher.
pub(crate) struct RemoteShellProcess {
    /// Open as long as there may be messages.
    pub(crate) link: Option<FrameLink>,
    program: String,
    id: Pid,
    /// Readable when the shell has ended.
    process: OwnedFd,
    /// Time since which it sends no more messages, or has ended.
    breaking_since: Option<Instant>,
    is_silent: bool,
    /// The description of its end.
    end: Option<String>,
}

impl RemoteShellProcess {
    /// Runs this command, whose standard error is this process's.
    pub(crate) fn start(words: &[OsString], guard: &ProcessGuard) -> io::Result<Self> {
        let (program, arguments) = words.split_first().expect("a remote shell has words");
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = guard.spawn(&mut command)?;
        let id = Pid::from_child(&child);
        let (Some(input), Some(output)) = (child.stdout.take(), child.stdin.take()) else { unreachable!("both were asked for") };
        let connect = || {
            let link = FrameLink::new(input.into(), output.into(), UP_BYTES_MAX)?;
            Ok::<_, SystemCallError>((link, pidfd_open(id, PidfdFlags::empty()).named("pidfd_open")?))
        };
        let (link, process) = connect().map_err(|refusal| {
            kill(id, guard);
            reap::wait(COLLECT, || reap::is_child_gone(id));
            io::Error::other(refusal)
        })?;
        let program = program.to_string_lossy().into_owned();
        Ok(Self { link: Some(link), program, id, process, breaking_since: None, is_silent: false, end: None })
    }

    /// Returns a descriptor that becomes readable when the shell has ended.
    pub(crate) fn process(&self) -> BorrowedFd<'_> {
        self.process.as_fd()
    }

    /// Records that no more messages will arrive through the shell.
    pub(crate) fn handle_silence(&mut self, now: Instant) {
        self.is_silent = true;
        self.breaking_since.get_or_insert(now);
    }

    /// Handles the end of the shell, if it has ended.
    pub(crate) fn handle_end(&mut self, now: Instant) -> Result<(), SystemCallError> {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        if let Some(status) = waitid(WaitId::PidFd(self.process.as_fd()), options).named("waitid")? {
            self.end = Some(match (status.exit_status(), status.terminating_signal()) {
                (Some(code), _) => format!("its remote shell ({}) ended with exit code {code}", self.program),
                (None, signal) => format!("its remote shell ({}) was killed by signal {}", self.program, signal.unwrap_or(0)),
            });
            self.breaking_since.get_or_insert(now);
        }
        Ok(())
    }

    /// Whether the shell has ended.
    pub(crate) fn has_ended(&self) -> bool {
        self.end.is_some()
    }

    /// Returns the reason why no more messages will arrive, once that is certain: data that the shell left unread, and its end, are awaited for a limited time.
    pub(crate) fn broken(&self, now: Instant) -> Option<&str> {
        match &self.end {
            Some(end) if self.is_silent => Some(end),
            end if now >= self.break_end()? => Some(end.as_deref().unwrap_or("its remote shell broke off")),
            _ => None,
        }
    }

    /// The time of the next such query.
    pub(crate) fn break_end(&self) -> Option<Instant> {
        self.link.as_ref()?;
        self.breaking_since.map(|since| since + SHELL_LEAVE)
    }

    /// Ends the rest of the shell's processes on this host; they have to be collected.
    pub(crate) fn kill(&mut self, guard: &ProcessGuard) {
        self.link = None;
        kill(self.id, guard);
    }

    /// Whether the killed shell is gone; collects it in this case.
    pub(crate) fn is_gone(&self) -> bool {
        reap::is_child_gone(self.id)
    }
}

/// The group is killed first: until the shell is collected, no other group can have its number.
fn kill(id: Pid, guard: &ProcessGuard) {
    let _ = kill_process_group(id, Signal::KILL);
    guard.remove(id.as_raw_nonzero().get() as u32);
}
