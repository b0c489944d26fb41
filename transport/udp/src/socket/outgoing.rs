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
/// Holds at most 128 datagrams; their total size is 64 KiB plus one datagram at most. Consecutive datagrams of one length to one address are the
/// cheapest: up to 64 of them, with up to 65,000 bytes, pass the kernel as one message. The last of them may be shorter.
pub struct Outgoing {
    queue: Queue,
    departures: Departures,
    lanes: Lanes,
}

impl Outgoing {
    /// Creates an empty batch. No other call allocates.
    pub fn new() -> Self {
        Self { queue: Queue::new(), departures: Departures::new(UDP_OUTGOING_DATAGRAMS_MAX), lanes: Lanes::default() }
    }

    /// Returns space with arbitrary contents for a datagram of up to `bytes` bytes; `None` if the batch is full until the next send.
    /// [`commit`](Self::commit) makes the bytes written there a datagram; without it, the space stays free.
    ///
    /// # Panics
    /// `bytes` exceeds the maximum of a datagram, 65,507.
    pub fn room(&mut self, bytes: usize) -> Option<&mut [u8]> {
        self.queue.room(bytes)
    }

    /// Makes the first `bytes` bytes of the space that [`room`](Self::room) returned last a datagram to `to`.
    ///
    /// # Panics
    /// There is no such space.
    pub fn commit(&mut self, to: SocketAddr, bytes: usize) {
        self.queue.commit(to, bytes, None);
    }

    /// As [`commit`](Self::commit), for a datagram of `bytes` bytes that may have a gap; the next call that sends receives the bytes of the gap.
    pub(crate) fn commit_around(&mut self, to: SocketAddr, bytes: usize, gap: Option<Gap>) {
        self.queue.commit(to, bytes, gap);
    }

    /// Number of bytes in the buffer of datagrams that are not sent yet: copied payload, headers and tags.
    #[cfg(test)]
    pub(crate) fn assembled_bytes(&self) -> usize {
        self.queue.bytes()
    }

    /// Behaves as if the kernel had no buffer space.
    #[cfg(test)]
    pub(super) fn keep(&mut self, outside: &[u8]) -> Sent {
        self.queue.keep(outside)
    }

    /// Number of datagrams that are not sent yet.
    pub fn len(&self) -> usize {
        self.queue.datagrams()
    }

    /// Whether no datagram is left to send.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Sends by `socket`, or by a connected socket that `connect` creates if all datagrams go to one frequent destination. The bytes of gaps
    /// lie in `outside`.
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
        // The cheapest call: the kernel reads the least.
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

/// The sockets and headers for sending a batch.
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
