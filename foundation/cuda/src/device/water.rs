//! A step of the shallow-water model of the program `fields`. T1 of `kernels.rs`, C1 of `driver/table.rs`, D1 of `memory.rs`, S1 of `stream.rs`.
#![allow(unsafe_code)]

use pelago_memory::DeviceRange;

use super::kernels::THREADS;
use super::stream::Stream;
use crate::driver::{CudaError, Result};

/// Number of fields: heights, velocities along i and j, vorticity, tracer.
pub const WATER_FIELDS: usize = 5;

/// Number of rows and columns that the equations of a cell read before and after it, for each field.
const REACH: [[[u64; 2]; 2]; WATER_FIELDS] =
    [[[1, 1], [1, 1]], [[1, 1], [1, 1]], [[1, 0], [1, 1]], [[0, 0], [0, 1]], [[2, 1], [2, 1]]];

/// Fields that have a row at both walls of the channel, which the others lack.
const AT_WALLS: [usize; 2] = [1, 3];

/// A step of shallow water in a part of a rank's block, numbers of 64 bits: the fields in the order heights, velocities along i and j, vorticity, tracer.
#[derive(Clone, Debug)]
pub struct Water {
    /// The fields before the step, with their halos.
    pub before: [DeviceRange; WATER_FIELDS],
    /// The fields after it, of the same layouts.
    pub after: [DeviceRange; WATER_FIELDS],
    /// Numbers from one row of a field to the next.
    pub pitches: [u64; WATER_FIELDS],
    /// Index of the first cell of the block in its range.
    pub origins: [u64; WATER_FIELDS],
    /// First row and column of the part.
    pub first: [u64; 2],
    /// Rows and columns of the part.
    pub counts: [u64; 2],
    /// Rows of heights in the block.
    pub inside: u64,
    /// First row of the block in the channel.
    pub row: u64,
    /// Rows of velocities along i in the channel, walls included.
    pub walls: u64,
    /// Time step, rotation of the channel, mixing with neighbours, drift of the tracer along i and along j.
    pub constants: [f64; 5],
}

/// The kernel's argument for a step.
#[repr(C)]
struct RawWater {
    before: [u64; WATER_FIELDS],
    after: [u64; WATER_FIELDS],
    pitches: [u64; WATER_FIELDS],
    origins: [u64; WATER_FIELDS],
    first: [u64; 2],
    counts: [u64; 2],
    inside: u64,
    row: u64,
    walls: u64,
    constants: [f64; 5],
}

const _: () = assert!(size_of::<RawWater>() == 256, "T1: what pelago.ptx says of its parameter");

impl Water {
    /// Whether all cells that the equations read and write are in the ranges; the part is not empty.
    fn fits(&self) -> Option<bool> {
        let ([i, j], [rows, columns]) = (self.first, self.counts);
        let (end, end_j) = (i.checked_add(rows)?, j.checked_add(columns)?);
        // The only row beyond the rows of heights is that of the second wall, where nothing is read.
        let has_wall = end.checked_sub(1)? == self.inside && self.row.checked_add(end)? == self.walls;
        if end > self.inside && !has_wall {
            return Some(false);
        }
        for (field, [[low, high], [left, right]]) in REACH.into_iter().enumerate() {
            let numbers = self.before[field].bytes() / 8;
            let at = |row: u64, column: u64| {
                row.checked_mul(self.pitches[field])?.checked_add(column)?.checked_add(self.origins[field])
            };
            if i < self.inside {
                let back = low.checked_mul(self.pitches[field])?.checked_add(left)?;
                let last = at((end.min(self.inside) - 1).checked_add(high)?, (end_j - 1).checked_add(right)?)?;
                if at(i, j)? < back || last >= numbers {
                    return Some(false);
                }
            }
            let is_written = !has_wall || AT_WALLS.contains(&field);
            if self.after[field].bytes() / 8 != numbers || is_written && at(end - 1, end_j - 1)? >= numbers {
                return Some(false);
            }
        }
        Some(true)
    }
}

impl Stream {
    /// Performs a step of shallow water in a part of a block; each cell is bitwise equal to the result of the host's step.
    ///
    /// # Errors
    /// The part and the cells around it are not in the ranges, or it has more than 65,535 rows; ranges are not aligned GPU memory; the device cannot
    /// run the kernels; the driver fails.
    pub fn water(&self, step: &Water) -> Result<()> {
        let Water { pitches, origins, first, counts, inside, row, walls, constants, .. } = *step;
        if counts.contains(&0) {
            return Ok(());
        }
        let is_launched = counts[0] <= 65_535 && counts[1] < 1 << 31;
        if !is_launched || step.fits() != Some(true) {
            return Err(CudaError::Invalid("the stencil reaches past its memory"));
        }
        let address = |range: &DeviceRange| {
            let address = self.reach(range)?.range(range.offset(), range.bytes())?;
            if address.is_multiple_of(8) { Ok(address) } else { Err(CudaError::Invalid("numbers of 8 bytes are aligned")) }
        };
        let (mut before, mut after) = ([0; WATER_FIELDS], [0; WATER_FIELDS]);
        for field in 0..WATER_FIELDS {
            (before[field], after[field]) = (address(&step.before[field])?, address(&step.after[field])?);
        }
        let mut raw = RawWater { before, after, pitches, origins, first, counts, inside, row, walls, constants };
        let kernel = self.device().kernels()?.water;
        let grid = [counts[1].div_ceil(u64::from(THREADS)) as u32, counts[0] as u32, 1];
        // SAFETY: T1, D1, S1; all cells are in the ranges, as checked.
        unsafe { self.launch(kernel, grid, THREADS, &mut [(&raw mut raw).cast()]) }
    }
}
