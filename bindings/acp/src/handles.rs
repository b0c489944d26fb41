//! Handles of operations, and the order of operations that programs request by them: see `docs/decisions/0011-acp-handles.md`.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering, fence};

use pelago::{Context, Handle, Ordered, Result};

/// No handle: as an order, the operation waits for no other operation; as a result, failure.
pub(crate) const NULL: i64 = 0;
/// All operations that were issued before.
pub(crate) const ALL: i64 = -1;
/// The operation that was issued last.
pub(crate) const CONT: i64 = -2;

/// Number of pending operations above which the table is searched for completed ones. rma has fewer operations in flight.
const PENDING_MAX: usize = 2048;

/// Number of inquiries without operations in flight of which one makes progress and yields the core.
const POLLS_PER_PROGRESS: usize = 8;

/// The numbers of operations. All threads use them without a lock.
pub(crate) struct HandleNumbers {
    /// The last number that was issued. Operations that complete when they are issued get no number of their own. They have the last number, because
    /// a wait for them includes all earlier operations.
    issued: AtomicI64,
    /// The number of the operation that was issued last, or 0 if it completed when it was issued.
    previous: AtomicI64,
    /// Number of operations that may be in flight.
    pending: AtomicUsize,
    /// Number of inquiries while no operation was in flight.
    asked: AtomicUsize,
}

impl HandleNumbers {
    pub(crate) const fn new() -> Self {
        let [pending, asked] = [const { AtomicUsize::new(0) }; 2];
        Self { issued: AtomicI64::new(1), previous: AtomicI64::new(0), pending, asked }
    }

    /// Whether an operation with this order may start immediately.
    #[inline]
    pub(crate) fn may_begin(&self, order: i64) -> bool {
        if order == NULL {
            return true;
        }
        if self.pending.load(Ordering::Acquire) > 0 {
            return false;
        }
        // Earlier operations that completed when they were issued precede this one for every observer.
        fence(Ordering::AcqRel);
        true
    }

    /// Returns the handle of an operation that has completed when it is issued.
    #[inline]
    pub(crate) fn done(&self) -> i64 {
        self.previous.store(0, Ordering::Relaxed);
        self.issued.load(Ordering::Relaxed)
    }

    /// Whether operations may be in flight.
    #[inline]
    pub(crate) fn are_pending(&self) -> bool {
        self.pending.load(Ordering::Acquire) > 0
    }

    /// Counts an inquiry while no operation is in flight. Returns whether the caller is to make progress.
    pub(crate) fn is_time_to_look(&self) -> bool {
        self.asked.fetch_add(1, Ordering::Relaxed).is_multiple_of(POLLS_PER_PROGRESS)
    }

    /// Returns the last number that a wait for a handle includes; `None` if there is no such handle.
    pub(crate) fn last_of(&self, handle: i64) -> Option<i64> {
        match handle {
            NULL => None,
            ALL | CONT => Some(i64::MAX),
            1.. if handle <= self.issued.load(Ordering::Relaxed) => Some(handle),
            _ => None,
        }
    }

    /// Issues the number of an operation in flight.
    pub(crate) fn issue(&self, pending: &mut PendingOperations, handle: Handle<'static>) -> i64 {
        let number = self.issued.load(Ordering::Relaxed) + 1;
        pending.operations.push_back((number, handle));
        self.issued.store(number, Ordering::Relaxed);
        self.previous.store(number, Ordering::Relaxed);
        number
    }

    /// Publishes the number of operations that may be in flight, for threads without the lock.
    pub(crate) fn publish(&self, pending: &PendingOperations) {
        self.pending.store(pending.operations.len(), Ordering::Release);
    }
}

/// The operations that may be in flight, in the order in which they were issued.
#[derive(Default)]
pub(crate) struct PendingOperations {
    operations: VecDeque<(i64, Handle<'static>)>,
}

impl PendingOperations {
    /// Whether all operations up to number `last` have completed.
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

    /// Removes completed operations: those at the front, and all of them if the table is large.
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

    /// Returns the order of an operation relative to pending ones; `None` if it may start immediately.
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
            // Includes operations that were issued after the handle's. This is harmless, because they complete independently.
            _ => Some(context.after_all()),
        }
    }
}
