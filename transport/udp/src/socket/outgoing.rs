//! Datagrams to send, with the memory in which they are assembled.

use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::AtomicUsize;

use pelago_protocol::Gap;
use rustix::io::Errno;
use rustix::net::{SendFlags, send};

use super::kernel::{Departures, Message};
use super::lanes::Lanes;
use super::queue::{Kernel, Queue, Sent};
use crate::limits::UDP_OUTGOING_DATAGRAMS_MAX;

/// Datagrams to send, each assembled in place at the end of one buffer.
///
/// At most 128 datagrams of together 64 KiB, and one more. Consecutive datagrams of one length to one address are the cheapest: up to 64 of
/// them, and 65,000 bytes, pass the kernel as one message. The last of them may be shorter.
pub struct Outgoing {
    queue: Queue,
    departures: Departures,
    lanes: Lanes,
}

impl Outgoing {
    /// Empty. Allocates all that it ever needs.
    pub fn new() -> Self {
        Self { queue: Queue::new(), departures: Departures::new(UDP_OUTGOING_DATAGRAMS_MAX), lanes: Lanes::default() }
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

    /// Bytes in the buffer of what waits to be sent: what has been copied of it, and headers and tags.
    #[cfg(test)]
    pub(crate) fn assembled_bytes(&self) -> usize {
        self.queue.bytes()
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
    /// `outside`.
    pub(super) fn send(
        &mut self,
        outside: &[u8],
        socket: BorrowedFd<'_>,
        connect: impl FnOnce(SocketAddr) -> Option<OwnedFd>,
        segment_bytes_max: &AtomicUsize,
    ) -> Sent {
        let Self { queue, departures, lanes } = self;
        let datagrams = queue.datagrams() as u32;
        let lane = queue.destination().and_then(|to| lanes.take(to, datagrams, connect));
        // The call with the least for the kernel to read.
        if let (Some(lane), Some(datagram)) = (&lane, queue.only())
            && send(lane, datagram, SendFlags::DONTWAIT).is_ok()
        {
            queue.clear();
            return Sent { sent: 1, ..Sent::default() };
        }
        queue.send_with(outside, segment_bytes_max, &mut SendPath { socket, lane, departures })
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
    lane: Option<&'a OwnedFd>,
    departures: &'a mut Departures,
}

impl Kernel for SendPath<'_> {
    fn send<'a>(&mut self, messages: impl Iterator<Item = Message<'a>> + Clone) -> Result<usize, Errno> {
        match &self.lane {
            Some(lane) => self.departures.send(lane.as_fd(), true, messages),
            None => self.departures.send(self.socket, false, messages),
        }
    }
}

#[cfg(test)]
mod tests;
