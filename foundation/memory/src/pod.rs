//! The types that memory may contain that other ranks write.

use pelago_base::Width;
use zerocopy::{FromBytes, Immutable, IntoBytes};

/// Plain old data: every bit pattern is a value, there is no padding and no pointer to anything.
///
/// Implemented for all types with zerocopy's `FromBytes + IntoBytes + Immutable`, which its derives check; programs find them, and an example, in
/// `pelago::zerocopy`.
pub trait Pod: FromBytes + IntoBytes + Immutable + Copy + Send + Sync + 'static {}

impl<T: FromBytes + IntoBytes + Immutable + Copy + Send + Sync + 'static> Pod for T {}

/// An integer that remote atomics work on: `u32`, `i32`, `u64` or `i64`.
pub trait Word: Pod + Eq + sealed::Sealed {
    /// Size of the integer.
    const WIDTH: Width;
    /// The value's bits, zero-extended.
    fn to_bits(self) -> u64;
    /// The value with the low bits of `bits`.
    fn from_bits(bits: u64) -> Self;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! words {
    ($($word:ty, $unsigned:ty, $width:ident;)+) => {$(
        impl sealed::Sealed for $word {}
        impl Word for $word {
            const WIDTH: Width = Width::$width;
            #[inline(always)]
            fn to_bits(self) -> u64 {
                self as $unsigned as u64
            }
            #[inline(always)]
            fn from_bits(bits: u64) -> Self {
                bits as $unsigned as Self
            }
        }
    )+};
}

words! {
    u32, u32, Four;
    i32, u32, Four;
    u64, u64, Eight;
    i64, u64, Eight;
}
