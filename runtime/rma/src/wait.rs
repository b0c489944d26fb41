//! The only file that blocks.

use core::hint::spin_loop;

use pelago_base::{Duration, Event};
use pelago_memory::{CellSlice, Pod};
use pelago_platform::Woken;

use crate::{Context, Error, Result};

/// How many looks at memory come between two looks at the transport, while looking at once and while giving way.
const LOOKS_PER_PROGRESS: u32 = 64;
const YIELDS_PER_PROGRESS: u32 = 8;

impl Context {
    /// Waits until the element at `index` of this rank's own memory satisfies `condition`, and returns it.
    ///
    /// Looks for a moment, then lets others run, then sleeps until somebody writes to this rank's memory by an operation of the
    /// library (a plain store of another thread is noticed late).
    ///
    /// # Errors
    /// The job is at fault: a rank was lost, or all ranks wait.
    ///
    /// # Panics
    /// `index` is past the end.
    pub fn wait_until<T: Pod>(&self, cells: CellSlice<'_, T>, index: usize, mut condition: impl FnMut(T) -> bool) -> Result<T> {
        self.block("a value", None, || {
            let value = cells.load(index);
            Ok(condition(value).then_some(value))
        })
    }

    /// As [`wait_until`](Self::wait_until), for at most `limit`.
    ///
    /// # Errors
    /// The time ran out, or the job is at fault.
    ///
    /// # Panics
    /// `index` is past the end.
    pub fn wait_until_within<T: Pod>(
        &self,
        limit: Duration,
        cells: CellSlice<'_, T>,
        index: usize,
        mut condition: impl FnMut(T) -> bool,
    ) -> Result<T> {
        self.block("a value", Some(limit), || {
            let value = cells.load(index);
            Ok(condition(value).then_some(value))
        })
    }

    /// Waits until `ready` returns something, while the library moves.
    #[inline]
    pub(crate) fn block<T>(
        &self,
        what: &'static str,
        limit: Option<Duration>,
        mut ready: impl FnMut() -> Result<Option<T>>,
    ) -> Result<T> {
        for look in 1..=self.spins() {
            if let Some(found) = ready()? {
                return Ok(found);
            }
            if look.is_multiple_of(LOOKS_PER_PROGRESS) {
                self.progress();
            }
            spin_loop();
        }
        self.block_parked(what, limit, &mut ready)
    }

    #[cold]
    fn block_parked<T>(
        &self,
        what: &'static str,
        limit: Option<Duration>,
        ready: &mut dyn FnMut() -> Result<Option<T>>,
    ) -> Result<T> {
        let shared = self.shared();
        let until = limit.map(|limit| shared.clock.now() + limit);
        let is_late = || until.is_some_and(|until| shared.clock.now() >= until);
        for look in 1..=shared.park.yields() {
            if let Some(found) = ready()? {
                return Ok(found);
            }
            if look.is_multiple_of(YIELDS_PER_PROGRESS) {
                self.progress();
            }
            // Others may take the processor for milliseconds each time.
            if is_late() {
                break;
            }
            shared.park.give_way();
        }
        let mut outcome = None;
        loop {
            let mut look = || {
                outcome = ready().transpose();
                outcome.is_some() || self.progress()
            };
            if !look() {
                self.count(Event::Parked);
                let due = [until, self.next_deadline()].into_iter().flatten().min();
                if let Woken::Fault(fault) = shared.park.park(due, &mut look) {
                    // What was waited for may have come all the same; then the fault is the next wait's.
                    return ready()?.ok_or(fault.into());
                }
            }
            if let Some(outcome) = outcome.take() {
                return outcome;
            }
            if let Some(limit) = limit
                && is_late()
            {
                return ready()?.ok_or(Error::TimedOut { what, limit });
            }
        }
    }
}
