//! Runs the graphs of all ranks and reports the time, or the reason why they do not end.

use std::io::Write;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU32, Ordering};

use pelago::{Duration, Result, Team, World};

use super::messages::Messages;
use super::{Graph, Operation, run};
use crate::usage::Output;

/// Maximum number of ranks in a process that report what they wait for.
const TOLD_MAX: u32 = 8;

/// Runs the graphs of all ranks; rank 0 prints the time. `groups` are the groups of collective operations, numbered from 1; `describe` formats an
/// operation and its position. Collective.
pub(crate) fn replay(
    world: &World,
    program: &str,
    graph: &Graph,
    groups: &[Team],
    describe: impl Fn(&Operation) -> String,
) -> Result<ExitCode> {
    // The data are never read, so that a simulation with `--data sizes` is sufficient.
    let _ = world.moves_data();
    let mut messages = Messages::new(world, graph)?;
    let collectives = run::collectives(world, graph, groups)?;
    let takes_time = run::computing_takes_time(world);
    world.barrier()?;
    let start = world.now();
    let ended = run::run(world, &collectives, graph, &mut messages, takes_time);
    let picoseconds = (world.now() - start).as_picoseconds();
    if let Err(stopped) = ended {
        static TOLD: AtomicU32 = AtomicU32::new(0);
        if let Some(operation) = stopped.waits_for
            && TOLD.fetch_add(1, Ordering::Relaxed) < TOLD_MAX
        {
            let _ = writeln!(std::io::stderr(), "{program}: rank {} waits for {}", world.rank(), describe(&operation));
        }
        return Err(stopped.error);
    }
    let left_over = messages.left_over()?;
    let mut slowest = [picoseconds];
    world.allreduce(&mut slowest, u64::max)?;
    let [moves, bytes] = graph.traffic();
    let mut sums = [graph.operations.len() as u64, moves, bytes];
    world.allreduce(&mut sums, |one: u64, other| one.saturating_add(other))?;
    if world.rank().number() == 0 {
        let microseconds = Duration::from_picoseconds(slowest[0]).as_seconds() * 1e6;
        let [operations, moves, bytes] = sums;
        let ranks = world.size();
        let _ = writeln!(
            Output,
            "{program} ranks {ranks} operations {operations} messages {moves} bytes {bytes} us {microseconds:.3}"
        );
        if left_over > 0 {
            let _ = writeln!(std::io::stderr(), "{program}: {left_over} messages were sent that no receive is there for");
        }
    }
    world.barrier()?;
    Ok(if left_over == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
