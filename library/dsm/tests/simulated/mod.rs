//! Jobs in virtual time, on the library's own protocol.

use std::sync::{Arc, Mutex};

use pelago_base::{Duration, Instant, Rank, SegmentId};
use pelago_memory::Cells;
use pelago_netsim::Machine;
use pelago_platform::{
    Address, Capabilities, Clock, Completion, ConnectError, Endpoint, Operation, PostError, RegisterError, Token, Transport,
};
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
    fn capabilities(&self) -> &Capabilities {
        self.inner.capabilities()
    }

    fn address(&self) -> Address {
        self.inner.address()
    }

    fn connect(&mut self, peer: Rank, address: &Address) -> Result<Endpoint, ConnectError> {
        self.inner.connect(peer, address)
    }

    fn register(&mut self, id: SegmentId, memory: Cells<'static>) -> Result<(), RegisterError> {
        self.inner.register(id, memory)
    }

    fn deregister(&mut self, id: SegmentId) -> bool {
        self.inner.deregister(id)
    }

    fn post(&mut self, now: Instant, to: Endpoint, operation: Operation<'_>, token: Token) -> Result<(), PostError> {
        self.inner.post(now, to, operation, token)?;
        self.noted.lock().unwrap().push(self.clock.now());
        Ok(())
    }

    fn fence(&mut self, to: Endpoint) {
        self.inner.fence(to);
    }

    fn progress(&mut self, now: Instant, completed: &mut Vec<Completion>) -> bool {
        self.inner.progress(now, completed)
    }

    fn next_deadline(&self) -> Option<Instant> {
        self.inner.next_deadline()
    }

    fn before_sleep(&mut self) {
        self.inner.before_sleep();
    }

    fn lose(&mut self, now: Instant, rank: Rank) {
        self.inner.lose(now, rank);
    }
}
