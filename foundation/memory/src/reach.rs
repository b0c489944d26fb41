//! Translation of a global address to a location in the mapping that the ranks of a host share.
//!
//! ```text
//! | job | control of rank 0 | of 1 | … | symmetric heap of rank 0 | of 1 | … | individual heap of rank 0 | of 1 | …
//! ```
//!
//! Each control block begins with its rank's doorbell. Every heap is as long as an offset can address, so that the heaps lie in
//! the order of their addresses: a location is computed by a subtraction and a comparison, without a table per rank, attaching or
//! look-ups.
#![allow(unsafe_code)]

use core::fmt;
use core::marker::PhantomData;
use core::ops::Range;
use core::ptr::NonNull;
use std::sync::Arc;

use pelago_base::{AddressLayout, AtomicOperator, GlobalAddress, Rank, SegmentId};
use pelago_sync::{Doorbell, asymmetric};

use crate::{Cells, GlobalPtr, Mapping, MappingError, Pod, Word, bulk, cells};

mod window;

pub use window::Window;

/// Bytes of the only control block in the private memory of a rank: its doorbell.
const CONTROL_BYTES: usize = size_of::<Doorbell>();

/// Offset of the heaps in the private memory of a rank.
const PAGE_BYTES: usize = 4096;

/// Layout of the mapping of a host.
#[derive(Clone, Copy, Debug)]
pub struct ReachLayout {
    /// Layout of the job's global addresses.
    pub addresses: AddressLayout,
    /// The first rank of this host.
    pub first: Rank,
    /// Number of ranks of this host, consecutive from the first.
    pub count: u32,
    /// Offset of the control blocks in bytes.
    pub controls: usize,
    /// Distance between control blocks in bytes.
    pub control_bytes: usize,
    /// Offset of the heaps in bytes.
    pub heaps: usize,
    /// Gap in bytes between two heaps of one kind, a multiple of 64. Without it, words of two ranks at the same offset are a power of two apart, and
    /// cores that predict the cache way from the lowest bits of addresses (AMD's) find only one of the two at a time.
    pub gap: usize,
}

impl ReachLayout {
    /// Returns the bytes of the heaps of one kind of all ranks of the host, including gaps.
    pub const fn span(&self) -> u64 {
        self.count as u64 * (self.addresses.segment_bytes() + self.gap as u64)
    }

    /// Returns the bytes of the whole mapping.
    pub const fn bytes(&self) -> u64 {
        self.heaps as u64 + 2 * self.span()
    }
}

/// The memory and the doorbells of the ranks of one host, addressed by arithmetic.
///
/// Invariant **M6**: the mapping, kept alive here, has `layout.bytes()` bytes; its control blocks are disjoint from its heaps and
/// aligned for a doorbell. So every location that `place` computes for a rank of this host is inside the mapping.
#[derive(Clone)]
pub struct Reach {
    /// The first global address of each kind of heap on this host, and its location.
    symmetric: (u64, *mut u8),
    individual: (u64, *mut u8),
    /// Number of addresses of the heaps of one kind.
    span: u64,
    gap: usize,
    controls: *mut u8,
    control_bytes: usize,
    first: u32,
    count: u32,
    addresses: AddressLayout,
    mapping: Arc<Mapping>,
}

// SAFETY: M6; the pointers lead into a mapping that any thread may use (M4).
unsafe impl Send for Reach {}
// SAFETY: as above.
unsafe impl Sync for Reach {}

/// An object of 1, 2, 4 or 8 bytes in the memory of a rank of this host, and that rank's doorbell.
///
/// Invariant **M7**: the object lies inside the rank's heaps, at a multiple of its size; the bell is in the same mapping.
/// Raw pointers, so that `Option<Place>` depends on the range comparison alone, without a second comparison with null.
pub struct Place<'a, T> {
    pointer: *mut T,
    bell: *const Doorbell,
    reach: PhantomData<&'a Reach>,
}

impl<T> Clone for Place<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Place<'_, T> {}

impl Reach {
    /// Creates the reach of the ranks of `layout` in `mapping`.
    ///
    /// # Panics
    /// The mapping is too small or the parts overlap: an error in the layout.
    pub fn new(mapping: Arc<Mapping>, layout: ReachLayout) -> Self {
        Self::apart(mapping, layout, layout.heaps + layout.span() as usize)
    }

    /// As [`new`](Self::new), with the individual heaps at `individual`, separate from the symmetric ones. Heaps may begin in the middle of
    /// a page, at a multiple of 64 bytes.
    ///
    /// # Panics
    /// As [`new`](Self::new).
    pub fn apart(mapping: Arc<Mapping>, layout: ReachLayout, individual: usize) -> Self {
        let (cells, ReachLayout { first, count, addresses, .. }) = (mapping.cells(), layout);
        assert!(
            first.number().checked_add(count).is_some_and(|end| end <= addresses.ranks()),
            "the job has all ranks of the host"
        );
        let span = addresses.segment_bytes().checked_add(layout.gap as u64).and_then(|step| step.checked_mul(count.into()));
        let ends = |start: usize| span.and_then(|span| (start as u64).checked_add(span));
        assert!(
            [layout.heaps, individual].iter().all(|&start| ends(start).is_some_and(|end| end <= cells.bytes() as u64))
                && span.is_some_and(|span| layout.heaps.abs_diff(individual) as u64 >= span),
            "the mapping holds all heaps"
        );
        let controls_end = layout.control_bytes.checked_mul(count as usize).and_then(|all| all.checked_add(layout.controls));
        assert!(controls_end.is_some_and(|end| end <= layout.heaps.min(individual)), "controls end before heaps begin");
        assert!(layout.control_bytes >= size_of::<Doorbell>() && layout.control_bytes.is_multiple_of(align_of::<Doorbell>()));
        assert!(layout.controls.is_multiple_of(align_of::<Doorbell>()));
        assert!(
            [layout.heaps, individual, layout.gap].iter().all(|start| start.is_multiple_of(64)),
            "heaps begin where a line does"
        );
        let start = |segment| layout.addresses.encode(layout.first, segment, 0).map_or(u64::MAX, GlobalAddress::bits);
        let base = cells.pointer().as_ptr();
        // SAFETY: asserted: all are inside the mapping.
        let (symmetric, individual, controls) =
            unsafe { (base.add(layout.heaps), base.add(individual), base.add(layout.controls)) };
        Self {
            symmetric: (start(SegmentId::SYMMETRIC), symmetric),
            individual: (start(SegmentId::INDIVIDUAL), individual),
            span: u64::from(layout.count) * layout.addresses.segment_bytes(),
            gap: layout.gap,
            controls,
            control_bytes: layout.control_bytes,
            first: layout.first.number(),
            count: layout.count,
            addresses: layout.addresses,
            mapping,
        }
    }

    /// Creates private memory for `rank` alone: for a rank that reaches all others by a transport. From this call on, rings of this process wake
    /// sleepers on its [`bell`](Self::bell).
    ///
    /// # Errors
    /// The kernel refuses so much memory. It allocates pages on first use.
    pub fn private(addresses: AddressLayout, rank: Rank) -> Result<Self, MappingError> {
        let layout = ReachLayout {
            addresses,
            first: rank,
            count: 1,
            controls: 0,
            control_bytes: CONTROL_BYTES,
            heaps: PAGE_BYTES,
            gap: 0,
        };
        let mapping = Mapping::private(usize::try_from(layout.bytes()).unwrap_or(usize::MAX))?;
        // If the kernel refuses, sleepers poll periodically.
        let _supported = asymmetric::register();
        Ok(Self::new(Arc::new(mapping), layout))
    }

    /// Returns the underlying mapping.
    pub fn mapping(&self) -> &Arc<Mapping> {
        &self.mapping
    }

    /// Returns the layout of the job's global addresses.
    #[inline]
    pub const fn addresses(&self) -> AddressLayout {
        self.addresses
    }

    /// Returns the ranks of this host.
    pub fn ranks(&self) -> impl ExactSizeIterator<Item = Rank> + use<> {
        (self.first..self.first + self.count).map(Rank::new)
    }

    /// Whether `rank` is on this host.
    #[inline]
    pub const fn holds(&self, rank: Rank) -> bool {
        rank.number().wrapping_sub(self.first) < self.count
    }

    /// Returns the same mapping as if `rank` were the only rank of this host: for a rank that is to reach its neighbours over a network.
    ///
    /// # Panics
    /// `rank` is not on this host.
    pub fn only(&self, rank: Rank) -> Self {
        self.part(rank.number()..rank.number() + 1)
    }

    /// Returns the same mapping restricted to those of this host's ranks that are in `ranks`.
    ///
    /// # Panics
    /// None of them is on this host.
    pub fn part(&self, ranks: Range<u32>) -> Self {
        let (first, end) = (ranks.start.max(self.first), ranks.end.min(self.first + self.count));
        assert!(first < end, "some of {ranks:?} are on this host");
        let local = (first - self.first) as usize;
        let before = local as u64 * self.addresses.segment_bytes();
        // SAFETY: M6: the heaps and the control blocks of ranks of this host.
        let narrow = |(start, heaps): (u64, *mut u8)| (start + before, unsafe { heaps.add(before as usize + local * self.gap) });
        Self {
            symmetric: narrow(self.symmetric),
            individual: narrow(self.individual),
            span: u64::from(end - first) * self.addresses.segment_bytes(),
            // SAFETY: as above.
            controls: unsafe { self.controls.add(local * self.control_bytes) },
            first,
            count: end - first,
            ..self.clone()
        }
    }

    /// Returns the doorbell of `rank`, if the rank is on this host.
    #[inline]
    pub fn bell(&self, rank: Rank) -> Option<&Doorbell> {
        // SAFETY: the rank is on this host.
        self.holds(rank).then(|| unsafe { &*self.bell_unchecked(u64::from(rank.number() - self.first)) })
    }

    /// Returns the place of a naturally aligned object of 1, 2, 4 or 8 bytes, if it lies in a heap of a rank of this host and `T` is such
    /// a type.
    #[inline(always)]
    pub fn place<T: Pod>(&self, at: GlobalPtr<T>) -> Option<Place<'_, T>> {
        if bulk::natural::<T>() == 0 {
            return None;
        }
        self.place_in(self.symmetric, at).or_else(|| self.place_in(self.individual, at))
    }

    /// Returns `bytes` bytes from `address` on, if they lie in a heap of a rank of this host.
    #[inline]
    pub fn cells(&self, address: GlobalAddress, bytes: u64) -> Option<Cells<'_>> {
        let room = self.addresses.segment_bytes() - self.addresses.offset(address);
        if bytes > room {
            return None;
        }
        let pointer = self.find(self.symmetric, address).or_else(|| self.find(self.individual, address))?;
        // SAFETY: M6; the mapping lives as long as `self`.
        Some(unsafe { Cells::new(pointer, bytes as usize) })
    }

    /// Writes `bytes` from `address` on and rings the owner's doorbell. Returns `false` and writes nothing if they do not lie in a heap of
    /// a rank of this host. Never inlined, so that the path of single words stays short.
    #[inline(never)]
    pub fn write(&self, address: GlobalAddress, bytes: &[u8]) -> bool {
        let Some(cells) = self.cells(address, bytes.len() as u64) else { return false };
        cells.write(bytes);
        // SAFETY: M6: the address is of a rank of this host, as it has cells.
        let bell = unsafe { &*self.bell_unchecked(u64::from(self.addresses.rank(address).number() - self.first)) };
        bell.ring_for(cells.pointer().as_ptr(), bytes.len());
        true
    }

    /// Reads from `address` on until `into` is full. Returns `false` and reads nothing if the range does not lie in a heap of a rank of this
    /// host.
    #[inline(never)]
    pub fn read(&self, address: GlobalAddress, into: &mut [u8]) -> bool {
        let Some(cells) = self.cells(address, into.len() as u64) else { return false };
        cells.read(into);
        true
    }

    /// Returns a whole heap of a rank of this host, for a transport to keep.
    ///
    /// # Safety
    /// `self` or a clone of it lives as long as the cells are used.
    pub unsafe fn heap(&self, rank: Rank, segment: SegmentId) -> Option<Cells<'static>> {
        let cells = self.cells(self.addresses.encode(rank, segment, 0).ok()?, self.addresses.segment_bytes())?;
        // SAFETY: M1 by M6 while the mapping lives, which the caller promises.
        Some(unsafe { Cells::new(cells.pointer(), cells.bytes()) })
    }

    /// Zeroes `bytes` bytes from `address` on and returns their pages to the system.
    ///
    /// # Panics
    /// They do not lie in a heap of a rank of this host.
    pub fn clear(&self, address: GlobalAddress, bytes: u64) {
        let cells = self.cells(address, bytes).expect("the bytes lie in a heap");
        let start = cells.pointer().as_ptr() as usize - self.mapping.cells().pointer().as_ptr() as usize;
        self.mapping.clear(start as u64, bytes);
    }

    /// Returns the location of the byte at `address`, if it is in a heap of this kind.
    #[inline(always)]
    fn find(&self, (first, heaps): (u64, *mut u8), address: GlobalAddress) -> Option<NonNull<u8>> {
        let inside = address.bits().wrapping_sub(first);
        // SAFETY: M6: just compared; a mapping's start is not null.
        (inside < self.span).then(|| unsafe { NonNull::new_unchecked(heaps.add(self.distance(inside))) })
    }

    /// Returns the object at `at`, if it is in a heap of this kind. It neither reaches past the end of its heap nor is misaligned: heaps
    /// begin and end at multiples of 64 bytes, and an object of natural size begins at a multiple of its size (M8).
    #[inline(always)]
    fn place_in<T: Pod>(&self, (first, heaps): (u64, *mut u8), at: GlobalPtr<T>) -> Option<Place<'_, T>> {
        let inside = at.address().bits().wrapping_sub(first);
        if inside >= self.span {
            return None;
        }
        // SAFETY: M6: just compared.
        let (pointer, bell) =
            unsafe { (heaps.add(self.distance(inside)).cast(), self.bell_unchecked(inside >> self.addresses.offset_bits())) };
        Some(Place { pointer, bell, reach: PhantomData })
    }

    /// Converts a distance in addresses from the start of the first heap to a distance in bytes, which includes gaps.
    #[inline(always)]
    fn distance(&self, inside: u64) -> usize {
        inside as usize + (inside >> self.addresses.offset_bits()) as usize * self.gap
    }

    /// # Safety
    /// `local < count`.
    #[inline(always)]
    unsafe fn bell_unchecked(&self, local: u64) -> *const Doorbell {
        // SAFETY: M6.
        unsafe { self.controls.add(local as usize * self.control_bytes).cast() }
    }
}

impl fmt::Debug for Reach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Reach({} ranks from rank {})", self.count, Rank::new(self.first))
    }
}

impl<T: Pod> Place<'_, T> {
    /// Reads the object.
    #[inline(always)]
    pub fn load(self) -> T {
        // SAFETY: M7.
        unsafe { bulk::load::<Cells<'_>, _>(self.start()) }
    }

    /// Writes the object and rings its rank's doorbell.
    #[inline(always)]
    pub fn store(self, value: T) {
        // SAFETY: M7.
        unsafe { bulk::store(self.start(), value) }
        self.ring();
    }

    #[inline(always)]
    fn start(&self) -> NonNull<u8> {
        // SAFETY: M7: places inside a mapping are not null.
        unsafe { NonNull::new_unchecked(self.pointer.cast()) }
    }

    #[inline(always)]
    fn ring(&self) {
        self.ring_keeping(0);
    }

    #[inline(always)]
    fn ring_keeping(&self, kept: u64) -> u64 {
        // SAFETY: M7; a doorbell is made of atomics and valid whatever its bits.
        unsafe { &*self.bell }.ring_for_keeping(self.pointer.cast(), size_of::<T>(), kept)
    }
}

impl<T: Word> Place<'_, T> {
    /// Performs an atomic on the object, rings its rank's doorbell and returns the previous value.
    #[inline(always)]
    pub fn atomic(self, operator: AtomicOperator, operand: T) -> T {
        // SAFETY: M7.
        let found = unsafe { cells::atomic(self.start(), T::WIDTH, operator, operand.to_bits()) };
        T::from_bits(self.ring_keeping(found))
    }

    /// Performs an atomic on the object, which is expected to equal `expected`, and rings its rank's doorbell. Returns the new value if the
    /// expectation was right; if not, performs the atomic all the same and returns `None`.
    ///
    /// For operators that no instruction performs: a correct expectation saves a load that would have to wait for the preceding atomic.
    #[inline(always)]
    pub fn update(self, operator: AtomicOperator, operand: T, expected: T) -> Option<T> {
        // SAFETY: M7.
        let left = unsafe { cells::update(self.start(), T::WIDTH, operator, operand.to_bits(), expected.to_bits()) };
        self.ring();
        left.map(T::from_bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn reach(first: u32, count: u32) -> (Reach, AddressLayout) {
        let addresses = AddressLayout::new(64, 8192).unwrap();
        let layout =
            ReachLayout { addresses, first: Rank::new(first), count, controls: 4096, control_bytes: 128, heaps: 16384, gap: 192 };
        (Reach::new(Arc::new(Mapping::private(layout.bytes() as usize).unwrap()), layout), addresses)
    }

    proptest! {
        #[test]
        fn every_byte_of_every_heap_has_its_own_place(
            rank in 0u32..64, segment in 1u32..6, offset in 0u64..8192, bytes in 0u64..9000,
        ) {
            let (reach, addresses) = reach(10, 3);
            let address = addresses.encode(Rank::new(rank), SegmentId::new(segment).unwrap(), offset).unwrap();
            let inside = (10..13).contains(&rank) && segment <= 2;
            let byte = GlobalPtr::<u8>::from_address(address).unwrap();
            prop_assert_eq!(reach.place(byte).is_some(), inside);
            let word = GlobalPtr::<u64>::from_address(address);
            prop_assert_eq!(word.is_ok_and(|word| reach.place(word).is_some()), inside && offset % 8 == 0);
            prop_assert_eq!(reach.cells(address, bytes).is_some(), inside && offset + bytes <= 8192);
            if let Some(cells) = reach.cells(address, bytes) {
                let start = reach.mapping().cells().pointer().as_ptr() as u64 + 16384;
                let expected = start + u64::from(segment - 1) * 3 * (8192 + 192) + u64::from(rank - 10) * (8192 + 192) + offset;
                prop_assert_eq!(cells.pointer().as_ptr() as u64, expected);
                prop_assert_eq!(reach.place(byte).unwrap().start(), cells.pointer());
            }
        }
    }

    /// A layout in which everything just fits, and layouts that violate one condition by a little.
    #[test]
    #[cfg_attr(miri, ignore = "an interpreter takes long to panic")]
    fn parts_that_overlap_or_have_no_room_are_refused() {
        const BYTES: usize = 2 * 8192;
        let addresses = AddressLayout::new(64, 8192).unwrap();
        let good =
            ReachLayout { addresses, first: Rank::new(10), count: 2, controls: 128, control_bytes: 64, heaps: 256, gap: 0 };
        let is_taken = |layout: ReachLayout, individual: usize, bytes: usize| {
            let mapping = Arc::new(Mapping::private(bytes).unwrap());
            std::panic::catch_unwind(|| Reach::apart(mapping, layout, individual)).is_ok()
        };
        assert!(is_taken(good, 256 + BYTES, 256 + 2 * BYTES));
        assert!(is_taken(ReachLayout { heaps: 256 + BYTES, ..good }, 256, 256 + 2 * BYTES), "in the other order");
        assert!(!is_taken(good, 256 + BYTES, 256 + 2 * BYTES - 1), "the individual heaps reach past the end");
        assert!(!is_taken(ReachLayout { heaps: 320 + BYTES, ..good }, 256, 256 + 2 * BYTES), "the symmetric ones do");
        assert!(!is_taken(good, 192 + BYTES, 256 + 2 * BYTES), "they overlap");
        let wrong = [
            ReachLayout { controls: 192, ..good },
            ReachLayout { controls: 64, control_bytes: 128, ..good },
            ReachLayout { controls: 32, ..good },
            ReachLayout { control_bytes: 32, ..good },
            ReachLayout { control_bytes: 0, ..good },
            ReachLayout { controls: 0, control_bytes: 96, ..good },
            ReachLayout { heaps: 288, ..good },
            // The job has 64 ranks.
            ReachLayout { first: Rank::new(63), ..good },
            ReachLayout { first: Rank::new(u32::MAX), ..good },
            ReachLayout { control_bytes: 1 << 63, ..good },
        ];
        for layout in wrong {
            assert!(!is_taken(layout, 512 + BYTES, 512 + 2 * BYTES), "{layout:?}");
        }
        assert!(!is_taken(good, 288 + BYTES, 512 + 2 * BYTES), "the individual heaps begin within a line");
    }

    #[test]
    fn a_rank_with_memory_of_its_own_reaches_itself_and_sleeps_until_it_is_rung() {
        let addresses = AddressLayout::new(64, 8192).unwrap();
        let (me, other) = (Rank::new(63), Rank::new(62));
        let reach = Reach::private(addresses, me).unwrap();
        assert!(reach.ranks().eq([me]) && reach.bell(other).is_none());
        let word =
            |rank, segment, offset| GlobalPtr::<u64>::from_address(addresses.encode(rank, segment, offset).unwrap()).unwrap();
        for (segment, value) in [(SegmentId::SYMMETRIC, 1), (SegmentId::INDIVIDUAL, 2)] {
            assert!(reach.place(word(other, segment, 0)).is_none());
            for offset in [0, 8184] {
                reach.place(word(me, segment, offset)).unwrap().store(value);
            }
        }
        let loaded = |segment| [0, 8184].map(|offset| reach.place(word(me, segment, offset)).unwrap().load());
        assert_eq!([SegmentId::SYMMETRIC, SegmentId::INDIVIDUAL].map(loaded), [[1, 1], [2, 2]]);
        // The store that rings occurs after the sleeper has announced itself.
        let rings = &mut || {
            reach.place(word(me, SegmentId::SYMMETRIC, 0)).unwrap().store(3);
            false
        };
        assert_eq!(reach.bell(me).unwrap().sleep(None, rings), pelago_sync::Slept::Rung);
    }

    #[test]
    fn a_heap_is_all_of_a_segment_of_a_rank_of_this_host() {
        let (reach, addresses) = reach(10, 3);
        // SAFETY: `reach` outlives the cells.
        let heap = |rank, segment| unsafe { reach.heap(Rank::new(rank), segment) };
        for segment in [SegmentId::SYMMETRIC, SegmentId::INDIVIDUAL] {
            let start = addresses.encode(Rank::new(11), segment, 0).unwrap();
            let cells = heap(11, segment).unwrap();
            assert_eq!((cells.pointer(), cells.bytes()), (reach.cells(start, 1).unwrap().pointer(), 8192));
            assert!([9, 13, 64].iter().all(|&rank| heap(rank, segment).is_none()));
        }
        assert!(heap(11, SegmentId::REGISTERED_FIRST).is_none());
    }

    #[test]
    fn what_no_instruction_moves_whole_has_no_place() {
        let (reach, addresses) = reach(10, 3);
        let address = addresses.encode(Rank::new(11), SegmentId::SYMMETRIC, 64).unwrap();
        assert!(reach.place(GlobalPtr::<[u32; 1]>::from_address(address).unwrap()).is_some());
        assert!(reach.place(GlobalPtr::<[u32; 2]>::from_address(address).unwrap()).is_none());
        assert!(reach.place(GlobalPtr::<[u64; 2]>::from_address(address).unwrap()).is_none());
    }

    #[test]
    fn null_and_foreign_addresses_have_no_place() {
        let (reach, addresses) = reach(0, 2);
        assert!(reach.cells(GlobalAddress::NULL, 1).is_none());
        assert!(reach.place(GlobalPtr::<u8>::from_address(GlobalAddress::from_bits(u64::MAX)).unwrap()).is_none());
        assert!(reach.bell(Rank::new(2)).is_none());
        let address = addresses.encode(Rank::new(1), SegmentId::INDIVIDUAL, 8).unwrap();
        let word = || reach.place(GlobalPtr::<u64>::from_address(address).unwrap()).unwrap();
        word().store(41);
        assert_eq!((word().atomic(AtomicOperator::Add, 1), word().load()), (41, 42));
    }

    #[test]
    fn a_part_has_its_own_places_and_no_others() {
        let (all, addresses) = reach(10, 4);
        for (asked, inside) in [(11..12, 11..12), (11..13, 11..13), (0..12, 10..12), (12..u32::MAX, 12..14)] {
            let part = all.part(asked);
            assert_eq!(part.ranks().map(Rank::number).collect::<Vec<_>>(), inside.clone().collect::<Vec<_>>());
            for rank in all.ranks() {
                let is_in = inside.contains(&rank.number());
                assert_eq!((part.holds(rank), part.bell(rank).is_some()), (is_in, is_in));
                let bell = |reach: &Reach| reach.bell(rank).map(std::ptr::from_ref);
                assert_eq!(bell(&part), bell(&all).filter(|_| is_in));
                for segment in [SegmentId::SYMMETRIC, SegmentId::INDIVIDUAL] {
                    for offset in [0, 8184] {
                        let word = GlobalPtr::<u64>::from_address(addresses.encode(rank, segment, offset).unwrap()).unwrap();
                        let (seen, known) = (part.place(word), all.place(word).unwrap());
                        assert_eq!(seen.map(|place| (place.pointer, place.bell)), is_in.then_some((known.pointer, known.bell)));
                        let start = |reach: &Reach| reach.cells(word.address(), 8).map(|cells| cells.pointer());
                        assert_eq!(start(&part), start(&all).filter(|_| is_in));
                    }
                }
            }
            let again = part.part(inside);
            assert_eq!((again.symmetric, again.individual, again.span), (part.symmetric, part.individual, part.span));
        }
    }

    #[test]
    fn clearing_a_rank_alone_leaves_its_neighbours() {
        let (all, addresses) = reach(10, 3);
        let word = |rank| GlobalPtr::<u64>::from_address(addresses.encode(rank, SegmentId::SYMMETRIC, 0).unwrap()).unwrap();
        all.ranks().for_each(|rank| all.place(word(rank)).unwrap().store(7));
        all.only(Rank::new(11)).clear(word(Rank::new(11)).address(), 8192);
        assert_eq!(all.ranks().map(|rank| all.place(word(rank)).unwrap().load()).collect::<Vec<_>>(), [7, 0, 7]);
    }

    /// Turns a hang into a failure; nothing depends on its length.
    const HANG: Option<core::time::Duration> = Some(core::time::Duration::from_secs(5));

    #[test]
    fn what_is_written_wakes_its_owner_and_nobody_else() {
        use pelago_sync::Slept;
        let (reach, addresses) = reach(10, 3);
        let owner = Rank::new(12);
        let address = addresses.encode(owner, SegmentId::INDIVIDUAL, 64).unwrap();
        let word = || reach.place(GlobalPtr::<u64>::from_address(address).unwrap()).unwrap();
        let ways: [&dyn Fn(); 3] = [
            &|| word().store(1),
            &|| {
                word().atomic(AtomicOperator::Add, 1);
            },
            &|| assert!(reach.write(address, &[1; 20])),
        ];
        for (number, write) in ways.iter().enumerate() {
            for rank in reach.ranks() {
                let (limit, expected) =
                    if rank == owner { (HANG, Slept::Rung) } else { (Some(core::time::Duration::ZERO), Slept::TimedOut) };
                let mut wrote = || {
                    write();
                    false
                };
                assert_eq!(reach.bell(rank).unwrap().sleep(limit, &mut wrote), expected, "way {number}, rank {rank}");
            }
        }
    }

    #[test]
    fn bytes_are_written_and_read_where_they_are_on_this_host_and_nowhere_else() {
        let (reach, addresses) = reach(10, 3);
        let at = |rank, offset| addresses.encode(Rank::new(rank), SegmentId::SYMMETRIC, offset).unwrap();
        assert!(reach.write(at(12, 8192 - 5), b"abcde"));
        let mut seen = [0; 7];
        assert!(reach.read(at(12, 8192 - 7), &mut seen));
        assert_eq!(&seen, b"\0\0abcde");
        for (rank, offset) in [(12, 8192 - 4), (13, 0), (9, 0)] {
            assert!(!reach.write(at(rank, offset), b"xxxxx"), "rank {rank}, from {offset} on");
            let mut untouched = [7; 5];
            assert!(!reach.read(at(rank, offset), &mut untouched));
            assert_eq!(untouched, [7; 5]);
        }
        assert_eq!(reach.mapping().cells().bytes() as u64, 16384 + 2 * 3 * (8192 + 192));
        assert_eq!(reach.addresses().segment_bytes(), addresses.segment_bytes());
    }
}
