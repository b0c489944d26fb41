//! The transport between ranks of one host.

mod staged_copy;

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use pelago_base::{AtomicOperator, Duration, GlobalAddress, Instant, Rank, SegmentId, Width};
use pelago_memory::{DeviceHandle, Region};
use pelago_platform::limits::{CAPTURED_BYTES_MAX, COMPLETIONS_MAX};
use pelago_platform::{
    Address, Capabilities, Completion, ConnectError, Endpoint, Extensions, Failure, Flags, Network, Operation, PostError,
    Protection, Rail, RegisterError, Registry, Token, Transport,
};

use crate::host::control::ReplySlot;
use crate::host::region_table::{DEVICE, ExportedDevice, RegionInsertion, RegionTable};
use crate::limits::PROGRESS_THREAD_REPLIES_MAX;
use crate::registered::cross_memory_attach::{self, CmaError};
use crate::registered::location::{self, CopyError, locate};
use crate::registered::progress_thread::{self, OwnerRequest, OwnerTask, ReplyStatus};
use crate::transport::staged_copy::{CopyEnd, REQUEST_PAUSE, StagedCopies, StagedCopy};
use crate::{HostMemory, ProgressThread, RankStage};

/// Costs of operations between ranks of one host, and properties of their shared memory. The poster's core performs atomics on heaps, a core of
/// the owner those on other registered memory.
pub const CAPABILITIES: Capabilities = Capabilities {
    keeps_time: true,
    inject_size: CAPTURED_BYTES_MAX,
    latency: Duration::from_nanoseconds(100),
    bytes_per_second: 1e10,
    protection: Protection::SameUser,
    ..Capabilities::of("shm")
};

/// Method of copying registered memory of another process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyBy {
    /// Cross-memory attach, without the owner's participation; the owner's progress thread once the system has forbidden cross-memory attach.
    Attach,
    /// The owner's progress thread.
    ProgressThread,
}

/// The transport between ranks of one host.
///
/// Operations on heaps and on the rank's own registered memory are performed inside `post`. So are copies to and from other ranks' registered
/// memory, where the system allows it. Atomics on other ranks' registered memory are requests to their owner: a
/// thread that waits in the library serves them, if one has announced that ([`RankControl::attend`](crate::RankControl::attend)), otherwise the
/// owner's progress thread, which starts when the owner first registers memory.
pub struct Shm {
    host: Arc<HostMemory>,
    me: Rank,
    copy_by: Cell<CopyBy>,
    manual: bool,
    /// Whether each heap has been registered.
    heaps: [bool; 2],
    progress_thread: Option<ProgressThread>,
    connected: BTreeSet<u32>,
    /// Endpoints whose next operation must wait for those in flight.
    fenced: BTreeSet<u32>,
    completed: VecDeque<Completion>,
    atomics: Vec<PendingAtomic>,
    staging: StagedCopies,
    /// Time of the last `progress`, and time at which a request is repeated that found a full inbox: no bell rings when there is room again.
    now: Instant,
    retry_at: Option<Instant>,
    replies: ReplySlots,
    /// Handles of registered device memory, by start address: peers read them here while the memory is registered.
    exported: BTreeMap<u64, Box<[u8; DeviceHandle::ENCODED_BYTES]>>,
}

/// The number of the next registration of this process, for all its ranks.
static SERIALS: AtomicU64 = AtomicU64::new(1);

const HEAPS: [SegmentId; 2] = [SegmentId::SYMMETRIC, SegmentId::INDIVIDUAL];

/// An atomic that the owner of the memory has been requested to perform.
struct PendingAtomic {
    token: Token,
    at: GlobalAddress,
    owner: Rank,
    reply: u8,
}

impl Shm {
    /// Creates the transport of rank `me`. With `manual`, it never starts a progress thread.
    ///
    /// # Panics
    /// `me` is not on this host.
    pub fn new(host: Arc<HostMemory>, me: Rank, copy_by: CopyBy, manual: bool) -> Self {
        assert!(host.control(me).is_some(), "rank {me} is on this host");
        cross_memory_attach::allow();
        Self {
            host,
            me,
            copy_by: Cell::new(copy_by),
            manual,
            heaps: [false; 2],
            progress_thread: None,
            connected: BTreeSet::new(),
            fenced: BTreeSet::new(),
            completed: VecDeque::new(),
            atomics: Vec::new(),
            staging: StagedCopies::default(),
            now: Instant::ZERO,
            retry_at: None,
            replies: ReplySlots { me },
            exported: BTreeMap::new(),
        }
    }

    /// The regions that this rank has registered.
    fn regions(&self) -> RegionTable<'_> {
        self.host.regions(self.me).expect("this rank is on its host")
    }

    fn copy(&mut self, token: Token, mut from: CopyEnd, mut to: CopyEnd, bytes: u64) {
        match self.copy_now(&mut from, &mut to, bytes) {
            Ok(true) => {
                self.ring(to.address());
                self.complete(token, Ok(0));
            }
            Ok(false) => self.staging.push(StagedCopy { token, from, to, bytes, done: 0, loaded: false, awaiting: None }),
            Err(failure) => self.complete(token, Err(failure)),
        }
    }

    /// Copies at once if that needs no progress thread; `Ok(false)` if it does.
    fn copy_now(&self, from: &mut CopyEnd, to: &mut CopyEnd, bytes: u64) -> Result<bool, Failure> {
        let (from_address, to_address) = (from.address(), to.address());
        let source = from.place(&self.host, self.me, bytes)?;
        let target = to.place(&self.host, self.me, bytes)?;
        let there = source.is_there() || target.is_there();
        if bytes == 0 {
            return Ok(true);
        }
        if there && self.copy_by.get() == CopyBy::ProgressThread {
            return Ok(false);
        }
        let Err(CopyError { why, is_of_source }) = location::copy(&source, &target) else { return Ok(true) };
        let address = if is_of_source { from_address } else { to_address };
        match why {
            CmaError::Forbidden => {
                self.copy_by.set(CopyBy::ProgressThread);
                Ok(false)
            }
            CmaError::Hidden => Ok(false),
            CmaError::Device => Err(Failure::Device(address)),
            CmaError::Gone => Err(Failure::PeerLost(self.host.reach().addresses().rank(address))),
            CmaError::Unmapped => Err(Failure::OutOfBounds(address)),
        }
    }

    fn atomic(
        &mut self,
        token: Token,
        at: GlobalAddress,
        width: Width,
        operator: AtomicOperator,
        operand: u64,
    ) -> Result<(), PostError> {
        let here = match locate(&self.host, self.me, at, width.bytes()) {
            Ok(place) if place.is_imported() => None,
            Ok(place) => place.region().map(|word| match word.atomic(width, operator, operand) {
                Ok(found) => found.ok_or(Failure::Misaligned(at)),
                Err(_) => Err(Failure::Device(at)),
            }),
            Err(failure) => Some(Err(failure)),
        };
        let Some(result) = here else {
            let owner = self.host.reach().addresses().rank(at);
            let task = OwnerTask::Atomic { width, operator, operand };
            let Some(reply) = self.replies.ask(&self.host, owner, at, task) else {
                self.retry_at = Some(self.now + REQUEST_PAUSE);
                return Err(PostError::Full);
            };
            self.atomics.push(PendingAtomic { token, at, owner, reply });
            return Ok(());
        };
        if result.is_ok() {
            self.ring(at);
        }
        self.complete(token, result);
        Ok(())
    }

    /// Wakes the owner of memory that was written to; null stands for memory of this process.
    fn ring(&self, address: GlobalAddress) {
        if address.is_null() {
            return;
        }
        if let Some(bell) = self.host.reach().bell(self.host.reach().addresses().rank(address)) {
            bell.ring();
        }
    }

    fn complete(&mut self, token: Token, result: Result<u64, Failure>) {
        self.completed.push_back(Completion { token, result });
    }

    fn under_way(&self) -> usize {
        self.completed.len() + self.atomics.len() + self.staging.len()
    }

    /// Whether an operation posted to `peer` has not taken effect.
    fn unfinished(&self, peer: Rank) -> bool {
        self.atomics.iter().any(|asked| asked.owner == peer) || self.staging.involves(&self.host, peer)
    }
}

impl Transport for Shm {
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
        if !self.connected.contains(&to.0) {
            return Err(PostError::Unknown(to));
        }
        if flags.fence {
            self.fenced.insert(to.0);
        }
        if self.under_way() >= COMPLETIONS_MAX {
            return Err(PostError::Full);
        }
        if self.fenced.contains(&to.0) {
            if self.unfinished(Rank::new(to.0)) {
                return Err(PostError::Full);
            }
            self.fenced.remove(&to.0);
        }
        match operation {
            Operation::Write { bytes, .. } if bytes.len() > CAPTURED_BYTES_MAX => return Err(PostError::TooLong(bytes.len())),
            Operation::Write { to, bytes } => {
                self.copy(token, CopyEnd::Captured(bytes.to_vec()), CopyEnd::Global(to), bytes.len() as u64)
            }
            Operation::Put { from, to } => self.copy(token, CopyEnd::Local(from), CopyEnd::Global(to), from.bytes() as u64),
            Operation::Get { from, to } => self.copy(token, CopyEnd::Global(from), CopyEnd::Local(to), to.bytes() as u64),
            Operation::Copy { from, to, bytes } => self.copy(token, CopyEnd::Global(from), CopyEnd::Global(to), bytes),
            Operation::Sized(_) => return Err(PostError::Sizes),
            Operation::PutBlocks { .. } | Operation::GetBlocks { .. } => return Err(PostError::Blocks),
            Operation::Signalled { .. } => return Err(PostError::Signalled),
            Operation::Atomic { at, width, operator, operand } => return self.atomic(token, at, width, operator, operand),
        }
        Ok(())
    }

    fn progress(&mut self, now: Instant, completed: &mut Vec<Completion>) -> bool {
        let mut moved = progress_thread::serve(&self.host, self.me);
        while let Some((token, target, result)) = self.staging.step(&self.host, self.me, &mut self.replies) {
            self.ring(target);
            self.complete(token, result);
        }
        self.now = now;
        // Other contexts of the rank may make progress before the one whose request was refused reads the deadline.
        let retry_at = self.retry_at.filter(|&at| at > now);
        self.retry_at = if self.staging.is_refused() { Some(now + REQUEST_PAUSE) } else { retry_at };
        let (host, replies, done) = (&self.host, &mut self.replies, &mut self.completed);
        self.atomics.retain(|asked| {
            let result = match replies.take(host, asked.owner, asked.reply) {
                Ok((status, value)) => match status.result(asked.at, value) {
                    Some(result) => result,
                    None => return true,
                },
                Err(failure) => Err(failure),
            };
            done.push_back(Completion { token: asked.token, result });
            false
        });
        moved |= !self.completed.is_empty();
        completed.extend(self.completed.drain(..));
        moved
    }

    fn next_deadline(&self) -> Option<Instant> {
        self.retry_at
    }

    fn flush(&mut self, _now: Instant) {}

    fn before_sleep(&mut self) {}

    fn extensions(&mut self) -> Option<&mut dyn Extensions> {
        None
    }
}

impl Network for Shm {
    fn capabilities(&self) -> &Capabilities {
        const { &CAPABILITIES }
    }

    fn address(&self) -> Address {
        Address(self.me.number().to_le_bytes().into())
    }

    fn connect(&mut self, rail: Option<Rail>, peer: Rank, address: &Address) -> Result<Endpoint, ConnectError> {
        if address.0 != peer.number().to_le_bytes() {
            return Err(ConnectError::Address(address.clone()));
        }
        let is_there = self.host.control(peer).is_some() && rail.is_none_or(|rail| rail == Rail::FIRST);
        if !is_there {
            return Err(ConnectError::Unreachable(peer));
        }
        self.connected.insert(peer.number());
        Ok(Endpoint(peer.number()))
    }
}

impl Registry for Shm {
    fn register(&mut self, start: GlobalAddress, memory: Region<'static>) -> Result<(), RegisterError> {
        let (addresses, taken) = (self.host.reach().addresses(), RegisterError::Addresses(start));
        let bytes = memory.bytes();
        if addresses.rank(start) != self.me || !addresses.is_in_segment(start, bytes) {
            return Err(taken);
        }
        if let Some(heap) = HEAPS.iter().position(|&heap| addresses.segment(start) == Some(heap)) {
            // Every rank of the host has mapped it already.
            let fresh = !std::mem::replace(&mut self.heaps[heap], true);
            return fresh.then_some(()).ok_or(taken);
        }
        if !self.manual && self.progress_thread.is_none() {
            let progress_thread =
                ProgressThread::start(self.host.clone(), self.me).map_err(|error| RegisterError::System(error.to_string()))?;
            self.progress_thread = Some(progress_thread);
        }
        let (address, handle) = match &memory {
            Region::Host(cells) => (cells.pointer().as_ptr() as u64, None),
            // If the driver does not export the memory, peers request accesses from this rank.
            Region::Device(device) => (DEVICE, device.memory().export().and_then(Result::ok)),
        };
        if address == DEVICE && !self.host.devices().insert(start, memory, ()) {
            return Err(taken);
        }
        let handle = handle.map(|handle| Box::new(handle.encode()));
        let inserted = match &handle {
            None => self.regions().insert(start.bits(), address, bytes),
            Some(handle) => {
                let serial = SERIALS.fetch_add(1, Ordering::Relaxed);
                let exported = ExportedDevice { handle: handle.as_ptr() as u64, serial };
                self.regions().insert_exported(start.bits(), address, bytes, exported)
            }
        };
        let inserted = match inserted {
            RegionInsertion::Open => {
                self.exported.extend(handle.map(|handle| (start.bits(), handle)));
                return Ok(());
            }
            RegionInsertion::Taken => taken,
            RegionInsertion::Full(limit) => RegisterError::Full(limit),
        };
        if address == DEVICE {
            self.host.devices().remove(start);
        }
        Err(inserted)
    }

    fn deregister(&mut self, start: GlobalAddress) -> bool {
        let is_empty = self.regions().remove(start.bits());
        if is_empty {
            self.host.devices().remove(start);
            self.exported.remove(&start.bits());
        }
        is_empty
    }
}

/// This rank's reply slots.
pub(crate) struct ReplySlots {
    me: Rank,
}

impl ReplySlots {
    /// Sends a request to `owner` and returns the slot of its reply; `None` if no slot is free or the inbox is full.
    pub(crate) fn ask(&mut self, host: &HostMemory, owner: Rank, address: GlobalAddress, task: OwnerTask) -> Option<u8> {
        let slots = &host.control(self.me)?.replies;
        let status = |slot: &ReplySlot| slot.status.load(Ordering::Relaxed);
        let free = slots.iter().position(|slot| ReplyStatus::from_word(status(slot)) == ReplyStatus::Free)?;
        const { assert!(PROGRESS_THREAD_REPLIES_MAX <= 256, "a slot number is a byte") };
        let target = host.control(owner)?;
        let number = ((status(&slots[free]) >> 32) as u32).wrapping_add(1);
        slots[free].status.store(ReplyStatus::Pending.word(number), Ordering::Relaxed);
        let request = OwnerRequest { from: self.me, reply: free as u8, number, address, task };
        if !target.ask(self.me, request.encode()) {
            slots[free].withdraw(number);
            return None;
        }
        Some(free as u8)
    }

    /// Returns the state of a reply; unless it is pending, the slot is free again.
    pub(crate) fn take(&mut self, host: &HostMemory, owner: Rank, reply: u8) -> Result<(ReplyStatus, u64), Failure> {
        let slot = &host.control(self.me).expect("this rank is on its host").replies[usize::from(reply)];
        let word = slot.status.load(Ordering::Acquire);
        let (status, number) = (ReplyStatus::from_word(word), (word >> 32) as u32);
        if matches!(status, ReplyStatus::Pending | ReplyStatus::Executing) {
            let failed = host.control(owner).is_none_or(|control| control.stage() == RankStage::Failed);
            if !failed {
                return Ok((status, 0));
            }
            // If the failed rank has begun the execution, the reply may still arrive: the slot is never used again.
            slot.withdraw(number);
            return Err(Failure::PeerLost(owner));
        }
        let value = slot.value.load(Ordering::Relaxed);
        slot.status.store(ReplyStatus::Free.word(number), Ordering::Relaxed);
        Ok((status, value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::HostPlan;
    use crate::host::control::REQUEST_WORDS;
    use pelago_memory::Cells;

    /// A rank copies between registered memory of two others.
    #[test]
    fn a_copy_that_fails_names_the_rank_whose_memory_is_gone() {
        let registered = SegmentId::REGISTERED_FIRST;
        let host = Arc::new(HostMemory::create(&HostPlan::local(3, Some(1 << 20))).unwrap().0);
        let [me, gone, alive] = [0, 1, 2].map(Rank::new);
        [me, gone, alive].into_iter().for_each(|rank| assert!(host.join(rank)));
        let memory = Cells::from_mut(vec![0_u64; 2].leak());
        let at = |rank| host.reach().addresses().encode(rank, registered, 0).unwrap();
        let mut end = Shm::new(host.clone(), me, CopyBy::Attach, true);
        for rank in [gone, alive] {
            let open = host.regions(rank).unwrap().insert(at(rank).bits(), memory.pointer().as_ptr() as u64, 16);
            assert_eq!(open, RegionInsertion::Open);
            end.connect(None, rank, &Address(rank.number().to_le_bytes().into())).unwrap();
        }
        // No process has this number.
        host.control(gone).unwrap().process.store(u32::MAX >> 2, Ordering::Relaxed);
        for (from, to) in [(gone, alive), (alive, gone)] {
            let copy = Operation::Copy { from: at(from), to: at(to), bytes: 16 };
            end.post(Instant::ZERO, Endpoint(from.number()), copy, Flags::NONE, Token(1)).unwrap();
            let mut completed = Vec::new();
            end.progress(Instant::ZERO, &mut completed);
            assert_eq!(completed, [Completion { token: Token(1), result: Err(Failure::PeerLost(gone)) }], "from {from} to {to}");
        }
    }

    /// Requests of other ranks fill the inbox of the owner. The requester is not rung when there is room again, so it sleeps for a limited time.
    #[test]
    fn requests_that_find_no_room_are_tried_again() {
        let registered = SegmentId::REGISTERED_FIRST;
        let host = Arc::new(HostMemory::create(&HostPlan::local(2, Some(1 << 20))).unwrap().0);
        let ranks = [0, 1].map(Rank::new);
        ranks.iter().for_each(|&rank| assert!(host.join(rank)));
        let [mut end, mut owner] = ranks.map(|rank| Shm::new(host.clone(), rank, CopyBy::ProgressThread, true));
        let at = host.reach().addresses().encode(ranks[1], registered, 0).unwrap();
        let memory = Cells::from_mut(vec![0_u8; 8].leak());
        owner.register(at, memory.into()).unwrap();
        end.connect(None, ranks[1], &Address(1u32.to_le_bytes().into())).unwrap();
        let inbox = &host.control(ranks[1]).unwrap().inbox;
        while inbox.push(0, [u64::MAX; REQUEST_WORDS]).is_ok() {}
        let add = Operation::Atomic { at, width: Width::Eight, operator: AtomicOperator::Add, operand: 1 };
        assert_eq!(end.post(Instant::ZERO, Endpoint(1), add, Flags::NONE, Token(1)), Err(PostError::Full));
        let (first, mut completed) = (Instant::ZERO + REQUEST_PAUSE, Vec::new());
        assert_eq!(end.next_deadline(), Some(first));
        end.progress(Instant::ZERO, &mut completed);
        assert_eq!(end.next_deadline(), Some(first));
        end.progress(first, &mut completed);
        assert_eq!(end.next_deadline(), None, "nothing is to be repeated");
        let write = Operation::Write { to: at, bytes: b"put here" };
        end.post(first, Endpoint(1), write, Flags::NONE, Token(1)).unwrap();
        end.progress(first, &mut completed);
        let second = first + REQUEST_PAUSE;
        assert_eq!((end.next_deadline(), completed.len()), (Some(second), 0));
        while owner.progress(first, &mut Vec::new()) {}
        end.progress(second, &mut completed);
        assert_eq!((end.next_deadline(), inbox.is_empty(), completed.len()), (None, false, 0), "the owner's reply rings");
        owner.progress(second, &mut Vec::new());
        end.progress(second, &mut completed);
        assert_eq!(completed, [Completion { token: Token(1), result: Ok(0) }]);
        assert_eq!(memory.to_vec(), b"put here");
    }

    /// Every kind of write wakes a rank that waits for the data, after the data have arrived.
    #[test]
    fn every_write_rings_its_target_when_it_has_landed() {
        const BYTES: u64 = 100_000;
        let registered = SegmentId::REGISTERED_FIRST;
        for copy_by in [CopyBy::Attach, CopyBy::ProgressThread] {
            let host = Arc::new(HostMemory::create(&HostPlan::local(2, Some(1 << 20))).unwrap().0);
            let ranks = [Rank::new(0), Rank::new(1)];
            ranks.iter().for_each(|&rank| _ = host.join(rank));
            let mut ends = ranks.map(|rank| Shm::new(host.clone(), rank, copy_by, true));
            for (end, rank) in ends.iter_mut().zip(ranks) {
                // The heap's bytes stand for memory that the program owned: mapped, and alive as long as the host.
                let start = host.reach().addresses().encode(rank, SegmentId::INDIVIDUAL, 0).unwrap();
                let cells = host.reach().cells(start, BYTES).unwrap();
                let first = host.reach().addresses().encode(rank, registered, 0).unwrap();
                let open = host.regions(rank).unwrap().insert(first.bits(), cells.pointer().as_ptr() as u64, BYTES);
                assert_eq!(open, RegionInsertion::Open);
                end.connect(None, ranks[1], &Address(1u32.to_le_bytes().into())).unwrap();
                end.connect(None, ranks[0], &Address(0u32.to_le_bytes().into())).unwrap();
            }
            let at = |rank, segment| host.reach().addresses().encode(rank, segment, 0).unwrap();
            let bell = &host.control(ranks[1]).unwrap().bell;
            let (heap, owned) = (at(ranks[1], SegmentId::SYMMETRIC), at(ranks[1], registered));
            let add = Operation::Atomic { at: owned, width: Width::Eight, operator: AtomicOperator::Add, operand: 1 };
            for operation in [
                Operation::Write { to: heap, bytes: b"x" },
                Operation::Write { to: owned, bytes: b"x" },
                Operation::Copy { from: at(ranks[0], registered), to: heap, bytes: BYTES },
                Operation::Copy { from: at(ranks[0], SegmentId::SYMMETRIC), to: owned, bytes: BYTES },
                add,
            ] {
                // Announces a sleeper; only a ring removes it.
                bell.sleep(None, &mut || true);
                let owner = if matches!(operation, Operation::Copy { .. }) { 0 } else { 1 };
                ends[0].post(Instant::ZERO, Endpoint(owner), operation, Flags::NONE, Token(1)).unwrap();
                let mut completed = Vec::new();
                for _ in 0..100 {
                    ends[0].progress(Instant::ZERO, &mut completed);
                    if !completed.is_empty() {
                        break;
                    }
                    // The request to the owner's progress thread rings too, for the owner may be its own progress thread.
                    bell.sleep(None, &mut || true);
                    ends[1].progress(Instant::ZERO, &mut Vec::new());
                }
                assert_eq!(completed, [Completion { token: Token(1), result: Ok(0) }], "{copy_by:?} {operation:?}");
                assert!(!bell.has_sleeper(), "{copy_by:?} {operation:?} wakes nobody");
            }
        }
    }
}
