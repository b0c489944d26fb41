//! The words of a lock: their places, and the operations on them.
//!
//! | words | at | for |
//! |---|---|---|
//! | a line for each of four epochs, reused in turn | the home | the end of the queue; the newest version and its owner; the count of readers; the list of ranks that wait for a notification |
//! | one | the home | the progress of the recovery |
//! | one, and one for each epoch | each rank | its state; the version that came with the token |
//! | two for each epoch, its nodes | each rank | its successor in the queue, or the token that it has left |
//! | one | each rank | the newest version that it knows |
//! | two | each rank | whether it was notified; the next rank in the list |
//!
//! Every rank has memory for all words, at the same offsets. Remote atomics and puts of single words change them; the core of the rank that holds
//! a word takes no part, unless the operation is its own.

use pelago_base::{Instant, Rank};
use pelago_rma::Result;

use super::encoding::{Epoch, Node, SLOTS};

/// Words of a cache line.
const LINE: usize = 8;
const RECOVERY: usize = SLOTS * LINE;
const NODE: usize = RECOVERY + LINE;
const LINKS: usize = NODE + LINE;

/// The words of a lock, on each rank.
pub const WORDS: usize = LINKS + LINE;

/// The state of a rank.
pub const STATE: usize = NODE;
/// The newest version that the rank knows.
pub const KNOWN: usize = NODE + 7;

/// Whether the rank has been notified: not 0.
pub(crate) const NOTIFIED: usize = NODE + 5;
/// The next rank in the list of ranks that wait for a notification.
pub(crate) const NEXT_SLEEPER: usize = NODE + 6;

/// The end of the queue.
pub fn tail(epoch: Epoch) -> usize {
    epoch.slot() * LINE
}

/// The newest version, while no rank has the token. It only grows within an epoch, so a late write of an older version changes nothing.
pub fn newest(epoch: Epoch) -> usize {
    tail(epoch) + 1
}

/// The count of readers, and the writer that waits for them.
pub(crate) fn readers(epoch: Epoch) -> usize {
    tail(epoch) + 2
}

/// Both ends of the list of ranks that wait for a notification.
pub(crate) fn sleepers(epoch: Epoch) -> usize {
    tail(epoch) + 3
}

/// The progress of the recovery.
pub(crate) const fn recovery() -> usize {
    RECOVERY
}

/// The version that comes with the token.
pub(crate) fn handed_version(epoch: Epoch) -> usize {
    NODE + 1 + epoch.slot()
}

/// The successor of a node in the queue, or the token that was left there.
pub(crate) fn link(epoch: Epoch, node: Node) -> usize {
    LINKS + 2 * epoch.slot() + node.index()
}

const _: () = assert!(2 * SLOTS <= LINE, "the nodes of a rank share a line");

/// A word of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WordAddress {
    pub rank: Rank,
    pub word: usize,
}

/// How a wait has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waited {
    /// The word fulfils the condition of the wait.
    Seen(u64),
    /// A rank was lost meanwhile.
    Lost,
    /// The time limit has passed.
    Late,
}

/// The first change of [`LockMemory::post`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Change {
    Store(u64),
    /// Replaces the word unless it is greater.
    Raise(u64),
}

/// The operations of a rank on the words of a lock. An operation has taken effect when the call returns, and fails with `PeerLost` if the rank
/// that holds the word is lost.
pub trait LockMemory {
    fn me(&self) -> Rank;
    fn home(&self) -> Rank;
    fn size(&self) -> u32;

    /// The ranks that this rank knows to be lost; the set only grows.
    fn lost(&self) -> Vec<Rank>;
    /// The number of lost ranks.
    fn losses(&self) -> usize;

    fn load(&self, at: WordAddress) -> Result<u64>;
    fn store(&self, at: WordAddress, word: u64) -> Result<()>;
    fn swap(&self, at: WordAddress, word: u64) -> Result<u64>;
    fn compare_swap(&self, at: WordAddress, expected: u64, new: u64) -> Result<u64>;
    fn add(&self, at: WordAddress, operand: u64) -> Result<u64>;

    /// A swap, then a load of another word of the same rank; both after the operations that were posted to that rank.
    fn swap_then_load(&self, at: WordAddress, word: u64, then: usize) -> Result<(u64, u64)> {
        let found = self.swap(at, word)?;
        Ok((found, self.load(WordAddress { word: then, ..at })?))
    }

    /// A store, then a compare-swap of another word of the same rank.
    fn store_then_compare_swap(&self, at: WordAddress, word: u64, then: usize, expected: u64, new: u64) -> Result<u64> {
        self.store(at, word)?;
        self.compare_swap(WordAddress { word: then, ..at }, expected, new)
    }

    /// Changes a word, then another word of the same rank by a compare-swap. Returns the value that the compare-swap found if both complete
    /// immediately. If they need a message, posts it without waiting and returns `None`; no other change is posted before [`settle`](Self::settle).
    fn post(&self, at: WordAddress, change: Change, then: usize, expected: u64, new: u64) -> Result<Option<u64>>;

    /// Waits until the posted change has taken effect; returns the value that its compare-swap found. `None` if none was posted.
    fn settle(&self) -> Result<Option<u64>>;

    /// Loads one of this rank's own words.
    fn own(&self, word: usize) -> u64;
    fn set_own(&self, word: usize, value: u64);
    /// A compare-swap of one of this rank's own words; returns whether it took effect.
    fn change_own(&self, word: usize, expected: u64, new: u64) -> bool;

    /// Waits until a word of this rank fulfils the condition `is`.
    fn wait(&self, word: usize, until: Option<Instant>, is: &mut dyn FnMut(u64) -> bool) -> Result<Waited>;
}
