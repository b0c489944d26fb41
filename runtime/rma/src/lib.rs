//! One-sided operations of a rank on the memory of other ranks.
//!
//! | part | for |
//! |---|---|
//! | [`World`] | the job, seen from one rank: collective allocation, barrier, broadcast, allreduce |
//! | [`Context`] | one thread's operations: put, get, copy, atomics, fence, quiet, waiting; [`ContextFactory`] makes more for other threads |
//! | [`Background`], [`Advance`] | operations of higher layers that progress while a rank waits |
//! | [`Rails`] | the networks by which a rank reaches others |
//! | [`Handle`], [`Fetch`] | an operation in flight; an operation in flight that returns a word |
//! | [`PendingGet`], [`Signal`] | a get that is waited for later; a put that signals its arrival |
//! | [`Accumulation`], [`Number`] | sums, minima and maxima of numbers of any kind |
//! | [`Ordered`], [`Chain`] | operations that start after other operations have completed |
//! | [`GlobalPtr`] | a typed global address |
//! | [`Symmetric`], [`Individual`], [`Registered`], [`RegisteredDevice`] | memory that all ranks allocate, that one rank allocates, of the program, of a device |
//! | [`DeviceCompletions`] | words of a device by which its streams wait for operations |
//! | [`active`] | functions that run at other ranks: active messages |
//! | [`Group`], [`BarrierAlgorithm`] | collectives of a team; the barrier algorithm of its members |
//!
//! An operation on mapped memory completes before the call returns: a few instructions, no lock, no allocation, no dynamic dispatch,
//! no system call. Any other operation goes to the `engine` (in `progress`), which resolves its dependencies and posts it to a transport.
//!
//! Absent on purpose: knowledge of concrete networks, the source of time, and (outside `context/wait.rs`) blocking calls.

#![warn(missing_debug_implementations)]

#[macro_use]
mod control_span;
pub mod active;
mod buffer;
mod context;
mod debug;
mod error;
pub mod limits;
mod memory;
mod operations;
mod order;
mod progress;
mod shared;
mod team;

pub use context::Context;
pub use context::background::{Advance, Background};
pub use context::chain::{Chain, Ordered};
pub use context::handle::{Fetch, Handle};
pub use context::ordering::OperationMark;
pub use context::rails::Rails;
pub use context::threads::ContextFactory;
pub use error::{Error, FixedMemory, Result, Scope};
pub use memory::device_completions::{DeviceCompletion, DeviceCompletions};
pub use memory::segment::{Individual, Registered, RegisteredDevice};
pub use operations::accumulate::{Accumulation, Number};
pub use operations::pending_get::PendingGet;
pub use operations::signal::Signal;
pub use pelago_memory::{
    BlockCopy, CellSlice, Combination, DeviceAnnouncement, DeviceBlocks, DeviceError, DeviceMemory, DeviceRange, DeviceStream,
    GlobalPtr, MemoryKind, NumberKind, Pod, PointerError, PreparedCopies, Word,
};
pub use pelago_platform::{Capabilities, DeviceAccess, Failure, Fault, Parts, Rail, ReductionOperator};
pub use team::barrier::{BarrierAlgorithm, UnknownBarrier};
pub use team::group::Group;
pub use team::symmetric::Symmetric;
pub use team::world::World;
