//! Events as data: the meaning of the tokens of the simulated network.
//!
//! The network returns each token unchanged; only this module knows how the bits of one are used.

/// Number of bits of the count in a wake-up's token.
const COUNT_BITS: u32 = 28;
const COUNT_MASK: u32 = (1 << COUNT_BITS) - 1;

/// Position of the count, above the number of the rank, operation or datagram, and of the kind, above the count.
const COUNT_SHIFT: u32 = 32;
const KIND_SHIFT: u32 = COUNT_SHIFT + COUNT_BITS;

const MESSAGE: u64 = 1 << 32;
const REPLY: u64 = 1 << 33;
/// Flag of an operation that needs no action when its source has been read.
const UNREAD: u64 = 1 << 34;

/// A timed event that the job has requested from the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WakeUp {
    /// An event of the timer of a rank's wait, which may be an earlier one.
    Rank { rank: u32 },
    /// A rank dies, or the launcher announces its death.
    Death { rank: u32 },
    /// The fault injection has held a datagram back until now.
    Datagram { number: u32 },
    /// The progress thread of the target has performed an operation.
    Served { operation: u32 },
    /// An event of the timer of a rank's station.
    Station { rank: u32 },
    /// An operation reaches the NIC, instructed by the core of its rank or by a progress thread.
    Posted { operation: u32, by_rank: bool },
    /// A write to a rank's memory becomes visible to the rank.
    Seen { rank: u32 },
    /// The progress thread of the initiator reports the end of an operation.
    Reported { operation: u32 },
    /// A message reaches a rank of the same node, on a machine where datagrams take core time.
    Arrival { number: u32 },
    /// A step of a rank's driver that an event has begun ends.
    Step { rank: u32 },
    /// The progress thread of a rank runs.
    Attend { rank: u32 },
    /// A rank has been given a core.
    Core { rank: u32 },
    /// A slice of a rank that computes on a shared core ends.
    Slice { rank: u32 },
    /// The result of a reduction by the network reaches the NIC of a rank.
    Reduced { rank: u32, group: u32 },
    /// The progress thread of a rank reports such a result.
    ReductionReported { rank: u32, group: u32 },
}

impl WakeUp {
    #[inline]
    pub(crate) const fn token(self) -> u64 {
        let (kind, count, number) = match self {
            Self::Rank { rank } => (0, 0, rank),
            Self::Death { rank } => (1, 0, rank),
            Self::Datagram { number } => (2, 0, number),
            Self::Served { operation } => (3, 0, operation),
            Self::Station { rank } => (4, 0, rank),
            Self::Posted { operation, by_rank } => (5, by_rank as u32, operation),
            Self::Seen { rank } => (6, 0, rank),
            Self::Reported { operation } => (7, 0, operation),
            Self::Arrival { number } => (8, 0, number),
            Self::Step { rank } => (9, 0, rank),
            Self::Attend { rank } => (10, 0, rank),
            Self::Core { rank } => (11, 0, rank),
            Self::Reduced { rank, group } => (12, group, rank),
            Self::ReductionReported { rank, group } => (13, group, rank),
            Self::Slice { rank } => (14, 0, rank),
        };
        kind << KIND_SHIFT | ((count & COUNT_MASK) as u64) << COUNT_SHIFT | number as u64
    }

    #[inline]
    pub(crate) const fn of(token: u64) -> Self {
        let (number, count) = (token as u32, (token >> COUNT_SHIFT) as u32 & COUNT_MASK);
        match token >> KIND_SHIFT {
            0 => Self::Rank { rank: number },
            1 => Self::Death { rank: number },
            2 => Self::Datagram { number },
            3 => Self::Served { operation: number },
            4 => Self::Station { rank: number },
            5 => Self::Posted { operation: number, by_rank: count != 0 },
            6 => Self::Seen { rank: number },
            7 => Self::Reported { operation: number },
            8 => Self::Arrival { number },
            9 => Self::Step { rank: number },
            10 => Self::Attend { rank: number },
            11 => Self::Core { rank: number },
            12 => Self::Reduced { rank: number, group: count },
            13 => Self::ReductionReported { rank: number, group: count },
            _ => Self::Slice { rank: number },
        }
    }
}

/// The subject of a notice of the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Subject {
    /// A one-sided operation, or a datagram if the library's own protocol is simulated.
    Operation(u32),
    /// A two-sided message.
    Message(u32),
    /// The reply of a progress thread to this operation.
    Reply(u32),
}

impl Subject {
    #[inline]
    pub(crate) const fn token(self) -> u64 {
        match self {
            Self::Operation(number) => number as u64,
            Self::Message(number) => MESSAGE | number as u64,
            Self::Reply(number) => REPLY | number as u64,
        }
    }

    /// Returns the token of an operation, which states whether the job must act when the source has been read.
    #[inline]
    pub(crate) const fn token_of(self, needs_read: bool) -> u64 {
        if needs_read { self.token() } else { self.token() | UNREAD }
    }

    /// Whether the job may have to act when the source has been read. The token alone states it, as the record is seldom in the cache.
    #[inline]
    pub(crate) const fn needs_read(token: u64) -> bool {
        token & UNREAD == 0
    }

    #[inline]
    pub(crate) const fn of(token: u64) -> Self {
        let number = token as u32;
        match token & (MESSAGE | REPLY) {
            0 => Self::Operation(number),
            MESSAGE => Self::Message(number),
            _ => Self::Reply(number),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_read_back() {
        let (number, count) = (u32::MAX, COUNT_MASK);
        for wake_up in [
            WakeUp::Rank { rank: number },
            WakeUp::Death { rank: number },
            WakeUp::Datagram { number },
            WakeUp::Served { operation: number },
            WakeUp::Station { rank: number },
            WakeUp::Posted { operation: number, by_rank: false },
            WakeUp::Posted { operation: number, by_rank: true },
            WakeUp::Seen { rank: number },
            WakeUp::Reported { operation: number },
            WakeUp::Arrival { number },
            WakeUp::Step { rank: number },
            WakeUp::Attend { rank: number },
            WakeUp::Core { rank: number },
            WakeUp::Reduced { rank: number, group: count },
            WakeUp::ReductionReported { rank: number, group: count },
            WakeUp::Slice { rank: number },
        ] {
            assert_eq!(WakeUp::of(wake_up.token()), wake_up);
        }
        for subject in [Subject::Operation(number), Subject::Message(number), Subject::Reply(number)] {
            assert_eq!(Subject::of(subject.token()), subject);
            for needs_read in [false, true] {
                let token = subject.token_of(needs_read);
                assert_eq!((Subject::of(token), Subject::needs_read(token)), (subject, needs_read));
            }
        }
    }
}
