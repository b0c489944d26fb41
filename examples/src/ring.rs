//! The program of the README: every rank writes its number to its right neighbour, adds one, and prints the received value. Optionally it repeats
//! this and prints the time.

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;
use pelago::{Duration, Symmetric, World};

use crate::usage::{Output, Stop, at_least_one, exit, parse};

/// Runs the program as one rank.
///
/// # Errors
/// The job has failed.
pub fn run() -> pelago::Result<()> {
    pelago::run(|world| {
        let right = world.rank().next(world.size());
        let inbox = world.alloc::<u64>(1)?;
        let sent = world.put(inbox.at(right, 0), &[world.rank().into()])?;
        world.after(&sent).fetch_add(inbox.at(right, 0), 1)?.wait()?;
        world.barrier()?;
        println!("rank {} holds {}", world.rank(), inbox.local().load(0));
        Ok(())
    })
}

/// Runs one rank with the given arguments.
pub fn main(arguments: Vec<String>) -> ExitCode {
    let result = match parse::<Arguments>(&arguments) {
        Ok(Arguments { repeat: None, .. }) => run().map(|()| ExitCode::SUCCESS),
        Ok(Arguments { repeat: Some(repeat), warm_up }) => {
            pelago::run(|world| measure(world, repeat, warm_up).map(|()| ExitCode::SUCCESS))
        }
        Err(stop) => pelago::run(|world| Ok(stop.tell("ring", world))),
    };
    exit("ring", result)
}

/// Checks the arguments.
///
/// # Errors
/// The arguments are wrong; the message is one line.
pub fn check(arguments: &[String], _ranks: u32) -> Result<(), String> {
    parse::<Arguments>(arguments).map_or_else(Stop::wrong, |_| Ok(()))
}

/// Repeats the rounds: rank 0 prints the microseconds of one round on the slowest rank.
fn measure(world: &World, repeat: u32, warm_up: u32) -> pelago::Result<()> {
    let inbox = world.alloc::<u64>(1)?;
    rounds(world, &inbox, warm_up)?;
    world.barrier()?;
    let start = world.now();
    rounds(world, &inbox, repeat)?;
    let mut picoseconds = [(world.now() - start).as_picoseconds()];
    world.allreduce(&mut picoseconds, u64::max)?;
    if world.rank().number() == 0 {
        let microseconds = Duration::from_picoseconds(picoseconds[0]).as_seconds() * 1e6 / f64::from(repeat);
        let _ = writeln!(Output, "ring ranks {} us {microseconds:.3}", world.size());
    }
    Ok(())
}

/// Executes rounds; every rank checks the received value in each.
fn rounds(world: &World, inbox: &Symmetric<'_, u64>, times: u32) -> pelago::Result<()> {
    let (size, rank) = (world.size(), world.rank());
    let right = inbox.at(rank.next(size), 0);
    let expected = u64::from((rank.number() + size - 1) % size) + 1;
    for _ in 0..times {
        let sent = world.put(right, &[rank.into()])?;
        world.after(&sent).fetch_add(right, 1)?.wait()?;
        world.barrier()?;
        let got = inbox.local().load(0);
        assert_eq!(got, expected, "rank {rank} holds what its left neighbour has put and counted up");
        // No rank may put again before all ranks have checked.
        world.barrier()?;
    }
    Ok(())
}

/// Each rank writes its number to its right neighbour, adds one, and prints the value that it received
#[derive(Parser)]
#[command(name = "ring")]
struct Arguments {
    /// Repeat R times, with a barrier before and after each check, and print the microseconds per repetition on the slowest rank
    #[arg(long, value_name = "R", allow_negative_numbers = true, value_parser = at_least_one)]
    repeat: Option<u32>,
    /// Number of repetitions before the measurement; on a real machine the first ones also make connections
    #[arg(long, value_name = "W", default_value_t = 0, allow_negative_numbers = true, requires = "repeat")]
    warm_up: u32,
}
