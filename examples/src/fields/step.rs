//! The stencils, and the order in which a block is computed.

use std::ops::Range;

use pelago::halo::{Field, View};

use super::water::{FIELDS, H, Q, U, V, Z};

/// Time step, in units of the time in which a wave of height 1 crosses a cell.
const DT: f64 = 0.01;

/// Rotation of the channel (Coriolis parameter).
const F: f64 = 0.1;

/// Mixing with neighbours per step.
const MIXING: f64 = 0.02;

/// Drift velocity of the tracer along i and j.
const DRIFT: [f64; 2] = [0.4, 0.3];

/// Constants of the equations for the GPU.
pub(super) const CONSTANTS: [f64; 5] = [DT, F, MIXING, DRIFT[0], DRIFT[1]];

/// Rows and columns of a block, counted from its first.
pub(super) type Part = [Range<usize>; 2];

/// The parts of a block.
pub(super) struct Parts {
    /// Cells whose stencils need no halo; may be empty.
    pub(super) middle: Part,
    /// The remaining cells.
    pub(super) rim: [Part; 4],
}

/// Returns the parts of the block of these fields. The velocity along i has the most rows.
pub(super) fn parts(fields: &[Field<'_, f64, 2>]) -> Parts {
    let ([rows, columns], inside) = (fields[U].block().cells, fields[H].block().cells[0]);
    let inner = |length: usize| if length < 4 { 0..0 } else { 2..length - 1 };
    let (i, j) = (inner(inside), inner(columns));
    let rim = [[0..i.start, 0..columns], [i.end..rows, 0..columns], [i.clone(), 0..j.start], [i.clone(), j.end..columns]];
    Parts { middle: [i, j], rim }
}

/// Writes the next values of a part.
pub(super) fn advance(before: &[Field<'_, f64, 2>], after: &mut [Field<'_, f64, 2>], [rows, columns]: &Part) {
    if columns.is_empty() {
        return;
    }
    let views: [View<'_, f64, 2>; FIELDS] = std::array::from_fn(|field| before[field].view());
    let (block, [walls, _]) = (before[H].block(), before[U].array().cells());
    for i in rows.clone() {
        let at = [i as isize, columns.start as isize];
        let near = Near { views: &views, at, length: columns.len() };
        if i < block.cells[0] {
            near.write(&mut after[H], height(&near));
            near.write(&mut after[V], along_j(&near));
            near.write(&mut after[Q], tracer(&near));
        }
        let global = block_first(before) + i;
        if global == 0 || global == walls - 1 {
            // No flow through a wall.
            near.write(&mut after[U], |_| 0.0);
            near.write(&mut after[Z], |_| 0.0);
        } else {
            near.write(&mut after[U], along_i(&near));
            near.write(&mut after[Z], vorticity(&near));
        }
    }
}

/// Fills the halo beyond the walls with the reflected cells in front of them.
pub(super) fn reflect_at_walls(field: &mut Field<'_, f64, 2>) {
    for (from, to, length) in reflections(field) {
        field.cells_mut().copy_within(from..from + length, to);
    }
}

/// Returns the rows reflected by walls: start of the row, start of the halo row, number of cells.
pub(super) fn reflections(field: &Field<'_, f64, 2>) -> Vec<(usize, usize, usize)> {
    let (layout, [low, high]) = (*field.layout(), field.array().widths()[0]);
    let [columns_low, columns_high] = field.array().widths()[1];
    let ([rows, columns], first) = (layout.block().cells, layout.block().first[0]);
    let start = |row: isize| layout.index([row, -(columns_low as isize)]).expect("a row of the shadow");
    let copy = |from: usize, to: isize| (start(from as isize), start(to), columns_low + columns + columns_high);
    let mut copies = Vec::new();
    if first == 0 {
        copies.extend((0..low).map(|row| copy(row, -1 - row as isize)));
    }
    if first + rows == field.array().cells()[0] {
        copies.extend((0..high).map(|row| copy(rows - 1 - row, (rows + row) as isize)));
    }
    copies
}

/// Returns the global index of the first row of the block.
fn block_first(fields: &[Field<'_, f64, 2>]) -> usize {
    fields[U].block().first[0]
}

/// A row of cells with access to neighbouring cells.
struct Near<'a> {
    views: &'a [View<'a, f64, 2>; FIELDS],
    at: [isize; 2],
    length: usize,
}

impl<'a> Near<'a> {
    /// Returns the row at distance `i`, from `low` cells before to `high` cells after.
    fn row(&self, field: usize, i: isize, low: usize, high: usize) -> &'a [f64] {
        self.views[field].row([self.at[0] + i, self.at[1] - low as isize], low + self.length + high)
    }

    /// Writes the row in another field.
    fn write(&self, field: &mut Field<'_, f64, 2>, value: impl Fn(usize) -> f64) {
        let first = field.layout().index(self.at).expect("a cell of the block");
        for (k, cell) in field.cells_mut()[first..first + self.length].iter_mut().enumerate() {
            *cell = value(k);
        }
    }
}

/// Height: inflow, outflow, and mixing with all eight neighbours.
fn height<'a>(near: &Near<'a>) -> impl Fn(usize) -> f64 + use<'a> {
    let [hm, h, hp] = [-1, 0, 1].map(|i| near.row(H, i, 1, 1));
    let [u, up] = [0, 1].map(|i| near.row(U, i, 0, 0));
    let v = near.row(V, 0, 0, 1);
    move |k| {
        let c = k + 1;
        let flow_i = up[k] * (0.5 * (h[c] + hp[c])) - u[k] * (0.5 * (hm[c] + h[c]));
        let flow_j = v[k + 1] * (0.5 * (h[c] + h[c + 1])) - v[k] * (0.5 * (h[c - 1] + h[c]));
        let sides = hm[c] + hp[c] + h[c - 1] + h[c + 1];
        let corners = hm[c - 1] + hm[c + 1] + hp[c - 1] + hp[c + 1];
        h[c] - DT * (flow_i + flow_j) + MIXING * (sides + 0.5 * corners - 6.0 * h[c])
    }
}

/// Velocity along i: slope, rotation of the channel and vorticity of the water, and mixing.
fn along_i<'a>(near: &Near<'a>) -> impl Fn(usize) -> f64 + use<'a> {
    let [hm, h] = [-1, 0].map(|i| near.row(H, i, 0, 0));
    let [um, u, up] = [-1, 0, 1].map(|i| near.row(U, i, 1, 1));
    let [vm, v] = [-1, 0].map(|i| near.row(V, i, 0, 1));
    let z = near.row(Z, 0, 0, 1);
    move |k| {
        let across = 0.25 * (vm[k] + v[k] + vm[k + 1] + v[k + 1]);
        let turning = F + 0.5 * (z[k] + z[k + 1]);
        let mixed = um[k + 1] + up[k + 1] + u[k] + u[k + 2] - 4.0 * u[k + 1];
        u[k + 1] - DT * ((h[k] - hm[k]) - turning * across) + MIXING * mixed
    }
}

/// Velocity along j.
fn along_j<'a>(near: &Near<'a>) -> impl Fn(usize) -> f64 + use<'a> {
    let h = near.row(H, 0, 1, 0);
    let [u, up] = [0, 1].map(|i| near.row(U, i, 1, 0));
    let v = near.row(V, 0, 1, 1);
    move |k| {
        let across = 0.25 * (u[k] + up[k] + u[k + 1] + up[k + 1]);
        v[k + 1] - DT * ((h[k + 1] - h[k]) + F * across) + MIXING * (v[k] + v[k + 2] - 2.0 * v[k + 1])
    }
}

/// Vorticity at the corner of four cells.
fn vorticity<'a>(near: &Near<'a>) -> impl Fn(usize) -> f64 + use<'a> {
    let [vm, v] = [-1, 0].map(|i| near.row(V, i, 0, 0));
    let u = near.row(U, 0, 1, 0);
    move |k| (v[k] - vm[k]) - (u[k + 1] - u[k])
}

/// Advection of the tracer: reads two cells upstream, one downstream, and the diagonal one upstream.
fn tracer<'a>(near: &Near<'a>) -> impl Fn(usize) -> f64 + use<'a> {
    let [far, back, q, ahead] = [-2, -1, 0, 1].map(|i| near.row(Q, i, 2, 1));
    move |k| {
        let c = k + 2;
        let along_i = (2.0 * ahead[c] + 3.0 * q[c] - 6.0 * back[c] + far[c]) / 6.0;
        let along_j = (2.0 * q[c + 1] + 3.0 * q[c] - 6.0 * q[c - 1] + q[c - 2]) / 6.0;
        q[c] - DT * (DRIFT[0] * along_i + DRIFT[1] * along_j) + MIXING * (back[c - 1] - q[c])
    }
}
