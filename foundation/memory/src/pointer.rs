//! Typed global addresses.

use core::fmt;
use core::marker::PhantomData;

use pelago_base::GlobalAddress;

use crate::Pod;

/// Global address of a value of type `T`.
///
/// Invariant **M8**: the address is not null and its offset is a multiple of `align_of::<T>()`. It is therefore not [`Pod`]: its
/// [`address`](Self::address) can be stored in global memory and turned into a pointer again with [`from_address`](Self::from_address).
pub struct GlobalPtr<T> {
    address: GlobalAddress,
    value: PhantomData<fn() -> T>,
}

/// An address that cannot be that of a value of the type.
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{address:?} cannot lead to a value that is aligned to {align} bytes")]
pub struct PointerError {
    /// The address: null, or not a multiple of the alignment.
    pub address: GlobalAddress,
    /// The alignment in bytes.
    pub align: usize,
}

pelago_base::debug_as_display! { PointerError }

impl<T: Pod> GlobalPtr<T> {
    /// Returns the pointer with this address.
    ///
    /// # Errors
    /// The address is null or not aligned to `T`. Operations that use the pointer check whether it refers to memory.
    pub fn from_address(address: GlobalAddress) -> Result<Self, PointerError> {
        let aligned = address.bits().is_multiple_of(align_of::<T>() as u64);
        if address.is_null() || !aligned {
            return Err(PointerError { address, align: align_of::<T>() });
        }
        Ok(Self { address, value: PhantomData })
    }

    /// Returns the address.
    #[inline(always)]
    pub const fn address(self) -> GlobalAddress {
        self.address
    }

    /// Returns the pointer `elements` further. It is not checked against the bounds of the allocation; operations check that it is in a heap.
    #[inline]
    pub const fn add(self, elements: u64) -> Self {
        let bytes = elements.wrapping_mul(size_of::<T>() as u64);
        Self { address: GlobalAddress::from_bits(self.address.bits().wrapping_add(bytes)), value: PhantomData }
    }

    /// Returns the pointer to the same address as another type.
    ///
    /// # Errors
    /// The address is not aligned to `U`.
    pub fn cast<U: Pod>(self) -> Result<GlobalPtr<U>, PointerError> {
        GlobalPtr::from_address(self.address)
    }
}

impl<T> Clone for GlobalPtr<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for GlobalPtr<T> {}

impl<T> PartialEq for GlobalPtr<T> {
    fn eq(&self, other: &Self) -> bool {
        self.address == other.address
    }
}

impl<T> Eq for GlobalPtr<T> {}

impl<T> fmt::Debug for GlobalPtr<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GlobalPtr<{}>({:#x})", core::any::type_name::<T>(), self.address.bits())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn null_and_misaligned_addresses_are_no_pointers() {
        assert!(GlobalPtr::<u8>::from_address(GlobalAddress::NULL).is_err());
        assert!(GlobalPtr::<u64>::from_address(GlobalAddress::from_bits(0x1_0004)).is_err());
        let pointer = GlobalPtr::<u32>::from_address(GlobalAddress::from_bits(0x1_0004)).unwrap();
        assert_eq!(pointer.add(3).address().bits(), 0x1_0010);
        assert!(pointer.add(3) == pointer.add(2).add(1) && pointer != pointer.add(1));
        assert!(pointer.cast::<u64>().is_err() && pointer.add(1).cast::<u64>().is_ok());
        assert_eq!(size_of::<GlobalPtr<[u64; 4]>>(), 8);
    }
}
