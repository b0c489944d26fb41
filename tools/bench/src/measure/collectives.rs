//! `collectives`: what all ranks do together, by plans that choose their algorithm by trial; one row for each operation and size.

use pelago::collectives::{Choice, Collective, Collectives, Plan, Settings, Sum};

use crate::Row;
use crate::comparison;
use crate::comparison::time;
use crate::error::{Error, Result, check};
use crate::rank::context::RankContext;
use crate::results::row::rounded;

/// Bytes of a block, unless the command line names others.
const BYTES: [u64; 7] = [8, 64, 512, 4 << 10, 32 << 10, 256 << 10, 1 << 20];

/// How often a batch is measured.
const REPETITIONS: usize = 9;

/// Time that a batch should take, where one operation does not take longer.
const BATCH_NS: f64 = 5e6;

/// How long ranks meet before the first that counts.
const SETTLE_NS: f64 = 3e8;

/// Operations of a batch at most.
const BATCH_MAX: u64 = 2000;

pub(crate) fn run(stage: &RankContext<'_>) -> Result<()> {
    settle(stage)?;
    let all = Collectives::new(stage.world, &Settings::default())?;
    let sizes = if stage.settings.bytes.is_empty() { &BYTES[..] } else { &stage.settings.bytes };
    for operation in Collective::ALL.into_iter().filter(|&operation| operation != Collective::Barrier) {
        for &bytes in sizes {
            let row = measure(stage, &all, operation, bytes)?;
            stage.emit(&row)?;
        }
    }
    Ok(())
}

/// Meets for a while: ranks are not bound to cores, and the system spreads them only when they have run for some time.
fn settle(stage: &RankContext<'_>) -> Result<()> {
    let mut taken_ns = 0.0;
    while taken_ns < SETTLE_NS {
        let nanoseconds = time(|| (0..100).try_for_each(|_| stage.world.barrier().map_err(Error::from)))?;
        let mut slowest = [nanoseconds];
        stage.world.allreduce(&mut slowest, f64::max)?;
        taken_ns += slowest[0];
    }
    Ok(())
}

fn measure(stage: &RankContext<'_>, all: &Collectives<'_>, operation: Collective, bytes: u64) -> Result<Row> {
    let (position, size, count) = (all.position(), all.team().size(), bytes as usize / 8);
    let mut plan = all.plan_of(operation, count, Sum, Choice::Trial)?;
    // Not a row, and so for people.
    if stage.is_sender() {
        println!("{}", plan.explain().to_string().lines().next().unwrap_or_default());
    }
    let input = vec![u64::from(position) + 1; operation.blocks_in(position, size) as usize * count];
    let mut output = vec![u64::from(position) + 1; operation.blocks_out(position, size) as usize * count];
    plan.run(&input, &mut output)?;
    for (index, &value) in output.iter().enumerate() {
        check("a value of a collective operation", value, expected(operation, position, size, (index / count) as u32))?;
    }
    let trial_ns = batch(stage, &mut plan, &input, &mut output, 1)?;
    let operations = ((BATCH_NS / trial_ns) as u64).clamp(1, BATCH_MAX);
    let mut times = [0.0; REPETITIONS];
    for taken in &mut times {
        *taken = batch(stage, &mut plan, &input, &mut output, operations)? / operations as f64;
    }
    let median = comparison::percentile(&mut times, 50);
    let row = Row { repetitions: Some(REPETITIONS as u64), ..stage.row(operation.name()).sized(bytes) };
    Ok(Row { median_ns: Some(rounded(median)), min_ns: Some(rounded(times[0])), ..row })
}

/// The time of some operations, one after another, on the slowest rank.
fn batch(
    stage: &RankContext<'_>,
    plan: &mut Plan<'_, '_, u64>,
    input: &[u64],
    output: &mut [u64],
    operations: u64,
) -> Result<f64> {
    stage.world.barrier()?;
    let nanoseconds = time(|| (0..operations).try_for_each(|_| plan.run(input, output).map_err(Error::from)))?;
    let mut slowest = [nanoseconds];
    stage.world.allreduce(&mut slowest, f64::max)?;
    Ok(slowest[0])
}

/// What each value of a block is, where every member brings its position and one; that of the root is 0.
fn expected(operation: Collective, position: u32, size: u32, block: u32) -> u64 {
    let sum = |members: u32| u64::from(members) * (u64::from(members) + 1) / 2;
    match operation {
        Collective::Barrier => 0,
        Collective::Broadcast { root } | Collective::Scatter { root } => u64::from(root) + 1,
        Collective::Reduce { .. } | Collective::Allreduce | Collective::ReduceScatter => sum(size),
        Collective::Allgather | Collective::Gather { .. } | Collective::Alltoall => u64::from(block) + 1,
        Collective::Scan => sum(position + 1),
        Collective::ExclusiveScan if position == 0 => 1,
        Collective::ExclusiveScan => sum(position),
    }
}
