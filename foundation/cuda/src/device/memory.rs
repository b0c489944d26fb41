//! Memory of a GPU, for access by all ranks.
//!
//! - **D1** A range that is passed to the driver is inside an allocation that lives as long as its `CudaMemory`: its own, or the program's by the
//!   contract of [`CudaMemory::adopt`], or another process's, which keeps its exported memory until it ends.
//! - C1 to C3 of `driver/table.rs`.
#![allow(unsafe_code)]

use std::any::Any;
use std::sync::{Arc, Mutex, PoisonError};

use pelago_base::{AtomicOperator, Shape, Width};
use pelago_memory::{
    Combination, DeviceBlocks, DeviceError, DeviceHandle, DeviceMemory, DmaBuf, MemoryKind, NumberKind, combine_by_host,
    gather_by_reads, scatter_by_writes,
};

use super::Device;
use super::kernels::{FACES_MAX, LISTED_FACES_MAX, RAW_FACE_BYTES, RawFace, enqueue_combination, enqueue_faces};
use crate::driver::{ATTACH_GLOBAL, CudaError, Driver, IPC_LAZY_PEER_ACCESS, Interface, IpcHandle, RawStream, Result};

/// Name of this driver in handles and memory kinds.
pub(crate) const CUDA: &str = "cuda";
const HIP: &str = "hip";

/// Size in bytes of the pieces in which zeros are written.
const ZEROS_BYTES: u64 = 1 << 20;

/// A range of GPU memory. It is a [`DeviceMemory`]: `World::register_device` makes it a segment.
///
/// Reads and writes pass through pinned memory in pieces of 256 KiB, three in flight; copies between two `CudaMemory` stay on the device, or go from
/// device to device. All return when they are complete. They are not ordered with the program's streams: wait for those first, or use
/// [`Stream`](crate::Stream).
pub struct CudaMemory {
    device: Device,
    address: u64,
    bytes: u64,
    origin: Origin,
    /// Lock that makes atomics mutually atomic.
    word: Mutex<()>,
    /// Buffer for packed blocks, followed by their lists.
    packed: Mutex<Option<Arc<CudaMemory>>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    Allocated,
    Managed,
    /// Allocated by the program.
    Adopted,
    /// Memory of another process; `start` is the address of its whole allocation in this process.
    Imported {
        start: u64,
    },
}

impl CudaMemory {
    pub(crate) fn allocate(device: &Device, bytes: u64) -> Result<Arc<Self>> {
        if let Some(address) = device.driver().exports().take(device.ordinal(), bytes) {
            return Ok(Arc::new(Self::of(device, address, bytes, Origin::Allocated)));
        }
        let functions = &device.driver().functions;
        Self::make(device, bytes, Origin::Allocated, |address| {
            // SAFETY: C1, C2.
            functions.check("cuMemAlloc", unsafe { (functions.mem_alloc)(address, bytes as usize) })
        })
    }

    pub(crate) fn allocate_managed(device: &Device, bytes: u64) -> Result<Arc<Self>> {
        let functions = &device.driver().functions;
        Self::make(device, bytes, Origin::Managed, |address| {
            // SAFETY: C1, C2.
            let code = unsafe { (functions.mem_alloc_managed)(address, bytes as usize, ATTACH_GLOBAL) };
            functions.check("cuMemAllocManaged", code)
        })
    }

    /// Adopts memory from another library, such as cudarc, candle or CuPy: `bytes` bytes from the device's address on, in the primary context.
    ///
    /// # Errors
    /// The driver does not know the memory, or it ends before `bytes` bytes.
    ///
    /// # Safety
    /// Until this is dropped the memory stays allocated, and all its users tolerate concurrent writes by others. If it is registered as a segment, it
    /// stays allocated until the ranks of this host have ended, as they may have opened it.
    pub unsafe fn adopt(device: &Device, address: u64, bytes: u64) -> Result<Arc<Self>> {
        let (start, length) = device.within(|| whole(device, address))?;
        if bytes == 0 || address - start > length || bytes > length - (address - start) {
            return Err(CudaError::Invalid("the memory that is adopted ends before its bytes do"));
        }
        Ok(Arc::new(Self::of(device, address, bytes, Origin::Adopted)))
    }

    /// Fills the memory with zeros. Costs as much as a write of the same size.
    ///
    /// # Errors
    /// The driver fails.
    pub fn zero(&self) -> Result<()> {
        let zeros = vec![0; self.bytes.min(ZEROS_BYTES) as usize];
        let lanes = &self.device.state().lanes;
        (0..self.bytes).step_by(ZEROS_BYTES as usize).try_for_each(|offset| {
            let bytes = (self.bytes - offset).min(ZEROS_BYTES) as usize;
            lanes.upload(&self.device, self.address + offset, &zeros[..bytes])
        })
    }

    /// Returns the device of the memory.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Returns the device address of the memory, for kernels and other libraries; not a host address.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// Whether the memory belongs to another process.
    pub fn is_imported(&self) -> bool {
        matches!(self.origin, Origin::Imported { .. })
    }

    /// Opens memory that another process of this host has exported. The contents of a [`DeviceHandle`] come from a peer, so the driver checks them.
    pub(crate) fn import(driver: &Arc<Driver>, handle: &DeviceHandle) -> Result<Arc<Self>> {
        let told = Exported::decode(handle.bytes());
        let device = told.device(driver).map_or_else(|| Device::of(driver, told.ordinal.min(driver.devices() - 1)), Ok)?;
        Self::open(&device, &told)
    }

    /// As [`import`](Self::import), for access by a device itself: opens the memory in its context, which needs access to memory of another device.
    pub(crate) fn import_for(device: &Device, handle: &DeviceHandle) -> Result<Arc<Self>> {
        if *handle != DeviceHandle::new(name_of(device), handle.bytes()) {
            return Err(CudaError::Invalid("the memory is another driver's"));
        }
        let told = Exported::decode(handle.bytes());
        // For a device that this process does not see, the driver decides.
        match told.device(device.driver()) {
            Some(other) if !device.reaches(&other)? => {
                Err(CudaError::Unsupported("way to memory of another device by its address"))
            }
            _ => Self::open(device, &told),
        }
    }

    fn open(device: &Device, told: &Exported) -> Result<Arc<Self>> {
        let sharing = |error: CudaError| CudaError::Sharing { device: told.ordinal, why: error.to_string() };
        let mut start = 0;
        let functions = &device.driver().functions;
        device
            .within(|| {
                // SAFETY: C1, C2: the driver checks the handle.
                let code = unsafe { (functions.ipc_open)(&mut start, IpcHandle(told.handle), IPC_LAZY_PEER_ACCESS) };
                functions.check("cuIpcOpenMemHandle", code)
            })
            .map_err(sharing)?;
        let memory = Self::of(device, start.wrapping_add(told.offset), told.bytes, Origin::Imported { start });
        // Dropped, and so closed, if the peer claims more bytes than there are.
        let (_, length) = device.within(|| whole(device, start)).map_err(sharing)?;
        let is_inside = told.offset <= length && told.bytes <= length - told.offset;
        if is_inside { Ok(Arc::new(memory)) } else { Err(CudaError::Invalid("a peer shares more memory than it has")) }
    }

    /// Returns the address of a range, after a check of its bounds.
    pub(crate) fn range(&self, offset: u64, bytes: u64) -> Result<u64> {
        let is_inside = offset <= self.bytes && bytes <= self.bytes - offset;
        if is_inside {
            Ok(self.address + offset)
        } else {
            Err(CudaError::Invalid("the range reaches past the memory of the device"))
        }
    }

    /// Returns the address of blocks, after a check of their bounds.
    fn blocks(&self, offset: u64, blocks: Shape) -> Result<u64> {
        let extent = blocks.extent().map_err(|_| CudaError::Invalid("the blocks reach past the memory of the device"))?;
        self.range(offset, extent)
    }

    /// Returns the copy kernel's arguments for blocks of parts in memory of this device, which are packed one after the other from `packed` on.
    fn faces(&self, parts: &[DeviceBlocks], packed: u64, are_read: bool) -> Result<Vec<RawFace>> {
        let mut place = packed;
        let face = |part: &DeviceBlocks| {
            let memory = (&*part.memory as &dyn Any).downcast_ref::<Self>().expect("parts of this device");
            let (there, packed) = (memory.blocks(part.offset, part.blocks)?, part.blocks.packed());
            let (ends, shapes) = ([place, there], [packed, part.blocks]);
            place += part.bytes();
            Ok(if are_read { RawFace::new(ends, shapes) } else { RawFace::new([there, ends[0]], [part.blocks, packed]) })
        };
        parts.iter().filter(|part| part.bytes() > 0).map(face).collect()
    }

    /// Moves parts of this device with one launch, and all their bytes between the device and the host with one transfer.
    fn move_parts(&self, parts: &[DeviceBlocks], mut bytes: Bytes<'_>) -> Result<()> {
        let length = bytes.len() as u64;
        let listed = if parts.len() > FACES_MAX { (parts.len() * RAW_FACE_BYTES) as u64 } else { 0 };
        let list_offset = length.next_multiple_of(8);
        let mut packed = self.packed.lock().unwrap_or_else(PoisonError::into_inner);
        let packed = self.room(&mut packed, list_offset + listed)?.address;
        let faces = self.faces(parts, packed, matches!(bytes, Bytes::Into(_)))?;
        if faces.is_empty() {
            return Ok(());
        }
        let list: Vec<u8> = if faces.len() > FACES_MAX { faces.iter().flat_map(RawFace::encode).collect() } else { Vec::new() };
        let list_upload = (packed + list_offset, &list[..]);
        // SAFETY: D1; the parts are inside their memory, and this returns when the stream has ended.
        let act = |stream, _: &_| unsafe { enqueue_faces(&self.device, stream, &faces, packed + list_offset) };
        let lanes = &self.device.state().lanes;
        match &mut bytes {
            Bytes::Into(into) => lanes.transfer(&self.device, &[list_upload], act, Some((packed, into))),
            Bytes::From(from) => lanes.transfer(&self.device, &[(packed, from), list_upload], act, None),
        }
    }

    /// Returns the number of leading parts that are memory of one device and move with one launch, with the first of them. `None` if they belong to
    /// another driver, or the device cannot run the kernels.
    fn run_of(parts: &[DeviceBlocks]) -> Option<(&Self, usize)> {
        let first =
            (&*parts.first()?.memory as &dyn Any).downcast_ref::<Self>().filter(|first| first.device.kernels().is_ok())?;
        let is_same = |part: &&DeviceBlocks| {
            (&*part.memory as &dyn Any).downcast_ref::<Self>().is_some_and(|other| other.device.is(&first.device))
        };
        Some((first, parts.iter().take(LISTED_FACES_MAX).take_while(is_same).count()))
    }

    /// Returns a buffer for `bytes` packed bytes: the existing one, if it is large enough.
    fn room<'p>(&self, packed: &'p mut Option<Arc<Self>>, bytes: u64) -> Result<&'p Arc<Self>> {
        if packed.as_ref().is_none_or(|packed| packed.bytes < bytes) {
            *packed = None;
            *packed = Some(Self::allocate(&self.device, bytes.next_power_of_two())?);
        }
        Ok(packed.as_ref().expect("just made"))
    }

    fn make(device: &Device, bytes: u64, origin: Origin, allocate: impl FnOnce(&mut u64) -> Result<()>) -> Result<Arc<Self>> {
        if bytes == 0 {
            return Err(CudaError::Invalid("memory of a device has one byte at least"));
        }
        let mut address = 0;
        let made = device.within(|| allocate(&mut address));
        made.map_err(|error| match error {
            CudaError::Call { code: 2, .. } => CudaError::OutOfMemory { device: device.ordinal(), bytes },
            other => other,
        })?;
        Ok(Arc::new(Self::of(device, address, bytes, origin)))
    }

    fn of(device: &Device, address: u64, bytes: u64, origin: Origin) -> Self {
        Self { device: device.clone(), address, bytes, origin, word: Mutex::new(()), packed: Mutex::new(None) }
    }

    /// Copies on the device, or from one device to another, and returns when the copy is complete.
    fn copy_on_devices(&self, offset: u64, from: &Self, from_offset: u64, bytes: u64) -> Result<()> {
        let (to, source) = (self.range(offset, bytes)?, from.range(from_offset, bytes)?);
        let is_overlapping = to < source + bytes && source < to + bytes;
        if is_overlapping && to != source {
            // The driver copies in any order, so the copy goes through a temporary buffer.
            let between = Self::allocate(&self.device, bytes)?;
            between.copy_on_devices(0, from, from_offset, bytes)?;
            return self.copy_on_devices(offset, &between, 0, bytes);
        }
        self.device.state().lanes.on_stream(&self.device, |stream, _| self.enqueue_copy(stream, offset, from, from_offset, bytes))
    }

    /// Enqueues a copy on a stream of this memory's device, in the context of the device.
    pub(crate) fn enqueue_copy(&self, stream: RawStream, offset: u64, from: &Self, from_offset: u64, bytes: u64) -> Result<()> {
        let (to, source) = (self.range(offset, bytes)?, from.range(from_offset, bytes)?);
        let functions = &self.device.driver().functions;
        let is_same = self.device.is(&from.device);
        match (functions.copy_to_peer, functions.copy_to_peer_by_number) {
            _ if bytes == 0 => Ok(()),
            (Some(copy), _) if !is_same => {
                // SAFETY: C1, D1.
                let code = unsafe { copy(to, self.device.context(), source, from.device.context(), bytes as usize, stream) };
                functions.check("cuMemcpyPeerAsync", code)
            }
            (None, Some(copy)) if !is_same => {
                // SAFETY: C1, D1.
                let code = unsafe { copy(to, self.device.number(), source, from.device.number(), bytes as usize, stream) };
                functions.check("hipMemcpyPeerAsync", code)
            }
            _ => {
                // SAFETY: C1, D1.
                let code = unsafe { (functions.copy_on_device)(to, source, bytes as usize, stream) };
                functions.check("cuMemcpyDtoDAsync", code)
            }
        }
    }

    fn shared(&self) -> Result<DeviceHandle> {
        let why = |why: &str| CudaError::Sharing { device: self.device.ordinal(), why: why.into() };
        if matches!(self.origin, Origin::Imported { .. } | Origin::Managed) {
            return Err(why("only memory that this process has allocated on the device can be"));
        }
        let functions = &self.device.driver().functions;
        let mut handle = IpcHandle([0; 64]);
        let start = self.device.within(|| {
            let (start, _) = whole(&self.device, self.address)?;
            // SAFETY: C1, C2, D1.
            functions.check("cuIpcGetMemHandle", unsafe { (functions.ipc_get)(&mut handle, self.address) })?;
            Ok(start)
        })?;
        if self.origin == Origin::Allocated && !self.device.admit_export(self.address)? {
            return Err(why("as many allocations as may be are shared already"));
        }
        let (uuid, ordinal) = (self.device.uuid(), self.device.ordinal());
        let told = Exported { handle: handle.0, uuid, ordinal, offset: self.address - start, bytes: self.bytes };
        Ok(DeviceHandle::new(self.driver(), &told.encode()))
    }

    /// Exports the pages of a range as a dma-buf. They may contain bytes of other allocations too, so the registration with a card must be restricted
    /// to the range.
    fn exported_pages(&self, offset: u64, bytes: u64) -> Result<DmaBuf> {
        let address = self.range(offset, bytes)?;
        let read_only = self.device.dma_buf_access()?;
        if matches!(self.origin, Origin::Imported { .. } | Origin::Managed) {
            return Err(CudaError::Invalid(
                "only memory that this process has allocated on the device is reached by network cards",
            ));
        }
        let page_bytes = rustix::param::page_size() as u64;
        let start = address - address % page_bytes;
        let length = (address + bytes).next_multiple_of(page_bytes) - start;
        let exported = self.device.within(|| self.device.driver().functions.dma_buf(start, length).transpose())?;
        let descriptor = exported.ok_or(CudaError::Unsupported("function cuMemGetHandleForAddressRange"))?;
        Ok(DmaBuf { descriptor, offset: address - start, address, read_only })
    }

    fn driver(&self) -> &'static str {
        name_of(&self.device)
    }
}

/// Returns the number of bytes of all blocks. Those of a shape may be more than any memory has, if they overlap.
fn total(parts: &[DeviceBlocks]) -> Result<u64> {
    let all = parts.iter().try_fold(0_u64, |all, part| all.checked_add(part.blocks.bytes().ok()?));
    all.ok_or(CudaError::Invalid("the blocks have more bytes than any memory"))
}

impl DeviceMemory for CudaMemory {
    fn kind(&self) -> MemoryKind {
        MemoryKind::Device { driver: self.driver(), ordinal: self.device.ordinal() }
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn read(&self, offset: u64, into: &mut [u8]) -> Result<(), DeviceError> {
        let from = self.range(offset, into.len() as u64)?;
        Ok(self.device.state().lanes.download(&self.device, from, into)?)
    }

    fn write(&self, offset: u64, from: &[u8]) -> Result<(), DeviceError> {
        let to = self.range(offset, from.len() as u64)?;
        Ok(self.device.state().lanes.upload(&self.device, to, from)?)
    }

    fn atomic(&self, offset: u64, width: Width, operator: AtomicOperator, operand: u64) -> Result<u64, DeviceError> {
        let _one_at_a_time = self.word.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut word, length) = ([0; 8], width.bytes() as usize);
        self.read(offset, &mut word[..length])?;
        let old = u64::from_le_bytes(word);
        let new = operator.apply(width, old, operand);
        if new != old {
            self.write(offset, &new.to_le_bytes()[..length])?;
        }
        Ok(old)
    }

    fn copy_from(&self, offset: u64, from: &dyn DeviceMemory, from_offset: u64, bytes: u64) -> Option<Result<(), DeviceError>> {
        let from = (from as &dyn Any).downcast_ref::<Self>()?;
        let is_one_driver = Arc::ptr_eq(self.device.driver(), from.device.driver());
        is_one_driver.then(|| Ok(self.copy_on_devices(offset, from, from_offset, bytes)?))
    }

    fn gather(&self, parts: &[DeviceBlocks], into: &mut [u8]) -> Result<(), DeviceError> {
        let (mut parts, mut rest) = (parts, into);
        while !parts.is_empty() {
            let run = Self::run_of(parts);
            let (mine, others) = parts.split_at(run.map_or(1, |(_, count)| count));
            let (into, further) = rest.split_at_mut(total(mine)? as usize);
            match run {
                Some((first, _)) => first.move_parts(mine, Bytes::Into(into))?,
                None => gather_by_reads(mine, into)?,
            }
            (parts, rest) = (others, further);
        }
        Ok(())
    }

    fn scatter(&self, parts: &[DeviceBlocks], from: &[u8]) -> Result<(), DeviceError> {
        let (mut parts, mut rest) = (parts, from);
        while !parts.is_empty() {
            let run = Self::run_of(parts);
            let (mine, others) = parts.split_at(run.map_or(1, |(_, count)| count));
            let (from, further) = rest.split_at(total(mine)? as usize);
            match run {
                Some((first, _)) => first.move_parts(mine, Bytes::From(from))?,
                None => scatter_by_writes(mine, from)?,
            }
            (parts, rest) = (others, further);
        }
        Ok(())
    }

    fn combine(
        &self,
        offset: u64,
        (from, from_offset): (&dyn DeviceMemory, u64),
        bytes: u64,
        combination: Combination,
        number: NumberKind,
    ) -> Result<(), DeviceError> {
        let same = (from as &dyn Any).downcast_ref::<Self>().filter(|from| self.device.is(&from.device));
        let Some(same) = same.filter(|_| self.device.kernels().is_ok()) else {
            let read = |at, first: &mut [u8], second: &mut [u8]| {
                self.read(offset + at, first)?;
                from.read(from_offset + at, second)
            };
            return combine_by_host(bytes, combination, number, read, |at, part| self.write(offset + at, part));
        };
        let (ends, width) = ([self.range(offset, bytes)?, same.range(from_offset, bytes)?], number.width().bytes());
        if !(ends[0] | ends[1] | bytes).is_multiple_of(width) {
            return Err(CudaError::Invalid("numbers that are combined are aligned and whole").into());
        }
        if bytes == 0 {
            return Ok(());
        }
        // SAFETY: D1; both ends hold the numbers, and this returns when the stream has ended.
        Ok(self.device.state().lanes.on_stream(&self.device, |stream, _| unsafe {
            enqueue_combination(&self.device, stream, ends, bytes / width, combination, number)
        })?)
    }

    fn export(&self) -> Option<Result<DeviceHandle, DeviceError>> {
        Some(self.shared().map_err(DeviceError::from))
    }

    fn dma_buf(&self, offset: u64, bytes: u64) -> Result<DmaBuf, DeviceError> {
        Ok(self.exported_pages(offset, bytes)?)
    }
}

impl Drop for CudaMemory {
    fn drop(&mut self) {
        let (functions, address) = (&self.device.driver().functions, self.address);
        if self.origin == Origin::Allocated && self.device.driver().exports().keep(address, self.bytes) {
            return;
        }
        // After a failure the memory exists until the end of the process.
        let _failed = self.device.within(|| match self.origin {
            Origin::Adopted => Ok(()),
            // SAFETY: C1: created by the driver, and no longer used (D1).
            Origin::Imported { start } => functions.check("cuIpcCloseMemHandle", unsafe { (functions.ipc_close)(start) }),
            // SAFETY: as above.
            Origin::Allocated | Origin::Managed => functions.check("cuMemFree", unsafe { (functions.mem_free)(address) }),
        });
    }
}

impl std::fmt::Debug for CudaMemory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "CudaMemory({:?}, {} bytes of device {})", self.origin, self.bytes, self.device.ordinal())
    }
}

/// Host buffer and direction of a transfer of packed bytes.
enum Bytes<'b> {
    Into(&'b mut [u8]),
    From(&'b [u8]),
}

impl Bytes<'_> {
    fn len(&self) -> usize {
        match self {
            Self::Into(bytes) => bytes.len(),
            Self::From(bytes) => bytes.len(),
        }
    }
}

/// Returns the name of a device's driver in handles.
fn name_of(device: &Device) -> &'static str {
    match device.driver().interface() {
        Interface::Cuda => CUDA,
        Interface::Hip => HIP,
    }
}

/// Returns the start and size of the allocation that contains an address, in the context of the device.
fn whole(device: &Device, address: u64) -> Result<(u64, u64)> {
    let functions = &device.driver().functions;
    let (mut start, mut bytes) = (0, 0usize);
    // SAFETY: C1, C2.
    let code = unsafe { (functions.mem_get_address_range)(&mut start, &mut bytes, address) };
    functions.check("cuMemGetAddressRange", code)?;
    Ok((start, bytes as u64))
}

/// Description of exported memory for another process.
struct Exported {
    handle: [u8; 64],
    uuid: [u8; 16],
    ordinal: u32,
    /// Offset of the memory in its allocation.
    offset: u64,
    bytes: u64,
}

impl Exported {
    /// Returns the device of this process that has the memory; its number may differ from the peer's.
    fn device(&self, driver: &Arc<Driver>) -> Option<Device> {
        let mut devices = (0..driver.devices()).filter_map(|ordinal| Device::of(driver, ordinal).ok());
        devices.find(|device| self.uuid != [0; 16] && device.uuid() == self.uuid)
    }

    fn encode(&self) -> [u8; 100] {
        let mut bytes = [0; 100];
        bytes[..64].copy_from_slice(&self.handle);
        bytes[64..80].copy_from_slice(&self.uuid);
        bytes[80..84].copy_from_slice(&self.ordinal.to_le_bytes());
        bytes[84..92].copy_from_slice(&self.offset.to_le_bytes());
        bytes[92..].copy_from_slice(&self.bytes.to_le_bytes());
        bytes
    }

    fn decode(bytes: &[u8; DeviceHandle::BYTES]) -> Self {
        fn part<const N: usize>(bytes: &[u8], start: usize) -> [u8; N] {
            std::array::from_fn(|index| bytes[start + index])
        }
        Self {
            handle: part(bytes, 0),
            uuid: part(bytes, 64),
            ordinal: u32::from_le_bytes(part(bytes, 80)),
            offset: u64::from_le_bytes(part(bytes, 84)),
            bytes: u64::from_le_bytes(part(bytes, 92)),
        }
    }
}
