//! The layout of active messages in the symmetric memory of a rank: counters, reply slots, queue slots.

use super::QueueSettings;
use super::replies::PLACE_WORDS;

/// Index of the number of tickets taken: senders add to it.
pub(super) const TAKEN: usize = 0;

/// Index of the number of batches that have run: only the receiver writes it. In its own cache line.
pub(super) const GRANTED: usize = 8;

/// Number of words before the reply slots.
const FIRST: usize = 16;

/// Number of words of a slot before its records: its flag (the ticket of its batch plus one), and the header of the batch.
pub(super) const SLOT_HEADER_WORDS: usize = 2;

/// The layout of all parts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    calls: usize,
    slots: usize,
    /// Number of words for the records of a batch.
    pub(super) batch_words: usize,
}

impl Layout {
    pub(super) fn new(settings: &QueueSettings) -> Self {
        let batch_words = settings.batch_bytes.div_ceil(8) - SLOT_HEADER_WORDS;
        Self { calls: settings.calls as usize, slots: settings.slots as usize, batch_words }
    }

    /// Number of words per rank.
    pub(super) fn words(&self) -> usize {
        self.slot_start(self.slots)
    }

    /// Number of slots.
    pub(super) fn slots(&self) -> usize {
        self.slots
    }

    /// Returns the index of the slot of a ticket.
    #[inline]
    pub(super) fn slot(&self, ticket: u64) -> usize {
        self.slot_start(ticket as usize & (self.slots - 1))
    }

    /// Returns the index of a reply slot.
    pub(super) fn reply(&self, place: usize) -> usize {
        FIRST + place * PLACE_WORDS
    }

    /// Returns a hash of the sizes, which must be equal on all ranks.
    pub(super) fn fingerprint(&self) -> u64 {
        (self.calls as u64) << 40 ^ (self.slots as u64) << 20 ^ self.batch_words as u64
    }

    fn slot_start(&self, slot: usize) -> usize {
        FIRST + self.calls * PLACE_WORDS + slot * (SLOT_HEADER_WORDS + self.batch_words)
    }
}
