//! An operation that outlives the call that posted it.

use pelago_base::{AddressLayout, GlobalAddress, Instant, Rank};
use pelago_platform::{Endpoint, Flags, Operation, PostError, Token, Transfer, Transport};

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
            Operation::Sized(transfer) => Self::Other(Operation::Sized(transfer)),
        }
    }

    pub(crate) fn operation(&self) -> Operation<'_> {
        match self {
            Self::Write { to, bytes } => Operation::Write { to: *to, bytes },
            Self::Other(operation) => *operation,
        }
    }
}

/// The ranks whose memory an operation needs: first the one to whose endpoint it is posted, then the one to which a `Copy` moves.
pub(crate) fn ends(layout: AddressLayout, operation: &Operation<'_>) -> [Rank; 2] {
    let (at, other) = match *operation {
        Operation::Write { to, .. } | Operation::Put { to, .. } | Operation::Sized(Transfer::Put { to, .. }) => (to, to),
        Operation::Get { from, .. } | Operation::Sized(Transfer::Get { from, .. }) => (from, from),
        Operation::Copy { from, to, .. } | Operation::Sized(Transfer::Copy { from, to, .. }) => (from, to),
        Operation::Atomic { at, .. } => (at, at),
    };
    [layout.rank(at), layout.rank(other)]
}

/// The rank whose memory an operation writes to; `None` if it writes to its poster's alone.
pub(crate) fn written(layout: AddressLayout, operation: &Operation<'_>) -> Option<Rank> {
    match operation {
        Operation::Get { .. } | Operation::Sized(Transfer::Get { .. }) => None,
        operation => Some(ends(layout, operation)[1]),
    }
}

/// How many bytes an operation moves.
pub(crate) fn length(operation: &Operation<'_>) -> u64 {
    match *operation {
        Operation::Write { bytes, .. } => bytes.len() as u64,
        Operation::Put { from, .. } => from.bytes() as u64,
        Operation::Get { to, .. } => to.bytes() as u64,
        Operation::Copy { bytes, .. } => bytes,
        Operation::Atomic { width, .. } => width.bytes(),
        Operation::Sized(Transfer::Put { bytes, .. } | Transfer::Get { bytes, .. } | Transfer::Copy { bytes, .. }) => bytes,
    }
}

/// What is posted to a transport or its network, by either of two calls.
#[derive(Clone, Copy)]
pub(crate) enum Work<'a> {
    Operation(Operation<'a>, Flags),
    Message(&'a [u8]),
}

impl Work<'_> {
    /// Whether it is a two-sided message, which no fence orders.
    pub(crate) fn is_message(self) -> bool {
        matches!(self, Self::Message(_))
    }

    /// As [`ends`]; a message names no memory.
    #[inline]
    pub(crate) fn ends(self, layout: AddressLayout) -> Option<[Rank; 2]> {
        match self {
            Self::Operation(operation, _) => Some(ends(layout, &operation)),
            Self::Message(_) => None,
        }
    }

    /// Posts it.
    #[inline]
    pub(crate) fn post<T: Transport>(self, by: &mut T, now: Instant, to: Endpoint, token: Token) -> Result<(), PostError> {
        match self {
            Self::Operation(operation, flags) => by.post(now, to, operation, flags, token),
            Self::Message(bytes) => by.two_sided().ok_or(PostError::Unknown(to))?.send(now, to, bytes, token),
        }
    }
}
