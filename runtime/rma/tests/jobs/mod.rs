//! Jobs of several ranks, one thread per rank, on every platform.

mod active;
pub(crate) mod barriers;
mod blocks;
mod borrowed;
mod collectives;
mod cuda;
mod device_completions;
mod devices;
mod generated_order;
mod memory;
mod operations;
mod pending;
pub(crate) mod regions;
