//! The times of calls and progress threads of the library, from the description of the machine. A progress thread posts operations to the NIC,
//! reports their end to its rank, and serves other ranks.
//!
//! A progress thread performs one task after another: requests of its rank and of other ranks share one queue, unless the machine has a
//! second progress thread for the latter.

use pelago_base::{Duration, Instant, Rank};
use pelago_netsim::{Atomics, Descriptors, Machine, Serving, Software, Submission, Threads};

use crate::costs::noise::CoreTime;

/// Bytes of the put that requests an atomic from a progress thread, and of the reply.
pub(crate) const REQUEST_BYTES: u64 = 32;
pub(crate) const REPLY_BYTES: u64 = 8;

/// The progress threads of all ranks, and the times of calls and progress threads.
pub(crate) struct ProgressThreads {
    software: Software,
    /// The time that a NIC takes for an atomic on the memory of its own node.
    own_atomic: Duration,
    /// When the progress threads of each rank become idle: the one for its own operations, and the one that serves others if that is separate.
    busy: Vec<[Instant; 2]>,
}

/// The times of the submission of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Submitted {
    /// How long the call keeps the core of the initiator busy, without interruptions.
    pub(crate) busy: Duration,
    /// When the operation reaches the NIC.
    pub(crate) at: Instant,
    /// Whether the core of the initiator instructs the NIC, not its progress thread.
    pub(crate) by_rank: bool,
}

fn duration(nanoseconds: f64) -> Duration {
    Duration::from_picoseconds((nanoseconds * 1e3).round() as u64)
}

impl ProgressThreads {
    pub(crate) fn of(machine: &Machine, ranks: u32) -> Self {
        let software = machine.software().clone();
        let count = if software.submission == Submission::Free && software.atomics == Atomics::Nic { 0 } else { ranks as usize };
        Self { software, own_atomic: machine.own_atomic(), busy: vec![[Instant::ZERO; 2]; count] }
    }

    /// Submits an atomic of `rank` on its own memory; `None` if that takes the library no time. `at` of the result is the time of its effect: the
    /// NIC performs it without the network, or the thread that would post it performs it instead.
    pub(crate) fn submit_own(&mut self, now: Instant, rank: Rank, core: CoreTime<'_>, idle: bool) -> Option<Submitted> {
        if self.software.submission == Submission::Free || !self.perform_atomics() {
            let submitted = self.submit(now, rank, core, idle)?;
            return Some(Submitted { at: submitted.at + self.own_atomic, ..submitted });
        }
        let busy = self.work_of_rank(self.software.own_call_ns + self.lock_ns());
        let called = core.finish(now, busy);
        let by_rank = match self.software.submission {
            Submission::ProgressThread => false,
            Submission::Bypass => idle,
            Submission::Free | Submission::Direct => true,
        };
        let at = if by_rank { called } else { self.work(rank, false, called, duration(self.software.queue_ns)) };
        Some(Submitted { busy, at, by_rank })
    }

    /// Returns the time of some work of a rank, including the slowdown by a detection thread on the same core.
    fn work_of_rank(&self, nanoseconds: f64) -> Duration {
        duration(nanoseconds * self.software.slowdown())
    }

    fn lock_ns(&self) -> f64 {
        match self.software.threads {
            Threads::One => 0.0,
            Threads::Many => self.software.lock_ns,
        }
    }

    /// Submits an operation of `rank`, which runs on `core`; `idle` if the rank has no other in flight. `None` if that takes no time.
    pub(crate) fn submit(&mut self, now: Instant, rank: Rank, core: CoreTime<'_>, idle: bool) -> Option<Submitted> {
        let Software { submission, descriptors, .. } = self.software;
        let descriptor_ns = match descriptors {
            Descriptors::Prepared => 0.0,
            Descriptors::Built => self.software.descriptor_ns,
        };
        let busy_ns = self.software.call_ns + self.lock_ns();
        match submission {
            Submission::Free => None,
            Submission::ProgressThread | Submission::Bypass if submission == Submission::ProgressThread || !idle => {
                let busy = self.work_of_rank(busy_ns);
                let called = core.finish(now, busy);
                let at = self.work(rank, false, called, duration(self.software.queue_ns + descriptor_ns));
                Some(Submitted { busy, at, by_rank: false })
            }
            Submission::Direct | Submission::ProgressThread | Submission::Bypass => {
                let busy = self.work_of_rank(busy_ns + descriptor_ns);
                Some(Submitted { busy, at: core.finish(now, busy), by_rank: true })
            }
        }
    }

    /// Returns when the end of an operation is reported to `rank`; `None` if immediately.
    pub(crate) fn notify(&mut self, now: Instant, rank: Rank) -> Option<Instant> {
        let by_progress_thread =
            matches!(self.software.submission, Submission::ProgressThread | Submission::Bypass) && self.software.notify_ns > 0.0;
        by_progress_thread.then(|| self.work(rank, false, now, duration(self.software.notify_ns)))
    }

    /// Whether the progress thread of the target performs atomics, not its NIC.
    #[inline]
    pub(crate) fn perform_atomics(&self) -> bool {
        self.software.atomics == Atomics::ProgressThread
    }

    /// Returns when the progress thread of `rank` has served a request that arrives now.
    pub(crate) fn serve(&mut self, now: Instant, rank: Rank) -> Instant {
        self.work(rank, true, now, duration(self.software.serve_ns))
    }

    /// Returns when a progress thread has finished work that was requested at `asked` and takes the time `takes`.
    fn work(&mut self, rank: Rank, serving: bool, asked: Instant, takes: Duration) -> Instant {
        let apart = self.software.serving == Serving::Apart;
        let busy = &mut self.busy[rank.index()][usize::from(serving && apart)];
        *busy = asked.max(*busy) + takes;
        *busy
    }
}

#[cfg(test)]
mod tests {
    use pelago_netsim::Detection;

    use super::*;

    fn progress_threads(software: Software) -> ProgressThreads {
        ProgressThreads { software, own_atomic: Duration::from_nanoseconds(1_000_000), busy: vec![[Instant::ZERO; 2]; 2] }
    }

    fn at(nanoseconds: u64) -> Instant {
        Instant::ZERO + Duration::from_nanoseconds(nanoseconds)
    }

    /// A core without interruptions.
    const ALONE: CoreTime<'_> = CoreTime::QUIET;

    const COSTS: Software = Software {
        submission: Submission::ProgressThread,
        threads: Threads::Many,
        descriptors: Descriptors::Built,
        atomics: Atomics::ProgressThread,
        serving: Serving::Together,
        detection: Detection::Inline,
        spare_cores: 0,
        call_ns: 1.0,
        own_call_ns: 3.0,
        lock_ns: 10.0,
        queue_ns: 100.0,
        notify_ns: 1000.0,
        descriptor_ns: 10_000.0,
        serve_ns: 100_000.0,
        signal_ns: 0.0,
    };

    #[test]
    fn each_step_takes_its_time() {
        let submitted = |software: Software, idle| {
            let submitted = progress_threads(software).submit(at(0), Rank::new(1), ALONE, idle);
            submitted
                .map(|submitted| [submitted.busy, submitted.at.since(Instant::ZERO)].map(|time| time.as_picoseconds() / 1000))
        };
        assert_eq!(submitted(COSTS, true), Some([11, 10_111]));
        assert_eq!(submitted(Software { threads: Threads::One, ..COSTS }, true), Some([1, 10_101]));
        assert_eq!(submitted(Software { descriptors: Descriptors::Prepared, ..COSTS }, true), Some([11, 111]));
        assert_eq!(submitted(Software { submission: Submission::Bypass, ..COSTS }, true), Some([10_011, 10_011]));
        assert_eq!(submitted(Software { submission: Submission::Bypass, ..COSTS }, false), Some([11, 10_111]));
        assert_eq!(submitted(Software { submission: Submission::Direct, ..COSTS }, false), Some([10_011, 10_011]));
        assert_eq!(submitted(Software { submission: Submission::Free, ..COSTS }, false), None);
        assert_eq!(progress_threads(COSTS).notify(at(5), Rank::new(0)), Some(at(1005)));
        assert_eq!(progress_threads(Software { submission: Submission::Direct, ..COSTS }).notify(at(5), Rank::new(0)), None);
    }

    #[test]
    fn atomics_on_own_memory_take_the_time_of_what_performs_them() {
        let submitted = |software: Software, idle| {
            let submitted = progress_threads(software).submit_own(at(0), Rank::new(1), ALONE, idle);
            submitted
                .map(|submitted| [submitted.busy, submitted.at.since(Instant::ZERO)].map(|time| time.as_picoseconds() / 1000))
        };
        assert_eq!(submitted(COSTS, true), Some([13, 113]));
        assert_eq!(submitted(Software { threads: Threads::One, ..COSTS }, true), Some([3, 103]));
        assert_eq!(submitted(Software { submission: Submission::Bypass, ..COSTS }, true), Some([13, 13]));
        assert_eq!(submitted(Software { submission: Submission::Bypass, ..COSTS }, false), Some([13, 113]));
        assert_eq!(submitted(Software { atomics: Atomics::Nic, ..COSTS }, true), Some([11, 1_010_111]));
        assert_eq!(submitted(Software { submission: Submission::Free, ..COSTS }, true), None);
    }

    #[test]
    fn a_detection_thread_on_the_core_of_a_rank_halves_that() {
        let busy = |spare_cores| {
            let software = Software { detection: Detection::Thread, spare_cores, ..COSTS };
            progress_threads(software)
                .submit(at(0), Rank::new(1), ALONE, true)
                .map(|submitted| submitted.busy.as_picoseconds() / 1000)
        };
        assert_eq!([busy(0), busy(1)], [Some(22), Some(11)]);
    }

    #[test]
    fn a_progress_thread_does_one_thing_after_another() {
        let mut together = progress_threads(COSTS);
        assert_eq!(together.serve(at(0), Rank::new(0)), at(100_000));
        assert_eq!(together.submit(at(0), Rank::new(0), ALONE, true).map(|submitted| submitted.at), Some(at(110_100)));
        assert_eq!(together.notify(at(0), Rank::new(1)), Some(at(1000)), "another rank's progress thread has nothing to do");
        let mut apart = progress_threads(Software { serving: Serving::Apart, ..COSTS });
        assert_eq!(apart.serve(at(0), Rank::new(0)), at(100_000));
        assert_eq!(apart.serve(at(0), Rank::new(0)), at(200_000));
        assert_eq!(apart.submit(at(0), Rank::new(0), ALONE, true).map(|submitted| submitted.at), Some(at(10_111)));
    }
}
