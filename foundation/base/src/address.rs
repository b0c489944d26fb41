//! Global addresses: segment, rank and offset in 64 bits.

use core::fmt;
use core::ops::RangeInclusive;

use zerocopy::{FromBytes, Immutable, IntoBytes};

use crate::Rank;
use crate::limits::{OFFSET_BITS_MIN, RANKS_MAX, SEGMENT_BITS_MAX, SEGMENT_BITS_MIN, SEGMENT_BYTES_MAX};

/// Number of a segment: a part of a rank's addresses. Segment 0 does not exist, so that address 0 is null.
///
/// Segments 1 and 2 are the rank's two heaps. The other segments are for registering existing memory of the program: many regions per segment,
/// each with its own range of addresses. The library uses [`AddressLayout::registered_segments`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SegmentId(u32);

impl SegmentId {
    /// Memory that all ranks allocate together; an object lies at the same offset on each.
    pub const SYMMETRIC: Self = Self(1);
    /// Memory that one rank allocates by itself.
    pub const INDIVIDUAL: Self = Self(2);
    /// The first segment that is not a heap.
    pub const REGISTERED_FIRST: Self = Self(3);

    /// Returns segment number `number`, or `None` for 0.
    pub const fn new(number: u32) -> Option<Self> {
        if number == 0 { None } else { Some(Self(number)) }
    }

    /// The number.
    #[inline]
    pub const fn number(self) -> u32 {
        self.0
    }
}

/// A location in the memory of the job: segment, rank and offset. All zero bits are the null address.
///
/// It is plain data of one word, so that it can itself be stored in global memory, also as a field of a structure, and compare-and-swapped by its
/// [`bits`](Self::bits). The job's [`AddressLayout`] defines the meaning of its bits; an address is valid only in the job that created it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, FromBytes, IntoBytes, Immutable)]
#[repr(transparent)]
pub struct GlobalAddress(u64);

impl GlobalAddress {
    /// The null address.
    pub const NULL: Self = Self(0);

    /// Returns the address with these bits, as read from global memory.
    #[inline]
    pub const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    /// Returns the bits, to be stored in global memory.
    #[inline]
    pub const fn bits(self) -> u64 {
        self.0
    }

    /// Whether this is the null address.
    #[inline]
    pub const fn is_null(self) -> bool {
        self.0 == 0
    }
}

impl fmt::Debug for GlobalAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GlobalAddress({:#018x})", self.0)
    }
}

/// How a job divides the 64 bits of its addresses: segment on top, rank and offset below. Bits that a small job does not need are zero and lie
/// above the rank.
///
/// Chosen once, from the number of ranks and the largest segment, by [`AddressLayout::new`]. With the rank in the middle, the addresses
/// of one segment of consecutive ranks form one range: if their memory is mapped in the same order, a subtraction and a comparison
/// translate an address to its location.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressLayout {
    ranks: u32,
    rank_bits: u8,
    offset_bits: u8,
    segment_bits: u8,
}

/// Reason for which a job has no layout.
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LayoutError {
    /// A job has between one rank and [`RANKS_MAX`].
    #[error("a job has between 1 and {RANKS_MAX} ranks, not {0}")]
    Ranks(u32),
    /// A segment has between one byte and [`SEGMENT_BYTES_MAX`].
    #[error("a segment has between 1 and {SEGMENT_BYTES_MAX} bytes, not {0}")]
    SegmentBytes(u64),
}

crate::debug_as_display! { LayoutError }

/// Reason for which a global address does not exist.
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AddressError {
    /// The job has fewer ranks.
    #[error("rank {rank} does not exist: the job has {ranks} ranks")]
    Rank {
        /// The requested rank.
        rank: Rank,
        /// Number of ranks of the job.
        ranks: u32,
    },
    /// The layout has fewer segments per rank.
    #[error("segment {0} is past the last that an address of this job can name")]
    Segment(u32),
    /// The offset is past the largest segment that the layout can address.
    #[error("offset {0} is past the largest segment of this job")]
    Offset(u64),
}

crate::debug_as_display! { AddressError }

impl AddressLayout {
    /// Returns the layout for `ranks` ranks and segments of up to `segment_bytes` bytes.
    ///
    /// Ranks and offsets get the bits they need; segments get the rest, at most [`SEGMENT_BITS_MAX`].
    ///
    /// # Errors
    /// The number of ranks or of bytes is zero or past the limit. Every job within the limits can be addressed.
    pub const fn new(ranks: u32, segment_bytes: u64) -> Result<Self, LayoutError> {
        if ranks == 0 || ranks > RANKS_MAX {
            return Err(LayoutError::Ranks(ranks));
        }
        if segment_bytes == 0 || segment_bytes > SEGMENT_BYTES_MAX {
            return Err(LayoutError::SegmentBytes(segment_bytes));
        }
        let rank_bits = bits_for(ranks as u64);
        let offset_bits = if bits_for(segment_bytes) < OFFSET_BITS_MIN { OFFSET_BITS_MIN } else { bits_for(segment_bytes) };
        let rest = 64 - rank_bits - offset_bits;
        let segment_bits = if rest > SEGMENT_BITS_MAX { SEGMENT_BITS_MAX } else { rest };
        assert!(segment_bits >= SEGMENT_BITS_MIN, "the limits guarantee it");
        Ok(Self { ranks, rank_bits: rank_bits as u8, offset_bits: offset_bits as u8, segment_bits: segment_bits as u8 })
    }

    /// Returns the number of ranks of the job.
    pub const fn ranks(self) -> u32 {
        self.ranks
    }

    /// Returns the size in bytes of the largest segment that an offset can address; a power of two.
    pub const fn segment_bytes(self) -> u64 {
        1 << self.offset_bits
    }

    /// Returns the largest segment number that an address can contain.
    pub const fn segment_max(self) -> u32 {
        (1 << self.segment_bits) - 1
    }

    /// Returns the segments for addresses of registered memory: those whose highest bit is set, which is bit 63 of the address. No pointer of a
    /// program has that bit set, so a pointer is never taken for such an address.
    pub const fn registered_segments(self) -> RangeInclusive<u32> {
        RangeInclusive::new(1 << (self.segment_bits - 1), self.segment_max())
    }

    /// Whether the addresses of `bytes` bytes from `address` on belong to one segment of one rank of the job.
    pub fn is_in_segment(self, address: GlobalAddress, bytes: u64) -> bool {
        let (rank, offset) = (self.rank(address), self.offset(address));
        let encoded = self.segment(address).and_then(|segment| self.encode(rank, segment, offset).ok());
        encoded == Some(address) && bytes <= self.segment_bytes() - offset
    }

    /// Returns the number of low bits that hold the offset.
    #[inline]
    pub const fn offset_bits(self) -> u32 {
        self.offset_bits as u32
    }

    /// Returns the address of byte `offset` in `segment` of `rank`.
    ///
    /// # Errors
    /// A part does not fit its field.
    #[inline]
    pub const fn encode(self, rank: Rank, segment: SegmentId, offset: u64) -> Result<GlobalAddress, AddressError> {
        if rank.number() >= self.ranks {
            return Err(AddressError::Rank { rank, ranks: self.ranks });
        }
        if segment.number() > self.segment_max() {
            return Err(AddressError::Segment(segment.number()));
        }
        if offset >= self.segment_bytes() {
            return Err(AddressError::Offset(offset));
        }
        Ok(GlobalAddress((segment.number() as u64) << self.segment_shift() | (rank.number() as u64) << self.offset_bits | offset))
    }

    /// Returns the rank field. It may be no rank of the job if the bits came from elsewhere.
    #[inline]
    pub const fn rank(self, address: GlobalAddress) -> Rank {
        Rank::new((address.0 >> self.offset_bits) as u32 & ((1 << self.rank_bits) - 1))
    }

    /// Returns the segment field, or `None` for 0. It may be past the last segment if the bits came from elsewhere.
    #[inline]
    pub const fn segment(self, address: GlobalAddress) -> Option<SegmentId> {
        SegmentId::new((address.0 >> self.segment_shift()) as u32)
    }

    /// Returns the offset field, in bytes.
    #[inline]
    pub const fn offset(self, address: GlobalAddress) -> u64 {
        address.0 & (self.segment_bytes() - 1)
    }

    #[inline]
    const fn segment_shift(self) -> u32 {
        u64::BITS - self.segment_bits as u32
    }
}

/// Returns the number of bits needed to number `count` items from 0.
const fn bits_for(count: u64) -> u32 {
    64 - (count - 1).leading_zeros()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_job_that_cannot_be_addressed_is_refused() {
        assert_eq!(AddressLayout::new(0, 1), Err(LayoutError::Ranks(0)));
        assert_eq!(AddressLayout::new(RANKS_MAX + 1, 1), Err(LayoutError::Ranks(RANKS_MAX + 1)));
        assert_eq!(AddressLayout::new(1, 0), Err(LayoutError::SegmentBytes(0)));
        assert_eq!(AddressLayout::new(1, SEGMENT_BYTES_MAX + 1), Err(LayoutError::SegmentBytes(SEGMENT_BYTES_MAX + 1)));
    }

    #[test]
    fn null_is_no_segment() {
        let layout = AddressLayout::new(RANKS_MAX, SEGMENT_BYTES_MAX).unwrap();
        assert_eq!(layout.segment(GlobalAddress::NULL), None);
        assert_eq!(layout.registered_segments(), 8..=15);
        assert!(*layout.registered_segments().start() >= SegmentId::REGISTERED_FIRST.number());
    }

    #[test]
    fn a_range_is_in_one_segment_of_one_rank() {
        for layout in [AddressLayout::new(3, 4096).unwrap(), AddressLayout::new(RANKS_MAX, SEGMENT_BYTES_MAX).unwrap()] {
            let (room, last) = (layout.segment_bytes(), SegmentId::new(layout.segment_max()).unwrap());
            let at = |offset| layout.encode(Rank::new(2), last, offset).unwrap();
            assert!(layout.is_in_segment(at(0), room) && layout.is_in_segment(at(room - 1), 1) && layout.is_in_segment(at(8), 0));
            assert!(!layout.is_in_segment(at(0), room + 1) && !layout.is_in_segment(at(8), u64::MAX - 4));
            assert!(!layout.is_in_segment(GlobalAddress::NULL, 1));
        }
        let layout = AddressLayout::new(3, 4096).unwrap();
        let good = layout.encode(Rank::new(2), SegmentId::REGISTERED_FIRST, 0).unwrap();
        assert!(!layout.is_in_segment(GlobalAddress::from_bits(good.bits() | 1 << 20), 1), "a small job leaves such bits out");
        let registered = SegmentId::new(*layout.registered_segments().start()).unwrap();
        assert!(layout.encode(Rank::new(0), registered, 0).unwrap().bits() == 1 << 63);
        assert!(!layout.is_in_segment(GlobalAddress::from_bits(good.bits() + 4096), 1), "there is no rank 3");
    }

    #[test]
    fn parts_that_do_not_fit_are_refused() {
        let layout = AddressLayout::new(3, 100).unwrap();
        let here = |rank, segment, offset| layout.encode(Rank::new(rank), SegmentId::new(segment).unwrap(), offset);
        assert_eq!(here(3, 1, 0), Err(AddressError::Rank { rank: Rank::new(3), ranks: 3 }));
        assert_eq!(here(0, layout.segment_max() + 1, 0), Err(AddressError::Segment(layout.segment_max() + 1)));
        assert_eq!(here(0, 1, layout.segment_bytes()), Err(AddressError::Offset(layout.segment_bytes())));
    }

    proptest! {
        #[test]
        fn every_job_within_the_limits_can_be_addressed(
            ranks in prop_oneof![1..=RANKS_MAX, 1..=64u32, (0..=20u32).prop_map(|bits| 1 << bits)],
            bytes in prop_oneof![1..=SEGMENT_BYTES_MAX, 1..=4096u64, (0..=40u32).prop_map(|bits| 1 << bits)],
            pick in any::<[prop::sample::Index; 3]>(),
        ) {
            let layout = AddressLayout::new(ranks, bytes).unwrap();
            let rank = Rank::new(pick[0].index(ranks as usize) as u32);
            let segment = SegmentId::new(1 + pick[1].index(layout.segment_max() as usize) as u32).unwrap();
            let offset = pick[2].index(bytes as usize) as u64;
            let address = layout.encode(rank, segment, offset).unwrap();
            prop_assert!(!address.is_null());
            prop_assert_eq!((layout.rank(address), layout.segment(address), layout.offset(address)), (rank, Some(segment), offset));
            prop_assert_eq!(GlobalAddress::from_bits(address.bits()), address);
        }
    }
}
