//! One stack on which all ranks of a job run, by turns.
//!
//! A rank that stops leaves on the stack what its frames hold. When another continues, those bytes are moved to the image of the first, which is
//! the end of the memory of its own stack, below its heap, and the image of the other is moved to the stack. A rank therefore takes the
//! memory of what it has on its stack while it waits, not of the deepest call that it has ever made; and calls find the stack in the cache.
//!
//! Invariants of the unsafe code:
//!
//! - **H1** One rank is the owner of the stack. Only a coroutine of the owner exists there as frames, and only the owner runs.
//! - **H2** The image of a rank is [`RankMemory::stack`](crate::memory::RankMemory::stack), which nothing else uses; it is as long as the stack.
//! - **H3** Nobody follows a pointer to the stack for a rank that does not run, except the operations of the job, which ask
//!   [`SharedStack::image_of`] where its bytes are.
#![allow(unsafe_code)]

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use pelago_memory::{Cells, Mapping};

use crate::error::SimulationError;
use crate::memory::{PAGE_BYTES, RankMemory};

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
    /// A stack for all ranks of a memory, as large as their own.
    pub(crate) fn new(memory: &RankMemory) -> Result<Self, SimulationError> {
        let (first, second) = (memory.stack(0), memory.stack(1));
        let mapping = Mapping::private(first.len()).map_err(|error| SimulationError::Memory(error.to_string()))?;
        let (images, step) = (memory.mapping().clone(), second.start - first.start);
        Ok(Self { mapping, images, first_end: first.end, step, bytes: first.len(), owner: AtomicU32::new(NOBODY) })
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

#[cfg(test)]
mod tests {
    use pelago_base::{Rank, SegmentId};
    use pelago_memory::Region;

    use super::*;
    use crate::operations::owned::OwnedOperation;

    /// A put that is under way reads what its rank has on the stack while another rank runs there, and a get writes it.
    #[test]
    fn operations_find_the_frames_of_a_rank_that_has_stopped() {
        const DEPTH: usize = 64;
        let mut memory = RankMemory::new(2, 1 << 16, 16 << 10, true).unwrap();
        let shared = &*Box::leak(Box::new(Arc::new(SharedStack::new(&memory).unwrap())));
        memory.share_stack(shared.clone());
        let frame: Cells<'static> = shared.mapping.cells().part((shared.bytes - DEPTH) as u64, 8).unwrap();
        let to = memory.addresses().encode(Rank::new(1), SegmentId::SYMMETRIC, 0).unwrap();
        memory.register(Rank::new(1), to, Region::Host(frame)).unwrap();
        let claim = |rank| shared.claim(rank, DEPTH, |_| DEPTH);
        for rank in [0, 1] {
            claim(rank);
            frame.write(&[7 + rank as u8; 8]);
        }
        for rank in [0, 1] {
            OwnedOperation::Put { from: frame, to }.perform(Rank::new(rank), &memory).unwrap();
            let Region::Host(target) = memory.find(to, 8).unwrap() else { panic!("a heap is of the host") };
            assert_eq!(target.to_vec(), [7 + rank as u8; 8]);
        }
        let read = Some(vec![5; 8].into());
        OwnedOperation::Get { from: to, to: frame, read }.perform(Rank::new(0), &memory).unwrap();
        assert_eq!(frame.to_vec(), [8; 8], "the frame of the rank that runs is left alone");
        claim(0);
        assert_eq!(frame.to_vec(), [5; 8]);
        claim(1);
        assert_eq!(frame.to_vec(), [8; 8]);
    }
}
