//! The program of each rank.

use std::process::ExitCode;

use clap::Parser;

use crate::Arguments;
use crate::error::Error;
use crate::rank::context::RankContext;
use crate::rank::usage::Usage;

/// The arguments of a rank are those of the command.
#[derive(Parser)]
struct Line {
    #[command(flatten)]
    arguments: Arguments,
}

/// Joins the job and runs the benchmarks in `arguments`; rank 0 writes one JSON object per result to standard output.
///
/// `arguments` are those that [`main`](crate::main) passed to the job.
pub fn rank_main(arguments: Vec<String>) -> ExitCode {
    let arguments = match Line::try_parse_from(["bench".into()].into_iter().chain(arguments)) {
        Ok(Line { arguments }) => arguments,
        Err(error) => {
            eprintln!("pelago bench: {error}");
            return ExitCode::from(2);
        }
    };
    match measure(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("pelago bench: {error}");
            ExitCode::FAILURE
        }
    }
}

fn measure(arguments: &Arguments) -> Result<(), Error> {
    let settings = &arguments.settings;
    let usage_before = Usage::now()?;
    pelago::run(|world| {
        world.barrier()?;
        let usage = Usage::now()?;
        let stage = RankContext::new(world, settings, usage_before, usage)?;
        for benchmark in arguments.benchmarks().filter(|benchmark| benchmark.ranks_min(settings.transport) <= world.size()) {
            (benchmark.run)(&stage)?;
        }
        Ok(())
    })
}
