//! The transport interface: one way to access other ranks' memory.

pub use pelago_base::Failure;
use pelago_base::{AtomicOperator, Blocks, GlobalAddress, Instant, Rank, Shape, Width};
use pelago_memory::{Cells, Region};

use crate::posting::{Endpoint, PostError, Token};
use crate::{Capabilities, Extensions};

/// One way to access other ranks' memory.
///
/// Contract; each clause is a test of the conformance suite in `transport/kit`:
/// - T1 bounded: `post` never blocks; `Full` means: call `progress`, then post again. This rank's transport never has more than
///   [`operations_max`](Capabilities::operations_max) incomplete operations.
/// - T2 captured: the bytes of a `Write` or `Signalled` may be reused when `post` returns; the local memory of a `Put` or `Get` when it completes.
/// - T3 once: an accepted operation takes effect exactly once, and completes exactly once.
/// - T4 visible: when an operation has completed, its effect is visible to every rank that reads afterwards.
/// - T5 unordered: operations to one peer are ordered only by [`Flags::fence`]; operations to different peers are never ordered.
/// - T6 finite: when a peer fails, all operations on it complete, with `PeerLost` unless they took effect before; no operation stays pending
///   for ever.
/// - T7 timeless: time is passed in as `now`; same inputs, same outputs.
/// - T8 checked: an operation on an address outside registered memory completes with `OutOfBounds` and changes nothing.
/// - T9 rails: `connect` by a rail succeeds exactly if `is_reachable` says so. Endpoints of one peer on several rails behave like those of
///   several peers: no order holds between them, and each completes the operations posted to it.
/// - T10 waking: an operation that has written to a rank's memory wakes that rank ([`Wait`](crate::Wait), W1), if it was posted with
///   [`Flags::notify`] or the network [wakes by itself](Capabilities::wakes_target). The rank then sees the written data.
/// - T11 atomic: an atomic excludes every other on its word, whether a network or a core performs them. A network whose atomics are not
///   [coherent](crate::NativeAtomics::coherent) with those of cores leaves them to a core of the owner.
/// - T12 sizes: a transfer of at most [`message_bytes_max`](Capabilities::message_bytes_max) bytes is accepted as one operation.
/// - T13 blocks: a rail whose [`blocks_max`](Capabilities::blocks_max) is not 0 accepts a `PutBlocks` or `GetBlocks` of any shape, or of a list
///   of at most that many blocks, as one operation. (Blocks of a shape do not overlap. Blocks of a list may, if their total size is at most
///   [`OVERLAPPING_BYTES_MAX`](pelago_base::limits::OVERLAPPING_BYTES_MAX) bytes or at most the extent that they span.) The operation changes
///   nothing unless all bytes from its lowest block to its highest, gaps included, belong to one registration (T8). Other rails refuse it.
/// - T14 signalled: a rail accepts a `Signalled` of at least [`signalled_bytes_min`](Capabilities::signalled_bytes_min) bytes, up to the maximum
///   size of a `Write`. It refuses a shorter one, and rails without this capability refuse all. If the address of its bytes is invalid, its
///   word is not written.
///
/// Every transport performs every operation, and emulates what the network lacks. [`Capabilities`] describes costs, never the set of
/// available operations. No method has a default body, so that a wrapper cannot forget one.
pub trait Transport: Send {
    /// Returns the network part: reachable peers and their endpoints.
    fn network(&mut self) -> &mut dyn Network;

    /// Returns the registry of this rank's memory that peers can access.
    fn memory(&mut self) -> &mut dyn Registry;

    /// Starts an operation; its completion carries `token`.
    ///
    /// # Errors
    /// `Full` if the queue has no room; `Unknown` for an endpoint that `connect` did not return; `TooLong` for a `Write` or `Signalled` beyond
    /// [`inject_size`](Capabilities::inject_size), or another transfer beyond [`message_bytes_max`](Capabilities::message_bytes_max);
    /// `Signalled` for a put with signal that is not accepted as one operation (T14); `Sizes` for a [`Sized`](Operation::Sized) operation, if this
    /// transport moves bytes; `Blocks` for blocks that are not accepted as one operation (T13), or whose two ends differ in size.
    fn post(&mut self, now: Instant, to: Endpoint, operation: Operation<'_>, flags: Flags, token: Token)
    -> Result<(), PostError>;

    /// Sends operations that were posted with [`Flags::more`] and are held back to share a message.
    fn flush(&mut self, now: Instant);

    /// Makes progress and appends completions; returns whether it made any. Also flushes, as `flush` does.
    fn progress(&mut self, now: Instant, completed: &mut Vec<Completion>) -> bool;

    /// Returns when `progress` must be called next even if nothing arrives. A transport that keeps operations until others complete names a time, too: a rank
    /// that waits for its memory may not be woken by completions.
    fn next_deadline(&self) -> Option<Instant>;

    /// Called before the caller sleeps: until the next `progress`, the thread that then serves the rank, if any, handles arrivals.
    fn before_sleep(&mut self);

    /// Returns what this network offers besides access to memory, if it offers anything.
    fn extensions(&mut self) -> Option<&mut dyn Extensions>;
}

/// The peers that a transport reaches, and their endpoints.
pub trait Network {
    /// Returns the capabilities of endpoints that are connected without a rail, and the name under which [`address`](Self::address) is published.
    fn capabilities(&self) -> &Capabilities;

    /// Returns the capabilities of each rail, indexed by rail number; at least one.
    fn rails(&self) -> &[Capabilities] {
        std::slice::from_ref(self.capabilities())
    }

    /// Returns the address of this endpoint for peers; published through `Bootstrap`.
    fn address(&self) -> Address;

    /// Returns the rail that operations posted to an endpoint without a rail take to `peer`; the rail that most of them take, if that depends on
    /// the operation.
    fn rail_to(&mut self, peer: Rank) -> Rail {
        let _ = peer;
        Rail::FIRST
    }

    /// Whether `rail` reaches `peer`.
    fn is_reachable(&mut self, rail: Rail, peer: Rank) -> bool {
        rail == self.rail_to(peer)
    }

    /// Returns the rail whose endpoint of `from` takes a `Copy` from `from` to `to`, if the endpoint without a rail does not reach both.
    fn rail_of_copy(&mut self, from: Rank, to: Rank) -> Option<Rail> {
        let _ = (from, to);
        None
    }

    /// Connects to `peer`, by a rail of the caller's choice or by the best one. Operations posted to the endpoint of a rail use that rail alone.
    /// A repeated call returns the same endpoint.
    ///
    /// # Errors
    /// The address is not one of this transport, the table of endpoints is full, or the rail does not reach the peer.
    fn connect(&mut self, rail: Option<Rail>, peer: Rank, address: &Address) -> Result<Endpoint, ConnectError>;

    /// Records that `peer` has failed: operations on it complete without further tries (T6).
    fn peer_failed(&mut self, now: Instant, peer: Rank) {
        let _ = (now, peer);
    }
}

/// The memory of a rank that peers access through a transport.
pub trait Registry {
    /// Makes `memory` accessible to other ranks at this rank's addresses from `start` on, until `deregister`. Any number of regions may be
    /// registered, in any order; one registration takes O(log n). A heap is registered as a whole.
    ///
    /// Every transport accepts memory of every [kind](pelago_memory::MemoryKind): a transport that cannot access device memory directly asks the
    /// owner, whose driver moves the bytes.
    ///
    /// # Errors
    /// Some addresses are already registered for other memory or do not belong to one segment of this rank, or the system refuses.
    fn register(&mut self, start: GlobalAddress, memory: Region<'static>) -> Result<(), RegisterError>;

    /// Ends the registration that starts at `start`. Returns `false` while a peer still accesses the memory: call `progress`, then try again.
    /// Other registrations are not affected.
    fn deregister(&mut self, start: GlobalAddress) -> bool;
}

/// How an operation is posted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags {
    /// Whether all operations posted to this endpoint before take effect before this operation and all later ones. The fence takes effect even
    /// if the transport refuses the operation with `Full`.
    pub fence: bool,
    /// Whether the operation may be held back to share a message with later ones, until an operation is posted without this flag or
    /// [`flush`](Transport::flush) is called.
    pub more: bool,
    /// Whether the operation wakes the rank whose memory it writes to, after it has taken effect. Without effect where
    /// [every write wakes](Capabilities::wakes_target), and for a `Get`. Elsewhere it costs what the network needs for it: immediate data, a
    /// counter, or a message after the operation; operations posted with [`more`](Self::more) may share one.
    pub notify: bool,
}

impl Flags {
    /// Unordered, sent at once, and without notification.
    pub const NONE: Self = Self { fence: false, more: false, notify: false };

    /// With a fence.
    pub const FENCE: Self = Self { fence: true, ..Self::NONE };

    /// With a notification.
    pub const NOTIFY: Self = Self { notify: true, ..Self::NONE };
}

impl<T: Transport + ?Sized> Transport for Box<T> {
    fn network(&mut self) -> &mut dyn Network {
        (**self).network()
    }

    fn memory(&mut self) -> &mut dyn Registry {
        (**self).memory()
    }

    fn post(
        &mut self,
        now: Instant,
        to: Endpoint,
        operation: Operation<'_>,
        flags: Flags,
        token: Token,
    ) -> Result<(), PostError> {
        (**self).post(now, to, operation, flags, token)
    }

    fn flush(&mut self, now: Instant) {
        (**self).flush(now);
    }

    fn progress(&mut self, now: Instant, completed: &mut Vec<Completion>) -> bool {
        (**self).progress(now, completed)
    }

    fn next_deadline(&self) -> Option<Instant> {
        (**self).next_deadline()
    }

    fn before_sleep(&mut self) {
        (**self).before_sleep();
    }

    fn extensions(&mut self) -> Option<&mut dyn Extensions> {
        (**self).extensions()
    }
}

/// Number of one of the networks of a transport: 0 to [`MAX`](Self::MAX) − 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rail(u8);

impl Rail {
    /// The rail of a transport that has only one.
    pub const FIRST: Self = Self(0);

    /// Maximum number of rails of a transport.
    pub const MAX: usize = 16;

    /// Returns the rail of a number; `None` if the number is [`MAX`](Self::MAX) or more.
    pub const fn new(number: usize) -> Option<Self> {
        if number < Self::MAX { Some(Self(number as u8)) } else { None }
    }

    /// Returns the number of the rail.
    pub const fn number(self) -> usize {
        self.0 as usize
    }
}

/// Address of a transport endpoint, in the format of that transport.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address(pub Vec<u8>);

/// An operation to post.
///
/// An operation is posted to the endpoint of the rank that `at`, `from` or `to` names. A `Copy` is posted to the endpoint of the owner of
/// `from` (by the rail that [`Network::rail_of_copy`] returns), which moves the bytes directly to the owner of `to`.
#[derive(Clone, Copy, Debug)]
pub enum Operation<'a> {
    /// Writes bytes that are captured before `post` returns; at most [`Capabilities::inject_size`].
    Write {
        /// Destination.
        to: GlobalAddress,
        /// The bytes.
        bytes: &'a [u8],
    },
    /// As `Write`, and then sets a word of 8 bytes of the same rank, as an atomic would: a rank that sees the word also sees the bytes. Completes
    /// when both have been written (T14).
    Signalled {
        /// Destination.
        to: GlobalAddress,
        /// The bytes.
        bytes: &'a [u8],
        /// Address of the word; a multiple of 8.
        at: GlobalAddress,
        /// Value of the word.
        word: u64,
    },
    /// Moves local memory to another rank. The poster guarantees that the memory stays valid until completion.
    Put {
        /// Local memory.
        from: Cells<'static>,
        /// Destination.
        to: GlobalAddress,
    },
    /// Moves another rank's memory to local memory. The poster guarantees that the local memory stays valid until completion.
    Get {
        /// Source.
        from: GlobalAddress,
        /// Local memory.
        to: Cells<'static>,
    },
    /// As `Put`, from blocks of local memory to blocks of another rank's memory (T13).
    PutBlocks {
        /// Local memory.
        from: Cells<'static>,
        /// Blocks of the local memory, in order.
        from_shape: &'a Shape,
        /// Address to which the offsets of the blocks are relative.
        to: GlobalAddress,
        /// Destination blocks, with the same total size. Blocks of a shape do not overlap.
        blocks: Blocks<'a>,
    },
    /// As `Get`, from blocks of another rank's memory to blocks of local memory (T13).
    GetBlocks {
        /// Address to which the offsets of the blocks are relative.
        from: GlobalAddress,
        /// Source blocks, in order. Blocks of a shape do not overlap.
        blocks: Blocks<'a>,
        /// Local memory.
        to: Cells<'static>,
        /// Destination blocks of the local memory, with the same total size.
        to_shape: &'a Shape,
    },
    /// Moves bytes between any two ranks.
    Copy {
        /// Source.
        from: GlobalAddress,
        /// Destination.
        to: GlobalAddress,
        /// Number of bytes.
        bytes: u64,
    },
    /// Performs an atomic on one word and returns its previous value.
    Atomic {
        /// Address of the word; a multiple of its width.
        at: GlobalAddress,
        /// Width of the word.
        width: Width,
        /// Operator of the atomic.
        operator: AtomicOperator,
        /// Operand of the operator.
        operand: u64,
    },
    /// A transfer that simulates only its size: it takes the same time and is ordered, checked and completed like any other, but no byte of
    /// either end is read or written. Accepted only where [`Capabilities::data_bytes_max`] says so, in a simulation of sizes.
    Sized(Transfer),
}

/// A transfer without its bytes, posted as the [`Operation`] of the same name would be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transfer {
    /// From the poster to another rank.
    Put {
        /// Destination.
        to: GlobalAddress,
        /// Number of bytes.
        bytes: u64,
    },
    /// From another rank to the poster.
    Get {
        /// Source.
        from: GlobalAddress,
        /// Number of bytes.
        bytes: u64,
    },
    /// Between any two ranks.
    Copy {
        /// Source.
        from: GlobalAddress,
        /// Destination.
        to: GlobalAddress,
        /// Number of bytes.
        bytes: u64,
    },
}

/// An operation that ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The poster's identifier of the operation.
    pub token: Token,
    /// Previous value of the word of an atomic (0 for other operations), or the failure.
    pub result: Result<u64, Failure>,
}

/// A peer cannot be reached.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The address belongs to another transport or is malformed.
    #[error(
        "the address of a peer ({} bytes) is of another transport or fabric than this rank's, or damaged: PELAGO_TRANSPORT and PELAGO_FABRIC have to \
         be the same for all ranks",
        .0.0.len()
    )]
    Address(Address),
    /// This transport has no route to that rank.
    #[error("rank {0} cannot be reached by this transport")]
    Unreachable(Rank),
}

/// Memory cannot be registered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RegisterError {
    /// Some addresses are registered for other memory, or do not belong to one segment of the registering rank.
    #[error("memory cannot be registered at {0:?}: the addresses lead elsewhere, or there are no such addresses")]
    Addresses(GlobalAddress),
    /// The table of the transport has no room.
    #[error("too many regions are registered: the limit is {0}")]
    Full(usize),
    /// The system refused.
    #[error("the system refused to register memory: {0}")]
    System(String),
}
