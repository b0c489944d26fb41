//! The fields of one rank, their first values, and their hash.

use pelago::World;
use pelago::halo::{Array, Field, GridError, Settings, Template};

use super::device::OnDevice;
use super::step;
use crate::on_device::{Place, Placement, Plans, each_cell, set_values, values};

/// Number of fields, and their indexes: height, velocity along i, velocity along j, vorticity, tracer.
pub(super) const FIELDS: usize = 5;
pub(super) const H: usize = 0;
pub(super) const U: usize = 1;
pub(super) const V: usize = 2;
pub(super) const Z: usize = 3;
pub(super) const Q: usize = 4;

/// Widths of the stencils to either side, in i and j.
const WIDTHS: [[[usize; 2]; 2]; FIELDS] =
    [[[1, 1], [1, 1]], [[1, 1], [1, 1]], [[1, 0], [1, 1]], [[0, 0], [0, 1]], [[2, 1], [2, 1]]];

/// Returns the arrays of all fields; those of `U` and `Z` have a row at either wall.
///
/// # Errors
/// Blocks are too thin.
pub(super) fn arrays(template: &Template<2>) -> Result<Vec<Array<2>>, GridError> {
    let [rows, columns] = template.cells();
    let array = |field: usize| {
        let rows = if field == U || field == Z { rows } else { rows - 1 };
        template.align([rows, columns], [0, 0])?.shadow(WIDTHS[field])
    };
    (0..FIELDS).map(array).collect()
}

/// The fields before and after the current step, which alternate, and the plans of both.
pub(super) struct Water<'w> {
    world: &'w World,
    fields: [Vec<Field<'w, f64, 2>>; 2],
    plans: Plans<'w, f64, 2>,
    now: usize,
    device: Option<OnDevice>,
}

impl<'w> Water<'w> {
    /// Creates water at rest with a hill and a scattered tracer. Returns `None` if a rank lacks the requested GPU; the first such rank prints the
    /// reason. Collective.
    pub(super) fn new(
        world: &'w World,
        template: &Template<2>,
        placement: &Placement,
        settings: &Settings,
    ) -> pelago::Result<Option<Self>> {
        let arrays = arrays(template).expect("the arguments were checked");
        let on_host = || arrays.iter().map(|array| Field::new(world, array)).collect::<pelago::Result<Vec<_>>>();
        let (device, mut fields) = match placement.device {
            Place::Host => (None, [on_host()?, on_host()?]),
            Place::Cuda => match OnDevice::new(world, &arrays)? {
                Some((device, fields)) => (Some(device), fields),
                None => return Ok(None),
            },
        };
        let [one, other] = &mut fields;
        let plans = placement.plans(world, [one, other], settings, device.as_ref().map(OnDevice::stream))?;
        for fields in &mut fields {
            for (number, field) in fields.iter_mut().enumerate() {
                // Halo cells that are neither received nor reflected stay NaN, so that their use spoils the result.
                let mut cells = vec![f64::NAN; field.layout().length()];
                each_cell(field.layout(), |index, cell| cells[index] = first_value(number, cell));
                match field.device() {
                    None => field.cells_mut().copy_from_slice(&cells),
                    Some(memory) => set_values(&**memory, cells.iter().map(|cell| cell.to_le_bytes()))?,
                }
            }
        }
        Ok(Some(Self { world, fields, plans, now: 0, device }))
    }

    /// Executes one time step: the middle of the block during the halo exchange, then its rim. Steps before the last one may still be under way on a GPU.
    pub(super) fn step(&mut self, is_last: bool) -> pelago::Result<()> {
        let Self { world, fields: [one, other], plans, now, device } = self;
        let (before, after) = if *now == 0 { (one, other) } else { (other, one) };
        plans.start(*now, before)?;
        if let Some(device) = device {
            device.middle(world, before, after)?;
            plans.finish(*now, before)?;
            device.rim(world, before, after)?;
            plans.end_step(*now, is_last, || device.finish(world))?;
            *now = 1 - *now;
            return Ok(());
        }
        let parts = step::parts(before);
        step::advance(before, after, &parts.middle);
        plans.finish(*now, before)?;
        for field in [H, Q] {
            step::reflect_at_walls(&mut before[field]);
        }
        for part in &parts.rim {
            step::advance(before, after, part);
        }
        *now = 1 - *now;
        Ok(())
    }

    /// Returns the hash of all fields, and the amount of water. Collective.
    pub(super) fn sums(&self) -> pelago::Result<(u64, f64)> {
        let fields = &self.fields[self.now];
        let [rows, columns] = fields[U].array().cells();
        let (mut hash, mut volume) = ([0u64], [0.0]);
        for (number, field) in fields.iter().enumerate() {
            let of_device =
                field.device().map(|memory| values(&**memory, field.layout().length(), f64::from_le_bytes)).transpose()?;
            let cells = of_device.as_deref().unwrap_or_else(|| field.cells());
            each_cell(field.layout(), |index, cell| {
                hash[0] = hash[0].wrapping_add(term(rows, columns, number, cell, cells[index]));
                volume[0] += if number == H { cells[index] } else { 0.0 };
            });
        }
        self.world.allreduce(&mut hash, u64::wrapping_add)?;
        self.world.allreduce(&mut volume, |one, other| one + other)?;
        Ok((hash[0], volume[0]))
    }

    pub(super) fn explain(&self) -> String {
        self.plans.explain().to_string()
    }
}

/// Returns the contribution of a cell to the hash, which is a sum over all cells in any order.
pub(super) fn term(rows: usize, columns: usize, field: usize, [i, j]: [usize; 2], value: f64) -> u64 {
    let number = ((field * rows + i) * columns + j) as u64;
    value.to_bits().wrapping_add(1).wrapping_mul(number.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
}

pub(super) fn first_value(field: usize, [i, j]: [usize; 2]) -> f64 {
    let mixed = (((field * 7919 + i) * 104_729 + j) as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40;
    let scattered = mixed as f64 / (1u64 << 24) as f64;
    match field {
        H => 1.0 + if (i / 16 + j / 16) % 5 == 0 { 0.1 } else { 0.0 } + 0.01 * scattered,
        Q => scattered,
        _ => 0.0,
    }
}
