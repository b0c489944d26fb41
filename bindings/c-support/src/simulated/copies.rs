//! Copies of the program's data, one for each rank.
//!
//! All copies lie in one mapping of an anonymous file, in which only touched pages are allocated. The copy of the running rank is mapped a
//! second time at the addresses of the program's data. Thus a variable has the same address on every rank, as in separate processes, and
//! other ranks reach it at its address in the first mapping while its rank does not run.
//!
//! Invariants:
//!
//! - **A8** The ranges are whole pages of the program's data that only the program uses. They are remapped only between the execution of two
//!   ranks, and are readable and writable before and after.
//! - **A9** The file holds a copy for each rank, and the view maps all of it until the process ends.
#![allow(unsafe_code)]

use std::ops::Range;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use super::images::{Image, page};

/// The private data of the ranks.
pub(super) struct Copies {
    file: OwnedFd,
    view: usize,
    /// Bytes of a copy.
    stride: usize,
    /// Address ranges of the program's data, whole pages. A copy holds them one after the other.
    ranges: Vec<Range<usize>>,
    /// Initial contents of the pages that are not all zero: offset in a copy, and bytes.
    first: Vec<(usize, Box<[u8]>)>,
    /// Other variables with a value for each rank: thread-local variables of the program, and some variables of the C library.
    swapped: Vec<Range<usize>>,
    /// Their initial values, and the saved values of each rank; `None` for a rank that has not run.
    values_first: Box<[u8]>,
    values: Vec<Option<Box<[u8]>>>,
    running: Option<usize>,
}

impl Copies {
    /// Returns copies of the current data for `ranks` ranks.
    pub(super) fn new(images: &[Image], ranks: usize) -> std::io::Result<Self> {
        let ranges: Vec<_> = images.iter().flat_map(|image| image.data.clone()).collect();
        let thread_data = images.iter().map(|image| image.thread_data.clone()).filter(|data| !data.is_empty());
        // A variable that the linker has placed in the program's data is already in the ranges.
        let of_library = library_variables().into_iter().filter(|data| !ranges.iter().any(|range| range.contains(&data.start)));
        let swapped: Vec<_> = thread_data.chain(of_library).collect();
        let stride: usize = ranges.iter().map(Range::len).sum();
        let bytes = stride.max(1).checked_mul(ranks).filter(|bytes| isize::try_from(*bytes).is_ok());
        let bytes = bytes.ok_or(std::io::ErrorKind::OutOfMemory)?;
        // SAFETY: creates a file; its descriptor is not shared.
        let file = unsafe { OwnedFd::from_raw_fd(checked(libc::memfd_create(c"program-data".as_ptr(), libc::MFD_CLOEXEC))?) };
        // SAFETY: resizes the new file.
        checked(unsafe { libc::ftruncate(file.as_raw_fd(), bytes as libc::off_t) })?;
        let view = map(std::ptr::null_mut(), bytes, 0, &file, 0)?;
        let mut first = Vec::new();
        let mut offset = 0;
        for range in &ranges {
            for start in range.clone().step_by(page()) {
                // SAFETY: A8.
                let bytes = unsafe { std::slice::from_raw_parts(start as *const u8, page()) };
                if bytes.iter().any(|&byte| byte != 0) {
                    first.push((offset + start - range.start, bytes.into()));
                }
            }
            offset += range.len();
        }
        let values_first = saved(&swapped);
        let values = (0..ranks).map(|_| None).collect();
        Ok(Self { file, view, stride, ranges, first, swapped, values_first, values, running: None })
    }

    /// Switches the program's data to those of `rank`.
    pub(super) fn enter(&mut self, rank: usize) -> std::io::Result<()> {
        if let Some(before) = self.running {
            self.values[before] = Some(saved(&self.swapped));
        }
        let values = self.values[rank].take().unwrap_or_else(|| {
            for (offset, bytes) in &self.first {
                let place = (self.view + rank * self.stride + offset) as *mut u8;
                // SAFETY: A9.
                unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), place, bytes.len()) };
            }
            self.values_first.clone()
        });
        let mut offset = rank * self.stride;
        for range in &self.ranges {
            map(range.start as *mut libc::c_void, range.len(), libc::MAP_FIXED, &self.file, offset)?;
            offset += range.len();
        }
        let mut values = &values[..];
        for range in &self.swapped {
            let (here, rest) = values.split_at(range.len());
            // SAFETY: A8, for these variables.
            unsafe { std::ptr::copy_nonoverlapping(here.as_ptr(), range.start as *mut u8, here.len()) };
            values = rest;
        }
        self.running = Some(rank);
        Ok(())
    }

    /// Returns the address by which other ranks reach memory of the running rank; `None` if they cannot reach all of it.
    pub(super) fn shared_address(&self, address: usize, bytes: usize) -> Option<usize> {
        let end = address.checked_add(bytes)?;
        let overlaps = |range: &&Range<usize>| address < range.end && range.start < end.max(address + 1);
        if self.swapped.iter().any(|range| overlaps(&range)) {
            return None;
        }
        let mut offset = self.running? * self.stride;
        for range in &self.ranges {
            if overlaps(&range) {
                return (address >= range.start && end <= range.end).then(|| self.view + offset + address - range.start);
            }
            offset += range.len();
        }
        Some(address)
    }

    /// Returns the address by which the running rank reaches memory, from the address that other ranks use.
    pub(super) fn program_address(&self, address: usize) -> usize {
        let Some(mut offset) = self.running.map(|rank| rank * self.stride) else { return address };
        for range in &self.ranges {
            let inside = address.wrapping_sub(self.view + offset);
            if inside < range.len() {
                return range.start + inside;
            }
            offset += range.len();
        }
        address
    }
}

/// Returns the current values of the variables.
fn saved(ranges: &[Range<usize>]) -> Box<[u8]> {
    // SAFETY: A8, for these variables.
    let bytes = |range: &Range<usize>| unsafe { std::slice::from_raw_parts(range.start as *const u8, range.len()) };
    ranges.iter().flat_map(bytes).copied().collect()
}

/// Returns the variables of the C library that programs see: `errno` and `optind`.
fn library_variables() -> [Range<usize>; 2] {
    unsafe extern "C" {
        static mut optind: libc::c_int;
    }
    // SAFETY: takes the addresses of variables.
    let [error, index] = unsafe { [libc::__errno_location() as usize, &raw mut optind as usize] };
    [error, index].map(|start| start..start + size_of::<libc::c_int>())
}

/// Maps a part of the file. With `MAP_FIXED`, it replaces the mapping at `at`, as A8 allows.
fn map(at: *mut libc::c_void, bytes: usize, flags: i32, file: &OwnedFd, offset: usize) -> std::io::Result<usize> {
    let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | flags);
    // SAFETY: a new mapping, or A8.
    let mapped = unsafe { libc::mmap(at, bytes, protection, flags, file.as_raw_fd(), offset as libc::off_t) };
    if mapped == libc::MAP_FAILED { Err(std::io::Error::last_os_error()) } else { Ok(mapped as usize) }
}

fn checked(result: i32) -> std::io::Result<i32> {
    if result < 0 { Err(std::io::Error::last_os_error()) } else { Ok(result) }
}
