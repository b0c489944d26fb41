//! Handles of operations, and the order that programs ask for by them: see `docs/decisions/0011-acp-handles.md`.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering, fence};

use pelago::{Context, Handle, Ordered, Result};

/// No handle: an operation that waits for nothing; as a result, failure.
pub(crate) const NULL: i64 = 0;
/// Everything that was issued before.
pub(crate) const ALL: i64 = -1;
/// The operation that was issued last.
pub(crate) const CONT: i64 = -2;

/// Number of pending operations above which the table is searched for completed ones. rma has fewer operations in flight.
const PENDING_MAX: usize = 2048;

/// Of so many questions when nothing is under way, one lets the library move and gives the core away.
const POLLS_PER_PROGRESS: usize = 8;

/// The numbers of operations, for all threads without a lock.
pub(crate) struct HandleNumbers {
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

impl HandleNumbers {
    pub(crate) const fn new() -> Self {
        let [pending, asked] = [const { AtomicUsize::new(0) }; 2];
        Self { issued: AtomicI64::new(1), previous: AtomicI64::new(0), pending, asked }
    }

    /// Whether an operation with this order may begin at once.
    #[inline]
    pub(crate) fn may_begin(&self, order: i64) -> bool {
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
    pub(crate) fn done(&self) -> i64 {
        self.previous.store(0, Ordering::Relaxed);
        self.issued.load(Ordering::Relaxed)
    }

    /// Whether operations may be under way.
    #[inline]
    pub(crate) fn are_pending(&self) -> bool {
        self.pending.load(Ordering::Acquire) > 0
    }

    /// Whether somebody who asks when nothing is under way is to let the library move.
    pub(crate) fn is_time_to_look(&self) -> bool {
        self.asked.fetch_add(1, Ordering::Relaxed).is_multiple_of(POLLS_PER_PROGRESS)
    }

    /// The last number that whoever waits for a handle waits for; `None` if there is no such handle.
    pub(crate) fn last_of(&self, handle: i64) -> Option<i64> {
        match handle {
            NULL => None,
            ALL | CONT => Some(i64::MAX),
            1.. if handle <= self.issued.load(Ordering::Relaxed) => Some(handle),
            _ => None,
        }
    }

    /// Gives an operation that is under way its number.
    pub(crate) fn issue(&self, pending: &mut PendingOperations, handle: Handle<'static>) -> i64 {
        let number = self.issued.load(Ordering::Relaxed) + 1;
        pending.operations.push_back((number, handle));
        self.issued.store(number, Ordering::Relaxed);
        self.previous.store(number, Ordering::Relaxed);
        number
    }

    /// Lets those without a lock know how many operations may be under way.
    pub(crate) fn publish(&self, pending: &PendingOperations) {
        self.pending.store(pending.operations.len(), Ordering::Release);
    }
}

/// The operations that may be under way, in the order in which they were issued.
#[derive(Default)]
pub(crate) struct PendingOperations {
    operations: VecDeque<(i64, Handle<'static>)>,
}

impl PendingOperations {
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
    pub(crate) fn prune(&mut self) -> Result<()> {
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
    pub(crate) fn order(&self, context: &'static Context, order: i64, numbers: &HandleNumbers) -> Option<Ordered<'static>> {
        let first = self.operations.front()?.0;
        match order {
            NULL => None,
            ALL => Some(context.after_all()),
            CONT => {
                let previous = numbers.previous.load(Ordering::Relaxed);
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
