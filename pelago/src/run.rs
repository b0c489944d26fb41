//! Running a program as a rank, from joining the job to leaving it.

use pelago_platform::{BootstrapError, Fault, Wait};

use crate::exit_code::exit_code;
use crate::run_with::take_part;
use crate::wiring::launched::{self, Counted, Joined, Watched, tell_fault, watched};
use crate::wiring::recorded::RankRecord;
use crate::{Counters, Error, Event, Rank, World};

/// Joins the job, calls `body`, and leaves together with every other rank.
///
/// A process that a launcher started is one of the job's ranks; a process that was started alone is a job of one rank; a process that `pelago sim` started
/// is all ranks of a job on a simulated machine: `body` is called once per rank, and the result of rank 0 is returned. A process takes part in a job once;
/// only one that was started alone may call this function again.
///
/// # Errors
/// The process cannot join, or has joined before; `body` failed; a rank failed before the end. A rank that returns an error ends the job. Under the `pelago`
/// launcher, which reports the fault of a job in one line, a rank that fails because of another one exits silently; under
/// another launcher it reports the fault itself.
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

/// Becomes a rank, or exits if the job has a fault before all have joined and the job has a monitor.
pub(crate) fn join() -> Result<Joined, Error> {
    launched::join().inspect_err(|error| {
        if let Error::Bootstrap(BootstrapError::Fault(fault)) = error {
            leave_if_watched(*fault);
        }
    })
}

/// Prints the counters and writes the record, if the user has requested them.
pub(crate) fn tell_at_end(rank: Rank, counters: &[Counted], record: Option<&RankRecord>) {
    if !counters.is_empty() {
        tell(rank, &counters.iter().map(|counted| counted()).collect::<Vec<_>>());
    }
    if let Some(record) = record {
        record.leave(rank);
    }
}

/// Prints one line with the counters of the transport, and of the network below it.
fn tell(rank: Rank, counters: &[Counters]) {
    let all = Event::ALL.iter().map(|&event| (event, counters.iter().map(|counters| counters.of(event)).sum::<u64>()));
    let counts: Vec<String> =
        all.filter(|&(_, count)| count > 0).map(|(event, count)| format!("{} {count}", event.name())).collect();
    eprintln!(
        "rank {rank}: {}",
        if counts.is_empty() { "nothing passed through the transport".into() } else { counts.join(", ") }
    );
}

/// Exits, unless the program was started alone. Silently under the launcher, which reports the fault of the job.
fn leave_if_watched(fault: Fault) {
    if let Some(code) = watched_exit_code(fault) {
        std::process::exit(code);
    }
}

/// Returns the exit code with which this process has to exit because of `fault`, unless the program was started alone. Under another launcher, each rank
/// reports the fault of the job here.
pub(crate) fn watched_exit_code(fault: Fault) -> Option<i32> {
    match watched() {
        Watched::Not if fault == Fault::Ended => {}
        Watched::Not => return None,
        Watched::ByLauncher => {}
        Watched::ByRanks(rank) => tell_fault(rank, fault),
    }
    Some(exit_code(fault))
}
