//! Why an operation had no effect.

use crate::{GlobalAddress, Rank};

/// Why an accepted operation had no effect, or none that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Failure {
    /// The peer is gone; whether the operation took effect there is unknown.
    #[error("rank {0} was lost")]
    PeerLost(Rank),
    /// The peer is alive, but no way leads to it, or nothing has come of it for too long; whether the operation took effect there is unknown.
    #[error(
        "rank {0} is alive but cannot be reached: there is no route to it, or no datagram of it has arrived for many times the failure limit"
    )]
    Unreachable(Rank),
    /// The address is not in registered memory.
    #[error("{0:?} is not in registered memory of its rank")]
    OutOfBounds(GlobalAddress),
    /// A two-sided message found no room at its receiver as often as the network tries.
    #[error("rank {0} had no receive slot for a message in all tries of the network (not_ready_retries)")]
    NotReady(Rank),
    /// A word is not at a multiple of its width.
    #[error("{0:?} is not aligned for an atomic")]
    Misaligned(GlobalAddress),
    /// The device that holds the address failed; part of a transfer may have taken effect.
    #[error("the device that holds {0:?} failed")]
    Device(GlobalAddress),
}

impl Failure {
    /// Its number and what it names, for whoever sends it on.
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

    /// The failure of a number, which names this.
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
