//! The programs, their requirements, and the failures of a rank in a program.

use pelago_messaging::{Channel, Mailbox};

/// A program of the ranks of a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    /// Each rank puts to its right neighbour, then increments a word there.
    Ring,
    /// The ranks synchronize by all barrier algorithms, in any order.
    Barriers,
    /// Each rank increments words of any rank.
    Atomics,
    /// The ranks acquire a lock in turn.
    Locks,
    /// The ranks put, get and copy between all ranks.
    Copies,
    /// Each rank orders operations on several ranks after each other.
    Chains,
    /// The ranks combine and distribute values.
    Collectives,
    /// All ranks send to the mailbox of one.
    Mailboxes,
    /// Each rank sends to its right neighbour through a channel.
    Channels,
    /// The ranks update the halos of distributed arrays.
    Halos,
    /// The ranks put by one network, another or both at once, each put ordered after others, and update halos in the same way.
    Rails,
    /// The ranks repeatedly run plans of collective operations.
    Plans,
    /// The ranks use tables, rows, lists and memory of each other.
    Containers,
    /// The ranks share variables and a region.
    Shared,
    /// The ranks put, get and copy lists of places and strided blocks.
    Shapes,
    /// The ranks run functions at each other.
    Active,
    /// The ranks split into teams, which start several collective operations at once.
    Teams,
    /// The ranks exchange two-sided messages.
    Talks,
    /// The ranks run a C program that uses one group of ACP's functions.
    Acp(Group),
    /// The ranks run a C program that uses one group of OpenSHMEM's routines.
    Shmem(Routines),
}

/// Groups of functions of ACP that a C program uses: `tests/sweep/c/acp.c` has one part for each.
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

/// Groups of OpenSHMEM's routines that a C program uses: `tests/sweep/c/shmem.c` has one part for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Routines {
    /// Puts with signals, and signals behind fences; waits for one, some and all words.
    Signals,
    /// Locks.
    Locks,
    /// Atomics.
    Atomics,
    /// Teams and collective routines.
    Collectives,
    /// Puts and gets of all shapes, by contexts, between memory that is allocated, resized and freed.
    Transfers,
}

/// A C interface of the library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Interface {
    Acp,
    OpenShmem,
}

impl Program {
    /// Every program.
    pub const ALL: [Self; 31] = [
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
        Self::Shmem(Routines::Signals),
        Self::Shmem(Routines::Locks),
        Self::Shmem(Routines::Atomics),
        Self::Shmem(Routines::Collectives),
        Self::Shmem(Routines::Transfers),
        Self::Shapes,
        Self::Active,
        Self::Teams,
        Self::Talks,
    ];

    /// Number of the first programs, which use only operations, and of the following ones, which send messages or update halos.
    pub(crate) const OPERATIONS: usize = 7;
    pub(crate) const MESSAGES: usize = 3;

    /// Programs of further libraries, in which a failed rank ends the job.
    pub const LIBRARIES: [Self; 7] =
        [Self::Plans, Self::Containers, Self::Shared, Self::Shapes, Self::Active, Self::Teams, Self::Talks];

    /// Programs that repeatedly write words, at least one for each library. They run on networks with only one kind of fault, and with all kinds.
    pub const REPEATING: [Self; 26] = [
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
        Self::Shmem(Routines::Signals),
        Self::Shmem(Routines::Locks),
        Self::Shmem(Routines::Atomics),
        Self::Shmem(Routines::Collectives),
        Self::Shmem(Routines::Transfers),
        Self::Shapes,
        Self::Active,
        Self::Teams,
        Self::Talks,
    ];

    /// Returns the name.
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
            Self::Shapes => "shapes",
            Self::Active => "active",
            Self::Teams => "teams",
            Self::Talks => "talks",
            Self::Acp(Group::Sync) => "acp-sync",
            Self::Acp(Group::Channels) => "acp-channels",
            Self::Acp(Group::Segments) => "acp-segments",
            Self::Acp(Group::Orders) => "acp-orders",
            Self::Acp(Group::Atomics) => "acp-atomics",
            Self::Acp(Group::Registrations) => "acp-registrations",
            Self::Acp(Group::Tables) => "acp-tables",
            Self::Acp(Group::Rows) => "acp-rows",
            Self::Shmem(Routines::Signals) => "shmem-signals",
            Self::Shmem(Routines::Locks) => "shmem-locks",
            Self::Shmem(Routines::Atomics) => "shmem-atomics",
            Self::Shmem(Routines::Collectives) => "shmem-collectives",
            Self::Shmem(Routines::Transfers) => "shmem-transfers",
        }
    }

    /// Whether the program supports the failure of a rank: one that ends the job, or one that the other ranks survive.
    pub(crate) const fn knows_of_death(self, survival: bool) -> bool {
        match self {
            Self::Ring | Self::Barriers | Self::Atomics | Self::Locks | Self::Copies | Self::Chains | Self::Collectives => true,
            Self::Mailboxes | Self::Channels | Self::Halos => true,
            Self::Plans | Self::Containers | Self::Shared | Self::Shapes | Self::Active | Self::Teams | Self::Talks => !survival,
            Self::Rails | Self::Acp(_) | Self::Shmem(_) => false,
        }
    }

    /// Whether the program gets the error of each operation that fails. A two-sided message that does not arrive is nobody's error.
    pub(crate) const fn knows_of_broken_connections(self) -> bool {
        !matches!(self, Self::Talks | Self::Acp(_) | Self::Shmem(_))
    }

    /// Returns the interface that a C program uses; `None` for other programs.
    pub(crate) const fn interface(self) -> Option<Interface> {
        match self {
            Self::Acp(_) => Some(Interface::Acp),
            Self::Shmem(_) => Some(Interface::OpenShmem),
            _ => None,
        }
    }
}

/// The mailbox or the channels of a program.
pub(crate) enum Room<'w> {
    Empty,
    Mailbox(Box<Mailbox<'w>>),
    /// From each member to its right neighbour.
    Channels(Vec<Channel<'w>>),
}

/// The memory that a program needs on each rank.
#[derive(Clone, Copy, Default)]
pub(crate) struct Memory {
    pub(crate) words: usize,
    pub(crate) bytes: usize,
}

/// The reason why a rank has not completed its program.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Trouble {
    /// The library has reported an error.
    #[error(transparent)]
    Library(#[from] pelago_rma::Error),
    /// A property is violated.
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
