//! Memory, streams and kernels of GPUs, by a driver that is opened at run time.
//!
//! | part | for |
//! |---|---|
//! | [`Driver`], [`CudaError`] | the driver of the machine, or the reason for its absence: nothing here panics without one |
//! | [`Device`] | one GPU: allocates memory, creates streams, loads kernels |
//! | [`CudaMemory`] | memory of a GPU: allocated, managed, the program's own, or another process's; a [`DeviceMemory`](pelago_memory::DeviceMemory) |
//! | [`Stream`], [`Event`] | order among copies, kernels and words in memory of a GPU; a stream is a [`DeviceStream`] |
//! | [`kernels`] | the kernels of this crate: strided copies, signals, sums |
//!
//! The build needs no part of CUDA. The functions of the driver are a table of about fifty entries ([`driver`](crate::Driver)), each looked up at
//! the version that has its signature. [`LIBRARY_VARIABLE`] names another library with the same interface, or HIP's.
//!
//! **Tested without a GPU**, with a mock driver (`mock/driver.c`). *Not yet run on hardware*; `docs/evaluation/gpu.md` has the script for that.
//! Source of all facts: NVIDIA's documentation of the CUDA driver API, and the header `cuda.h`.
//!
//! Absent on purpose: ranks, global addresses, networks; host slices of GPU memory, managed or not.

mod device;
mod driver;
mod limits;
#[cfg(feature = "mock")]
pub mod mock;

pub use device::{CudaMemory, Device, Event, Rows, Stream, kernels};
pub use driver::{CudaError, Driver, Interface, LIBRARY_VARIABLE, Result};
pub use pelago_memory::{DeviceRange, DeviceStream};
