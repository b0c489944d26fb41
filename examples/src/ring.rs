//! Every rank writes its number to its right neighbour, adds one, and prints what it got: the program of the README.

use std::process::ExitCode;

use clap::Parser;

use crate::usage::{Stop, exit, parse};

/// Runs the program as one rank.
///
/// # Errors
/// The job is at fault.
pub fn run() -> pelago::Result<()> {
    pelago::run(|world| {
        let right = world.rank().next(world.size());
        let inbox = world.alloc::<u64>(1)?;
        let sent = world.put(inbox.at(right, 0), &[world.rank().into()])?;
        world.after(&sent).fetch_add(inbox.at(right, 0), 1)?.wait()?;
        world.barrier()?;
        println!("{} holds {}", world.rank(), inbox.local().load(0));
        Ok(())
    })
}

/// Runs one rank; there are no arguments.
pub fn main(arguments: Vec<String>) -> ExitCode {
    let result = match parse::<Arguments>(&arguments) {
        Ok(Arguments {}) => run().map(|()| ExitCode::SUCCESS),
        Err(stop) => pelago::run(|world| Ok(stop.tell("ring", world))),
    };
    exit("ring", result)
}

/// What is wrong with these arguments, in one line.
///
/// # Errors
/// Something is.
pub fn check(arguments: &[String], _ranks: u32) -> Result<(), String> {
    parse::<Arguments>(arguments).map_or_else(Stop::wrong, |_| Ok(()))
}

/// Every rank writes its number to its right neighbour, adds one, and prints what it got
#[derive(Parser)]
#[command(name = "ring")]
struct Arguments {}
