//! The table of operations in flight, except writes, which end with the datagram that carries them.

use pelago_base::{Failure, GlobalAddress};

use slab::Slab;

use super::patterns::{GetBlocks, PutBlocks};
use super::{LISTED_BLOCKS_MAX, UNDER_WAY_MAX};
use crate::Denied;
use crate::api::Signal;

/// Maximum number of operations of this rank and transfers on behalf of peers together.
pub(crate) const OPERATIONS_MAX: usize = 8192;

/// Maximum number of transfers on behalf of peers: copies, and answers to gets of blocks. All operations of this rank have room beside them.
pub(crate) const PEERS_OPERATIONS_MAX: usize = OPERATIONS_MAX - UNDER_WAY_MAX;

/// Number of low bits of an operation's number that hold its table index; the bits above distinguish it from earlier operations at that index.
const INDEX_BITS: u32 = OPERATIONS_MAX.ilog2();

/// An operation in flight, with its submitter's token.
pub(crate) enum PendingOperation<L> {
    /// Bytes that this rank sends.
    Put(Put<L>),
    /// Bytes that this rank waits for.
    Get { token: u64, from: GlobalAddress, to: L, bytes: u64, received: u64, blocks: Option<Box<GetBlocks>> },
    /// A word that this rank waits for.
    Atomic { token: u64, at: GlobalAddress },
    /// A copy that another rank performs.
    Copy { token: u64, from: GlobalAddress, to: GlobalAddress },
}

/// Bytes in transit from this rank to another.
pub(crate) struct Put<L> {
    pub(crate) origin: Origin,
    pub(crate) from: Source<L>,
    pub(crate) to: GlobalAddress,
    pub(crate) bytes: u64,
    /// Number of bytes that have been sent, and whether no more will be.
    pub(crate) next: u64,
    pub(crate) is_sent: bool,
    /// Number of pieces in flight.
    pub(crate) out: u32,
    pub(crate) failure: Option<Failure>,
    /// Blocks of both ends, unless both are contiguous.
    pub(crate) blocks: Option<Box<PutBlocks>>,
    /// Word that is written after the bytes, if any.
    pub(crate) signal: Option<Signal>,
}

impl<L> Put<L> {
    pub(crate) fn new(origin: Origin, from: Source<L>, to: GlobalAddress, bytes: u64) -> Self {
        Self { origin, from, to, bytes, next: 0, is_sent: false, out: 0, failure: None, blocks: None, signal: None }
    }

    pub(crate) fn with_blocks(self, blocks: PutBlocks) -> Self {
        Self { blocks: Some(Box::new(blocks)), ..self }
    }
}

/// Requester of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// This rank.
    Own { token: u64 },
    /// The peer at this index, through this copy operation of its own.
    Peer { index: u32, operation: u32 },
    /// The peer at this index, through this get of its own: these bytes are the answer, or a part of it.
    Answer { index: u32, operation: u32 },
}

/// Source of the bytes of a transfer.
pub(crate) enum Source<L> {
    /// Local memory of the caller, until the operation has ended.
    Local(L),
    /// An injection that is not captured: the caller passes its bytes with each transmission.
    Injected,
    /// A copy of an injection, from its byte `from` on.
    Captured { from: u64, bytes: Vec<u8> },
    /// Registered memory, for a peer that asked for a copy.
    Segment(GlobalAddress),
}

impl<L> Source<L> {
    /// Returns the caller's memory, if the source is local memory.
    pub(crate) fn into_local(self) -> Option<L> {
        if let Self::Local(local) = self { Some(local) } else { None }
    }
}

impl Denied {
    /// Returns the failure of an operation at `address`.
    pub(crate) fn at(self, address: GlobalAddress) -> Failure {
        match self {
            Self::Outside => Failure::OutOfBounds(address),
            Self::Misaligned => Failure::Misaligned(address),
            Self::Device => Failure::Device(address),
        }
    }
}

/// The table of operations.
///
/// The index alone would not distinguish an operation from an earlier one at the same index, whose answer may still arrive. Therefore each
/// operation has a number, whose upper bits count the operations.
pub(crate) struct Operations<L> {
    entries: Slab<Entry<L>>,
    inserted: u32,
    /// The part of the table that the operations of this rank take, and that of transfers on behalf of peers.
    pub(crate) own: Share,
    pub(crate) for_peers: Share,
}

/// A part of the table: the number of its operations, and of the blocks in their lists.
#[derive(Default)]
pub(crate) struct Share {
    pub(crate) operations: usize,
    pub(crate) listed: usize,
}

struct Entry<L> {
    number: u32,
    /// Index of the peer that the operation waits for.
    peer: u32,
    operation: PendingOperation<L>,
}

impl<L> Default for Operations<L> {
    fn default() -> Self {
        Self { entries: Slab::new(), inserted: 0, own: Share::default(), for_peers: Share::default() }
    }
}

impl<L> Operations<L> {
    /// Adds an operation that waits for a peer; returns `None` if the table is full.
    pub(crate) fn insert(&mut self, peer: u32, operation: PendingOperation<L>) -> Option<u32> {
        if self.is_full() {
            return None;
        }
        let share = self.share(&operation);
        share.operations += 1;
        share.listed += operation.listed();
        let entry = self.entries.vacant_entry();
        let number = entry.key() as u32 | self.inserted << INDEX_BITS;
        self.inserted = self.inserted.wrapping_add(1);
        entry.insert(Entry { number, peer, operation });
        Some(number)
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn is_full(&self) -> bool {
        self.entries.len() == OPERATIONS_MAX
    }

    /// Whether transfers on behalf of peers have room for as many more, and for further lists.
    pub(crate) fn has_room_for_peers(&self, more: usize) -> bool {
        self.for_peers.operations + more <= PEERS_OPERATIONS_MAX && self.for_peers.listed <= LISTED_BLOCKS_MAX
    }

    fn share(&mut self, operation: &PendingOperation<L>) -> &mut Share {
        let is_own = !matches!(operation, PendingOperation::Put(put) if !matches!(put.origin, Origin::Own { .. }));
        if is_own { &mut self.own } else { &mut self.for_peers }
    }

    pub(crate) fn get(&self, number: u32) -> Option<&PendingOperation<L>> {
        self.entries.get(index(number)).filter(|entry| entry.number == number).map(|entry| &entry.operation)
    }

    /// Whether the operation is a copy that a peer requested.
    pub(crate) fn is_for_another(&self, number: u32) -> bool {
        matches!(self.get(number), Some(PendingOperation::Put(Put { origin: Origin::Peer { .. }, .. })))
    }

    pub(crate) fn get_mut(&mut self, number: u32) -> Option<&mut PendingOperation<L>> {
        self.entries.get_mut(index(number)).filter(|entry| entry.number == number).map(|entry| &mut entry.operation)
    }

    /// Returns the operation of this number if it waits for this peer.
    pub(crate) fn awaited_from(&mut self, peer: u32, number: u32) -> Option<&mut PendingOperation<L>> {
        let entry = self.entries.get_mut(index(number)).filter(|entry| entry.number == number && entry.peer == peer);
        entry.map(|entry| &mut entry.operation)
    }

    pub(crate) fn remove(&mut self, number: u32) -> Option<PendingOperation<L>> {
        self.get(number)?;
        let operation = self.entries.try_remove(index(number)).map(|entry| entry.operation)?;
        let share = self.share(&operation);
        share.operations -= 1;
        share.listed -= operation.listed();
        Some(operation)
    }

    /// Removes and returns all operations that wait for a peer.
    pub(crate) fn remove_all(&mut self, peer: u32) -> Vec<PendingOperation<L>> {
        let numbers = self.entries.iter().filter(|(_, entry)| entry.peer == peer).map(|(_, entry)| entry.number);
        numbers.collect::<Vec<_>>().into_iter().filter_map(|number| self.remove(number)).collect()
    }

    /// Returns the tokens of this rank's own operations.
    #[cfg(test)]
    pub(crate) fn tokens(&self) -> impl Iterator<Item = u64> {
        self.entries.iter().filter_map(|(_, entry)| match entry.operation {
            PendingOperation::Put(Put { origin: Origin::Own { token }, .. })
            | PendingOperation::Get { token, .. }
            | PendingOperation::Atomic { token, .. }
            | PendingOperation::Copy { token, .. } => Some(token),
            PendingOperation::Put(_) => None,
        })
    }

    /// Returns all puts in flight.
    pub(crate) fn puts(&self) -> impl Iterator<Item = &Put<L>> {
        self.entries
            .iter()
            .filter_map(|(_, entry)| if let PendingOperation::Put(put) = &entry.operation { Some(put) } else { None })
    }
}

/// Returns the table index of an operation number.
fn index(number: u32) -> usize {
    number as usize & (OPERATIONS_MAX - 1)
}

impl<L> PendingOperation<L> {
    /// Returns the number of blocks in the lists of the operation.
    fn listed(&self) -> usize {
        match self {
            Self::Put(Put { blocks: Some(blocks), .. }) => blocks.listed(),
            Self::Get { blocks: Some(blocks), .. } => blocks.listed(),
            _ => 0,
        }
    }

    /// Returns the caller's token and local memory, if the operation is this rank's own.
    pub(crate) fn into_owner(self) -> Option<(u64, Option<L>)> {
        match self {
            Self::Put(Put { origin: Origin::Own { token }, from, .. }) => Some((token, from.into_local())),
            Self::Put(_) => None,
            Self::Get { token, to, .. } => Some((token, Some(to))),
            Self::Atomic { token, .. } | Self::Copy { token, .. } => Some((token, None)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn atomic(token: u64) -> PendingOperation<()> {
        PendingOperation::Atomic { token, at: GlobalAddress::NULL }
    }

    #[test]
    fn a_number_is_of_one_operation_only() {
        let mut operations = Operations::default();
        let first = operations.insert(0, atomic(1)).unwrap();
        assert!(operations.remove(first).is_some());
        let second = operations.insert(0, atomic(2)).unwrap();
        assert_ne!(first, second);
        assert!(operations.get_mut(first).is_none() && operations.remove(first).is_none());
        assert!(matches!(operations.get_mut(second), Some(PendingOperation::Atomic { token: 2, .. })));
        assert!(operations.awaited_from(0, second).is_some() && operations.awaited_from(1, second).is_none());
    }

    #[test]
    fn the_table_is_bounded_and_emptied_by_peer() {
        let mut operations = Operations::default();
        for token in 0..OPERATIONS_MAX as u64 {
            assert!(!operations.is_full());
            operations.insert(token as u32 % 2, atomic(token)).unwrap();
        }
        assert!(operations.is_full() && operations.insert(0, atomic(0)).is_none());
        assert_eq!(operations.remove_all(1).len(), OPERATIONS_MAX / 2);
        assert_eq!(operations.remove_all(1).len(), 0);
        assert_eq!(operations.remove_all(0).len(), OPERATIONS_MAX / 2);
    }
}
