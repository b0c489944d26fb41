//! The errors of operations, and their scope.

use std::fmt;

use pelago_base::{AddressError, Duration, Rank, ShapeError, TeamError};
use pelago_memory::PointerError;
use pelago_platform::{BootstrapError, ConnectError, Failure, Fault, PostError, Rail, RegisterError};

use crate::limits::FAILURE_GROUPS_MAX;

/// The result of an operation.
pub type Result<T, E = Error> = core::result::Result<T, E>;

/// The reason why an operation has no result. `Debug` has the text of `Display`, because a `main` that returns the error prints `Debug`.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operation failed.
    #[error(transparent)]
    Failed(#[from] Failure),
    /// The result of the operation is no longer stored, because too many newer operations have failed since. The operation may have failed.
    #[error(
        "the result of this operation is no longer known, because too many newer operations have failed since (results of {groups} groups are \
         kept); if it failed without a report, quiet reports it: ask a handle soon after its operation has ended",
        groups = FAILURE_GROUPS_MAX
    )]
    Forgotten,
    /// The job has a fault, so that the awaited event may never occur.
    #[error(transparent)]
    Fault(#[from] Fault),
    /// The time limit of a wait expired.
    #[error("the wait for {what} did not end within {limit:?}")]
    TimedOut {
        /// The awaited event.
        what: &'static str,
        /// The time limit.
        limit: Duration,
    },
    /// An operation was ordered after a handle of another context.
    #[error("the handle belongs to another context; operations are ordered only after those of their own context")]
    ForeignHandle,
    /// The address does not exist.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// An address does not refer to a value of the type.
    #[error(transparent)]
    Pointer(#[from] PointerError),
    /// The shape of a strided transfer is invalid.
    #[error(transparent)]
    Shape(#[from] ShapeError),
    /// A strided transfer extends beyond the local memory.
    #[error("the shape reaches over {needed} elements, but the slice has {length}")]
    ShapePastSlice {
        /// Number of elements that the shape spans.
        needed: u64,
        /// Number of elements of the slice.
        length: usize,
    },
    /// A slice or list that was passed has another length than the operation needs.
    #[error("{what} is {given}, but must be {needed}")]
    WrongNumber {
        /// What was counted, such as "the number of values of the input".
        what: &'static str,
        /// The number that was passed.
        given: usize,
        /// The number that the operation needs.
        needed: usize,
    },
    /// A memory of fixed size has too little free room.
    #[error("no {bytes} bytes are left in {} of {heap_bytes} bytes; {}", memory.name, memory.remedy)]
    NoMemory {
        /// Number of requested bytes.
        bytes: u64,
        /// Size of the memory in bytes.
        heap_bytes: u64,
        /// The memory that is full.
        memory: &'static FixedMemory,
    },
    /// The process gets no memory of this size from the system.
    #[error("there are no {bytes} bytes of memory for {what}")]
    OutOfMemory {
        /// What needs the memory.
        what: &'static str,
        /// Number of requested bytes.
        bytes: u64,
    },
    /// A bounded resource is exhausted.
    #[error("too many {what}: the limit is {limit}")]
    TooMany {
        /// The resource.
        what: &'static str,
        /// Maximum number of instances.
        limit: usize,
    },
    /// An object exceeds its maximum size.
    #[error("a {what} of {bytes} bytes is too long: at most {limit}")]
    TooLong {
        /// The object.
        what: &'static str,
        /// Its size in bytes.
        bytes: usize,
        /// Maximum size in bytes.
        limit: usize,
    },
    /// The request is invalid.
    #[error("{0}")]
    Invalid(&'static str),
    /// The system or platform does not support the request.
    #[error("{0}")]
    Unsupported(&'static str),
    /// Ranks called one collective operation with different arguments.
    #[error("ranks disagree in {0}: a collective operation takes the same arguments on every rank")]
    Disagreement(&'static str),
    /// The ranks do not form a team, or this rank is not a member.
    #[error(transparent)]
    Team(#[from] TeamError),
    /// This rank called a collective operation of a team that it is not a member of.
    #[error("rank {0} is not a member of the team")]
    NotMember(Rank),
    /// A rail has no route to a rank.
    #[error("rail {} does not lead to rank {rank}", .rail.number())]
    NoRail {
        /// The rail.
        rail: Rail,
        /// The target rank.
        rank: Rank,
    },
    /// A peer is unreachable.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// Memory registration failed.
    #[error(transparent)]
    Register(#[from] RegisterError),
    /// The job could not be set up.
    #[error(transparent)]
    Bootstrap(#[from] BootstrapError),
    /// The simulation transfers sizes only, and the program may need the bytes.
    #[error(
        "this simulation (--data sizes) does not move the bytes of long transfers, and the program has not asked for this \
         (World::moves_data): it might compute with data that never arrives"
    )]
    SizesOnly,
    /// A transport refused an operation that it must accept: a defect of the transport.
    #[error("the transport refused an operation: {0}")]
    Refused(PostError),
}

/// A memory of fixed size, as [`Error::NoMemory`] names it.
#[derive(Debug, PartialEq, Eq)]
pub struct FixedMemory {
    /// Its name, with an article.
    pub name: &'static str,
    /// How it is made larger.
    pub remedy: &'static str,
}

impl FixedMemory {
    /// The heap of a rank.
    pub const HEAP: &'static Self = &Self { name: "a heap", remedy: "start the job with a larger one (--heap, PELAGO_HEAP)" };
}

impl Error {
    /// Checks a number that was passed.
    ///
    /// # Errors
    /// [`WrongNumber`](Self::WrongNumber): it is not the one that is needed.
    pub fn check_number(what: &'static str, given: usize, needed: usize) -> Result<()> {
        if given == needed { Ok(()) } else { Err(Self::WrongNumber { what, given, needed }) }
    }
}

/// The scope of an error: the operations that it affects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// The operation alone.
    Operation,
    /// All operations that involve one peer.
    Peer,
    /// The job.
    Job,
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Error {
    /// Returns the scope of the error.
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
    fn the_debug_form_names_the_remedy() {
        let full = Error::NoMemory { bytes: 8, heap_bytes: 4, memory: FixedMemory::HEAP };
        let text = "no 8 bytes are left in a heap of 4 bytes; start the job with a larger one (--heap, PELAGO_HEAP)";
        assert_eq!([format!("{full:?}"), format!("{full:#?}")], [text; 2]);
        let wrong = Error::check_number("the number of values of the input", 3, 4).unwrap_err();
        assert_eq!(wrong.to_string(), "the number of values of the input is 3, but must be 4");
    }

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
