//! Errors of grids, each in one line.

/// The reason why cells cannot be distributed as described.
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GridError {
    /// A dimension has no part, or there are more parts or dimensions than permitted.
    #[error("a grid of nodes has one to four dimensions, each with a number of parts from 1 on, and at most 2³² − 1 blocks")]
    Parts,
    /// The job has another number of ranks.
    #[error("the nodes are {blocks}, but the job has {ranks} ranks")]
    Ranks {
        /// Number of blocks of the nodes.
        blocks: u64,
        /// Number of ranks.
        ranks: u32,
    },
    /// A dimension has fewer cells than parts.
    #[error("dimension {dimension} is cut into {parts} parts, but has only {cells} cells")]
    Cells {
        /// The dimension, counted from 0, the slowest.
        dimension: usize,
        /// Number of its parts.
        parts: usize,
        /// Number of its cells.
        cells: usize,
    },
    /// An array reaches past its template.
    #[error("dimension {dimension}: {cells} cells from {offset} on reach past the {template} of the template")]
    Align {
        /// The dimension, counted from 0, the slowest.
        dimension: usize,
        /// Cells of the array.
        cells: usize,
        /// The cell of the template at which the array begins.
        offset: usize,
        /// Cells of the template.
        template: usize,
    },
    /// An array does not fill a periodic dimension.
    #[error("dimension {dimension} is periodic: an array has all cells of its template there, or a shadow of 0")]
    Periodic {
        /// The dimension, counted from 0, the slowest.
        dimension: usize,
    },
    /// A shadow is wider than the block that it copies.
    #[error("dimension {dimension}: a shadow of {width} cells is wider than a block, which has {cells} on some rank")]
    Shadow {
        /// The dimension, counted from 0, the slowest.
        dimension: usize,
        /// Width of the shadow.
        width: usize,
        /// Number of cells of the smallest block.
        cells: usize,
    },
    /// An array has more cells than can be counted.
    #[error("the array has more cells than any memory")]
    Overflow,
}

pelago_base::debug_as_display! { GridError }

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_debug_form_is_a_sentence() {
        assert_eq!(format!("{:?}", GridError::Overflow), "the array has more cells than any memory");
    }
}
