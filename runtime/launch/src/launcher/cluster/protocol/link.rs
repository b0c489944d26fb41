//! Frames in both directions over a pair of descriptors: nothing here blocks.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use pelago_base::Rank;
use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use serde::Serialize;

use crate::launcher::cluster::protocol::frame::{FrameReader, LauncherFrame, LauncherFrameError, put_message, put_output};
use crate::launcher::limits::READ_BYTES;
use crate::launcher::system::call_error::{NamedCall, SystemCallError};

/// One end of a connection.
pub(crate) struct FrameLink {
    input: OwnedFd,
    output: OwnedFd,
    frames: FrameReader,
    /// What is to be written, of which so much has been. Whoever sends bounds it: output by room, the rest by what it answers.
    waiting: Vec<u8>,
    written: usize,
}

impl FrameLink {
    /// A connection whose other end says at most `bytes_max` bytes at once.
    pub(crate) fn new(input: OwnedFd, output: OwnedFd, bytes_max: usize) -> Result<Self, SystemCallError> {
        rustix::io::ioctl_fionbio(&input, true).named("ioctl(FIONBIO)")?;
        rustix::io::ioctl_fionbio(&output, true).named("ioctl(FIONBIO)")?;
        Ok(Self { input, output, frames: FrameReader::new(bytes_max), waiting: Vec::new(), written: 0 })
    }

    /// What can be read when the other end has said something, or is gone.
    pub(crate) fn input(&self) -> BorrowedFd<'_> {
        self.input.as_fd()
    }

    /// What to wait for, if anything is to be written.
    pub(crate) fn interest(&self) -> Option<PollFd<'_>> {
        (self.waiting_bytes() > 0).then(|| PollFd::new(&self.output, PollFlags::OUT))
    }

    /// How much is to be written.
    pub(crate) fn waiting_bytes(&self) -> usize {
        self.waiting.len() - self.written
    }

    /// Says something.
    pub(crate) fn send(&mut self, message: &impl Serialize) {
        put_message(&mut self.waiting, message);
        self.flush();
    }

    /// Passes on what a rank wrote.
    pub(crate) fn send_output(&mut self, stream: usize, rank: Rank, bytes: &[u8]) {
        put_output(&mut self.waiting, stream, rank, bytes);
        self.flush();
    }

    /// Writes what can be written.
    pub(crate) fn flush(&mut self) {
        while self.waiting_bytes() > 0 {
            match rustix::io::write(&self.output, &self.waiting[self.written..]) {
                Ok(bytes) => self.written += bytes,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => break,
                // Nobody reads any more: the input will say so.
                Err(_) => self.written = self.waiting.len(),
            }
        }
        // What is left is moved at most as often as it was written.
        if self.written * 2 >= self.waiting.len() {
            self.waiting.drain(..std::mem::take(&mut self.written));
        }
    }

    /// Reads what has come, up to a piece; `false` if nothing will come any more.
    pub(crate) fn receive(&mut self) -> bool {
        let mut scratch = [0; READ_BYTES];
        match rustix::io::read(&self.input, &mut scratch[..]) {
            Ok(bytes @ 1..) => self.frames.feed(&scratch[..bytes]),
            Err(Errno::INTR | Errno::AGAIN) => {}
            Ok(0) | Err(_) => return false,
        }
        true
    }

    /// The next frame of what was read; take all before reading more.
    pub(crate) fn take(&mut self) -> Result<Option<LauncherFrame<'_>>, LauncherFrameError> {
        self.frames.take()
    }
}

#[cfg(test)]
mod tests {
    use rustix::pipe::{PipeFlags, pipe_with};

    use super::*;
    use crate::launcher::cluster::protocol::frame::parse;

    /// Two ends that hear each other.
    fn pair() -> (FrameLink, FrameLink) {
        let ((one_in, other_out), (other_in, one_out)) =
            (pipe_with(PipeFlags::CLOEXEC).unwrap(), pipe_with(PipeFlags::CLOEXEC).unwrap());
        (FrameLink::new(one_in, one_out, 1 << 20).unwrap(), FrameLink::new(other_in, other_out, 1 << 20).unwrap())
    }

    #[test]
    fn what_does_not_fit_the_pipe_waits_and_comes_in_order() {
        let (mut one, mut other) = pair();
        assert!(other.receive() && other.take() == Ok(None), "nothing has come yet");
        let text = "x".repeat(100_000);
        (0..10_u32).for_each(|number| one.send(&(number, &text)));
        assert!(one.waiting_bytes() > 0 && one.interest().is_some());
        let mut found = 0;
        while found < 10 {
            one.flush();
            assert!(other.receive());
            while let Some(LauncherFrame::Message(message)) = other.take().unwrap() {
                assert_eq!(parse::<(u32, String)>(message).unwrap(), (found, text.clone()));
                found += 1;
            }
        }
        assert!(one.waiting_bytes() == 0 && one.interest().is_none());
    }

    #[test]
    fn an_end_that_is_gone_is_seen_and_nothing_is_kept_for_it() {
        let (mut one, other) = pair();
        drop(other);
        one.send_output(0, Rank::new(0), &[0; 1_000_000]);
        assert_eq!(one.waiting_bytes(), 0);
        assert!(!one.receive());
    }
}
