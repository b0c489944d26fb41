//! The types that memory may contain that other ranks write.

use pelago_base::Width;
use zerocopy::{FromBytes, Immutable, IntoBytes};

/// Plain old data: every bit pattern is a value, there is no padding and no pointer to anything.
///
/// Implemented for all types with zerocopy's `FromBytes + IntoBytes + Immutable`, which its derives check; programs find them, and an example, in
/// `pelago::zerocopy`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not plain data (`Pod`), as global memory and messages need it",
    label = "has padding, bit patterns that are no value, or pointers; or does not derive the traits",
    note = "your types derive `Clone, Copy, FromBytes, IntoBytes, Immutable`, with `#[repr(C)]` and `#[zerocopy(crate = \"pelago::zerocopy\")]`",
    note = "`bool`, `char` and enums have bit patterns that are no value: store an integer. A `GlobalPtr` is stored as its `address()`"
)]
pub trait Pod: FromBytes + IntoBytes + Immutable + Copy + Send + Sync + 'static {}

// The compiler names `Pod` in its message, and not each of these traits in a message of its own.
#[diagnostic::do_not_recommend]
impl<T: FromBytes + IntoBytes + Immutable + Copy + Send + Sync + 'static> Pod for T {}

/// An integer that remote atomics work on: `u32`, `i32`, `u64` or `i64`.
#[diagnostic::on_unimplemented(
    message = "remote atomics do not work on `{Self}`",
    label = "not one of `u32`, `i32`, `u64`, `i64`",
    note = "`accumulate` also adds and compares `f32` and `f64`"
)]
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

#[cfg(test)]
mod tests {
    use pelago_base::GlobalAddress;

    use super::*;

    #[derive(Clone, Copy, FromBytes, IntoBytes, Immutable)]
    #[repr(C)]
    struct Element {
        value: u64,
        next: GlobalAddress,
    }

    #[test]
    fn a_structure_with_a_global_address_is_plain_data() {
        fn bytes<T: Pod>(value: &T) -> &[u8] {
            value.as_bytes()
        }
        let element = Element { value: 7, next: GlobalAddress::from_bits(0x1_0000) };
        assert_eq!(bytes(&element), [7_u64.to_le_bytes(), 0x1_0000_u64.to_le_bytes()].concat());
        assert!(Element::read_from_bytes(&[0; 16]).is_ok_and(|zero| zero.next.is_null() && zero.value == 0));
    }
}
