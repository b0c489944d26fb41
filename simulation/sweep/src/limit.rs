//! The end of time, for ranks that would wait for ever.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use pelago_base::{Duration, Instant, Rank};
use pelago_platform::{Clock, Fault, Park, Woken};

/// Waits as another does, until the time has come: then the job is aborted, and `late` says so.
pub(crate) struct Limit {
    pub(crate) inner: Arc<dyn Park>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) until: Instant,
    pub(crate) late: Arc<AtomicBool>,
}

impl Limit {
    fn is_over(&self) -> bool {
        let over = self.clock.now() >= self.until;
        if over {
            self.late.store(true, Ordering::Relaxed);
        }
        over
    }
}

impl Park for Limit {
    fn park(&self, until: Option<Instant>, ready: &mut dyn FnMut() -> bool) -> Woken {
        if self.is_over() {
            return Woken::Fault(Fault::Aborted);
        }
        let until = until.map_or(self.until, |until| until.min(self.until));
        match self.inner.park(Some(until), ready) {
            Woken::Look if self.is_over() => Woken::Fault(Fault::Aborted),
            woken => woken,
        }
    }

    fn spins(&self) -> u32 {
        self.inner.spins()
    }

    fn yields(&self) -> u32 {
        self.inner.yields()
    }

    fn give_way(&self) {
        self.inner.give_way();
    }

    fn compute(&self, duration: Duration) {
        self.inner.compute(duration);
    }

    fn is_crowded(&self) -> bool {
        self.inner.is_crowded()
    }

    fn takes_threads(&self) -> bool {
        self.inner.takes_threads()
    }

    fn join(&self) {
        self.inner.join();
    }

    fn leave(&self) {
        self.inner.leave();
    }

    fn fault(&self) -> Option<Fault> {
        if self.is_over() { Some(Fault::Aborted) } else { self.inner.fault() }
    }

    fn survive(&self) {
        self.inner.survive();
    }

    fn lost(&self, known: usize) -> Option<Rank> {
        self.inner.lost(known)
    }
}
