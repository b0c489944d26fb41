//! Tutorial: the heat equation on a square plate, one block of the plate per rank, with a halo update before each step.

use pelago::halo::{Field, Halo, Nodes, Plan, Settings, Template};
use pelago::prelude::*;

const CELLS: usize = 64;
const STEPS: usize = 200;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    pelago::run(simulate)
}

fn simulate(world: &World) -> Result<(), Box<dyn std::error::Error>> {
    // Cut the plate into one block per rank. The shadow is one cell wide on each side of each block.
    let nodes = Nodes::of_least_surface([CELLS, CELLS], world.size(), 8).ok_or("the plate is too small for so many ranks")?;
    let array = Template::new([CELLS, CELLS], nodes)?.array().shadow([[1, 1], [1, 1]])?;

    // Two copies of the plate: a step reads one and writes the other. The upper edge is hot.
    let mut now = [Field::<f64, 2>::new(world, &array)?];
    let mut next = Field::<f64, 2>::new(world, &array)?;
    now[0].for_each(|[row, _], cell| *cell = if row == 0 { 100.0 } else { 0.0 });

    // A plan prepares the exchange once; the stencil needs faces, but no corners.
    let mut plan = Plan::build(world, &mut now, &Settings::new(Halo::Faces))?;
    for _ in 0..STEPS {
        plan.start(&mut now)?; // send the borders of this block to the neighbours
        plan.wait(&mut now)?; // the halo holds the neighbours' borders
        let view = now[0].view();
        let layout = *now[0].layout();
        next.for_each(|global, cell| {
            let local = layout.to_local(global).expect("a cell of this block");
            *cell = step(&view, local, global);
        });
        // The next step reads what this one wrote. Plans belong to fields, so the cells are copied back.
        now[0].cells_mut().copy_from_slice(next.cells());
    }

    // The sum over all ranks, in an order that does not depend on timing.
    let mut heat = [now[0].fold(0.0, |sum, _, cell| sum + cell)];
    world.allreduce(&mut heat, |one, other| one + other)?;
    if world.rank().number() == 0 {
        println!("heat on {} ranks after {STEPS} steps: {:.6}", world.size(), heat[0]);
    }
    if std::env::args().any(|argument| argument == "--bits") {
        // A checksum of the bits and positions of all cells, which is the same for every order and every number of ranks.
        let weighted = |sum: u64, [i, j]: [usize; 2], cell: f64| {
            sum.wrapping_add(cell.to_bits().wrapping_mul(2 * (i * CELLS + j) as u64 + 1))
        };
        let mut checksum = [now[0].fold(0, weighted)];
        world.allreduce(&mut checksum, u64::wrapping_add)?;
        if world.rank().number() == 0 {
            println!("bits {:016x}", checksum[0]);
        }
    }
    Ok(())
}

/// Computes one cell: the edge of the plate keeps its temperature, other cells move towards the mean of their four neighbours.
fn step(view: &pelago::halo::View<'_, f64, 2>, [i, j]: [isize; 2], global: [usize; 2]) -> f64 {
    let at = |i, j| view.row([i, j], 1)[0];
    let here = at(i, j);
    if global.iter().any(|&place| place == 0 || place == CELLS - 1) {
        return here;
    }
    let mean = (at(i - 1, j) + at(i + 1, j) + at(i, j - 1) + at(i, j + 1)) / 4.0;
    here + 0.8 * (mean - here)
}
