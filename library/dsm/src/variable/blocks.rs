//! The blocks of a variable's data, in two copies per rank: a private one, which the program uses, and a published one in registered memory, from
//! which other ranks fetch.
//!
//! Data is cut into up to 64 blocks, each with the number of the version that changed it last, so that only changed blocks travel. Short
//! data is one block. If a program may have written any block, a comparison with a twin finds the changed ones; if most have changed, the next
//! sections keep no twin.
//!
//! - **C1** A rank writes its published copy only while it has the token and no rank reads; so no rank fetches it meanwhile.
//! - **C2** No other rank reaches the private copy, so that references to it are ordinary ones.

use core::cell::Cell;
use core::ops::Range;

use pelago_base::Rank;
use pelago_base::limits::INJECT_SIZE;
use pelago_rma::{GlobalPtr, Result};

use crate::lock::RemoteWords;
use crate::lock::{LockMemory, WORDS, WordAddress};
use crate::lock::{VERSIONS_MAX, Version};

/// Maximum number of blocks of a variable: one bit of a word for each.
const BLOCKS_MAX: usize = u64::BITS as usize;

/// Maximum number of parts of a variable.
pub(crate) const PARTS_MAX: usize = 8;

/// Maximum size in bytes of data that forms one block. A query for the changed blocks would take longer than a get of the whole data.
const WHOLE_BYTES_MAX: usize = 2 * INJECT_SIZE;

/// Maximum size in bytes of data that travels with the token.
const SHORT_BYTES_MAX: usize = 4 << 10;

/// Number of sections without a twin after a section that has changed most of the blocks.
const SECTIONS_WITHOUT_TWIN: u32 = 16;

const LINE_BYTES: usize = 64;
const WORD_BYTES: usize = size_of::<u64>();

/// Word offset of the versions of the blocks, which the blocks follow, in the memory of a rank.
pub(crate) const VERSIONS: usize = WORDS;

/// The blocks of a variable and their versions at this rank.
pub(crate) struct Blocks {
    /// The end of each block, in bytes.
    ends: Box<[usize]>,
    /// The version of the private copy; 0 is none.
    version: u64,
    /// The version of the published copy.
    published: u64,
    /// For each block of the private copy, the version that changed it last.
    versions: Vec<u64>,
    /// Mask of the blocks of the private copy that may have been written since.
    written: Cell<u64>,
    /// The private copy before it was written, and the mask of the blocks for which it is valid.
    twin: Vec<u8>,
    twinned: u64,
    /// Number of following sections that keep no twin.
    without_twin: u32,
}

impl Blocks {
    /// Creates the blocks of data of `bytes` bytes, of which this rank has no version.
    #[cfg(test)]
    pub(crate) fn new(bytes: usize) -> Self {
        Self::of_parts(&[bytes])
    }

    /// Creates the blocks of consecutive parts, given by their lengths in bytes, of which this rank has no version. No block of long data spans two
    /// parts.
    ///
    /// # Panics
    /// There are more than eight parts.
    pub(crate) fn of_parts(parts: &[usize]) -> Self {
        assert!((1..=PARTS_MAX).contains(&parts.len()), "a variable has from 1 to {PARTS_MAX} parts");
        let bytes: usize = parts.iter().sum();
        let mut ends = Vec::new();
        if bytes <= WHOLE_BYTES_MAX {
            ends.push(bytes);
        } else {
            let mut start = 0;
            for &part in parts {
                let share = (BLOCKS_MAX + 1 - parts.len()) as u128 * part as u128 / bytes as u128;
                let block_bytes = part.div_ceil((share as usize).max(1)).next_multiple_of(LINE_BYTES).max(LINE_BYTES);
                let end = start + part;
                ends.extend((1..part.div_ceil(block_bytes)).map(|block| start + block * block_bytes));
                ends.extend((part > 0).then_some(end));
                start = end;
            }
        }
        let versions = vec![0; ends.len()];
        let ends = ends.into_boxed_slice();
        let (written, twin) = (Cell::new(0), Vec::new());
        Self { ends, version: 0, published: 0, versions, written, twin, twinned: 0, without_twin: 0 }
    }

    /// The total size of the blocks in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.ends[self.ends.len() - 1]
    }

    /// The offset and length of short data, in words; `None` if it is too long to travel with the token.
    pub(crate) fn short(&self) -> Option<(usize, usize)> {
        (self.bytes() <= SHORT_BYTES_MAX).then(|| (self.first_word(), self.bytes().div_ceil(WORD_BYTES)))
    }

    /// Records that the private copy is the given version, which has arrived.
    pub(crate) fn has_come(&mut self, version: Version) {
        self.version = version.number;
    }

    /// Number of words of the variable in the memory of each rank.
    pub(crate) fn words(&self) -> usize {
        self.first_word() + self.bytes().div_ceil(WORD_BYTES)
    }

    /// Number of blocks of the data.
    pub(crate) fn blocks(&self) -> usize {
        self.ends.len()
    }

    pub(crate) fn version(&self) -> u64 {
        self.version
    }

    /// Whether the private copy was written since it was fetched or published.
    #[inline]
    pub(crate) fn is_written(&self) -> bool {
        self.written.get() != 0
    }

    /// Marks all blocks as written.
    #[inline]
    pub(crate) fn replace_all(&mut self) {
        (self.twinned, self.written) = (0, Cell::new(u64::MAX));
    }

    /// Marks all blocks as possibly written from now on; may keep a twin.
    #[inline]
    pub(crate) fn write_all(&mut self, private: &[u8]) {
        if self.ends.len() > 1 && self.written.get() != u64::MAX {
            self.keep_twin(private);
        }
        self.written.set(u64::MAX);
    }

    /// Marks the blocks of these bytes as possibly written.
    #[inline]
    pub(crate) fn write(&self, bytes: Range<usize>) {
        if bytes.is_empty() {
            return;
        }
        let block_of = |byte| self.ends.partition_point(|&end| end <= byte);
        let (first, last) = (block_of(bytes.start), block_of(bytes.end - 1));
        self.written.set(self.written.get() | u64::MAX << first & u64::MAX >> (BLOCKS_MAX - 1 - last));
    }

    /// Copies the blocks that were not written yet to the twin.
    #[cold]
    fn keep_twin(&mut self, private: &[u8]) {
        if self.without_twin > 0 {
            self.without_twin -= 1;
            return;
        }
        self.twin.resize(private.len(), 0);
        self.twin.copy_from_slice(private);
        self.twinned = !self.written.get();
    }

    /// Compares the blocks with the twin, and unmarks those that have not changed.
    #[inline]
    pub(crate) fn compare(&mut self, private: &[u8]) {
        if self.twinned != 0 {
            self.compare_twin(private);
        }
    }

    #[cold]
    fn compare_twin(&mut self, private: &[u8]) {
        let (mut changed, mut same) = (0, 0);
        for block in (0..self.ends.len()).filter(|block| self.twinned >> block & 1 != 0) {
            let bytes = self.bytes_of(block);
            if private[bytes.clone()] == self.twin[bytes] {
                same += 1;
                self.written.set(self.written.get() & !(1 << block));
            } else {
                changed += 1;
            }
        }
        self.written.set(self.written.get() & u64::MAX >> (BLOCKS_MAX - self.ends.len()));
        self.twinned = 0;
        if changed > same {
            self.without_twin = SECTIONS_WITHOUT_TWIN;
        }
    }

    /// Discards the written data and with it the private copy.
    pub(crate) fn discard(&mut self) {
        if self.is_written() {
            (self.version, self.twinned) = (0, 0);
            self.written.set(0);
        }
    }

    /// Takes over a copy of a version, the versions of its blocks and then the blocks, from this rank's memory.
    ///
    /// # Errors
    /// The job is at fault.
    pub(crate) fn take_over(
        &mut self,
        words: &RemoteWords<'_>,
        version: Version,
        at: GlobalPtr<u64>,
        private: &mut [u8],
    ) -> Result<()> {
        self.version = 0;
        words.world().get_into(at, &mut self.versions)?;
        let data = at.add((self.first_word() - VERSIONS) as u64);
        words.world().get_into(data.cast()?, private)?;
        self.version = version.number;
        Ok(())
    }

    /// Updates the private copy; returns the number of fetched bytes.
    ///
    /// # Errors
    /// The owner is lost; the job is at fault.
    #[inline]
    pub(crate) fn fetch(&mut self, words: &RemoteWords<'_>, version: Version, private: &mut [u8]) -> Result<usize> {
        if self.version == version.number {
            return Ok(0);
        }
        let before = core::mem::take(&mut self.version);
        let fetched = words.noting(self.fetch_since(words, version, before, private))?;
        self.version = version.number;
        Ok(fetched)
    }

    fn fetch_since(&mut self, words: &RemoteWords<'_>, version: Version, since: u64, private: &mut [u8]) -> Result<usize> {
        let (world, data) = (words.world(), self.data(words, version.owner)?);
        let mut fetched = 0;
        if self.versions.len() > 1 {
            let before = self.versions.clone();
            world.get_into(words.at(WordAddress { rank: version.owner, word: VERSIONS }), &mut self.versions)?;
            fetched = self.versions.len() * WORD_BYTES;
            if since != 0 {
                let changed = |block: usize| self.versions[block] != before[block];
                for range in self.ranges(changed) {
                    world.get_into(data.add(range.start as u64), &mut private[range.clone()])?;
                    fetched += range.len();
                }
                return Ok(fetched);
            }
        }
        world.get_into(data, private)?;
        Ok(fetched + self.bytes())
    }

    /// Publishes the written data as the next version, in this rank's memory.
    ///
    /// # Errors
    /// No version is left.
    pub(crate) fn publish(&mut self, words: &RemoteWords<'_>, before: Version, private: &[u8]) -> Result<Version> {
        let version = Version { number: before.number + 1, owner: words.me() };
        if version.number > VERSIONS_MAX {
            return Err(pelago_rma::Error::TooMany { what: "versions of a shared variable", limit: VERSIONS_MAX as usize });
        }
        for (block, changed_by) in self.versions.iter_mut().enumerate() {
            if self.written.get() >> block & 1 != 0 {
                *changed_by = version.number;
            }
        }
        self.put(words, version, private)?;
        self.written.set(0);
        Ok(version)
    }

    /// Publishes this rank's copy of an orphaned version as the next version, which this rank owns.
    ///
    /// # Errors
    /// No version is left; the job is at fault.
    pub(crate) fn inherit(&mut self, words: &RemoteWords<'_>, orphaned: Version, private: &[u8]) -> Result<Version> {
        self.replace_all();
        self.publish(words, orphaned, private)
    }

    /// Updates the published copy from the private one.
    fn put(&mut self, words: &RemoteWords<'_>, version: Version, private: &[u8]) -> Result<()> {
        let (world, data) = (words.world(), self.data(words, version.owner)?);
        if self.versions.len() == 1 {
            world.put(data, private)?;
        } else {
            for range in self.ranges(|block| self.versions[block] > self.published) {
                world.put(data.add(range.start as u64), &private[range])?;
            }
            world.put(words.at(WordAddress { rank: version.owner, word: VERSIONS }), &self.versions)?;
        }
        (self.version, self.published) = (version.number, version.number);
        Ok(())
    }

    /// The byte ranges of the selected blocks; adjacent blocks share a range.
    fn ranges(&self, is: impl Fn(usize) -> bool) -> Vec<Range<usize>> {
        let mut ranges: Vec<Range<usize>> = Vec::new();
        for block in (0..self.versions.len()).filter(|&block| is(block)) {
            let Range { start, end } = self.bytes_of(block);
            match ranges.last_mut() {
                Some(last) if last.end == start => last.end = end,
                _ => ranges.push(start..end),
            }
        }
        ranges
    }

    fn bytes_of(&self, block: usize) -> Range<usize> {
        block.checked_sub(1).map_or(0, |before| self.ends[before])..self.ends[block]
    }

    /// Word offset of the blocks in the memory of a rank: the start of a cache line.
    fn first_word(&self) -> usize {
        (VERSIONS + self.versions.len()).next_multiple_of(LINE_BYTES / WORD_BYTES)
    }

    fn data(&self, words: &RemoteWords<'_>, rank: Rank) -> Result<GlobalPtr<u8>> {
        Ok(words.at(WordAddress { rank, word: self.first_word() }).cast()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_is_cut_into_lines_or_not_at_all() {
        assert_eq!([1, 8, 4096, WHOLE_BYTES_MAX].map(|bytes| Blocks::new(bytes).blocks()), [1; 4]);
        assert_eq!(Blocks::new(64 << 10).bytes_of(63), 63 << 10..64 << 10);
        for bytes in [WHOLE_BYTES_MAX + 1, 10_000, 65_537, 1 << 20] {
            let blocks = Blocks::new(bytes);
            assert!(blocks.blocks() <= BLOCKS_MAX && blocks.bytes() == bytes);
            assert!((0..blocks.blocks()).all(|block| !blocks.bytes_of(block).is_empty()));
            assert!(blocks.ends[..blocks.blocks() - 1].iter().all(|end| end % LINE_BYTES == 0));
        }
    }

    #[test]
    fn no_block_is_of_two_parts() {
        for parts in [&[16, 1 << 20][..], &[1 << 20, 16, 0, 16], &[5000; 8], &[1 << 30, 16, 16, 16, 16, 16, 16, 16]] {
            let blocks = Blocks::of_parts(parts);
            assert!(blocks.blocks() <= BLOCKS_MAX, "{} blocks", blocks.blocks());
            let mut end = 0;
            for part in parts {
                end += part;
                assert!(blocks.ends.contains(&end), "{parts:?}: {:?}", blocks.ends);
            }
            assert!(blocks.ends.windows(2).all(|pair| pair[0] < pair[1]));
        }
    }

    #[test]
    fn what_was_written_is_known_by_blocks() {
        let mut blocks = Blocks::new(64 << 10);
        blocks.write(0..0);
        assert!(!blocks.is_written());
        blocks.write(1023..1025);
        blocks.write((64 << 10) - 1..64 << 10);
        assert_eq!(blocks.written.get(), 3 | 1 << 63);
        let written = blocks.written.get();
        let ranges = blocks.ranges(|block| written >> block & 1 != 0);
        assert_eq!(ranges, [0..2048, 63 << 10..64 << 10]);
        blocks.replace_all();
        assert_eq!(blocks.written.get(), u64::MAX);
        blocks.discard();
        assert!(!blocks.is_written() && blocks.version() == 0);
    }

    #[test]
    fn there_is_no_version_after_the_last() {
        use pelago_test_support::threads::{Platform, run};
        run(Platform::Mapped, 1, |world| {
            let mut blocks = Blocks::new(64);
            let words = RemoteWords::new(world, world.rank(), blocks.words()).unwrap();
            let mut publish = |number| {
                blocks.replace_all();
                blocks.publish(&words, Version { number, owner: world.rank() }, &[0; 64])
            };
            assert_eq!(publish(VERSIONS_MAX - 1).unwrap().number, VERSIONS_MAX);
            assert!(
                matches!(publish(VERSIONS_MAX), Err(pelago_rma::Error::TooMany { limit, .. }) if limit == VERSIONS_MAX as usize)
            );
        });
    }

    #[test]
    fn a_twin_tells_what_has_changed() {
        let mut private = vec![1_u8; 64 << 10];
        let mut blocks = Blocks::new(private.len());
        blocks.write(2048..2049);
        blocks.write_all(&private);
        private[5000] = 2;
        blocks.compare(&private);
        assert_eq!(blocks.written.get(), 1 << 2 | 1 << 4, "what was written before there was a twin may have changed");
        blocks.written.set(0);
        blocks.write_all(&private);
        blocks.compare(&private);
        assert!(!blocks.is_written(), "nothing has changed");
        blocks.write_all(&private);
        private.fill(3);
        blocks.compare(&private);
        assert_eq!(blocks.written.get(), u64::MAX);
        blocks.written.set(0);
        // Most blocks have changed, so that the next sections keep no twin.
        for section in 0..=SECTIONS_WITHOUT_TWIN {
            blocks.write_all(&private);
            blocks.compare(&private);
            assert_eq!(blocks.is_written(), section < SECTIONS_WITHOUT_TWIN, "section {section}");
            blocks.written.set(0);
        }
    }
}
