//! The Himeno benchmark: Jacobi's method with a 19-point stencil for a pressure, in 32-bit numbers.
//!
//! Written from its definition (R. Himeno, RIKEN, <https://i.riken.jp/en/supercom/documents/himenobmt/>). The grid is split in up to three
//! directions; the field is bitwise the same for every split.
//!
//! | file | holds |
//! |---|---|
//! | `grid` | sizes, and the split into one block per rank |
//! | `field` | the arrays of a rank, and the regions of them that travel |
//! | `order` | which cells of a block are computed before its halo has come |
//! | `sweep` | the stencil |
//! | `halo` | the exchange of borders by one-sided puts |
//! | `hash` | the hash of the field |

mod field;
mod grid;
mod halo;
mod hash;
mod order;
mod sweep;
#[cfg(test)]
mod tests;

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;
use pelago::{Duration, World};

use crate::usage::{Stop, at_least_one, exit, finite, parse};
use field::{Field, initial_p};
use grid::{Grid, Size, Split};
use halo::Halo;
use order::Order;
use sweep::sweep;

/// Iterations of the trial that chooses how many to measure.
const TRIAL_ITERATIONS: u32 = 3;

/// How long a measurement takes, about, if nobody says how many iterations it has.
const MEASURED_SECONDS: f64 = 3.0;

/// The benchmark's operations per cell of the interior and iteration.
const OPERATIONS_PER_CELL: f64 = 34.0;

/// The Himeno benchmark: a 19-point stencil over a grid that the ranks share
#[derive(Parser)]
#[command(name = "himeno")]
struct Arguments {
    /// The grid: 32x32x64, 64x64x128, 128x128x256, 256x256x512 or 512x512x1024 cells
    #[arg(value_enum, ignore_case = true, default_value = "S")]
    size: Size,
    /// How many iterations; about 3 seconds of them by default, as many as a short trial suggests
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = at_least_one)]
    iterations: Option<u32>,
    /// Into how many parts i, j and k are cut; by default, so that blocks have the least surface
    #[arg(long, value_name = "AxB[xC]", allow_hyphen_values = true)]
    split: Option<Split>,
    /// The three coefficients b
    #[arg(long, value_name = "VALUE", default_value_t = 0.0, allow_negative_numbers = true, value_parser = finite::<f32>)]
    b: f32,
}

/// Runs one rank, as the arguments say.
pub fn main(arguments: Vec<String>) -> ExitCode {
    let result = pelago::run(|world| match plan(&arguments, world.size()) {
        Ok((arguments, grid)) => measure(world, &arguments, &grid).map(|()| ExitCode::SUCCESS),
        Err(stop) => Ok(stop.tell("himeno", world)),
    });
    exit("himeno", result)
}

/// What is wrong with these arguments for so many ranks, in one line.
///
/// # Errors
/// Something is.
pub fn check(arguments: &[String], ranks: u32) -> Result<(), String> {
    plan(arguments, ranks).map_or_else(Stop::wrong, |_| Ok(()))
}

/// Decided by arguments and the number of ranks alone, so that all ranks agree without a word.
fn plan(arguments: &[String], ranks: u32) -> Result<(Arguments, Grid), Stop> {
    let arguments: Arguments = parse(arguments)?;
    let grid = Grid::new(arguments.size.cells(), ranks, arguments.split).map_err(Stop::Wrong)?;
    Ok((arguments, grid))
}

fn measure(world: &World, arguments: &Arguments, grid: &Grid) -> pelago::Result<()> {
    let mut solver = Solver::new(world, grid, arguments.b)?;
    let iterations = match arguments.iterations {
        Some(iterations) => iterations,
        None => enough_iterations(solver.solve(TRIAL_ITERATIONS)?.duration),
    };
    let solved = solver.solve(iterations)?;
    let hash = solver.hash()?;
    if world.rank().number() == 0 {
        // A reader that has seen enough is no error.
        let _ = std::io::stdout().write_all(report(grid, world.size(), iterations, &solved, hash).as_bytes());
    }
    Ok(())
}

/// How many iterations fill the time, when the trial took so long.
fn enough_iterations(trial: Duration) -> u32 {
    let each = trial.as_seconds() / f64::from(TRIAL_ITERATIONS);
    ((MEASURED_SECONDS / each.max(1e-9)) as u32).max(TRIAL_ITERATIONS)
}

/// What a rank needs to iterate.
struct Solver<'w> {
    world: &'w World,
    grid: &'w Grid,
    field: Field,
    order: Order,
    halo: Halo<'w>,
}

/// What came of some iterations, the same on every rank.
struct Solved {
    /// Of the slowest rank.
    duration: Duration,
    /// Of the last iteration.
    gosa: f64,
}

impl<'w> Solver<'w> {
    fn new(world: &'w World, grid: &'w Grid, b: f32) -> pelago::Result<Self> {
        let field = Field::new(grid.block(world.rank()), b);
        let halo = Halo::new(world, grid, field.layout)?;
        Ok(Self { world, grid, order: Order::new(grid, field.block), field, halo })
    }

    /// Iterates from the first pressure on.
    fn solve(&mut self, iterations: u32) -> pelago::Result<Solved> {
        self.field.set_p(initial_p(self.grid));
        self.world.barrier()?;
        let start = self.world.now();
        let mut gosa = [0.0];
        for _ in 0..iterations {
            gosa = [self.iterate()?];
        }
        // The benchmark reports the last sum only, and nothing depends on the others: all ranks need not meet in each iteration.
        self.world.allreduce(&mut gosa, |one, other| one + other)?;
        let mut picoseconds = [(self.world.now() - start).as_picoseconds()];
        self.world.allreduce(&mut picoseconds, u64::max)?;
        Ok(Solved { duration: Duration::from_picoseconds(picoseconds[0]), gosa: gosa[0] })
    }

    /// Returns this rank's part of gosa.
    fn iterate(&mut self) -> pelago::Result<f64> {
        self.halo.send(&self.field.p)?;
        let mut gosa = sweep(&mut self.field, self.order.inner.clone());
        self.halo.receive(&mut self.field.p)?;
        for part in &self.order.outer {
            gosa += sweep(&mut self.field, part.clone());
        }
        self.field.advance();
        Ok(gosa)
    }

    fn hash(&self) -> pelago::Result<u64> {
        let mut sum = [hash::hash(&self.field, self.grid.cells)];
        self.world.allreduce(&mut sum, u64::wrapping_add)?;
        Ok(sum[0])
    }
}

fn report(grid: &Grid, ranks: u32, iterations: u32, solved: &Solved, hash: u64) -> String {
    let [ni, nj, nk] = grid.cells;
    let seconds = solved.duration.as_seconds();
    let interior: usize = grid.cells.iter().map(|cells| cells - 2).product();
    let mflops = OPERATIONS_PER_CELL * interior as f64 * f64::from(iterations) / seconds.max(1e-12) / 1e6;
    let lines = [
        ("grid", format!("{ni}x{nj}x{nk}")),
        ("ranks", ranks.to_string()),
        ("split", grid.split.to_string()),
        ("iterations", iterations.to_string()),
        ("seconds", format!("{seconds:.6}")),
        ("MFLOPS", format!("{mflops:.1}")),
        ("gosa", format!("{:.6e}", solved.gosa)),
        ("hash", format!("{hash:016x}")),
    ];
    lines.iter().map(|(name, value)| format!("{name:<11}{value}\n")).collect()
}
