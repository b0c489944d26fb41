//! Signals that ask the launcher to end the job, or to report the waits of its ranks (SIGQUIT), as readable descriptors.
//!
//! - **N1** A handler calls only `alarm`, which is permitted in a signal handler.
//! - **N2** The alarm that the first signal sets ends any wait of the launcher; the kernel and the guard then end the remaining
//!   ranks.
//! - **N3** The disposition of SIGCHLD changes from ignored to the default one, in which no handler runs. Sets of signals are initialized before they
//!   are read.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::SigId;
use signal_hook::consts::{SIGALRM, SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::flag;
use signal_hook::low_level::{pipe, register, unregister};

use crate::launcher::limits::SIGNAL_SECONDS;

/// The exit code of a launcher that did not end in time after a signal: the same as if it had.
const INTERRUPTED: i32 = 130;

/// The signals, watched until the value is dropped.
pub(crate) struct Signals {
    watched: Vec<Watched>,
    handlers: Vec<SigId>,
}

struct Watched {
    signal: i32,
    end: OwnedFd,
}

impl Signals {
    /// Watches the signals, except those that the parent process set to be ignored (`nohup`). SIGQUIT is watched in any case: it ends nothing, and
    /// shells let their background jobs ignore it.
    pub(crate) fn watch() -> io::Result<Self> {
        reset_inherited_disposition();
        let mut signals = Self { watched: Vec::new(), handlers: Vec::new() };
        signals.handlers.push(flag::register_conditional_shutdown(SIGALRM, INTERRUPTED, Arc::new(AtomicBool::new(true)))?);
        for signal in requests() {
            let (end, from) = UnixStream::pair()?;
            end.set_nonblocking(true)?;
            signals.handlers.push(pipe::register(signal, from)?);
            // SAFETY: N1.
            signals.handlers.push(unsafe { register(signal, set_alarm) }?);
            signals.watched.push(Watched { signal, end: end.into() });
        }
        let (end, from) = UnixStream::pair()?;
        end.set_nonblocking(true)?;
        signals.handlers.push(pipe::register(SIGQUIT, from)?);
        signals.watched.push(Watched { signal: SIGQUIT, end: end.into() });
        // Last: a signal that arrived while it was blocked is delivered now, and needs its handler.
        unblock_signals();
        Ok(signals)
    }

    /// The descriptors.
    pub(crate) fn descriptors(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.watched.iter().map(|watched| std::os::fd::AsFd::as_fd(&watched.end))
    }

    /// Returns the signal of a descriptor, by its index in `descriptors`, if it has arrived since the last call.
    pub(crate) fn take(&self, place: usize) -> Option<i32> {
        let watched = self.watched.get(place)?;
        let received = rustix::io::read(&watched.end, &mut [0; 64][..]);
        received.is_ok_and(|bytes| bytes > 0).then_some(watched.signal)
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        // SAFETY: N1; after the job the alarm must not end this process.
        unsafe { libc::alarm(0) };
        for &handler in &self.handlers {
            unregister(handler);
        }
    }
}

/// Undoes two settings that a process may inherit from its parent: ignored SIGCHLD, with which the kernel forgets the ends of children before this
/// process asks for them, and blocked signals, which would not reach this process. Processes that it starts inherit the result.
pub fn reset_inherited_signals() {
    reset_inherited_disposition();
    unblock_signals();
}

fn reset_inherited_disposition() {
    // SAFETY: N3; `sigaction` only reads the disposition, into memory for which zeros are a valid value.
    unsafe {
        let mut now: libc::sigaction = std::mem::zeroed();
        if libc::sigaction(SIGCHLD, std::ptr::null(), &mut now) == 0 && now.sa_sigaction == libc::SIG_IGN {
            libc::signal(SIGCHLD, libc::SIG_DFL);
        }
    }
}

fn unblock_signals() {
    mask(libc::SIG_UNBLOCK);
}

/// Blocks or unblocks the signals of this file for this thread.
fn mask(how: i32) {
    // SAFETY: N3.
    unsafe {
        let mut signals: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut signals);
        for signal in [SIGHUP, SIGINT, SIGTERM, SIGQUIT, SIGALRM] {
            libc::sigaddset(&mut signals, signal);
        }
        libc::pthread_sigmask(how, &signals, std::ptr::null_mut());
    }
}

/// Signals that ask this process to end after its job, when it only uses what the job has left. Those that the parent process set to be ignored are
/// not watched.
pub struct LateSignals(Arc<AtomicBool>);

impl LateSignals {
    /// Watches the signals.
    ///
    /// # Errors
    /// The system refuses.
    pub fn watch() -> io::Result<Self> {
        let arrived = Arc::new(AtomicBool::new(false));
        requests().try_for_each(|signal| flag::register(signal, arrived.clone()).map(drop))?;
        Ok(Self(arrived))
    }

    /// Whether one has arrived.
    pub fn have_arrived(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// From now on such a signal ends this process at once, with the exit code of an interrupted job. Returns whether one has arrived before.
    ///
    /// # Errors
    /// The system refuses.
    pub fn end_process(self) -> io::Result<bool> {
        let always = Arc::new(AtomicBool::new(true));
        requests().try_for_each(|signal| flag::register_conditional_shutdown(signal, INTERRUPTED, always.clone()).map(drop))?;
        Ok(self.have_arrived())
    }
}

/// The signals that ask the launcher to end, except ignored ones.
fn requests() -> impl Iterator<Item = i32> {
    let ignored = ignored();
    [SIGHUP, SIGINT, SIGTERM].into_iter().filter(move |signal| ignored & (1 << (signal - 1)) == 0)
}

/// N2; a second signal does not postpone the alarm.
fn set_alarm() {
    // SAFETY: N1.
    unsafe {
        let left = libc::alarm(SIGNAL_SECONDS);
        if left > 0 {
            libc::alarm(left);
        }
    }
}

/// The set of ignored signals, bit 0 for signal 1.
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use std::sync::{Mutex, PoisonError};

    use signal_hook::low_level::raise;

    use super::*;

    /// A process has one alarm, which the end of each test unsets.
    static ALARM: Mutex<()> = Mutex::new(());

    #[test]
    fn a_request_for_a_report_sets_no_alarm() {
        let _alarm = ALARM.lock().unwrap_or_else(PoisonError::into_inner);
        let signals = Signals::watch().unwrap();
        raise(SIGQUIT).unwrap();
        let place = signals.watched.iter().position(|watched| watched.signal == SIGQUIT).expect("watched");
        assert_eq!((signals.take(place), signals.take(place)), (Some(SIGQUIT), None));
    }

    /// Without its handler the signal would end the process.
    #[test]
    fn a_signal_that_arrived_while_it_was_blocked_is_seen() {
        let _alarm = ALARM.lock().unwrap_or_else(PoisonError::into_inner);
        mask(libc::SIG_BLOCK);
        raise(SIGTERM).unwrap();
        let signals = Signals::watch().unwrap();
        let place = signals.watched.iter().position(|watched| watched.signal == SIGTERM).expect("nobody ignores it here");
        assert_eq!(signals.take(place), Some(SIGTERM));
    }

    #[test]
    fn a_signal_is_seen_and_sets_an_alarm_that_a_second_does_not_put_off() {
        let _alarm = ALARM.lock().unwrap_or_else(PoisonError::into_inner);
        let signals = Signals::watch().unwrap();
        let place = signals.watched.iter().position(|watched| watched.signal == SIGTERM).expect("nobody ignores it here");
        assert_eq!(signals.take(place), None);
        raise(SIGTERM).unwrap();
        assert_eq!((signals.take(place), signals.take(place)), (Some(SIGTERM), None));
        // SAFETY: N1.
        assert!(unsafe { libc::alarm(SIGNAL_SECONDS / 2) } > SIGNAL_SECONDS / 2, "it would ring");
        raise(SIGTERM).unwrap();
        // SAFETY: N1.
        assert!(unsafe { libc::alarm(0) } <= SIGNAL_SECONDS / 2, "as soon as before");
        drop(signals);
    }
}
