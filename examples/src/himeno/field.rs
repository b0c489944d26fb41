//! The arrays of one rank.

use std::ops::Range;

use pelago::World;
use pelago::halo::{Field, Layout};

use super::grid::{Extent, Grid};

/// Coefficient arrays: a0 to a3, b0 to b2, c0 to c2, bnd, wrk1.
pub(crate) const COEFFICIENTS: usize = 12;

/// Cells by which the distance of two coefficient arrays differs from a multiple of a page: five cache lines.
///
/// A sweep reads all arrays at the same place. At equal offsets in their pages those places would fall into one set of the first cache,
/// which has fewer ways than there are arrays, and each line would be fetched again for every vector in it (half the speed, measured).
const STAGGER_CELLS: usize = 80;
const PAGE_CELLS: usize = 1024;

/// The pressure before and after the sweep in work; the benchmark's p and wrk2, which change places.
pub(crate) fn pressures<'w>(world: &'w World, grid: &Grid) -> pelago::Result<[Field<'w, f32, 3>; 2]> {
    let array = grid.array().expect("the grid was checked");
    Ok([Field::new(world, &array)?, Field::new(world, &array)?])
}

/// What a halo holds until a neighbour has sent it: far from any pressure, so that no sweep reads unnoticed what did not arrive. A number, as what
/// does not have to arrive is multiplied by 0.
pub(crate) const SPOILED: f32 = 1e30;

/// Sets the pressure of each cell of the block from its place in the whole grid, and spoils the halo.
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
    /// The arrays as the benchmark defines them, with its three coefficients b.
    pub(crate) fn new(layout: &Layout<3>, b: f32) -> Self {
        let spacing = layout.length().next_multiple_of(PAGE_CELLS) + STAGGER_CELLS;
        let values: [f32; COEFFICIENTS] = [1.0, 1.0, 1.0, 1.0 / 6.0, b, b, b, 1.0, 1.0, 1.0, 1.0, 0.0];
        Self { memory: values.iter().flat_map(|&value| std::iter::repeat_n(value, spacing)).collect(), spacing }
    }

    /// All arrays, with what is between them.
    pub(crate) fn all(&self) -> &[f32] {
        &self.memory
    }

    /// Cells from one array to the next.
    pub(crate) fn distance(&self) -> usize {
        self.spacing
    }

    /// The same cells of all arrays.
    #[inline]
    pub(crate) fn at(&self, cells: Range<usize>) -> [&[f32]; COEFFICIENTS] {
        std::array::from_fn(|array| &self.memory[array * self.spacing..][cells.clone()])
    }
}

/// The benchmark's first pressure: (i / (imax − 1))².
pub(crate) fn initial_p(grid: &Grid) -> impl Fn(Extent) -> f32 + use<> {
    let last = grid.cells[0] - 1;
    move |[i, _, _]| (i * i) as f32 / (last * last) as f32
}
