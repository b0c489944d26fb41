//! The barriers of a team: five algorithms, each of which puts words of eight bytes into lines of the scratch memory, and that of the network.
//!
//! The barriers of a team are numbered from 1, whichever algorithm each of them uses, and a word of a barrier
//! is at least its number.
//!
//! **No word is overwritten before it is read.** A transport may deliver two puts to one line in either order, and no member waits for the end
//! of its puts. The reasons:
//!
//! - B1 A member leaves a barrier only after all members have entered it, and after every word of it for this member has arrived: the member has waited
//!   for each word, or for a word that was put only after the others were known to have arrived.
//! - B2 Even and odd barriers use different lines. A member that puts a word of barrier e + 2 has left e + 1, which all members had entered,
//!   after they had left e. By B1 no word of e is in flight any more.
//! - B3 In one barrier a line holds one word only, except the line of the ring: see `go_round`.
//!
//! Therefore the algorithms share their lines, and a program may mix them.

use core::fmt;
use core::str::FromStr;

use pelago_platform::ReductionOperator;

use crate::context::wait::Whom;
use crate::memory::segment::ALIGN_BYTES;
use crate::team::group::{ARRIVED, MET, Meeting, RELEASED, RING, ROUNDS_MAX, WORD_BYTES, rounds};
use crate::{Context, Handle, Result};

/// Number of ring words in flight from a member to the next; even and odd barriers have this many slots each. After two steps the first word has
/// completed on every network where the acknowledgement takes no longer than the put; twice as many, so that no member waits for a completion.
const RING_PLACES: usize = 4;

/// Number of children of a member in a tree. A member serves its children one after another; with fewer children the tree is deeper, and members
/// that share cores run once more per level.
const TREE_WIDTH: u32 = 8;

/// Number of bits for the step in a word of the ring; the number of the barrier is in the bits above.
const RING_STEP_BITS: u32 = pelago_base::limits::RANKS_MAX.ilog2();

/// The barrier algorithm of a team, for [`World::barrier_by`](crate::World::barrier_by).
///
/// Its text is the name in the table. Steps are the sequential steps of one member, each of them a put of eight bytes and a
/// wait for a word; p members.
///
/// | name | steps | use |
/// |---|---|---|
/// | `ring` | p − 1 | comparison |
/// | `recursive-doubling` | log₂ p; for p = 2ⁿ + r, n + 2 | pairs of members that signal each other |
/// | `dissemination` | ⌈log₂ p⌉ | members with a core each |
/// | `central` | an atomic and a wait | members that share cores and memory |
/// | `tree` | ⌈log₈ p⌉, and as many back | members that share cores, over a network: the fewest messages |
/// | `network` | a contribution, and a wait for the result | teams for which routers or NICs combine; elsewhere as `dissemination` |
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BarrierAlgorithm {
    /// In each step every member signals its right neighbour and waits for its left one (NSIM-ACE, section 4.2).
    Ring,
    /// In step i members whose positions differ only in bit i signal each other. If p is not a power of two, the members past the largest power of two first
    /// signal a partner below it, and are signalled last (NSIM-ACE, section 4.3).
    RecursiveDoubling,
    /// In step i every member signals the member at distance 2ⁱ and waits for the member at distance −2ⁱ (Hensgen, Finkel and Manber).
    Dissemination,
    /// All members increment one word, and the last releases the others: each member has to run only once.
    Central,
    /// Every member waits for up to eight children in a tree, signals its parent, and is released by it: 2(p − 1) messages, each of which carries
    /// the acknowledgement of the previous message in the opposite direction.
    Tree,
    /// The network combines a contribution of every member ([`Reductions`](pelago_platform::Reductions)). A team for which it does not uses
    /// dissemination; all members decide alike.
    Network,
}

impl BarrierAlgorithm {
    /// All algorithms.
    pub const ALL: [Self; 6] =
        [Self::Ring, Self::RecursiveDoubling, Self::Dissemination, Self::Central, Self::Tree, Self::Network];

    /// Returns the name of the algorithm.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ring => "ring",
            Self::RecursiveDoubling => "recursive-doubling",
            Self::Dissemination => "dissemination",
            Self::Central => "central",
            Self::Tree => "tree",
            Self::Network => "network",
        }
    }
}

impl fmt::Display for BarrierAlgorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for BarrierAlgorithm {
    type Err = UnknownBarrier;

    fn from_str(name: &str) -> Result<Self, UnknownBarrier> {
        Self::ALL.into_iter().find(|algorithm| algorithm.name() == name).ok_or(UnknownBarrier)
    }
}

/// The error for a name of no [`BarrierAlgorithm`].
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a barrier is ring, recursive-doubling, dissemination, central, tree or network")]
pub struct UnknownBarrier;

pelago_base::debug_as_display! { UnknownBarrier }

impl Meeting {
    #[inline]
    pub(crate) fn barrier(&self, context: &Context) -> Result<()> {
        self.barrier_by(context, self.kind())
    }

    #[inline]
    pub(crate) fn barrier_by(&self, context: &Context, algorithm: BarrierAlgorithm) -> Result<()> {
        context.is_whole(self.team())?;
        let number = self.begin_barrier();
        match algorithm {
            BarrierAlgorithm::Ring => self.go_round(context, number),
            BarrierAlgorithm::RecursiveDoubling => self.double(context, number),
            BarrierAlgorithm::Dissemination => self.disseminate(context, number),
            BarrierAlgorithm::Central => self.meet_centrally(context),
            BarrierAlgorithm::Tree => self.climb(context, number),
            BarrierAlgorithm::Network => self.meet_in_network(context, number),
        }
    }

    /// The left neighbour may have made all its steps before this member makes its first: each word contains the step. Words for
    /// one slot are put one after another, each after the previous one has arrived, so that the value in the slot only increases (B1).
    fn go_round(&self, context: &Context, meeting: u64) -> Result<()> {
        let size = self.team().size();
        let right = (self.position() + 1) % size;
        let mut sent = [Handle::done(); RING_PLACES];
        for step in 1..size {
            let place = step as usize % RING_PLACES;
            let word = meeting << RING_STEP_BITS | u64::from(step);
            let offset = self.line(RING) + (meeting % 2 * RING_PLACES as u64 + place as u64) * WORD_BYTES;
            sent[place].wait()?;
            sent[place] = context.signal(self.word(context, right, offset), word)?;
            self.wait(context, (self.position() + size - 1) % size, offset, word)?;
        }
        Ok(())
    }

    fn double(&self, context: &Context, meeting: u64) -> Result<()> {
        let rounds = self.team().size().ilog2();
        let (position, below) = (self.position(), 1 << rounds);
        let extra = self.met(rounds, meeting);
        if position >= below {
            context.signal(self.word(context, position - below, extra), meeting)?;
            return self.wait(context, position - below, extra, meeting);
        }
        let surplus = Some(position + below).filter(|&surplus| surplus < self.team().size());
        if let Some(surplus) = surplus {
            self.wait(context, surplus, extra, meeting)?;
        }
        for round in 0..rounds {
            let partner = position ^ 1 << round;
            self.tell_and_hear(context, meeting, round, [partner; 2])?;
        }
        if let Some(surplus) = surplus {
            context.signal(self.word(context, surplus, extra), meeting)?;
        }
        Ok(())
    }

    /// The network combines no words. A member leaves after all members have contributed, so after they have entered (B1); no word is put.
    fn meet_in_network(&self, context: &Context, meeting: u64) -> Result<()> {
        match self.network() {
            Some(network) => context.combine_in_network(network, ReductionOperator::And, &mut []),
            None => self.disseminate(context, meeting),
        }
    }

    fn disseminate(&self, context: &Context, meeting: u64) -> Result<()> {
        let size = self.team().size();
        for round in 0..rounds(size) {
            let (position, distance, size) = (u64::from(self.position()), 1 << round, u64::from(size));
            let partners = [position + distance, position + size - distance].map(|partner| (partner % size) as u32);
            self.tell_and_hear(context, meeting, round, partners)?;
        }
        Ok(())
    }

    /// Each child of a member has a line there, and another line of its own for its release.
    fn climb(&self, context: &Context, meeting: u64) -> Result<()> {
        let (position, size) = (u64::from(self.position()), u64::from(self.team().size()));
        let first = position * u64::from(TREE_WIDTH) + 1;
        let below = || (0..TREE_WIDTH).zip(first..size).map(|(line, member)| (self.met(line, meeting), member as u32));
        let release = self.met(TREE_WIDTH, meeting);
        for (line, member) in below() {
            self.wait(context, member, line, meeting)?;
        }
        if let Some(before) = position.checked_sub(1) {
            let (above, line) = ((before / u64::from(TREE_WIDTH)) as u32, (before % u64::from(TREE_WIDTH)) as u32);
            context.signal(self.word(context, above, self.met(line, meeting)), meeting)?;
            self.wait(context, above, release, meeting)?;
        }
        for (_, member) in below() {
            context.signal(self.word(context, member, release), meeting)?;
        }
        Ok(())
    }

    /// One step: puts the word of a round to `target`, and waits for this member's own word from `from`. Never inlined, so that callers need less stack.
    #[inline(never)]
    fn tell_and_hear(&self, context: &Context, meeting: u64, round: u32, [target, from]: [u32; 2]) -> Result<()> {
        let offset = self.met(round, meeting);
        context.signal(self.word(context, target, offset), meeting)?;
        self.wait(context, from, offset, meeting)
    }

    /// Counts arrivals at position 0, over all central barriers. If memory is mapped, all members poll one word there and only
    /// doorbells are rung; otherwise each member is signalled in its own memory. Such a word is put again only after the member has seen it and
    /// entered the next barrier, so that one line is sufficient.
    fn meet_centrally(&self, context: &Context) -> Result<()> {
        let size = self.team().size();
        let meeting = self.begin_central();
        let mapped = context.shared().is_all_mapped();
        let released = self.word(context, if mapped { 0 } else { self.position() }, self.line(RELEASED));
        let arrived = context.fetch_add(self.word(context, 0, self.line(ARRIVED)), 1)?.wait()? + 1;
        if arrived < meeting * u64::from(size) {
            return context.block("a barrier", Whom::Everyone, None, || {
                context.is_whole(self.team())?;
                Ok((context.get(released)? >= meeting).then_some(()))
            });
        }
        if mapped {
            context.put(released, &[meeting])?;
            self.team().iter().for_each(|rank| context.ring(self.address(context, rank, 0)));
            return Ok(());
        }
        for other in (0..size).filter(|&other| other != self.position()) {
            context.signal(self.word(context, other, self.line(RELEASED)), meeting)?;
        }
        Ok(())
    }

    /// Returns the offset of the word of a round.
    fn met(&self, round: u32, meeting: u64) -> u64 {
        self.line(MET + 2 * u64::from(round) + meeting % 2)
    }
}

const _: () = {
    assert!((TREE_WIDTH as u64) < ROUNDS_MAX, "each member below another has a line, as a round has, and one is left");
    assert!(2 * RING_PLACES as u64 * WORD_BYTES <= ALIGN_BYTES, "the places of both turns fill one line");
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        for algorithm in BarrierAlgorithm::ALL {
            assert_eq!(algorithm.to_string().parse(), Ok(algorithm));
        }
        for wrong in ["", "Ring", "trees", "ring "] {
            assert_eq!(wrong.parse::<BarrierAlgorithm>(), Err(UnknownBarrier), "{wrong:?}");
        }
    }
}
