//! Allocation in a team's memory: arithmetic, with the same result on every member if all take and give back in the same order.

/// Words of a cache line: memory of different plans shares no line.
pub(crate) const LINE: usize = 8;

/// Consecutive words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Region {
    pub(crate) start: usize,
    pub(crate) words: usize,
}

/// Words from 0 on, some of which are allocated.
pub(crate) struct Pool {
    words: usize,
    /// Allocated regions, sorted by start.
    taken: Vec<Region>,
}

impl Pool {
    pub(crate) fn new(words: usize) -> Self {
        Self { words, taken: Vec::new() }
    }

    /// Allocates the first free region of this many words.
    pub(crate) fn take(&mut self, words: usize) -> Option<Region> {
        let words = words.next_multiple_of(LINE);
        let mut start = 0;
        let mut index = 0;
        for region in &self.taken {
            if region.start - start >= words {
                break;
            }
            start = region.start + region.words;
            index += 1;
        }
        let region = Region { start, words };
        (self.words - start >= words).then(|| self.taken.insert(index, region))?;
        Some(region)
    }

    /// Words of the longest free region.
    pub(crate) fn longest_free(&self) -> usize {
        let mut start = 0;
        let mut longest = 0;
        for region in &self.taken {
            longest = longest.max(region.start - start);
            start = region.start + region.words;
        }
        longest.max(self.words - start)
    }

    /// Frees a region.
    pub(crate) fn give(&mut self, region: Region) {
        self.taken.retain(|taken| taken.start != region.start);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_do_not_overlap_and_are_used_again() {
        let mut pool = Pool::new(100);
        let [one, two, three] = [1, 20, 8].map(|words| pool.take(words).unwrap());
        assert_eq!([one.start, two.start, three.start], [0, 8, 32]);
        assert_eq!(pool.take(65), None);
        assert_eq!(pool.longest_free(), 60);
        pool.give(two);
        assert_eq!(pool.longest_free(), 60);
        assert_eq!(pool.take(32).unwrap().start, 40, "it does not fit between");
        assert_eq!(pool.take(24).unwrap().start, 8);
        assert_eq!(pool.take(32), None);
    }
}
