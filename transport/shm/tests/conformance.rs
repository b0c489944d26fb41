//! Conformance of the transport between ranks of one host, with either method of copying registered memory.
//!
//! All ranks are in this process; each treats the registered memory of the others as that of another process.
#![allow(unsafe_code)]

use std::cell::Cell;
use std::ptr::NonNull;
use std::sync::Arc;

use pelago_base::{AddressLayout, Rank, SegmentId};
use pelago_kit::conformance::Fixture;
use pelago_memory::Cells;
use pelago_platform::{Fault, Registry, Transport};
use pelago_shm::{CopyBy, HostMemory, HostPlan, Shm};

const HEAP_BYTES: u64 = 1 << 20;
const REGISTERED_WORDS: usize = 16 * 1024;

struct Ranks {
    host: Arc<HostMemory>,
    transports: Vec<Shm>,
    registered: Vec<Cells<'static>>,
    /// Number of rings of each rank that were seen.
    rings: Vec<Cell<u64>>,
}

impl Ranks {
    fn new(ranks: u32, copy_by: CopyBy) -> Self {
        let host = Arc::new(HostMemory::create(&HostPlan::local(ranks, Some(HEAP_BYTES))).unwrap().0);
        let mut transports = Vec::new();
        let mut registered = Vec::new();
        for rank in (0..ranks).map(Rank::new) {
            host.join(rank);
            let mut transport = Shm::new(host.clone(), rank, copy_by, true);
            let at = |segment| host.reach().addresses().encode(rank, segment, 0).unwrap();
            for heap in [SegmentId::SYMMETRIC, SegmentId::INDIVIDUAL] {
                // SAFETY: `host` lives as long as the transports.
                let cells = unsafe { host.reach().heap(rank, heap) }.unwrap();
                transport.register(at(heap), cells.into()).unwrap();
            }
            let memory: &'static mut [u64] = vec![0; REGISTERED_WORDS].leak();
            // SAFETY: leaked, so valid for ever; nothing else refers to it.
            let cells = unsafe { Cells::new(NonNull::from(&mut *memory).cast(), size_of_val(memory)) };
            transport.register(at(SegmentId::REGISTERED_FIRST), cells.into()).unwrap();
            transports.push(transport);
            registered.push(cells);
        }
        let rings = vec![Cell::new(0); ranks as usize];
        Self { host, transports, registered, rings }
    }
}

impl Fixture for Ranks {
    fn layout(&self) -> AddressLayout {
        self.host.reach().addresses()
    }

    fn segments(&self) -> Vec<SegmentId> {
        vec![SegmentId::SYMMETRIC, SegmentId::INDIVIDUAL, SegmentId::REGISTERED_FIRST]
    }

    fn memory(&self, rank: Rank, segment: SegmentId) -> Cells<'_> {
        if segment == SegmentId::REGISTERED_FIRST {
            return self.registered[rank.index()];
        }
        let address = self.layout().encode(rank, segment, 0).unwrap();
        self.host.reach().cells(address, HEAP_BYTES).unwrap()
    }

    fn transport(&mut self, rank: Rank) -> &mut dyn Transport {
        &mut self.transports[rank.index()]
    }

    fn peer_failed(&mut self, rank: Rank) -> bool {
        self.host.fail(Fault::PeerLost(rank));
        true
    }

    fn wakes(&self, rank: Rank) -> Option<u64> {
        let (bell, rings) = (self.host.reach().bell(rank)?, &self.rings[rank.index()]);
        // A ring removes the announced sleeper.
        if !bell.has_sleeper() {
            rings.set(rings.get() + 1);
            bell.sleep(None, &mut || true);
        }
        Some(rings.get())
    }
}

pelago_kit::conformance!(attach, |ranks| Ranks::new(ranks, CopyBy::Attach));
pelago_kit::conformance!(progress_thread, |ranks| Ranks::new(ranks, CopyBy::ProgressThread));
