//! The stacks of all ranks, in the mapping of their memory.
//!
//! A stack that is not used costs nothing, one that is used the pages that it has touched. Its lowest page is a guard: whoever runs into it
//! stops the process with a message that names the rank. A mapping for each guard would end at some 32,000 ranks (`vm.max_map_count`),
//! so guards are entries in the page table where the kernel has them (`MADV_GUARD_INSTALL`, Linux 6.13).
//!
//! Invariants of the unsafe code:
//!
//! - **S1** Stack `i` is the bytes `Memory::stack(i)` of the mapping, with one guard page below; nobody else has them, as heaps end before and
//!   begin after.
//! - **S2** The mapping outlives every coroutine: a stack borrows the `Stacks`, which own a share of it.
#![allow(unsafe_code)]

use std::marker::PhantomData;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use corosensei::stack::{Stack, StackPointer};
use pelago_memory::Mapping;
use rustix::mm::{Advice, MprotectFlags};

use crate::SimulationError;
use crate::memory::Memory;

/// `MADV_GUARD_INSTALL` of Linux 6.13.
const GUARD_INSTALL: i32 = 102;

/// Guards that are mappings of their own: two of 65,530 that a process usually has for each, with as many left for the rest.
const MAPPED_GUARDS_MAX: u32 = 16_000;

/// The least stack: a guard, and three pages.
pub(crate) const STACK_BYTES_MIN: usize = 16 << 10;

/// Room for the handler of faults.
const SIGNAL_STACK_BYTES: usize = 64 << 10;

/// Where the stacks of the running simulation lie, for the handler of faults: the first, bytes of one, bytes from one to the next, how many.
static ARENA: [AtomicUsize; 4] = [const { AtomicUsize::new(0) }; 4];

/// The stacks of all ranks of a memory.
pub(crate) struct Stacks {
    mapping: Arc<Mapping>,
    /// Where the first begins, and the bytes from one to the next.
    first: usize,
    step: usize,
    bytes: usize,
}

/// The stack of one rank.
pub(crate) struct RankStack<'s> {
    base: usize,
    limit: usize,
    stacks: PhantomData<&'s Stacks>,
}

impl Stacks {
    /// The stacks of `count` ranks, of [`STACK_BYTES_MIN`] bytes at least, with their guards.
    pub(crate) fn new(memory: &Memory, count: u32) -> Result<Self, SimulationError> {
        let page = rustix::param::page_size();
        let (first, second) = (memory.stack(0), memory.stack(1));
        let bytes = first.len();
        let refused = |source: rustix::io::Errno| SimulationError::Stacks { count, bytes, source: source.into() };
        let mapping = memory.mapping().clone();
        let start = mapping.cells().pointer().as_ptr();
        let stacks = Self { first: start as usize + first.start, step: second.start - first.start, bytes, mapping };
        // SAFETY: S1: our own mapping; the advice changes no byte. Large pages would make each rank cost two megabytes.
        let _ = unsafe { rustix::mm::madvise(start.cast(), stacks.mapping.cells().bytes(), Advice::LinuxNoHugepage) };
        for index in 0..count {
            guard(stacks.of(index).limit, page, index < MAPPED_GUARDS_MAX).map_err(refused)?;
        }
        for (place, value) in ARENA.iter().zip([stacks.first, bytes, stacks.step, count as usize]) {
            place.store(value, Ordering::SeqCst);
        }
        tell_overflows();
        Ok(stacks)
    }

    /// The stack of `rank`; nobody takes one twice while it is in use.
    pub(crate) fn of(&self, rank: u32) -> RankStack<'_> {
        let limit = self.first + rank as usize * self.step;
        RankStack { base: limit + self.bytes, limit, stacks: PhantomData }
    }
}

/// Makes the page at `address` one that nobody can touch, by a mapping of its own only if `mapped`.
fn guard(address: usize, page: usize, mapped: bool) -> rustix::io::Result<()> {
    let at = std::ptr::with_exposed_provenance_mut(address);
    // SAFETY: S1: a page of our own that no coroutine uses yet.
    unsafe {
        if libc::madvise(at, page, GUARD_INSTALL) == 0 {
            return Ok(());
        }
        if mapped { rustix::mm::mprotect(at, page, MprotectFlags::empty()) } else { Err(rustix::io::Errno::NOMEM) }
    }
}

impl Drop for Stacks {
    fn drop(&mut self) {
        ARENA[3].store(0, Ordering::SeqCst);
    }
}

// SAFETY: S1 and S2: at least three pages and a quarter, the lowest of which faults; aligned for any frame; mapped as long as `self` lives.
unsafe impl Stack for RankStack<'_> {
    fn base(&self) -> StackPointer {
        NonZeroUsize::new(self.base).expect("above the start of a mapping")
    }

    fn limit(&self) -> StackPointer {
        NonZeroUsize::new(self.limit).expect("inside a mapping")
    }
}

/// Has the process say which rank ran out of stack before it dies of that.
fn tell_overflows() {
    has_own_stack_for_signals();
    // SAFETY: all bytes zero are a valid `sigaction`; the handler has the signature that SA_SIGINFO asks for and is safe in a signal.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handle_fault as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        libc::sigaction(libc::SIGSEGV, &action, std::ptr::null_mut());
    }
}

/// Gives the thread a stack for signals, if it has none: the standard library gives one to threads of programs in Rust alone.
fn has_own_stack_for_signals() {
    // SAFETY: all bytes zero are a valid record; the kernel fills it; the new stack lives as long as the process.
    unsafe {
        let mut stack: libc::stack_t = std::mem::zeroed();
        if libc::sigaltstack(std::ptr::null(), &mut stack) == 0 && stack.ss_flags & libc::SS_DISABLE != 0 {
            let memory = vec![0u8; SIGNAL_STACK_BYTES].leak();
            stack = libc::stack_t { ss_sp: memory.as_mut_ptr().cast(), ss_flags: 0, ss_size: memory.len() };
            libc::sigaltstack(&stack, std::ptr::null_mut());
        }
    }
}

/// Runs on a stack of its own; makes only calls that signals may make.
extern "C" fn handle_fault(_signal: i32, info: *mut libc::siginfo_t, _context: *mut libc::c_void) {
    // SAFETY: the kernel passes a valid record.
    let at = unsafe { (*info).si_addr() } as usize;
    let [first, bytes, step, count] = [0, 1, 2, 3].map(|index: usize| ARENA[index].load(Ordering::SeqCst));
    if count > 0 && at >= first && (at - first) / step < count && (at - first) % step < bytes {
        say(b"pelago: rank ");
        say_number((at - first) / step);
        say(b" overflowed its stack of ");
        // The rest of its last page is the heap's.
        say_number(bytes.next_multiple_of(4096) / 1024);
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
