//! Two mappings of the copy of a region: the inner one, which the library reads and writes, and the outer one, in which the program sees the pages
//! that the library has shown.
//!
//! - **W1** Both mappings of the file have whole pages for all elements, and each exists as long as its value. Elements are plain old data: any bytes
//!   are a valid element.
//! - **W2** Elements of a mapping are borrowed only from the value that owns it, so that Rust's rules of borrowing hold within one mapping.
//! - **W3** A page is hidden from the program at first. A thread that touches a hidden page stops until the page is shown; the access has no other
//!   effect. So a reference sees the same content from its first access to its last, if only the program changes visible pages.
//! - **W4** Only the program changes visible pages: the inner mapping writes a page only while it is hidden, or while no reference borrows from the
//!   outer mapping. Hiding or protecting a page takes `&mut` of the outer mapping.
#![allow(unsafe_code)]

use core::ffi::c_void;
use core::hint::black_box;
use core::marker::PhantomData;
use core::ops::Range;
use core::ptr::NonNull;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use pelago_memory::memory_file;
use pelago_rma::Pod;
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::io::Errno;
use rustix::ioctl::{Opcode, Updater, ioctl, opcode};
use rustix::mm::{Advice, MapFlags, ProtFlags, UserfaultfdFlags, madvise, mmap, munmap, userfaultfd};

use super::reached::Access;

/// The interface of `userfaultfd` (linux/userfaultfd.h), as far as it is used here.
const UFFDIO: u8 = 0xaa;
const API: Opcode = opcode::read_write::<Api>(UFFDIO, 0x3f);
const REGISTER: Opcode = opcode::read_write::<Register>(UFFDIO, 0x00);
const WAKE: Opcode = opcode::read::<Span>(UFFDIO, 0x02);
const WRITE_PROTECT: Opcode = opcode::read_write::<Mode>(UFFDIO, 0x06);
const CONTINUE: Opcode = opcode::read_write::<Continue>(UFFDIO, 0x07);

const USER_MODE_ONLY: u32 = 1;
const API_VERSION: u64 = 0xaa;
const FEATURE_MISSING_SHMEM: u64 = 1 << 5;
const FEATURE_MINOR_SHMEM: u64 = 1 << 10;
const FEATURE_WP_SHMEM: u64 = 1 << 12;
/// Since Linux 6.4, as are pages that are protected from the moment when they are shown.
const FEATURE_WP_UNPOPULATED: u64 = 1 << 13;
const REGISTER_MISSING_WP_MINOR: u64 = 1 | 2 | 4;
const CONTINUE_PROTECTED: u64 = 2;
const PROTECT: u64 = 1;
const EVENT_PAGEFAULT: u8 = 0x12;
const FLAG_WRITE: u64 = 1;
const FLAG_PROTECTED: u64 = 2;
const MESSAGE_BYTES: usize = 32;

#[repr(C)]
struct Api {
    version: u64,
    features: u64,
    ioctls: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct Span {
    start: u64,
    bytes: u64,
}

#[repr(C)]
struct Register {
    span: Span,
    mode: u64,
    ioctls: u64,
}

#[repr(C)]
struct Mode {
    span: Span,
    mode: u64,
}

#[repr(C)]
struct Continue {
    span: Span,
    mode: u64,
    mapped: i64,
}

/// A page fault, at which a thread of the program waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) page: usize,
    pub(super) write: bool,
    /// Whether the page is visible but write-protected.
    pub(super) is_protected: bool,
}

/// The inner mapping: the elements as the library reads and writes them.
pub(in crate::region) struct Inner<T> {
    map: Map,
    length: usize,
    _elements: PhantomData<T>,
}

/// The outer mapping: the elements as the program reads and writes them.
pub(super) struct Outer<T> {
    /// Declared first, so that it is closed before the mapping ends and no thread waits at a page that is never shown.
    faults: Arc<OwnedFd>,
    map: Map,
    length: usize,
    page_bytes: usize,
    _elements: PhantomData<T>,
}

/// Receives page faults and shows pages to the program.
pub(super) struct Door {
    faults: Arc<OwnedFd>,
    bell: Arc<OwnedFd>,
    start: u64,
    bytes: u64,
    page_bytes: u64,
}

/// Ends the wait of a [`Door`].
pub(super) struct Bell(Arc<OwnedFd>);

/// Both mappings of a copy, with its [`Door`] and [`Bell`].
pub(super) struct Twofold<T> {
    pub(super) inner: Inner<T>,
    pub(super) outer: Outer<T>,
    pub(super) door: Door,
    pub(super) bell: Bell,
}

/// Creates the mappings of `length` elements, all of which are zero.
///
/// # Errors
/// A line that names the feature that the system lacks or forbids.
pub(super) fn map<T: Pod>(length: usize) -> Result<Twofold<T>, &'static str> {
    const NO_MEMORY: &str = "the system has no memory for the copy of a region with page faults";
    let page_bytes = rustix::param::page_size();
    if align_of::<T>() > page_bytes {
        return Err("elements of a region with page faults are aligned to a page of memory at most");
    }
    let bytes = length.checked_mul(size_of::<T>()).and_then(|bytes| bytes.max(1).checked_next_multiple_of(page_bytes));
    let bytes = bytes.ok_or(NO_MEMORY)?;
    let file = memory_file("pelago-region", bytes as u64).map_err(|error| match error {
        Errno::FBIG => "a region with page faults is a file in memory, which is longer than allowed (ulimit -f)",
        _ => NO_MEMORY,
    })?;
    let faults = Arc::new(listen()?);
    let inner = Inner { map: Map::new(&file, bytes).map_err(|_| NO_MEMORY)?, length, _elements: PhantomData };
    let map = Map::new(&file, bytes).map_err(|_| NO_MEMORY)?;
    let outer = Outer { faults: faults.clone(), map, length, page_bytes, _elements: PhantomData };
    let span = Span { start: outer.map.start.as_ptr() as u64, bytes: bytes as u64 };
    let mut register = Register { span, mode: REGISTER_MISSING_WP_MINOR, ioctls: 0 };
    order::<REGISTER, _>(&faults, &mut register).map_err(|_| "the system refuses to tell of page faults in shared memory")?;
    let bell = Arc::new(eventfd(0, EventfdFlags::CLOEXEC).map_err(|_| "the system has no descriptor left")?);
    let door = Door { faults, bell: bell.clone(), start: span.start, bytes: span.bytes, page_bytes: page_bytes as u64 };
    Ok(Twofold { inner, outer, door, bell: Bell(bell) })
}

impl<T: Pod> Inner<T> {
    #[inline]
    pub(in crate::region) fn elements(&self) -> &[T] {
        // SAFETY: W1, W2.
        unsafe { core::slice::from_raw_parts(self.map.start.as_ptr().cast(), self.length) }
    }

    /// The caller does not write visible pages while the program borrows them (W4).
    #[inline]
    pub(in crate::region) fn elements_mut(&mut self) -> &mut [T] {
        // SAFETY: W1, W2.
        unsafe { core::slice::from_raw_parts_mut(self.map.start.as_ptr().cast(), self.length) }
    }
}

impl<T: Pod> Outer<T> {
    #[inline]
    pub(super) fn elements(&self) -> &[T] {
        // SAFETY: W1, W2; W3 and W4 for concurrent accesses of the library.
        unsafe { core::slice::from_raw_parts(self.map.start.as_ptr().cast(), self.length) }
    }

    #[inline]
    pub(super) fn elements_mut(&mut self) -> &mut [T] {
        // SAFETY: W1, W2; W3 and W4 for concurrent accesses of the library.
        unsafe { core::slice::from_raw_parts_mut(self.map.start.as_ptr().cast(), self.length) }
    }

    /// Write-protects visible pages, so that the next write faults; hides them if they cannot be protected.
    pub(super) fn protect(&mut self, pages: Range<usize>) {
        let span = Span { start: self.page(pages.start) as u64, bytes: (pages.len() * self.page_bytes) as u64 };
        if order::<WRITE_PROTECT, _>(&self.faults, &mut Mode { span, mode: PROTECT }).is_err() {
            self.hide(pages);
        }
    }

    /// Hides pages; their contents stay in the file.
    pub(super) fn hide(&mut self, pages: Range<usize>) {
        let start = self.page(pages.start) as *mut c_void;
        // SAFETY: W1; the file keeps the bytes, so that they are the same when the pages are shown again.
        let hidden = unsafe { madvise(start, pages.len() * self.page_bytes, Advice::LinuxDontNeed) };
        hidden.expect("whole pages of a mapping that is there");
    }

    fn page(&self, page: usize) -> usize {
        let start = page * self.page_bytes;
        assert!(start < self.map.bytes, "page {page} is of this region");
        self.map.start.as_ptr() as usize + start
    }
}

impl Door {
    /// Waits for the next fault; returns `None` after the bell has rung.
    pub(super) fn next(&self) -> Option<Fault> {
        loop {
            let mut either = [PollFd::new(&self.faults, PollFlags::IN), PollFd::new(&self.bell, PollFlags::IN)];
            match poll(&mut either, None) {
                Ok(_) if !either[1].revents().is_empty() => return None,
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => panic!("cannot wait for page faults: {error}"),
            }
            let mut message = [0; MESSAGE_BYTES];
            // Nothing to read: the faulting thread has already continued.
            let Ok(MESSAGE_BYTES) = rustix::io::read(&self.faults, &mut message) else { continue };
            let word = |at: usize| u64::from_ne_bytes(message[at..at + 8].try_into().expect("eight bytes"));
            let (flags, address) = (word(8), word(16));
            if message[0] == EVENT_PAGEFAULT && (self.start..self.start + self.bytes).contains(&address) {
                let page = ((address - self.start) / self.page_bytes) as usize;
                return Some(Fault { page, write: flags & FLAG_WRITE != 0, is_protected: flags & FLAG_PROTECTED != 0 });
            }
        }
    }

    /// Shows the page of a fault with the contents of `inner`; if the page is write-protected, makes it and visible pages behind it writable.
    pub(super) fn show<T: Pod>(&self, fault: Fault, pages: Range<usize>, access: Access, inner: &Inner<T>) {
        debug_assert!(pages.start == fault.page && (pages.len() == 1 || fault.is_protected));
        let span = self.span(&pages);
        let shown = match (fault.is_protected, access) {
            (true, Access::Write) => order::<WRITE_PROTECT, _>(&self.faults, &mut Mode { span, mode: 0 }),
            (true, _) => Err(Errno::EXIST),
            (false, access) => {
                inner.map.touch(fault.page * self.page_bytes as usize);
                let mode = if access == Access::Write { 0 } else { CONTINUE_PROTECTED };
                order::<CONTINUE, _>(&self.faults, &mut Continue { span, mode, mapped: 0 })
            }
        };
        match shown {
            Ok(()) => {}
            // Another thread's fault has shown the page meanwhile.
            Err(Errno::EXIST) => self.wake(fault),
            Err(error) => panic!("cannot show a page of a region: {error}"),
        }
    }

    /// Wakes the threads that wait at a page, which then repeat the access.
    pub(super) fn wake(&self, fault: Fault) {
        order::<WAKE, _>(&self.faults, &mut self.span(&(fault.page..fault.page + 1))).expect("the page is there");
    }

    fn span(&self, pages: &Range<usize>) -> Span {
        Span { start: self.start + pages.start as u64 * self.page_bytes, bytes: pages.len() as u64 * self.page_bytes }
    }
}

impl Bell {
    pub(super) fn ring(&self) {
        // A full counter also wakes the reader.
        let _ = rustix::io::write(&self.0, &1_u64.to_ne_bytes());
    }
}

/// A mapping of a file.
struct Map {
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the pages belong to no thread; they are reached only by borrowing the value that owns the mapping (W2).
unsafe impl Send for Map {}
// SAFETY: as above.
unsafe impl Sync for Map {}

impl Map {
    fn new(file: &OwnedFd, bytes: usize) -> rustix::io::Result<Self> {
        let flags = MapFlags::SHARED | MapFlags::NORESERVE;
        // SAFETY: a fresh mapping at an address of the kernel's choice touches no memory in use.
        let start = unsafe { mmap(core::ptr::null_mut(), bytes, ProtFlags::READ | ProtFlags::WRITE, flags, file, 0) }?;
        let start: NonNull<u8> = NonNull::new(start.cast()).expect("the kernel maps nothing at address 0");
        // SAFETY: the range was just mapped, and the advice does not change it. A core dump would stop at hidden pages.
        let _ = unsafe { madvise(start.as_ptr().cast(), bytes, Advice::LinuxDontDump) };
        Ok(Self { start, bytes })
    }

    /// Makes the file allocate the page of a byte.
    fn touch(&self, byte: usize) {
        assert!(byte < self.bytes, "inside");
        // SAFETY: W1; no thread writes to the page meanwhile, as it is hidden.
        black_box(unsafe { self.start.as_ptr().add(byte).read() });
    }
}

impl Drop for Map {
    fn drop(&mut self) {
        // SAFETY: W2: elements borrow from the owner of the mapping, so no reference is left.
        let unmapped = unsafe { munmap(self.start.as_ptr().cast(), self.bytes) };
        debug_assert!(unmapped.is_ok());
    }
}

/// Creates a descriptor that reports faults, including faults of the kernel's own accesses where that is permitted.
fn listen() -> Result<OwnedFd, &'static str> {
    const NONE: &str = "page faults need userfaultfd of Linux 6.4 or later, which this system lacks: use Region::new";
    const FORBIDDEN: &str =
        "page faults need userfaultfd, which this system forbids (a filter of system calls?): use Region::new";
    let flags = UserfaultfdFlags::CLOEXEC | UserfaultfdFlags::NONBLOCK;
    let user_mode = flags | UserfaultfdFlags::from_bits_retain(USER_MODE_ONLY);
    // SAFETY: only this module uses the descriptor, for its own mapping.
    let made = unsafe { userfaultfd(flags).or_else(|_| userfaultfd(user_mode)) };
    let faults = made.map_err(|error| if matches!(error, Errno::PERM | Errno::ACCESS) { FORBIDDEN } else { NONE })?;
    let features = FEATURE_MISSING_SHMEM | FEATURE_MINOR_SHMEM | FEATURE_WP_SHMEM | FEATURE_WP_UNPOPULATED;
    order::<API, _>(&faults, &mut Api { version: API_VERSION, features, ioctls: 0 }).map_err(|_| NONE)?;
    Ok(faults)
}

/// Issues an `ioctl` of `userfaultfd`; repeats it while the kernel returns `EAGAIN` or `EINTR`.
fn order<const CODE: Opcode, T>(faults: &impl AsFd, what: &mut T) -> rustix::io::Result<()> {
    loop {
        // SAFETY: each code contains the size of its argument type; the pages of the argument belong to a mapping that is registered for faults (W1, W3).
        match unsafe { ioctl(faults, Updater::<CODE, T>::new(what)) } {
            Err(Errno::AGAIN | Errno::INTR) => {}
            done => return done,
        }
    }
}
