//! Datagrams to send, with the memory in which they are assembled.

use std::net::SocketAddr;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::atomic::AtomicUsize;

use pelago_base::limits::UDP_OUTGOING_DATAGRAMS_MAX;
use rustix::io::Errno;

use super::kernel::{Departures, Message};
use super::lanes::Lanes;
use super::queue::{Kernel, Queue, Sent};

/// Datagrams to send, each assembled in place at the end of one buffer.
///
/// At most 128 datagrams of together 256 KiB. Consecutive datagrams of one length to one address are the cheapest: up to 64 of
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
        self.queue.commit(to, bytes);
    }

    /// The number of datagrams that wait to be sent.
    pub fn len(&self) -> usize {
        self.queue.datagrams()
    }

    /// Whether nothing waits to be sent.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Sends by `socket`, or, if all goes where most goes, by a socket of its own that `connect` makes.
    pub(super) fn send(
        &mut self,
        socket: BorrowedFd<'_>,
        connect: impl FnOnce(SocketAddr) -> Option<OwnedFd>,
        segment_bytes_max: &AtomicUsize,
    ) -> Sent {
        let lane = self.queue.destination().and_then(|to| self.lanes.take(to, connect));
        let (socket, connected) = lane.map_or((socket, false), |lane| (lane, true));
        self.queue.send(segment_bytes_max, &mut Descriptor { socket, connected, departures: &mut self.departures })
    }
}

impl Default for Outgoing {
    fn default() -> Self {
        Self::new()
    }
}

struct Descriptor<'a> {
    socket: BorrowedFd<'a>,
    connected: bool,
    departures: &'a mut Departures,
}

impl Kernel for Descriptor<'_> {
    fn send<'a>(&mut self, messages: impl Iterator<Item = Message<'a>>) -> Result<usize, Errno> {
        self.departures.send(self.socket, self.connected, messages)
    }
}
