//! The state of an operation until it ends.

use pelago_base::AddressLayout;
use pelago_platform::{Failure, Rail};

use crate::order::graph::After;
use crate::progress::peers::{NOBODY, PeerNumber};
use crate::progress::task::Task;

/// An operation that has not ended. For a write that the transport captured at issue this is the whole state; other operations have a [`Work`] as well.
#[derive(Default)]
pub(crate) struct Record {
    /// The peer that the operation is posted to, and the peer at the other end of a copy.
    pub(crate) peers: [PeerNumber; 2],
    pub(crate) stage: Stage,
    pub(crate) audience: Audience,
    /// Number of pieces that the transport has accepted and not completed.
    pub(crate) out: u32,
    /// Number of bytes that the transport has captured.
    pub(crate) written: u32,
    /// Whether the work at the same index belongs to this operation.
    pub(crate) has_work: bool,
    /// Whether the failure is that of a predecessor.
    pub(crate) inherits: bool,
    /// Whether the operation was issued through all rails at once, so that a fence orders it before later operations on each rail, striped or not.
    pub(crate) on_all_rails: bool,
}

/// The work of an operation and its progress; absent for a write that the transport has captured, unless it has failed.
#[derive(Default)]
pub(crate) struct Work {
    pub(crate) task: Option<Task>,
    /// Number of pieces that the transport has accepted, and number of all pieces.
    pub(crate) posted: u64,
    pub(crate) pieces: u64,
    pub(crate) word: u64,
    pub(crate) failure: Option<Failure>,
}

/// The stage of an operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Waits for predecessors that have not ended; nothing of it has been posted.
    #[default]
    Deferred,
    /// Posted behind predecessors that have not ended, as far as there was room: its own end is held back until they have ended.
    Behind(Posting),
    /// Has no predecessors left, and was posted as far as there was room.
    Begun(Posting),
}

/// Whether a fence of the transport orders an operation before the next operation posted to its peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Posting {
    /// No: a piece may remain to be posted, or the operation may fail although the peer is alive.
    Open,
    /// Yes: all pieces are posted, and only a failure of the peer can make the operation fail.
    Orderly,
}

/// The ordering and the rail with which an operation is issued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Terms {
    /// The predecessors.
    pub(crate) after: After,
    /// The rail, if it is not the best one.
    pub(crate) rail: Option<Rail>,
}

impl Terms {
    /// No predecessors and no given rail: the operation may take the direct path.
    pub(crate) const FREE: Self = Self { after: After::Nothing, rail: None };
}

/// The recipient of an operation's result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Audience {
    /// The handle when it is queried, or else the next `quiet`.
    #[default]
    Anyone,
    /// The `Fetch` or pending get that takes the word or the buffer, which are stored until then.
    Keeper,
    /// No recipient: the operation only reads, and its result was discarded.
    Nobody,
    /// The members of the next barrier, which implies the operation's end: `quiet` neither waits for it nor reports its failure.
    Meeting,
}

impl Stage {
    /// Whether a predecessor has not ended.
    #[inline]
    pub(crate) const fn waits(self) -> bool {
        matches!(self, Self::Deferred | Self::Behind(_))
    }

    #[inline]
    pub(crate) const fn is_orderly(self) -> bool {
        matches!(self, Self::Behind(Posting::Orderly) | Self::Begun(Posting::Orderly))
    }

    /// Returns the stage after all predecessors have ended.
    pub(crate) const fn released(self) -> Self {
        match self {
            Self::Deferred => Self::Begun(Posting::Open),
            Self::Behind(posting) | Self::Begun(posting) => Self::Begun(posting),
        }
    }

    /// Returns the stage from which a fence orders the operation; `None` if it already has that stage, or nothing has been posted.
    pub(crate) const fn ordered(self) -> Option<Self> {
        match self {
            Self::Behind(Posting::Open) => Some(Self::Behind(Posting::Orderly)),
            Self::Begun(Posting::Open) => Some(Self::Begun(Posting::Orderly)),
            Self::Deferred | Self::Behind(Posting::Orderly) | Self::Begun(Posting::Orderly) => None,
        }
    }
}

impl Record {
    /// Sets the record to a captured write of `bytes` bytes. The fields are set in place: constructing a record and moving it takes longer than
    /// all other bookkeeping of a write.
    #[inline(always)]
    pub(crate) fn become_written(&mut self, peer: PeerNumber, stage: Stage, bytes: usize) {
        self.peers = [peer, NOBODY];
        (self.stage, self.audience) = (stage, Audience::Anyone);
        (self.out, self.written) = (1, u32::try_from(bytes).unwrap_or(u32::MAX));
        (self.has_work, self.inherits, self.on_all_rails) = (false, false, false);
    }
}

impl Work {
    /// Returns the work of a task that has not started.
    pub(crate) fn new(task: Task) -> Self {
        Self { pieces: task.pieces(), task: Some(task), ..Self::default() }
    }

    /// Number of bytes captured for the task.
    pub(crate) fn captured(&self) -> usize {
        self.task.as_ref().map_or(0, Task::captured)
    }

    /// Number of bytes that the task moves.
    pub(crate) fn bytes(&self) -> u64 {
        self.task.as_ref().map_or(0, Task::bytes)
    }

    /// Whether all remaining pieces go to one rank by one rail.
    pub(crate) fn has_one_target(&self, addresses: AddressLayout) -> bool {
        self.task.as_ref().is_none_or(|task| task.has_one_target(addresses))
    }

    /// Whether the task has not failed, and only a failure of the peer that it is posted to can make it fail.
    pub(crate) fn is_sure(&self, addresses: AddressLayout) -> bool {
        self.failure.is_none() && self.task.as_ref().is_some_and(|task| task.is_sure(addresses))
    }

    /// Whether the task writes elsewhere than to the rank that it is posted to.
    pub(crate) fn writes_elsewhere(&self, addresses: AddressLayout) -> bool {
        self.task.as_ref().is_some_and(|task| task.writes_elsewhere(addresses))
    }

    /// Whether the task writes to memory of the program on this rank.
    pub(crate) fn brings(&self) -> bool {
        self.task.as_ref().is_some_and(Task::brings)
    }

    /// Whether the task is striped over several rails.
    pub(crate) fn is_striped(&self) -> bool {
        self.task.as_ref().is_some_and(Task::is_striped)
    }

    /// Whether the task only reads.
    pub(crate) fn only_reads(&self) -> bool {
        self.task.as_ref().is_some_and(Task::only_reads)
    }

    /// Whether no piece remains to be posted: all are posted, or one has failed.
    pub(crate) fn is_posted(&self) -> bool {
        self.posted == self.pieces || self.failure.is_some()
    }
}
