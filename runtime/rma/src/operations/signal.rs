//! Puts that tell their target that they have come, and compare-and-swaps that nobody waits for.

use pelago_base::AtomicOperator;
use pelago_memory::{Pod, Word};

use crate::{Context, GlobalPtr, Handle, Ordered, Result};

/// What a put does with the word by which it signals; see [`Context::put_signal`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal<W: Word> {
    /// Write this.
    Set(W),
    /// Add this: several puts may signal by one word.
    Add(W),
}

impl Context {
    /// Writes `values` from `to` on, and then changes the word at `at`: whoever sees the changed word sees the values. The words of a signal wake a rank that
    /// [waits](Self::wait_until) for them. Both are issued in one [batch](Self::batch).
    ///
    /// The handle is that of the signal, which comes after the values, and fails if they do.
    ///
    /// Cost: as [`put`](Self::put) and an atomic, in one message where the network lets operations wait for company.
    ///
    /// # Errors
    /// The job is at fault while the call waits for room. An address that leads nowhere is reported by the handle or `quiet`.
    ///
    /// ```
    /// # use pelago_base::Rank;
    /// # use pelago_rma::{Result, Signal, Symmetric, World};
    /// # fn example(world: &World, inbox: &Symmetric<'_, f64>, count: &Symmetric<'_, u64>, to: Rank) -> Result<()> {
    /// world.put_signal(inbox.at(to, 0), &[1.5, 2.5], count.at(to, 0), Signal::Add(1))?;
    /// world.wait_until(count.local(), 0, |came| came == 1)?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Source: `shmem_put_signal` of OpenSHMEM 1.5.
    pub fn put_signal<T: Pod, W: Word>(
        &self,
        to: GlobalPtr<T>,
        values: &[T],
        at: GlobalPtr<W>,
        signal: Signal<W>,
    ) -> Result<Handle<'_>> {
        self.batch(|| {
            let put = self.put(to, values)?;
            let signals = self.after(&put);
            match signal {
                Signal::Set(word) => signals.set(at, word),
                Signal::Add(word) => signals.add(at, word),
            }
        })
    }

    /// Writes `new` to the word at `at` if it equals `expected`, without telling what was there: many of them are under way at once, and none is waited for.
    ///
    /// Cost: mapped target: one atomic instruction. Other targets: one operation of the transport, without an answer of its own.
    ///
    /// # Errors
    /// The job is at fault while the call waits for room. An address that leads nowhere is reported by the handle or `quiet`.
    #[inline(always)]
    pub fn compare_set<T: Word>(&self, at: GlobalPtr<T>, expected: T, new: T) -> Result<Handle<'_>> {
        self.apply(at, AtomicOperator::CompareSwap { expected: expected.to_bits() }, new)
    }
}

impl<'c> Ordered<'c> {
    /// As [`Context::compare_set`].
    ///
    /// # Errors
    /// The handle to wait for belongs to another context or its operation failed; the job is at fault.
    pub fn compare_set<T: Word>(&self, at: GlobalPtr<T>, expected: T, new: T) -> Result<Handle<'c>> {
        self.apply(at, AtomicOperator::CompareSwap { expected: expected.to_bits() }, new)
    }
}
