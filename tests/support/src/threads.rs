//! Jobs of several ranks in one process, one thread for each rank, on several platforms: all heaps mapped, a transport to all memory of other
//! ranks, both, ranks that share hosts, and two transports.
//!
//! Invariant **U1** of `pelago-platform` (`trusted.rs`): all transports here are Pelago's, and so are the layers around them.
#![allow(unsafe_code)]

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use pelago_base::{AddressLayout, Counters, Instant, Rank};
use pelago_kit::{Count, Fault, Faults, Loopback, Split};
use pelago_memory::{Mapping, Reach, ReachLayout};
use pelago_ofi::FabricError;
use pelago_platform::{
    self as platform, Activity, Address, Bootstrap, BootstrapError, Capabilities, Clock, Doorbell, For, Slept, Transport,
    TrustedTransport, Wait, WaitPolicy, Woken,
};
use pelago_rma::{Parts, World};

/// Bytes of the heap of each rank, unless a test sets another size.
pub const HEAP_BYTES: u64 = 4 << 20;
const CONTROLS: usize = 4096;
const CONTROL_BYTES: usize = 128;

/// Time limit after which a job counts as hanging.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(60);

/// Counters of the transport of one rank.
pub type Passed = Arc<Mutex<Counters>>;

/// How the ranks of a test reach each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Platform {
    /// By loads and stores.
    Mapped,
    /// By a transport.
    Remote,
    /// By a transport whose writes wake no rank without a notification, and that takes only short messages. Ranks sleep until they are woken.
    Fabric,
    /// By a transport that refuses, delays and reorders operations as far as permitted, and that captures long writes, as UDP does.
    Unruly,
    /// By loads and stores, or by rail 1: a transport that refuses, delays and reorders operations as far as permitted.
    Rails,
    /// Hosts of two ranks, which reach each other by loads and stores, and other ranks by rail 1.
    Hosts,
    /// By either of two transports that independently refuse, delay and reorder operations as far as permitted: several times slower.
    Networks,
}

/// The platforms on which every test runs.
pub const PLATFORMS: [Platform; 6] =
    [Platform::Mapped, Platform::Remote, Platform::Fabric, Platform::Unruly, Platform::Rails, Platform::Hosts];

/// The few capabilities of a fabric.
const FABRIC: Capabilities = Capabilities {
    inject_size: 16,
    message_bytes_max: 1000,
    blocks_max: 0,
    block_bytes_max: u64::MAX,
    signalled_bytes_min: usize::MAX,
    ordering: platform::Ordering::Unordered,
    wakes_target: false,
    ..Loopback::CAPABILITIES
};

/// Number of ranks of a host, on platforms with hosts.
const HOST_RANKS: u32 = 2;

/// Runs `body` as every rank of jobs of each of the given sizes, on every platform.
pub fn on_every_platform(sizes: &[u32], body: impl Fn(&World, Platform) + Sync) {
    for platform in PLATFORMS {
        for &size in sizes {
            run(platform, size, |world| body(world, platform));
        }
    }
}

/// Returns the fabric that replaces [`Platform::Remote`], if [`FABRIC_VARIABLE`] names one. In this case, jobs on all other platforms are skipped.
pub fn fabric() -> Option<String> {
    std::env::var(FABRIC_VARIABLE).ok().filter(|fabric| !fabric.is_empty())
}

/// The environment variable that names a fabric of libfabric, such as `tcp;ofi_rxm`, over which suites run instead of on their platforms: `cargo xtask fabric`.
pub const FABRIC_VARIABLE: &str = "PELAGO_SUITE_FABRIC";

/// Returns the transport of a rank over a fabric, with a progress thread; `None`, with a printed line, where the library or the provider is not installed.
fn over_fabric(
    fabric: &str,
    me: Rank,
    layout: AddressLayout,
    meeting: &Arc<Meeting>,
    wake: impl Fn(Rank) + Send + Sync + 'static,
) -> Option<pelago_ofi::Ofi> {
    let found = meeting.clone();
    let find = move |rank: Rank| found.published.lock().unwrap().get(&(rank, FABRIC_VARIABLE.into())).cloned().map(Address);
    let lost = meeting.clone();
    let setup = pelago_ofi::Setup {
        me,
        layout,
        fabric: fabric.parse().unwrap_or_else(|why| panic!("{FABRIC_VARIABLE}={fabric}: {why}")),
        interface: Some(std::net::Ipv4Addr::LOCALHOST.into()),
        find: Box::new(find),
        wake: Box::new(move || wake(me)),
        lost: Box::new(move |rank| {
            eprintln!("{me:?}: the fabric has lost {rank:?}");
            lost.failed.store(true, Ordering::Release);
        }),
        progress_thread: true,
        devices: true,
        is_oversubscribed: true,
    };
    let mut ofi = match pelago_ofi::Ofi::new(setup) {
        Ok(ofi) => ofi,
        Err(error @ (FabricError::Missing(_) | FabricError::None(..))) => {
            eprintln!("skipped: {error}");
            return None;
        }
        Err(error) => panic!("{error}"),
    };
    let Address(address) = ofi.network().address();
    meeting.published.lock().unwrap().insert((me, FABRIC_VARIABLE.into()), address);
    Some(ofi)
}

/// The capabilities of a transport that captures long writes, and whose messages are costly.
const CAPTURING: Capabilities =
    Capabilities { inject_size: 1 << 20, put_message_bytes: COSTLY_MESSAGE_BYTES, ..Loopback::CAPABILITIES };

/// Maximum number of bytes of a put in one message of that transport.
pub const COSTLY_MESSAGE_BYTES: usize = 70_000;

/// Runs `body` as every rank of one job.
pub fn run(platform: Platform, size: u32, body: impl Fn(&World) + Sync) {
    run_counted(platform, size, |world, _| body(world));
}

/// Like `run`; each rank also gets the counters of its transport.
pub fn run_counted(platform: Platform, size: u32, body: impl Fn(&World, &Passed) + Sync) {
    run_with_heaps(platform, size, HEAP_BYTES, body);
}

/// Like `run_counted`, with heaps of `heap_bytes` bytes.
pub fn run_with_heaps(platform: Platform, size: u32, heap_bytes: u64, body: impl Fn(&World, &Passed) + Sync) {
    let fabric = fabric();
    if fabric.is_some() && platform != Platform::Remote {
        return;
    }
    let addresses = AddressLayout::new(size, heap_bytes).unwrap();
    let reach_of = |first: Rank, count: u32| {
        let heaps = (CONTROLS + count as usize * CONTROL_BYTES).next_multiple_of(4096);
        let layout = ReachLayout { addresses, first, count, controls: CONTROLS, control_bytes: CONTROL_BYTES, heaps, gap: 0 };
        Reach::new(Arc::new(Mapping::private(layout.bytes() as usize).unwrap()), layout)
    };
    let everything = reach_of(Rank::new(0), size);
    let host = |first: u32| reach_of(Rank::new(first), HOST_RANKS.min(size - first));
    let own: Vec<Reach> = (0..size).map(|rank| Reach::private(addresses, Rank::new(rank)).unwrap()).collect();
    let hosts: Vec<Reach> = (0..size).step_by(HOST_RANKS as usize).map(host).collect();
    let meeting = Arc::new(Meeting { published: Mutex::default(), arrived: AtomicUsize::new(0), failed: AtomicBool::new(false) });
    let wake = {
        let own = own.clone();
        move |rank: Rank| own[rank.index()].bell(rank).into_iter().for_each(Doorbell::ring)
    };
    std::thread::scope(|scope| {
        let capabilities = match platform {
            Platform::Fabric => FABRIC,
            Platform::Unruly => CAPTURING,
            _ => Loopback::CAPABILITIES,
        };
        let [ends, intra_ends] = [0; 2].map(|_| Loopback::network_like(capabilities, addresses, size, wake.clone()));
        for ((rank, end), intra) in (0..size).map(Rank::new).zip(ends).zip(intra_ends) {
            let host = move |rank: Rank| rank.number() / HOST_RANKS;
            let reach = match platform {
                Platform::Mapped | Platform::Rails => everything.clone(),
                Platform::Hosts => hosts[host(rank) as usize].clone(),
                Platform::Remote | Platform::Fabric | Platform::Unruly | Platform::Networks => own[rank.index()].clone(),
            };
            let seed = u64::from(rank);
            let faults = Faults { seed, full_per_mille: 300, delay_per_mille: 300, peer_failed: None };
            let end = Count::new(end);
            let mut passed = end.counters();
            let address = |rank: Rank| Address(rank.number().to_le_bytes().into());
            let transport: Box<dyn Transport> = match platform {
                Platform::Remote if fabric.is_some() => {
                    let fabric = fabric.as_deref().unwrap_or_default();
                    // The first rank detects a missing fabric before any other has started.
                    let Some(ofi) = over_fabric(fabric, rank, addresses, &meeting, wake.clone()) else { return };
                    let counted = Count::new(ofi);
                    passed = counted.counters();
                    Box::new(counted)
                }
                Platform::Mapped | Platform::Remote | Platform::Fabric => Box::new(end),
                Platform::Unruly => Box::new(Fault::new(end, addresses, faults)),
                Platform::Rails => Box::new(Split::new(intra, Fault::new(end, addresses, faults), addresses, |_| true, address)),
                Platform::Hosts => {
                    let is_in_node = move |other: Rank| host(other) == host(rank);
                    Box::new(Split::new(intra, Fault::new(end, addresses, faults), addresses, is_in_node, address))
                }
                Platform::Networks => {
                    let other = Faults { seed: !seed, full_per_mille: 100, delay_per_mille: 600, peer_failed: None };
                    let intra = Fault::new(intra, addresses, other);
                    Box::new(Split::new(intra, Fault::new(end, addresses, faults), addresses, |_| true, address))
                }
            };
            let bootstrap = Box::new(Member { rank, size, meeting: meeting.clone() });
            let (body, meeting, wake) = (&body, meeting.clone(), wake.clone());
            std::thread::Builder::new()
                .name(format!("rank {rank}"))
                .spawn_scoped(scope, move || {
                    let clock = Arc::new(Wall(std::time::Instant::now()));
                    let yielding = Yielding(meeting.clone(), std::time::Instant::now());
                    let wait: Arc<dyn Wait> = match platform {
                        Platform::Fabric => Arc::new(Sleeping { yielding, reach: reach.clone(), rank, clock: clock.clone() }),
                        _ => Arc::new(yielding),
                    };
                    // SAFETY: U1.
                    let transport = unsafe { TrustedTransport::new(transport) };
                    let ended = catch_unwind(AssertUnwindSafe(|| {
                        let world = World::new(Parts { reach, clock, wait, virtual_time: None, bootstrap, transport }).unwrap();
                        body(&world, &passed);
                        world.finish().unwrap();
                    }));
                    // A rank that fails must not leave the others waiting.
                    if let Err(panic) = ended {
                        meeting.failed.store(true, Ordering::Release);
                        (0..size).map(Rank::new).for_each(wake);
                        resume_unwind(panic);
                    }
                })
                .unwrap();
        }
    });
}

struct Wall(std::time::Instant);

impl Clock for Wall {
    fn now(&self) -> Instant {
        Instant::ZERO + self.0.elapsed().into()
    }
}

/// A wait that yields, and fails in a job that takes too long.
struct Yielding(Arc<Meeting>, std::time::Instant);

impl Wait for Yielding {
    fn policy(&self) -> WaitPolicy {
        WaitPolicy { spins: 10, yields: 2, ..WaitPolicy::default() }
    }

    fn park(&self, _what: For, _until: Option<Instant>, ready: &mut dyn FnMut() -> bool) -> Woken {
        ready();
        std::thread::yield_now();
        self.fault().map_or(Woken::Look, Woken::Fault)
    }

    fn yield_now(&self) -> bool {
        std::thread::yield_now();
        true
    }

    fn note(&self, _activity: Activity) {}

    fn fault(&self) -> Option<platform::Fault> {
        let failed = self.0.failed.load(Ordering::Acquire) || self.1.elapsed() > PATIENCE;
        failed.then_some(platform::Fault::Aborted)
    }

    fn tolerate_peer_failures(&self) {}

    fn failed_peer(&self, _known: usize) -> Option<Rank> {
        None
    }
}

/// A wait that sleeps until it is woken, and fails in a job that takes too long: missing wake-ups are thus detected.
struct Sleeping {
    yielding: Yielding,
    reach: Reach,
    rank: Rank,
    clock: Arc<Wall>,
}

impl Wait for Sleeping {
    fn policy(&self) -> WaitPolicy {
        self.yielding.policy()
    }

    fn park(&self, _what: For, until: Option<Instant>, ready: &mut dyn FnMut() -> bool) -> Woken {
        let limit = until.map_or(PATIENCE, |until| until.since(self.clock.now()).into());
        // Checked once; where the kernel lacks membarrier, each millisecond, which also finds changes without a wake-up.
        let slept = self.reach.bell(self.rank).unwrap().sleep(Some(limit.min(PATIENCE)), ready);
        let overslept = slept == Slept::TimedOut && until.is_none();
        let fault = self.fault().or(overslept.then_some(platform::Fault::Deadlock));
        fault.map_or(Woken::Look, Woken::Fault)
    }

    fn yield_now(&self) -> bool {
        self.yielding.yield_now()
    }

    fn note(&self, _activity: Activity) {}

    fn fault(&self) -> Option<platform::Fault> {
        self.yielding.fault()
    }

    fn tolerate_peer_failures(&self) {}

    fn failed_peer(&self, _known: usize) -> Option<Rank> {
        None
    }
}

struct Meeting {
    published: Mutex<HashMap<(Rank, String), Vec<u8>>>,
    /// Total number of arrivals at barriers.
    arrived: AtomicUsize,
    failed: AtomicBool,
}

struct Member {
    rank: Rank,
    size: u32,
    meeting: Arc<Meeting>,
}

impl Bootstrap for Member {
    fn rank(&self) -> Rank {
        self.rank
    }

    fn size(&self) -> u32 {
        self.size
    }

    fn publish(&mut self, key: &str, value: &[u8]) -> Result<(), BootstrapError> {
        self.meeting.published.lock().unwrap().insert((self.rank, key.into()), value.into());
        Ok(())
    }

    fn lookup(&mut self, rank: Rank, key: &str) -> Result<Vec<u8>, BootstrapError> {
        let published = self.meeting.published.lock().unwrap();
        published.get(&(rank, key.into())).cloned().ok_or_else(|| BootstrapError::Missing(rank, key.into()))
    }

    fn barrier(&mut self, meanwhile: &mut dyn FnMut() -> bool) -> Result<(), BootstrapError> {
        let size = self.size as usize;
        let target = (self.meeting.arrived.fetch_add(1, Ordering::AcqRel) / size + 1) * size;
        while self.meeting.arrived.load(Ordering::Acquire) < target {
            if self.meeting.failed.load(Ordering::Acquire) {
                return Err(platform::Fault::Aborted.into());
            }
            meanwhile();
            std::thread::yield_now();
        }
        Ok(())
    }

    fn finish(&mut self) {}
}
