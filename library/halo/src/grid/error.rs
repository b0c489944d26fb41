//! What is wrong with a grid, in one line.

/// Why cells cannot be distributed as they were described.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GridError {
    /// A dimension has no part, or more parts or dimensions than ranks can be numbered.
    #[error("a grid of nodes has one to four dimensions, each with a number of parts from 1 on, and at most 2³² − 1 blocks")]
    Parts,
    /// The job has another number of ranks.
    #[error("the nodes are {blocks}, but the job has {ranks} ranks")]
    Ranks {
        /// How many blocks the nodes make.
        blocks: u64,
        /// How many ranks there are.
        ranks: u32,
    },
    /// A dimension has fewer cells than parts.
    #[error("dimension {dimension} is cut into {parts} parts, but has only {cells} cells")]
    Cells {
        /// Counted from 0, the slowest.
        dimension: usize,
        /// Into how many parts it is cut.
        parts: usize,
        /// How many cells it has.
        cells: usize,
    },
    /// An array reaches past its template.
    #[error("dimension {dimension}: {cells} cells from {offset} on reach past the {template} of the template")]
    Align {
        /// Counted from 0, the slowest.
        dimension: usize,
        /// Cells of the array.
        cells: usize,
        /// The cell of the template at which it begins.
        offset: usize,
        /// Cells of the template.
        template: usize,
    },
    /// An array of a periodic dimension does not fill it.
    #[error("dimension {dimension} is periodic: an array has all cells of its template there, or a shadow of 0")]
    Periodic {
        /// Counted from 0, the slowest.
        dimension: usize,
    },
    /// A shadow is wider than the block that it is a copy of.
    #[error("dimension {dimension}: a shadow of {width} cells is wider than a block, which has {cells} on some rank")]
    Shadow {
        /// Counted from 0, the slowest.
        dimension: usize,
        /// Of the shadow.
        width: usize,
        /// Of the smallest block.
        cells: usize,
    },
    /// An array has more cells than can be counted.
    #[error("the array has more cells than any memory")]
    Overflow,
}
