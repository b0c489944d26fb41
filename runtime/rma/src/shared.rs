//! What all contexts of a rank have in common.

use std::iter;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pelago_base::{GlobalAddress, Rank, SegmentId, Topology};
use pelago_memory::{Heap, Reach, Space};
use pelago_platform::{Activity, Address, Bootstrap, Capabilities, Clock, Network, VirtualTime, Wait, WaitPolicy};

use crate::limits::{REGION_GAP_BYTES, REGIONS_RETIRED_MAX};
use crate::{Error, Result};

/// What all contexts of a rank have in common. What waits and transfers read comes first, together.
#[repr(C)]
pub(crate) struct Shared {
    virtual_time: Option<Arc<dyn VirtualTime>>,
    pub(crate) wait: Arc<dyn Wait>,
    /// As `wait` says.
    pub(crate) policy: WaitPolicy,
    /// The longest transfer whose bytes are moved, and whether the program knows that there is such a bound.
    data_bytes_max: u64,
    asked_for_data: AtomicBool,
    /// Whether this rank goes on when others are lost.
    tolerates_peer_failures: AtomicBool,
    /// Whether atomics of others need a core of this rank, on some rail.
    pub(crate) serves_atomics: bool,
    pub(crate) rank: Rank,
    pub(crate) size: u32,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) reach: Reach,
    pub(crate) topology: Topology,
    bootstrap: Mutex<Box<dyn Bootstrap>>,
    /// Made when it is first used.
    individual: Mutex<Option<Box<Heap>>>,
    /// The addresses of registered memory, from the first segment for it on. Made when it is first used.
    registered: Mutex<Option<Box<Space>>>,
    /// The first failure that a context left behind when it was dropped.
    left_behind: Mutex<Option<Box<Error>>>,
}

/// Of the network as a whole, and of each of its rails.
pub(crate) fn capabilities(network: &dyn Network) -> impl Iterator<Item = &Capabilities> {
    iter::once(network.capabilities()).chain(network.rails())
}

impl Shared {
    pub(crate) fn new(
        reach: Reach,
        clock: Arc<dyn Clock>,
        wait: Arc<dyn Wait>,
        virtual_time: Option<Arc<dyn VirtualTime>>,
        bootstrap: Box<dyn Bootstrap>,
        network: &dyn Network,
    ) -> Self {
        Self {
            rank: bootstrap.rank(),
            size: bootstrap.size(),
            topology: bootstrap.topology(),
            reach,
            clock,
            policy: wait.policy(),
            wait,
            virtual_time,
            bootstrap: Mutex::new(bootstrap),
            individual: Mutex::new(None),
            registered: Mutex::new(None),
            tolerates_peer_failures: AtomicBool::new(false),
            data_bytes_max: capabilities(network).map(|network| network.data_bytes_max).min().unwrap_or(u64::MAX),
            serves_atomics: capabilities(network).any(|network| !network.atomics.spare_cores()),
            asked_for_data: AtomicBool::new(false),
            left_behind: Mutex::new(None),
        }
    }

    /// A context is dropped that knows of a failure which nobody was told of.
    pub(crate) fn leave_behind(&self, error: Error) {
        self.left_behind.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(|| Box::new(error));
    }

    /// Reports the first failure that was left behind.
    pub(crate) fn tell_left_behind(&self) -> Result<()> {
        self.left_behind.lock().unwrap_or_else(PoisonError::into_inner).take().map_or(Ok(()), |error| Err(*error))
    }

    /// Whether loads and stores reach the heaps of all ranks.
    pub(crate) fn is_all_mapped(&self) -> bool {
        self.reach.ranks().len() == self.size as usize
    }

    /// Goes on when ranks are lost, from now on.
    pub(crate) fn tolerate_peer_failures(&self) {
        self.wait.tolerate_peer_failures();
        self.tolerates_peer_failures.store(true, Ordering::Relaxed);
    }

    /// Lets computing take the time that it takes where time is virtual.
    pub(crate) fn virtual_time(&self) -> Option<&dyn VirtualTime> {
        self.virtual_time.as_deref()
    }

    /// Tells virtual time that the library works until the value is dropped, and no longer the program. On ways that leave this rank only.
    pub(crate) fn inside(&self) -> Inside<'_> {
        let virtual_time = self.virtual_time.as_deref();
        if let Some(time) = virtual_time {
            time.entered();
        }
        Inside(virtual_time)
    }

    /// Tells the platform that this thread waits until the value is dropped.
    pub(crate) fn waiting(&self) -> Waiting<'_> {
        self.wait.note(Activity::Waits);
        Waiting(&*self.wait)
    }

    /// Tells the platform how many operations, with how many bytes, a context has issued since it last did: for reports.
    #[cold]
    pub(crate) fn tally(&self, [operations, bytes]: [u64; 2]) {
        if operations > 0
            && let Some(reports) = self.wait.reports()
        {
            reports.tally(operations, bytes);
        }
    }

    #[inline]
    pub(crate) fn tolerates_peer_failures(&self) -> bool {
        self.tolerates_peer_failures.load(Ordering::Relaxed)
    }

    /// Whether the bytes of all transfers are moved; the program knows from now on.
    pub(crate) fn moves_data(&self) -> bool {
        self.asked_for_data.store(true, Ordering::Relaxed);
        self.data_bytes_max == u64::MAX
    }

    /// Whether only the size of a transfer of the program, to or from this address, travels. What is mapped is moved.
    ///
    /// # Errors
    /// It would, and the program does not know.
    #[inline]
    pub(crate) fn goes_by_size(&self, end: GlobalAddress, bytes: u64) -> Result<bool> {
        if bytes <= self.data_bytes_max || self.reach.holds(self.reach.addresses().rank(end)) {
            return Ok(false);
        }
        if self.asked_for_data.load(Ordering::Relaxed) { Ok(true) } else { Err(Error::SizesOnly) }
    }

    /// What `peer` published as its address for a transport.
    pub(crate) fn address_of(&self, peer: Rank, transport: &str) -> Result<Address> {
        Ok(Address(self.bootstrap().lookup(peer, transport)?))
    }

    pub(crate) fn bootstrap(&self) -> MutexGuard<'_, Box<dyn Bootstrap>> {
        self.bootstrap.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does something with the heap of what this rank alone allocates.
    pub(crate) fn with_individual<R>(&self, f: impl FnOnce(&mut Heap) -> R) -> R {
        let mut heap = self.individual.lock().unwrap_or_else(PoisonError::into_inner);
        f(heap.get_or_insert_with(|| Box::new(Heap::new(self.reach.addresses().segment_bytes()))))
    }

    /// Addresses of this rank for `bytes` bytes that are registered; `None` if no segment is as long or none is left.
    pub(crate) fn allocate_addresses(&self, bytes: u64) -> Option<GlobalAddress> {
        let layout = self.reach.addresses();
        let place = self.with_registered(|space| space.allocate(bytes))?;
        let segment = layout.registered_segments().start() + (place / layout.segment_bytes()) as u32;
        layout.encode(self.rank, SegmentId::new(segment)?, place % layout.segment_bytes()).ok()
    }

    /// Gives back what `allocate_addresses` returned for so many bytes.
    pub(crate) fn free_addresses(&self, start: GlobalAddress, bytes: u64) {
        let layout = self.reach.addresses();
        let number = layout.segment(start).map_or(0, SegmentId::number);
        let segment = number.saturating_sub(*layout.registered_segments().start());
        let place = u64::from(segment) * layout.segment_bytes() + layout.offset(start);
        self.with_registered(|space| space.give_back(place, bytes));
    }

    fn with_registered<R>(&self, f: impl FnOnce(&mut Space) -> R) -> R {
        let mut space = self.registered.lock().unwrap_or_else(PoisonError::into_inner);
        let layout = self.reach.addresses();
        let segments = layout.registered_segments().count() as u64;
        let new = || Box::new(Space::new(layout.segment_bytes(), segments, REGION_GAP_BYTES, REGIONS_RETIRED_MAX));
        f(space.get_or_insert_with(new))
    }
}

/// The library works; see [`Shared::inside`].
pub(crate) struct Inside<'s>(Option<&'s dyn VirtualTime>);

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        if let Some(time) = self.0 {
            time.left();
        }
    }
}

/// A thread waits; see [`Shared::waiting`].
pub(crate) struct Waiting<'s>(&'s dyn Wait);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.note(Activity::GoesOn);
    }
}
