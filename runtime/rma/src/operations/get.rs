//! Gets: from any rank to this rank.

use std::collections::VecDeque;

use pelago_base::{GlobalAddress, Shape};
use pelago_memory::{Cells, Pod, copy_strided};
use zerocopy::IntoBytes;

use super::{check_end, joined, shape_in_slice};
use crate::buffer::{Buffer, Spare};
use crate::progress::record::{Audience, Terms};
use crate::progress::striping::Stripes;
use crate::progress::task::{End, Move, Task};
use crate::{Context, Error, GlobalPtr, Handle, Result};

/// Size of the operations of a long get: a core's private cache holds the bytes until they are copied to the program.
const PART_BYTES: usize = Spare::BYTES_MAX;

/// Maximum number of concurrent operations of one get.
const PARTS_MAX: usize = 4;

const _: () = assert!(PARTS_MAX * PART_BYTES <= Spare::BYTES_KEPT_MAX && PARTS_MAX <= Spare::BUFFERS_MAX, "parts are kept");

impl Context {
    /// Reads the value at `from`.
    ///
    /// Cost: mapped source: one load for a value of up to 8 bytes, else one copy. Other sources: waits for one operation of the
    /// transport. To read without waiting, use [`start_get`](Self::start_get), [`copy`](Self::copy) or [`fetch`](Self::fetch).
    ///
    /// # Errors
    /// The address is invalid, its rank failed, or the job has a fault.
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
    /// Cost: as [`get`](Self::get); other sources: one operation per 256 KiB, four of them in flight at once, and one more copy.
    /// The context caches the buffers, up to 1 MiB, for the next get.
    ///
    /// # Errors
    /// The address is invalid, its rank failed, or the job has a fault; then `into` may be partly filled.
    #[inline]
    pub fn get_into<T: Pod>(&self, from: GlobalPtr<T>, into: &mut [T]) -> Result<()> {
        if self.reach.read(from.address(), into.as_mut_bytes()) {
            return Ok(());
        }
        self.get_remote(from.address(), into.as_mut_bytes())
    }

    /// Reads the blocks of `from_shape` from `from` on into those of `into_shape` in `into`. Shapes are in elements.
    ///
    /// Cost: mapped source: no packing, one copy. Other sources: one operation of a transport that
    /// [takes blocks](pelago_platform::Capabilities::blocks_max), else one for each block of `from`; unpacked.
    ///
    /// The blocks of `from_shape` lie in one heap or registered region, gaps included. To continue before the blocks have arrived, use
    /// [`copy_strided`](Self::copy_strided) to memory of this rank that others can access.
    ///
    /// # Errors
    /// The shapes differ, or `into_shape` extends past `into`; otherwise as [`get`](Self::get).
    pub fn get_strided<T: Pod>(&self, from: GlobalPtr<T>, from_shape: Shape, into: &mut [T], into_shape: Shape) -> Result<()> {
        let into_shape = shape_in_slice::<T>(into_shape, into.len())?;
        let from_shape = from_shape.scaled(size_of::<T>() as u64)?;
        let (from_shape, into_shape) = joined(from_shape, into_shape)?;
        let bytes = self.strided_bytes(from_shape)?;
        check_end(from.address(), from_shape.extent()?)?;
        let target = Cells::from_mut(into);
        if let Some(source) = self.reach.cells(from.address(), from_shape.extent()?) {
            copy_strided(source, from_shape, target, into_shape);
            return Ok(());
        }
        let by_size = self.shared().goes_by_size(from.address(), bytes)?;
        let buffer = if by_size { Buffer::hollow(bytes as usize) } else { self.spare.borrow_mut().take(bytes as usize) };
        // Packed bytes have no block structure: only the blocks of the source count, merged as far as possible.
        let from_shape = from_shape.canonical();
        let (from, to) = (End::Global(from.address()), End::Buffer(buffer));
        let moving = Move { from, to, from_shape, to_shape: from_shape.packed(), by_size, stripes: Stripes::Whole };
        self.fetched(moving.into())?.hand_on(|buffer| copy_strided(buffer, into_shape.packed(), target, into_shape))
    }

    #[cold]
    fn get_remote(&self, from: GlobalAddress, into: &mut [u8]) -> Result<()> {
        if self.shared().goes_by_size(from, into.len() as u64)? {
            let to = End::Buffer(Buffer::hollow(into.len()));
            return self.fetched(Task::contiguous(End::Global(from), to, into.len() as u64))?.hand_on(|_| {});
        }
        if into.len() > PART_BYTES {
            return self.get_in_parts(from, into);
        }
        self.fetch_part(from, into.len())?.hand_on(|buffer| buffer.read(into))
    }

    /// Reads in parts, so that parts that have arrived are copied while others arrive, and the memory for a get is limited.
    #[inline(never)]
    fn get_in_parts(&self, from: GlobalAddress, into: &mut [u8]) -> Result<()> {
        let mut parts = into.chunks_mut(PART_BYTES).zip((0..).step_by(PART_BYTES));
        let mut under_way = VecDeque::with_capacity(PARTS_MAX);
        let mut outcome = Ok(());
        loop {
            while outcome.is_ok()
                && under_way.len() < PARTS_MAX
                && let Some((part, offset)) = parts.next()
            {
                let at = GlobalAddress::from_bits(from.bits().wrapping_add(offset));
                under_way.push_back((self.fetch_part(at, part.len())?, part));
            }
            let Some((fetched, part)) = under_way.pop_front() else { return outcome };
            match fetched.hand_on(|buffer| buffer.read(part)) {
                // The other parts in flight end too, but their results are not reported.
                Err(error @ Error::Failed(_)) => outcome = outcome.and(Err(error)),
                other => other?,
            }
        }
    }

    pub(super) fn fetch_part(&self, from: GlobalAddress, bytes: usize) -> Result<Fetched<'_>> {
        let into = self.spare.borrow_mut().take(bytes);
        self.fetched(Task::Get { from, into })
    }

    pub(super) fn fetched(&self, task: Task) -> Result<Fetched<'_>> {
        Ok(Fetched { context: self, id: self.submit(Terms::FREE, task, Audience::Keeper)? })
    }
}

/// An operation that fills a buffer, which is discarded with it if there is no wait.
pub(super) struct Fetched<'c> {
    context: &'c Context,
    id: u64,
}

impl<'c> Fetched<'c> {
    pub(super) fn handle(&self) -> Handle<'c> {
        Handle::pending(self.context, self.id)
    }

    /// Waits, and passes the bytes to `hand_on`, unless only their size was transferred.
    pub(super) fn hand_on(self, hand_on: impl FnOnce(Cells<'_>)) -> Result<()> {
        self.context.wait_id(self.id)?;
        let taken = self.context.engine().borrow_mut().take(self.id);
        let mut buffer = taken.and_then(|(_, buffer)| buffer).expect("the operation was kept");
        if !buffer.is_hollow() {
            hand_on(buffer.cells());
            self.context.spare.borrow_mut().give(buffer);
        }
        std::mem::forget(self);
        Ok(())
    }
}

impl Drop for Fetched<'_> {
    fn drop(&mut self) {
        self.context.forget_word(self.id);
    }
}
