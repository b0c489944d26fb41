//! What all contexts of a rank have in common.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pelago_base::Rank;
use pelago_memory::{Heap, Reach};
use pelago_platform::{Address, Bootstrap, Clock, Park};

use crate::Result;

/// What all contexts of a rank have in common.
pub(crate) struct Shared {
    pub(crate) rank: Rank,
    pub(crate) size: u32,
    pub(crate) reach: Reach,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) park: Arc<dyn Park>,
    bootstrap: Mutex<Box<dyn Bootstrap>>,
    individual: Mutex<Heap>,
    /// One bit for each registered segment in use.
    pub(crate) registered: AtomicU32,
    /// Whether this rank goes on when others are lost.
    survives: AtomicBool,
}

impl Shared {
    pub(crate) fn new(reach: Reach, clock: Arc<dyn Clock>, park: Arc<dyn Park>, bootstrap: Box<dyn Bootstrap>) -> Self {
        let heap_bytes = reach.addresses().segment_bytes();
        Self {
            rank: bootstrap.rank(),
            size: bootstrap.size(),
            reach,
            clock,
            park,
            bootstrap: Mutex::new(bootstrap),
            individual: Mutex::new(Heap::new(heap_bytes)),
            registered: AtomicU32::new(0),
            survives: AtomicBool::new(false),
        }
    }

    /// Whether loads and stores reach the heaps of all ranks.
    pub(crate) fn is_all_mapped(&self) -> bool {
        self.reach.ranks().len() == self.size as usize
    }

    /// Goes on when ranks are lost, from now on.
    pub(crate) fn survive(&self) {
        self.park.survive();
        self.survives.store(true, Ordering::Relaxed);
    }

    #[inline]
    pub(crate) fn survives(&self) -> bool {
        self.survives.load(Ordering::Relaxed)
    }

    /// What `peer` published as its address for a transport.
    pub(crate) fn address_of(&self, peer: Rank, transport: &str) -> Result<Address> {
        Ok(Address(self.bootstrap().lookup(peer, transport)?))
    }

    pub(crate) fn bootstrap(&self) -> MutexGuard<'_, Box<dyn Bootstrap>> {
        self.bootstrap.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn individual(&self) -> MutexGuard<'_, Heap> {
        self.individual.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
