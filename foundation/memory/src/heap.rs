//! An allocator of offsets: it decides the positions of objects in a segment and never accesses the segment.

use std::collections::BTreeMap;

/// Allocates ranges of `0..bytes`, first fit from the lowest offset.
///
/// Equal sequences of calls give equal offsets, so ranks that allocate collectively need not exchange them.
/// Cost: linear in the number of free ranges.
#[derive(Clone, Debug)]
pub struct Heap {
    free: BTreeMap<u64, u64>,
    used: BTreeMap<u64, u64>,
}

impl Heap {
    /// Creates an allocator of `bytes` bytes, all free.
    pub fn new(bytes: u64) -> Self {
        Self { free: BTreeMap::from([(0, bytes)]), used: BTreeMap::new() }
    }

    /// Reserves `bytes` bytes at a multiple of `align` (a power of two); at least one byte. `None` if no free range is large enough.
    pub fn allocate(&mut self, bytes: u64, align: u64) -> Option<u64> {
        debug_assert!(align.is_power_of_two());
        let bytes = bytes.max(1);
        let (start, length, offset) = self.free.iter().find_map(|(&start, &length)| {
            let offset = start.checked_next_multiple_of(align)?;
            (offset.checked_add(bytes)? <= start + length).then_some((start, length, offset))
        })?;
        self.free.remove(&start);
        self.insert_free(start, offset - start);
        self.insert_free(offset + bytes, start + length - (offset + bytes));
        self.used.insert(offset, bytes);
        Some(offset)
    }

    /// Frees the range that `allocate` returned, and returns its number of bytes; `None` if `offset` is not allocated.
    pub fn free(&mut self, offset: u64) -> Option<u64> {
        let bytes = self.used.remove(&offset)?;
        let (mut start, mut length) = (offset, bytes);
        if let Some((&before, &before_length)) = self.free.range(..offset).next_back()
            && before + before_length == offset
        {
            self.free.remove(&before);
            (start, length) = (before, length + before_length);
        }
        if let Some(after_length) = self.free.remove(&(offset + bytes)) {
            length += after_length;
        }
        self.insert_free(start, length);
        Some(bytes)
    }

    /// Changes the length of the range that `allocate` returned, and returns its previous number of bytes. `None`, and no change, if `offset` is not
    /// allocated or too few bytes are free behind the range.
    pub fn resize(&mut self, offset: u64, bytes: u64) -> Option<u64> {
        let before = *self.used.get(&offset)?;
        let end = offset + before;
        let free_end = end + self.free.get(&end).copied().unwrap_or(0);
        let new_end = offset.checked_add(bytes.max(1)).filter(|&new_end| new_end <= free_end)?;
        self.free.remove(&end);
        self.insert_free(new_end, free_end - new_end);
        self.used.insert(offset, new_end - offset);
        Some(before)
    }

    /// Returns the number of allocated bytes.
    pub fn bytes_used(&self) -> u64 {
        self.used.values().sum()
    }

    fn insert_free(&mut self, start: u64, length: u64) {
        if length > 0 {
            self.free.insert(start, length);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Clone, Debug)]
    enum Operation {
        Allocate { bytes: u64, align_bits: u32 },
        Free(prop::sample::Index),
        Resize { object: prop::sample::Index, bytes: u64 },
    }

    fn operation() -> impl Strategy<Value = Operation> {
        prop_oneof![
            (0u64..200, 0u32..8).prop_map(|(bytes, align_bits)| Operation::Allocate { bytes, align_bits }),
            any::<prop::sample::Index>().prop_map(Operation::Free),
            (any::<prop::sample::Index>(), 0u64..300).prop_map(|(object, bytes)| Operation::Resize { object, bytes }),
        ]
    }

    proptest! {
        #[test]
        fn ranges_are_aligned_disjoint_inside_and_come_back(operations in prop::collection::vec(operation(), 1..80)) {
            const BYTES: u64 = 2048;
            let mut heap = Heap::new(BYTES);
            let mut live: Vec<(u64, u64)> = Vec::new();
            for operation in operations {
                match operation {
                    Operation::Allocate { bytes, align_bits } => match heap.allocate(bytes, 1 << align_bits) {
                        Some(offset) => {
                            let end = offset + bytes.max(1);
                            prop_assert!(offset % (1 << align_bits) == 0 && end <= BYTES);
                            prop_assert!(live.iter().all(|&(start, stop)| end <= start || stop <= offset));
                            live.push((offset, end));
                        }
                        None => {
                            let mut marks: Vec<(u64, u64)> = live.clone();
                            marks.extend([(0, 0), (BYTES, BYTES)]);
                            marks.sort_unstable();
                            let fits = marks.windows(2).any(|pair| {
                                pair[0].1.next_multiple_of(1 << align_bits) + bytes.max(1) <= pair[1].0
                            });
                            prop_assert!(!fits, "there was room");
                        }
                    },
                    Operation::Free(index) if !live.is_empty() => {
                        let (offset, end) = live.swap_remove(index.index(live.len()));
                        prop_assert_eq!(heap.free(offset), Some(end - offset));
                        prop_assert_eq!(heap.free(offset), None);
                    }
                    Operation::Resize { object, bytes } if !live.is_empty() => {
                        let object = object.index(live.len());
                        let (offset, end) = live[object];
                        let behind = live.iter().map(|&(start, _)| start).filter(|&start| start >= end).min().unwrap_or(BYTES);
                        let new_end = offset + bytes.max(1);
                        let expected = (new_end <= behind).then_some(end - offset);
                        prop_assert_eq!(heap.resize(offset, bytes), expected);
                        if expected.is_some() {
                            live[object].1 = new_end;
                        }
                        let is_used = |offset| live.iter().any(|&(start, _)| start == offset);
                        prop_assert!(is_used(offset + 1) || heap.resize(offset + 1, 1).is_none());
                    }
                    Operation::Free(_) | Operation::Resize { .. } => {}
                }
                prop_assert_eq!(heap.bytes_used(), live.iter().map(|(start, end)| end - start).sum::<u64>());
            }
            for (offset, _) in live {
                heap.free(offset);
            }
            prop_assert_eq!(heap.allocate(BYTES, 1), Some(0), "all ranges join again");
        }
    }
}
