//! Operations that do not complete immediately: they wait for predecessors, are posted to a transport in pieces, and end.
//!
//! An operation costs a few additions and comparisons here, independent of the number of operations in flight, and no allocation except for
//! the data that it moves: its record is stored at the index that its number has in the `order`.
//!
//! An operation with predecessors is posted *behind* them, without waiting for their completion, if a fence of the transport can order
//! it: all pieces of the predecessors have been posted, all go to the peer that it is posted to, and only a failure of that peer, which makes
//! the operation fail too, can make them fail. Its end is still held back until they have ended.

mod posting;

use pelago_base::{AddressLayout, Counters, Event, GlobalAddress, Instant, Rank};
use pelago_memory::Cells;
use pelago_platform::limits::CAPTURED_BYTES_MAX;
use pelago_platform::{Completion, Failure, Operation, PostError, Rail, Tally, Token, Transfer};

use crate::buffer::Buffer;
use crate::limits::{OPERATIONS_IN_FLIGHT_MAX, STRIPED_BYTES_MIN, TALLY_ROUNDS};
use crate::order::graph::{After, Order, Released};
use crate::order::outcomes::{Failed, Outcome, Outcomes};
use crate::progress::peers::{NOBODY, Peer, PeerNumber, Peers, Route};
use crate::progress::port::Port;
use crate::progress::record::{Audience, Posting, Record, Stage, Terms, Work};
use crate::progress::striping::Striping;
use crate::progress::task::{Span, Task};
use crate::shared::{Shared, capabilities};
use crate::{Error, Result};

/// The operations of one context that have not ended.
pub(crate) struct Engine {
    port: Port,
    inject_size: usize,
    /// Maximum number of operations that have not ended.
    operations_max: usize,
    /// Maximum message size that all rails support.
    message_bytes_max: u64,
    /// Whether a write wakes its target only with a notification (T10).
    notifies: bool,
    /// Time of the last progress call, used for posts if the transport reads the clock itself; else `None`.
    latest: Option<Instant>,
    /// `None` if there is only one rail.
    striping: Option<Striping>,
    /// Whether an operation issued through all rails at once may be in flight.
    may_be_on_all_rails: bool,
    /// Whether an operation may be in flight that writes elsewhere than to the rank that it was posted to.
    may_write_elsewhere: bool,
    peers: Peers,
    order: Order,
    /// The records of live operations, each at the index of its number, up to the highest index used; allocated on first use. Other entries are
    /// left over from earlier operations.
    records: Vec<Record>,
    /// The remaining work of live operations other than captured writes, at the same indices; allocated on first use.
    works: Vec<Work>,
    outcomes: Outcomes,
    /// Operations that have started and are not completely posted.
    unposted: Vec<u64>,
    /// Number of operations that have not started.
    deferred: usize,
    /// Number of live operations that are signals of a barrier.
    signals: usize,
    /// Number of bytes that records and outcomes hold.
    captured: usize,
    /// Number of progress calls of the transport, starting at 1.
    round: u16,
    /// Empty between calls, as is the next field.
    released: Vec<Released>,
    completed: Vec<Completion>,
    /// Number of deferred operations, and number of sleeps of waits.
    deferrals: u64,
    parks: u64,
    /// Number of accepted operations and of their bytes; what has been reported to the platform of both, and of the operations in flight.
    taken: [u64; 2],
    tallied: [u64; 2],
    tallied_in_flight: u32,
    batching: Batching,
}

/// Whether posted operations may be held back to share a message with later ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Batching {
    /// No operation is held back.
    Off,
    /// Operations may be held back, but none is.
    Empty,
    /// Operations may be held back, and one may be.
    Holding,
    /// An operation may be held back; it leaves with the next one that is posted.
    Ending,
}

impl Batching {
    const fn is_on(self) -> bool {
        matches!(self, Self::Empty | Self::Holding)
    }

    /// Returns the state after an operation was posted.
    const fn posted(self) -> Self {
        match self {
            Self::Off | Self::Ending => Self::Off,
            Self::Empty | Self::Holding => Self::Holding,
        }
    }
}

impl Engine {
    pub(crate) fn new(mut port: Port) -> Self {
        let (inject_size, operations_max, message_bytes_max, notifies, keeps_time, striping) = port.with(|transport| {
            let network = transport.network();
            let most = capabilities(network).map(|network| network.operations_max as usize).min();
            let most = most.unwrap_or(usize::MAX).clamp(1, OPERATIONS_IN_FLIGHT_MAX);
            let longest = capabilities(network).map(|network| network.message_bytes_max).min();
            let notifies = capabilities(network).any(|network| !network.wakes_target);
            let keeps_time = capabilities(network).all(|network| network.keeps_time);
            let striping = Striping::new(network.rails());
            (network.capabilities().inject_size, most, longest.unwrap_or(u64::MAX).max(1), notifies, keeps_time, striping)
        });
        Self {
            inject_size,
            operations_max,
            message_bytes_max,
            notifies,
            latest: keeps_time.then_some(Instant::ZERO),
            striping,
            may_be_on_all_rails: false,
            may_write_elsewhere: false,
            port,
            peers: Peers::default(),
            order: Order::default(),
            records: Vec::new(),
            works: Vec::new(),
            outcomes: Outcomes::default(),
            unposted: Vec::new(),
            deferred: 0,
            signals: 0,
            captured: 0,
            round: 1,
            released: Vec::new(),
            completed: Vec::new(),
            deferrals: 0,
            parks: 0,
            taken: [0; 2],
            tallied: [0; 2],
            tallied_in_flight: 0,
            batching: Batching::Off,
        }
    }

    pub(crate) fn port(&mut self) -> &mut Port {
        &mut self.port
    }

    pub(crate) fn counters(&self) -> Counters {
        let mut counters = Counters::default();
        let [operations, bytes] = self.taken;
        let own = [
            (Event::OperationIssued, operations),
            (Event::ByteIssued, bytes),
            (Event::Deferred, self.deferrals),
            (Event::Parked, self.parks),
        ];
        own.into_iter().for_each(|(event, times)| counters.add(event, times));
        counters
    }

    /// Returns the operations since the last call.
    pub(crate) fn take_tally(&mut self) -> Tally {
        let [operations, bytes] = std::mem::replace(&mut self.tallied, self.taken);
        let in_flight = self.in_flight();
        let before = std::mem::replace(&mut self.tallied_in_flight, in_flight);
        Tally {
            operations: self.taken[0] - operations,
            bytes: self.taken[1] - bytes,
            in_flight: in_flight.wrapping_sub(before).cast_signed(),
        }
    }

    /// Returns the rank that an operation was posted to, if the operation has not ended.
    pub(crate) fn target_of(&self, id: u64) -> Option<Rank> {
        let at = self.record(id)?.peers[0];
        // A contribution to a reduction has no target.
        (at != NOBODY).then(|| self.peers.get(at).route.rank())
    }

    /// Returns the rank that all live operations were posted to, if it is a single one.
    pub(crate) fn only_target(&self) -> Option<Rank> {
        let mut targets = self.order.live_ids().filter_map(|id| self.target_of(id));
        let first = targets.next()?;
        targets.all(|target| target == first).then_some(first)
    }

    /// Number of operations that have not ended.
    pub(crate) fn in_flight(&self) -> u32 {
        self.order.live() as u32
    }

    /// Counts a sleep of a wait.
    pub(crate) fn count_park(&mut self) {
        self.parks += 1;
    }

    /// Whether there is an unreported failure that no `Fetch` will report.
    pub(crate) fn has_failures(&self) -> bool {
        self.outcomes.has_untold()
    }

    /// Whether an operation that captures `bytes` bytes may be submitted.
    #[inline]
    pub(crate) fn has_room(&self, bytes: usize) -> bool {
        self.is_idle() || self.order.live() < self.operations_max && self.captured.saturating_add(bytes) <= CAPTURED_BYTES_MAX
    }

    /// Number of operations in flight at which a sleeping wait for room is woken: three quarters of the maximum, so that a loop that issues operations
    /// sleeps once for many of them.
    pub(crate) fn in_flight_for_room(&self) -> usize {
        self.operations_max - self.operations_max.div_ceil(4)
    }

    /// Whether no operation remains to be posted, whatever completes.
    pub(crate) fn is_all_begun(&self) -> bool {
        self.deferred == 0 && self.unposted.is_empty()
    }

    /// Whether all operations have ended.
    #[inline]
    pub(crate) fn is_idle(&self) -> bool {
        self.order.live() == 0
    }

    /// Whether an operation that has not ended accesses any of these bytes of this rank, which begin at `address`. A captured write to this rank counts,
    /// because its address is not stored.
    pub(crate) fn accesses(&self, shared: &Shared, address: GlobalAddress, memory: Cells<'_>) -> bool {
        let accesses = |id| match self.work(id) {
            Some(work) => work.task.as_ref().is_some_and(|task| task.accesses(address, memory)),
            None => self.target_of(id) == Some(shared.rank),
        };
        self.order.live_ids().any(accesses)
    }

    /// Whether every operation has been posted, by one rail, to the rank that it writes to, and to a transport that can order the next operations
    /// after it.
    pub(crate) fn all_posted(&mut self, shared: &Shared) -> bool {
        if self.may_be_on_all_rails {
            self.may_be_on_all_rails = self.order.live_ids().any(|id| self.record(id).is_some_and(|record| record.on_all_rails));
        }
        if self.may_write_elsewhere {
            let addresses = shared.reach.addresses();
            let writes_elsewhere = |id| self.work(id).is_some_and(|work| work.writes_elsewhere(addresses));
            self.may_write_elsewhere = self.order.live_ids().any(writes_elsewhere);
        }
        let mut connected = self.peers.iter().filter(|peer| peer.endpoint().is_some());
        let is_orderable = !self.may_be_on_all_rails && !self.may_write_elsewhere;
        self.is_all_begun() && is_orderable && !connected.any(|peer| shared.reach.holds(peer.route.rank()))
    }

    /// Whether all operations have ended except signals of barriers, whose end the next barrier implies.
    #[inline]
    pub(crate) fn is_quiet(&self) -> bool {
        self.order.live() == self.signals
    }

    /// Number of signals in flight.
    pub(crate) fn signals(&self) -> usize {
        self.signals
    }

    /// Marks an operation as a signal, unless it has ended.
    pub(crate) fn make_signal(&mut self, id: u64) {
        if let Some(record) = self.record_mut(id) {
            record.audience = Audience::Meeting;
            self.signals += 1;
        }
    }

    /// Whether all operations on `rank` have ended.
    pub(crate) fn is_idle_towards(&self, shared: &Shared, rank: Rank) -> bool {
        let mut rails = (0..Rail::MAX).map(Rail::new).chain([None]);
        let is_posted_to = rails.any(|rail| self.peers.find(Route::new(rank, rail)).is_some_and(|peer| peer.live > 0));
        let brings = |id| self.work(id).is_some_and(Work::brings);
        !is_posted_to && (rank != shared.rank || !self.order.live_ids().any(brings))
    }

    /// Whether an operation ordered after these operations may be posted immediately, if it goes to the same peer.
    pub(crate) fn is_orderly(&self, after: After) -> bool {
        match after {
            After::Nothing => true,
            After::One(id) => self.record(id).is_some_and(|record| record.stage.is_orderly()),
            After::All => self.is_all_orderly_at(self.peers.latest()),
        }
    }

    /// Begins or ends a batch: whether later operations may be held back. At the end, operations that were held back leave.
    pub(crate) fn batch(&mut self, shared: &Shared, batches: bool) {
        let holds = matches!(self.batching, Batching::Holding | Batching::Ending);
        self.batching = match (batches, holds) {
            (false, _) => Batching::Off,
            (true, false) => Batching::Empty,
            (true, true) => Batching::Holding,
        };
        if !batches && holds {
            self.port.with(|transport| transport.flush(shared.clock.now()));
        }
    }

    /// Ends the batch with the next posted operation, with which all held-back operations leave.
    pub(crate) fn end_batch_with_next(&mut self) {
        self.batching = if self.batching == Batching::Holding { Batching::Ending } else { Batching::Off };
    }

    /// Whether posted operations may be held back to share a message with later ones.
    pub(crate) fn is_batching(&self) -> bool {
        self.batching.is_on()
    }

    /// Orders posted operations before later ones.
    pub(crate) fn fence(&mut self) {
        self.peers.iter_mut().for_each(|peer| peer.is_fenced = true);
    }

    /// Accepts an operation. For a keeper, its word and buffer are stored until `take` or `forget`.
    pub(crate) fn submit(&mut self, shared: &Shared, terms: Terms, task: Task, audience: Audience) -> Result<u64> {
        let after = self.still(terms.after)?;
        let task = self.striped(shared, terms.rail, task).in_messages(self.message_bytes_max);
        let task = self.together(shared, terms.rail, task);
        let (mut record, work) = self.record_of(shared, task, audience, terms.rail)?;
        record.on_all_rails = terms.rail.is_some_and(|rail| self.is_all_rails(rail));
        self.may_be_on_all_rails |= record.on_all_rails;
        self.may_write_elsewhere |= work.writes_elsewhere(shared.reach.addresses());
        let follows = self.may_follow(after, record.peers[0]) && work.has_one_target(shared.reach.addresses());
        self.make_place();
        let (id, ready) = self.order.admit(after).map_err(|_| Error::ForeignHandle)?;
        self.store(id, record, work);
        if ready {
            self.begin(shared, id);
        } else if follows {
            self.follow(id);
            self.post_or_list(shared, id);
        } else {
            self.deferred += 1;
            self.deferrals += 1;
        }
        self.release(shared);
        Ok(id)
    }

    /// Posts a write whose payload the transport captures, or of which only the size is sent; `None` if the transport has no room, or if the write is too
    /// long, is striped, or has to wait.
    #[inline]
    pub(crate) fn submit_write(
        &mut self,
        shared: &Shared,
        terms: Terms,
        to: GlobalAddress,
        bytes: &[u8],
        by_size: bool,
    ) -> Result<Option<u64>> {
        let size = bytes.len() as u64;
        let on_all_rails = terms.rail.is_some_and(|rail| self.is_all_rails(rail));
        // A write by size captures nothing, whatever its length.
        let most = if by_size { self.message_bytes_max } else { self.inject_size as u64 };
        if size > most || on_all_rails && size >= STRIPED_BYTES_MIN {
            return Ok(None);
        }
        let operation =
            || if by_size { Operation::Sized(Transfer::Put { to, bytes: size }) } else { Operation::Write { to, bytes } };
        let is_sure = |addresses| Span { address: to, bytes: size }.is_in_heap(addresses);
        self.submit_captured(shared, terms, (to, bytes.len()), on_all_rails, is_sure, operation)
    }

    /// As [`submit_write`](Self::submit_write), for data and the 8-byte word that signals it; `None` also if the rail does not support both as one operation.
    #[inline(never)]
    pub(crate) fn submit_signalled(
        &mut self,
        shared: &Shared,
        terms: Terms,
        (to, bytes): (GlobalAddress, &[u8]),
        (at, word): (GlobalAddress, u64),
    ) -> Result<Option<u64>> {
        let addresses = shared.reach.addresses();
        let rank = addresses.rank(to);
        let is_of_one = rank == addresses.rank(at) && rank.number() < shared.size;
        if !is_of_one || bytes.len() > self.inject_size || terms.rail.is_some_and(|rail| self.is_all_rails(rail)) {
            return Ok(None);
        }
        let least = self.port.with(|transport| {
            let network = transport.network();
            let rail = terms.rail.unwrap_or_else(|| network.rail_to(rank));
            network.rails().get(rail.number()).map_or(usize::MAX, |rail| rail.signalled_bytes_min)
        });
        if bytes.len() < least {
            return Ok(None);
        }
        let spans = [(to, bytes.len() as u64), (at, 8)].map(|(address, bytes)| Span { address, bytes });
        let is_sure = |addresses| spans.iter().all(|span| span.is_in_heap(addresses));
        self.submit_captured(shared, terms, (to, bytes.len()), false, is_sure, || Operation::Signalled { to, bytes, at, word })
    }

    /// Posts an operation on `bytes` bytes from `to` on whose payload the transport captures; `None` if the transport has no room, or if the operation has
    /// to wait. `is_sure` is called after the operation was posted: whether its memory is always registered.
    #[inline(always)]
    fn submit_captured<'a>(
        &mut self,
        shared: &Shared,
        terms: Terms,
        (to, bytes): (GlobalAddress, usize),
        on_all_rails: bool,
        is_sure: impl Fn(AddressLayout) -> bool,
        // Constructed again for each attempt: copying the operation right after it was written word by word costs as much time as the rest of this function.
        operation: impl Fn() -> Operation<'a>,
    ) -> Result<Option<u64>> {
        let after = self.still(terms.after)?;
        let (peer, endpoint) = match self.connected(shared, to, terms.rail) {
            Some(found) => found,
            None => match self.connect(shared, to, terms.rail) {
                Ok(found) => found,
                Err(error) if after == After::Nothing => return Err(error),
                Err(_) => return Ok(None),
            },
        };
        let written = if after == After::Nothing {
            self.write(shared, peer, endpoint, operation())? || self.write_again(shared, peer, endpoint, operation())?
        } else {
            self.may_follow(after, peer) && {
                self.peers.get_mut(peer).is_fenced = true;
                self.write(shared, peer, endpoint, operation())?
            }
        };
        if !written {
            return Ok(None);
        }
        let (id, ready) = self.order.admit(after).map_err(|_| Error::ForeignHandle)?;
        let posting = if is_sure(shared.reach.addresses()) { Posting::Orderly } else { Posting::Open };
        let stage = if ready { Stage::Begun(posting) } else { Stage::Behind(posting) };
        self.may_be_on_all_rails |= on_all_rails;
        self.store_written(id, peer, stage, bytes, on_all_rails);
        Ok(Some(id))
    }

    /// Sends a two-sided message; `None` if the transport has no room at present.
    pub(crate) fn submit_message(&mut self, shared: &Shared, to: Rank, bytes: &[u8]) -> Result<Option<u64>> {
        let (peer, endpoint) = self.connect_rank(shared, to, None)?;
        self.make_place();
        let token = Token(self.order.upcoming());
        match self.port.send(shared.clock.now(), endpoint, bytes, token) {
            Some(Ok(())) => {}
            Some(Err(PostError::Full)) => return Ok(None),
            Some(Err(error)) => return Err(Error::Refused(error)),
            None => return Err(Error::Invalid("this network has no two-sided messages by itself")),
        }
        let (id, _) = self.order.admit(After::Nothing).map_err(|_| Error::ForeignHandle)?;
        self.store_written(id, peer, Stage::Begun(Posting::Open), bytes.len(), false);
        Ok(Some(id))
    }

    /// Makes all possible progress; returns whether any was made.
    pub(crate) fn progress(&mut self, shared: &Shared) -> bool {
        // Because of the wrap-around, a peer that was full 65,535 rounds ago is polled one round late.
        self.round = self.round.wrapping_add(1).max(1);
        let mut completed = std::mem::take(&mut self.completed);
        let now = shared.clock.now();
        self.latest = self.latest.map(|_| now);
        let mut moved = self.port.progress(now, &mut completed);
        moved |= !completed.is_empty();
        for Completion { token, result } in completed.drain(..) {
            self.complete(token.0, result);
        }
        self.completed = completed;
        self.release(shared);
        if !self.unposted.is_empty() {
            moved |= self.post_listed(shared);
            self.release(shared);
        }
        // A context that does not sleep again must not seem to have operations in flight.
        let is_over = self.tallied_in_flight > 0 && self.order.live() == 0;
        if is_over || self.round.is_multiple_of(TALLY_ROUNDS) {
            shared.tally(self.take_tally());
        }
        moved
    }

    /// Returns the result of an operation that has ended, which counts as reported; `None` if the operation has not ended.
    #[inline]
    pub(crate) fn poll(&mut self, id: u64) -> Option<Result<()>> {
        if self.order.is_live(id) { None } else { Some(self.outcomes.tell(id)) }
    }

    /// Returns the word and the buffer of an operation that has ended and whose result is stored; `None` if none is stored.
    pub(crate) fn take(&mut self, id: u64) -> Option<(u64, Option<Buffer>)> {
        let Outcome { word, buffer, .. } = self.outcomes.take(id)?;
        self.captured -= buffer.as_ref().map_or(0, Buffer::bytes);
        Some((word, buffer))
    }

    /// Discards the word of an operation. `quiet` reports a failure that is unreported, unless the operation only reads.
    pub(crate) fn forget(&mut self, id: u64) {
        let only_reads = self.only_reads(id);
        match self.record_mut(id) {
            Some(record) => record.audience = if only_reads { Audience::Nobody } else { Audience::Anyone },
            None => drop(self.take(id)),
        }
    }

    /// Returns the first unreported failure that no `Fetch` will report; all such failures count as reported from now on.
    pub(crate) fn tell_all(&mut self) -> Result<()> {
        self.outcomes.tell_all()
    }

    /// No operation issued from now on has a lower number, and all issued before have one.
    pub(crate) fn next_id(&self) -> u64 {
        self.order.next()
    }

    /// As [`tell_all`](Self::tell_all), for operations from number `from` on.
    pub(crate) fn tell_from(&mut self, from: u64) -> Result<()> {
        self.outcomes.tell_from(from)
    }

    /// Counts the failures of operations on these ranks as reported, unless a `Fetch` reports them.
    pub(crate) fn dismiss_lost(&mut self, ranks: &[Rank]) {
        self.outcomes.dismiss_lost(ranks);
    }

    /// Whether all operations have ended. Fails with an unreported failure, including one that a `Fetch` will report.
    pub(crate) fn has_all_ended(&mut self) -> Result<bool> {
        self.outcomes.tell_all_and_kept()?;
        Ok(self.is_idle())
    }

    /// Returns the predecessors that have not ended: they may have ended, or failed, while the caller waited for room.
    #[inline]
    fn still(&mut self, after: After) -> Result<After> {
        let ended = match after {
            After::Nothing => true,
            After::One(id) => self.poll(id).transpose()?.is_some(),
            After::All => self.has_all_ended()?,
        };
        Ok(if ended { After::Nothing } else { after })
    }

    /// Whether an operation on `peer` may be posted behind its predecessors.
    fn may_follow(&self, after: After, peer: PeerNumber) -> bool {
        match after {
            After::Nothing => false,
            After::One(id) => self.record(id).is_some_and(|earlier| earlier.stage.is_orderly() && earlier.peers[0] == peer),
            After::All => self.is_all_orderly_at(self.peers.get(peer)),
        }
    }

    /// Whether a fence at `peer` orders all live operations.
    fn is_all_orderly_at(&self, peer: &Peer) -> bool {
        !self.is_idle() && peer.orderly as usize == self.order.live()
    }

    #[inline]
    fn complete(&mut self, id: u64, result: Result<u64, Failure>) {
        let Some(record) = self.record_mut(id) else { return };
        record.out -= 1;
        match result {
            Ok(word) => {
                if let Some(work) = self.work_mut(id) {
                    work.word = word;
                    if let Some(task) = &work.task {
                        task.bring(word);
                    }
                }
            }
            Err(failure) => drop(self.make_work(id).failure.get_or_insert(failure)),
        }
        if self.is_done(id) {
            self.conclude(id);
        }
    }

    /// Ends an operation that is done, unless it was posted behind operations that have not ended.
    #[inline(always)]
    fn conclude(&mut self, id: u64) {
        let Record { peers: [at, other], stage, audience, written, .. } = self.records[self.order.place_of(id)];
        if stage.waits() {
            return;
        }
        let (mut word, mut failure, mut buffer, mut captured) = (0, None, None, written as usize);
        if let Some(work) = self.work_mut(id) {
            (word, failure) = (work.word, work.failure);
        }
        let only_reads = failure.is_some() && self.only_reads(id);
        if let Some(task) = self.work_mut(id).and_then(|work| work.task.take()) {
            captured = task.captured();
            buffer = task.into_buffer();
        }
        let peer = self.peers.get_mut(at);
        peer.live -= 1;
        peer.orderly -= u16::from(stage.is_orderly());
        self.peers.get_mut(other).live -= 1;
        let is_passed_on = failure.is_some() && self.passes_on(id);
        if audience == Audience::Keeper {
            let failed = failure.map(|failure| Failed { failure, told: is_passed_on, only_reads });
            // The buffer stays with the outcome until `take` or `forget`.
            self.captured -= captured - buffer.as_ref().map_or(0, Buffer::bytes);
            self.outcomes.keep(id, Outcome { word, buffer, failed });
            return self.order.end(id, failure, &mut self.released);
        }
        self.captured -= captured;
        let is_signal = audience == Audience::Meeting;
        self.signals -= usize::from(is_signal);
        self.outcomes.end(id, failure, is_signal || is_passed_on || audience == Audience::Nobody);
        // The next barrier detects a lost signal. Operations ordered after all others do not depend on signals.
        self.order.end(id, failure.filter(|_| !is_signal), &mut self.released);
    }

    /// Whether an operation that waits for this one fails with it and has its failure reported.
    #[cold]
    fn passes_on(&self, id: u64) -> bool {
        let waiters = std::iter::successors(self.order.first_waiter(id), |&waiter| self.order.next_waiter(waiter));
        waiters
            .filter_map(|waiter| self.record(waiter))
            .any(|waiter| matches!(waiter.audience, Audience::Anyone | Audience::Keeper))
    }

    /// Processes the operations released by ended predecessors: starts them, or ends those that were posted behind a predecessor and are done, or
    /// that fail with a predecessor.
    #[inline]
    fn release(&mut self, shared: &Shared) {
        while let Some((id, doomed)) = self.released.pop() {
            self.release_one(shared, id, doomed);
        }
    }

    fn release_one(&mut self, shared: &Shared, id: u64, doomed: Option<Failure>) {
        let Some(record) = self.record_mut(id) else { return };
        let was_deferred = record.stage == Stage::Deferred;
        record.stage = record.stage.released();
        record.inherits = doomed.is_some();
        if doomed.is_some() {
            // The operation fails with its predecessor's error, even if it has failed itself: a report of its failure counts for both.
            self.make_work(id).failure = doomed;
        }
        let is_done = self.is_done(id);
        self.deferred -= usize::from(was_deferred);
        if is_done {
            self.conclude(id);
        } else if was_deferred {
            self.begin(shared, id);
        }
    }

    /// Returns the record and the work of an operation that has not started.
    fn record_of(&mut self, shared: &Shared, task: Task, audience: Audience, rail: Option<Rail>) -> Result<(Record, Work)> {
        let addresses = shared.reach.addresses();
        let mut peers = [NOBODY; 2];
        let [rank, other] = task.ranks(addresses).map(|rank| rank.filter(|rank| rank.number() < shared.size));
        if let Some(rank) = rank {
            let route = self.route(shared, rank, other, rail)?;
            peers[0] = self.peers.number(route);
        }
        if let Some(other) = other {
            peers[1] = self.peers.number(Route::new(other, None));
        }
        Ok((Record { peers, audience, ..Record::default() }, Work::new(task)))
    }

    /// Stores the record and the work of an admitted operation.
    #[inline(always)]
    fn store(&mut self, id: u64, record: Record, work: Work) {
        self.captured += work.captured();
        self.taken[0] += 1;
        self.taken[1] += work.bytes();
        let [at, other] = record.peers;
        let peer = self.peers.get_mut(at);
        peer.live += 1;
        peer.orderly += u16::from(record.stage.is_orderly());
        self.peers.get_mut(other).live += 1;
        *self.place(id) = Record { has_work: true, ..record };
        *self.work_at(self.order.place_of(id)) = work;
    }

    /// Stores the record of a write that the transport has captured.
    #[inline(always)]
    fn store_written(&mut self, id: u64, at: PeerNumber, stage: Stage, bytes: usize, on_all_rails: bool) {
        let record = self.place(id);
        record.become_written(at, stage, bytes);
        record.on_all_rails = on_all_rails;
        let written = record.written;
        self.captured += written as usize;
        self.taken[0] += 1;
        self.taken[1] += bytes as u64;
        let peer = self.peers.get_mut(at);
        peer.live += 1;
        peer.orderly += u16::from(stage.is_orderly());
        self.peers.get_mut(NOBODY).live += 1;
    }

    /// Ensures that the next operation has an index. Records move to the new indices of their numbers.
    #[inline]
    fn make_place(&mut self) {
        if self.order.is_tight() {
            self.grow();
        }
    }

    #[cold]
    fn grow(&mut self) {
        let (places, mut before, mut works) =
            (self.order.places(), std::mem::take(&mut self.records), std::mem::take(&mut self.works));
        self.order.grow();
        self.records.reserve_exact(self.order.places());
        let live: Vec<u64> = self.order.live_ids().collect();
        for id in live {
            // The old index of each number is the number modulo the old table size, which is a power of two.
            let place = id as usize & (places - 1);
            *self.place(id) = std::mem::take(&mut before[place]);
            if self.record(id).is_some_and(|record| record.has_work) {
                *self.make_work(id) = std::mem::take(&mut works[place]);
            }
        }
    }

    /// Returns the record at the index of a number. Records above the highest index used so far are not allocated, to save memory.
    #[inline(always)]
    fn place(&mut self, id: u64) -> &mut Record {
        let place = self.order.place_of(id);
        if place >= self.records.len() {
            self.make_records(place);
        }
        &mut self.records[place]
    }

    #[cold]
    fn make_records(&mut self, place: usize) {
        self.records.resize_with(place + 1, Record::default);
    }

    /// Returns the record of an operation that has not ended.
    #[inline]
    fn record(&self, id: u64) -> Option<&Record> {
        if self.order.is_live(id) { Some(&self.records[self.order.place_of(id)]) } else { None }
    }

    #[inline]
    fn record_mut(&mut self, id: u64) -> Option<&mut Record> {
        if self.order.is_live(id) { Some(&mut self.records[self.order.place_of(id)]) } else { None }
    }

    /// Returns the work of an operation that has not ended; `None` if it is a write that the transport has captured, and has not failed.
    #[inline]
    fn work(&self, id: u64) -> Option<&Work> {
        self.record(id).filter(|record| record.has_work).map(|_| &self.works[self.order.place_of(id)])
    }

    #[inline]
    fn work_mut(&mut self, id: u64) -> Option<&mut Work> {
        let has_work = self.record(id).is_some_and(|record| record.has_work);
        if has_work { Some(&mut self.works[self.order.place_of(id)]) } else { None }
    }

    /// Returns the work of a live operation, and creates it if there is none: then the whole operation has been posted.
    fn make_work(&mut self, id: u64) -> &mut Work {
        let place = self.order.place_of(id);
        let had_work = std::mem::replace(&mut self.records[place].has_work, true);
        let work = self.work_at(place);
        if !had_work {
            *work = Work::default();
        }
        work
    }

    /// Returns the work at an index, whichever operation it belongs to.
    #[inline]
    fn work_at(&mut self, place: usize) -> &mut Work {
        if place >= self.works.len() {
            self.works.resize_with(place + 1, Work::default);
        }
        &mut self.works[place]
    }

    /// Whether all pieces of a live operation have been posted and completed.
    #[inline]
    fn is_done(&self, id: u64) -> bool {
        self.record(id).is_some_and(|record| record.out == 0) && self.work(id).is_none_or(Work::is_posted)
    }

    /// Whether a failure concerns only the receiver of the result: the operation only reads, and does not carry a predecessor's failure.
    fn only_reads(&self, id: u64) -> bool {
        self.record(id).is_some_and(|record| !record.inherits) && self.work(id).is_some_and(Work::only_reads)
    }
}

const _: () = {
    assert!(size_of::<Record>() <= 24 && size_of::<Work>() <= 104, "the records of a context fit a core's own cache");
    assert!(size_of::<Peer>() <= 24, "what is kept of a peer talked to");
};
