//! An operation that outlives the call that posted it.

use pelago_base::limits::OVERLAPPING_BYTES_MAX;
use pelago_base::{AddressLayout, Block, Blocks, GlobalAddress, Instant, Rank, Shape};
use pelago_memory::Cells;
use pelago_platform::{Endpoint, Flags, Operation, PostError, Token, Transfer, Transport};

/// An operation with its own copy of the bytes of a `Write` or `Signalled`, or of the shapes and lists of blocks; all others borrow nothing.
pub(crate) enum Captured {
    Write { to: GlobalAddress, bytes: Vec<u8> },
    Signalled { to: GlobalAddress, bytes: Vec<u8>, at: GlobalAddress, word: u64 },
    Blocks(Box<CapturedBlocks>),
    Other(Operation<'static>),
}

/// A `PutBlocks` or `GetBlocks`.
pub(crate) struct CapturedBlocks {
    writes: bool,
    local: Cells<'static>,
    shape: Shape,
    at: GlobalAddress,
    there: There,
}

/// The blocks of the other rank.
enum There {
    Shape(Shape),
    List(Vec<Block>),
}

impl CapturedBlocks {
    fn capture(writes: bool, local: Cells<'static>, shape: &Shape, at: GlobalAddress, blocks: Blocks<'_>) -> Captured {
        let there = match blocks {
            Blocks::Shape(shape) => There::Shape(*shape),
            Blocks::List(list) => There::List(list.to_vec()),
        };
        Captured::Blocks(Box::new(Self { writes, local, shape: *shape, at, there }))
    }

    fn operation(&self) -> Operation<'_> {
        let Self { writes, local, shape, at, there } = self;
        let blocks = match there {
            There::Shape(shape) => Blocks::Shape(shape),
            There::List(list) => Blocks::List(list),
        };
        if *writes {
            Operation::PutBlocks { from: *local, from_shape: shape, to: *at, blocks }
        } else {
            Operation::GetBlocks { from: *at, blocks, to: *local, to_shape: shape }
        }
    }
}

impl Captured {
    pub(crate) fn new(operation: Operation<'_>) -> Self {
        match operation {
            Operation::Write { to, bytes } => Self::Write { to, bytes: bytes.to_vec() },
            Operation::Signalled { to, bytes, at, word } => Self::Signalled { to, bytes: bytes.to_vec(), at, word },
            Operation::Put { from, to } => Self::Other(Operation::Put { from, to }),
            Operation::Get { from, to } => Self::Other(Operation::Get { from, to }),
            Operation::PutBlocks { from, from_shape, to, blocks } => CapturedBlocks::capture(true, from, from_shape, to, blocks),
            Operation::GetBlocks { from, blocks, to, to_shape } => CapturedBlocks::capture(false, to, to_shape, from, blocks),
            Operation::Copy { from, to, bytes } => Self::Other(Operation::Copy { from, to, bytes }),
            Operation::Atomic { at, width, operator, operand } => Self::Other(Operation::Atomic { at, width, operator, operand }),
            Operation::Sized(transfer) => Self::Other(Operation::Sized(transfer)),
        }
    }

    pub(crate) fn operation(&self) -> Operation<'_> {
        match self {
            Self::Write { to, bytes } => Operation::Write { to: *to, bytes },
            Self::Signalled { to, bytes, at, word } => Operation::Signalled { to: *to, bytes, at: *at, word: *word },
            Self::Blocks(blocks) => blocks.operation(),
            Self::Other(operation) => *operation,
        }
    }
}

/// Checks that the two ends of an operation on blocks have the same number of bytes, local memory contains the local end, and the blocks of the
/// other end are not too many.
///
/// # Errors
/// [`PostError::Blocks`]: a condition is violated.
pub(crate) fn check_blocks(local: Cells<'_>, shape: &Shape, blocks: Blocks<'_>, blocks_max: usize) -> Result<(), PostError> {
    let (bytes, extent) = (shape.bytes(), shape.extent());
    let holds = extent.is_ok_and(|extent| extent <= local.bytes() as u64) && bytes == blocks.bytes();
    // The lookup of the memory detects an envelope beyond all memory.
    let reached = blocks.envelope().map_or(u64::MAX, |envelope| envelope.end - envelope.start);
    let takes = match blocks {
        Blocks::Shape(_) => bytes.is_ok_and(|bytes| bytes <= reached),
        Blocks::List(list) => list.len() <= blocks_max && bytes.is_ok_and(|bytes| bytes <= reached.max(OVERLAPPING_BYTES_MAX)),
    };
    if holds && takes { Ok(()) } else { Err(PostError::Blocks) }
}

/// The ranks whose memory an operation needs: first the rank to whose endpoint it is posted, then the target of a `Copy`.
pub(crate) fn ends(layout: AddressLayout, operation: &Operation<'_>) -> [Rank; 2] {
    let (at, other) = match *operation {
        Operation::Write { to, .. }
        | Operation::Signalled { to, .. }
        | Operation::Put { to, .. }
        | Operation::PutBlocks { to, .. }
        | Operation::Sized(Transfer::Put { to, .. }) => (to, to),
        Operation::Get { from, .. } | Operation::GetBlocks { from, .. } | Operation::Sized(Transfer::Get { from, .. }) => {
            (from, from)
        }
        Operation::Copy { from, to, .. } | Operation::Sized(Transfer::Copy { from, to, .. }) => (from, to),
        Operation::Atomic { at, .. } => (at, at),
    };
    [layout.rank(at), layout.rank(other)]
}

/// The rank whose memory an operation writes to; `None` if it writes only to its poster's memory.
pub(crate) fn written(layout: AddressLayout, operation: &Operation<'_>) -> Option<Rank> {
    match operation {
        Operation::Get { .. } | Operation::GetBlocks { .. } | Operation::Sized(Transfer::Get { .. }) => None,
        operation => Some(ends(layout, operation)[1]),
    }
}

/// Number of bytes that an operation moves.
pub(crate) fn length(operation: &Operation<'_>) -> u64 {
    match *operation {
        Operation::Write { bytes, .. } | Operation::Signalled { bytes, .. } => bytes.len() as u64,
        Operation::Put { from, .. } => from.bytes() as u64,
        Operation::Get { to, .. } => to.bytes() as u64,
        Operation::PutBlocks { from_shape: shape, .. } | Operation::GetBlocks { to_shape: shape, .. } => {
            shape.bytes().unwrap_or(u64::MAX)
        }
        Operation::Copy { bytes, .. } => bytes,
        Operation::Atomic { width, .. } => width.bytes(),
        Operation::Sized(Transfer::Put { bytes, .. } | Transfer::Get { bytes, .. } | Transfer::Copy { bytes, .. }) => bytes,
    }
}

/// An operation or a two-sided message, as posted to a transport.
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
            Self::Message(bytes) => {
                by.extensions().and_then(|by| by.two_sided()).ok_or(PostError::Unknown(to))?.send(now, to, bytes, token)
            }
        }
    }
}
