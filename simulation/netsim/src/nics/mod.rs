//! The records of NICs, nodes and transfers.

pub(crate) mod flow;
pub(crate) mod flowlet;
pub(crate) mod nic;
pub(crate) mod node;
pub(crate) mod port;
pub(crate) mod transfer;
