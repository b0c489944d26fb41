//! The copies of a variable's data: one private to each rank, on which its program works, and one in its memory, from which others fetch.
//!
//! Data is cut into up to 64 blocks, each with the version that changed it last, so that only blocks travel that have changed. Short data
//! is one block.
//!
//! - **C1** A rank writes its copy in memory only while it has the token and nobody reads; so nobody fetches it meanwhile.
//! - **C2** The private copy is the program's alone: no other rank reaches it, so that references to it are as safe as any.

use core::ops::Range;

use pelago_base::Rank;
use pelago_base::limits::WRITE_BYTES_MAX;
use pelago_rma::{GlobalPtr, Result};

use crate::memory::{Memory, Place, WORDS};
use crate::word::{Edition, VERSIONS_MAX};
use crate::words::Words;

/// Blocks that the data is cut into, at most: the bits of a word.
const BLOCKS_MAX: usize = u64::BITS as usize;

/// Data up to so many bytes is one block: to learn which blocks have changed would take longer than to fetch them all.
const WHOLE_BYTES_MAX: usize = 2 * WRITE_BYTES_MAX;

const LINE_BYTES: usize = 64;
const WORD_BYTES: usize = size_of::<u64>();

/// Where in the memory of a rank the versions of the blocks begin, then the blocks, in words.
const VERSIONS: usize = WORDS;

/// What is known of the copies.
pub(crate) struct Copies {
    bytes: usize,
    block_bytes: usize,
    /// That of the private copy; 0 is none.
    version: u64,
    /// That of the copy in this rank's memory.
    published: u64,
    /// Of each block of the private copy, when it changed last.
    versions: Vec<u64>,
    /// Blocks of the private copy that were written since.
    written: u64,
}

impl Copies {
    /// Of so many bytes, of which this rank has none.
    pub(crate) fn new(bytes: usize) -> Self {
        let block_bytes = match bytes {
            0..=WHOLE_BYTES_MAX => bytes.max(1),
            _ => bytes.div_ceil(BLOCKS_MAX).next_multiple_of(LINE_BYTES),
        };
        let versions = vec![0; bytes.div_ceil(block_bytes)];
        Self { bytes, block_bytes, version: 0, published: 0, versions, written: 0 }
    }

    /// The words that a variable takes in the memory of each rank.
    pub(crate) fn words(&self) -> usize {
        self.first_word() + self.bytes.div_ceil(WORD_BYTES)
    }

    pub(crate) fn version(&self) -> u64 {
        self.version
    }

    /// Whether the private copy was written since it was brought or published.
    #[inline]
    pub(crate) fn is_written(&self) -> bool {
        self.written != 0
    }

    /// Notes that all of it may be written.
    #[inline]
    pub(crate) fn write_all(&mut self) {
        self.written = u64::MAX;
    }

    /// Notes that these bytes may be written.
    #[inline]
    pub(crate) fn write(&mut self, bytes: Range<usize>) {
        if bytes.is_empty() {
            return;
        }
        let (first, last) = (bytes.start / self.block_bytes, (bytes.end - 1) / self.block_bytes);
        self.written |= u64::MAX << first & u64::MAX >> (BLOCKS_MAX - 1 - last);
    }

    /// What was written counts for nothing, nor does the private copy.
    pub(crate) fn discard(&mut self) {
        if self.is_written() {
            (self.written, self.version) = (0, 0);
        }
    }

    /// Brings the private copy up to date; returns how many bytes have come.
    ///
    /// # Errors
    /// The owner is lost; the job is at fault.
    #[inline]
    pub(crate) fn bring(&mut self, words: &Words<'_>, edition: Edition, private: &mut [u8]) -> Result<usize> {
        if self.version == edition.version {
            return Ok(0);
        }
        let before = core::mem::take(&mut self.version);
        let brought = words.noting(self.fetch(words, edition, before, private))?;
        self.version = edition.version;
        Ok(brought)
    }

    fn fetch(&mut self, words: &Words<'_>, edition: Edition, since: u64, private: &mut [u8]) -> Result<usize> {
        let (world, data) = (words.world(), self.data(words, edition.owner)?);
        let mut brought = 0;
        if self.versions.len() > 1 {
            let before = self.versions.clone();
            world.get_into(words.at(Place { rank: edition.owner, word: VERSIONS }), &mut self.versions)?;
            brought = self.versions.len() * WORD_BYTES;
            if since != 0 {
                let changed = |block: usize| self.versions[block] != before[block];
                for range in self.ranges(changed) {
                    world.get_into(data.add(range.start as u64), &mut private[range.clone()])?;
                    brought += range.len();
                }
                return Ok(brought);
            }
        }
        world.get_into(data, private)?;
        Ok(brought + self.bytes)
    }

    /// Makes what was written the next version, in this rank's memory.
    ///
    /// # Errors
    /// No version is left.
    pub(crate) fn publish(&mut self, words: &Words<'_>, before: Edition, private: &[u8]) -> Result<Edition> {
        let edition = Edition { version: before.version + 1, owner: words.me() };
        if edition.version > VERSIONS_MAX {
            return Err(pelago_rma::Error::TooMany { what: "versions of a shared variable", limit: VERSIONS_MAX as usize });
        }
        for (block, version) in self.versions.iter_mut().enumerate() {
            if self.written >> block & 1 != 0 {
                *version = edition.version;
            }
        }
        self.put(words, edition, private)?;
        self.written = 0;
        Ok(edition)
    }

    /// Makes this rank the owner of the version that it has a copy of.
    ///
    /// # Errors
    /// The job is at fault.
    pub(crate) fn inherit(&mut self, words: &Words<'_>, version: u64, private: &[u8]) -> Result<Edition> {
        let edition = Edition { version, owner: words.me() };
        self.put(words, edition, private)?;
        Ok(edition)
    }

    /// Brings the copy in this rank's memory up to the private one.
    fn put(&mut self, words: &Words<'_>, edition: Edition, private: &[u8]) -> Result<()> {
        let (world, data) = (words.world(), self.data(words, edition.owner)?);
        if self.versions.len() == 1 {
            world.put(data, private)?;
        } else {
            for range in self.ranges(|block| self.versions[block] > self.published || self.published == 0) {
                world.put(data.add(range.start as u64), &private[range])?;
            }
            world.put(words.at(Place { rank: edition.owner, word: VERSIONS }), &self.versions)?;
        }
        (self.version, self.published) = (edition.version, edition.version);
        Ok(())
    }

    /// The bytes of blocks; those of neighbours together.
    fn ranges(&self, is: impl Fn(usize) -> bool) -> Vec<Range<usize>> {
        let mut ranges: Vec<Range<usize>> = Vec::new();
        for block in (0..self.versions.len()).filter(|&block| is(block)) {
            let (start, end) = (block * self.block_bytes, self.bytes.min((block + 1) * self.block_bytes));
            match ranges.last_mut() {
                Some(last) if last.end == start => last.end = end,
                _ => ranges.push(start..end),
            }
        }
        ranges
    }

    /// Where the blocks begin in the memory of a rank, in words: at a line.
    fn first_word(&self) -> usize {
        (VERSIONS + self.versions.len()).next_multiple_of(LINE_BYTES / WORD_BYTES)
    }

    fn data(&self, words: &Words<'_>, rank: Rank) -> Result<GlobalPtr<u8>> {
        Ok(words.at(Place { rank, word: self.first_word() }).cast()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_is_cut_into_lines_or_not_at_all() {
        let blocks = |bytes| {
            let copies = Copies::new(bytes);
            (copies.versions.len(), copies.block_bytes)
        };
        assert_eq!([1, 8, 4096, WHOLE_BYTES_MAX].map(|bytes| blocks(bytes).0), [1; 4]);
        assert_eq!(blocks(64 << 10), (64, 1024));
        for bytes in [WHOLE_BYTES_MAX + 1, 10_000, 65_537, 1 << 20] {
            let (count, block) = blocks(bytes);
            assert!(count <= BLOCKS_MAX && count * block >= bytes && (count - 1) * block < bytes && block % LINE_BYTES == 0);
        }
    }

    #[test]
    fn what_was_written_is_known_by_blocks() {
        let mut copies = Copies::new(64 << 10);
        copies.write(0..0);
        assert!(!copies.is_written());
        copies.write(1023..1025);
        copies.write((64 << 10) - 1..64 << 10);
        assert_eq!(copies.written, 3 | 1 << 63);
        let written = copies.written;
        let ranges = copies.ranges(|block| written >> block & 1 != 0);
        assert_eq!(ranges, [0..2048, 63 << 10..64 << 10]);
        copies.write_all();
        assert_eq!(copies.written, u64::MAX);
        copies.discard();
        assert!(!copies.is_written() && copies.version() == 0);
    }
}
