//! Waiting for operations and for conditions. The blocking code is in `wait`.

use pelago_base::Duration;
use pelago_memory::{CellSlice, GlobalPtr, Pod};

use crate::context::wait::{Whom, word_of};
use crate::{Context, Error, Handle, Result};

impl Context {
    /// Waits for all of `handles`.
    ///
    /// # Errors
    /// The first failure among them, after all have ended, or [`Error::Forgotten`]; the job has a fault. A handle belongs to another context: then
    /// the call waits for none, and counts no failure as reported.
    pub fn wait_all(&self, handles: &[Handle<'_>]) -> Result<()> {
        handles.iter().try_for_each(|handle| self.own(handle).map(drop))?;
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
    /// The operation that ended has failed, or [`Error::Forgotten`]; the job has a fault.
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

    /// Waits until one of the elements at `indices` of this rank's own memory satisfies `condition`, which is called with the index and the element.
    /// Returns both; if several elements satisfy it, those of the first in `indices`.
    ///
    /// Cost: a load of each element per poll; otherwise as [`wait_until`](Self::wait_until).
    ///
    /// # Errors
    /// `indices` is empty; `limit` has expired; the job has a fault.
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

    /// Waits until `ready` returns a value, and makes progress meanwhile: for conditions without a specific call here. `ready` is called again after
    /// every event that may have changed its result, and when this rank's doorbell is rung ([`reach`](Self::reach) has the doorbell for other threads).
    /// `what` names the event in the error.
    ///
    /// # Errors
    /// Those of `ready`; `limit` has expired; the job has a fault.
    pub fn wait_for<T>(
        &self,
        what: &'static str,
        limit: Option<Duration>,
        ready: impl FnMut() -> Result<Option<T>>,
    ) -> Result<T> {
        self.block(what, Whom::Unknown, limit, ready)
    }

    /// As [`wait_for`](Self::wait_for), for a `ready` that depends only on the element at `word` of this rank's own memory, and on events that ring this
    /// rank's doorbell: a sleeping rank is not woken by writes of others outside the cache line of that element.
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
    /// Those of `ready`; `limit` has expired; the job has a fault; [`Error::Invalid`]: the element is not in a heap of this rank.
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

    /// As [`wait_for`](Self::wait_for), for events outside the library that ring no doorbell: an event of a GPU, a message of another library.
    /// `ready` is called again after 20 us, then after intervals that double up to a millisecond, and whenever the library makes progress. Such a wait
    /// never counts as part of a deadlock, however long it takes.
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
    /// Those of `ready`; `limit` has expired; the job has a fault.
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

    /// As `poll_id`, but makes progress if the operation has not ended.
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
        // `quiet` has to report a failure that no handle has reported.
        self.busy.set(self.busy.get() || engine.has_failures());
    }

    /// Returns the number of an operation of this context, `None` if it completed when it was issued.
    fn own(&self, handle: &Handle<'_>) -> Result<Option<u64>> {
        if handle.is_of(self) { Ok(handle.parts().map(|(_, id)| id)) } else { Err(Error::ForeignHandle) }
    }
}
