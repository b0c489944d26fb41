//! What takes effect before what: fences, quiet, and operations that follow others.

use pelago_base::{Duration, Rank};

use crate::context::wait::Whom;
use crate::order::graph::After;
use crate::{Chain, Context, Handle, Ordered, Result};

impl Context {
    /// Operations that take effect after the one of `handle`, whichever ranks either concerns.
    #[inline]
    pub fn after<'c>(&'c self, handle: &Handle<'_>) -> Ordered<'c> {
        let after = match handle.parts() {
            None => Some(After::Nothing),
            Some((context, id)) => std::ptr::eq(context, self).then_some(After::One(id)),
        };
        Ordered::new(self, after)
    }

    /// Operations that take effect after all that this context issued before.
    ///
    /// Such an operation has no effect if one before it fails while it waits. If one has failed already that nobody was told of, the call reports
    /// it as [`quiet`](Self::quiet) does, also if it is one that brings a word.
    pub fn after_all(&self) -> Ordered<'_> {
        Ordered::new(self, Some(After::All))
    }

    /// A sequence of operations, each of which takes effect after the one before.
    pub fn chain(&self) -> Chain<'_> {
        Chain::new(self)
    }

    /// Issues several operations at once. Those that go to one rank leave in one message where the network allows it, which spares a message each;
    /// ordered ones as well.
    ///
    /// ```
    /// # use pelago_rma::{Context, GlobalPtr, Result};
    /// # fn example(context: &Context, data: GlobalPtr<u64>, flag: GlobalPtr<u64>) -> Result<u64> {
    /// let both = context.batch(|| {
    ///     let put = context.put(data, &[7])?;
    ///     context.after(&put).swap(flag, 1)
    /// })?;
    /// both.wait()
    /// # }
    /// ```
    ///
    /// Cost: a call of the transport, unless all ranks are mapped.
    pub fn batch<T>(&self, issue: impl FnOnce() -> T) -> T {
        if self.shared.is_all_mapped() {
            return issue();
        }
        let _batch = Batch::new(self);
        issue()
    }

    /// Issues two operations in one [batch](Self::batch), the second with what the first returned: they leave together, when the second is issued.
    ///
    /// ```
    /// # use pelago_rma::{Context, GlobalPtr, Result};
    /// # fn example(context: &Context, data: GlobalPtr<u64>, flag: GlobalPtr<u64>) -> Result<()> {
    /// let told = context.pair(
    ///     || context.put(data, &[7, 8, 9]),
    ///     |data| context.after(&data).put(flag, &[1]), // not seen before the data, and in the same message
    /// )?;
    /// told.wait()
    /// # }
    /// ```
    ///
    /// Cost: nothing beside the operations.
    ///
    /// # Errors
    /// Those of `first` and `second`.
    pub fn pair<A, B>(&self, first: impl FnOnce() -> Result<A>, second: impl FnOnce(A) -> Result<B>) -> Result<B> {
        if self.shared.is_all_mapped() {
            return second(first()?);
        }
        let batch = Batch::new(self);
        let found = first()?;
        if !batch.is_inner {
            self.engine.borrow_mut().end_batch_with_next();
        }
        second(found)
    }

    /// Begins or ends a batch whose operations no closure issues. Operations wait for others to the same rank at most until this context waits or makes
    /// progress, until their datagram is full, or until the batch ends.
    ///
    /// Cost: the end is a call of the transport, unless all ranks are mapped.
    pub fn set_batching(&self, batches: bool) {
        if !self.shared.is_all_mapped() {
            self.engine.borrow_mut().batch(&self.shared, batches);
        }
    }

    /// Orders operations per target and rail: those issued before take effect there before those issued after. One by
    /// [all rails](crate::Rails::all) is on each.
    ///
    /// What fails at its target does not hold back what comes behind the fence: for that, order it [`after`](Self::after) the operation.
    ///
    /// Cost: nothing if nothing is in flight; waits where no transport can order what comes next.
    ///
    /// # Errors
    /// An operation is known to have failed that nobody was told of, as by [`quiet`](Self::quiet); the job is at fault.
    #[inline]
    pub fn fence(&self) -> Result<()> {
        if self.busy.get() { self.fence_engine() } else { Ok(()) }
    }

    /// Waits until every operation of this context has taken effect, and orders them before every later one, loads included.
    ///
    /// **Each failure is reported once, unless its handle reports it.** A failed operation is untold until its handle says so or a call of
    /// this context reports it: `quiet`, [`fence`](Self::fence), [`flush`](Self::flush), [`flush_all`](Self::flush_all), a barrier, or the
    /// issue of an operation [`after_all`](Self::after_all). Such a call returns the untold failure of the operation that was issued first,
    /// and all that are untold at that moment count as told by it: the next such call succeeds, if nothing fails in between. A
    /// [`Fetch`](crate::Fetch) that is still there reports its own failure, to which these calls come only when it is dropped unasked, and not
    /// if it only reads. An operation that is ordered [`after`](Self::after) one that fails reports the failure of both. A [`Handle`] reports
    /// the failure of its operation each time it is asked, whoever was told before.
    ///
    /// # Errors
    /// An operation has failed that nobody was told of (the first is named), or the job is at fault.
    #[inline]
    pub fn quiet(&self) -> Result<()> {
        core::sync::atomic::fence(core::sync::atomic::Ordering::SeqCst);
        if self.busy.get() { self.quiet_engine() } else { Ok(()) }
    }

    /// Waits until every operation of this context that concerns `rank` has taken effect.
    ///
    /// # Errors
    /// An operation has failed that nobody was told of, whichever rank it concerned, as by [`quiet`](Self::quiet); the job is at fault.
    pub fn flush(&self, rank: Rank) -> Result<()> {
        core::sync::atomic::fence(core::sync::atomic::Ordering::SeqCst);
        if !self.busy.get() {
            return Ok(());
        }
        self.block("flush", Whom::Rank(rank), None, || Ok(self.engine.borrow().is_idle_towards(rank).then_some(())))?;
        self.tell_all()
    }

    /// As [`flush`](Self::flush), for all ranks. The words by which a barrier tells others are waited for too, which [`quiet`](Self::quiet)
    /// leaves to the next barrier.
    ///
    /// # Errors
    /// As [`flush`](Self::flush).
    pub fn flush_all(&self) -> Result<()> {
        core::sync::atomic::fence(core::sync::atomic::Ordering::SeqCst);
        if !self.busy.get() {
            return Ok(());
        }
        self.drain(None)?;
        self.tell_all()
    }

    #[cold]
    fn fence_engine(&self) -> Result<()> {
        let _inside = self.shared.inside();
        let is_ordered = {
            let mut engine = self.engine.borrow_mut();
            let orders = !engine.is_idle() && engine.all_posted(&self.shared);
            if orders {
                engine.fence();
            }
            orders || engine.is_idle()
        };
        if !is_ordered {
            self.drain(None)?;
        }
        self.tell_all()
    }

    #[cold]
    fn quiet_engine(&self) -> Result<()> {
        let _inside = self.shared.inside();
        let signals = self.engine.borrow().signals();
        self.block_until_left(signals, None, || Ok(self.engine.borrow().is_quiet().then_some(())))?;
        self.tell_all()
    }

    /// Reports the first failure that nobody was told of and nobody will come for; all of these count as told from now on.
    pub(super) fn tell_all(&self) -> Result<()> {
        let mut engine = self.engine.borrow_mut();
        let told = engine.tell_all();
        self.busy.set(!engine.is_idle());
        told
    }

    /// Waits until everything has ended.
    pub(crate) fn drain(&self, limit: Option<Duration>) -> Result<()> {
        self.block_until_left(0, limit, || Ok(self.engine.borrow().is_idle().then_some(())))
    }
}

/// What is issued may wait for company until this is dropped, or longer, if it did before.
struct Batch<'c> {
    context: &'c Context,
    is_inner: bool,
}

impl<'c> Batch<'c> {
    fn new(context: &'c Context) -> Self {
        let is_inner = context.engine.borrow().is_batching();
        context.set_batching(true);
        Self { context, is_inner }
    }
}

impl Drop for Batch<'_> {
    fn drop(&mut self) {
        if !self.is_inner {
            self.context.set_batching(false);
        }
    }
}
