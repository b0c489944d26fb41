//! The end of a mailbox that receives.

use pelago_base::{Duration, Instant, Rank};
use pelago_rma::{CellSlice, Error, Result};

use super::Mailbox;
use crate::admission::{Granter, WITHDRAW_AFTER};
use crate::credit::Ticket;
use crate::message_guard::{Free, MessageGuard};
use crate::peer_loss::{ABANDONED_INTERVAL, LastLook, progress, unless_lost};
use crate::settings::Counting;
use crate::slot_flag::Content;
use crate::slots::Slots;

/// The interval at which a waiting receiver checks whether grants in flight have arrived at other holders, and then notifies senders.
const CONFIRM_INTERVAL: Duration = Duration::from_microseconds(100);

/// The receiving end of a mailbox; created by [`Mailbox::receiver`].
pub struct MailReceiver<'m, 'w> {
    mailbox: &'m Mailbox<'w>,
    /// The slots of each share.
    rings: Vec<(Slots, CellSlice<'m, u64>)>,
    granter: Granter<'m, 'w>,
    /// The next ticket of each share.
    heads: Vec<Ticket>,
    /// The share that is checked first, and the number of messages left in its turn.
    turn: u32,
    left: u32,
    /// The fractions of messages by which the turns of each share were too short, in units of 1/`parts`.
    rests: Vec<u64>,
    /// Number of parts of a message.
    parts: u64,
    /// The time of the next check whether a missing message is lost with its sender.
    ask_at: Instant,
    missing: Missing,
}

/// The ticket whose message was last found missing (G3 of the admission).
#[derive(Default)]
struct Missing {
    ticket: Ticket,
    /// The time since which it is missing.
    since: Option<Instant>,
    /// Whether the senders were queried, and none held the ticket.
    is_used: bool,
}

/// An arrived message: its share, its sender, its length.
type Found = (u32, Rank, usize);

impl<'m, 'w> MailReceiver<'m, 'w> {
    pub(super) fn new(mailbox: &'m Mailbox<'w>) -> Self {
        let heads = vec![Ticket::default(); mailbox.admission.shares() as usize];
        let rests = vec![0; heads.len()];
        let weight = |share| u64::from(mailbox.admission.server(share).weight);
        let parts = 4 * (0..mailbox.admission.shares()).map(weight).sum::<u64>().max(1);
        let rings = (0..mailbox.admission.shares()).map(|share| (mailbox.slots(share), mailbox.ring(share))).collect();
        Self {
            mailbox,
            rings,
            granter: Granter::new(&mailbox.admission),
            heads,
            turn: 0,
            left: 0,
            rests,
            parts,
            ask_at: Instant::ZERO,
            missing: Missing::default(),
        }
    }

    /// Returns the next message, if it has arrived.
    ///
    /// Cost: one load for each share of the counters; without a message, as [`progress`](pelago_rma::Context::progress).
    ///
    /// # Errors
    /// A holder of counters was lost; the job is at fault.
    pub fn try_receive(&mut self) -> Result<Option<MessageGuard<'_>>> {
        let found = match self.find()? {
            None => {
                self.granter.flush()?;
                progress(self.mailbox.admission.world())?;
                match self.find()? {
                    None if self.withdraw()? == Some(Duration::ZERO) => self.find()?,
                    found => found,
                }
            }
            found => found,
        };
        Ok(found.map(|found| self.message(found)))
    }

    /// Waits for the next message.
    ///
    /// # Errors
    /// `PeerLost` if all other ranks are lost; as [`try_receive`](Self::try_receive).
    pub fn receive(&mut self) -> Result<MessageGuard<'_>> {
        let mut last_look = LastLook::default();
        let found = loop {
            if let Some(found) = self.find()? {
                break found;
            }
            self.granter.flush()?;
            last_look.check(self.mailbox.admission.world(), None)?;
            self.withdraw_or_wait(None)?;
        };
        Ok(self.message(found))
    }

    /// Waits for the next message, at most for `limit`.
    ///
    /// # Errors
    /// `TimedOut`; as [`receive`](Self::receive).
    pub fn receive_within(&mut self, limit: Duration) -> Result<MessageGuard<'_>> {
        let world = self.mailbox.admission.world();
        // Reads the clock only if it has to wait.
        let (mut until, mut last_look) = (None, LastLook::default());
        let found = loop {
            if let Some(found) = self.find()? {
                break found;
            }
            self.granter.flush()?;
            last_look.check(world, None)?;
            let now = world.now();
            let until = *until.get_or_insert(now + limit);
            if now >= until {
                return Err(Error::TimedOut { what: "a message", limit });
            }
            self.withdraw_or_wait(Some(until.since(now)))?;
        };
        Ok(self.message(found))
    }

    /// Waits for a message, and calls `take` with it and with the messages that have arrived behind it, at most `most` in total; frees the slot of each.
    /// Returns their number.
    ///
    /// Cost: as [`receive`](Self::receive) for the first message, a load for each other one.
    ///
    /// # Errors
    /// The error of `take`, after which its message counts as received; as [`receive`](Self::receive).
    pub fn receive_each(&mut self, most: usize, mut take: impl FnMut(&MessageGuard<'_>) -> Result<()>) -> Result<usize> {
        if most == 0 {
            return Ok(0);
        }
        let first = self.receive()?;
        take(&first)?;
        first.release()?;
        let mut count = 1;
        while count < most
            && let Some(found) = self.find()?
        {
            let message = self.message(found);
            take(&message)?;
            message.release()?;
            count += 1;
        }
        Ok(count)
    }

    /// Whether a message has arrived. Cost: one load for each share of the counters.
    pub fn has_come(&self) -> bool {
        (0..self.heads.len() as u32).any(|share| self.found(share).is_some())
    }

    /// Operations that the receiver has issued: grants, and notifications of waiting senders.
    pub fn operations(&self) -> u64 {
        self.granter.operations()
    }

    /// The time after which a caller that has just called [`withdraw`](Self::withdraw) must call it again.
    pub(crate) fn withdraws_after(&self) -> Option<Duration> {
        let is_missing = self.missing.since.is_some() && self.missing.ticket == self.heads[0];
        (is_missing && !self.missing.is_used && self.granter.may_be_held(self.heads[0])).then_some(WITHDRAW_AFTER)
    }

    /// Withdraws the next ticket, and those behind it, if it was taken ahead and its message has been missing for [`WITHDRAW_AFTER`]. Returns the time after
    /// which to call it again: zero after a query of the senders.
    pub(crate) fn withdraw(&mut self) -> Result<Option<Duration>> {
        let head = self.heads[0];
        if !self.granter.may_be_held(head) {
            return Ok(None);
        }
        let now = self.mailbox.admission.world().now();
        if self.missing.since.is_none() || self.missing.ticket != head {
            self.missing = Missing { ticket: head, since: Some(now), is_used: false };
        }
        if self.missing.is_used {
            return Ok(None);
        }
        let passed = self.missing.since.map_or(Duration::ZERO, |since| now.since(since));
        if passed < WITHDRAW_AFTER {
            return Ok(Some(Duration::from_picoseconds(WITHDRAW_AFTER.as_picoseconds() - passed.as_picoseconds())));
        }
        let count = self.granter.withdraw(head)?;
        self.missing.is_used = count == 0;
        (0..count).try_for_each(|_| self.free(0))?;
        Ok(Some(Duration::ZERO))
    }

    /// Waits until a message may have arrived, unless tickets are withdrawn before it.
    fn withdraw_or_wait(&mut self, limit: Option<Duration>) -> Result<()> {
        match self.withdraw()? {
            Some(Duration::ZERO) => Ok(()),
            withdraws => self.wait(limit, withdraws),
        }
    }

    /// Waits until a message may have arrived.
    fn wait(&self, limit: Option<Duration>, withdraws: Option<Duration>) -> Result<()> {
        let mailbox = self.mailbox;
        let world = mailbox.admission.world();
        let mut intervals = [limit, withdraws, None, None];
        if !world.lost().is_empty() {
            intervals[2] = Some(ABANDONED_INTERVAL);
        }
        if self.granter.is_telling() {
            intervals[3] = Some(CONFIRM_INTERVAL);
        }
        // All messages arrive in this memory.
        let cells = mailbox.memory.local();
        let has_come = |_| self.has_come();
        let interval = intervals.into_iter().flatten().min();
        let waited = world.wait_for_value("a message of a mailbox", interval, cells, 0, has_come);
        unless_lost(world, waited).map(drop)
    }

    /// Finds an arrived message, with the shares in turn.
    fn find(&mut self) -> Result<Option<Found>> {
        let (shares, turn) = (self.heads.len() as u32, self.turn);
        if let Some(Content::Message { from, bytes }) = self.found(turn) {
            self.take_turn(turn);
            return Ok(Some((turn, from, bytes)));
        }
        let world = self.mailbox.admission.world();
        let asks = !world.lost().is_empty() && world.now() >= self.ask_at;
        for share in (0..shares).map(|step| (turn + step) % shares) {
            loop {
                match self.found(share) {
                    Some(Content::Message { from, bytes }) => {
                        self.take_turn(share);
                        return Ok(Some((share, from, bytes)));
                    }
                    Some(Content::Void) => self.free(share)?,
                    None if asks => {
                        self.ask_at = world.now() + ABANDONED_INTERVAL;
                        if !self.granter.is_abandoned(share, self.heads[share as usize])? {
                            break;
                        }
                        if self.found(share).is_none() {
                            self.free(share)?;
                        }
                    }
                    None => break,
                }
            }
        }
        Ok(None)
    }

    /// Counts a message of a share. A round of turns has a quarter as many messages as there are slots; each turn is in proportion to the ranks that
    /// use the share. So shares whose ranks send equally many messages finish together, also if their numbers of slots are rounded.
    #[inline]
    fn take_turn(&mut self, share: u32) {
        if share != self.turn {
            self.begin_turn(share);
        }
        self.left = self.left.saturating_sub(1);
        while self.left == 0 {
            self.begin_turn(if self.turn + 1 == self.heads.len() as u32 { 0 } else { self.turn + 1 });
        }
    }

    fn begin_turn(&mut self, share: u32) {
        let admission = &self.mailbox.admission;
        let rest = &mut self.rests[share as usize];
        *rest += u64::from(admission.settings().slots) * u64::from(admission.server(share).weight);
        (self.turn, self.left) = (share, (*rest / self.parts) as u32);
        *rest %= self.parts;
    }

    /// The message of the next ticket of a share, if it has arrived.
    fn found(&self, share: u32) -> Option<Content> {
        let (slots, ring) = self.rings[share as usize];
        slots.found(ring, self.heads[share as usize])
    }

    fn message(&mut self, (share, from, bytes): Found) -> MessageGuard<'_> {
        let (slots, ring) = self.rings[share as usize];
        let bytes = slots.bytes(ring, self.heads[share as usize], bytes);
        MessageGuard::new(self, share, from, bytes)
    }
}

impl Free for MailReceiver<'_, '_> {
    fn free(&mut self, share: u32) -> Result<()> {
        let head = &mut self.heads[share as usize];
        *head = head.after(1);
        match self.mailbox.admission.settings().counting {
            Counting::OneWord => self.granter.give(share),
            // As in the paper: an addition of 1 for each message.
            Counting::TwoWords => self.granter.give_at_once(share),
        }
    }
}

#[cfg(test)]
mod turns;
