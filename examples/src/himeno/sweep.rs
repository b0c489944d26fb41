//! One iteration of the 19-point stencil over a block.
//!
//! No operation is fused or reordered, so that the value of a cell is bitwise the same in any block.

use pelago::halo::{Layout, Region};

use super::field::{COEFFICIENTS, Coefficients};
use super::order::Box3;

/// The benchmark's relaxation factor.
const OMEGA: f32 = 0.8;

/// Number of independent partial sums of gosa, which fill a vector.
const LANES: usize = 8;

/// Access to pressures that can be read now.
pub(crate) trait Rows: Copy {
    /// Returns rows of cells along k that begin at `distances` from the cell `at`, which is relative to the first cell of the block.
    fn rows<const N: usize>(&self, at: [isize; 3], distances: [[isize; 3]; N], length: usize) -> [&[f32]; N];
}

impl Rows for Region<'_, f32, 3> {
    #[inline(always)]
    fn rows<const N: usize>(&self, at: [isize; 3], distances: [[isize; 3]; N], length: usize) -> [&[f32]; N] {
        Region::rows(self, at, distances, length)
    }
}

/// Returns the cells that the stencil reads for a non-empty set of cells: the first cell, and the number in each direction.
pub(crate) fn reach(cells: &Box3) -> ([isize; 3], [usize; 3]) {
    (cells.each_ref().map(|range| range.start as isize - 1), cells.each_ref().map(|range| range.len() + 2))
}

/// Writes the new pressure of the non-empty `cells` to `next` and returns gosa, the sum of their squared residuals. `p` contains all cells in
/// [`reach`].
pub(crate) fn sweep(
    p: impl Rows,
    layout: &Layout<3>,
    next: &mut [f32],
    coefficients: &Coefficients,
    [planes, rows, cells]: &Box3,
) -> f64 {
    let mut squares = vec![0.0; cells.len()];
    let mut gosa = 0.0;
    let (origin, [plane, row, _]) = (layout.index([0; 3]).expect("a block has cells"), layout.strides());
    for i in planes.clone() {
        for j in rows.clone() {
            let at = [i, j, cells.start].map(|index| index as isize);
            let first = origin + i * plane + j * row + cells.start;
            sweep_row(p, at, &mut next[first..first + cells.len()], coefficients.at(first..first + cells.len()), &mut squares);
            gosa += sum(&squares);
        }
    }
    gosa
}

/// Computes one row from the cell `at` on, and the squares of its residuals.
#[inline]
fn sweep_row(p: impl Rows, at: [isize; 3], fresh: &mut [f32], coefficients: [&[f32]; COEFFICIENTS], squares: &mut [f32]) {
    let rows = p.rows(at, OLD, fresh.len() + 2);
    let [here, i_minus, i_plus, j_minus, j_plus, ij_minus_minus, ij_minus_plus, ij_plus_minus, ij_plus_plus] = rows;
    let old = Old { here, i_minus, i_plus, j_minus, j_plus, ij_minus_minus, ij_minus_plus, ij_plus_minus, ij_plus_plus };
    stencil(fresh, squares, &old, coefficients);
}

/// The old pressures around a row, each from one cell before the row to one cell after it.
struct Old<'a> {
    here: &'a [f32],
    i_minus: &'a [f32],
    i_plus: &'a [f32],
    j_minus: &'a [f32],
    j_plus: &'a [f32],
    ij_minus_minus: &'a [f32],
    ij_minus_plus: &'a [f32],
    ij_plus_minus: &'a [f32],
    ij_plus_plus: &'a [f32],
}

/// Starts of the rows of [`Old`], relative to the first cell of the row, in the same order.
const OLD: [[isize; 3]; 9] =
    [[0, 0, -1], [-1, 0, -1], [1, 0, -1], [0, -1, -1], [0, 1, -1], [-1, -1, -1], [-1, 1, -1], [1, -1, -1], [1, 1, -1]];

/// Computes the new pressures of a row, and the squares of its residuals. The squares are summed afterwards: the order of a floating-point sum
/// is fixed, which would prevent the vectorization of this loop.
///
/// Slices of equal length, and separate arguments for the outputs, let the compiler remove bounds checks and use vectors.
#[inline(never)]
fn stencil(fresh: &mut [f32], squares: &mut [f32], old: &Old<'_>, coefficients: [&[f32]; COEFFICIENTS]) {
    let length = fresh.len();
    let squares = &mut squares[..length];
    let [p, im, ip, jm, jp] = [old.here, old.i_minus, old.i_plus, old.j_minus, old.j_plus].map(|row| &row[..length + 2]);
    let [imjm, imjp, ipjm, ipjp] =
        [old.ij_minus_minus, old.ij_minus_plus, old.ij_plus_minus, old.ij_plus_plus].map(|row| &row[1..length + 1]);
    let [a0, a1, a2, a3, b0, b1, b2, c0, c1, c2, bnd, wrk1] = coefficients.map(|row| &row[..length]);
    for k in 0..length {
        let s0 = a0[k] * ip[k + 1]
            + a1[k] * jp[k + 1]
            + a2[k] * p[k + 2]
            + b0[k] * (ipjp[k] - ipjm[k] - imjp[k] + imjm[k])
            + b1[k] * (jp[k + 2] - jm[k + 2] - jp[k] + jm[k])
            + b2[k] * (ip[k + 2] - im[k + 2] - ip[k] + im[k])
            + c0[k] * im[k + 1]
            + c1[k] * jm[k + 1]
            + c2[k] * p[k]
            + wrk1[k];
        let ss = (s0 * a3[k] - p[k + 1]) * bnd[k];
        squares[k] = ss * ss;
        fresh[k] = p[k + 1] + OMEGA * ss;
    }
}

/// Sums the squares of a row.
pub(crate) fn sum(squares: &[f32]) -> f64 {
    let (groups, rest) = squares.as_chunks::<LANES>();
    let mut lanes = [0.0; LANES];
    for group in groups {
        for (lane, &square) in lanes.iter_mut().zip(group) {
            *lane += f64::from(square);
        }
    }
    lanes.iter().sum::<f64>() + rest.iter().map(|&square| f64::from(square)).sum::<f64>()
}
