//! The records of NICs, nodes, domains and transfers.

pub(crate) mod domain;
pub(crate) mod flow;
pub(crate) mod flowlet;
pub(crate) mod hpcc;
pub(crate) mod nic;
pub(crate) mod node;
pub(crate) mod port;
pub(crate) mod slingshot;
pub(crate) mod transfer;
