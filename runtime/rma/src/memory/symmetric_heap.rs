//! The symmetric memory in use, and the agreement of ranks on the allocations that all of them have dropped.
//!
//! An allocation has a slot, a number that is the same on every rank. Each rank knows which slots it has dropped itself; memory is free after all
//! have dropped it. For this agreement, ranks combine a summary of at most 1,024 bits: one per slot as long as this suffices, else one per run of slots,
//! which is set if any of them is dropped. For runs in which all ranks have dropped a slot, they combine the bits of the single slots in a second step.

use pelago_memory::Heap;

use crate::memory::segment::{ALIGN_BYTES, align_of_object};

/// Maximum number of words of a summary.
const SUMMARY_WORDS_MAX: usize = 16;

/// Number of bits of a word.
const WORD: usize = u64::BITS as usize;

/// The symmetric memory of a rank; the same on every rank, except for the slots that only some ranks have dropped.
pub(crate) struct SymmetricHeap {
    heap: Heap,
    /// Offset of the allocation of each slot; `None` for a slot without one.
    slots: Vec<Option<u64>>,
    /// Slots without an allocation.
    free: Vec<usize>,
    /// The slots whose allocation this rank has dropped, a bit each.
    dropped: Vec<u64>,
}

/// Runs of slots in which every rank has dropped at least one.
pub(crate) struct Runs {
    first_slots: Vec<usize>,
    run: usize,
}

impl SymmetricHeap {
    /// Creates a heap of `heap_bytes` bytes, of which the first `scratch_bytes` are permanently in use.
    pub(crate) fn new(heap_bytes: u64, scratch_bytes: u64) -> Self {
        let mut heap = Heap::new(heap_bytes);
        let scratch = heap.allocate(scratch_bytes, ALIGN_BYTES);
        debug_assert_eq!(scratch, Some(0), "the first object begins where the heap does");
        Self { heap, slots: Vec::new(), free: Vec::new(), dropped: Vec::new() }
    }

    /// Allocates `bytes` bytes; returns the slot and the offset, or `None` if there is no room.
    pub(crate) fn allocate(&mut self, bytes: u64) -> Option<(usize, u64)> {
        // Whole cache lines: a rest of a line would be considered by every later allocation, and fit none.
        let offset = self.heap.allocate(bytes.max(1).checked_next_multiple_of(ALIGN_BYTES)?, align_of_object(bytes))?;
        let slot = self.free.pop().unwrap_or(self.slots.len());
        if slot == self.slots.len() {
            self.slots.push(None);
            self.dropped.resize(self.slots.len().div_ceil(WORD), 0);
        }
        self.slots[slot] = Some(offset);
        Some((slot, offset))
    }

    /// Records that this rank has dropped the allocation of a slot.
    pub(crate) fn drop_slot(&mut self, slot: usize) {
        self.dropped[slot / WORD] |= 1 << (slot % WORD);
    }

    /// Returns the slots that this rank has dropped, by runs of slots: to be combined by *and* over all ranks.
    pub(crate) fn summary(&self) -> Vec<u64> {
        let run = self.run();
        let mut summary = vec![0; self.slots.len().div_ceil(run).div_ceil(WORD)];
        for slot in ones(&self.dropped) {
            summary[slot / run / WORD] |= 1 << (slot / run % WORD);
        }
        summary
    }

    /// Returns the runs in which every rank has dropped a slot, from the combined summary; `None` if there is none.
    pub(crate) fn runs(&self, combined: &[u64]) -> Option<Runs> {
        let run = self.run();
        let first_slots: Vec<_> = ones(combined).map(|bit| bit * run).collect();
        (!first_slots.is_empty()).then_some(Runs { first_slots, run })
    }

    /// Returns the slots of these runs that this rank has dropped, one bit per slot: to be combined by *and* over all ranks. Empty if each run
    /// is one slot, so that the summary contains the same bits.
    pub(crate) fn detail(&self, runs: &Runs) -> Vec<u64> {
        if runs.run == 1 {
            return Vec::new();
        }
        let mut detail = vec![0; (runs.first_slots.len() * runs.run).div_ceil(WORD)];
        for (bit, slot) in runs.slots().enumerate() {
            let word = self.dropped.get(slot / WORD).copied().unwrap_or(0);
            detail[bit / WORD] |= (word >> (slot % WORD) & 1) << (bit % WORD);
        }
        detail
    }

    /// Frees the slots of these runs that every rank has dropped, from the combined detail; returns the offset and size of each.
    pub(crate) fn free(&mut self, runs: &Runs, combined: &[u64]) -> Vec<(u64, u64)> {
        let is_dropped = |bit: usize| runs.run == 1 || combined[bit / WORD] >> (bit % WORD) & 1 == 1;
        let mut freed = Vec::new();
        for (_, slot) in runs.slots().enumerate().filter(|&(bit, _)| is_dropped(bit)) {
            let Some(offset) = self.slots[slot].take() else { continue };
            self.dropped[slot / WORD] &= !(1 << (slot % WORD));
            self.free.push(slot);
            freed.extend(self.heap.free(offset).map(|bytes| (offset, bytes)));
        }
        freed
    }

    /// Number of slots per bit of the summary.
    fn run(&self) -> usize {
        self.slots.len().div_ceil(SUMMARY_WORDS_MAX * WORD).next_power_of_two()
    }
}

impl Runs {
    fn slots(&self) -> impl Iterator<Item = usize> {
        self.first_slots.iter().flat_map(|&first| first..first + self.run)
    }
}

/// Returns the indices of the bits that are set.
fn ones(words: &[u64]) -> impl Iterator<Item = usize> {
    words.iter().enumerate().flat_map(|(index, &word)| {
        let following = |&rest: &u64| Some(rest & (rest - 1)).filter(|&rest| rest != 0);
        let rests = std::iter::successors(Some(word).filter(|&word| word != 0), following);
        rests.map(move |rest| index * WORD + rest.trailing_zeros() as usize)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const HEAP_BYTES: u64 = 1 << 30;

    /// Returns the combination of the ranks' words.
    fn combined(parts: impl Iterator<Item = Vec<u64>>) -> Vec<u64> {
        parts.reduce(|one, other| one.iter().zip(other).map(|(one, other)| one & other).collect()).unwrap()
    }

    /// Frees the slots that all have dropped; returns the length of the longest message.
    fn agree(ranks: &mut [SymmetricHeap]) -> usize {
        let summary = combined(ranks.iter().map(SymmetricHeap::summary));
        let Some(runs) = ranks[0].runs(&summary) else { return summary.len() };
        let detail = combined(ranks.iter().map(|rank| rank.detail(&runs)));
        let freed: Vec<_> = ranks.iter_mut().map(|rank| rank.free(&runs, &detail)).collect();
        assert!(freed.windows(2).all(|pair| pair[0] == pair[1]), "all free the same");
        summary.len().max(detail.len())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(16))]

        /// Memory is in use until all ranks have dropped it, and no longer, however many allocations there are.
        #[test]
        fn what_all_have_dropped_is_free_at_once(
            count in prop_oneof![1..100_usize, 1000..1100_usize, 2000..5000_usize],
            drops in prop::collection::vec((0..3_usize, any::<prop::sample::Index>()), 0..600),
        ) {
            let mut ranks: Vec<_> = (0..3).map(|_| SymmetricHeap::new(HEAP_BYTES, 4096)).collect();
            let allocate = |ranks: &mut Vec<SymmetricHeap>| {
                let given: Vec<_> = ranks.iter_mut().map(|rank| rank.allocate(100).unwrap()).collect();
                assert!(given.windows(2).all(|pair| pair[0] == pair[1]), "all allocate the same");
                given[0]
            };
            let offsets: Vec<_> = (0..count).map(|_| allocate(&mut ranks)).collect();
            let mut dropped = vec![0_u8; count];
            for (rank, pick) in drops {
                let index = pick.index(count.min(200));
                // Neighbours too, so that whole runs are dropped.
                for index in index..(index + 5).min(count) {
                    if dropped[index] & 1 << rank == 0 {
                        dropped[index] |= 1 << rank;
                        ranks[rank].drop_slot(offsets[index].0);
                    }
                }
            }
            let used = ranks[0].heap.bytes_used();
            let words = agree(&mut ranks);
            let free = dropped.iter().filter(|&&by| by == 0b111).count();
            prop_assert_eq!(ranks[0].heap.bytes_used(), used - 128 * free as u64);
            prop_assert!(count > 1024 || words <= SUMMARY_WORDS_MAX);
            // The slots and the memory are reused.
            let again: Vec<_> = (0..free).map(|_| allocate(&mut ranks)).collect();
            prop_assert_eq!(ranks[0].slots.len(), count);
            agree(&mut ranks);
            prop_assert_eq!(ranks[0].heap.bytes_used(), used, "who has a slot after another has not dropped it");
            for (slot, offset) in again {
                let index = offsets.iter().position(|given| given.0 == slot).unwrap();
                prop_assert!(dropped[index] == 0b111 && offsets.iter().zip(&dropped).any(|(given, &by)| given.1 == offset && by == 0b111));
            }
        }
    }

    #[test]
    fn a_summary_grows_to_its_bound() {
        let mut heap = SymmetricHeap::new(HEAP_BYTES, 4096);
        let mut words = |slots: usize| {
            while heap.slots.len() < slots {
                heap.allocate(1).unwrap();
            }
            heap.summary().len()
        };
        assert_eq!([0, 1, 64, 65, 1024, 1025, 2048, 100_000].map(&mut words), [0, 1, 1, 2, 16, 9, 16, 13]);
    }
}
