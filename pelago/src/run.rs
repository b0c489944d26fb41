//! From a program to a rank and back.

use pelago_platform::{BootstrapError, Fault, Wait};

use crate::exit_code::exit_code;
use crate::run_with::take_part;
use crate::wiring::launched::{self, Counted, Joined, Watched, tell_fault, watched};
use crate::wiring::recorded::RankRecord;
use crate::{Counters, Error, Event, Rank, World};

/// Takes part in the job, calls `body`, and leaves when every rank does.
///
/// Started by a launcher, the process is one of the job's ranks; started alone, it is a job of one rank; started by `pelago sim`, it is all
/// ranks of a job on a simulated machine: `body` is called once for each, and what rank 0 returns is returned.
///
/// # Errors
/// The process cannot take part; `body` failed; a rank was lost before the end. A rank that fails ends the job. Under the `pelago`
/// launcher, which tells what is wrong with a job in one line, a rank that fails because of another one exits without a word; under
/// another launcher it tells so itself.
pub fn run<R, E: From<Error>>(body: impl Fn(&World) -> Result<R, E>) -> Result<R, E> {
    #[cfg(feature = "simulation")]
    if let Some(simulation) = crate::wiring::simulated::simulation()? {
        return crate::simulation::run(&simulation, body);
    }
    #[cfg(not(feature = "simulation"))]
    launched::refuse_simulation()?;
    let Joined { world, wait, counters, record } = join()?;
    let rank = world.rank();
    let result = take_part(world, body);
    tell_at_end(rank, &counters, record.as_ref());
    if let (Some(fault), true) = (wait.fault(), result.is_err()) {
        leave_if_watched(fault);
    }
    result
}

/// Becomes a rank, or exits if the job is at fault before all have come and somebody watches over it.
pub(crate) fn join() -> Result<Joined, Error> {
    launched::join().inspect_err(|error| {
        if let Error::Bootstrap(BootstrapError::Fault(fault)) = error {
            leave_if_watched(*fault);
        }
    })
}

/// What was counted and recorded, if the user wants to know.
pub(crate) fn tell_at_end(rank: Rank, counters: &[Counted], record: Option<&RankRecord>) {
    if !counters.is_empty() {
        tell(rank, &counters.iter().map(|counted| counted()).collect::<Vec<_>>());
    }
    if let Some(record) = record {
        record.leave(rank);
    }
}

/// One line on what passed through the transport, and over the network below it.
fn tell(rank: Rank, counters: &[Counters]) {
    let all = Event::ALL.iter().map(|&event| (event, counters.iter().map(|counters| counters.of(event)).sum::<u64>()));
    let counts: Vec<String> =
        all.filter(|&(_, count)| count > 0).map(|(event, count)| format!("{} {count}", event.name())).collect();
    eprintln!(
        "rank {rank}: {}",
        if counts.is_empty() { "nothing passed through the transport".into() } else { counts.join(", ") }
    );
}

/// Exits, unless the program was started alone. Under the launcher without a word: it tells what is wrong with the job.
fn leave_if_watched(fault: Fault) {
    if let Some(code) = watched_exit_code(fault) {
        std::process::exit(code);
    }
}

/// With which code this process has to exit because of this, unless the program was started alone. Under another launcher each rank
/// tells here what is wrong with the job.
pub(crate) fn watched_exit_code(fault: Fault) -> Option<i32> {
    match watched() {
        Watched::Not if fault == Fault::Ended => {}
        Watched::Not => return None,
        Watched::ByLauncher => {}
        Watched::ByRanks(rank) => tell_fault(rank, fault),
    }
    Some(exit_code(fault))
}
