//! Order among what a device does: streams, the events between them, and words that streams write and wait for.
//!
//! - **S1** What a stream uses lives until the stream has ended: the stream keeps it.
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

/// A queue of a device: what is put in is done in this order, and beside other streams.
///
/// Methods return at once; errors of what is done later come from [`synchronize`](Self::synchronize) or a later method. Dropping one waits for what it has
/// to do. The device's memory that it uses stays allocated until it has ended.
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
    /// S1: memory, and lists of faces with the memory that they name.
    used: Mutex<Vec<Arc<dyn Any + Send + Sync>>>,
}

/// A moment of a stream: when all is done that was in the stream before it was recorded.
pub struct Event {
    device: Device,
    raw: RawEvent,
}

/// Rows of equal length at equal distances: what a two-dimensional copy moves. In bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rows {
    /// How many.
    pub count: u64,
    /// Bytes of each.
    pub bytes: u64,
    /// From the start of one to that of the next, where they come from.
    pub from_pitch: u64,
    /// The same where they go.
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

    /// Its device.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// The driver's `CUstream`, for other libraries. It lives as long as this.
    pub fn as_raw(&self) -> *mut c_void {
        self.raw.0
    }

    /// Copies between two ranges of equal length, of which `to` is on this device. Ranges that overlap must be the same.
    ///
    /// # Errors
    /// A range is not of a GPU, or their lengths differ; the driver's.
    pub fn copy(&self, to: &DeviceRange, from: &DeviceRange) -> Result<()> {
        if to.bytes() != from.bytes() {
            return Err(CudaError::Invalid("a copy goes between ranges of equal length"));
        }
        let (target, source) = (self.use_memory(to)?, self.use_memory(from)?);
        self.device.within(|| target.enqueue_copy(self.raw, to.offset(), source, from.offset(), to.bytes()))
    }

    /// Copies rows, by the device's engine for two-dimensional copies. The first begins where each range begins.
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

    /// Writes a number of 64 bits, after all before it: a signal.
    ///
    /// # Errors
    /// The word is no aligned word of a GPU; the device lacks this ([`Device::has_stream_values`]).
    pub fn write_value(&self, word: &DeviceRange, value: u64) -> Result<()> {
        let (address, functions) = (self.word(word)?, &self.device.driver().functions);
        let write = functions.stream_write_value.ok_or(CudaError::Unsupported("streams that write words"))?;
        // SAFETY: C1, D1, S1.
        self.call("cuStreamWriteValue64", |_| unsafe { write(self.raw, address, value, 0) })
    }

    /// Lets what follows wait until a word, which may be another process's, is `value` or more, as numbers that count on past the last.
    ///
    /// The wait has no end of its own: who never writes the word makes [`synchronize`](Self::synchronize) and the stream's end wait for ever, as the device
    /// offers no other.
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

    /// Lets what follows wait for an event, as it was recorded last.
    ///
    /// # Errors
    /// The driver's.
    pub fn wait(&self, event: &Event) -> Result<()> {
        // SAFETY: C1.
        self.call("cuStreamWaitEvent", |functions| unsafe { (functions.stream_wait_event)(self.raw, event.raw, 0) })
    }

    /// Records an event behind all that was put in.
    ///
    /// # Errors
    /// The driver's; the event is another device's.
    pub fn record(&self, event: &Event) -> Result<()> {
        if !self.device.is(&event.device) {
            return Err(CudaError::Invalid("an event is recorded by a stream of its own device"));
        }
        // SAFETY: C1.
        self.call("cuEventRecord", |functions| unsafe { (functions.event_record)(event.raw, self.raw) })
    }

    /// Whether all that was put in is done.
    ///
    /// # Errors
    /// What was done failed.
    pub fn is_over(&self) -> Result<bool> {
        // SAFETY: C1.
        over(self.call("cuStreamQuery", |functions| unsafe { (functions.stream_query)(self.raw) }))
    }

    /// Waits until all that was put in is done.
    ///
    /// # Errors
    /// What was done failed.
    pub fn synchronize(&self) -> Result<()> {
        // SAFETY: C1.
        self.call("cuStreamSynchronize", |functions| unsafe { (functions.stream_synchronize)(self.raw) })?;
        self.used.lock().unwrap_or_else(PoisonError::into_inner).clear();
        Ok(())
    }

    /// Launches a kernel.
    ///
    /// # Safety
    /// `arguments` point to what the kernel takes, and what those name is memory that the stream uses (S1), and large enough.
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

    /// The same, of memory that kernels and words of this stream reach by its address.
    pub(crate) fn reach<'r>(&self, range: &'r DeviceRange) -> Result<&'r CudaMemory> {
        let memory = self.reachable(range)?;
        self.keep(range.memory().clone())?;
        Ok(memory)
    }

    /// Memory that kernels and words of this stream reach by its address.
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

    /// The address of a word.
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
        // S1: what it uses is freed behind its end. A failure leaves the stream to the end of the process.
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

    /// Whether the moment has come.
    ///
    /// # Errors
    /// What was done before it failed.
    pub fn is_over(&self) -> Result<bool> {
        let functions = &self.device.driver().functions;
        // SAFETY: C1.
        over(self.device.within(|| functions.check("cuEventQuery", unsafe { (functions.event_query)(self.raw) })))
    }

    /// Waits for the moment.
    ///
    /// # Errors
    /// What was done before it failed.
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
    /// Whether all is done that was put into a stream of another library: its `CUstream`, or 1 and 2 for the default streams, as
    /// `__cuda_array_interface__` and DLPack count.
    ///
    /// # Errors
    /// What was done failed; the driver knows no such stream.
    ///
    /// # Safety
    /// The stream is one of the primary context, and is not destroyed before this returns.
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
