//! Arguments and results of conversations: requests, completions, events and datagrams.

use pelago_base::{AddressLayout, AtomicOperator, Blocks, Duration, Failure, GlobalAddress, Rank, Shape, Width};

use crate::wire::seal::Key;

/// Maximum size in bytes of a [`Request::Write`], and of an answer that is read when the request arrives: they fit the smallest datagram.
pub const INJECT_SIZE: usize = 960;

/// Maximum number of blocks of a list.
pub const LIST_BLOCKS_MAX: usize = 4096;

/// Number of failure limits of silence after which operations on a live peer end. The route must be broken then: even on an overloaded
/// machine, with a thousand ranks on two cores, every process answers within half of that time.
pub const UNREACHABLE_AFTER_LIMITS: u64 = 20;

/// Configuration of [`Conversations`](crate::Conversations).
#[derive(Clone, Copy)]
pub struct Config {
    /// The local rank.
    pub me: Rank,
    /// Distinguishes this process from earlier and later processes of the same rank.
    pub incarnation: u32,
    /// Layout of the job's global addresses.
    pub layout: AddressLayout,
    /// The job's secret.
    pub key: Key,
    /// Whether datagrams are encrypted in addition to being authenticated; the same on all ranks.
    pub encrypt: bool,
    /// Time without a sign of life from a peer that owes one, after which [`Event::Silent`] asks whether the peer is alive.
    pub failure_limit: Duration,
    /// Receive window of this rank: maximum number of bytes in flight to it.
    pub receive_window_bytes: u64,
}

/// Index of a peer that a rank knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PeerIndex(pub u32);

/// An operation to perform at a peer.
#[derive(Clone, Copy, Debug)]
pub enum Request<'a, L> {
    /// Writes bytes that are captured; at most [`INJECT_SIZE`].
    Write {
        /// Destination.
        to: GlobalAddress,
        /// What.
        bytes: &'a [u8],
    },
    /// Writes local memory, which stays valid until the operation ends.
    Put {
        /// Local memory.
        from: L,
        /// Destination.
        to: GlobalAddress,
        /// Number of bytes.
        bytes: u64,
    },
    /// Reads into local memory, which stays valid until the operation ends.
    Get {
        /// Source.
        from: GlobalAddress,
        /// Local memory.
        to: L,
        /// Number of bytes.
        bytes: u64,
    },
    /// As `Put`, from blocks of local memory to blocks of the peer's memory: the bytes travel one block after another. Nothing is written unless
    /// all blocks of the peer, gaps included, lie in one registered region.
    PutBlocks {
        /// Local memory.
        from: L,
        /// Blocks of the local memory.
        from_shape: &'a Shape,
        /// Address to which the offsets of the blocks are relative.
        to: GlobalAddress,
        /// Destination blocks, with the same total size. A list has at most [`LIST_BLOCKS_MAX`] blocks.
        blocks: Blocks<'a>,
    },
    /// As `Get`, from blocks of the peer's memory, under the rules of `PutBlocks`, to blocks of local memory.
    GetBlocks {
        /// Address to which the offsets of the blocks are relative.
        from: GlobalAddress,
        /// Source blocks.
        blocks: Blocks<'a>,
        /// Local memory.
        to: L,
        /// Blocks of the local memory, with the same total size.
        to_shape: &'a Shape,
    },
    /// Makes the peer, which owns `from`, send bytes to the owner of `to`.
    Copy {
        /// Source.
        from: GlobalAddress,
        /// Destination.
        to: GlobalAddress,
        /// Number of bytes.
        bytes: u64,
    },
    /// Performs an atomic on a word and returns its previous value.
    Atomic {
        /// Address of the word.
        at: GlobalAddress,
        /// Width of the word.
        width: Width,
        /// Operator of the atomic.
        operator: AtomicOperator,
        /// Operand of the operator.
        operand: u64,
    },
}

/// An operation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion<L> {
    /// The submitter's identifier of the operation.
    pub token: u64,
    /// Previous value of the word of an atomic, or the failure.
    pub result: Result<u64, Failure>,
    /// Local memory of the operation, which is no longer in use.
    pub local: Option<L>,
}

/// A write whose bytes have not been captured. The caller must [capture](crate::Conversations::capture) it before any other call except
/// [sending it](crate::Conversations::poll_transmit_gathered) and handling received datagrams.
#[derive(Clone, Copy, Debug)]
#[must_use = "the bytes are captured last"]
pub struct Injection<'a> {
    pub(crate) peer: PeerIndex,
    /// Operation number; `None` if the operation has already ended.
    pub(crate) operation: Option<u32>,
    pub(crate) bytes: &'a [u8],
}

impl Injection<'_> {
    /// Returns the number of bytes to write.
    pub fn bytes(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// Returns the bytes to write.
    pub fn source(&self) -> &[u8] {
        self.bytes
    }
}

/// A word that is written after all bytes of a write: a reader that sees the word also sees the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signal {
    /// Address of the word, in the memory of the target of the write.
    pub at: GlobalAddress,
    /// Value of the word, in the byte order of memory.
    pub word: [u8; 8],
}

/// An event about a peer for the user of [`Conversations`](crate::Conversations).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A rank that was never passed to `connect` has sent a datagram, or is about to be written to: its maximum datagram size is not known.
    Met(PeerIndex, Rank),
    /// A peer that owes a sign of life has given none for the failure limit. The user reports what is known of the peer to
    /// [`Conversations::handle_liveness`](crate::Conversations::handle_liveness). Until then, operations on the peer stay pending, and the event
    /// is repeated after each failure limit.
    Silent(Rank),
    /// A peer has failed: it was silent for the failure limit, and no other source reports it alive.
    Lost(Rank),
    /// A peer is alive, but nothing has been received from it, or a datagram has not arrived at it, for [`UNREACHABLE_AFTER_LIMITS`] failure limits.
    Unreachable(Rank),
}

/// Knowledge about a silent peer from other sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Liveness {
    /// Nothing is known: the peer counts as failed because of its silence.
    Unknown,
    /// A reliable source reports that the peer is alive.
    Alive,
    /// The peer has failed.
    Lost,
}

/// There is no room for another operation to this peer: poll completions, then try again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

/// Reason for which a datagram changed nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rejected {
    /// It was not sealed with the job's key for this rank, or was altered.
    Forged,
    /// Its sender is no rank of the job, a failed rank, or another process of a rank than the one heard first.
    Foreign,
    /// It was executed before.
    Duplicate,
    /// It arrived before datagrams that must take effect first.
    Early,
    /// It cannot be parsed.
    Malformed,
}

/// A datagram in the buffer, to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmit {
    /// Destination rank.
    pub to: Rank,
    /// Index of the destination.
    pub peer: PeerIndex,
    /// Length of the datagram.
    pub bytes: usize,
    /// Whether more datagrams for this peer may be ready.
    pub more: bool,
    /// Bytes of an injection that are not in the buffer; only [`poll_transmit_gathered`](crate::Conversations::poll_transmit_gathered)
    /// omits any.
    pub gap: Option<Gap>,
}

/// Bytes of an injection that belong to a datagram and are not copied to its buffer: the datagram consists of the first `at` bytes of the
/// buffer, these bytes, and the rest of the buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// Offset of the bytes in the datagram.
    pub at: usize,
    /// Offset of the bytes in the injection.
    pub from: usize,
    /// Number of bytes.
    pub bytes: usize,
}

impl<L> Request<'_, L> {
    pub(crate) fn into_local(self) -> Option<L> {
        match self {
            Self::Put { from: local, .. }
            | Self::Get { to: local, .. }
            | Self::PutBlocks { from: local, .. }
            | Self::GetBlocks { to: local, .. } => Some(local),
            _ => None,
        }
    }
}
