//! A packet-level simulator of interconnects: what the NICs, links and routers of a machine do with one-sided operations, and
//! when.
//!
//! A [`Machine`] is read from its description; a [`Netsim`] is a machine of so many nodes in virtual time. Its user posts
//! [`Operation`]s and is told [`Notice`]s. Only sizes travel: the user moves bytes when it is told that they are read and that
//! they have arrived.
//!
//! | part | for |
//! |---|---|
//! | [`Netsim`] | posting operations, and moving on to what happens next |
//! | [`Machine`] | descriptions in TOML, and those that come with the simulator |
//! | `nic`, `reliable`, `node` | DMA, packets, atomic units, receive slots; repetition; copies within a node |
//! | `network` | virtual cut-through with credits, packet by packet |
//! | `topology` | how routers are connected, routes, and why they do not deadlock |
//! | `queue`, `lists`, `rate`, `random` | events in order; records; times of bytes; chance from a seed |
//! | [`Statistics`] | what was counted |
//!
//! Absent on purpose: ranks, the library, threads, clocks, files, floating-point numbers after a machine was made, unsafe code.

#![forbid(unsafe_code)]

mod fit;
mod keys;
mod lists;
mod machine;
mod message;
mod netsim;
mod network;
mod nic;
mod node;
mod queue;
mod random;
mod rate;
mod reliable;
mod statistics;
#[cfg(test)]
mod tests;
mod topology;

pub use keys::{KEYS, Quantity};
pub use machine::{Atomics, Descriptors, Machine, MachineError, RailInfo, Serving, Software, Threads, Way};
pub use message::{Notice, Operation, Reason};
pub use netsim::Netsim;
pub use statistics::{AtomicStatistics, End, LinkStatistics, Statistics};
