//! The contract in its simplest form: several ranks inside one process.
//!
//! A transport keeps what was posted and performs it, in order, when its owner calls `progress`. All ranks share one table of
//! registered memory behind one lock. How each clause of [`Transport`] comes out of that:
//!
//! | clause | because |
//! |---|---|
//! | T1 bounded | the queue of a rank has a limit, past which `post` answers `Full` |
//! | T2 captured | the queue holds a copy of the bytes of a `Write` |
//! | T3 once | `progress` takes an operation out of the queue, performs it and completes it |
//! | T4 visible | it is performed before its completion is handed out |
//! | T5 unordered | operations are performed in the order of posting: a fence has nothing to do |
//! | T6 finite | an operation that needs a lost rank is completed without being performed |
//! | T7 timeless | `now` is not looked at |
//! | T8 checked | memory is found only by the table, and only inside its length |

use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};

use pelago_base::{AddressLayout, Duration, GlobalAddress, Instant, Rank};

use pelago_memory::{MemoryKind, Region, Regions};
use pelago_platform::limits;
use pelago_platform::{
    self as platform, Address, Capabilities, Completion, ConnectError, Endpoint, Failure, Flags, Operation, PostError, Rail,
    RegisterError, Registry, Token, Transport, TwoSided,
};

use crate::captured::{Captured, ends};

/// One rank's end of a network inside this process.
///
/// An operation takes effect when its poster makes progress; the other ranks need do nothing. Endpoints carry the number of their
/// rank. Costs: one lock per `progress`, one copy of the bytes of a `Write`, no other allocation per operation.
pub struct Loopback {
    rank: Rank,
    ranks: u32,
    layout: AddressLayout,
    connected: BTreeSet<Endpoint>,
    queue: VecDeque<(Token, Captured)>,
    network: Arc<Mutex<Network>>,
}

impl Loopback {
    /// A network of `ranks` ranks; the ends in order of rank.
    ///
    /// # Panics
    /// Addresses of `layout` do not reach so many ranks.
    pub fn network(layout: AddressLayout, ranks: u32) -> Vec<Self> {
        assert!(ranks <= layout.ranks(), "addresses reach {} ranks, not {ranks}", layout.ranks());
        let network = Network { layout, regions: Regions::new(layout), lost: BTreeSet::new() };
        let network = Arc::new(Mutex::new(network));
        let end = |rank| Self {
            rank: Rank::new(rank),
            ranks,
            layout,
            connected: BTreeSet::new(),
            queue: VecDeque::new(),
            network: Arc::clone(&network),
        };
        (0..ranks).map(end).collect()
    }

    /// Loses `rank` as if its process had died: from now on nobody reaches it and it reaches nobody.
    pub fn lose(&self, rank: Rank) {
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
        _in_order_anyway: Flags,
        token: Token,
    ) -> Result<(), PostError> {
        if !self.connected.contains(&to) {
            return Err(PostError::Unknown(to));
        }
        match operation {
            Operation::Write { bytes, .. } if bytes.len() > CAPABILITIES.inject_size => {
                return Err(PostError::TooLong(bytes.len()));
            }
            Operation::Sized(_) => return Err(PostError::Sizes),
            _ => {}
        }
        if self.queue.len() == limits::COMPLETIONS_MAX {
            return Err(PostError::Full);
        }
        self.queue.push_back((token, Captured::new(operation)));
        Ok(())
    }

    fn progress(&mut self, _now: Instant, completed: &mut Vec<Completion>) -> bool {
        let moved = !self.queue.is_empty();
        let network = lock(&self.network);
        for (token, operation) in self.queue.drain(..) {
            completed.push(Completion { token, result: network.complete(self.rank, operation.operation()) });
        }
        moved
    }

    fn next_deadline(&self) -> Option<Instant> {
        None
    }

    fn flush(&mut self, _now: Instant) {}

    fn before_sleep(&mut self) {}

    fn two_sided(&mut self) -> Option<&mut dyn TwoSided> {
        None
    }
}

impl platform::Network for Loopback {
    fn capabilities(&self) -> &Capabilities {
        const { &CAPABILITIES }
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
        // Nobody is inside: peers touch memory only under the lock.
        lock(&self.network).regions.remove(start);
        true
    }
}

const CAPABILITIES: Capabilities = Capabilities {
    name: "loopback",
    inject_size: pelago_base::limits::INJECT_SIZE,
    latency: Duration::from_nanoseconds(100),
    bytes_per_second: 10e9,
    atomics_by_progress_thread: false,
    data_bytes_max: u64::MAX,
};

fn address_of(rank: Rank) -> Address {
    Address(rank.number().to_le_bytes().into())
}

fn lock(network: &Mutex<Network>) -> MutexGuard<'_, Network> {
    network.lock().expect("no rank panics while it holds the network")
}

/// What all ranks share.
struct Network {
    layout: AddressLayout,
    /// The memory of all ranks.
    regions: Regions,
    lost: BTreeSet<Rank>,
}

impl Network {
    /// How an operation of `poster` ends.
    fn complete(&self, poster: Rank, operation: Operation<'_>) -> Result<u64, Failure> {
        let [near, far] = ends(self.layout, &operation);
        match [near, far, poster].into_iter().find(|rank| self.lost.contains(rank)) {
            Some(lost) => Err(Failure::PeerLost(lost)),
            None => self.perform(operation),
        }
    }

    fn perform(&self, operation: Operation<'_>) -> Result<u64, Failure> {
        let (moved, device) = match operation {
            Operation::Write { to, bytes } => (self.find(to, bytes.len() as u64)?.write(bytes), to),
            Operation::Put { from, to } => (self.find(to, from.bytes() as u64)?.copy_from(&from.into()), to),
            Operation::Get { from, to } => (Region::Host(to).copy_from(&self.find(from, to.bytes() as u64)?), from),
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

    /// `bytes` bytes of registered memory from `address` on.
    fn find(&self, address: GlobalAddress, bytes: u64) -> Result<Region<'static>, Failure> {
        let (memory, ()) = self.regions.find(address, bytes).ok_or(Failure::OutOfBounds(address))?;
        Ok(memory)
    }
}
