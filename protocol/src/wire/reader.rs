//! Parsing of numbers and fixed layouts from the front of a slice.

use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, KnownLayout, Unaligned};

/// The bytes left to parse.
pub(crate) struct Reader<'a>(pub(crate) &'a [u8]);

impl<'a> Reader<'a> {
    #[inline]
    pub(crate) fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    /// Takes the layout at the front, in place.
    #[inline]
    pub(crate) fn layout<T: FromBytes + Immutable + KnownLayout + Unaligned>(&mut self) -> Option<&'a T> {
        let (taken, rest) = T::ref_from_prefix(self.0).ok()?;
        self.0 = rest;
        Some(taken)
    }

    #[inline]
    pub(crate) fn u8(&mut self) -> Option<u8> {
        self.layout::<u8>().copied()
    }

    #[inline]
    pub(crate) fn u16(&mut self) -> Option<u16> {
        self.layout::<U16>().map(|number| number.get())
    }

    #[inline]
    pub(crate) fn u32(&mut self) -> Option<u32> {
        self.layout::<U32>().map(|number| number.get())
    }

    #[inline]
    pub(crate) fn u64(&mut self) -> Option<u64> {
        self.layout::<U64>().map(|number| number.get())
    }
}
