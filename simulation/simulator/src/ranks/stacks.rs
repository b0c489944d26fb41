//! The stacks of all ranks, in the mapping of their memory.
//!
//! A stack takes only the pages that it has touched. Its lowest page is a guard: the handler of faults (`crash`) names a rank that runs into it.
//! Guards that are separate mappings would limit a job to some 32,000 ranks (`vm.max_map_count`),
//! so guards are entries in the page table if the kernel supports them (`MADV_GUARD_INSTALL`, Linux 6.13).
//!
//! Alternatively, all ranks run on one stack, with one guard (`shared_stack`).
//!
//! Invariants of the unsafe code:
//!
//! - **S1** Stack `i` is the bytes `RankMemory::stack(i)` of the mapping, with one guard page below; nothing else uses them, as heaps end before and
//!   begin after.
//! - **S2** The mapping outlives every coroutine: a stack borrows the `Stacks`, which own a share of it.
#![allow(unsafe_code)]

use std::marker::PhantomData;
use std::num::NonZeroUsize;
use std::sync::Arc;

use corosensei::stack::{Stack, StackPointer};
use pelago_memory::Mapping;
use rustix::mm::{Advice, MprotectFlags};

use crate::error::SimulationError;
use crate::memory::RankMemory;
use crate::ranks::status::SimulationStatus;
use crate::shared_stack::SharedStack;

/// `MADV_GUARD_INSTALL` of Linux 6.13.
const GUARD_INSTALL: i32 = 102;

/// Maximum number of guard pages that are separate mappings. Each takes two of the 65,530 mappings of a process; as many remain for other
/// purposes.
const MAPPED_GUARDS_MAX: u32 = 16_000;

/// Minimum size in bytes of a stack: a guard, and three pages.
pub(crate) const STACK_BYTES_MIN: usize = 16 << 10;

/// The stacks of all ranks of a memory.
pub(crate) struct Stacks {
    mapping: Arc<Mapping>,
    /// The beginning of the first stack, and the distance in bytes from one to the next.
    first: usize,
    step: usize,
    bytes: usize,
    /// The one stack of all ranks, if they share one.
    shared: Option<Arc<SharedStack>>,
}

/// The stack of one rank.
pub(crate) struct RankStack<'s> {
    base: usize,
    limit: usize,
    stacks: PhantomData<&'s Stacks>,
}

impl Stacks {
    /// Makes the stacks of `count` ranks, of [`STACK_BYTES_MIN`] bytes at least, with their guards, and registers them with `status`.
    pub(crate) fn new(memory: &RankMemory, count: u32, status: &SimulationStatus) -> Result<Self, SimulationError> {
        let page = rustix::param::page_size();
        let (first, second) = (memory.stack(0), memory.stack(1));
        let bytes = first.len();
        let refused = |source: rustix::io::Errno| SimulationError::Stacks { count, bytes, source: source.into() };
        let mapping = memory.mapping().clone();
        let start = mapping.cells().pointer().as_ptr();
        let stacks = Self { first: start as usize + first.start, step: second.start - first.start, bytes, mapping, shared: None };
        stacks.avoid_large_pages();
        for index in 0..count {
            guard(stacks.of(index).limit, page, index < MAPPED_GUARDS_MAX).map_err(refused)?;
        }
        status.has_stacks([stacks.first, stacks.step, bytes, page, count as usize]);
        Ok(stacks)
    }

    /// Makes one stack for all ranks, and registers it with `memory` and `status`.
    pub(crate) fn one(memory: &mut RankMemory, status: &SimulationStatus) -> Result<Self, SimulationError> {
        let shared = memory.share_stack()?;
        let (base, limit) = shared.bounds();
        let (bytes, page, mapping) = (base - limit, rustix::param::page_size(), memory.mapping().clone());
        let refused = |source: rustix::io::Errno| SimulationError::Stacks { count: 1, bytes, source: source.into() };
        guard(limit, page, true).map_err(refused)?;
        status.has_stacks([limit, 0, bytes, page, u32::MAX as usize]);
        let stacks = Self { first: limit, step: 0, bytes, mapping, shared: Some(shared) };
        stacks.avoid_large_pages();
        Ok(stacks)
    }

    /// Disables large pages, with which each rank would take two megabytes.
    fn avoid_large_pages(&self) {
        let cells = self.mapping.cells();
        // SAFETY: S1: our own mapping; the advice changes no byte.
        let _ = unsafe { rustix::mm::madvise(cells.pointer().as_ptr().cast(), cells.bytes(), Advice::LinuxNoHugepage) };
    }

    /// The one stack of all ranks, if they share one.
    pub(crate) fn shared(&self) -> Option<&SharedStack> {
        self.shared.as_deref()
    }

    /// Returns the stack of `rank`. A caller must not take one twice while it is in use; of a shared stack, only that of the owner.
    pub(crate) fn of(&self, rank: u32) -> RankStack<'_> {
        let limit = self.first + rank as usize * self.step;
        RankStack { base: limit + self.bytes, limit, stacks: PhantomData }
    }
}

/// Makes the page at `address` inaccessible; uses a separate mapping only if `mapped`.
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

// SAFETY: S1 and S2: at least three and a quarter pages, the lowest of which faults; aligned for any frame; mapped as long as `self` lives.
unsafe impl Stack for RankStack<'_> {
    fn base(&self) -> StackPointer {
        NonZeroUsize::new(self.base).expect("above the start of a mapping")
    }

    fn limit(&self) -> StackPointer {
        NonZeroUsize::new(self.limit).expect("inside a mapping")
    }
}

/// The stack of a thread other than a rank's first: a mapping of its own, with a guard below.
pub(crate) struct ThreadStack(Mapping);

impl ThreadStack {
    /// Allocates a stack of `bytes` bytes.
    pub(crate) fn new(bytes: usize) -> std::io::Result<Self> {
        let page = rustix::param::page_size();
        let bytes = bytes.max(STACK_BYTES_MIN).checked_next_multiple_of(page).ok_or(std::io::ErrorKind::OutOfMemory)?;
        let mapping = Mapping::private(bytes).map_err(std::io::Error::other)?;
        let start = mapping.cells().pointer().as_ptr() as usize;
        guard(start, page, true)?;
        Ok(Self(mapping))
    }
}

// SAFETY: a mapping that lives as long as `self`, of three pages and a guard at least, aligned to a page.
unsafe impl Stack for ThreadStack {
    fn base(&self) -> StackPointer {
        NonZeroUsize::new(self.limit().get() + self.0.cells().bytes()).expect("above the start of a mapping")
    }

    fn limit(&self) -> StackPointer {
        NonZeroUsize::new(self.0.cells().pointer().as_ptr() as usize).expect("a mapping is somewhere")
    }
}
