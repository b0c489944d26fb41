//! Operations under way whose ends must be told to somebody, since else the next `quiet` of the program would tell of them.

use std::collections::VecDeque;

use pelago_rma::{Handle, Result};

/// The most operations; one more waits for the first.
const FLIGHTS_MAX: usize = 64;

/// Operations under way, in the order in which they began.
#[derive(Default)]
pub(crate) struct Flights<'c>(VecDeque<Handle<'c>>);

impl<'c> Flights<'c> {
    /// Takes one more.
    ///
    /// # Errors
    /// One of them failed.
    pub(crate) fn add(&mut self, handle: Handle<'c>) -> Result<()> {
        self.add_all([handle])
    }

    /// Takes some more.
    ///
    /// # Errors
    /// As [`add`](Self::add).
    pub(crate) fn add_all<const N: usize>(&mut self, handles: [Handle<'c>; N]) -> Result<()> {
        self.0.extend(handles);
        // To ask of each operation each time would cost more than the operations.
        if self.0.len() < FLIGHTS_MAX {
            return Ok(());
        }
        let first = self.0[0].wait();
        self.settle().and(first)
    }

    /// The one that began last, if it has not ended.
    pub(crate) fn last(&self) -> Option<Handle<'c>> {
        self.0.back().copied()
    }

    /// Waits until all have ended; the first failure is told.
    ///
    /// # Errors
    /// One of them failed; the job is at fault.
    pub(crate) fn flush(&mut self) -> Result<()> {
        self.0.drain(..).map(Handle::wait).fold(Ok(()), Result::and)
    }

    /// Forgets those that have ended before the first that has not; the first failure is told.
    ///
    /// # Errors
    /// One of them failed.
    pub(crate) fn settle(&mut self) -> Result<()> {
        let mut outcome = Ok(());
        while let Some(handle) = self.0.front() {
            match handle.test() {
                Ok(false) => break,
                ended => outcome = outcome.and(ended.map(drop)),
            }
            self.0.pop_front();
        }
        outcome
    }
}

impl Drop for Flights<'_> {
    /// Nobody is to be told any more. A rank that panics does not wait.
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let _untold = self.flush();
        }
    }
}
