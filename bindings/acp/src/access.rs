//! Copies and atomics, and the order of their handles: see `docs/decisions/0011-acp-handles.md`.
//!
//! Invariant **A3**: the memory of an operation stays valid until it has ended. Starter memory lives as long as the job; registered memory
//! is the program's promise (A2), and ends when everything that this rank has issued has ended.
#![allow(unsafe_code)]

use std::cell::Cell;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering, fence};

use pelago::{Context, GlobalPtr, Handle, Ordered, Result, Word};
use pelago_base::AtomicOperator;
use pelago_memory::Cells;

use crate::library::{Core, Library};
use crate::memory::Located;
use crate::refusal::{End, Refusal};
use crate::turns::{Waiter, give_core_away};

/// No handle: an operation that waits for nothing; as a result, failure.
pub(crate) const NULL: i64 = 0;
/// Everything that was issued before.
pub(crate) const ALL: i64 = -1;
/// The operation that was issued last.
pub(crate) const CONT: i64 = -2;

/// Operations under way from which on those that have ended are looked for among them. Rma has fewer in flight.
const PENDING_MAX: usize = 2048;

/// Of so many questions when nothing is under way, one lets the library move and gives the core away.
const ASKED_PER_LOOK: usize = 8;

thread_local! {
    /// Whether this thread has stored to memory of the job since it waited for the last time.
    static STORED: Cell<bool> = const { Cell::new(false) };
}

/// The numbers of operations, for all threads without a lock.
pub(crate) struct Numbers {
    /// The last that was given out. Operations that are done when they are issued get no number of their own: theirs is the last one, as
    /// whoever waits for them waits for all before.
    issued: AtomicI64,
    /// The operation that was issued last, or 0 if it was done then.
    previous: AtomicI64,
    /// How many may be under way.
    pending: AtomicUsize,
    /// How often somebody asked when nothing was.
    asked: AtomicUsize,
}

impl Numbers {
    pub(crate) const fn new() -> Self {
        let [pending, asked] = [const { AtomicUsize::new(0) }; 2];
        Self { issued: AtomicI64::new(1), previous: AtomicI64::new(0), pending, asked }
    }

    /// Whether an operation with this order may begin at once.
    #[inline]
    fn is_free(&self, order: i64) -> bool {
        if order == NULL {
            return true;
        }
        if self.pending.load(Ordering::Acquire) > 0 {
            return false;
        }
        // What was done at once before comes before, for whoever looks.
        fence(Ordering::AcqRel);
        true
    }

    /// The handle of an operation that is done.
    #[inline]
    fn done(&self) -> i64 {
        self.previous.store(0, Ordering::Relaxed);
        self.issued.load(Ordering::Relaxed)
    }
}

/// The operations that may be under way, in the order in which they were issued.
#[derive(Default)]
pub(crate) struct Pending {
    operations: VecDeque<(i64, Handle<'static>)>,
}

impl Pending {
    /// Whether all up to number `last` have ended.
    pub(crate) fn have_ended(&mut self, last: i64) -> Result<bool> {
        while let Some(&(number, handle)) = self.operations.front() {
            if number > last {
                return Ok(true);
            }
            if !handle.has_ended()? {
                return Ok(false);
            }
            self.operations.pop_front();
        }
        Ok(true)
    }

    /// Forgets those that have ended.
    fn prune(&mut self) -> Result<()> {
        self.have_ended(i64::MAX)?;
        if self.operations.len() < PENDING_MAX {
            return Ok(());
        }
        let mut failure = Ok(());
        self.operations.retain(|(_, handle)| match handle.has_ended() {
            Ok(ended) => !ended,
            Err(error) => {
                failure = Err(error);
                true
            }
        });
        failure
    }

    /// What an operation waits for; `None` if it may begin at once.
    fn order(&self, context: &'static Context, order: i64, previous: i64) -> Option<Ordered<'static>> {
        let first = self.operations.front()?.0;
        match order {
            NULL => None,
            ALL => Some(context.after_all()),
            CONT => {
                let found = self.operations.binary_search_by_key(&previous, |&(number, _)| number).ok()?;
                Some(context.after(&self.operations[found].1))
            }
            handle if handle < first => None,
            handle if self.operations.get(1).is_none_or(|&(second, _)| handle < second) => {
                Some(context.after(&self.operations[0].1))
            }
            // All before it, and some after, which does no harm: they end by themselves.
            _ => Some(context.after_all()),
        }
    }
}

impl Library {
    /// Copies `bytes` bytes, whichever ranks own both ends.
    pub(crate) fn copy(&'static self, to: u64, from: u64, bytes: usize, order: i64) -> Result<i64, Refusal> {
        let target = self.memory().locate(End::Destination, to, bytes as u64)?;
        let source = self.memory().locate(End::Source, from, bytes as u64)?;
        if let (Some(into), Some(cells), true) = (target.cells, source.cells, self.numbers().is_free(order)) {
            into.copy_from(cells);
            STORED.set(true);
            return Ok(self.numbers().done());
        }
        if bytes == 0 {
            return Ok(self.numbers().done());
        }
        self.issue(order, |context, after| copy_far(context, after, source, target, bytes))
    }

    /// Performs an atomic on the word at `at` and stores what was there at `into`, a word of this rank.
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
        let found = self.memory().own(into, bytes)?;
        let target = self.memory().locate(End::Source, at, bytes)?;
        for (end, address, cells) in [(End::Destination, into, Some(found)), (End::Source, at, target.cells)] {
            let place = cells.map_or(address, |cells| cells.pointer().as_ptr() as u64);
            if !place.is_multiple_of(bytes) {
                return Err(Refusal::Misaligned { end, address, bytes });
            }
        }
        if let (Some(word), true) = (target.cells, self.numbers().is_free(order))
            && let (Some(old), Some(found)) = (word.atomic(T::WIDTH, operator, operand.to_bits()), found.elements::<T>())
        {
            found.store(0, T::from_bits(old));
            return Ok(self.numbers().done());
        }
        self.issue(order, |context, after| fetch_far(context, after, target, operator, operand, found))
    }

    /// Waits for the operation of a handle and all before it.
    #[inline]
    pub(crate) fn complete(&'static self, handle: i64) -> Result<()> {
        // Complete is visible to all who look afterwards; what comes next comes later. An atomic is so by itself.
        if STORED.replace(false) {
            fence(Ordering::SeqCst);
        }
        if self.numbers().pending.load(Ordering::Acquire) == 0 {
            return Ok(());
        }
        let Some(last) = self.last_of(handle) else { return Ok(()) };
        self.turns().wait("acp_complete", |core| {
            let ended = core.pending.have_ended(last)?;
            self.note(core);
            Ok(ended.then_some(()))
        })
    }

    /// Whether the operation of a handle, or one before it, is under way.
    pub(crate) fn inquire(&'static self, handle: i64) -> Result<bool> {
        let last = self.last_of(handle).filter(|_| self.numbers().pending.load(Ordering::Acquire) > 0);
        let Some(last) = last else {
            self.idle()?;
            return Ok(false);
        };
        let ended = self.turns().with(|core| {
            core.context.progress();
            core.turn()?;
            let ended = core.pending.have_ended(last);
            self.note(core);
            ended
        })?;
        if !ended {
            give_core_away();
        }
        Ok(!ended)
    }

    /// Nothing is under way, and somebody asks: maybe again and again, because something is to come from others.
    fn idle(&self) -> Result<()> {
        if self.numbers().asked.fetch_add(1, Ordering::Relaxed).is_multiple_of(ASKED_PER_LOOK) {
            let looked = self.turns().try_with(|core| {
                core.context.progress();
                core.turn()
            });
            give_core_away();
            return looked.unwrap_or(Ok(()));
        }
        Ok(())
    }

    /// The last number that whoever waits for a handle waits for; `None` if there is no such handle.
    fn last_of(&self, handle: i64) -> Option<i64> {
        match handle {
            NULL => None,
            ALL | CONT => Some(i64::MAX),
            1.. if handle <= self.numbers().issued.load(Ordering::Relaxed) => Some(handle),
            _ => None,
        }
    }

    /// Hands an operation to the world, to begin when its time has come.
    fn issue(
        &'static self,
        order: i64,
        begin: impl FnOnce(&'static Context, Option<Ordered<'static>>) -> Result<Handle<'static>>,
    ) -> Result<i64, Refusal> {
        let numbers = self.numbers();
        let issued: Result<i64> = self.turns().with(|core| {
            core.pending.prune()?;
            let context: &'static Context = core.context;
            let after = core.pending.order(context, order, numbers.previous.load(Ordering::Relaxed));
            let handle = begin(context, after)?;
            if handle.has_ended()? {
                self.note(core);
                return Ok(numbers.done());
            }
            let number = numbers.issued.load(Ordering::Relaxed) + 1;
            core.pending.operations.push_back((number, handle));
            numbers.issued.store(number, Ordering::Relaxed);
            numbers.previous.store(number, Ordering::Relaxed);
            self.note(core);
            Ok(number)
        });
        issued.map_err(Refusal::Earlier)
    }

    /// Lets those without a lock know how many operations may be under way.
    fn note(&self, core: &Core) {
        self.numbers().pending.store(core.pending.operations.len(), Ordering::Release);
    }
}

fn copy_far(
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

fn fetch_far<T: Word>(
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
