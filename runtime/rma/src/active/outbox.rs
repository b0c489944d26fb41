//! The batch of messages for one rank: runs of arguments of one function each.

use pelago_base::Rank;
use pelago_memory::Pod;
use zerocopy::IntoBytes;

/// Number of low bits of the header of a run: the number of its messages. The bits above contain the function's number.
pub(super) const COUNT_BITS: u32 = 32;

/// Number of low bits of the header of a batch: the number of its words. The bits above contain its sender.
pub(super) const LENGTH_BITS: u32 = 32;

/// A batch that is being filled, and its ticket for the queue of its target.
pub(super) struct Outbox {
    /// The header of the batch, then its runs.
    words: Vec<u64>,
    capacity: usize,
    /// Index of the last run.
    run: usize,
    /// The ticket that was taken for this batch, while it waits for room.
    pub(super) ticket: Option<u64>,
    /// Number of batches that had run at the target at this rank's last query.
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

    /// Whether a message of `words` words fits.
    #[inline]
    pub(super) fn has_room(&self, function: u16, words: usize) -> bool {
        let run = usize::from(!self.is_in_run(function));
        self.words.len() - 1 + run + words <= self.capacity
    }

    /// Adds a message; the caller has checked that it fits.
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

    /// Returns the batch with its header.
    pub(super) fn sealed(&mut self, from: Rank) -> &[u64] {
        self.words[0] = u64::from(from.number()) << LENGTH_BITS | (self.words.len() - 1) as u64;
        &self.words
    }

    /// Starts another batch.
    pub(super) fn clear(&mut self) {
        self.words.truncate(1);
        (self.run, self.ticket) = (0, None);
    }

    #[inline]
    fn is_in_run(&self, function: u16) -> bool {
        self.run > 0 && self.words[self.run] >> COUNT_BITS == u64::from(function)
    }
}
