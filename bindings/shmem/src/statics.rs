//! Placement of the executable's variables in memory of the job.
//!
//! Invariants:
//!
//! - **B1** The ranges are whole pages of writable data of the executable, which only the program uses. They are copied and remapped while the program is
//!   inside the initialization, before it has passed their addresses to another PE.
//! - **B2** The copy lies in memory of the job that is allocated for it alone, until the process ends, and is zero before.
#![allow(unsafe_code)]

use std::ffi::c_void;
use std::ops::Range;

use pelago_c_support::simulated::images;

/// Bytes of a page.
const PAGE_BYTES: usize = 4096;

/// A page as words.
type Page = [u64; PAGE_BYTES / 8];

/// Returns the writable data of the executable, as whole pages.
pub(crate) fn ranges() -> Vec<Range<usize>> {
    images().into_iter().filter(|image| image.is_executable).flat_map(|image| image.data).collect()
}

/// Copies the pages of `range` to `place`, and maps the copy at `range`: each variable keeps its address and its value, and is memory of the job.
/// Pages of zeros are not written, so that a large array takes memory only where the program uses it.
///
/// # Errors
/// The kernel refuses; the variables are unchanged.
pub(crate) fn move_to(place: *mut u8, range: &Range<usize>) -> std::io::Result<()> {
    // SAFETY: B1, B2: both places are mapped, have the length of the range, and do not overlap. The kernel replaces the old pages atomically; with an old
    // length of 0, it maps the pages of a shared mapping a second time.
    unsafe {
        for offset in (0..range.len()).step_by(PAGE_BYTES) {
            let page = &*((range.start + offset) as *const Page);
            if page.iter().any(|&word| word != 0) {
                // Word by word, not by `memcpy`: AddressSanitizer checks that function, and reports the gaps that it puts between variables.
                let copy = place.add(offset).cast::<u64>();
                page.iter().enumerate().for_each(|(index, &word)| copy.add(index).write_volatile(word));
            }
        }
        let flags = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED;
        let mapped = libc::mremap(place.cast::<c_void>(), 0, range.len(), flags, range.start as *mut c_void);
        if mapped == libc::MAP_FAILED { Err(std::io::Error::last_os_error()) } else { Ok(()) }
    }
}
