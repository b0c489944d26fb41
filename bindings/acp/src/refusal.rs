//! Reasons why a call is refused, and their output as one line.

use std::fmt;
use std::sync::atomic::{AtomicU32, Ordering};

use pelago::{Error, FixedMemory};

/// Maximum number of error lines that a process writes about refused calls.
const LINES_MAX: u32 = 32;

/// The reason why a call is refused.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Refusal {
    #[error("acp_init comes first, and acp_finalize last")]
    NotInitialized,
    #[error("the library is initialized already")]
    Initialized,
    #[error("the {0} address is null")]
    Null(End),
    #[error("the {end} address {address:#018x} is not one of this job")]
    Stranger { end: End, address: u64 },
    #[error("{bytes} bytes at the {end} address {address:#018x} reach past the memory that it belongs to")]
    Outside { end: End, address: u64, bytes: u64 },
    #[error("the {end} address {address:#018x} is in no memory that is registered now")]
    Unregistered { end: End, address: u64 },
    #[error("the {end} address {address:#018x} is not a multiple of {bytes}")]
    Misaligned { end: End, address: u64, bytes: u64 },
    #[error("what was there is stored at the calling rank, and the destination address {0:#018x} is of another")]
    Elsewhere(u64),
    #[error("rank {rank} does not exist: the job has {ranks}")]
    Rank { rank: i32, ranks: u32 },
    #[error("the ranks that were asked for are not the ranks of the job, each once")]
    Ranks,
    #[error("color {0} does not exist; the only color is 0")]
    Color(i32),
    #[error("{bytes} bytes at {address:#x} are not memory of this process")]
    NoMemory { address: usize, bytes: usize },
    #[error(
        "a region of {bytes} bytes is too long: at most {limit}, as a heap; start the job with a larger heap (--heap, PELAGO_HEAP)"
    )]
    LongRegion { bytes: usize, limit: u64 },
    #[error("{0:#x} is not the key of memory that is registered now")]
    Key(u64),
    #[error("the size of starter memory cannot be {0:?}: it is a number of bytes")]
    StarterSize(String),
    #[error("the two ends of a channel must be different ranks")]
    SameRank,
    #[error("the calling rank is neither the sender nor the receiver")]
    NoEnd,
    #[error("{0:#x} is not a channel of this rank that is in use")]
    Channel(usize),
    #[error("only the other end of this channel can do this")]
    WrongEnd,
    #[error("{0:#x} is not a request that somebody may wait for")]
    Request(usize),
    #[error("{0:#x} is not a segment buffer of this rank")]
    SegmentBuffer(usize),
    #[error("the two ends of the segment buffer differ in the number or the size of segments")]
    Unlike,
    #[error("the segment buffer is not connected, or this is its other end")]
    NotConnected,
    #[error("the segment buffer is connected; acp_disconnect_segbuf comes first")]
    Connected,
    #[error("segment {0} does not exist")]
    NoSegment(&'static str),
    #[error("there is no place with number {0}")]
    Index(i32),
    #[error("the two places are not one after the other in one container")]
    Foreign,
    #[error("the end is no element")]
    End,
    #[error("a table is on some ranks, with some slots on each, and a workspace has some bytes on each")]
    NoRanks,
    #[error("no memory is left for {0} bytes")]
    Large(usize),
    #[error("{0:#x} is not a workspace")]
    Workspace(usize),
    #[error("too many {0}")]
    TooMany(&'static str),
    #[error("a workspace has at least one byte")]
    EmptyWorkspace,
    #[error(
        "no {bytes} bytes are left of the {heap_bytes} bytes of a rank for acp_malloc, containers and workspaces, a quarter of its heap; \
         start the job with a larger heap (--heap, PELAGO_HEAP), or free what is no longer used"
    )]
    Full { bytes: u64, heap_bytes: u64 },
    #[error(transparent)]
    Failed(Error),
    /// An operation failed after its call had returned.
    #[error(transparent)]
    Earlier(Error),
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        match error {
            // A C program has no `GlobalHeap` that it could make larger.
            Error::NoMemory { bytes, heap_bytes, memory } if memory != FixedMemory::HEAP => Self::Full { bytes, heap_bytes },
            error => Self::Failed(error),
        }
    }
}

/// One of the addresses of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Destination,
    Source,
    Container,
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Destination => "destination",
            Self::Source => "source",
            Self::Container => "container's",
        })
    }
}

/// Counter of the lines that a process, or a simulated rank, writes about refused calls: their number is bounded.
pub(crate) struct Lines(AtomicU32);

impl Lines {
    pub(crate) const fn new() -> Self {
        Self(AtomicU32::new(0))
    }

    /// Writes one line with the reason why a call of `function` is refused. `rank` is `None` if the process has not joined a job.
    pub(crate) fn report(&self, rank: Option<u32>, function: &str, why: &dyn fmt::Display) {
        let line = self.0.fetch_add(1, Ordering::Relaxed);
        match line.cmp(&LINES_MAX) {
            std::cmp::Ordering::Less => write_line(rank, &format_args!("{function}: {why}")),
            std::cmp::Ordering::Equal => write_line(rank, &"further calls that cannot be done are not reported"),
            // Keeps the counter from wrapping around, after which lines would be written again.
            std::cmp::Ordering::Greater => self.0.store(LINES_MAX + 1, Ordering::Relaxed),
        }
    }
}

/// Writes one line to standard error.
pub(crate) fn write_line(rank: Option<u32>, what: &dyn fmt::Display) {
    use std::io::Write;
    let who = rank.map(|rank| format!("rank {rank}: ")).unwrap_or_default();
    // One write, so that the lines of ranks do not mix. A failed write is ignored: standard error may be closed.
    let _ = std::io::stderr().write_all(format!("acp: {who}{what}\n").as_bytes());
}
