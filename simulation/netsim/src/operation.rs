//! Operations that a user of the simulation posts, and the notices that it gets.

/// An operation on the network. Nodes are numbered from zero; bytes are payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NetworkOperation {
    /// Bytes of the initiator are written to another node.
    Put {
        /// The initiator, whose bytes they are.
        from: u32,
        /// The node that is written to.
        to: u32,
        /// The number of bytes.
        bytes: u64,
    },
    /// Bytes of another node are fetched.
    Get {
        /// The initiator.
        by: u32,
        /// The node whose bytes are fetched.
        at: u32,
        /// The number of bytes.
        bytes: u64,
    },
    /// The NIC of another node performs an atomic on a word there.
    Atomic {
        /// The initiator.
        by: u32,
        /// The node that holds the word.
        at: u32,
    },
    /// Bytes of one node are written to another, at the request of a third.
    Copy {
        /// The initiator.
        by: u32,
        /// The node whose bytes are copied.
        from: u32,
        /// The node that is written to.
        to: u32,
        /// The number of bytes.
        bytes: u64,
    },
    /// A two-sided message: the receiver needs a receive slot for it.
    Datagram {
        /// The sender.
        from: u32,
        /// The receiver.
        to: u32,
        /// The number of bytes.
        bytes: u64,
    },
}

impl NetworkOperation {
    /// Returns the same operation between other places: each number is replaced by what `place` returns for it.
    #[inline]
    pub fn map(self, place: impl Fn(u32) -> u32) -> Self {
        match self {
            Self::Put { from, to, bytes } => Self::Put { from: place(from), to: place(to), bytes },
            Self::Get { by, at, bytes } => Self::Get { by: place(by), at: place(at), bytes },
            Self::Atomic { by, at } => Self::Atomic { by: place(by), at: place(at) },
            Self::Copy { by, from, to, bytes } => Self::Copy { by: place(by), from: place(from), to: place(to), bytes },
            Self::Datagram { from, to, bytes } => Self::Datagram { from: place(from), to: place(to), bytes },
        }
    }

    /// Returns its initiator, the place of the bytes or the word that it reads, and the place that it writes to or returns a result to.
    #[inline]
    pub fn ends(&self) -> [u32; 3] {
        match *self {
            Self::Put { from, to, .. } | Self::Datagram { from, to, .. } => [from, from, to],
            Self::Get { by, at, .. } | Self::Atomic { by, at } => [by, at, by],
            Self::Copy { by, from, to, .. } => [by, from, to],
        }
    }
}

/// An event that the simulator reports to its user. It happens at [`Netsim::now`](crate::Netsim::now).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice {
    /// The time of a [`Netsim::wake_at`](crate::Netsim::wake_at) has come.
    Wake {
        /// The token of that call.
        token: u64,
    },
    /// The last source byte has been read: at the sender of a put or datagram, at the owner otherwise. Atomics have no such notice.
    Read {
        /// The token of the operation.
        token: u64,
    },
    /// The operation takes effect: the bytes are in the memory of their destination, the atomic is performed, or the datagram arrives.
    Effect {
        /// The token of the operation.
        token: u64,
    },
    /// The initiator knows that the operation is complete. A datagram without acknowledgement is complete when it has been read.
    Done {
        /// The token of the operation.
        token: u64,
    },
    /// A datagram without acknowledgement was lost. On a real machine the sender would not know; the user may free its record of the operation.
    Lost {
        /// The token of the operation.
        token: u64,
    },
    /// The initiator knows that the operation failed. It may have taken effect.
    Failed {
        /// The token of the operation.
        token: u64,
        /// The reason.
        reason: FailureReason,
    },
}

impl Notice {
    /// Returns the token of the operation, or of the wake-up.
    #[inline]
    pub(crate) fn token(&self) -> u64 {
        match *self {
            Self::Wake { token }
            | Self::Read { token }
            | Self::Effect { token }
            | Self::Done { token }
            | Self::Lost { token }
            | Self::Failed { token, .. } => token,
        }
    }
}

/// Why an operation failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureReason {
    /// The operation names a node that the machine does not have.
    NoSuchNode,
    /// The operation needs more packets than can be numbered.
    TooLong,
    /// Packets were lost in each of the NIC's tries.
    RetriesExhausted,
    /// The receiver had no slot in each of the NIC's tries.
    ReceiverNotReady,
}
