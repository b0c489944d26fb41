//! Himeno over TCP: started by the user, it launches the ranks on this machine; started by itself, it is one of them.

use std::process::{Command, ExitCode};

use pelago::platform::BootstrapError;
use pelago_examples::himeno;
use pelago_tcp::{Seat, join, launch};

/// Bytes of each of a rank's two heaps. The system allocates pages on first use.
const HEAP_BYTES: u64 = 1 << 30;

const USAGE: &str = "usage: himeno-tcp RANKS [ARGUMENTS OF HIMENO]; himeno-tcp 1 --help lists them";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let Some(seat) = Seat::from_environment() {
        return rank(seat, &arguments).unwrap_or_else(|error| {
            eprintln!("rank {}: {error}", seat.rank);
            ExitCode::FAILURE
        });
    }
    let Some((Ok(ranks @ 1..), arguments)) = arguments.split_first().map(|(ranks, rest)| (ranks.parse(), rest)) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    job(ranks, arguments).unwrap_or_else(|error| {
        eprintln!("himeno-tcp: {error}");
        ExitCode::FAILURE
    })
}

/// Runs one rank.
fn rank(seat: Seat, arguments: &[String]) -> pelago::Result<ExitCode> {
    let parts = join(seat, HEAP_BYTES).map_err(|error| BootstrapError::Start(error.to_string()))?;
    pelago::run_with(parts, |world| himeno::run(world, arguments))
}

/// Runs all ranks; succeeds if all of them do.
fn job(ranks: u32, arguments: &[String]) -> std::io::Result<ExitCode> {
    let program = std::env::current_exe()?;
    let outcome = launch(ranks, |_| {
        let mut command = Command::new(&program);
        command.args(arguments);
        command
    })?;
    for (number, status) in outcome.statuses.iter().enumerate().filter(|(_, status)| status.code().is_none()) {
        eprintln!("himeno-tcp: rank {number} was killed: {status}");
    }
    let worst = outcome.statuses.iter().map(|status| status.code().unwrap_or(1)).max();
    Ok(ExitCode::from(worst.and_then(|code| u8::try_from(code).ok()).unwrap_or(1)))
}
