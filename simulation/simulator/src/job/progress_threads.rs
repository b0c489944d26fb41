//! Operations that progress threads submit, perform and report.

use pelago_base::Duration;
use pelago_netsim::NetworkOperation;

use super::SimulatedJob;
use super::tokens::{Subject, WakeUp};
use crate::costs::progress_threads::REPLY_BYTES;
use crate::operations::owned::OwnedOperation;
use crate::operations::pending::CompletionStage;

impl SimulatedJob {
    /// Posts an operation that a call of its rank or a progress thread has prepared to the NIC.
    pub(super) fn post_to_nic(&mut self, number: u32, by_rank: bool) {
        let pending = self.operations.get(number);
        let (rank, rail) = (pending.rank.number(), self.operations.surroundings(number).rail);
        let between = self.between_ranks(rank, &pending.operation);
        let token = Subject::Operation(number).token_of(pending.operation.needs_read());
        if by_rank {
            self.post_by_core(rail, rank, between, token);
        } else {
            self.post_between(rail, rank, between, token, Duration::ZERO);
        }
    }

    /// Whether the progress thread of the target performs an operation, not its NIC.
    pub(super) fn is_by_progress_thread(&self, operation: &OwnedOperation) -> bool {
        self.progress_threads.perform_atomics() && operation.is_atomic()
    }

    /// Whether the progress thread of the target performs the operation in flight `number`, not its NIC.
    pub(super) fn is_served_by_progress_thread(&self, number: u32) -> bool {
        self.progress_threads.perform_atomics() && self.operations.get(number).operation.is_atomic()
    }

    /// Handles a request that arrives at a progress thread.
    pub(super) fn serve_by_progress_thread(&mut self, operation: u32) {
        let target = self.operations.get(operation).operation.target(&self.memory);
        let at = self.progress_threads.serve(self.network.now(), target);
        self.network.wake_at(at, target.number(), WakeUp::Served { operation }.token());
    }

    /// Lets an operation that was performed without a NIC at its target take effect. An operation on the rank's own memory also ends.
    pub(super) fn serve(&mut self, number: u32) {
        let is_own = self.is_own_atomic(number);
        self.arrive_at_target(number);
        if is_own {
            self.report_end(number);
        }
    }

    /// Whether an operation is an atomic of a rank on its own memory.
    pub(super) fn is_own_atomic(&self, number: u32) -> bool {
        let pending = self.operations.get(number);
        pending.operation.is_atomic() && pending.operation.target(&self.memory) == pending.rank
    }

    /// Sends the reply of a progress thread to the initiator of an operation.
    pub(super) fn reply(&mut self, number: u32) {
        let (rank, target) = self.pair(self.operations.get(number));
        let reply = NetworkOperation::Put { from: target, to: rank, bytes: REPLY_BYTES };
        self.post_between(None, target, reply, Subject::Reply(number).token(), Duration::ZERO);
    }

    /// Handles the reply of a progress thread, or the acknowledgement of the request to it; after both, the operation has ended.
    pub(super) fn answer_by_progress_thread(&mut self, number: u32) {
        let completion = &mut self.operations.get_mut(number).completion;
        if std::mem::replace(completion, CompletionStage::HalfAnswered) == CompletionStage::HalfAnswered {
            self.report_end(number);
        }
    }

    /// Completes an operation that has ended, immediately or when the progress thread has reported it to its rank.
    pub(super) fn report_end(&mut self, operation: u32) {
        let rank = self.operations.get(operation).rank;
        match self.progress_threads.notify(self.network.now(), rank) {
            Some(at) => self.network.wake_at(at, rank.number(), WakeUp::Reported { operation }.token()),
            None => self.end(operation, None),
        }
    }
}
