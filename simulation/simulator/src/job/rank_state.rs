//! The job's state of each rank, and the reasons why a rank waits.

use std::fmt;

use pelago_base::Instant;
use pelago_platform::For;

use crate::operations::completions::CompletionList;
use crate::operations::pending::RecordLink;
use crate::timer::Timer;

/// The event for which a rank waits and that never happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WaitReason {
    /// For the other ranks, in a barrier of the bootstrap while all join or leave the job.
    Meeting,
    /// For a write to its memory.
    Memory,
    /// For the completion of this number of its operations.
    Operations(u32),
    /// For a write to its memory, in a loop without calls.
    Polling,
    /// For a write to its memory or the completion of one of its operations, of which there are this many.
    Anything(u32),
}

impl fmt::Display for WaitReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let operations = |count: u32| format!("{count} operation{}", if count == 1 { "" } else { "s" });
        match *self {
            Self::Meeting => f.write_str("for all ranks to join or leave"),
            Self::Memory | Self::Anything(0) => f.write_str("for incoming writes"),
            Self::Polling => f.write_str("in a loop without calls of the library, for a write to its memory"),
            Self::Operations(count) => write!(f, "for {} to complete", operations(count)),
            Self::Anything(count) => write!(f, "for incoming writes, or one of {} to complete", operations(count)),
        }
    }
}

/// The state of one rank.
#[derive(Default)]
pub(crate) struct RankState {
    pub(crate) state: RunState,
    /// The deadline of its wait.
    pub(super) timer: Timer,
    /// Weighted count of polls and clock readings since the rank last waited or computed.
    pub(super) polling: u32,
    /// The time at which it was parked.
    pub(super) parked_since: Option<Instant>,
    /// Number of consecutive waits during which no time passed.
    pub(super) instant_waits: u32,
    /// Whether an event for the rank has occurred while it slept, since [`begin_check`](super::SimulatedJob::begin_check).
    pub(super) missed_event: bool,
    /// Whether it is in a barrier of the bootstrap.
    pub(crate) is_meeting: bool,
    /// Number of its operations that have not completed.
    pub(crate) in_flight: u32,
    /// The latest of its operations; each has a link to the one before.
    pub(crate) latest: RecordLink,
    pub(crate) completed: CompletionList,
}

/// Whether a rank can run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum RunState {
    /// It runs, or is in the queue of ranks that can run.
    #[default]
    Ready,
    /// It waits for this event or its deadline.
    Parked(For),
    /// It polls without a call, and waits for a write to its memory or its deadline.
    Polling,
    /// It waits for its deadline.
    Asleep,
    Ended,
}

/// The memory of each rank, besides its fiber and its pages.
const _: () = assert!(size_of::<RankState>() <= 80);
