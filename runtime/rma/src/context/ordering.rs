//! The order in which operations take effect: fences, quiet, and operations after others.

use pelago_base::{Duration, Rank};

use crate::context::wait::Whom;
use crate::order::graph::After;
use crate::progress::engine::Engine;
use crate::{Chain, Context, Handle, Ordered, Result};

impl Context {
    /// Returns operations that take effect after the operation of `handle`, whichever ranks either accesses. With a handle of another context they fail
    /// with [`Error::ForeignHandle`](crate::Error::ForeignHandle), also where memory is mapped. The handle of a [`Fetch`](crate::Fetch) that completed when
    /// it was issued is accepted in every context.
    #[inline]
    pub fn after<'c>(&'c self, handle: &Handle<'_>) -> Ordered<'c> {
        let after = handle.parts().map_or(After::Nothing, |(_, id)| After::One(id));
        Ordered::new(self, handle.is_of(self).then_some(after))
    }

    /// Returns operations that take effect after all operations that this context issued before.
    ///
    /// Such an operation has no effect if one of its predecessors fails while it waits. If a predecessor has already failed and the failure is
    /// unreported, the call reports it as [`quiet`](Self::quiet) does, even for an operation that returns a word.
    pub fn after_all(&self) -> Ordered<'_> {
        Ordered::new(self, Some(After::All))
    }

    /// Starts a sequence of operations, each of which takes effect after the previous one.
    pub fn chain(&self) -> Chain<'_> {
        Chain::new(self)
    }

    /// Issues several operations at once. Those to one rank leave in one message where the network permits, which saves a message per operation;
    /// ordered operations as well.
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

    /// Issues two operations in one [batch](Self::batch), the second with the result of the first: both leave when the second is issued.
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
    /// Cost: no cost beyond that of the operations.
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

    /// Begins or ends a batch whose operations are not issued by a closure. An operation is held back for others to the same rank at most until this
    /// context waits or makes progress, until its datagram is full, or until the batch ends.
    ///
    /// Cost: the end is a call of the transport, unless all ranks are mapped.
    pub fn set_batching(&self, batches: bool) {
        if !self.shared.is_all_mapped() {
            self.engine.borrow_mut().batch(&self.shared, batches);
        }
    }

    /// Orders operations per target and rail: operations issued before the fence take effect at the target before those issued after it. An operation
    /// through [all rails](crate::Rails::all) counts for each rail, and a copy for the ranks of both its ends.
    ///
    /// An operation that fails at its target does not hold back operations after the fence: to get this, order them [`after`](Self::after) it.
    ///
    /// Cost: none if no operation is in flight; waits if a transport cannot order the next operations.
    ///
    /// # Errors
    /// An operation is known to have failed and was not reported, as for [`quiet`](Self::quiet); the job has a fault.
    #[inline]
    pub fn fence(&self) -> Result<()> {
        if self.busy.get() { self.fence_engine() } else { Ok(()) }
    }

    /// Waits until every operation of this context has taken effect, and orders these operations before every later one, including loads.
    ///
    /// **Each failure is reported once, unless its handle reports it.** A failed operation is unreported until its handle reports it or a call of
    /// this context does: `quiet`, [`fence`](Self::fence), [`flush`](Self::flush), [`flush_all`](Self::flush_all), a barrier, or the
    /// issue of an operation [`after_all`](Self::after_all). Such a call returns the unreported failure of the operation that was issued first,
    /// and all failures that are unreported at that moment count as reported: the next such call succeeds, if no operation fails in between. A live
    /// [`Fetch`](crate::Fetch) reports its own failure; these calls report it only after the `Fetch` was dropped without a query, and never
    /// if the operation only reads. An operation ordered [`after`](Self::after) a failed one reports the failure of both. A [`Handle`] reports
    /// the failure of its operation each time it is queried, even if a call has reported it before.
    ///
    /// # Errors
    /// An operation has failed and was not reported (the error names the first), or the job has a fault.
    #[inline]
    pub fn quiet(&self) -> Result<()> {
        core::sync::atomic::fence(core::sync::atomic::Ordering::SeqCst);
        if self.busy.get() { self.quiet_engine() } else { Ok(()) }
    }

    /// Waits until every operation of this context on the memory of `rank` has taken effect.
    ///
    /// # Errors
    /// An operation on any rank has failed and was not reported, as for [`quiet`](Self::quiet); the job has a fault.
    pub fn flush(&self, rank: Rank) -> Result<()> {
        core::sync::atomic::fence(core::sync::atomic::Ordering::SeqCst);
        if !self.busy.get() {
            return Ok(());
        }
        let is_idle = || self.engine.borrow().is_idle_towards(&self.shared, rank);
        self.block("flush", Whom::Rank(rank), None, || Ok(is_idle().then_some(())))?;
        self.tell_all()
    }

    /// As [`flush`](Self::flush), for all ranks. It also waits for the signal words of a barrier, which [`quiet`](Self::quiet) leaves to the next
    /// barrier.
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
        self.block_until_quiet()?;
        self.tell_all()
    }

    /// Waits as [`quiet`](Self::quiet), and leaves failures of operations to the next call that reports them. For the collective functions of libraries: a
    /// rank that returned because an earlier operation of the program has failed would leave the other ranks waiting.
    ///
    /// # Errors
    /// The job has a fault.
    pub fn await_quiet(&self) -> Result<()> {
        self.quiet_by(|_| Ok(()))
    }

    /// Returns the position of the next operation among those of this context, for [`quiet_since`](Self::quiet_since).
    pub fn mark(&self) -> OperationMark {
        OperationMark(self.engine.borrow().next_id())
    }

    /// Waits as [`quiet`](Self::quiet), and reports only failures of operations issued after `mark`; those of others are left to the next call that
    /// reports them. For functions of libraries whose result the caller must get, whatever the program has done before.
    ///
    /// # Errors
    /// As [`quiet`](Self::quiet), for these operations.
    pub fn quiet_since(&self, OperationMark(from): OperationMark) -> Result<()> {
        self.quiet_by(|engine| engine.tell_from(from))
    }

    /// Counts the unreported failures of operations on ranks that [failed](crate::World::on_peer_lost) as reported. For functions of libraries that have
    /// returned the failure of such a rank.
    pub fn dismiss_lost(&self) {
        if self.losses() > 0 {
            let mut engine = self.engine.borrow_mut();
            engine.dismiss_lost(&self.lost());
            self.busy.set(!engine.is_idle() || engine.has_failures());
        }
    }

    fn quiet_by(&self, tell: impl FnOnce(&mut Engine) -> Result<()>) -> Result<()> {
        core::sync::atomic::fence(core::sync::atomic::Ordering::SeqCst);
        if !self.busy.get() {
            return Ok(());
        }
        let _inside = self.shared.inside();
        self.block_until_quiet()?;
        let mut engine = self.engine.borrow_mut();
        let told = tell(&mut engine);
        self.busy.set(!engine.is_idle() || engine.has_failures());
        told
    }

    fn block_until_quiet(&self) -> Result<()> {
        let signals = self.engine.borrow().signals();
        self.block_until_left("quiet", signals, None, || Ok(self.engine.borrow().is_quiet().then_some(())))
    }

    /// Reports the first unreported failure that no `Fetch` will report; all such failures count as reported from now on.
    pub(super) fn tell_all(&self) -> Result<()> {
        let mut engine = self.engine.borrow_mut();
        let told = engine.tell_all();
        self.busy.set(!engine.is_idle());
        told
    }

    /// Waits until all operations have ended.
    pub(crate) fn drain(&self, limit: Option<Duration>) -> Result<()> {
        self.block_until_left("quiet", 0, limit, || Ok(self.engine.borrow().is_idle().then_some(())))
    }
}

/// A position among the operations of a context; see [`Context::mark`].
#[derive(Clone, Copy, Debug)]
pub struct OperationMark(u64);

/// A batch: issued operations may be held back for others until this is dropped, or longer if an enclosing batch exists.
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
