//! Which global addresses there are: starter memory, and what the program registered.
//!
//! Invariant **A2**: the places of `Regions` lead to memory that the program has registered and not unregistered, which it promises to keep
//! valid and to touch by plain loads and stores only where no operation is under way, as C's rules for data races say.
#![allow(unsafe_code)]

use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use pelago::limits::REGISTERED_SEGMENTS_MAX;
use pelago::{AddressLayout, GlobalAddress, Rank, Registered, SegmentId, World};
use pelago_memory::{Cells, Reach};

use crate::refusal::{End, Refusal};

/// Keys of registered memory alive at once. Regions inside others share their segment.
const KEYS_MAX: usize = 1 << 12;

/// Low bits of a key, for its place in the table; above them is how often the place was used, so that old keys are known as such.
const KEY_BITS: u32 = 16;

/// What addresses lead to, for all threads without a lock.
pub(crate) struct Memory {
    reach: Reach,
    me: Rank,
    size: u32,
    starter: Area,
    /// Where the memory lies that `acp_malloc` allocates.
    heap: Area,
    places: [Place; REGISTERED_SEGMENTS_MAX],
}

/// A part of the symmetric heap of each rank; no bytes if there is none.
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
        // Before the area, the difference wraps around and is past the end.
        let (inside, length) = (offset.wrapping_sub(self.offset.load(Ordering::Relaxed)), self.bytes.load(Ordering::Relaxed));
        inside <= length && bytes <= length - inside
    }
}

/// Registered memory of this process; no bytes if there is none.
#[derive(Default)]
struct Place {
    start: AtomicUsize,
    bytes: AtomicUsize,
}

/// Bytes of the job's memory.
#[derive(Clone, Copy)]
pub(crate) struct Located {
    pub(crate) address: GlobalAddress,
    pub(crate) rank: Rank,
    /// The bytes themselves, if loads and stores reach them.
    pub(crate) cells: Option<Cells<'static>>,
}

impl Memory {
    pub(crate) fn new(world: &World) -> Self {
        let (reach, me, size) = (world.reach().clone(), world.rank(), world.size());
        Self { reach, me, size, starter: Area::default(), heap: Area::default(), places: Default::default() }
    }

    /// This rank of the job.
    pub(crate) fn me(&self) -> Rank {
        self.me
    }

    /// How many ranks the job has.
    pub(crate) fn size(&self) -> u32 {
        self.size
    }

    /// How addresses are made of ranks, segments and offsets.
    pub(crate) fn layout(&self) -> AddressLayout {
        self.reach.addresses()
    }

    /// Where starter memory and the global heap lie from now on, each by offset and bytes; of no bytes, there is none.
    pub(crate) fn set_areas(&self, starter: (u64, u64), heap: (u64, u64)) {
        self.starter.set(starter);
        self.heap.set(heap);
    }

    /// The starter memory of a rank.
    pub(crate) fn starter_of(&self, rank: Rank) -> GlobalAddress {
        let offset = self.starter.offset.load(Ordering::Relaxed);
        self.layout().encode(rank, SegmentId::SYMMETRIC, offset).unwrap_or(GlobalAddress::NULL)
    }

    /// Finds `bytes` bytes of the job's memory. What another rank has registered is known to that rank alone, and found wanting there.
    #[inline]
    pub(crate) fn locate(&'static self, end: End, address: u64, bytes: u64) -> Result<Located, Refusal> {
        let (layout, at) = (self.reach.addresses(), GlobalAddress::from_bits(address));
        let (rank, offset) = (layout.rank(at), layout.offset(at));
        if layout.segment(at) == Some(SegmentId::SYMMETRIC) && rank.number() < self.size {
            if !self.starter.holds(offset, bytes) && !self.heap.holds(offset, bytes) {
                return Err(Refusal::Outside { end, address, bytes });
            }
            return Ok(Located { address: at, rank, cells: self.reach.cells(at, bytes) });
        }
        self.locate_registered(end, at, bytes)
    }

    fn locate_registered(&'static self, end: End, at: GlobalAddress, bytes: u64) -> Result<Located, Refusal> {
        let (layout, address) = (self.reach.addresses(), at.bits());
        let (rank, offset) = (layout.rank(at), layout.offset(at));
        let segment = layout.segment(at).ok_or(Refusal::Null(end))?;
        let first = SegmentId::REGISTERED_FIRST.number();
        let place = segment.number().checked_sub(first).and_then(|index| self.places.get(index as usize));
        let place = place.filter(|_| rank.number() < self.size).ok_or(Refusal::Stranger { end, address })?;
        if bytes > layout.segment_bytes() - offset {
            return Err(Refusal::Outside { end, address, bytes });
        }
        if rank != self.me {
            return Ok(Located { address: at, rank, cells: None });
        }
        let [start, length] = [&place.start, &place.bytes].map(|word| word.load(Ordering::Acquire));
        let start = NonNull::new(start as *mut u8).ok_or(Refusal::Unregistered { end, address })?;
        // SAFETY: A2.
        let cells = unsafe { Cells::new(start, length) }.part(offset, bytes).ok_or(Refusal::Outside { end, address, bytes })?;
        Ok(Located { address: at, rank, cells: Some(cells) })
    }

    /// As `locate`, of this rank's own memory.
    #[inline]
    pub(crate) fn own(&'static self, address: u64, bytes: u64) -> Result<Cells<'static>, Refusal> {
        let located = self.locate(End::Destination, address, bytes)?;
        located.cells.filter(|_| located.rank == self.me).ok_or(Refusal::Elsewhere(address))
    }
}

/// Memory that the program has registered.
#[derive(Default)]
pub(crate) struct Regions {
    regions: Vec<Region>,
    keys: Vec<Key>,
}

/// A registered segment, and how many keys lead into it.
struct Region {
    registered: Registered<'static, u8>,
    start: usize,
    bytes: usize,
    keys: u32,
}

/// A place in the table of keys.
#[derive(Default)]
struct Key {
    /// How often the place was used.
    uses: u64,
    /// What was registered; `None` if the place is free.
    memory: Option<(usize, usize)>,
}

impl Regions {
    /// Lets all ranks reach `bytes` bytes from `address` on.
    pub(crate) fn register(
        &mut self,
        world: &'static World,
        memory: &Memory,
        address: usize,
        bytes: usize,
    ) -> Result<u64, Refusal> {
        let refused = Refusal::NoMemory { address, bytes };
        let is_whole = bytes > 0 && address.checked_add(bytes).is_some() && bytes as u64 <= memory.layout().segment_bytes();
        if !is_whole || !is_mapped(address, bytes) {
            return Err(refused);
        }
        let place = self.keys.iter().position(|key| key.memory.is_none()).unwrap_or(self.keys.len());
        if place == KEYS_MAX {
            return Err(Refusal::Keys(KEYS_MAX));
        }
        match self.region_of(address, bytes) {
            Some(region) => region.keys += 1,
            None => self.regions.push(Region::new(world, memory, address, bytes)?),
        }
        if place == self.keys.len() {
            self.keys.push(Key::default());
        }
        let key = &mut self.keys[place];
        key.uses += 1;
        key.memory = Some((address, bytes));
        Ok(key.uses << KEY_BITS | (place as u64 + 1))
    }

    /// Ends what `register` began, when nothing that this rank has issued is under way.
    pub(crate) fn unregister(&mut self, memory: &Memory, key: u64) -> Result<(), Refusal> {
        let (start, bytes) = self.memory_of(key)?;
        self.keys[place_of(key)].memory = None;
        let Some(index) = self.regions.iter().position(|region| region.holds(start, bytes)) else { return Ok(()) };
        self.regions[index].keys -= 1;
        if self.regions[index].keys == 0 {
            self.regions.swap_remove(index).end(memory)?;
        }
        Ok(())
    }

    /// Ends every registration.
    pub(crate) fn clear(&mut self, memory: &Memory) -> Result<(), Refusal> {
        self.keys.iter_mut().for_each(|key| key.memory = None);
        self.regions.drain(..).try_for_each(|region| region.end(memory))
    }

    /// The global address of a byte that was registered under `key`.
    pub(crate) fn address_of(&self, key: u64, address: usize) -> Result<GlobalAddress, Refusal> {
        let (start, bytes) = self.memory_of(key)?;
        let inside = address.wrapping_sub(start) < bytes;
        let region = self.regions.iter().find(|region| inside && region.holds(start, bytes));
        let region = region.ok_or(Refusal::NoMemory { address, bytes: 1 })?;
        Ok(region.registered.ptr(address - region.start).address())
    }

    fn region_of(&mut self, start: usize, bytes: usize) -> Option<&mut Region> {
        self.regions.iter_mut().find(|region| region.holds(start, bytes))
    }

    fn memory_of(&self, key: u64) -> Result<(usize, usize), Refusal> {
        let known = self.keys.get(place_of(key)).filter(|known| known.uses == key >> KEY_BITS);
        known.and_then(|known| known.memory).ok_or(Refusal::Key(key))
    }
}

impl Region {
    fn new(world: &'static World, memory: &Memory, start: usize, bytes: usize) -> Result<Self, Refusal> {
        // What is aligned in memory is aligned in its segment: up to seven bytes before the region, of a word of it, are part of that.
        let (start, bytes) = (start & !7, bytes + (start & 7));
        // SAFETY: A2: mapped, as was just looked, and the program's promise from now until it unregisters.
        let registered = unsafe { world.register_raw(start as *mut u8, bytes) }?;
        let place = &memory.places[place_of_segment(memory.layout(), &registered)];
        place.bytes.store(bytes, Ordering::Relaxed);
        place.start.store(start, Ordering::Release);
        Ok(Self { registered, start, bytes, keys: 1 })
    }

    fn holds(&self, start: usize, bytes: usize) -> bool {
        start >= self.start && start - self.start <= self.bytes && bytes <= self.bytes - (start - self.start)
    }

    fn end(self, memory: &Memory) -> Result<(), Refusal> {
        memory.places[place_of_segment(memory.layout(), &self.registered)].start.store(0, Ordering::Release);
        self.registered.unregister()?;
        Ok(())
    }
}

fn place_of(key: u64) -> usize {
    (key as usize & ((1 << KEY_BITS) - 1)).wrapping_sub(1)
}

fn place_of_segment(layout: AddressLayout, registered: &Registered<'static, u8>) -> usize {
    let segment = layout.segment(registered.ptr(0).address()).expect("registered memory has a segment");
    (segment.number() - SegmentId::REGISTERED_FIRST.number()) as usize
}

/// Whether all these bytes are mapped in this process.
fn is_mapped(address: usize, bytes: usize) -> bool {
    // SAFETY: asks for a number.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize;
    let start = address & !(page - 1);
    // SAFETY: begins to write pages of files back that would be anyhow, and says whether all are mapped.
    address != 0 && unsafe { libc::msync(start as *mut libc::c_void, address + bytes - start, libc::MS_ASYNC) } == 0
}

const _: () = assert!(KEYS_MAX < 1 << KEY_BITS, "a key has room for its place");

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
