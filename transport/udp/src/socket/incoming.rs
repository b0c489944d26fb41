//! Messages received, in the memory into which the kernel wrote them.

use std::os::fd::BorrowedFd;

use rustix::io::Errno;

use super::kernel::Arrivals;
use crate::limits::{UDP_ERRORS_SKIPPED_MAX, UDP_INCOMING_MESSAGES_MAX, UDP_MESSAGE_BYTES_MAX};

/// Number of consecutive receive calls with a full result after which a call requests as many messages as the buffer holds.
const STREAK_MAX: u32 = 2 * UDP_INCOMING_MESSAGES_MAX.ilog2();

/// Size in bytes above which messages are received one by one.
const LONG_BYTES: usize = UDP_MESSAGE_BYTES_MAX / 4;

const _: () = assert!(UDP_INCOMING_MESSAGES_MAX.is_power_of_two());

/// Messages received, until the next call that receives.
///
/// At most 8 messages of 64 KiB, each of which is one datagram or several of one sender that the kernel has joined: the contents determine where
/// one ends and the next begins. Memory that no message has reached yet is not taken from the system.
pub struct Incoming {
    slots: Box<[u8]>,
    arrivals: Arrivals,
    /// Lengths of the messages in the first slots.
    lengths: Vec<usize>,
    /// Number of messages that the last call requested.
    asked: usize,
    /// Number of consecutive calls that returned as many messages as requested; at most `STREAK_MAX`.
    streak: u32,
}

impl Incoming {
    /// Creates an empty buffer. No other call allocates.
    pub fn new() -> Self {
        Self {
            slots: vec![0; UDP_INCOMING_MESSAGES_MAX * UDP_MESSAGE_BYTES_MAX].into(),
            arrivals: Arrivals::new(UDP_INCOMING_MESSAGES_MAX),
            lengths: Vec::with_capacity(UDP_INCOMING_MESSAGES_MAX),
            asked: 1,
            streak: 0,
        }
    }

    /// The messages, in the order in which they arrived.
    pub fn messages(&mut self) -> impl Iterator<Item = &mut [u8]> {
        let slots = self.slots.chunks_exact_mut(UDP_MESSAGE_BYTES_MAX);
        slots.zip(&self.lengths).map(|(slot, &bytes)| &mut slot[..bytes])
    }

    /// Requests one message, which costs least, and more while successive calls return short messages only and as many as requested.
    pub(super) fn receive(&mut self, socket: BorrowedFd<'_>) -> usize {
        self.asked = 1 << (self.streak / 2);
        let asked = self.asked;
        self.receive_by(|arrivals, slots, lengths| {
            arrivals.receive(socket, slots.chunks_exact_mut(UDP_MESSAGE_BYTES_MAX).take(asked), lengths)
        });
        self.streak = match self.lengths.len() {
            0 => 0,
            // Several long messages at once exceed the cache of a core, which costs more than further calls.
            _ if self.lengths.iter().any(|&bytes| bytes > LONG_BYTES) => 0,
            found if found == asked => (self.streak + 1).min(STREAK_MAX),
            _ => self.streak,
        };
        self.lengths.len()
    }

    /// Calls `ask` until it returns messages or reports that there are none. Other errors concern datagrams sent earlier; the kernel reports each
    /// once.
    fn receive_by(&mut self, mut ask: impl FnMut(&mut Arrivals, &mut [u8], &mut Vec<usize>) -> Result<(), Errno>) {
        self.lengths.clear();
        for _ in 0..=UDP_ERRORS_SKIPPED_MAX {
            if let Ok(()) | Err(Errno::AGAIN) = ask(&mut self.arrivals, &mut self.slots, &mut self.lengths) {
                return;
            }
        }
    }
}

impl Default for Incoming {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{Ipv4Addr, UdpSocket};
    use std::os::fd::AsFd;

    /// Receives with the given answers of the kernel, and returns the number of messages and the number of calls.
    fn received(answers: &[Result<usize, Errno>]) -> (usize, usize) {
        let mut calls = 0;
        let mut incoming = Incoming::new();
        incoming.receive_by(|_, _, lengths| {
            calls += 1;
            answers[calls - 1].map(|bytes| lengths.push(bytes))
        });
        (incoming.messages().count(), calls)
    }

    #[test]
    fn that_nothing_has_arrived_costs_one_call() {
        assert_eq!(received(&[Err(Errno::AGAIN)]), (0, 1));
    }

    #[test]
    fn errors_of_earlier_datagrams_are_passed_over_within_bounds() {
        assert_eq!(received(&[Err(Errno::CONNREFUSED), Err(Errno::HOSTUNREACH), Err(Errno::AGAIN)]), (0, 3));
        assert_eq!(received(&[Err(Errno::CONNREFUSED), Ok(7)]), (1, 2));
        assert_eq!(received(&[Err(Errno::CONNREFUSED); 100]), (0, UDP_ERRORS_SKIPPED_MAX + 1));
    }

    #[test]
    fn more_is_asked_for_while_there_is_more() {
        let [sender, receiver] = [(); 2].map(|()| UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap());
        for index in 0..40 {
            sender.send_to(&[index], receiver.local_addr().unwrap()).unwrap();
        }
        receiver.set_nonblocking(true).unwrap();
        let (mut incoming, mut arrived, mut counts) = (Incoming::new(), Vec::new(), Vec::new());
        while arrived.len() < 40 {
            counts.push(incoming.receive(receiver.as_fd()));
            arrived.extend(incoming.messages().map(|message| message[0]));
        }
        let long = vec![0; LONG_BYTES + 1];
        assert_eq!((counts, arrived), (vec![1, 1, 2, 2, 4, 4, 8, 8, 8, 2], (0..40).collect()));
        assert_eq!((incoming.receive(receiver.as_fd()), incoming.receive(receiver.as_fd()), incoming.asked), (0, 0, 1));
        // The counts stay the same over many rounds.
        for round in 0..300 {
            for index in 0..UDP_INCOMING_MESSAGES_MAX {
                sender.send_to(&[index as u8], receiver.local_addr().unwrap()).unwrap();
            }
            let count = incoming.receive(receiver.as_fd());
            assert!(round < STREAK_MAX || count == UDP_INCOMING_MESSAGES_MAX, "round {round}: {count}");
        }
        // Long messages are received one by one, except those of a call that already requested several.
        while incoming.receive(receiver.as_fd()) > 0 {}
        for messages in [4, UDP_INCOMING_MESSAGES_MAX] {
            for index in 0..messages {
                let bytes = if index < 2 { 1 } else { LONG_BYTES + 1 };
                sender.send_to(&long[..bytes], receiver.local_addr().unwrap()).unwrap();
            }
            let counts: Vec<usize> =
                (0..messages).map(|_| incoming.receive(receiver.as_fd())).take_while(|&count| count > 0).collect();
            assert_eq!(counts, [&[1, 1, 2], &vec![1; messages - 4][..]].concat());
        }
    }
}
