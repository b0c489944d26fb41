//! Rank 0 of a job whose other ranks do not exist: a test writes down what its transport is asked for, and says what it answers.

use std::sync::{Arc, Mutex, MutexGuard};

use pelago_base::{AddressLayout, Duration, GlobalAddress, Instant, Rank};
use pelago_memory::{Cells, Mapping, Reach, ReachLayout};
use pelago_platform::{
    Activity, Address, Bootstrap, BootstrapError, Capabilities, Clock, Completion, ConnectError, Endpoint, Failure, Fault, Flags,
    For, Network, Operation, PostError, Rail, RegisterError, Registry, Token, Transport, TwoSided, Wait, WaitPolicy, Woken,
};
use pelago_rma::{Parts, World};

/// Bytes of a heap; a power of two, so that every offset that can be addressed is in it.
pub(crate) const HEAP_BYTES: u64 = 1 << 20;

/// How often a wait looks at once.
pub(crate) const SPINS: u32 = 1000;

/// What a transport was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    /// An operation that it accepted; its endpoint is the number of the rank, and ten or twenty more by the rail that was named.
    Post(u32),
    Fence(u32),
}

/// A transport that does nothing by itself.
#[derive(Default)]
pub(crate) struct Script {
    pub(crate) calls: Vec<Call>,
    /// The tokens of accepted operations, and the addresses that they were posted for.
    posted: Vec<(Token, GlobalAddress)>,
    /// Answer `Full` so many times.
    pub(crate) refusals: usize,
    /// Complete every operation at the next progress.
    pub(crate) completes: bool,
    /// Let every operation fail, one with each progress.
    pub(crate) denies: bool,
    completions: Vec<Completion>,
    pub(crate) progressed: u32,
    /// Whether it was told of a sleep since it last made progress.
    sleeps: bool,
}

impl Script {
    /// Completes the `index`-th operation of all that were accepted.
    pub(crate) fn complete(&mut self, index: usize, result: Result<u64, Failure>) {
        self.completions.push(Completion { token: self.posted[index].0, result });
    }

    /// The addresses of all operations that were accepted: of the target, or of the source of a get or a copy.
    pub(crate) fn posted(&self) -> impl ExactSizeIterator<Item = GlobalAddress> {
        self.posted.iter().map(|&(_, at)| at)
    }

    /// Their tokens.
    pub(crate) fn tokens(&self) -> impl ExactSizeIterator<Item = Token> {
        self.posted.iter().map(|&(token, _)| token)
    }
}

/// Rank 0 of a job of `size` ranks, of which it reaches none but itself by loads and stores, with a transport that is shared with the
/// test.
pub(crate) fn lone(size: u32) -> (World, Arc<Mutex<Script>>) {
    let addresses = AddressLayout::new(size, HEAP_BYTES).unwrap();
    let layout = ReachLayout { addresses, first: Rank::new(0), count: 1, controls: 4096, control_bytes: 128, heaps: 8192 };
    let script = Arc::new(Mutex::new(Script::default()));
    let parts = Parts {
        reach: Reach::new(Arc::new(Mapping::private(layout.bytes() as usize).unwrap()), layout),
        clock: Arc::new(Still),
        wait: Arc::new(Restless(script.clone())),
        virtual_time: None,
        bootstrap: Box::new(First(size)),
        transport: Box::new(Scripted(script.clone())),
    };
    (World::new(parts).unwrap(), script)
}

/// Two, of which the second is three times as fast.
const RAILS: [Capabilities; 2] = {
    let slow = Capabilities {
        name: "scripted",
        write_bytes_max: 64,
        latency: Duration::from_nanoseconds(1),
        bytes_per_second: 1e9,
        atomics_by_agent: false,
        data_bytes_max: u64::MAX,
    };
    [slow, Capabilities { bytes_per_second: 3e9, ..slow }]
};

/// No rail that is named leads to this rank.
pub(crate) const ALONE: Rank = Rank::new(2);

struct Scripted(Arc<Mutex<Script>>);

impl Scripted {
    fn script(&self) -> MutexGuard<'_, Script> {
        self.0.lock().unwrap()
    }
}

impl Transport for Scripted {
    fn network(&mut self) -> &mut dyn Network {
        self
    }

    fn memory(&mut self) -> &mut dyn Registry {
        self
    }

    fn post(
        &mut self,
        _now: Instant,
        to: Endpoint,
        operation: Operation<'_>,
        flags: Flags,
        token: Token,
    ) -> Result<(), PostError> {
        let mut script = self.script();
        if flags.fence && !script.completes {
            script.calls.push(Call::Fence(to.0));
        }
        if let Some(left) = script.refusals.checked_sub(1) {
            script.refusals = left;
            return Err(PostError::Full);
        }
        let at = match operation {
            Operation::Write { to, .. } | Operation::Put { to, .. } => to,
            Operation::Get { from, .. } | Operation::Copy { from, .. } => from,
            Operation::Atomic { at, .. } => at,
            Operation::Sized(_) => return Err(PostError::Sizes),
        };
        script.posted.push((token, at));
        if script.denies {
            let last = script.posted.len() - 1;
            script.complete(last, Err(Failure::OutOfBounds(GlobalAddress::NULL)));
        } else if script.completes {
            let last = script.posted.len() - 1;
            script.complete(last, Ok(0));
            script.posted.pop();
        } else {
            script.calls.push(Call::Post(to.0));
        }
        Ok(())
    }

    fn progress(&mut self, _now: Instant, completed: &mut Vec<Completion>) -> bool {
        let mut script = self.script();
        script.progressed += 1;
        script.sleeps = false;
        let due = if script.denies { script.completions.len().min(1) } else { script.completions.len() };
        completed.extend(script.completions.drain(..due));
        !completed.is_empty()
    }

    fn next_deadline(&self) -> Option<Instant> {
        None
    }

    fn before_sleep(&mut self) {
        self.script().sleeps = true;
    }

    fn flush(&mut self, _now: Instant) {}

    fn two_sided(&mut self) -> Option<&mut dyn TwoSided> {
        None
    }
}

impl Network for Scripted {
    fn capabilities(&self) -> &Capabilities {
        const { &RAILS[0] }
    }

    fn rails(&self) -> &[Capabilities] {
        &RAILS
    }

    fn address(&self) -> Address {
        Address(Vec::new())
    }

    fn is_reachable(&mut self, rail: Rail, peer: Rank) -> bool {
        rail.number() < RAILS.len() && peer != ALONE
    }

    fn connect(&mut self, rail: Option<Rail>, peer: Rank, _address: &Address) -> Result<Endpoint, ConnectError> {
        let row = rail.map_or(0, |rail| rail.number() as u32 + 1);
        Ok(Endpoint(10 * row + peer.number()))
    }
}

impl Registry for Scripted {
    fn register(&mut self, _start: GlobalAddress, _memory: Cells<'static>) -> Result<(), RegisterError> {
        Ok(())
    }

    fn deregister(&mut self, _start: GlobalAddress) -> bool {
        true
    }
}

struct Still;

impl Clock for Still {
    fn now(&self) -> Instant {
        Instant::ZERO
    }
}

struct Restless(Arc<Mutex<Script>>);

impl Wait for Restless {
    fn policy(&self) -> WaitPolicy {
        WaitPolicy { spins: SPINS, yields: SPINS, ..WaitPolicy::default() }
    }

    fn park(&self, _what: For, _until: Option<Instant>, ready: &mut dyn FnMut() -> bool) -> Woken {
        if ready() {
            return Woken::Look;
        }
        assert!(self.0.lock().unwrap().sleeps, "whoever sleeps says so to the transport");
        // Nothing would ever wake it.
        Woken::Fault(Fault::Deadlock)
    }

    fn yield_now(&self) {}

    fn note(&self, _activity: Activity) {}

    fn fault(&self) -> Option<Fault> {
        None
    }

    fn survive(&self) {}

    fn lost(&self, _known: usize) -> Option<Rank> {
        None
    }
}

/// Rank 0 of so many. Of other hosts, nothing but the addresses for the transport is to be found.
struct First(u32);

impl Bootstrap for First {
    fn rank(&self) -> Rank {
        Rank::new(0)
    }

    fn size(&self) -> u32 {
        self.0
    }

    fn publish(&mut self, _key: &str, _value: &[u8]) -> Result<(), BootstrapError> {
        Ok(())
    }

    fn lookup(&mut self, rank: Rank, key: &str) -> Result<Vec<u8>, BootstrapError> {
        match (key, self.0) {
            ("scripted", _) => Ok(Vec::new()),
            ("barrier", 1) => Ok(vec![0]),
            _ => Err(BootstrapError::Missing(rank, key.into())),
        }
    }

    fn barrier(&mut self, _meanwhile: &mut dyn FnMut() -> bool) -> Result<(), BootstrapError> {
        Ok(())
    }

    fn finish(&mut self) {}
}
