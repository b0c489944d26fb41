//! Every bound, with its unit and its reason.

use pelago_base::{Rank, Sample};

/// How much of the time line is kept. Totals, latencies and the times of ranks cover everything, whatever is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Spans kept, and messages kept, each: 24 and 64 bytes of memory. The first to end and the first to be posted are kept.
    pub records_max: usize,
    /// Ranks of which any are kept, unless the sample names ranks: those with the lowest numbers. A message needs both its ends among them.
    pub ranks_max: u32,
    /// Which ranks are kept, and of which time: spans as far as they are in it, and messages that are posted in it. A message needs one of its ends
    /// among ranks that the sample names.
    pub sample: Sample,
}

impl Limits {
    pub(crate) fn has(&self, rank: u32) -> bool {
        if self.sample.names_ranks() { self.sample.has(Rank::new(rank)) } else { rank < self.ranks_max }
    }

    pub(crate) fn has_message(&self, from: u32, to: u32) -> bool {
        let ends = [from, to].map(|rank| self.has(rank));
        if self.sample.names_ranks() { ends != [false; 2] } else { ends == [true; 2] }
    }
}

impl Default for Limits {
    /// A million of each, of [`RANK_ROWS_MAX`] ranks, of the whole time: as much as viewers of traces open with ease.
    fn default() -> Self {
        Self { records_max: 1_000_000, ranks_max: RANK_ROWS_MAX as u32, sample: Sample::ALL }
    }
}

/// Maximum number of ranks that a report lists individually. For larger jobs it lists the slowest and the fastest ranks, half of this
/// number each.
pub const RANK_ROWS_MAX: usize = 4096;

/// Maximum number of rows of the grid of what all ranks did when: as many as a screen shows apart.
pub const ACTIVITY_ROWS_MAX: usize = 128;

/// Maximum number of columns of that grid, which takes 512 KiB while it is recorded.
pub const ACTIVITY_COLUMNS_MAX: usize = 256;

/// Maximum number of links that a report lists individually.
pub const LINK_ROWS_MAX: usize = 50;

/// Maximum number of cells of the strip of all links: the width of a wide screen in pixels.
pub const STRIP_CELLS_MAX: usize = 2048;

/// Maximum number of spans, and of messages, on a page. A page of some megabytes opens without delay.
pub const PAGE_RECORDS_MAX: usize = 50_000;
