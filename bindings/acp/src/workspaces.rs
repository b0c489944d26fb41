//! The workspaces that a rank knows: many bytes, spread over ranks.

use pelago::GlobalAddress;
use pelago::containers::{GlobalBytes, GlobalHeap};

use crate::refusal::Refusal;
use pelago_c_support::slab::Slab;

/// The workspaces that this rank knows, and where the next begins.
pub(crate) struct Workspaces {
    pub(crate) settings: Settings,
    pub(crate) known: Slab<Workspace>,
}

/// What this rank knows of a workspace.
pub(crate) struct Workspace {
    pub(crate) parts: Vec<GlobalAddress>,
    pub(crate) part_bytes: u64,
    pub(crate) bytes: u64,
}

/// The rank on which the next workspace begins, and how many bytes each rank has of it.
#[derive(Clone, Copy)]
pub(crate) struct Settings {
    pub(crate) first: u32,
    pub(crate) part_bytes: u64,
}

impl Settings {
    /// Until a program says otherwise.
    pub(crate) const DEFAULT: Self = Self { first: 0, part_bytes: 1 << 20 };
}

impl Workspace {
    pub(crate) fn open<'h>(&self, heap: &'h GlobalHeap<'static>) -> Result<GlobalBytes<'h, 'static>, Refusal> {
        Ok(GlobalBytes::open(heap, self.parts.clone(), self.part_bytes, self.bytes)?)
    }
}
