//! PendingOperations under way, by the numbers that the network returns.

use std::num::NonZeroU32;

use pelago_base::Rank;
use pelago_platform::{Failure, Token};

use crate::operations::owned::OwnedOperation;

/// The number of a record in a list, plus one.
pub(crate) type RecordLink = Option<NonZeroU32>;

/// An operation that is under way.
pub(crate) struct PendingOperation {
    pub(crate) earlier: RecordLink,
    pub(crate) later: RecordLink,
    pub(crate) rank: Rank,
    /// The rail that the initiator has named.
    pub(crate) rail: Option<u8>,
    pub(crate) token: Token,
    pub(crate) operation: OwnedOperation,
    /// The fences before it, between its rank and its target; 0 for most.
    pub(crate) epoch: u32,
    pub(crate) result: Result<u64, Failure>,
    pub(crate) stage: OperationStage,
    /// Whether it is in the list of a fence that holds it back.
    pub(crate) postponed: bool,
    /// Whether it has taken effect.
    pub(crate) effective: bool,
    pub(crate) completion: CompletionStage,
    /// Of a request to a progress thread: whether the first of its reply and the network's acknowledgement has arrived.
    pub(crate) half_answered: bool,
}

/// How far an operation has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum OperationStage {
    #[default]
    InTransit,
    AtSource,
    /// At its target, before other ranks see the effect.
    Early,
    AtTarget,
}

/// How far the completion of an operation has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CompletionStage {
    /// The network has not finished the operation.
    UnderWay,
    /// The network has finished it, so that its initiator may learn of its completion.
    Finished,
    /// The initiator has its completion, and the record only waits until others see the effect.
    Delivered,
}

/// PendingOperations by the number that the network calls them.
#[derive(Default)]
pub(crate) struct PendingOperations {
    pub(crate) records: Vec<Option<PendingOperation>>,
    free: Vec<u32>,
}

impl PendingOperations {
    pub(crate) fn insert(&mut self, pending: PendingOperation) -> u32 {
        match self.free.pop() {
            Some(number) => {
                self.records[number as usize] = Some(pending);
                number
            }
            None => {
                self.records.push(Some(pending));
                (self.records.len() - 1) as u32
            }
        }
    }

    pub(crate) fn get(&self, number: u32) -> &PendingOperation {
        self.records[number as usize].as_ref().expect("the network names operations that it has")
    }

    pub(crate) fn get_mut(&mut self, number: u32) -> &mut PendingOperation {
        self.records[number as usize].as_mut().expect("the network names operations that it has")
    }

    pub(crate) fn remove(&mut self, number: u32) -> PendingOperation {
        self.free.push(number);
        self.records[number as usize].take().expect("the network names operations that it has")
    }
}

/// The link to a record.
pub(crate) fn link(number: u32) -> RecordLink {
    NonZeroU32::new(number + 1)
}
