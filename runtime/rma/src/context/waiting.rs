//! Waiting for operations, and for what no single call waits for. What blocks is in `wait`.

use pelago_base::Duration;
use pelago_memory::{CellSlice, GlobalPtr, Pod};

use crate::context::wait::{Whom, word_of};
use crate::{Context, Error, Handle, Result};

impl Context {
    /// Waits for all of `handles`.
    ///
    /// # Errors
    /// The first failure among them, after all have ended, or [`Error::Forgotten`]; the job is at fault.
    pub fn wait_all(&self, handles: &[Handle<'_>]) -> Result<()> {
        let mut failure = Ok(());
        for handle in handles {
            match self.own(handle)?.map_or(Ok(()), |id| self.wait_id(id)) {
                Err(error @ (Error::Failed(_) | Error::Forgotten)) => failure = failure.and(Err(error)),
                other => other?,
            }
        }
        failure
    }

    /// Waits until one of `handles` has ended and returns its index; `None` if there are none.
    ///
    /// # Errors
    /// The operation that ended failed, or [`Error::Forgotten`]; the job is at fault.
    pub fn wait_any(&self, handles: &[Handle<'_>]) -> Result<Option<usize>> {
        if handles.is_empty() {
            return Ok(None);
        }
        let ids = handles.iter().map(|handle| self.own(handle)).collect::<Result<Vec<_>>>()?;
        self.block("one of several operations", Whom::Operations, None, || {
            for (index, id) in ids.iter().enumerate() {
                if id.map_or(Ok(true), |id| self.poll_id(id))? {
                    return Ok(Some(index));
                }
            }
            Ok(None)
        })
        .map(Some)
    }

    /// Waits until one of the elements at `indices` of this rank's own memory satisfies `condition`, which is asked with the index and the element; returns both.
    /// Of several, the first in `indices`.
    ///
    /// Cost: a load of each element for a look; else as [`wait_until`](Self::wait_until).
    ///
    /// # Errors
    /// There are no indices; `limit` has passed; the job is at fault.
    ///
    /// # Panics
    /// An index is past the end.
    ///
    /// Source: `shmem_wait_until_any` of OpenSHMEM 1.5.
    pub fn wait_until_any<T: Pod>(
        &self,
        limit: Option<Duration>,
        cells: CellSlice<'_, T>,
        indices: &[usize],
        mut condition: impl FnMut(usize, T) -> bool,
    ) -> Result<(usize, T)> {
        if indices.is_empty() {
            return Err(Error::Invalid("a wait for one of no words would never end"));
        }
        let losses = self.losses();
        self.block_on_memory("one of several values", word_of(cells, indices[0]), limit, || {
            self.nothing_lost_since(losses)?;
            let mut values = indices.iter().map(|&index| (index, cells.load(index)));
            Ok(values.find(|&(index, value)| condition(index, value)))
        })
    }

    /// Waits until `ready` returns something, while the library moves: for what no single call here waits for. `ready` is asked again after
    /// everything that may have changed its answer, and when this rank's doorbell is rung ([`reach`](Self::reach) has it for other threads).
    /// `what` names it in the error.
    ///
    /// # Errors
    /// Those of `ready`; `limit` has passed; the job is at fault.
    pub fn wait_for<T>(
        &self,
        what: &'static str,
        limit: Option<Duration>,
        ready: impl FnMut() -> Result<Option<T>>,
    ) -> Result<T> {
        self.block(what, Whom::Unknown, limit, ready)
    }

    /// As [`wait_for`](Self::wait_for), where `ready` depends on the element at `word` of this rank's own memory alone, and on what rings this rank's doorbell by itself: a rank
    /// that sleeps is not woken by what others write beside the cache line of that element.
    ///
    /// ```
    /// # fn example(world: &pelago_rma::World) -> pelago_rma::Result<()> {
    /// let arrived = world.alloc::<u64>(1)?;
    /// world.add(arrived.at(world.rank().next(world.size()), 0), 1)?;
    /// let own = arrived.at(world.rank(), 0);
    /// world.wait_for_word("a neighbour", None, own, || Ok((arrived.local().load(0) > 0).then_some(())))?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Cost: as [`wait_for`](Self::wait_for); a writer that finds the rank asleep compares an address.
    ///
    /// # Errors
    /// Those of `ready`; `limit` has passed; the job is at fault; [`Error::Invalid`]: the element is not in a heap of this rank.
    pub fn wait_for_word<T, V: Pod>(
        &self,
        what: &'static str,
        limit: Option<Duration>,
        word: GlobalPtr<V>,
        ready: impl FnMut() -> Result<Option<T>>,
    ) -> Result<T> {
        let cells = self.reach.cells(word.address(), size_of::<V>() as u64).and_then(|cells| cells.elements::<V>());
        match cells.filter(|_| self.reach.addresses().rank(word.address()) == self.rank()) {
            Some(cells) => self.block_on_word(what, Whom::Unknown, limit, (cells, 0), ready),
            None => Err(Error::Invalid("a rank waits for a word of its own memory")),
        }
    }

    /// As [`wait_for`](Self::wait_for), for what comes about without the library and rings no doorbell: an event of a GPU, a message of another library.
    /// `ready` is asked again after 20 us, then after pauses that double up to a millisecond, and whenever the library moves. Such a wait is no part of a
    /// deadlock, however long it takes.
    ///
    /// ```
    /// # fn example(world: &pelago_rma::World) -> pelago_rma::Result<()> {
    /// let computed = std::thread::spawn(|| 42);
    /// world.poll_for("the computation", None, || Ok(computed.is_finished().then_some(())))?; // other ranks are served meanwhile
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Those of `ready`; `limit` has passed; the job is at fault.
    pub fn poll_for<T>(
        &self,
        what: &'static str,
        limit: Option<Duration>,
        ready: impl FnMut() -> Result<Option<T>>,
    ) -> Result<T> {
        self.block_polling(what, limit, ready)
    }

    #[cold]
    pub(crate) fn wait_id(&self, id: u64) -> Result<()> {
        self.block("an operation", Whom::Operation(id), None, || Ok(self.poll_id(id)?.then_some(())))
    }

    /// Whether an operation has ended.
    pub(crate) fn poll_id(&self, id: u64) -> Result<bool> {
        Ok(self.engine.borrow_mut().poll(id).transpose()?.is_some())
    }

    /// As `poll_id`, after moving it on if need be.
    pub(crate) fn test_id(&self, id: u64) -> Result<bool> {
        if self.poll_id(id)? {
            return Ok(true);
        }
        self.progress();
        self.poll_id(id)
    }

    #[cold]
    pub(crate) fn wait_word(&self, id: u64) -> Result<u64> {
        let ended = self.wait_id(id);
        if let Err(error) = ended {
            self.forget_word(id);
            return Err(error);
        }
        let (word, _) = self.engine.borrow_mut().take(id).expect("a word is kept until somebody takes it");
        Ok(word)
    }

    #[cold]
    pub(crate) fn forget_word(&self, id: u64) {
        let mut engine = self.engine.borrow_mut();
        engine.forget(id);
        // `quiet` is to report a failure that nobody came for.
        self.busy.set(self.busy.get() || engine.has_failures());
    }

    /// The number of an operation of this context, `None` if it was done at once.
    fn own(&self, handle: &Handle<'_>) -> Result<Option<u64>> {
        match handle.parts() {
            None => Ok(None),
            Some((context, id)) if std::ptr::eq(context, self) => Ok(Some(id)),
            Some(_) => Err(Error::ForeignHandle),
        }
    }
}
