//! The part of a table on this rank, which active messages change by loads, stores and atomics on the rank's own memory.
//!
//! Other ranks may use the same part by one-sided operations meanwhile. So this file follows the protocol of `table` and `map`: a compare-and-swap of its
//! bucket adds an element, and a value is written while its state is busy. Only the memory for new elements is not shared with other ranks.

use std::cell::{Cell, RefCell};

use pelago_base::GlobalAddress;
use pelago_rma::active::PREPARED;
use pelago_rma::{CellSlice, Context, Error, Failure, GlobalPtr, Result};

use super::element_state::{BUSY, GONE, KIND_MASK, THERE, busy, next_number, writer};
use super::hash::{hash, place};
use super::table::{CHUNK_BYTES, DEAD, HEADER_WORDS, KEY, NEXT, STATE, TAG, tag, words_of};
use crate::memory::{GLOBAL_HEAP, OwnArena};

/// The result of a change.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Changed {
    /// The change has taken effect.
    Done,
    /// Another rank is writing the value.
    Busy,
}

/// The part of a table on this rank.
pub(crate) struct OwnPart {
    /// The first bucket of this rank, and the number of its buckets.
    buckets: GlobalPtr<u64>,
    count: usize,
    /// The number of the first bucket among those of all ranks, and the total number of buckets.
    first: u64,
    all: u64,
    arena: OwnArena,
    /// Memory for the next elements, in words of the arena: its start, the number of used words, and its length.
    chunk: Cell<(usize, usize, usize)>,
    /// All chunks, to be freed when the table is cleared.
    taken: RefCell<Vec<GlobalAddress>>,
}

/// An element of this rank: the index of its first word in the arena.
type At = usize;

impl OwnPart {
    pub(crate) fn new(buckets: GlobalPtr<u64>, count: usize, first: u64, all: u64, arena: OwnArena) -> Self {
        Self { buckets, count, first, all, arena, chunk: Cell::new((0, 0, 0)), taken: RefCell::default() }
    }

    /// Forgets all memory for elements; returns the chunks to free.
    pub(crate) fn forget(&self) -> Vec<GlobalAddress> {
        self.chunk.set((0, 0, 0));
        self.taken.take()
    }

    /// Reads the buckets of the keys of the next changes, and their first elements: the cache misses overlap, and the changes find the data in the cache.
    #[inline]
    pub(crate) fn prepare<'k>(&self, context: &Context, keys: impl Iterator<Item = &'k [u8]>) {
        let (words, buckets) = (self.arena.words(context), own(context, self.buckets, self.count));
        let mut heads = [0; PREPARED];
        for (head, key) in heads.iter_mut().zip(keys) {
            *head = buckets.load((place(hash(key), self.all) - self.first) as usize);
        }
        let tags = heads.iter().filter_map(|&head| self.arena.index(head)).map(|at| words.load(at + TAG));
        core::hint::black_box(tags.fold(0, |one, other| one ^ other));
    }

    /// Adds to the count of a multiset's key.
    #[inline]
    pub(crate) fn count(&self, context: &Context, key: &[u8], more: u64) -> Result<Changed> {
        let words = self.arena.words(context);
        if let Some(at) = self.find_or_add(context, words, key, &[], more)? {
            words.fetch_add(at + STATE, more);
        }
        Ok(Changed::Done)
    }

    /// Changes the value of a map's key: to `new` if the key is absent, else by applying `combine` to a copy of its words in `scratch`.
    /// Fails if another rank was lost while it wrote the value.
    #[inline]
    pub(crate) fn update(
        &self,
        context: &Context,
        key: &[u8],
        new: &[u64],
        scratch: &mut [u64],
        combine: impl FnOnce(&mut [u64]),
    ) -> Result<Changed> {
        let words = self.arena.words(context);
        let Some(at) = self.find_or_add(context, words, key, new, THERE)? else { return Ok(Changed::Done) };
        let mut state = words.load(at + STATE);
        loop {
            if state & KIND_MASK == BUSY {
                let writer = writer(state);
                let is_lost = context.lost().contains(&writer);
                return if is_lost { Err(Failure::PeerLost(writer).into()) } else { Ok(Changed::Busy) };
            }
            let found = words.compare_swap(at + STATE, state, busy(context.rank()));
            if found == state {
                break;
            }
            state = found;
        }
        let mut writing = Writing { words, at: at + STATE, state };
        let value_at = at + KEY + key.len().div_ceil(8);
        let value = words.range(value_at..value_at + new.len());
        if state & KIND_MASK == GONE {
            value.write(0, new);
        } else {
            value.read(0, scratch);
            combine(scratch);
            value.write(0, scratch);
        }
        writing.state = next_number(state) | THERE;
        Ok(Changed::Done)
    }

    /// Finds a key; `None` if it was absent and was added with this value and state.
    #[inline]
    fn find_or_add(
        &self,
        context: &Context,
        words: CellSlice<'_, u64>,
        key: &[u8],
        value: &[u64],
        state: u64,
    ) -> Result<Option<At>> {
        let buckets = own(context, self.buckets, self.count);
        let hash = hash(key);
        let bucket = (place(hash, self.all) - self.first) as usize;
        let tag = tag(hash, key);
        let (mut head, mut seen, mut room) = (buckets.load(bucket), 0, None);
        loop {
            if let Some(at) = self.walk(words, [head, seen], tag, key) {
                // The next element uses memory that was taken and not used.
                return Ok(Some(at));
            }
            let length = HEADER_WORDS + key.len().div_ceil(8) + value.len();
            let at = match room {
                Some(at) => at,
                None => *room.insert(self.room(words, length)?),
            };
            words.store(at + NEXT, head);
            words.store(at + TAG, tag);
            words.store(at + STATE, state);
            words_of(key).zip(at + KEY..).for_each(|(word, at)| words.store(at, word));
            words.write(at + length - value.len(), value);
            let found = buckets.compare_swap(bucket, head, self.arena.address(at).bits());
            if found == head {
                let (start, used, all) = self.chunk.get();
                self.chunk.set((start, used + length, all));
                return Ok(None);
            }
            (head, seen) = (found, head);
        }
    }

    /// Searches a key from the element `head` up to the element `end`.
    #[inline]
    fn walk(&self, words: CellSlice<'_, u64>, [head, end]: [u64; 2], tag: u64, key: &[u8]) -> Option<At> {
        let mut next = head;
        while next != end {
            let at = self.arena.index(next)?;
            let is_it = words.load(at + TAG) == tag && words.load(at + STATE) != DEAD;
            if is_it && words_of(key).zip(at + KEY..).all(|(word, at)| words.load(at) == word) {
                return Some(at);
            }
            next = words.load(at + NEXT);
        }
        None
    }

    /// The place of the next element, which is not marked as used yet.
    #[inline]
    fn room(&self, words: CellSlice<'_, u64>, length: usize) -> Result<At> {
        let (start, used, all) = self.chunk.get();
        if used + length <= all { Ok(start + used) } else { self.next_chunk(words, length, all) }
    }

    #[cold]
    fn next_chunk(&self, words: CellSlice<'_, u64>, length: usize, before: usize) -> Result<At> {
        let bytes = (16 * before as u64).clamp(CHUNK_BYTES.0, CHUNK_BYTES.1).max(8 * length as u64);
        let none_left = Error::NoMemory { bytes, heap_bytes: self.arena.bytes(), memory: GLOBAL_HEAP };
        let start = self.arena.allocate(words, bytes).ok_or(none_left)?;
        self.taken.borrow_mut().push(self.arena.address(start));
        self.chunk.set((start, 0, (bytes / 8) as usize));
        Ok(start)
    }
}

/// The write of a value by this rank, while its state is busy. If the function that computes the new value panics, the value has not changed and keeps its
/// state.
struct Writing<'c> {
    words: CellSlice<'c, u64>,
    /// The index of the state.
    at: usize,
    /// The state after the write: the one before until the value has changed.
    state: u64,
}

impl Drop for Writing<'_> {
    fn drop(&mut self) {
        self.words.store(self.at, self.state);
    }
}

/// Words of this rank's own memory.
#[inline]
fn own(context: &Context, first: GlobalPtr<u64>, length: usize) -> CellSlice<'_, u64> {
    let cells = context.reach().cells(first.address(), 8 * length as u64);
    cells.and_then(|cells| cells.elements()).expect("a rank reaches its own memory")
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

    use super::*;
    use crate::{GlobalHeap, GlobalMap};
    use pelago_test_support::threads::{Platform, run};

    #[test]
    fn a_value_that_another_rank_is_writing_is_left_alone() {
        run(Platform::Mapped, 1, |world| {
            let heap = GlobalHeap::new(world, 1 << 14).unwrap();
            let map = GlobalMap::<u64, u64>::new(&heap, 4).unwrap();
            map.set(&7, &3).unwrap();
            let (key, part) = (7_u64.to_le_bytes(), map.table().own_part());
            let state_at = map.table().find(&key, &mut []).unwrap().unwrap().state_at();
            let state = world.get(state_at).unwrap();
            world.put(state_at, &[busy(world.rank())]).unwrap();
            let add = || part.update(world, &key, &[5], &mut [0], |words| words[0] += 5);
            assert_eq!(add(), Ok(Changed::Busy));
            world.put(state_at, &[next_number(state) | THERE]).unwrap();
            assert_eq!(map.find(&7), Ok(Some(3)));
            assert_eq!(add(), Ok(Changed::Done));
            assert_eq!(map.find(&7), Ok(Some(8)));
        });
    }

    #[test]
    fn a_function_that_panics_leaves_the_value_as_it_was() {
        run(Platform::Mapped, 1, |world| {
            let heap = GlobalHeap::new(world, 1 << 14).unwrap();
            let map = GlobalMap::<u64, u64>::new(&heap, 4).unwrap();
            map.set(&7, &3).unwrap();
            let (key, part) = (7_u64.to_le_bytes(), map.table().own_part());
            let panics = |words: &mut [u64]| {
                words[0] = 9;
                resume_unwind(Box::new("a bug of the program"));
            };
            assert!(catch_unwind(AssertUnwindSafe(|| part.update(world, &key, &[5], &mut [0], panics))).is_err());
            let add = part.update(world, &key, &[5], &mut [0], |words| words[0] += 5);
            assert_eq!(add, Ok(Changed::Done));
            assert_eq!(map.find(&7), Ok(Some(8)));
        });
    }
}
