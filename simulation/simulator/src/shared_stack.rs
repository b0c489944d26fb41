//! One stack on which all ranks of a job run, by turns.
//!
//! A rank that stops leaves on the stack what its frames hold. When another continues, those bytes are moved to the image of the first, which is
//! the end of the memory of its own stack, below its heap, and the image of the other is moved to the stack. A rank therefore takes the
//! memory of what it has on its stack while it waits, not of the deepest call that it has ever made; and calls find the stack in the cache.
//!
//! Invariants of the unsafe code:
//!
//! - **H1** One rank is the owner of the stack. Only a coroutine of the owner exists there as frames, and only the owner runs.
//! - **H2** The image of a rank is what `RankMemory::stack` says, which nothing else uses; it is as long as the stack.
//! - **H3** Nobody follows a pointer to the stack for a rank that does not run, except the operations of the job, which ask
//!   [`SharedStack::image_of`] where its bytes are.
#![allow(unsafe_code)]

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use pelago_memory::{Cells, Mapping};

use crate::error::SimulationError;

pub(crate) const PAGE_BYTES: usize = 4096;

/// No rank.
const NOBODY: u32 = u32::MAX;

/// Bytes below the images that hold nothing, in builds with debug assertions: a rank that misses them was not saved as a whole.
const POISONED_BYTES: usize = if cfg!(debug_assertions) { 512 } else { 0 };

/// The stack, with a guard page at its lower end.
pub(crate) struct SharedStack {
    mapping: Mapping,
    /// What the images are part of; where that of rank 0 ends, and the bytes from one to the next.
    images: Arc<Mapping>,
    first_end: usize,
    step: usize,
    bytes: usize,
    /// Whose frames are on the stack.
    owner: AtomicU32,
}

impl SharedStack {
    /// A stack of so many bytes for all ranks whose images are parts of `images`: the first ends there, the others at steps from it.
    pub(crate) fn new(images: Arc<Mapping>, first_end: usize, step: usize, bytes: usize) -> Result<Self, SimulationError> {
        let mapping = Mapping::private(bytes).map_err(|error| SimulationError::Memory(error.to_string()))?;
        Ok(Self { mapping, images, first_end, step, bytes, owner: AtomicU32::new(NOBODY) })
    }

    /// Where it ends, and where its guard begins.
    pub(crate) fn bounds(&self) -> (usize, usize) {
        let limit = self.mapping.cells().pointer().as_ptr() as usize;
        (limit + self.bytes, limit)
    }

    /// Where the frames of a rank are that lie at these cells when it runs; `None` if that is where they are now.
    pub(crate) fn image_of(&self, rank: u32, cells: Cells<'_>) -> Option<Cells<'_>> {
        let (base, limit) = self.bounds();
        let start = cells.pointer().as_ptr() as usize;
        if !(limit..base).contains(&start) || self.owner.load(Ordering::Relaxed) == rank {
            return None;
        }
        let end = self.first_end + rank as usize * self.step;
        self.images.cells().part((end - (base - start)) as u64, cells.bytes() as u64)
    }

    /// How many bytes lie between an address and the base, as far as they can be used.
    pub(crate) fn depth_of(&self, address: usize) -> usize {
        self.bounds().0.saturating_sub(address).min(self.bytes - PAGE_BYTES)
    }

    /// Makes a rank the owner, which has so many bytes on its stack. The present owner, if there is one, has `depth_of` it.
    pub(crate) fn claim(&self, rank: u32, bytes: usize, depth_of: impl FnOnce(u32) -> usize) {
        let owner = self.owner.swap(rank, Ordering::Relaxed);
        if owner == rank {
            return;
        }
        if owner != NOBODY {
            let bytes = depth_of(owner);
            let (stack, image) = (self.frames(bytes), self.image(owner, bytes));
            // SAFETY: H1, H2: both are of so many bytes, and nobody else is at them.
            unsafe { std::ptr::copy_nonoverlapping(stack, image, bytes) };
        }
        let (stack, image) = (self.frames(bytes), self.image(rank, bytes));
        // SAFETY: H1, H2: as above; below it lie frames of calls that have returned.
        unsafe {
            std::ptr::copy_nonoverlapping(image.cast_const(), stack, bytes);
            let poisoned = POISONED_BYTES.min(self.bytes - PAGE_BYTES - bytes);
            stack.sub(poisoned).write_bytes(0xa5, poisoned);
        }
    }

    /// So many bytes of the frames that are on the stack, from that far below the base on.
    #[cfg(test)]
    pub(crate) fn part(&self, depth: usize, bytes: u64) -> Cells<'_> {
        self.mapping.cells().part((self.bytes - depth) as u64, bytes).expect("on the stack")
    }

    /// The innermost `bytes` bytes above the base of the stack.
    fn frames(&self, bytes: usize) -> *mut u8 {
        assert!(bytes <= self.bytes, "a stack of {} bytes", self.bytes);
        self.mapping.cells().pointer().as_ptr().wrapping_add(self.bytes - bytes)
    }

    /// The last `bytes` bytes of the image of a rank.
    fn image(&self, rank: u32, bytes: usize) -> *mut u8 {
        let end = self.first_end + rank as usize * self.step;
        self.images.cells().pointer().as_ptr().wrapping_add(end - bytes)
    }
}
