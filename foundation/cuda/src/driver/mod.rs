//! The driver of the machine, opened once: its library and interface, or the reason for its absence.

mod error;
mod exports;
mod table;

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, Weak};

use self::exports::Exports;

pub use error::{CudaError, Result};
pub(crate) use exports::Admission;
pub(crate) use table::{
    ATTACH_GLOBAL, Copy2D, Copy2DEnd, EVENT_WITHOUT_TIMING, Functions, HOST_PORTABLE, IPC_LAZY_PEER_ACCESS, IpcHandle,
    MEMORY_DEVICE, NOT_READY, RawContext, RawEvent, RawFunction, RawModule, RawStream, STREAM_WITHOUT_LEGACY, WAIT_AT_LEAST,
};
use table::{
    Attribute, DEVICE_64_BIT_VALUES, DEVICE_DMA_BUF, DEVICE_MAJOR, DEVICE_MANAGED, DEVICE_MINOR, DEVICE_WRITES_ORDERING,
    ORDERING_OWNER,
};

/// The environment variable that names the driver's library: a path or a name for the dynamic linker. A name that contains `amdhip64` means HIP.
pub const LIBRARY_VARIABLE: &str = "PELAGO_CUDA_LIBRARY";

/// The library of NVIDIA's driver. Not `libcuda.so`: toolkits install a stub under that name.
const LIBRARY: &str = "libcuda.so.1";

/// Minimum version, in which all functions have the signatures of the table: CUDA 11.0.
const VERSION_MIN: i32 = 11_000;

/// Interface of a driver's library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interface {
    /// NVIDIA's CUDA driver.
    Cuda,
    /// AMD's HIP, whose functions have other names and mostly the same signatures. *Untested on hardware*: the mock driver implements its functions
    /// as documented.
    Hip,
}

/// An open driver with at least one device.
pub struct Driver {
    pub(crate) functions: Functions,
    interface: Interface,
    library: String,
    version: i32,
    devices: u32,
    exports: Exports,
    /// Devices that the program currently uses, by number.
    in_use: Mutex<BTreeMap<u32, Weak<dyn Any + Send + Sync>>>,
}

impl Driver {
    /// Returns the driver of this process, opened on the first call: the library that [`LIBRARY_VARIABLE`] names, or `libcuda.so.1`.
    ///
    /// Cost: the first call loads the library and starts the driver, which takes about 100 ms with a real one; nothing is loaded before.
    ///
    /// # Errors
    /// The driver is missing, lacks a function, is too old, or finds no device; each error is one line with advice. Every call returns the same.
    ///
    /// ```
    /// match pelago_cuda::Driver::get() {
    ///     Ok(driver) => println!("{} devices", driver.devices()),
    ///     Err(why) => println!("host memory only: {why}"),
    /// }
    /// ```
    pub fn get() -> Result<Arc<Self>> {
        static DRIVER: OnceLock<Result<Arc<Driver>>> = OnceLock::new();
        let open = || Self::open(&std::env::var(LIBRARY_VARIABLE).ok().filter(|name| !name.is_empty()).unwrap_or(LIBRARY.into()));
        DRIVER.get_or_init(open).clone()
    }

    /// Opens the driver with a library of this name, by the rules of [`LIBRARY_VARIABLE`].
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub fn open(library: &str) -> Result<Arc<Self>> {
        let interface = if library.contains("amdhip64") { Interface::Hip } else { Interface::Cuda };
        let functions = Functions::load(library, interface)?;
        let version = functions.version()?;
        // HIP has its own version numbers.
        if interface == Interface::Cuda && version < VERSION_MIN {
            return Err(CudaError::Version { found: number(version), needed: number(VERSION_MIN) });
        }
        functions.start()?;
        let devices = functions.devices()?;
        if devices == 0 {
            return Err(CudaError::NoDevice);
        }
        Ok(Arc::new(Self {
            functions,
            interface,
            library: library.into(),
            version,
            devices,
            exports: Exports::default(),
            in_use: Mutex::default(),
        }))
    }

    /// Returns the number of devices, at least one.
    pub fn devices(&self) -> u32 {
        self.devices
    }

    /// Returns the interface of the library.
    pub fn interface(&self) -> Interface {
        self.interface
    }

    /// Returns the name of the library, as it was given.
    pub fn library(&self) -> &str {
        &self.library
    }

    /// Returns the newest version of the interface that the driver supports, such as `12.8`.
    pub fn version(&self) -> String {
        number(self.version)
    }

    pub(crate) fn exports(&self) -> &Exports {
        &self.exports
    }

    pub(crate) fn devices_in_use(&self) -> &Mutex<BTreeMap<u32, Weak<dyn Any + Send + Sync>>> {
        &self.in_use
    }

    pub(crate) fn has_managed_memory(&self, device: i32) -> bool {
        self.attribute(device, DEVICE_MANAGED) == 1
    }

    /// Whether streams can wait for words of 64 bits in any memory.
    pub(crate) fn has_stream_values(&self, device: i32) -> bool {
        let number = DEVICE_64_BIT_VALUES;
        self.interface == Interface::Cuda
            && self.functions.has_stream_values()
            && self.functions.attribute(device, number) == Ok(1)
    }

    /// Checks that network cards can access memory of a device directly.
    pub(crate) fn check_dma_buf(&self, device: i32) -> Result<()> {
        if self.functions.address_range_handle.is_none() {
            return Err(CudaError::Unsupported("function cuMemGetHandleForAddressRange, of CUDA 11.7 and ROCm 6"));
        }
        if self.attribute(device, DEVICE_DMA_BUF) == 1 { Ok(()) } else { Err(CudaError::Unsupported("dma-buf of its memory")) }
    }

    /// Returns the reason if a device does not see a network card's writes to its memory in their order.
    pub(crate) fn unordered_writes(&self, device: i32) -> Option<&'static str> {
        if self.interface == Interface::Hip {
            return Some("HIP does not say in which order a device sees the writes of a network card");
        }
        let scope = self.functions.attribute(device, DEVICE_WRITES_ORDERING).unwrap_or(0);
        (scope < ORDERING_OWNER).then_some("the device does not see the writes of a network card in their order")
    }

    /// Returns the compute capability of a device, major and minor.
    pub(crate) fn capability(&self, device: i32) -> (i32, i32) {
        (self.attribute(device, DEVICE_MAJOR), self.attribute(device, DEVICE_MINOR))
    }

    /// Returns an attribute of a device; zero if the driver does not know it.
    fn attribute(&self, device: i32, attribute: Attribute) -> i32 {
        let number = if self.interface == Interface::Hip { attribute.hip } else { attribute.cuda };
        self.functions.attribute(device, number).unwrap_or(0)
    }
}

impl std::fmt::Debug for Driver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Driver({}, {:?} {}, {} devices)", self.library, self.interface, self.version(), self.devices)
    }
}

fn number(version: i32) -> String {
    format!("{}.{}", version / 1000, version % 1000 / 10)
}
