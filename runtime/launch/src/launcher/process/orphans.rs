//! Collection of processes that ranks have started and left, after their end: they are children of the launcher, which adopts orphans.
//!
//! An ended process counts against the user's limit of processes until its parent asks how it ended. Without the collection, a rank that
//! starts another program in the background every second would exhaust that limit within hours. Orphans that have left the group of their
//! rank are collected by the system, after the job.

use pelago_base::Instant;

use crate::launcher::limits::{ORPHANS_PAUSE, ORPHANS_RANKS_MAX};
use crate::launcher::process::child::ChildProcess;

/// The time of the next collection, and the rank at which it begins.
pub(crate) struct Orphans {
    at: Instant,
    next: usize,
}

impl Orphans {
    pub(crate) fn new(now: Instant) -> Self {
        Self { at: now + ORPHANS_PAUSE, next: 0 }
    }

    /// Collects the ended orphans of some of the ranks, if it is time; those of all ranks in turns.
    pub(crate) fn look(&mut self, now: Instant, ranks: &[ChildProcess]) {
        if now < self.at {
            return;
        }
        self.at = now + ORPHANS_PAUSE;
        self.next = if self.next < ranks.len() { self.next } else { 0 };
        let some = &ranks[self.next..ranks.len().min(self.next + ORPHANS_RANKS_MAX)];
        some.iter().for_each(ChildProcess::collect_orphans);
        self.next += ORPHANS_RANKS_MAX;
    }
}
