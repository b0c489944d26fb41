//! What can go wrong, and how much is lost by it.

use pelago_base::{AddressError, Duration, Rank, ShapeError, TeamError};
use pelago_memory::PointerError;
use pelago_platform::{BootstrapError, ConnectError, Failure, Fault, PostError, Rail, RegisterError};

use crate::limits::FAILURE_GROUPS_MAX;

/// The result of an operation.
pub type Result<T, E = Error> = core::result::Result<T, E>;

/// Why an operation has no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operation failed.
    #[error(transparent)]
    Failed(#[from] Failure),
    /// How an operation ended is no longer known: so many that are newer have failed since. It may have failed itself.
    #[error(
        "the result of this operation is no longer known, because too many newer operations have failed since (results of {groups} groups are \
         kept); if it failed without a report, quiet reports it: ask a handle soon after its operation has ended",
        groups = FAILURE_GROUPS_MAX
    )]
    Forgotten,
    /// The job is at fault, so that what was waited for may never come.
    #[error(transparent)]
    Fault(#[from] Fault),
    /// The time given to a wait ran out.
    #[error("{what} did not end within {limit:?}")]
    TimedOut {
        /// What was waited for.
        what: &'static str,
        /// How long.
        limit: Duration,
    },
    /// An operation was to be ordered after a handle of another context.
    #[error("the handle belongs to another context; operations are ordered only after those of their own context")]
    ForeignHandle,
    /// There is no such address.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// An address does not lead to a value of a type.
    #[error(transparent)]
    Pointer(#[from] PointerError),
    /// A strided transfer is impossible.
    #[error(transparent)]
    Shape(#[from] ShapeError),
    /// A strided transfer reaches past the local memory.
    #[error("the shape reaches over {needed} elements, but the slice has {length}")]
    ShapePastSlice {
        /// How many elements the shape reaches over.
        needed: u64,
        /// How many the slice has.
        length: usize,
    },
    /// No memory is left in a heap.
    #[error("no {bytes} bytes are left in a heap of {heap_bytes} bytes; start the job with a larger one (--heap, PELAGO_HEAP)")]
    NoMemory {
        /// How many bytes were asked for.
        bytes: u64,
        /// How many the heap has.
        heap_bytes: u64,
    },
    /// Too many things of a bounded kind are alive.
    #[error("too many {what}: the limit is {limit}")]
    TooMany {
        /// Of what.
        what: &'static str,
        /// How many may be.
        limit: usize,
    },
    /// Something has more bytes than it may have.
    #[error("a {what} of {bytes} bytes is too long: at most {limit}")]
    TooLong {
        /// What.
        what: &'static str,
        /// Its bytes.
        bytes: usize,
        /// The most that it may have.
        limit: usize,
    },
    /// What was asked for is impossible.
    #[error("{0}")]
    Invalid(&'static str),
    /// What was asked for cannot be had on this system or platform.
    #[error("{0}")]
    Unsupported(&'static str),
    /// Ranks called one collective operation with different arguments.
    #[error("ranks disagree in {0}: a collective operation takes the same arguments on every rank")]
    Disagreement(&'static str),
    /// Ranks do not form a team, or this rank is no member.
    #[error(transparent)]
    Team(#[from] TeamError),
    /// This rank called a collective operation of a team that it is not a member of.
    #[error("rank {0} is not a member of the team")]
    NotMember(Rank),
    /// A rail does not lead to a rank.
    #[error("rail {} does not lead to rank {rank}", .rail.number())]
    NoRail {
        /// Which.
        rail: Rail,
        /// Where to.
        rank: Rank,
    },
    /// A peer cannot be reached.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// Memory cannot be registered.
    #[error(transparent)]
    Register(#[from] RegisterError),
    /// The job could not be set up.
    #[error(transparent)]
    Bootstrap(#[from] BootstrapError),
    /// A simulation moves sizes only, and the program may need the bytes.
    #[error(
        "this simulation (--data sizes) does not move the bytes of long transfers, and the program has not asked for this \
         (World::moves_data): it might compute with data that never arrives"
    )]
    SizesOnly,
    /// A transport refused an operation that it must accept: a mistake in the transport.
    #[error("the transport refused an operation: {0}")]
    Refused(PostError),
}

/// How much is lost by an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// This operation; others are not affected.
    Operation,
    /// All operations that need one peer.
    Peer,
    /// The job.
    Job,
}

impl Error {
    /// How much is lost.
    pub fn scope(&self) -> Scope {
        match self {
            Self::Failed(Failure::PeerLost(_) | Failure::Unreachable(_)) | Self::Connect(_) => Scope::Peer,
            Self::Fault(_) | Self::Bootstrap(_) | Self::Disagreement(_) | Self::Refused(_) | Self::SizesOnly => Scope::Job,
            _ => Scope::Operation,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_says_how_much_is_lost() {
        let rank = Rank::new(1);
        let peer = [Failure::PeerLost(rank).into(), Failure::Unreachable(rank).into(), ConnectError::Unreachable(rank).into()];
        let job = [Fault::Aborted.into(), Error::Disagreement("it"), Error::Refused(PostError::Full), Error::SizesOnly];
        let operation = [Failure::NotReady(rank).into(), Error::Forgotten, Error::ForeignHandle, Error::Invalid("it")];
        assert!(peer.iter().all(|error: &Error| error.scope() == Scope::Peer));
        assert!(job.iter().all(|error| error.scope() == Scope::Job));
        assert!(operation.iter().all(|error: &Error| error.scope() == Scope::Operation));
        assert!(Scope::Operation < Scope::Peer && Scope::Peer < Scope::Job);
    }
}
