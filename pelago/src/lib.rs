//! One-sided communication for Rust: ordinary processes (*ranks*) that read, write and atomically update each other's memory through
//! 64-bit global addresses.
//!
//! ```
//! use pelago::prelude::*;
//!
//! fn main() -> pelago::Result<()> {
//!     pelago::run(|world| {
//!         let right = world.rank().next(world.size());
//!         let inbox = world.alloc::<u64>(1)?;                        // collective: one word on every rank
//!         let sent = world.put(inbox.at(right, 0), &[world.rank().into()])?;
//!         world.after(&sent).fetch_add(inbox.at(right, 0), 1)?.wait()?;
//!         world.barrier()?;
//!         println!("rank {} holds {}", world.rank(), inbox.local().load(0));
//!         Ok(())
//!     })
//! }
//! ```
//!
//! The same executable runs alone, as the ranks of a job under `pelago run` and other launchers, and on a simulated machine under `pelago sim`.
//!
//! Start with [`World`]: it allocates memory that all ranks can access, and has the collective operations. All one-sided operations are
//! methods of [`Context`], to which `World` dereferences. The page `docs/book/src/memory-model.md` of the repository states the guarantees for
//! memory that other ranks write; `docs/book` has tutorials.
//!
//! # Features
//! All but `cuda`, `page-faults`, `serde` and `tracing` are on by default.
//!
//! | feature | provides |
//! |---|---|
//! | `launch` | [`run`] and [`Job`]: ranks of a job under `pelago run`, or alone; shared memory |
//! | `udp` | ranks of several hosts |
//! | `ofi` | ranks that communicate through a libfabric fabric; the library is opened at run time if `--transport ofi` requests it |
//! | `simulation` | the same program as all ranks of a simulated machine, under `pelago sim` |
//! | `collectives`, `containers`, `dsm`, `halo`, `messaging` | the module of that name |
//! | `cuda` | memory of GPUs; the driver (CUDA, or HIP) is opened at run time if the program creates a device |
//! | `page-faults` | regions of `dsm` as one slice |
//! | `serde` | messages of any type with `serde`: `send_encoded` and `decode` of `messaging` |
//! | `tracing` | spans of control operations for a subscriber of the `tracing` crate: join, alloc, register, group, leave |
//!
//! Without `launch` a program supplies its own transport, clock, waits and bootstrap: [`run_with`].

#![warn(missing_debug_implementations)]

#[cfg(feature = "launch")]
mod exit_code;
#[cfg(feature = "launch")]
mod job;
pub mod limits;
pub mod prelude;
#[cfg(feature = "launch")]
mod run;
mod run_with;
#[cfg(feature = "simulation")]
mod simulation;
mod wiring;

#[cfg(feature = "launch")]
pub use job::Job;
pub use pelago_base::{AddressLayout, Counters, Duration, Event, GlobalAddress, Instant, Rank, SegmentId, Shape, Team};
/// Collective operations of teams, as schedules that are selected by a model and by trials. Feature `collectives`.
#[cfg(feature = "collectives")]
pub use pelago_collectives as collectives;
/// Containers in global memory: an allocator, maps, sets, vectors, deques and lists. Feature `containers`.
#[cfg(feature = "containers")]
pub use pelago_containers as containers;
/// Memory, streams and kernels of GPUs: [`World::register_device`](Context::register_device) makes such memory a segment. Feature `cuda`.
#[cfg(feature = "cuda")]
pub use pelago_cuda as cuda;
/// Shared variables whose consistency the type system enforces. Feature `dsm`.
#[cfg(feature = "dsm")]
pub use pelago_dsm as dsm;
/// Distributed arrays, and the exchange of their halos. Feature `halo`.
#[cfg(feature = "halo")]
pub use pelago_halo as halo;
/// Messages with fixed memory: mailboxes, channels, limits. Feature `messaging`.
#[cfg(feature = "messaging")]
pub use pelago_messaging as messaging;
/// The interfaces that a program supplies to [`run_with`]: the traits, and all types in their signatures.
pub use pelago_platform as platform;
pub use pelago_platform::{Capabilities, DeviceAccess, Failure, Fault, Rail};
pub use pelago_rma::{
    Accumulation, Advance, Background, BarrierAlgorithm, CellSlice, Chain, Context, ContextFactory, DeviceCompletion,
    DeviceCompletions, DeviceError, DeviceMemory, Error, Fetch, FixedMemory, GlobalPtr, Group, Handle, Individual, MemoryKind,
    Number, Ordered, PendingGet, Pod, PointerError, Rails, Registered, RegisteredDevice, Result, Scope, Signal, Symmetric,
    UnknownBarrier, Word, World, active,
};
#[cfg(feature = "launch")]
pub use run::run;
pub use run_with::run_with;
#[cfg(feature = "simulation")]
pub use simulation::processes;
#[cfg(feature = "udp")]
pub use wiring::transports;
#[cfg(feature = "ofi")]
pub use wiring::{fabric, fabric_library};
/// The derive macros that make a program's type [`Pod`]: `FromBytes`, `IntoBytes`, `Immutable`. A program without a dependency on `zerocopy` names
/// the path of the crate:
///
/// ```
/// use pelago::zerocopy::{FromBytes, Immutable, IntoBytes};
///
/// #[derive(Clone, Copy, FromBytes, IntoBytes, Immutable)]
/// #[zerocopy(crate = "pelago::zerocopy")]
/// #[repr(C)]
/// struct Row {
///     key: u64,
///     value: f64,
/// }
/// # fn is_pod<T: pelago::Pod>() {}
/// # is_pod::<Row>();
/// ```
pub use zerocopy;
