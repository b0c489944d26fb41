//! One iteration of the 19-point stencil over a block.
//!
//! No operation is fused or reordered, so that a cell gets bitwise the same value whichever block it is in.

use std::ops::Range;

use super::field::{COEFFICIENTS, Field};

/// The benchmark's relaxation factor.
const OMEGA: f32 = 0.8;

/// Partial sums of gosa that are independent of each other, so that they fill vectors.
const LANES: usize = 8;

/// Computes new pressures, and keeps what it needs for that.
pub(crate) struct Sweep {
    /// The new values of the plane in work and the one before: an old value is overwritten only when no cell needs it any more.
    fresh: [Vec<f32>; 2],
    /// The squares of one row, summed afterwards: the stencil's loop stays free of a sum, which compilers may not reorder.
    squares: Vec<f32>,
}

impl Sweep {
    /// For blocks of the size of this one.
    pub(crate) fn new(field: &Field) -> Self {
        let [plane, row] = field.layout.strides();
        Self { fresh: [vec![0.0; plane], vec![0.0; plane]], squares: vec![0.0; row] }
    }

    /// Replaces the pressure of the cells of `interior` and returns gosa, the sum of their squared residuals.
    pub(crate) fn run(&mut self, field: &mut Field, interior: &[Range<usize>; 3]) -> f64 {
        if interior.iter().any(Range::is_empty) {
            return 0.0;
        }
        let [planes, rows, cells] = interior.clone();
        let mut gosa = 0.0;
        for i in planes.clone() {
            for j in rows.clone() {
                gosa += self.compute_row(field, i, j, &cells);
            }
            if i > planes.start {
                self.store_plane(field, i - 1, &rows, &cells);
            }
        }
        self.store_plane(field, planes.end - 1, &rows, &cells);
        gosa
    }

    fn compute_row(&mut self, field: &Field, i: usize, j: usize, cells: &Range<usize>) -> f64 {
        let [plane, row] = field.layout.strides();
        let first = field.layout.index([i, j, cells.start]);
        let around = |index: usize| &field.p[index - 1..index + 1 + cells.len()];
        let old = Old {
            here: around(first),
            i_minus: around(first - plane),
            i_plus: around(first + plane),
            j_minus: around(first - row),
            j_plus: around(first + row),
            ij_minus_minus: around(first - plane - row),
            ij_minus_plus: around(first - plane + row),
            ij_plus_minus: around(first + plane - row),
            ij_plus_plus: around(first + plane + row),
        };
        let coefficients = field.coefficients(first..first + cells.len());
        let fresh = &mut self.fresh[i % 2][j * row..][..cells.len()];
        let squares = &mut self.squares[..cells.len()];
        stencil(fresh, squares, &old, coefficients);
        sum(squares)
    }

    fn store_plane(&self, field: &mut Field, i: usize, rows: &Range<usize>, cells: &Range<usize>) {
        let [_, row] = field.layout.strides();
        for j in rows.clone() {
            let first = field.layout.index([i, j, cells.start]);
            field.p[first..first + cells.len()].copy_from_slice(&self.fresh[i % 2][j * row..][..cells.len()]);
        }
    }
}

/// The old pressures around a row, each from the cell before its first to the one after its last.
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

/// The new pressures of a row, and the squares of its residuals.
///
/// Slices of one length, and outputs that are arguments of their own, let the compiler drop bounds checks and use vectors.
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

fn sum(squares: &[f32]) -> f64 {
    let (groups, rest) = squares.as_chunks::<LANES>();
    let mut lanes = [0.0; LANES];
    for group in groups {
        for (lane, &square) in lanes.iter_mut().zip(group) {
            *lane += f64::from(square);
        }
    }
    lanes.iter().sum::<f64>() + rest.iter().map(|&square| f64::from(square)).sum::<f64>()
}
