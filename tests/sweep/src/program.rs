//! Which programs exist, what each needs, and how a rank fails in one.

use pelago_messaging::{Channel, Mailbox};

/// What the ranks of a scenario do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    /// Each puts to its right neighbour, then counts up a word there.
    Ring,
    /// They meet by all algorithms, in any order.
    Barriers,
    /// Each counts up words of any rank.
    Atomics,
    /// They take a lock by turns.
    Locks,
    /// They put, get and copy between all of them.
    Copies,
    /// Each orders operations on several ranks behind each other.
    Chains,
    /// They combine and distribute values.
    Collectives,
    /// All send to the mailbox of one.
    Mailboxes,
    /// Each sends to its right neighbour through a channel.
    Channels,
    /// They exchange the halos of distributed arrays.
    Halos,
    /// They put by one network, another or both at once, each behind what it is to come behind, and exchange halos so.
    Rails,
    /// They run plans of collective operations, again and again.
    Plans,
    /// They use tables, rows, lists and memory of each other.
    Containers,
    /// They share variables and a region.
    Shared,
    /// They are a program in C that uses one group of ACP's functions.
    Acp(Group),
}

/// Functions of ACP that a program in C uses: `tests/sweep/c/acp.c` has one part for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// `acp_sync`, many times.
    Sync,
    /// Channels.
    Channels,
    /// Segment buffers.
    Segments,
    /// Copies with orders.
    Orders,
    /// Atomics on starter memory and on registered memory.
    Atomics,
    /// Registration.
    Registrations,
    /// Maps, sets and multisets.
    Tables,
    /// Vectors, deques, lists and the allocator.
    Rows,
}

impl Program {
    /// Every program.
    pub const ALL: [Self; 22] = [
        Self::Ring,
        Self::Barriers,
        Self::Atomics,
        Self::Locks,
        Self::Copies,
        Self::Chains,
        Self::Collectives,
        Self::Mailboxes,
        Self::Channels,
        Self::Halos,
        Self::Rails,
        Self::Plans,
        Self::Containers,
        Self::Shared,
        Self::Acp(Group::Sync),
        Self::Acp(Group::Channels),
        Self::Acp(Group::Segments),
        Self::Acp(Group::Orders),
        Self::Acp(Group::Atomics),
        Self::Acp(Group::Registrations),
        Self::Acp(Group::Tables),
        Self::Acp(Group::Rows),
    ];

    /// How many of them, the first, use operations alone, and how many after them send messages or exchange halos.
    pub(crate) const OPERATIONS: usize = 7;
    pub(crate) const MESSAGES: usize = 3;

    /// Those that write words again and again, one for each library at least: on networks where only one thing goes wrong, and all of it.
    pub const REPEATING: [Self; 17] = [
        Self::Barriers,
        Self::Acp(Group::Sync),
        Self::Collectives,
        Self::Acp(Group::Channels),
        Self::Plans,
        Self::Acp(Group::Segments),
        Self::Mailboxes,
        Self::Acp(Group::Orders),
        Self::Channels,
        Self::Acp(Group::Atomics),
        Self::Halos,
        Self::Acp(Group::Registrations),
        Self::Containers,
        Self::Acp(Group::Tables),
        Self::Shared,
        Self::Acp(Group::Rows),
        Self::Chains,
    ];

    /// What it is called.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ring => "ring",
            Self::Barriers => "barriers",
            Self::Atomics => "atomics",
            Self::Locks => "locks",
            Self::Copies => "copies",
            Self::Chains => "chains",
            Self::Collectives => "collectives",
            Self::Mailboxes => "mailboxes",
            Self::Channels => "channels",
            Self::Halos => "halos",
            Self::Rails => "rails",
            Self::Plans => "plans",
            Self::Containers => "containers",
            Self::Shared => "dsm",
            Self::Acp(Group::Sync) => "acp-sync",
            Self::Acp(Group::Channels) => "acp-channels",
            Self::Acp(Group::Segments) => "acp-segments",
            Self::Acp(Group::Orders) => "acp-orders",
            Self::Acp(Group::Atomics) => "acp-atomics",
            Self::Acp(Group::Registrations) => "acp-registrations",
            Self::Acp(Group::Tables) => "acp-tables",
            Self::Acp(Group::Rows) => "acp-rows",
        }
    }

    /// Whether it knows what to do about a rank that dies.
    pub(crate) const fn knows_of_death(self) -> bool {
        !matches!(self, Self::Rails | Self::Plans | Self::Containers | Self::Shared | Self::Acp(_))
    }

    /// Whether it is a program in C.
    pub const fn is_c(self) -> bool {
        matches!(self, Self::Acp(_))
    }
}

/// Where messages of a program are.
pub(crate) enum Room<'w> {
    Empty,
    Mailbox(Box<Mailbox<'w>>),
    /// From each member to its right neighbour.
    Channels(Vec<Channel<'w>>),
}

/// What a program needs of each rank.
#[derive(Clone, Copy, Default)]
pub(crate) struct Memory {
    pub(crate) words: usize,
    pub(crate) bytes: usize,
}

/// Why a rank did not come to the end of its program.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Trouble {
    /// The library reported something.
    #[error(transparent)]
    Library(#[from] pelago_rma::Error),
    /// Something is not as it must be.
    #[error("{0}")]
    Violated(String),
}

/// Fails with a message unless a condition holds.
macro_rules! demand {
    ($condition:expr, $($message:tt)+) => {
        if !$condition {
            return Err($crate::program::Trouble::Violated(format!($($message)+)));
        }
    };
}
pub(crate) use demand;
