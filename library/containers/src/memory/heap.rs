//! Memory on any rank, allocated and freed by any rank.
//!
//! Each rank has an arena, and words for it: the start of the part that was never allocated, and for each size class the head of the list of freed
//! blocks. Compare-and-swaps of these words allocate and free blocks.
//!
//! The word of a list holds the place of its first block and a count of changes. So a compare-and-swap fails if other ranks have allocated and freed
//! the same block since this rank read its successor (ABA), unless there were 2²⁴ changes in between.

use std::cell::RefCell;
use std::collections::HashMap;

use pelago_base::{AddressError, GlobalAddress, Rank};
use pelago_rma::{Error, Fetch, FixedMemory, GlobalPtr, Result, Symmetric, World};

use super::own_arena::OwnArena;

/// Bytes of a block's header, before those of its user: its mark, and the place of the next block in its list.
pub(super) const HEADER_BYTES: u64 = 16;

/// Minimum size of a block in bytes, with its header. The size classes are this size, one and a half times this size, and doublings of both.
const BLOCK_BYTES_MIN: u64 = 32;

/// Number of size classes: up to blocks of a tebibyte.
const CLASSES: usize = 70;

/// Words of the allocator on each rank: the end of the allocated part, then a list for each class, padded to the alignment of a block.
pub(super) const WORDS: usize = (1 + CLASSES).next_multiple_of((HEADER_BYTES / 8) as usize);

/// Low bits of the word of a list: one more than the place of the block, in units of 16 bytes.
const PLACE_BITS: u32 = 40;
pub(super) const PLACE_MASK: u64 = (1 << PLACE_BITS) - 1;

/// Maximum number of cached hints.
const HINTS_MAX: usize = 1024;

/// The mark of a block that is in use; its class is added.
pub(super) const USED: u64 = 0x7065_6c61_676f_0100;

/// A heap of this module, in error messages.
pub(crate) const GLOBAL_HEAP: &FixedMemory = &FixedMemory {
    name: "the arena of a GlobalHeap",
    remedy: "create the GlobalHeap with more bytes per rank, or free what is no longer used",
};

/// Memory on any rank, allocated and freed by any rank.
///
/// A block has one of two sizes per power of two, so that up to a third of it is unused. A freed block is reused for its size class, and for smaller
/// classes when no other memory is left; blocks are neither split nor joined.
pub struct GlobalHeap<'w> {
    world: &'w World,
    /// The words, then the arena.
    memory: Symmetric<'w, u64>,
    /// Values of words of other ranks when this rank last read them, by their addresses.
    hints: RefCell<HashMap<GlobalAddress, u64>>,
}

/// Reads in flight of the words with which an allocation begins.
pub(crate) struct Glance<'w> {
    list: Fetch<'w, u64>,
    end: Fetch<'w, u64>,
}

/// A block that only this rank knows, and whose header must be written before any rank can free it.
pub(crate) struct Block {
    rank: Rank,
    place: u64,
    class: usize,
}

impl Block {
    /// The words of its header.
    pub(crate) fn header(&self) -> [u64; (HEADER_BYTES / 8) as usize] {
        [USED + self.class as u64, 0]
    }
}

impl<'w> GlobalHeap<'w> {
    /// Creates a heap of `bytes` bytes on each rank. Collective.
    ///
    /// # Errors
    /// As [`World::alloc`].
    pub fn new(world: &'w World, bytes: u64) -> Result<Self> {
        let words = usize::try_from(bytes.div_ceil(HEADER_BYTES) * (HEADER_BYTES / 8)).unwrap_or(usize::MAX);
        Ok(Self { world, memory: world.alloc(words.saturating_add(WORDS))?, hints: RefCell::default() })
    }

    /// As [`new`](Self::new), with memory on which no rank waits (see [`Symmetric::quiet`]): containers that ranks query, and whose words no rank reads
    /// in [`wait_for`](pelago_rma::Context::wait_for). Operations on this memory do not wake a rank that waits for something else, for example in a
    /// barrier.
    ///
    /// # Errors
    /// As [`World::alloc`].
    pub fn quiet(world: &'w World, bytes: u64) -> Result<Self> {
        let heap = Self::new(world, bytes)?;
        Ok(Self { memory: heap.memory.quiet(), ..heap })
    }

    /// The world to which the heap belongs.
    pub fn world(&self) -> &'w World {
        self.world
    }

    /// Number of bytes of the heap on each rank, with the headers of blocks.
    pub fn bytes(&self) -> u64 {
        (self.memory.len() - WORDS) as u64 * 8
    }

    /// The address of the first byte of the heap on a rank, of [`bytes`](Self::bytes) bytes.
    ///
    /// # Panics
    /// The job has no such rank.
    pub fn start_of(&self, rank: Rank) -> GlobalAddress {
        self.at(rank, 0).address()
    }

    /// Allocates `bytes` bytes on `rank`, aligned to 16. They are not cleared.
    ///
    /// Cost: three round trips for memory that was never used, four for memory that was freed; more if others allocate on the same rank meanwhile.
    ///
    /// # Errors
    /// No memory is left there; the job has no such rank; the rank was lost, or the job is at fault.
    pub fn allocate(&self, rank: Rank, bytes: u64) -> Result<GlobalAddress> {
        let ranks = self.world.size();
        if rank.number() >= ranks {
            return Err(AddressError::Rank { rank, ranks }.into());
        }
        self.allocate_after(rank, bytes, self.glance(rank, bytes)?)
    }

    /// Begins to allocate `bytes` bytes on `rank`. Cost: one round trip, shared with other operations on the rank [in one batch](pelago_rma::Context::batch).
    #[inline]
    pub(crate) fn glance(&self, rank: Rank, bytes: u64) -> Result<Glance<'w>> {
        let class = class_of(bytes).ok_or_else(|| self.none_left(bytes))?;
        let list = || self.world.fetch(self.list(rank, class));
        self.world.pair(list, |list| Ok(Glance { list, end: self.world.fetch(self.end(rank))? }))
    }

    /// As [`allocate`](Self::allocate), after [`glance`](Self::glance).
    pub(crate) fn allocate_after(&self, rank: Rank, bytes: u64, glance: Glance<'w>) -> Result<GlobalAddress> {
        let block = self.reserve(rank, bytes, glance)?;
        // Waits, because another rank may free the block.
        self.world.put(self.start_of_block(&block), &block.header())?.wait()?;
        Ok(self.at(rank, block.place + HEADER_BYTES).address())
    }

    /// Takes a block for `bytes` bytes; the caller writes its header together with its content. Cost: for memory that was never used, one round trip
    /// after that of the glance.
    #[inline]
    pub(crate) fn reserve(&self, rank: Rank, bytes: u64, glance: Glance<'w>) -> Result<Block> {
        let class = class_of(bytes).ok_or_else(|| self.none_left(bytes))?;
        let (list, end) = (glance.list.wait()?, glance.end.wait()?);
        if let Some(place) = self.take(rank, class, list)? {
            return Ok(Block { rank, place, class });
        }
        if let Some(place) = self.extend(rank, class, end)? {
            return Ok(Block { rank, place, class });
        }
        // A block may have been freed since the glance.
        for class in (class..CLASSES).take_while(|&class| block_bytes(class) <= self.bytes()) {
            let list = self.world.get(self.list(rank, class))?;
            if let Some(place) = self.take(rank, class, list)? {
                return Ok(Block { rank, place, class });
            }
        }
        Err(self.none_left(bytes))
    }

    /// The address of the header of a block, which the bytes of its user follow.
    pub(crate) fn start_of_block(&self, block: &Block) -> GlobalPtr<u64> {
        self.at(block.rank, block.place)
    }

    /// The part of the heap on this rank.
    pub(crate) fn own_arena(&self) -> OwnArena {
        OwnArena::new(self.memory.at(self.world.rank(), 0), self.memory.len())
    }

    /// The value that this rank last read at an address: a hint to use while the word is read again.
    pub(crate) fn hint(&self, at: GlobalAddress) -> Option<u64> {
        self.hints.borrow().get(&at).copied()
    }

    /// Stores the value that was read at an address.
    pub(crate) fn keep_hint(&self, at: GlobalAddress, word: u64) {
        let mut hints = self.hints.borrow_mut();
        if hints.len() >= HINTS_MAX {
            hints.clear();
        }
        hints.insert(at, word);
    }

    fn none_left(&self, bytes: u64) -> Error {
        Error::NoMemory { bytes, heap_bytes: self.bytes(), memory: GLOBAL_HEAP }
    }

    /// Frees memory that [`allocate`](Self::allocate) returned on any rank.
    ///
    /// Cost: three round trips.
    ///
    /// # Errors
    /// The address is not that of a block in use; the rank was lost, or the job is at fault.
    pub fn free(&self, address: GlobalAddress) -> Result<()> {
        let (rank, place) = self.place_of(address).ok_or(UNKNOWN)?;
        let mark = self.world.get(self.at(rank, place))?;
        let class = mark.wrapping_sub(USED);
        if class >= CLASSES as u64 {
            return Err(UNKNOWN);
        }
        let list = self.list(rank, class as usize);
        let unmark = || self.world.compare_swap(self.at(rank, place), mark, 0);
        let (found, head) = self.world.pair(unmark, |found| Ok((found, self.world.fetch(list)?)))?;
        if found.wait()? != mark {
            return Err(UNKNOWN);
        }
        let mut head = head.wait()?;
        loop {
            let new = next_count(head) | (place / HEADER_BYTES + 1);
            let link = || self.world.put(self.at(rank, place + 8), &[head & PLACE_MASK]);
            let found = self.world.pair(link, |linked| self.world.after(&linked).compare_swap(list, head, new))?.wait()?;
            if found == head {
                return Ok(());
            }
            head = found;
        }
    }

    /// Number of bytes from an address to the end of the heap on its rank; `None` if the address is not in the heap.
    pub(crate) fn left(&self, address: GlobalAddress) -> Option<u64> {
        let (_, inside) = self.inside(address)?;
        self.bytes().checked_sub(inside)
    }

    /// Takes a freed block from a list whose word was `head`; returns its place in the arena.
    #[inline]
    fn take(&self, rank: Rank, class: usize, mut head: u64) -> Result<Option<u64>> {
        let list = self.list(rank, class);
        while let Some(place) = place_in(head) {
            // If another rank takes the block meanwhile, this value is arbitrary, but then the count of the list differs.
            let next = self.world.get(self.at(rank, place + 8))?;
            let found = self.unlink(list, head, next)?;
            if found == head {
                return Ok(Some(place));
            }
            head = found;
        }
        Ok(None)
    }

    /// Removes the first block from a list whose word was `head`; returns the word that it found.
    fn unlink(&self, list: GlobalPtr<u64>, head: u64, next: u64) -> Result<u64> {
        self.world.compare_swap(list, head, next_count(head) | (next & PLACE_MASK))?.wait()
    }

    /// Takes a block from the part that was never allocated, which begins at `place`.
    #[inline]
    fn extend(&self, rank: Rank, class: usize, mut place: u64) -> Result<Option<u64>> {
        loop {
            if block_bytes(class) > self.bytes() - place {
                return Ok(None);
            }
            let found = self.world.compare_swap(self.end(rank), place, place + block_bytes(class))?.wait()?;
            if found == place {
                return Ok(Some(place));
            }
            place = found;
        }
    }

    /// The word with the start of the part that was never allocated.
    fn end(&self, rank: Rank) -> GlobalPtr<u64> {
        self.memory.at(rank, 0)
    }

    fn list(&self, rank: Rank, class: usize) -> GlobalPtr<u64> {
        self.memory.at(rank, 1 + class)
    }

    /// The word at a place of the arena.
    fn at(&self, rank: Rank, place: u64) -> GlobalPtr<u64> {
        self.memory.at(rank, WORDS + (place / 8) as usize)
    }

    /// The owner of a block, and the place of its header.
    fn place_of(&self, address: GlobalAddress) -> Option<(Rank, u64)> {
        let (rank, inside) = self.inside(address)?;
        let is_block = inside < self.bytes() && inside.is_multiple_of(HEADER_BYTES) && inside >= HEADER_BYTES;
        is_block.then(|| (rank, inside - HEADER_BYTES))
    }

    /// The rank of an address, and its distance from the start of the heap there, which is past the end if the address is not in the heap; `None` if
    /// there is no such rank.
    fn inside(&self, address: GlobalAddress) -> Option<(Rank, u64)> {
        let rank = self.world.reach().addresses().rank(address);
        let is_there = rank.number() < self.world.size();
        is_there.then(|| (rank, address.bits().wrapping_sub(self.at(rank, 0).address().bits())))
    }
}

const UNKNOWN: Error = Error::Invalid("the address is not that of memory in use on the global heap");

/// The place of the first block of a list.
pub(super) fn place_in(head: u64) -> Option<u64> {
    Some((head & PLACE_MASK).checked_sub(1)? * HEADER_BYTES)
}

/// The count of changes of a list's word, incremented, with the place cleared.
pub(super) fn next_count(head: u64) -> u64 {
    (head & !PLACE_MASK).wrapping_add(1 << PLACE_BITS)
}

/// The smallest class whose blocks hold `bytes` bytes.
pub(super) fn class_of(bytes: u64) -> Option<usize> {
    let needed = bytes.checked_add(HEADER_BYTES)?;
    (0..CLASSES).find(|&class| block_bytes(class) >= needed)
}

/// Bytes of a block, with its header.
pub(super) fn block_bytes(class: usize) -> u64 {
    let half = BLOCK_BYTES_MIN / 2 * (class as u64 % 2);
    (BLOCK_BYTES_MIN + half) << (class / 2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pelago_test_support::threads::{Platform, run};

    /// The word of a list contains the same place again, but a compare-and-swap with the old word fails.
    #[test]
    fn a_block_that_was_taken_and_freed_again_is_another() {
        run(Platform::Mapped, 1, |world| {
            let (heap, rank) = (GlobalHeap::new(world, 4096).unwrap(), world.rank());
            let [first, second] = [(); 2].map(|()| heap.allocate(rank, 100).unwrap());
            heap.free(second).unwrap();
            heap.free(first).unwrap();
            let list = heap.list(rank, class_of(100).unwrap());
            let head = world.get(list).unwrap();
            let next = world.get(heap.at(rank, place_in(head).unwrap() + 8)).unwrap();
            // Another rank allocates both blocks, and frees the first.
            assert_eq!([(); 2].map(|()| heap.allocate(rank, 100).unwrap()), [first, second]);
            heap.free(first).unwrap();
            let now = world.get(list).unwrap();
            assert_eq!(place_in(now), place_in(head));
            assert_eq!(heap.unlink(list, head, next), Ok(now), "the second block is in use");
            assert_eq!(world.get(list), Ok(now));
        });
    }

    #[test]
    fn a_heap_of_more_bytes_than_there_are_is_refused() {
        run(Platform::Mapped, 1, |world| {
            for bytes in [u64::MAX, u64::MAX - HEADER_BYTES, 1 << 62] {
                let refused = GlobalHeap::new(world, bytes).map(drop);
                assert!(matches!(refused, Err(pelago_rma::Error::NoMemory { .. })), "{bytes}: {refused:?}");
            }
        });
    }

    #[test]
    fn blocks_are_as_large_as_they_must_be_and_no_larger_than_half_as_much_again() {
        for bytes in [1, 16, 17, 32, 33, 48, 49, 1000, 4080, 4081, 1 << 30] {
            let block = block_bytes(class_of(bytes).unwrap());
            assert!(block >= bytes + HEADER_BYTES && block.is_multiple_of(16), "{bytes}: {block}");
            assert!(block <= BLOCK_BYTES_MIN || 2 * block <= 3 * (bytes + HEADER_BYTES + 15), "{bytes}: {block}");
        }
        assert_eq!(class_of(u64::MAX), None);
    }
}
