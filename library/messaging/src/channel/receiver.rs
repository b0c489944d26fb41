//! The end of a channel that receives.

use pelago_base::{Duration, Rank};
use pelago_rma::{CellSlice, Context, Error, Fault, GlobalPtr, Result};

use super::ChannelSettings;
use crate::credit::Ticket;
use crate::message_guard::{Free, MessageGuard};
use crate::peer_loss::{is_lost, progress, unless_lost};
use crate::pending::PendingOperations;
use crate::slot_flag::Content;
use crate::slots::Slots;

/// The receiving end of a channel; created by [`Channel::receiver`](super::Channel::receiver).
pub struct ChannelReceiver<'c> {
    context: &'c Context,
    from: Rank,
    slots: Slots,
    ring: CellSlice<'c, u64>,
    /// The sender's word for the number of consumed messages: its credits.
    consumed: GlobalPtr<u64>,
    /// The ticket of the next message, the number of its bytes that a stream has taken, and the ticket up to which the sender has its credits.
    head: Ticket,
    offset: usize,
    told: Ticket,
    pending: PendingOperations<'c>,
}

impl<'c> ChannelReceiver<'c> {
    /// Creates a receiving end with memory of the program: `ring` is memory of this rank of [`ring_words`](ChannelSettings::ring_words) words,
    /// and `consumed` a word at `from`. All words are zero before either end is created, and only this channel uses them.
    ///
    /// # Errors
    /// The settings are impossible; the ring is too small.
    pub fn over(
        context: &'c Context,
        from: Rank,
        settings: ChannelSettings,
        ring: CellSlice<'c, u64>,
        consumed: GlobalPtr<u64>,
    ) -> Result<Self> {
        let slots = settings.ring_in(ring.len())?;
        let (head, told) = Default::default();
        Ok(Self { context, from, slots, ring, consumed, head, offset: 0, told, pending: PendingOperations::default() })
    }

    /// Returns the next message, or the part of it that a stream has left, if it has arrived.
    ///
    /// Cost: one load; without a message, as [`progress`](Context::progress).
    ///
    /// # Errors
    /// The sender was lost and all its arrived messages are consumed; the job is at fault.
    pub fn try_receive(&mut self) -> Result<Option<MessageGuard<'_>>> {
        let found = self.find_after_progress()?;
        Ok(found.map(|bytes| self.message(bytes)))
    }

    /// Waits for the next message, or the part of it that a stream has left.
    ///
    /// # Errors
    /// As [`try_receive`](Self::try_receive).
    pub fn receive(&mut self) -> Result<MessageGuard<'_>> {
        let bytes = self.await_segment()?;
        Ok(self.message(bytes))
    }

    /// As [`receive`](Self::receive); waits at most for `limit`.
    ///
    /// # Errors
    /// `TimedOut`; as [`try_receive`](Self::try_receive).
    pub fn receive_within(&mut self, limit: Duration) -> Result<MessageGuard<'_>> {
        let until = self.context.now() + limit;
        loop {
            if let Some(bytes) = self.find_or_lost()? {
                return Ok(self.message(bytes));
            }
            let now = self.context.now();
            if now >= until {
                return Err(Error::TimedOut { what: "a message", limit });
            }
            self.wait(Some(until.since(now)))?;
        }
    }

    /// Fills `into` with the next bytes, across segments; waits for them.
    ///
    /// # Errors
    /// As [`try_receive`](Self::try_receive); earlier bytes are then already consumed.
    pub fn receive_stream(&mut self, into: &mut [u8]) -> Result<()> {
        let mut filled = 0;
        while filled < into.len() {
            let bytes = self.await_segment()?;
            filled += self.take(bytes, &mut into[filled..])?;
        }
        Ok(())
    }

    /// Copies the arrived bytes, as far as they fit, and returns their number.
    ///
    /// # Errors
    /// As [`try_receive`](Self::try_receive), if no bytes have arrived.
    pub fn try_receive_stream(&mut self, into: &mut [u8]) -> Result<usize> {
        let mut filled = 0;
        while filled < into.len() {
            let found = if filled == 0 { self.find_after_progress()? } else { self.find() };
            let Some(bytes) = found else { break };
            filled += self.take(bytes, &mut into[filled..])?;
        }
        Ok(filled)
    }

    /// Whether no message has arrived. Cost: one load.
    pub fn is_empty(&self) -> bool {
        self.find().is_none()
    }

    /// The length in bytes of the next message, if it has arrived.
    fn find(&self) -> Option<usize> {
        self.slots.found(self.ring, self.head).map(|content| match content {
            Content::Message { bytes, .. } => bytes,
            Content::Void => 0,
        })
    }

    /// As `find`; makes progress before it returns `None`.
    fn find_after_progress(&mut self) -> Result<Option<usize>> {
        if let Some(bytes) = self.find() {
            return Ok(Some(bytes));
        }
        progress(self.context)?;
        self.find_or_lost()
    }

    /// As `find`; fails if no message can arrive any more.
    fn find_or_lost(&self) -> Result<Option<usize>> {
        // In this order, so that messages that the sender completed before it was lost are found.
        let is_lost = is_lost(self.context, self.from);
        match self.find() {
            None if is_lost => Err(Fault::PeerLost(self.from).into()),
            found => Ok(found),
        }
    }

    fn await_segment(&mut self) -> Result<usize> {
        loop {
            if let Some(bytes) = self.find_or_lost()? {
                return Ok(bytes);
            }
            self.wait(None)?;
        }
    }

    /// Waits until a message may have arrived.
    fn wait(&self, limit: Option<Duration>) -> Result<()> {
        let (cells, index) = (self.ring, self.slots.index(self.head));
        let has_come = |_| self.find().is_some();
        let waited = self.context.wait_for_value("a message of a channel", limit, cells, index, has_come);
        unless_lost(self.context, waited).map(drop)
    }

    fn message(&mut self, bytes: usize) -> MessageGuard<'_> {
        let (from, all) = (self.from, self.slots.bytes(self.ring, self.head, bytes));
        let rest = all.range(self.offset.min(all.len())..all.len());
        MessageGuard::new(self, 0, from, rest)
    }

    /// Copies the rest of the next message, of `bytes` bytes, as far as it fits; returns the number of copied bytes. Frees the segment after the
    /// last byte.
    fn take(&mut self, bytes: usize, into: &mut [u8]) -> Result<usize> {
        let message = self.message(bytes);
        let (left, count) = (message.len(), message.len().min(into.len()));
        message.bytes().read(0, &mut into[..count]);
        if count == left {
            message.release()?;
        } else {
            message.keep();
            self.offset += count;
        }
        Ok(count)
    }
}

impl Free for ChannelReceiver<'_> {
    fn free(&mut self, _share: u32) -> Result<()> {
        (self.head, self.offset) = (self.head.after(1), 0);
        if self.head.since(self.told) < self.slots.count().div_ceil(2) as i32 {
            return Ok(());
        }
        self.told = self.head;
        let count = [u64::from(self.head.number())];
        // Ordered after the previous put, so that the number does not decrease.
        let told = match self.pending.last() {
            Some(last) => self.context.after(&last).put(self.consumed, &count),
            None => self.context.put(self.consumed, &count),
        };
        match told.and_then(|told| self.pending.add(told)) {
            // The sender is lost; a receive returns that error once all messages are consumed.
            Err(Error::Failed(_)) => Ok(()),
            other => other,
        }
    }
}
