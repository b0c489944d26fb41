//! Successive over-relaxation on a square grid, alternating between red and black points. Each rank has a block of rows, of which only the borders
//! are shared. Accesses use explicit ranges, or one slice whose pages are fetched by page faults.

use core::ops::Range;
use std::process::ExitCode;

use clap::Parser;
use pelago::dsm::{Region, RegionSettings};
use pelago::{Duration, World};

use crate::beside::{Taken, judge};
use crate::usage::{Stop, at_least_one, exit, parse};

/// Maximum points per page.
const PAGE_MAX: u32 = 1 << 15;

/// Maximum inner rows: one row is a page.
const SIZE_MAX: u32 = PAGE_MAX - 2;

/// Relaxation factor.
const OMEGA: f64 = 1.5;

/// Declared computing time per point.
const PICOSECONDS_PER_POINT: u64 = 1_000;

/// Red-black relaxation: rank 0 prints the milliseconds, those of a serial run, the bytes sent, and the bytes of the pages that contain them
#[derive(Parser)]
#[command(name = "sor")]
struct Arguments {
    /// Number of inner rows, and of columns, of the grid
    #[arg(long, value_name = "N", default_value_t = 256, allow_negative_numbers = true, value_parser = size)]
    size: u32,
    /// Number of iterations
    #[arg(long, value_name = "I", default_value_t = 20, allow_negative_numbers = true, value_parser = at_least_one)]
    iterations: u32,
    /// Number of points per page [default: one row]
    #[arg(long, value_name = "P", allow_negative_numbers = true, value_parser = page)]
    page: Option<u32>,
    /// Access the grid as one slice, by page faults
    #[arg(long)]
    page_faults: bool,
}

/// Runs one rank with the given arguments.
pub fn main(arguments: Vec<String>) -> ExitCode {
    let arguments = checked(&arguments);
    let result = pelago::run(|world| match &arguments {
        Ok(arguments) => relax(world, Grid { side: arguments.size as usize + 2 }, arguments),
        Err(stop) => Ok(stop.tell("sor", world)),
    });
    exit("sor", result)
}

/// Checks the arguments.
///
/// # Errors
/// The arguments are wrong; the message is one line.
pub fn check(arguments: &[String], _ranks: u32) -> Result<(), String> {
    checked(arguments).map_or_else(Stop::wrong, |_| Ok(()))
}

fn checked(arguments: &[String]) -> Result<Arguments, Stop> {
    let arguments = parse::<Arguments>(arguments)?;
    if arguments.page_faults && !cfg!(feature = "page-faults") {
        return Err(Stop::Wrong("this build has no page faults: build with --features page-faults".into()));
    }
    Ok(arguments)
}

fn size(text: &str) -> Result<u32, String> {
    let size = text.parse().ok().filter(|size| (1..=SIZE_MAX).contains(size));
    size.ok_or_else(|| format!("a grid has from 1 to {SIZE_MAX} inner rows"))
}

fn page(text: &str) -> Result<u32, String> {
    let page = text.parse().ok().filter(|page| (1..=PAGE_MAX).contains(page));
    page.ok_or_else(|| format!("a page has from 1 to {PAGE_MAX} points"))
}

fn relax(world: &World, grid: Grid, arguments: &Arguments) -> pelago::Result<ExitCode> {
    let (side, iterations) = (grid.side, arguments.iterations);
    let page_length = arguments.page.map_or(side, |page| page as usize);
    let settings = RegionSettings { page_length: Some(page_length), ..RegionSettings::default() };
    let mut field = make(world, side * side, settings, arguments.page_faults)?;
    // The blocks of rows follow the homes of the pages.
    let block = side.div_ceil(world.size() as usize);
    let rows = (world.rank().index() * block).min(side)..((world.rank().index() + 1) * block).min(side);
    let inner = if rows.len() > 2 { rows.start + 1..rows.end - 1 } else { 0..0 };
    let mine = grid.points(&rows);
    field.keep(grid.points(&inner))?;
    grid.begin(&rows, field.write(mine.clone())?);
    field.barrier()?;
    let (start, before) = (world.now(), field.statistics());
    let above = grid.points(&(rows.start.saturating_sub(1)..rows.start));
    let below = grid.points(&(rows.end..(rows.end + 1).min(side)));
    for step in 0..2 * iterations {
        #[cfg(feature = "page-faults")]
        if arguments.page_faults {
            grid.sweep_slice(world, &rows, &mut field.all_mut()?, step as usize % 2);
            field.barrier()?;
            continue;
        }
        let ([above, below], [own]) = field.access([above.clone(), below.clone()], [mine.clone()])?;
        grid.sweep(world, &rows, own, above, below, step as usize % 2);
        field.barrier()?;
    }
    let after = field.statistics();
    let whole = after.bytes_of_whole_pages - before.bytes_of_whole_pages;
    let taken = Taken::since(world, start, after.bytes() - before.bytes(), whole)?;
    field.give(grid.points(&inner))?;
    field.barrier()?;
    let faults = if arguments.page_faults { format!(" faults {}", after.faults - before.faults) } else { String::new() };
    let what = format!("sor size {} iterations {iterations} page {page_length}{faults}", side - 2);
    let found = if world.rank().number() == 0 { field.read(0..side * side)? } else { &[] };
    judge(world, what, &taken, || Ok(grid.alone(world, iterations) == found))
}

fn make(world: &World, length: usize, settings: RegionSettings, page_faults: bool) -> pelago::Result<Region<'_, f64>> {
    #[cfg(feature = "page-faults")]
    if page_faults {
        return Region::with_page_faults(world, length, settings);
    }
    debug_assert!(!page_faults, "refused before");
    Region::new(world, length, settings)
}

/// A square of points whose outer points are constant.
#[derive(Clone, Copy)]
struct Grid {
    side: usize,
}

impl Grid {
    fn points(self, rows: &Range<usize>) -> Range<usize> {
        rows.start * self.side..rows.end * self.side
    }

    /// Sets the initial values of some rows.
    fn begin(self, rows: &Range<usize>, points: &mut [f64]) {
        for (row, points) in rows.clone().zip(points.chunks_exact_mut(self.side)) {
            for (column, point) in points.iter_mut().enumerate() {
                *point = ((row * 31 + column * 17) % 97) as f64 / 97.0;
            }
        }
    }

    /// Relaxes the points of one colour in some rows; `all` has all points.
    #[cfg(feature = "page-faults")]
    fn sweep_slice(self, world: &World, rows: &Range<usize>, all: &mut [f64], colour: usize) {
        let (before, rest) = all.split_at_mut(rows.start * self.side);
        let (own, after) = rest.split_at_mut(rows.len() * self.side);
        let above = &before[before.len().saturating_sub(self.side)..];
        self.sweep(world, rows, own, above, &after[..self.side.min(after.len())], colour);
    }

    /// Relaxes the points of one colour in some rows, given the row above and the row below.
    fn sweep(self, world: &World, rows: &Range<usize>, own: &mut [f64], above: &[f64], below: &[f64], colour: usize) {
        let side = self.side;
        let mut relaxed = 0;
        for row in rows.clone().filter(|row| (1..side - 1).contains(row)) {
            let (before, rest) = own.split_at_mut((row - rows.start) * side);
            let (points, after) = rest.split_at_mut(side);
            let above = if before.is_empty() { above } else { &before[before.len() - side..] };
            let below = if after.is_empty() { below } else { &after[..side] };
            let first = 1 + (row + 1 + colour) % 2;
            for column in (first..side - 1).step_by(2) {
                let around = above[column] + below[column] + points[column - 1] + points[column + 1];
                points[column] += OMEGA * (0.25 * around - points[column]);
            }
            relaxed += (side - 1 - first).div_ceil(2) as u64;
        }
        world.compute(Duration::from_picoseconds(relaxed * PICOSECONDS_PER_POINT));
    }

    /// Computes the result serially.
    fn alone(self, world: &World, iterations: u32) -> Vec<f64> {
        let rows = 0..self.side;
        let mut points = vec![0.0; self.side * self.side];
        self.begin(&rows, &mut points);
        for step in 0..2 * iterations {
            self.sweep(world, &rows, &mut points, &[], &[], step as usize % 2);
        }
        points
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_checked_before_any_rank_starts() {
        let check = |text: &str| check(&text.split_whitespace().map(String::from).collect::<Vec<_>>(), 2);
        assert_eq!(check("--size 5 --iterations 2 --page 100"), Ok(()));
        assert!(check("--page 0").is_err() && check("--page 32769").is_err());
        assert!(check("--size 0").is_err() && check("--size 32767").is_err() && check("--iterations 0").is_err());
    }
}
