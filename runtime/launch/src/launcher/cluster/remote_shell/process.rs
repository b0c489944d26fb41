//! A host as the launcher of the job sees it: the remote shell that runs the host's launcher.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use pelago_base::Instant;
use rustix::process::{Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, kill_process_group, pidfd_open, waitid};

use crate::launcher::cluster::protocol::link::FrameLink;
use crate::launcher::limits::{COLLECT, SHELL_LEAVE, UP_BYTES_MAX};
use crate::launcher::process::guard::ProcessGuard;
use crate::launcher::process::reap;
use crate::launcher::system::call_error::{NamedCall, SystemCallError};

/// A remote shell, with all that it starts here: a process group, so that what is typed at the terminal is for the launcher only.
pub(crate) struct RemoteShellProcess {
    /// As long as there is something to say or to hear.
    pub(crate) link: Option<FrameLink>,
    program: String,
    id: Pid,
    /// Readable when the shell has ended.
    process: OwnedFd,
    /// Since when it says nothing any more, or has ended.
    breaking_since: Option<Instant>,
    is_silent: bool,
    /// How it ended.
    end: Option<String>,
}

impl RemoteShellProcess {
    /// Runs these words, whose standard error is this process's.
    pub(crate) fn start(words: &[OsString], guard: &ProcessGuard) -> io::Result<Self> {
        let (program, arguments) = words.split_first().expect("a remote shell has words");
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).process_group(0);
        let mut child = command.spawn()?;
        let id = Pid::from_child(&child);
        guard.add(id.as_raw_nonzero().get() as u32);
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

    /// A descriptor that can be read when the shell has ended.
    pub(crate) fn process(&self) -> BorrowedFd<'_> {
        self.process.as_fd()
    }

    /// Nothing more will be heard through the shell.
    pub(crate) fn handle_silence(&mut self, now: Instant) {
        self.is_silent = true;
        self.breaking_since.get_or_insert(now);
    }

    /// Takes notice of the end of the shell, if it has ended.
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

    /// Why nothing more will come, once that is certain: what the shell left unread is not waited for long, nor is its end.
    pub(crate) fn broken(&self, now: Instant) -> Option<&str> {
        match &self.end {
            Some(end) if self.is_silent => Some(end),
            end if now >= self.break_end()? => Some(end.as_deref().unwrap_or("its remote shell broke off")),
            _ => None,
        }
    }

    /// When to ask that again.
    pub(crate) fn break_end(&self) -> Option<Instant> {
        self.link.as_ref()?;
        self.breaking_since.map(|since| since + SHELL_LEAVE)
    }

    /// Ends what is left of the shell, of whatever it started here too; it is to be collected.
    pub(crate) fn kill(&mut self, guard: &ProcessGuard) {
        self.link = None;
        kill(self.id, guard);
    }

    /// Whether the shell, which was killed, is gone; then it is collected.
    pub(crate) fn is_gone(&self) -> bool {
        reap::is_child_gone(self.id)
    }
}

/// Killing comes first: until the shell is collected, no other group can have its number.
fn kill(id: Pid, guard: &ProcessGuard) {
    let _ = kill_process_group(id, Signal::KILL);
    guard.remove(id.as_raw_nonzero().get() as u32);
}
