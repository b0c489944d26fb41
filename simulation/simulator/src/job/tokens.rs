//! Events as data: what the tokens of the simulated network stand for.
//!
//! The network returns each token unchanged; only this module knows how the bits of one are used.

/// Bits of the count that a wake-up carries.
const COUNT_BITS: u32 = 28;
const COUNT_MASK: u32 = (1 << COUNT_BITS) - 1;

/// The kind of a wake-up stands above its count, which stands above the number of the rank, operation or datagram.
const COUNT_SHIFT: u32 = 32;
const KIND_SHIFT: u32 = COUNT_SHIFT + COUNT_BITS;

const MESSAGE: u64 = 1 << 32;
const REPLY: u64 = 1 << 33;
/// Of an operation: nothing is to be done when its source has been read.
const UNREAD: u64 = 1 << 34;

/// What happens when a time comes that the job has named to the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WakeUp {
    /// The deadline of a rank's wait. `count` tells this wait from earlier ones, whose deadlines are still in the queue.
    Rank { rank: u32, count: u32 },
    /// A rank dies, or the launcher announces its death.
    Death { rank: u32 },
    /// The fault injection has held a datagram back until now.
    Datagram { number: u32 },
    /// The progress thread of the target has performed an operation.
    Served { operation: u32 },
    /// A timer of a rank's end of the protocol. `count` tells the latest timer from replaced ones.
    Station { rank: u32, count: u32 },
    /// The NIC learns of an operation.
    Posted { operation: u32 },
    /// A rank sees what another has written to its memory.
    Seen { rank: u32 },
    /// The progress thread of the initiator reports the end of an operation.
    Reported { operation: u32 },
    /// A message reaches a rank of the same node, where datagrams cost time of a core.
    Arrival { number: u32 },
    /// A step of a rank's driver ends that an event has begun.
    Step { rank: u32 },
    /// The progress thread of a rank looks.
    Attend { rank: u32 },
    /// A rank has got a core.
    Core { rank: u32 },
}

impl WakeUp {
    /// The count of a wake-up as far as its token carries it.
    #[inline]
    pub(crate) const fn count(count: u32) -> u32 {
        count & COUNT_MASK
    }

    #[inline]
    pub(crate) const fn token(self) -> u64 {
        let (kind, count, number) = match self {
            Self::Rank { rank, count } => (0, count, rank),
            Self::Death { rank } => (1, 0, rank),
            Self::Datagram { number } => (2, 0, number),
            Self::Served { operation } => (3, 0, operation),
            Self::Station { rank, count } => (4, count, rank),
            Self::Posted { operation } => (5, 0, operation),
            Self::Seen { rank } => (6, 0, rank),
            Self::Reported { operation } => (7, 0, operation),
            Self::Arrival { number } => (8, 0, number),
            Self::Step { rank } => (9, 0, rank),
            Self::Attend { rank } => (10, 0, rank),
            Self::Core { rank } => (11, 0, rank),
        };
        kind << KIND_SHIFT | (Self::count(count) as u64) << COUNT_SHIFT | number as u64
    }

    #[inline]
    pub(crate) const fn of(token: u64) -> Self {
        let (number, count) = (token as u32, Self::count((token >> COUNT_SHIFT) as u32));
        match token >> KIND_SHIFT {
            0 => Self::Rank { rank: number, count },
            1 => Self::Death { rank: number },
            2 => Self::Datagram { number },
            3 => Self::Served { operation: number },
            4 => Self::Station { rank: number, count },
            5 => Self::Posted { operation: number },
            6 => Self::Seen { rank: number },
            7 => Self::Reported { operation: number },
            8 => Self::Arrival { number },
            9 => Self::Step { rank: number },
            10 => Self::Attend { rank: number },
            _ => Self::Core { rank: number },
        }
    }
}

/// What a notice of the network is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Subject {
    /// A one-sided operation; a datagram, where the library's own protocol is simulated.
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

    /// The token of an operation, whether or not something is to be done when its source has been read.
    #[inline]
    pub(crate) const fn token_of(self, needs_read: bool) -> u64 {
        if needs_read { self.token() } else { self.token() | UNREAD }
    }

    /// Whether something may be to be done when the source has been read. The token alone tells, as the record is seldom in the cache.
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
            WakeUp::Rank { rank: number, count },
            WakeUp::Death { rank: number },
            WakeUp::Datagram { number },
            WakeUp::Served { operation: number },
            WakeUp::Station { rank: number, count },
            WakeUp::Posted { operation: number },
            WakeUp::Seen { rank: number },
            WakeUp::Reported { operation: number },
            WakeUp::Arrival { number },
            WakeUp::Step { rank: number },
            WakeUp::Attend { rank: number },
            WakeUp::Core { rank: number },
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
        let wrapped = WakeUp::Rank { rank: 1, count: COUNT_MASK + 3 };
        assert_eq!(WakeUp::of(wrapped.token()), WakeUp::Rank { rank: 1, count: 2 }, "a count wraps round");
    }
}
