//! Bytes that a program passes to a container.

use pelago_base::GlobalAddress;
use pelago_rma::{Context, GlobalPtr, Handle, Result};

/// Bytes to write to a container: of this rank, or of any rank, from which they are copied directly to the container.
#[derive(Clone, Copy, Debug)]
pub enum ByteSource<'a> {
    /// Bytes of this rank.
    Bytes(&'a [u8]),
    /// An address, and the number of bytes from it on.
    Global(GlobalAddress, u64),
}

impl ByteSource<'_> {
    /// The number of bytes.
    pub fn bytes(&self) -> u64 {
        match *self {
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::Global(_, bytes) => bytes,
        }
    }

    /// Begins to write `count` of the bytes, from `start` on, to an address.
    pub(crate) fn write<'c>(&self, context: &'c Context, start: u64, count: u64, to: u64) -> Result<Handle<'c>> {
        match *self {
            Self::Bytes(bytes) => context.put(bytes_at(to)?, &bytes[start as usize..(start + count) as usize]),
            Self::Global(from, _) => context.copy(bytes_at(from.bits() + start)?, bytes_at(to)?, count as usize),
        }
    }
}

/// The bytes from an address on.
pub(crate) fn bytes_at(address: u64) -> Result<GlobalPtr<u8>> {
    Ok(GlobalPtr::from_address(GlobalAddress::from_bits(address))?)
}

/// The words from an address on.
pub(crate) fn words_at(address: u64) -> Result<GlobalPtr<u64>> {
    Ok(GlobalPtr::from_address(GlobalAddress::from_bits(address))?)
}

/// The words from the word before an address on.
pub(crate) fn words_before(address: GlobalAddress) -> Result<GlobalPtr<u64>> {
    words_at(address.bits().saturating_sub(size_of::<u64>() as u64))
}
