//! Placement of the executable's variables in memory of the job.
//!
//! Invariants:
//!
//! - **B1** The ranges are whole pages of writable data of the executable, which only the program uses. They are copied and remapped while the program is
//!   inside the initialization, before it has passed their addresses to another PE.
//! - **B2** The copy lies in memory of the job that is allocated for it alone, until the process ends.
#![allow(unsafe_code)]

use std::ffi::c_void;
use std::ops::Range;

use pelago_c_support::simulated::images;

/// Returns the writable data of the executable, as whole pages.
pub(crate) fn ranges() -> Vec<Range<usize>> {
    images().into_iter().filter(|image| image.is_executable).flat_map(|image| image.data).collect()
}

/// Copies the pages of `range` to `place`, and maps the copy at `range`: each variable keeps its address and its value, and is memory of the job.
///
/// # Errors
/// The kernel refuses; the variables are unchanged.
pub(crate) fn move_to(place: *mut u8, range: &Range<usize>) -> std::io::Result<()> {
    // SAFETY: B1, B2: both places are mapped, have the length of the range, and do not overlap. The kernel replaces the old pages atomically; with an old
    // length of 0, it maps the pages of a shared mapping a second time.
    unsafe {
        std::ptr::copy_nonoverlapping(range.start as *const u8, place, range.len());
        let flags = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED;
        let mapped = libc::mremap(place.cast::<c_void>(), 0, range.len(), flags, range.start as *mut c_void);
        if mapped == libc::MAP_FAILED { Err(std::io::Error::last_os_error()) } else { Ok(()) }
    }
}
