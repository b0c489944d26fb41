//! The raw limit to compare the library with: the same memory, or plain sockets.

pub(crate) mod mapped_memory;
pub(crate) mod udp_sockets;

use crate::baseline::mapped_memory::Raw;
use crate::baseline::udp_sockets::Line;

/// The raw limit of operations on the receiver's memory.
pub(crate) enum Baseline<'m, T = u64> {
    /// The memory is mapped by both ranks.
    Memory(Raw<'m, T>),
    /// The memory is reached over UDP.
    Datagrams(&'m Line),
}

impl<T> Baseline<'_, T> {
    /// Returns `mapped` if memory is mapped, else `apart`.
    pub(crate) fn name(&self, mapped: &'static str, apart: &'static str) -> &'static str {
        match self {
            Self::Memory(_) => mapped,
            Self::Datagrams(_) => apart,
        }
    }
}
