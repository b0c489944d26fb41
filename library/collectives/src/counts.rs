//! The operations with counts.

use core::cell::RefCell;

use pelago_rma::{Error, Pod, Result};

use crate::Operator;
use crate::collectives::Collectives;
use crate::counted::exchange::{Buffers, CHUNK_BYTES, Exchange};
use crate::counted::schedule::{Messages, Way, allgather_promise, sum_of};
use crate::counted::streams::{Streams, layout};
use crate::member::Uses;
use crate::operator::{Fold, Nothing};
use crate::scratch::zeroed_output;
use crate::started::Started;

/// Members of a team from which on an exchange addresses one partner at a time: so many messages at once overflow the buffers of a network.
const PAIRWISE_MEMBERS: u32 = 64;

/// What differs from the count of a member.
const OWN: &str = "the number of values of this member (its count)";

impl<'w> Collectives<'w> {
    /// Exchanges blocks of any lengths between all members: `from` has `send[m]` values for each member m, one block after another;
    /// `into` gets `receive[m]` values of each.
    ///
    /// Cost: a message of up to 64 KiB, or several, for each pair of members, also where the count is 0. Nothing is prepared, except on the first
    /// operation with counts of the team.
    ///
    /// # Errors
    /// The lengths of slices differ from the counts; members disagree in a count or in the order of operations: from then on every operation with
    /// counts of the team fails; no memory is left; a member failed; the job is at fault.
    pub fn alltoallv<T: Pod>(&self, from: &[T], send: &[usize], into: &mut [T], receive: &[usize]) -> Result<()> {
        self.check_counts(send, from.len())?;
        self.check_counts(receive, into.len())?;
        let (me, way) = (self.position(), self.way_of_exchange());
        self.exchange(from, into, &Nothing, |messages| messages.alltoall(me, way, send, receive))
    }

    /// Starts an [`alltoallv`](Self::alltoallv); its wait returns the blocks of all members.
    ///
    /// # Errors
    /// As [`alltoallv`](Self::alltoallv); too many operations are in flight; this member has no memory for the output (`OutOfMemory`).
    pub fn start_alltoallv<T: Pod>(&self, from: Vec<T>, send: &[usize], receive: &[usize]) -> Result<Started<'_, 'w, T>> {
        self.check_counts(send, from.len())?;
        let into = sum_of(receive);
        self.check_counts(receive, into)?;
        let (me, way) = (self.position(), self.way_of_exchange());
        self.start(from, into, Nothing, |messages| messages.alltoall(me, way, send, receive))
    }

    /// Copies the block of each member to all; `counts` has the number of values of each, the same on every member.
    ///
    /// # Errors
    /// As [`alltoallv`](Self::alltoallv).
    pub fn allgatherv<T: Pod>(&self, own: &[T], counts: &[usize], all: &mut [T]) -> Result<()> {
        self.check_own(counts, own.len(), all.len())?;
        let (me, way) = (self.position(), self.way_of_allgather::<T>(counts));
        self.exchange(own, all, &Nothing, |messages| messages.allgather(me, way, counts))
    }

    /// Starts an [`allgatherv`](Self::allgatherv).
    ///
    /// # Errors
    /// As [`allgatherv`](Self::allgatherv); too many operations are in flight.
    pub fn start_allgatherv<T: Pod>(&self, own: Vec<T>, counts: &[usize]) -> Result<Started<'_, 'w, T>> {
        let all = sum_of(counts);
        self.check_own(counts, own.len(), all)?;
        let (me, way) = (self.position(), self.way_of_allgather::<T>(counts));
        self.start(own, all, Nothing, |messages| messages.allgather(me, way, counts))
    }

    /// Copies the block of each member to the one at `root`. Elsewhere `all` is empty, and `counts` is empty or that of the root.
    ///
    /// # Errors
    /// As [`alltoallv`](Self::alltoallv).
    pub fn gatherv<T: Pod>(&self, root: u32, own: &[T], counts: &[usize], all: &mut [T]) -> Result<()> {
        self.check_root(root, counts, own.len(), all.len())?;
        let me = self.position();
        self.exchange(own, all, &Nothing, |messages| messages.gather(me, root, own.len(), counts))
    }

    /// Starts a [`gatherv`](Self::gatherv).
    ///
    /// # Errors
    /// As [`gatherv`](Self::gatherv); too many operations are in flight.
    pub fn start_gatherv<T: Pod>(&self, root: u32, own: Vec<T>, counts: &[usize]) -> Result<Started<'_, 'w, T>> {
        let all = if self.position() == root { sum_of(counts) } else { 0 };
        let count = own.len();
        self.check_root(root, counts, count, all)?;
        let me = self.position();
        self.start(own, all, Nothing, |messages| messages.gather(me, root, count, counts))
    }

    /// Copies to each member its block of the member at `root`. Elsewhere `all` is empty, and `counts` is empty or that of the root.
    ///
    /// # Errors
    /// As [`alltoallv`](Self::alltoallv).
    pub fn scatterv<T: Pod>(&self, root: u32, all: &[T], counts: &[usize], own: &mut [T]) -> Result<()> {
        self.check_root(root, counts, own.len(), all.len())?;
        let (me, count) = (self.position(), own.len());
        self.exchange(all, own, &Nothing, |messages| messages.scatter(me, root, count, counts))
    }

    /// Starts a [`scatterv`](Self::scatterv); this member gets `count` values.
    ///
    /// # Errors
    /// As [`scatterv`](Self::scatterv); too many operations are in flight.
    pub fn start_scatterv<T: Pod>(&self, root: u32, all: Vec<T>, counts: &[usize], count: usize) -> Result<Started<'_, 'w, T>> {
        self.check_root(root, counts, count, all.len())?;
        let me = self.position();
        self.start(all, count, Nothing, |messages| messages.scatter(me, root, count, counts))
    }

    /// Combines the blocks of all members, which may differ in length; each gets the one at its position. `counts` are the same on every
    /// member. Operands stay in the order of the members.
    ///
    /// # Errors
    /// As [`alltoallv`](Self::alltoallv).
    pub fn reduce_scatterv<T: Pod>(&self, all: &[T], counts: &[usize], own: &mut [T], operator: impl Operator<T>) -> Result<()> {
        self.check_own(counts, own.len(), all.len())?;
        let me = self.position();
        self.exchange(all, own, &operator, |messages| messages.reduce_scatter(me, counts))
    }

    /// Starts a [`reduce_scatterv`](Self::reduce_scatterv).
    ///
    /// # Errors
    /// As [`reduce_scatterv`](Self::reduce_scatterv); too many operations are in flight.
    pub fn start_reduce_scatterv<T: Pod>(
        &self,
        all: Vec<T>,
        counts: &[usize],
        operator: impl Operator<T> + 'static,
    ) -> Result<Started<'_, 'w, T>> {
        let (me, own) = (self.position(), counts.get(self.position() as usize).copied().unwrap_or(0));
        self.check_own(counts, own, all.len())?;
        self.start(all, own, operator, |messages| messages.reduce_scatter(me, counts))
    }

    /// Runs an operation; `fill` sets its messages.
    pub(crate) fn exchange<T: Pod>(
        &self,
        input: &[T],
        output: &mut [T],
        fold: &dyn Fold<T>,
        fill: impl FnOnce(&mut Messages),
    ) -> Result<()> {
        self.make_streams::<T>()?;
        self.wait_until_free(Uses::Streams)?;
        let Self { world, member, scratch, .. } = self;
        let mut chunk = scratch.take::<T>(self.chunk_length::<T>());
        let exchange = RefCell::new(core::mem::take(&mut *member.spare.borrow_mut()));
        fill(&mut exchange.borrow_mut().messages);
        exchange.borrow_mut().begin();
        let mut advance = || -> Result<Option<()>> {
            let (mut streams, buffers) =
                (member.streams.borrow_mut(), Buffers { input, output: &mut *output, chunk: &mut chunk, fold });
            let streams = streams.as_mut().expect("they are made");
            let (_, ended) = exchange.borrow_mut().advance(&member.context(world), world, streams, buffers)?;
            Ok(ended.then_some(()))
        };
        let ended = match advance() {
            Ok(None) => world.wait_for("a collective operation", None, advance),
            other => other.map(drop),
        };
        *member.spare.borrow_mut() = exchange.into_inner();
        scratch.give(chunk);
        self.told(ended)
    }

    pub(crate) fn start<T: Pod>(
        &self,
        input: Vec<T>,
        output: usize,
        operator: impl Operator<T> + 'static,
        fill: impl FnOnce(&mut Messages),
    ) -> Result<Started<'_, 'w, T>> {
        self.make_streams::<T>()?;
        let output = zeroed_output(output)?;
        let mut exchange = Exchange::default();
        fill(&mut exchange.messages);
        exchange.begin();
        self.start_exchange(exchange, input, output, operator)
    }

    /// Number of values that are combined at a time.
    pub(crate) fn chunk_length<T>(&self) -> usize {
        (CHUNK_BYTES / size_of::<T>().max(1)).max(1)
    }

    /// Allocates the memory of the streams, on the first operation with counts. Collective.
    pub(crate) fn make_streams<T: Pod>(&self) -> Result<()> {
        let (size, member) = (self.team().size(), &self.member);
        // A quarter of the memory of the team at most.
        let bytes_max = self.plan_bytes.min(self.member.words.length() * 2);
        let (bytes, words) = layout(size, bytes_max, self.is_mapped());
        if size_of::<T>() == 0 || size_of::<T>() > bytes || align_of::<T>() > 32 {
            return Err(Error::Invalid(
                "an element of an operation with counts has at least one byte, fits a fragment of a stream, and has an alignment of at most 32 \
                 bytes",
            ));
        }
        if member.streams.borrow().is_some() {
            return Ok(());
        }
        self.world.await_quiet()?;
        let region = loop {
            match self.take(words) {
                Err(Error::NoMemory { .. }) if self.forget()? => {}
                other => break other?,
            }
        };
        let streams = Streams::new(member.words.part(region.start, words), self.position(), size, bytes, self.captured());
        // The first agreement follows the arrival of all puts for earlier plans. No member puts before the second one, which follows the clearing on
        // all members.
        let met = self.agree_on([region.start as u64, words as u64, 0, 1]).and_then(|()| {
            streams.clear(self.world);
            self.agree_on([1, 1, 1, 1])
        });
        if met.is_err() {
            self.give_back(region);
        }
        met?;
        *member.streams.borrow_mut() = Some(streams);
        Ok(())
    }

    /// Returns the order of messages. Members may choose differently: the messages are the same.
    fn way_of_exchange(&self) -> Way {
        if self.team().size() >= PAIRWISE_MEMBERS { Way::Pairwise } else { Way::Direct }
    }

    /// Returns the order of messages. All members know all counts, and so choose the same.
    fn way_of_allgather<T>(&self, counts: &[usize]) -> Way {
        let predict = |way| self.model().predict(allgather_promise(way, counts), size_of::<T>());
        if predict(Way::Ring) < predict(Way::Direct) { Way::Ring } else { Way::Direct }
    }

    fn check_counts(&self, counts: &[usize], values: usize) -> Result<()> {
        check_counts(counts, self.team().size() as usize, values)
    }

    fn check_own(&self, counts: &[usize], own: usize, all: usize) -> Result<()> {
        self.check_counts(counts, all)?;
        Error::check_number(OWN, own, counts[self.position() as usize])
    }

    fn check_root(&self, root: u32, counts: &[usize], own: usize, all: usize) -> Result<()> {
        if root >= self.team().size() {
            return Err(Error::Invalid("the root must be a member of the team"));
        }
        if self.position() == root {
            return self.check_own(counts, own, all);
        }
        if !counts.is_empty() {
            Error::check_number("the number of counts", counts.len(), self.team().size() as usize)?;
            Error::check_number(OWN, own, counts[self.position() as usize])?;
        }
        Error::check_number("the number of all values of a member that is not the root", all, 0)
    }
}

/// Checks that there is a count for each of `members`, and that the counts add up to the number of values.
pub(crate) fn check_counts(counts: &[usize], members: usize, values: usize) -> Result<()> {
    Error::check_number("the number of counts", counts.len(), members)?;
    Error::check_number("the number of values of a buffer (the sum of its counts)", values, sum_of(counts))
}
