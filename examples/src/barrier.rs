//! The time of a barrier by each algorithm (NSIM-ACE, section 5): every rank times a sequence of consecutive barriers.

use std::fmt;
use std::io::Write;
use std::process::ExitCode;
use std::str::FromStr;

use clap::Parser;
use pelago::dsm::SyncBarrier;
use pelago::{BarrierAlgorithm, Duration, World};

use crate::usage::{Output, Stop, at_least_one, exit, parse};

/// Measure barriers: rank 0 prints the algorithm, the number of ranks, and the microseconds per barrier on the slowest rank
#[derive(Parser)]
#[command(name = "barrier")]
struct Arguments {
    /// Algorithm: ring, recursive-doubling, dissemination, central, tree, network, or entry-permit (Fagus)
    #[arg(long, value_name = "NAME", default_value_t = Algorithm::World(BarrierAlgorithm::RecursiveDoubling))]
    algorithm: Algorithm,
    /// Number of consecutive barriers in the measurement
    #[arg(long, value_name = "R", default_value_t = 1, allow_negative_numbers = true, value_parser = at_least_one)]
    repeat: u32,
    /// Number of repetitions before the measurement; on a real machine the first ones also make connections
    #[arg(long, value_name = "W", default_value_t = 0, allow_negative_numbers = true)]
    warm_up: u32,
}

/// The algorithm of the barrier.
#[derive(Clone, Copy, PartialEq)]
enum Algorithm {
    World(BarrierAlgorithm),
    EntryPermit,
}

/// Name of the algorithm in arguments.
const ENTRY_PERMIT: &str = "entry-permit";

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::World(algorithm) => algorithm.fmt(f),
            Self::EntryPermit => f.pad(ENTRY_PERMIT),
        }
    }
}

impl FromStr for Algorithm {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            ENTRY_PERMIT => Ok(Self::EntryPermit),
            _ => name.parse().map(Self::World).map_err(|error: pelago::UnknownBarrier| format!("{error}, or {ENTRY_PERMIT}")),
        }
    }
}

/// Runs one rank with the given arguments.
pub fn main(arguments: Vec<String>) -> ExitCode {
    let arguments = parse::<Arguments>(&arguments);
    let result = pelago::run(|world| match &arguments {
        Ok(arguments) => measure(world, arguments).map(|()| ExitCode::SUCCESS),
        Err(stop) => Ok(stop.tell("barrier", world)),
    });
    exit("barrier", result)
}

/// Checks the arguments.
///
/// # Errors
/// The arguments are wrong; the message is one line.
pub fn check(arguments: &[String], _ranks: u32) -> Result<(), String> {
    parse::<Arguments>(arguments).map_or_else(Stop::wrong, |_| Ok(()))
}

fn measure(world: &World, arguments: &Arguments) -> pelago::Result<()> {
    let entry_permit = if arguments.algorithm == Algorithm::EntryPermit { Some(SyncBarrier::new(world)?) } else { None };
    let meet_once = || match (arguments.algorithm, &entry_permit) {
        (Algorithm::World(algorithm), _) => world.barrier_by(algorithm),
        (Algorithm::EntryPermit, Some(barrier)) => barrier.wait(),
        (Algorithm::EntryPermit, None) => unreachable!("it was made"),
    };
    meet(world, meet_once, arguments.warm_up)?;
    let start = world.now();
    meet(world, meet_once, arguments.repeat)?;
    let mut picoseconds = [(world.now() - start).as_picoseconds()];
    world.allreduce(&mut picoseconds, u64::max)?;
    if world.rank().number() == 0 {
        report(arguments, world.size(), picoseconds[0]);
    }
    Ok(())
}

/// Prints the time of one barrier. A reader that closes the pipe early is not an error.
#[inline(never)]
fn report(arguments: &Arguments, size: u32, picoseconds: u64) {
    let microseconds = Duration::from_picoseconds(picoseconds).as_seconds() * 1e6 / f64::from(arguments.repeat);
    let _ = writeln!(Output, "{} ranks {size} us {microseconds:.3}", arguments.algorithm);
}

/// Executes barriers, and waits until the puts of this rank in the last barrier have arrived, as the paper's programs do.
fn meet(world: &World, meet_once: impl Fn() -> pelago::Result<()>, times: u32) -> pelago::Result<()> {
    for _ in 0..times {
        meet_once()?;
    }
    world.flush_all()
}
