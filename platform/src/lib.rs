//! The boundary: everything that is not deterministic enters the library by four traits, and a fifth where time is virtual. The
//! first is cut by subject, so that whoever wraps it passes on little.
//!
//! | trait | brings in | real | simulated |
//! |---|---|---|---|
//! | [`Transport`], with [`Network`] and [`Registry`] | other ranks' memory | shm, udp, ofi | a network interface in virtual time |
//! | [`Clock`] | time | the system's monotonic clock | the event queue's time |
//! | [`Wait`] | giving up the core | futex on a doorbell | the turn passes to the next event |
//! | [`Bootstrap`] | who takes part | the launcher, PMI, PMIx | the list of simulated ranks |
//! | [`VirtualTime`] | what computing takes | absent: it takes its own time | the clock moves on |
//!
//! `examples/transports/tcp` in the project's repository is a tutorial for authors of transports, by a whole one in 400 lines; the conformance suite
//! is in `pelago-kit`.
//!
//! Above the boundary nothing reads a clock, sleeps, or opens a socket. Absent on purpose: every implementation.

#![forbid(unsafe_code)]

mod bootstrap;
mod capabilities;
mod clock;
pub mod limits;
mod parts;
mod transport;
mod wait;

pub use bootstrap::{Bootstrap, BootstrapError};
pub use capabilities::{Capabilities, DeviceAccess, KeyMode, NativeAtomics, Ordering, Protection};
pub use clock::Clock;
pub use parts::Parts;
/// What operations say, besides addresses.
pub use pelago_base::{AtomicOperator, Width};
/// The memory that operations reach: bytes that others may write meanwhile, the table of those that are registered, and a rank's own.
pub use pelago_memory::{
    Cells, DeviceError, DeviceMemory, DeviceRange, Mapping, MappingError, MemoryKind, Reach, ReachLayout, Region, Regions,
};
/// Where a rank sleeps: the bell of [`Reach::bell`].
pub use pelago_sync::{Doorbell, Slept};
pub use transport::{
    Address, Completion, ConnectError, Endpoint, Failure, Flags, Network, Operation, PostError, Rail, RegisterError, Registry,
    Token, Transfer, Transport, TwoSided,
};
pub use wait::{Activity, Awaited, Fault, For, Reports, VirtualTime, Wait, WaitPolicy, WaitSite, Woken};
