//! Access to memory by its address in this process.
//!
//! Pointers from the program satisfy invariant B3 of `transfer`.
#![allow(unsafe_code)]

use std::ptr::NonNull;

use pelago::{Context, GlobalAddress, Result};
use pelago_memory::Cells;

/// Returns the bytes at an address that is an argument of a call, or lies in the memory of a team.
pub(crate) fn cells(address: usize, bytes: usize) -> Cells<'static> {
    let start = NonNull::new(address as *mut u8).unwrap_or(NonNull::dangling());
    // SAFETY: B3: an argument of a call, which states as many bytes; otherwise memory of a team.
    unsafe { Cells::new(start, bytes) }
}

/// Starts a get into memory of the caller. The caller waits for its completion.
pub(crate) fn get_later(context: &Context, from: GlobalAddress, into: Cells<'static>) -> Result<()> {
    // SAFETY: B3: the caller waits for the get, and ends the process if it fails.
    unsafe { context.get_raw(from, into.pointer(), into.bytes()) }.map(drop)
}
