//! The end of time, for ranks that would wait for ever.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use pelago_base::Instant;
use pelago_platform::{Clock, Fault, For, Park, Woken, delegate};

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

#[deny(clippy::missing_trait_methods)]
impl Park for Limit {
    delegate! {
        spins yields give_way compute gather called returned waits waited is_crowded line_bytes takes_threads join leave survive lost
    }

    fn park(&self, until: Option<Instant>, ready: &mut dyn FnMut() -> bool) -> Woken {
        self.park_for(For::Anything, until, ready)
    }

    fn park_for(&self, what: For, until: Option<Instant>, ready: &mut dyn FnMut() -> bool) -> Woken {
        if self.is_over() {
            return Woken::Fault(Fault::Aborted);
        }
        let until = until.map_or(self.until, |until| until.min(self.until));
        match self.inner.park_for(what, Some(until), ready) {
            Woken::Look if self.is_over() => Woken::Fault(Fault::Aborted),
            woken => woken,
        }
    }

    fn fault(&self) -> Option<Fault> {
        if self.is_over() { Some(Fault::Aborted) } else { self.inner.fault() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pelago_base::Duration;
    use pelago_netsim::Machine;
    use pelago_simulator::{Computing, Data, Settings, simulate};

    /// What a rank computes and gathers takes the same time with a limit as without.
    #[test]
    fn time_passes_as_without_a_limit() {
        let machine = Machine::bundled("rx200-qdr").unwrap().replace("[node]", "[node]\ngather_ns = 500.0");
        let settings = Settings {
            machine: Machine::parse(&machine).unwrap(),
            ranks: 1,
            per_node: 1,
            seed: 1,
            heap_bytes: 1 << 20,
            stack_bytes: 256 << 10,
            protocol: None,
            data: Data::Real,
            computing: Computing::Declared,
            report: None,
            watch: Arc::default(),
        };
        let [within, without] = [true, false].map(|limited| {
            let outcome = simulate(&settings, |parts| {
                let (clock, late) = (parts.clock.clone(), Arc::default());
                let until = Instant::ZERO + Duration::from_milliseconds(1_000);
                let limit = Arc::new(Limit { inner: parts.park.clone(), clock: clock.clone(), until, late });
                let park = if limited { limit } else { parts.park };
                let begun = clock.now();
                park.gather(1 << 20);
                let gathered = clock.now();
                park.compute(Duration::from_microseconds(3));
                Ok::<_, ()>((gathered.since(begun), clock.now().since(gathered), park.line_bytes()))
            });
            outcome.unwrap().results[0].unwrap().unwrap()
        });
        assert_eq!(within, without);
        assert_eq!(within.0, Duration::from_nanoseconds(500));
    }
}
