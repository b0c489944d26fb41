//! The state that all contexts of a rank share.

use std::iter;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

use pelago_base::{GlobalAddress, Rank, SegmentId, Topology};
use pelago_memory::{Heap, Reach, Space};
use pelago_platform::{Activity, Address, Bootstrap, Capabilities, Clock, Network, Tally, VirtualTime, Wait, WaitPolicy};

use crate::limits::{REGION_GAP_BYTES, REGIONS_RETIRED_MAX};
use crate::{Error, Result};

/// The state that all contexts of a rank share. The fields that waits and transfers read come first, adjacent to each other.
#[repr(C)]
pub(crate) struct Shared {
    virtual_time: Option<Arc<dyn VirtualTime>>,
    pub(crate) wait: Arc<dyn Wait>,
    /// The policy of `wait`.
    pub(crate) policy: WaitPolicy,
    /// Maximum size of a transfer whose bytes are moved, and whether the program has asked about this limit.
    data_bytes_max: u64,
    asked_for_data: AtomicBool,
    /// Whether this rank continues after the failure of other ranks.
    tolerates_peer_failures: AtomicBool,
    /// Whether, on some rail, remote atomics of other ranks need a core of this rank.
    pub(crate) serves_atomics: bool,
    pub(crate) rank: Rank,
    pub(crate) size: u32,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) reach: Reach,
    pub(crate) topology: Topology,
    bootstrap: Mutex<Box<dyn Bootstrap>>,
    /// Whether this rank waits in the bootstrap for the others to leave.
    is_leaving: AtomicBool,
    /// Allocated on first use.
    individual: Mutex<Option<Box<Heap>>>,
    /// The addresses of registered memory, starting with the first segment for registrations. Allocated on first use.
    registered: Mutex<Option<Box<Space>>>,
    /// The first unreported failure of a context that was dropped.
    left_behind: Mutex<Option<Box<Error>>>,
}

/// Returns the capabilities of the network as a whole, then those of each of its rails.
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
            is_leaving: AtomicBool::new(false),
            individual: Mutex::new(None),
            registered: Mutex::new(None),
            tolerates_peer_failures: AtomicBool::new(false),
            data_bytes_max: capabilities(network).map(|network| network.data_bytes_max).min().unwrap_or(u64::MAX),
            serves_atomics: capabilities(network).any(|network| !network.atomics.spare_cores()),
            asked_for_data: AtomicBool::new(false),
            left_behind: Mutex::new(None),
        }
    }

    /// Stores the unreported failure of a context that is dropped. Only the first failure is kept.
    pub(crate) fn leave_behind(&self, error: Error) {
        self.left_behind.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(|| Box::new(error));
    }

    /// Reports the first failure that a dropped context left unreported.
    pub(crate) fn tell_left_behind(&self) -> Result<()> {
        self.left_behind.lock().unwrap_or_else(PoisonError::into_inner).take().map_or(Ok(()), |error| Err(*error))
    }

    /// Whether loads and stores reach the heaps of all ranks.
    pub(crate) fn is_all_mapped(&self) -> bool {
        self.reach.ranks().len() == self.size as usize
    }

    /// Makes this rank continue after failures of other ranks, from now on.
    pub(crate) fn tolerate_peer_failures(&self) {
        self.wait.tolerate_peer_failures();
        self.tolerates_peer_failures.store(true, Ordering::Relaxed);
    }

    /// Returns the virtual clock, which accounts for the time of computation; `None` if time is not virtual.
    pub(crate) fn virtual_time(&self) -> Option<&dyn VirtualTime> {
        self.virtual_time.as_deref()
    }

    /// Tells the virtual clock that library code, not the program, executes until the value is dropped. Used only on paths that leave this rank.
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

    /// Reports to the platform the operations of a context since the last call: for reports, and for the detection of deadlocks.
    #[cold]
    pub(crate) fn tally(&self, tally: Tally) {
        if tally != Tally::default()
            && let Some(reports) = self.wait.reports()
        {
            reports.tally(&tally);
        }
    }

    #[inline]
    pub(crate) fn tolerates_peer_failures(&self) -> bool {
        self.tolerates_peer_failures.load(Ordering::Relaxed)
    }

    /// Whether the bytes of all transfers are moved; records that the program has asked.
    pub(crate) fn moves_data(&self) -> bool {
        self.asked_for_data.store(true, Ordering::Relaxed);
        self.data_bytes_max == u64::MAX
    }

    /// Whether a transfer of the program to or from this address transfers its size only. Transfers of mapped memory move the bytes.
    ///
    /// # Errors
    /// The transfer would transfer its size only, and the program has not asked ([`moves_data`](Self::moves_data)).
    #[inline]
    pub(crate) fn goes_by_size(&self, end: GlobalAddress, bytes: u64) -> Result<bool> {
        if bytes <= self.data_bytes_max || self.reach.holds(self.reach.addresses().rank(end)) {
            return Ok(false);
        }
        if self.asked_for_data.load(Ordering::Relaxed) { Ok(true) } else { Err(Error::SizesOnly) }
    }

    /// Returns the address that `peer` has published for a transport.
    ///
    /// # Errors
    /// The bootstrap does not know it, or is in use because this rank leaves: its progress may call this function in the same thread.
    pub(crate) fn address_of(&self, peer: Rank, transport: &str) -> Result<Address> {
        let mut bootstrap = match self.bootstrap.try_lock() {
            Ok(bootstrap) => bootstrap,
            Err(TryLockError::WouldBlock) if self.is_leaving.load(Ordering::Relaxed) => {
                return Err(Error::Invalid("a rank that leaves the job connects to no further rank"));
            }
            Err(_) => self.bootstrap(),
        };
        Ok(Address(bootstrap.lookup(peer, transport)?))
    }

    /// Returns when all ranks leave; calls `meanwhile` now and then.
    pub(crate) fn leave_together(&self, meanwhile: &mut dyn FnMut() -> bool) -> Result<()> {
        self.is_leaving.store(true, Ordering::Relaxed);
        let left = self.bootstrap().barrier(meanwhile);
        self.is_leaving.store(false, Ordering::Relaxed);
        Ok(left?)
    }

    pub(crate) fn bootstrap(&self) -> MutexGuard<'_, Box<dyn Bootstrap>> {
        self.bootstrap.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls `f` with the heap of this rank's individual allocations.
    pub(crate) fn with_individual<R>(&self, f: impl FnOnce(&mut Heap) -> R) -> R {
        let mut heap = self.individual.lock().unwrap_or_else(PoisonError::into_inner);
        f(heap.get_or_insert_with(|| Box::new(Heap::new(self.reach.addresses().segment_bytes()))))
    }

    /// Allocates addresses of this rank for `bytes` bytes to be registered; `None` if no segment is long enough or has enough free addresses.
    pub(crate) fn allocate_addresses(&self, bytes: u64) -> Option<GlobalAddress> {
        let layout = self.reach.addresses();
        let place = self.with_registered(|space| space.allocate(bytes))?;
        let segment = layout.registered_segments().start() + (place / layout.segment_bytes()) as u32;
        layout.encode(self.rank, SegmentId::new(segment)?, place % layout.segment_bytes()).ok()
    }

    /// Frees addresses that `allocate_addresses` returned for the same number of bytes.
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

/// A period of library code; see [`Shared::inside`].
pub(crate) struct Inside<'s>(Option<&'s dyn VirtualTime>);

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        if let Some(time) = self.0 {
            time.left();
        }
    }
}

/// A period of waiting; see [`Shared::waiting`].
pub(crate) struct Waiting<'s>(&'s dyn Wait);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.note(Activity::GoesOn);
    }
}
