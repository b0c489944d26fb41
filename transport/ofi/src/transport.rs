//! Ranks that reach each other by a fabric, as a transport.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use pelago_base::{AddressLayout, Duration, GlobalAddress, Instant, Rank};
use pelago_memory::Region;
use pelago_platform::{
    Address, Capabilities, Completion, ConnectError, DeviceAccess, Endpoint, Flags, Network, Operation, PostError, Rail,
    RegisterError, Registry, Token, Transport, TwoSided,
};

use crate::engine::Engine;
use crate::fabric::{FabricChoice, FabricError, FabricName, Port};
use crate::progress_thread::{ProgressThread, Shared};

/// What the transport of a rank is made from.
pub struct Setup {
    /// The rank.
    pub me: Rank,
    /// How the job divides its addresses.
    pub layout: AddressLayout,
    /// Which fabrics are used.
    pub fabric: FabricChoice,
    /// The interface with this address is taken if a provider has several; `None` takes the first.
    pub interface: Option<IpAddr>,
    /// What a rank has published as its address, if anything: copies go to ranks that this one has not connected to.
    pub find: Box<dyn Fn(Rank) -> Option<Address> + Send>,
    /// Called when the rank, if it sleeps, should look: something completed, or a peer wrote to its memory.
    pub wake: Box<dyn Fn() + Send + Sync>,
    /// Called with each rank that the provider could not reach though this rank needed it.
    pub lost: Box<dyn Fn(Rank) + Send + Sync>,
    /// Whether a progress thread serves peers while the rank computes or sleeps. Without it the rank serves them when it makes progress.
    pub progress_thread: bool,
    /// Whether this rank may have memory of devices: providers are then asked for a fabric that reaches it by itself.
    pub devices: bool,
    /// Whether this host has more ranks than cores: then the progress thread of a rank that sleeps soon leaves the core to others.
    pub is_oversubscribed: bool,
}

/// What the transport is called, and the name under which ranks publish their addresses.
pub const NAME: &str = "ofi";

/// What operations cost over sockets, which are all that was measured. Cores of the target perform atomics, because those of a fabric do not exclude
/// those of cores; a write wakes its target if it says so; no post needs the time.
const CAPABILITIES: Capabilities = Capabilities {
    latency: Duration::from_microseconds(20),
    bytes_per_second: 2e9,
    wakes_target: false,
    keeps_time: true,
    ..Capabilities::of(NAME)
};

/// From here on the progress thread looks after an operation from its beginning, also while the rank looks: to wake it takes a hundredth of the time of the
/// transfer. To shorter ones it comes when the rank has not looked for [`EXCUSE_MICROSECONDS_MAX`](crate::limits::EXCUSE_MICROSECONDS_MAX).
const LONG_BYTES: u64 = 4 << 20;

/// Ranks that reach each other by a fabric.
///
/// Each domain of it is a rail, by which puts and gets go; all messages go by the first. Puts and gets of memory of processes, and of devices where it is registered
/// ([`DeviceAccess::Registered`]), are accesses of the fabric. All else is asked of the owner, who does it inside
/// [`progress`](Transport::progress), or by its progress thread.
pub struct Ofi {
    /// First: it ends before what it shares.
    progress_thread: Option<ProgressThread>,
    pub(crate) shared: Arc<Shared>,
    capabilities: Capabilities,
    rails: Vec<Capabilities>,
    address: Address,
    fabric: FabricName,
}

impl Ofi {
    /// The transport of a rank. The library may look for a second which devices there are.
    ///
    /// # Errors
    /// The library is not there, or no fabric does what is needed, or the system refuses.
    pub fn new(setup: Setup) -> Result<Self, FabricError> {
        Self::open(setup, false)
    }

    /// As `new`; with `seeks`, somebody finds out the addresses that `find` does not know.
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

    /// Shows how the fabric reaches memory of devices.
    fn show_devices(&mut self, access: DeviceAccess) {
        for shown in self.rails.iter_mut().chain([&mut self.capabilities]) {
            shown.device_memory = access;
        }
    }

    /// The fabrics that were chosen, one for each rail.
    pub fn fabric(&self) -> &FabricName {
        &self.fabric
    }
}

/// A name for the rest of the process. Each is kept once: those of a machine's fabrics are few.
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
        // A long one leaves piece by piece, also if the rank computes from now on.
        if let Some(thread) = self.progress_thread.as_ref().filter(|_| is_left_over || is_long) {
            thread.call();
        }
        posted
    }

    fn flush(&mut self, _now: Instant) {}

    fn progress(&mut self, _now: Instant, completed: &mut Vec<Completion>) -> bool {
        self.shared.attend();
        let mut engine = self.shared.lock();
        let moved = engine.drive();
        let (news, losses) = (engine.take_news(), engine.take_losses());
        let any = engine.fetch_completed(completed);
        drop(engine);
        // Another thread of this rank may sleep until then.
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

    fn two_sided(&mut self) -> Option<&mut dyn TwoSided> {
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

    /// Every rail leads to every peer: what a domain does not reach goes by the first.
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
