//! Datagrams to send, with the memory in which they are assembled.

use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::AtomicUsize;

use pelago_protocol::Gap;
use rustix::io::Errno;
use rustix::net::{SendFlags, send};

use super::kernel::{Departures, Message, Passage};
use super::lanes::{Connected, Lanes};
use super::queue::{Kernel, Queue, Sent, begins_page};
use crate::limits::{UDP_LENT_MESSAGE_BYTES_MIN, UDP_OUTGOING_DATAGRAMS_MAX};

/// Datagrams to send, each assembled in place at the end of one buffer.
///
/// At most 128 datagrams of together 64 KiB, and one more. Consecutive datagrams of one length to one address are the cheapest: up to 64 of
/// them, and 65,000 bytes, pass the kernel as one message. The last of them may be shorter.
pub struct Outgoing {
    queue: Queue,
    departures: Departures,
    lanes: Lanes,
    /// The way by which pages are lent, unless the kernel has shown that there is none.
    passage: Option<Passage>,
}

impl Outgoing {
    /// Empty. Allocates all that it ever needs.
    pub fn new() -> Self {
        Self {
            queue: Queue::new(),
            departures: Departures::new(UDP_OUTGOING_DATAGRAMS_MAX),
            lanes: Lanes::default(),
            passage: Passage::open().ok(),
        }
    }

    /// Room for a datagram of up to `bytes` bytes, whose contents are arbitrary; `None` until something has been sent. What is
    /// written there becomes a datagram by [`commit`](Self::commit); room that is not committed stays room.
    ///
    /// # Panics
    /// No datagram can have so many bytes: more than 65,507.
    pub fn room(&mut self, bytes: usize) -> Option<&mut [u8]> {
        self.queue.room(bytes)
    }

    /// Makes the first `bytes` bytes of the room that was given last a datagram to `to`.
    ///
    /// # Panics
    /// There is no such room.
    pub fn commit(&mut self, to: SocketAddr, bytes: usize) {
        self.queue.commit(to, bytes, None);
    }

    /// The same of a datagram of `bytes` bytes that may have a gap, whose bytes are passed when it is sent: by the next call that sends.
    pub(crate) fn commit_around(&mut self, to: SocketAddr, bytes: usize, gap: Option<Gap>) {
        self.queue.commit(to, bytes, gap);
    }

    /// Whether enough waits that its pages are worth lending.
    pub(crate) fn is_large(&self) -> bool {
        self.queue.bytes() >= UDP_LENT_MESSAGE_BYTES_MIN
    }

    /// Bytes in the buffer of what waits to be sent: what has been copied of it, and headers and tags.
    #[cfg(test)]
    pub(crate) fn assembled_bytes(&self) -> usize {
        self.queue.bytes()
    }

    /// Whether the kernel may still read something that was sent.
    pub(crate) fn has_lent(&self) -> bool {
        self.queue.has_lent()
    }

    /// The kernel has read all that was sent.
    pub(crate) fn take_back(&mut self) {
        self.queue.take_back();
    }

    /// As if the kernel had no room.
    #[cfg(test)]
    pub(super) fn keep(&mut self, outside: &[u8]) -> Sent {
        self.queue.keep(outside)
    }

    /// The number of datagrams that wait to be sent.
    pub fn len(&self) -> usize {
        self.queue.datagrams()
    }

    /// Whether nothing waits to be sent.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Sends by `socket`, or, if all goes where most goes, by a socket of its own that `connect` makes. What is missing in gaps lies
    /// `outside`. With `lend`, the kernel may read large messages without gaps when they are delivered.
    pub(super) fn send(
        &mut self,
        outside: &[u8],
        socket: BorrowedFd<'_>,
        connect: impl FnOnce(SocketAddr) -> Option<OwnedFd>,
        segment_bytes_max: &AtomicUsize,
        lend: bool,
    ) -> Sent {
        let Self { queue, departures, lanes, passage } = self;
        let datagrams = queue.datagrams() as u32;
        let mut lane = queue.destination().and_then(|to| lanes.take(to, datagrams, connect));
        // The call with the least for the kernel to read.
        if !lend
            && let (Some(lane), Some(datagram)) = (&mut lane, queue.only())
            && lane.cut_into(0).and_then(|()| send(&lane.socket, datagram, SendFlags::DONTWAIT)).is_ok()
        {
            queue.clear();
            return Sent { sent: 1, ..Sent::default() };
        }
        queue.send_with(outside, segment_bytes_max, &mut SendPath { socket, lane, departures, passage, lend, has_lent: false })
    }
}

impl Default for Outgoing {
    fn default() -> Self {
        Self::new()
    }
}

/// How a batch leaves.
struct SendPath<'a> {
    socket: BorrowedFd<'a>,
    lane: Option<&'a mut Connected>,
    departures: &'a mut Departures,
    passage: &'a mut Option<Passage>,
    lend: bool,
    has_lent: bool,
}

impl SendPath<'_> {
    /// Lends the pages of a message; `None` if it is to be copied.
    fn lend(&mut self, message: &Message<'_>) -> Option<Result<usize, Errno>> {
        let (Some(lane), Some(passage)) = (&mut self.lane, &*self.passage) else { return None };
        // From the beginning of a page, the largest message has no more pages than a socket takes from a pipe at once.
        if message.bytes.len() < UDP_LENT_MESSAGE_BYTES_MIN || !begins_page(message.bytes) || !message.gaps.is_empty() {
            return None;
        }
        let cut = lane.cut_into(message.cut_into.unwrap_or(0));
        match cut.and_then(|()| passage.send(lane.socket.as_fd(), message.bytes)) {
            Ok(bytes) if bytes == message.bytes.len() => {
                self.has_lent = true;
                Some(Ok(1))
            }
            Err(Errno::AGAIN) => {
                *self.passage = Passage::open().ok();
                Some(Err(Errno::AGAIN))
            }
            // There is no such way here. What it took all the same comes twice.
            _ => {
                *self.passage = None;
                None
            }
        }
    }
}

impl Kernel for SendPath<'_> {
    fn send<'a>(&mut self, messages: impl Iterator<Item = Message<'a>> + Clone) -> Result<usize, Errno> {
        if self.lend
            && let Some(sent) = messages.clone().next().and_then(|first| self.lend(&first))
        {
            return sent;
        }
        match &mut self.lane {
            Some(lane) => {
                lane.cut_into(0)?;
                self.departures.send(lane.socket.as_fd(), true, messages)
            }
            None => self.departures.send(self.socket, false, messages),
        }
    }

    fn has_lent(&self) -> bool {
        self.has_lent
    }
}

#[cfg(test)]
mod tests;
