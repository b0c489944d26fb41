//! The platform as a simulated rank sees it: a transport, a clock, waiting and a bootstrap.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pelago_base::limits::INJECT_SIZE;
use pelago_base::{Duration, GlobalAddress, Instant, Rank};
use pelago_memory::Region;
use pelago_netsim::{Machine, RailInfo};
use pelago_platform::limits::PUBLISHED_BYTES_MAX;
use pelago_platform::{
    Activity, Address, Bootstrap, BootstrapError, Capabilities, Clock, Completion, ConnectError, Endpoint, Fault, Flags, For,
    Network, Operation, Parts, PostError, Rail, RegisterError, Registry, Token, Transport, TwoSided, VirtualTime, Wait,
    WaitPolicy, Woken,
};

use crate::computing::Meter;
use crate::core::{ASK, Core, LOOK};
use crate::{Computing, Data, Settings, fiber};

const NAME: &str = "simulated";

const BY_NIC: Capabilities = Capabilities {
    name: NAME,
    inject_size: INJECT_SIZE,
    latency: Duration::from_microseconds(1),
    bytes_per_second: 4e9,
    atomics_by_progress_thread: false,
    data_bytes_max: u64::MAX,
};

const BY_PROTOCOL: Capabilities =
    Capabilities { inject_size: pelago_protocol::INJECT_SIZE, atomics_by_progress_thread: true, ..BY_NIC };

/// The longest transfer whose bytes are moved where sizes are simulated: what counts, flags and describes stays real.
const SIZED_BYTES_MAX: u64 = 64;

/// The job, as its ranks share it. Only one of them runs at any time, so that the lock is never waited for; it is never held where a rank
/// stops.
pub(crate) struct Shared {
    core: Mutex<Core>,
    /// Of all rails, where the machine chooses.
    capabilities: Capabilities,
    machine: Machine,
    /// The machine's rails, unless the library's own protocol is simulated, which has one.
    rails: Vec<Capabilities>,
    /// Whether computing takes the time that the program says.
    declared: bool,
    /// Who measures it, if somebody does.
    meter: Option<Mutex<Meter>>,
}

impl Shared {
    pub(crate) fn new(core: Core, settings: &Settings) -> Arc<Self> {
        let meter = match settings.computing {
            Computing::Measured { scale } => Some(Mutex::new(Meter::new(settings.ranks, scale))),
            _ => None,
        };
        let data_bytes_max = if settings.data == Data::Sizes { SIZED_BYTES_MAX } else { u64::MAX };
        let declared = settings.computing == Computing::Declared;
        let (capabilities, mut rails) = match core.stations {
            Some(_) => (BY_PROTOCOL, vec![BY_PROTOCOL]),
            None => (BY_NIC, rails_of(&settings.machine)),
        };
        rails.iter_mut().for_each(|rail| rail.data_bytes_max = data_bytes_max);
        let capabilities = Capabilities { data_bytes_max, ..capabilities };
        let machine = settings.machine.clone();
        Arc::new(Self { core: Mutex::new(core), capabilities, machine, rails, declared, meter })
    }

    pub(crate) fn core(&self) -> MutexGuard<'_, Core> {
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn parts(self: &Arc<Self>, rank: Rank) -> Parts {
        let reach = self.core().memory.reach_of(rank);
        let bootstrap = Box::new(Member { rank, shared: self.clone() });
        let transport = Box::new(End { rank, shared: self.clone() });
        Parts { reach, clock: self.clone(), wait: self.clone(), virtual_time: Some(self.clone()), bootstrap, transport }
    }

    /// Lets time pass for the rank that runs.
    fn pass(&self, duration: Duration) {
        let core = self.core();
        let Some(rank) = core.running else { return };
        let until = core.now() + duration;
        drop(core);
        loop {
            let mut core = self.core();
            // A rank that has several threads is woken before.
            core.sleep(rank, until);
            drop(core);
            fiber::suspend();
            if self.core().now() >= until || self.fault().is_some() {
                return;
            }
        }
    }

    /// Lets the time pass that an operation keeps the rank itself busy, if it does.
    fn stay_busy(&self, duration: Duration) {
        if duration > Duration::ZERO {
            self.pass(duration);
        }
    }

    /// A rank that only looks, or asks for the time, and never waits would stop time.
    fn look_in_vain(&self, what: u32) {
        let mut core = self.core();
        let lasts = core.running.and_then(|rank| core.look_in_vain(rank, what));
        drop(core);
        if let Some(duration) = lasts {
            self.pass(duration);
        }
    }
}

impl Clock for Shared {
    fn now(&self) -> Instant {
        self.entered();
        self.look_in_vain(ASK);
        let now = self.core().now();
        self.left();
        now
    }
}

impl Wait for Shared {
    /// Ranks are coroutines of one thread: looking again changes nothing, and no other thread may use the library. All lines of a rank, each
    /// a word and a value beside it, are a quarter of a page.
    fn policy(&self) -> WaitPolicy {
        WaitPolicy { line_bytes: 16, takes_threads: false, ..WaitPolicy::default() }
    }

    fn park(&self, what: For, until: Option<Instant>, ready: &mut dyn FnMut() -> bool) -> Woken {
        if let Some(fault) = self.fault() {
            return Woken::Fault(fault);
        }
        self.core().attend();
        if ready() {
            return Woken::Look;
        }
        let mut core = self.core();
        let Some(rank) = core.running.filter(|&rank| !core.has_missed(rank)) else { return Woken::Look };
        core.park(rank, until, what);
        drop(core);
        fiber::suspend();
        self.fault().map_or(Woken::Look, Woken::Fault)
    }

    fn yield_now(&self) {
        self.look_in_vain(LOOK);
    }

    fn note(&self, _: Activity) {}

    fn fault(&self) -> Option<Fault> {
        self.core().fault
    }

    fn survive(&self) {
        self.core().survives = true;
    }

    fn lost(&self, known: usize) -> Option<Rank> {
        self.core().losses.get(known).copied()
    }
}

impl VirtualTime for Shared {
    fn compute(&self, duration: Duration) {
        if self.declared {
            self.pass(duration);
        }
    }

    fn gather(&self, bytes: u64) {
        let duration = self.machine.gather(bytes);
        if self.declared && duration > Duration::ZERO {
            self.pass(duration);
        }
    }

    fn entered(&self) {
        let Some(meter) = &self.meter else { return };
        // First of all: what follows is not the program's.
        let steady = std::time::Instant::now();
        let Some(rank) = self.core().running else { return };
        let computed = meter.lock().unwrap_or_else(PoisonError::into_inner).entered(rank, steady);
        if computed > Duration::ZERO {
            self.pass(computed);
        }
    }

    fn left(&self) {
        let Some(meter) = &self.meter else { return };
        let Some(rank) = self.core().running else { return };
        meter.lock().unwrap_or_else(PoisonError::into_inner).left(rank);
    }
}

/// Who takes part, to one rank.
struct Member {
    rank: Rank,
    shared: Arc<Shared>,
}

impl Bootstrap for Member {
    fn rank(&self) -> Rank {
        self.rank
    }

    fn size(&self) -> u32 {
        self.shared.core().size()
    }

    fn publish(&mut self, key: &str, value: &[u8]) -> Result<(), BootstrapError> {
        if key == NAME {
            // Addresses are computed, so that none is kept.
            return Ok(());
        }
        let mut core = self.shared.core();
        let of_rank = core.published.range((self.rank, String::new())..).take_while(|((rank, _), _)| *rank == self.rank);
        let bytes = of_rank.map(|((_, key), value)| key.len() + value.len()).sum::<usize>() + key.len() + value.len();
        if bytes > PUBLISHED_BYTES_MAX {
            return Err(BootstrapError::TooLong(bytes));
        }
        core.published.insert((self.rank, key.into()), value.into());
        Ok(())
    }

    fn lookup(&mut self, rank: Rank, key: &str) -> Result<Vec<u8>, BootstrapError> {
        let core = self.shared.core();
        let missing = || BootstrapError::Missing(rank, key.into());
        match key {
            NAME if rank.number() < core.size() => Ok(address_of(rank).0),
            _ => core.published.get(&(rank, key.into())).cloned().ok_or_else(missing),
        }
    }

    fn barrier(&mut self, meanwhile: &mut dyn FnMut() -> bool) -> Result<(), BootstrapError> {
        self.shared.entered();
        let met = self.meet(meanwhile);
        self.shared.left();
        met
    }

    fn finish(&mut self) {}
}

impl Member {
    fn meet(&self, meanwhile: &mut dyn FnMut() -> bool) -> Result<(), BootstrapError> {
        let mut core = self.shared.core();
        let meetings = core.meetings;
        if core.meet() {
            return Ok(());
        }
        drop(core);
        loop {
            let core = self.shared.core();
            if core.meetings > meetings {
                return Ok(());
            }
            if let Some(fault) = core.fault {
                return Err(fault.into());
            }
            drop(core);
            if !meanwhile() {
                let mut core = self.shared.core();
                if core.meetings == meetings {
                    core.park(self.rank, None, For::Anything);
                    core.ranks[self.rank.index()].meets = true;
                    drop(core);
                    fiber::suspend();
                    self.shared.core().ranks[self.rank.index()].meets = false;
                }
            }
        }
    }
}

/// One rank's end of the simulated network.
struct End {
    rank: Rank,
    shared: Arc<Shared>,
}

impl End {
    /// The endpoint of a peer, by the machine's choice of rails or by one of them.
    fn endpoint(&self, peer: Rank, rail: Option<Rail>) -> Endpoint {
        let row = rail.map_or(0, |rail| rail.number() as u32 + 1);
        Endpoint(row * self.shared.core().size() + peer.number())
    }

    /// What an endpoint stands for.
    fn way(&self, Endpoint(number): Endpoint) -> Result<(Rank, Option<u8>), PostError> {
        let size = self.shared.core().size();
        let (row, peer) = (number / size, Rank::new(number % size));
        match row {
            0 => Ok((peer, None)),
            _ if row as usize <= self.shared.rails.len() => Ok((peer, Some(row as u8 - 1))),
            _ => Err(PostError::Unknown(Endpoint(number))),
        }
    }
}

impl Transport for End {
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
        match operation {
            Operation::Write { bytes, .. } if bytes.len() > self.shared.capabilities.inject_size => {
                return Err(PostError::TooLong(bytes.len()));
            }
            Operation::Sized(_) if self.shared.capabilities.data_bytes_max == u64::MAX => return Err(PostError::Sizes),
            _ => {}
        }
        let way = self.way(to)?;
        let mut core = self.shared.core();
        if flags.fence {
            fiber::outside(|| core.fence(self.rank, way.0));
        }
        let taken = core.pages_taken(self.rank, &operation);
        if taken > Duration::ZERO {
            drop(core);
            self.shared.pass(taken);
            core = self.shared.core();
        }
        let busy = fiber::outside(|| core.post(self.rank, way, operation, token))?;
        drop(core);
        self.shared.stay_busy(busy);
        Ok(())
    }

    /// Outside of a rank whoever looks moves the network by one event.
    fn progress(&mut self, _now: Instant, completed: &mut Vec<Completion>) -> bool {
        let mut core = self.shared.core();
        if fiber::outside(|| core.take_completed(self.rank, completed)) {
            return true;
        }
        if core.running.is_none() {
            return core.step() | core.take_completed(self.rank, completed);
        }
        drop(core);
        self.shared.look_in_vain(LOOK);
        self.shared.core().take_completed(self.rank, completed)
    }

    fn next_deadline(&self) -> Option<Instant> {
        None
    }

    fn two_sided(&mut self) -> Option<&mut dyn TwoSided> {
        // The library's own protocol has none.
        if self.shared.core().stations.is_some() { None } else { Some(self) }
    }

    fn flush(&mut self, _now: Instant) {}

    fn before_sleep(&mut self) {}
}

impl Network for End {
    fn capabilities(&self) -> &Capabilities {
        &self.shared.capabilities
    }

    fn rails(&self) -> &[Capabilities] {
        &self.shared.rails
    }

    fn address(&self) -> Address {
        address_of(self.rank)
    }

    fn rail_to(&mut self, peer: Rank) -> Rail {
        self.shared.core().rail_to(self.rank, peer)
    }

    fn is_reachable(&mut self, rail: Rail, peer: Rank) -> bool {
        rail.number() < self.shared.rails.len() && self.shared.core().leads(rail, self.rank, peer)
    }

    fn connect(&mut self, rail: Option<Rail>, peer: Rank, address: &Address) -> Result<Endpoint, ConnectError> {
        if peer.number() >= self.shared.core().size() {
            return Err(ConnectError::Unreachable(peer));
        }
        if *address != address_of(peer) {
            return Err(ConnectError::Address(address.clone()));
        }
        match rail {
            Some(rail) if !self.is_reachable(rail, peer) => Err(ConnectError::Unreachable(peer)),
            // The machine may choose by size.
            Some(rail) if self.shared.rails.len() > 1 => Ok(self.endpoint(peer, Some(rail))),
            _ => Ok(self.endpoint(peer, None)),
        }
    }

    fn peer_failed(&mut self, _now: Instant, peer: Rank) {
        self.shared.core().lose(self.rank, peer);
    }
}

impl Registry for End {
    fn register(&mut self, start: GlobalAddress, memory: Region<'static>) -> Result<(), RegisterError> {
        let mut core = self.shared.core();
        if let Some(stations) = &mut core.stations {
            return stations.register(self.rank, start, memory);
        }
        core.memory.register(self.rank, start, memory)
    }

    fn deregister(&mut self, start: GlobalAddress) -> bool {
        let mut core = self.shared.core();
        if let Some(stations) = &mut core.stations {
            return stations.deregister(self.rank, start);
        }
        core.memory.deregister(self.rank, start);
        true
    }
}

impl TwoSided for End {
    fn send(&mut self, _now: Instant, to: Endpoint, bytes: &[u8], token: Token) -> Result<(), PostError> {
        let (peer, _) = self.way(to)?;
        let mut core = self.shared.core();
        fiber::outside(|| core.send(self.rank, peer, bytes, token))
    }

    fn take(&mut self) -> Option<(Rank, Box<[u8]>)> {
        let mut core = self.shared.core();
        fiber::outside(|| core.take(self.rank))
    }
}

/// What programs are told of the rails of a machine. One without a network has that of its memory.
fn rails_of(machine: &Machine) -> Vec<Capabilities> {
    let of = |rail: RailInfo| Capabilities {
        name: known(rail.name),
        latency: rail.latency,
        bytes_per_second: rail.bytes_per_second,
        ..BY_NIC
    };
    let rails: Vec<_> = machine.rails().take(Rail::MAX).map(of).collect();
    if rails.is_empty() { vec![BY_NIC] } else { rails }
}

/// A name that lives as long as the process: those of the machines that it simulates, each once.
fn known(name: String) -> &'static str {
    static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = names.get(name.as_str()) {
        return known;
    }
    let name: &'static str = name.leak();
    names.insert(name);
    name
}

fn address_of(rank: Rank) -> Address {
    Address(rank.number().to_le_bytes().into())
}
