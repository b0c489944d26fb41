//! Why an operation had no effect.

use crate::{GlobalAddress, Rank};

/// Why an accepted operation had no effect, or none that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Failure {
    /// The peer is gone; whether the operation took effect there is unknown.
    #[error("{0} was lost")]
    PeerLost(Rank),
    /// The peer is alive, but no way leads to it, or nothing has come of it for too long; whether the operation took effect there is unknown.
    #[error("{0} is alive but cannot be reached: no way leads to it, or nothing of it has come for many times the failure limit")]
    Unreachable(Rank),
    /// The address is not in registered memory.
    #[error("{0:?} is not in registered memory of its rank")]
    OutOfBounds(GlobalAddress),
    /// A two-sided message found no room at its receiver as often as the network tries.
    #[error("{0} had no room for a message as often as the network tried")]
    NotReady(Rank),
    /// A word is not at a multiple of its width.
    #[error("{0:?} is not aligned for an atomic")]
    Misaligned(GlobalAddress),
    /// The device that holds the address failed; part of a transfer may have taken effect.
    #[error("the device that holds {0:?} failed")]
    Device(GlobalAddress),
}
