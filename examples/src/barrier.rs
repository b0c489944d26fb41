//! How long a barrier takes, by each algorithm (NSIM-ACE, section 5): barriers one after another between two moments of each rank.

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;
use pelago::{BarrierAlgorithm, Duration, World};

use crate::usage::{Stop, at_least_one, exit, parse};

/// Time barriers: rank 0 prints the algorithm, the ranks, and the microseconds of one barrier on the slowest rank
#[derive(Parser)]
#[command(name = "barrier")]
struct Arguments {
    /// ring, recursive-doubling, dissemination or central
    #[arg(long, value_name = "NAME", default_value_t = BarrierAlgorithm::RecursiveDoubling)]
    algorithm: BarrierAlgorithm,
    /// How many barriers are timed together, one after another
    #[arg(long, value_name = "R", default_value_t = 1, allow_negative_numbers = true, value_parser = at_least_one)]
    repeat: u32,
    /// How many come before; on a real machine the first ones also make connections
    #[arg(long, value_name = "W", default_value_t = 0, allow_negative_numbers = true)]
    warm_up: u32,
}

/// Runs one rank, as the arguments say.
pub fn main(arguments: Vec<String>) -> ExitCode {
    let arguments = parse::<Arguments>(&arguments);
    let result = pelago::run(|world| match &arguments {
        Ok(arguments) => measure(world, arguments).map(|()| ExitCode::SUCCESS),
        Err(stop) => Ok(stop.tell("barrier", world)),
    });
    exit("barrier", result)
}

/// What is wrong with these arguments, in one line.
///
/// # Errors
/// Something is.
pub fn check(arguments: &[String], _ranks: u32) -> Result<(), String> {
    parse::<Arguments>(arguments).map_or_else(Stop::wrong, |_| Ok(()))
}

fn measure(world: &World, arguments: &Arguments) -> pelago::Result<()> {
    meet(world, arguments.algorithm, arguments.warm_up)?;
    let start = world.now();
    meet(world, arguments.algorithm, arguments.repeat)?;
    let mut picoseconds = [(world.now() - start).as_picoseconds()];
    world.allreduce(&mut picoseconds, u64::max)?;
    if world.rank().number() == 0 {
        report(arguments, world.size(), picoseconds[0]);
    }
    Ok(())
}

/// Says how long one took. A reader that has seen enough is no error.
#[inline(never)]
fn report(arguments: &Arguments, size: u32, picoseconds: u64) {
    let microseconds = Duration::from_picoseconds(picoseconds).as_seconds() * 1e6 / f64::from(arguments.repeat);
    let _ = writeln!(std::io::stdout(), "{} ranks {size} us {microseconds:.3}", arguments.algorithm);
}

/// Ends when what this rank put in the last barrier has arrived, too, as the paper's programs do.
fn meet(world: &World, algorithm: BarrierAlgorithm, times: u32) -> pelago::Result<()> {
    for _ in 0..times {
        world.barrier_by(algorithm)?;
    }
    world.flush_all()
}
