//! Detection of stopped ranks of this host, as by SIGSTOP: a few checks per failure limit.
//!
//! A check costs one system call per rank. Checks are counted and not timed, so that a launcher that was itself stopped reports no rank.
//! The kernel reports the state of child processes; if a rank's process is not the started one, as with a script, `/proc` is
//! read. A process that is stopped in a debugger does not count as stopped.

use std::collections::BTreeSet;

use pelago_base::{Duration, Instant, Rank};
use pelago_shm::HostMemory;

use crate::launcher::job::controller::RankEvent;
use crate::launcher::limits::{STOP_LOOKS, STOP_PAUSE_MIN};
use crate::launcher::process::child::ChildProcess;
use crate::system::process_stat::ProcessStat;

/// The time of the next check, and the ranks that were stopped at the last one.
pub(crate) struct StoppedRanks {
    pause: Duration,
    at: Instant,
    known: BTreeSet<Rank>,
}

impl StoppedRanks {
    /// Creates a detector with a few checks within `limit`.
    pub(crate) fn new(limit: Duration, now: Instant) -> Self {
        let pause = Duration::from_picoseconds(limit.as_picoseconds() / u64::from(STOP_LOOKS)).max(STOP_PAUSE_MIN);
        Self { pause, at: now + pause, known: BTreeSet::new() }
    }

    /// The time of the next check.
    pub(crate) fn next(&self) -> Instant {
        self.at
    }

    /// Checks, if it is time; returns an event for every stopped rank, and for those that are no longer stopped.
    pub(crate) fn look(&mut self, now: Instant, ranks: &[ChildProcess], host: &HostMemory) -> Vec<RankEvent> {
        if now < self.at {
            return Vec::new();
        }
        self.at = now + self.pause;
        let stopped = ranks
            .iter()
            .filter(|process| process.running().is_some() && (process.is_stopped() || is_away_stopped(process, host)));
        let stopped: Vec<_> = stopped.collect();
        let now_stopped: BTreeSet<_> = stopped.iter().map(|process| process.rank()).collect();
        let before = std::mem::replace(&mut self.known, now_stopped);
        let continued = before.difference(&self.known).copied().map(RankEvent::Continued);
        continued.chain(stopped.into_iter().map(|process| RankEvent::Stopped(process.process()))).collect()
    }
}

/// Whether the rank is a descendant of the started process, and is stopped. A process that has left the group, or has another number because of
/// its namespace, is ignored.
fn is_away_stopped(process: &ChildProcess, host: &HostMemory) -> bool {
    let joined = host.control(process.rank()).map_or(0, |control| control.process());
    let is_stopped = |stat: ProcessStat| stat.is_stopped && stat.group == process.group();
    joined != 0 && joined != process.group() && ProcessStat::of(joined).is_some_and(is_stopped)
}
