//! The latencies of operations of each kind.

use pelago_base::Duration;
use serde::{Deserialize, Serialize};

use crate::sections::distribution::{Counts, Distribution};

/// The kind of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OperationKind {
    /// Writes bytes of the initiator to another rank.
    Put,
    /// Reads bytes of another rank.
    Get,
    /// Changes a word of another rank.
    Atomic,
    /// Copies bytes of another rank to a third.
    Copy,
}

impl OperationKind {
    /// All kinds, in the order of reports.
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
    /// The kind.
    pub kind: OperationKind,
    /// Number of operations posted.
    pub operations: u64,
    /// Number of operations that failed.
    pub failed: u64,
    /// Number of operations that had not completed at the end.
    pub unfinished: u64,
    /// Number of operations without times, in none of the distributions: only a job on a real machine has them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub untimed: u64,
    /// Bytes of all operations posted.
    pub bytes: u64,
    /// Times from post to effect, of operations that took effect.
    pub to_effect: Distribution,
    /// Times from post to completion, of operations that completed and did not fail.
    pub to_completion: Distribution,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// The operations of one kind, while they are being recorded.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    operations: u64,
    failed: u64,
    untimed: u64,
    bytes: u64,
    to_effect: Counts,
    to_completion: Counts,
}

impl Tally {
    pub(crate) fn post(&mut self, bytes: u64) {
        self.operations += 1;
        self.bytes = self.bytes.saturating_add(bytes);
    }

    pub(crate) fn add_untimed(&mut self, operations: u64, bytes: u64) {
        self.operations += operations;
        self.untimed += operations;
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
        let Self { operations, failed, untimed, bytes, .. } = *self;
        let (to_effect, to_completion) = (self.to_effect.distribution(), self.to_completion.distribution());
        let unfinished = operations - untimed - failed - to_completion.count;
        (operations > 0).then_some(OperationReport {
            kind,
            operations,
            failed,
            unfinished,
            untimed,
            bytes,
            to_effect,
            to_completion,
        })
    }
}
