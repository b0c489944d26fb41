//! Slots for replies at the caller, each a cache line: a flag that contains the number of the call, and the bytes of the reply.

use core::marker::PhantomData;

use pelago_base::Rank;
use pelago_memory::Pod;

use super::ActiveMessages;
use crate::{Error, Result};

/// Number of words of a slot.
pub(super) const PLACE_WORDS: usize = 8;

/// Number of low bits, for the sequence number of the call in this slot, of the word that specifies the destination of a reply. The bits above
/// contain the slot's offset in the heap, in words.
const SEQUENCE_BITS: u32 = 24;

/// The slot of a call, and the sequence number of the call in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) index: u32,
    pub(super) sequence: u64,
    offset_words: u64,
}

impl Place {
    /// Returns the word that is sent to the target.
    pub(super) fn word(self) -> u64 {
        self.offset_words << SEQUENCE_BITS | self.sequence
    }
}

/// Decodes that word: the offset in the heap in bytes, and the new value of the flag.
pub(super) fn parts(word: u64) -> (u64, u64) {
    ((word >> SEQUENCE_BITS) * 8, word & ((1 << SEQUENCE_BITS) - 1))
}

/// The slots of one rank.
pub(super) struct Replies {
    limit: u32,
    /// The sequence number of the latest call of each slot that was used.
    sequences: Vec<u64>,
    free: Vec<u32>,
    /// Slots whose replies were abandoned and had not arrived.
    left: Vec<u32>,
    /// Start of the slots in the heap, in words.
    start_words: u64,
}

impl Replies {
    pub(super) fn new(limit: u32, start_words: u64) -> Self {
        Self { limit, sequences: Vec::new(), free: Vec::new(), left: Vec::new(), start_words }
    }

    /// Takes a slot for a reply; `arrived` returns the flag of a slot.
    pub(super) fn take(&mut self, arrived: impl Fn(u32) -> u64) -> Result<Place> {
        if self.free.is_empty() {
            let sequences = &self.sequences;
            let (come, left) = self.left.drain(..).partition(|&place| arrived(place) == sequences[place as usize]);
            (self.free, self.left) = (come, left);
        }
        let index = match self.free.pop() {
            Some(index) => index,
            None if self.sequences.len() < self.limit as usize => {
                self.sequences.push(0);
                self.sequences.len() as u32 - 1
            }
            None => {
                return Err(Error::TooMany {
                    what: "calls whose replies were not taken (QueueSettings::calls)",
                    limit: self.limit as usize,
                });
            }
        };
        let sequence = &mut self.sequences[index as usize];
        // Never 0, the flag of an unused slot.
        *sequence = (*sequence + 1) & ((1 << SEQUENCE_BITS) - 1);
        *sequence += u64::from(*sequence == 0);
        Ok(Place { index, sequence: *sequence, offset_words: self.start_words + u64::from(index) * PLACE_WORDS as u64 })
    }

    /// Frees the slot of a call that was not sent.
    pub(super) fn give_unused(&mut self, place: Place) {
        self.free.push(place.index);
    }

    /// Frees the slot of a call whose reply has arrived, or was abandoned.
    fn give(&mut self, place: Place, has_come: bool) {
        if has_come { &mut self.free } else { &mut self.left }.push(place.index);
    }
}

/// The reply to a call, which may not have arrived; returned by [`ActiveMessages::call`].
///
/// If it is dropped before the arrival, the reply is discarded; the function runs nevertheless.
#[must_use = "the reply is lost if nobody waits for it"]
pub struct Reply<'m, 'w, R> {
    messages: &'m ActiveMessages<'w>,
    from: Rank,
    place: Place,
    value: PhantomData<fn() -> R>,
}

impl<'m, 'w, R: Pod> Reply<'m, 'w, R> {
    pub(super) fn new(messages: &'m ActiveMessages<'w>, from: Rank, place: Place) -> Self {
        Self { messages, from, place, value: PhantomData }
    }

    /// Whether the reply is known to have arrived; makes no progress.
    pub fn has_come(&self) -> bool {
        self.messages.arrived(self.place.index) == self.place.sequence
    }

    /// Sends the batch with the call, and waits for its reply. Runs messages of others meanwhile.
    ///
    /// # Errors
    /// A rank failed; the job has a fault.
    pub fn wait(self) -> Result<R> {
        let messages = self.messages;
        messages.flush_to(self.from)?;
        messages.world.wait_for("the reply to an active message", None, || {
            messages.nothing_lost()?;
            Ok(self.has_come().then_some(()))
        })?;
        let mut value = R::new_zeroed();
        let first = messages.layout.reply(self.place.index as usize) + 1;
        let words = messages.memory.local().range(first..first + PLACE_WORDS - 1);
        words.cells().part(0, size_of::<R>() as u64).expect("a reply fits into its place").read(value.as_mut_bytes());
        Ok(value)
    }
}

impl<R> Drop for Reply<'_, '_, R> {
    fn drop(&mut self) {
        let has_come = self.messages.arrived(self.place.index) == self.place.sequence;
        self.messages.replies.borrow_mut().give(self.place, has_come);
    }
}

impl ActiveMessages<'_> {
    /// Returns the flag of a reply slot.
    pub(super) fn arrived(&self, place: u32) -> u64 {
        self.memory.local().load(self.layout.reply(place as usize))
    }
}
