//! Puts that tell their target that they have come, and compare-and-swaps that nobody waits for.

use pelago_base::{AtomicOperator, GlobalAddress};
use pelago_memory::{Pod, Word};
use pelago_platform::Rail;
use zerocopy::IntoBytes;

use crate::progress::record::Terms;
use crate::{Context, GlobalPtr, Handle, Ordered, Result};

/// What a put does with the word by which it signals; see [`Context::put_signal`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal<W: Word> {
    /// Write this.
    Set(W),
    /// Add this: several puts may signal by one word.
    Add(W),
    /// Put this: as `Set`, of a word that nothing but puts changes, which takes less where atomics are done by the owner of a word.
    Put(W),
}

impl Context {
    /// Writes `values` from `to` on, and then changes the word at `at`: whoever sees the changed word sees the values. The words of a signal wake a rank that
    /// [waits](Self::wait_until) for them. Both are issued in one [batch](Self::batch).
    ///
    /// The handle is that of the signal, which comes after the values, and fails if they do.
    ///
    /// Cost: as [`put`](Self::put) and an atomic, in one message where the network lets operations wait for company. A set word of 8 bytes leaves with the last of its
    /// values, however many they are, where the network [takes both as one](pelago_platform::Capabilities::signalled_bytes_min).
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

    /// Bytes and their word as one operation; `None` if they are to be two.
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
    /// As [`Context::put_signal`].
    ///
    /// # Errors
    /// The handle to wait for belongs to another context or its operation failed; else as [`Context::put_signal`].
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
    /// The handle to wait for belongs to another context or its operation failed; the job is at fault.
    pub fn compare_set<T: Word>(&self, at: GlobalPtr<T>, expected: T, new: T) -> Result<Handle<'c>> {
        self.apply(at, AtomicOperator::CompareSwap { expected: expected.to_bits() }, new)
    }
}
