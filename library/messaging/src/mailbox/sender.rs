//! The end of a mailbox that sends.

use pelago_base::Rank;
use pelago_rma::{Error, Pod, Result};
use zerocopy::IntoBytes;

use super::Mailbox;
use crate::admission::Requester;
use crate::composed;
use crate::credit::Ticket;
use crate::limits::BATCH_MAX;
use crate::message_guard::Sent;

/// The sending end of a mailbox; created by [`Mailbox::sender`].
///
/// Dropping it returns an unused ticket, such as that of a [`try_send`](Self::try_send) that found no free slot; this waits until the receiver frees a
/// slot. A rank that sends to itself takes its messages before. A rank that panics does not wait: the receiver skips the ticket when the rank
/// is lost. A program that catches panics and goes on keeps the sender outside of `catch_unwind`.
pub struct MailSender<'m, 'w> {
    mailbox: &'m Mailbox<'w>,
    to: Rank,
    requester: Requester<'m, 'w>,
    /// A ticket that was taken and not used.
    held: Option<Ticket>,
    /// Buffer for the pieces of a message, reused.
    pieces: Vec<u8>,
}

impl<'m, 'w> MailSender<'m, 'w> {
    pub(super) fn new(mailbox: &'m Mailbox<'w>, to: Rank) -> Result<Self> {
        Ok(Self { mailbox, to, requester: Requester::new(&mailbox.admission, to)?, held: None, pieces: Vec::new() })
    }

    /// Sends a message; waits for a slot. The buffer may be reused when the call returns.
    ///
    /// If tickets take a round trip, and the program sends in a loop while the receiver receives, the library takes tickets ahead: as many as the
    /// program uses in 100 µs, at most a quarter of the slots and 128. Unused tickets delay other senders for at most about 100 µs and two round trips:
    /// the receiver withdraws them without the help of this rank. [`flush`](Self::flush) and dropping the sender return them.
    ///
    /// Cost: one round trip to the counters if a slot is free, for up to 128 messages of a loop, and two puts for each message without waiting.
    ///
    /// # Errors
    /// The message is too long; the receiver or the holder of the counters was lost; the job is at fault.
    pub fn send(&mut self, message: impl AsRef<[u8]>) -> Result<()> {
        let message = self.check(message.as_ref())?;
        let ticket = match self.held {
            Some(ticket) => ticket,
            None => self.requester.next()?,
        };
        // If the wait fails, the next message uses the ticket.
        self.held = Some(ticket);
        self.requester.wait(ticket)?;
        self.held = None;
        self.write(ticket, message)
    }

    /// Sends one message that consists of several consecutive pieces.
    ///
    /// Cost: one copy of all pieces; else as [`send`](Self::send). Allocates only if the message is longer than each earlier one.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub fn send_pieces(&mut self, pieces: &[&[u8]]) -> Result<()> {
        self.check_length(pieces.iter().map(|piece| piece.len()).sum())?;
        let mut message = std::mem::take(&mut self.pieces);
        composed::join(pieces, &mut message);
        let sent = self.send(&message);
        self.pieces = message;
        sent
    }

    /// Sends values in their representation in memory; [`MessageGuard::values`](crate::MessageGuard::values) reads them.
    ///
    /// Cost: as [`send`](Self::send).
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub fn send_values<T: Pod>(&mut self, values: &[T]) -> Result<()> {
        self.send(values.as_bytes())
    }

    /// Sends a value of a type with serde, in the format of postcard; [`MessageGuard::decode`](crate::MessageGuard::decode) reads it.
    ///
    /// Cost: one copy of the encoded value; else as [`send`](Self::send). Allocates only if the message is longer than each earlier one.
    ///
    /// # Errors
    /// The value cannot be encoded (for example a sequence of unknown length); as [`send`](Self::send).
    ///
    /// ```
    /// # use pelago_messaging::{MailReceiver, MailSender};
    /// # use pelago_rma::Result;
    /// # fn example(sender: &mut MailSender<'_, '_>, receiver: &mut MailReceiver<'_, '_>) -> Result<()> {
    /// sender.send_encoded(&("rows", vec![3u32, 70_000]))?;
    /// let (what, rows): (String, Vec<u32>) = receiver.receive()?.decode()?;
    /// # Ok(())
    /// # }
    /// ```
    #[cfg(feature = "serde")]
    pub fn send_encoded<T: serde::Serialize + ?Sized>(&mut self, value: &T) -> Result<()> {
        let mut message = std::mem::take(&mut self.pieces);
        let sent = composed::encode(value, &mut message).and_then(|()| self.send(&message));
        self.pieces = message;
        sent
    }

    /// Sends a message if a slot is free. Does not wait for the receiver. While other senders wait for slots, repeated calls may fail to find one.
    ///
    /// Cost: as [`send`](Self::send); if the last message found no free slot, one more round trip to the counters.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub fn try_send<M: AsRef<[u8]>>(&mut self, message: M) -> Result<Sent<M>> {
        self.check(message.as_ref())?;
        let ticket = match self.held {
            Some(ticket) => ticket,
            None => match self.requester.is_ahead_granted()? {
                Some(false) => return self.requester.look_around().map(|()| Sent::Full(message)),
                Some(true) => self.requester.next()?,
                None if self.requester.is_full()? => return self.requester.look_around().map(|()| Sent::Full(message)),
                None => self.requester.take(1)?,
            },
        };
        self.held = Some(ticket);
        if !self.requester.is_granted(ticket)? {
            return self.requester.look_around().map(|()| Sent::Full(message));
        }
        // `as_ref` may return other bytes than before. If they are too long, the next message uses the ticket.
        let message = self.check(message.as_ref())?;
        self.held = None;
        self.write(ticket, message)?;
        Ok(Sent::Sent)
    }

    /// Sends messages one after another; waits for slots.
    ///
    /// Cost: one round trip to the counters for as many messages as half the slots, up to 128, and two puts for each message. The receiver takes
    /// later messages of other senders after them.
    ///
    /// # Errors
    /// As [`send`](Self::send); the messages before the one that failed were sent.
    pub fn send_all<M: AsRef<[u8]>>(&mut self, messages: &[M]) -> Result<()> {
        for message in messages {
            self.check(message.as_ref())?;
        }
        let mut rest = messages;
        if self.held.is_some() {
            let [first, others @ ..] = rest else { return Ok(()) };
            self.send(first)?;
            rest = others;
        }
        while let [first, others @ ..] = rest
            && let Some(ticket) = self.requester.use_ahead(1)
        {
            self.held = Some(ticket);
            self.send(first)?;
            rest = others;
        }
        let slots = self.mailbox.admission.server(self.requester.share()).slots;
        for batch in rest.chunks((slots as usize).div_ceil(2).min(BATCH_MAX)) {
            // `as_ref` may return other bytes than before; after the tickets are taken, no message may turn out to be too long.
            let mut bytes = [&[][..]; BATCH_MAX];
            for (bytes, message) in bytes.iter_mut().zip(batch) {
                *bytes = self.check(message.as_ref())?;
            }
            let first = self.requester.take(batch.len() as u32)?;
            for (step, message) in bytes[..batch.len()].iter().enumerate() {
                let ticket = first.after(step as u32);
                // After a failure no rank waits for the remaining tickets: the receiver or the holder of the counters is lost, or the job is at fault.
                self.requester.wait(ticket)?;
                self.write(ticket, message)?;
            }
        }
        Ok(())
    }

    /// Whether the sender holds a ticket that it has not used, as after a [`try_send`](Self::try_send) that found no free slot. Dropping such a sender
    /// waits until the receiver frees a slot.
    pub fn holds_ticket(&self) -> bool {
        self.held.is_some()
    }

    /// The number of round trips to the counters that took tickets: fewer than messages if tickets are taken ahead, or by
    /// [`send_all`](Self::send_all).
    pub fn requests(&self) -> u64 {
        self.requester.turns()
    }

    /// The number of reads of the counters while this end waited for its ticket.
    pub fn looks(&self) -> u64 {
        self.requester.looks()
    }

    /// Waits until all sent messages are in the receiver's memory: the loss of this rank then loses none of them. Gives back tickets that were taken ahead.
    ///
    /// # Errors
    /// The receiver was lost; the job is at fault.
    pub fn flush(&mut self) -> Result<()> {
        self.give_back()?;
        self.requester.flush()
    }

    fn check<'a>(&self, message: &'a [u8]) -> Result<&'a [u8]> {
        self.check_length(message.len()).map(|()| message)
    }

    fn check_length(&self, bytes: usize) -> Result<()> {
        let limit = self.mailbox.message_bytes_max();
        if bytes > limit { Err(Error::TooLong { what: "message", bytes, limit }) } else { Ok(()) }
    }

    fn write(&mut self, ticket: Ticket, message: &[u8]) -> Result<()> {
        let mailbox = self.mailbox;
        let ring = mailbox.ring_at(self.to, self.requester.share());
        let handles = mailbox.slots(self.requester.share()).write(mailbox.admission.world(), ring, ticket, message)?;
        self.requester.used(handles)
    }

    /// Returns the granted tickets that were taken ahead and not used; marks their slots as void.
    fn give_back(&mut self) -> Result<()> {
        let Some((first, count)) = self.requester.give_back() else { return Ok(()) };
        (0..count).try_for_each(|step| self.give_up(first.after(step)))
    }

    /// Marks the slot of a ticket as void, so that the receiver skips it.
    fn give_up(&mut self, ticket: Ticket) -> Result<()> {
        self.requester.wait(ticket)?;
        let mailbox = self.mailbox;
        let ring = mailbox.ring_at(self.to, self.requester.share());
        let told = mailbox.slots(self.requester.share()).give_up(mailbox.admission.world(), ring, ticket)?;
        self.requester.used([told])
    }
}

impl Drop for MailSender<'_, '_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            return;
        }
        // After a failure no rank waits for later tickets: the receiver is lost, or the job is at fault.
        if let Some(ticket) = self.held.take() {
            let _nobody_waits = self.give_up(ticket);
        }
        let _nobody_waits = self.give_back();
    }
}

#[cfg(test)]
mod ahead;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Settings;
    use pelago_test_support::threads::{Platform, run};

    /// Otherwise senders that only try would hold tickets in front of waiting senders.
    #[test]
    fn who_tries_takes_no_ticket_while_there_is_known_to_be_no_room() {
        run(Platform::Mapped, 1, |world| {
            let to = world.rank();
            let mailbox = Mailbox::new(world, to, Settings::new(1, 8)).unwrap();
            let (mut sender, mut receiver) = (mailbox.sender(to).unwrap(), mailbox.receiver().unwrap());
            let mut step = |is_sent: bool, tickets: u32, looks: u64| {
                let expected = if is_sent { Sent::Sent } else { Sent::Full([1]) };
                assert_eq!(sender.try_send([1]).unwrap(), expected);
                assert_eq!((mailbox.admission.taken(to, 0), sender.looks()), (Ticket::new(tickets), looks));
            };
            step(true, 1, 0);
            step(false, 2, 1);
            step(false, 2, 2);
            receiver.receive().unwrap().release().unwrap();
            step(true, 2, 3);
            // Its last ticket had to wait, so it first reads whether the next ticket would.
            step(false, 2, 3);
            receiver.receive().unwrap().release().unwrap();
            step(true, 3, 3);
            drop(receiver.receive().unwrap());
        });
    }
}
