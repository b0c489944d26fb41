//! Counts of the costs of a region for this rank.

use core::fmt;

/// Counts of the costs of a region for this rank so far, without the pages of which it is the home.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RegionStatistics {
    /// Fetches from the home of a page.
    pub fetched: u64,
    /// Bytes that were fetched.
    pub bytes_fetched: u64,
    /// Pages whose changes were released to the home.
    pub released: u64,
    /// Bytes that were released.
    pub bytes_released: u64,
    /// Messages of releases: runs of changed elements.
    pub runs: u64,
    /// Twins that were kept.
    pub twins: u64,
    /// Notes of changed pages that were written.
    pub notes_sent: u64,
    /// Notes of changed pages that were read.
    pub notes_seen: u64,
    /// Page faults of the program: first reads of stale pages, and first writes; see `Region::with_page_faults`.
    pub faults: u64,
    /// Bytes of all fetches and releases if each had transferred a whole page.
    pub bytes_of_whole_pages: u64,
}

impl RegionStatistics {
    /// Bytes of fetches, releases and notes.
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
