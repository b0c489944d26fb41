//! The data of the program, once for each rank.
//!
//! All copies lie in one mapping of a file without a name, of which only touched pages exist. The copy of the rank that runs is mapped a second
//! time where the program has its data: so a variable has the same address on every rank, as in processes of their own, and others reach it at
//! its place in the first mapping while its rank does not run.
//!
//! Invariants:
//!
//! - **A8** The ranges are whole pages of the program's data, which nobody but the program uses, and which are mapped anew only between two
//!   ranks: what is there before and after is memory that may be read and written.
//! - **A9** The file holds a copy for each rank, and the view maps all of it for as long as the process lives.
#![allow(unsafe_code)]

use std::ops::Range;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use super::images::{Image, page};

/// What each rank has of its own.
pub(super) struct Copies {
    file: OwnedFd,
    view: usize,
    /// Bytes of a copy.
    stride: usize,
    /// Pages of the program's data, one range after the other in a copy.
    ranges: Vec<Range<usize>>,
    /// What pages hold at the beginning that are not all zero: their place in a copy, and their bytes.
    first: Vec<(usize, Box<[u8]>)>,
    /// Other variables of which each rank has its own values: those of the program's thread, and some of the C library.
    swapped: Vec<Range<usize>>,
    /// Their values at the beginning, and those of ranks that have run; `None` before that.
    values_first: Box<[u8]>,
    values: Vec<Option<Box<[u8]>>>,
    running: Option<usize>,
}

impl Copies {
    /// Copies for so many ranks, of data as it is now.
    pub(super) fn new(images: &[Image], ranks: usize) -> std::io::Result<Self> {
        let ranges: Vec<_> = images.iter().flat_map(|image| image.data.clone()).collect();
        let thread_data = images.iter().map(|image| image.thread_data.clone()).filter(|data| !data.is_empty());
        // What the program has a copy of is in the ranges.
        let of_library = library_variables().into_iter().filter(|data| !ranges.iter().any(|range| range.contains(&data.start)));
        let swapped: Vec<_> = thread_data.chain(of_library).collect();
        let stride: usize = ranges.iter().map(Range::len).sum();
        let bytes = stride.max(1).checked_mul(ranks).filter(|bytes| isize::try_from(*bytes).is_ok());
        let bytes = bytes.ok_or(std::io::ErrorKind::OutOfMemory)?;
        // SAFETY: asks for a new file; its descriptor is nobody else's.
        let file = unsafe { OwnedFd::from_raw_fd(checked(libc::memfd_create(c"program-data".as_ptr(), libc::MFD_CLOEXEC))?) };
        // SAFETY: asks for room in our own file.
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

    /// The program's data are those of `rank` from now on.
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
            // SAFETY: A8, of these variables.
            unsafe { std::ptr::copy_nonoverlapping(here.as_ptr(), range.start as *mut u8, here.len()) };
            values = rest;
        }
        self.running = Some(rank);
        Ok(())
    }

    /// Where others reach memory of the rank that runs; `None` if they cannot reach all of it.
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

    /// Where the rank that runs finds memory that others reach.
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

/// Values of variables.
fn saved(ranges: &[Range<usize>]) -> Box<[u8]> {
    // SAFETY: A8, of these variables.
    let bytes = |range: &Range<usize>| unsafe { std::slice::from_raw_parts(range.start as *const u8, range.len()) };
    ranges.iter().flat_map(bytes).copied().collect()
}

/// Variables of the C library that programs see: how the last call failed, and how far arguments are read.
fn library_variables() -> [Range<usize>; 2] {
    unsafe extern "C" {
        static mut optind: libc::c_int;
    }
    // SAFETY: asks for the places of words.
    let [error, index] = unsafe { [libc::__errno_location() as usize, &raw mut optind as usize] };
    [error, index].map(|start| start..start + size_of::<libc::c_int>())
}

/// Maps a part of the file; with `MAP_FIXED`, in place of what is at `at`, as A8 allows.
fn map(at: *mut libc::c_void, bytes: usize, flags: i32, file: &OwnedFd, offset: usize) -> std::io::Result<usize> {
    let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | flags);
    // SAFETY: a new mapping, or A8.
    let mapped = unsafe { libc::mmap(at, bytes, protection, flags, file.as_raw_fd(), offset as libc::off_t) };
    if mapped == libc::MAP_FAILED { Err(std::io::Error::last_os_error()) } else { Ok(mapped as usize) }
}

fn checked(result: i32) -> std::io::Result<i32> {
    if result < 0 { Err(std::io::Error::last_os_error()) } else { Ok(result) }
}
