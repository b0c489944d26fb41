//! Values at individual offsets in the memory of one rank.

use pelago_base::limits::OVERLAPPING_BYTES_MAX;
use pelago_base::{Block, Blocks, GlobalAddress, Shape};
use pelago_memory::Reach;
use pelago_platform::{Operation, Rail};

use crate::buffer::Buffer;
use crate::progress::striping::Stripes;
use crate::progress::task::Span;

/// Consecutive values in a buffer, and the location of each in remote memory.
pub(crate) struct Places {
    /// The base address of the offsets.
    start: GlobalAddress,
    /// The location of each value, all of the same length.
    places: Box<[Block]>,
    /// Size of each value in bytes.
    value_bytes: u64,
    buffer: Buffer,
    writes: bool,
    /// Number of values per operation of the transport. A single value uses a put or get, or several if it is longer than a message.
    together: usize,
    /// The division of a single value into messages.
    stripes: Stripes,
    /// The values of the next operation to post, which are contiguous in the buffer.
    packed: Shape,
    /// The range that contains all locations.
    span: Span,
}

impl Places {
    /// Creates an operation that writes the buffer's values to their locations, or reads them, each of `value_bytes` bytes; `None` if a location overflows the
    /// address space.
    pub(crate) fn new(start: GlobalAddress, places: &[u64], value_bytes: u64, buffer: Buffer, writes: bool) -> Option<Self> {
        let block = |&place: &u64| Some(Block { offset: place.checked_mul(value_bytes)?, bytes: value_bytes });
        let places = places.iter().map(block).collect::<Option<Box<[_]>>>()?;
        let envelope = Blocks::List(&places).envelope().ok()?;
        start.bits().checked_add(envelope.end)?;
        let address = further(start, envelope.start);
        let span = Span { address, bytes: envelope.end - envelope.start };
        let (stripes, packed) = (Stripes::Whole, Shape::contiguous(0));
        Some(Self { start, places, value_bytes, buffer, writes, together: 1, stripes, packed, span })
    }

    /// Combines up to `blocks_max` values in one operation, but no more than may have the same location.
    pub(crate) fn put_together(&mut self, blocks_max: usize) {
        let most = OVERLAPPING_BYTES_MAX / self.value_bytes.max(1);
        self.together = blocks_max.min(most as usize).max(1);
    }

    /// Divides each value into messages of at most `message_bytes_max` bytes, if it is longer.
    pub(crate) fn divide(&mut self, message_bytes_max: u64) {
        if self.value_bytes > message_bytes_max {
            self.stripes = Stripes::of_messages(message_bytes_max);
        }
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.buffer.bytes() as u64
    }

    pub(crate) fn value_bytes(&self) -> u64 {
        self.value_bytes
    }

    /// Number of bytes held until the operation ends: the values, and the list of their places.
    pub(crate) fn captured(&self) -> usize {
        self.buffer.bytes() + size_of_val(&*self.places)
    }

    pub(crate) fn writes(&self) -> bool {
        self.writes
    }

    pub(crate) fn span(&self) -> Span {
        self.span
    }

    /// Number of operations of the transport.
    pub(crate) fn pieces(&self) -> u64 {
        let operations = self.places.len().div_ceil(self.together) as u64;
        if self.value_bytes == 0 { 0 } else { self.stripes.count(Shape::strided(operations, self.value_bytes, 0)) }
    }

    /// Returns the `index`-th operation for the transport, and the address whose owner it is posted to.
    pub(crate) fn piece(&mut self, index: u64) -> (Operation<'_>, GlobalAddress, Option<Rail>) {
        let (index, part, _) = self.stripes.part(index, self.value_bytes);
        let first = index as usize * self.together;
        let blocks = &self.places[first..self.places.len().min(first + self.together)];
        let bytes = (blocks.len() as u64 - 1) * self.value_bytes + (part.end - part.start);
        let offset = first as u64 * self.value_bytes + part.start;
        let local = self.buffer.lend().part(offset, bytes).expect("a buffer holds all values");
        self.packed = Shape::contiguous(bytes);
        let at = further(self.start, blocks[0].offset + part.start);
        let operation = match (self.writes, self.together) {
            (true, 1) => Operation::Put { from: local, to: at },
            (false, 1) => Operation::Get { from: at, to: local },
            (true, _) => {
                Operation::PutBlocks { from: local, from_shape: &self.packed, to: self.start, blocks: Blocks::List(blocks) }
            }
            (false, _) => {
                Operation::GetBlocks { from: self.start, blocks: Blocks::List(blocks), to: local, to_shape: &self.packed }
            }
        };
        (operation, at, None)
    }

    /// Executes the whole operation and returns `true` if the memory is mapped.
    pub(crate) fn do_mapped(&mut self, reach: &Reach) -> bool {
        let Some(target) = reach.cells(self.span.address, self.span.bytes) else { return false };
        let lowest = self.span.address.bits().wrapping_sub(self.start.bits());
        let values = self.buffer.cells();
        for (index, block) in self.places.iter().enumerate() {
            let inside =
                (target.part(block.offset - lowest, block.bytes), values.part(index as u64 * self.value_bytes, block.bytes));
            let (Some(place), Some(value)) = inside else { unreachable!("both hold all values") };
            if self.writes { place.copy_from(value) } else { value.copy_from(place) }
        }
        if self.writes
            && let Some(bell) = reach.bell(reach.addresses().rank(self.start))
        {
            bell.ring();
        }
        true
    }

    pub(crate) fn into_buffer(self) -> Buffer {
        self.buffer
    }
}

fn further(address: GlobalAddress, offset: u64) -> GlobalAddress {
    GlobalAddress::from_bits(address.bits().wrapping_add(offset))
}
