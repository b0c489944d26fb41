//! Datagrams received, in the memory into which the kernel wrote them.

use std::net::SocketAddr;
use std::os::fd::BorrowedFd;

use pelago_base::limits::{UDP_ERRORS_SKIPPED_MAX, UDP_INCOMING_MESSAGES_MAX, UDP_MESSAGE_BYTES_MAX};
use rustix::io::Errno;

use super::kernel::{Arrivals, Arrived};

/// Datagrams received, until the next call that receives.
///
/// At most 8 messages of 64 KiB, each of which is a datagram or as many of one sender as the kernel has joined. Memory that no
/// message has reached yet is not taken from the system.
pub struct Incoming {
    slots: Box<[u8]>,
    slot_bytes: usize,
    arrivals: Arrivals,
    /// What is in each of the first slots; `None`: a message that did not fit.
    pub(super) messages: Vec<Option<Arrived>>,
    /// How many messages are asked for.
    asked: usize,
    truncated: u64,
}

impl Incoming {
    /// Empty. Allocates all that it ever needs.
    pub fn new() -> Self {
        Self::with_slots_of(UDP_MESSAGE_BYTES_MAX)
    }

    /// The datagrams, in the order in which they arrived, with their senders.
    pub fn datagrams(&mut self) -> impl Iterator<Item = (SocketAddr, &mut [u8])> {
        let slots = self.slots.chunks_exact_mut(self.slot_bytes).zip(&self.messages);
        let filled = slots.filter_map(|(slot, message)| Some((slot, message.as_ref()?)));
        filled.flat_map(|(slot, message)| {
            let segment_bytes = message.joined_from.unwrap_or(message.bytes);
            split(&mut slot[..message.bytes], segment_bytes).map(|datagram| (message.from, datagram))
        })
    }

    /// Messages that did not fit and were dropped, since this was made.
    pub fn truncated(&self) -> u64 {
        self.truncated
    }

    /// Whether as many messages came as were asked for, of a stream that is more than one now and then.
    pub fn is_stream(&self) -> bool {
        self.asked > 1 && self.messages.len() == self.asked
    }

    /// Asks for one message, which costs least, and for more while calls find some one after another.
    pub(super) fn receive(&mut self, socket: BorrowedFd<'_>) -> usize {
        let (slot_bytes, before) = (self.slot_bytes, self.messages.len());
        self.asked = match before {
            0 => 1,
            _ if before == self.asked => (2 * self.asked).min(UDP_INCOMING_MESSAGES_MAX),
            _ => self.asked,
        };
        let asked = self.asked;
        self.receive_by(|arrivals, slots| arrivals.receive(socket, slots.chunks_exact_mut(slot_bytes).take(asked)))
    }

    /// Asks until there is an answer. Errors, other than that there is nothing, are those of datagrams sent earlier, told once
    /// each.
    fn receive_by(&mut self, mut ask: impl FnMut(&mut Arrivals, &mut [u8]) -> Result<usize, Errno>) -> usize {
        self.messages.clear();
        for _ in 0..=UDP_ERRORS_SKIPPED_MAX {
            match ask(&mut self.arrivals, &mut self.slots) {
                Ok(messages) => return self.accept(messages),
                Err(Errno::AGAIN) => return 0,
                Err(_) => {}
            }
        }
        0
    }

    /// Reads what the kernel says of the first slots and returns the number of datagrams.
    fn accept(&mut self, messages: usize) -> usize {
        self.messages.extend((0..messages).map(|slot| self.arrivals.message(slot)));
        let whole = self.messages.iter().flatten();
        self.truncated += (messages - whole.clone().count()) as u64;
        whole.map(|message| message.bytes.div_ceil(message.joined_from.unwrap_or(message.bytes).max(1)).max(1)).sum()
    }

    fn with_slots_of(slot_bytes: usize) -> Self {
        Self {
            slots: vec![0; UDP_INCOMING_MESSAGES_MAX * slot_bytes].into(),
            slot_bytes,
            arrivals: Arrivals::new(UDP_INCOMING_MESSAGES_MAX),
            messages: Vec::with_capacity(UDP_INCOMING_MESSAGES_MAX),
            asked: 1,
            truncated: 0,
        }
    }
}

impl Default for Incoming {
    fn default() -> Self {
        Self::new()
    }
}

/// The datagrams of a message. An empty message is one empty datagram.
fn split(message: &mut [u8], segment_bytes: usize) -> impl Iterator<Item = &mut [u8]> {
    let empty: Option<&mut [u8]> = message.is_empty().then_some(&mut []);
    empty.into_iter().chain(message.chunks_mut(segment_bytes.max(1)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{Ipv4Addr, UdpSocket};
    use std::os::fd::AsFd;
    use std::time::Duration;

    /// Lets the kernel answer as told, and returns the number of datagrams, with the number of calls.
    fn received(answers: &[Result<usize, Errno>]) -> (usize, usize) {
        let mut calls = 0;
        let mut incoming = Incoming::with_slots_of(1);
        let count = incoming.receive_by(|_, _| {
            calls += 1;
            answers[calls - 1]
        });
        (count, calls)
    }

    #[test]
    fn that_nothing_has_arrived_costs_one_call() {
        assert_eq!(received(&[Err(Errno::AGAIN)]), (0, 1));
    }

    #[test]
    fn errors_of_earlier_datagrams_are_passed_over_within_bounds() {
        assert_eq!(received(&[Err(Errno::CONNREFUSED), Err(Errno::HOSTUNREACH), Err(Errno::AGAIN)]), (0, 3));
        assert_eq!(received(&[Err(Errno::CONNREFUSED); 100]), (0, UDP_ERRORS_SKIPPED_MAX + 1));
    }

    #[test]
    fn a_message_is_split_where_it_was_joined() {
        let lengths = |bytes, segment_bytes| {
            let mut message = vec![0; bytes];
            split(&mut message, segment_bytes).map(|datagram| datagram.len()).collect::<Vec<_>>()
        };
        assert_eq!(lengths(0, 0), [0]);
        assert_eq!(lengths(7, 7), [7]);
        assert_eq!(lengths(7, 3), [3, 3, 1]);
        assert_eq!(lengths(6, 3), [3, 3]);
    }

    #[test]
    fn what_does_not_fit_is_counted_and_dropped() {
        let [sender, receiver] = [(); 2].map(|()| UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap());
        receiver.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let mut incoming = Incoming::with_slots_of(100);
        for length in [100, 101, 0, 60] {
            sender.send_to(&vec![1; length], receiver.local_addr().unwrap()).unwrap();
        }
        let mut lengths = Vec::new();
        while lengths.last() != Some(&60) {
            receiver.peek(&mut [0]).unwrap();
            let count = incoming.receive(receiver.as_fd());
            let before = lengths.len();
            lengths.extend(incoming.datagrams().map(|(_, datagram)| datagram.len()));
            assert_eq!(lengths.len() - before, count);
        }
        assert_eq!((lengths, incoming.truncated()), (vec![100, 0, 60], 1));
    }
}
