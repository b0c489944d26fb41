//! What the job knows of each rank, and what a rank waits for.

use std::fmt;

use pelago_base::Instant;
use pelago_platform::For;

use crate::operations::completions::CompletionList;
use crate::operations::pending::RecordLink;

/// What a rank waits for, without an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WaitReason {
    /// For the other ranks, in a barrier of the bootstrap while all join or leave the job.
    Meeting,
    /// For a write to its memory.
    Memory,
    /// For so many of its operations to complete.
    Operations(u32),
    /// For a write to its memory, in a loop without calls.
    Polling,
    /// For a write to its memory or the completion of one of its so many operations.
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
    /// Counts the waits of the rank, so that the deadline of an earlier wait is recognized.
    pub(super) wait_count: u32,
    /// A measure of polls and clock readings since the rank last waited or computed.
    pub(super) polling: u32,
    /// Since when it is parked.
    pub(super) parked_since: Option<Instant>,
    /// Waits in a row during which no time passed.
    pub(super) instant_waits: u32,
    /// Whether an event for the rank has occurred while it slept, since [`begin_check`](super::SimulatedJob::begin_check).
    pub(super) missed_event: bool,
    /// Whether it is in a barrier of the bootstrap.
    pub(crate) is_meeting: bool,
    /// Its operations that have not completed.
    pub(crate) in_flight: u32,
    /// The latest of its operations; each has a link to the one before.
    pub(crate) latest: RecordLink,
    pub(crate) completed: CompletionList,
}

/// Whether a rank can run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum RunState {
    /// It runs, or stands in the queue of ranks that can.
    #[default]
    Ready,
    /// Until this happens or its deadline comes.
    Parked(For),
    /// Until its memory is written to, or its deadline comes: it polls without a call.
    Polling,
    /// Until its deadline comes.
    Asleep,
    Ended,
}

/// What each rank takes, besides its fiber and its pages.
const _: () = assert!(size_of::<RankState>() <= 56);
