//! What a region has cost this rank.

use core::fmt;

/// What a region has cost this rank so far. What it has of itself, as the home of a page, does not count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RegionStatistics {
    /// How often something of a page was fetched from its home.
    pub fetched: u64,
    /// Bytes of that.
    pub bytes_fetched: u64,
    /// How often something of a page was released to its home.
    pub released: u64,
    /// Bytes of that.
    pub bytes_released: u64,
    /// Messages of that: runs of elements that had changed.
    pub runs: u64,
    /// Twins that were kept.
    pub twins: u64,
    /// Notes of changed pages that were written, and that were read.
    pub notes_sent: u64,
    /// See `notes_sent`.
    pub notes_seen: u64,
    /// Accesses of the program that had to wait, because a page was not here or not written before; see `Region::with_page_faults`.
    pub faults: u64,
    /// Bytes that would have been fetched and released if whole pages travelled.
    pub bytes_of_whole_pages: u64,
}

impl RegionStatistics {
    /// Bytes that were fetched and released, and those of notes.
    pub fn bytes(&self) -> u64 {
        self.bytes_fetched + self.bytes_released + (self.notes_sent + self.notes_seen) * size_of::<u64>() as u64
    }
}

impl fmt::Display for RegionStatistics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            fetched,
            bytes_fetched,
            released,
            bytes_released,
            runs,
            twins,
            notes_sent,
            notes_seen,
            faults,
            bytes_of_whole_pages,
        } = self;
        write!(
            f,
            "fetched {fetched} times, {bytes_fetched} bytes; released {released} times, {bytes_released} bytes in {runs} runs; "
        )?;
        write!(
            f,
            "{twins} twins; {faults} faults; {notes_sent} notes written, {notes_seen} read; whole pages: {bytes_of_whole_pages} bytes"
        )
    }
}
