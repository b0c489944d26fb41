//! The end of a channel that sends.

use pelago_base::Rank;
use pelago_rma::{CellSlice, Context, Error, GlobalPtr, Pod, Result};
use zerocopy::IntoBytes;

use super::ChannelSettings;
use crate::composed;
use crate::credit::{Credit, Ticket};
use crate::message_guard::Sent;
use crate::peer_loss::{all_there, progress, unless_lost};
use crate::pending::PendingOperations;
use crate::settings::check;
use crate::slots::Slots;

/// The sending end of a channel; created by [`Channel::sender`](super::Channel::sender).
pub struct ChannelSender<'c> {
    context: &'c Context,
    to: Rank,
    segment_bytes: usize,
    slots: Slots,
    ring: GlobalPtr<u64>,
    /// The credits: the number of messages that the receiver has reported as consumed.
    consumed: CellSlice<'c, u64>,
    /// The next ticket: this end alone takes tickets, so it counts them itself.
    credit: Credit,
    pending: PendingOperations<'c>,
    /// Buffer for the pieces of a message, reused.
    pieces: Vec<u8>,
}

impl<'c> ChannelSender<'c> {
    /// Creates a sending end with memory of the program: `ring` is the first of [`ring_words`](ChannelSettings::ring_words) words at `to`, and
    /// `consumed` a word of this rank. All words are zero before either end is created, and only this channel uses them.
    ///
    /// # Errors
    /// The settings are impossible; `consumed` is empty.
    pub fn over(
        context: &'c Context,
        to: Rank,
        settings: ChannelSettings,
        ring: GlobalPtr<u64>,
        consumed: CellSlice<'c, u64>,
    ) -> Result<Self> {
        let slots = settings.check()?;
        check(!consumed.is_empty(), "a sender needs a word of its own")?;
        let (credit, pending) = (Credit::new(settings.slots), PendingOperations::default());
        Ok(Self {
            context,
            to,
            segment_bytes: settings.segment_bytes,
            slots,
            ring,
            consumed,
            credit,
            pending,
            pieces: Vec::new(),
        })
    }

    /// Sends a message; waits for a credit. The buffer may be reused when the call returns.
    ///
    /// Cost: two puts without waiting, and one put of the receiver for each half of the slots.
    ///
    /// # Errors
    /// The message is too long; the receiver was lost; the job is at fault.
    pub fn send(&mut self, message: impl AsRef<[u8]>) -> Result<()> {
        let message = self.check(message.as_ref())?;
        while self.is_full() {
            self.wait()?;
        }
        self.write(message)
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
    #[cfg(feature = "serde")]
    pub fn send_encoded<T: serde::Serialize + ?Sized>(&mut self, value: &T) -> Result<()> {
        let mut message = std::mem::take(&mut self.pieces);
        let sent = composed::encode(value, &mut message).and_then(|()| self.send(&message));
        self.pieces = message;
        sent
    }

    /// Sends a message if there is a credit. Does not wait for the receiver.
    ///
    /// Cost: as [`send`](Self::send); without a credit, as [`progress`](Context::progress).
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub fn try_send<M: AsRef<[u8]>>(&mut self, message: M) -> Result<Sent<M>> {
        self.check(message.as_ref())?;
        if self.is_full_after_progress()? {
            return Ok(Sent::Full(message));
        }
        // `as_ref` may return other bytes than before.
        let bytes = self.check(message.as_ref())?;
        self.write(bytes)?;
        Ok(Sent::Sent)
    }

    /// Sends bytes in as many segments as necessary; waits for credits.
    ///
    /// # Errors
    /// As [`send`](Self::send); some of the bytes may have been sent.
    pub fn send_stream(&mut self, bytes: &[u8]) -> Result<()> {
        bytes.chunks(self.segment_bytes).try_for_each(|segment| self.send(segment))
    }

    /// Sends as many of the first bytes as there are credits for, and returns their number.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub fn try_send_stream(&mut self, bytes: &[u8]) -> Result<usize> {
        let mut sent = 0;
        for segment in bytes.chunks(self.segment_bytes) {
            if self.is_full_after_progress()? {
                break;
            }
            self.write(segment)?;
            sent += segment.len();
        }
        Ok(sent)
    }

    /// Whether the next message would have to wait. Cost: at most one load.
    pub fn is_full(&mut self) -> bool {
        if self.credit.is_full() {
            self.learn(self.consumed.load(0));
        }
        self.credit.is_full()
    }

    /// Waits until all sent messages are in the receiver's memory: the loss of this rank then loses none of them.
    ///
    /// # Errors
    /// The receiver was lost; the job is at fault.
    pub fn flush(&mut self) -> Result<()> {
        self.pending.flush()?;
        all_there(self.context, &[self.to])
    }

    fn check<'a>(&self, message: &'a [u8]) -> Result<&'a [u8]> {
        self.check_length(message.len()).map(|()| message)
    }

    fn check_length(&self, bytes: usize) -> Result<()> {
        let limit = self.segment_bytes;
        if bytes > limit { Err(Error::TooLong { what: "message", bytes, limit }) } else { Ok(()) }
    }

    fn write(&mut self, message: &[u8]) -> Result<()> {
        let ticket = self.credit.taken;
        let handles = self.slots.write(self.context, self.ring, ticket, message)?;
        self.credit.taken = ticket.after(1);
        self.pending.add_all(handles)
    }

    fn learn(&mut self, consumed: u64) {
        self.credit.granted = granted(consumed, self.slots);
    }

    /// As `is_full`; makes progress before it returns `true`.
    fn is_full_after_progress(&mut self) -> Result<bool> {
        if !self.is_full() {
            return Ok(false);
        }
        progress(self.context)?;
        all_there(self.context, &[self.to])?;
        Ok(self.is_full())
    }

    /// Waits until there may be a credit.
    fn wait(&mut self) -> Result<()> {
        all_there(self.context, &[self.to])?;
        let (slots, taken) = (self.slots, self.credit.taken);
        let is_free = |consumed| Credit { taken, granted: granted(consumed, slots) }.admits(taken);
        let waited = self.context.wait_for_value("room in a channel", None, self.consumed, 0, is_free);
        unless_lost(self.context, waited).map(drop)
    }
}

/// The first ticket that is not granted after `consumed` messages were consumed.
fn granted(consumed: u64, slots: Slots) -> Ticket {
    Ticket::new(consumed as u32).after(slots.count())
}
