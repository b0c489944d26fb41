//! Rank 0 alone, with a transport that does what a test says: everything is decided, and nothing takes time.

mod allocations;
mod contexts;
mod failures;
mod remote_order;
mod scripted;
