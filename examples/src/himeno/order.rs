//! The order in which a block is computed: cells that need no halo during the exchange, the other cells after it.
//!
//! Thus a late rank delays its neighbours only if it is late by almost a whole iteration.

use std::ops::Range;

use pelago::halo::Block;

use super::grid::Grid;

/// Cells of a block, relative to its first cell.
pub(crate) type Box3 = [Range<usize>; 3];

/// The interior of a block in parts.
#[derive(Debug)]
pub(crate) struct Order {
    /// Cells that need no halo; may be empty.
    pub(crate) inner: Box3,
    /// The remaining cells.
    pub(crate) outer: Vec<Box3>,
}

impl Order {
    /// Returns the order that computes all of `block` after its halos have arrived.
    pub(crate) fn whole(grid: &Grid, block: Block<3>) -> Self {
        Self { inner: [0..0, 0..0, 0..0], outer: vec![grid.interior(block)] }
    }

    /// Returns the parts of `block`.
    pub(crate) fn new(grid: &Grid, block: Block<3>) -> Self {
        let interior = grid.interior(block);
        let inner = std::array::from_fn(|d| {
            let end = usize::from(block.first[d] + block.cells[d] < grid.cells[d]);
            let range = usize::from(block.first[d] > 0).max(interior[d].start)..(block.cells[d] - end).min(interior[d].end);
            if range.is_empty() { interior[d].start..interior[d].start } else { range }
        });
        // Along k, the cells that need the halo are one per row, too few for vectors: rows are not split, and wait for the halo.
        if inner[2] != interior[2] {
            return Self::whole(grid, block);
        }
        let [i, j, k] = interior;
        let [inner_i, inner_j, _] = inner.clone();
        let outer = vec![
            [i.start..inner_i.start, j.clone(), k.clone()],
            [inner_i.end..i.end, j.clone(), k.clone()],
            [inner_i.clone(), j.start..inner_j.start, k.clone()],
            [inner_i, inner_j.end..j.end, k],
        ];
        Self { inner, outer }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::himeno::grid::Split;
    use pelago::Rank;
    use proptest::prelude::*;

    fn cells([i, j, k]: &Box3) -> impl Iterator<Item = [usize; 3]> {
        i.clone().flat_map(move |i| j.clone().flat_map(move |j| k.clone().map(move |k| [i, j, k])))
    }

    proptest! {
        #[test]
        fn each_interior_cell_comes_once_and_early_ones_need_no_halo(
            extent in [3usize..9, 3usize..9, 3usize..9], wanted in [1usize..10, 1usize..10, 1usize..4],
        ) {
            let parts: [usize; 3] = std::array::from_fn(|d| wanted[d].min(extent[d]));
            let ranks = parts.iter().product::<usize>() as u32;
            let grid = Grid::new(extent, ranks, Some(Split(parts))).unwrap();
            let array = grid.array().unwrap();
            for rank in (0..ranks).map(Rank::new) {
                let block = array.block(array.template().nodes().place(rank));
                let order = Order::new(&grid, block);
                let mut found: Vec<_> = order.outer.iter().chain([&order.inner]).flat_map(cells).collect();
                found.sort();
                prop_assert_eq!(found, cells(&grid.interior(block)).collect::<Vec<_>>());
                for cell in cells(&order.inner) {
                    // Cells at the faces of the block are next to a halo, as the boundary of the grid is not computed.
                    prop_assert!(cell.iter().zip(block.cells).all(|(&cell, cells)| cell > 0 && cell + 1 < cells));
                }
            }
        }
    }
}
