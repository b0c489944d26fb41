//! An operation that outlives the call that posted it.

use pelago_base::{AddressLayout, GlobalAddress, Rank};
use pelago_platform::Operation;

/// An operation with its own copy of the bytes of a `Write`; all others borrow nothing.
pub(crate) enum Captured {
    Write { to: GlobalAddress, bytes: Vec<u8> },
    Other(Operation<'static>),
}

impl Captured {
    pub(crate) fn new(operation: Operation<'_>) -> Self {
        match operation {
            Operation::Write { to, bytes } => Self::Write { to, bytes: bytes.to_vec() },
            Operation::Put { from, to } => Self::Other(Operation::Put { from, to }),
            Operation::Get { from, to } => Self::Other(Operation::Get { from, to }),
            Operation::Copy { from, to, bytes } => Self::Other(Operation::Copy { from, to, bytes }),
            Operation::Atomic { at, width, operator, operand } => Self::Other(Operation::Atomic { at, width, operator, operand }),
        }
    }

    pub(crate) fn operation(&self) -> Operation<'_> {
        match self {
            Self::Write { to, bytes } => Operation::Write { to: *to, bytes },
            Self::Other(operation) => *operation,
        }
    }
}

/// The ranks whose memory `operation` needs: first the one to whose endpoint it is posted, then the one to which a `Copy` moves.
pub(crate) fn ends(layout: AddressLayout, operation: &Operation<'_>) -> [Rank; 2] {
    let (near, far) = match *operation {
        Operation::Write { to, .. } | Operation::Put { to, .. } => (to, to),
        Operation::Get { from, .. } => (from, from),
        Operation::Copy { from, to, .. } => (from, to),
        Operation::Atomic { at, .. } => (at, at),
    };
    [layout.rank(near), layout.rank(far)]
}
