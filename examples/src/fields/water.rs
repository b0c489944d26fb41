//! The fields of one rank, their first values, and their hash.

use pelago::World;
use pelago::halo::{Array, Field, GridError, Plan, Settings, Template};

use super::step;

/// Height, velocity along i, velocity along j, vorticity, tracer.
pub(super) const FIELDS: usize = 5;
pub(super) const H: usize = 0;
pub(super) const U: usize = 1;
pub(super) const V: usize = 2;
pub(super) const Z: usize = 3;
pub(super) const Q: usize = 4;

/// How far the stencils reach to either side, in i and in j.
const WIDTHS: [[[usize; 2]; 2]; FIELDS] =
    [[[1, 1], [1, 1]], [[1, 1], [1, 1]], [[1, 0], [1, 1]], [[0, 0], [0, 1]], [[2, 1], [2, 1]]];

/// The arrays of all fields; those of `U` and `Z` have a row at either wall.
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

/// The fields before and after the step in work, which take turns, and a plan for each.
pub(super) struct Water<'w> {
    world: &'w World,
    fields: [Vec<Field<'w, f64, 2>>; 2],
    plans: [Plan<'w, f64, 2>; 2],
    now: usize,
}

impl<'w> Water<'w> {
    /// Water at rest, with a hill, and a tracer that is scattered over it. Collective.
    pub(super) fn new(world: &'w World, template: &Template<2>, settings: Settings) -> pelago::Result<Self> {
        let arrays = arrays(template).expect("the arguments were checked");
        let fields = || arrays.iter().map(|array| Field::new(world, array)).collect::<pelago::Result<Vec<_>>>();
        let mut fields = [fields()?, fields()?];
        let [one, other] = &mut fields;
        let plans = [Plan::build(world, one, &settings)?, Plan::build(world, other, &settings)?];
        for fields in &mut fields {
            for (number, field) in fields.iter_mut().enumerate() {
                // What no neighbour brings and no wall reflects spoils whatever uses it.
                field.cells_mut().fill(f64::NAN);
                field.for_each(|cell, value| *value = first_value(number, cell));
            }
        }
        Ok(Self { world, fields, plans, now: 0 })
    }

    /// One step in time: the middle of the block while halos are under way, then its rim.
    pub(super) fn step(&mut self) -> pelago::Result<()> {
        let Self { fields: [one, other], plans, now, .. } = self;
        let (before, after) = if *now == 0 { (one, other) } else { (other, one) };
        let plan = &mut plans[*now];
        plan.start(before)?;
        let parts = step::parts(before);
        step::advance(before, after, &parts.middle);
        plan.wait(before)?;
        for field in [H, Q] {
            step::reflect_at_walls(&mut before[field]);
        }
        for part in &parts.rim {
            step::advance(before, after, part);
        }
        *now = 1 - *now;
        Ok(())
    }

    /// The hash of all fields, and how much water there is. Collective.
    pub(super) fn sums(&self) -> pelago::Result<(u64, f64)> {
        let fields = &self.fields[self.now];
        let [rows, columns] = fields[U].array().cells();
        let hash = fields.iter().enumerate().fold(0, |hash, (number, field)| {
            field.fold(hash, |sum: u64, cell, value| sum.wrapping_add(term(rows, columns, number, cell, value)))
        });
        let mut hash = [hash];
        let mut volume = [fields[H].fold(0.0, |sum, _, h| sum + h)];
        self.world.allreduce(&mut hash, u64::wrapping_add)?;
        self.world.allreduce(&mut volume, |one, other| one + other)?;
        Ok((hash[0], volume[0]))
    }

    pub(super) fn explain(&self) -> String {
        self.plans[0].explain().to_string()
    }
}

/// The part of a cell in the hash: a sum over all cells, in whatever order.
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
