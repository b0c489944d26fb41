//! The memory of all ranks: one mapping, of which only pages that are touched exist.

use std::collections::BTreeMap;
use std::sync::Arc;

use pelago_base::{AddressLayout, GlobalAddress, Rank, SegmentId};
use pelago_memory::{Cells, Mapping, Reach, ReachLayout};
use pelago_platform::{Failure, RegisterError};

use crate::SimulationError;

/// Bytes of a rank's control block: its doorbell, which nobody listens to here.
const CONTROL_BYTES: usize = 64;

/// What all ranks can reach.
pub(crate) struct Memory {
    /// The heaps.
    reach: Reach,
    /// Which heaps each rank has registered: bit 0 the symmetric one, bit 1 the individual one.
    heaps: Vec<u8>,
    /// What was registered besides.
    registered: BTreeMap<(Rank, SegmentId), Cells<'static>>,
}

impl Memory {
    pub(crate) fn new(ranks: u32, heap_bytes: u64) -> Result<Self, SimulationError> {
        let addresses = AddressLayout::new(ranks, heap_bytes).map_err(|error| SimulationError::Memory(error.to_string()))?;
        let heaps = (ranks as usize * CONTROL_BYTES).next_multiple_of(4096);
        let (first, control_bytes) = (Rank::new(0), CONTROL_BYTES);
        let layout = ReachLayout { addresses, first, count: ranks, controls: 0, control_bytes, heaps };
        let bytes = usize::try_from(layout.bytes()).unwrap_or(usize::MAX);
        let mapping = Mapping::private(bytes).map_err(|error| SimulationError::Memory(error.to_string()))?;
        let (heaps, registered) = (vec![0; ranks as usize], BTreeMap::new());
        Ok(Self { reach: Reach::new(Arc::new(mapping), layout), heaps, registered })
    }

    pub(crate) fn addresses(&self) -> AddressLayout {
        self.reach.addresses()
    }

    /// What `rank` reaches by loads and stores: its own memory.
    pub(crate) fn reach_of(&self, rank: Rank) -> Reach {
        self.reach.only(rank)
    }

    pub(crate) fn register(&mut self, rank: Rank, id: SegmentId, memory: Cells<'static>) -> Result<(), RegisterError> {
        if let Some(bit) = heap_bit(id) {
            let heaps = &mut self.heaps[u32::from(rank) as usize];
            if *heaps & bit != 0 {
                return Err(RegisterError::Identifier(id));
            }
            *heaps |= bit;
            return Ok(());
        }
        if id.number() > self.addresses().segment_max() || self.registered.contains_key(&(rank, id)) {
            return Err(RegisterError::Identifier(id));
        }
        self.registered.insert((rank, id), memory);
        Ok(())
    }

    pub(crate) fn deregister(&mut self, rank: Rank, id: SegmentId) {
        match heap_bit(id) {
            Some(bit) => self.heaps[u32::from(rank) as usize] &= !bit,
            None => drop(self.registered.remove(&(rank, id))),
        }
    }

    /// `bytes` bytes of registered memory from `address` on.
    pub(crate) fn cells(&self, address: GlobalAddress, bytes: u64) -> Result<Cells<'_>, Failure> {
        let layout = self.addresses();
        let find = || {
            let (rank, segment) = (layout.rank(address), layout.segment(address)?);
            if let Some(bit) = heap_bit(segment) {
                let registered = self.heaps.get(u32::from(rank) as usize)? & bit != 0;
                return if registered { self.reach.cells(address, bytes) } else { None };
            }
            self.registered.get(&(rank, segment))?.part(layout.offset(address), bytes)
        };
        find().ok_or(Failure::OutOfBounds(address))
    }
}

/// The bit of a heap; `None` for other segments.
fn heap_bit(id: SegmentId) -> Option<u8> {
    match id {
        SegmentId::SYMMETRIC => Some(1),
        SegmentId::INDIVIDUAL => Some(2),
        _ => None,
    }
}
