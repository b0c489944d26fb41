//! How long operations take, for each kind.

use pelago_base::Duration;
use serde::{Deserialize, Serialize};

use crate::sections::distribution::{Counts, Distribution};

/// What an operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OperationKind {
    /// Bytes of its poster go to another rank.
    Put,
    /// Bytes of another rank come to its poster.
    Get,
    /// A word of another rank changes.
    Atomic,
    /// Bytes of another rank go to a third.
    Copy,
}

impl OperationKind {
    /// All kinds, in the order in which reports name them.
    pub const ALL: [Self; 4] = [Self::Put, Self::Get, Self::Atomic, Self::Copy];

    /// The name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Put => "put",
            Self::Get => "get",
            Self::Atomic => "atomic",
            Self::Copy => "copy",
        }
    }
}

/// The operations of one kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperationReport {
    /// Which.
    pub kind: OperationKind,
    /// How many were posted.
    pub operations: u64,
    /// How many of them failed.
    pub failed: u64,
    /// How many of them had not completed at the end.
    pub unfinished: u64,
    /// Bytes that they were to move.
    pub bytes: u64,
    /// From post to effect, of those that took effect.
    pub to_effect: Distribution,
    /// From post to completion, of those that completed and did not fail.
    pub to_completion: Distribution,
}

/// The operations of one kind, while they are being recorded.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    operations: u64,
    failed: u64,
    bytes: u64,
    to_effect: Counts,
    to_completion: Counts,
}

impl Tally {
    pub(crate) fn post(&mut self, bytes: u64) {
        self.operations += 1;
        self.bytes = self.bytes.saturating_add(bytes);
    }

    pub(crate) fn take_effect(&mut self, after: Duration) {
        self.to_effect.add(after);
    }

    pub(crate) fn fail(&mut self) {
        self.failed += 1;
    }

    pub(crate) fn complete(&mut self, after: Duration) {
        self.to_completion.add(after);
    }

    /// `None` if there were no operations.
    pub(crate) fn report(&self, kind: OperationKind) -> Option<OperationReport> {
        let Self { operations, failed, bytes, .. } = *self;
        let (to_effect, to_completion) = (self.to_effect.distribution(), self.to_completion.distribution());
        let unfinished = operations - failed - to_completion.count;
        (operations > 0).then_some(OperationReport { kind, operations, failed, unfinished, bytes, to_effect, to_completion })
    }
}
