//! What NICs and nodes are made of, and the transfers that they work on, as records.

pub(crate) mod flow;
pub(crate) mod flowlet;
pub(crate) mod nic;
pub(crate) mod node;
pub(crate) mod transfer;
