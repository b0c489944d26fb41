//! The transport between ranks of one host, which share one mapping.
//!
//! | part | for |
//! |---|---|
//! | [`HostMemory`] | the shared file: created by the launcher, attached by each rank, freed with the last of them |
//! | [`HostPlan`], [`HostAddress`] | the sizes of that memory, and the addresses of other hosts |
//! | [`JobControl`], [`RankControl`] | the control block of the job, and that of each rank |
//! | [`RankReport`] | the waits and counters that a rank shows to the launcher, and to `pelago top` |
//! | [`Shm`] | the transport: heaps by loads and stores; registered memory by cross-memory attach, its atomics by its owner |
//! | [`ProgressThread`] | the thread that serves a rank's registered memory while no thread of the rank waits in the library |
//!
//! Peers' heaps are usually not reached through [`Shm`] at all: `rma` resolves them with a `Reach` and stores directly.
//!
//! # Argument
//!
//! - **H1** The mapping of a [`HostMemory`] lives as long as the host; every reference into it borrows the host.
//! - **H2** [`JobControl`], [`RankControl`], the table of hosts and those of registered regions are made of atomics only, so that any bytes are a valid value and
//!   references to them may be shared with other processes.
//! - **H3** Registered memory is valid in its owner while its gate is open or a pass is held: the caller of `register` guarantees the first,
//!   and `deregister` waits for the second.
//!
//! Absent on purpose: handles, ordering, waiting, launching.

mod host;
pub mod limits;
mod registered;
mod transport;

pub use host::control::{JobControl, RankControl, RankStage};
pub use host::memory::{HostMemory, HostMemoryError};
pub use host::plan::{HostAddress, HostPlan};
pub use host::rank_report::{RankReport, ShownCounters, ShownWait};
pub use registered::progress_thread::ProgressThread;
pub use transport::{CAPABILITIES, CopyBy, Shm};
