//! Doorbells, rings, gates, watches and versions in memory that several processes share.
//!
//! | item | meaning |
//! |---|---|
//! | [`Doorbell`], [`Slept`] | a word on which threads of any process sleep until another rings; ringing costs a load and a branch |
//! | [`Ring`], [`Claim`], [`Full`] | a bounded queue of fixed-size messages, from many producers to one consumer |
//! | [`Gate`], [`Pass`] | access control for memory of one owner that peers enter, and that the owner can take back |
//! | [`Watch`] | whether a thread watches for requests, so that its stand-in need not be woken |
//! | [`Version`] | detection of changes to data that is read without a lock |
//! | [`asymmetric`] | a pair of fences, one of which costs nothing and the other a system call |
//! | [`primitive`] | the underlying atomics and futex, which a model checker can replace |
//!
//! Doorbells, rings, gates, watches and versions consist of atomics only, have a fixed layout, are valid when all their bytes are zero (as in a
//! fresh shared mapping) and are used through `&self`, from any thread of any process that maps them. The protocols and their correctness
//! proofs are in this crate's `README.md`; `tests/loom.rs` checks them.
//!
//! Absent on purpose: the origin of the shared memory, the meaning of the messages, ranks, clocks, threads, recovery from a process
//! that dies in the middle of a step.

mod doorbell;
mod gate;
mod ring;
mod version;
mod watch;

pub mod asymmetric;
pub mod primitive;

pub use doorbell::{Doorbell, Slept};
pub use gate::{Gate, Pass};
pub use ring::{Claim, Full, PRODUCER_MAX, Ring};
pub use version::Version;
pub use watch::Watch;
