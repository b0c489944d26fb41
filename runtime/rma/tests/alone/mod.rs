//! Rank 0 alone, with a transport under the control of the test: every event is determined, and time does not pass by itself.

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
