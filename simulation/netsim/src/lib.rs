//! A packet-level simulator of interconnects: what the NICs, links and routers of a machine do with one-sided operations, and
//! when.
//!
//! A [`Machine`] is read from its description; a [`Netsim`] is a machine of so many nodes in virtual time. Its user posts
//! [`NetworkOperation`]s and gets [`Notice`]s. Only sizes travel: the user moves the bytes at the notices that they are read and that
//! they have arrived.
//!
//! | part | for |
//! |---|---|
//! | [`Netsim`] | posting operations, and moving on to what happens next |
//! | [`Machine`] | descriptions in TOML, and those that come with the simulator |
//! | `netsim` | its NICs: DMA, packets, atomic units, receive slots; repetition; copies within a node |
//! | `nics` | NICs, nodes and transfers as records |
//! | `network` | virtual cut-through with credits, packet by packet |
//! | `topology` | how routers are connected, routes, and why they do not deadlock |
//! | `events` | events in order; records that are used again; the time of bytes; random numbers from a seed |
//! | [`Statistics`] | what was counted |
//!
//! Absent on purpose: ranks, the library, threads, clocks, files, floating-point numbers after a machine was made, unsafe code but in [`prefetch`].

mod events;
mod machine;
mod netsim;
mod network;
mod nics;
mod operation;
mod statistics;
#[cfg(test)]
mod tests;
mod topology;

pub use events::prefetch::prefetch;
pub use machine::datagrams::{Datagrams, MessageTimes};
pub use machine::keys::{KEYS, Quantity};
pub use machine::software::{Atomics, Descriptors, Detection, Serving, Software, Submission, Threads};
pub use machine::{Machine, MachineError, RailInfo};
pub use netsim::Netsim;
pub use operation::{FailureReason, NetworkOperation, Notice};
pub use statistics::{AtomicStatistics, LinkEnd, LinkStatistics, Statistics};
