//! The arrays of one rank.

use std::ops::Range;

use pelago::World;
use pelago::halo::{Field, Layout};

use super::grid::{Extent, Grid};

/// Coefficient arrays: a0 to a3, b0 to b2, c0 to c2, bnd, wrk1.
pub(crate) const COEFFICIENTS: usize = 12;

/// Cells by which the distance of two coefficient arrays differs from a multiple of a page: five cache lines.
///
/// A sweep reads all arrays at the same index. With equal offsets in their pages, these addresses would fall into one set of the L1 cache,
/// which has fewer ways than there are arrays. Each line would be fetched again for every vector in it (measured: half the speed).
const STAGGER_CELLS: usize = 80;
const PAGE_CELLS: usize = 1024;

/// Allocates the pressure before and after the current sweep: the benchmark's p and wrk2, which swap roles.
pub(crate) fn pressures<'w>(world: &'w World, grid: &Grid) -> pelago::Result<[Field<'w, f32, 3>; 2]> {
    let array = grid.array().expect("the grid was checked");
    Ok([Field::new(world, &array)?, Field::new(world, &array)?])
}

/// Content of halo cells before their reception: far from any pressure, so that the use of missing cells does not go unnoticed. Not NaN, as
/// cells that are not exchanged are multiplied by 0.
pub(crate) const SPOILED: f32 = 1e30;

/// Sets the pressure of each cell of the block by its position in the whole grid, and fills the halo with [`SPOILED`].
pub(crate) fn set_p(field: &mut Field<'_, f32, 3>, value: impl Fn(Extent) -> f32) {
    field.cells_mut().fill(SPOILED);
    field.for_each(|cell, p| *p = value(cell));
}

/// The coefficient arrays, one after the other.
pub(crate) struct Coefficients {
    memory: Vec<f32>,
    spacing: usize,
}

impl Coefficients {
    /// Creates the arrays as defined by the benchmark; `b` is the value of its three coefficients b.
    pub(crate) fn new(layout: &Layout<3>, b: f32) -> Self {
        let spacing = layout.length().next_multiple_of(PAGE_CELLS) + STAGGER_CELLS;
        let values: [f32; COEFFICIENTS] = [1.0, 1.0, 1.0, 1.0 / 6.0, b, b, b, 1.0, 1.0, 1.0, 1.0, 0.0];
        Self { memory: values.iter().flat_map(|&value| std::iter::repeat_n(value, spacing)).collect(), spacing }
    }

    /// Returns all arrays, including the space between them.
    pub(crate) fn all(&self) -> &[f32] {
        &self.memory
    }

    /// Returns the distance between arrays, in cells.
    pub(crate) fn distance(&self) -> usize {
        self.spacing
    }

    /// Returns the same cells of all arrays.
    #[inline]
    pub(crate) fn at(&self, cells: Range<usize>) -> [&[f32]; COEFFICIENTS] {
        std::array::from_fn(|array| &self.memory[array * self.spacing..][cells.clone()])
    }
}

/// Returns the benchmark's initial pressure: (i / (imax − 1))².
pub(crate) fn initial_p(grid: &Grid) -> impl Fn(Extent) -> f32 + use<> {
    let last = grid.cells[0] - 1;
    move |[i, _, _]| (i * i) as f32 / (last * last) as f32
}
