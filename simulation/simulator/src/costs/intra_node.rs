//! Times of memory that the ranks of a node share, besides those of the operation itself.

use pelago_base::Duration;
use pelago_netsim::Machine;

/// What the description of the machine says of memory that the ranks of a node share.
pub(crate) struct SharedMemoryCosts {
    /// How long after the end of an operation other ranks can see its effect; `None` if the ranks of a node share no memory.
    pub(crate) visible: Option<Duration>,
    /// How long the system takes to provide a page on its first use.
    pub(crate) page: Duration,
}

impl SharedMemoryCosts {
    pub(crate) fn of(machine: &Machine) -> Self {
        Self { visible: machine.visible(), page: machine.page() }
    }
}
