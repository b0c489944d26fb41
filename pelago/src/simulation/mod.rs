//! Simulated jobs: all ranks in this process, in virtual time.

pub mod processes;

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use pelago_platform::Fault;

use crate::wiring::simulated::{self, say};
use crate::{Error, Rank, World};

/// Ends a rank's part of a simulated job. A separate function, so that neither it nor the body needs stack for both.
#[inline(never)]
fn finish_simulated(world: Box<World>) -> Result<(), Error> {
    world.finish()
}

/// Runs all ranks of a simulated job. A rank that panics ends the job, as on a real machine.
pub(crate) fn run<R, E: From<Error>>(simulation: &simulated::Simulation, body: impl Fn(&World) -> Result<R, E>) -> Result<R, E> {
    let panicked = Cell::new(None);
    let outcome = simulated::simulate(simulation, |world| {
        let rank = world.rank();
        let taken = catch_unwind(AssertUnwindSafe(|| {
            let value = body(&world)?;
            finish_simulated(world)?;
            Ok(value)
        }));
        taken.unwrap_or_else(|panic| {
            // The stack of a rank that never continues is unwound at the end of the simulation: this is no panic of the rank.
            if simulated::is_unwinding() {
                resume_unwind(panic);
            }
            panicked.set(panicked.get().or(Some(rank)));
            Err(Error::Fault(Fault::PeerLost(rank)).into())
        })
    })?;
    if let Some(code) = simulated::job_fault(simulation, &outcome) {
        std::process::exit(code);
    }
    let others = if outcome.fault.is_some() { "the job was ended" } else { "the others finished" };
    let first = outcome.failed.unwrap_or(Rank::new(0));
    if panicked.get() == Some(first) {
        say(format_args!("pelago: rank {first} panicked; {others}"));
        std::process::exit(1);
    }
    if outcome.failed.is_some() {
        say(format_args!("pelago: rank {first} returned an error; {others}"));
    }
    let mut results = outcome.results;
    match results.swap_remove(u32::from(first) as usize) {
        Some(result) => result,
        None => Err(Error::Fault(Fault::PeerLost(first)).into()),
    }
}
