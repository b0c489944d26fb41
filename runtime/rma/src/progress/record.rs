//! What is kept of an operation until it ends.

use pelago_base::AddressLayout;
use pelago_platform::{Failure, Rail};

use crate::order::graph::After;
use crate::progress::peers::{NOBODY, PeerNumber};
use crate::progress::task::Task;

/// An operation that has not ended. All that is kept of a write that the transport captured when it was issued; of others there is a [`Work`], too.
#[derive(Default)]
pub(crate) struct Record {
    /// The peer that it is posted to, and the one at the other end of a copy.
    pub(crate) peers: [PeerNumber; 2],
    pub(crate) stage: Stage,
    pub(crate) audience: Audience,
    /// Pieces that the transport has accepted and not completed.
    pub(crate) out: u32,
    /// Bytes that the transport has captured.
    pub(crate) written: u32,
    /// Whether the work at its place is its own.
    pub(crate) has_work: bool,
    /// Whether the failure is that of an operation before it.
    pub(crate) inherits: bool,
    /// Whether it was named all rails at once, so that a fence orders it before what goes by any of them, in parts or not.
    pub(crate) on_all_rails: bool,
}

/// What an operation has to do, and what has come of it so far: of one that is more than a write that the transport has captured, or that has failed.
#[derive(Default)]
pub(crate) struct Work {
    pub(crate) task: Option<Task>,
    /// Pieces that the transport has accepted, and how many there are.
    pub(crate) posted: u64,
    pub(crate) pieces: u64,
    pub(crate) word: u64,
    pub(crate) failure: Option<Failure>,
}

/// How far an operation has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Stage {
    /// It waits for what has not ended, and nothing of it is with the transport.
    #[default]
    Deferred,
    /// It was posted behind what has not ended, as far as there was room: its own end is held back until that has.
    Behind(Posting),
    /// It waits for nothing, and was posted as far as there was room.
    Begun(Posting),
}

/// Whether a fence of the transport orders an operation before what is posted next to its peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Posting {
    /// No: a part may have to be posted yet, or it may fail while the peer is there.
    Open,
    /// Yes: all of it is with the transport, and nothing but the loss of the peer can make it fail.
    Orderly,
}

/// On what terms an operation is issued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Terms {
    /// What it takes effect after.
    pub(crate) after: After,
    /// By which rail it goes, if not by the one that is best.
    pub(crate) rail: Option<Rail>,
}

impl Terms {
    /// None: it may go the direct way.
    pub(crate) const FREE: Self = Self { after: After::Nothing, rail: None };
}

/// Who learns how an operation ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Audience {
    /// Whoever asks its handle, or else the next `quiet`.
    #[default]
    Anyone,
    /// Whoever comes for the word or the buffer, which are kept until then.
    Keeper,
    /// Nobody: it only reads, and what it brings was given up.
    Nobody,
    /// The members of the next meeting, which implies its end: `quiet` neither waits for it nor reports it.
    Meeting,
}

impl Stage {
    /// Whether something is waited for that has not ended.
    #[inline]
    pub(crate) const fn waits(self) -> bool {
        matches!(self, Self::Deferred | Self::Behind(_))
    }

    #[inline]
    pub(crate) const fn is_orderly(self) -> bool {
        matches!(self, Self::Behind(Posting::Orderly) | Self::Begun(Posting::Orderly))
    }

    /// The same, when nothing is waited for any more.
    pub(crate) const fn released(self) -> Self {
        match self {
            Self::Deferred => Self::Begun(Posting::Open),
            Self::Behind(posting) | Self::Begun(posting) => Self::Begun(posting),
        }
    }

    /// The same, when a fence orders it; `None` if one did, or nothing has been posted.
    pub(crate) const fn ordered(self) -> Option<Self> {
        match self {
            Self::Behind(Posting::Open) => Some(Self::Behind(Posting::Orderly)),
            Self::Begun(Posting::Open) => Some(Self::Begun(Posting::Orderly)),
            Self::Deferred | Self::Behind(Posting::Orderly) | Self::Begun(Posting::Orderly) => None,
        }
    }
}

impl Record {
    /// Becomes that of a write of so many bytes that the transport has captured. Field by field in its place: to make a record and to move it there takes
    /// longer than all else that is kept of a write.
    #[inline(always)]
    pub(crate) fn become_written(&mut self, peer: PeerNumber, stage: Stage, bytes: usize) {
        self.peers = [peer, NOBODY];
        (self.stage, self.audience) = (stage, Audience::Anyone);
        (self.out, self.written) = (1, u32::try_from(bytes).unwrap_or(u32::MAX));
        (self.has_work, self.inherits, self.on_all_rails) = (false, false, false);
    }
}

impl Work {
    /// That of a task of which nothing has been done.
    pub(crate) fn new(task: Task) -> Self {
        Self { pieces: task.pieces(), task: Some(task), ..Self::default() }
    }

    /// How many bytes are kept for it.
    pub(crate) fn captured(&self) -> usize {
        self.task.as_ref().map_or(0, Task::captured)
    }

    /// How many bytes it moves.
    pub(crate) fn bytes(&self) -> u64 {
        self.task.as_ref().map_or(0, Task::bytes)
    }

    /// Whether all that is left to post goes to one rank by one rail.
    pub(crate) fn has_one_target(&self, addresses: AddressLayout) -> bool {
        self.task.as_ref().is_none_or(|task| task.has_one_target(addresses))
    }

    /// Whether it has not failed, and nothing but the loss of the peer that it is posted to can make it fail.
    pub(crate) fn is_sure(&self, addresses: AddressLayout) -> bool {
        self.failure.is_none() && self.task.as_ref().is_some_and(|task| task.is_sure(addresses))
    }

    /// Whether it goes by several rails.
    pub(crate) fn is_striped(&self) -> bool {
        self.task.as_ref().is_some_and(Task::is_striped)
    }

    /// Whether it only reads.
    pub(crate) fn only_reads(&self) -> bool {
        self.task.as_ref().is_some_and(Task::only_reads)
    }

    /// Whether nothing is left to post: all is posted, or a part has failed.
    pub(crate) fn is_posted(&self) -> bool {
        self.posted == self.pieces || self.failure.is_some()
    }
}
