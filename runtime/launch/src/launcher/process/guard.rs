//! A small process that outlives a launcher killed by SIGKILL just long enough to end the descendants of ranks.
//!
//! The kernel ends the ranks themselves in that case, but not their children, for example if a rank is a script.
//!
//! - **G1** Between fork and exit the guard makes only system calls, on memory of its own stack: no allocation, no lock.
//! - **G2** It closes every descriptor except its end of the pipe, so that no other process waits for it, and the pipe ends with the launcher. If the
//!   kernel lacks `close_range` (Linux 5.9), it closes the descriptors that were open at its start, one by one.
//! - **G3** The launcher waits for it for a limited time: a guard that does not exit when the pipe ends is killed.
//! - **G4** A started process reports its group itself, between fork and exec and by system calls only: a launcher that is killed before it
//!   has the number of the process leaves nothing behind.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};

use pelago_base::limits::RANKS_PER_HOST_MAX;
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, Resource, Signal, getpid, getrlimit, kill_process, kill_process_group, setsid};

use crate::launcher::limits::{DESCRIPTORS_TRIED_MAX, GUARD_LEAVE};
use crate::launcher::process::reap;
use crate::launcher::system::call_error::{NamedCall, SystemCallError};

/// The guard of one job. The drop ends it.
pub(crate) struct ProcessGuard {
    /// Transfers the numbers of started groups, and of ended groups, which the guard removes.
    pipe: Option<OwnedFd>,
    process: Pid,
}

/// Marks a group that has ended. Process numbers are below 2²².
const ENDED: u32 = 1 << 31;

/// Marks a group whose process is being started; without a number, such a start that has failed. There is one at a time.
const STARTING: u32 = 1 << 30;

impl ProcessGuard {
    /// Starts the guard.
    pub(crate) fn start() -> Result<Self, SystemCallError> {
        let (end, pipe) = pipe_with(PipeFlags::CLOEXEC).named("pipe2")?;
        let open = open_descriptors();
        // SAFETY: G1 for the child; the parent continues as before.
        match unsafe { libc::fork() } {
            0 => watch(&end, &open),
            // Not every number is one of a process.
            process => match (process > 0).then(|| Pid::from_raw(process)).flatten() {
                Some(process) => Ok(Self { pipe: Some(pipe), process }),
                None => Err(std::io::Error::last_os_error()).named("fork"),
            },
        }
    }

    /// Starts a command as a process group of its own, which the guard knows before the command runs.
    ///
    /// # Errors
    /// The command cannot be started.
    pub(crate) fn spawn(&self, command: &mut Command) -> io::Result<Child> {
        let pipe = self.pipe.as_ref().map(AsRawFd::as_raw_fd);
        let report = move || {
            if let Some(pipe) = pipe {
                // A guard that was killed no longer reads; a start that fails for this reason would end a job that continues without its guard.
                // SAFETY: G4; `spawn` borrows the pipe until the child has left this function.
                unsafe {
                    let before = libc::signal(libc::SIGPIPE, libc::SIG_IGN);
                    let word = getpid().as_raw_nonzero().get() as u32 | STARTING;
                    let _ = rustix::io::write(BorrowedFd::borrow_raw(pipe), &word.to_ne_bytes());
                    libc::signal(libc::SIGPIPE, before);
                }
            }
            Ok(())
        };
        // SAFETY: G4.
        unsafe { command.process_group(0).pre_exec(report) };
        let started = command.spawn();
        self.tell(started.as_ref().map_or(STARTING, Child::id));
        started
    }

    /// Removes a group that is about to be collected; its number may soon belong to another group.
    pub(crate) fn remove(&self, group: u32) {
        self.tell(group | ENDED);
    }

    /// Returns a guard without a process, and the pipe with the group numbers.
    #[cfg(test)]
    pub(crate) fn recording() -> (Self, OwnedFd) {
        let (end, pipe) = pipe_with(PipeFlags::CLOEXEC).unwrap();
        (Self { pipe: Some(pipe), process: Pid::INIT }, end)
    }

    fn tell(&self, word: u32) {
        // A job continues without its guard, for example if the guard was killed.
        let _ = self.pipe.as_ref().map(|pipe| rustix::io::write(pipe, &word.to_ne_bytes()));
    }
}

impl Drop for ProcessGuard {
    /// G3.
    fn drop(&mut self) {
        self.pipe = None;
        let is_gone = || reap::is_child_gone(self.process);
        if !reap::wait(GUARD_LEAVE, is_gone) {
            let _ = kill_process(self.process, Signal::KILL);
            reap::wait(GUARD_LEAVE, is_gone);
        }
    }
}

/// Returns the descriptors of this process; if they cannot be listed, all possible ones.
fn open_descriptors() -> Vec<RawFd> {
    let listed = std::fs::read_dir("/proc/self/fd").map(|entries| {
        let numbers = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
        numbers.collect()
    });
    listed.unwrap_or_else(|_| {
        let allowed = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
        (0..allowed.min(DESCRIPTORS_TRIED_MAX) as RawFd).collect()
    })
}

/// G2, between fork and exec: `open` was created before.
fn close_all_but(kept: RawFd, open: &[RawFd]) {
    let (before, after) = (kept as libc::c_uint, kept as libc::c_uint + 1);
    // SAFETY: G1; the guard uses nothing but `kept` afterwards.
    unsafe {
        // Not every C library has a wrapper.
        let close_range = |first: libc::c_uint, last: libc::c_uint| libc::syscall(libc::SYS_close_range, first, last, 0) == 0;
        let refused = before > 0 && !close_range(0, before - 1);
        if !close_range(after, libc::c_uint::MAX) || refused {
            for &descriptor in open.iter().filter(|&&descriptor| descriptor != kept) {
                libc::close(descriptor);
            }
        }
    }
}

/// The guard's main function: tracks the groups until the launcher has gone, then kills the remaining ones.
fn watch(end: &OwnedFd, open: &[RawFd]) -> ! {
    let mut groups = [0_u32; RANKS_PER_HOST_MAX as usize];
    let mut starting = 0;
    let mut word = [0; size_of::<u32>()];
    close_all_but(end.as_raw_fd(), open);
    // Leaves the launcher's session: signals of the terminal are not for the guard.
    let _ = setsid();
    // SAFETY: the descriptor that `close_all_but` leaves open.
    let pipe = unsafe { BorrowedFd::borrow_raw(end.as_raw_fd()) };
    loop {
        match rustix::io::read(pipe, &mut word[..]) {
            // Words are written and read as a whole.
            Ok(4) => note(&mut groups, &mut starting, u32::from_ne_bytes(word)),
            Err(Errno::INTR) => {}
            _ => break,
        }
    }
    for group in groups.into_iter().chain([starting]).filter_map(|group| Pid::from_raw(group as i32)) {
        let _ = kill_process_group(group, Signal::KILL);
    }
    // SAFETY: ends this process without running any code of the launcher.
    unsafe { libc::_exit(0) }
}

fn note(groups: &mut [u32], starting: &mut u32, word: u32) {
    if word & (STARTING | ENDED) == STARTING {
        return *starting = word & !STARTING;
    }
    if word == *starting {
        *starting = 0;
    }
    let (from, to) = if word & ENDED == 0 { (0, word) } else { (word & !ENDED, 0) };
    if let Some(group) = groups.iter_mut().find(|group| **group == from) {
        *group = to;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;

    #[test]
    fn groups_are_noted_until_they_end() {
        let (mut groups, mut starting) = ([0; 3], 0);
        for word in [5, 6, 7, 6 | ENDED, 8, 9] {
            note(&mut groups, &mut starting, word);
        }
        assert_eq!((groups, starting), ([5, 8, 7], 0));
    }

    #[test]
    fn a_group_that_is_being_started_is_noted_until_it_runs_or_cannot() {
        let (mut groups, mut starting) = ([0; 3], 0);
        let mut note = |word| {
            super::note(&mut groups, &mut starting, word);
            (groups, starting)
        };
        assert_eq!(note(5 | STARTING), ([0; 3], 5));
        assert_eq!(note(5), ([5, 0, 0], 0));
        assert_eq!(note(6 | STARTING), ([5, 0, 0], 6));
        assert_eq!(note(STARTING), ([5, 0, 0], 0), "it could not be started");
    }

    /// The launcher may be killed before it runs again, and what the process has started by then would be left behind.
    #[test]
    fn a_process_is_known_to_the_guard_before_its_program_runs() {
        let (guard, told) = ProcessGuard::recording();
        let words = || {
            let mut words = [0; 64];
            let bytes = rustix::io::read(&told, &mut words[..]).unwrap();
            words[..bytes].chunks_exact(4).map(|word| u32::from_ne_bytes(word.try_into().unwrap())).collect::<Vec<_>>()
        };
        let mut child = guard.spawn(Command::new("sleep").arg("0")).unwrap();
        assert_eq!(words(), [child.id() | STARTING, child.id()]);
        child.wait().unwrap();
        assert!(guard.spawn(&mut Command::new("/no/such/program")).is_err());
        let words = words();
        assert!(words.len() == 2 && words[0] & STARTING != 0 && words[1] == STARTING, "{words:x?}");
    }

    #[test]
    fn a_process_starts_although_its_guard_is_gone() {
        let (guard, told) = ProcessGuard::recording();
        drop(told);
        let run = |script| guard.spawn(Command::new("sh").args(["-c", script])).unwrap().wait().unwrap();
        assert_eq!(run("exit 7").code(), Some(7));
        assert_eq!(run("kill -PIPE $$; exit 7").signal(), Some(libc::SIGPIPE), "it does not ignore the signal itself");
    }

    #[test]
    fn a_guard_goes_when_it_is_dropped() {
        let guard = ProcessGuard::start().unwrap();
        let process = guard.process;
        guard.tell(1 << 22);
        guard.remove(1 << 22);
        drop(guard);
        assert_eq!(rustix::process::test_kill_process(process), Err(Errno::SRCH));
    }

    /// The guard's own session ensures that Ctrl-C, which goes to all foreground processes of the terminal's session, does not end it before the launcher.
    #[test]
    fn a_guard_has_a_session_of_its_own() {
        let guard = ProcessGuard::start().unwrap();
        let number = guard.process.as_raw_nonzero().get();
        // SAFETY: a question. Before the guard has its own session, the answer is 0 where the leader of ours is in another PID namespace.
        let has_own = || unsafe { libc::getsid(number) } == number;
        assert!(reap::wait(pelago_base::Duration::from_milliseconds(20_000), has_own));
    }

    #[test]
    fn a_guard_that_does_not_go_is_killed() {
        let guard = ProcessGuard::start().unwrap();
        let process = guard.process;
        kill_process(process, Signal::STOP).unwrap();
        drop(guard);
        assert_eq!(rustix::process::test_kill_process(process), Err(Errno::SRCH));
    }

    #[test]
    fn a_descriptor_that_is_open_is_listed() {
        let (end, other) = pipe_with(PipeFlags::CLOEXEC).unwrap();
        let open = open_descriptors();
        assert!(open.contains(&end.as_raw_fd()) && open.contains(&other.as_raw_fd()));
    }
}
