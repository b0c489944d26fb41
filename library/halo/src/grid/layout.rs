//! The layout of a block and its halo in memory.

use std::ops::Range;

use crate::grid::direction::{Direction, DirectionSet, count, number, of_number};
use crate::grid::shape::strides;

/// A range of cells in every dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block<const D: usize> {
    /// The first cell's place in the whole array.
    pub first: [usize; D],
    /// Number of cells.
    pub cells: [usize; D],
}

/// The layout of a block and its halo in the memory of their rank: rows one after the other, the last dimension fastest.
///
/// *Local* indices count from the first cell of the block, so that the halo at the low side has negative ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout<const D: usize> {
    block: Block<D>,
    shadow: [[usize; 2]; D],
    strides: [usize; D],
}

/// A box of cells in the memory of a rank: a range of each dimension, counted from the first cell of memory.
pub(crate) type Cuboid<const D: usize> = [Range<usize>; D];

impl<const D: usize> Layout<D> {
    pub(crate) fn new(block: Block<D>, shadow: [[usize; 2]; D]) -> Self {
        let lengths = std::array::from_fn(|d| shadow[d][0] + block.cells[d] + shadow[d][1]);
        Self { block, shadow, strides: strides(lengths) }
    }

    /// The cells that the rank owns, by their place in the whole array.
    pub const fn block(&self) -> Block<D> {
        self.block
    }

    /// Distance of consecutive indices in memory, in each dimension.
    pub const fn strides(&self) -> [usize; D] {
        self.strides
    }

    /// Number of cells in memory, halo included.
    pub fn length(&self) -> usize {
        self.strides[0] * self.lengths()[0]
    }

    /// Index in memory of the cell at a local index; `None` outside the halo.
    pub fn index(&self, local: [isize; D]) -> Option<usize> {
        let mut index = 0;
        for (d, local) in local.into_iter().enumerate() {
            let from_halo = usize::try_from(local.checked_add(self.shadow[d][0] as isize)?).ok()?;
            if from_halo >= self.lengths()[d] {
                return None;
            }
            index += from_halo * self.strides[d];
        }
        Some(index)
    }

    /// The place of a local index in the whole array; for halo cells it may be outside the array, or beyond the end of a periodic dimension.
    pub fn to_global(&self, local: [isize; D]) -> [isize; D] {
        std::array::from_fn(|d| self.block.first[d] as isize + local[d])
    }

    /// The local index of a cell of the whole array; `None` if another rank owns it.
    pub fn to_local(&self, global: [usize; D]) -> Option<[isize; D]> {
        let inside = |d: usize| global[d].checked_sub(self.block.first[d]).filter(|&at| at < self.block.cells[d]);
        let mut local = [0; D];
        for (d, at) in local.iter_mut().enumerate() {
            *at = inside(d)? as isize;
        }
        Some(local)
    }

    /// The cells that the rank owns.
    pub(crate) fn owned(&self) -> Cuboid<D> {
        std::array::from_fn(|d| self.shadow[d][0]..self.shadow[d][0] + self.block.cells[d])
    }

    /// The halo at `direction`; in dimensions where the direction is 0, the cells of the block.
    pub(crate) fn halo(&self, direction: Direction<D>) -> Cuboid<D> {
        let owned = self.owned();
        std::array::from_fn(|d| match direction[d] {
            0 => owned[d].clone(),
            ..0 => 0..owned[d].start,
            _ => owned[d].end..self.lengths()[d],
        })
    }

    /// The cells of the block that lie in the halo of the neighbour at `direction`.
    pub(crate) fn border(&self, direction: Direction<D>) -> Cuboid<D> {
        let owned = self.owned();
        std::array::from_fn(|d| match direction[d] {
            0 => owned[d].clone(),
            // For a neighbour at the low side these cells are in its high halo, for one at the high side in its low halo.
            ..0 => owned[d].start..owned[d].start + self.shadow[d][1],
            _ => owned[d].end - self.shadow[d][0]..owned[d].end,
        })
    }

    /// The directions whose halo holds cells of the row of `length` cells from a local index on.
    pub(crate) fn directions_of_row(&self, at: [isize; D], length: usize) -> DirectionSet {
        let side = |d: usize, local: isize| i8::from(local >= self.block.cells[d] as isize) - i8::from(local < 0);
        let first: Direction<D> = std::array::from_fn(|d| side(d, at[d]));
        let last = side(D - 1, at[D - 1] + length as isize - 1);
        let row = (first[D - 1]..=last).map(|s| {
            let mut direction = first;
            direction[D - 1] = s;
            number(direction)
        });
        row.fold(0, |directions, number| directions | 1 << number)
    }

    /// The directions whose halo holds cells of the box between two local indices, both included.
    pub(crate) fn directions_of_box(&self, first: [isize; D], last: [isize; D]) -> DirectionSet {
        let side = |d: usize, local: isize| i8::from(local >= self.block.cells[d] as isize) - i8::from(local < 0);
        let touches = |direction: &Direction<D>| (0..D).all(|d| (side(d, first[d])..=side(d, last[d])).contains(&direction[d]));
        let all = (0..count::<D>()).map(of_number::<D>).filter(touches);
        all.fold(0, |directions, direction| directions | 1 << number(direction))
    }

    /// Number of cells in each dimension, halo included.
    fn lengths(&self) -> [usize; D] {
        std::array::from_fn(|d| self.shadow[d][0] + self.block.cells[d] + self.shadow[d][1])
    }
}

/// Length of a box in each dimension.
pub(crate) fn extents<const D: usize>(cuboid: &Cuboid<D>) -> [usize; D] {
    std::array::from_fn(|d| cuboid[d].len())
}

/// Index of the first cell of a box.
pub(crate) fn start<const D: usize>(cuboid: &Cuboid<D>, strides: [usize; D]) -> usize {
    (0..D).map(|d| cuboid[d].start * strides[d]).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::direction::opposite;
    use proptest::prelude::*;

    const LAYOUT: Block<3> = Block { first: [10, 20, 30], cells: [3, 4, 5] };

    #[test]
    fn local_and_global_indices_are_one_to_one() {
        let layout = Layout::new(LAYOUT, [[1, 2], [0, 1], [2, 0]]);
        assert_eq!((layout.length(), layout.strides()), (6 * 5 * 7, [35, 7, 1]));
        assert_eq!(layout.index([0, 0, 0]), Some(35 + 2));
        assert_eq!(layout.index([-1, 0, -2]), Some(0));
        assert_eq!(layout.index([4, 4, 4]), Some(layout.length() - 1));
        for outside in [[-2, 0, 0], [5, 0, 0], [0, -1, 0], [0, 5, 0], [0, 0, -3], [0, 0, 5], [isize::MAX, 0, 0]] {
            assert_eq!(layout.index(outside), None, "{outside:?}");
        }
        assert_eq!(layout.to_global([-1, 0, 5]), [9, 20, 35]);
        assert_eq!(layout.to_local([12, 23, 34]), Some([2, 3, 4]));
        assert_eq!(layout.to_local([13, 23, 34]), None);
        assert_eq!(layout.to_local([9, 23, 34]), None);
    }

    proptest! {
        #[test]
        fn borders_and_halos_tile_the_memory_and_fit_each_other(widths in [[0usize..3, 0usize..3], [0usize..3, 0usize..3], [0usize..3, 0usize..3]]) {
            let layout = Layout::new(LAYOUT, widths);
            let mut found = vec![0; layout.length()];
            for direction in (0..count::<3>()).map(of_number::<3>) {
                let halo = layout.halo(direction);
                prop_assert_eq!(extents(&halo), extents(&layout.border(opposite(direction))));
                for i in halo[0].clone() {
                    for j in halo[1].clone() {
                        for k in halo[2].clone() {
                            found[i * layout.strides()[0] + j * layout.strides()[1] + k] += 1;
                            let local: [isize; 3] = std::array::from_fn(|d| [i, j, k][d] as isize - widths[d][0] as isize);
                            prop_assert_eq!(layout.directions_of_row(local, 1), 1 << number(direction));
                        }
                    }
                }
            }
            prop_assert!(found.iter().all(|&found| found == 1));
            let row = layout.directions_of_row([-1, 0, -(widths[2][0] as isize)], widths[2][0] + 5);
            let from_low = u128::from(widths[2][0] > 0) << number([-1, 0, -1]);
            prop_assert_eq!(row, from_low | 1 << number([-1, 0, 0]));
        }

        #[test]
        fn a_box_touches_the_steps_of_its_cells(
            first in [-1isize..5, -1isize..6, -1isize..7], extents in [1isize..6, 1isize..7, 1isize..8],
        ) {
            let layout = Layout::new(LAYOUT, [[1, 2]; 3]);
            let last: [isize; 3] = std::array::from_fn(|d| (first[d] + extents[d] - 1).min(LAYOUT.cells[d] as isize + 1).max(first[d]));
            let mut touched = 0;
            for i in first[0]..=last[0] {
                for j in first[1]..=last[1] {
                    touched |= layout.directions_of_row([i, j, first[2]], (last[2] - first[2] + 1) as usize);
                }
            }
            prop_assert_eq!(layout.directions_of_box(first, last), touched);
        }
    }
}
