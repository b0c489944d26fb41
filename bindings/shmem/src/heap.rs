//! The symmetric heap: every PE makes the same calls in the same order, so that equal calls give equal offsets.
//!
//! Pointers from the program satisfy invariant B3 of `transfer`.
#![allow(unsafe_code)]

use std::ffi::c_void;
use std::sync::PoisonError;

use crate::collectives;
use crate::library::{Library, library};
use crate::refusal::refuse;

/// The minimum alignment: a cache line, so that unrelated objects do not share one.
const ALIGNMENT: usize = 64;

/// Objects of a page or more begin at a page.
const PAGE_BYTES: usize = 4096;

fn with_heap<R>(library: &Library, f: impl FnOnce(&mut pelago_memory::Heap) -> R) -> R {
    f(&mut library.heap.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Allocates without synchronization with the other PEs; null if there is no room.
fn take(library: &Library, alignment: usize, bytes: usize) -> *mut c_void {
    let area = library.heap_area();
    let least = if bytes >= PAGE_BYTES { PAGE_BYTES } else { ALIGNMENT };
    let offset = rounded(bytes).and_then(|bytes| with_heap(library, |heap| heap.allocate(bytes, alignment.max(least) as u64)));
    offset.map_or(std::ptr::null_mut(), |offset| (area.start + offset as usize) as *mut c_void)
}

/// Returns the size of the memory of an object of `bytes` bytes.
fn rounded(bytes: usize) -> Option<u64> {
    (bytes as u64).checked_next_multiple_of(ALIGNMENT as u64)
}

/// Changes the size of an object at its place, without synchronization with the other PEs. Returns its previous and its new size; `None` if there is no
/// room, or no object at `pointer`.
fn resize(library: &Library, pointer: *mut c_void, bytes: usize) -> Option<(u64, u64)> {
    let (offset, size) = ((pointer as usize).checked_sub(library.heap_area().start)?, rounded(bytes)?);
    let begins_well = bytes < PAGE_BYTES || offset.is_multiple_of(PAGE_BYTES);
    let before = if begins_well { with_heap(library, |heap| heap.resize(offset as u64, size)) } else { None };
    before.map(|before| (before, size))
}

/// Frees without synchronization with the other PEs. Returns the size of the object; `None` if there is no object at `pointer`.
fn give_back(library: &Library, pointer: *mut c_void) -> Option<u64> {
    let offset = (pointer as usize).checked_sub(library.heap_area().start)?;
    with_heap(library, |heap| heap.free(offset as u64))
}

/// Allocates `bytes` bytes at a multiple of `alignment`, zeroed if `zeroed` is set. Collective.
pub(crate) fn allocate(routine: &'static str, alignment: usize, bytes: usize, zeroed: bool) -> *mut c_void {
    let library = library(routine);
    collectives::compare(library, routine, &[alignment as u64, bytes as u64]);
    if bytes == 0 {
        return std::ptr::null_mut();
    }
    if !alignment.is_power_of_two() || alignment > library.alignment {
        refuse(routine, &format_args!("alignment {alignment} is not a power of two up to {}", library.alignment));
    }
    let pointer = take(library, alignment, bytes);
    if zeroed && !pointer.is_null() {
        clear(library, pointer, bytes);
    }
    collectives::barrier_all(routine);
    pointer
}

/// Zeroes an object, and returns its whole pages to the system.
fn clear(library: &Library, pointer: *mut c_void, bytes: usize) {
    let address = library.symmetric(pointer as usize, bytes).map(|bits| library.at(bits, library.me));
    if let Some(address) = address {
        library.reach.clear(address, bytes as u64);
    }
}

/// `shmem_free`. Collective.
pub(crate) fn free(routine: &'static str, pointer: *mut c_void) {
    let library = library(routine);
    if pointer.is_null() {
        return;
    }
    collectives::barrier_all(routine);
    match give_back(library, pointer) {
        Some(bytes) if bytes >= PAGE_BYTES as u64 => clear(library, pointer, bytes as usize),
        Some(_) => {}
        None => refuse(routine, &format_args!("ptr {pointer:p} is not an object of the symmetric heap")),
    }
}

/// `shmem_realloc`. Collective.
pub(crate) fn reallocate(routine: &'static str, pointer: *mut c_void, bytes: usize) -> *mut c_void {
    if pointer.is_null() {
        return allocate(routine, ALIGNMENT, bytes, false);
    }
    if bytes == 0 {
        free(routine, pointer);
        return std::ptr::null_mut();
    }
    let library = library(routine);
    collectives::compare(library, routine, &[(pointer as usize).wrapping_sub(library.heap_area().start) as u64, bytes as u64]);
    if let Some((before, size)) = resize(library, pointer, bytes) {
        // After the barrier, no PE uses the bytes that the object has lost. They are allocated again after the next barrier at the earliest.
        collectives::barrier_all(routine);
        if before >= size + PAGE_BYTES as u64 {
            clear(library, pointer.wrapping_byte_add(size as usize), (before - size) as usize);
        }
        return pointer;
    }
    let moved = take(library, ALIGNMENT, bytes);
    if moved.is_null() {
        return moved;
    }
    // After the barrier, all writes to the object have completed, and no PE uses it any more.
    collectives::barrier_all(routine);
    // Equal pointers: the object had been freed before the call, and the new one is at its place.
    let Some(before) = give_back(library, pointer).filter(|_| moved != pointer) else {
        refuse(routine, &format_args!("ptr {pointer:p} is not an object of the symmetric heap"))
    };
    // SAFETY: both objects are allocated, have at least this length, and do not overlap. The old one is reused after the barrier at the earliest.
    unsafe { std::ptr::copy_nonoverlapping(pointer.cast::<u8>(), moved.cast::<u8>(), bytes.min(before as usize)) };
    if before >= PAGE_BYTES as u64 {
        clear(library, pointer, before as usize);
    }
    collectives::barrier_all(routine);
    moved
}
