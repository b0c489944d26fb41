//! Shallow water on a staggered grid, with a tracer: five fields of different sizes and halo widths that are exchanged together.
//!
//! The domain is a channel with walls at both ends of i, and periodic in j. Height and tracer are defined at cell centres, velocities at cell
//! faces, vorticity at cell corners, so that some arrays have one row more than others (Arakawa's C grid). Each stencil reads only as far as
//! it needs: the tracer two cells upstream and one downstream, vorticity one cell in one direction. Velocities at corners are exchanged, too.
//! No operation is reordered, so that the fields are bitwise the same for every split, method and route.
//!
//! | file | holds |
//! |---|---|
//! | `water` | the fields, their first values, their hash |
//! | `step` | the stencils |
//! | `device` | the fields and the stencils on a GPU |

mod device;
mod step;
#[cfg(test)]
mod tests;
mod water;

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;
use pelago::World;
use pelago::halo::{Halo, Nodes, Settings, Template};

use crate::on_device::Placement;
use crate::usage::{Borders, Output, Stop, at_least_one, exit, parse};
use water::Water;

/// Cells per cache line.
const LINE_CELLS: usize = 8;

/// Minimum cells from wall to wall: a wall reflects two cells of the tracer.
const LENGTH_MIN: usize = 2;

/// Shallow water with a tracer: five staggered fields whose halos are exchanged together
#[derive(Parser)]
#[command(name = "fields")]
struct Arguments {
    /// Number of cells from wall to wall
    #[arg(long, value_name = "N", default_value_t = 192, allow_negative_numbers = true, value_parser = at_least_one)]
    length: u32,
    /// Number of cells around the channel (periodic)
    #[arg(long, value_name = "N", default_value_t = 128, allow_negative_numbers = true, value_parser = at_least_one)]
    width: u32,
    /// Number of time steps
    #[arg(long, value_name = "N", default_value_t = 100, allow_negative_numbers = true, value_parser = at_least_one)]
    steps: u32,
    /// Number of parts of length and width [default: blocks with the smallest surface]
    #[arg(long, value_name = "AxB", allow_hyphen_values = true, value_parser = split)]
    split: Option<[usize; 2]>,
    #[command(flatten)]
    placement: Placement,
    #[command(flatten)]
    borders: Borders,
}

/// Runs one rank with the given arguments.
pub fn main(arguments: Vec<String>) -> ExitCode {
    let settled = |world: &World| -> Result<_, Stop> {
        let (arguments, template) = plan(&arguments, world.size())?;
        Ok((arguments.borders.settings(world, Halo::Corners)?, arguments, template))
    };
    let result = pelago::run(|world| match settled(world) {
        Ok((settings, arguments, template)) => measure(world, &arguments, &template, settings),
        Err(stop) => Ok(stop.tell("fields", world)),
    });
    exit("fields", result)
}

/// Checks the arguments for a job of `ranks` ranks.
///
/// # Errors
/// The arguments are wrong; the message is one line.
pub fn check(arguments: &[String], ranks: u32) -> Result<(), String> {
    plan(arguments, ranks).map_or_else(Stop::wrong, |_| Ok(()))
}

/// Depends on the arguments and the number of ranks only, so that all ranks agree without communication.
fn plan(arguments: &[String], ranks: u32) -> Result<(Arguments, Template<2>), Stop> {
    let arguments: Arguments = parse(arguments)?;
    arguments.placement.check()?;
    let cells = [arguments.length as usize, arguments.width as usize];
    if cells[0] < LENGTH_MIN {
        return Err(Stop::Wrong(format!("a length of {}: the tracer needs {LENGTH_MIN} cells from wall to wall", cells[0])));
    }
    let parts = match arguments.split {
        Some(parts) => parts,
        None => {
            let nodes = Nodes::of_least_surface(cells, ranks, LINE_CELLS);
            let too_few = || Stop::Wrong(format!("{ranks} ranks cannot share {}x{} cells", cells[0], cells[1]));
            nodes.ok_or_else(too_few)?.parts()
        }
    };
    let wrong = |error: &dyn std::fmt::Display| Stop::Wrong(error.to_string());
    // One row more than cells, because velocities exist at both walls.
    let nodes = Nodes::new(parts, [false, true]).map_err(|error| wrong(&error))?;
    if nodes.ranks() != ranks {
        return Err(Stop::Wrong(format!(
            "a split of {}x{} is for {} ranks, but there are {ranks}",
            parts[0],
            parts[1],
            nodes.ranks()
        )));
    }
    let template = Template::new([cells[0] + 1, cells[1]], nodes).map_err(|error| wrong(&error))?;
    water::arrays(&template).map_err(|error| wrong(&error))?;
    Ok((arguments, template))
}

fn measure(world: &World, arguments: &Arguments, template: &Template<2>, settings: Settings) -> pelago::Result<ExitCode> {
    let Some(mut water) = Water::new(world, template, &arguments.placement, &settings)? else { return Ok(ExitCode::FAILURE) };
    world.barrier()?;
    let start = world.now();
    for step in 1..=arguments.steps {
        water.step(step == arguments.steps)?;
    }
    world.barrier()?;
    let seconds = (world.now() - start).as_seconds();
    let (hash, volume) = water.sums()?;
    if world.rank().number() == 0 {
        let [a, b] = template.nodes().parts();
        let mut out = format!("cells      {}x{}\n", arguments.length, arguments.width);
        out += &format!("ranks      {}\nsplit      {a}x{b}\nsteps      {}\n", world.size(), arguments.steps);
        out += &format!("seconds    {seconds:.6}\nvolume     {volume:.6e}\nhash       {hash:016x}\n");
        if arguments.borders.explain {
            out += &water.explain();
        }
        let _ = Output.write_all(out.as_bytes());
    }
    Ok(ExitCode::SUCCESS)
}

fn split(text: &str) -> Result<[usize; 2], &'static str> {
    let part = |text: &str| text.parse().ok().filter(|&part: &usize| part > 0);
    let parts = text.split_once('x').and_then(|(a, b)| Some([part(a)?, part(b)?]));
    parts.ok_or("give AxB, each a number of parts from 1 on")
}
