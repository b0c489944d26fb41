//! Memory by its address in this process.
//!
//! Pointers of the program are as invariant B3 of `transfer` says.
#![allow(unsafe_code)]

use std::ptr::NonNull;

use pelago::{Context, GlobalAddress, Result};
use pelago_memory::Cells;

/// The bytes at an address of a call, or of a team's memory.
pub(crate) fn cells(address: usize, bytes: usize) -> Cells<'static> {
    let start = NonNull::new(address as *mut u8).unwrap_or(NonNull::dangling());
    // SAFETY: B3: addresses of a call, for as many bytes as it names; memory of a team otherwise.
    unsafe { Cells::new(start, bytes) }
}

/// A get whose destination is memory of the caller, which waits for it.
pub(crate) fn get_later(context: &Context, from: GlobalAddress, into: Cells<'static>) -> Result<()> {
    // SAFETY: B3: the caller waits for it, and ends the process if it fails.
    unsafe { context.get_raw(from, into.pointer(), into.bytes()) }.map(drop)
}
