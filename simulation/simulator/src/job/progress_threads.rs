//! Operations that progress threads submit, perform and report.

use pelago_base::Duration;
use pelago_netsim::NetworkOperation;

use super::SimulatedJob;
use super::tokens::{Subject, WakeUp};
use crate::costs::progress_threads::REPLY_BYTES;
use crate::operations::owned::OwnedOperation;
use crate::operations::pending::{AwaitedEvent, CompletionStage};

impl SimulatedJob {
    /// Posts an operation that a call of its rank or a progress thread has prepared to the NIC.
    pub(super) fn post_to_nic(&mut self, number: u32, by_rank: bool) {
        let pending = self.operations.get(number);
        let (rank, rail) = (pending.rank.number(), self.operations.surroundings(number).rail);
        let between = self.between_ranks(rank, &pending.operation);
        let token = Subject::Operation(number).token_of(pending.operation.needs_read());
        self.expect_end_of_request(number);
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

    /// Records that the network gets an operation, if a progress thread performs it.
    pub(super) fn expect_end_of_request(&mut self, number: u32) {
        if self.is_served_by_progress_thread(number) {
            self.operations.expect(number, AwaitedEvent::Request);
        }
    }

    /// Handles a request that arrives at a progress thread.
    pub(super) fn serve_by_progress_thread(&mut self, operation: u32) {
        self.operations.expect(operation, AwaitedEvent::Service);
        let target = self.operations.get(operation).operation.target(&self.memory);
        let at = self.progress_threads.serve(self.network.now(), target);
        self.network.wake_at(at, target.number(), WakeUp::Served { operation }.token());
    }

    /// Lets an operation that was performed without a NIC at its target take effect. An operation on the rank's own memory also ends.
    pub(super) fn serve(&mut self, number: u32) {
        if self.is_forgotten_after(number, AwaitedEvent::Service) {
            return;
        }
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
        self.operations.expect(number, AwaitedEvent::Reply);
        self.post_between(None, target, reply, Subject::Reply(number).token(), Duration::ZERO);
    }

    /// Handles the acknowledgement of the request to a progress thread.
    pub(super) fn end_request(&mut self, number: u32) {
        if !self.is_forgotten_after(number, AwaitedEvent::Request) {
            self.answer_by_progress_thread(number);
        }
    }

    /// Handles the reply of a progress thread, or the acknowledgement of the request to it; after both, the operation has ended.
    pub(super) fn answer_by_progress_thread(&mut self, number: u32) {
        let completion = &mut self.operations.get_mut(number).completion;
        *completion = match *completion {
            CompletionStage::UnderWay => CompletionStage::HalfAnswered,
            CompletionStage::HalfAnswered => CompletionStage::Answered,
            // The network has given up the request or the reply before.
            _ => return,
        };
        if *completion == CompletionStage::Answered {
            self.report_end(number);
        }
    }

    /// Handles the acknowledgement of the reply of a progress thread.
    pub(super) fn end_reply(&mut self, number: u32) {
        self.is_forgotten_after(number, AwaitedEvent::Reply);
    }

    /// Handles that the network has given up a request to a progress thread, or the reply. The operation fails, unless the reply has arrived.
    pub(super) fn fail_by_progress_thread(&mut self, number: u32, event: AwaitedEvent) {
        if self.is_forgotten_after(number, event) {
            self.given_up += 1;
            return;
        }
        let is_answered = match self.operations.get(number).completion {
            CompletionStage::UnderWay => false,
            // The first of both was the reply if the request has not ended.
            CompletionStage::HalfAnswered => {
                event == AwaitedEvent::Reply && self.operations.expects(number, AwaitedEvent::Request)
            }
            _ => true,
        };
        if is_answered {
            self.given_up += 1;
        } else {
            self.fail_operation(number);
        }
    }

    /// Whether an event will name an operation by a progress thread.
    pub(super) fn is_awaited(&self, number: u32) -> bool {
        self.progress_threads.perform_atomics() && self.operations.expects_any(number)
    }

    /// Records that an event of an operation by a progress thread has come; returns whether the operation had ended before, in which case its record is
    /// removed after the last such event.
    fn is_forgotten_after(&mut self, number: u32, event: AwaitedEvent) -> bool {
        self.operations.has_come(number, event);
        let has_ended = self.operations.get(number).completion == CompletionStage::Delivered;
        if has_ended && !self.operations.expects_any(number) {
            self.remove(number);
        }
        has_ended
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
