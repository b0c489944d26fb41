//! Order of device operations: streams, events between them, and words that streams write and wait for.
//!
//! - **S1** All memory that a stream uses lives until the stream has ended: the stream keeps it.
//! - C1 to C3 of `driver/table.rs`, D1 of `memory.rs`.
#![allow(unsafe_code)]

use std::any::Any;
use std::ffi::c_void;
use std::ptr;
use std::sync::{Arc, Mutex, PoisonError};

use pelago_memory::DeviceRange;

use super::Device;
use super::memory::CudaMemory;
use crate::driver::{
    Copy2D, Copy2DEnd, CudaError, EVENT_WITHOUT_TIMING, MEMORY_DEVICE, NOT_READY, RawEvent, RawFunction, RawStream, Result,
    STREAM_WITHOUT_LEGACY, WAIT_AT_LEAST,
};
use crate::limits::STREAM_MEMORIES_MAX;

/// A queue of a device, which performs operations in the order of submission and concurrently with other streams.
///
/// Methods return at once; [`synchronize`](Self::synchronize) or a later method returns errors of operations performed later. Dropping a stream
/// waits for its operations. The device memory that it uses stays allocated until it has ended.
///
/// ```no_run
/// # use pelago_cuda::{Device, Result};
/// # use pelago_memory::DeviceRange;
/// # fn main() -> Result<()> {
/// let device = Device::get(0)?;
/// let (from, to) = (DeviceRange::whole(device.allocate(1024)?), DeviceRange::whole(device.allocate(1024)?));
/// let (copies, computes, copied) = (device.stream()?, device.stream()?, device.event()?);
/// copies.copy(&to, &from)?;
/// copies.record(&copied)?;
/// computes.wait(&copied)?; // what follows in `computes` finds the copy
/// # Ok(())
/// # }
/// ```
pub struct Stream {
    device: Device,
    raw: RawStream,
    /// S1: memory, and lists of faces with the memory to which they refer.
    used: Mutex<Vec<Arc<dyn Any + Send + Sync>>>,
}

/// A point in a stream: it is over when all operations submitted before its recording are done.
pub struct Event {
    device: Device,
    raw: RawEvent,
}

/// Rows of equal length at equal distances, for a two-dimensional copy. In bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rows {
    /// Number of rows.
    pub count: u64,
    /// Bytes of a row.
    pub bytes: u64,
    /// Distance between the starts of rows at the source.
    pub from_pitch: u64,
    /// Distance between the starts of rows at the destination.
    pub to_pitch: u64,
}

impl Stream {
    pub(crate) fn new(device: &Device) -> Result<Self> {
        let functions = &device.driver().functions;
        let mut raw = RawStream(ptr::null_mut());
        device.within(|| {
            // SAFETY: C1, C2.
            functions.check("cuStreamCreate", unsafe { (functions.stream_create)(&mut raw, STREAM_WITHOUT_LEGACY) })
        })?;
        Ok(Self { device: device.clone(), raw, used: Mutex::default() })
    }

    /// Returns the device of the stream.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Returns the driver's `CUstream`, for other libraries. It lives as long as this stream.
    pub fn as_raw(&self) -> *mut c_void {
        self.raw.0
    }

    /// Copies between two ranges of equal length, of which `to` is on this device. Ranges that overlap must be the same.
    ///
    /// # Errors
    /// A range is not GPU memory, or the lengths differ; the driver fails.
    pub fn copy(&self, to: &DeviceRange, from: &DeviceRange) -> Result<()> {
        if to.bytes() != from.bytes() {
            return Err(CudaError::Invalid("a copy goes between ranges of equal length"));
        }
        let (target, source) = (self.use_memory(to)?, self.use_memory(from)?);
        self.device.within(|| target.enqueue_copy(self.raw, to.offset(), source, from.offset(), to.bytes()))
    }

    /// Copies rows, by the device's engine for two-dimensional copies. The first row starts at the start of each range.
    ///
    /// # Errors
    /// As [`copy`](Self::copy); rows reach past a range, or overlap.
    pub fn copy_rows(&self, to: &DeviceRange, from: &DeviceRange, rows: Rows) -> Result<()> {
        let extent =
            |pitch: u64| rows.count.checked_sub(1).map_or(Some(0), |more| more.checked_mul(pitch)?.checked_add(rows.bytes));
        let fits =
            |range: &DeviceRange, pitch| pitch >= rows.bytes && extent(pitch).is_some_and(|extent| extent <= range.bytes());
        if !fits(to, rows.to_pitch) || !fits(from, rows.from_pitch) {
            return Err(CudaError::Invalid("the rows of a copy overlap or reach past its ranges"));
        }
        let [target, source] = [(to, rows.to_pitch), (from, rows.from_pitch)].map(|(range, pitch)| {
            let device = self.use_memory(range)?.range(range.offset(), range.bytes())?;
            let (host, array) = (ptr::null_mut(), ptr::null_mut());
            Ok(Copy2DEnd { x: 0, y: 0, kind: MEMORY_DEVICE, host, device, array, pitch: pitch as usize })
        });
        let copy = Copy2D { from: source?, to: target?, width: rows.bytes as usize, height: rows.count as usize };
        if rows.count == 0 || rows.bytes == 0 {
            return Ok(());
        }
        // SAFETY: C1, C2, D1, S1.
        self.call("cuMemcpy2DAsync", |functions| unsafe { (functions.copy_2d)(&copy, self.raw) })
    }

    /// Writes a number of 64 bits after all earlier operations: a signal.
    ///
    /// # Errors
    /// The word is not an aligned word of a GPU, or the device does not support this ([`Device::has_stream_values`]).
    pub fn write_value(&self, word: &DeviceRange, value: u64) -> Result<()> {
        let (address, functions) = (self.word(word)?, &self.device.driver().functions);
        let write = functions.stream_write_value.ok_or(CudaError::Unsupported("streams that write words"))?;
        // SAFETY: C1, D1, S1.
        self.call("cuStreamWriteValue64", |_| unsafe { write(self.raw, address, value, 0) })
    }

    /// Makes later operations wait until a word, which may be another process's, is `value` or more, compared with wrap-around.
    ///
    /// The wait has no timeout, as the device offers none: if the word is never written, [`synchronize`](Self::synchronize) and the drop of the stream
    /// wait for ever.
    ///
    /// # Errors
    /// As [`write_value`](Self::write_value).
    pub fn wait_at_least(&self, word: &DeviceRange, value: u64) -> Result<()> {
        let (address, functions) = (self.word(word)?, &self.device.driver().functions);
        match (functions.stream_wait_value, functions.stream_wait_masked_value) {
            // SAFETY: C1, D1, S1.
            (Some(wait), _) => self.call("cuStreamWaitValue64", |_| unsafe { wait(self.raw, address, value, WAIT_AT_LEAST) }),
            (None, Some(wait)) => {
                // SAFETY: C1, D1, S1.
                self.call("hipStreamWaitValue64", |_| unsafe { wait(self.raw, address, value, WAIT_AT_LEAST, u64::MAX) })
            }
            (None, None) => Err(CudaError::Unsupported("streams that wait for words")),
        }
    }

    /// Makes later operations wait for the last recording of an event.
    ///
    /// # Errors
    /// The driver fails.
    pub fn wait(&self, event: &Event) -> Result<()> {
        // SAFETY: C1.
        self.call("cuStreamWaitEvent", |functions| unsafe { (functions.stream_wait_event)(self.raw, event.raw, 0) })
    }

    /// Records an event after all submitted operations.
    ///
    /// # Errors
    /// The driver fails; the event belongs to another device.
    pub fn record(&self, event: &Event) -> Result<()> {
        if !self.device.is(&event.device) {
            return Err(CudaError::Invalid("an event is recorded by a stream of its own device"));
        }
        // SAFETY: C1.
        self.call("cuEventRecord", |functions| unsafe { (functions.event_record)(event.raw, self.raw) })
    }

    /// Whether all submitted operations are done.
    ///
    /// # Errors
    /// An operation failed.
    pub fn is_over(&self) -> Result<bool> {
        // SAFETY: C1.
        over(self.call("cuStreamQuery", |functions| unsafe { (functions.stream_query)(self.raw) }))
    }

    /// Waits until all submitted operations are done.
    ///
    /// # Errors
    /// An operation failed.
    pub fn synchronize(&self) -> Result<()> {
        // SAFETY: C1.
        self.call("cuStreamSynchronize", |functions| unsafe { (functions.stream_synchronize)(self.raw) })?;
        self.used.lock().unwrap_or_else(PoisonError::into_inner).clear();
        Ok(())
    }

    /// Launches a kernel.
    ///
    /// # Safety
    /// `arguments` point to the kernel's arguments, which refer to memory that the stream uses (S1) and that is large enough.
    pub(crate) unsafe fn launch(
        &self,
        kernel: RawFunction,
        grid: [u32; 3],
        block: u32,
        arguments: &mut [*mut c_void],
    ) -> Result<()> {
        let none = ptr::null_mut();
        // SAFETY: the caller's promise; C1.
        self.call("cuLaunchKernel", |functions| unsafe {
            (functions.launch)(kernel, grid[0], grid[1], grid[2], block, 1, 1, 0, self.raw, arguments.as_mut_ptr(), none)
        })
    }

    /// Keeps the memory of a range until the stream has ended (S1).
    pub(crate) fn use_memory<'r>(&self, range: &'r DeviceRange) -> Result<&'r CudaMemory> {
        let memory = cuda_memory(range)?;
        self.keep(range.memory().clone())?;
        Ok(memory)
    }

    /// As [`use_memory`](Self::use_memory), for memory that kernels and words of this stream access by its address.
    pub(crate) fn reach<'r>(&self, range: &'r DeviceRange) -> Result<&'r CudaMemory> {
        let memory = self.reachable(range)?;
        self.keep(range.memory().clone())?;
        Ok(memory)
    }

    /// Returns the memory of a range, after a check that kernels and words of this stream can access it by its address.
    pub(crate) fn reachable<'r>(&self, range: &'r DeviceRange) -> Result<&'r CudaMemory> {
        let memory = cuda_memory(range)?;
        if self.device.reaches(memory.device())? {
            Ok(memory)
        } else {
            Err(CudaError::Unsupported("way to memory of another device by its address"))
        }
    }

    /// Keeps something until the stream has ended (S1).
    pub(crate) fn keep(&self, what: Arc<dyn Any + Send + Sync>) -> Result<()> {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        if !used.iter().any(|other| ptr::addr_eq(Arc::as_ptr(other), Arc::as_ptr(&what))) {
            if used.len() == STREAM_MEMORIES_MAX {
                return Err(CudaError::Invalid("the stream uses too many allocations at once: synchronize it first"));
            }
            used.push(what);
        }
        Ok(())
    }

    /// Returns the address of a word, and keeps its memory.
    pub(crate) fn word(&self, word: &DeviceRange) -> Result<u64> {
        let address = self.reach(word)?.range(word.offset(), word.bytes())?;
        let is_word = word.bytes() == 8 && address.is_multiple_of(8);
        if is_word { Ok(address) } else { Err(CudaError::Invalid("a word of a stream is eight aligned bytes")) }
    }

    fn call(&self, function: &'static str, call: impl FnOnce(&crate::driver::Functions) -> i32) -> Result<()> {
        let functions = &self.device.driver().functions;
        self.device.within(|| functions.check(function, call(functions)))
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        // S1: the memory that it uses is freed after its end. After a failure the stream exists until the end of the process.
        let _failed = self.synchronize();
        // SAFETY: C1.
        let _failed = self.call("cuStreamDestroy", |functions| unsafe { (functions.stream_destroy)(self.raw) });
    }
}

impl Event {
    pub(crate) fn new(device: &Device) -> Result<Self> {
        let functions = &device.driver().functions;
        let mut raw = RawEvent(ptr::null_mut());
        device.within(|| {
            // SAFETY: C1, C2.
            functions.check("cuEventCreate", unsafe { (functions.event_create)(&mut raw, EVENT_WITHOUT_TIMING) })
        })?;
        Ok(Self { device: device.clone(), raw })
    }

    /// Whether the event is over.
    ///
    /// # Errors
    /// An earlier operation failed.
    pub fn is_over(&self) -> Result<bool> {
        let functions = &self.device.driver().functions;
        // SAFETY: C1.
        over(self.device.within(|| functions.check("cuEventQuery", unsafe { (functions.event_query)(self.raw) })))
    }

    /// Waits for the event.
    ///
    /// # Errors
    /// An earlier operation failed.
    pub fn synchronize(&self) -> Result<()> {
        let functions = &self.device.driver().functions;
        // SAFETY: C1.
        self.device.within(|| functions.check("cuEventSynchronize", unsafe { (functions.event_synchronize)(self.raw) }))
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        let functions = &self.device.driver().functions;
        // SAFETY: C1: the driver frees it when it is over.
        let _failed = self.device.within(|| functions.check("cuEventDestroy", unsafe { (functions.event_destroy)(self.raw) }));
    }
}

impl Device {
    /// Whether all operations of another library's stream are done: of its `CUstream`, or of 1 or 2 for the default streams, as in
    /// `__cuda_array_interface__` and DLPack.
    ///
    /// # Errors
    /// An operation failed, or the driver does not know the stream.
    ///
    /// # Safety
    /// The stream belongs to the primary context, and is not destroyed before this returns.
    pub unsafe fn is_stream_over(&self, stream: u64) -> Result<bool> {
        let raw = RawStream(ptr::with_exposed_provenance_mut(stream as usize));
        let functions = &self.driver().functions;
        // SAFETY: C1, and the caller's promise.
        over(self.within(|| functions.check("cuStreamQuery", unsafe { (functions.stream_query)(raw) })))
    }
}

fn cuda_memory(range: &DeviceRange) -> Result<&CudaMemory> {
    let found = (&**range.memory() as &dyn Any).downcast_ref::<CudaMemory>();
    found.ok_or(CudaError::Invalid("a stream reaches memory of GPUs alone"))
}

fn over(asked: Result<()>) -> Result<bool> {
    match asked {
        Ok(()) => Ok(true),
        Err(CudaError::Call { code: NOT_READY, .. }) => Ok(false),
        Err(error) => Err(error),
    }
}
