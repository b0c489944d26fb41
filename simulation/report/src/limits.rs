//! Every bound, with its unit and its reason.

use pelago_base::{Rank, Sample};

/// Limits of the time line. Totals, latencies and the times of ranks always cover the whole job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of spans, and of messages: 24 and 64 bytes of memory each. The spans that end first and the messages that are posted first are
    /// kept.
    pub records_max: usize,
    /// Number of ranks that are kept, those with the lowest numbers, unless the sample names ranks. A message is kept if both its ends are among them.
    pub ranks_max: u32,
    /// The ranks and the time that are kept: the parts of spans within that time, and messages that are posted in it. If the sample names ranks, a
    /// message is kept if one of its ends is among them.
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
    /// A million spans and messages each, of [`RANK_ROWS_MAX`] ranks, of the whole time: a size that trace viewers open without difficulty.
    fn default() -> Self {
        Self { records_max: 1_000_000, ranks_max: RANK_ROWS_MAX as u32, sample: Sample::ALL }
    }
}

/// Maximum number of ranks that a report lists individually. For larger jobs it lists the slowest and the fastest ranks, half of this
/// number each.
pub const RANK_ROWS_MAX: usize = 4096;

/// Maximum number of rows of the activity grid: as many as a screen can distinguish.
pub const ACTIVITY_ROWS_MAX: usize = 128;

/// Maximum number of columns of the activity grid, which takes 512 KiB while it is recorded.
pub const ACTIVITY_COLUMNS_MAX: usize = 256;

/// Maximum number of links that a report lists individually.
pub const LINK_ROWS_MAX: usize = 50;

/// Maximum number of cells in the strip of all links: the width of a wide screen in pixels.
pub const STRIP_CELLS_MAX: usize = 2048;

/// Maximum number of spans, and of messages, on a page. A page of some megabytes opens without delay.
pub const PAGE_RECORDS_MAX: usize = 50_000;
