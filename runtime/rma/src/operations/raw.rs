//! Operations whose local end is memory of the program, accessed in place: no payload is captured, and no buffer is returned.
//!
//! Invariant **P1**: from the call until the operation has ended, the memory is valid for reads and writes, and no reference to it is
//! used. The caller promises it; bindings to languages without lifetimes pass this obligation on to their programs.
#![allow(unsafe_code)]

use core::ptr::NonNull;

use pelago_base::{AtomicOperator, GlobalAddress, Shape};
use pelago_memory::{Cells, Word};

use crate::progress::record::{Audience, Terms};
use crate::progress::striping::Stripes;
use crate::progress::task::{End, Move, Task};
use crate::{Context, Error, GlobalPtr, Handle, Ordered, Result};

impl Context {
    /// Writes `bytes` bytes from `from` on to `to`. Changes at `from` before the operation has ended may be transferred.
    ///
    /// Cost: mapped target: one copy. Other targets: one operation of the transport, and no further copy.
    ///
    /// # Safety
    /// Until the operation has ended, the bytes at `from` are valid for reads and writes, and no reference to them is used.
    ///
    /// # Errors
    /// The job has a fault while the call waits for room. The handle or `quiet` reports an invalid address.
    pub unsafe fn put_raw(&self, to: GlobalAddress, from: NonNull<u8>, bytes: usize) -> Result<Handle<'_>> {
        // SAFETY: P1.
        self.put_cells(Terms::FREE, to, unsafe { Cells::new(from, bytes) })
    }

    /// Reads `bytes` bytes from `from` on into the memory at `into`.
    ///
    /// Cost: mapped source: one copy. Other sources: one operation of the transport, and no further copy.
    ///
    /// # Safety
    /// As [`put_raw`](Self::put_raw), for the bytes at `into`.
    ///
    /// # Errors
    /// The job has a fault while the call waits for room. The handle or `quiet` reports an invalid address.
    pub unsafe fn get_raw(&self, from: GlobalAddress, into: NonNull<u8>, bytes: usize) -> Result<Handle<'_>> {
        // SAFETY: P1.
        self.get_cells(Terms::FREE, from, unsafe { Cells::new(into, bytes) })
    }

    /// Performs an atomic on the word at `at` and stores the old value at `into`, before the operation ends.
    ///
    /// Cost: mapped target: one atomic instruction and a store. Other targets: one operation of the transport.
    ///
    /// # Safety
    /// As [`put_raw`](Self::put_raw), for the word at `into`.
    ///
    /// # Errors
    /// `into` is not aligned; the job has a fault while the call waits for room. The handle or `quiet` reports an invalid
    /// address.
    pub unsafe fn fetch_raw<T: Word>(
        &self,
        at: GlobalPtr<T>,
        operator: AtomicOperator,
        operand: T,
        into: NonNull<T>,
    ) -> Result<Handle<'_>> {
        // SAFETY: P1.
        self.fetch_cells(Terms::FREE, at, operator, operand, unsafe { Cells::new(into.cast(), size_of::<T>()) })
    }

    fn put_cells(&self, terms: Terms, to: GlobalAddress, from: Cells<'static>) -> Result<Handle<'_>> {
        let bytes = from.bytes() as u64;
        if terms == Terms::FREE
            && let Some(target) = self.reach.cells(to, bytes)
        {
            target.copy_from(from);
            self.ring(to);
            return Ok(Handle::done_by(self));
        }
        let by_size = self.shared().goes_by_size(to, bytes)?;
        let task = if by_size { moving(End::Own(from), End::Global(to), bytes, true) } else { Task::Put { from, to } };
        Ok(Handle::pending(self, self.submit(terms, task, Audience::Anyone)?))
    }

    fn get_cells(&self, terms: Terms, from: GlobalAddress, into: Cells<'static>) -> Result<Handle<'_>> {
        let bytes = into.bytes() as u64;
        if terms == Terms::FREE
            && let Some(source) = self.reach.cells(from, bytes)
        {
            into.copy_from(source);
            return Ok(Handle::done_by(self));
        }
        let by_size = self.shared().goes_by_size(from, bytes)?;
        let task = moving(End::Global(from), End::Own(into), bytes, by_size);
        Ok(Handle::pending(self, self.submit(terms, task, Audience::Anyone)?))
    }

    fn fetch_cells<T: Word>(
        &self,
        terms: Terms,
        at: GlobalPtr<T>,
        operator: AtomicOperator,
        operand: T,
        into: Cells<'static>,
    ) -> Result<Handle<'_>> {
        if !into.pointer().cast::<T>().is_aligned() {
            return Err(Error::Invalid("the word for what an atomic found is not aligned"));
        }
        let operand = operand.to_bits();
        let mut task = Task::Atomic { at: at.address(), width: T::WIDTH, operator, operand, into: Some(into) };
        if terms == Terms::FREE && task.do_mapped(&self.reach).is_some() {
            return Ok(Handle::done_by(self));
        }
        Ok(Handle::pending(self, self.submit(terms, task, Audience::Anyone)?))
    }
}

impl<'c> Ordered<'c> {
    /// As [`Context::put_raw`].
    ///
    /// # Safety
    /// As [`Context::put_raw`].
    ///
    /// # Errors
    /// The handle belongs to another context, or its operation failed; otherwise as [`Context::put_raw`].
    pub unsafe fn put_raw(&self, to: GlobalAddress, from: NonNull<u8>, bytes: usize) -> Result<Handle<'c>> {
        // SAFETY: P1.
        self.context().put_cells(self.pending(to)?, to, unsafe { Cells::new(from, bytes) })
    }

    /// As [`Context::get_raw`].
    ///
    /// # Safety
    /// As [`Context::get_raw`].
    ///
    /// # Errors
    /// The handle belongs to another context, or its operation failed; otherwise as [`Context::get_raw`].
    pub unsafe fn get_raw(&self, from: GlobalAddress, into: NonNull<u8>, bytes: usize) -> Result<Handle<'c>> {
        // SAFETY: P1.
        self.context().get_cells(self.pending(from)?, from, unsafe { Cells::new(into, bytes) })
    }

    /// As [`Context::fetch_raw`].
    ///
    /// # Safety
    /// As [`Context::fetch_raw`].
    ///
    /// # Errors
    /// The handle belongs to another context, or its operation failed; otherwise as [`Context::fetch_raw`].
    pub unsafe fn fetch_raw<T: Word>(
        &self,
        at: GlobalPtr<T>,
        operator: AtomicOperator,
        operand: T,
        into: NonNull<T>,
    ) -> Result<Handle<'c>> {
        // SAFETY: P1.
        let into = unsafe { Cells::new(into.cast(), size_of::<T>()) };
        self.context().fetch_cells(self.pending(at.address())?, at, operator, operand, into)
    }
}

/// Returns a contiguous move.
fn moving(from: End, to: End, bytes: u64, by_size: bool) -> Task {
    let shape = Shape::contiguous(bytes);
    Move { from, to, from_shape: shape, to_shape: shape, by_size, stripes: Stripes::Whole }.into()
}
