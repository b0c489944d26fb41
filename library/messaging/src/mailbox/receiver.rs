//! The end of a mailbox that receives.

use pelago_base::{Duration, Rank};
use pelago_rma::{CellSlice, Error, Fault, Result};

use super::Mailbox;
use crate::credit::Ticket;
use crate::flag::Content;
use crate::gate::Giver;

/// How often a receiver that waits asks, in a job that has lost ranks, whether what it waits for went with them.
const ABANDONED_INTERVAL: Duration = Duration::from_milliseconds(20);

/// How long a receiver that waits leaves grants untold that are on their way to holders elsewhere.
const CONFIRM_INTERVAL: Duration = Duration::from_microseconds(100);

/// The end of a mailbox that receives; made by [`Mailbox::receiver`].
pub struct MailReceiver<'m, 'w> {
    mailbox: &'m Mailbox<'w>,
    giver: Giver<'m, 'w>,
    /// The ticket of each share that is next.
    heads: Vec<Ticket>,
    /// The share to be asked first.
    turn: u32,
}

/// A message in its slot, which is free again when this is dropped.
pub struct Message<'r, 'm, 'w> {
    receiver: &'r mut MailReceiver<'m, 'w>,
    share: u32,
    from: Rank,
    bytes: usize,
}

impl<'m, 'w> MailReceiver<'m, 'w> {
    pub(super) fn new(mailbox: &'m Mailbox<'w>) -> Self {
        let heads = vec![Ticket::default(); mailbox.gate.shares() as usize];
        Self { mailbox, giver: Giver::new(&mailbox.gate), heads, turn: 0 }
    }

    /// The next message, if it has come. Cost: one load for each share of the counters.
    ///
    /// # Errors
    /// A holder of counters was lost; the job is at fault.
    pub fn try_receive(&mut self) -> Result<Option<Message<'_, 'm, 'w>>> {
        match self.find()? {
            Some((share, from, bytes)) => Ok(Some(Message { receiver: self, share, from, bytes })),
            None => {
                self.giver.flush()?;
                Ok(None)
            }
        }
    }

    /// The next message; waits for it.
    ///
    /// # Errors
    /// As [`try_receive`](Self::try_receive).
    pub fn receive(&mut self) -> Result<Message<'_, 'm, 'w>> {
        let (share, from, bytes) = loop {
            if let Some(found) = self.find()? {
                break found;
            }
            self.giver.flush()?;
            self.wait(None)?;
        };
        Ok(Message { receiver: self, share, from, bytes })
    }

    /// The next message; waits for it, at most for `limit`.
    ///
    /// # Errors
    /// `TimedOut`; as [`try_receive`](Self::try_receive).
    pub fn receive_within(&mut self, limit: Duration) -> Result<Message<'_, 'm, 'w>> {
        let world = self.mailbox.gate.world();
        let until = world.now() + limit;
        let (share, from, bytes) = loop {
            if let Some(found) = self.find()? {
                break found;
            }
            self.giver.flush()?;
            let now = world.now();
            if now >= until {
                return Err(Error::TimedOut { what: "a message", limit });
            }
            self.wait(Some(until.since(now)))?;
        };
        Ok(Message { receiver: self, share, from, bytes })
    }

    /// Waits until a message may have come.
    fn wait(&self, limit: Option<Duration>) -> Result<()> {
        let mailbox = self.mailbox;
        let world = mailbox.gate.world();
        let mut intervals = [limit, None, None];
        if !world.lost().is_empty() {
            intervals[1] = Some(ABANDONED_INTERVAL);
        }
        if self.giver.is_telling() {
            intervals[2] = Some(CONFIRM_INTERVAL);
        }
        // Whatever comes, comes into this memory.
        let cells = mailbox.slots.local();
        let has_come = |_| self.heads.iter().zip(0..).any(|(&head, share)| mailbox.found(share, head).is_some());
        let waited = match intervals.into_iter().flatten().min() {
            Some(interval) => world.wait_until_within(interval, cells, 0, has_come),
            None => world.wait_until(cells, 0, has_come),
        };
        match waited {
            Ok(_) | Err(Error::TimedOut { .. }) => Ok(()),
            // The job goes on without that rank; so does this, which may have waited for it.
            Err(Error::Fault(Fault::PeerLost(_))) if world.fault().is_none() => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// A message that has come: its share, its sender, its length. Shares take turns.
    fn find(&mut self) -> Result<Option<(u32, Rank, usize)>> {
        let (shares, turn) = (self.heads.len() as u32, self.turn);
        for share in (0..shares).map(|step| (turn + step) % shares) {
            loop {
                match self.mailbox.found(share, self.heads[share as usize]) {
                    Some(Content::Message { from, bytes }) => {
                        self.turn = (share + 1) % shares;
                        return Ok(Some((share, from, bytes)));
                    }
                    Some(Content::Void) => self.release(share)?,
                    None if self.is_abandoned(share)? => self.release(share)?,
                    None => break,
                }
            }
        }
        Ok(None)
    }

    fn is_abandoned(&self, share: u32) -> Result<bool> {
        let head = self.heads[share as usize];
        Ok(self.giver.is_abandoned(share, head)? && self.mailbox.found(share, head).is_none())
    }

    /// The slot of the next ticket is free.
    fn release(&mut self, share: u32) -> Result<()> {
        let head = &mut self.heads[share as usize];
        *head = head.after(1);
        self.giver.give(share)
    }
}

impl Message<'_, '_, '_> {
    /// Who sent it.
    pub fn from(&self) -> Rank {
        self.from
    }

    /// How many bytes.
    pub fn len(&self) -> usize {
        self.bytes
    }

    /// Whether it has no bytes.
    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// The bytes where they lie.
    pub fn bytes(&self) -> CellSlice<'_, u8> {
        let MailReceiver { mailbox, heads, .. } = &*self.receiver;
        mailbox.bytes(self.share, heads[self.share as usize], self.bytes)
    }

    /// A copy of the bytes.
    pub fn to_vec(&self) -> Vec<u8> {
        self.bytes().to_vec()
    }

    /// Frees the slot, as dropping does, and tells what went wrong.
    ///
    /// # Errors
    /// The holder of the counters was lost; the job is at fault.
    pub fn release(self) -> Result<()> {
        let mut message = std::mem::ManuallyDrop::new(self);
        let share = message.share;
        message.receiver.release(share)
    }
}

impl Drop for Message<'_, '_, '_> {
    fn drop(&mut self) {
        // What went wrong meets whoever receives next.
        let _met_again = self.receiver.release(self.share);
    }
}
