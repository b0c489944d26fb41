//! The workspaces of a rank: large memory that is distributed over ranks.

use pelago::GlobalAddress;
use pelago::containers::{GlobalBytes, GlobalHeap};

use crate::refusal::Refusal;
use pelago_c_support::slab::Slab;

/// The workspaces that this rank has created, and the settings of the next one.
pub(crate) struct Workspaces {
    pub(crate) settings: Settings,
    pub(crate) known: Slab<Workspace>,
}

/// This rank's description of a workspace.
pub(crate) struct Workspace {
    pub(crate) parts: Vec<GlobalAddress>,
    pub(crate) part_bytes: u64,
    pub(crate) bytes: u64,
}

/// The rank of the first part of the next workspace, and the number of bytes of a part.
#[derive(Clone, Copy)]
pub(crate) struct Settings {
    pub(crate) first: u32,
    pub(crate) part_bytes: u64,
}

impl Settings {
    /// The settings until a program changes them.
    pub(crate) const DEFAULT: Self = Self { first: 0, part_bytes: 1 << 20 };
}

impl Workspace {
    pub(crate) fn open<'h>(&self, heap: &'h GlobalHeap<'static>) -> Result<GlobalBytes<'h, 'static>, Refusal> {
        Ok(GlobalBytes::open(heap, self.parts.clone(), self.part_bytes, self.bytes)?)
    }
}
