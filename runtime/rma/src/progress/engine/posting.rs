//! Posting operations to the transport: immediately, as soon as there is room, or behind operations that are already posted.

use pelago_base::{AtomicOperator, GlobalAddress, Rank};
use pelago_platform::{Endpoint, Failure, Flags, Operation, PostError, Rail, ReductionGroup, ReductionOperator, Token, Transfer};

use super::Engine;
use crate::order::graph::After;
use crate::progress::peers::{NOBODY, PeerNumber, Route};
use crate::progress::record::{Posting, Record, Stage};
use crate::progress::striping::Striping;
use crate::progress::task::Task;
use crate::shared::Shared;
use crate::{Error, Result};

/// Maximum number of pieces of one operation that the transport holds at once.
const PIECES_IN_FLIGHT_MAX: u32 = 64;

impl Engine {
    /// Starts an operation whose predecessors have all ended.
    pub(super) fn begin(&mut self, shared: &Shared, id: u64) {
        let is_free = self.record(id).is_some_and(|record| self.rail_of(record).is_none());
        let Some(record) = self.record_mut(id) else { return };
        record.stage = Stage::Begun(Posting::Open);
        if is_free
            && let Some(work) = self.work_mut(id).filter(|work| !work.is_striped())
            && let Some(task) = &mut work.task
            && let Some(word) = task.do_mapped(&shared.reach)
        {
            (work.word, work.posted) = (word, work.pieces);
            return self.conclude(id);
        }
        self.post_or_list(shared, id);
    }

    /// Starts an operation behind its predecessors: its pieces are posted after a fence.
    pub(super) fn follow(&mut self, id: u64) {
        let Some(record) = self.record_mut(id) else { return };
        record.stage = Stage::Behind(Posting::Open);
        let peer = record.peers[0];
        self.peers.get_mut(peer).is_fenced = true;
    }

    /// Starts a deferred operation, if it may now be posted behind its predecessor.
    fn follow_late(&mut self, shared: &Shared, id: u64, earlier: u64) {
        let addresses = shared.reach.addresses();
        let may = |record: &Record| {
            record.stage == Stage::Deferred
                && self.may_follow(After::One(earlier), record.peers[0])
                && self.work(id).is_none_or(|work| work.has_one_target(addresses))
        };
        if self.record(id).is_some_and(may) {
            self.deferred -= 1;
            self.follow(id);
            self.unposted.push(id);
        }
    }

    pub(super) fn post_or_list(&mut self, shared: &Shared, id: u64) {
        if !self.post(shared, id) {
            self.unposted.push(id);
        }
    }

    /// Posts started operations, oldest first, as far as there is room; returns whether any was completely posted. The list grows during the loop by
    /// operations that may now be posted behind others.
    pub(super) fn post_listed(&mut self, shared: &Shared) -> bool {
        let (mut next, mut left) = (0, 0);
        while let Some(&id) = self.unposted.get(next) {
            next += 1;
            if !self.post(shared, id) {
                self.unposted[left] = id;
                left += 1;
            }
        }
        self.unposted.truncate(left);
        left < next
    }

    /// Posts pieces while there is room; returns whether all pieces are posted.
    fn post(&mut self, shared: &Shared, id: u64) -> bool {
        loop {
            let Some(&Record { out, peers: [peer, _], .. }) = self.record(id) else { return true };
            let Some(work) = self.work_mut(id).filter(|work| !work.is_posted()) else {
                self.settle(shared, id);
                return true;
            };
            if out == PIECES_IN_FLIGHT_MAX {
                return false;
            }
            // The operation borrows shapes and lists from the task.
            let (Some(mut task), posted) = (work.task.take(), work.posted) else { return true };
            let (operation, at, rail) = task.piece(posted);
            let rail = rail.or_else(|| self.peers.get(peer).route.rail());
            let offered = self.post_piece(shared, operation, at, rail, Token(id));
            let place = self.order.place_of(id);
            let (record, work) = (&mut self.records[place], &mut self.works[place]);
            work.task = Some(task);
            match offered {
                Ok(true) => {
                    work.posted += 1;
                    record.out += 1;
                }
                Ok(false) => return false,
                Err(failure) => work.failure = Some(failure),
            }
        }
    }

    /// Posts a piece to the owner of `at`; `false` if the transport has no room.
    fn post_piece(
        &mut self,
        shared: &Shared,
        operation: Operation<'_>,
        at: GlobalAddress,
        rail: Option<Rail>,
        token: Token,
    ) -> Result<bool, Failure> {
        let addresses = shared.reach.addresses();
        let other = match operation {
            Operation::Copy { to, .. } | Operation::Sized(Transfer::Copy { to, .. }) => Some(addresses.rank(to)),
            _ => None,
        };
        let rank = self.owner(shared, at).map_err(|_| Failure::OutOfBounds(at))?;
        let route = self.route(shared, rank, other, rail);
        let connected = route.and_then(|route| self.connect_route(shared, route));
        let (peer, endpoint) = connected.map_err(|_| Failure::Unreachable(rank))?;
        let posted = self.offer(shared, peer, endpoint, operation, token);
        Ok(posted.unwrap_or_else(|error| unreachable!("connected, and not too long: {error}")))
    }

    /// Handles a completely posted operation: it may be done, or operations that wait for it may now be posted behind it.
    fn settle(&mut self, shared: &Shared, id: u64) {
        let addresses = shared.reach.addresses();
        if self.is_done(id) {
            return self.conclude(id);
        }
        let is_sure = self.work(id).is_some_and(|work| work.is_sure(addresses));
        let Some(record) = self.record_mut(id) else { return };
        let Some(ordered) = record.stage.ordered().filter(|_| is_sure) else { return };
        record.stage = ordered;
        let peer = record.peers[0];
        self.peers.get_mut(peer).orderly += 1;
        let mut waiter = self.order.first_waiter(id);
        while let Some(next) = waiter {
            waiter = self.order.next_waiter(next);
            self.follow_late(shared, next, id);
        }
    }

    /// Offers a short write to the transport, under the next number.
    #[inline(always)]
    pub(super) fn write(
        &mut self,
        shared: &Shared,
        peer: PeerNumber,
        endpoint: Endpoint,
        operation: Operation<'_>,
    ) -> Result<bool> {
        self.make_place();
        let token = Token(self.order.upcoming());
        self.offer(shared, peer, endpoint, operation, token).map_err(Error::Refused)
    }

    /// As `write`, after a progress call, which may have made room.
    #[cold]
    pub(super) fn write_again(
        &mut self,
        shared: &Shared,
        peer: PeerNumber,
        endpoint: Endpoint,
        operation: Operation<'_>,
    ) -> Result<bool> {
        self.progress(shared);
        self.write(shared, peer, endpoint, operation)
    }

    /// Offers an operation to the transport; `false` if the transport has no room for the peer, or had none since the last progress call.
    #[inline(always)]
    fn offer(
        &mut self,
        shared: &Shared,
        peer: PeerNumber,
        to: Endpoint,
        operation: Operation<'_>,
        token: Token,
    ) -> Result<bool, PostError> {
        let peer = self.peers.get_mut(peer);
        if peer.full_in == self.round {
            return Ok(false);
        }
        // The fence takes effect even if the transport refuses the operation.
        let notify = self.notifies && is_written(&operation);
        let flags = Flags { fence: std::mem::take(&mut peer.is_fenced), more: self.batching.is_on(), notify };
        let now = self.latest.unwrap_or_else(|| shared.clock.now());
        match self.port.post(now, to, operation, flags, token) {
            Ok(()) => {
                self.batching = self.batching.posted();
                Ok(true)
            }
            Err(PostError::Full) => {
                peer.full_in = self.round;
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    /// Returns the rail number that stands for all rails at once, if there are several.
    pub(crate) fn all_rails(&self) -> Option<Rail> {
        self.striping.as_ref().map(Striping::rail)
    }

    /// Whether a rail number stands for all rails at once.
    pub(super) fn is_all_rails(&self, rail: Rail) -> bool {
        self.all_rails() == Some(rail)
    }

    /// Whether a rail has a route to a rank; for all rails at once, whether two have one.
    pub(crate) fn is_reachable(&mut self, rail: Rail, rank: Rank) -> bool {
        if self.is_all_rails(rail) {
            return self.rails_to(rank).nth(1).is_some();
        }
        self.port.with(|transport| transport.network().is_reachable(rail, rank))
    }

    /// Returns the rails with a route to a rank.
    fn rails_to(&mut self, rank: Rank) -> impl Iterator<Item = Rail> {
        let lead = self.port.with(|transport| {
            let network = transport.network();
            let rails = (0..network.rails().len()).filter_map(Rail::new);
            rails.filter(|&rail| network.is_reachable(rail, rank)).fold(0_u32, |lead, rail| lead | 1 << rail.number())
        });
        (0..Rail::MAX).filter(move |number| lead >> number & 1 == 1).filter_map(Rail::new)
    }

    /// Stripes the operation, if it is to use all rails at once and is long enough. The part that the core itself moves comes last, after the others
    /// have been posted.
    pub(super) fn striped(&mut self, shared: &Shared, rail: Option<Rail>, task: Task) -> Task {
        let addresses = shared.reach.addresses();
        let Some(rank) = task.ranks(addresses)[0].filter(|rank| rank.number() < shared.size) else { return task };
        if !rail.is_some_and(|rail| self.is_all_rails(rail)) {
            return task;
        }
        let mut rails: Vec<Rail> = self.rails_to(rank).collect();
        let best = self.port.with(|transport| transport.network().rail_to(rank));
        rails.sort_by_key(|&rail| shared.reach.holds(rank) && rail == best);
        let (Some(striping), [_, _, ..]) = (&self.striping, &rails[..]) else { return task };
        task.striped(striping, &rails, self.message_bytes_max)
    }

    /// Combines the blocks of the operation, if it has several and the rail to their rank accepts several blocks of this length in one operation.
    pub(super) fn together(&mut self, shared: &Shared, rail: Option<Rail>, task: Task) -> Task {
        let addresses = shared.reach.addresses();
        if !task.has_blocks(addresses, self.message_bytes_max) || rail.is_some_and(|rail| self.is_all_rails(rail)) {
            return task;
        }
        let Some(rank) = task.ranks(addresses)[0].filter(|rank| rank.number() < shared.size) else { return task };
        let block_bytes = task.block_bytes();
        let blocks_max = self.port.with(|transport| {
            let network = transport.network();
            let rail = rail.unwrap_or_else(|| network.rail_to(rank));
            let rail = network.rails().get(rail.number()).filter(|rail| block_bytes <= rail.block_bytes_max);
            rail.map_or(0, |rail| rail.blocks_max)
        });
        if blocks_max == 0 { task } else { task.together(blocks_max) }
    }

    /// Returns the route to a rank by a rail; for a copy from this rank to another, a route whose rail reaches both.
    pub(super) fn route(&mut self, shared: &Shared, rank: Rank, other: Option<Rank>, rail: Option<Rail>) -> Result<Route> {
        let route = self.route_by(shared, rank, rail)?;
        let (Some(other), None) = (other, route.rail()) else { return Ok(route) };
        Ok(Route::new(rank, self.port.with(|transport| transport.network().rail_of_copy(rank, other))))
    }

    /// Returns the route to a rank by a rail; the route has no explicit rail if the rail is mapped memory or stands for all rails.
    #[inline]
    fn route_by(&mut self, shared: &Shared, rank: Rank, rail: Option<Rail>) -> Result<Route> {
        let Some(rail) = rail else { return Ok(Route::new(rank, None)) };
        if self.is_all_rails(rail) {
            return if self.is_reachable(rail, rank) { Ok(Route::new(rank, None)) } else { Err(Error::NoRail { rail, rank }) };
        }
        let (is_reachable, is_best) = self.port.with(|transport| {
            let network = transport.network();
            (network.is_reachable(rail, rank), network.rail_to(rank) == rail)
        });
        let is_mapped = is_best && shared.reach.holds(rank);
        if is_reachable { Ok(Route::new(rank, (!is_mapped).then_some(rail))) } else { Err(Error::NoRail { rail, rank }) }
    }

    /// Returns the rail of an operation, if it is not the best one.
    fn rail_of(&self, record: &Record) -> Option<Rail> {
        self.peers.get(record.peers[0]).route.rail()
    }

    /// Returns the owner of an address, if it is connected by the best rail. As [`connect`](Self::connect), but without an error result.
    #[inline(always)]
    pub(super) fn connected(
        &mut self,
        shared: &Shared,
        address: GlobalAddress,
        rail: Option<Rail>,
    ) -> Option<(PeerNumber, Endpoint)> {
        let rank = shared.reach.addresses().rank(address);
        if rail.is_some() || rank.number() >= shared.size {
            return None;
        }
        let peer = self.peers.number(Route::new(rank, None));
        Some((peer, self.peers.get(peer).endpoint()?))
    }

    /// Connects to the owner of an address, if it is not connected yet.
    #[cold]
    pub(super) fn connect(
        &mut self,
        shared: &Shared,
        address: GlobalAddress,
        rail: Option<Rail>,
    ) -> Result<(PeerNumber, Endpoint)> {
        let rank = self.owner(shared, address)?;
        self.connect_rank(shared, rank, rail)
    }

    #[inline]
    fn owner(&self, shared: &Shared, address: GlobalAddress) -> Result<Rank> {
        let rank = shared.reach.addresses().rank(address);
        if rank.number() < shared.size { Ok(rank) } else { Err(Failure::OutOfBounds(address).into()) }
    }

    /// Contributes to a reduction by the network; `None` if the transport has no room at present.
    pub(crate) fn submit_contribution(
        &mut self,
        shared: &Shared,
        group: ReductionGroup,
        operator: ReductionOperator,
        words: &[u64],
    ) -> Result<Option<u64>> {
        self.make_place();
        let token = Token(self.order.upcoming());
        match self.port.contribute(shared.clock.now(), group, operator, words, token) {
            Some(Ok(())) => {}
            Some(Err(PostError::Full)) => return Ok(None),
            Some(Err(error)) => return Err(Error::Refused(error)),
            None => return Err(Error::Invalid("this network performs no reductions")),
        }
        let (id, _) = self.order.admit(After::Nothing).map_err(|_| Error::ForeignHandle)?;
        self.store_written(id, NOBODY, Stage::Begun(Posting::Open), size_of_val(words), false);
        Ok(Some(id))
    }

    /// Connects to a rank of the job, if it is not connected yet.
    #[inline]
    pub(super) fn connect_rank(&mut self, shared: &Shared, rank: Rank, rail: Option<Rail>) -> Result<(PeerNumber, Endpoint)> {
        let route = self.route_by(shared, rank, rail)?;
        self.connect_route(shared, route)
    }

    #[inline]
    fn connect_route(&mut self, shared: &Shared, route: Route) -> Result<(PeerNumber, Endpoint)> {
        let peer = self.peers.number(route);
        match self.peers.get(peer).endpoint() {
            Some(endpoint) => Ok((peer, endpoint)),
            None => Ok((peer, self.connect_first(shared, peer, route)?)),
        }
    }

    #[cold]
    fn connect_first(&mut self, shared: &Shared, peer: PeerNumber, route: Route) -> Result<Endpoint> {
        let rank = route.rank();
        let published = shared.address_of(rank, self.port.with(|transport| transport.network().capabilities().name))?;
        let endpoint = self.port.with(|transport| transport.network().connect(route.rail(), rank, &published))?;
        self.peers.get_mut(peer).connect(endpoint);
        Ok(endpoint)
    }
}

/// Whether an operation may change memory whose owner waits for the change.
fn is_written(operation: &Operation<'_>) -> bool {
    let only_reads = matches!(
        operation,
        Operation::Get { .. }
            | Operation::GetBlocks { .. }
            | Operation::Sized(Transfer::Get { .. })
            | Operation::Atomic { operator: AtomicOperator::Load, .. }
    );
    !only_reads
}
