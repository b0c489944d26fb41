//! The Himeno benchmark: Jacobi's method with a 19-point stencil for a pressure, in 32-bit numbers.
//!
//! Written from its definition (R. Himeno, RIKEN, <https://i.riken.jp/en/supercom/documents/himenobmt/>). The grid is split in up to three
//! directions; the field is bitwise the same for every split. Borders are exchanged by plans of `pelago::halo`, one for each of the two
//! alternating arrays.
//!
//! | file | holds |
//! |---|---|
//! | `grid` | sizes, and the split into one block per rank |
//! | `field` | the arrays of a rank |
//! | `order` | the cells of a block that are computed before its halo has arrived |
//! | `sweep` | the stencil |
//! | `device` | the stencil and the arrays on a GPU |
//! | `hash` | the hash of the field |

mod device;
mod field;
mod grid;
mod hash;
mod order;
mod sweep;
#[cfg(test)]
mod tests;

use std::io::Write;
use std::process::ExitCode;
use std::slice::from_mut;

use clap::Parser;
use pelago::halo::{Field, Halo, Settings};
use pelago::{Duration, World};

use crate::on_device::{Place, Placement, Plans, each_cell, set_values, values};
use crate::usage::{Borders, Output, Stop, at_least_one, cost, exit, finite, parse};
use device::OnDevice;
use field::{Coefficients, SPOILED, initial_p, pressures, set_p};
use grid::{Extent, Grid, Split};
use order::{Box3, Order};
use sweep::{reach, sweep};

/// Iterations of the trial that determines the number of measured iterations.
const TRIAL_ITERATIONS: u32 = 3;

/// Approximate duration of a measurement without --iterations.
const MEASURED_SECONDS: f64 = 3.0;

/// Number of iterations without --iterations in virtual time, where an iteration takes far less time than it costs, or none.
const ITERATIONS_SIMULATED: u32 = 10;

/// The benchmark's operations per cell of the interior and iteration.
const OPERATIONS_PER_CELL: f64 = 34.0;

/// Himeno benchmark: a 19-point stencil on a grid that is distributed over the ranks
#[derive(Parser)]
#[command(name = "himeno")]
struct Arguments {
    /// Grid: XS, S, M, L or XL (32x32x64, 64x64x128, 128x128x256, 256x256x512 or 512x512x1024 cells), or IxJxK cells
    #[arg(default_value = "S", value_parser = grid::cells)]
    size: Extent,
    /// Number of iterations [default: about 3 seconds, as a short trial predicts; in a simulation 10]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = at_least_one)]
    iterations: Option<u32>,
    /// Number of parts of i, j and k [default: blocks with the smallest surface]
    #[arg(long, value_name = "AxB[xC]", allow_hyphen_values = true)]
    split: Option<Split>,
    /// Value of the three coefficients b
    #[arg(long, value_name = "VALUE", default_value_t = 0.0, allow_negative_numbers = true, value_parser = finite::<f32>)]
    b: f32,
    #[command(flatten)]
    placement: Placement,
    /// Do not compute during the halo exchange, as in the original benchmark
    #[arg(long)]
    no_overlap: bool,
    /// Simulation: nanoseconds to compute a cell
    #[arg(long, value_name = "NS", default_value_t = 0.0, allow_negative_numbers = true, value_parser = cost)]
    cost_cell: f64,
    /// Simulation: additional nanoseconds of each iteration
    #[arg(long, value_name = "NS", default_value_t = 0.0, allow_negative_numbers = true, value_parser = cost)]
    cost_iteration: f64,
    #[command(flatten)]
    borders: Borders,
}

/// Runs one rank with the given arguments.
pub fn main(arguments: Vec<String>) -> ExitCode {
    exit("himeno", pelago::run(|world| run(world, &arguments)))
}

/// Runs one rank of a job that it has already joined, over any transport. Collective.
///
/// # Errors
/// The job has failed.
pub fn run(world: &World, arguments: &[String]) -> pelago::Result<ExitCode> {
    let settled = || -> Result<_, Stop> {
        let (arguments, grid) = plan(arguments, world.size())?;
        // The stencil has no corners, and with b = 0 its edges have no effect.
        let halo = if arguments.b == 0.0 { Halo::Faces } else { Halo::Edges };
        Ok((arguments.borders.settings(world, halo)?, arguments, grid))
    };
    match settled() {
        Ok((settings, arguments, grid)) => measure(world, &arguments, &grid, &settings),
        Err(stop) => Ok(stop.tell("himeno", world)),
    }
}

/// Checks the arguments for a job of `ranks` ranks.
///
/// # Errors
/// The arguments are wrong; the message is one line.
pub fn check(arguments: &[String], ranks: u32) -> Result<(), String> {
    plan(arguments, ranks).map_or_else(Stop::wrong, |_| Ok(()))
}

/// Depends on the arguments and the number of ranks only, so that all ranks agree without communication.
fn plan(arguments: &[String], ranks: u32) -> Result<(Arguments, Grid), Stop> {
    let arguments: Arguments = parse(arguments)?;
    let grid = Grid::new(arguments.size, ranks, arguments.split).map_err(Stop::Wrong)?;
    grid.array().map_err(Stop::Wrong)?;
    arguments.placement.check()?;
    Ok((arguments, grid))
}

fn measure(world: &World, arguments: &Arguments, grid: &Grid, settings: &Settings) -> pelago::Result<ExitCode> {
    let Some(mut solver) = Solver::new(world, arguments, grid, settings)? else { return Ok(ExitCode::FAILURE) };
    let iterations = match arguments.iterations {
        Some(iterations) => iterations,
        None if world.has_virtual_time() => ITERATIONS_SIMULATED,
        None => enough_iterations(solver.solve(TRIAL_ITERATIONS)?.duration),
    };
    let solved = solver.solve(iterations)?;
    let hash = solver.hash()?;
    if world.rank().number() == 0 {
        let mut out = report(grid, world.size(), iterations, &solved, hash);
        if arguments.borders.explain {
            out += &solver.plans.explain().to_string();
        }
        let _ = Output.write_all(out.as_bytes());
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the number of iterations for the duration of a measurement, given the time of the trial.
fn enough_iterations(trial: Duration) -> u32 {
    let each = trial.as_seconds() / f64::from(TRIAL_ITERATIONS);
    ((MEASURED_SECONDS / each.max(1e-9)) as u32).max(TRIAL_ITERATIONS)
}

/// State of a rank.
struct Solver<'w> {
    world: &'w World,
    grid: &'w Grid,
    /// The pressures before and after the current sweep; they swap roles after each sweep.
    pressures: [Field<'w, f32, 3>; 2],
    plans: Plans<'w, f32, 3>,
    /// Index of the current pressure.
    now: usize,
    coefficients: Coefficients,
    device: Option<OnDevice>,
    order: Order,
    /// Nanoseconds to compute a cell, and additional nanoseconds of an iteration.
    costs: [f64; 2],
}

/// Result of some iterations, the same on every rank.
struct Solved {
    /// Duration on the slowest rank.
    duration: Duration,
    /// Sum of the squared residuals of the last iteration.
    gosa: f64,
}

impl<'w> Solver<'w> {
    /// Creates the state; `None` if a rank lacks the requested GPU, in which case the first such rank prints the reason.
    fn new(world: &'w World, arguments: &Arguments, grid: &'w Grid, settings: &Settings) -> pelago::Result<Option<Self>> {
        let array = grid.array().expect("the grid was checked");
        let layout = array.layout(array.template().nodes().place(world.rank()));
        let coefficients = Coefficients::new(&layout, arguments.b);
        let (device, mut pressures) = match arguments.placement.device {
            Place::Host => (None, pressures(world, grid)?),
            Place::Cuda => match OnDevice::new(world, &array, &coefficients)? {
                Some((device, pressures)) => (Some(device), pressures),
                None => return Ok(None),
            },
        };
        let [one, other] = &mut pressures;
        let stream = device.as_ref().map(OnDevice::stream);
        let plans = arguments.placement.plans(world, [from_mut(one), from_mut(other)], settings, stream)?;
        let order = if arguments.no_overlap { Order::whole } else { Order::new };
        let order = order(grid, pressures[0].block());
        let costs = [arguments.cost_cell, arguments.cost_iteration];
        Ok(Some(Self { world, grid, pressures, plans, now: 0, coefficients, device, order, costs }))
    }

    /// Iterates from the initial pressure.
    fn solve(&mut self, iterations: u32) -> pelago::Result<Solved> {
        // Both arrays need the boundary of the grid, which no sweep writes. Resetting also spoils the halos, as data of an earlier run must not be
        // used.
        self.set_first()?;
        self.world.barrier()?;
        let start = self.world.now();
        let mut gosa = [0.0];
        for iteration in 1..=iterations {
            gosa = [self.iterate(iteration == iterations)?];
        }
        // The benchmark reports only the last sum, and nothing depends on the others: no reduction is needed in each iteration.
        self.world.allreduce(&mut gosa, |one, other| one + other)?;
        let mut picoseconds = [(self.world.now() - start).as_picoseconds()];
        self.world.allreduce(&mut picoseconds, u64::max)?;
        Ok(Solved { duration: Duration::from_picoseconds(picoseconds[0]), gosa: gosa[0] })
    }

    /// Sets the initial pressure in both arrays.
    fn set_first(&mut self) -> pelago::Result<()> {
        for field in &mut self.pressures {
            let Some(memory) = field.device().cloned() else {
                set_p(field, initial_p(self.grid));
                continue;
            };
            let (layout, first) = (*field.layout(), initial_p(self.grid));
            let mut cells = vec![SPOILED; layout.length()];
            each_cell(&layout, |index, cell| cells[index] = first(cell));
            set_values(&*memory, cells.iter().map(|cell| cell.to_le_bytes()))?;
        }
        Ok(())
    }

    /// Executes one iteration; returns this rank's part of gosa, on a GPU only in the last iteration, as nothing depends on the others.
    fn iterate(&mut self, is_last: bool) -> pelago::Result<f64> {
        if self.device.is_some() {
            return self.iterate_on_device(is_last);
        }
        let Self { world, now, plans, pressures: [one, other], coefficients, order, costs: [cell, besides], .. } = self;
        let compute = |part: &Box3| {
            let cells: usize = part.iter().map(|range| range.len()).product();
            world.compute(Duration::from_picoseconds((*cell * cells as f64 * 1e3) as u64));
        };
        let (p, next) = if *now == 0 { (one, other) } else { (other, one) };
        plans.start(*now, from_mut(p))?;
        let mut gosa = sweep_part(p, next, coefficients, &order.inner);
        compute(&order.inner);
        plans.finish(*now, from_mut(p))?;
        for part in &order.outer {
            gosa += sweep_part(p, next, coefficients, part);
            compute(part);
        }
        world.compute(Duration::from_picoseconds((*besides * 1e3) as u64));
        // Replaces the benchmark's copy of wrk2 to p.
        *now = 1 - *now;
        Ok(gosa)
    }

    /// Like [`iterate`](Self::iterate): cells that need no halo are computed during the exchange.
    fn iterate_on_device(&mut self, is_last: bool) -> pelago::Result<f64> {
        let Self { world, now, plans, pressures: [one, other], device, order, .. } = self;
        let device = device.as_ref().expect("the caller has asked");
        let (p, next) = if *now == 0 { (one, other) } else { (other, one) };
        // The previous sweep has written the borders.
        plans.start(*now, from_mut(p))?;
        device.sweep(world, p, next, &order.inner)?;
        plans.finish(*now, from_mut(p))?;
        order.outer.iter().try_for_each(|part| device.sweep(world, p, next, part))?;
        plans.end_step(*now, is_last, || device.finish(world))?;
        *now = 1 - *now;
        if is_last { device.gosa(p.layout(), order) } else { Ok(0.0) }
    }

    fn hash(&self) -> pelago::Result<u64> {
        let sum = |sum: u64, cell, p| sum.wrapping_add(hash::term(self.grid.cells, cell, p));
        let pressure = &self.pressures[self.now];
        let mut sum = [match pressure.device() {
            None => pressure.fold(0, sum),
            Some(memory) => {
                let (cells, mut all) = (values(&**memory, pressure.layout().length(), f32::from_le_bytes)?, 0);
                each_cell(pressure.layout(), |index, cell| all = sum(all, cell, cells[index]));
                all
            }
        }];
        self.world.allreduce(&mut sum, u64::wrapping_add)?;
        Ok(sum[0])
    }
}

/// Sweeps some cells, if there are any. The neighbours of all these cells must be readable now.
fn sweep_part(p: &Field<'_, f32, 3>, next: &mut Field<'_, f32, 3>, coefficients: &Coefficients, part: &Box3) -> f64 {
    if part.iter().any(|range| range.is_empty()) {
        return 0.0;
    }
    let (first, extents) = reach(part);
    sweep(p.view().region(first, extents), p.layout(), next.cells_mut(), coefficients, part)
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
