//! One GPU: its context, and what is made on it.

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

/// A GPU, in the context that all users of it in this process share (its *primary context*): so memory and streams of other CUDA libraries fit.
///
/// Clones are the same device. Any thread may use it; the thread's current context is as before after each call.
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
    /// Devices whose memory it was asked to reach, and whether it does.
    peers: Mutex<BTreeMap<u32, bool>>,
}

impl Device {
    /// The device of a number, from 0 on, of the driver of this process. From then on this process opens memory of GPUs that its peers export.
    ///
    /// # Errors
    /// There is no driver ([`Driver::get`]), no such device, or its context cannot be made.
    pub fn get(ordinal: u32) -> Result<Self> {
        let device = Self::of(&Driver::get()?, ordinal)?;
        set_device_opener(memory::CUDA, |handle| Ok(CudaMemory::import(&Driver::get()?, handle)?));
        Ok(device)
    }

    /// The device of a number of a driver.
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

    /// Its number in its driver.
    pub fn ordinal(&self) -> u32 {
        self.0.ordinal
    }

    /// Its name, such as `NVIDIA H100`.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// How much memory it has, used or not.
    pub fn bytes(&self) -> u64 {
        self.0.bytes
    }

    /// Its generation, such as (9, 0); zeros if the driver does not tell.
    pub fn capability(&self) -> (i32, i32) {
        self.driver().capability(self.0.number)
    }

    /// By which it is known in all processes of the host; zeros if the driver does not tell.
    pub fn uuid(&self) -> [u8; 16] {
        self.driver().functions.device_uuid(self.0.number)
    }

    /// Its driver.
    pub fn driver(&self) -> &Arc<Driver> {
        &self.0.driver
    }

    /// Whether its streams wait for words ([`Stream::wait_at_least`]).
    pub fn has_stream_values(&self) -> bool {
        self.driver().has_stream_values(self.0.number)
    }

    /// Whether network cards may reach its memory by themselves ([`DeviceMemory::dma_buf`](pelago_memory::DeviceMemory::dma_buf)): by reading, and by writing
    /// if nothing is returned; else why not.
    ///
    /// # Errors
    /// Driver or device do not offer that.
    pub fn dma_buf_access(&self) -> Result<Option<&'static str>> {
        self.driver().check_dma_buf(self.0.number).map(|()| self.driver().unordered_writes(self.0.number))
    }

    /// New memory of this device, of any contents.
    ///
    /// # Errors
    /// `bytes` is zero, or as many are not left.
    pub fn allocate(&self, bytes: u64) -> Result<Arc<CudaMemory>> {
        CudaMemory::allocate(self, bytes)
    }

    /// New managed memory, which the driver moves between host and device. It is memory of the device to all that is here: no slice of the host leads to it.
    ///
    /// # Errors
    /// As [`allocate`](Self::allocate); the device has no managed memory.
    pub fn allocate_managed(&self, bytes: u64) -> Result<Arc<CudaMemory>> {
        if !self.driver().has_managed_memory(self.0.number) {
            return Err(CudaError::Unsupported("managed memory"));
        }
        CudaMemory::allocate_managed(self, bytes)
    }

    /// A new stream.
    ///
    /// # Errors
    /// The driver's.
    pub fn stream(&self) -> Result<Stream> {
        Stream::new(self)
    }

    /// A new event, which counts as over until it is recorded.
    ///
    /// # Errors
    /// The driver's.
    pub fn event(&self) -> Result<Event> {
        Event::new(self)
    }

    /// The kernels of this crate on this device, loaded at the first call.
    ///
    /// # Errors
    /// The device does not take them: the same at each call.
    pub fn kernels(&self) -> Result<&Kernels> {
        self.0.kernels.get_or_init(|| Kernels::load(self)).as_ref().map_err(Clone::clone)
    }

    /// Whether the two are one device of one driver.
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0.driver, &other.0.driver) && self.0.ordinal == other.0.ordinal
    }

    pub(crate) fn state(&self) -> &DeviceState {
        &self.0
    }

    pub(crate) fn context(&self) -> RawContext {
        self.0.context
    }

    /// The driver's number of it.
    pub(crate) fn number(&self) -> i32 {
        self.0.number
    }

    /// Whether its kernels and streams reach memory of another device of this process, which this enables.
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

    /// Whether an allocation may be exported; the context of the device then lives to the end of the process, with all that is kept.
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
