//! The time in which all ranks run their graphs, and what is wrong with these if they do not end.

use std::io::Write;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU32, Ordering};

use pelago::{Duration, Result, Team, World};

use super::messages::Messages;
use super::{Graph, Operation, run};

/// Ranks of a process that tell what they wait for, at most.
const TOLD_MAX: u32 = 8;

/// Runs the graphs of all ranks; rank 0 prints how long they took. `groups` are those of collective operations, from 1 on; `describe` says what an operation is, and where it stands. Collective.
pub(crate) fn replay(
    world: &World,
    program: &str,
    graph: &Graph,
    groups: &[Team],
    describe: impl Fn(&Operation) -> String,
) -> Result<ExitCode> {
    // Nobody looks at what is moved, so that a simulation of sizes does as well.
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
            std::io::stdout(),
            "{program} ranks {ranks} operations {operations} messages {moves} bytes {bytes} us {microseconds:.3}"
        );
        if left_over > 0 {
            let _ = writeln!(std::io::stderr(), "{program}: {left_over} messages were sent that no receive is there for");
        }
    }
    world.barrier()?;
    Ok(if left_over == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
