//! Replays a schedule in the language of LogGOPSim (GOAL) on all ranks: sends, receives and computing with dependencies.
//!
//! ```text
//! num_ranks 2
//! rank 0 {
//!   l1: calc 1000
//!   l2: send 64b to 1 tag 7
//!   l2 requires l1
//! }
//! rank 1 { l1: recv 64b from 0 tag 7 }
//! ```
//!
//! Recordings of real runs (`pelago run --record`) are such schedules, with one-sided operations. Each rank reads its own part of the file.

mod index;
mod parse;
mod text;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use pelago::World;

use crate::graph::report::replay;
use crate::graph::{ANY, Kind, Operation};
use crate::usage::{exit, if_all_have, parse};
use index::Index;

/// Run a schedule in the GOAL language (LogGOPSim), or a recording of pelago run --record: rank 0 prints ranks, operations, messages, bytes
/// and the microseconds until the last rank has ended
#[derive(Parser)]
#[command(name = "goal")]
struct Arguments {
    /// Schedule as text, plain or compressed with gzip; a compressed one is held in memory, up to 4 GiB
    file: PathBuf,
}

/// Runs one rank with the given arguments.
pub fn main(arguments: Vec<String>) -> ExitCode {
    let arguments = parse::<Arguments>(&arguments);
    // All ranks of a simulation share the index that this process has built.
    let index = arguments.as_ref().ok().map(|arguments| Index::open(&arguments.file));
    let result = pelago::run(|world| match (&arguments, &index) {
        (Ok(_), Some(index)) => run(world, index),
        (Err(stop), _) => Ok(stop.tell("goal", world)),
        (Ok(_), None) => unreachable!("the file was looked for"),
    });
    exit("goal", result)
}

/// Checks the arguments for a job of `ranks` ranks.
///
/// # Errors
/// The arguments are wrong; the message is one line.
pub fn check(arguments: &[String], ranks: u32) -> Result<(), String> {
    match parse::<Arguments>(arguments) {
        Ok(arguments) => is_for(index::ranks_of(&arguments.file)?, ranks),
        Err(stop) => stop.wrong(),
    }
}

/// Checks that a schedule for `scheduled` ranks fits a job of `ranks` ranks.
fn is_for(scheduled: u32, ranks: u32) -> Result<(), String> {
    let wrong = || format!("the schedule is for {scheduled} ranks, the job has {ranks}: use -n {scheduled}");
    if scheduled == ranks { Ok(()) } else { Err(wrong()) }
}

fn run(world: &World, index: &Result<Index, String>) -> pelago::Result<ExitCode> {
    let graph = index.as_ref().map_err(Clone::clone).and_then(|index| {
        is_for(index.ranks(), world.size())?;
        index.graph_of(world.rank().number())
    });
    let Some(graph) = if_all_have(world, graph, |why| format!("goal: {why}"))? else { return Ok(ExitCode::from(2)) };
    let file = index.as_ref().map(|index| index.name().to_owned()).unwrap_or_default();
    replay(world, "goal", &graph, &[], |operation| format!("{file}:{}: {}", operation.place, in_words(operation)))
}

/// Formats an operation as in a schedule.
fn in_words(operation: &Operation) -> String {
    let Operation { kind, peer, tag, amount, .. } = *operation;
    let number = |number: u32| if number == ANY { "-1".to_owned() } else { number.to_string() };
    let (peer, tag) = (number(peer), number(tag));
    match kind {
        Kind::Compute => format!("calc {amount}"),
        Kind::Send => format!("send {amount}b to {peer} tag {tag}"),
        Kind::Receive => format!("recv {amount}b from {peer} tag {tag}"),
        Kind::Put => format!("put {amount}b to {peer}"),
        Kind::Get => format!("get {amount}b from {peer}"),
        Kind::Atomic => format!("atomic to {peer}"),
        Kind::Collective(collective) => format!("{} {amount}b", collective.name()),
    }
}
