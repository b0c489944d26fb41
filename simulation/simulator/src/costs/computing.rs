//! The virtual time of computing: the time that the program declares, the time that it takes on this machine, or none.
//!
//! This is the only part of the simulator that reads a real clock: [`Computing::Measured`] is a measurement on this machine.

use std::fmt;
use std::time::Instant;

use pelago_base::{Duration, Rank};
use rustix::time::{ClockId, Timespec, clock_gettime};
use serde::{Deserialize, Serialize};

/// How computing advances virtual time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Computing {
    /// The time that the program declares by `world.compute`.
    #[default]
    Declared,
    /// The CPU time that a rank uses on this machine between two calls of the library, times a factor; declared time does not count.
    /// Runs differ, and computing of less than some tenths of a microsecond is not detected.
    Measured {
        /// The factor from time on this machine to time on the simulated one.
        scale: f64,
    },
    /// No time.
    Zero,
}

impl fmt::Display for Computing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Declared => f.write_str("declared"),
            Self::Measured { scale } => write!(f, "measured, times {scale}"),
            Self::Zero => f.write_str("zero"),
        }
    }
}

/// A moment by the steady clock of this machine.
pub(crate) type WallTime = Instant;

/// Reads the steady clock of this machine.
pub(crate) fn wall_time() -> WallTime {
    Instant::now()
}

/// Number of pairs of readings with no computation between them, by which the meter measures its own cost.
const TRIALS: usize = 301;

/// The multiple of the cost of a reading below which a time counts as none: the return from the library and the next call, with caches that
/// the simulator has used meanwhile.
const BLIND: f64 = 8.0;

/// Measures the computing time of ranks between two calls of the library. The time of the library and the simulator themselves is excluded:
/// the clock is read when the outermost call begins and when it ends.
pub(crate) struct ComputeMeter {
    /// Picoseconds of virtual time per nanosecond on this machine.
    scale: f64,
    /// The cost of a reading, in nanoseconds.
    cost: f64,
    ranks: Vec<MeteredRank>,
}

/// The calls of a rank.
#[derive(Clone, Copy, Default)]
struct MeteredRank {
    /// Number of nested calls in progress.
    depth: u32,
    /// The time at which the last outermost call ended.
    since: Option<Reading>,
}

/// A time by two clocks: one that is fast to read, and one that stops while other threads have the core.
#[derive(Clone, Copy)]
struct Reading {
    steady: Instant,
    core: Timespec,
}

impl ComputeMeter {
    pub(crate) fn new(ranks: u32, scale: f64) -> Self {
        let mut meter = Self { scale: scale * 1e3, cost: 0.0, ranks: vec![MeteredRank::default(); (ranks as usize).max(1)] };
        let mut trials: Vec<f64> = (0..TRIALS).map(|_| meter.trial()).collect();
        trials.sort_by(f64::total_cmp);
        meter.cost = trials[TRIALS / 2];
        meter
    }

    /// Returns the reading of the meter without any computation.
    fn trial(&mut self) -> f64 {
        let rank = Rank::new(0);
        self.entered(rank, Instant::now());
        self.left(rank);
        let steady = Instant::now();
        let shown = self.ranks[0].since.map_or(0.0, |since| since.until(steady));
        self.ranks[0] = MeteredRank::default();
        shown
    }

    /// Records that the program of `rank` has called the library at `steady`; returns its computing time since the last call, in virtual time.
    pub(crate) fn entered(&mut self, rank: Rank, steady: WallTime) -> Duration {
        let metered = &mut self.ranks[rank.index()];
        metered.depth += 1;
        let Some(since) = metered.since.take() else { return Duration::ZERO };
        let nanoseconds = since.until(steady);
        if nanoseconds <= BLIND * self.cost {
            return Duration::ZERO;
        }
        Duration::from_picoseconds(((nanoseconds - self.cost) * self.scale) as u64)
    }

    /// Records that the library returns to the program of `rank`.
    pub(crate) fn left(&mut self, rank: Rank) {
        let metered = &mut self.ranks[rank.index()];
        metered.depth -= 1;
        if metered.depth == 0 {
            let core = clock_gettime(ClockId::ThreadCPUTime);
            metered.since = Some(Reading { core, steady: Instant::now() });
        }
    }
}

impl Reading {
    /// Returns the nanoseconds for which this thread had the core between this reading and `steady`, which must be very recent.
    fn until(&self, steady: WallTime) -> f64 {
        let core = clock_gettime(ClockId::ThreadCPUTime);
        let seconds = (core.tv_sec - self.core.tv_sec) as f64;
        let used = seconds * 1e9 + (core.tv_nsec - self.core.tv_nsec) as f64;
        ((steady - self.steady).as_secs_f64() * 1e9).min(used)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_time_outside_of_the_outermost_call_counts() {
        let (rank, start) = (Rank::new(0), Instant::now());
        let mut meter = ComputeMeter::new(1, 2.0);
        meter.cost = 0.0;
        let at = |nanoseconds| start + std::time::Duration::from_nanos(nanoseconds);
        let none = Timespec { tv_sec: -1_000_000, tv_nsec: 0 };
        let since = |meter: &mut ComputeMeter, nanoseconds| {
            meter.ranks[0].since = Some(Reading { steady: at(nanoseconds), core: none });
        };
        assert_eq!(meter.entered(rank, at(10)), Duration::ZERO, "nothing was measured before the first call");
        assert_eq!(meter.entered(rank, at(20)), Duration::ZERO);
        meter.left(rank);
        assert!(meter.ranks[0].since.is_none(), "the inner call ends inside the outer one");
        meter.left(rank);
        since(&mut meter, 100);
        assert_eq!(meter.entered(rank, at(103)), Duration::from_picoseconds(6_000));
        meter.left(rank);
        meter.cost = 5.0;
        since(&mut meter, 200);
        assert_eq!(meter.entered(rank, at(240)), Duration::ZERO, "what the meter does not see");
        meter.left(rank);
        since(&mut meter, 300);
        assert_eq!(meter.entered(rank, at(345)), Duration::from_picoseconds(80_000));
    }
}
