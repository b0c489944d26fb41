//! Why a simulation cannot begin.

use pelago_netsim::MachineError;

use crate::protocol::faults::FaultError;

/// A simulation cannot begin.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SimulationError {
    /// The machine does not fit.
    #[error(transparent)]
    Machine(#[from] MachineError),
    /// There is no memory for the stacks.
    #[error("no room for {count} stacks of {bytes} bytes: {source}")]
    Stacks {
        /// The number of stacks.
        count: u32,
        /// The size of each.
        bytes: usize,
        /// The reason.
        source: std::io::Error,
    },
    /// There is not enough memory for the ranks.
    #[error("no room for the memory of the ranks: {0}")]
    Memory(String),
    /// Only sizes were requested together with the library's own protocol.
    #[error("--data sizes excludes --protocol and --faults: the protocol of the library carries bytes")]
    SizesByProtocol,
    /// The description of the machine has a cost for the first use of a page.
    #[error("--data sizes is impossible on this machine, where the first use of a page takes time (node.shared.page_ns)")]
    SizesOfPages,
    /// The faults do not fit the ranks.
    #[error("faults: {0}")]
    Faults(#[from] FaultError),
    /// There are no ranks, or none on a node.
    #[error("a simulation needs at least one rank, and one rank on a node")]
    Empty,
}
