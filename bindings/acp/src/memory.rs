//! The valid global addresses: starter memory, the heap, and registered memory.
//!
//! Invariant **A2**: registered addresses refer to memory that the program has registered and not unregistered. The program promises to keep
//! it valid, and to access it by plain loads and stores only where no operation is in flight, according to C's rules for data races.
#![allow(unsafe_code)]

use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock};

use pelago::{AddressLayout, GlobalAddress, Rank, Registered, SegmentId, World};
use pelago_memory::{Cells, Reach};

use crate::refusal::{End, Refusal};
use pelago_c_support::slab::Slab;

/// The memory behind global addresses, for all threads; starter memory and the heap are found without a lock.
pub(crate) struct Memory {
    reach: Reach,
    me: Rank,
    size: u32,
    starter: Area,
    /// The memory from which `acp_malloc` allocates.
    heap: Area,
    /// The memory that this rank has registered.
    registered: RwLock<pelago_memory::Regions>,
}

/// A part of the symmetric heap of each rank; empty if there is none.
#[derive(Default)]
struct Area {
    offset: AtomicU64,
    bytes: AtomicU64,
}

impl Area {
    fn set(&self, (offset, bytes): (u64, u64)) {
        self.offset.store(offset, Ordering::Relaxed);
        self.bytes.store(bytes, Ordering::Relaxed);
    }

    /// Whether `bytes` bytes at `offset` are part of it.
    #[inline]
    fn holds(&self, offset: u64, bytes: u64) -> bool {
        // For an offset before the area, the difference wraps around to a value beyond the end.
        let (inside, length) = (offset.wrapping_sub(self.offset.load(Ordering::Relaxed)), self.bytes.load(Ordering::Relaxed));
        inside <= length && bytes <= length - inside
    }
}

/// A range of the job's memory.
#[derive(Clone, Copy)]
pub(crate) struct Located {
    pub(crate) address: GlobalAddress,
    pub(crate) rank: Rank,
    /// The bytes themselves, if they are mapped.
    pub(crate) cells: Option<Cells<'static>>,
}

impl Memory {
    pub(crate) fn new(world: &World) -> Self {
        let (reach, me, size) = (world.reach().clone(), world.rank(), world.size());
        let registered = RwLock::new(pelago_memory::Regions::new(reach.addresses()));
        Self { reach, me, size, starter: Area::default(), heap: Area::default(), registered }
    }

    /// Returns this rank of the job.
    pub(crate) fn me(&self) -> Rank {
        self.me
    }

    /// Returns the number of ranks of the job.
    pub(crate) fn size(&self) -> u32 {
        self.size
    }

    /// Returns the layout of addresses: rank, segment and offset.
    pub(crate) fn layout(&self) -> AddressLayout {
        self.reach.addresses()
    }

    /// Sets the areas of starter memory and of the global heap, each by offset and bytes; an area of 0 bytes is absent.
    pub(crate) fn set_areas(&self, starter: (u64, u64), heap: (u64, u64)) {
        self.starter.set(starter);
        self.heap.set(heap);
    }

    /// Returns the starter memory of a rank.
    pub(crate) fn starter_of(&self, rank: Rank) -> GlobalAddress {
        let offset = self.starter.offset.load(Ordering::Relaxed);
        self.layout().encode(rank, SegmentId::SYMMETRIC, offset).unwrap_or(GlobalAddress::NULL)
    }

    /// Finds `bytes` bytes of the job's memory. Only the owner knows its registered memory: an invalid address in another rank's registered memory is detected
    /// at that rank.
    #[inline]
    pub(crate) fn locate(&'static self, end: End, address: u64, bytes: u64) -> Result<Located, Refusal> {
        let (layout, at) = (self.reach.addresses(), GlobalAddress::from_bits(address));
        let (rank, offset) = (layout.rank(at), layout.offset(at));
        if layout.segment(at) == Some(SegmentId::SYMMETRIC) && rank.number() < self.size {
            if !self.starter.holds(offset, bytes) && !self.heap.holds(offset, bytes) {
                return Err(Refusal::Outside { end, address, bytes });
            }
            let cells = self.reach.cells(at, bytes);
            if cells.is_none() && !layout.is_in_segment(at, bytes) {
                return Err(Refusal::Stranger { end, address });
            }
            return Ok(Located { address: at, rank, cells });
        }
        self.locate_registered(end, at, bytes)
    }

    fn locate_registered(&'static self, end: End, at: GlobalAddress, bytes: u64) -> Result<Located, Refusal> {
        let (layout, address, rank) = (self.reach.addresses(), at.bits(), self.reach.addresses().rank(at));
        let segment = layout.segment(at).ok_or(Refusal::Null(end))?;
        if !layout.registered_segments().contains(&segment.number()) || !layout.is_in_segment(at, 0) {
            return Err(Refusal::Stranger { end, address });
        }
        if !layout.is_in_segment(at, bytes) {
            return Err(Refusal::Outside { end, address, bytes });
        }
        if rank != self.me {
            return Ok(Located { address: at, rank, cells: None });
        }
        let registered = self.registered.read().unwrap_or_else(PoisonError::into_inner);
        match (registered.find(at, bytes), registered.find(at, 0)) {
            (Some((pelago_memory::Region::Host(cells), ())), _) => Ok(Located { address: at, rank, cells: Some(cells) }),
            (_, Some(_)) => Err(Refusal::Outside { end, address, bytes }),
            (_, None) => Err(Refusal::Unregistered { end, address }),
        }
    }

    fn changed<R>(&self, change: impl FnOnce(&mut pelago_memory::Regions) -> R) -> R {
        change(&mut self.registered.write().unwrap_or_else(PoisonError::into_inner))
    }

    /// Like `locate`, for this rank's own memory.
    #[inline]
    pub(crate) fn own(&'static self, address: u64, bytes: u64) -> Result<Cells<'static>, Refusal> {
        let located = self.locate(End::Destination, address, bytes)?;
        located.cells.filter(|_| located.rank == self.me).ok_or(Refusal::Elsewhere(address))
    }
}

/// Registrations of memory, by key. Each registration has addresses of its own, also where it overlaps another one.
pub(crate) struct Registrations {
    keys: Slab<Registration>,
}

/// The memory that was registered under a key.
struct Registration {
    registered: Registered<'static, u8>,
    /// Start of the registered memory, at or before `start`; `start` and `bytes` are the range that the program has named.
    first: usize,
    start: usize,
    bytes: usize,
}

impl Registrations {
    pub(crate) const fn new() -> Self {
        Self { keys: Slab::new(1) }
    }

    /// Registers `bytes` bytes from `address` on for access by all ranks, and returns the key.
    pub(crate) fn register(
        &mut self,
        world: &'static World,
        memory: &Memory,
        address: usize,
        bytes: usize,
    ) -> Result<u64, Refusal> {
        let refused = Refusal::NoMemory { address, bytes };
        let is_whole = bytes > 0 && address.checked_add(bytes).is_some();
        if !is_whole || !is_mapped(address, bytes) {
            return Err(refused);
        }
        let limit = memory.layout().segment_bytes();
        if bytes as u64 > limit {
            return Err(Refusal::LongRegion { bytes, limit });
        }
        let region = Registration::new(world, memory, address, bytes)?;
        Ok(self.keys.insert(region).ok_or(Refusal::TooMany("registered regions"))? as u64)
    }

    /// Ends a registration. No operation that this rank has issued may be in flight.
    pub(crate) fn unregister(&mut self, memory: &Memory, key: u64) -> Result<(), Refusal> {
        self.keys.remove(key as usize).ok_or(Refusal::Key(key))?.end(memory)
    }

    /// Ends every registration.
    pub(crate) fn clear(&mut self, memory: &Memory) -> Result<(), Refusal> {
        self.keys.drain().try_for_each(|region| region.end(memory))
    }

    /// Returns the global address of a byte that is registered under `key`.
    pub(crate) fn address_of(&mut self, key: u64, address: usize) -> Result<GlobalAddress, Refusal> {
        let region = self.keys.get(key as usize).ok_or(Refusal::Key(key))?;
        if address.wrapping_sub(region.start) >= region.bytes {
            return Err(Refusal::NoMemory { address, bytes: 1 });
        }
        Ok(region.registered.ptr(address - region.first).address())
    }
}

impl Registration {
    fn new(world: &'static World, memory: &Memory, start: usize, bytes: usize) -> Result<Self, Refusal> {
        // Aligned memory has aligned global addresses. Therefore the registration begins at a word boundary, up to seven bytes before `start`.
        let (first, length) = (start & !7, bytes + (start & 7));
        // SAFETY: A2: the memory is mapped, as the caller has checked, and stays valid until the program unregisters it.
        let registered = unsafe { world.register_raw(first as *mut u8, length) }?;
        let pointer = NonNull::new(first as *mut u8).expect("mapped memory has an address");
        // SAFETY: as above.
        let cells = unsafe { Cells::new(pointer, length) };
        let inserted = memory.changed(|known| known.insert(registered.ptr(0).address(), cells, ()));
        debug_assert!(inserted, "addresses that were just handed out lead nowhere");
        Ok(Self { registered, first, start, bytes })
    }

    fn end(self, memory: &Memory) -> Result<(), Refusal> {
        memory.changed(|known| known.remove(self.registered.ptr(0).address()));
        self.registered.unregister()?;
        Ok(())
    }
}

/// Whether all these bytes are mapped in this process.
fn is_mapped(address: usize, bytes: usize) -> bool {
    // SAFETY: queries a number.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize;
    let start = address & !(page - 1);
    // SAFETY: starts the write-back of file pages, which happens anyway, and returns whether all pages are mapped.
    address != 0 && unsafe { libc::msync(start as *mut libc::c_void, address + bytes - start, libc::MS_ASYNC) } == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_is_not_there_is_found_out() {
        let memory = vec![0u8; 100_000];
        let start = memory.as_ptr() as usize;
        assert!(is_mapped(start, memory.len()));
        assert!(!is_mapped(8, 8) && !is_mapped(0, 8));
        assert!(!is_mapped(start, 1 << 46));
    }
}
