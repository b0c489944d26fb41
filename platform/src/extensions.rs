//! What some networks offer besides access to memory: two-sided messages and reductions.

use pelago_base::{Instant, Rank, Team};

use crate::posting::{Endpoint, PostError, Token};

/// What a network offers besides access to memory. A wrapper forwards each part that it does not change. No method has a default body, so that
/// a wrapper cannot forget one.
pub trait Extensions {
    /// Returns the native two-sided messages of this network, if it has any.
    fn two_sided(&mut self) -> Option<&mut dyn TwoSided>;

    /// Returns the reductions that this network performs, if it performs any.
    fn reductions(&mut self) -> Option<&mut dyn Reductions>;
}

/// Native two-sided messages of a network, with the network's own behaviour when a receiver has no room.
///
/// The library does not use them. They allow programs to compare.
///
/// - S1 A message arrives whole and at most once; messages are not ordered.
/// - S2 If a message does not arrive, its sender learns of that only if the network detects it.
pub trait TwoSided {
    /// Sends bytes, which are captured, to the rank of an endpoint; a completion carries `token`. Fences order operations but not messages.
    ///
    /// # Errors
    /// As [`Transport::post`](crate::Transport::post).
    fn send(&mut self, now: Instant, to: Endpoint, bytes: &[u8], token: Token) -> Result<(), PostError>;

    /// Takes the next message that has arrived, with its sender, and frees its place in the network.
    fn take(&mut self) -> Option<(Rank, Box<[u8]>)>;
}

/// Reductions by the routers or NICs of a network, as those of NVIDIA SHARP or of the barrier interface of Tofu-D: each member of a group
/// contributes, and each gets the result. A reduction without words is a barrier.
///
/// - R1 agreed: the n-th calls of [`open`](Self::open) of all members for equal teams belong together and get the same answer. Members open
///   groups of equal teams in the same order.
/// - R2 whole: a contribution completes after every member has contributed to the same reduction, and not before.
/// - R3 numbered: the n-th contributions of all members to a group belong together. A member may contribute again before its contribution has
///   completed; its contributions to one group complete in their order.
/// - R4 equal: all members get the same words, bitwise, and the words depend only on the contributions of the members and their positions.
/// - R5 finite: when a member fails ([`Network::peer_failed`](crate::Network::peer_failed)), the pending contributions to its groups complete, with
///   `PeerLost` unless the reduction was complete, and so do later ones.
/// - R6 bounded: a network has room for a limited number of groups. A contribution that finds no room is refused with `Full`.
/// - R7 unordered: reductions are not ordered with other operations. A rank that needs an order waits for its operations first.
pub trait Reductions {
    /// Returns the maximum number of words of a contribution; 0 if the network performs barriers only.
    fn words_max(&mut self) -> usize;

    /// Makes this rank, which is a member, take part in the group of a team. `None` if the network does not serve this team, or has no room for
    /// another group: the members then combine by themselves. Does not wait for other members.
    fn open(&mut self, members: &Team) -> Option<ReductionGroup>;

    /// Contributes to the next reduction of a group; a completion carries `token`. All members contribute equally many words with the same
    /// operator; otherwise, the words of the result are unspecified.
    ///
    /// # Errors
    /// `Full` if this rank has too many operations in flight; `Group` for a group that this rank has not opened; `TooLong` for more words than
    /// [`words_max`](Self::words_max).
    fn contribute(
        &mut self,
        now: Instant,
        to: ReductionGroup,
        operator: ReductionOperator,
        words: &[u64],
        token: Token,
    ) -> Result<(), PostError>;

    /// Copies the result of the oldest contribution to a group that has completed successfully and was not taken, and frees it. Returns `false`,
    /// and copies nothing, if there is none. If the lengths differ, the shorter one is copied.
    fn take(&mut self, of: ReductionGroup, into: &mut [u64]) -> bool;

    /// Ends the part of this rank in a group. The network forgets the group when all members have ended theirs.
    fn close(&mut self, group: ReductionGroup);
}

/// A group of ranks whose contributions the network combines, in the numbering of one rank's transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReductionGroup(pub u32);

/// The combination of two words by a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReductionOperator {
    /// The sum of integers modulo 2⁶⁴, signed or not.
    Sum,
    /// The smaller of two unsigned integers.
    Min,
    /// The larger of two unsigned integers.
    Max,
    /// The smaller of two signed integers.
    SignedMin,
    /// The larger of two signed integers.
    SignedMax,
    /// Bitwise and.
    And,
    /// Bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
    /// The sum of two `f64`. The network combines the words in an order that depends on the positions of the members alone (R4).
    FloatSum,
}

impl ReductionOperator {
    /// All operators.
    pub const ALL: [Self; 9] =
        [Self::Sum, Self::Min, Self::Max, Self::SignedMin, Self::SignedMax, Self::And, Self::Or, Self::Xor, Self::FloatSum];

    /// Returns the combination of two words.
    pub fn combine(self, left: u64, right: u64) -> u64 {
        let signed = |combine: fn(i64, i64) -> i64| combine(left.cast_signed(), right.cast_signed()).cast_unsigned();
        match self {
            Self::Sum => left.wrapping_add(right),
            Self::Min => left.min(right),
            Self::Max => left.max(right),
            Self::SignedMin => signed(Ord::min),
            Self::SignedMax => signed(Ord::max),
            Self::And => left & right,
            Self::Or => left | right,
            Self::Xor => left ^ right,
            Self::FloatSum => (f64::from_bits(left) + f64::from_bits(right)).to_bits(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_are_those_of_the_language() {
        let minus_one = u64::MAX;
        let combined = ReductionOperator::ALL.map(|operator| operator.combine(minus_one, 6));
        assert_eq!(combined[..8], [5, 6, minus_one, minus_one, 6, 6, minus_one, minus_one - 6]);
        let sum = ReductionOperator::FloatSum.combine(0.5f64.to_bits(), 0.25f64.to_bits());
        assert_eq!(f64::from_bits(sum), 0.75);
    }
}
