//! A rank during a measurement: synchronization of sender and receiver, and the memory use of the process.

pub(crate) mod context;
pub(crate) mod usage;
