//! Frames in both directions over a pair of descriptors, without blocking.

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
    /// Bytes to be written, of which `written` have been. The sender limits them: output by credit, other messages by the number of its answers.
    waiting: Vec<u8>,
    written: usize,
}

impl FrameLink {
    /// Creates a connection whose other end sends frames of at most `bytes_max` bytes.
    pub(crate) fn new(input: OwnedFd, output: OwnedFd, bytes_max: usize) -> Result<Self, SystemCallError> {
        rustix::io::ioctl_fionbio(&input, true).named("ioctl(FIONBIO)")?;
        rustix::io::ioctl_fionbio(&output, true).named("ioctl(FIONBIO)")?;
        Ok(Self { input, output, frames: FrameReader::new(bytes_max), waiting: Vec::new(), written: 0 })
    }

    /// Returns the descriptor that is readable after a message of the other end, or its end.
    pub(crate) fn input(&self) -> BorrowedFd<'_> {
        self.input.as_fd()
    }

    /// Returns the descriptor to wait for, if there are bytes to write.
    pub(crate) fn interest(&self) -> Option<PollFd<'_>> {
        (self.waiting_bytes() > 0).then(|| PollFd::new(&self.output, PollFlags::OUT))
    }

    /// Number of bytes to write.
    pub(crate) fn waiting_bytes(&self) -> usize {
        self.waiting.len() - self.written
    }

    /// Queues a message.
    pub(crate) fn send(&mut self, message: &impl Serialize) {
        put_message(&mut self.waiting, message);
        self.flush();
    }

    /// Queues output of a rank.
    pub(crate) fn send_output(&mut self, stream: usize, rank: Rank, bytes: &[u8]) {
        put_output(&mut self.waiting, stream, rank, bytes);
        self.flush();
    }

    /// Writes as many bytes as possible.
    pub(crate) fn flush(&mut self) {
        while self.waiting_bytes() > 0 {
            match rustix::io::write(&self.output, &self.waiting[self.written..]) {
                Ok(bytes) => self.written += bytes,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => break,
                // The other end no longer reads: its end will be detected at the input.
                Err(_) => self.written = self.waiting.len(),
            }
        }
        // The rest is moved at most as often as bytes were written.
        if self.written * 2 >= self.waiting.len() {
            self.waiting.drain(..std::mem::take(&mut self.written));
        }
    }

    /// Reads received bytes, up to a limit; `false` if the connection has ended.
    pub(crate) fn receive(&mut self) -> bool {
        let mut scratch = [0; READ_BYTES];
        match rustix::io::read(&self.input, &mut scratch[..]) {
            Ok(bytes @ 1..) => self.frames.feed(&scratch[..bytes]),
            Err(Errno::INTR | Errno::AGAIN) => {}
            Ok(0) | Err(_) => return false,
        }
        true
    }

    /// Returns the next frame of the read bytes; all should be taken before more are read.
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
