//! Rank 0 alone, with a transport that does what a test says: everything is decided, and nothing takes time.

mod allocations;
mod collectives;
pub(crate) mod contexts;
pub(crate) mod failures;
mod handles;
mod losses;
mod memory;
mod messages;
mod platform;
mod registration;
mod remote_order;
pub(crate) mod scripted;
mod sizes;
mod world;
