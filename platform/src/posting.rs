//! What names a posted operation, and why one is not accepted.

use pelago_base::Rank;

/// One peer through one transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Endpoint(pub u32);

/// The poster's identifier of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Token(pub u64);

/// An operation was not accepted and had no effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PostError {
    /// The queue has no room: call `progress`, then post again.
    #[error("the transport's queue is full")]
    Full,
    /// No such endpoint.
    #[error("{0:?} is not connected")]
    Unknown(Endpoint),
    /// The endpoint has no route to the destination rank of a `Copy`: see [`Network::rail_of_copy`](crate::Network::rail_of_copy).
    #[error("the way to the first rank of a copy does not lead to rank {0}")]
    Elsewhere(Rank),
    /// The transport moves bytes, not only sizes.
    #[error("this transport moves bytes, not only sizes")]
    Sizes,
    /// This rail accepts only single blocks, or the blocks are more than it accepts, differ in size between the two ends, or overlap.
    #[error("this transport does not take these blocks as one operation")]
    Blocks,
    /// This rank has not opened such a group of reductions.
    #[error("this rank takes no part in such a group of reductions")]
    Group,
    /// The rail does not accept so few bytes with a signal, or no put with signal at all.
    #[error("this transport does not take these bytes and their signal as one operation")]
    Signalled,
    /// A `Write` is longer than the transport captures, or another transfer is longer than the transport accepts as one operation.
    #[error("{0} bytes are more than this transport takes in one operation of this kind")]
    TooLong(usize),
}
