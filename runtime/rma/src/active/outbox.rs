//! The messages for one rank that fill a batch: runs of arguments of one function each.

use pelago_base::Rank;
use pelago_memory::Pod;
use zerocopy::IntoBytes;

/// Low bits of the word before a run: how many messages it has. Above them is the function's number.
pub(super) const COUNT_BITS: u32 = 32;

/// Low bits of what a batch says of itself: how many words it has. Above them is its sender.
pub(super) const LENGTH_BITS: u32 = 32;

/// A batch that is being filled, and its place in the queue of its target.
pub(super) struct Outbox {
    /// What the batch says of itself, then its runs.
    words: Vec<u64>,
    capacity: usize,
    /// Where the last run begins.
    run: usize,
    /// The ticket that was taken for this batch, while it waits for room.
    pub(super) ticket: Option<u64>,
    /// How many batches had run at the target when this rank looked last.
    pub(super) granted: u64,
}

impl Outbox {
    pub(super) fn new(capacity: usize) -> Self {
        let mut words = Vec::with_capacity(1 + capacity);
        words.push(0);
        Self { words, capacity, run: 0, ticket: None, granted: 0 }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.words.len() == 1
    }

    /// Whether a message of so many words fits.
    #[inline]
    pub(super) fn has_room(&self, function: u16, words: usize) -> bool {
        let run = usize::from(!self.is_in_run(function));
        self.words.len() - 1 + run + words <= self.capacity
    }

    /// Adds a message, for which there is room.
    #[inline]
    pub(super) fn push<A: Pod>(&mut self, function: u16, reply: Option<u64>, argument: &A) {
        if !self.is_in_run(function) {
            self.run = self.words.len();
            self.words.push(u64::from(function) << COUNT_BITS);
        }
        self.words[self.run] += 1;
        self.words.extend(reply);
        let (start, bytes) = (self.words.len(), size_of::<A>());
        self.words.resize(start + super::functions::words_of::<A>(), 0);
        self.words[start..].as_mut_bytes()[..bytes].copy_from_slice(argument.as_bytes());
    }

    /// The batch, with what it says of itself.
    pub(super) fn sealed(&mut self, from: Rank) -> &[u64] {
        self.words[0] = u64::from(from.number()) << LENGTH_BITS | (self.words.len() - 1) as u64;
        &self.words
    }

    /// Begins another batch.
    pub(super) fn clear(&mut self) {
        self.words.truncate(1);
        (self.run, self.ticket) = (0, None);
    }

    #[inline]
    fn is_in_run(&self, function: u16) -> bool {
        self.run > 0 && self.words[self.run] >> COUNT_BITS == u64::from(function)
    }
}
