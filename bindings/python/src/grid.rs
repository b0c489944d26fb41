//! Fields on a grid of blocks, and the update of their halos.

use std::sync::Arc;

use pelago::halo::{Field, Halo, Nodes, Plan, Settings, Template};
use pelago::{Error, Pod, World};
use pyo3::prelude::*;

use crate::fail::Fail;
use crate::link::Link;
use crate::memory::Memory;
use crate::objects::AnyGrid;
use crate::rank::Garbage;

/// The parameters of a grid: `(cells, parts, periodic, widths, element_bytes, fields, halo)`. Without parts, those with the least surface are chosen.
pub(crate) type Description = (Vec<usize>, Option<Vec<usize>>, Vec<bool>, Vec<[usize; 2]>, usize, usize, String);

/// Fields of equal shape, with one block of each on this rank, whose halos are updated together.
#[pyclass(frozen, module = "pelago._pelago")]
pub(crate) struct Grid {
    link: Arc<Link>,
    number: u64,
    #[pyo3(get)]
    parts: Vec<usize>,
    /// The place of the block's first cell in the whole grid.
    #[pyo3(get)]
    first: Vec<usize>,
    /// Cells of the block.
    #[pyo3(get)]
    cells: Vec<usize>,
    /// Start address and number of bytes of the cells of each field.
    memories: Vec<(usize, usize)>,
}

struct Typed<'w, T: Pod, const D: usize> {
    fields: Vec<Field<'w, T, D>>,
    plan: Plan<'w, T, D>,
}

/// A grid, and the properties that its Python object shows.
struct Made<'w> {
    grid: Box<dyn AnyGrid + 'w>,
    parts: Vec<usize>,
    first: Vec<usize>,
    cells: Vec<usize>,
    memories: Vec<(usize, usize)>,
}

impl<T: Pod, const D: usize> AnyGrid for Typed<'_, T, D> {
    fn start(&mut self) -> pelago::Result<()> {
        self.plan.start(&mut self.fields)
    }

    fn wait(&mut self) -> pelago::Result<()> {
        self.plan.wait(&mut self.fields)
    }

    fn explain(&self) -> String {
        self.plan.explain().to_string()
    }
}

/// Creates a grid. Collective.
pub(crate) fn new(link: &Arc<Link>, py: Python<'_>, description: Description) -> Result<Grid, Fail> {
    let (number, (parts, first, cells, memories)) = link.call(py, |me| {
        let Made { grid, parts, first, cells, memories } = of_any(me.world, &description)?;
        Ok((me.grids.insert(grid), (parts, first, cells, memories)))
    })?;
    Ok(Grid { link: link.clone(), number, parts, first, cells, memories })
}

fn of_any<'w>(world: &'w World, description: &Description) -> Result<Made<'w>, Fail> {
    match description.0.len() {
        1 => of_dimensions::<1>(world, description),
        2 => of_dimensions::<2>(world, description),
        3 => of_dimensions::<3>(world, description),
        other => Err(Fail::Value(format!("a grid has from 1 to 3 dimensions, not {other}"))),
    }
}

fn of_dimensions<'w, const D: usize>(world: &'w World, description: &Description) -> Result<Made<'w>, Fail> {
    match description.4 {
        4 => made::<u32, D>(world, description),
        8 => made::<u64, D>(world, description),
        16 => made::<[u64; 2], D>(world, description),
        other => Err(Fail::Value(format!("an element of a grid has 4, 8 or 16 bytes, not {other}"))),
    }
}

/// Checks that there is one value for each dimension.
fn each<V: Copy, const D: usize>(values: &[V], what: &str) -> Result<[V; D], Fail> {
    values.try_into().map_err(|_| Fail::Value(format!("{what} for {} of {D} dimensions", values.len())))
}

fn made<'w, T: Pod, const D: usize>(world: &'w World, description: &Description) -> Result<Made<'w>, Fail> {
    let (cells, parts, periodic, widths, _, fields, halo) = description;
    let bad = |error: &dyn std::error::Error| Fail::Value(error.to_string());
    let cells: [usize; D] = each(cells, "cells")?;
    let parts = match parts {
        Some(parts) => each(parts, "parts")?,
        None => Nodes::of_least_surface(cells, world.size(), (64 / size_of::<T>()).max(1))
            .map(|nodes| nodes.parts())
            .ok_or_else(|| Fail::Value("the grid has too few cells for so many ranks".into()))?,
    };
    let nodes = Nodes::new(parts, each(periodic, "periodicity")?).map_err(|error| bad(&error))?;
    let template = Template::new(cells, nodes).map_err(|error| bad(&error))?;
    let array = template.array().shadow(each(widths, "halo widths")?).map_err(|error| bad(&error))?;
    let halo = match halo.as_str() {
        "faces" => Halo::Faces,
        "edges" => Halo::Edges,
        "corners" => Halo::Corners,
        other => return Err(Fail::Value(format!("a halo has faces, edges or corners, not {other:?}"))),
    };
    let fields: Result<Vec<_>, Error> = (0..*fields).map(|_| Field::<T, D>::new(world, &array)).collect();
    let mut fields = fields?;
    let memories = fields.iter_mut().map(|field| {
        let cells = field.cells_mut();
        (cells.as_mut_ptr().expose_provenance(), size_of_val(cells))
    });
    let memories = memories.collect();
    let plan = Plan::build(world, &mut fields, &Settings::new(halo))?;
    // The plan's trials have written to the halos.
    fields.iter_mut().for_each(|field| field.cells_mut().fill(T::new_zeroed()));
    world.meet()?;
    let block = fields.first().map(Field::block).ok_or_else(|| Fail::Value("a grid has at least one field".into()))?;
    let (first, cells, parts) = (block.first.to_vec(), block.cells.to_vec(), parts.to_vec());
    Ok(Made { grid: Box::new(Typed { fields, plan }), parts, first, cells, memories })
}

#[pymethods]
impl Grid {
    /// Returns the cells of a field, halo included.
    fn memory(slf: Bound<'_, Self>, field: usize) -> PyResult<Memory> {
        let this = slf.get();
        let found = this.memories.get(field).copied();
        let (start, bytes) =
            found.ok_or_else(|| Fail::Index(format!("field {field} of a grid of {} fields", this.memories.len())))?;
        Ok(Memory::part(this.link.clone(), Some(slf.into_any().unbind()), start, bytes))
    }

    /// Starts the halo update: sends the borders of all fields.
    fn start(&self, py: Python<'_>) -> PyResult<()> {
        Ok(self.link.call(py, |me| me.grids.with(self.number, |grid| Ok(grid.start()?)))?)
    }

    /// Waits until all halos have arrived.
    fn wait(&self, py: Python<'_>) -> PyResult<()> {
        Ok(self.link.call(py, |me| me.grids.with(self.number, |grid| Ok(grid.wait()?)))?)
    }

    /// Explains how the halos are transferred, and why.
    fn explain(&self, py: Python<'_>) -> PyResult<String> {
        Ok(self.link.call(py, |me| me.grids.with(self.number, |grid| Ok(grid.explain())))?)
    }
}

impl Drop for Grid {
    fn drop(&mut self) {
        self.link.discard(Garbage::Grid(self.number));
    }
}
