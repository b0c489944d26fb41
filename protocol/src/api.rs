//! What goes into conversations and what comes out.

use pelago_base::{AddressLayout, AtomicOperator, Blocks, Duration, Failure, GlobalAddress, Rank, Shape, Width};

use crate::wire::seal::Key;

/// Bytes of a [`Request::Write`], and of an answer that is read when the request comes: what fits the smallest datagram.
pub const INJECT_SIZE: usize = 960;

/// Maximum number of blocks of a list.
pub const LIST_BLOCKS_MAX: usize = 4096;

/// Failure limits of silence after which operations on a peer that is alive end: the way there must be broken, as a machine that is merely
/// overloaded, with a thousand ranks on two cores, has every process answer within half of that.
pub const UNREACHABLE_AFTER_LIMITS: u64 = 20;

/// What conversations are made for.
#[derive(Clone, Copy)]
pub struct Config {
    /// The rank whose end it is.
    pub me: Rank,
    /// Tells this process from an earlier or later one that speaks for the same rank.
    pub incarnation: u32,
    /// How the job divides its addresses.
    pub layout: AddressLayout,
    /// The job's secret.
    pub key: Key,
    /// Whether what travels is encrypted, besides being authenticated; the same on all ranks.
    pub encrypt: bool,
    /// After how long without a sign of life of a peer that owes one [`Event::Silent`] asks whether it is alive.
    pub failure_limit: Duration,
    /// How many bytes may be on their way to this rank: its receive window.
    pub receive_window_bytes: u64,
}

/// A peer that a rank knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PeerIndex(pub u32);

/// What to do at a peer.
#[derive(Clone, Copy, Debug)]
pub enum Request<'a, L> {
    /// Write bytes that are captured; at most [`INJECT_SIZE`].
    Write {
        /// Where to.
        to: GlobalAddress,
        /// What.
        bytes: &'a [u8],
    },
    /// Write local memory, which stays valid until the operation ends.
    Put {
        /// Local memory.
        from: L,
        /// Where to.
        to: GlobalAddress,
        /// How many bytes.
        bytes: u64,
    },
    /// Fetch to local memory, which stays valid until the operation ends.
    Get {
        /// Where from.
        from: GlobalAddress,
        /// Local memory.
        to: L,
        /// How many bytes.
        bytes: u64,
    },
    /// As `Put`, from blocks of local memory to blocks of the peer's: the bytes travel one block after another. All blocks of the peer lie in one
    /// region of registered memory, gaps included, or nothing is written.
    PutBlocks {
        /// Local memory.
        from: L,
        /// Which bytes of it.
        from_shape: &'a Shape,
        /// From where the places of blocks count.
        to: GlobalAddress,
        /// Which bytes from there on; as many. A list has at most [`LIST_BLOCKS_MAX`] blocks.
        blocks: Blocks<'a>,
    },
    /// As `Get`, from blocks of the peer's memory, as of `PutBlocks`, to blocks of local memory.
    GetBlocks {
        /// From where the places of blocks count.
        from: GlobalAddress,
        /// Which bytes from there on.
        blocks: Blocks<'a>,
        /// Local memory.
        to: L,
        /// Which bytes of it; as many.
        to_shape: &'a Shape,
    },
    /// Let the peer, who owns `from`, send bytes to the owner of `to`.
    Copy {
        /// Where from.
        from: GlobalAddress,
        /// Where to.
        to: GlobalAddress,
        /// How many bytes.
        bytes: u64,
    },
    /// Work on a word and fetch what was there.
    Atomic {
        /// The word.
        at: GlobalAddress,
        /// Its width.
        width: Width,
        /// What to do.
        operator: AtomicOperator,
        /// With what.
        operand: u64,
    },
}

/// An operation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion<L> {
    /// What its submitter calls it.
    pub token: u64,
    /// The word that an atomic found, or why the operation failed.
    pub result: Result<u64, Failure>,
    /// Its local memory, which is free again.
    pub local: Option<L>,
}

/// A write whose bytes are not captured yet: to be [captured](crate::Conversations::capture) before anything else happens but
/// [sending it](crate::Conversations::poll_transmit_gathered) and taking in what has come.
#[derive(Clone, Copy, Debug)]
#[must_use = "the bytes are captured last"]
pub struct Injection<'a> {
    pub(crate) peer: PeerIndex,
    /// Its number among the operations; none if it has ended at once.
    pub(crate) operation: Option<u32>,
    pub(crate) bytes: &'a [u8],
}

impl Injection<'_> {
    /// How many bytes are written.
    pub fn bytes(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// The bytes.
    pub fn source(&self) -> &[u8] {
        self.bytes
    }
}

/// A word that is written when all bytes of a write are there: whoever sees the word sees them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signal {
    /// Where to; of the rank that is written to.
    pub at: GlobalAddress,
    /// What, as it lies in memory.
    pub word: [u8; 8],
}

/// Something about a peer that the user should know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A rank was heard of, or is about to be written to, that nobody has connected to: how large datagrams may be is not known.
    Met(PeerIndex, Rank),
    /// A peer that owes a sign of life has given none for the failure limit: [`Conversations::handle_liveness`](crate::Conversations::handle_liveness) is to say what is known of it.
    /// Until then, operations on it stay pending, and the question is asked again after each failure limit.
    Silent(Rank),
    /// A peer is lost: it was silent for the failure limit, and nobody knows that it is alive.
    Lost(Rank),
    /// A peer is alive, and yet nothing has come of it for [`UNREACHABLE_AFTER_LIMITS`] failure limits.
    Unreachable(Rank),
}

/// What is known of a peer besides its silence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Liveness {
    /// Nothing: its silence is its loss.
    Unknown,
    /// Somebody who would know says that it is alive.
    Alive,
    /// It is gone.
    Lost,
}

/// There is no room for another operation to this peer: fetch what has come, then try again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

/// Why a datagram changed nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rejected {
    /// It was not made with the job's key for this rank, or was altered.
    Forged,
    /// It names no rank of the job, a lost rank, or another process of a rank than the one that spoke first.
    Foreign,
    /// It was executed before.
    Duplicate,
    /// It came before what it waits for.
    Early,
    /// It makes no sense.
    Malformed,
}

/// A datagram that lies in the buffer, to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmit {
    /// To whom.
    pub to: Rank,
    /// The same, as the rank knows it.
    pub peer: PeerIndex,
    /// How long it is.
    pub bytes: usize,
    /// Whether there may be more for this peer.
    pub more: bool,
    /// The bytes of an injection that are not in the buffer; only [`poll_transmit_gathered`](crate::Conversations::poll_transmit_gathered)
    /// leaves any out.
    pub gap: Option<Gap>,
}

/// Bytes of an injection that belong to a datagram and are not copied to its buffer: the datagram is the first `at` bytes of the buffer, these
/// bytes, and what follows in the buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// Where in the datagram they belong.
    pub at: usize,
    /// Where in the injection they begin.
    pub from: usize,
    /// How many they are.
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
