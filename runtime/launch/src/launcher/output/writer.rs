//! The launcher's own standard output or error, to which the lines of all ranks are written.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use pelago_base::Rank;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::launcher::limits::WRITE_BYTES;
use crate::launcher::output::lines::{LineSink, MergedLines};
use crate::launcher::system::call_error::{NamedCall, SystemCallError};

const NOW: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };

/// Lines to be written.
pub(crate) struct OutputWriter {
    merged: MergedLines,
    into: OwnedFd,
    broken: Option<Errno>,
}

/// Returns the writers for the launcher's standard output and error.
pub(crate) fn writers(label: bool) -> Result<[OutputWriter; 2], SystemCallError> {
    Ok([OutputWriter::new(std::io::stdout().as_fd(), label)?, OutputWriter::new(std::io::stderr().as_fd(), label)?])
}

impl OutputWriter {
    fn new(into: BorrowedFd<'_>, label: bool) -> Result<Self, SystemCallError> {
        let into = rustix::io::fcntl_dupfd_cloexec(into, 3).named("fcntl(F_DUPFD_CLOEXEC)")?;
        Ok(Self { merged: MergedLines::new(label), into, broken: None })
    }

    /// Returns the descriptor to wait for, if there is output to write.
    pub(crate) fn interest(&self) -> Option<PollFd<'_>> {
        self.is_waiting().then(|| PollFd::new(&self.into, PollFlags::OUT))
    }

    /// Whether there is output to write.
    pub(crate) fn is_waiting(&self) -> bool {
        !self.merged.waiting().is_empty()
    }

    /// Writes as long as a write does not block: a launcher that is blocked could not end the job.
    pub(crate) fn flush(&mut self) {
        while self.is_waiting() {
            if self.broken.is_some() {
                return self.merged.written(self.merged.waiting().len());
            }
            if poll(&mut [PollFd::new(&self.into, PollFlags::OUT)], Some(&NOW)) == Ok(0) {
                return;
            }
            let waiting = self.merged.waiting();
            match rustix::io::write(&self.into, &waiting[..waiting.len().min(WRITE_BYTES)]) {
                Ok(bytes) => self.merged.written(bytes),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return,
                Err(error) => self.broken = Some(error),
            }
        }
    }

    /// Ends the incomplete line, if there is one.
    pub(crate) fn close_line(&mut self) {
        self.merged.close_line();
    }

    /// Returns the error after which writing is impossible.
    pub(crate) fn broken(&self) -> Option<Errno> {
        self.broken
    }
}

impl LineSink for OutputWriter {
    fn push(&mut self, rank: Rank, bytes: &[u8]) {
        self.merged.push(rank, bytes);
        self.flush();
    }

    fn has_room(&self) -> bool {
        self.merged.has_room()
    }
}
