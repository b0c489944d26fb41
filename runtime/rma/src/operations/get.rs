//! From any rank to this one.

use pelago_base::{GlobalAddress, Shape};
use pelago_memory::{Cells, Pod, copy_strided};
use zerocopy::IntoBytes;

use super::{joined, shape_in_slice};
use crate::buffer::Buffer;
use crate::chain::Terms;
use crate::joint::Parts;
use crate::task::{End, Move, Task};
use crate::{Context, GlobalPtr, Result};

impl Context {
    /// Reads the value at `from`.
    ///
    /// Cost: mapped source: one load for a value of up to 8 bytes, else one copy. Other sources: waits for one operation of the
    /// transport. To fetch without waiting, use [`copy`](Self::copy) or [`fetch`](Self::fetch).
    ///
    /// # Errors
    /// The address leads nowhere, its rank was lost, or the job is at fault.
    #[inline(always)]
    pub fn get<T: Pod>(&self, from: GlobalPtr<T>) -> Result<T> {
        if let Some(place) = self.reach.place(from) {
            return Ok(place.load());
        }
        let mut value = T::new_zeroed();
        self.get_into(from, core::slice::from_mut(&mut value))?;
        Ok(value)
    }

    /// Reads values from `from` on until `into` is full.
    ///
    /// Cost: as [`get`](Self::get); other sources: one more copy.
    ///
    /// # Errors
    /// The address leads nowhere, its rank was lost, or the job is at fault.
    #[inline]
    pub fn get_into<T: Pod>(&self, from: GlobalPtr<T>, into: &mut [T]) -> Result<()> {
        if self.reach.read(from.address(), into.as_mut_bytes()) {
            return Ok(());
        }
        self.get_remote(from.address(), into.as_mut_bytes())
    }

    /// Reads the blocks of `from_shape` from `from` on onto those of `into_shape` in `into`. Shapes are in elements.
    ///
    /// Cost: mapped source: no packing, one copy. Other sources: one operation of the transport for each block of `from`, unpacked.
    ///
    /// # Errors
    /// The shapes differ, or `into_shape` reaches past `into`; else as [`get`](Self::get).
    pub fn get_strided<T: Pod>(&self, from: GlobalPtr<T>, from_shape: Shape, into: &mut [T], into_shape: Shape) -> Result<()> {
        let into_shape = shape_in_slice::<T>(into_shape, into.len())?;
        let from_shape = from_shape.scaled(size_of::<T>() as u64)?;
        let (from_shape, into_shape) = joined(from_shape, into_shape)?;
        let target = Cells::from_mut(into);
        if let Some(source) = self.reach.cells(from.address(), from_shape.extent()?) {
            copy_strided(source, from_shape, target, into_shape);
            return Ok(());
        }
        let bytes = from_shape.bytes()?;
        let by_size = self.shared().goes_by_size(from.address(), bytes)?;
        let buffer = if by_size { Buffer::hollow(bytes as usize) } else { Buffer::zeroed(bytes as usize) };
        // Packed bytes have no blocks of their own: those of the source decide, joined as far as they go.
        let from_shape = from_shape.canonical();
        let (from, to) = (End::Global(from.address()), End::Buffer(buffer));
        let moving = Move { from, to, from_shape, to_shape: from_shape.packed(), by_size, parts: Parts::Whole };
        self.fetch_buffer(moving.into(), |mut buffer| copy_strided(buffer.cells(), into_shape.packed(), target, into_shape))
    }

    #[cold]
    fn get_remote(&self, from: GlobalAddress, into: &mut [u8]) -> Result<()> {
        let by_size = self.shared().goes_by_size(from, into.len() as u64)?;
        let task = match by_size {
            true => Task::contiguous(End::Global(from), End::Buffer(Buffer::hollow(into.len())), into.len() as u64),
            false => Task::Get { from, into: Buffer::zeroed(into.len()) },
        };
        self.fetch_buffer(task, |mut buffer| buffer.cells().read(into))
    }

    /// Waits for an operation that fills a buffer, and hands it on unless it is hollow.
    fn fetch_buffer(&self, task: Task, hand_on: impl FnOnce(Buffer)) -> Result<()> {
        let id = self.submit(Terms::FREE, task, true)?;
        if let Err(error) = self.wait_id(id) {
            self.forget_word(id);
            return Err(error);
        }
        let (_, buffer) = self.engine().borrow_mut().take(id);
        let buffer = buffer.expect("the operation was kept");
        if !buffer.is_hollow() {
            hand_on(buffer);
        }
        Ok(())
    }
}
