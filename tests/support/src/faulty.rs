//! Jobs in virtual time, on the library's own protocol.
//!
//! Invariant **U1** of `pelago-platform` (`trusted.rs`): the layers here pass operations on, once each, and their completions.
#![allow(unsafe_code)]

use std::cell::{Cell, RefCell};
use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, Mutex};

use pelago_base::{Duration, GlobalAddress, Instant, Rank};
use pelago_netsim::Machine;
use pelago_platform::{
    Clock, Completion, Endpoint, Extensions, Flags, Network, Operation, PostError, Registry, Token, Transport, TrustedTransport,
};
use pelago_rma::{Result, World};
use pelago_simulator::{Computing, Data, FaultInjection, Protocol, Settings, simulate};

/// Time from the failure of a rank to its announcement to all ranks.
const TOLD_AFTER: Duration = Duration::from_microseconds(200);

/// Returns the settings of a job of `ranks` ranks on the bundled machine of paper D, with 1 MiB each, on the library's own protocol with these faults.
pub fn settings(ranks: u32, per_node: u32, faults: FaultInjection) -> Settings {
    Settings {
        machine: Machine::parse(Machine::bundled("rx200-qdr").unwrap()).unwrap(),
        ranks,
        per_node,
        seed: 1,
        heap_bytes: 1 << 20,
        stack_bytes: 256 << 10,
        shared_stack: false,
        protocol: Some(Protocol { faults, encrypt: false, failure_limit: Duration::from_milliseconds(2_000) }),
        data: Data::Real,
        computing: Computing::Declared,
        threads: 1,
        report: None,
        watch: Arc::default(),
    }
}

/// Times at which a rank has posted operations.
pub type Noted = Arc<Mutex<Vec<Instant>>>;

/// Runs a program on all ranks, and records the times at which the ranks of `is_noted` post operations. Returns its results by rank; `None` for ranks that
/// failed.
pub fn run<T>(
    settings: &Settings,
    is_noted: impl Fn(Rank) -> bool,
    program: impl Fn(&World, &Noted) -> Result<T>,
) -> Vec<Option<T>> {
    let outcome = simulate(settings, |parts| -> Result<T> {
        let (mut parts, noted) = (*parts, Noted::default());
        if is_noted(parts.bootstrap.rank()) {
            let inner = parts.transport.into_inner();
            let notes = Notes { inner, clock: parts.clock.clone(), noted: noted.clone() };
            // SAFETY: U1.
            parts.transport = unsafe { TrustedTransport::new(Box::new(notes)) };
        }
        let world = World::new(parts)?;
        let ended = program(&world, &noted)?;
        world.finish()?;
        Ok(ended)
    });
    let outcome = outcome.unwrap();
    assert!(outcome.stuck.is_empty(), "{:?} wait for ever", outcome.stuck);
    outcome.results.into_iter().map(|result| result.map(|ended| ended.unwrap())).collect()
}

/// Like [`run`], with two ranks on each node, of which `victim` fails at a given time or never. Also returns the times at which the victim posted
/// operations after all ranks had called the program's second argument.
pub fn run_with_death<T>(
    ranks: u32,
    faults: FaultInjection,
    (victim, dies): (Rank, Option<Instant>),
    program: impl Fn(&World, &dyn Fn()) -> Result<T>,
) -> (Vec<Instant>, Vec<Option<T>>) {
    run_with_death_noting(victim, ranks, faults, (victim, dies), program)
}

/// Like [`run_with_death`], but returns the times at which the rank `watched` posted operations.
pub fn run_with_death_noting<T>(
    watched: Rank,
    ranks: u32,
    mut faults: FaultInjection,
    (victim, dies): (Rank, Option<Instant>),
    program: impl Fn(&World, &dyn Fn()) -> Result<T>,
) -> (Vec<Instant>, Vec<Option<T>>) {
    faults.announced_after = Some(TOLD_AFTER);
    faults.deaths.extend(dies.map(|at| (victim, at)));
    let (of_watched, begun) = (RefCell::new(Noted::default()), Cell::new(Instant::ZERO));
    let found = run(
        &settings(ranks, 2, faults),
        |rank| rank == watched,
        |world, noted| {
            if world.rank() == watched {
                of_watched.replace(noted.clone());
            }
            program(world, &|| begun.set(begun.get().max(world.now())))
        },
    );
    let noted = of_watched.into_inner();
    let noted = noted.lock().unwrap().iter().copied().filter(|&at| at > begun.get()).collect();
    (noted, found)
}

/// A transport that records the times at which its rank posts operations.
struct Notes {
    inner: Box<dyn Transport>,
    clock: Arc<dyn Clock>,
    noted: Noted,
}

impl Transport for Notes {
    fn network(&mut self) -> &mut dyn Network {
        self.inner.network()
    }

    fn memory(&mut self) -> &mut dyn Registry {
        self.inner.memory()
    }

    fn post(
        &mut self,
        now: Instant,
        to: Endpoint,
        operation: Operation<'_>,
        flags: Flags,
        token: Token,
    ) -> Result<(), PostError> {
        self.inner.post(now, to, operation, flags, token)?;
        self.noted.lock().unwrap().push(self.clock.now());
        Ok(())
    }

    fn flush(&mut self, now: Instant) {
        self.inner.flush(now);
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

    fn extensions(&mut self) -> Option<&mut dyn Extensions> {
        self.inner.extensions()
    }
}

/// Delay of a late operation: longer than any barrier takes.
const LATE: Duration = Duration::from_microseconds(400);

/// Runs a program on all ranks, one on each node. Writes and atomics for which `is_late` holds are delayed, except before a fence, the only order
/// that a transport guarantees. All ranks must succeed.
pub fn run_late(ranks: u32, is_late: fn(&Operation<'_>) -> bool, program: impl Fn(&World) -> Result<()>) {
    let outcome = simulate(&settings(ranks, 1, FaultInjection::default()), |parts| -> Result<()> {
        let mut parts = *parts;
        let inner = parts.transport.into_inner();
        let late = Late { inner, is_late, held: VecDeque::new(), fenced: BTreeSet::new() };
        // SAFETY: U1.
        parts.transport = unsafe { TrustedTransport::new(Box::new(late)) };
        let world = World::new(parts)?;
        program(&world)?;
        world.finish()
    });
    let outcome = outcome.unwrap();
    assert!(outcome.stuck.is_empty(), "{:?} wait for ever", outcome.stuck);
    assert!(outcome.results.iter().all(|ended| *ended == Some(Ok(()))), "{:?}", outcome.results);
}

/// A transport that delays some operations.
struct Late {
    inner: Box<dyn Transport>,
    is_late: fn(&Operation<'_>) -> bool,
    held: VecDeque<(Instant, Endpoint, Kept, Token)>,
    /// Endpoints for which the next post to the inner transport must follow a fence.
    fenced: BTreeSet<Endpoint>,
}

/// A delayed operation.
enum Kept {
    Write(GlobalAddress, Vec<u8>),
    Atomic(Operation<'static>),
}

impl Late {
    /// Posts the delayed operations that leave now.
    fn let_go(&mut self, now: Instant, leaves: impl Fn(Instant, Endpoint) -> bool) {
        for (due, to, kept, token) in std::mem::take(&mut self.held) {
            if !leaves(due, to) {
                self.held.push_back((due, to, kept, token));
                continue;
            }
            let operation = match &kept {
                Kept::Write(to, bytes) => Operation::Write { to: *to, bytes },
                Kept::Atomic(operation) => *operation,
            };
            self.pass(now, to, operation, Flags::NONE, token).expect("there is room");
        }
    }

    fn pass(
        &mut self,
        now: Instant,
        to: Endpoint,
        operation: Operation<'_>,
        flags: Flags,
        token: Token,
    ) -> Result<(), PostError> {
        let flags = Flags { fence: self.fenced.remove(&to), ..flags };
        self.inner.post(now, to, operation, flags, token)
    }
}

impl Transport for Late {
    fn network(&mut self) -> &mut dyn Network {
        self.inner.network()
    }

    fn memory(&mut self) -> &mut dyn Registry {
        self.inner.memory()
    }

    fn post(
        &mut self,
        now: Instant,
        to: Endpoint,
        operation: Operation<'_>,
        flags: Flags,
        token: Token,
    ) -> Result<(), PostError> {
        if flags.fence {
            self.let_go(now, |_, held| held == to);
            self.fenced.insert(to);
        }
        if !(self.is_late)(&operation) {
            return self.pass(now, to, operation, flags, token);
        }
        let kept = match operation {
            Operation::Write { to, bytes } => Kept::Write(to, bytes.to_vec()),
            Operation::Atomic { at, width, operator, operand } => {
                Kept::Atomic(Operation::Atomic { at, width, operator, operand })
            }
            other => return self.pass(now, to, other, flags, token),
        };
        self.held.push_back((now + LATE, to, kept, token));
        Ok(())
    }

    fn flush(&mut self, now: Instant) {
        self.inner.flush(now);
    }

    fn progress(&mut self, now: Instant, completed: &mut Vec<Completion>) -> bool {
        let before = self.held.len();
        self.let_go(now, |due, _| due <= now);
        self.inner.progress(now, completed) || self.held.len() < before
    }

    fn next_deadline(&self) -> Option<Instant> {
        [self.inner.next_deadline(), self.held.front().map(|held| held.0)].into_iter().flatten().min()
    }

    fn before_sleep(&mut self) {
        self.inner.before_sleep();
    }

    fn extensions(&mut self) -> Option<&mut dyn Extensions> {
        self.inner.extensions()
    }
}
