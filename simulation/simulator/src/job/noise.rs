//! The effect of interruptions by the operating system on what the cores of ranks do: working, posting operations, and continuing after a wait.
//!
//! Progress threads and NICs run beside the cores of ranks and are not interrupted.

use pelago_base::{Duration, Instant, Rank};
use pelago_netsim::NetworkOperation;

use super::SimulatedJob;
use super::rank_state::RunState;
use crate::costs::cores::Cores;
use crate::costs::noise::{CoreTime, Noise};

impl SimulatedJob {
    /// Returns the core on which a rank runs.
    #[inline]
    pub(super) fn core(&self, rank: u32) -> CoreTime<'_> {
        core_of(self.noise.as_ref(), self.cores.as_ref(), rank)
    }

    /// Returns when the running rank, which works for `duration` from now on, sleeps until. Cores that ranks share lengthen its work themselves,
    /// slice by slice.
    pub(crate) fn busy_until(&self, rank: Rank, duration: Duration) -> Instant {
        let now = self.network.now();
        if self.sleeps_on_core() { now + duration } else { self.core(rank.number()).finish(now, duration) }
    }

    /// Returns how long a step of a rank's driver takes: on the rank's core, unless its progress thread performs the step.
    pub(super) fn step_time(&self, rank: Rank, work: Duration) -> Duration {
        let now = self.network.now();
        match self.ranks[rank.index()].state {
            RunState::Asleep | RunState::Ended => work,
            RunState::Ready | RunState::Parked(_) | RunState::Polling => self.core(rank.number()).finish(now, work).since(now),
        }
    }

    /// Posts an operation between ranks whose overhead takes time of the core of `rank`.
    #[inline]
    pub(super) fn post_by_core(&mut self, rail: Option<u8>, rank: u32, operation: NetworkOperation, token: u64) {
        let late = if self.noise.is_some() { self.lateness(rail, rank, operation) } else { Duration::ZERO };
        self.post_between(rail, rank, operation, token, late);
    }

    /// Returns by how much interruptions lengthen the overhead of an operation that a rank posts now.
    fn lateness(&self, rail: Option<u8>, rank: u32, operation: NetworkOperation) -> Duration {
        let (now, overhead) = (self.network.now(), self.overhead(rail, rank, operation));
        self.core(rank).finish(now, overhead).since(now + overhead)
    }
}

/// Returns the core on which a rank runs: its own, or the one of its node that it has.
#[inline]
pub(super) fn core_of<'n>(noise: Option<&'n Noise>, cores: Option<&Cores>, rank: u32) -> CoreTime<'n> {
    match (noise, cores) {
        (None, _) => CoreTime::QUIET,
        (Some(_), None) => CoreTime::new(noise, rank.into()),
        (Some(_), Some(cores)) => cores.core_time(rank, noise),
    }
}
