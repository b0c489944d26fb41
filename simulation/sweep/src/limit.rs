//! The end of time, for ranks that would wait for ever.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use pelago_base::Instant;
use pelago_platform::{Clock, Fault, Park, Woken, delegate};

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
    delegate! { spins yields give_way compute is_crowded takes_threads join leave survive lost }

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

    fn fault(&self) -> Option<Fault> {
        if self.is_over() { Some(Fault::Aborted) } else { self.inner.fault() }
    }
}
