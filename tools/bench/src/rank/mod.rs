//! One rank while it measures: how sender and receiver take turns, and the memory that it takes.

pub(crate) mod context;
pub(crate) mod usage;
