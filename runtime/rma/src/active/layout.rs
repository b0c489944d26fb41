//! The words of active messages in the symmetric memory of a rank: counters, places of replies, slots.

use super::QueueSettings;
use super::replies::PLACE_WORDS;

/// The number of tickets that were taken: senders add to it.
pub(super) const TAKEN: usize = 0;

/// The number of batches that have run: their receiver alone writes it. In a cache line of its own.
pub(super) const GRANTED: usize = 8;

/// Words before the places of replies.
const FIRST: usize = 16;

/// Words of a slot before its records: its flag (one more than the ticket of its batch), and what the batch says of itself.
pub(super) const SLOT_HEADER_WORDS: usize = 2;

/// Where everything lies.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    calls: usize,
    slots: usize,
    /// Words of the records of a batch.
    pub(super) batch_words: usize,
}

impl Layout {
    pub(super) fn new(settings: &QueueSettings) -> Self {
        let batch_words = settings.batch_bytes.div_ceil(8) - SLOT_HEADER_WORDS;
        Self { calls: settings.calls as usize, slots: settings.slots as usize, batch_words }
    }

    /// All words of a rank.
    pub(super) fn words(&self) -> usize {
        self.slot_start(self.slots)
    }

    /// The number of slots.
    pub(super) fn slots(&self) -> usize {
        self.slots
    }

    /// The slot of a ticket.
    #[inline]
    pub(super) fn slot(&self, ticket: u64) -> usize {
        self.slot_start(ticket as usize & (self.slots - 1))
    }

    /// The place of a reply.
    pub(super) fn reply(&self, place: usize) -> usize {
        FIRST + place * PLACE_WORDS
    }

    /// What must be the same on all ranks.
    pub(super) fn fingerprint(&self) -> u64 {
        (self.calls as u64) << 40 ^ (self.slots as u64) << 20 ^ self.batch_words as u64
    }

    fn slot_start(&self, slot: usize) -> usize {
        FIRST + self.calls * PLACE_WORDS + slot * (SLOT_HEADER_WORDS + self.batch_words)
    }
}
