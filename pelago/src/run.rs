//! From a program to a rank and back.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use pelago_platform::{BootstrapError, Fault, Park};

use crate::{Counters, Error, Event, Rank, World, wiring};

/// Takes part in the job, calls `body`, and leaves when every rank does.
///
/// Started by a launcher, the process is one of the job's ranks; started alone, it is a job of one rank; started by `pelago sim`, it is all
/// ranks of a job on a simulated machine: `body` is called once for each, and what rank 0 returns is returned.
///
/// # Errors
/// The process cannot take part; `body` failed; a rank was lost before the end. A rank that fails ends the job. Under the `pelago`
/// launcher, which tells what is wrong with a job in one line, a rank that fails because of another one exits without a word.
pub fn run<R, E: From<Error>>(body: impl Fn(&World) -> Result<R, E>) -> Result<R, E> {
    if let Some(simulation) = wiring::simulation()? {
        return simulate(&simulation, body);
    }
    let wiring::Joined { world, park, counters } = match wiring::join() {
        Err(Error::Bootstrap(BootstrapError::Fault(fault))) if wiring::is_launched() => leave(fault),
        joined => joined?,
    };
    let rank = world.rank();
    let result = take_part(world, &body);
    tell_counted(rank, &counters);
    match park.fault() {
        Some(fault) if wiring::is_launched() && result.is_err() => leave(fault),
        _ => result,
    }
}

/// From a world to the end of this rank's part.
fn take_part<R, E: From<Error>>(world: World, body: &impl Fn(&World) -> Result<R, E>) -> Result<R, E> {
    let value = body(&world)?;
    world.finish()?;
    Ok(value)
}

/// Ends a rank's part of a simulated job; apart from its body, so that both need less of its stack.
#[inline(never)]
fn finish_simulated(world: Box<World>) -> Result<(), Error> {
    world.finish()
}

/// Runs all ranks of a simulated job. One that panics ends the job, as on a real machine.
fn simulate<R, E: From<Error>>(simulation: &wiring::Simulation, body: impl Fn(&World) -> Result<R, E>) -> Result<R, E> {
    let panicked = Cell::new(None);
    let outcome = wiring::simulate(simulation, |world| {
        let rank = world.rank();
        let taken = catch_unwind(AssertUnwindSafe(|| {
            let value = body(&world)?;
            finish_simulated(world)?;
            Ok(value)
        }));
        taken.unwrap_or_else(|panic| {
            // A rank that never goes on, of which the rest is dropped, has not panicked.
            if wiring::is_unwinding() {
                resume_unwind(panic);
            }
            panicked.set(panicked.get().or(Some(rank)));
            Err(Error::Fault(Fault::PeerLost(rank)).into())
        })
    })?;
    if let Some(code) = wiring::job_fault(simulation, &outcome) {
        std::process::exit(code);
    }
    let first = outcome.failed.unwrap_or(Rank::new(0));
    if panicked.get() == Some(first) {
        eprintln!("pelago: {first} panicked; the job was ended");
        std::process::exit(1);
    }
    let mut results = outcome.results;
    match results.swap_remove(u32::from(first) as usize) {
        Some(result) => result,
        None => Err(Error::Fault(Fault::PeerLost(first)).into()),
    }
}

/// What was counted, if the user wants to know.
pub(crate) fn tell_counted(rank: Rank, counters: &[wiring::Counted]) {
    if !counters.is_empty() {
        tell(rank, &counters.iter().map(|counted| counted()).collect::<Vec<_>>());
    }
}

/// One line on what passed through the transport, and over the network below it.
fn tell(rank: Rank, counters: &[Counters]) {
    let all = Event::ALL.iter().map(|&event| (event, counters.iter().map(|counters| counters.of(event)).sum::<u64>()));
    let counts: Vec<String> =
        all.filter(|&(_, count)| count > 0).map(|(event, count)| format!("{} {count}", event.name())).collect();
    eprintln!("{rank}: {}", if counts.is_empty() { "nothing passed through the transport".into() } else { counts.join(", ") });
}

/// Exits without a word: the launcher tells what is wrong with the job.
pub(crate) fn leave(fault: Fault) -> ! {
    std::process::exit(exit_code(fault))
}

/// The exit code of a rank that ends because of this.
pub(crate) fn exit_code(fault: Fault) -> i32 {
    match fault {
        Fault::PeerLost(_) | Fault::Unreachable(_) => 3,
        _ => 1,
    }
}
