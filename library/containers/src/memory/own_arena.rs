//! The part of a global heap on this rank, for allocation by loads, stores and atomics on its own memory.

use pelago_base::GlobalAddress;
use pelago_rma::{CellSlice, Context, GlobalPtr};

use super::heap::{HEADER_BYTES, PLACE_MASK, USED, WORDS, block_bytes, class_of, next_count, place_in};

/// The part of a heap on this rank. It does not borrow the heap, which must outlive it.
#[derive(Clone, Copy)]
pub(crate) struct OwnArena {
    /// Its first word, which belongs to the allocator.
    start: GlobalPtr<u64>,
    length: usize,
}

impl OwnArena {
    pub(super) fn new(start: GlobalPtr<u64>, length: usize) -> Self {
        Self { start, length }
    }

    /// All its words, to which indices refer.
    #[inline]
    pub(crate) fn words<'c>(&self, context: &'c Context) -> CellSlice<'c, u64> {
        let cells = context.reach().cells(self.start.address(), 8 * self.length as u64);
        cells.and_then(|cells| cells.elements()).expect("a rank reaches its own memory")
    }

    /// The address of a word.
    #[inline]
    pub(crate) fn address(&self, index: usize) -> GlobalAddress {
        self.start.add(index as u64).address()
    }

    /// The index of the word at an address, if it belongs to this part.
    #[inline]
    pub(crate) fn index(&self, address: u64) -> Option<usize> {
        let index = (address.wrapping_sub(self.start.address().bits()) / 8) as usize;
        (index < self.length).then_some(index)
    }

    /// Number of bytes that can be allocated, with headers.
    pub(crate) fn bytes(&self) -> u64 {
        (self.length - WORDS) as u64 * 8
    }

    /// Allocates like [`GlobalHeap::allocate`](super::GlobalHeap::allocate), from the list of the size class or from the part that was never allocated;
    /// returns the index of the first word. Does not use freed blocks of larger classes.
    pub(crate) fn allocate(&self, words: CellSlice<'_, u64>, bytes: u64) -> Option<usize> {
        let class = class_of(bytes)?;
        let place = take(words, class).or_else(|| extend(words, class, self.bytes()))?;
        let header = WORDS + (place / 8) as usize;
        words.store(header, USED + class as u64);
        words.store(header + 1, 0);
        Some(header + (HEADER_BYTES / 8) as usize)
    }
}

fn take(words: CellSlice<'_, u64>, class: usize) -> Option<u64> {
    let list = 1 + class;
    let mut head = words.load(list);
    loop {
        let place = place_in(head)?;
        let next = words.load(WORDS + (place / 8) as usize + 1);
        let found = words.compare_swap(list, head, next_count(head) | (next & PLACE_MASK));
        if found == head {
            return Some(place);
        }
        head = found;
    }
}

fn extend(words: CellSlice<'_, u64>, class: usize, bytes: u64) -> Option<u64> {
    let mut place = words.load(0);
    while block_bytes(class) <= bytes - place {
        let found = words.compare_swap(0, place, place + block_bytes(class));
        if found == place {
            return Some(place);
        }
        place = found;
    }
    None
}
