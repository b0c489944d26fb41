//! One way to reach other ranks' memory.

pub use pelago_base::Failure;
use pelago_base::{AtomicOperator, Blocks, GlobalAddress, Instant, Rank, Shape, Width};
use pelago_memory::{Cells, Region};

use crate::Capabilities;

/// One way to reach other ranks' memory.
///
/// Contract; each clause is a test of the conformance suite in `transport/kit`:
/// - T1 bounded: `post` never blocks; `Full` means: progress, then post again.
/// - T2 captured: the bytes of a `Write` or `Signalled` may be reused when `post` returns; the local memory of a `Put` or `Get` when it completes.
/// - T3 once: an accepted operation takes effect exactly once, and completes exactly once.
/// - T4 visible: completed means visible to every rank that looks afterwards.
/// - T5 unordered: operations to one peer are ordered only by [`Flags::fence`]; to two peers never.
/// - T6 finite: a lost peer completes all its operations, with `PeerLost` unless they took effect before; nothing waits for ever.
/// - T7 timeless: time comes in as `now`; same inputs, same outputs.
/// - T8 checked: an address outside registered memory completes with `OutOfBounds` and changes nothing.
/// - T9 rails: what `is_reachable` says of a rail, `connect` by it does. Endpoints of one peer on several rails are as those of several
///   peers: nothing orders them, and each completes what was posted to it.
/// - T10 waking: an operation that has written to a rank's memory wakes that rank ([`Wait`](crate::Wait), W1), if it was posted with
///   [`Flags::notify`] or the network [wakes by itself](Capabilities::wakes_target). The rank then finds what was written.
/// - T11 atomic: an atomic excludes every other on its word, whether a network or a core performs them. A network whose atomics are not
///   [coherent](crate::NativeAtomics::coherent) with those of cores leaves them to a core of the owner.
/// - T12 sizes: a transfer of at most [`message_bytes_max`](Capabilities::message_bytes_max) bytes is accepted as one operation.
/// - T13 blocks: by a rail whose [`blocks_max`](Capabilities::blocks_max) is not 0, a `PutBlocks` or `GetBlocks` of any shape, or of a list of up to so
///   many blocks, is accepted as one operation. (Those of a shape do not overlap. Those of a list may, as far as they have no more than
///   [`OVERLAPPING_BYTES_MAX`](pelago_base::limits::OVERLAPPING_BYTES_MAX) bytes, or than they reach over.) It changes nothing unless all bytes from the lowest of its blocks to the highest, gaps included,
///   are of one registration (T8). By other rails it is refused.
/// - T14 signalled: a `Signalled` of at least [`signalled_bytes_min`](Capabilities::signalled_bytes_min) bytes that a `Write` may have is accepted by a rail;
///   a shorter one, and any by other rails, is refused. If its bytes lead nowhere, its word is not written.
///
/// Every transport performs every operation; what the network lacks it does by other means. [`Capabilities`] says what things
/// cost, never what exists. No method has a body of its own, so that a wrapper forgets none.
pub trait Transport: Send {
    /// Who can be reached, and how.
    fn network(&mut self) -> &mut dyn Network;

    /// What of this rank's memory others reach.
    fn memory(&mut self) -> &mut dyn Registry;

    /// Starts an operation; its completion carries `token`.
    ///
    /// # Errors
    /// `Full` for want of room; `Unknown` for an endpoint that `connect` did not return; `TooLong` for a `Write` or `Signalled` beyond
    /// [`inject_size`](Capabilities::inject_size), or another transfer beyond [`message_bytes_max`](Capabilities::message_bytes_max);
    /// `Signalled` for one that is not taken as one operation (T14); `Sizes`
    /// for a [`Sized`](Operation::Sized) operation, if bytes are moved here; `Blocks` for blocks that are not taken as one operation (T13), or whose
    /// two ends differ.
    fn post(&mut self, now: Instant, to: Endpoint, operation: Operation<'_>, flags: Flags, token: Token)
    -> Result<(), PostError>;

    /// What was posted with [`Flags::more`], and waits for company, leaves.
    fn flush(&mut self, now: Instant);

    /// Moves what can be moved and appends what completed; returns whether anything moved. As `flush` besides.
    fn progress(&mut self, now: Instant, completed: &mut Vec<Completion>) -> bool;

    /// When `progress` wants to be called next even if nothing arrives.
    fn next_deadline(&self) -> Option<Instant>;

    /// The caller is about to sleep: until the next `progress`, what arrives is seen to by whoever serves the rank then, if anybody does.
    fn before_sleep(&mut self);

    /// The two-sided messages that this network has besides, if any.
    fn two_sided(&mut self) -> Option<&mut dyn TwoSided>;
}

/// Who can be reached by a transport, and how.
pub trait Network {
    /// What operations cost by endpoints that are connected without a rail; and the name under which [`address`](Self::address) is published.
    fn capabilities(&self) -> &Capabilities;

    /// The networks by which it reaches peers, one or more, by their numbers; what operations cost on each.
    fn rails(&self) -> &[Capabilities] {
        std::slice::from_ref(self.capabilities())
    }

    /// How others reach this end; published through `Bootstrap`.
    fn address(&self) -> Address;

    /// The rail that what is posted to an endpoint without one takes to `peer`, or most of it, where that depends on what it is.
    fn rail_to(&mut self, peer: Rank) -> Rail {
        let _ = peer;
        Rail::FIRST
    }

    /// Whether `rail` reaches `peer`.
    fn is_reachable(&mut self, rail: Rail, peer: Rank) -> bool {
        rail == self.rail_to(peer)
    }

    /// The rail whose endpoint of `from` a `Copy` from there to `to` is posted to, where the endpoint without a rail does not lead to both.
    fn rail_of_copy(&mut self, from: Rank, to: Rank) -> Option<Rail> {
        let _ = (from, to);
        None
    }

    /// Prepares to reach `peer`, by a rail of the caller's choice or as is best. What is posted to the endpoint of a rail goes by that rail alone.
    /// Calling it again returns the same endpoint.
    ///
    /// # Errors
    /// The address is not one of this transport, the table of endpoints is full, or the rail does not reach the peer.
    fn connect(&mut self, rail: Option<Rail>, peer: Rank, address: &Address) -> Result<Endpoint, ConnectError>;

    /// `peer` is known to be gone: its operations complete without further tries (T6).
    fn peer_failed(&mut self, now: Instant, peer: Rank) {
        let _ = (now, peer);
    }
}

/// What of a rank's memory others reach by a transport.
pub trait Registry {
    /// Lets other ranks reach `memory` by the addresses of this rank from `start` on, until `deregister`. Any number of regions may be
    /// registered, in any order; registering one takes O(log n). A heap is registered as a whole.
    ///
    /// Every transport takes memory of every [kind](pelago_memory::MemoryKind): what cannot reach that of a device by itself asks its owner, whose
    /// driver moves the bytes.
    ///
    /// # Errors
    /// Some addresses lead to other memory or are not of one segment of this rank, or the system refuses.
    fn register(&mut self, start: GlobalAddress, memory: Region<'static>) -> Result<(), RegisterError>;

    /// Ends a registration by its first address. Returns `false` while a peer is still inside: progress, then call again. Other
    /// registrations are as they were.
    fn deregister(&mut self, start: GlobalAddress) -> bool;
}

/// How an operation is posted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags {
    /// All that was posted to this endpoint before takes effect before this operation and whatever is posted later. It holds from this call on,
    /// also if the operation is refused with `Full`.
    pub fence: bool,
    /// It may wait for what is posted next, so that both leave in one message: until something is posted without this flag, or
    /// [`flush`](Transport::flush).
    pub more: bool,
    /// When it has taken effect, the rank whose memory it writes to is woken. Without effect where
    /// [every write wakes](Capabilities::wakes_target), and for a `Get`. Elsewhere it costs what the network has for it: immediate data, a
    /// counter, or a message behind the operation; those posted with [`more`](Self::more) may share one.
    pub notify: bool,
}

impl Flags {
    /// In no order, at once, and without notification.
    pub const NONE: Self = Self { fence: false, more: false, notify: false };

    /// In order.
    pub const FENCE: Self = Self { fence: true, ..Self::NONE };

    /// With a notification.
    pub const NOTIFY: Self = Self { notify: true, ..Self::NONE };
}

/// Messages that their receiver takes in, as a network has them by itself: with what it does when a receiver has no room for them.
///
/// Nothing of the library is built on them. They are here so that programs may compare.
///
/// - S1 A message arrives whole, and at most once; in no order.
/// - S2 What does not arrive is told to its sender if the network notices, and to nobody if it does not.
pub trait TwoSided {
    /// Sends bytes, which are captured, to the rank of an endpoint; a completion carries `token`. Fences order operations, and no messages.
    ///
    /// # Errors
    /// As [`Transport::post`].
    fn send(&mut self, now: Instant, to: Endpoint, bytes: &[u8], token: Token) -> Result<(), PostError>;

    /// Takes the next message that has arrived, and who sent it; the network has room for another then.
    fn take(&mut self) -> Option<(Rank, Box<[u8]>)>;
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

    fn two_sided(&mut self) -> Option<&mut dyn TwoSided> {
        (**self).two_sided()
    }
}

/// One peer through one transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Endpoint(pub u32);

/// One of the networks of a transport, by its number: 0 to [`MAX`](Self::MAX) − 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rail(u8);

impl Rail {
    /// The rail of a transport that has but one.
    pub const FIRST: Self = Self(0);

    /// Rails of a transport at most.
    pub const MAX: usize = 16;

    /// The rail of a number; `None` beyond the last that any transport may have.
    pub const fn new(number: usize) -> Option<Self> {
        if number < Self::MAX { Some(Self(number as u8)) } else { None }
    }

    /// Its number.
    pub const fn number(self) -> usize {
        self.0 as usize
    }
}

/// What the poster calls an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Token(pub u64);

/// How to reach a transport's end, as its own transport understands it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address(pub Vec<u8>);

/// What to do.
///
/// An operation is posted to the endpoint of the rank that `at`, `from` or `to` names; a `Copy` to that of the owner of `from`
/// (by the rail that [`Network::rail_of_copy`] says), which moves the bytes directly to the owner of `to`.
#[derive(Clone, Copy, Debug)]
pub enum Operation<'a> {
    /// Writes bytes that are captured before `post` returns; at most [`Capabilities::inject_size`].
    Write {
        /// Where to.
        to: GlobalAddress,
        /// What.
        bytes: &'a [u8],
    },
    /// As `Write`, and then sets a word of 8 bytes of the same rank, as an atomic would: whoever sees the word sees the bytes. It completes when both
    /// are there (T14).
    Signalled {
        /// Where to.
        to: GlobalAddress,
        /// What.
        bytes: &'a [u8],
        /// Where the word goes; a multiple of 8.
        at: GlobalAddress,
        /// The word.
        word: u64,
    },
    /// Moves local memory to another rank. The memory stays valid until completion: it is the poster's promise.
    Put {
        /// Local memory.
        from: Cells<'static>,
        /// Where to.
        to: GlobalAddress,
    },
    /// Moves another rank's memory to local memory. The memory stays valid until completion: it is the poster's promise.
    Get {
        /// Where from.
        from: GlobalAddress,
        /// Local memory.
        to: Cells<'static>,
    },
    /// As `Put`, from blocks of local memory onto blocks of another rank's (T13).
    PutBlocks {
        /// Local memory.
        from: Cells<'static>,
        /// Which bytes of it, in which order.
        from_shape: &'a Shape,
        /// From where the places of blocks count.
        to: GlobalAddress,
        /// Onto which bytes, as many. Those of a shape do not overlap.
        blocks: Blocks<'a>,
    },
    /// As `Get`, from blocks of another rank's memory onto blocks of local memory (T13).
    GetBlocks {
        /// From where the places of blocks count.
        from: GlobalAddress,
        /// Which bytes, in which order. Those of a shape do not overlap.
        blocks: Blocks<'a>,
        /// Local memory.
        to: Cells<'static>,
        /// Onto which bytes of it, as many.
        to_shape: &'a Shape,
    },
    /// Moves bytes between any two ranks.
    Copy {
        /// Where from.
        from: GlobalAddress,
        /// Where to.
        to: GlobalAddress,
        /// How many bytes.
        bytes: u64,
    },
    /// Works on one word and returns what was there.
    Atomic {
        /// The word; a multiple of its width.
        at: GlobalAddress,
        /// Its width.
        width: Width,
        /// What to do.
        operator: AtomicOperator,
        /// With what.
        operand: u64,
    },
    /// A transfer of which only the size travels: it takes its time, is ordered, checked and completed as any other, and no byte of either end is
    /// read or written. Only where [`Capabilities::data_bytes_max`] says so, in a simulation of sizes.
    Sized(Transfer),
}

/// A transfer without its bytes, posted as the [`Operation`] of the same name would be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transfer {
    /// From the poster to another rank.
    Put {
        /// Where to.
        to: GlobalAddress,
        /// How many bytes.
        bytes: u64,
    },
    /// From another rank to the poster.
    Get {
        /// Where from.
        from: GlobalAddress,
        /// How many bytes.
        bytes: u64,
    },
    /// Between any two ranks.
    Copy {
        /// Where from.
        from: GlobalAddress,
        /// Where to.
        to: GlobalAddress,
        /// How many bytes.
        bytes: u64,
    },
}

/// An operation that ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// What the poster calls it.
    pub token: Token,
    /// The word that an atomic found (0 for other operations), or why the operation failed.
    pub result: Result<u64, Failure>,
}

/// A peer cannot be reached.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The address belongs to another transport or is malformed.
    #[error("{0:?} is not an address of this transport")]
    Address(Address),
    /// This transport does not lead to that rank.
    #[error("rank {0} cannot be reached by this transport")]
    Unreachable(Rank),
}

/// Memory cannot be registered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RegisterError {
    /// Addresses lead to other memory, or are not of one segment of the rank that registers.
    #[error("memory cannot be registered at {0:?}: the addresses lead elsewhere, or there are no such addresses")]
    Addresses(GlobalAddress),
    /// The table of the transport has no room.
    #[error("too many regions are registered: the limit is {0}")]
    Full(usize),
    /// The system refused.
    #[error("the system refused to register memory: {0}")]
    System(String),
}

/// An operation was not accepted and had no effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PostError {
    /// There is no room: progress, then post again.
    #[error("the transport's queue is full")]
    Full,
    /// No such endpoint.
    #[error("{0:?} is not connected")]
    Unknown(Endpoint),
    /// The endpoint does not lead to the rank that a `Copy` moves to: see [`Network::rail_of_copy`].
    #[error("the way to the first rank of a copy does not lead to rank {0}")]
    Elsewhere(Rank),
    /// The transport moves bytes, not only sizes.
    #[error("this transport moves bytes, not only sizes")]
    Sizes,
    /// Blocks are moved one by one by this rail; or they are more than it takes, their two ends differ, or they overlap.
    #[error("this transport does not take these blocks as one operation")]
    Blocks,
    /// The rail does not take so few bytes with a signal, or none at all.
    #[error("this transport does not take these bytes and their signal as one operation")]
    Signalled,
    /// A `Write` is longer than the transport captures, or another transfer than it takes as one operation.
    #[error("{0} bytes are more than this transport takes in one operation of this kind")]
    TooLong(usize),
}
