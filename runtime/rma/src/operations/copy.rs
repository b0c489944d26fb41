//! Copies: from any rank to any rank.

use pelago_base::Shape;
use pelago_memory::Pod;

use super::{check_end, joined};
use crate::progress::record::{Audience, Terms};
use crate::progress::striping::Stripes;
use crate::progress::task::{End, Move, Task};
use crate::{Context, GlobalPtr, Handle, Ordered, Result};

impl Context {
    /// Copies `count` values from `from` on to `to`, whichever ranks own them; the bytes go directly from one rank to the other.
    ///
    /// There is no wait and no further copy: for large transfers that overlap with computation, allocate both ends globally. Changes
    /// at `from` before the operation has ended may be transferred. The two ranges may overlap only if
    /// both are mapped: a transport may copy them in parts, in any order.
    ///
    /// Cost: both ends mapped: one copy, which completes before the call returns. Otherwise one operation of the transport.
    ///
    /// # Errors
    /// An end extends past the last address; the job has a fault while the call waits for room. The handle or `quiet` reports an invalid address.
    #[inline]
    pub fn copy<T: Pod>(&self, from: GlobalPtr<T>, to: GlobalPtr<T>, count: usize) -> Result<Handle<'_>> {
        let shape = Shape::contiguous(count as u64);
        self.copy_after(Terms::FREE, from, shape, to, shape)
    }

    /// Copies the blocks of `from_shape` from `from` on to those of `to_shape` from `to` on. Shapes are in elements.
    ///
    /// Blocks of another rank lie in one heap or registered region, gaps included. Blocks of the two shapes do not overlap.
    ///
    /// Cost: both ends mapped: no packing, one copy. Otherwise, if one end is a heap of this rank, one operation of a transport that
    /// [takes blocks](pelago_platform::Capabilities::blocks_max), which reads or writes the heap in place; otherwise one per block.
    ///
    /// # Errors
    /// The shapes differ; otherwise as [`copy`](Self::copy).
    pub fn copy_strided<T: Pod>(
        &self,
        from: GlobalPtr<T>,
        from_shape: Shape,
        to: GlobalPtr<T>,
        to_shape: Shape,
    ) -> Result<Handle<'_>> {
        self.copy_after(Terms::FREE, from, from_shape, to, to_shape)
    }

    fn copy_after<T: Pod>(
        &self,
        terms: Terms,
        from: GlobalPtr<T>,
        from_shape: Shape,
        to: GlobalPtr<T>,
        to_shape: Shape,
    ) -> Result<Handle<'_>> {
        let element = size_of::<T>() as u64;
        let (from_shape, to_shape) = joined(from_shape.scaled(element)?, to_shape.scaled(element)?)?;
        let (source, target) = (from.address(), to.address());
        check_end(source, from_shape.extent()?)?;
        check_end(target, to_shape.extent()?)?;
        let (from, to) = (End::Global(source), End::Global(target));
        let bytes = if from_shape.counts == [1; 3] { from_shape.bytes()? } else { self.strided_bytes(from_shape)? };
        let mut moving = Move { from, to, from_shape, to_shape, by_size: false, stripes: Stripes::Whole };
        if terms == Terms::FREE && moving.do_mapped(&self.reach) {
            return Ok(Handle::done_by(self));
        }
        moving.by_size = self.shared().goes_by_size(source, bytes)? || self.shared().goes_by_size(target, bytes)?;
        if let Some(task) = self.own_put(&mut moving) {
            return Ok(Handle::pending(self, self.submit(terms, task, Audience::Anyone)?));
        }
        self.own_get(&mut moving);
        Ok(Handle::pending(self, self.submit(terms, moving.into(), Audience::Anyone)?))
    }
}

impl Context {
    /// Converts a copy from this rank's own heap to a put of that memory, which needs no request to another rank. Returns a contiguous copy as a put task; for
    /// others it replaces the source end of `moving`.
    fn own_put(&self, moving: &mut Move) -> Option<Task> {
        let (End::Global(from), End::Global(to)) = (&moving.from, &moving.to) else { return None };
        let (own, to) = (self.own_cells(*from, moving.from_shape.extent().ok()?)?, *to);
        if moving.from_shape.counts == [1; 3] && !moving.by_size {
            return Some(Task::Put { from: own, to });
        }
        moving.from = End::Own(own);
        None
    }

    /// Converts a copy to this rank's own heap to a get into that memory, whose arrival needs no acknowledgement to the source.
    fn own_get(&self, moving: &mut Move) {
        if let (End::Global(_), End::Global(to)) = (&moving.from, &moving.to)
            && let Ok(bytes) = moving.to_shape.extent()
            && let Some(own) = self.own_cells(*to, bytes)
        {
            moving.to = End::Own(own);
        }
    }
}

impl<'c> Ordered<'c> {
    /// As [`Context::copy`].
    ///
    /// # Errors
    /// The handle belongs to another context, or its operation failed; otherwise as [`Context::copy`].
    pub fn copy<T: Pod>(&self, from: GlobalPtr<T>, to: GlobalPtr<T>, count: usize) -> Result<Handle<'c>> {
        let shape = Shape::contiguous(count as u64);
        self.copy_strided(from, shape, to, shape)
    }

    /// As [`Context::copy_strided`].
    ///
    /// # Errors
    /// The handle belongs to another context, or its operation failed; otherwise as [`Context::copy_strided`].
    pub fn copy_strided<T: Pod>(
        &self,
        from: GlobalPtr<T>,
        from_shape: Shape,
        to: GlobalPtr<T>,
        to_shape: Shape,
    ) -> Result<Handle<'c>> {
        let is_own = self.context().reach.addresses().rank(from.address()) == self.context().rank();
        let terms = self.pending(if is_own { to.address() } else { from.address() })?;
        self.context().copy_after(terms, from, from_shape, to, to_shape)
    }
}
