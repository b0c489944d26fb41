//! Two-sided messages over the simulated network.

use pelago_base::Rank;
use pelago_netsim::{FailureReason, NetworkOperation};
use pelago_platform::{Completion, Failure, PostError, Token};

use super::SimulatedJob;
use super::tokens::Subject;
use crate::operations::two_sided::{Received, TwoSidedMessage};

impl SimulatedJob {
    /// Sends a two-sided message of `rank`.
    pub(crate) fn send_message(&mut self, from: Rank, to: Rank, bytes: &[u8], token: Token) -> Result<(), PostError> {
        let state = &mut self.ranks[from.index()];
        if state.in_flight == self.in_flight_max {
            return Err(PostError::Full);
        }
        state.in_flight += 1;
        let number = self.messages.send(TwoSidedMessage { from, to, token, sender_told: false, bytes: Some(bytes.into()) });
        let datagram = NetworkOperation::Datagram { from: from.number(), to: to.number(), bytes: bytes.len() as u64 };
        self.post_by_core(None, from.number(), datagram, Subject::Message(number).token());
        Ok(())
    }

    /// Takes the oldest two-sided message of `rank`, which frees a receive slot of its NIC.
    pub(crate) fn take_message(&mut self, rank: Rank) -> Option<Received> {
        let received = self.messages.take(rank)?;
        let [from, here] = [received.0, rank].map(|rank| rank.number() / self.per_node);
        if from != here {
            self.network.consume(here);
        }
        Some(received)
    }

    /// Delivers a two-sided message that arrives.
    pub(super) fn deliver_message(&mut self, number: u32) {
        if let Some(to) = self.messages.arrive(number) {
            self.make_ready(to.number(), false);
        }
    }

    /// Ends a two-sided message in the network: its sender gets the completion.
    pub(super) fn end_message(&mut self, number: u32, failed: Option<FailureReason>) {
        let receiver = self.messages.receiver(number);
        let result = match (failed, receiver) {
            (Some(FailureReason::ReceiverNotReady), Some(to)) => Err(Failure::NotReady(to)),
            (Some(_), Some(to)) => Err(Failure::Unreachable(to)),
            _ => Ok(0),
        };
        if let Some((from, token)) = self.messages.complete(number, failed.is_some()) {
            if let (Some(_), Some(to)) = (failed, receiver) {
                self.note_given_up(from, to);
            }
            self.add_completion(from, Completion { token, result });
        }
    }
}
