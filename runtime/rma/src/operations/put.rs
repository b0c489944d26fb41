//! Puts: from this rank to any rank.

use pelago_base::{GlobalAddress, Shape};
use pelago_memory::{Pod, write_strided};
use zerocopy::IntoBytes;

use super::{check_end, joined, shape_in_slice};
use crate::buffer::Buffer;
use crate::progress::record::{Audience, Terms};
use crate::progress::striping::Stripes;
use crate::progress::task::{End, Move, Task};
use crate::{Context, Error, GlobalPtr, Handle, Ordered, Result};

impl Context {
    /// Writes `values` to memory from `to` on. The slice may be reused as soon as the call returns.
    ///
    /// Cost: mapped target: one store for a value of up to 8 bytes, else one copy. Other targets: one more copy of the values,
    /// and one operation of the transport.
    ///
    /// # Errors
    /// The job has a fault while the call waits for room. The handle or `quiet` reports an invalid address.
    #[inline(always)]
    pub fn put<T: Pod>(&self, to: GlobalPtr<T>, values: &[T]) -> Result<Handle<'_>> {
        if let [value] = values
            && let Some(place) = self.reach.place(to)
        {
            place.store(*value);
            return Ok(Handle::done_by(self));
        }
        if self.reach.write(to.address(), values.as_bytes()) {
            return Ok(Handle::done_by(self));
        }
        self.put_remote(Terms::FREE, to.address(), values.as_bytes())
    }

    /// Writes the blocks of `from_shape` in `from` to those of `to_shape` from `to` on. Shapes are in elements.
    ///
    /// The blocks of `to_shape` lie in one heap or registered region, gaps included.
    ///
    /// Cost: mapped target: no packing, one copy. Other targets: packed, and one operation of a transport that
    /// [takes blocks](pelago_platform::Capabilities::blocks_max), else one for each block of `to`.
    ///
    /// # Errors
    /// The shapes differ, `from_shape` extends past `from`, or `to_shape` past the last address; otherwise as [`put`](Self::put).
    pub fn put_strided<T: Pod>(&self, to: GlobalPtr<T>, to_shape: Shape, from: &[T], from_shape: Shape) -> Result<Handle<'_>> {
        self.put_strided_after(Terms::FREE, to, to_shape, from, from_shape)
    }

    /// As [`put`](Self::put), but moves the bytes even in a simulation of sizes only: for collective operations.
    #[inline]
    pub(crate) fn put_data<T: Pod>(&self, to: GlobalPtr<T>, values: &[T]) -> Result<Handle<'_>> {
        if self.reach.write(to.address(), values.as_bytes()) {
            return Ok(Handle::done_by(self));
        }
        self.put_remote_as(Terms::FREE, to.address(), values.as_bytes(), false)
    }

    /// Puts a word of a barrier: `quiet` does not wait for its end, which the next barrier implies.
    #[inline]
    pub(crate) fn signal(&self, to: GlobalPtr<u64>, word: u64) -> Result<Handle<'_>> {
        let handle = self.put(to, &[word])?;
        if let Some((_, id)) = handle.parts() {
            self.engine().borrow_mut().make_signal(id);
        }
        Ok(handle)
    }

    #[cold]
    pub(super) fn put_remote(&self, terms: Terms, to: GlobalAddress, bytes: &[u8]) -> Result<Handle<'_>> {
        let by_size = self.shared().goes_by_size(to, bytes.len() as u64)?;
        self.put_remote_as(terms, to, bytes, by_size)
    }

    fn put_remote_as(&self, terms: Terms, to: GlobalAddress, bytes: &[u8], by_size: bool) -> Result<Handle<'_>> {
        let _inside = self.shared().inside();
        self.make_room(bytes.len())?;
        self.busy.set(true);
        if let Some(id) = self.engine().borrow_mut().submit_write(self.shared(), terms, to, bytes, by_size)? {
            return Ok(Handle::pending(self, id));
        }
        self.put_captured(terms, to, bytes, by_size)
    }

    /// Puts a copy of `bytes`.
    #[inline(never)]
    fn put_captured(&self, terms: Terms, to: GlobalAddress, bytes: &[u8], by_size: bool) -> Result<Handle<'_>> {
        let buffer = if by_size { Buffer::hollow(bytes.len()) } else { Buffer::copy_of(bytes) };
        let task = Task::contiguous(End::Buffer(buffer), End::Global(to), bytes.len() as u64);
        Ok(Handle::pending(self, self.submit(terms, task, Audience::Anyone)?))
    }

    fn put_strided_after<T: Pod>(
        &self,
        terms: Terms,
        to: GlobalPtr<T>,
        to_shape: Shape,
        from: &[T],
        from_shape: Shape,
    ) -> Result<Handle<'_>> {
        let from_shape = shape_in_slice::<T>(from_shape, from.len())?;
        let to_shape = to_shape.scaled(size_of::<T>() as u64)?;
        let (from_shape, to_shape) = joined(from_shape, to_shape)?;
        let bytes = self.strided_bytes(from_shape)?;
        check_end(to.address(), to_shape.extent()?)?;
        if terms == Terms::FREE
            && let Some(target) = self.reach.cells(to.address(), to_shape.extent()?)
        {
            write_strided(from.as_bytes(), from_shape, target, to_shape);
            self.ring(to.address());
            return Ok(Handle::done_by(self));
        }
        let by_size = self.shared().goes_by_size(to.address(), bytes)?;
        let buffer = if by_size {
            Buffer::hollow(bytes as usize)
        } else {
            let mut buffer = Buffer::zeroed(bytes as usize);
            write_strided(from.as_bytes(), from_shape, buffer.cells(), from_shape.packed());
            buffer
        };
        // Packed bytes have no block structure: only the blocks of the target count, merged as far as possible.
        let to_shape = to_shape.canonical();
        let (from, to) = (End::Buffer(buffer), End::Global(to.address()));
        let moving = Move { from, to, from_shape: to_shape.packed(), to_shape, by_size, stripes: Stripes::Whole };
        Ok(Handle::pending(self, self.submit(terms, moving.into(), Audience::Anyone)?))
    }

    /// Returns the number of bytes of a strided transfer, which may exceed the memory of both ends if blocks overlap.
    pub(super) fn strided_bytes(&self, shape: Shape) -> Result<u64> {
        let bytes = shape.bytes()?;
        if bytes > self.reach.addresses().segment_bytes() {
            return Err(Error::Invalid("a strided transfer of more bytes than a segment has"));
        }
        Ok(bytes)
    }

    /// Wakes the owner of an address on this host, if the owner sleeps.
    #[inline]
    pub(crate) fn ring(&self, address: GlobalAddress) {
        if let Some(bell) = self.reach.bell(self.reach.addresses().rank(address)) {
            bell.ring();
        }
    }
}

impl<'c> Ordered<'c> {
    /// As [`Context::put`].
    ///
    /// # Errors
    /// The handle belongs to another context, or its operation failed; otherwise as [`Context::put`].
    #[inline]
    pub fn put<T: Pod>(&self, to: GlobalPtr<T>, values: &[T]) -> Result<Handle<'c>> {
        match self.pending(to.address())? {
            Terms::FREE => self.context().put(to, values),
            terms => self.context().put_remote(terms, to.address(), values.as_bytes()),
        }
    }

    /// As [`Context::put_strided`].
    ///
    /// # Errors
    /// The handle belongs to another context, or its operation failed; otherwise as [`Context::put_strided`].
    pub fn put_strided<T: Pod>(&self, to: GlobalPtr<T>, to_shape: Shape, from: &[T], from_shape: Shape) -> Result<Handle<'c>> {
        let terms = self.pending(to.address())?;
        self.context().put_strided_after(terms, to, to_shape, from, from_shape)
    }
}
