//! The stacks of all ranks in one mapping.
//!
//! A stack that is not used costs nothing, one that is used the pages that it has touched. Its lowest page is a guard: whoever runs into it
//! stops the process with a message that names the rank. A mapping for each guard would end at some 32,000 ranks (`vm.max_map_count`),
//! so guards are entries in the page table where the kernel has them (`MADV_GUARD_INSTALL`, Linux 6.13).
//!
//! Invariants of the unsafe code:
//!
//! - **S1** Stack `i` is the bytes `[i * bytes, (i + 1) * bytes)` of the mapping, above one guard page; nobody else has them.
//! - **S2** The mapping outlives every coroutine: it is shared by all stacks and unmapped with the last.
#![allow(unsafe_code)]

use std::num::NonZeroUsize;
use std::ptr::NonNull;
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};

use corosensei::stack::{Stack, StackPointer};
use rustix::mm::{Advice, MapFlags, MprotectFlags, ProtFlags};

use crate::SimulationError;

/// `MADV_GUARD_INSTALL` of Linux 6.13.
const GUARD_INSTALL: i32 = 102;

/// Guards that are mappings of their own: two of 65,530 that a process usually has for each, with as many left for the rest.
const MAPPED_GUARDS_MAX: u32 = 16_000;

/// Where the stacks of the running simulation lie, for the handler of faults: start, bytes of one, how many.
static ARENA: [AtomicUsize; 3] = [AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0)];

/// The stacks of so many ranks.
pub(crate) struct Stacks {
    arena: Rc<Arena>,
    bytes: usize,
}

/// The mapping.
struct Arena {
    start: NonNull<u8>,
    bytes: usize,
}

/// The stack of one rank.
pub(crate) struct RankStack {
    base: usize,
    limit: usize,
    _arena: Rc<Arena>,
}

impl Stacks {
    /// Room for `count` stacks of `bytes` bytes each, guard included.
    pub(crate) fn new(count: u32, bytes: usize) -> Result<Self, SimulationError> {
        let page = rustix::param::page_size();
        let bytes = bytes.next_multiple_of(page).max(4 * page);
        let refused = |source: rustix::io::Errno| SimulationError::Stacks { count, bytes, source: source.into() };
        let all = (count as usize).checked_mul(bytes).ok_or_else(|| refused(rustix::io::Errno::NOMEM))?;
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        // SAFETY: a fresh mapping at an address of the kernel's choice touches no memory in use.
        let start = unsafe { rustix::mm::mmap_anonymous(std::ptr::null_mut(), all, ProtFlags::READ | ProtFlags::WRITE, flags) }
            .map_err(refused)?;
        let start = NonNull::new(start.cast::<u8>()).expect("the kernel maps nothing at address 0");
        let arena = Rc::new(Arena { start, bytes: all });
        // SAFETY: S1: our own mapping; the advice changes no byte. Large pages would make each stack cost two megabytes.
        let _ = unsafe { rustix::mm::madvise(start.as_ptr().cast(), all, Advice::LinuxNoHugepage) };
        for index in 0..count {
            arena.guard(index as usize * bytes, page, index < MAPPED_GUARDS_MAX).map_err(refused)?;
        }
        for (place, value) in ARENA.iter().zip([start.as_ptr() as usize, bytes, count as usize]) {
            place.store(value, Ordering::SeqCst);
        }
        tell_overflows();
        Ok(Self { arena, bytes })
    }

    /// The stack of `rank`; nobody takes one twice while it is in use.
    pub(crate) fn of(&self, rank: u32) -> RankStack {
        let limit = self.arena.start.as_ptr() as usize + rank as usize * self.bytes;
        RankStack { base: limit + self.bytes, limit, _arena: self.arena.clone() }
    }
}

impl Arena {
    /// Makes the page at `offset` one that nobody can touch, by a mapping of its own only if `mapped`.
    fn guard(&self, offset: usize, page: usize, mapped: bool) -> rustix::io::Result<()> {
        // SAFETY: S1: a page of our own that no coroutine uses yet.
        unsafe {
            let at = self.start.as_ptr().add(offset).cast();
            if libc::madvise(at, page, GUARD_INSTALL) == 0 {
                return Ok(());
            }
            if mapped { rustix::mm::mprotect(at, page, MprotectFlags::empty()) } else { Err(rustix::io::Errno::NOMEM) }
        }
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        ARENA[2].store(0, Ordering::SeqCst);
        // SAFETY: S2: no stack is left.
        let _ = unsafe { rustix::mm::munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}

// SAFETY: S1 and S2: at least four pages, the lowest of which faults; page-aligned; mapped as long as `self` lives.
unsafe impl Stack for RankStack {
    fn base(&self) -> StackPointer {
        NonZeroUsize::new(self.base).expect("above the start of a mapping")
    }

    fn limit(&self) -> StackPointer {
        NonZeroUsize::new(self.limit).expect("inside a mapping")
    }
}

/// Has the process say which rank ran out of stack before it dies of that.
fn tell_overflows() {
    // SAFETY: all bytes zero are a valid `sigaction`; the handler has the signature that SA_SIGINFO asks for and is safe in a signal.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handle_fault as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        libc::sigaction(libc::SIGSEGV, &action, std::ptr::null_mut());
    }
}

/// Runs on the alternate stack that the standard library has given the thread; makes only calls that signals may make.
extern "C" fn handle_fault(_signal: i32, info: *mut libc::siginfo_t, _context: *mut libc::c_void) {
    // SAFETY: the kernel passes a valid record.
    let at = unsafe { (*info).si_addr() } as usize;
    let [start, bytes, count] = [0, 1, 2].map(|index: usize| ARENA[index].load(Ordering::SeqCst));
    if at >= start && bytes > 0 && (at - start) / bytes < count {
        say(b"pelago: rank ");
        say_number((at - start) / bytes);
        say(b" overflowed its stack of ");
        say_number(bytes / 1024);
        say(b" KiB: give each rank more, with --stack\n");
        // SAFETY: ends the process at once.
        unsafe { libc::_exit(1) };
    }
    // SAFETY: back to what the system does with a fault; the instruction faults again.
    unsafe { libc::signal(libc::SIGSEGV, libc::SIG_DFL) };
}

fn say(text: &[u8]) {
    // SAFETY: `text` is borrowed; a write is allowed in a signal.
    let _ = unsafe { libc::write(2, text.as_ptr().cast(), text.len()) };
}

fn say_number(mut number: usize) {
    let (mut digits, mut first) = ([0; 20], 20);
    while first == 20 || number > 0 {
        first -= 1;
        digits[first] = b'0' + (number % 10) as u8;
        number /= 10;
    }
    say(&digits[first..]);
}
