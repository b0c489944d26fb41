//! The boundary: everything that is not deterministic enters the library through four traits, and a fifth in virtual time. The
//! first is divided by subject, so that a wrapper forwards few methods.
//!
//! | trait | provides | real | simulated |
//! |---|---|---|---|
//! | [`Transport`], with [`Network`], [`Registry`] and [`Extensions`] | other ranks' memory | shm, udp, ofi | a network interface in virtual time |
//! | [`Clock`] | time | the system's monotonic clock | the event queue's time |
//! | [`Wait`] | giving up the core | futex on a doorbell | the next event is processed |
//! | [`Bootstrap`] | the ranks of the job | the launcher, PMI, PMIx | the list of simulated ranks |
//! | [`VirtualTime`] | the duration of computation | absent: computation takes real time | the clock advances |
//!
//! `examples/transports/tcp` in the project's repository is a tutorial for authors of transports: a complete transport in 400 lines. The
//! conformance suite is in `pelago-kit`.
//!
//! Above the boundary nothing reads a clock, sleeps, or opens a socket. Absent on purpose: every implementation.

#![warn(missing_debug_implementations)]

mod bootstrap;
mod capabilities;
mod clock;
mod extensions;
pub mod limits;
mod parts;
mod posting;
mod transport;
mod trusted;
mod wait;

pub use bootstrap::{Bootstrap, BootstrapError};
pub use capabilities::{Capabilities, DeviceAccess, KeyMode, NativeAtomics, Ordering, Protection};
pub use clock::Clock;
pub use extensions::{Extensions, ReductionGroup, ReductionOperator, Reductions, TwoSided};
pub use parts::Parts;
/// Parameters of operations besides addresses.
pub use pelago_base::{AtomicOperator, Width};
/// Memory that operations access: bytes that other ranks may write concurrently, the table of registered regions, and the rank's own memory.
pub use pelago_memory::{
    Cells, DeviceError, DeviceMemory, DeviceRange, Mapping, MappingError, MemoryKind, Reach, ReachLayout, Region, Regions,
};
/// The word on which a rank sleeps: the doorbell that [`Reach::bell`] returns.
pub use pelago_sync::{Doorbell, Slept};
pub use posting::{Endpoint, PostError, Token};
pub use transport::{
    Address, Completion, ConnectError, Failure, Flags, Network, Operation, Rail, RegisterError, Registry, Transfer, Transport,
};
pub use trusted::TrustedTransport;
pub use wait::{Activity, Awaited, Fault, For, Reports, Tally, VirtualTime, Wait, WaitPolicy, WaitSite, Woken};
