//! What the machine's description says that a communication library does with cores: the work of calls, and of progress threads that hand
//! operations to the NIC, learn of their end, and serve other ranks.
//!
//! A progress thread does one thing after another. What its rank asks for and what others ask of it wait for each other, unless serving is another
//! progress thread's.

use pelago_base::{Duration, Instant, Rank};
use pelago_netsim::{Atomics, Descriptors, Machine, Operation as Message, Serving, Software, Threads, Way};

use crate::core::{Core, FOR_SERVED, FOR_TOLD, IS_ANSWER};
use crate::work::Work;

/// Bytes of a put that asks a progress thread for an atomic, and of its answer.
pub(crate) const QUESTION_BYTES: u64 = 32;
pub(crate) const ANSWER_BYTES: u64 = 8;

/// The progress threads of all ranks, and what they and calls take.
pub(crate) struct ProgressThreads {
    software: Software,
    /// Until when each is at work: the one that orders, and the one that serves, which may be the same.
    busy: Vec<[Instant; 2]>,
}

/// What it takes until a NIC hears of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Beginning {
    /// For how long whoever asks can do nothing else.
    pub(crate) busy: Duration,
    /// When the NIC hears of it.
    pub(crate) at: Instant,
}

fn duration(nanoseconds: f64) -> Duration {
    Duration::from_picoseconds((nanoseconds * 1e3).round() as u64)
}

impl ProgressThreads {
    pub(crate) fn of(machine: &Machine, ranks: u32) -> Self {
        let software = machine.software().clone();
        let count = if software.way == Way::Free && software.atomics == Atomics::Nic { 0 } else { ranks as usize };
        Self { software, busy: vec![[Instant::ZERO; 2]; count] }
    }

    /// What it takes to begin an operation of `rank`; `idle`, if nothing else of it is under way. `None` if it takes nothing.
    pub(crate) fn begin(&mut self, now: Instant, rank: Rank, idle: bool) -> Option<Beginning> {
        let Software { way, threads, descriptors, .. } = self.software;
        let descriptor = match descriptors {
            Descriptors::Prepared => Duration::ZERO,
            Descriptors::Built => duration(self.software.descriptor_ns),
        };
        let lock = match threads {
            Threads::One => Duration::ZERO,
            Threads::Many => duration(self.software.lock_ns),
        };
        let mut busy = duration(self.software.call_ns) + lock;
        match way {
            Way::Free => None,
            Way::ProgressThread | Way::Bypass if way == Way::ProgressThread || !idle => {
                let at = self.work(rank, false, now + busy, duration(self.software.queue_ns) + descriptor);
                Some(Beginning { busy, at })
            }
            Way::Direct | Way::ProgressThread | Way::Bypass => {
                busy = busy + descriptor;
                Some(Beginning { busy, at: now + busy })
            }
        }
    }

    /// When `rank` knows that an operation has ended; `None` if it does at once.
    pub(crate) fn notify(&mut self, now: Instant, rank: Rank) -> Option<Instant> {
        let is_told = matches!(self.software.way, Way::ProgressThread | Way::Bypass) && self.software.notify_ns > 0.0;
        is_told.then(|| self.work(rank, false, now, duration(self.software.notify_ns)))
    }

    /// Whether progress threads are asked for anything.
    pub(crate) fn serve_others(&self) -> bool {
        self.software.atomics == Atomics::ProgressThread
    }

    /// Whether a progress thread is asked for this work, and not a NIC.
    pub(crate) fn perform(&self, work: &Work) -> bool {
        self.serve_others() && matches!(work, Work::Atomic { .. })
    }

    /// When the progress thread of `rank` has done what it is asked for now.
    pub(crate) fn serve(&mut self, now: Instant, rank: Rank) -> Instant {
        self.work(rank, true, now, duration(self.software.serve_ns))
    }

    /// When a progress thread that is asked at `asked` has worked for so long.
    fn work(&mut self, rank: Rank, serving: bool, asked: Instant, takes: Duration) -> Instant {
        let apart = self.software.serving == Serving::Apart;
        let busy = &mut self.busy[rank.index()][usize::from(serving && apart)];
        *busy = asked.max(*busy) + takes;
        *busy
    }
}

/// What progress threads and NICs do with an operation.
impl Core {
    /// The NIC hears of an operation that calls and progress threads have prepared.
    pub(crate) fn hand_over(&mut self, number: u32) {
        let pending = self.operations.get(number);
        let (me, rail) = (u32::from(pending.rank), pending.rail);
        let message = self.message(me, &pending.work);
        self.network.post_by(rail, me, message, u64::from(number));
    }

    /// Whether an operation is done by the progress thread of its target, not by a NIC.
    pub(crate) fn is_asked_of_progress_thread(&self, number: u32) -> bool {
        self.progress_threads.serve_others() && self.progress_threads.perform(&self.operations.get(number).work)
    }

    /// What asks a progress thread has come to it.
    pub(crate) fn ask_progress_thread(&mut self, number: u32) {
        let target = self.operations.get(number).work.target(&self.memory);
        let at = self.progress_threads.serve(self.network.now(), target);
        self.network.wake_at(at, target.number(), FOR_SERVED | u64::from(number));
    }

    /// A progress thread answers whoever has asked it for an operation.
    pub(crate) fn answer(&mut self, number: u32) {
        let (rank, target) = self.pair(self.operations.get(number));
        let [from, to] = [target, rank].map(|rank| rank / self.per_node);
        self.network.post(target, Message::Put { from, to, bytes: ANSWER_BYTES }, IS_ANSWER | u64::from(number));
    }

    /// Either a progress thread's answer has come, or the NIC knows that what asked for it has arrived; with both, the operation is over.
    pub(crate) fn hear_of_progress_thread(&mut self, number: u32) {
        if std::mem::replace(&mut self.operations.get_mut(number).heard, true) {
            self.learn(number);
        }
    }

    /// An operation is over: its rank knows, when its progress thread does not have to tell first.
    pub(crate) fn learn(&mut self, number: u32) {
        let rank = self.operations.get(number).rank;
        match self.progress_threads.notify(self.network.now(), rank) {
            Some(at) => self.network.wake_at(at, rank.number(), FOR_TOLD | u64::from(number)),
            None => self.end(number, None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn progress_threads(software: Software) -> ProgressThreads {
        ProgressThreads { software, busy: vec![[Instant::ZERO; 2]; 2] }
    }

    fn at(nanoseconds: u64) -> Instant {
        Instant::ZERO + Duration::from_nanoseconds(nanoseconds)
    }

    const COSTS: Software = Software {
        way: Way::ProgressThread,
        threads: Threads::Many,
        descriptors: Descriptors::Built,
        atomics: Atomics::ProgressThread,
        serving: Serving::Together,
        call_ns: 1.0,
        lock_ns: 10.0,
        queue_ns: 100.0,
        notify_ns: 1000.0,
        descriptor_ns: 10_000.0,
        serve_ns: 100_000.0,
    };

    #[test]
    fn each_step_takes_its_time() {
        let begun = |software: Software, idle| {
            let begun = progress_threads(software).begin(at(0), Rank::new(1), idle);
            begun.map(|begun| [begun.busy, begun.at.since(Instant::ZERO)].map(|time| time.as_picoseconds() / 1000))
        };
        assert_eq!(begun(COSTS, true), Some([11, 10_111]));
        assert_eq!(begun(Software { threads: Threads::One, ..COSTS }, true), Some([1, 10_101]));
        assert_eq!(begun(Software { descriptors: Descriptors::Prepared, ..COSTS }, true), Some([11, 111]));
        assert_eq!(begun(Software { way: Way::Bypass, ..COSTS }, true), Some([10_011, 10_011]));
        assert_eq!(begun(Software { way: Way::Bypass, ..COSTS }, false), Some([11, 10_111]));
        assert_eq!(begun(Software { way: Way::Direct, ..COSTS }, false), Some([10_011, 10_011]));
        assert_eq!(begun(Software { way: Way::Free, ..COSTS }, false), None);
        assert_eq!(progress_threads(COSTS).notify(at(5), Rank::new(0)), Some(at(1005)));
        assert_eq!(progress_threads(Software { way: Way::Direct, ..COSTS }).notify(at(5), Rank::new(0)), None);
    }

    #[test]
    fn a_progress_thread_does_one_thing_after_another() {
        let mut together = progress_threads(COSTS);
        assert_eq!(together.serve(at(0), Rank::new(0)), at(100_000));
        assert_eq!(together.begin(at(0), Rank::new(0), true).map(|begun| begun.at), Some(at(110_100)));
        assert_eq!(together.notify(at(0), Rank::new(1)), Some(at(1000)), "another rank's progress thread has nothing to do");
        let mut apart = progress_threads(Software { serving: Serving::Apart, ..COSTS });
        assert_eq!(apart.serve(at(0), Rank::new(0)), at(100_000));
        assert_eq!(apart.serve(at(0), Rank::new(0)), at(200_000));
        assert_eq!(apart.begin(at(0), Rank::new(0), true).map(|begun| begun.at), Some(at(10_111)));
    }
}
