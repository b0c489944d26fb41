//! The contract in its simplest form: several ranks inside one process.
//!
//! A transport queues posted operations and performs them, in order, when its owner calls `progress`. All ranks share one table of
//! registered memory behind one lock. This fulfils each clause of [`Transport`]:
//!
//! | clause | because |
//! |---|---|
//! | T1 bounded | the queue of a rank has a limit, beyond which `post` returns `Full` |
//! | T2 captured | the queue holds a copy of the bytes of a `Write` |
//! | T3 once | `progress` takes an operation out of the queue, performs it and completes it |
//! | T4 visible | an operation is performed before its completion is returned |
//! | T5 unordered | operations are performed in the order of posting: a fence has nothing to do |
//! | T6 finite | an operation that needs a failed rank is completed without being performed |
//! | T7 timeless | `now` is not used |
//! | T8 checked | memory is found only through the table, and only inside its length |
//! | T9 rails | there is one rail |
//! | T10 waking | `progress` calls the network's `wake` function for the owner of memory that it has written to |
//! | T11 atomic | atomics are those of the poster's core |
//! | T12 sizes | only transfers longer than `message_bytes_max` of the network are refused |
//! | T13 blocks | the memory from the lowest block to the highest is found before any is touched |

use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};

use pelago_base::{AddressLayout, AtomicOperator, Blocks, Duration, GlobalAddress, Instant, Rank, Width};

use pelago_memory::{Cells, MemoryKind, Region, Regions, copy_strided, write_strided};
use pelago_platform::limits;
use pelago_platform::{
    self as platform, Address, Capabilities, Completion, ConnectError, DeviceAccess, Endpoint, Extensions, Failure, Flags,
    KeyMode, NativeAtomics, Operation, Ordering, PostError, Protection, Rail, RegisterError, Registry, Token, Transport,
};

use crate::captured::{Captured, check_blocks, ends, length, written};

/// One rank's end of a network inside this process.
///
/// An operation takes effect when its poster makes progress; the other ranks need do nothing. Endpoints carry the number of their
/// rank. Costs: one lock per `progress`, one copy of the bytes of a `Write`, no other allocation per operation.
pub struct Loopback {
    rank: Rank,
    ranks: u32,
    layout: AddressLayout,
    capabilities: Capabilities,
    connected: BTreeSet<Endpoint>,
    queue: VecDeque<Posted>,
    network: Arc<Mutex<Network>>,
    wake: Wake,
}

/// Wakes a rank that sleeps.
type Wake = Arc<dyn Fn(Rank) + Send + Sync>;

/// An operation that waits for progress.
struct Posted {
    token: Token,
    operation: Captured,
    notify: bool,
}

impl Loopback {
    /// Its capabilities, unless [`network_like`](Self::network_like) restricts them.
    pub const CAPABILITIES: Capabilities = Capabilities {
        keeps_time: true,
        name: "loopback",
        inject_size: pelago_base::limits::INJECT_SIZE,
        message_bytes_max: u64::MAX,
        operations_max: limits::COMPLETIONS_MAX as u32,
        blocks_max: 64,
        block_bytes_max: u64::MAX,
        signalled_bytes_min: 64,
        put_message_bytes: 0,
        latency: Duration::from_nanoseconds(100),
        bytes_per_second: 10e9,
        atomics: NativeAtomics::ALL,
        ordering: Ordering::All,
        keys: KeyMode::None,
        device_memory: DeviceAccess::Direct,
        wakes_target: true,
        protection: Protection::SameUser,
        data_bytes_max: u64::MAX,
    };

    /// Creates a network of `ranks` ranks that never sleep; returns the ends in order of rank.
    ///
    /// # Panics
    /// Addresses of `layout` do not reach `ranks` ranks.
    pub fn network(layout: AddressLayout, ranks: u32) -> Vec<Self> {
        Self::network_like(Self::CAPABILITIES, layout, ranks, |_| ())
    }

    /// Creates a network that behaves as `capabilities` say: their maximum lengths apply, and without `wakes_target` only operations with
    /// [`Flags::notify`] wake their target. `wake` is called for each rank that is to wake.
    ///
    /// # Panics
    /// Addresses of `layout` do not reach `ranks` ranks.
    pub fn network_like(
        capabilities: Capabilities,
        layout: AddressLayout,
        ranks: u32,
        wake: impl Fn(Rank) + Send + Sync + 'static,
    ) -> Vec<Self> {
        Self::ends(capabilities, layout, ranks, Arc::new(wake))
    }

    /// Creates another network of the same ranks, with its own memory, the same capabilities and the same `wake`.
    pub fn another_network(&self) -> Vec<Self> {
        Self::ends(self.capabilities, self.layout, self.ranks, self.wake.clone())
    }

    fn ends(capabilities: Capabilities, layout: AddressLayout, ranks: u32, wake: Wake) -> Vec<Self> {
        assert!(ranks <= layout.ranks(), "addresses reach {} ranks, not {ranks}", layout.ranks());
        let network = Network { layout, regions: Regions::new(layout), lost: BTreeSet::new() };
        let network = Arc::new(Mutex::new(network));
        let end = |rank| Self {
            rank: Rank::new(rank),
            ranks,
            layout,
            capabilities,
            connected: BTreeSet::new(),
            queue: VecDeque::new(),
            network: Arc::clone(&network),
            wake: wake.clone(),
        };
        (0..ranks).map(end).collect()
    }

    /// Makes `rank` fail as if its process had died: from now on it reaches no rank and no rank reaches it.
    pub fn peer_failed(&self, rank: Rank) {
        lock(&self.network).lost.insert(rank);
    }
}

impl Transport for Loopback {
    fn network(&mut self) -> &mut dyn platform::Network {
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
        Flags { notify, .. }: Flags,
        token: Token,
    ) -> Result<(), PostError> {
        if !self.connected.contains(&to) {
            return Err(PostError::Unknown(to));
        }
        match operation {
            Operation::Write { bytes, .. } | Operation::Signalled { bytes, .. }
                if bytes.len() > self.capabilities.inject_size =>
            {
                return Err(PostError::TooLong(bytes.len()));
            }
            Operation::Signalled { bytes, .. } if bytes.len() < self.capabilities.signalled_bytes_min => {
                return Err(PostError::Signalled);
            }
            Operation::Sized(_) => return Err(PostError::Sizes),
            Operation::PutBlocks { .. } | Operation::GetBlocks { .. } if self.capabilities.blocks_max == 0 => {
                return Err(PostError::Blocks);
            }
            Operation::PutBlocks { from: local, from_shape: shape, blocks, .. }
            | Operation::GetBlocks { to: local, to_shape: shape, blocks, .. } => {
                check_blocks(local, shape, blocks, self.capabilities.blocks_max)?;
            }
            operation if length(&operation) > self.capabilities.message_bytes_max => {
                return Err(PostError::TooLong(length(&operation) as usize));
            }
            _ => {}
        }
        if self.queue.len() == limits::COMPLETIONS_MAX {
            return Err(PostError::Full);
        }
        self.queue.push_back(Posted { token, operation: Captured::new(operation), notify });
        Ok(())
    }

    fn progress(&mut self, _now: Instant, completed: &mut Vec<Completion>) -> bool {
        let moved = !self.queue.is_empty();
        let network = lock(&self.network);
        for Posted { token, operation, notify } in self.queue.drain(..) {
            let operation = operation.operation();
            let result = network.complete(self.rank, operation);
            completed.push(Completion { token, result });
            let wakes = result.is_ok() && (notify || self.capabilities.wakes_target);
            if let Some(rank) = written(self.layout, &operation).filter(|_| wakes) {
                (self.wake)(rank);
            }
        }
        if moved {
            // Another thread of this rank may wait for one of these completions.
            (self.wake)(self.rank);
        }
        moved
    }

    fn next_deadline(&self) -> Option<Instant> {
        None
    }

    fn flush(&mut self, _now: Instant) {}

    fn before_sleep(&mut self) {}

    fn extensions(&mut self) -> Option<&mut dyn Extensions> {
        None
    }
}

impl platform::Network for Loopback {
    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn address(&self) -> Address {
        address_of(self.rank)
    }

    fn connect(&mut self, rail: Option<Rail>, peer: Rank, address: &Address) -> Result<Endpoint, ConnectError> {
        if peer.number() >= self.ranks || rail.is_some_and(|rail| rail != Rail::FIRST) {
            return Err(ConnectError::Unreachable(peer));
        }
        if *address != address_of(peer) {
            return Err(ConnectError::Address(address.clone()));
        }
        let endpoint = Endpoint(peer.number());
        self.connected.insert(endpoint);
        Ok(endpoint)
    }
}

impl Registry for Loopback {
    fn register(&mut self, start: GlobalAddress, memory: Region<'static>) -> Result<(), RegisterError> {
        let is_mine = self.layout.rank(start) == self.rank;
        let inserted = is_mine && lock(&self.network).regions.insert(start, memory, ());
        inserted.then_some(()).ok_or(RegisterError::Addresses(start))
    }

    fn deregister(&mut self, start: GlobalAddress) -> bool {
        // No access is in progress: peers access memory only under the lock.
        lock(&self.network).regions.remove(start);
        true
    }
}

fn address_of(rank: Rank) -> Address {
    Address(rank.number().to_le_bytes().into())
}

fn lock(network: &Mutex<Network>) -> MutexGuard<'_, Network> {
    network.lock().expect("no rank panics while it holds the network")
}

/// State shared by all ranks.
struct Network {
    layout: AddressLayout,
    /// The memory of all ranks.
    regions: Regions,
    lost: BTreeSet<Rank>,
}

impl Network {
    /// Performs an operation of `poster`, unless it needs a failed rank; returns its result.
    fn complete(&self, poster: Rank, operation: Operation<'_>) -> Result<u64, Failure> {
        let [at, other] = ends(self.layout, &operation);
        match [at, other, poster].into_iter().find(|rank| self.lost.contains(rank)) {
            Some(lost) => Err(Failure::PeerLost(lost)),
            None => self.perform(operation),
        }
    }

    fn perform(&self, operation: Operation<'_>) -> Result<u64, Failure> {
        let (moved, device) = match operation {
            Operation::Write { to, bytes } => (self.find(to, bytes.len() as u64)?.write(bytes), to),
            Operation::Signalled { to, bytes, at, word } => {
                let region = self.find(to, bytes.len() as u64)?;
                region.write(bytes).map_err(|_| Failure::Device(to))?;
                return self
                    .perform(Operation::Atomic { at, width: Width::Eight, operator: AtomicOperator::Swap, operand: word })
                    .map(|_| 0);
            }
            Operation::Put { from, to } => (self.find(to, from.bytes() as u64)?.copy_from(&from.into()), to),
            Operation::Get { from, to } => (Region::Host(to).copy_from(&self.find(from, to.bytes() as u64)?), from),
            Operation::PutBlocks { from, from_shape, to, blocks } => {
                let (place, region) = self.find_blocks(to, blocks)?;
                let mut packed = vec![0; from_shape.bytes().unwrap_or(0) as usize];
                copy_strided(from, *from_shape, Cells::from_mut(&mut packed), from_shape.packed());
                let mut rest = &packed[..];
                let written = blocks.each().try_for_each(|block| {
                    let (part, others) = rest.split_at(block.bytes as usize);
                    rest = others;
                    region.part(block.offset - place, block.bytes).expect("inside the envelope").write(part)
                });
                (written, to)
            }
            Operation::GetBlocks { from, blocks, to, to_shape } => {
                let (place, region) = self.find_blocks(from, blocks)?;
                let mut packed = vec![0; to_shape.bytes().unwrap_or(0) as usize];
                let mut rest = &mut packed[..];
                let read = blocks.each().try_for_each(|block| {
                    let (part, others) = std::mem::take(&mut rest).split_at_mut(block.bytes as usize);
                    rest = others;
                    region.part(block.offset - place, block.bytes).expect("inside the envelope").read(part)
                });
                if read.is_ok() {
                    write_strided(&packed, to_shape.packed(), to, *to_shape);
                }
                (read, from)
            }
            Operation::Copy { from, to, bytes } => {
                let source = self.find(from, bytes)?;
                (self.find(to, bytes)?.copy_from(&source), if source.kind() == MemoryKind::Host { to } else { from })
            }
            Operation::Atomic { at, width, operator, operand } => {
                let found = self.find(at, width.bytes())?.atomic(width, operator, operand);
                return found.map_err(|_| Failure::Device(at))?.ok_or(Failure::Misaligned(at));
            }
            Operation::Sized(_) => unreachable!("refused when it was posted"),
        };
        moved.map(|()| 0).map_err(|_| Failure::Device(device))
    }

    /// Returns the memory from the lowest of some blocks to the highest, and its offset from `start`.
    fn find_blocks(&self, start: GlobalAddress, blocks: Blocks<'_>) -> Result<(u64, Region<'static>), Failure> {
        let envelope = blocks.envelope().map_err(|_| Failure::OutOfBounds(start))?;
        let lowest = GlobalAddress::from_bits(start.bits().wrapping_add(envelope.start));
        Ok((envelope.start, self.find(lowest, envelope.end - envelope.start)?))
    }

    /// `bytes` bytes of registered memory from `address` on.
    fn find(&self, address: GlobalAddress, bytes: u64) -> Result<Region<'static>, Failure> {
        let (memory, ()) = self.regions.find(address, bytes).ok_or(Failure::OutOfBounds(address))?;
        Ok(memory)
    }
}
