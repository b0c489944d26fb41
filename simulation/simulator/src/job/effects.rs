//! Operations in flight: an operation arrives at its source and its target, takes effect when fences permit, becomes visible, and completes.

use pelago_base::Rank;
use pelago_netsim::NetworkOperation;
use pelago_platform::{Completion, Failure, For};

use super::SimulatedJob;
use super::rank_state::RunState;
use super::tokens::WakeUp;
use crate::costs::progress_threads::REQUEST_BYTES;
use crate::operations::owned::OwnedOperation;
use crate::operations::pending::{CompletionStage, OperationStage, PendingOperation};

impl SimulatedJob {
    /// Returns an operation of `me` as the network simulates it, between ranks.
    pub(super) fn between_ranks(&self, me: u32, operation: &OwnedOperation) -> NetworkOperation {
        let rank = |address| self.memory.addresses().rank(address).number().min(self.size() - 1);
        // A copy longer than a segment fails when it arrives.
        let most = self.memory.addresses().segment_bytes();
        let by = me;
        match operation {
            OwnedOperation::Short { .. }
            | OwnedOperation::Long { .. }
            | OwnedOperation::Put { .. }
            | OwnedOperation::SizedPut { .. } => {
                NetworkOperation::Put { from: by, to: rank(operation.address()), bytes: operation.kind().1 }
            }
            OwnedOperation::Get(_) | OwnedOperation::SizedGet { .. } => {
                NetworkOperation::Get { by, at: rank(operation.address()), bytes: operation.kind().1 }
            }
            OwnedOperation::Copy(copy) => {
                NetworkOperation::Copy { by, from: rank(copy.from), to: rank(copy.to), bytes: copy.bytes.min(most) }
            }
            OwnedOperation::Atomic { at, .. } if self.is_by_progress_thread(operation) => {
                NetworkOperation::Put { from: by, to: rank(*at), bytes: REQUEST_BYTES }
            }
            OwnedOperation::Atomic { at, .. } => NetworkOperation::Atomic { by, at: rank(*at) },
            OwnedOperation::SizedCopy { from, to, bytes } => {
                NetworkOperation::Copy { by, from: rank(*from), to: rank(*to), bytes: (*bytes).min(most) }
            }
        }
    }

    /// Handles the arrival of an operation at its source.
    pub(super) fn arrive_at_source(&mut self, number: u32) {
        let pending = self.operations.get_mut(number);
        if pending.stage == OperationStage::InTransit {
            pending.stage = OperationStage::AtSource;
            self.proceed_all(number);
        }
    }

    /// Handles the arrival of an operation at its target, where it takes effect.
    pub(super) fn arrive_at_target(&mut self, number: u32) {
        // Must precede the change of stage: if the operation waits for a put that takes effect here, it is released here, and must not take
        // effect twice.
        self.hasten_earlier(number);
        let pending = self.operations.get_mut(number);
        let before = std::mem::replace(&mut pending.stage, OperationStage::AtTarget);
        if before == OperationStage::Early && pending.effective {
            let is_finished = pending.completion.is_finished();
            self.show(number);
            // Otherwise a progress thread has not reported the end yet.
            if is_finished {
                self.complete(number);
            }
            return;
        }
        self.proceed_all(number);
    }

    /// Advances an operation as far as its stage and fences permit, and then the operations that it releases.
    pub(super) fn proceed_all(&mut self, number: u32) {
        let (mut due, mut next) = (Vec::new(), Some(number));
        while let Some(number) = next {
            let (epoch, pair) = (self.epoch(number), self.pair(self.operations.get(number)));
            if self.proceed(number, epoch, pair) {
                due.extend(self.release(pair, epoch));
            }
            next = due.pop();
        }
    }

    /// Advances an operation as far as its stage and fences permit; returns whether it has taken effect.
    fn proceed(&mut self, number: u32, epoch: u32, pair: (u32, u32)) -> bool {
        if let Some(fences) = self.fences.get_mut(&pair) {
            if !fences.may(epoch) {
                if !std::mem::replace(&mut self.operations.get_mut(number).postponed, true) {
                    fences.postpone(epoch, number);
                }
                return false;
            }
            if fences.fails(epoch) {
                let result = &mut self.operations.get_mut(number).result;
                *result = result.and(Err(Failure::Unreachable(Rank::new(pair.1))));
            }
        }
        let pending = self.operations.get_mut(number);
        pending.postponed = false;
        if pending.operation.needs_read() && pending.result.is_ok() {
            pending.result = pending.operation.read(&self.memory).map(|()| 0);
        }
        let arrived = matches!(pending.stage, OperationStage::Early | OperationStage::AtTarget);
        if arrived {
            self.take_effect(number);
        }
        arrived
    }

    /// Records that an operation of `epoch` of a pair of ranks has taken effect; returns the operations that this releases.
    fn release(&mut self, pair: (u32, u32), epoch: u32) -> Vec<u32> {
        let Some(fences) = self.fences.get_mut(&pair) else { return Vec::new() };
        let released = fences.ended(epoch);
        if fences.is_at_rest() {
            self.fences.remove(&pair);
        }
        released
    }

    fn take_effect(&mut self, number: u32) {
        let pending = self.operations.get_mut(number);
        if pending.result.is_ok() {
            let perform = || pending.operation.perform(pending.rank, &self.memory);
            let has_address = pending.operation.has_address_of_its_rank();
            pending.result = if has_address { self.status.access(pending.rank, perform) } else { perform() };
        }
        pending.effective = true;
        let is_own = || pending.operation.target(&self.memory) == pending.rank;
        let needs_reply = self.progress_threads.perform_atomics() && pending.operation.is_atomic() && !is_own();
        if let Some(recorder) = &mut self.recorder {
            recorder.effective(number, self.network.now());
        }
        let (finished, stage) = (pending.completion.is_finished(), pending.stage);
        if needs_reply {
            self.reply(number);
        }
        if stage == OperationStage::AtTarget {
            self.show(number);
            if finished {
                self.complete(number);
            }
        }
    }

    /// Wakes the rank whose memory an operation has changed.
    fn show(&mut self, number: u32) {
        let pending = self.operations.get(number);
        // A get changes the memory of its initiator.
        let touched = pending.operation.written(&self.memory).unwrap_or(pending.rank);
        if let Some(after) = self.visible_after(pending) {
            return self.network.wake_at(
                self.network.now() + after,
                touched.number(),
                WakeUp::Seen { rank: touched.number() }.token(),
            );
        }
        self.see(touched);
    }

    /// Wakes a rank whose memory has changed, unless it waits for completions only.
    pub(super) fn see(&mut self, rank: Rank) {
        if self.ranks.get(rank.index()).is_some_and(|state| !matches!(state.state, RunState::Parked(For::AtMost(_)))) {
            self.make_ready(rank.number(), false);
        }
    }

    /// Ends an operation that the network has failed to perform.
    pub(super) fn fail_operation(&mut self, number: u32) {
        let PendingOperation { rank, operation, .. } = self.operations.get(number);
        let (rank, failed) = (*rank, operation.target(&self.memory));
        self.note_given_up(rank, failed);
        self.end(number, Some(Failure::Unreachable(failed)));
    }

    /// Counts an operation of `rank` on `target` that the network has given up.
    pub(super) fn note_given_up(&mut self, rank: Rank, target: Rank) {
        self.given_up += 1;
        self.first_given_up = self.first_given_up.or(Some((rank, target)));
    }

    /// Handles the end of an operation in the network: its initiator gets the completion once the operation has taken effect.
    pub(super) fn end(&mut self, number: u32, failure: Option<Failure>) {
        let pending = self.operations.get_mut(number);
        pending.completion = CompletionStage::Finished;
        let mut is_over = false;
        if let Some(failure) = failure {
            pending.result = Err(failure);
            is_over = !std::mem::replace(&mut pending.effective, true);
        }
        // The record of an operation that took effect early is kept until other ranks see the effect.
        let effective = pending.effective && pending.stage != OperationStage::Early;
        let over = is_over.then(|| (self.pair(self.operations.get(number)), self.epoch(number)));
        if let Some((pair, epoch)) = over
            && let Some(fences) = self.fences.get_mut(&pair)
        {
            fences.fail(epoch);
            if self.operations.get(number).postponed {
                fences.withdraw(epoch, number);
            }
        }
        if effective {
            self.complete(number);
        } else {
            self.complete_early(number);
        }
        if let Some((pair, epoch)) = over {
            for number in self.release(pair, epoch) {
                self.proceed_all(number);
            }
        }
    }

    /// Removes an operation that has ended and taken effect, once no event will name it any more.
    fn complete(&mut self, number: u32) {
        if self.is_awaited(number) {
            let pending = self.operations.get_mut(number);
            pending.completion = CompletionStage::Delivered;
            let (rank, completion) = (pending.rank, Completion { token: pending.token, result: pending.result });
            return self.record_completion(number, rank, completion);
        }
        let PendingOperation { rank, token, result, completion, .. } = self.remove(number);
        let ended = Completion { token, result };
        if completion != CompletionStage::Delivered {
            self.record_completion(number, rank, ended);
        } else if let Some(recorder) = &mut self.recorder {
            recorder.completed(number, result.is_err(), self.network.now());
        }
    }

    /// Removes the record of an operation.
    pub(super) fn remove(&mut self, number: u32) -> PendingOperation {
        let (pending, latest) = self.operations.remove(number);
        if let Some(latest) = latest {
            self.ranks[pending.rank.index()].latest = latest;
        }
        pending
    }

    fn record_completion(&mut self, number: u32, rank: Rank, completion: Completion) {
        if let Some(recorder) = &mut self.recorder {
            recorder.completed(number, completion.result.is_err(), self.network.now());
        }
        self.add_completion(rank, completion);
    }

    /// Adds a completion of `rank`, and wakes the rank if it waits for it.
    pub(super) fn add_completion(&mut self, rank: Rank, completion: Completion) {
        let state = &mut self.ranks[rank.index()];
        state.in_flight -= 1;
        self.completions.add(&mut state.completed, completion);
        let concerns = match state.state {
            RunState::Parked(For::Memory | For::Line(_)) | RunState::Polling => false,
            RunState::Parked(For::AtMost(left)) => state.in_flight <= left,
            _ => true,
        };
        if concerns {
            self.make_ready(u32::from(rank), false);
        }
    }

    /// Returns the number of fences before an operation, between its rank and its target.
    fn epoch(&self, number: u32) -> u32 {
        // Most jobs have no fences and avoid the access.
        if self.fences.is_empty() { 0 } else { self.operations.surroundings(number).epoch }
    }

    /// Returns the initiator and the target of an operation.
    pub(super) fn pair(&self, pending: &PendingOperation) -> (u32, u32) {
        (u32::from(pending.rank), pending.operation.target(&self.memory).number())
    }
}
