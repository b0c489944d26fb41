//! Comparison of a job with a serial run of the same problem in rank 0.

use std::fmt;
use std::io::Write;
use std::process::ExitCode;

use pelago::{Duration, Instant, Rank, World};

use crate::usage::Output;

/// Bytes of a memory page: DSM systems without variables move whole pages.
const PAGE_BYTES: u64 = 4096;

/// Returns the bytes for moving all pages of a variable a number of times.
pub(crate) fn whole_pages(times: u64, bytes: usize) -> u64 {
    times * (bytes as u64).next_multiple_of(PAGE_BYTES)
}

/// Time and traffic of all ranks together.
pub(crate) struct Taken {
    duration: Duration,
    bytes: u64,
    bytes_whole: u64,
}

impl Taken {
    /// Measures from `start` to the slowest rank, and sums the bytes that the ranks have moved, and those that they would have moved in whole
    /// pages or variables. Collective.
    pub(crate) fn since(world: &World, start: Instant, bytes: u64, bytes_whole: u64) -> pelago::Result<Self> {
        let mut slowest = [(world.now() - start).as_picoseconds()];
        world.allreduce(&mut slowest, u64::max)?;
        let mut sums = [bytes, bytes_whole];
        world.allreduce(&mut sums, |one, other| one + other)?;
        Ok(Self { duration: Duration::from_picoseconds(slowest[0]), bytes: sums[0], bytes_whole: sums[1] })
    }
}

/// Runs `serial` in rank 0, prints the comparison and whether the results are equal, and returns the verdict on all ranks. Collective.
pub(crate) fn judge(
    world: &World,
    what: impl fmt::Display,
    taken: &Taken,
    serial: impl FnOnce() -> pelago::Result<bool>,
) -> pelago::Result<ExitCode> {
    let mut wrong = [0_u64];
    if world.rank().number() == 0 {
        let start = world.now();
        let same = serial()?;
        wrong[0] = u64::from(!same);
        report(world, what, taken, world.now() - start, same);
    }
    world.broadcast(Rank::new(0), &mut wrong)?;
    Ok(if wrong[0] == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Prints the comparison.
fn report(world: &World, what: impl fmt::Display, taken: &Taken, serial: Duration, same: bool) {
    if !same {
        let _ = writeln!(std::io::stderr(), "{what} ranks {}: one rank finds something else", world.size());
        return;
    }
    let ms = |duration: Duration| duration.as_seconds() * 1e3;
    let (together, alone, Taken { bytes, bytes_whole, .. }) = (ms(taken.duration), ms(serial), taken);
    let speedup = if together > 0.0 { alone / together } else { 0.0 };
    let _ = writeln!(
        Output,
        "{what} ranks {} ms {together:.3} serial {alone:.3} speedup {speedup:.2} bytes {bytes} whole {bytes_whole} same",
        world.size()
    );
}
