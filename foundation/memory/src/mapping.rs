//! Memory of its own pages (invariant M1 of the crate).
#![allow(unsafe_code)]

use core::ffi::c_void;
use core::ptr::NonNull;
use std::os::fd::AsFd;

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, mmap_anonymous, munmap};

use crate::Cells;

/// Pages that belong to this value: zeros at first, unmapped when dropped.
#[derive(Debug)]
pub struct Mapping {
    pointer: NonNull<u8>,
    bytes: usize,
}

/// The kernel refused a mapping.
#[derive(Debug, thiserror::Error)]
#[error("cannot map {bytes} bytes of memory: {source}; lower the heap (PELAGO_HEAP) or raise the limit (ulimit -v)")]
pub struct MappingError {
    bytes: usize,
    source: rustix::io::Errno,
}

// SAFETY: the pages belong to no thread; access to them is by `Cells` (M4).
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// `bytes` bytes that only this process sees.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn private(bytes: usize) -> Result<Self, MappingError> {
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        // SAFETY: a fresh mapping at an address of the kernel's choice touches no memory in use.
        let pointer = unsafe { mmap_anonymous(core::ptr::null_mut(), bytes, ProtFlags::READ | ProtFlags::WRITE, flags) };
        Self::from_kernel(pointer, bytes)
    }

    /// The first `bytes` bytes of the file behind `file`, which is at least that long; all its mappings see the same bytes.
    ///
    /// Core dumps leave them out, as most of them belong to other ranks. Pages that nobody touches cost nothing.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn shared(file: impl AsFd, bytes: usize) -> Result<Self, MappingError> {
        let flags = MapFlags::SHARED | MapFlags::NORESERVE;
        // SAFETY: as in `private`.
        let pointer = unsafe { mmap(core::ptr::null_mut(), bytes, ProtFlags::READ | ProtFlags::WRITE, flags, file, 0) };
        let mapping = Self::from_kernel(pointer, bytes)?;
        for advice in [Advice::LinuxDontDump, Advice::LinuxHugepage] {
            // SAFETY: the range was just mapped; neither advice changes what the bytes hold. A kernel may refuse either.
            let _ = unsafe { madvise(mapping.pointer.as_ptr().cast(), bytes, advice) };
        }
        Ok(mapping)
    }

    /// All bytes.
    #[inline]
    pub fn cells(&self) -> Cells<'_> {
        // SAFETY: M1: mapped until `self` is dropped. M2: only cells are ever made to them.
        unsafe { Cells::new(self.pointer, self.bytes) }
    }

    fn from_kernel(pointer: rustix::io::Result<*mut c_void>, bytes: usize) -> Result<Self, MappingError> {
        let pointer = pointer.map_err(|source| MappingError { bytes, source })?;
        Ok(Self { pointer: NonNull::new(pointer.cast()).expect("the kernel maps nothing at address 0"), bytes })
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: M1 ends here: cells borrow the mapping, so none is left.
        let unmapped = unsafe { munmap(self.pointer.as_ptr().cast(), self.bytes) };
        debug_assert!(unmapped.is_ok());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mappings_of_one_file_see_the_same_bytes() {
        let file = rustix::fs::memfd_create("pelago-test", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
        rustix::fs::ftruncate(&file, 8192).unwrap();
        let (one, other) = (Mapping::shared(&file, 8192).unwrap(), Mapping::shared(&file, 8192).unwrap());
        one.cells().part(5000, 3).unwrap().write(b"abc");
        let mut seen = [0; 3];
        other.cells().part(5000, 3).unwrap().read(&mut seen);
        assert_eq!(&seen, b"abc");
    }

    #[test]
    fn more_than_the_address_space_is_an_error() {
        let error = Mapping::private(1 << 60).unwrap_err();
        assert!(error.to_string().contains("PELAGO_HEAP"), "{error}");
    }
}
