//! The work of an operation that does not complete immediately.

use std::ops::Range;

use pelago_base::{AddressLayout, AtomicOperator, Blocks, GlobalAddress, Rank, SegmentId, Shape, Width};
use pelago_memory::{Cells, Reach, copy_strided};
use pelago_platform::{Operation, Rail, Transfer};

use crate::buffer::Buffer;
use crate::limits::STRIPED_BYTES_MIN;
use crate::progress::places::Places;
use crate::progress::striping::{Stripes, Striping};

/// An operation, with all data that it needs until it is done.
pub(crate) enum Task {
    /// Moves blocks of bytes.
    Move(Box<Move>),
    /// Writes bytes of this rank's own heaps, which are lent until the transport is dropped (R2), or of the program (P1).
    Put {
        /// Source.
        from: Cells<'static>,
        /// Destination.
        to: GlobalAddress,
    },
    /// Reads bytes.
    Get {
        /// Source.
        from: GlobalAddress,
        /// Destination; its size is the number of bytes.
        into: Buffer,
    },
    /// Moves values from or to individual offsets.
    Places(Box<Places>),
    /// An atomic on a word.
    Atomic {
        /// Address of the word.
        at: GlobalAddress,
        /// Its width.
        width: Width,
        /// The operator.
        operator: AtomicOperator,
        /// The operand.
        operand: u64,
        /// Destination of the old value, stored before the operation ends: a word of the program's memory (P1).
        into: Option<Cells<'static>>,
    },
}

/// A range of the job's memory.
#[derive(Clone, Copy)]
pub(crate) struct Span {
    /// Start address.
    pub(crate) address: GlobalAddress,
    /// Number of bytes.
    pub(crate) bytes: u64,
}

/// A move of blocks of bytes.
pub(crate) struct Move {
    /// Source.
    pub(crate) from: End,
    /// Destination.
    pub(crate) to: End,
    /// Shape of the source.
    pub(crate) from_shape: Shape,
    /// Shape of the destination, with equal blocks and counts.
    pub(crate) to_shape: Shape,
    /// Whether only the sizes are sent; then a buffer has no memory.
    pub(crate) by_size: bool,
    /// The division over rails or into messages.
    pub(crate) stripes: Stripes,
}

/// One end of a move; at least one of the two is global.
pub(crate) enum End {
    /// A buffer of the operation.
    Buffer(Buffer),
    /// Memory of this rank's own heaps, which is lent until the transport is dropped (R2), or of the program (P1).
    Own(Cells<'static>),
    /// An address in the job's memory.
    Global(GlobalAddress),
}

impl Task {
    /// A contiguous move.
    pub(crate) fn contiguous(from: End, to: End, bytes: u64) -> Self {
        let by_size = [&from, &to].into_iter().any(|end| matches!(end, End::Buffer(buffer) if buffer.is_hollow()));
        let (from_shape, to_shape, stripes) = (Shape::contiguous(bytes), Shape::contiguous(bytes), Stripes::Whole);
        Move { from, to, from_shape, to_shape, by_size, stripes }.into()
    }

    /// Stripes the task over `rails` (at least one), if it is long enough.
    pub(crate) fn striped(self, striping: &Striping, rails: &[Rail], message_bytes_max: u64) -> Self {
        match self {
            Self::Move(mut moving) if moving.from_shape.bytes().is_ok_and(|bytes| bytes >= STRIPED_BYTES_MIN) => {
                moving.stripes = striping.stripes(rails, moving.from_shape, message_bytes_max);
                Self::Move(moving)
            }
            put @ Self::Put { .. } => put.into_move().striped(striping, rails, message_bytes_max),
            whole => whole,
        }
    }

    /// Splits the task into messages of at most `message_bytes_max` bytes.
    pub(crate) fn in_messages(self, message_bytes_max: u64) -> Self {
        match self {
            Self::Move(mut moving) if moving.stripes == Stripes::Whole && moving.from_shape.block > message_bytes_max => {
                moving.stripes = Stripes::of_messages(message_bytes_max);
                Self::Move(moving)
            }
            Self::Put { from, .. } if from.bytes() as u64 > message_bytes_max => self.into_move().in_messages(message_bytes_max),
            Self::Get { ref into, .. } if into.bytes() as u64 > message_bytes_max => {
                self.into_move().in_messages(message_bytes_max)
            }
            Self::Places(mut places) => {
                places.divide(message_bytes_max);
                Self::Places(places)
            }
            whole => whole,
        }
    }

    /// Whether the task consists of blocks that a rail may accept as one operation: both ends contain the blocks, one end is this rank's, and the
    /// blocks of the other end do not overlap and belong to one rank.
    pub(crate) fn has_blocks(&self, addresses: AddressLayout, message_bytes_max: u64) -> bool {
        match self {
            Self::Move(moving) => {
                let shape = moving.global_shape();
                let is_own = moving.source().is_none() != moving.destination().is_none();
                let fits = |bytes: u64| bytes <= message_bytes_max && shape.extent().is_ok_and(|extent| bytes <= extent);
                is_own
                    && !moving.by_size
                    && moving.stripes == Stripes::Whole
                    && shape.blocks() > 1
                    && shape.bytes().is_ok_and(fits)
                    && self.target().is_in_segment(addresses)
            }
            Self::Places(places) => places.bytes() <= message_bytes_max && self.target().is_in_segment(addresses),
            _ => false,
        }
    }

    /// Number of bytes of each block.
    pub(crate) fn block_bytes(&self) -> u64 {
        match self {
            Self::Move(moving) => moving.global_shape().block,
            Self::Places(places) => places.value_bytes(),
            _ => self.bytes(),
        }
    }

    /// Combines the blocks into as few operations as a rail permits that accepts lists of up to `blocks_max` blocks.
    pub(crate) fn together(mut self, blocks_max: usize) -> Self {
        match &mut self {
            Self::Move(moving) => moving.stripes = Stripes::Together,
            Self::Places(places) => places.put_together(blocks_max),
            _ => {}
        }
        self
    }

    /// Converts a put or get to a move, which can be posted in parts.
    fn into_move(self) -> Self {
        match self {
            Self::Put { from, to } => Self::contiguous(End::Own(from), End::Global(to), from.bytes() as u64),
            Self::Get { from, into } => {
                let bytes = into.bytes() as u64;
                Self::contiguous(End::Global(from), End::Buffer(into), bytes)
            }
            other => other,
        }
    }

    /// Whether the task is striped over several rails.
    pub(crate) fn is_striped(&self) -> bool {
        matches!(self, Self::Move(moving) if moving.stripes.is_striped())
    }

    /// Number of operations of the transport.
    pub(crate) fn pieces(&self) -> u64 {
        match self {
            Self::Move(moving) if moving.from_shape.block == 0 => 0,
            Self::Move(moving) => moving.stripes.count(moving.from_shape),
            Self::Places(places) => places.pieces(),
            Self::Put { from, .. } => u64::from(from.bytes() > 0),
            Self::Get { into, .. } => u64::from(into.bytes() > 0),
            Self::Atomic { .. } => 1,
        }
    }

    /// Number of bytes that the task moves or modifies.
    pub(crate) fn bytes(&self) -> u64 {
        match self {
            Self::Move(moving) => moving.from_shape.block.saturating_mul(moving.from_shape.blocks()),
            Self::Places(places) => places.bytes(),
            Self::Put { from, .. } => from.bytes() as u64,
            Self::Get { into, .. } => into.bytes() as u64,
            Self::Atomic { width, .. } => width.bytes(),
        }
    }

    /// Number of bytes that the task captures.
    pub(crate) fn captured(&self) -> usize {
        match self {
            Self::Move(moving) => moving.buffer().map_or(0, Buffer::bytes),
            Self::Get { into, .. } => into.bytes(),
            Self::Places(places) => places.captured(),
            Self::Put { .. } | Self::Atomic { .. } => 0,
        }
    }

    /// Returns the ranks whose memory is accessed: the rank that the task is posted to, and the rank at the other end of a copy.
    pub(crate) fn ranks(&self, addresses: AddressLayout) -> [Option<Rank>; 2] {
        [Some(self.target()), self.other()].map(|end| end.map(|span| addresses.rank(span.address)))
    }

    /// Whether the whole task is posted to one rank by one rail: the target lies in one segment.
    pub(crate) fn has_one_target(&self, addresses: AddressLayout) -> bool {
        !self.is_striped() && self.target().is_in_segment(addresses)
    }

    /// Whether only a failure of one rank can make the task fail, and its result is available as soon as it has taken effect at that rank: it
    /// accesses only heaps of that rank, which are always registered, by one rail, and writes to no memory of the program.
    pub(crate) fn is_sure(&self, addresses: AddressLayout) -> bool {
        let (target, other) = (self.target(), self.other());
        let is_there = |span: Span| addresses.rank(span.address) == addresses.rank(target.address) && span.is_in_heap(addresses);
        let is_aligned = match self {
            Self::Atomic { at, width, .. } => addresses.offset(*at).is_multiple_of(width.bytes()),
            Self::Move(_) | Self::Places(_) | Self::Put { .. } | Self::Get { .. } => true,
        };
        is_aligned && !self.brings() && !self.is_striped() && target.is_in_heap(addresses) && other.is_none_or(is_there)
    }

    /// Whether the task writes to memory of another rank than the one that it is posted to: of the other end of a copy, or of this rank.
    pub(crate) fn writes_elsewhere(&self, addresses: AddressLayout) -> bool {
        let is_apart = |other: Span| addresses.rank(other.address) != addresses.rank(self.target().address);
        self.other().is_some_and(is_apart) || self.brings()
    }

    /// Whether the only effect of the task is to return a word or bytes to the caller.
    pub(crate) fn only_reads(&self) -> bool {
        match self {
            Self::Get { .. } => true,
            Self::Atomic { operator, into, .. } => *operator == AtomicOperator::Load && into.is_none(),
            Self::Move(moving) => matches!(moving.to, End::Buffer(_)),
            Self::Places(places) => !places.writes(),
            Self::Put { .. } => false,
        }
    }

    /// Whether the task writes to memory of the program, which later operations may read.
    pub(crate) fn brings(&self) -> bool {
        match self {
            Self::Move(moving) => matches!(moving.to, End::Own(_)),
            Self::Put { .. } | Self::Get { .. } | Self::Places(_) => false,
            Self::Atomic { into, .. } => into.is_some(),
        }
    }

    /// Stores the old value of an atomic, if the program requested it.
    pub(crate) fn bring(&self, found: u64) {
        if let Self::Atomic { width, into: Some(into), .. } = self {
            into.atomic(*width, AtomicOperator::Swap, found);
        }
    }

    /// Executes the whole task if both ends are mapped; returns `Some` with the old value of an atomic in that case.
    pub(crate) fn do_mapped(&mut self, reach: &Reach) -> Option<u64> {
        match self {
            Self::Move(moving) => moving.do_mapped(reach).then_some(0),
            Self::Put { from, to } => {
                reach.cells(*to, from.bytes() as u64)?.copy_from(*from);
                ring(reach, *to);
                Some(0)
            }
            Self::Places(places) => places.do_mapped(reach).then_some(0),
            // Gets from mapped memory complete at issue.
            Self::Get { .. } => None,
            Self::Atomic { at, width, operator, operand, .. } => {
                let found = reach.cells(*at, width.bytes())?.atomic(*width, *operator, *operand)?;
                ring(reach, *at);
                self.bring(found);
                Some(found)
            }
        }
    }

    /// Returns the `index`-th operation for the transport, the address whose owner it is posted to, and the rail if the task is striped.
    pub(crate) fn piece(&mut self, index: u64) -> (Operation<'_>, GlobalAddress, Option<Rail>) {
        match self {
            Self::Move(moving) => moving.piece(index),
            Self::Places(places) => places.piece(index),
            Self::Put { from, to } => (Operation::Put { from: *from, to: *to }, *to, None),
            Self::Get { from, into } => (Operation::Get { from: *from, to: into.lend() }, *from, None),
            Self::Atomic { at, width, operator, operand, .. } => {
                (Operation::Atomic { at: *at, width: *width, operator: *operator, operand: *operand }, *at, None)
            }
        }
    }

    /// Returns the buffer, after the transport has completed all operations on it.
    pub(crate) fn into_buffer(self) -> Option<Buffer> {
        let mut buffer = match self {
            Self::Move(moving) => {
                let Move { from, to, .. } = *moving;
                [from, to].into_iter().find_map(End::into_buffer)?
            }
            Self::Get { into, .. } => into,
            Self::Places(places) => places.into_buffer(),
            Self::Put { .. } | Self::Atomic { .. } => return None,
        };
        buffer.reclaim();
        Some(buffer)
    }

    /// Whether the task accesses any of these bytes of this rank, which begin at `address`.
    pub(crate) fn accesses(&self, address: GlobalAddress, memory: Cells<'_>) -> bool {
        let meet =
            |one: (u64, u64), other: (u64, u64)| one.0 < other.0.saturating_add(other.1) && other.0 < one.0.saturating_add(one.1);
        let place = |cells: Cells<'_>| (cells.pointer().addr().get() as u64, cells.bytes() as u64);
        let is_own = |cells: Cells<'_>| meet(place(cells), place(memory));
        let is_global = |span: Span| meet((span.address.bits(), span.bytes), (address.bits(), memory.bytes() as u64));
        let own = match self {
            Self::Move(moving) => [&moving.from, &moving.to].into_iter().any(|end| matches!(end, End::Own(own) if is_own(*own))),
            Self::Put { from, .. } => is_own(*from),
            Self::Atomic { into, .. } => into.is_some_and(is_own),
            Self::Get { .. } | Self::Places(_) => false,
        };
        own || is_global(self.target()) || self.other().is_some_and(is_global)
    }

    /// Returns the end whose owner the task is posted to.
    fn target(&self) -> Span {
        match self {
            Self::Move(moving) => moving.source().or(moving.destination()).expect("a move has a global end"),
            Self::Put { from, to } => Span { address: *to, bytes: from.bytes() as u64 },
            Self::Get { from, into } => Span { address: *from, bytes: into.bytes() as u64 },
            Self::Places(places) => places.span(),
            Self::Atomic { at, width, .. } => Span { address: *at, bytes: width.bytes() },
        }
    }

    /// Returns the other end of a copy.
    fn other(&self) -> Option<Span> {
        match self {
            Self::Move(moving) => moving.source().and(moving.destination()),
            Self::Put { .. } | Self::Get { .. } | Self::Places(_) | Self::Atomic { .. } => None,
        }
    }
}

impl From<Move> for Task {
    fn from(moving: Move) -> Self {
        Self::Move(Box::new(moving))
    }
}

impl Move {
    /// Executes the whole move and returns `true` if both ends are mapped.
    pub(crate) fn do_mapped(&mut self, reach: &Reach) -> bool {
        let Self { from, to, from_shape, to_shape, by_size, .. } = self;
        if *by_size {
            // One end belongs to another rank, whose memory is not mapped.
            return false;
        }
        let (Ok(from_bytes), Ok(to_bytes)) = (from_shape.extent(), to_shape.extent()) else { return false };
        let (Some(source), Some(target)) = (from.mapped(reach, from_bytes), to.mapped(reach, to_bytes)) else { return false };
        if from_shape.counts == [1; 3] {
            target.copy_from(source);
        } else {
            copy_strided(source, *from_shape, target, *to_shape);
        }
        if let End::Global(address) = to {
            ring(reach, *address);
        }
        true
    }

    fn piece(&mut self, index: u64) -> (Operation<'_>, GlobalAddress, Option<Rail>) {
        if self.stripes == Stripes::Together {
            let (operation, at) = self.together();
            return (operation, at, None);
        }
        let (block, part, rail) = self.stripes.part(index, self.from_shape.block);
        let (piece, at) = self.part(block, part);
        (piece, at, rail)
    }

    /// Returns the operation for all blocks.
    fn together(&mut self) -> (Operation<'_>, GlobalAddress) {
        let Self { from, to, from_shape, to_shape, .. } = self;
        let local = |end: &mut End| match end {
            End::Buffer(buffer) => buffer.lend(),
            End::Own(own) => *own,
            End::Global(_) => unreachable!("one end of blocks that go together is this rank's"),
        };
        match (from, to) {
            (from, End::Global(to)) => {
                (Operation::PutBlocks { from: local(from), from_shape, to: *to, blocks: Blocks::Shape(to_shape) }, *to)
            }
            (End::Global(from), to) => {
                (Operation::GetBlocks { from: *from, blocks: Blocks::Shape(from_shape), to: local(to), to_shape }, *from)
            }
            _ => unreachable!("a move has a global end"),
        }
    }

    /// Returns the shape of the end in the job's memory; that of the source, if both ends are.
    fn global_shape(&self) -> Shape {
        if self.source().is_some() { self.from_shape } else { self.to_shape }
    }

    /// Returns the operation for a part of a block.
    fn part(&mut self, block: u64, part: Range<u64>) -> (Operation<'static>, GlobalAddress) {
        let Self { from, to, from_shape, to_shape, by_size, .. } = self;
        let bytes = part.end - part.start;
        let (from_offset, to_offset) = (from_shape.offset(block) + part.start, to_shape.offset(block) + part.start);
        let further = |address: GlobalAddress, offset| GlobalAddress::from_bits(address.bits().wrapping_add(offset));
        let part = |buffer: &mut Buffer, offset| buffer.lend().part(offset, bytes).expect("the buffer holds the shape");
        match (from, to) {
            (End::Buffer(buffer), End::Global(to)) => {
                let to = further(*to, to_offset);
                if *by_size {
                    return (Operation::Sized(Transfer::Put { to, bytes }), to);
                }
                (Operation::Put { from: part(buffer, from_offset), to }, to)
            }
            (End::Own(own), End::Global(to)) => {
                let to = further(*to, to_offset);
                if *by_size {
                    return (Operation::Sized(Transfer::Put { to, bytes }), to);
                }
                let from = own.part(from_offset, bytes).expect("the memory holds the shape");
                (Operation::Put { from, to }, to)
            }
            (End::Global(from), End::Buffer(buffer)) => {
                let from = further(*from, from_offset);
                if *by_size {
                    return (Operation::Sized(Transfer::Get { from, bytes }), from);
                }
                (Operation::Get { from, to: part(buffer, to_offset) }, from)
            }
            (End::Global(from), End::Own(own)) => {
                let from = further(*from, from_offset);
                if *by_size {
                    return (Operation::Sized(Transfer::Get { from, bytes }), from);
                }
                let to = own.part(to_offset, bytes).expect("the memory holds the shape");
                (Operation::Get { from, to }, from)
            }
            (End::Global(from), End::Global(to)) => {
                let (from, to) = (further(*from, from_offset), further(*to, to_offset));
                if *by_size {
                    return (Operation::Sized(Transfer::Copy { from, to, bytes }), from);
                }
                (Operation::Copy { from, to, bytes }, from)
            }
            (End::Buffer(_) | End::Own(_), End::Buffer(_) | End::Own(_)) => unreachable!("a move has a global end"),
        }
    }

    fn source(&self) -> Option<Span> {
        self.from.span(self.from_shape)
    }

    fn destination(&self) -> Option<Span> {
        self.to.span(self.to_shape)
    }

    fn buffer(&self) -> Option<&Buffer> {
        [&self.from, &self.to].into_iter().find_map(|end| if let End::Buffer(buffer) = end { Some(buffer) } else { None })
    }
}

impl End {
    fn mapped<'a>(&'a mut self, reach: &'a Reach, bytes: u64) -> Option<Cells<'a>> {
        match self {
            Self::Buffer(buffer) => buffer.cells().part(0, bytes),
            Self::Own(own) => own.part(0, bytes),
            Self::Global(address) => reach.cells(*address, bytes),
        }
    }

    fn span(&self, shape: Shape) -> Option<Span> {
        match self {
            Self::Buffer(_) | Self::Own(_) => None,
            Self::Global(address) => Some(Span { address: *address, bytes: shape.extent().unwrap_or(u64::MAX) }),
        }
    }

    fn into_buffer(self) -> Option<Buffer> {
        if let Self::Buffer(buffer) = self { Some(buffer) } else { None }
    }
}

impl Span {
    /// Whether the range lies in one segment, and thus belongs to one rank.
    fn is_in_segment(self, addresses: AddressLayout) -> bool {
        self.bytes <= addresses.segment_bytes() - addresses.offset(self.address)
    }

    /// Whether the range is always registered.
    #[inline]
    pub(crate) fn is_in_heap(self, addresses: AddressLayout) -> bool {
        let is_heap = |segment| segment == SegmentId::SYMMETRIC || segment == SegmentId::INDIVIDUAL;
        addresses.segment(self.address).is_some_and(is_heap) && self.is_in_segment(addresses)
    }
}

fn ring(reach: &Reach, address: GlobalAddress) {
    if let Some(bell) = reach.bell(reach.addresses().rank(address)) {
        bell.ring();
    }
}
