//! One of the two output streams: the pipes of all ranks on one side, the launcher's own on the other.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use pelago_base::Rank;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::limits::{LINE_BYTES_MAX, WAITING_BYTES_MAX, WRITE_BYTES};
use super::lines::{Merged, Unfinished};
use super::ready::Ready;

const NOW: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };

/// All ranks' standard output, or all ranks' standard error.
pub(super) struct Stream {
    /// The pipes of ranks that have not closed theirs, by rank.
    pipes: Vec<Option<Pipe>>,
    ready: Ready,
    merged: Merged,
    into: OwnedFd,
    scratch: Vec<u8>,
    broken: Option<Errno>,
}

struct Pipe {
    end: OwnedFd,
    unfinished: Unfinished,
}

impl Stream {
    /// A stream that is written to `into`.
    pub(super) fn new(into: BorrowedFd<'_>, label: bool) -> Result<Self, Errno> {
        Ok(Self {
            pipes: Vec::new(),
            ready: Ready::new()?,
            merged: Merged::new(label),
            into: rustix::io::fcntl_dupfd_cloexec(into, 3)?,
            scratch: vec![0; LINE_BYTES_MAX],
            broken: None,
        })
    }

    /// Adds the pipe of the next rank.
    pub(super) fn add(&mut self, end: OwnedFd) -> Result<(), Errno> {
        self.ready.add(&end, self.pipes.len() as u64)?;
        self.pipes.push(Some(Pipe { end, unfinished: Unfinished::default() }));
        Ok(())
    }

    /// What to wait for: room for what is to be written, or ranks that write. While the reader is slow, ranks wait in their pipes.
    pub(super) fn interest(&self) -> impl Iterator<Item = PollFd<'_>> {
        let write = (!self.merged.waiting().is_empty()).then(|| PollFd::new(&self.into, PollFlags::OUT));
        let read = self.has_room().then(|| PollFd::new(self.ready.descriptor(), PollFlags::IN));
        write.into_iter().chain(read)
    }

    /// Reads what ranks wrote and writes what can be written; `false` if there was nothing to do and nothing is left.
    pub(super) fn pump(&mut self) -> Result<bool, Errno> {
        self.flush();
        let mut busy = false;
        if self.has_room() {
            for rank in self.ready.poll()? {
                busy = true;
                self.read(rank as usize);
                self.flush();
                if !self.has_room() {
                    break;
                }
            }
        }
        Ok(busy || !self.merged.waiting().is_empty())
    }

    /// Passes on the beginnings of lines that will have no end any more, and ends the line that is open if `close` says so.
    pub(super) fn finish(&mut self, close: bool) {
        for (rank, pipe) in self.pipes.drain(..).enumerate() {
            if let Some(mut pipe) = pipe {
                pipe.unfinished.finish(Rank::new(rank as u32), &mut self.merged);
            }
        }
        if close {
            self.merged.close_line();
        }
        self.flush();
    }

    /// Why nothing can be written any more.
    pub(super) fn broken(&self) -> Option<Errno> {
        self.broken
    }

    fn has_room(&self) -> bool {
        self.merged.waiting().len() < WAITING_BYTES_MAX
    }

    fn read(&mut self, rank: usize) {
        let Some(pipe) = &mut self.pipes[rank] else { return };
        match rustix::io::read(&pipe.end, &mut self.scratch[..]) {
            Ok(bytes @ 1..) => pipe.unfinished.feed(Rank::new(rank as u32), &self.scratch[..bytes], &mut self.merged),
            Err(Errno::INTR | Errno::AGAIN) => {}
            Ok(0) | Err(_) => {
                pipe.unfinished.finish(Rank::new(rank as u32), &mut self.merged);
                self.ready.remove(&pipe.end);
                self.pipes[rank] = None;
            }
        }
    }

    /// Writes as long as that does not block: a launcher that blocked could not end the job.
    fn flush(&mut self) {
        while !self.merged.waiting().is_empty() {
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
}

/// The launcher's standard output and error.
pub(super) fn streams(label: bool) -> Result<[Stream; 2], Errno> {
    Ok([Stream::new(std::io::stdout().as_fd(), label)?, Stream::new(std::io::stderr().as_fd(), label)?])
}
