//! One way to reach other ranks' memory.

use pelago_base::{AtomicOperator, Duration, GlobalAddress, Instant, Rank, Width};
use pelago_memory::Cells;

/// One way to reach other ranks' memory.
///
/// Contract; each clause is a test of the conformance suite in `transport/kit`:
/// - T1 bounded: `post` never blocks; `Full` means: progress, then post again.
/// - T2 captured: the bytes of a `Write` may be reused when `post` returns; the local memory of a `Put` or `Get` when it completes.
/// - T3 once: an accepted operation takes effect exactly once, and completes exactly once.
/// - T4 visible: completed means visible to every rank that looks afterwards.
/// - T5 unordered: operations to one peer are ordered only by `fence`; to two peers never.
/// - T6 finite: a lost peer completes all its operations, with `PeerLost` unless they took effect before; nothing waits for ever.
/// - T7 timeless: time comes in as `now`; same inputs, same outputs.
/// - T8 checked: an address outside registered memory completes with `OutOfBounds` and changes nothing.
/// - T9 several ways: what `leads` says of a rail, `connect_by` does. Endpoints of one peer on several rails are as those of several
///   peers: nothing orders them, and each completes what was posted to it.
///
/// Every transport performs every operation; what the network lacks it does by other means. [`Capabilities`] says what things
/// cost, never what exists.
pub trait Transport: Send {
    /// What operations cost here.
    fn capabilities(&self) -> &Capabilities;

    /// How others reach this end; published through `Bootstrap`.
    fn address(&self) -> Address;

    /// Prepares to reach `peer`. Calling it again returns the same endpoint.
    ///
    /// # Errors
    /// The address is not one of this transport, or the table of endpoints is full.
    fn connect(&mut self, peer: Rank, address: &Address) -> Result<Endpoint, ConnectError>;

    /// The networks by which it reaches peers, one or more, by their numbers; what operations cost on each.
    fn rails(&self) -> &[Capabilities] {
        std::slice::from_ref(self.capabilities())
    }

    /// The rail that what is posted to an endpoint of `connect` takes to `peer`, or most of it, where that depends on what it is.
    fn rail_to(&self, peer: Rank) -> Rail {
        let _ = peer;
        Rail::FIRST
    }

    /// Whether `rail` reaches `peer`.
    fn leads(&self, rail: Rail, peer: Rank) -> bool {
        rail == self.rail_to(peer)
    }

    /// As [`connect`](Self::connect), by a rail of the caller's choice. What is posted to the endpoint goes by that rail alone.
    ///
    /// # Errors
    /// As there; the rail does not lead to `peer`.
    fn connect_by(&mut self, rail: Rail, peer: Rank, address: &Address) -> Result<Endpoint, ConnectError> {
        if rail == self.rail_to(peer) { self.connect(peer, address) } else { Err(ConnectError::Unreachable(peer)) }
    }

    /// Lets other ranks reach `memory` by the addresses of this rank from `start` on, until `deregister`. Any number of regions may be
    /// registered, in any order; registering one takes O(log n). A heap is registered as a whole.
    ///
    /// # Errors
    /// Some addresses lead to other memory or are not of one segment of this rank, or the system refuses.
    fn register(&mut self, start: GlobalAddress, memory: Cells<'static>) -> Result<(), RegisterError>;

    /// Ends a registration by its first address. Returns `false` while a peer is still inside: progress, then call again. Other
    /// registrations are as they were.
    fn deregister(&mut self, start: GlobalAddress) -> bool;

    /// Starts an operation; its completion carries `token`.
    ///
    /// # Errors
    /// `Full` for want of room; `Unknown` for an endpoint that `connect` did not return.
    fn post(&mut self, now: Instant, to: Endpoint, operation: Operation<'_>, token: Token) -> Result<(), PostError>;

    /// The longest transfer whose bytes are moved. Longer ones may be posted as [`post_size`](Self::post_size), to spare their poster and
    /// the transport the bytes. `u64::MAX`, as everywhere but in a simulation of sizes: all are moved.
    fn data_bytes_max(&self) -> u64 {
        u64::MAX
    }

    /// As [`post`](Self::post), for a transfer of which only the size travels: it takes its time, is ordered, checked and completed as any other,
    /// and no byte of either end is read or written.
    ///
    /// # Errors
    /// As `post`; `Sizes` if this transport moves bytes.
    fn post_size(&mut self, now: Instant, to: Endpoint, transfer: Transfer, token: Token) -> Result<(), PostError> {
        let _ = (now, to, transfer, token);
        Err(PostError::Sizes)
    }

    /// Orders operations: those posted to `to` before take effect before those posted after.
    fn fence(&mut self, to: Endpoint);

    /// As long as it is held, what is posted may wait for what is posted next, so that both leave in one message. What was held leaves when it
    /// is no longer, or at the next `progress`.
    fn hold(&mut self, now: Instant, held: bool) {
        let _ = (now, held);
    }

    /// Moves what can be moved and appends what completed; returns whether anything moved.
    fn progress(&mut self, now: Instant, completed: &mut Vec<Completion>) -> bool;

    /// When `progress` wants to be called next even if nothing arrives.
    fn next_deadline(&self) -> Option<Instant>;

    /// The caller is about to sleep: until the next `progress`, what arrives is seen to by whoever serves the rank then, if anybody does.
    fn before_sleep(&mut self) {}

    /// `rank` is known to be gone: its operations complete without further tries (T6).
    fn lose(&mut self, now: Instant, rank: Rank) {
        let _ = (now, rank);
    }

    /// The two-sided messages that this network has besides, if any.
    fn two_sided(&mut self) -> Option<&mut dyn TwoSided> {
        None
    }
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

#[deny(clippy::missing_trait_methods)]
impl<T: Transport + ?Sized> Transport for Box<T> {
    crate::delegate! { self => (**self);
        capabilities address connect rails rail_to leads connect_by register deregister post data_bytes_max post_size fence hold progress
        next_deadline before_sleep lose two_sided
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
/// An operation is posted to the endpoint of the rank that `at`, `from` or `to` names; a `Copy` to that of the owner of `from`,
/// which moves the bytes directly to the owner of `to`.
#[derive(Clone, Copy, Debug)]
pub enum Operation<'a> {
    /// Writes bytes that are captured before `post` returns; at most [`Capabilities::write_bytes_max`].
    Write {
        /// Where to.
        to: GlobalAddress,
        /// What.
        bytes: &'a [u8],
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

/// Why an accepted operation had no effect, or none that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Failure {
    /// The peer is gone; whether the operation took effect there is unknown.
    #[error("{0} was lost")]
    PeerLost(Rank),
    /// The peer is alive, but nothing has come of it for too long; whether the operation took effect there is unknown.
    #[error("{0} is alive but cannot be reached: nothing of it has come for many times the failure limit")]
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
}

/// What operations cost, for choosing between transports.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Capabilities {
    /// What the transport is called.
    pub name: &'static str,
    /// The longest `Write` in bytes.
    pub write_bytes_max: usize,
    /// From posting a small put to its completion.
    pub latency: Duration,
    /// Bytes per second of a long put.
    pub bytes_per_second: f64,
    /// Whether atomics need the target's processor.
    pub atomics_by_agent: bool,
}

/// A peer cannot be reached.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The address belongs to another transport or is malformed.
    #[error("{0:?} is not an address of this transport")]
    Address(Address),
    /// This transport does not lead to that rank.
    #[error("{0} cannot be reached by this transport")]
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
    /// The transport moves bytes, not only sizes.
    #[error("this transport moves bytes, not only sizes")]
    Sizes,
    /// A `Write` is longer than the transport captures.
    #[error("a write of {0} bytes is longer than this transport captures")]
    TooLong(usize),
}
