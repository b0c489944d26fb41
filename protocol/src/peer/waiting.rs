//! Queues of one peer: frames, in datagrams that have no sequence number yet, and transfers, grouped by fences.

use std::collections::VecDeque;

use pelago_base::GlobalAddress;

use crate::wire::{Frame, GET_SHAPE_BYTES_MAX, OVERHEAD_BYTES, PIECE_BYTES, append_write};

/// Frames and transfers to send between two fences.
#[derive(Default)]
pub(super) struct Epoch {
    pub(super) drafts: VecDeque<Draft>,
    pub(super) transfers: VecDeque<Transfer>,
    /// Number of the transfers that are operations of this rank.
    pub(super) own_transfers: usize,
    pub(super) slow_reads: u32,
    /// Whether the only draft contains a fence; its frames take effect in order.
    pub(super) fenced_within: bool,
}

impl Epoch {
    pub(super) fn is_empty(&self) -> bool {
        self.drafts.is_empty() && self.transfers.is_empty()
    }

    /// Whether an operation of this rank waits; if not, only answers and transfers that the peer or others asked for do.
    pub(super) fn has_own(&self) -> bool {
        self.own_transfers > 0 || self.drafts.iter().any(Draft::has_own)
    }

    /// Adds what waits for a fence that has been passed.
    pub(super) fn follow_up(&mut self, mut next: Self) {
        self.drafts.append(&mut next.drafts);
        self.transfers.append(&mut next.transfers);
        self.own_transfers += next.own_transfers;
        self.fenced_within = false;
    }

    /// Whether a request has room in the only draft.
    pub(super) fn may_go_along(&self, frame: &Frame<'_>, datagram_bytes: usize) -> bool {
        self.drafts.len() == 1 && self.drafts[0].has_room(frame, datagram_bytes)
    }

    /// Appends a write to the only draft, if it has room there; returns the size of the frame in bytes.
    #[inline]
    pub(super) fn join(&mut self, to: GlobalAddress, bytes: &[u8], token: u64, datagram_bytes: usize) -> Option<usize> {
        let added = Frame::WRITE_BYTES + bytes.len();
        let is_only = self.drafts.len() == 1;
        let draft = self.drafts.front_mut().filter(|draft| is_only && draft.has_room_for(added, datagram_bytes))?;
        append_write(&mut draft.frames, to, bytes);
        draft.writes.push(token);
        draft.own_bytes += added;
        Some(added)
    }

    /// Appends a frame to the last draft or a new one; returns the size of the frame in bytes.
    pub(super) fn append(&mut self, frame: &Frame<'_>, write: Option<u64>, datagram_bytes: usize, spare: &mut Spare) -> usize {
        if !self.drafts.back().is_some_and(|draft| draft.has_room(frame, datagram_bytes)) {
            self.drafts.push_back(spare.take());
        }
        let Some(draft) = self.drafts.back_mut() else { return 0 };
        let before = draft.frames.len();
        frame.append(&mut draft.frames);
        draft.writes.extend(write);
        draft.frames.len() - before
    }
}

/// Frames of a datagram that has no number yet.
#[derive(Default)]
pub(crate) struct Draft {
    pub(crate) frames: Vec<u8>,
    /// The tokens of the writes among them, in order.
    pub(crate) writes: Vec<u64>,
    /// Number of bytes of operations of this rank among them.
    pub(crate) own_bytes: usize,
}

/// Maximum size in bytes of a datagram of frames alone, if the network carries longer ones: the target executes it while the next one fills.
const FRAMES_DATAGRAM_BYTES_MAX: usize = 6 << 10;

impl Draft {
    /// Whether there is an operation of this rank, which the peer answers at once.
    pub(crate) fn has_own(&self) -> bool {
        self.own_bytes > 0
    }

    fn has_room(&self, frame: &Frame<'_>, datagram_bytes: usize) -> bool {
        self.has_room_for(frame_bytes_max(frame), datagram_bytes)
    }

    /// Whether `bytes` bytes of frames have room.
    #[inline]
    fn has_room_for(&self, bytes: usize, datagram_bytes: usize) -> bool {
        self.frames.len() + bytes + OVERHEAD_BYTES <= datagram_bytes.min(FRAMES_DATAGRAM_BYTES_MAX)
    }
}

/// A transfer that takes one datagram or more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Transfer {
    /// A put of this rank or for a peer; the table of operations has the details.
    Put { operation: u32, is_own: bool },
    /// The answer to a peer's get.
    Answer { operation: u32, from: GlobalAddress, bytes: u64, next: u64 },
    /// The block list of a get; the table of operations has the details.
    Ask { operation: u32 },
}

impl Transfer {
    /// Whether it is an operation of this rank.
    pub(super) fn is_own(&self) -> bool {
        matches!(self, Self::Put { is_own: true, .. } | Self::Ask { .. })
    }
}

/// The piece of a transfer that a datagram carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    /// A piece of a put, with a head of `head` bytes.
    Put {
        operation: u32,
        offset: u64,
        bytes: usize,
        head: u16,
    },
    Answer {
        operation: u32,
        from: GlobalAddress,
        offset: u64,
        bytes: usize,
    },
    Ask {
        operation: u32,
        ask: Ask,
    },
}

/// A request for some blocks of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ask {
    /// Index of the first block, and number of blocks.
    pub(crate) first: u32,
    pub(crate) count: u32,
    /// Size of the request in bytes.
    pub(crate) bytes: u16,
}

impl Piece {
    /// Returns the number of bytes that the piece takes in a datagram.
    pub(crate) fn wire_bytes(&self) -> usize {
        match *self {
            Self::Put { bytes, head, .. } => usize::from(head) + bytes,
            Self::Answer { bytes, .. } => PIECE_BYTES + bytes,
            Self::Ask { ask, .. } => usize::from(ask.bytes),
        }
    }
}

/// Drafts for reuse of their buffers.
#[derive(Default)]
pub(crate) struct Spare(Vec<Draft>);

/// Maximum number of cached drafts: sufficient for a burst to some peers.
const SPARE_MAX: usize = 64;

impl Spare {
    fn take(&mut self) -> Draft {
        self.0.pop().unwrap_or_default()
    }

    pub(crate) fn give(&mut self, mut draft: Draft) {
        if self.0.len() < SPARE_MAX && draft.frames.capacity() > 0 {
            draft.frames.clear();
            draft.writes.clear();
            draft.own_bytes = 0;
            self.0.push(draft);
        }
    }
}

/// Returns the maximum number of bytes that a frame takes.
fn frame_bytes_max(frame: &Frame<'_>) -> usize {
    match frame {
        Frame::Write { bytes, .. } => Frame::WRITE_BYTES + bytes.len(),
        Frame::Data { bytes, .. } => 7 + bytes.len(),
        Frame::GetShape { .. } => GET_SHAPE_BYTES_MAX,
        _ => 30,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_buffers_are_kept_to_be_used_again() {
        let mut spare = Spare::default();
        spare.give(Draft::default());
        assert!(spare.0.is_empty(), "there is nothing to keep of what has no memory");
        for _ in 0..10 * SPARE_MAX {
            spare.give(Draft { frames: vec![1; 100], writes: vec![7], own_bytes: 100 });
        }
        assert_eq!(spare.0.len(), SPARE_MAX);
        let again = spare.take();
        assert!(again.frames.is_empty() && again.writes.is_empty() && !again.has_own());
        assert!(again.frames.capacity() >= 100 && spare.0.len() < SPARE_MAX);
    }
}
