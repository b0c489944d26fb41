//! Jobs of several ranks, a thread each, on every platform.

mod barriers;
mod borrowed;
mod collectives;
mod generated_order;
mod memory;
mod operations;
mod regions;
