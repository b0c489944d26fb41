//! The arrays of one rank, and which of their cells travel between neighbours.

use std::ops::Range;

use pelago::Shape;

use super::grid::{Block, Extent, Grid, Step};

/// Coefficient arrays: a0 to a3, b0 to b2, c0 to c2, bnd, wrk1.
pub(crate) const COEFFICIENTS: usize = 12;

/// Cells by which the distance of two coefficient arrays differs from a multiple of a page: five cache lines.
///
/// A sweep reads all arrays at the same place. At equal offsets in their pages those places would fall into one set of the first cache,
/// which has fewer ways than there are arrays, and each line would be fetched again for every vector in it (half the speed, measured).
const STAGGER_CELLS: usize = 80;
const PAGE_CELLS: usize = 1024;

/// Where the cells of a block and its halo, one cell wide on every side, lie in memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    cells: Extent,
}

impl Layout {
    /// Cells of an array, halo included.
    pub(crate) fn length(self) -> usize {
        self.cells.iter().map(|cells| cells + 2).product()
    }

    /// From one plane to the next, and from one row to the next.
    pub(crate) fn strides(self) -> [usize; 2] {
        let [_, j, k] = self.cells;
        [(j + 2) * (k + 2), k + 2]
    }

    /// Where a cell of the block lies.
    pub(crate) fn index(self, [i, j, k]: Extent) -> usize {
        let [plane, row] = self.strides();
        (i + 1) * plane + (j + 1) * row + k + 1
    }

    /// The cells of the block that the neighbour at `step` needs.
    pub(crate) fn border(self, step: Step) -> Region {
        self.region(step, |cells, step| if step > 0 { cells } else { 1 })
    }

    /// The cells of the halo that the neighbour at `step` owns.
    pub(crate) fn halo(self, step: Step) -> Region {
        self.region(step, |cells, step| match step {
            ..0 => 0,
            0 => 1,
            _ => cells + 1,
        })
    }

    /// Cells that are one thick in each direction of `step`; the first of them is counted from the halo's first.
    fn region(self, step: Step, first: impl Fn(usize, isize) -> usize) -> Region {
        let [plane, row] = self.strides();
        let first: Extent = std::array::from_fn(|d| first(self.cells[d], step[d]));
        let [i, j, k] = thickness(self.cells, step).map(|cells| cells as u64);
        Region {
            start: first[0] * plane + first[1] * row + first[2],
            shape: Shape { block: k, counts: [1, i, j], strides: [0, plane as u64, row as u64] },
            packed: Shape { block: k, counts: [1, i, j], strides: [0, j * k, k] },
        }
    }
}

/// How many cells of a block of `cells` the neighbour at `step` needs, in each direction.
pub(crate) fn thickness(cells: Extent, step: Step) -> Extent {
    std::array::from_fn(|d| if step[d] == 0 { cells[d] } else { 1 })
}

/// Cells that travel together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Region {
    /// Where the first lies in the array.
    pub(crate) start: usize,
    /// The cells in the array, and the same without gaps.
    pub(crate) shape: Shape,
    pub(crate) packed: Shape,
}

/// The arrays of one rank.
pub(crate) struct Field {
    pub(crate) layout: Layout,
    pub(crate) block: Block,
    /// The pressure. The halo is not a number until a neighbour has sent it, so that no sweep reads unnoticed what did not arrive.
    pub(crate) p: Vec<f32>,
    /// The pressure after the sweep in work; the benchmark's wrk2.
    pub(crate) next: Vec<f32>,
    pub(crate) coefficients: Coefficients,
}

impl Field {
    /// The block's arrays as the benchmark defines them, with its three coefficients b.
    pub(crate) fn new(block: Block, b: f32) -> Self {
        let layout = Layout { cells: block.cells };
        let poisoned = vec![f32::NAN; layout.length()];
        Self { layout, block, p: poisoned.clone(), next: poisoned, coefficients: Coefficients::new(layout, b) }
    }

    /// Sets the pressure of each cell of the block from its place in the whole grid, and spoils the halo.
    pub(crate) fn set_p(&mut self, value: impl Fn(Extent) -> f32) {
        // What an earlier run left in the halo is no more to be used than what never came.
        self.p.fill(f32::NAN);
        self.next.fill(f32::NAN);
        for (cell, index) in self.cells() {
            // Both arrays have the boundary of the grid, which no sweep writes.
            self.p[index] = value(cell);
            self.next[index] = value(cell);
        }
    }

    /// Makes the new pressure the pressure: the benchmark's copy of wrk2 to p, without moving it.
    pub(crate) fn advance(&mut self) {
        std::mem::swap(&mut self.p, &mut self.next);
    }

    /// The place of each cell of the block in the whole grid, and in the arrays.
    pub(crate) fn cells(&self) -> impl Iterator<Item = (Extent, usize)> + use<> {
        let (Block { first, cells: [ni, nj, nk] }, layout) = (self.block, self.layout);
        let places = (0..ni).flat_map(move |i| (0..nj).flat_map(move |j| (0..nk).map(move |k| [i, j, k])));
        places.map(move |cell| (std::array::from_fn(|d| first[d] + cell[d]), layout.index(cell)))
    }
}

/// The coefficient arrays, one after the other.
pub(crate) struct Coefficients {
    memory: Vec<f32>,
    spacing: usize,
}

impl Coefficients {
    fn new(layout: Layout, b: f32) -> Self {
        let spacing = layout.length().next_multiple_of(PAGE_CELLS) + STAGGER_CELLS;
        let values: [f32; COEFFICIENTS] = [1.0, 1.0, 1.0, 1.0 / 6.0, b, b, b, 1.0, 1.0, 1.0, 1.0, 0.0];
        Self { memory: values.iter().flat_map(|&value| std::iter::repeat_n(value, spacing)).collect(), spacing }
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
