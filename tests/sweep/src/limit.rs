//! The limit of virtual time, for ranks that would wait forever.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use pelago_base::{Counters, Event, Instant, Rank};
use pelago_platform::{Activity, Clock, Fault, For, Wait, WaitPolicy, Woken};

/// Waits like the inner wait until the time limit. Then it aborts the job, and sets `late`. A peer may count as lost before, once operations have failed.
pub(crate) struct Limit {
    pub(crate) inner: Arc<dyn Wait>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) until: Instant,
    pub(crate) late: Arc<AtomicBool>,
    /// A rank that counts as lost once operations of the rank with a broken connection have failed.
    pub(crate) lost: Option<(Rank, Arc<BrokenCounters>)>,
}

/// The counters of the transport with a broken connection, once it exists.
pub(crate) type BrokenCounters = OnceLock<Arc<Mutex<Counters>>>;

/// Returns the number of operations that have failed.
pub(crate) fn failed(counters: &BrokenCounters) -> u64 {
    counters.get().map_or(0, |counters| counters.lock().unwrap_or_else(PoisonError::into_inner).of(Event::Failed))
}

impl Limit {
    fn own_fault(&self) -> Option<Fault> {
        if self.is_over() {
            return Some(Fault::Aborted);
        }
        self.lost.as_ref().filter(|(_, counters)| failed(counters) > 0).map(|(rank, _)| Fault::PeerLost(*rank))
    }

    fn is_over(&self) -> bool {
        // A failed rank is unwound at the end of the job, at any time.
        let over = self.clock.now() >= self.until && !std::thread::panicking();
        if over {
            self.late.store(true, Ordering::Relaxed);
        }
        over
    }
}

impl Wait for Limit {
    fn policy(&self) -> WaitPolicy {
        self.inner.policy()
    }

    fn park(&self, what: For, until: Option<Instant>, ready: &mut dyn FnMut() -> bool) -> Woken {
        if let Some(fault) = self.own_fault() {
            return Woken::Fault(fault);
        }
        let until = until.map_or(self.until, |until| until.min(self.until));
        match self.inner.park(what, Some(until), ready) {
            Woken::Look if self.is_over() => Woken::Fault(Fault::Aborted),
            woken => woken,
        }
    }

    fn yield_now(&self) -> bool {
        self.inner.yield_now()
    }

    fn note(&self, activity: Activity) {
        self.inner.note(activity);
    }

    fn fault(&self) -> Option<Fault> {
        self.own_fault().or_else(|| self.inner.fault())
    }

    fn tolerate_peer_failures(&self) {
        self.inner.tolerate_peer_failures();
    }

    fn failed_peer(&self, known: usize) -> Option<Rank> {
        self.inner.failed_peer(known)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pelago_base::Duration;
    use pelago_netsim::Machine;
    use pelago_simulator::{Computing, Data, Settings, simulate};

    /// A rank that no other rank wakes.
    #[test]
    fn a_wait_ends_when_the_time_has_come() {
        let settings = Settings {
            machine: Machine::parse(Machine::bundled("rx200-qdr").unwrap()).unwrap(),
            ranks: 1,
            per_node: 1,
            seed: 1,
            heap_bytes: 1 << 20,
            stack_bytes: 256 << 10,
            shared_stack: false,
            protocol: None,
            data: Data::Real,
            computing: Computing::Declared,
            threads: 1,
            report: None,
            watch: Arc::default(),
        };
        let until = Instant::ZERO + Duration::from_milliseconds(1);
        let outcome = simulate(&settings, |parts| {
            let (clock, late) = (parts.clock, Arc::default());
            let limit = Limit { inner: parts.wait, clock: clock.clone(), until, late: Arc::clone(&late), lost: None };
            assert_eq!((limit.fault(), late.load(Ordering::Relaxed)), (None, false));
            let woken = limit.park(For::Anything, None, &mut || false);
            Ok::<_, ()>((woken, clock.now(), limit.fault(), late.load(Ordering::Relaxed)))
        });
        let aborted = Fault::Aborted;
        assert_eq!(outcome.unwrap().results[0], Some(Ok((Woken::Fault(aborted), until, Some(aborted), true))));
    }
}
