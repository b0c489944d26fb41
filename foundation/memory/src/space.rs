//! An allocator of addresses for memory that lies elsewhere, which reuses returned ranges as late as possible.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Allocates ranges of `segments` segments of `segment_bytes` bytes each, numbered consecutively; no range lies in two segments.
///
/// A gap follows each range, unless the range fills its segment. A returned range rests: it is reused, alone or with its
/// neighbours, after `resting_max` others have been returned, or when nothing else has room. A stale address therefore stays invalid for as
/// long as possible.
///
/// Cost: O(log n), once more for each resting range that is reclaimed for a new one; memory for the ranges in use and at rest.
#[derive(Debug)]
pub struct Space {
    segment_bytes: u64,
    segments: u64,
    gap_bytes: u64,
    resting_max: usize,
    /// Number of segments with allocations so far: the first ones.
    opened: u64,
    /// Free ranges of those segments: bytes by start, and starts by bytes.
    free: BTreeMap<u64, u64>,
    by_bytes: BTreeSet<(u64, u64)>,
    /// Returned ranges, oldest first.
    resting: VecDeque<(u64, u64)>,
}

/// Ranges begin at multiples of a cache line, so that alignment in memory implies alignment of the address.
const ALIGN_BYTES: u64 = 64;

impl Space {
    /// Creates an empty space. A segment has at least one cache line.
    pub fn new(segment_bytes: u64, segments: u64, gap_bytes: u64, resting_max: usize) -> Self {
        assert!(segment_bytes >= ALIGN_BYTES && segment_bytes.is_multiple_of(ALIGN_BYTES));
        let (free, by_bytes, resting) = Default::default();
        Self { segment_bytes, segments, gap_bytes, resting_max, opened: 0, free, by_bytes, resting }
    }

    /// Allocates `bytes` bytes and the gap behind them, and returns their start; `None` if there is no room.
    pub fn allocate(&mut self, bytes: u64) -> Option<u64> {
        let needed = self.reserved(bytes)?;
        loop {
            // The smallest range that is large enough: resting ranges return in pieces of the requested sizes.
            if let Some(&(length, start)) = self.by_bytes.range((needed, 0)..).next() {
                self.take(start, length);
                self.insert(start + needed, length - needed);
                return Some(start);
            }
            if self.opened < self.segments {
                self.opened += 1;
                self.insert((self.opened - 1) * self.segment_bytes, self.segment_bytes);
            } else {
                let (start, length) = self.resting.pop_front()?;
                self.join(start, length);
            }
        }
    }

    /// Gives back the range at `start` that `allocate` returned for `bytes` bytes.
    pub fn give_back(&mut self, start: u64, bytes: u64) {
        let Some(length) = self.reserved(bytes) else { return };
        if self.resting_max == 0 {
            return self.join(start, length);
        }
        // The oldest one leaves first: otherwise a full queue would double its memory for one more entry.
        if self.resting.len() >= self.resting_max
            && let Some((oldest, its_length)) = self.resting.pop_front()
        {
            self.join(oldest, its_length);
        }
        self.resting.push_back((start, length));
    }

    /// Returns the size of the range for `bytes` bytes, including its gap.
    fn reserved(&self, bytes: u64) -> Option<u64> {
        let whole = bytes.max(1).checked_next_multiple_of(ALIGN_BYTES).filter(|&whole| whole <= self.segment_bytes)?;
        Some(whole.saturating_add(self.gap_bytes).min(self.segment_bytes))
    }

    /// Frees a range and joins it with its free neighbours in its segment.
    fn join(&mut self, mut start: u64, mut length: u64) {
        let next = start + length;
        if !next.is_multiple_of(self.segment_bytes)
            && let Some(&after) = self.free.get(&next)
        {
            self.take(next, after);
            length += after;
        }
        if !start.is_multiple_of(self.segment_bytes)
            && let Some((&before, &bytes)) = self.free.range(..start).next_back()
            && before + bytes == start
        {
            self.take(before, bytes);
            (start, length) = (before, length + bytes);
        }
        self.insert(start, length);
    }

    fn insert(&mut self, start: u64, length: u64) {
        if length > 0 {
            self.free.insert(start, length);
            self.by_bytes.insert((length, start));
        }
    }

    fn take(&mut self, start: u64, length: u64) {
        self.free.remove(&start);
        self.by_bytes.remove(&(length, start));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SEGMENT: u64 = 1024;
    const GAP: u64 = 128;

    fn small(segments: u64, resting_max: usize) -> Space {
        Space::new(SEGMENT, segments, GAP, resting_max)
    }

    #[test]
    fn a_range_rests_until_enough_others_have_been_given_back() {
        let mut space = small(1 << 20, 3);
        let first = space.allocate(8).unwrap();
        space.give_back(first, 8);
        for _ in 0..3 {
            let other = space.allocate(8).unwrap();
            assert_ne!(other, first);
            space.give_back(other, 8);
        }
        assert_eq!(space.allocate(8), Some(first), "three others were given back after it");
    }

    #[test]
    fn the_queue_of_resting_ranges_is_no_longer_than_its_limit() {
        let mut space = small(1 << 20, 64);
        for _ in 0..1000 {
            let start = space.allocate(8).unwrap();
            space.give_back(start, 8);
        }
        assert_eq!((space.resting.len(), space.resting.capacity()), (64, 64));
        let mut space = small(4, 0);
        for _ in 0..100 {
            assert_eq!(space.allocate(8), Some(0), "none rests");
            space.give_back(0, 8);
        }
    }

    #[test]
    fn what_rests_is_used_when_nothing_else_has_room() {
        let mut space = small(2, 100);
        let all = [space.allocate(SEGMENT).unwrap(), space.allocate(SEGMENT).unwrap()];
        assert_eq!((all, space.allocate(1)), ([0, SEGMENT], None));
        space.give_back(SEGMENT, SEGMENT);
        space.give_back(0, SEGMENT);
        assert_eq!(space.allocate(1), Some(SEGMENT), "the oldest first");
        assert_eq!(space.allocate(SEGMENT), Some(0));
        assert_eq!((space.allocate(SEGMENT + 1), space.allocate(u64::MAX)), (None, None));
    }

    #[test]
    fn ranges_follow_each_other_with_a_gap_between() {
        let mut space = small(3, 0);
        assert_eq!([8, 0, 65].map(|bytes| space.allocate(bytes)), [Some(0), Some(64 + GAP), Some(2 * (64 + GAP))]);
    }

    #[test]
    fn segments_are_whole_cache_lines() {
        let is_taken = |segment| std::panic::catch_unwind(|| Space::new(segment, 1, 0, 0)).is_ok();
        assert_eq!([0, 32, 64, 96, 128].map(is_taken), [false, false, true, false, true]);
    }

    /// However often ranges of different sizes are allocated and returned, the tables stay short.
    #[test]
    fn memory_is_for_ranges_in_use_and_at_rest() {
        const RESTING: usize = 20;
        let (mut space, mut used) = (small(1 << 40, RESTING), VecDeque::new());
        for turn in 0..if cfg!(miri) { 200u64 } else { 20_000 } {
            let bytes = [8, 600, 100, 1000, 520][turn as usize % 5];
            used.push_back((space.allocate(bytes).unwrap(), bytes));
            if used.len() > 30 {
                let (start, bytes) = used.pop_front().unwrap();
                space.give_back(start, bytes);
            }
            assert!(space.free.len() + space.resting.len() <= 3 * (30 + RESTING), "turn {turn}");
            assert_eq!(space.free.len(), space.by_bytes.len());
        }
        assert!(space.opened <= 60, "{} segments for some thirty ranges", space.opened);
    }

    proptest! {
        #[test]
        fn ranges_are_apart_inside_one_segment_and_come_back(
            resting_max in 0usize..5,
            steps in prop::collection::vec((prop::option::of(0u64..SEGMENT + 10), any::<prop::sample::Index>()), 1..120),
        ) {
            let mut space = small(4, resting_max);
            let mut live: Vec<(u64, u64)> = Vec::new();
            for (bytes, index) in steps {
                match bytes {
                    Some(bytes) => if let Some(start) = space.allocate(bytes) {
                        let segment_end = (start / SEGMENT + 1) * SEGMENT;
                        let end = start + bytes.max(1);
                        prop_assert!(start.is_multiple_of(64) && end <= segment_end && segment_end <= 4 * SEGMENT);
                        for &(other, other_end) in &live {
                            prop_assert!(other_end + GAP <= start || end + GAP <= other || other / SEGMENT != start / SEGMENT);
                        }
                        live.push((start, end));
                    } else {
                        prop_assert!(bytes > SEGMENT || !live.is_empty(), "an empty space has room");
                    },
                    None if !live.is_empty() => {
                        let (start, end) = live.swap_remove(index.index(live.len()));
                        space.give_back(start, end - start);
                    }
                    None => {}
                }
            }
            for (start, end) in live {
                space.give_back(start, end - start);
            }
            for _ in 0..4 {
                prop_assert!(space.allocate(SEGMENT).is_some(), "all ranges join again");
            }
        }
    }
}
