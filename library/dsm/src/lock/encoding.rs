//! The fields of each word of a lock. Each structure is one word, so that an atomic operation reads and changes all of it.

use pelago_base::Rank;
use pelago_base::limits::RANKS_MAX;

const RANK_BITS: u32 = 20;
const RANK_MASK: u64 = (1 << RANK_BITS) - 1;
const EPOCH_BITS: u32 = 16;
const SEQUENCE_BITS: u32 = 38;
const SEQUENCE_MASK: u64 = (1 << SEQUENCE_BITS) - 1;

const _: () = assert!(RANKS_MAX as u64 - 1 <= RANK_MASK, "every rank has a number in a word");

/// Maximum number of versions of a variable: sufficient for ten days with twenty million releases per second.
pub(crate) const VERSIONS_MAX: u64 = (1 << (u64::BITS - RANK_BITS)) - 1;

/// Number of epochs with words of their own. A late operation of a lost rank changes only the words of its own epoch, until a later epoch
/// reuses them.
pub(crate) const SLOTS: usize = 4;

/// The count of recoveries of a lock; wraps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Epoch(pub u16);

impl Epoch {
    #[inline]
    pub fn next(self) -> Self {
        Self(self.0.wrapping_add(1))
    }

    /// Whether this epoch is `other` or a later one.
    #[inline]
    pub fn has_come(self, other: Self) -> bool {
        self.0.wrapping_sub(other.0) < 1 << (EPOCH_BITS - 1)
    }

    #[inline]
    pub fn slot(self) -> usize {
        self.0 as usize % SLOTS
    }
}

/// The phase of a rank at a lock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Phase {
    #[default]
    Idle,
    /// About to enter the queue, or in the queue.
    Waiting,
    /// Has the token.
    Holding,
    /// Counted as a reader; may still have to hand the token over.
    Reading,
    /// About to subtract itself from the count of readers.
    Leaving,
    /// Has the token and waits until the readers have left.
    Draining,
    /// Still in the queue, but no longer waits.
    Abandoned,
    /// Abandoned, and the rank with the token is reading its successor.
    Skipping,
}

const PHASES: [Phase; 8] = [
    Phase::Idle,
    Phase::Waiting,
    Phase::Holding,
    Phase::Reading,
    Phase::Leaving,
    Phase::Draining,
    Phase::Abandoned,
    Phase::Skipping,
];

/// One of a rank's two nodes in the queue. A rank uses them alternately, so that it can enter again before another rank has read from the
/// previous node that its token was left there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Node(bool);

impl Node {
    /// The node of an attempt.
    #[inline]
    pub fn of_sequence(sequence: u64) -> Self {
        Self(sequence & 1 != 0)
    }

    /// 0 or 1.
    #[inline]
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// The state of a rank at a lock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct State {
    pub phase: Phase,
    /// Whether the count of readers may be greater than 0 when the token comes.
    pub readers: bool,
    /// Whether the lock is being recovered; the rank stays in its phase until it is open again.
    pub closed: bool,
    pub epoch: Epoch,
    /// Number of the attempt; 0 only before the first.
    pub sequence: u64,
}

impl State {
    #[inline]
    pub fn word(self) -> u64 {
        let flags = u64::from(self.readers) << 4 | u64::from(self.closed) << 5;
        self.phase as u64 | flags | u64::from(self.epoch.0) << 8 | self.sequence << (u64::BITS - SEQUENCE_BITS)
    }

    #[inline]
    pub fn of_word(word: u64) -> Self {
        Self {
            phase: PHASES.get(word as usize & 15).copied().unwrap_or_default(),
            readers: word >> 4 & 1 != 0,
            closed: word >> 5 & 1 != 0,
            epoch: Epoch((word >> 8) as u16),
            sequence: word >> (u64::BITS - SEQUENCE_BITS),
        }
    }

    #[inline]
    pub fn with(self, phase: Phase) -> Self {
        Self { phase, readers: false, ..self }
    }

    /// The first state of the next attempt, which uses the other node.
    #[inline]
    pub fn attempt(self) -> Self {
        let sequence = if self.sequence == SEQUENCE_MASK { 2 } else { self.sequence + 1 };
        Self { phase: Phase::Waiting, readers: false, sequence, ..self }
    }

    /// The first state of a rank that takes back the token that it left in its node: a new attempt with the same node.
    #[inline]
    pub fn again(self) -> Self {
        let sequence = if self.sequence >= SEQUENCE_MASK - 1 { 2 + (self.sequence & 1) } else { self.sequence + 2 };
        Self { phase: Phase::Holding, readers: false, sequence, ..self }
    }

    /// The node with which the rank is in the queue.
    #[inline]
    pub fn node(self) -> Node {
        Node::of_sequence(self.sequence)
    }
}

/// The end of the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tail {
    pub epoch: Epoch,
    pub end: End,
}

/// The entry at the end of the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The rank that entered last, and its node.
    Held { last: Rank, node: Node },
    /// The queue is empty and the token is free.
    Free {
        /// Whether the count of readers may be greater than 0.
        readers: bool,
    },
}

impl Tail {
    const READERS_BIT: u32 = RANK_BITS + 1;
    const NODE_BIT: u32 = RANK_BITS + 2;
    const EPOCH_SHIFT: u32 = u64::BITS - EPOCH_BITS;

    #[inline]
    pub fn of_rank(last: Rank, node: Node, epoch: Epoch) -> Self {
        Self { epoch, end: End::Held { last, node } }
    }

    #[inline]
    pub fn free(epoch: Epoch, readers: bool) -> Self {
        Self { epoch, end: End::Free { readers } }
    }

    #[inline]
    pub fn word(self) -> u64 {
        let end = match self.end {
            End::Held { last, node } => u64::from(last) | 1 << RANK_BITS | (node.index() as u64) << Self::NODE_BIT,
            End::Free { readers } => u64::from(readers) << Self::READERS_BIT,
        };
        end | u64::from(self.epoch.0) << Self::EPOCH_SHIFT
    }

    #[inline]
    pub fn of_word(word: u64) -> Self {
        let end = if word >> RANK_BITS & 1 != 0 {
            End::Held { last: Rank::new((word & RANK_MASK) as u32), node: Node::of_sequence(word >> Self::NODE_BIT) }
        } else {
            End::Free { readers: word >> Self::READERS_BIT & 1 != 0 }
        };
        Self { epoch: Epoch((word >> Self::EPOCH_SHIFT) as u16), end }
    }
}

/// A version of the data, and the rank that has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Version {
    /// Number of the version; 0 means that there is no data.
    pub number: u64,
    pub owner: Rank,
}

impl Version {
    #[inline]
    pub fn word(self) -> u64 {
        self.number << RANK_BITS | u64::from(self.owner)
    }

    #[inline]
    pub fn of_word(word: u64) -> Self {
        Self { number: word >> RANK_BITS, owner: Rank::new((word & RANK_MASK) as u32) }
    }
}

/// The successor of a rank in the queue, and its attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Link {
    pub rank: Rank,
    pub epoch: Epoch,
    /// Whether the successor waits without a time limit, so that it is still waiting when the token arrives.
    pub patient: bool,
    pub sequence: u64,
}

/// A token that a rank has left in its node because it had no successor in the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LeftToken {
    pub epoch: Epoch,
    /// The rank that had the token and knows the newest version.
    pub by: Rank,
    /// Whether the count of readers may be greater than 0.
    pub readers: bool,
}

/// `GONE_BIT` marks a left token; `FLAG_BIT` is `patient` of a link, or `readers` of a left token.
const GONE_BIT: u32 = RANK_BITS + 4;
const FLAG_BIT: u32 = GONE_BIT + 1;

impl Link {
    const EPOCH_MASK: u64 = 15;

    #[inline]
    pub(crate) fn word(self) -> u64 {
        u64::from(self.rank)
            | (u64::from(self.epoch.0) & Self::EPOCH_MASK) << RANK_BITS
            | u64::from(self.patient) << FLAG_BIT
            | self.sequence << (u64::BITS - SEQUENCE_BITS)
    }

    /// Decodes a word; `None` if it has another meaning or was written in another epoch.
    #[inline]
    pub(crate) fn of_word(word: u64, epoch: Epoch) -> Option<Self> {
        let written = word >> RANK_BITS & Self::EPOCH_MASK == u64::from(epoch.0) & Self::EPOCH_MASK && word >> GONE_BIT & 1 == 0;
        let (rank, sequence) = (Rank::new((word & RANK_MASK) as u32), word >> (u64::BITS - SEQUENCE_BITS));
        (sequence != 0 && written).then_some(Self { rank, epoch, patient: word >> FLAG_BIT & 1 != 0, sequence })
    }
}

impl LeftToken {
    const EPOCH_SHIFT: u32 = u64::BITS - EPOCH_BITS;

    #[inline]
    pub(crate) fn word(self) -> u64 {
        u64::from(self.by) | 1 << GONE_BIT | u64::from(self.readers) << FLAG_BIT | u64::from(self.epoch.0) << Self::EPOCH_SHIFT
    }

    /// Decodes a word; `None` if it has another meaning or was written in another epoch.
    #[inline]
    pub(crate) fn of_word(word: u64, epoch: Epoch) -> Option<Self> {
        let written = word >> GONE_BIT & 1 != 0 && word >> Self::EPOCH_SHIFT == u64::from(epoch.0);
        let by = Rank::new((word & RANK_MASK) as u32);
        written.then_some(Self { epoch, by, readers: word >> FLAG_BIT & 1 != 0 })
    }
}

/// The count of readers in the lower half, and in the upper half the writer that waits until they have left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Readers(pub(crate) u64);

impl Readers {
    pub(crate) const ONE: u64 = 1;

    /// The operand that a waiting writer adds.
    #[inline]
    pub(crate) fn waiter(rank: Rank) -> u64 {
        (u64::from(rank) + 1) << 32
    }

    #[inline]
    pub(crate) fn count(self) -> u32 {
        self.0 as u32
    }

    #[inline]
    pub(crate) fn waiting(self) -> Option<Rank> {
        ((self.0 >> 32) as u32).checked_sub(1).map(Rank::new)
    }
}

/// Both ends of the list of ranks that wait for a notification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sleepers {
    pub first: Rank,
    pub last: Rank,
}

impl Sleepers {
    const LAST_SHIFT: u32 = RANK_BITS + 1;
    const EPOCH_SHIFT: u32 = u64::BITS - EPOCH_BITS;

    /// Decodes a word; `None` if the list is empty or the word was written in another epoch.
    #[inline]
    pub(crate) fn of_word(word: u64, epoch: Epoch) -> Option<Self> {
        let listed = word >> RANK_BITS & 1 != 0 && word >> Self::EPOCH_SHIFT == u64::from(epoch.0);
        let (first, last) = (word & RANK_MASK, word >> Self::LAST_SHIFT & RANK_MASK);
        listed.then_some(Self { first: Rank::new(first as u32), last: Rank::new(last as u32) })
    }

    #[inline]
    pub(crate) fn word(sleepers: Option<Self>, epoch: Epoch) -> u64 {
        let ends = |Self { first, last }| u64::from(first) | 1 << RANK_BITS | u64::from(last) << Self::LAST_SHIFT;
        sleepers.map_or(0, ends) | u64::from(epoch.0) << Self::EPOCH_SHIFT
    }
}

/// The progress of the recovery of a lock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recovery {
    pub epoch: Epoch,
    /// The rank that recovers the lock; `None` if the lock is complete.
    pub recoverer: Option<Rank>,
    /// The number of losses after which the lock was recovered.
    pub losses: u16,
}

impl Recovery {
    #[inline]
    pub fn word(self) -> u64 {
        let recoverer = self.recoverer.map_or(0, |rank| u64::from(rank) | 1 << RANK_BITS);
        recoverer | u64::from(self.epoch.0) << 32 | u64::from(self.losses) << 48
    }

    #[inline]
    pub fn of_word(word: u64) -> Self {
        let recoverer = (word >> RANK_BITS & 1 != 0).then(|| Rank::new((word & RANK_MASK) as u32));
        Self { epoch: Epoch((word >> 32) as u16), recoverer, losses: (word >> 48) as u16 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAST: Rank = Rank::new(RANKS_MAX - 1);

    #[test]
    fn words_are_read_as_they_were_written() {
        for phase in PHASES {
            for (readers, closed, epoch, sequence) in
                [(false, false, 0, 0), (true, false, u16::MAX, SEQUENCE_MASK), (false, true, 7, 1)]
            {
                let state = State { phase, readers, closed, epoch: Epoch(epoch), sequence };
                assert_eq!(State::of_word(state.word()), state);
            }
        }
        for epoch in [0, 1, 16, u16::MAX].map(Epoch) {
            for (rank, flag) in [Rank::new(0), LAST].into_iter().flat_map(|rank| [(rank, false), (rank, true)]) {
                for tail in [Tail::of_rank(rank, Node(flag), epoch), Tail::free(epoch, flag)] {
                    assert_eq!(Tail::of_word(tail.word()), tail);
                }
                for sequence in [1, SEQUENCE_MASK] {
                    let link = Link { rank, epoch, patient: flag, sequence };
                    assert_eq!(Link::of_word(link.word(), epoch), Some(link));
                    assert_eq!(Link::of_word(link.word(), epoch.next()), None);
                    assert_eq!(LeftToken::of_word(link.word(), epoch), None);
                }
                let gone = LeftToken { epoch, by: rank, readers: flag };
                assert_eq!(LeftToken::of_word(gone.word(), epoch), Some(gone));
                assert_eq!(LeftToken::of_word(gone.word(), Epoch(epoch.0.wrapping_add(16))), None);
                assert_eq!(Link::of_word(gone.word(), epoch), None);
            }
            for recoverer in [None, Some(Rank::new(0)), Some(LAST)] {
                let recovery = Recovery { epoch, recoverer, losses: u16::MAX };
                assert_eq!(Recovery::of_word(recovery.word()), recovery);
            }
        }
        let version = Version { number: VERSIONS_MAX, owner: LAST };
        assert_eq!((Version::of_word(version.word()), version.word()), (version, u64::MAX), "as many as have room");
        let readers = Readers(Readers::waiter(LAST) + 3 * Readers::ONE);
        assert_eq!((readers.count(), readers.waiting()), (3, Some(LAST)));
        assert_eq!(Readers(0).waiting(), None);
    }

    #[test]
    fn sleepers_are_those_of_an_epoch() {
        for (first, last) in [(Rank::new(0), Rank::new(0)), (LAST, Rank::new(3)), (Rank::new(1), LAST)] {
            let sleepers = Some(Sleepers { first, last });
            for epoch in [Epoch(0), Epoch(u16::MAX)] {
                let word = Sleepers::word(sleepers, epoch);
                assert_eq!(Sleepers::of_word(word, epoch), sleepers);
                assert_eq!(Sleepers::of_word(word, epoch.next()), None);
                assert_eq!(Sleepers::of_word(Sleepers::word(None, epoch), epoch), None);
            }
        }
        assert_eq!(Sleepers::of_word(0, Epoch(0)), None);
    }

    #[test]
    fn fresh_memory_is_a_free_lock() {
        assert_eq!(State::of_word(0), State::default());
        assert_eq!(Tail::of_word(0), Tail::free(Epoch(0), false));
        assert_eq!(Recovery::of_word(0), Recovery::default());
        assert_eq!((Link::of_word(0, Epoch(0)), LeftToken::of_word(0, Epoch(0))), (None, None));
    }

    #[test]
    fn attempts_differ_and_epochs_wrap() {
        let last = State { sequence: SEQUENCE_MASK, ..State::default() };
        assert_eq!((last.attempt().sequence, State::default().attempt().sequence), (2, 1));
        assert!([State::default(), last].iter().all(|state| state.attempt().node() != state.node()), "nodes take turns");
        for sequence in [1, 2, SEQUENCE_MASK - 2, SEQUENCE_MASK - 1, SEQUENCE_MASK] {
            let (state, again) = (State { sequence, ..last }, State { sequence, ..last }.again());
            assert!(again.node() == state.node() && again.sequence != sequence && again.sequence > 1, "{again:?}");
            assert_eq!(State::of_word(again.word()), again);
        }
        assert!(Epoch(0).has_come(Epoch(u16::MAX)) && !Epoch(u16::MAX).has_come(Epoch(0)) && Epoch(5).has_come(Epoch(5)));
        assert!(Epoch((1 << 15) - 1).has_come(Epoch(0)) && !Epoch(1 << 15).has_come(Epoch(0)), "half of them are later");
        assert_eq!((Epoch(u16::MAX).next(), Epoch(7).next()), (Epoch(0), Epoch(8)));
        assert_eq!([0, 1, 3, 4, u16::MAX].map(|epoch| Epoch(epoch).slot()), [0, 1, 3, 0, 3]);
    }

    #[test]
    fn what_comes_next_begins_without_readers_and_keeps_the_rest() {
        let state = State { phase: Phase::Draining, readers: true, closed: true, epoch: Epoch(7), sequence: 5 };
        assert_eq!(state.with(Phase::Idle), State { phase: Phase::Idle, readers: false, ..state });
        assert_eq!(state.attempt(), State { phase: Phase::Waiting, readers: false, sequence: 6, ..state });
        assert_eq!(state.again(), State { phase: Phase::Holding, readers: false, sequence: 7, ..state });
        assert_eq!((state.node().index(), state.attempt().node().index()), (1, 0));
    }
}
