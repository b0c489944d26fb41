//! Which raw limit stands beside the library: the same memory, or plain sockets.

pub(crate) mod mapped_memory;
pub(crate) mod udp_sockets;

use pelago::{Pod, Symmetric};

use crate::baseline::mapped_memory::Raw;
use crate::baseline::udp_sockets::Line;
use crate::error::Result;
use crate::rank::context::RankContext;

/// The raw limit of operations on the receiver's memory.
pub(crate) enum Baseline<'m, T = u64> {
    /// Both ranks map it.
    Memory(Raw<'m, T>),
    /// It is reached over UDP.
    Datagrams(&'m Line),
}

impl<'m, T: Pod> Baseline<'m, T> {
    /// The limit of operations on the part that the receiver has of `memory`.
    pub(crate) fn of(stage: &'m RankContext<'_>, memory: &'m Symmetric<'_, T>) -> Result<Self> {
        Ok(match stage.line() {
            Some(line) => Self::Datagrams(line),
            None => Self::Memory(Raw::of(stage.world, memory, stage.receiver())?),
        })
    }

    /// `mapped` where memory is mapped, else `apart`.
    pub(crate) fn name(&self, mapped: &'static str, apart: &'static str) -> &'static str {
        match self {
            Self::Memory(_) => mapped,
            Self::Datagrams(_) => apart,
        }
    }
}
