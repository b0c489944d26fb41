//! Why something of a GPU did not happen: each a line for people.

use pelago_memory::DeviceError;

/// The result of what needs a GPU.
pub type Result<T, E = CudaError> = std::result::Result<T, E>;

/// Why something of a GPU did not happen.
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
        /// Its function.
        function: &'static str,
    },
    /// The driver is too old.
    #[error("the CUDA driver has version {found}, and {needed} is needed: install a newer driver")]
    Version {
        /// What it has.
        found: String,
        /// What is needed.
        needed: String,
    },
    /// The driver works and finds nothing.
    #[error("the CUDA driver finds no device: look at nvidia-smi and CUDA_VISIBLE_DEVICES")]
    NoDevice,
    /// There is no such device.
    #[error("there is no CUDA device {ordinal}: the driver finds {devices}, numbered from 0")]
    Ordinal {
        /// The number that was asked for.
        ordinal: u32,
        /// How many there are.
        devices: u32,
    },
    /// No memory.
    #[error("CUDA device {device} has no {bytes} bytes left")]
    OutOfMemory {
        /// The device.
        device: u32,
        /// What was asked for.
        bytes: u64,
    },
    /// Something that this device or driver does not offer.
    #[error("this CUDA device or driver has no {0}")]
    Unsupported(&'static str),
    /// Arguments that do not fit each other.
    #[error("{0}")]
    Invalid(&'static str),
    /// Another process may not open the memory, or too much is open.
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
        /// The driver's words.
        text: String,
        /// The driver's number.
        code: i32,
    },
}

impl From<CudaError> for DeviceError {
    fn from(error: CudaError) -> Self {
        Self(error.to_string())
    }
}
