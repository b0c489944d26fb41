//! Puts that signal their arrival to the target, and compare-and-swaps without a result.

use pelago_base::{AtomicOperator, GlobalAddress};
use pelago_memory::{Pod, Word};
use pelago_platform::Rail;
use zerocopy::IntoBytes;

use crate::progress::record::Terms;
use crate::{Context, GlobalPtr, Handle, Ordered, Result};

/// The change of a put's signal word; see [`Context::put_signal`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal<W: Word> {
    /// Writes this value atomically.
    Set(W),
    /// Adds this value: several puts may signal by one word.
    Add(W),
    /// Puts this value: as `Set`, for a word that only puts change; cheaper if the owner of a word performs its atomics.
    Put(W),
}

impl Context {
    /// Writes `values` to memory from `to` on, and then changes the word at `at`: a rank that sees the changed word sees the values. The signal
    /// wakes a rank that [waits](Self::wait_until) for the word. Both are issued in one [batch](Self::batch).
    ///
    /// The handle is that of the signal, which follows the values, and fails if they do.
    ///
    /// Cost: as [`put`](Self::put) and an atomic, in one message if the network supports batches. A set word of 8 bytes leaves with the last of its
    /// values, however many they are, if the network [supports both as one operation](pelago_platform::Capabilities::signalled_bytes_min).
    ///
    /// # Errors
    /// The job has a fault while the call waits for room. The handle or `quiet` reports an invalid address.
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
        self.put_signal_on((Terms::FREE, None), to, values, at, signal)
    }

    fn put_signal_on<T: Pod, W: Word>(
        &self,
        (terms, rail): (Terms, Option<Rail>),
        to: GlobalPtr<T>,
        values: &[T],
        at: GlobalPtr<W>,
        signal: Signal<W>,
    ) -> Result<Handle<'_>> {
        if let Signal::Set(word) | Signal::Put(word) = signal
            && size_of::<W>() == 8
            && let Some(handle) = self.put_signalled(terms, to.address(), values.as_bytes(), (at.address(), word.to_bits()))?
        {
            return Ok(handle);
        }
        let put = || match terms {
            Terms::FREE => self.put(to, values),
            terms => self.put_remote(terms, to.address(), values.as_bytes()),
        };
        self.pair(put, |put| {
            let signals = rail.map_or(self.after(&put), |rail| self.after(&put).on(rail));
            match signal {
                Signal::Set(word) => signals.set(at, word),
                Signal::Add(word) => signals.add(at, word),
                Signal::Put(word) => signals.put(at, &[word]),
            }
        })
    }

    /// Puts bytes and their word as one operation; `None` if they have to be two.
    fn put_signalled(
        &self,
        terms: Terms,
        to: GlobalAddress,
        bytes: &[u8],
        signal: (GlobalAddress, u64),
    ) -> Result<Option<Handle<'_>>> {
        let is_mapped = terms == Terms::FREE && self.reach.holds(self.reach.addresses().rank(to));
        if is_mapped || self.shared().goes_by_size(to, bytes.len() as u64)? {
            return Ok(None);
        }
        let _inside = self.shared().inside();
        self.make_room(bytes.len())?;
        self.busy.set(true);
        let id = self.engine().borrow_mut().submit_signalled(self.shared(), terms, (to, bytes), signal)?;
        Ok(id.map(|id| Handle::pending(self, id)))
    }

    /// Writes `new` to the word at `at` if it equals `expected`, without returning the old value: many such operations are in flight at once, without waiting.
    ///
    /// Cost: mapped target: one atomic instruction. Other targets: one operation of the transport, without its own reply.
    ///
    /// # Errors
    /// The job has a fault while the call waits for room. The handle or `quiet` reports an invalid address.
    #[inline(always)]
    pub fn compare_set<T: Word>(&self, at: GlobalPtr<T>, expected: T, new: T) -> Result<Handle<'_>> {
        self.apply(at, AtomicOperator::CompareSwap { expected: expected.to_bits() }, new)
    }
}

impl<'c> Ordered<'c> {
    /// As [`Context::put_signal`].
    ///
    /// # Errors
    /// The handle belongs to another context, or its operation failed; otherwise as [`Context::put_signal`].
    pub fn put_signal<T: Pod, W: Word>(
        &self,
        to: GlobalPtr<T>,
        values: &[T],
        at: GlobalPtr<W>,
        signal: Signal<W>,
    ) -> Result<Handle<'c>> {
        let terms = self.pending(to.address())?;
        self.context().put_signal_on((terms, self.rail()), to, values, at, signal)
    }

    /// As [`Context::compare_set`].
    ///
    /// # Errors
    /// The handle belongs to another context, or its operation failed; the job has a fault.
    pub fn compare_set<T: Word>(&self, at: GlobalPtr<T>, expected: T, new: T) -> Result<Handle<'c>> {
        self.apply(at, AtomicOperator::CompareSwap { expected: expected.to_bits() }, new)
    }
}
