//! The transport between ranks that reach each other by a fabric.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use pelago_base::{AddressLayout, Duration, GlobalAddress, Instant, Rank};
use pelago_memory::Region;
use pelago_platform::{
    Address, Capabilities, Completion, ConnectError, DeviceAccess, Endpoint, Extensions, Flags, Network, Operation, PostError,
    Rail, RegisterError, Registry, Token, Transport,
};

use crate::engine::Engine;
use crate::fabric::{FabricChoice, FabricError, FabricName, Port};
use crate::limits::{LIST_BLOCKS_MAX, PACKED_BLOCK_BYTES_MAX, SIGNALLED_BYTES_MIN};
use crate::progress_thread::{ProgressThread, Shared};

/// Parameters of the transport of a rank.
pub struct Setup {
    /// The rank.
    pub me: Rank,
    /// Division of the job's global addresses into rank, segment and offset.
    pub layout: AddressLayout,
    /// The fabrics to use.
    pub fabric: FabricChoice,
    /// Address of the interface to use if a provider has several; `None` selects the first.
    pub interface: Option<IpAddr>,
    /// Returns the published address of a rank, if any: copies may go to ranks that this one has not connected to.
    pub find: Box<dyn Fn(Rank) -> Option<Address> + Send>,
    /// Called when the rank, if it sleeps, should poll: an operation completed, or a peer wrote to its memory.
    pub wake: Box<dyn Fn() + Send + Sync>,
    /// Called with each rank that the provider could not reach although this rank needed it.
    pub lost: Box<dyn Fn(Rank) + Send + Sync>,
    /// Whether a progress thread serves peers while the rank computes or sleeps. Without it the rank serves them when it makes progress.
    pub progress_thread: bool,
    /// Whether this rank may have device memory: providers are then asked for a fabric that accesses it directly.
    pub devices: bool,
    /// Whether this host has more ranks than cores: then the progress thread of a sleeping rank soon leaves the core to others.
    pub is_oversubscribed: bool,
}

/// Name of the transport, under which ranks also publish their addresses.
pub const NAME: &str = "ofi";

/// Costs of operations over sockets, the only provider that was measured. Cores of the target perform atomics, because atomics of a fabric and
/// of cores do not exclude each other; a write wakes its target only if it notifies; no post needs the current time.
const CAPABILITIES: Capabilities = Capabilities {
    latency: Duration::from_microseconds(20),
    bytes_per_second: 2e9,
    wakes_target: false,
    keeps_time: true,
    blocks_max: LIST_BLOCKS_MAX,
    block_bytes_max: PACKED_BLOCK_BYTES_MAX,
    signalled_bytes_min: SIGNALLED_BYTES_MIN,
    ..Capabilities::of(NAME)
};

/// Size in bytes from which on the progress thread drives an operation from its beginning, even while the rank polls: waking the thread takes a hundredth of
/// the transfer time. It drives shorter ones when the rank has not polled for [`EXCUSE_MICROSECONDS_MAX`](crate::limits::EXCUSE_MICROSECONDS_MAX).
const LONG_BYTES: u64 = 4 << 20;

/// The transport between ranks that reach each other by a fabric.
///
/// Each domain of the fabric is a rail for puts and gets; all messages use the first rail. Puts and gets of host memory, and of device memory that is
/// registered with the fabric ([`DeviceAccess::Registered`]), are accesses of the fabric. All other operations are requests to the owner, which performs
/// them inside [`progress`](Transport::progress), or by its progress thread.
pub struct Ofi {
    /// The first field, so that the thread ends before the state that it shares is dropped.
    progress_thread: Option<ProgressThread>,
    pub(crate) shared: Arc<Shared>,
    capabilities: Capabilities,
    rails: Vec<Capabilities>,
    address: Address,
    fabric: FabricName,
}

impl Ofi {
    /// Creates the transport of a rank. The library may search for devices for a second.
    ///
    /// # Errors
    /// The library is missing, no fabric has the required capabilities, or the system refuses a resource.
    pub fn new(setup: Setup) -> Result<Self, FabricError> {
        Self::open(setup, false)
    }

    /// As `new`; with `seeks`, the caller obtains the addresses that `find` does not know.
    pub(crate) fn open(setup: Setup, seeks: bool) -> Result<Self, FabricError> {
        let Setup { me, layout, fabric, interface, find, wake, lost, progress_thread, devices, is_oversubscribed } = setup;
        let system = |error: &dyn std::error::Error| FabricError::System(error.to_string());
        let mut nonce = [0; 8];
        rustix::rand::getrandom(&mut nonce, rustix::rand::GetRandomFlags::empty()).map_err(|error| system(&error))?;
        let ports = Port::open(&fabric, interface, devices)?;
        let message_bytes_max = ports.iter().map(Port::message_bytes_max).min().unwrap_or(0);
        let device_memory = ports[0].device_access();
        let rail = |port: &Port| Capabilities {
            name: known(port.fabric_name()),
            keys: port.keys(),
            message_bytes_max,
            device_memory,
            ..CAPABILITIES
        };
        let rails: Vec<_> = ports.iter().map(rail).collect();
        let capabilities = Capabilities { name: NAME, ..rails[0] };
        let (version, keys) = (ports[0].version(), ports[0].keys());
        let fabric = FabricName { version, keys, device_memory, rails: rails.iter().map(|rail| rail.name.to_owned()).collect() };
        let engine = Engine::new(ports, me, layout, u64::from_ne_bytes(nonce), find, seeks);
        let address = engine.address();
        let shared = Arc::new(Shared::new(engine, wake, lost, is_oversubscribed));
        let progress_thread = progress_thread.then(|| ProgressThread::start(shared.clone())).transpose();
        let progress_thread = progress_thread.map_err(|error| system(&error))?;
        Ok(Self { progress_thread, shared, capabilities, rails, address, fabric })
    }

    /// Records in all capabilities how the fabric accesses device memory.
    fn show_devices(&mut self, access: DeviceAccess) {
        for shown in self.rails.iter_mut().chain([&mut self.capabilities]) {
            shown.device_memory = access;
        }
    }

    /// The selected fabrics, one for each rail.
    pub fn fabric(&self) -> &FabricName {
        &self.fabric
    }
}

/// Makes a name live for the rest of the process. Each name is stored once: the fabrics of a machine have few.
fn known(name: String) -> &'static str {
    static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(&known) = names.get(&name[..]) {
        return known;
    }
    let known = &*name.leak();
    names.insert(known);
    known
}

impl Transport for Ofi {
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
        let is_long = match operation {
            Operation::Put { from, .. } => from.bytes() as u64 >= LONG_BYTES,
            Operation::Get { to, .. } => to.bytes() as u64 >= LONG_BYTES,
            _ => false,
        };
        let mut engine = self.shared.lock();
        let had_unsent = engine.has_unsent();
        let posted = engine.post(to, operation, flags, token);
        let is_left_over = engine.has_unsent() && !had_unsent;
        drop(engine);
        // The progress thread sends a long transfer piece by piece, even if the rank computes from now on.
        if let Some(thread) = self.progress_thread.as_ref().filter(|_| is_left_over || is_long) {
            thread.call();
        }
        posted
    }

    fn flush(&mut self, _now: Instant) {
        let mut engine = self.shared.lock();
        let had_unsent = engine.has_unsent();
        engine.release();
        let is_left_over = engine.has_unsent() && !had_unsent;
        drop(engine);
        self.progress_thread.iter().filter(|_| is_left_over).for_each(ProgressThread::call);
    }

    fn progress(&mut self, _now: Instant, completed: &mut Vec<Completion>) -> bool {
        self.shared.attend();
        let mut engine = self.shared.lock();
        let moved = engine.drive();
        let (news, losses) = (engine.take_news(), engine.take_losses());
        let any = engine.fetch_completed(completed);
        drop(engine);
        // Another thread of this rank may sleep until these completions or writes.
        self.shared.tell(news, losses);
        moved || any
    }

    fn next_deadline(&self) -> Option<Instant> {
        None
    }

    fn before_sleep(&mut self) {
        if let Some(thread) = &self.progress_thread {
            thread.before_sleep();
        }
    }

    fn extensions(&mut self) -> Option<&mut dyn Extensions> {
        None
    }
}

impl Network for Ofi {
    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn rails(&self) -> &[Capabilities] {
        &self.rails
    }

    fn address(&self) -> Address {
        self.address.clone()
    }

    /// Every rail counts as reachable for every peer: accesses that a domain cannot perform use the first rail.
    fn is_reachable(&mut self, rail: Rail, _peer: Rank) -> bool {
        rail.number() < self.rails.len()
    }

    fn connect(&mut self, rail: Option<Rail>, peer: Rank, address: &Address) -> Result<Endpoint, ConnectError> {
        if rail.is_some_and(|rail| !self.is_reachable(rail, peer)) {
            return Err(ConnectError::Unreachable(peer));
        }
        self.shared.lock().connect(peer, rail.unwrap_or(Rail::FIRST), address)
    }

    fn peer_failed(&mut self, _now: Instant, peer: Rank) {
        self.shared.lock().peer_failed(peer);
        self.shared.tell(true, Vec::new());
    }
}

impl Registry for Ofi {
    fn register(&mut self, start: GlobalAddress, memory: Region<'static>) -> Result<(), RegisterError> {
        let mut engine = self.shared.lock();
        let (registered, access) = (engine.register(start, memory), engine.device_access());
        drop(engine);
        self.show_devices(access);
        registered
    }

    fn deregister(&mut self, start: GlobalAddress) -> bool {
        let mut engine = self.shared.lock();
        let (is_over, access) = (engine.deregister(start), engine.device_access());
        drop(engine);
        self.show_devices(access);
        is_over
    }
}
