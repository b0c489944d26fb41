//! Memory in its own pages (invariant M1 of the crate).
#![allow(unsafe_code)]

use core::ffi::c_void;
use core::ptr::NonNull;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use rustix::io::Errno;
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, mmap_anonymous, munmap};
use rustix::process::{Resource, getrlimit};

use crate::{CellSlice, Cells, Pod};

/// Minimum size for which returning pages to the system is worth a system call.
const RELEASE_BYTES_MIN: usize = 64 * 1024;

/// The advice of Linux 6.1 to create a large page at once; musl's headers lack the name.
const MADV_COLLAPSE: libc::c_int = 25;

/// Bytes of a large page, which takes one address translation instead of those of 512 pages.
const LARGE_PAGE_BYTES: usize = 2 << 20;

impl<T: Pod> CellSlice<'_, T> {
    /// Asks the system to keep the elements in large pages of 2 MiB, as far as they fill whole ones; returns the number of bytes in such pages. The
    /// values are kept.
    ///
    /// For memory that is used entirely and often, but not sequentially: the translation of a small page for each of many single numbers takes
    /// longer than copying them. The call allocates pages that were never used. It costs some milliseconds per page, two to three
    /// times as much as the first use of small pages, and has no effect before Linux 6.1.
    pub fn use_large_pages(self) -> usize {
        let cells = self.cells();
        let start = cells.pointer().as_ptr();
        let skew = start.align_offset(LARGE_PAGE_BYTES);
        let pages = cells.bytes().saturating_sub(skew) / LARGE_PAGE_BYTES;
        if cfg!(miri) {
            return 0;
        }
        // Stops at the first page that the system cannot provide: the search for more takes long.
        let held = (0..pages).take_while(|page| {
            // The system does not collapse a large page without any allocated page.
            let first = cells.part((skew + page * LARGE_PAGE_BYTES) as u64, 1).expect("inside");
            first.read(&mut [0]);
            // SAFETY: M1: a whole page of memory that is mapped for as long as the cells are borrowed; the advice keeps what it holds.
            unsafe { libc::madvise(start.add(skew + page * LARGE_PAGE_BYTES).cast(), LARGE_PAGE_BYTES, MADV_COLLAPSE) == 0 }
        });
        held.count() * LARGE_PAGE_BYTES
    }
}

/// Creates a file in memory (memfd) with `bytes` bytes. It has a name in `/proc` only, and pages only where it is written.
///
/// # Errors
/// The kernel refuses; [`Errno::FBIG`] if the process may not have files of this length (`ulimit -f`). The kernel would end the process by a signal.
pub fn memory_file(name: &str, bytes: u64) -> rustix::io::Result<OwnedFd> {
    if getrlimit(Resource::Fsize).current.is_some_and(|allowed| bytes > allowed) {
        return Err(Errno::FBIG);
    }
    let file = memfd_create(name, MemfdFlags::CLOEXEC)?;
    ftruncate(&file, bytes)?;
    Ok(file)
}

/// Reserves addresses for the first `bytes` bytes of a file, aligned so that its large pages begin at large pages. Returns null, so that the
/// kernel chooses, if the bytes are fewer than one large page. The file's mapping replaces the reservation.
fn addresses(bytes: usize) -> rustix::io::Result<*mut c_void> {
    if bytes < LARGE_PAGE_BYTES {
        return Ok(core::ptr::null_mut());
    }
    let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
    // From libc: under valgrind rustix does not find it.
    // SAFETY: every system supports this query.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize;
    let pages = bytes.checked_next_multiple_of(page).ok_or(rustix::io::Errno::NOMEM)?;
    let reserved = pages.checked_add(LARGE_PAGE_BYTES).ok_or(rustix::io::Errno::NOMEM)?;
    // SAFETY: a fresh mapping at an address of the kernel's choice affects no memory in use; the unmapped parts of it were never used.
    unsafe {
        let start = mmap_anonymous(core::ptr::null_mut(), reserved, ProtFlags::empty(), flags)?;
        let skew = start.cast::<u8>().align_offset(LARGE_PAGE_BYTES);
        if skew > 0 {
            munmap(start, skew)?;
        }
        // Less than a large page was skipped, so a part of the reservation is left behind the pages.
        munmap(start.byte_add(skew + pages), LARGE_PAGE_BYTES - skew)?;
        Ok(start.byte_add(skew))
    }
}

/// Pages owned by this value: initially zero, unmapped when dropped.
#[derive(Debug)]
pub struct Mapping {
    pointer: NonNull<u8>,
    bytes: usize,
    /// The advice that returns whole pages to the system, so that they read as zeros.
    give_back: Advice,
}

/// The kernel refused a mapping.
#[derive(Debug, thiserror::Error)]
#[error("cannot map {bytes} bytes of memory: {source}; lower the heap (PELAGO_HEAP) or raise the limit (ulimit -v)")]
pub struct MappingError {
    bytes: usize,
    source: rustix::io::Errno,
}

// SAFETY: the pages belong to no thread; all access is by `Cells` (M4).
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps `bytes` bytes that only this process sees.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn private(bytes: usize) -> Result<Self, MappingError> {
        // Miri supports no other flags, and reserves nothing.
        let flags = if cfg!(miri) { MapFlags::PRIVATE } else { MapFlags::PRIVATE | MapFlags::NORESERVE };
        // SAFETY: a fresh mapping at an address of the kernel's choice affects no memory in use.
        let pointer = unsafe { mmap_anonymous(core::ptr::null_mut(), bytes, ProtFlags::READ | ProtFlags::WRITE, flags) };
        Self::from_kernel(pointer, bytes, Advice::LinuxDontNeed)
    }

    /// Maps the first `bytes` bytes of the file behind `file`, which is at least that long; all its mappings see the same bytes.
    ///
    /// Core dumps omit them, as most of them belong to other ranks. Unused pages cost nothing.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn shared(file: impl AsFd, bytes: usize) -> Result<Self, MappingError> {
        let place = addresses(bytes).map_err(|source| MappingError { bytes, source })?;
        let fixed = if place.is_null() { MapFlags::empty() } else { MapFlags::FIXED };
        let flags = MapFlags::SHARED | MapFlags::NORESERVE | fixed;
        // SAFETY: as in `private`, or at addresses that were reserved for it.
        let pointer = unsafe { mmap(place, bytes, ProtFlags::READ | ProtFlags::WRITE, flags, file, 0) };
        if pointer.is_err() && !place.is_null() {
            // SAFETY: nothing uses the addresses.
            let _ = unsafe { munmap(place, bytes) };
        }
        let mapping = Self::from_kernel(pointer, bytes, Advice::LinuxRemove)?;
        for advice in [Advice::LinuxDontDump, Advice::LinuxHugepage] {
            // SAFETY: the range was just mapped; neither advice changes its contents. A kernel may refuse either.
            let _ = unsafe { madvise(mapping.pointer.as_ptr().cast(), bytes, advice) };
        }
        Ok(mapping)
    }

    /// Returns all bytes.
    #[inline]
    pub fn cells(&self) -> Cells<'_> {
        // SAFETY: M1: mapped until `self` is dropped. M2: only cells ever refer to them.
        unsafe { Cells::new(self.pointer, self.bytes) }
    }

    /// Zeroes `bytes` bytes from `offset` on, and returns whole pages among them to the system, for all mappings of the file.
    ///
    /// # Panics
    /// The range reaches past the end.
    pub fn clear(&self, offset: u64, bytes: u64) {
        let cells = self.cells().part(offset, bytes).expect("the range is inside the mapping");
        let page = rustix::param::page_size();
        let skew = (cells.pointer().as_ptr() as usize).wrapping_neg() % page;
        let pages = cells.bytes().saturating_sub(skew) / page * page;
        let zero = |offset: usize, bytes: usize| {
            let part = cells.part(offset as u64, bytes as u64).expect("inside").elements::<u8>();
            part.expect("bytes are aligned").clear();
        };
        if pages < RELEASE_BYTES_MIN {
            return zero(0, cells.bytes());
        }
        zero(0, skew);
        zero(skew + pages, cells.bytes() - skew - pages);
        // SAFETY: M1; the range is whole pages of this mapping, which read as zeros afterwards: any bytes are valid (M3).
        let released = unsafe { madvise(cells.pointer().add(skew).as_ptr().cast(), pages, self.give_back) };
        if released.is_err() {
            zero(skew, pages);
        }
    }

    fn from_kernel(pointer: rustix::io::Result<*mut c_void>, bytes: usize, give_back: Advice) -> Result<Self, MappingError> {
        let pointer = pointer.map_err(|source| MappingError { bytes, source })?;
        Ok(Self { pointer: NonNull::new(pointer.cast()).expect("the kernel maps nothing at address 0"), bytes, give_back })
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: M1 ends here: cells borrow the mapping, so none is left.
        let unmapped = unsafe { munmap(self.pointer.as_ptr().cast(), self.bytes) };
        debug_assert!(unmapped.is_ok());
    }
}

// Miri supports neither files in memory nor the end of the address space.
#[cfg(all(test, not(miri)))]
mod tests {
    use super::*;
    use std::os::fd::AsRawFd;

    fn file(bytes: usize) -> OwnedFd {
        memory_file("pelago-test", bytes as u64).unwrap()
    }

    #[test]
    fn mappings_of_one_file_see_the_same_bytes() {
        let file = file(8192);
        let (one, other) = (Mapping::shared(&file, 8192).unwrap(), Mapping::shared(&file, 8192).unwrap());
        one.cells().part(5000, 3).unwrap().write(b"abc");
        let mut seen = [0; 3];
        other.cells().part(5000, 3).unwrap().read(&mut seen);
        assert_eq!(&seen, b"abc");
    }

    #[test]
    fn large_pages_hold_what_was_there_and_all_see_it() {
        const BYTES: usize = 5 << 20;
        let large_pages = |cells: Cells<'_>| cells.elements::<u8>().unwrap().use_large_pages();
        let file = file(BYTES);
        let (one, other) = (Mapping::shared(&file, BYTES).unwrap(), Mapping::shared(&file, BYTES).unwrap());
        for mapping in [&one, &other] {
            assert_eq!(mapping.cells().pointer().as_ptr().align_offset(LARGE_PAGE_BYTES), 0, "as in the file");
        }
        let all = |mapping: &Mapping| mapping.cells().elements::<u8>().unwrap().to_vec();
        let bytes: Vec<u8> = (0..BYTES).map(|at| (at / 1000 % 251) as u8).collect();
        one.cells().write(&bytes);
        // From the second page on: one large one.
        let large = large_pages(one.cells().part(4096, (BYTES - 4096) as u64).unwrap());
        assert!(large == 0 || large == LARGE_PAGE_BYTES, "{large}");
        assert!(all(&one) == bytes && all(&other) == bytes);
        other.cells().part(3 << 20, 3).unwrap().write(b"abc");
        assert_eq!(all(&one)[3 << 20..][..3], *b"abc");
        one.clear(0, BYTES as u64);
        assert!(all(&other).iter().all(|&byte| byte == 0));
        let again = large_pages(one.cells());
        assert!(again <= 2 * LARGE_PAGE_BYTES && again.is_multiple_of(LARGE_PAGE_BYTES), "as many as the system has: {again}");
        assert!(all(&other).iter().all(|&byte| byte == 0));
        assert_eq!(large_pages(one.cells().part(0, 4096).unwrap()), 0, "too few");
    }

    #[test]
    fn cleared_bytes_are_zero_and_their_neighbours_stay() {
        for mapping in [Mapping::shared(file(1 << 20), 1 << 20).unwrap(), Mapping::private(1 << 20).unwrap()] {
            for (offset, bytes) in [(100, 50), (5000, 300_000), (0, 1 << 20), (4096, 65536)] {
                let all = mapping.cells().elements::<u8>().unwrap();
                all.fill(7);
                mapping.clear(offset, bytes);
                let seen = all.to_vec();
                let expected = |at: u64| if (offset..offset + bytes).contains(&at) { 0 } else { 7 };
                assert!((0..1 << 20).all(|at| seen[at as usize] == expected(at)), "{bytes} bytes from {offset}");
            }
        }
    }

    #[test]
    fn whole_pages_that_are_cleared_go_back_to_the_system() {
        const BYTES: usize = 1 << 20;
        let file = file(BYTES);
        let mapping = Mapping::shared(&file, BYTES).unwrap();
        mapping.cells().elements::<u8>().unwrap().fill(7);
        let held = || rustix::fs::fstat(&file).unwrap().st_blocks as usize * 512;
        assert_eq!(held(), BYTES);
        mapping.clear(1, BYTES as u64 / 2);
        assert!(held() <= BYTES / 2 + 2 * rustix::param::page_size(), "{} bytes are held", held());
    }

    /// Returns the bytes of a mapping that are in large pages, as reported by the system.
    fn in_large_pages(mapping: &Mapping) -> usize {
        let areas = std::fs::read_to_string("/proc/self/smaps").unwrap();
        let start = format!("{:x}-", mapping.cells().pointer().as_ptr() as usize);
        let area = areas.lines().skip_while(|line| !line.starts_with(&start));
        let mut held = area.filter_map(|line| line.strip_prefix("ShmemPmdMapped:"));
        held.next().unwrap().trim().trim_end_matches(" kB").parse::<usize>().unwrap() * 1024
    }

    /// Whether the system has a large page now.
    fn has_large_pages() -> bool {
        let mapping = Mapping::shared(file(LARGE_PAGE_BYTES), LARGE_PAGE_BYTES).unwrap();
        mapping.cells().part(0, 1).unwrap().write(&[1]);
        let start = mapping.cells().pointer().as_ptr().cast();
        // SAFETY: M1: a whole page of a mapping; the advice keeps what it holds.
        unsafe { libc::madvise(start, LARGE_PAGE_BYTES, libc::MADV_COLLAPSE) == 0 }
    }

    #[test]
    fn whole_large_pages_are_used_where_the_system_has_them() {
        const BYTES: usize = 3 * LARGE_PAGE_BYTES;
        // Another process may take the system's last large pages meanwhile.
        for _ in 0..20 {
            let (one, three) = (Mapping::shared(file(BYTES), BYTES).unwrap(), Mapping::shared(file(BYTES), BYTES).unwrap());
            let large_pages = |mapping: &Mapping, offset: usize, bytes: usize| {
                let part = mapping.cells().part(offset as u64, bytes as u64).unwrap();
                part.elements::<u8>().unwrap().use_large_pages() / LARGE_PAGE_BYTES
            };
            let used = [large_pages(&one, 4096, BYTES - 8192), large_pages(&three, 0, BYTES)];
            let held = [&one, &three].map(|mapping| in_large_pages(mapping) / LARGE_PAGE_BYTES);
            if (used, held) == ([1, 3], [1, 3]) || !has_large_pages() {
                return;
            }
        }
        panic!("large pages are there and are not used");
    }

    #[test]
    fn mappings_of_a_large_page_and_more_begin_at_one() {
        for bytes in [LARGE_PAGE_BYTES, LARGE_PAGE_BYTES + 1] {
            let file = file(bytes);
            // Another mapping just before it makes the system's own choice unaligned.
            let _small = Mapping::shared(&file, 4096).unwrap();
            let mapping = Mapping::shared(&file, bytes).unwrap();
            assert_eq!(mapping.cells().pointer().as_ptr().align_offset(LARGE_PAGE_BYTES), 0, "{bytes} bytes");
        }
    }

    /// Returns the number of bytes of this process's address space in use.
    fn taken() -> usize {
        let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
        pages.split(' ').next().unwrap().parse::<usize>().unwrap() * rustix::param::page_size()
    }

    /// Other tests run concurrently, and each thread takes addresses; the leak that this test detects would be larger.
    #[test]
    fn no_addresses_are_taken_but_those_of_the_bytes() {
        const TIMES: usize = 4096;
        const OTHERS_BYTES: usize = 3 << 30;
        // A size for which each mapping begins at a different offset in a large page of the free addresses.
        const BYTES: usize = LARGE_PAGE_BYTES + 4096;
        let file = file(BYTES);
        let reader = std::fs::File::open("/proc/self/fd/".to_owned() + &file.as_raw_fd().to_string()).unwrap();
        let before = taken();
        let kept: Vec<_> = (0..TIMES).map(|_| Mapping::shared(&file, BYTES).unwrap()).collect();
        assert!(taken() - before < TIMES * BYTES + OTHERS_BYTES);
        drop(kept);
        for _ in 0..TIMES {
            drop(Mapping::shared(&file, BYTES).unwrap());
            drop(Mapping::private(BYTES).unwrap());
            assert!(Mapping::shared(&reader, BYTES).is_err(), "it may only be read");
        }
        assert!(taken() < before + OTHERS_BYTES);
    }

    #[test]
    fn more_than_the_address_space_is_an_error() {
        let error = Mapping::private(1 << 60).unwrap_err();
        assert!(error.to_string().contains("PELAGO_HEAP"), "{error}");
    }
}
