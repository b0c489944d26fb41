//! Copies and atomics of all threads, and waits for their completion.
//!
//! Invariant **A3**: the memory of an operation stays valid until the operation has completed. Starter memory lives as long as the job. The
//! program promises the validity of registered memory (A2), and unregistration waits until all operations that this rank has issued have completed.
#![allow(unsafe_code)]

use std::cell::Cell;
use std::sync::atomic::{Ordering, fence};

use pelago::{Context, GlobalPtr, Handle, Job, Ordered, Result, Word};
use pelago_base::AtomicOperator;
use pelago_memory::Cells;

use crate::handles::HandleNumbers;
use crate::memory::{Located, Memory};
use crate::refusal::{End, Refusal};
use crate::state::LibraryState;
use pelago_c_support::monitor::{Monitor, Progress};

thread_local! {
    /// Whether this thread has stored to memory of the job since its last wait.
    static STORED: Cell<bool> = const { Cell::new(false) };
}

/// State by which the operations of a rank are performed.
pub(crate) struct Access {
    memory: Memory,
    numbers: HandleNumbers,
    monitor: Monitor<LibraryState>,
}

impl Access {
    /// Returns the access of a rank of `job`. `are_coroutines`: its threads are coroutines of a simulated rank.
    pub(crate) fn new(job: &'static Job, are_coroutines: bool) -> Self {
        Self {
            memory: Memory::new(job),
            numbers: HandleNumbers::new(),
            // SAFETY: A1 of `pelago-c-support`: the state refers to the job alone, which no other thread uses.
            monitor: unsafe { Monitor::new(LibraryState::new(job), are_coroutines) },
        }
    }

    /// Returns the memory with its valid addresses.
    #[inline]
    pub(crate) fn memory(&self) -> &Memory {
        &self.memory
    }

    /// Returns the state that one thread uses at a time.
    #[inline]
    pub(crate) fn monitor(&self) -> &Monitor<LibraryState> {
        &self.monitor
    }

    /// Copies `bytes` bytes between memory of any two ranks.
    pub(crate) fn copy(&'static self, to: u64, from: u64, bytes: usize, order: i64) -> Result<i64, Refusal> {
        let target = self.memory.locate(End::Destination, to, bytes as u64)?;
        let source = self.memory.locate(End::Source, from, bytes as u64)?;
        if let (Some(into), Some(cells), true) = (target.cells, source.cells, self.numbers.may_begin(order)) {
            into.copy_from(cells);
            STORED.set(true);
            return Ok(self.numbers.done());
        }
        if bytes == 0 {
            return Ok(self.numbers.done());
        }
        self.issue(order, |context, after| issue_copy(context, after, source, target, bytes))
    }

    /// Performs an atomic on the word at `at` and stores the previous value at `into`, a word of this rank.
    #[inline]
    pub(crate) fn atomic<T: Word>(
        &'static self,
        into: u64,
        at: u64,
        operator: AtomicOperator,
        operand: T,
        order: i64,
    ) -> Result<i64, Refusal> {
        let bytes = size_of::<T>() as u64;
        let found = self.memory.own(into, bytes)?;
        let target = self.memory.locate(End::Source, at, bytes)?;
        for (end, address, cells) in [(End::Destination, into, Some(found)), (End::Source, at, target.cells)] {
            let place = cells.map_or(address, |cells| cells.pointer().as_ptr() as u64);
            if !place.is_multiple_of(bytes) {
                return Err(Refusal::Misaligned { end, address, bytes });
            }
        }
        if let (Some(word), true) = (target.cells, self.numbers.may_begin(order))
            && let (Some(old), Some(found)) = (word.atomic(T::WIDTH, operator, operand.to_bits()), found.elements::<T>())
        {
            found.store(0, T::from_bits(old));
            return Ok(self.numbers.done());
        }
        self.issue(order, |context, after| issue_fetch(context, after, target, operator, operand, found))
    }

    /// Waits for the operation of a handle and for all earlier operations.
    #[inline]
    pub(crate) fn complete(&'static self, handle: i64) -> Result<()> {
        // A completed copy is visible to all later loads, and precedes all later operations. Atomics need no fence.
        if STORED.replace(false) {
            fence(Ordering::SeqCst);
        }
        if !self.numbers.are_pending() {
            return Ok(());
        }
        let Some(last) = self.numbers.last_of(handle) else { return Ok(()) };
        self.monitor.wait("acp_complete", |state| {
            let ended = state.pending.have_ended(last)?;
            self.numbers.publish(&state.pending);
            Ok(ended.then_some(()))
        })
    }

    /// Whether the operation of a handle, or an earlier one, is in flight.
    pub(crate) fn inquire(&'static self, handle: i64) -> Result<bool> {
        let last = self.numbers.last_of(handle).filter(|_| self.numbers.are_pending());
        let Some(last) = last else {
            self.idle()?;
            return Ok(false);
        };
        let ended = self.monitor.with(|state| {
            state.context.progress();
            state.progress()?;
            let ended = state.pending.have_ended(last);
            self.numbers.publish(&state.pending);
            ended
        })?;
        if !ended {
            self.monitor.yield_core();
        }
        Ok(!ended)
    }

    /// Handles an inquiry while no operation is in flight. The caller may poll for data from other ranks: some of the inquiries make progress.
    fn idle(&self) -> Result<()> {
        if self.numbers.is_time_to_look() {
            let looked = self.monitor.try_with(|state| {
                state.context.progress();
                state.progress()
            });
            self.monitor.yield_core();
            return looked.unwrap_or(Ok(()));
        }
        Ok(())
    }

    /// Issues an operation, which starts when the operations that `order` names have completed. Returns its handle.
    fn issue(
        &'static self,
        order: i64,
        begin: impl FnOnce(&'static Context, Option<Ordered<'static>>) -> Result<Handle<'static>>,
    ) -> Result<i64, Refusal> {
        let numbers = &self.numbers;
        let issued: Result<i64> = self.monitor.with(|state| {
            state.pending.prune()?;
            let context: &'static Context = state.context;
            let after = state.pending.order(context, order, numbers);
            let handle = begin(context, after)?;
            if handle.has_ended()? {
                numbers.publish(&state.pending);
                return Ok(numbers.done());
            }
            let number = numbers.issue(&mut state.pending, handle);
            numbers.publish(&state.pending);
            Ok(number)
        });
        issued.map_err(Refusal::Earlier)
    }
}

fn issue_copy(
    context: &'static Context,
    after: Option<Ordered<'static>>,
    source: Located,
    target: Located,
    bytes: usize,
) -> Result<Handle<'static>> {
    let (me, from, to) = (context.rank(), source.address, target.address);
    // SAFETY: A3.
    unsafe {
        match (source.cells.filter(|_| source.rank == me), target.cells.filter(|_| target.rank == me)) {
            (Some(cells), _) => match after {
                None => context.put_raw(to, cells.pointer(), bytes),
                Some(after) => after.put_raw(to, cells.pointer(), bytes),
            },
            (None, Some(cells)) => match after {
                None => context.get_raw(from, cells.pointer(), bytes),
                Some(after) => after.get_raw(from, cells.pointer(), bytes),
            },
            (None, None) => {
                let (from, to) = (GlobalPtr::<u8>::from_address(from)?, GlobalPtr::from_address(to)?);
                match after {
                    None => context.copy(from, to, bytes),
                    Some(after) => after.copy(from, to, bytes),
                }
            }
        }
    }
}

fn issue_fetch<T: Word>(
    context: &'static Context,
    after: Option<Ordered<'static>>,
    target: Located,
    operator: AtomicOperator,
    operand: T,
    found: Cells<'static>,
) -> Result<Handle<'static>> {
    let at = GlobalPtr::from_address(target.address)?;
    // SAFETY: A3.
    unsafe {
        match after {
            None => context.fetch_raw(at, operator, operand, found.pointer().cast()),
            Some(after) => after.fetch_raw(at, operator, operand, found.pointer().cast()),
        }
    }
}
