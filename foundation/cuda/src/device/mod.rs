//! One GPU: its context, memory, streams and kernels.

pub mod kernels;
mod memory;
mod queue;
mod staging;
mod stream;
mod water;

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use pelago_memory::set_device_opener;

use self::kernels::Kernels;
pub use self::memory::CudaMemory;
use self::staging::Lanes;
pub use self::stream::{Event, Rows, Stream};
use crate::driver::{Admission, CudaError, Driver, RawContext, Result};

/// A GPU, in the context that all its users in this process share (its *primary context*), so that memory and streams of other CUDA libraries are
/// compatible.
///
/// Clones are the same device. Any thread may use it; each call preserves the thread's current context.
#[derive(Clone)]
pub struct Device(Arc<DeviceState>);

pub(crate) struct DeviceState {
    driver: Arc<Driver>,
    ordinal: u32,
    number: i32,
    context: RawContext,
    name: String,
    bytes: u64,
    pub(crate) lanes: Lanes,
    kernels: OnceLock<Result<Kernels>>,
    /// Devices for which access to their memory was requested, and whether it is possible.
    peers: Mutex<BTreeMap<u32, bool>>,
}

impl Device {
    /// Returns a device of this process's driver by its number, from 0 on. From then on this process can open GPU memory that peers export.
    ///
    /// # Errors
    /// There is no driver ([`Driver::get`]), no such device, or its context cannot be created.
    pub fn get(ordinal: u32) -> Result<Self> {
        let device = Self::of(&Driver::get()?, ordinal)?;
        set_device_opener(memory::CUDA, |handle| Ok(CudaMemory::import(&Driver::get()?, handle)?));
        Ok(device)
    }

    /// Returns a device of a driver by its number.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub fn of(driver: &Arc<Driver>, ordinal: u32) -> Result<Self> {
        if ordinal >= driver.devices() {
            return Err(CudaError::Ordinal { ordinal, devices: driver.devices() });
        }
        let mut known = driver.devices_in_use().lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(Ok(state)) = known.get(&ordinal).and_then(Weak::upgrade).map(Arc::downcast) {
            return Ok(Self(state));
        }
        let functions = &driver.functions;
        let number = functions.device(ordinal)?;
        let (name, bytes) = (functions.device_name(number)?, functions.device_bytes(number)?);
        let context = functions.retain(number)?;
        let (lanes, kernels, peers) = (Lanes::default(), OnceLock::new(), Mutex::default());
        let state =
            Arc::new(DeviceState { driver: driver.clone(), ordinal, number, context, name, bytes, lanes, kernels, peers });
        let any: Arc<dyn Any + Send + Sync> = state.clone();
        known.insert(ordinal, Arc::downgrade(&any));
        Ok(Self(state))
    }

    /// Returns the number of the device in its driver.
    pub fn ordinal(&self) -> u32 {
        self.0.ordinal
    }

    /// Returns the name of the device, such as `NVIDIA H100`.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Returns the total memory of the device in bytes.
    pub fn bytes(&self) -> u64 {
        self.0.bytes
    }

    /// Returns the compute capability, such as (9, 0); zeros if the driver does not report it.
    pub fn capability(&self) -> (i32, i32) {
        self.driver().capability(self.0.number)
    }

    /// Returns the identifier of the device that is the same in all processes of the host; zeros if the driver does not report one.
    pub fn uuid(&self) -> [u8; 16] {
        self.driver().functions.device_uuid(self.0.number)
    }

    /// Returns the driver of the device.
    pub fn driver(&self) -> &Arc<Driver> {
        &self.0.driver
    }

    /// Whether its streams can wait for words ([`Stream::wait_at_least`]).
    pub fn has_stream_values(&self) -> bool {
        self.driver().has_stream_values(self.0.number)
    }

    /// Checks that network cards can access its memory directly ([`DeviceMemory::dma_buf`](pelago_memory::DeviceMemory::dma_buf)). They may read; they
    /// may also write if the result is `None`, else it is the reason why not.
    ///
    /// # Errors
    /// Driver or device do not support direct access.
    pub fn dma_buf_access(&self) -> Result<Option<&'static str>> {
        self.driver().check_dma_buf(self.0.number).map(|()| self.driver().unordered_writes(self.0.number))
    }

    /// Allocates memory of this device, with unspecified contents.
    ///
    /// # Errors
    /// `bytes` is zero, or exceeds the free memory.
    pub fn allocate(&self, bytes: u64) -> Result<Arc<CudaMemory>> {
        CudaMemory::allocate(self, bytes)
    }

    /// Allocates managed memory, which the driver moves between host and device. This crate treats it as device memory: there are no host slices of it.
    ///
    /// # Errors
    /// As [`allocate`](Self::allocate); the device has no managed memory.
    pub fn allocate_managed(&self, bytes: u64) -> Result<Arc<CudaMemory>> {
        if !self.driver().has_managed_memory(self.0.number) {
            return Err(CudaError::Unsupported("managed memory"));
        }
        CudaMemory::allocate_managed(self, bytes)
    }

    /// Creates a stream.
    ///
    /// # Errors
    /// The driver fails.
    pub fn stream(&self) -> Result<Stream> {
        Stream::new(self)
    }

    /// Creates an event, which counts as over until it is recorded.
    ///
    /// # Errors
    /// The driver fails.
    pub fn event(&self) -> Result<Event> {
        Event::new(self)
    }

    /// Returns the kernels of this crate on this device, loaded on the first call.
    ///
    /// # Errors
    /// The device cannot load them; every call returns the same error.
    pub fn kernels(&self) -> Result<&Kernels> {
        self.0.kernels.get_or_init(|| Kernels::load(self)).as_ref().map_err(Clone::clone)
    }

    /// Whether both are the same device of the same driver.
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0.driver, &other.0.driver) && self.0.ordinal == other.0.ordinal
    }

    pub(crate) fn state(&self) -> &DeviceState {
        &self.0
    }

    pub(crate) fn context(&self) -> RawContext {
        self.0.context
    }

    /// Returns the driver's handle of the device.
    pub(crate) fn number(&self) -> i32 {
        self.0.number
    }

    /// Enables access of its kernels and streams to memory of another device of this process; returns whether they have it.
    pub(crate) fn reaches(&self, other: &Self) -> Result<bool> {
        if self.is(other) {
            return Ok(true);
        }
        if !Arc::ptr_eq(&self.0.driver, &other.0.driver) {
            return Ok(false);
        }
        let mut peers = self.0.peers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(&known) = peers.get(&other.0.ordinal) {
            return Ok(known);
        }
        let ends = [self, other].map(|device| (device.0.context, device.0.number));
        let reaches = self.driver().functions.reach_peer(ends[0], ends[1])?;
        peers.insert(other.0.ordinal, reaches);
        Ok(reaches)
    }

    /// Admits an allocation for export, if there is room. The context of the device then lives until the end of the process, with all kept allocations.
    pub(crate) fn admit_export(&self, address: u64) -> Result<bool> {
        match self.driver().exports().admit(self.0.ordinal, address) {
            Admission::Known => Ok(true),
            Admission::New => self.driver().functions.retain(self.0.number).map(|_| true),
            Admission::Full => Ok(false),
        }
    }

    /// Runs `act` in the context of the device.
    pub(crate) fn within<R>(&self, act: impl FnOnce() -> Result<R>) -> Result<R> {
        self.driver().functions.within(self.0.context, act)
    }
}

impl Drop for DeviceState {
    fn drop(&mut self) {
        let functions = &self.driver.functions;
        let (lanes, kernels) = (std::mem::take(&mut self.lanes), self.kernels.take());
        let _failed = functions.within(self.context, || {
            lanes.free(functions);
            if let Some(Ok(kernels)) = kernels {
                kernels.unload(functions);
            }
            Ok(())
        });
        functions.release(self.number);
    }
}

impl std::fmt::Debug for Device {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Device({}, {}, {} bytes)", self.0.ordinal, self.0.name, self.0.bytes)
    }
}
