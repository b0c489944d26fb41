//! The collective operations, and the algorithms for them.

use core::fmt;
use core::str::FromStr;

/// A collective operation. Roots are positions in the team.
///
/// Values form blocks of equal length. With `p` members, an operation on several blocks has `p` blocks of `n` values.
///
/// | operation | input of each member | output of each member |
/// |---|---|---|
/// | `barrier` | – | – |
/// | `broadcast` | the root: a block | the root's block |
/// | `reduce` | a block | the root: the blocks combined, element by element |
/// | `allreduce` | a block | the blocks combined |
/// | `allgather` | a block | p blocks, in the order of members |
/// | `reduce-scatter` | p blocks | its own block, combined over all members |
/// | `gather` | a block | the root: p blocks |
/// | `scatter` | the root: p blocks | its own block |
/// | `alltoall` | p blocks, one for each | p blocks, one of each |
/// | `scan` | a block | the blocks of all members up to this one combined |
/// | `exclusive-scan` | a block | the blocks of all members before this one combined; the first keeps what it had |
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the table says what each is")]
pub enum Collective {
    Barrier,
    Broadcast { root: u32 },
    Reduce { root: u32 },
    Allreduce,
    Allgather,
    ReduceScatter,
    Gather { root: u32 },
    Scatter { root: u32 },
    Alltoall,
    Scan,
    ExclusiveScan,
}

impl Collective {
    /// All operations, with the first member as root.
    pub const ALL: [Self; 11] = [
        Self::Barrier,
        Self::Broadcast { root: 0 },
        Self::Reduce { root: 0 },
        Self::Allreduce,
        Self::Allgather,
        Self::ReduceScatter,
        Self::Gather { root: 0 },
        Self::Scatter { root: 0 },
        Self::Alltoall,
        Self::Scan,
        Self::ExclusiveScan,
    ];

    /// The name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Barrier => "barrier",
            Self::Broadcast { .. } => "broadcast",
            Self::Reduce { .. } => "reduce",
            Self::Allreduce => "allreduce",
            Self::Allgather => "allgather",
            Self::ReduceScatter => "reduce-scatter",
            Self::Gather { .. } => "gather",
            Self::Scatter { .. } => "scatter",
            Self::Alltoall => "alltoall",
            Self::Scan => "scan",
            Self::ExclusiveScan => "exclusive-scan",
        }
    }

    /// The root, if it has one.
    pub const fn root(self) -> Option<u32> {
        match self {
            Self::Broadcast { root } | Self::Reduce { root } | Self::Gather { root } | Self::Scatter { root } => Some(root),
            _ => None,
        }
    }

    /// The operation with another root, if it has one.
    #[must_use]
    pub const fn rooted(self, root: u32) -> Self {
        match self {
            Self::Broadcast { .. } => Self::Broadcast { root },
            Self::Reduce { .. } => Self::Reduce { root },
            Self::Gather { .. } => Self::Gather { root },
            Self::Scatter { .. } => Self::Scatter { root },
            other => other,
        }
    }

    /// Whether it combines values.
    pub const fn combines(self) -> bool {
        matches!(self, Self::Reduce { .. } | Self::Allreduce | Self::ReduceScatter | Self::Scan | Self::ExclusiveScan)
    }

    /// Input blocks of the member at `position` of `size`; 0 if the output buffer is also the input.
    pub const fn blocks_in(self, position: u32, size: u32) -> u32 {
        match self {
            Self::Barrier | Self::Broadcast { .. } => 0,
            Self::Reduce { .. } | Self::Allreduce | Self::Allgather | Self::Gather { .. } | Self::Scan | Self::ExclusiveScan => 1,
            Self::ReduceScatter | Self::Alltoall => size,
            Self::Scatter { root } => {
                if root == position {
                    size
                } else {
                    0
                }
            }
        }
    }

    /// Output blocks of the member at `position` of `size`.
    pub const fn blocks_out(self, position: u32, size: u32) -> u32 {
        match self {
            Self::Barrier => 0,
            Self::Broadcast { .. }
            | Self::Allreduce
            | Self::ReduceScatter
            | Self::Scatter { .. }
            | Self::Scan
            | Self::ExclusiveScan => 1,
            Self::Reduce { root } => (root == position) as u32,
            Self::Allgather | Self::Alltoall => size,
            Self::Gather { root } => {
                if root == position {
                    size
                } else {
                    0
                }
            }
        }
    }
}

impl fmt::Display for Collective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Collective {
    type Err = UnknownCollective;

    fn from_str(name: &str) -> Result<Self, UnknownCollective> {
        Self::ALL.into_iter().find(|operation| operation.name() == name).ok_or(UnknownCollective)
    }
}

/// The error of a name that no [`Collective`] has.
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "an operation is barrier, broadcast, reduce, allreduce, allgather, reduce-scatter, gather, scatter, alltoall, scan or exclusive-scan"
)]
pub struct UnknownCollective;

pelago_base::debug_as_display! { UnknownCollective }

/// The algorithm of an operation.
///
/// | name | for | how |
/// |---|---|---|
/// | `flat` | one to all, all to one, both | no structure: the baseline for the others |
/// | `direct` | reductions, gathers, exchanges, scans of all | every member sends to every other at once |
/// | `binomial` | one to all, all to one, both | a binomial tree, most distant members first |
/// | `chain` | broadcast, scans | from each member to the next; long blocks go in pieces, several at once |
/// | `hierarchical` | barrier, broadcast, reduce, allreduce, allgather | first between hosts (or first inside them), then the other |
/// | `recursive-doubling` | allreduce, allgather, scans | partners at distance 1, 2, 4, …: the smallest distance first |
/// | `recursive-doubling-far` | allgather | the same, the largest distance first: short messages cross it |
/// | `halving` | allreduce, reduce-scatter | partners halve what they hold, and double it again |
/// | `ring` | allreduce, allgather, reduce-scatter | always the right neighbour, p − 1 steps each way |
/// | `bruck` | allgather, alltoall | ⌈log₂ p⌉ steps for any p, blocks travel together |
/// | `pairwise` | alltoall | one partner at a time |
/// | `network` | one-shot allreduce | routers or NICs combine short values, where the machine can; the first choice there |
/// | `shared` | all but barriers | members read each other's memory; only where all ranks' memory is mapped |
///
/// Sources: Thakur, Rabenseifner and Gropp, "Optimization of collective communication operations in MPICH" (2005); Bruck et al., "Efficient
/// algorithms for all-to-all communications" (1997); Hillis and Steele (1986) for scans; Odajima et al. (2015), section 4, for the order of distances
/// and for the step between sub-clusters first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the table says what each is")]
pub enum Algorithm {
    Flat,
    Direct,
    Binomial,
    Chain,
    Hierarchical,
    RecursiveDoubling,
    RecursiveDoublingFar,
    Halving,
    Ring,
    Bruck,
    Pairwise,
    Shared,
    Network,
}

impl Algorithm {
    /// Every algorithm.
    pub const ALL: [Self; 13] = [
        Self::Flat,
        Self::Direct,
        Self::Binomial,
        Self::Chain,
        Self::Hierarchical,
        Self::RecursiveDoubling,
        Self::RecursiveDoublingFar,
        Self::Halving,
        Self::Ring,
        Self::Bruck,
        Self::Pairwise,
        Self::Shared,
        Self::Network,
    ];

    /// The name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Flat => "flat",
            Self::Direct => "direct",
            Self::Binomial => "binomial",
            Self::Chain => "chain",
            Self::Hierarchical => "hierarchical",
            Self::RecursiveDoubling => "recursive-doubling",
            Self::RecursiveDoublingFar => "recursive-doubling-far",
            Self::Halving => "halving",
            Self::Ring => "ring",
            Self::Bruck => "bruck",
            Self::Pairwise => "pairwise",
            Self::Shared => "shared",
            Self::Network => "network",
        }
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Algorithm {
    type Err = UnknownAlgorithm;

    fn from_str(name: &str) -> Result<Self, UnknownAlgorithm> {
        Self::ALL.into_iter().find(|algorithm| algorithm.name() == name).ok_or(UnknownAlgorithm)
    }
}

/// The error of a name that no [`Algorithm`] has.
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "an algorithm is flat, direct, binomial, chain, hierarchical, recursive-doubling, recursive-doubling-far, halving, ring, bruck, \
     pairwise, shared or network"
)]
pub struct UnknownAlgorithm;

pelago_base::debug_as_display! { UnknownAlgorithm }

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        for operation in Collective::ALL {
            assert_eq!(operation.name().parse(), Ok(operation));
        }
        for algorithm in Algorithm::ALL {
            assert_eq!(algorithm.to_string().parse(), Ok(algorithm));
        }
        assert_eq!("Ring".parse::<Algorithm>(), Err(UnknownAlgorithm));
        assert_eq!("all".parse::<Collective>(), Err(UnknownCollective));
    }
}
