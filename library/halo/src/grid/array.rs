//! Which cells each rank owns.

use crate::grid::error::GridError;
use crate::grid::layout::{Block, Layout};
use crate::grid::nodes::Nodes;

/// Cells in every dimension: an index space that is cut into one block per rank.
///
/// Blocks of a dimension differ by at most one cell, longer ones first. Arrays are aligned with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Template<const D: usize> {
    cells: [usize; D],
    nodes: Nodes<D>,
}

/// An array whose cells lie with those of a template, and the widths of its shadow.
///
/// The *shadow* is room for copies of neighbours' cells around the block of each rank: its halo. At the ends of a dimension that is not
/// periodic it belongs to the program, for boundary values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Array<const D: usize> {
    template: Template<D>,
    cells: [usize; D],
    offset: [usize; D],
    shadow: [[usize; 2]; D],
}

impl<const D: usize> Template<D> {
    /// The template of `cells` on `nodes`.
    ///
    /// # Errors
    /// A dimension has fewer cells than parts; a block has more cells than memory can have.
    pub fn new(cells: [usize; D], nodes: Nodes<D>) -> Result<Self, GridError> {
        if let Some(dimension) = (0..D).find(|&d| cells[d] < nodes.parts()[d]) {
            return Err(GridError::Cells { dimension, parts: nodes.parts()[dimension], cells: cells[dimension] });
        }
        check_memory::<D>(std::array::from_fn(|d| Some(cells[d].div_ceil(nodes.parts()[d]))))?;
        Ok(Self { cells, nodes })
    }

    /// Number of cells in each dimension.
    pub fn cells(&self) -> [usize; D] {
        self.cells
    }

    /// The grid of ranks for which it is cut.
    pub fn nodes(&self) -> &Nodes<D> {
        &self.nodes
    }

    /// The array of all its cells, without a shadow.
    pub fn array(&self) -> Array<D> {
        Array { template: *self, cells: self.cells, offset: [0; D], shadow: [[0; 2]; D] }
    }

    /// The array of `cells` whose first cell lies with the cell `offset` of the template: for staggered grids, where some arrays have one cell more
    /// than others.
    ///
    /// # Errors
    /// It reaches past the template.
    pub fn align(&self, cells: [usize; D], offset: [usize; D]) -> Result<Array<D>, GridError> {
        let is_past = |d: usize| offset[d].checked_add(cells[d]).is_none_or(|end| end > self.cells[d]);
        match (0..D).find(|&d| is_past(d)) {
            Some(dimension) => Err(GridError::Align {
                dimension,
                cells: cells[dimension],
                offset: offset[dimension],
                template: self.cells[dimension],
            }),
            None => Ok(Array { template: *self, cells, offset, shadow: [[0; 2]; D] }),
        }
    }

    /// First cell of a part of a dimension.
    fn first_of_part(&self, dimension: usize, part: usize) -> usize {
        let (cells, parts) = (self.cells[dimension], self.nodes.parts()[dimension]);
        part * (cells / parts) + part.min(cells % parts)
    }
}

impl<const D: usize> Array<D> {
    /// The array with a shadow of so many cells at the low and the high side of each dimension.
    ///
    /// # Errors
    /// A shadow is wider than the block of a neighbour that it copies; or the array does not fill a periodic dimension.
    pub fn shadow(self, widths: [[usize; 2]; D]) -> Result<Self, GridError> {
        let array = Self { shadow: widths, ..self };
        let nodes = &self.template.nodes;
        for (dimension, widths) in widths.into_iter().enumerate().filter(|&(d, _)| nodes.is_joined(d)) {
            let width = widths[0].max(widths[1]);
            if width > 0 && nodes.periodic()[dimension] && self.cells[dimension] != self.template.cells[dimension] {
                return Err(GridError::Periodic { dimension });
            }
            let parts = 0..nodes.parts()[dimension];
            let cells = parts.map(|part| array.part(dimension, part)[1]).min().expect("a dimension has parts");
            if width > cells {
                return Err(GridError::Shadow { dimension, width, cells });
            }
        }
        check_memory::<D>(std::array::from_fn(|d| array.part_cells_max(d).checked_add(widths[d][0])?.checked_add(widths[d][1])))?;
        Ok(array)
    }

    /// Number of cells in each dimension.
    pub fn cells(&self) -> [usize; D] {
        self.cells
    }

    /// The template that it is aligned with.
    pub fn template(&self) -> &Template<D> {
        &self.template
    }

    /// The widths of its shadow at the low and the high side of each dimension.
    pub fn widths(&self) -> [[usize; 2]; D] {
        self.shadow
    }

    /// The cells of the block at `place`.
    pub fn block(&self, place: [usize; D]) -> Block<D> {
        let parts: [[usize; 2]; D] = std::array::from_fn(|d| self.part(d, place[d]));
        Block { first: parts.map(|[first, _]| first), cells: parts.map(|[_, cells]| cells) }
    }

    /// The memory of the block at `place`.
    pub fn layout(&self, place: [usize; D]) -> Layout<D> {
        Layout::new(self.block(place), self.shadow)
    }

    /// Maximum number of cells in the memory of a rank.
    pub(crate) fn length_max(&self) -> usize {
        (0..D).map(|d| self.part_cells_max(d) + self.shadow[d][0] + self.shadow[d][1]).product()
    }

    /// Maximum number of cells of a part of a dimension.
    pub(crate) fn part_cells_max(&self, dimension: usize) -> usize {
        let parts = 0..self.template.nodes.parts()[dimension];
        parts.map(|part| self.part(dimension, part)[1]).max().expect("a dimension has parts")
    }

    /// First cell of a part of a dimension, and its number of cells.
    fn part(&self, dimension: usize, part: usize) -> [usize; 2] {
        let inside = |cell: usize| cell.saturating_sub(self.offset[dimension]).min(self.cells[dimension]);
        let first = inside(self.template.first_of_part(dimension, part));
        [first, inside(self.template.first_of_part(dimension, part + 1)) - first]
    }
}

/// Checks that cells of so many in each dimension, `None` if they cannot be counted, can lie in memory. Dimensions without cells count as well: strides
/// are products of the lengths of the others.
fn check_memory<const D: usize>(lengths: [Option<usize>; D]) -> Result<(), GridError> {
    let cells = lengths.into_iter().try_fold(1usize, |cells, length| cells.checked_mul(length?.max(1)));
    if cells.is_some_and(|cells| cells <= isize::MAX as usize) { Ok(()) } else { Err(GridError::Overflow) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pelago_base::Rank;
    use proptest::prelude::*;

    fn template(cells: [usize; 2], parts: [usize; 2], periodic: bool) -> Template<2> {
        Template::new(cells, Nodes::new(parts, [periodic; 2]).unwrap()).unwrap()
    }

    proptest! {
        #[test]
        fn blocks_tile_the_array(
            cells in [1usize..12, 1usize..12], wanted in [1usize..5, 1usize..5], cut in [0usize..4, 0usize..4], offset in [0usize..4, 0usize..4],
        ) {
            let parts: [usize; 2] = std::array::from_fn(|d| wanted[d].min(cells[d]));
            let offset: [usize; 2] = std::array::from_fn(|d| offset[d].min(cells[d]));
            let aligned: [usize; 2] = std::array::from_fn(|d| (cells[d] - offset[d]).saturating_sub(cut[d]));
            let template = template(cells, parts, false);
            let array = template.align(aligned, offset).unwrap();
            let mut owners = vec![0; aligned.iter().product()];
            for rank in (0..template.nodes().ranks()).map(Rank::new) {
                let place = template.nodes().place(rank);
                let (Block { first, cells }, whole) = (array.block(place), template.array().block(place));
                for i in first[0]..first[0] + cells[0] {
                    for j in first[1]..first[1] + cells[1] {
                        owners[i * aligned[1] + j] += 1;
                        // It lies where its template cell lies.
                        let at = [i + offset[0], j + offset[1]];
                        prop_assert!((0..2).all(|d| (whole.first[d]..whole.first[d] + whole.cells[d]).contains(&at[d])));
                    }
                }
            }
            prop_assert!(owners.iter().all(|&owners| owners == 1));
        }
    }

    #[test]
    fn what_is_impossible_is_refused_in_one_line() {
        assert_eq!(
            Template::new([3, 1], Nodes::new([2, 2], [false; 2]).unwrap()),
            Err(GridError::Cells { dimension: 1, parts: 2, cells: 1 })
        );
        let open = template([5, 4], [2, 1], false);
        assert_eq!(open.align([5, 4], [0, 1]), Err(GridError::Align { dimension: 1, cells: 4, offset: 1, template: 4 }));
        assert!(open.align([usize::MAX, 4], [1, 0]).is_err());
        assert_eq!(open.array().shadow([[0, 3], [9, 9]]), Err(GridError::Shadow { dimension: 0, width: 3, cells: 2 }));
        assert!(open.array().shadow([[2, 1], [9, 9]]).is_ok(), "nobody is asked for a shadow where nothing is cut");
        assert_eq!(open.array().shadow([[0, 0], [usize::MAX, 1]]), Err(GridError::Overflow));
        let alone = Nodes::new([1, 1], [false; 2]).unwrap();
        assert_eq!(Template::new([1 << 33, 1 << 31], alone), Err(GridError::Overflow), "2⁶⁴ cells, which wrap to none");
        assert_eq!(Template::new([usize::MAX, 1], alone), Err(GridError::Overflow));
        assert!(Template::new([1 << 33, 1 << 31], Nodes::new([4, 1], [false; 2]).unwrap()).is_ok(), "2⁶² cells in each block");
        let empty = Template::new([5, 4], alone).unwrap().align([5, 0], [0, 0]).unwrap();
        assert_eq!(empty.shadow([[usize::MAX / 2, 0], [0, 3]]), Err(GridError::Overflow), "a stride of memory without cells");
        let ring = template([5, 4], [2, 1], true);
        assert_eq!(ring.array().shadow([[0, 0], [5, 0]]), Err(GridError::Shadow { dimension: 1, width: 5, cells: 4 }));
        assert_eq!(ring.align([5, 3], [0, 0]).unwrap().shadow([[1, 1], [1, 0]]), Err(GridError::Periodic { dimension: 1 }));
        for error in [GridError::Parts, GridError::Overflow, GridError::Periodic { dimension: 1 }] {
            assert!(!error.to_string().contains('\n'));
        }
    }
}
