//! A small process that outlives a launcher killed by SIGKILL just long enough to end what the ranks have started.
//!
//! The kernel ends the ranks themselves in that case, but where a rank is a script, its children are the kernel's business no more.
//!
//! - **G1** Between fork and exit the guard makes system calls only, on memory of its own stack: no allocation, no lock.
//! - **G2** It closes every descriptor but its end of the pipe, so that nobody waits for it, and the pipe ends with the launcher.
#![allow(unsafe_code)]

use std::os::fd::OwnedFd;

use pelago_base::limits::RANKS_PER_HOST_MAX;
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, Signal, WaitOptions, kill_process_group, setsid, waitpid};

/// The guard of one job. Dropping it tells it to go.
pub(super) struct Guard {
    /// What is written here: groups that run, and groups that have ended, which the guard forgets.
    pipe: Option<OwnedFd>,
    process: Pid,
}

/// Marks a group that has ended. Process numbers are below 2²².
const ENDED: u32 = 1 << 31;

impl Guard {
    /// Starts the guard.
    pub(super) fn start() -> Result<Self, Errno> {
        let (end, pipe) = pipe_with(PipeFlags::CLOEXEC)?;
        // SAFETY: G1 for the child; the parent goes on as before.
        match unsafe { libc::fork() } {
            0 => watch(&end),
            process => match Pid::from_raw(process).filter(|_| process > 0) {
                Some(process) => Ok(Self { pipe: Some(pipe), process }),
                None => Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::AGAIN)),
            },
        }
    }

    /// A group has been started.
    pub(super) fn add(&self, group: u32) {
        self.tell(group);
    }

    /// A group is about to be collected; its number may soon be another's.
    pub(super) fn remove(&self, group: u32) {
        self.tell(group | ENDED);
    }

    fn tell(&self, word: u32) {
        // Without its guard, as when that was killed, a job runs on.
        let _ = self.pipe.as_ref().map(|pipe| rustix::io::write(pipe, &word.to_ne_bytes()));
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.pipe = None;
        let _ = waitpid(Some(self.process), WaitOptions::empty());
    }
}

/// What the guard does: keeps count of the groups until the launcher is gone, then kills those that are left.
fn watch(end: &OwnedFd) -> ! {
    let mut groups = [0_u32; RANKS_PER_HOST_MAX as usize];
    let mut word = [0; size_of::<u32>()];
    // SAFETY: G1, G2; `end` keeps the same open pipe under the number 0, and nothing of this process's memory is used after that.
    unsafe {
        libc::dup2(std::os::fd::AsRawFd::as_raw_fd(end), 0);
        libc::close_range(1, libc::c_uint::MAX, 0);
    }
    // Not in the launcher's session: what is typed at the terminal is not for the guard.
    let _ = setsid();
    // SAFETY: opened above and never closed.
    let pipe = unsafe { std::os::fd::BorrowedFd::borrow_raw(0) };
    loop {
        match rustix::io::read(pipe, &mut word[..]) {
            // Words are written whole, and so read whole.
            Ok(4) => note(&mut groups, u32::from_ne_bytes(word)),
            Err(Errno::INTR) => {}
            _ => break,
        }
    }
    for group in groups.into_iter().filter_map(|group| Pid::from_raw(group as i32)) {
        let _ = kill_process_group(group, Signal::KILL);
    }
    // SAFETY: ends this process without running anything of the launcher's.
    unsafe { libc::_exit(0) }
}

fn note(groups: &mut [u32], word: u32) {
    let (from, to) = if word & ENDED == 0 { (0, word) } else { (word & !ENDED, 0) };
    if let Some(group) = groups.iter_mut().find(|group| **group == from) {
        *group = to;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_noted_until_they_end() {
        let mut groups = [0; 3];
        for word in [5, 6, 7, 6 | ENDED, 8, 9] {
            note(&mut groups, word);
        }
        assert_eq!(groups, [5, 8, 7]);
    }

    #[test]
    fn a_guard_goes_when_it_is_dropped() {
        let guard = Guard::start().unwrap();
        let process = guard.process;
        guard.add(1 << 22);
        guard.remove(1 << 22);
        drop(guard);
        assert_eq!(rustix::process::test_kill_process(process), Err(Errno::SRCH));
    }
}
