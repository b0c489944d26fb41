//! A packet-level simulator of interconnects: what the NICs, links and routers of a machine do with one-sided operations, and
//! when.
//!
//! A [`Machine`] is read from its description; a [`Netsim`] is a machine of a given number of nodes in virtual time. Its user posts
//! [`NetworkOperation`]s and gets [`Notice`]s. The simulator handles sizes only: the user copies the bytes when the notices report that
//! they are read and that they have arrived.
//!
//! | part | for |
//! |---|---|
//! | [`Netsim`] | posting operations, and advancing to the next notice |
//! | [`Machine`] | descriptions in TOML, and the bundled ones |
//! | `netsim` | its regions, which threads may simulate; its NICs: DMA, packets, atomic units, receive slots; retransmission; intra-node copies |
//! | `nics` | NICs, nodes and transfers as records |
//! | `classes` | traffic classes: which packets belong to which, and whose turn it is |
//! | `network` | virtual cut-through with credits, packet by packet |
//! | `reduction` | reductions by routers or NICs: [`ReductionTree`] |
//! | `topology` | how routers are connected, routes, and why they do not deadlock |
//! | `events` | the ordered event queue; pools of records; transmission times; seeded random numbers |
//! | [`Statistics`] | counters |
//!
//! Absent on purpose: ranks, the library, clocks, files, floating-point numbers once a machine is built, unsafe code outside [`prefetch`].

mod classes;
mod events;
mod machine;
mod netsim;
mod network;
mod nics;
mod operation;
mod reduction;
mod statistics;
#[cfg(test)]
mod tests;
mod topology;

pub use events::prefetch::prefetch;
pub use machine::datagrams::{Datagrams, MessageTimes};
pub use machine::keys::{KEYS, Quantity};
pub use machine::noise::{Noise, Phases};
pub use machine::software::{Atomics, Descriptors, Detection, Serving, Software, Submission, Threads};
pub use machine::{Machine, MachineError, RailInfo};
pub use netsim::Netsim;
pub use operation::{FailureReason, NetworkOperation, Notice};
pub use reduction::{ReductionLimits, ReductionTree};
pub use statistics::{AtomicStatistics, LinkEnd, LinkStatistics, Statistics};
