//! Memory that all ranks allocate collectively.

use pelago_base::{Rank, SegmentId};
use pelago_memory::{CellSlice, Pod};

use crate::memory::segment::{known, offset_of, own};
use crate::{GlobalPtr, World};

/// Values that every rank of the job has, at the same offset of its memory; returned by [`World::alloc`].
///
/// The drop is not collective: the memory is reused after all ranks have dropped their values and one allocates again. The allocation waits for operations
/// of the world on dropped values. Operations of other [contexts](crate::Context::context_factory) must have ended before the drop, or they may write to
/// the next values.
pub struct Symmetric<'w, T> {
    world: &'w World,
    slot: usize,
    offset: u64,
    length: usize,
    own: CellSlice<'w, T>,
    /// Whether writes to the values wake no sleeping rank.
    is_quiet: bool,
}

impl<'w, T: Pod> Symmetric<'w, T> {
    pub(crate) fn new(world: &'w World, slot: usize, offset: u64, length: usize) -> Self {
        Self { world, slot, offset, length, own: own(world, SegmentId::SYMMETRIC, offset, length), is_quiet: false }
    }

    /// Promises that no thread of this rank waits for writes of others to these values, neither by [`wait_until`](crate::Context::wait_until) nor
    /// by [`wait_for`](crate::Context::wait_for): then such writes do not wake this rank from other waits. For tables and queues that are polled,
    /// not waited for.
    ///
    /// Only whole pages are quiet, and only one allocation at a time; otherwise, and for writes through a transport, the rank is woken
    /// as before, without effect.
    #[must_use]
    pub fn quiet(mut self) -> Self {
        let bytes = self.length * size_of::<T>();
        let (reach, rank) = (&self.world.reach, self.world.rank());
        let own = reach.cells(self.world.own_address(SegmentId::SYMMETRIC, self.offset), bytes as u64);
        if let (Some(bell), Some(cells)) = (reach.bell(rank), own) {
            // A second call changes nothing: the memory of this allocation is quiet already.
            self.is_quiet = self.is_quiet || bell.hush(cells.pointer().as_ptr(), bytes);
        }
        self
    }

    /// Number of values per rank.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether each rank has no values.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Returns a pointer to the value at `index` of `rank`. Cost: arithmetic; no communication.
    ///
    /// # Panics
    /// `index` is past the end, or the job has no such rank.
    #[inline]
    #[track_caller]
    pub fn at(&self, rank: Rank, index: usize) -> GlobalPtr<T> {
        let offset = self.offset + offset_of::<T>(index, self.length);
        match self.world.reach.addresses().encode(rank, SegmentId::SYMMETRIC, offset) {
            Ok(address) => known(address),
            Err(error) => panic!("{error}"),
        }
    }

    /// Returns this rank's own values. Cost: two loads.
    #[inline]
    pub fn local(&self) -> CellSlice<'_, T> {
        self.own
    }
}

impl<T> Drop for Symmetric<'_, T> {
    fn drop(&mut self) {
        if let Some(bell) = self.world.reach.bell(self.world.rank()).filter(|_| self.is_quiet) {
            bell.listen();
        }
        self.world.drop_symmetric(self.slot);
    }
}
