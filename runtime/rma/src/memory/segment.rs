//! Memory that operations access: individual allocations, registered memory, and memory of devices.
#![allow(unsafe_code)]

use core::mem::ManuallyDrop;
use std::sync::Arc;

use pelago_base::{Duration, GlobalAddress, Rank, SegmentId};
use pelago_memory::{CellSlice, Cells, DeviceMemory, DeviceRange, MemoryKind, Pod, Reach, Region};
use pelago_platform::Transport;

use crate::context::wait::Whom;
use crate::{Context, Error, FixedMemory, GlobalPtr, Result};

/// Objects begin at multiples of a cache line, so that objects that different ranks access do not share a line.
pub(crate) const ALIGN_BYTES: u64 = 64;

/// Large objects begin at multiples of a page, so that whole pages can be returned to the system.
const PAGE_BYTES: u64 = 4096;

/// Maximum time for which the drop of an individual allocation waits for operations of its context that access it, before the memory is leaked.
const OPERATIONS_LIMIT: Duration = Duration::from_milliseconds(10_000);

/// Maximum time for which the drop of registered memory waits for peers that access it, before the memory is leaked.
const DEREGISTER_LIMIT: Duration = Duration::from_milliseconds(10_000);

/// The alignment of an object of `bytes` bytes.
pub(crate) const fn align_of_object(bytes: u64) -> u64 {
    if bytes >= PAGE_BYTES { PAGE_BYTES } else { ALIGN_BYTES }
}

/// Marks the type of a global pointer.
type GlobalPtrOf<T> = core::marker::PhantomData<fn() -> T>;

/// Values of this rank only, in memory that all ranks can access; returned by [`Context::alloc_individual`].
///
/// Other ranks need its [`ptr`](Self::ptr) to access it. It is freed when dropped, even if other ranks still hold the pointer. The drop waits up to 10 s
/// for operations of this context that access it, such as a copy of its values; if they have not ended then, its memory is not used again.
pub struct Individual<'c, T> {
    context: &'c Context,
    offset: u64,
    length: usize,
    first: GlobalPtrOf<T>,
}

impl<T: Pod> Individual<'_, T> {
    /// Number of values.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Returns a pointer to the value at `index`.
    ///
    /// # Panics
    /// `index` is past the end.
    #[track_caller]
    pub fn ptr(&self, index: usize) -> GlobalPtr<T> {
        known(self.context.own_address(SegmentId::INDIVIDUAL, self.offset + offset_of::<T>(index, self.length)))
    }

    /// Returns the values.
    pub fn local(&self) -> CellSlice<'_, T> {
        own(self.context, SegmentId::INDIVIDUAL, self.offset, self.length)
    }
}

impl<T> Individual<'_, T> {
    /// Waits for operations of this context that access the values; returns whether they have ended.
    #[cold]
    fn have_operations_ended(&self) -> bool {
        let start = self.context.own_address(SegmentId::INDIVIDUAL, self.offset);
        let memory = self.context.reach.cells(start, (self.length * size_of::<T>()) as u64).expect("it is in the heap");
        let has_ended = || !self.context.engine().borrow().accesses(self.context.shared(), start, memory);
        // A rank that panics does not wait.
        has_ended()
            || !std::thread::panicking()
                && self
                    .context
                    .block("operations on memory that is dropped", Whom::Operations, Some(OPERATIONS_LIMIT), || {
                        Ok(has_ended().then_some(()))
                    })
                    .is_ok()
    }
}

impl<T> Drop for Individual<'_, T> {
    fn drop(&mut self) {
        if self.context.busy.get() && !self.have_operations_ended() {
            return;
        }
        self.context.shared().with_individual(|heap| {
            if let Some(bytes) = heap.free(self.offset) {
                self.context.reach.clear(self.context.own_address(SegmentId::INDIVIDUAL, self.offset), bytes);
            }
        });
    }
}

/// Memory that the program already owned, made accessible to all ranks; returned by [`Context::register`].
///
/// The drop ends the registration and waits for peers that access the memory, for at most 10 s and as long as the job has no fault. If one still does
/// then, the memory is leaked.
pub struct Registered<'c, T: Pod> {
    registration: Registration<'c>,
    pointer: *mut T,
    length: usize,
    /// The memory, if it is freed with the registration.
    owned: Option<Vec<T>>,
}

/// Addresses of this rank for memory outside the heaps.
struct Registration<'c> {
    context: &'c Context,
    start: GlobalAddress,
    bytes: u64,
    /// Whether `take_back` has not been called.
    is_registered: bool,
}

/// Memory of a device that all ranks can access; returned by [`Context::register_device`].
///
/// It has global addresses as any other memory, for puts, gets, copies and atomics of every rank, including its own; the program cannot access it by loads
/// and stores, so there is no slice of its values. The drop ends the registration as for [`Registered`].
pub struct RegisteredDevice<'c, T> {
    registration: Registration<'c>,
    memory: Arc<dyn DeviceMemory>,
    length: usize,
    first: GlobalPtrOf<T>,
}

impl<T: Pod> Registered<'_, T> {
    /// Number of values.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Returns a pointer to the value at `index`.
    ///
    /// # Panics
    /// `index` is past the end.
    #[track_caller]
    pub fn ptr(&self, index: usize) -> GlobalPtr<T> {
        self.registration.ptr(index, self.length)
    }

    /// Returns the values.
    pub fn local(&self) -> CellSlice<'_, T> {
        let bytes = self.length * size_of::<T>();
        let pointer = core::ptr::NonNull::new(self.pointer.cast()).expect("slices have an address");
        // SAFETY: M1: the memory is owned by `self`, or promised to outlive it. M2: nothing else refers to it meanwhile.
        unsafe { Cells::new(pointer, bytes) }.elements().expect("values are aligned")
    }

    /// Ends the registration and returns the values; `None` if they were borrowed.
    ///
    /// # Errors
    /// A peer still accesses the memory after the time limit; the memory is leaked.
    pub fn unregister(mut self) -> Result<Option<Vec<T>>> {
        self.take_back()?;
        Ok(self.owned.take())
    }

    fn take_back(&mut self) -> Result<()> {
        // Peers may still access the memory: it is leaked if the wait fails, or panics in a function of the program.
        let owned = ManuallyDrop::new(self.owned.take());
        self.registration.take_back()?;
        self.owned = ManuallyDrop::into_inner(owned);
        Ok(())
    }
}

impl<T: Pod> RegisteredDevice<'_, T> {
    /// Number of values.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// The kind of device memory.
    pub fn kind(&self) -> MemoryKind {
        self.memory.kind()
    }

    /// Returns a pointer to the value at `index`.
    ///
    /// # Panics
    /// `index` is past the end.
    #[track_caller]
    pub fn ptr(&self, index: usize) -> GlobalPtr<T> {
        self.registration.ptr(index, self.length)
    }

    /// Ends the registration and returns the memory.
    ///
    /// # Errors
    /// A peer still accesses the memory after the time limit; the memory stays registered.
    pub fn unregister(mut self) -> Result<Arc<dyn DeviceMemory>> {
        self.registration.take_back()?;
        Ok(self.memory.clone())
    }
}

impl<'c> Registration<'c> {
    fn new(context: &'c Context, memory: Region<'static>) -> Result<Self> {
        let (bytes, limit) = (memory.bytes(), context.reach.addresses().segment_bytes());
        control_span!("register", bytes = bytes);
        if bytes > limit {
            return Err(Error::TooLong { what: "registered region", bytes: bytes as usize, limit: limit as usize });
        }
        let start = context.shared().allocate_addresses(bytes);
        let start = start.ok_or(Error::Unsupported("no addresses are left for registered memory; drop some of it"))?;
        let result = context.engine().borrow_mut().port().with(|transport| transport.memory().register(start, memory));
        if let Err(error) = result {
            context.shared().free_addresses(start, bytes);
            return Err(error.into());
        }
        Ok(Self { context, start, bytes, is_registered: true })
    }

    #[track_caller]
    fn ptr<T: Pod>(&self, index: usize, length: usize) -> GlobalPtr<T> {
        known(GlobalAddress::from_bits(self.start.bits() + offset_of::<T>(index, length)))
    }

    fn take_back(&mut self) -> Result<()> {
        let context = self.context;
        self.is_registered = false;
        // A peer that has read the memory rings no bell when it leaves.
        let ended = context.block_polling("the end of a registration", Some(DEREGISTER_LIMIT), || {
            let ended = context.engine().borrow_mut().port().with(|transport| transport.memory().deregister(self.start));
            Ok(ended.then_some(()))
        });
        // Peers may still access the memory: the addresses are not reused.
        if ended.is_ok() {
            context.shared().free_addresses(self.start, self.bytes);
        }
        ended
    }
}

impl<T: Pod> Drop for Registered<'_, T> {
    fn drop(&mut self) {
        if self.registration.is_registered {
            let _leaked_if_late = self.take_back();
        }
    }
}

impl Drop for Registration<'_> {
    fn drop(&mut self) {
        if self.is_registered {
            let _leaked_if_late = self.take_back();
        }
    }
}

impl Context {
    /// Allocates `count` zeroed values in this rank's memory, accessible to all ranks.
    ///
    /// # Errors
    /// The heap is full.
    pub fn alloc_individual<T: Pod>(&self, count: usize) -> Result<Individual<'_, T>> {
        let heap_bytes = self.reach.addresses().segment_bytes();
        let bytes = bytes_of::<T>(count, heap_bytes)?;
        let allocated = self.shared().with_individual(|heap| {
            // Whole cache lines, because the rest of a line fits no allocation.
            heap.allocate(bytes.max(1).checked_next_multiple_of(ALIGN_BYTES)?, align_of_object(bytes))
        });
        let offset = allocated.ok_or(Error::NoMemory { bytes, heap_bytes, memory: FixedMemory::HEAP })?;
        Ok(Individual { context: self, offset, length: count, first: core::marker::PhantomData })
    }

    /// Makes memory of the program accessible to all ranks, without copying it.
    ///
    /// Cost for peers on this host: copies by one system call; atomics by this rank, if it waits in the library, or by its progress thread. Memory
    /// of `alloc` is faster.
    ///
    /// Any number of regions may be registered; each takes some hundred bytes and O(log n) time. Addresses past the end of a region are invalid,
    /// and addresses of a dropped region are reused as late as possible.
    ///
    /// # Errors
    /// The memory is longer than a heap may be (`--heap`); the system refuses the registration.
    pub fn register<T: Pod>(&self, mut memory: Vec<T>) -> Result<Registered<'_, T>> {
        let (pointer, length) = (memory.as_mut_ptr(), memory.len());
        // SAFETY: the vector moves into the registration, which neither frees nor accesses it until all peers have finished; if the
        // registration is forgotten, so is the vector.
        unsafe { self.register_at(pointer, length, Some(memory)) }
    }

    /// As [`register`](Self::register), for memory with another owner: static data, a stack, a foreign allocator.
    ///
    /// # Safety
    /// `length` values from `pointer` on are aligned and valid for reads and writes, and no references to them are created, until
    /// [`unregister`](Registered::unregister) has returned without an error. If it returns an error, or if the registration is forgotten, for ever. A
    /// drop ends the registration as `unregister` does and does not say whether it has succeeded: it gives up after 10 s, or if the job has a fault.
    ///
    /// # Errors
    /// As [`register`](Self::register).
    pub unsafe fn register_raw<T: Pod>(&self, pointer: *mut T, length: usize) -> Result<Registered<'_, T>> {
        // SAFETY: the caller's promise.
        unsafe { self.register_at(pointer, length, None) }
    }

    /// # Safety
    /// As [`register_raw`](Self::register_raw).
    unsafe fn register_at<T: Pod>(&self, pointer: *mut T, length: usize, owned: Option<Vec<T>>) -> Result<Registered<'_, T>> {
        check_layout::<T>();
        let memory = core::ptr::NonNull::new(pointer.cast()).expect("memory has an address");
        // SAFETY: M1, M2: the caller's promise.
        let cells = unsafe { Cells::new(memory, length * size_of::<T>()) };
        Ok(Registered { registration: Registration::new(self, cells.into())?, pointer, length, owned })
    }

    /// Makes memory of a device accessible to all ranks, as values of type `T`: as many as fit.
    ///
    /// Cost: ranks of this host copy to and from memory that the device's driver exports ([`DeviceMemory::export`]) without this rank, once they
    /// have opened it. All other operations by ranks of other processes are requests to this rank, which serves them while it waits in the
    /// library, or to its progress thread, and their bytes pass through the host; copies between registered memories of one device of this rank do
    /// not, if the driver has a direct path.
    ///
    /// # Errors
    /// As [`register`](Self::register). If the device fails later, operations that need it fail with [`Failure::Device`](pelago_platform::Failure).
    pub fn register_device<T: Pod>(&self, memory: Arc<dyn DeviceMemory>) -> Result<RegisteredDevice<'_, T>> {
        check_layout::<T>();
        let length = (memory.bytes() / size_of::<T>() as u64) as usize;
        let registration = Registration::new(self, Region::Device(DeviceRange::whole(memory.clone())))?;
        Ok(RegisteredDevice { registration, memory, length, first: core::marker::PhantomData })
    }

    /// Returns `bytes` bytes of this rank's own heaps, for its transport; `None` if the address belongs to another rank or to registered memory.
    pub(crate) fn own_cells(&self, from: GlobalAddress, bytes: u64) -> Option<Cells<'static>> {
        let addresses = self.reach.addresses();
        if addresses.rank(from) != self.rank() {
            return None;
        }
        // SAFETY: R2.
        let heap = unsafe { self.reach.heap(self.rank(), addresses.segment(from)?) }?;
        heap.part(addresses.offset(from), bytes)
    }

    pub(crate) fn own_address(&self, segment: SegmentId, offset: u64) -> GlobalAddress {
        self.reach.addresses().encode(self.rank(), segment, offset).expect("an allocation has addresses")
    }
}

/// Registers this rank's heaps with `transport`, so that other ranks can access them.
///
/// Invariant **R2**: the owner of the transport also owns a clone of `reach` and drops it after the transport.
pub(crate) fn register_heaps(reach: &Reach, rank: Rank, transport: &mut dyn Transport) -> Result<()> {
    for segment in [SegmentId::SYMMETRIC, SegmentId::INDIVIDUAL] {
        // SAFETY: R2.
        let heap = unsafe { reach.heap(rank, segment) }.expect("a rank reaches its own heaps");
        let start = reach.addresses().encode(rank, segment, 0).expect("a rank's heaps have addresses");
        transport.memory().register(start, heap.into())?;
    }
    Ok(())
}

/// Refuses types, at compile time, whose values need not lie where they may, as all memory begins at a multiple of a cache line, or have no bytes.
const fn check_layout<T: Pod>() {
    const {
        assert!(align_of::<T>() as u64 <= ALIGN_BYTES, "values that other ranks access are aligned to 64 bytes at most");
        assert!(size_of::<T>() > 0, "values that other ranks access have one byte at least");
    }
}

/// Returns the size of `count` values in bytes, if a heap could hold them.
pub(crate) fn bytes_of<T: Pod>(count: usize, heap_bytes: u64) -> Result<u64> {
    check_layout::<T>();
    let bytes = (count as u64).saturating_mul(size_of::<T>() as u64);
    if bytes > heap_bytes { Err(Error::NoMemory { bytes, heap_bytes, memory: FixedMemory::HEAP }) } else { Ok(bytes) }
}

/// Returns the byte offset of the value at `index` of `length` values; index 0 is valid even if there are no values.
#[track_caller]
pub(crate) fn offset_of<T>(index: usize, length: usize) -> u64 {
    assert!(index < length.max(1), "element {index} of {length}");
    (index * size_of::<T>()) as u64
}

/// Returns a typed pointer to an address that the library has chosen.
#[inline(always)]
pub(crate) fn known<T: Pod>(address: GlobalAddress) -> GlobalPtr<T> {
    GlobalPtr::from_address(address).expect("allocations are aligned")
}

/// Returns values of this rank in one of its heaps.
pub(crate) fn own<T: Pod>(context: &Context, segment: SegmentId, offset: u64, length: usize) -> CellSlice<'_, T> {
    let address = context.own_address(segment, offset);
    let cells = context.reach.cells(address, (length * size_of::<T>()) as u64);
    cells.and_then(Cells::elements).expect("allocations are inside the heap and aligned")
}
