//! Errors of GPU operations, each with a human-readable line.

use pelago_memory::DeviceError;

/// The result of a GPU operation.
pub type Result<T, E = CudaError> = std::result::Result<T, E>;

/// An error of a GPU operation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CudaError {
    /// The library cannot be opened.
    #[error("no CUDA driver: {0}; install the driver of the GPU, or set PELAGO_CUDA_LIBRARY")]
    Missing(String),
    /// The library lacks a function.
    #[error("the CUDA driver {library} has no function {function}: install a newer driver")]
    Function {
        /// The library.
        library: String,
        /// The missing function.
        function: &'static str,
    },
    /// The driver is too old.
    #[error("the CUDA driver has version {found}, and {needed} is needed: install a newer driver")]
    Version {
        /// Version of the driver.
        found: String,
        /// Required version.
        needed: String,
    },
    /// The driver works, but finds no device.
    #[error("the CUDA driver finds no device: look at nvidia-smi and CUDA_VISIBLE_DEVICES")]
    NoDevice,
    /// There is no such device.
    #[error("there is no CUDA device {ordinal}: the driver finds {devices}, numbered from 0")]
    Ordinal {
        /// Requested number.
        ordinal: u32,
        /// Number of devices.
        devices: u32,
    },
    /// The device has no free memory.
    #[error("CUDA device {device} has no {bytes} bytes left")]
    OutOfMemory {
        /// The device.
        device: u32,
        /// Requested size.
        bytes: u64,
    },
    /// This device or driver does not support a feature.
    #[error("this CUDA device or driver has no {0}")]
    Unsupported(&'static str),
    /// Arguments that do not fit each other.
    #[error("{0}")]
    Invalid(&'static str),
    /// Another process may not open the memory, or too many allocations are open.
    #[error("the memory of CUDA device {device} cannot be shared between processes: {why}")]
    Sharing {
        /// The device.
        device: u32,
        /// The reason.
        why: String,
    },
    /// A function of the driver failed.
    #[error("{function} failed: {text} (error {code})")]
    Call {
        /// The function.
        function: &'static str,
        /// The driver's error message.
        text: String,
        /// The driver's error code.
        code: i32,
    },
}

impl From<CudaError> for DeviceError {
    fn from(error: CudaError) -> Self {
        Self(error.to_string())
    }
}
