//! Device memory over providers that access it directly, and over those that do not, with a mock driver and mock cards.
//!
//! A card's write to device memory arrives when the card reads there again, and not before.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use pelago_base::{AddressLayout, AtomicOperator, Failure, GlobalAddress, Instant, Rank, SegmentId, Width};
use pelago_cuda::mock::MockDriver;
use pelago_cuda::{CudaMemory, Device, Driver};
use pelago_kit::conformance::Ends;
use pelago_memory::{Cells, DeviceError, DeviceMemory, DeviceRange, DmaBuf, MemoryKind, Region};
use pelago_platform::{Completion, DeviceAccess, Flags, Network, Operation, Rail, Registry, Token, Transport};

use crate::fabric::mock::{DeviceSupport, Profile, World};
use crate::limits::DEVICE_SEGMENTS_MAX;
use crate::mock_tests::{Published, settings};
use crate::{Ofi, Setup};

const PROFILES: [Profile; 4] = [Profile::VERBS, Profile::CXI, Profile::EFA, Profile::OPX];
const RANKS: u32 = 3;

/// Bytes of a segment: more than a request carries.
const BYTES: u64 = 10_000;

/// Number of polls of all ranks after which an operation counts as one that never ends.
const PATIENCE: u32 = 20_000;

/// A separate mock driver, and its first device.
fn driver(name: &str, settings: impl FnOnce(&MockDriver)) -> (MockDriver, Device) {
    let folder = std::env::temp_dir().join(format!("pelago-ofi-devices-{}-{name}", std::process::id()));
    let mock = MockDriver::new(Path::new(&folder), name);
    // An open library stays open without its name.
    let _gone = std::fs::remove_dir_all(&folder);
    mock.set("manual", 1);
    settings(&mock);
    let device = Device::of(&Driver::open(mock.name()).unwrap_or_else(|why| panic!("{why}")), 0).unwrap();
    (mock, device)
}

/// Ranks, each with a segment in host memory and one in device memory.
struct Job {
    provider: String,
    mock: MockDriver,
    device: Device,
    ends: Vec<Ofi>,
    memories: Vec<Arc<CudaMemory>>,
    hosts: Vec<Cells<'static>>,
    layout: AddressLayout,
    completed: Vec<Completion>,
    tokens: u64,
}

impl Job {
    fn new(name: &str, provider: String) -> Self {
        Self::with(name, provider, |_| (), |_, _| ())
    }

    fn with(name: &str, provider: String, driver_settings: impl FnOnce(&MockDriver), setup: impl Fn(Rank, &mut Setup)) -> Self {
        let (mock, device) = driver(name, driver_settings);
        let layout = Ends::<Ofi>::layout(RANKS);
        let published = Published::default();
        let make = |me: Rank| {
            let mut settings = Setup { devices: true, ..settings(me, layout, &provider, &published) };
            setup(me, &mut settings);
            let end = Ofi::new(settings).unwrap();
            published.lock().unwrap().insert(me, end.address());
            end
        };
        let ends: Vec<_> = (0..RANKS).map(Rank::new).map(make).collect();
        let memories = ends.iter().map(|_| device.allocate(BYTES).unwrap()).collect();
        let hosts = ends.iter().map(|_| Cells::from_mut(vec![0_u64; BYTES as usize / 8].leak())).collect();
        let mut job = Self { provider, mock, device, ends, memories, hosts, layout, completed: Vec::new(), tokens: 0 };
        for rank in 0..RANKS as usize {
            job.memories[rank].zero().unwrap();
            let (host, device) = (job.at(rank, false, 0), job.at(rank, true, 0));
            let memory = Region::Device(DeviceRange::whole(job.memories[rank].clone()));
            job.ends[rank].register(host, job.hosts[rank].into()).unwrap();
            job.ends[rank].register(device, memory).unwrap();
        }
        job
    }

    fn at(&self, rank: usize, is_device: bool, offset: u64) -> GlobalAddress {
        let segment = if is_device { SegmentId::new(self.layout.segment_max()).unwrap() } else { SegmentId::SYMMETRIC };
        self.layout.encode(Rank::new(rank as u32), segment, offset).unwrap()
    }

    fn world<R>(&self, change: impl FnOnce(&mut World) -> R) -> R {
        change(&mut World::find(&self.provider).unwrap().lock().unwrap())
    }

    fn post(&mut self, poster: usize, peer: usize, operation: Operation<'_>, flags: Flags) -> Token {
        let address = self.ends[peer].address();
        let endpoint = self.ends[poster].connect(None, Rank::new(peer as u32), &address).unwrap();
        self.tokens += 1;
        let token = Token(self.tokens);
        self.ends[poster].post(Instant::ZERO, endpoint, operation, flags, token).unwrap();
        token
    }

    fn look(&mut self) {
        self.ends.iter_mut().for_each(|end| _ = end.progress(Instant::ZERO, &mut self.completed));
    }

    /// Posts an operation to a peer and waits for its result.
    fn run(&mut self, poster: usize, peer: usize, operation: Operation<'_>) -> Result<u64, Failure> {
        let token = self.post(poster, peer, operation, Flags::NONE);
        self.end(token)
    }

    fn end(&mut self, token: Token) -> Result<u64, Failure> {
        for _ in 0..PATIENCE {
            if let Some(at) = self.completed.iter().position(|done| done.token == token) {
                return self.completed.swap_remove(at).result;
            }
            self.look();
        }
        panic!("{token:?} does not end");
    }

    fn contents(&self, rank: usize) -> Vec<u8> {
        let mut bytes = vec![0; BYTES as usize];
        self.memories[rank].read(0, &mut bytes).unwrap();
        bytes
    }

    fn shown(&self, rank: usize) -> String {
        let access = self.ends[rank].capabilities().device_memory;
        assert!(self.ends[rank].rails().iter().all(|rail| rail.device_memory == access));
        access.to_string()
    }
}

fn numbers(bytes: u64, seed: u64) -> Vec<u8> {
    (0..bytes).map(|index| (index ^ (index >> 8) ^ seed.wrapping_mul(37)) as u8).collect()
}

fn leaked(bytes: &[u8]) -> Cells<'static> {
    Cells::from_mut(bytes.to_vec().leak())
}

/// Random operations against a model. Operations that the fabric performs directly execute nothing in a stream of the driver.
fn operations_have_the_results_of_a_model(job: &mut Job, seed: u64, is_registered: bool) {
    let mut random = fastrand::Rng::with_seed(seed);
    let can_notify = !job.provider.starts_with("mock-efa");
    // For each rank, host and device.
    let mut models = [(); RANKS as usize].map(|()| [(); 2].map(|()| vec![0; BYTES as usize]));
    for step in 0..40 {
        let poster = random.usize(0..RANKS as usize);
        let owner = (poster + 1 + random.usize(0..RANKS as usize - 1)) % RANKS as usize;
        let other = (owner + 1 + random.usize(0..RANKS as usize - 1)) % RANKS as usize;
        let bytes = if random.bool() { random.u64(1..64) } else { random.u64(1..BYTES / 2) };
        let [from, to] = [(); 2].map(|()| random.u64(0..BYTES - bytes));
        let at = job.at(owner, true, to);
        let place = |offset: u64| offset as usize..(offset + bytes) as usize;
        let executed = job.mock.count("executed");
        let mut is_by_owner = false;
        match random.u8(0..6) {
            0 => {
                let pattern = numbers(bytes, random.u64(..));
                assert_eq!(job.run(poster, owner, Operation::Put { from: leaked(&pattern), to: at }), Ok(0), "{step}");
                models[owner][1][place(to)].copy_from_slice(&pattern);
            }
            1 => {
                let pattern = numbers(bytes.min(64), random.u64(..));
                assert_eq!(job.run(poster, owner, Operation::Write { to: at, bytes: &pattern }), Ok(0), "{step}");
                models[owner][1][to as usize..][..pattern.len()].copy_from_slice(&pattern);
            }
            2 => {
                let into = leaked(&vec![0; bytes as usize]);
                assert_eq!(job.run(poster, owner, Operation::Get { from: at, to: into }), Ok(0), "{step}");
                assert!(into.to_vec() == models[owner][1][place(to)], "{step}");
            }
            3 => {
                is_by_owner = true;
                let word = to / 8 * 8;
                let atomic = Operation::Atomic {
                    at: job.at(owner, true, word),
                    width: Width::Eight,
                    operator: AtomicOperator::Add,
                    operand: 3,
                };
                let memory: &mut [u8] = &mut models[owner][1][word as usize..][..8];
                let old = u64::from_le_bytes((&*memory).try_into().unwrap());
                assert_eq!(job.run(poster, owner, atomic), Ok(old), "{step}");
                memory.copy_from_slice(&old.wrapping_add(3).to_le_bytes());
            }
            // Between two ranks, of which the poster may be one: from and to devices and hosts.
            kind => {
                let [source_is_device, target_is_device] = if kind == 4 { [true, random.bool()] } else { [random.bool(), true] };
                let (from_at, to_at) = (job.at(owner, source_is_device, from), job.at(other, target_is_device, to));
                assert_eq!(job.run(poster, owner, Operation::Copy { from: from_at, to: to_at, bytes }), Ok(0), "{step}");
                // A write to host memory notifies its owner, through the fabric or, if that cannot notify, because the owner performs it.
                is_by_owner = source_is_device && !target_is_device && !can_notify;
                let moved = models[owner][usize::from(source_is_device)][place(from)].to_vec();
                models[other][usize::from(target_is_device)][place(to)].copy_from_slice(&moved);
            }
        }
        let is_direct = job.mock.count("executed") == executed;
        assert!(is_direct != is_by_owner || !is_registered, "step {step}: direct {is_direct}");
        for (rank, [host, device]) in models.iter().enumerate() {
            assert!(job.contents(rank) == *device, "step {step}: the device of rank {rank}");
            assert!(job.hosts[rank].to_vec() == *host, "step {step}: the host of rank {rank}");
        }
    }
}

#[test]
fn cards_reach_memory_of_devices_without_its_owner() {
    for (seed, profile) in (0..).zip(PROFILES) {
        let mut job = Job::new(&format!("direct-{}", profile.name), World::provider(profile, seed, 0));
        assert_eq!(job.shown(0), "registered with the network (1 segment)");
        assert_eq!((job.world(|world| world.device_registrations()), job.mock.count("dma-bufs")), (3, 3));
        operations_have_the_results_of_a_model(&mut job, seed, true);
        let (accesses, sources) = job.world(|world| (world.device_accesses, world.device_sources));
        assert!(accesses.into_iter().chain([sources]).all(|count| count > 0), "{accesses:?} {sources}");
        assert_eq!(job.world(|world| world.refused), 0, "bounds and keys were right");
    }
}

/// Each refusal prevents the registration and is reported in a line, without other consequences.
#[test]
fn what_cannot_be_registered_is_staged_and_says_why() {
    use DeviceSupport::{NotOffered, OldLibrary, Refused, Whole};
    let missing = Some(("missing", "cuMemGetHandleForAddressRange"));
    let cases = [
        (NotOffered, None, true, "offers no FI_HMEM"),
        (OldLibrary, None, true, "libfabric 1.17 has no FI_MR_DMABUF, which 1.20 has"),
        (Refused(libc::ENOSYS), None, true, "fi_mr_regattr of libfabric: "),
        (Refused(libc::ENOMEM), None, true, "fi_mr_regattr of libfabric: "),
        (Refused(libc::EINVAL), None, true, "fi_mr_regattr of libfabric: "),
        (Whole, missing, true, "no function cuMemGetHandleForAddressRange"),
        (Whole, Some(("no-dma-buf", "1")), true, "no dma-buf of its memory"),
        (Whole, Some(("dma-buf-refused", "1")), true, "cuMemGetHandleForAddressRange failed: operation not supported"),
        (Whole, None, false, "this host has no GPU"),
    ];
    for ((seed, (support, word, devices, why)), profile) in (0..).zip(cases).zip(PROFILES.into_iter().cycle()) {
        let provider = World::provider(profile, seed, 0);
        World::find(&provider).unwrap().lock().unwrap().devices = support;
        let driver = |mock: &MockDriver| word.into_iter().for_each(|(word, value)| mock.set_text(word, value));
        let mut job = Job::with(&format!("staged-{seed}"), provider, driver, |_, setup| setup.devices = devices);
        let shown = job.shown(1);
        assert!(shown.starts_with("staged by its owner: ") && shown.contains(why) && !shown.contains('\n'), "{shown}");
        operations_have_the_results_of_a_model(&mut job, seed, false);
        let found = job.world(|world| (world.device_registrations(), world.device_accesses, world.device_sources));
        assert_eq!(found, (0, [0, 0], 0), "{why}");
        assert_eq!(job.world(|world| world.refused), 0);
    }
}

/// Where a device does not see writes of cards in their order, its owner writes, and cards only read.
#[test]
fn cards_only_read_where_their_writes_are_not_ordered() {
    for (seed, profile) in (0..).zip(PROFILES) {
        let name = format!("unordered-{}", profile.name);
        let mut job = Job::with(&name, World::provider(profile, seed, 0), |mock| mock.set("ordering", 0), |_, _| ());
        let shown = job.shown(2);
        assert!(shown.starts_with("registered with the network (1 segment): puts are staged, as the device"), "{shown}");
        operations_have_the_results_of_a_model(&mut job, seed, false);
        let copy = Operation::Copy { from: job.at(1, true, 0), to: job.at(2, false, 0), bytes: 100 };
        assert_eq!(job.run(0, 1, copy), Ok(0));
        let (accesses, sources) = job.world(|world| (world.device_accesses, world.device_sources));
        assert!(accesses[0] > 0 && accesses[1] == 0 && (sources > 0 || profile.cq_data_bytes == 0), "{accesses:?} {sources}");
        assert_eq!(job.world(|world| world.refused), 0, "no write was tried");
    }
}

/// An owner that is woken sees the written bytes, although the fabric itself would notify it before they have arrived.
#[test]
fn an_owner_is_woken_when_the_bytes_have_arrived() {
    for (seed, profile) in (0..).zip(PROFILES) {
        // The value that the owner sees when it is woken.
        let (found, memory) = (Arc::new(AtomicU64::new(0)), Arc::new(Mutex::new(None::<Arc<CudaMemory>>)));
        let name = format!("woken-{}", profile.name);
        let mut job = Job::with(
            &name,
            World::provider(profile, seed, 0),
            |_| (),
            |me, setup| {
                let (found, memory) = (found.clone(), memory.clone());
                if me == Rank::new(1) {
                    setup.wake = Box::new(move || {
                        let mut word = [0; 8];
                        if let Some(memory) = &*memory.lock().unwrap() {
                            memory.read(0, &mut word).unwrap();
                            found.store(u64::from_le_bytes(word), Ordering::Relaxed);
                        }
                    });
                }
            },
        );
        *memory.lock().unwrap() = Some(job.memories[1].clone());
        for word in 1..20_u64 {
            let to = job.at(1, true, 0);
            let token = job.post(0, 1, Operation::Write { to, bytes: &word.to_le_bytes() }, Flags::NOTIFY);
            job.end(token).unwrap();
            (0..PATIENCE)
                .find(|_| {
                    job.look();
                    found.load(Ordering::Relaxed) == word
                })
                .unwrap_or_else(|| panic!("{}: the owner sleeps, and {word} is there", profile.name));
        }
    }
}

/// Device memory that records the number of registrations when it is freed.
struct Watched {
    inner: Arc<CudaMemory>,
    provider: String,
    left: Arc<AtomicUsize>,
}

impl DeviceMemory for Watched {
    fn kind(&self) -> MemoryKind {
        self.inner.kind()
    }

    fn bytes(&self) -> u64 {
        self.inner.bytes()
    }

    fn read(&self, offset: u64, into: &mut [u8]) -> Result<(), DeviceError> {
        self.inner.read(offset, into)
    }

    fn write(&self, offset: u64, from: &[u8]) -> Result<(), DeviceError> {
        self.inner.write(offset, from)
    }

    fn atomic(&self, offset: u64, width: Width, operator: AtomicOperator, operand: u64) -> Result<u64, DeviceError> {
        self.inner.atomic(offset, width, operator, operand)
    }

    fn dma_buf(&self, offset: u64, bytes: u64) -> Result<DmaBuf, DeviceError> {
        self.inner.dma_buf(offset, bytes)
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        let world = World::find(&self.provider).unwrap();
        self.left.store(world.lock().unwrap().device_registrations(), Ordering::Relaxed);
    }
}

#[test]
fn a_segment_is_taken_back_when_no_card_reaches_it_and_freed_after_that() {
    for (seed, profile) in (0..).zip(PROFILES) {
        let mut job = Job::new(&format!("revoked-{}", profile.name), World::provider(profile, seed, 0));
        let owner = 1;
        let start = job.layout.encode(Rank::new(owner), SegmentId::new(job.layout.segment_max() - 1).unwrap(), 64).unwrap();
        let left = Arc::new(AtomicUsize::new(usize::MAX));
        let inner = job.device.allocate(BYTES).unwrap();
        let memories = job.mock.count("memories");
        let watched: Arc<dyn DeviceMemory> = Arc::new(Watched { inner, provider: job.provider.clone(), left: left.clone() });
        // A part that begins in the middle of a page.
        let part = DeviceRange::whole(watched).part(100, BYTES - 100).unwrap();
        job.ends[1].register(start, Region::Device(part)).unwrap();
        assert_eq!(job.shown(1), "registered with the network (2 segments)");
        let put = Operation::Put { from: leaked(&numbers(100, seed)), to: start };
        assert_eq!(job.run(0, 1, put), Ok(0));
        // One is in flight while its key is revoked.
        let last = Operation::Put { from: leaked(&numbers(100, 9)), to: start };
        let token = job.post(0, 1, last, Flags::NONE);
        assert!(!job.ends[1].deregister(start), "a peer has its key");
        assert_eq!(job.end(token), Ok(0));
        assert_eq!(left.load(Ordering::Relaxed), usize::MAX);
        let is_over = (0..PATIENCE).any(|_| {
            job.look();
            job.ends[1].deregister(start)
        });
        assert!(is_over);
        assert_eq!(left.load(Ordering::Relaxed), RANKS as usize, "closed before it is freed");
        assert_eq!(job.mock.count("memories"), memories - 1);
        assert_eq!(job.shown(1), "registered with the network (1 segment)");
        let into = leaked(&[0; 8]);
        assert_eq!(job.run(0, 1, Operation::Get { from: start, to: into }), Err(Failure::OutOfBounds(start)));
        assert_eq!(job.world(|world| world.refused), 0, "no key is used that was given back");
    }
}

/// A provider that does not close a registration may write to the memory at any time.
#[test]
fn memory_that_a_provider_keeps_is_not_freed() {
    let mut job = Job::new("kept", World::provider(Profile::VERBS, 1, 0));
    let start = job.layout.encode(Rank::new(0), SegmentId::new(job.layout.segment_max() - 1).unwrap(), 0).unwrap();
    for (keeps, freed) in [(false, 1), (true, 0)] {
        job.world(|world| world.keeps_devices = keeps);
        let memory = job.device.allocate(BYTES).unwrap();
        job.ends[0].register(start, Region::Device(DeviceRange::whole(memory.clone()))).unwrap();
        drop(memory);
        let before = job.mock.count("memories");
        assert!(job.ends[0].deregister(start), "nobody has its key");
        assert_eq!(before - job.mock.count("memories"), freed);
        assert_eq!(job.shown(0), "registered with the network (1 segment)");
    }
}

#[test]
fn no_more_segments_are_registered_than_may_be() {
    let mut job = Job::new("many", World::provider(Profile::CXI, 1, 0));
    let segment = SegmentId::new(job.layout.segment_max() - 1).unwrap();
    let memory = job.device.allocate(8).unwrap();
    let starts: Vec<_> =
        (0..DEVICE_SEGMENTS_MAX as u64 + 1).map(|index| job.layout.encode(Rank::new(1), segment, 64 * index).unwrap()).collect();
    for &start in &starts {
        job.ends[1].register(start, Region::Device(DeviceRange::whole(memory.clone()))).unwrap();
    }
    let shown = job.shown(1);
    assert!(shown.starts_with("registered with the network (64 segments) or staged by its owner (2 segments): 64 "), "{shown}");
    assert_eq!(job.world(|world| world.device_registrations()), DEVICE_SEGMENTS_MAX + 2);
    for (word, &start) in (1_u64..).zip(&starts) {
        assert_eq!(job.run(0, 1, Operation::Write { to: start, bytes: &word.to_le_bytes() }), Ok(0));
        let mut found = [0; 8];
        memory.read(0, &mut found).unwrap();
        assert_eq!(u64::from_le_bytes(found), word);
    }
    // There is space for another registration.
    let is_free = (0..PATIENCE).any(|_| {
        job.look();
        job.ends[1].deregister(starts[0])
    });
    assert!(is_free);
    job.ends[1].register(starts[0], Region::Device(DeviceRange::whole(memory))).unwrap();
    let DeviceAccess::Registered { registered, staged, .. } = job.ends[1].capabilities().device_memory else { panic!() };
    assert_eq!((registered, staged), (64, 2));
}

/// The read behind a write uses the same card.
#[test]
fn each_card_reads_behind_what_it_has_written() {
    let provider = World::provider(Profile::VERBS, 1, 0);
    World::find(&provider).unwrap().lock().unwrap().domains = 2;
    let mut job = Job::new("cards", provider);
    assert_eq!(job.world(|world| world.device_registrations()), 2 * RANKS as usize);
    let (address, to) = (job.ends[1].address(), job.at(1, true, 8));
    let endpoints = [0, 1].map(|rail| job.ends[0].connect(Rail::new(rail), Rank::new(1), &address).unwrap());
    (0..200).for_each(|_| job.look());
    for (rail, endpoint) in endpoints.into_iter().enumerate() {
        job.world(|world| world.accesses.clear());
        let operation = Operation::Write { to, bytes: &[rail as u8 + 1; 8] };
        job.ends[0].post(Instant::ZERO, endpoint, operation, Flags::NONE, Token(900 + rail as u64)).unwrap();
        assert_eq!(job.end(Token(900 + rail as u64)), Ok(0));
        assert_eq!(job.contents(1)[8..16], [rail as u8 + 1; 8]);
        assert_eq!(job.world(|world| world.accesses.clone()), BTreeMap::from([(rail, 2)]), "a write and a read");
    }
}

/// Some operations fail: each completes once, and a put that has succeeded has arrived.
#[test]
fn puts_to_devices_complete_once_though_some_operations_fail() {
    const PUTS: u64 = 16;
    let (mock, device) = driver("failing", |_| ());
    for (seed, profile) in (0..100).zip(PROFILES.into_iter().cycle()) {
        let layout = Ends::<Ofi>::layout(2);
        let provider = World::provider(profile, seed, 30);
        let published = Published::default();
        let mut ends = [0, 1].map(|me| {
            let end = Ofi::new(Setup { devices: true, ..settings(Rank::new(me), layout, &provider, &published) }).unwrap();
            published.lock().unwrap().insert(Rank::new(me), end.address());
            end
        });
        let memory = device.allocate(8 * PUTS).unwrap();
        memory.zero().unwrap();
        let place = |offset| layout.encode(Rank::new(1), SegmentId::SYMMETRIC, offset).unwrap();
        ends[1].register(place(0), Region::Device(DeviceRange::whole(memory.clone()))).unwrap();
        let address = ends[1].address();
        let endpoint = ends[0].connect(None, Rank::new(1), &address).unwrap();
        for number in 0..PUTS {
            let flags = if number % 3 == 0 { Flags::NOTIFY } else { Flags::NONE };
            let operation = Operation::Write { to: place(8 * number), bytes: &(number + 1).to_le_bytes() };
            ends[0].post(Instant::ZERO, endpoint, operation, flags, Token(number)).unwrap();
        }
        let (mut completed, mut looks) = (Vec::new(), 0);
        while completed.len() < PUTS as usize {
            let before = completed.len();
            ends[0].progress(Instant::ZERO, &mut completed);
            ends[1].progress(Instant::ZERO, &mut Vec::new());
            for done in completed[before..].iter().filter(|done: &&Completion| done.result.is_ok()) {
                let mut word = [0; 8];
                memory.read(8 * done.token.0, &mut word).unwrap();
                assert_eq!(u64::from_le_bytes(word), done.token.0 + 1, "seed {seed}: it is there when it is complete");
            }
            looks += 1;
            if looks == 300 {
                ends[0].peer_failed(Instant::ZERO, Rank::new(1));
            }
            assert!(looks < 3000, "seed {seed} of {}: {completed:?}", profile.name);
        }
        let mut tokens: Vec<_> = completed.iter().map(|done| done.token.0).collect();
        tokens.sort_unstable();
        assert_eq!(tokens, (0..PUTS).collect::<Vec<_>>(), "seed {seed}: each once");
        drop(ends);
        assert_eq!(World::find(&provider).unwrap().lock().unwrap().device_registrations(), 0, "seed {seed}");
    }
    assert!(mock.count("dma-bufs") >= 100);
}
