//! Memory that operations reach.
#![allow(unsafe_code)]

use std::sync::Arc;

use pelago_base::{Duration, GlobalAddress, Rank, SegmentId};
use pelago_memory::{CellSlice, Cells, DeviceMemory, DeviceRange, MemoryKind, Pod, Reach, Region};
use pelago_platform::Transport;

use crate::context::wait::Whom;
use crate::{Context, Error, GlobalPtr, Result};

/// Objects begin at multiples of a cache line, so that those of different ranks' interest do not share one.
pub(crate) const ALIGN_BYTES: u64 = 64;

/// Large objects begin at multiples of a page, so that whole pages of them can be given back.
const PAGE_BYTES: u64 = 4096;

/// How long dropping registered memory waits for peers that are inside it, before it is leaked.
const DEREGISTER_LIMIT: Duration = Duration::from_milliseconds(10_000);

/// The alignment of an object of `bytes` bytes.
pub(crate) const fn align_of_object(bytes: u64) -> u64 {
    if bytes >= PAGE_BYTES { PAGE_BYTES } else { ALIGN_BYTES }
}

/// Of which type a global pointer is.
type GlobalPtrOf<T> = core::marker::PhantomData<fn() -> T>;

/// Values that only this rank has, in memory that all ranks reach; made by [`Context::alloc_individual`].
///
/// Other ranks learn of it by being told its [`ptr`](Self::ptr). It is freed when dropped, whoever still knows it.
pub struct Individual<'c, T> {
    context: &'c Context,
    offset: u64,
    length: usize,
    first: GlobalPtrOf<T>,
}

impl<T: Pod> Individual<'_, T> {
    /// How many values.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether there is no value.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// The value at `index`.
    ///
    /// # Panics
    /// `index` is past the end.
    pub fn ptr(&self, index: usize) -> GlobalPtr<T> {
        known(self.context.own_address(SegmentId::INDIVIDUAL, self.offset + offset_of::<T>(index, self.length)))
    }

    /// The values themselves.
    pub fn local(&self) -> CellSlice<'_, T> {
        own(self.context, SegmentId::INDIVIDUAL, self.offset, self.length)
    }
}

impl<T> Drop for Individual<'_, T> {
    fn drop(&mut self) {
        self.context.shared().with_individual(|heap| {
            if let Some(bytes) = heap.free(self.offset) {
                self.context.reach.clear(self.context.own_address(SegmentId::INDIVIDUAL, self.offset), bytes);
            }
        });
    }
}

/// Memory that the program already owned, now reached by all ranks; made by [`Context::register`].
///
/// Dropped, it is taken back: peers that are inside are waited for.
pub struct Registered<'c, T: Pod> {
    registration: Registration<'c>,
    pointer: *mut T,
    length: usize,
    /// The memory, if it is to be freed with the registration.
    owned: Option<Vec<T>>,
}

/// Addresses of this rank that lead to memory that is in no heap.
struct Registration<'c> {
    context: &'c Context,
    start: GlobalAddress,
    bytes: u64,
    /// Whether nobody has tried to take it back.
    is_registered: bool,
}

/// Memory of a device that all ranks reach; made by [`Context::register_device`].
///
/// It has global addresses as any other memory, for puts, gets, copies and atomics of every rank, its own included; no load or store of a program
/// reaches it, so there is no slice of its values. Dropped, it is taken back as [`Registered`] is.
pub struct RegisteredDevice<'c, T> {
    registration: Registration<'c>,
    memory: Arc<dyn DeviceMemory>,
    length: usize,
    first: GlobalPtrOf<T>,
}

impl<T: Pod> Registered<'_, T> {
    /// How many values.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether there is no value.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// The value at `index`.
    ///
    /// # Panics
    /// `index` is past the end.
    pub fn ptr(&self, index: usize) -> GlobalPtr<T> {
        self.registration.ptr(index, self.length)
    }

    /// The values themselves.
    pub fn local(&self) -> CellSlice<'_, T> {
        let bytes = self.length * size_of::<T>();
        let pointer = core::ptr::NonNull::new(self.pointer.cast()).expect("slices have an address");
        // SAFETY: M1: the memory is owned by `self`, or promised to outlive it. M2: nothing else refers to it meanwhile.
        unsafe { Cells::new(pointer, bytes) }.elements().expect("values are aligned")
    }

    /// Ends the registration and gives the values back; `None` if they were borrowed.
    ///
    /// # Errors
    /// A peer did not leave the memory in time; it is leaked.
    pub fn unregister(mut self) -> Result<Option<Vec<T>>> {
        self.take_back()?;
        Ok(self.owned.take())
    }

    fn take_back(&mut self) -> Result<()> {
        // Peers may still be inside.
        self.registration.take_back().inspect_err(|_| core::mem::forget(self.owned.take()))
    }
}

impl<T: Pod> RegisteredDevice<'_, T> {
    /// How many values.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether there is no value.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Of which device it is.
    pub fn kind(&self) -> MemoryKind {
        self.memory.kind()
    }

    /// The value at `index`.
    ///
    /// # Panics
    /// `index` is past the end.
    pub fn ptr(&self, index: usize) -> GlobalPtr<T> {
        self.registration.ptr(index, self.length)
    }

    /// Ends the registration and gives the memory back.
    ///
    /// # Errors
    /// A peer did not leave the memory in time; it stays registered.
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

    fn ptr<T: Pod>(&self, index: usize, length: usize) -> GlobalPtr<T> {
        known(GlobalAddress::from_bits(self.start.bits() + offset_of::<T>(index, length)))
    }

    fn take_back(&mut self) -> Result<()> {
        let context = self.context;
        self.is_registered = false;
        let ended = context.block("the end of a registration", Whom::Unknown, Some(DEREGISTER_LIMIT), || {
            let ended = context.engine().borrow_mut().port().with(|transport| transport.memory().deregister(self.start));
            Ok(ended.then_some(()))
        });
        // Peers may still be inside: the addresses are not used again.
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
    /// Allocates `count` zeroed values in this rank's memory, for all ranks to reach.
    ///
    /// # Errors
    /// The heap is full.
    pub fn alloc_individual<T: Pod>(&self, count: usize) -> Result<Individual<'_, T>> {
        let heap_bytes = self.reach.addresses().segment_bytes();
        let bytes = bytes_of::<T>(count, heap_bytes)?;
        let allocated = self.shared().with_individual(|heap| {
            // Whole lines, as what is left of one serves nobody.
            heap.allocate(bytes.max(1).checked_next_multiple_of(ALIGN_BYTES)?, align_of_object(bytes))
        });
        let offset = allocated.ok_or(Error::NoMemory { bytes, heap_bytes })?;
        Ok(Individual { context: self, offset, length: count, first: core::marker::PhantomData })
    }

    /// Lets all ranks reach memory that the program already has, without copying it.
    ///
    /// Cost for peers on this host: copies by one system call; atomics by this rank, if it waits in the library, or its progress thread. Memory of `alloc` is faster.
    ///
    /// Any number of regions may be registered; each takes some hundred bytes and O(log n). Addresses past the end of one lead nowhere, and those of one
    /// that was dropped are used again as late as possible.
    ///
    /// # Errors
    /// The memory is longer than a heap may be (`--heap`); the system refuses.
    pub fn register<T: Pod>(&self, mut memory: Vec<T>) -> Result<Registered<'_, T>> {
        let (pointer, length) = (memory.as_mut_ptr(), memory.len());
        // SAFETY: the vector moves into the registration, which neither frees nor touches it before peers have left; if the
        // registration is forgotten, so is the vector.
        unsafe { self.register_at(pointer, length, Some(memory)) }
    }

    /// As [`register`](Self::register), for memory that something else owns: static data, a stack, a foreign allocator.
    ///
    /// # Safety
    /// `length` values from `pointer` on are valid for reads and writes, and nothing makes references to them, until the
    /// registration is dropped; if it is forgotten, for ever.
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
        let memory = core::ptr::NonNull::new(pointer.cast()).expect("memory has an address");
        // SAFETY: M1, M2: the caller's promise.
        let cells = unsafe { Cells::new(memory, length * size_of::<T>()) };
        Ok(Registered { registration: Registration::new(self, cells.into())?, pointer, length, owned })
    }

    /// Lets all ranks reach memory of a device, as values of type `T`: as many as it holds.
    ///
    /// Cost: ranks of this host copy to and from memory that its driver exports ([`DeviceMemory::export`]) without this rank, once they have opened it. All
    /// other operations by ranks of other processes are asked of this rank, if it waits in the library, or its progress thread, and their bytes pass through
    /// the host; copies between memory of one device that this rank has registered need no such way, if its driver has another.
    ///
    /// # Errors
    /// As [`register`](Self::register). A device that fails later makes the operations fail that need it, with [`Failure::Device`](pelago_platform::Failure).
    pub fn register_device<T: Pod>(&self, memory: Arc<dyn DeviceMemory>) -> Result<RegisteredDevice<'_, T>> {
        let length = (memory.bytes() / size_of::<T>() as u64) as usize;
        let registration = Registration::new(self, Region::Device(DeviceRange::whole(memory.clone())))?;
        Ok(RegisteredDevice { registration, memory, length, first: core::marker::PhantomData })
    }

    /// `bytes` bytes of this rank's own heaps, for its transport; `None` if they are another's, or were registered.
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

/// Lets `transport` give other ranks access to this rank's heaps.
///
/// Invariant **R2**: whoever owns the transport also owns a clone of `reach` and drops it later.
pub(crate) fn register_heaps(reach: &Reach, rank: Rank, transport: &mut dyn Transport) -> Result<()> {
    for segment in [SegmentId::SYMMETRIC, SegmentId::INDIVIDUAL] {
        // SAFETY: R2.
        let heap = unsafe { reach.heap(rank, segment) }.expect("a rank reaches its own heaps");
        let start = reach.addresses().encode(rank, segment, 0).expect("a rank's heaps have addresses");
        transport.memory().register(start, heap.into())?;
    }
    Ok(())
}

/// The bytes of `count` values, if a heap could hold them.
pub(crate) fn bytes_of<T: Pod>(count: usize, heap_bytes: u64) -> Result<u64> {
    let bytes = (count as u64).saturating_mul(size_of::<T>() as u64);
    if bytes > heap_bytes { Err(Error::NoMemory { bytes, heap_bytes }) } else { Ok(bytes) }
}

/// How far the value at `index` of `length` is from the first, in bytes; of no values, the place of the first has an address too.
pub(crate) fn offset_of<T>(index: usize, length: usize) -> u64 {
    assert!(index < length.max(1), "element {index} of {length}");
    (index * size_of::<T>()) as u64
}

/// The pointer to an address of the library's own choice.
#[inline(always)]
pub(crate) fn known<T: Pod>(address: GlobalAddress) -> GlobalPtr<T> {
    GlobalPtr::from_address(address).expect("allocations are aligned")
}

/// This rank's own values in a heap.
pub(crate) fn own<T: Pod>(context: &Context, segment: SegmentId, offset: u64, length: usize) -> CellSlice<'_, T> {
    let address = context.own_address(segment, offset);
    let cells = context.reach.cells(address, (length * size_of::<T>()) as u64);
    cells.and_then(Cells::elements).expect("allocations are inside the heap and aligned")
}
