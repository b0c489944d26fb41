//! Ranks of one host: one mapping for all of them.
//!
//! | part | for |
//! |---|---|
//! | [`Host`] | the file behind the mapping: made by the launcher, attached by each rank, gone with the last of them |
//! | [`Plan`], [`HostAddress`] | what it is made from, and where the ranks of other hosts are |
//! | [`Job`], [`Control`] | what the file holds besides the heaps: the job's state, and each rank's |
//! | [`Shm`] | the transport: heaps by loads and stores; registered memory by cross-memory attach, its atomics by its owner |
//! | [`ProgressThread`] | the thread that serves a rank's registered memory while no thread of the rank waits in the library |
//!
//! Peers' heaps are usually not reached through [`Shm`] at all: `rma` resolves them with a `Reach` and stores directly.
//!
//! # Argument
//!
//! - **H1** The mapping of a [`Host`] lives as long as the host; every reference into it borrows the host.
//! - **H2** [`Job`], [`Control`], the table of hosts and those of registered regions are made of atomics only, so that any bytes are a valid value and
//!   references to them may be shared with other processes.
//! - **H3** Registered memory is valid in its owner while its gate is open or a pass is held: whoever registers promises the first,
//!   and `deregister` waits for the second.
//!
//! Absent on purpose: handles, ordering, waiting, launching.

mod host;
mod registered;
mod transport;

pub use host::control::{Control, Job, Stage};
pub use host::memory::{Host, HostError};
pub use host::plan::{HostAddress, Plan};
pub use registered::progress_thread::ProgressThread;
pub use transport::{CopyBy, Shm};
