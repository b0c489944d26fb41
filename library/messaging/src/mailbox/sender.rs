//! The end of a mailbox that sends.

use pelago_base::Rank;
use pelago_rma::{Error, Result};

use super::Mailbox;
use crate::credit::Ticket;
use crate::gate::Taker;
use crate::message::Sent;

/// The most tickets taken at once: a small part of a message each, and C3 holds.
const BATCH_MAX: usize = 128;

/// The end of a mailbox that sends; made by [`Mailbox::sender`].
///
/// Dropped with a ticket that was taken and not used, it gives the ticket up, for which it may have to wait. A rank that panics does not wait:
/// its ticket is passed over when it is lost.
pub struct MailSender<'m, 'w> {
    mailbox: &'m Mailbox<'w>,
    to: Rank,
    taker: Taker<'m, 'w>,
    /// A ticket that was taken and not used.
    held: Option<Ticket>,
}

impl<'m, 'w> MailSender<'m, 'w> {
    pub(super) fn new(mailbox: &'m Mailbox<'w>, to: Rank) -> Result<Self> {
        Ok(Self { mailbox, to, taker: Taker::new(&mailbox.gate, to)?, held: None })
    }

    /// Sends a message; waits for room. It may be reused as soon as the call returns.
    ///
    /// Cost: one round trip to the counters if there is room, and two writes that nobody waits for.
    ///
    /// # Errors
    /// The message is too long; the receiver or the holder of the counters was lost; the job is at fault.
    pub fn send(&mut self, message: impl AsRef<[u8]>) -> Result<()> {
        let message = self.check(message.as_ref())?;
        let ticket = match self.held {
            Some(ticket) => ticket,
            None => self.taker.take(1)?,
        };
        // Whatever happens: the ticket is taken, and used by the next message if not by this one.
        self.held = Some(ticket);
        self.taker.wait(ticket)?;
        self.held = None;
        self.write(ticket, message)
    }

    /// Sends a message if there is room. Does not wait for the receiver. Where others wait for room, whoever only tries may find none again
    /// and again.
    ///
    /// Cost: as [`send`](Self::send); if the last message found no room, one more round trip to the counters.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub fn try_send<M: AsRef<[u8]>>(&mut self, message: M) -> Result<Sent<M>> {
        self.check(message.as_ref())?;
        let ticket = match self.held {
            Some(ticket) => ticket,
            None if self.taker.is_full()? => return self.taker.look_around().map(|()| Sent::Full(message)),
            None => self.taker.take(1)?,
        };
        self.held = Some(ticket);
        if !self.taker.is_granted(ticket)? {
            return self.taker.look_around().map(|()| Sent::Full(message));
        }
        self.held = None;
        self.write(ticket, message.as_ref())?;
        Ok(Sent::Sent)
    }

    /// Sends messages one after another; waits for room.
    ///
    /// Cost: one round trip to the counters for as many messages as half the slots, up to 128, and two writes for each. Meanwhile the
    /// messages of others that come after them wait for them.
    ///
    /// # Errors
    /// As [`send`](Self::send); those before the one that failed are on their way.
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
        for batch in rest.chunks((self.mailbox.gate.slots() as usize).div_ceil(2).min(BATCH_MAX)) {
            let first = self.taker.take(batch.len() as u32)?;
            for (step, message) in batch.iter().enumerate() {
                let ticket = first.after(step as u32);
                // Should this fail, nobody waits for those behind: the receiver is lost, or who grants them, or the job is at fault.
                self.taker.wait(ticket)?;
                self.write(ticket, message.as_ref())?;
            }
        }
        Ok(())
    }

    /// How often this end has looked again whether its ticket was granted.
    pub fn looks(&self) -> u64 {
        self.taker.looks()
    }

    /// Waits until the receiver's memory holds everything that was sent: nothing of it can be lost with this rank any more.
    ///
    /// # Errors
    /// The receiver was lost; the job is at fault.
    pub fn flush(&mut self) -> Result<()> {
        self.taker.flush()
    }

    fn check<'a>(&self, message: &'a [u8]) -> Result<&'a [u8]> {
        let (bytes, limit) = (message.len(), self.mailbox.message_bytes_max());
        if bytes > limit { Err(Error::TooLong { what: "message", bytes, limit }) } else { Ok(message) }
    }

    fn write(&mut self, ticket: Ticket, message: &[u8]) -> Result<()> {
        let mailbox = self.mailbox;
        let ring = mailbox.ring_at(self.to, self.taker.share());
        let handles = mailbox.slots.write(mailbox.gate.world(), ring, ticket, message)?;
        self.taker.used(handles)
    }

    /// Leaves a slot empty, so that the receiver goes on behind it.
    fn give_up(&mut self, ticket: Ticket) -> Result<()> {
        self.taker.wait(ticket)?;
        let mailbox = self.mailbox;
        let ring = mailbox.ring_at(self.to, self.taker.share());
        let told = mailbox.slots.give_up(mailbox.gate.world(), ring, ticket)?;
        self.taker.used([told])
    }
}

impl Drop for MailSender<'_, '_> {
    fn drop(&mut self) {
        if let Some(ticket) = self.held.take()
            && !std::thread::panicking()
        {
            // Should this fail, the receiver is lost, or the job at fault: nobody waits for what comes behind.
            let _nobody_waits = self.give_up(ticket);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Settings;
    use pelago_test_support::threads::{Platform, run};

    /// Else those who only try would hold tickets in front of those who wait.
    #[test]
    fn who_tries_takes_no_ticket_while_there_is_known_to_be_no_room() {
        run(Platform::Mapped, 1, |world| {
            let to = world.rank();
            let mailbox = Mailbox::new(world, to, Settings::new(1, 8)).unwrap();
            let (mut sender, mut receiver) = (mailbox.sender(to).unwrap(), mailbox.receiver().unwrap());
            let mut step = |is_sent: bool, tickets: u32, looks: u64| {
                let expected = if is_sent { Sent::Sent } else { Sent::Full([1]) };
                assert_eq!(sender.try_send([1]).unwrap(), expected);
                assert_eq!((mailbox.gate.taken(to, 0), sender.looks()), (Ticket::new(tickets), looks));
            };
            step(true, 1, 0);
            step(false, 2, 1);
            step(false, 2, 2);
            receiver.receive().unwrap().release().unwrap();
            step(true, 2, 3);
            // Its last ticket had to wait, so it looks whether another would.
            step(false, 2, 3);
            receiver.receive().unwrap().release().unwrap();
            step(true, 3, 3);
            drop(receiver.receive().unwrap());
        });
    }
}
