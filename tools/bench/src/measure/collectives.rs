//! `collectives`: collective operations by plans, which choose their algorithm by trial; `one_shot`: the same operations without a plan. One row
//! for each operation and size.

use pelago::collectives::{Choice, Collective, Collectives, Settings, Sum};

use crate::Row;
use crate::comparison;
use crate::comparison::time;
use crate::error::{Error, Result, check};
use crate::rank::context::RankContext;
use crate::results::row::rounded;

/// Default sizes of a block in bytes.
const BYTES: [u64; 7] = [8, 64, 512, 4 << 10, 32 << 10, 256 << 10, 1 << 20];

/// Default sizes for operations without a plan.
const BYTES_ONE_SHOT: [u64; 3] = [8, 64 << 10, 1 << 20];

/// Warm-up calls without a plan: after them the library has chosen an algorithm by trial.
const CALLS_BEFORE: usize = 20;

/// Number of measurements of a batch.
const REPETITIONS: usize = 9;

/// Target time of a batch, unless one operation takes longer.
const BATCH_NS: f64 = 5e6;

/// Time for which ranks call barriers before the first measurement.
const SETTLE_NS: f64 = 3e8;

/// Maximum number of operations in a batch.
const BATCH_MAX: u64 = 2000;

pub(crate) fn run(stage: &RankContext<'_>) -> Result<()> {
    every(stage, &BYTES, |all, operation, bytes| {
        let mut plan = all.plan_of(operation, bytes as usize / 8, Sum, Choice::Trial)?;
        // Not a row: information for the user.
        if stage.is_sender() {
            println!("{}", plan.explain().to_string().lines().next().unwrap_or_default());
        }
        measure(stage, all, operation, bytes, |input, output| plan.run(input, output))
    })
}

pub(crate) fn one_shot(stage: &RankContext<'_>) -> Result<()> {
    every(stage, &BYTES_ONE_SHOT, |all, operation, bytes| {
        let (position, size, count) = (all.position(), all.team().size(), bytes as usize / 8);
        let [mut input, mut output] = [operation.blocks_in(position, size), operation.blocks_out(position, size)]
            .map(|blocks| vec![0_u64; blocks as usize * count]);
        // Reaches the state of a program that calls the operation often.
        (0..CALLS_BEFORE).try_for_each(|_| once(all, operation, &mut input, &mut output))?;
        measure(stage, all, operation, bytes, |input, output| once(all, operation, input, output))
    })
}

/// Measures every operation with blocks of the sizes `bytes`, unless the command line gives others.
fn every(
    stage: &RankContext<'_>,
    bytes: &[u64],
    mut measure: impl FnMut(&Collectives<'_>, Collective, u64) -> Result<Row>,
) -> Result<()> {
    settle(stage)?;
    let all = Collectives::new(stage.world, &Settings::default())?;
    let sizes = if stage.settings.bytes.is_empty() { bytes } else { &stage.settings.bytes };
    for operation in Collective::ALL.into_iter().filter(|&operation| operation != Collective::Barrier) {
        for &bytes in sizes {
            let row = measure(&all, operation, bytes)?;
            stage.emit(&row)?;
        }
    }
    Ok(())
}

/// Calls the operation without a plan. Operations in place use the values in `output`, other reductions those in `input`.
fn once(all: &Collectives<'_>, operation: Collective, input: &mut [u64], output: &mut [u64]) -> pelago::Result<()> {
    match operation {
        Collective::Barrier => all.barrier(),
        Collective::Broadcast { root } => all.broadcast(root, output),
        Collective::Reduce { root } if all.position() == root => all.reduce(root, output, Sum),
        Collective::Reduce { root } => all.reduce(root, input, Sum),
        Collective::Allreduce => all.allreduce(output, Sum),
        Collective::Allgather => all.allgather(input, output),
        Collective::ReduceScatter => all.reduce_scatter(input, output, Sum),
        Collective::Gather { root } => all.gather(root, input, output),
        Collective::Scatter { root } => all.scatter(root, input, output),
        Collective::Alltoall => all.alltoall(input, output),
        Collective::Scan => all.scan(output, Sum),
        Collective::ExclusiveScan => all.exclusive_scan(output, Sum),
    }
}

/// Calls barriers for some time: ranks are not bound to cores, and the system distributes them over the cores only after some time.
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

/// Measures `act`, which executes the operation with this input and output.
fn measure(
    stage: &RankContext<'_>,
    all: &Collectives<'_>,
    operation: Collective,
    bytes: u64,
    mut act: impl FnMut(&mut [u64], &mut [u64]) -> pelago::Result<()>,
) -> Result<Row> {
    let (position, size, count) = (all.position(), all.team().size(), bytes as usize / 8);
    let [mut input, mut output] = [operation.blocks_in(position, size), operation.blocks_out(position, size)]
        .map(|blocks| vec![0; blocks as usize * count]);
    let member = Member { operation, position, size };
    member.verify(count, [&mut input, &mut output], &mut act)?;
    // Zeros do not change under repeated reductions in place.
    input.fill(0);
    output.fill(0);
    let mut act_on_zeros = || act(&mut input, &mut output).map_err(Error::from);
    let trial_ns = batch(stage, 1, &mut act_on_zeros)?;
    let operations = ((BATCH_NS / trial_ns) as u64).clamp(1, BATCH_MAX);
    let mut times = [0.0; REPETITIONS];
    for taken in &mut times {
        *taken = batch(stage, operations, &mut act_on_zeros)? / operations as f64;
    }
    member.verify(count, [&mut input, &mut output], &mut act)?;
    let median = comparison::percentile(&mut times, 50);
    let row = Row { repetitions: Some(REPETITIONS as u64), ..stage.row(operation.name()).sized(bytes) };
    Ok(Row { median_ns: Some(rounded(median)), min_ns: Some(rounded(times[0])), ..row })
}

/// Returns the time of consecutive operations on the slowest rank.
fn batch(stage: &RankContext<'_>, operations: u64, mut act: impl FnMut() -> Result<()>) -> Result<f64> {
    stage.world.barrier()?;
    let nanoseconds = time(|| (0..operations).try_for_each(|_| act()))?;
    let mut slowest = [nanoseconds];
    stage.world.allreduce(&mut slowest, f64::max)?;
    Ok(slowest[0])
}

/// Returns the value that a member contributes at a place of a block: it differs between members, blocks and places, so that values of others are
/// noticed.
fn contributed(position: u32, block: usize, place: usize) -> u64 {
    (u64::from(position) + 1) * weight(block, place)
}

fn weight(block: usize, place: usize) -> u64 {
    1 + (block * 31 + place) as u64 % 1021
}

/// A member of an operation, and the values that it expects.
#[derive(Clone, Copy)]
struct Member {
    operation: Collective,
    position: u32,
    size: u32,
}

impl Member {
    /// Executes the operation by `act`, and checks its result.
    fn verify(
        self,
        count: usize,
        [input, output]: [&mut [u64]; 2],
        act: &mut impl FnMut(&mut [u64], &mut [u64]) -> pelago::Result<()>,
    ) -> Result<()> {
        for (index, value) in input.iter_mut().enumerate().chain(output.iter_mut().enumerate()) {
            *value = contributed(self.position, index / count, index % count);
        }
        act(input, output)?;
        output.iter().enumerate().try_for_each(|(index, &value)| {
            check("a value of a collective operation", value, self.expected(index / count, index % count))
        })
    }

    fn expected(self, block: usize, place: usize) -> u64 {
        let sum = |members: u32| u64::from(members) * (u64::from(members) + 1) / 2;
        let mine = self.position as usize;
        match self.operation {
            Collective::Barrier => 0,
            Collective::Broadcast { root } => contributed(root, 0, place),
            Collective::Scatter { root } => contributed(root, mine, place),
            Collective::Reduce { .. } | Collective::Allreduce => sum(self.size) * weight(0, place),
            Collective::ReduceScatter => sum(self.size) * weight(mine, place),
            Collective::Allgather | Collective::Gather { .. } => contributed(block as u32, 0, place),
            Collective::Alltoall => contributed(block as u32, mine, place),
            Collective::Scan => sum(self.position + 1) * weight(0, place),
            // The first member's values stay as they were.
            Collective::ExclusiveScan if mine == 0 => contributed(0, 0, place),
            Collective::ExclusiveScan => sum(self.position) * weight(0, place),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A block of another member, and values at other places, are not those expected.
    #[test]
    fn wrong_values_are_found() {
        for operation in Collective::ALL.into_iter().filter(|&operation| operation != Collective::Barrier) {
            let members = [0, 1].map(|position| Member { operation, position, size: 3 });
            let of_one = matches!(operation, Collective::Scatter { .. } | Collective::Alltoall | Collective::ReduceScatter);
            assert!(!of_one || members[0].expected(2, 5) != members[1].expected(2, 5), "{operation}");
            assert!(members.iter().all(|member| member.expected(0, 5) != member.expected(0, 6)), "{operation}");
        }
    }
}
