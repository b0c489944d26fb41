//! Memory, streams and kernels of GPUs, by a driver that is opened at run time.
//!
//! | part | for |
//! |---|---|
//! | [`Driver`], [`CudaError`] | the driver of the machine, or why there is none: nothing here panics without one |
//! | [`Device`] | one GPU: allocates, makes streams, loads kernels |
//! | [`CudaMemory`] | memory of a GPU: allocated, managed, the program's own, or another process's; a [`DeviceMemory`](pelago_memory::DeviceMemory) |
//! | [`Stream`], [`Event`] | order among copies, kernels and words in memory of a GPU; a stream is a [`DeviceStream`] |
//! | [`kernels`] | the kernels of this crate: strided copies, signals, sums |
//!
//! No part of CUDA is needed to build. The functions of the driver are a table of some fifty entries ([`driver`](crate::Driver)), taken at versions to which
//! their types belong. [`LIBRARY_VARIABLE`] names another library with the same interface, or HIP's.
//!
//! **Tested without a GPU**, by a driver of ours (`mock/driver.c`). *Not yet run on hardware*; `docs/evaluation/gpu.md` has the script for that.
//! Source of all facts: NVIDIA's documentation of the CUDA driver API, and the header `cuda.h`.
//!
//! Absent on purpose: ranks, global addresses, networks; slices of the host to memory of a GPU, managed or not.

mod device;
mod driver;
mod limits;
#[cfg(feature = "mock")]
pub mod mock;

pub use device::{CudaMemory, Device, Event, Rows, Stream, kernels};
pub use driver::{CudaError, Driver, Interface, LIBRARY_VARIABLE, Result};
pub use pelago_memory::{DeviceRange, DeviceStream};
