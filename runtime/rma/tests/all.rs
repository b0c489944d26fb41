//! The tests of this crate, one program.

#[path = "support/counting.rs"]
mod counting;
mod support;

mod alone;
mod jobs;
mod long;
