//! One of the two output streams of ranks: the pipes to which they write.

use std::os::fd::OwnedFd;

use pelago_base::Rank;
use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;

use crate::launcher::limits::LINE_BYTES_MAX;
use crate::launcher::output::lines::{LineSink, PartialLine};
use crate::launcher::system::call_error::SystemCallError;
use crate::launcher::system::poll_set::PollSet;

/// The standard output, or the standard error, of all ranks of this host.
pub(crate) struct OutputStream {
    first: Rank,
    /// The pipes that ranks have not closed, starting with the first rank of this host.
    pipes: Vec<Option<Pipe>>,
    ready: PollSet,
    scratch: Vec<u8>,
}

struct Pipe {
    end: OwnedFd,
    unfinished: PartialLine,
    /// Number of bytes still to be read after the rank has ended; later output of other processes is discarded.
    left_bytes: Option<u64>,
}

impl OutputStream {
    /// Creates the stream of ranks from `first` on.
    pub(crate) fn new(first: Rank) -> Result<Self, SystemCallError> {
        Ok(Self { first, pipes: Vec::new(), ready: PollSet::new()?, scratch: vec![0; LINE_BYTES_MAX] })
    }

    /// Adds the pipe of the next rank.
    pub(crate) fn add(&mut self, end: OwnedFd) -> Result<(), SystemCallError> {
        self.ready.add(&end, self.pipes.len() as u64)?;
        self.pipes.push(Some(Pipe { end, unfinished: PartialLine::default(), left_bytes: None }));
        Ok(())
    }

    /// Returns the descriptor to wait for when there is room for output. Without room, output stays in the pipes.
    pub(crate) fn interest(&self) -> PollFd<'_> {
        PollFd::new(self.ready.descriptor(), PollFlags::IN)
    }

    /// Forwards output of ranks as long as there is room; `false` if there was none.
    pub(crate) fn pump(&mut self, into: &mut impl LineSink) -> Result<bool, SystemCallError> {
        let mut busy = false;
        if into.has_room() {
            for place in self.ready.poll()? {
                busy = true;
                self.read(place as usize, into);
                if !into.has_room() {
                    break;
                }
            }
        }
        Ok(busy)
    }

    /// Records that all ranks have ended: the present contents of their pipes are read, but no later output.
    pub(crate) fn close(&mut self) {
        for pipe in self.pipes.iter_mut().flatten() {
            pipe.left_bytes = Some(rustix::io::ioctl_fionread(&pipe.end).unwrap_or(0));
        }
    }

    /// Forwards incomplete lines, which will not be completed.
    pub(crate) fn finish(&mut self, into: &mut impl LineSink) {
        for (place, pipe) in std::mem::take(&mut self.pipes).into_iter().enumerate() {
            if let Some(mut pipe) = pipe {
                pipe.unfinished.finish(self.rank(place), into);
            }
        }
    }

    fn read(&mut self, place: usize, into: &mut impl LineSink) {
        let rank = self.rank(place);
        let Some(pipe) = &mut self.pipes[place] else { return };
        let most = pipe.left_bytes.map_or(self.scratch.len(), |left| self.scratch.len().min(left as usize));
        match rustix::io::read(&pipe.end, &mut self.scratch[..most]) {
            Ok(bytes @ 1..) => {
                pipe.unfinished.feed(rank, &self.scratch[..bytes], into);
                pipe.left_bytes = pipe.left_bytes.map(|left| left - bytes as u64);
            }
            Err(Errno::INTR | Errno::AGAIN) => {}
            Ok(0) | Err(_) => {
                pipe.unfinished.finish(rank, into);
                self.ready.remove(&pipe.end);
                self.pipes[place] = None;
            }
        }
    }

    fn rank(&self, place: usize) -> Rank {
        Rank::new(self.first.number() + place as u32)
    }
}

#[cfg(test)]
mod tests {
    use rustix::pipe::{PipeFlags, pipe_with};

    use super::*;

    /// Stores the forwarded output.
    #[derive(Default)]
    struct Heard(Vec<u8>);

    impl LineSink for Heard {
        fn push(&mut self, _: Rank, bytes: &[u8]) {
            self.0.extend_from_slice(bytes);
        }

        fn has_room(&self) -> bool {
            true
        }
    }

    #[test]
    fn what_ranks_have_left_is_heard_and_nothing_after_it() {
        let (mut stream, mut heard) = (OutputStream::new(Rank::new(0)).unwrap(), Heard::default());
        let (end, writer) = pipe_with(PipeFlags::CLOEXEC).unwrap();
        stream.add(end).unwrap();
        rustix::io::write(&writer, b"left\n").unwrap();
        stream.close();
        // Another process holds the pipe open.
        rustix::io::write(&writer, b"more\n").unwrap();
        assert!(stream.pump(&mut heard).unwrap() && stream.pump(&mut heard).unwrap());
        assert!(!stream.pump(&mut heard).unwrap(), "the pipe is let go, though more lies there");
        assert_eq!(heard.0, b"left\n");
    }
}
