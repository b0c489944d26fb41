//! One iteration of the 19-point stencil over a block.
//!
//! No operation is fused or reordered, so that a cell gets bitwise the same value whichever block it is in.

use super::field::{COEFFICIENTS, Field};
use super::order::Box3;

/// The benchmark's relaxation factor.
const OMEGA: f32 = 0.8;

/// Partial sums of gosa that are independent of each other, so that they fill vectors.
const LANES: usize = 8;

/// Writes the new pressure of `cells` to the field's second array and returns gosa, the sum of their squared residuals.
pub(crate) fn sweep(field: &mut Field, [planes, rows, cells]: Box3) -> f64 {
    let mut squares = vec![0.0; cells.len()];
    let mut gosa = 0.0;
    for i in planes {
        for j in rows.clone() {
            sweep_row(field, field.layout.index([i, j, cells.start]), &mut squares);
            gosa += sum(&squares);
        }
    }
    gosa
}

/// One row, from the cell at index `first` on, and the squares of its residuals.
fn sweep_row(field: &mut Field, first: usize, squares: &mut [f32]) {
    let [plane, row] = field.layout.strides();
    let cells = first..first + squares.len();
    let around = |index: usize| &field.p[index - 1..index + 1 + squares.len()];
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
    stencil(&mut field.next[cells.clone()], squares, &old, field.coefficients.at(cells));
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

/// The new pressures of a row, and the squares of its residuals. They are summed afterwards: the order of a sum of rounded numbers must
/// stay as it is written, which would keep this loop from being done in vectors.
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
