//! The endpoints of one job, their memory, and the operations in flight between them.
//!
//! P1: memory that was registered, posted to receive or to send is valid until it is deregistered, or until the completion: the caller's promise to the
//! interface (F2, F3, F5, F6 of the port). It is accessed through cells.
//! P2: a window is a separate mapping, which lives as long as the window, and is accessed through cells.
#![allow(unsafe_code)]

use std::collections::{BTreeMap, VecDeque};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pelago_memory::Cells;

use crate::fabric::abi::*;

/// The requirements and guarantees of a provider.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Profile {
    /// Its name.
    pub(crate) name: &'static str,
    pub(crate) mr_mode: i32,
    /// Number of bytes of immediate data; 0 means that it has no notification.
    pub(crate) cq_data_bytes: usize,
    /// Maximum number of operations in flight, in each direction.
    pub(crate) queue: usize,
    /// Whether an access takes effect only when the target makes progress.
    pub(crate) needs_target: bool,
    /// Whether accesses take effect in the order in which they were posted.
    pub(crate) is_ordered: bool,
    /// Length of the names of endpoints in bytes; 0: text of different lengths.
    pub(crate) name_bytes: usize,
}

impl Profile {
    pub(crate) const VERBS: Self = Self {
        name: "verbs",
        mr_mode: FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY,
        cq_data_bytes: 4,
        queue: 64,
        needs_target: false,
        is_ordered: true,
        name_bytes: 16,
    };
    pub(crate) const CXI: Self = Self {
        name: "cxi",
        mr_mode: FI_MR_ENDPOINT | FI_MR_ALLOCATED,
        cq_data_bytes: 8,
        queue: 32,
        needs_target: false,
        is_ordered: false,
        name_bytes: 8,
    };
    /// Has no notification here, as a substitute for providers that lack it.
    pub(crate) const EFA: Self = Self {
        name: "efa",
        mr_mode: FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY,
        cq_data_bytes: 0,
        queue: 16,
        needs_target: true,
        is_ordered: false,
        name_bytes: 32,
    };
    pub(crate) const OPX: Self = Self {
        name: "opx",
        mr_mode: FI_MR_VIRT_ADDR,
        cq_data_bytes: 4,
        queue: 8,
        needs_target: true,
        is_ordered: true,
        name_bytes: 8,
    };
    /// Has names of text, as a provider of shared memory.
    pub(crate) const TEXT: Self = Self { name: "text", name_bytes: 0, ..Self::CXI };
}

/// All worlds of this process, by number; there are as few as tests.
static WORLDS: Mutex<BTreeMap<u64, Arc<Mutex<World>>>> = Mutex::new(BTreeMap::new());

/// Locks a mutex, also after a panic of another test, which does no harm to worlds.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Operations that a provider makes fail.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Failing {
    Everything,
    Messages,
    /// Messages of the endpoint that was opened after this number of others.
    MessagesOf(usize),
    Reads,
}

/// Operations that neither arrive nor fail while this is set.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Silent {
    Nothing,
    /// Everything to and from the endpoint that was opened after this number of others.
    Everything(usize),
    /// Accesses to and from it.
    Accesses(usize),
}

/// Support of a provider for device memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DeviceSupport {
    /// The provider registers it.
    Whole,
    /// The library is older than dma-bufs.
    OldLibrary,
    /// The provider lacks the capability.
    NotOffered,
    /// Each registration fails, with this error.
    Refused(i32),
}

/// The endpoints of one job.
pub(crate) struct World {
    pub(super) profile: Profile,
    random: u64,
    /// Number of operations in a thousand, of those that `failing` selects, that fail.
    pub(crate) errors: u64,
    pub(crate) failing: Failing,
    /// Whether failed operations never take effect; otherwise half of them do.
    pub(crate) drops: bool,
    /// Whether messages are held back.
    pub(crate) holds: bool,
    /// Operations that neither arrive nor fail.
    pub(crate) silent: Silent,
    /// Number of domains of the provider.
    pub(crate) domains: usize,
    /// Domain by which nothing arrives at its target.
    pub(crate) severed: Option<usize>,
    /// Domain that cannot be opened.
    pub(crate) broken: Option<usize>,
    /// Support for device memory.
    pub(crate) devices: DeviceSupport,
    /// Maximum number of bytes of host memory of a registration, as by a limit of locked memory.
    pub(crate) locked_bytes_max: usize,
    /// Whether registrations of device memory are in use and cannot be closed.
    pub(crate) keeps_devices: bool,
    /// Number of accesses to device memory at their targets: reads, and writes.
    pub(crate) device_accesses: [u64; 2],
    /// Number of accesses whose local memory was device memory.
    pub(crate) device_sources: u64,
    /// Number of accesses by each domain.
    pub(crate) accesses: BTreeMap<usize, u64>,
    /// Index of each opened domain among those of the provider, by its number.
    pub(super) opened: BTreeMap<u64, usize>,
    next: u64,
    pub(super) endpoints: BTreeMap<u64, MockEndpoint>,
    /// Completions by the number of their queue.
    pub(super) queues: BTreeMap<u64, VecDeque<Done>>,
    /// Registered memory by domain and key.
    pub(super) memory: BTreeMap<(u64, u64), Registered>,
    /// Operations in flight, in the order in which they were posted.
    wire: Vec<Wire>,
    /// Number of accesses that a target refused.
    pub(crate) refused: u64,
    /// Number of operations that were made to fail.
    pub(crate) failed: u64,
}

#[derive(Default)]
pub(super) struct MockEndpoint {
    pub(super) domain: u64,
    pub(super) queue: u64,
    pub(super) receives: VecDeque<(Piece, usize)>,
    pub(super) is_enabled: bool,
}

pub(super) struct Registered {
    pub(super) piece: Piece,
    pub(super) access: u64,
    /// The endpoint to which it is bound, where that is needed.
    pub(super) endpoint: Option<u64>,
    pub(super) is_enabled: bool,
    /// Mapping of device memory; `piece` then holds device addresses.
    pub(super) window: Option<Window>,
    /// Writes to device memory that have not arrived there: offset and bytes.
    pub(super) posted: Vec<(usize, Vec<u8>)>,
}

impl Registered {
    /// Makes the writes to device memory arrive.
    fn arrive(&mut self) {
        if let Some(window) = &self.window {
            self.posted.drain(..).for_each(|(offset, bytes)| window.cells(offset, bytes.len()).write(&bytes));
        }
    }
}

/// A card's path to device memory: a mapping of its dma-buf.
pub(super) struct Window {
    mapping: NonNull<u8>,
    mapped: usize,
    /// Offset of the memory in the buffer.
    offset: usize,
}

// SAFETY: P2: any thread may use cells.
unsafe impl Send for Window {}

impl Window {
    /// Maps a buffer; `None` if there is no such buffer.
    pub(super) fn new(descriptor: i32, offset: usize, bytes: usize) -> Option<Self> {
        let (mapped, access) = (offset.checked_add(bytes)?, libc::PROT_READ | libc::PROT_WRITE);
        // SAFETY: P2: a new mapping, at an unused address.
        let at = unsafe { libc::mmap(std::ptr::null_mut(), mapped, access, libc::MAP_SHARED, descriptor, 0) };
        (at != libc::MAP_FAILED).then(|| NonNull::new(at.cast())).flatten().map(|mapping| Self { mapping, mapped, offset })
    }

    /// Bytes of the memory.
    fn cells(&self, offset: usize, bytes: usize) -> Cells<'_> {
        assert!(self.offset + offset + bytes <= self.mapped);
        // SAFETY: P2: inside.
        unsafe { Cells::new(self.mapping.add(self.offset + offset), bytes) }
    }
}

impl Drop for Window {
    fn drop(&mut self) {
        // SAFETY: P2.
        unsafe { libc::munmap(self.mapping.as_ptr().cast(), self.mapped) };
    }
}

/// Some memory of a caller (P1).
#[derive(Clone, Copy)]
pub(super) struct Piece {
    pub(super) at: usize,
    pub(super) bytes: usize,
}

impl Piece {
    fn cells(self, bytes: usize) -> Cells<'static> {
        let at = NonNull::new(self.at as *mut u8).expect("memory of a caller");
        // SAFETY: P1.
        unsafe { Cells::new(at, bytes.min(self.bytes)) }
    }
}

pub(super) struct Done {
    pub(super) context: usize,
    pub(super) flags: u64,
    pub(super) bytes: usize,
    pub(super) result: Result<(), i32>,
}

#[derive(Clone, Copy)]
pub(super) enum What {
    Send,
    Write { address: u64, key: u64, notifies: bool },
    Read { address: u64, key: u64 },
}

pub(super) struct Wire {
    pub(super) from: u64,
    pub(super) to: u64,
    pub(super) context: usize,
    pub(super) local: Piece,
    pub(super) what: What,
    /// The key of the registration that the caller names for the local memory; 0 if it names none.
    pub(super) description: u64,
}

impl World {
    /// Creates a world in which `errors` of a thousand operations fail; returns the name of its provider.
    pub(crate) fn provider(profile: Profile, seed: u64, errors: u64) -> String {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let world = Self {
            profile,
            random: seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1,
            errors,
            failing: Failing::Everything,
            drops: false,
            holds: false,
            silent: Silent::Nothing,
            domains: 1,
            severed: None,
            broken: None,
            devices: DeviceSupport::Whole,
            locked_bytes_max: usize::MAX,
            keeps_devices: false,
            device_accesses: [0; 2],
            device_sources: 0,
            accesses: BTreeMap::new(),
            opened: BTreeMap::new(),
            next: 1,
            endpoints: BTreeMap::new(),
            queues: BTreeMap::new(),
            memory: BTreeMap::new(),
            wire: Vec::new(),
            refused: 0,
            failed: 0,
        };
        lock(&WORLDS).insert(number, Arc::new(Mutex::new(world)));
        format!("mock-{}-{number}", profile.name)
    }

    /// The world of a provider.
    pub(crate) fn find(provider: &str) -> Option<Arc<Mutex<Self>>> {
        let (_, number) = provider.strip_prefix("mock-")?.split_once('-')?;
        lock(&WORLDS).get(&number.parse().ok()?).cloned()
    }

    pub(super) fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    /// A number below `end`.
    pub(super) fn below(&mut self, end: u64) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random >> 11) % end
    }

    /// Accepts an operation, if there is space; now and then it refuses one at random.
    pub(super) fn post(&mut self, wire: Wire) -> isize {
        let under_way = self.wire.iter().filter(|other| other.from == wire.from).count();
        if under_way >= self.profile.queue || self.below(8) == 0 {
            return -(libc::EAGAIN as isize);
        }
        self.wire.push(wire);
        0
    }

    /// Performs the operations that an endpoint moves when its queue is read.
    pub(super) fn progress(&mut self, endpoint: u64) {
        let mut at = 0;
        while at < self.wire.len() {
            if self.is_movable(endpoint, at) && self.below(4) != 0 {
                let wire = self.wire.remove(at);
                self.perform(&wire);
            } else {
                at += 1;
            }
        }
    }

    fn is_movable(&self, endpoint: u64, at: usize) -> bool {
        let Wire { from, to, what, .. } = &self.wire[at];
        let Some(target) = self.endpoints.get(to) else { return *from == endpoint };
        let is_message = matches!(what, What::Send);
        let concerns = |opened: usize| self.endpoints.keys().nth(opened).is_some_and(|endpoint| [from, to].contains(&endpoint));
        let is_silent = match self.silent {
            Silent::Nothing => false,
            Silent::Everything(opened) => concerns(opened),
            Silent::Accesses(opened) => !is_message && concerns(opened),
        };
        if is_silent || is_message && self.holds {
            return false;
        }
        let mover = if self.profile.needs_target || is_message { *to } else { *from };
        // Messages keep their order (FI_ORDER_SAS), and wait for a posted receive.
        let mut before = self.wire[..at].iter().filter(|other| other.from == *from && other.to == *to);
        let is_held = before.any(|other| self.profile.is_ordered || is_message && matches!(other.what, What::Send));
        mover == endpoint && !is_held && !(is_message && target.receives.is_empty())
    }

    fn perform(&mut self, wire: &Wire) {
        let is_message = matches!(wire.what, What::Send);
        let may_fail = match self.failing {
            Failing::Everything => true,
            Failing::Messages => is_message,
            Failing::MessagesOf(opened) => is_message && self.endpoints.keys().nth(opened) == Some(&wire.from),
            Failing::Reads => matches!(wire.what, What::Read { .. }),
        };
        let domain = self.endpoints.get(&wire.from).map_or(0, |endpoint| self.opened[&endpoint.domain]);
        let is_severed = self.severed == Some(domain);
        let fails = is_severed || may_fail && self.errors > 0 && self.below(1000) < self.errors;
        self.failed += u64::from(fails);
        *self.accesses.entry(domain).or_default() += u64::from(!is_message);
        // A failed operation may have taken effect.
        let result = if is_severed || fails && (self.drops || self.below(2) == 0) { Ok(()) } else { self.happen(wire) };
        let result = if fails { Err(libc::EIO) } else { result };
        let flags = match wire.what {
            What::Send => FI_SEND,
            What::Write { .. } => FI_RMA | FI_WRITE,
            What::Read { .. } => FI_RMA | FI_READ,
        };
        self.complete(wire.from, Done { context: wire.context, flags, bytes: wire.local.bytes, result });
    }

    fn happen(&mut self, wire: &Wire) -> Result<(), i32> {
        let bytes = wire.local.bytes;
        if !self.endpoints.contains_key(&wire.to) {
            return Err(libc::ECONNRESET);
        }
        match wire.what {
            What::Send => {
                let target = self.endpoints.get_mut(&wire.to).expect("looked at above");
                let (into, context) = target.receives.pop_front().expect("it waits for a place");
                assert!(bytes <= into.bytes, "a message of {bytes} bytes is longer than its place");
                into.cells(bytes).copy_from(wire.local.cells(bytes));
                self.complete(wire.to, Done { context, flags: FI_RECV, bytes, result: Ok(()) });
            }
            What::Write { address, key, notifies } => {
                let (domain, offset) = self.target(wire.to, address, bytes, key, FI_REMOTE_WRITE)?;
                let local = self.local(wire);
                let memory = self.memory.get_mut(&(domain, key)).expect("just found");
                if memory.window.is_some() {
                    // The card has acknowledged the write, which is still in flight to the device.
                    memory.posted.push((offset, local));
                    self.device_accesses[1] += 1;
                } else {
                    Piece { at: memory.piece.at + offset, bytes }.cells(bytes).write(&local);
                }
                if notifies {
                    let flags = FI_RMA | FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA;
                    self.complete(wire.to, Done { context: 0, flags, bytes, result: Ok(()) });
                }
            }
            What::Read { address, key } => {
                let (domain, offset) = self.target(wire.to, address, bytes, key, FI_REMOTE_READ)?;
                let memory = self.memory.get_mut(&(domain, key)).expect("just found");
                memory.arrive();
                match &memory.window {
                    Some(window) => {
                        wire.local.cells(bytes).copy_from(window.cells(offset, bytes));
                        self.device_accesses[0] += 1;
                    }
                    None => wire.local.cells(bytes).copy_from(Piece { at: memory.piece.at + offset, bytes }.cells(bytes)),
                }
            }
        }
        Ok(())
    }

    /// The bytes that an access writes.
    fn local(&mut self, wire: &Wire) -> Vec<u8> {
        let domain = self.endpoints.get(&wire.from).map_or(0, |endpoint| endpoint.domain);
        let registered = self.memory.get_mut(&(domain, wire.description)).filter(|memory| memory.window.is_some());
        let Some(memory) = registered else { return wire.local.cells(wire.local.bytes).to_vec() };
        assert_ne!(memory.access & FI_WRITE, 0, "memory from which is written allows that");
        memory.arrive();
        self.device_sources += 1;
        let window = memory.window.as_ref().expect("looked at above");
        window.cells(wire.local.at - memory.piece.at, wire.local.bytes).to_vec()
    }

    /// The domain of the registered memory that an access reaches, and the offset in that memory.
    fn target(&mut self, endpoint: u64, address: u64, bytes: usize, key: u64, access: u64) -> Result<(u64, usize), i32> {
        let (mode, domain) = (self.profile.mr_mode, self.endpoints[&endpoint].domain);
        let found = self.memory.get(&(domain, key)).and_then(|memory| {
            let base = if mode & FI_MR_VIRT_ADDR == 0 { 0 } else { memory.piece.at as u64 };
            let offset = usize::try_from(address.checked_sub(base)?).ok()?;
            let fits = offset.checked_add(bytes).is_some_and(|end| end <= memory.piece.bytes);
            let is_bound = mode & FI_MR_ENDPOINT == 0 || memory.endpoint == Some(endpoint) && memory.is_enabled;
            let allows = fits && is_bound && memory.access & access != 0;
            allows.then_some((domain, offset))
        });
        self.refused += u64::from(found.is_none());
        found.ok_or(libc::EACCES)
    }

    /// Ends a registration, if possible; earlier writes arrive.
    pub(super) fn deregister(&mut self, domain: u64, key: u64) -> bool {
        let Some(memory) = self.memory.get_mut(&(domain, key)) else { return true };
        if memory.window.is_some() && self.keeps_devices {
            return false;
        }
        memory.arrive();
        self.memory.remove(&(domain, key));
        true
    }

    /// Number of registrations of device memory.
    pub(crate) fn device_registrations(&self) -> usize {
        self.memory.values().filter(|memory| memory.window.is_some()).count()
    }

    fn complete(&mut self, endpoint: u64, done: Done) {
        let queue = self.endpoints.get(&endpoint).and_then(|endpoint| self.queues.get_mut(&endpoint.queue));
        // A closed endpoint receives no completions.
        if let Some(queue) = queue {
            queue.push_back(done);
        }
    }

    /// Closes an endpoint, and drops the operations that it has posted.
    pub(super) fn close(&mut self, endpoint: u64) {
        self.endpoints.remove(&endpoint);
        self.wire.retain(|wire| wire.from != endpoint);
    }

    /// Whether memory lies in a registration of a domain that allows local access.
    pub(super) fn is_registered(&self, domain: u64, key: u64, local: Piece) -> bool {
        self.memory.get(&(domain, key)).is_some_and(|memory| {
            let inside = local.at >= memory.piece.at && local.at + local.bytes <= memory.piece.at + memory.piece.bytes;
            inside && memory.access & (FI_READ | FI_WRITE | FI_SEND | FI_RECV) != 0
        })
    }
}
