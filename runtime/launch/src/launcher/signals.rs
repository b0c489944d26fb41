//! Signals that ask the launcher to end the job, as descriptors that can be read.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use signal_hook::SigId;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::low_level::{pipe, unregister};

/// The signals, watched until the value is dropped.
pub(super) struct Signals(Vec<Watched>);

struct Watched {
    signal: i32,
    id: SigId,
    end: OwnedFd,
}

impl Signals {
    /// Watches the signals, except those that whoever started the launcher has told it to ignore (`nohup`).
    pub(super) fn watch() -> io::Result<Self> {
        let ignored = ignored();
        let mut watched = Self(Vec::new());
        for signal in [SIGHUP, SIGINT, SIGTERM].into_iter().filter(|signal| ignored & (1 << (signal - 1)) == 0) {
            let (end, from) = UnixStream::pair()?;
            end.set_nonblocking(true)?;
            watched.0.push(Watched { signal, id: pipe::register(signal, from)?, end: end.into() });
        }
        Ok(watched)
    }

    /// The descriptors.
    pub(super) fn descriptors(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.0.iter().map(|watched| std::os::fd::AsFd::as_fd(&watched.end))
    }

    /// The signal behind a descriptor, by its place in `descriptors`, if it has come since last asked.
    pub(super) fn take(&self, place: usize) -> Option<i32> {
        let watched = self.0.get(place)?;
        let received = rustix::io::read(&watched.end, &mut [0; 64][..]);
        received.is_ok_and(|bytes| bytes > 0).then_some(watched.signal)
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        for watched in &self.0 {
            unregister(watched.id);
        }
    }
}

/// The set of ignored signals, bit 0 for signal 1.
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}
