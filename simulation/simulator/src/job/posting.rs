//! Operations from the call until the NIC has them; fences; operations on peers that have failed.

use pelago_base::{Duration, Rank};
use pelago_platform::{Completion, Failure, Operation, PostError, Rail, Token};

use super::SimulatedJob;
use super::noise::core_of;
use super::tokens::{Subject, WakeUp};
use crate::costs::progress_threads::Submitted;
use crate::operations::fences::FenceOrder;
use crate::operations::owned::OwnedOperation;
use crate::operations::pending::{CompletionStage, OperationStage, PendingOperation};

impl SimulatedJob {
    /// Posts an operation of `rank`; returns how long that keeps the core of the rank busy.
    pub(crate) fn post(
        &mut self,
        rank: Rank,
        (to, rail): (Rank, Option<u8>),
        operation: Operation<'_>,
        token: Token,
    ) -> Result<Duration, PostError> {
        if let Some(stations) = self.stations.as_mut().filter(|_| !matches!(operation, Operation::Sized(_))) {
            let now = self.network.now();
            self.status.access(rank, || stations.post(now, rank, to, operation, token))?;
            self.settle(rank);
            return Ok(Duration::ZERO);
        }
        let operation = self.status.access(rank, || OwnedOperation::new(operation));
        self.start(rank, rail, operation, token)
    }

    /// Starts an operation of `rank` on the network, by a rail or by the one that the machine chooses; returns as `post`.
    fn start(&mut self, rank: Rank, rail: Option<u8>, operation: OwnedOperation, token: Token) -> Result<Duration, PostError> {
        let state = &mut self.ranks[rank.index()];
        if state.in_flight == self.in_flight_max {
            return Err(PostError::Full);
        }
        state.in_flight += 1;
        let (target, me) = (operation.target(&self.memory), rank.number());
        let between = self.between_ranks(me, &operation);
        let epoch = self.fences.get_mut(&(me, target.number())).map_or(0, FenceOrder::admit);
        let result = if target.number() < self.size() { Ok(0) } else { Err(Failure::OutOfBounds(operation.address())) };
        let result = self.failed_end(&operation).map_or(result, |failed| Err(Failure::PeerLost(failed)));
        let needs_read = operation.needs_read();
        let pending = PendingOperation {
            token,
            operation,
            result,
            rank,
            stage: OperationStage::InTransit,
            postponed: false,
            effective: false,
            completion: CompletionStage::UnderWay,
        };
        let number = self.operations.insert(pending, &mut self.ranks[me as usize].latest, (epoch, rail));
        if let Some(recorder) = &mut self.recorder {
            let (kind, bytes) = self.operations.get(number).operation.kind();
            recorder.posted(number, kind, rank, target, bytes, self.network.now());
        }
        let idle = self.ranks[me as usize].in_flight == 1;
        let (now, is_own_atomic) = (self.network.now(), self.is_own_atomic(number));
        let core = core_of(self.noise.as_ref(), self.cores.as_ref(), me);
        if is_own_atomic && let Some(Submitted { busy, at, .. }) = self.progress_threads.submit_own(now, rank, core, idle) {
            self.network.wake_at(at, me, WakeUp::Served { operation: number }.token());
            return Ok(busy);
        }
        match self.progress_threads.submit(now, rank, core, idle) {
            None => {
                self.expect_end_of_request(number);
                self.post_by_core(rail, me, between, Subject::Operation(number).token_of(needs_read));
            }
            Some(Submitted { busy, at, by_rank }) => {
                self.network.wake_at(at, me, WakeUp::Posted { operation: number, by_rank }.token());
                return Ok(busy + self.busy(between));
            }
        }
        Ok(self.busy(between))
    }

    /// Returns the rail that the machine chooses for short operations of `rank` on `peer`. Within a node, where no rail is needed, it is the same
    /// in both directions.
    pub(crate) fn rail_to(&self, rank: Rank, peer: Rank) -> Rail {
        let [from, to] = [rank, peer].map(|rank| rank.number() / self.per_node);
        let entity = if from == to { rank.min(peer) } else { rank };
        let chosen = if self.stations.is_some() { 0 } else { self.network.chosen_rail(entity.number(), from, to, 0) };
        Rail::new(usize::from(chosen)).unwrap_or(Rail::FIRST)
    }

    /// Whether a rail connects `rank` with `peer`. Within a node, where no rail is needed, only the rail that the machine chooses does.
    pub(crate) fn rail_connects(&self, rail: Rail, rank: Rank, peer: Rank) -> bool {
        let [from, to] = [rank, peer].map(|rank| rank.number() / self.per_node);
        let is_chosen = rail == self.rail_to(rank, peer);
        is_chosen || from != to && self.network.rail_connects(rail.number() as u8, from, to)
    }

    /// Handles that `me` considers `rank` failed: operations that need `rank` and have not taken effect fail. If the library's own protocol is
    /// simulated, a rank that considers itself failed stops communicating.
    pub(crate) fn peer_failed(&mut self, me: Rank, rank: Rank) {
        if let Some(stations) = &mut self.stations {
            if me == rank {
                return stations.kill(rank);
            }
            stations.peer_failed(self.network.now(), me, rank);
            return self.settle(me);
        }
        if !self.failed_peers.insert(rank) {
            return;
        }
        for (member, completion) in self.reductions.peer_failed(rank) {
            self.add_completion(member, completion);
        }
        for number in 0..self.operations.records.len() as u32 {
            let Some(pending) = &self.operations.records[number as usize] else { continue };
            if !pending.effective && self.failed_end(&pending.operation) == Some(rank) {
                self.operations.get_mut(number).result = Err(Failure::PeerLost(rank));
            }
        }
    }

    /// Returns a failed rank that an operation needs.
    fn failed_end(&self, operation: &OwnedOperation) -> Option<Rank> {
        if self.failed_peers.is_empty() {
            return None;
        }
        let needed = [Some(operation.target(&self.memory)), operation.written(&self.memory)];
        needed.into_iter().flatten().find(|rank| self.failed_peers.contains(rank))
    }

    /// Makes operations that `rank` posts to `target` from now on take effect after the earlier ones.
    pub(crate) fn fence(&mut self, rank: Rank, target: Rank) {
        if let Some(stations) = &mut self.stations {
            return stations.fence(rank, target);
        }
        let pair = (rank.number(), target.number());
        if let Some(fences) = self.fences.get_mut(&pair) {
            fences.epoch += 1;
            return;
        }
        let (mut next, mut left) = (self.ranks[rank.index()].latest, 0);
        while let Some(number) = next {
            let number = number.get() - 1;
            let pending = self.operations.get(number);
            left += u32::from(!pending.effective && pending.operation.target(&self.memory) == target);
            next = self.operations.surroundings(number).earlier;
        }
        if left > 0 {
            self.fences.insert(pair, FenceOrder::after(left));
        }
    }

    /// Whether [`take_completed`](Self::take_completed) may find a completion.
    pub(crate) fn may_have_completed(&self, rank: Rank) -> bool {
        self.stations.is_some() || !self.ranks[rank.index()].completed.is_empty()
    }

    /// Moves the completions of `rank` to `into`; returns whether there were any.
    pub(crate) fn take_completed(&mut self, rank: Rank, into: &mut Vec<Completion>) -> bool {
        if let Some(stations) = &mut self.stations {
            return stations.take_completed(rank, into);
        }
        let state = &mut self.ranks[rank.index()];
        self.completions.fetch(&mut state.completed, into)
    }
}
