//! The times of memory that the ranks of a node share, besides those of the operations themselves.

use pelago_base::Duration;
use pelago_netsim::Machine;

/// The costs of memory that the ranks of a node share, from the description of the machine.
pub(crate) struct SharedMemoryCosts {
    /// Time from the end of an operation until other ranks can see its effect; `None` if the ranks of a node share no memory.
    pub(crate) visible: Option<Duration>,
    /// Time that the system takes to provide a page on its first use.
    pub(crate) page: Duration,
}

impl SharedMemoryCosts {
    pub(crate) fn of(machine: &Machine) -> Self {
        Self { visible: machine.visible(), page: machine.page() }
    }
}
