//! Operations in flight, by the numbers that the network returns.

use std::num::NonZeroU32;

use pelago_base::Rank;
use pelago_netsim::prefetch;
use pelago_platform::{Failure, Token};

use crate::operations::owned::OwnedOperation;

/// A link to a record: its number plus one.
pub(crate) type RecordLink = Option<NonZeroU32>;

/// An operation in flight. One cache line: thousands are in flight at once, and each of their events accesses one.
#[repr(align(64))]
pub(crate) struct PendingOperation {
    pub(crate) token: Token,
    pub(crate) operation: OwnedOperation,
    pub(crate) result: Result<u64, Failure>,
    pub(crate) rank: Rank,
    pub(crate) stage: OperationStage,
    /// Whether it is in the list of a fence that holds it back.
    pub(crate) postponed: bool,
    /// Whether it has taken effect.
    pub(crate) effective: bool,
    pub(crate) completion: CompletionStage,
}

/// The part of an operation's record that few of its events need, and that is stored separately.
#[derive(Clone, Copy, Default)]
pub(crate) struct Surroundings {
    /// The operations of its rank before and after it.
    pub(crate) earlier: RecordLink,
    pub(crate) later: RecordLink,
    /// The number of fences before it, between its rank and its target; mostly 0.
    pub(crate) epoch: u32,
    /// The rail that the initiator has chosen.
    pub(crate) rail: Option<u8>,
    /// The events that will still name an operation by a progress thread, as a sum of [`AwaitedEvent`]s.
    awaited: u8,
}

/// An event of an operation that the progress thread of its target performs. Such an operation may end before all of them, if the network gives one of
/// its packets up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AwaitedEvent {
    /// The request ends in the network.
    Request = 1,
    /// The progress thread has performed the operation.
    Service = 2,
    /// The reply ends in the network.
    Reply = 4,
}

/// The memory of each operation in flight, besides a transfer of the network.
const _: () = assert!(size_of::<Option<PendingOperation>>() == 64 && size_of::<Surroundings>() == 16);

/// The stage of an operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum OperationStage {
    #[default]
    InTransit,
    AtSource,
    /// It takes effect at its target before other ranks can see the effect.
    Early,
    AtTarget,
}

/// The stage of the completion of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CompletionStage {
    /// The network has not finished the operation.
    UnderWay,
    /// The network has not finished a request to a progress thread, but one of the thread's reply and the network's acknowledgement has arrived.
    HalfAnswered,
    /// Both have arrived, and the progress thread of the initiator has not reported that.
    Answered,
    /// The network has finished it, so that its initiator may get the completion.
    Finished,
    /// The initiator has the completion, and the record is kept only until other ranks see the effect.
    Delivered,
}

impl CompletionStage {
    /// Whether the network has finished the operation.
    pub(crate) fn is_finished(self) -> bool {
        matches!(self, Self::Finished | Self::Delivered)
    }
}

/// Operations in flight, by their number in the network.
#[derive(Default)]
pub(crate) struct PendingOperations {
    pub(crate) records: Vec<Option<PendingOperation>>,
    /// By the number of the record.
    surroundings: Vec<Surroundings>,
    free: Vec<u32>,
}

impl PendingOperations {
    /// Adds an operation after the latest of its rank, which it replaces as `latest`; returns its number.
    pub(crate) fn insert(&mut self, pending: PendingOperation, latest: &mut RecordLink, (epoch, rail): (u32, Option<u8>)) -> u32 {
        let surroundings = Surroundings { earlier: *latest, later: None, epoch, rail, awaited: 0 };
        let number = match self.free.pop() {
            Some(number) => {
                self.records[number as usize] = Some(pending);
                self.surroundings[number as usize] = surroundings;
                number
            }
            None => {
                self.records.push(Some(pending));
                self.surroundings.push(surroundings);
                (self.records.len() - 1) as u32
            }
        };
        if let Some(earlier) = latest.replace(link(number)) {
            self.surroundings[earlier.get() as usize - 1].later = Some(link(number));
        }
        number
    }

    pub(crate) fn get(&self, number: u32) -> &PendingOperation {
        self.records[number as usize].as_ref().expect("the network names operations that it has")
    }

    pub(crate) fn get_mut(&mut self, number: u32) -> &mut PendingOperation {
        self.records[number as usize].as_mut().expect("the network names operations that it has")
    }

    /// Prefetches the record of an operation, if there is one with this number.
    #[inline]
    pub(crate) fn fetch(&self, number: u32) {
        let number = number as usize;
        if let (Some(record), Some(surroundings)) = (self.records.get(number), self.surroundings.get(number)) {
            prefetch(record);
            prefetch(surroundings);
        }
    }

    pub(crate) fn surroundings(&self, number: u32) -> Surroundings {
        self.surroundings[number as usize]
    }

    /// Records that an event will name an operation.
    pub(crate) fn expect(&mut self, number: u32, event: AwaitedEvent) {
        self.surroundings[number as usize].awaited |= event as u8;
    }

    /// Records that such an event has come.
    pub(crate) fn has_come(&mut self, number: u32, event: AwaitedEvent) {
        self.surroundings[number as usize].awaited &= !(event as u8);
    }

    /// Whether such an event will come.
    pub(crate) fn expects(&self, number: u32, event: AwaitedEvent) -> bool {
        self.surroundings[number as usize].awaited & event as u8 != 0
    }

    /// Whether any event will name an operation by a progress thread.
    pub(crate) fn expects_any(&self, number: u32) -> bool {
        self.surroundings[number as usize].awaited != 0
    }

    /// Removes an operation from the list of its rank; if it was the latest one, also returns the new latest one.
    pub(crate) fn remove(&mut self, number: u32) -> (PendingOperation, Option<RecordLink>) {
        let pending = self.records[number as usize].take().expect("the network names operations that it has");
        let Surroundings { earlier, later, .. } = self.surroundings[number as usize];
        if let Some(earlier) = earlier {
            self.surroundings[earlier.get() as usize - 1].later = later;
        }
        if let Some(later) = later {
            self.surroundings[later.get() as usize - 1].earlier = earlier;
        }
        self.free.push(number);
        (pending, later.is_none().then_some(earlier))
    }
}

/// Returns the link to a record.
pub(crate) fn link(number: u32) -> NonZeroU32 {
    NonZeroU32::MIN.saturating_add(number)
}
