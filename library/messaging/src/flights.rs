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

#[cfg(test)]
mod tests {
    use super::*;
    use pelago_base::{GlobalAddress, Rank};
    use pelago_rma::{GlobalPtr, World};
    use pelago_test_support::threads::{HEAP_BYTES, Platform, run};

    /// Begins one more, and returns how many there are.
    fn add<'w>(flights: &mut Flights<'w>, world: &'w World, to: GlobalPtr<u64>) -> usize {
        flights.add(world.put(to, &[1]).unwrap()).unwrap();
        flights.0.len()
    }

    #[test]
    fn they_are_kept_until_they_have_ended_and_are_no_more_than_the_most() {
        run(Platform::Remote, 2, |world| {
            let words = world.alloc::<u64>(1).unwrap();
            let to = words.at(Rank::new(1), 0);
            if world.rank() == Rank::new(0) {
                let mut flights = Flights::default();
                for number in 1..FLIGHTS_MAX {
                    assert_eq!(add(&mut flights, world, to), number, "nobody asks for their ends");
                    assert!(flights.last().is_some());
                }
                (0..2 * FLIGHTS_MAX).for_each(|_| assert!(add(&mut flights, world, to) < FLIGHTS_MAX));
                flights.flush().unwrap();
                assert!(flights.last().is_none());
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
                let mut flights = Flights::default();
                flights.add(past_the_end()).unwrap();
                add(&mut flights, world, to);
                assert!(flights.flush().is_err());
                flights.flush().unwrap();
                flights.add(past_the_end()).unwrap();
                drop(flights);
                world.quiet().unwrap();
            }
            world.barrier().unwrap();
        });
    }
}
