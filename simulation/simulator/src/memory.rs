//! The memory of all ranks: one mapping, of which only used pages exist.
//!
//! ```text
//! | doorbell | stack of rank 0 | its symmetric heap | stack of rank 1 | its symmetric heap | … | individual heap of rank 0 | of 1 | …
//! ```
//!
//! A stack grows down from the beginning of its rank's heap. Both share a page, so that a rank that needs little of either uses one page.
//! They do not share a page if the machine's description has a cost for the first use of a page.

use std::cell::OnceCell;
use std::error::Error;
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use pelago_base::{AddressLayout, GlobalAddress, Rank, SegmentId};
use pelago_memory::{Cells, Mapping, MappingError, Reach, ReachLayout, Region, Regions};
use pelago_platform::{Failure, RegisterError};

use crate::error::SimulationError;
use crate::shared_stack::{PAGE_BYTES, SharedStack};

/// Bytes of the one control block: a doorbell that the simulator does not use.
const CONTROL_BYTES: usize = 64;

/// Bytes at the start of a symmetric heap that lie in the topmost page of the stack: the memory of barriers of up to 1,048,576 ranks.
const SHARED_BYTES: usize = PAGE_BYTES * 3 / 16;

/// Bytes of `/proc/self/pagemap` for each page; its two highest bits say whether the page exists.
const PAGEMAP_WORD_BYTES: usize = 8;

/// The heaps and stacks of all ranks.
pub(crate) struct RankMemory {
    mapping: Arc<Mapping>,
    addresses: AddressLayout,
    /// Bytes of each stack; a multiple of a page.
    stack_bytes: usize,
    /// Number of bytes of each heap that lie in the last page of the stack.
    shared_bytes: usize,
    /// The heaps that each rank has registered: bit 0 for the symmetric one, bit 1 for the individual one.
    heaps: Vec<u8>,
    /// Other registered memory of all ranks.
    registered: Regions,
    /// The stack on which all ranks run, if they share one.
    shared_stack: Option<Arc<SharedStack>>,
    /// `/proc/self/pagemap`, opened on first use; `None` if the kernel does not provide it.
    pagemap: OnceCell<Option<File>>,
}

impl RankMemory {
    /// Allocates the memory of `ranks` ranks. Stacks and heaps share pages if `close`; `stack_bytes` may be 0.
    pub(crate) fn new(ranks: u32, heap_bytes: u64, stack_bytes: usize, close: bool) -> Result<Self, SimulationError> {
        let no_room = |error: &dyn std::fmt::Display| SimulationError::Memory(error.to_string());
        let addresses = AddressLayout::new(ranks, heap_bytes).map_err(|error| no_room(&error))?;
        let stack_bytes = stack_bytes.checked_next_multiple_of(PAGE_BYTES).unwrap_or(usize::MAX);
        let each = addresses.segment_bytes().saturating_mul(2).saturating_add(stack_bytes as u64);
        let bytes = each.saturating_mul(ranks.into()).saturating_add(PAGE_BYTES as u64);
        let refused = |error: MappingError| {
            let why = error.source().map_or_else(String::new, |why| format!(": {why}"));
            no_room(&format_args!(
                "heaps and stacks take {bytes} bytes of addresses{why}; lower --heap or --stack, or raise the limit (ulimit -v)"
            ))
        };
        let mapping = Mapping::private(usize::try_from(bytes).unwrap_or(usize::MAX)).map_err(refused)?;
        let (mapping, heaps, registered) = (Arc::new(mapping), vec![0; ranks as usize], Regions::new(addresses));
        let shared_bytes = if close { SHARED_BYTES.min(stack_bytes) } else { 0 };
        let (shared_stack, pagemap) = (None, OnceCell::new());
        Ok(Self { mapping, addresses, stack_bytes, shared_bytes, heaps, registered, shared_stack, pagemap })
    }

    /// Makes one stack for all ranks, of the size of the separate ones, which then hold the frames of ranks that do not run.
    pub(crate) fn share_stack(&mut self) -> Result<Arc<SharedStack>, SimulationError> {
        let (first, second) = (self.stack(0), self.stack(1));
        let stack = SharedStack::new(self.mapping.clone(), first.end, second.start - first.start, first.len())?;
        Ok(self.shared_stack.insert(Arc::new(stack)).clone())
    }

    /// Returns the current location of the memory at the cells `cells` of `rank`: its image if the cells are on the shared stack and another
    /// rank runs there.
    pub(crate) fn present<'m>(&'m self, rank: Rank, cells: Cells<'m>) -> Cells<'m> {
        self.shared_stack.as_ref().and_then(|stack| stack.image_of(rank.number(), cells)).unwrap_or(cells)
    }

    pub(crate) fn addresses(&self) -> AddressLayout {
        self.addresses
    }

    pub(crate) fn mapping(&self) -> &Arc<Mapping> {
        &self.mapping
    }

    /// Returns the range of a rank's stack in the mapping: it begins at a page, and ends where the heap begins.
    pub(crate) fn stack(&self, rank: u32) -> Range<usize> {
        let start = PAGE_BYTES + rank as usize * (self.stack_bytes + self.segment_bytes());
        start..start + self.stack_bytes - self.shared_bytes
    }

    /// Returns the memory that `rank` reaches by loads and stores: its own.
    pub(crate) fn reach_of(&self, rank: Rank) -> Reach {
        let (addresses, control_bytes) = (self.addresses, CONTROL_BYTES);
        let [heaps, individual] = [SegmentId::SYMMETRIC, SegmentId::INDIVIDUAL].map(|segment| self.heap(rank, segment));
        let layout = ReachLayout { addresses, first: rank, count: 1, controls: 0, control_bytes, heaps, gap: 0 };
        Reach::apart(self.mapping.clone(), layout, individual)
    }

    /// Returns the start of a heap of a rank.
    fn heap(&self, rank: Rank, segment: SegmentId) -> usize {
        let rank = rank.number();
        if segment == SegmentId::SYMMETRIC {
            return self.stack(rank).end;
        }
        PAGE_BYTES + self.heaps.len() * (self.stack_bytes + self.segment_bytes()) + rank as usize * self.segment_bytes()
    }

    /// The size of a segment. It fits `usize`, as one mapping holds all segments.
    fn segment_bytes(&self) -> usize {
        self.addresses.segment_bytes() as usize
    }

    pub(crate) fn register(&mut self, rank: Rank, start: GlobalAddress, memory: Region<'static>) -> Result<(), RegisterError> {
        let is_mine = self.addresses.rank(start) == rank && self.addresses.is_in_segment(start, memory.bytes());
        let registered = is_mine
            && match self.heap_bit(start) {
                Some(bit) => {
                    let heaps = &mut self.heaps[u32::from(rank) as usize];
                    std::mem::replace(heaps, *heaps | bit) & bit == 0
                }
                None => self.registered.insert(start, memory, ()),
            };
        registered.then_some(()).ok_or(RegisterError::Addresses(start))
    }

    pub(crate) fn deregister(&mut self, rank: Rank, start: GlobalAddress) {
        match self.heap_bit(start) {
            Some(bit) => self.heaps[u32::from(rank) as usize] &= !bit,
            None => drop(self.registered.remove(start)),
        }
    }

    /// Returns how many of the pages that hold `bytes` bytes of a heap from `address` on do not exist yet; 0 if the kernel does not tell.
    pub(crate) fn unused_pages(&self, address: GlobalAddress, bytes: u64) -> u64 {
        let Some(cells) = self.heap_cells(address, bytes).filter(|_| bytes > 0) else { return 0 };
        let page = rustix::param::page_size();
        let start = cells.pointer().as_ptr() as usize;
        let (first, end) = (start / page, (start + cells.bytes()).div_ceil(page));
        let Some(map) = self.pagemap.get_or_init(|| File::open("/proc/self/pagemap").ok()) else { return 0 };
        let mut words = vec![0; (end - first) * PAGEMAP_WORD_BYTES];
        if map.read_exact_at(&mut words, (first * PAGEMAP_WORD_BYTES) as u64).is_err() {
            return 0;
        }
        // Present, or swapped out.
        let unused = |word: &&[u8]| word[PAGEMAP_WORD_BYTES - 1] & 0b1100_0000 == 0;
        words.chunks_exact(PAGEMAP_WORD_BYTES).filter(unused).count() as u64
    }

    /// Returns `bytes` bytes of registered memory from `address` on.
    pub(crate) fn find(&self, address: GlobalAddress, bytes: u64) -> Result<Region<'_>, Failure> {
        let layout = self.addresses;
        let find = || {
            let Some(bit) = self.heap_bit(address) else {
                let found = self.registered.find(address, bytes).map(|(memory, ())| memory);
                return found.map(|memory| match memory {
                    Region::Host(cells) => Region::Host(self.present(layout.rank(address), cells)),
                    device => device,
                });
            };
            let registered = self.heaps.get(layout.rank(address).index())? & bit != 0;
            if registered { self.heap_cells(address, bytes).map(Region::Host) } else { None }
        };
        find().ok_or(Failure::OutOfBounds(address))
    }

    /// Returns `bytes` bytes of a heap from `address` on.
    fn heap_cells(&self, address: GlobalAddress, bytes: u64) -> Option<Cells<'_>> {
        let layout = self.addresses;
        let (rank, segment, offset) = (layout.rank(address), layout.segment(address)?, layout.offset(address));
        let fits = self.heap_bit(address).is_some() && layout.is_in_segment(address, bytes);
        if fits { self.mapping.cells().part(self.heap(rank, segment) as u64 + offset, bytes) } else { None }
    }

    /// Returns the bit of the heap that contains an address; `None` for an address of another segment.
    fn heap_bit(&self, address: GlobalAddress) -> Option<u8> {
        match self.addresses.segment(address)? {
            SegmentId::SYMMETRIC => Some(1),
            SegmentId::INDIVIDUAL => Some(2),
            _ => None,
        }
    }
}
