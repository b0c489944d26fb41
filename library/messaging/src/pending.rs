//! Pending operations whose failures the library handles itself. Otherwise the next `quiet` of the program would return them.

use std::collections::VecDeque;

use pelago_rma::{Handle, Result};

use crate::limits::PENDING_MAX;

/// Pending operations, in the order in which they were issued.
pub(crate) struct PendingOperations<'c> {
    handles: VecDeque<Handle<'c>>,
    /// Number of pending operations at which an addition waits for the first.
    most: usize,
}

impl Default for PendingOperations<'_> {
    fn default() -> Self {
        Self::up_to(PENDING_MAX)
    }
}

impl<'c> PendingOperations<'c> {
    /// Creates an empty queue that holds fewer than `most` operations.
    pub(crate) fn up_to(most: usize) -> Self {
        Self { handles: VecDeque::new(), most }
    }

    /// Adds an operation.
    ///
    /// # Errors
    /// An operation failed.
    pub(crate) fn add(&mut self, handle: Handle<'c>) -> Result<()> {
        self.add_all([handle])
    }

    /// Adds several operations.
    ///
    /// # Errors
    /// As [`add`](Self::add).
    pub(crate) fn add_all<const N: usize>(&mut self, handles: [Handle<'c>; N]) -> Result<()> {
        self.handles.extend(handles);
        // A test of each operation at each addition would cost more than the operations.
        if self.handles.len() < self.most {
            return Ok(());
        }
        let first = self.handles[0].wait();
        self.settle().and(first)
    }

    /// Number of pending operations at which an addition waits for the first.
    #[cfg(test)]
    pub(crate) fn most(&self) -> usize {
        self.most
    }

    /// The last operation, if it may still be pending.
    pub(crate) fn last(&self) -> Option<Handle<'c>> {
        self.handles.back().copied()
    }

    /// Waits until all operations are complete; returns the first failure.
    ///
    /// # Errors
    /// An operation failed; the job is at fault.
    pub(crate) fn flush(&mut self) -> Result<()> {
        self.handles.drain(..).map(Handle::wait).fold(Ok(()), Result::and)
    }

    /// Removes the complete operations in front of the first incomplete one; returns the first failure.
    ///
    /// # Errors
    /// An operation failed.
    pub(crate) fn settle(&mut self) -> Result<()> {
        let mut outcome = Ok(());
        while let Some(handle) = self.handles.front() {
            match handle.test() {
                Ok(false) => break,
                ended => outcome = outcome.and(ended.map(drop)),
            }
            self.handles.pop_front();
        }
        outcome
    }
}

impl Drop for PendingOperations<'_> {
    /// Waits for all operations and ignores failures. A rank that panics does not wait.
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let _untold = self.flush();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pelago_base::{GlobalAddress, Rank};
    use pelago_rma::{GlobalPtr, World};
    use pelago_test_support::threads::{HEAP_BYTES, Platform, run};

    /// Adds one operation, and returns their number.
    fn add<'w>(pending: &mut PendingOperations<'w>, world: &'w World, to: GlobalPtr<u64>) -> usize {
        pending.add(world.put(to, &[1]).unwrap()).unwrap();
        pending.handles.len()
    }

    #[test]
    fn they_are_kept_until_they_have_ended_and_are_no_more_than_the_most() {
        run(Platform::Remote, 2, |world| {
            let words = world.alloc::<u64>(1).unwrap();
            let to = words.at(Rank::new(1), 0);
            if world.rank() == Rank::new(0) {
                for (mut pending, most) in
                    [(PendingOperations::default(), PENDING_MAX), (PendingOperations::up_to(3 * PENDING_MAX), 3 * PENDING_MAX)]
                {
                    for number in 1..most {
                        assert_eq!(add(&mut pending, world, to), number, "nobody asks for their ends");
                        assert!(pending.last().is_some());
                    }
                    (0..2 * most).for_each(|_| assert!(add(&mut pending, world, to) < most));
                    pending.flush().unwrap();
                    assert!(pending.last().is_none());
                }
            }
            world.barrier().unwrap();
        });
    }

    #[test]
    fn a_failure_is_told_once_and_not_by_the_next_that_waits_for_all() {
        run(Platform::Remote, 2, |world| {
            let words = world.alloc::<u64>(1).unwrap();
            let to = words.at(Rank::new(1), 0);
            let last = GlobalAddress::from_bits(to.address().bits() | (HEAP_BYTES - 8));
            if world.rank() == Rank::new(0) {
                let past_the_end = || world.put(GlobalPtr::from_address(last).unwrap(), &[1_u64, 2]).unwrap();
                let mut pending = PendingOperations::default();
                pending.add(past_the_end()).unwrap();
                add(&mut pending, world, to);
                assert!(pending.flush().is_err());
                pending.flush().unwrap();
                pending.add(past_the_end()).unwrap();
                drop(pending);
                world.quiet().unwrap();
            }
            world.barrier().unwrap();
        });
    }
}
