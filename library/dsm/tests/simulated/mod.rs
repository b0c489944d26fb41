//! Jobs in virtual time, on the library's own protocol.

use std::sync::{Arc, Mutex};

use pelago_base::{Duration, Instant};
use pelago_netsim::Machine;
use pelago_platform::{Clock, Endpoint, Operation, PostError, Token, Transport, delegate};
use pelago_simulator::{Computing, Data, Faults, Protocol, Settings};

/// How long after a death all are told, where ranks die.
#[allow(dead_code)]
pub(crate) const TOLD_AFTER: Duration = Duration::from_microseconds(200);

pub(crate) fn settings(ranks: u32, per_node: u32, faults: Faults) -> Settings {
    Settings {
        machine: Machine::parse(Machine::bundled("rx200-qdr").unwrap()).unwrap(),
        ranks,
        per_node,
        seed: 1,
        heap_bytes: 1 << 20,
        stack_bytes: 256 << 10,
        protocol: Some(Protocol { faults, encrypt: false, failure_limit: Duration::from_milliseconds(2_000) }),
        data: Data::Real,
        computing: Computing::Declared,
        report: None,
        stop: Arc::default(),
    }
}

/// Notes when its rank asks for something.
pub(crate) struct Notes {
    inner: Box<dyn Transport>,
    clock: Arc<dyn Clock>,
    noted: Arc<Mutex<Vec<Instant>>>,
}

impl Notes {
    pub(crate) fn of(inner: Box<dyn Transport>, clock: Arc<dyn Clock>, noted: Arc<Mutex<Vec<Instant>>>) -> Self {
        Self { inner, clock, noted }
    }
}

impl Transport for Notes {
    delegate! { capabilities address connect register deregister fence progress next_deadline before_sleep lose }

    fn post(&mut self, now: Instant, to: Endpoint, operation: Operation<'_>, token: Token) -> Result<(), PostError> {
        self.inner.post(now, to, operation, token)?;
        self.noted.lock().unwrap().push(self.clock.now());
        Ok(())
    }
}
