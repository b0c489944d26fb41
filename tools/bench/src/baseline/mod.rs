//! Which raw limit stands beside the library: the same memory, or plain sockets.

pub(crate) mod mapped_memory;
pub(crate) mod udp_sockets;

use crate::baseline::mapped_memory::Raw;
use crate::baseline::udp_sockets::Line;

/// The raw limit of operations on the receiver's memory.
pub(crate) enum Baseline<'m, T = u64> {
    /// Both ranks map it.
    Memory(Raw<'m, T>),
    /// It is reached over UDP.
    Datagrams(&'m Line),
}

impl<T> Baseline<'_, T> {
    /// `mapped` where memory is mapped, else `apart`.
    pub(crate) fn name(&self, mapped: &'static str, apart: &'static str) -> &'static str {
        match self {
            Self::Memory(_) => mapped,
            Self::Datagrams(_) => apart,
        }
    }
}
