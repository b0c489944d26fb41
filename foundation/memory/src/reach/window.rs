//! Translation of an address of this process to the same location at another rank, in a few instructions.
#![allow(unsafe_code)]

use core::marker::PhantomData;
use core::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;

use pelago_base::GlobalAddress;
use pelago_sync::Doorbell;

use super::{Place, Reach};
use crate::bulk;
use crate::{Mapping, Pod};

/// A part of this rank's memory that lies at the same offset in the symmetric heap of each rank of its host: the heap of OpenSHMEM, or variables
/// of the program, which the process accesses at addresses outside the mapping.
///
/// Invariant **M9**: `bytes`, a multiple of 8, from `heaps` on lie in the symmetric heap of the first rank, and `span` bytes further in that of
/// the next; `heaps` and `start` are multiples of 8.
///
/// The fields up to `count` are those of `struct sma_window` in the header of OpenSHMEM, by which C programs access words themselves: a library
/// that changes them must not run programs that were compiled with the present header.
#[repr(C)]
pub struct Window {
    start: usize,
    /// Number of accessible bytes: `bytes` while the window is open, else 0.
    open: AtomicUsize,
    heaps: *mut u8,
    span: usize,
    controls: *mut u8,
    control_bytes: usize,
    first: u32,
    count: u32,
    bytes: usize,
    _mapping: Arc<Mapping>,
}

// SAFETY: M9; the pointers lead into a mapping that any thread may use (M4).
unsafe impl Send for Window {}
// SAFETY: as above.
unsafe impl Sync for Window {}

impl Reach {
    /// Creates the window to `bytes` bytes of the symmetric heap that lie at the offset of `at` in each rank's heap, and at `start` in this process.
    /// The window is closed. It is empty if `start` or the offset is no multiple of 8 or the bytes do not lie in the heap.
    pub fn window(&self, start: usize, at: GlobalAddress, bytes: usize) -> Window {
        let offset = self.addresses.offset(at);
        let room = self.addresses.segment_bytes() - offset;
        let is_whole = start.is_multiple_of(8) && offset.is_multiple_of(8) && bytes as u64 <= room;
        let bytes = if is_whole { bytes & !7 } else { 0 };
        Window {
            start,
            open: AtomicUsize::new(0),
            // SAFETY: M6; an offset lies in the heap.
            heaps: unsafe { self.symmetric.1.add(offset as usize) },
            span: self.addresses.segment_bytes() as usize + self.gap,
            controls: self.controls,
            control_bytes: self.control_bytes,
            first: self.first,
            count: self.count,
            bytes,
            _mapping: self.mapping.clone(),
        }
    }
}

impl Window {
    /// Opens or closes the window: [`place`](Self::place) finds objects only while it is open.
    pub fn open(&self, is_open: bool) {
        self.open.store(if is_open { self.bytes } else { 0 }, Ordering::Release);
    }

    /// Returns the object of rank `rank` that corresponds to `address` in this process, if the window is open and contains it, its address is a
    /// multiple of its size, and the rank is on this host.
    ///
    /// Cost: about fifteen instructions.
    #[inline(always)]
    pub fn place<T: Pod>(&self, address: usize, rank: u32) -> Option<Place<'_, T>> {
        let (inside, local) = (address.wrapping_sub(self.start), rank.wrapping_sub(self.first));
        let is_word = bulk::natural::<T>() > 0 && address.is_multiple_of(size_of::<T>());
        if !is_word || inside >= self.open.load(Ordering::Acquire) || local >= self.count {
            return None;
        }
        // SAFETY: M9: just compared; an object of up to 8 bytes at a multiple of its size does not cross the end, which is a multiple of 8.
        let (pointer, bell) = unsafe {
            (self.heaps.add(local as usize * self.span + inside).cast(), self.controls.add(local as usize * self.control_bytes))
        };
        Some(Place { pointer, bell: bell.cast::<Doorbell>(), reach: PhantomData })
    }
}

#[cfg(test)]
mod tests {
    use pelago_base::{AddressLayout, Rank, SegmentId};

    use super::*;
    use crate::{GlobalPtr, ReachLayout};

    #[test]
    fn a_window_finds_what_the_addresses_find() {
        let addresses = AddressLayout::new(64, 8192).unwrap();
        let layout =
            ReachLayout { addresses, first: Rank::new(3), count: 2, controls: 0, control_bytes: 128, heaps: 4096, gap: 64 };
        let reach = Reach::new(Arc::new(Mapping::private(layout.bytes() as usize).unwrap()), layout);
        let at = |rank, offset| addresses.encode(Rank::new(rank), SegmentId::SYMMETRIC, offset).unwrap();
        let window = reach.window(0x1000, at(9, 640), 20);
        assert!(window.place::<u64>(0x1000, 3).is_none(), "it is closed");
        window.open(true);
        for rank in 0..8 {
            for address in 0xff0..0x1020 {
                let expected =
                    GlobalPtr::<u32>::from_address(at(rank, 640 + address - 0x1000)).ok().and_then(|at| reach.place(at));
                let expected = expected.filter(|_| (0x1000..0x1010).contains(&address));
                let found = window.place::<u32>(address as usize, rank);
                let parts = |place: Place<'_, u32>| (place.pointer, place.bell);
                assert_eq!(found.map(parts), expected.map(parts), "{address:#x} at rank {rank}");
            }
        }
        assert!(window.place::<u64>(0x1008, 4).is_some() && window.place::<u64>(0x1004, 4).is_none());
        assert!(window.place::<[u8; 3]>(0x1000, 4).is_none(), "no atomic moves it whole");
        window.open(false);
        assert!(window.place::<u64>(0x1008, 4).is_none());
        let end = addresses.segment_bytes();
        for (start, offset, bytes) in [(0x1001, 0, 64), (0x1000, 4, 64), (0x1000, end - 8, 16)] {
            let window = reach.window(start, at(0, offset), bytes);
            window.open(true);
            assert!(window.place::<u8>(start, 3).is_none(), "{start:#x} {offset} {bytes}");
        }
    }
}
