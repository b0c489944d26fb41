//! From a program to a rank and back.

use pelago_platform::Fault;

use crate::{Error, World, wiring};

/// Takes part in the job, calls `body`, and leaves when every rank does.
///
/// Started by a launcher, the process is one of the job's ranks; started alone, it is a job of one rank.
///
/// # Errors
/// The process cannot take part; `body` failed; a rank was lost before the end. A rank that fails ends the job. Under the `pelago`
/// launcher, which tells what is wrong with a job in one line, a rank that fails because of another one exits without a word.
pub fn run<R, E: From<Error>>(body: impl FnOnce(&World) -> Result<R, E>) -> Result<R, E> {
    let wiring::Joined { world, launched } = wiring::join()?;
    let outcome = body(&world);
    let fault = world.fault();
    let result = match outcome {
        Ok(value) => world.finish().map(|()| value).map_err(E::from),
        Err(error) => Err(error),
    };
    match fault {
        Some(fault) if launched && result.is_err() => std::process::exit(exit_code(fault)),
        _ => result,
    }
}

fn exit_code(fault: Fault) -> i32 {
    match fault {
        Fault::PeerLost(_) => 3,
        _ => 1,
    }
}
