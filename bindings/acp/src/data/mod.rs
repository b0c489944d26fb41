//! The data library: containers of `pelago::containers`, which C code passes by value.
//!
//! This module checks the arguments of a program: the address of a container lies in memory of the job, an element is memory of the job or of this
//! process. The container checks its own metadata.

pub mod list;
pub mod rows;
pub mod tables;
pub mod workspace;

use std::ffi::c_int;

use pelago::containers::{ByteSource, GlobalHeap};
use pelago::{GlobalAddress, GlobalPtr};

use crate::ffi::call;
use crate::library::{Library, library};
use crate::refusal::{End, Refusal};

/// Maximum size in bytes of an element in memory of this process that is copied when the call is issued.
const COPIED_BYTES_MAX: u64 = 1 << 16;

/// A vector, a deque or a list.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Container {
    pub(crate) ga: u64,
}

/// An element: bytes at an address.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Element {
    pub(crate) ga: u64,
    pub(crate) size: usize,
}

/// Two elements: a key and its value, or bytes that lie in two contiguous ranges.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Pair {
    pub(crate) first: Element,
    pub(crate) second: Element,
}

impl Element {
    pub(crate) const NULL: Self = Self { ga: 0, size: 0 };

    pub(crate) fn new((at, bytes): (GlobalAddress, u64)) -> Self {
        Self { ga: at.bits(), size: bytes as usize }
    }
}

/// Calls `f` with the heap. Returns `failed` if the call is refused.
pub(crate) fn data<R>(
    function: &str,
    failed: R,
    f: impl FnOnce(&'static Library, &GlobalHeap<'static>) -> Result<R, Refusal>,
) -> R {
    call(function, failed, || {
        let library = library()?;
        library.with_heap(|heap| f(library, heap))
    })
}

/// Checks and returns the address of a container.
pub(crate) fn container(library: &'static Library, ga: u64) -> Result<GlobalAddress, Refusal> {
    Ok(library.memory().locate(End::Container, ga, 8)?.address)
}

/// Checks and returns the address of a vector, a deque or a list, whose mark is the word before.
pub(crate) fn marked_container(library: &'static Library, ga: u64) -> Result<GlobalAddress, Refusal> {
    let address = container(library, ga)?;
    container(library, ga.saturating_sub(8))?;
    Ok(address)
}

/// Returns the source of bytes to store in a container. Small elements that are mapped in this process are copied to `buffer`.
pub(crate) fn source<'b>(
    library: &'static Library,
    element: Element,
    buffer: &'b mut Vec<u8>,
) -> Result<ByteSource<'b>, Refusal> {
    if element.size == 0 {
        return Ok(ByteSource::Bytes(&[]));
    }
    let found = library.memory().locate(End::Source, element.ga, element.size as u64)?;
    match found.cells {
        Some(cells) if element.size as u64 <= COPIED_BYTES_MAX => {
            buffer.resize(element.size, 0);
            cells.read(buffer);
            Ok(ByteSource::Bytes(buffer))
        }
        _ => Ok(ByteSource::Global(found.address, element.size as u64)),
    }
}

/// Returns a copy of the bytes of an element.
pub(crate) fn read(library: &'static Library, heap: &GlobalHeap<'static>, element: Element) -> Result<Vec<u8>, Refusal> {
    let mut bytes = Vec::new();
    if element.size == 0 {
        return Ok(bytes);
    }
    let found = library.memory().locate(End::Source, element.ga, element.size as u64)?;
    bytes.try_reserve_exact(element.size).map_err(|_| Refusal::Large(element.size))?;
    bytes.resize(element.size, 0);
    match found.cells {
        Some(cells) => cells.read(&mut bytes),
        None => heap.world().get_into(bytes_at(found.address)?, &mut bytes)?,
    }
    Ok(bytes)
}

/// Writes bytes to memory of any rank.
pub(crate) fn write(library: &'static Library, heap: &GlobalHeap<'static>, ga: u64, bytes: &[u8]) -> Result<(), Refusal> {
    if bytes.is_empty() {
        return Ok(());
    }
    let found = library.memory().locate(End::Destination, ga, bytes.len() as u64)?;
    match found.cells {
        Some(cells) => cells.write(bytes),
        None => heap.world().put(bytes_at(found.address)?, bytes)?.wait()?,
    }
    Ok(())
}

/// Returns a pointer to the bytes from an address on.
fn bytes_at(address: GlobalAddress) -> Result<GlobalPtr<u8>, Refusal> {
    Ok(GlobalPtr::from_address(address).map_err(pelago::Error::from)?)
}

/// Checks that an index in bytes is not negative.
pub(crate) fn index(index: c_int) -> Result<u64, Refusal> {
    u64::try_from(index).map_err(|_| Refusal::Index(index))
}
