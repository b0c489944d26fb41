//! The state of a node: intra-node copies, shared memory and receive slots.

use crate::machine::picoseconds;
use crate::machine::spec::SharedSpec;
use crate::machine::times::Times;
use crate::nics::transfer::OperationKind;

/// The state of a node.
#[derive(Default)]
pub(crate) struct Node {
    /// When it can start the next intra-node copy.
    pub(crate) copy_free: u64,
    /// When its host can consume the next datagram.
    pub(crate) service_free: u64,
    /// Number of receive slots in use: of datagrams that arrive, and of those that have arrived and are not consumed.
    pub(crate) slots: u32,
    /// Number of datagrams that have arrived and of which the user of the simulator reports the consumption.
    pub(crate) unconsumed: u32,
}

/// The times of memory that the ranks of a node share, in picoseconds.
pub(crate) struct SharedMemory {
    visible: u64,
    atomic: u64,
    put: Times,
    get: Times,
}

impl SharedMemory {
    pub(crate) fn new(spec: &SharedSpec) -> Self {
        let (visible, atomic) = (picoseconds(spec.visible_ns), picoseconds(spec.atomic_ns));
        Self { visible, atomic, put: Times::of(&spec.put), get: Times::of(&spec.get) }
    }

    /// Returns how long an operation keeps the core of the initiator busy, and, if it has no result, how much later other ranks see it.
    pub(crate) fn time(&self, kind: OperationKind, bytes: u64) -> (u64, Option<u64>) {
        match kind {
            OperationKind::Atomic => (self.atomic, None),
            OperationKind::Get => (self.get.at(bytes), None),
            OperationKind::Put | OperationKind::Copy | OperationKind::Datagram => (self.put.at(bytes), Some(self.visible)),
        }
    }
}
