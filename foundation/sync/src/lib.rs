//! Doorbells, rings, gates, watches and versions in memory that several processes share.
//!
//! | item | meaning |
//! |---|---|
//! | [`Doorbell`], [`Slept`] | where threads of any process sleep until another rings; ringing costs a load and a branch |
//! | [`Ring`], [`Full`] | a bounded queue of fixed-size messages, from many producers to one consumer |
//! | [`Gate`], [`Pass`] | memory of one owner that peers enter, and that the owner can take back |
//! | [`Watch`] | whether somebody watches anyhow, so that a stand-in need not be woken |
//! | [`Version`] | whether what was read without a lock was changed meanwhile |
//! | [`asymmetric`] | a pair of fences of which one costs nothing and the other a system call |
//! | [`primitive`] | the atomics and the futex below, which a model checker can replace |
//!
//! A doorbell, a ring, a gate, a watch and a version are made of atomics only, have a fixed layout, are valid when all their bytes are zero (as a
//! fresh shared mapping is) and are used through `&self`, from any thread of any process that maps them. The protocols and why
//! they are right are in this crate's `README.md`; `tests/loom.rs` checks them.
//!
//! Absent on purpose: where the shared memory comes from, what the messages mean, ranks, clocks, threads, recovery from a process
//! that dies half-way through a step.

mod doorbell;
mod gate;
mod ring;
mod version;
mod watch;

pub mod asymmetric;
pub mod primitive;

pub use doorbell::{Doorbell, Slept};
pub use gate::{Gate, Pass};
pub use ring::{Full, Ring};
pub use version::Version;
pub use watch::Watch;
