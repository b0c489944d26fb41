//! Failures of operations.

use crate::{GlobalAddress, Rank};

/// Reason for which an accepted operation had no effect, or an unknown one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Failure {
    /// The peer has failed; whether the operation took effect there is unknown.
    #[error("rank {0} was lost")]
    PeerLost(Rank),
    /// The peer is alive, but has no route, or nothing has been received from it for too long; whether the operation took effect there is unknown.
    #[error(
        "rank {0} is alive but cannot be reached: there is no route to it, or no datagram of it has arrived for many times the failure limit"
    )]
    Unreachable(Rank),
    /// The address is not in registered memory.
    #[error("{0:?} is not in registered memory of its rank")]
    OutOfBounds(GlobalAddress),
    /// A two-sided message found no room at its receiver in all tries of the network.
    #[error("rank {0} had no receive slot for a message in all tries of the network (not_ready_retries)")]
    NotReady(Rank),
    /// The address of a word is not a multiple of its width.
    #[error("{0:?} is not aligned for an atomic")]
    Misaligned(GlobalAddress),
    /// The device that holds the address failed; part of a transfer may have taken effect.
    #[error("the device that holds {0:?} failed")]
    Device(GlobalAddress),
}

impl Failure {
    /// Returns the code of the failure and the rank or address that it names, for transmission.
    pub const fn code(self) -> (u8, u64) {
        match self {
            Self::PeerLost(rank) => (0, rank.number() as u64),
            Self::Unreachable(rank) => (1, rank.number() as u64),
            Self::OutOfBounds(address) => (2, address.bits()),
            Self::NotReady(rank) => (3, rank.number() as u64),
            Self::Misaligned(address) => (4, address.bits()),
            Self::Device(address) => (5, address.bits()),
        }
    }

    /// Returns the failure of a code, with the rank or address that it names.
    pub const fn from_code(code: u8, named: u64) -> Option<Self> {
        let (rank, address) = (Rank::new(named as u32), GlobalAddress::from_bits(named));
        Some(match code {
            0 => Self::PeerLost(rank),
            1 => Self::Unreachable(rank),
            2 => Self::OutOfBounds(address),
            3 => Self::NotReady(rank),
            4 => Self::Misaligned(address),
            5 => Self::Device(address),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_is_that_of_its_failure() {
        let failures = (0..=u8::MAX).map_while(|code| Failure::from_code(code, 7).map(|failure| (code, failure)));
        let failures: Vec<_> = failures.inspect(|(code, failure)| assert_eq!(failure.code(), (*code, 7), "{failure}")).collect();
        assert_eq!(failures.len(), 6, "{failures:?}");
    }
}
