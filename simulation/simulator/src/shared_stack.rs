//! One stack on which all ranks of a job take turns.
//!
//! A rank that stops leaves its frames on the stack. When another rank continues, those bytes are copied to the image of the first rank, which is
//! at the end of the memory of its separate stack, below its heap, and the image of the other rank is copied to the stack. A rank therefore needs
//! memory only for its frames while it waits, not for the deepest call that it has ever made; and the stack stays in the cache.
//!
//! Invariants of the unsafe code:
//!
//! - **H1** One rank is the owner of the stack. The stack holds the frames of the owner's coroutine only, and only the owner runs.
//! - **H2** The image of a rank is the range that `RankMemory::stack` returns, which nothing else uses; it is as long as the stack.
//! - **H3** No code follows a pointer to the stack on behalf of a rank that does not run, except the operations of the job, which find its
//!   bytes by [`SharedStack::image_of`].
#![allow(unsafe_code)]

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use pelago_memory::{Cells, Mapping};

use crate::error::SimulationError;

pub(crate) const PAGE_BYTES: usize = 4096;

/// No rank.
const NOBODY: u32 = u32::MAX;

/// Bytes below the frames on the stack that are poisoned in builds with debug assertions: a rank that needs them was not saved completely.
const POISONED_BYTES: usize = if cfg!(debug_assertions) { 512 } else { 0 };

/// The stack, with a guard page at its lower end.
pub(crate) struct SharedStack {
    mapping: Mapping,
    /// The mapping that contains the images, the end of the image of rank 0, and the distance in bytes from one image to the next.
    images: Arc<Mapping>,
    first_end: usize,
    step: usize,
    bytes: usize,
    /// The rank whose frames are on the stack.
    owner: AtomicU32,
}

impl SharedStack {
    /// Makes a stack of `bytes` bytes. The images of ranks are parts of `images`: the first ends at `first_end`, the others follow at distances
    /// of `step` bytes.
    pub(crate) fn new(images: Arc<Mapping>, first_end: usize, step: usize, bytes: usize) -> Result<Self, SimulationError> {
        let mapping = Mapping::private(bytes).map_err(|error| SimulationError::Memory(error.to_string()))?;
        Ok(Self { mapping, images, first_end, step, bytes, owner: AtomicU32::new(NOBODY) })
    }

    /// Returns the end of the stack, and the beginning of its guard.
    pub(crate) fn bounds(&self) -> (usize, usize) {
        let limit = self.mapping.cells().pointer().as_ptr() as usize;
        (limit + self.bytes, limit)
    }

    /// Returns the current location of frames of `rank` that are at `cells` while it runs; `None` if they are there now.
    pub(crate) fn image_of(&self, rank: u32, cells: Cells<'_>) -> Option<Cells<'_>> {
        let (base, limit) = self.bounds();
        let start = cells.pointer().as_ptr() as usize;
        if !(limit..base).contains(&start) || self.owner.load(Ordering::Relaxed) == rank {
            return None;
        }
        let end = self.first_end + rank as usize * self.step;
        self.images.cells().part((end - (base - start)) as u64, cells.bytes() as u64)
    }

    /// Returns the number of bytes between an address and the base, up to the usable size.
    pub(crate) fn depth_of(&self, address: usize) -> usize {
        self.bounds().0.saturating_sub(address).min(self.bytes - PAGE_BYTES)
    }

    /// Makes `rank` the owner, whose image has `bytes` bytes. The current owner, if there is one, has `depth_of` it bytes on the stack.
    pub(crate) fn claim(&self, rank: u32, bytes: usize, depth_of: impl FnOnce(u32) -> usize) {
        let owner = self.owner.swap(rank, Ordering::Relaxed);
        if owner == rank {
            return;
        }
        if owner != NOBODY {
            let bytes = depth_of(owner);
            let (stack, image) = (self.frames(bytes), self.image(owner, bytes));
            // SAFETY: H1, H2: both have `bytes` bytes, and no other code accesses them.
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

    /// Returns `bytes` bytes of the frames on the stack, beginning `depth` bytes below the base.
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
