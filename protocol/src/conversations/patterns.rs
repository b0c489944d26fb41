//! Operations whose bytes are not contiguous: the blocks that they transfer, and how many bytes fit a datagram.
//!
//! The bytes of an operation are numbered in transfer order, one block after another. A piece is a range of these numbers. Each end maps the
//! range to its own blocks, so that a datagram can be executed independently of the others.

use std::ops::Range;

use pelago_base::{Block, Blocks, GlobalAddress, Shape, ShapeError};

use crate::memory::{Denied, Memory, further};
use crate::peer::waiting::Ask;
use crate::wire::blocks::{LIST_EXTENT_MAX, NO_BLOCK, Writer, block_bytes, number_bytes, shape_bytes};
use crate::wire::{BlockList, LIST_HEAD_BYTES_MAX, PIECE_BYTES, get_list, put_list, put_shape};

/// Bytes of the head of a piece of a put to a shape besides the shape and the place of the piece.
const SHAPE_HEAD_BYTES: usize = 9;

/// The longest element that is read and written as a whole, in bytes. Pieces end between such elements: of two datagrams, the later one may be written
/// first, and a word of two halves from different puts would be neither's.
pub(crate) const WORD_BYTES: u64 = 8;

/// Blocks of memory in transfer order, at offsets relative to the lowest block.
pub(crate) enum Pattern {
    Shape(Shape),
    List(List),
}

/// Blocks of any length at any offset.
pub(crate) struct List {
    /// Each non-empty block, with the number of the byte after its last one.
    blocks: Box<[(Block, u64)]>,
    extent: u64,
}

/// Blocks of a put of which an end is not contiguous.
pub(crate) struct PutBlocks {
    /// Blocks of the local memory.
    pub(crate) here: Pattern,
    pub(crate) there: There,
}

/// Destination of the bytes of a put.
pub(crate) enum There {
    /// Memory of the peer.
    Blocks(Pattern),
    /// The operation of the peer that asked for them, from this byte of it on.
    Answer(u64),
}

/// Blocks of a get of which an end is not contiguous.
pub(crate) struct GetBlocks {
    /// Blocks of the local memory.
    pub(crate) here: Shape,
    /// List to request, and the number of its blocks that have been requested.
    pub(crate) asked: Option<(List, usize)>,
}

impl Pattern {
    /// Returns the pattern of blocks relative to `start`, and the address of the lowest block.
    ///
    /// # Errors
    /// The number of bytes overflows 64 bits, or the extent exceeds [`LIST_EXTENT_MAX`].
    pub(crate) fn new(start: GlobalAddress, blocks: Blocks<'_>) -> Result<(GlobalAddress, Self), ShapeError> {
        blocks.bytes()?;
        let envelope = blocks.envelope()?;
        if envelope.end - envelope.start > LIST_EXTENT_MAX {
            return Err(ShapeError::Overflow);
        }
        let pattern = match blocks {
            Blocks::Shape(shape) => Self::Shape(shape.canonical()),
            Blocks::List(list) => {
                let list = list.iter().map(|block| Block { offset: block.offset - envelope.start, ..*block });
                Self::List(List::new(list, envelope.end - envelope.start))
            }
        };
        Ok((further(start, envelope.start), pattern))
    }

    /// A list that a peer sent.
    pub(crate) fn of_list(list: BlockList<'_>) -> Self {
        Self::List(List::new(list.blocks(), list.extent))
    }

    fn listed(&self) -> usize {
        if let Self::List(list) = self { list.blocks.len() } else { 0 }
    }

    /// Returns the blocks of a range of bytes as rows: the offset and the shape of each row.
    pub(crate) fn rows(&self, range: Range<u64>) -> impl Iterator<Item = (u64, Shape)> {
        let (shape, list) = match self {
            Self::Shape(shape) => (Some(shape.rows(range)), None),
            Self::List(list) => (None, Some(list.parts(range))),
        };
        let blocks = list.into_iter().flatten().map(|block| (block.offset, Shape::contiguous(block.bytes)));
        shape.into_iter().flatten().chain(blocks)
    }

    /// Reads some of the bytes of registered memory that begin at `start`.
    pub(crate) fn read<M: Memory>(&self, memory: &M, start: GlobalAddress, from: u64, into: &mut [u8]) -> Result<(), Denied> {
        let range = from..from + into.len() as u64;
        let shape = match self {
            Self::Shape(shape) => shape,
            Self::List(list) => return memory.read_blocks(start, list.extent, list.parts(range), into),
        };
        let mut rest = into;
        for (offset, row) in shape.rows(range) {
            let (part, others) = rest.split_at_mut(row_bytes(&row));
            memory.read_row(further(start, offset), row, part)?;
            rest = others;
        }
        Ok(())
    }

    /// Returns how many of `most` bytes from `next` on a piece takes that ends between two words. A block begins with an element of its own.
    fn whole_words(&self, next: u64, most: u64) -> u64 {
        let end = next + most;
        let within = match self {
            Self::Shape(shape) => end % shape.block.max(1),
            Self::List(list) => {
                let index = list.block_of(end);
                end - index.checked_sub(1).map_or(0, |before| list.blocks[before].1)
            }
        };
        most.saturating_sub(within % WORD_BYTES)
    }

    /// Reads some of the bytes of local memory.
    pub(crate) fn read_local<M: Memory>(&self, memory: &M, local: &M::Local, from: u64, into: &mut [u8]) {
        let mut rest = into;
        for (offset, row) in self.rows(from..from + rest.len() as u64) {
            let (part, others) = std::mem::take(&mut rest).split_at_mut(row_bytes(&row));
            memory.read_local_row(local, offset, row, part);
            rest = others;
        }
    }
}

impl List {
    fn new(blocks: impl ExactSizeIterator<Item = Block>, extent: u64) -> Self {
        let (mut kept, mut end) = (Vec::with_capacity(blocks.len()), 0);
        for block in blocks.filter(|block| block.bytes > 0) {
            end += block.bytes;
            kept.push((block, end));
        }
        Self { blocks: kept.into(), extent }
    }

    /// Returns the index of the block that contains a byte.
    fn block_of(&self, byte: u64) -> usize {
        self.blocks.partition_point(|&(_, end)| end <= byte)
    }

    /// Returns the blocks of a range of bytes; the first and the last may be parts of blocks.
    fn parts(&self, range: Range<u64>) -> impl Iterator<Item = Block> {
        let first = self.block_of(range.start);
        let parts = self.blocks[first..].iter().take_while({
            let end = range.end;
            move |&&(block, past)| past - block.bytes < end
        });
        parts.map(move |&(block, past)| {
            let start = past - block.bytes;
            let skipped = range.start.saturating_sub(start);
            Block { offset: block.offset + skipped, bytes: past.min(range.end) - start - skipped }
        })
    }

    /// Returns the size of the head of a piece of `room` bytes, and the number of bytes from `next` on that fit.
    fn fit(&self, next: u64, room: usize) -> (usize, u64) {
        let (mut head, mut bytes, mut previous) = (LIST_HEAD_BYTES_MAX, 0_u64, NO_BLOCK);
        let end = self.blocks.last().map_or(0, |&(_, end)| end);
        for part in self.parts(next..end) {
            let left = room.saturating_sub(head + bytes as usize);
            let whole = block_bytes(part, previous);
            // A block that is cut states its length, whose encoding is at most as long as that of the whole block.
            let cut = if part.bytes == previous.bytes { whole + number_bytes(part.bytes) } else { whole };
            let taken = if left < whole + part.bytes as usize {
                // What was taken of the block before ends between words, too.
                left.saturating_sub(cut) as u64 / WORD_BYTES * WORD_BYTES
            } else {
                part.bytes
            };
            if taken == 0 {
                break;
            }
            let block = Block { bytes: taken, ..part };
            head += block_bytes(block, previous);
            (bytes, previous) = (bytes + taken, block);
            if taken < part.bytes {
                break;
            }
        }
        (self.put_head_bytes(next..next + bytes), bytes)
    }

    /// Returns the size of the head of a put's piece.
    fn put_head_bytes(&self, range: Range<u64>) -> usize {
        let (mut bytes, mut previous, mut count) = (9 + number_bytes(self.extent), NO_BLOCK, 0);
        for part in self.parts(range) {
            bytes += block_bytes(part, previous);
            (previous, count) = (part, count + 1);
        }
        bytes + number_bytes(count)
    }

    fn write_put(&self, writer: &mut Writer<'_>, to: GlobalAddress, range: Range<u64>) {
        put_list(writer, to, self.extent, self.parts(range.clone()).count() as u64);
        writer.blocks(self.parts(range));
    }
}

impl PutBlocks {
    pub(crate) fn listed(&self) -> usize {
        let there = if let There::Blocks(there) = &self.there { there.listed() } else { 0 };
        self.here.listed() + there
    }

    /// Returns the size of the head of a piece of at most `room` bytes, and the number of bytes from `next` on, of `left`, that fit behind it.
    pub(crate) fn fit(&self, next: u64, left: u64, room: usize) -> (usize, u64) {
        match &self.there {
            There::Answer(_) => {
                let most = room.saturating_sub(PIECE_BYTES) as u64;
                (PIECE_BYTES, if left <= most { left } else { self.here.whole_words(next, most) })
            }
            There::Blocks(Pattern::List(list)) => list.fit(next, room),
            There::Blocks(Pattern::Shape(shape)) => {
                let head = SHAPE_HEAD_BYTES + number_bytes(next) + shape_bytes(shape);
                let most = room.saturating_sub(head) as u64;
                if left <= most {
                    return (head, left);
                }
                // Blocks that fit as a whole are not cut, others between words.
                let within = (next + most) % shape.block.max(1);
                (head, most - if shape.block <= most { within } else { within % WORD_BYTES })
            }
        }
    }

    /// Writes the head of a piece of a put to a peer's memory.
    pub(crate) fn write_head(&self, to: GlobalAddress, range: Range<u64>, head: &mut [u8]) {
        let writer = &mut Writer::new(head);
        match &self.there {
            There::Blocks(Pattern::Shape(shape)) => put_shape(writer, to, shape, range.start),
            There::Blocks(Pattern::List(list)) => list.write_put(writer, to, range),
            There::Answer(_) => {}
        }
    }
}

impl GetBlocks {
    pub(crate) fn listed(&self) -> usize {
        self.asked.as_ref().map_or(0, |(list, _)| list.blocks.len())
    }

    /// Takes as many blocks as a request of `room` bytes holds. Returns the index of the first, their number, and the size of the request; and
    /// whether blocks are left to request.
    pub(crate) fn ask(&mut self, room: usize) -> Option<(Ask, bool)> {
        let (list, next) = self.asked.as_mut()?;
        let (first, mut head, mut previous) = (*next, LIST_HEAD_BYTES_MAX, NO_BLOCK);
        for &(block, _) in &list.blocks[first..] {
            let bytes = block_bytes(block, previous);
            if head + bytes > room {
                break;
            }
            (head, previous, *next) = (head + bytes, block, *next + 1);
        }
        let count = *next - first;
        let offset = list.blocks[..first].last().map_or(0, |&(_, end)| end);
        let fixed = LIST_HEAD_BYTES_MAX - 13 - number_bytes(offset) - number_bytes(list.extent) - number_bytes(count as u64);
        let ask = Ask { first: first as u32, count: count as u32, bytes: (head - fixed) as u16 };
        Some((ask, *next < list.blocks.len()))
    }

    /// Writes a request for blocks.
    pub(crate) fn write_ask(&self, operation: u32, from: GlobalAddress, ask: Ask, into: &mut [u8]) {
        let Some((list, _)) = &self.asked else { return };
        let (first, count) = (ask.first as usize, ask.count as usize);
        let offset = list.blocks[..first].last().map_or(0, |&(_, end)| end);
        let writer = &mut Writer::new(into);
        get_list(writer, (operation, offset), from, list.extent, count as u64);
        writer.blocks(list.blocks[first..first + count].iter().map(|&(block, _)| block));
    }
}

/// Writes to the blocks of a shape, from byte `offset` of them on. Writes nothing unless all of the shape may be written.
pub(crate) fn write_shape<M: Memory>(
    memory: &mut M,
    to: GlobalAddress,
    shape: &Shape,
    offset: u64,
    bytes: &[u8],
) -> Result<(), Denied> {
    let (all, extent) = (shape.bytes().map_err(|_| Denied::Outside)?, shape.extent().map_err(|_| Denied::Outside)?);
    let end = offset.checked_add(bytes.len() as u64).filter(|&end| end <= all).ok_or(Denied::Outside)?;
    memory.check(to, extent)?;
    let mut rest = bytes;
    for (at, row) in shape.rows(offset..end) {
        let (part, others) = rest.split_at(row_bytes(&row));
        memory.write_row(further(to, at), row, part)?;
        rest = others;
    }
    Ok(())
}

/// Writes to the blocks of a list. Writes nothing unless all of its extent may be written.
pub(crate) fn write_list<M: Memory>(memory: &mut M, to: GlobalAddress, list: BlockList<'_>, bytes: &[u8]) -> Result<(), Denied> {
    memory.check(to, list.extent)?;
    memory.write_blocks(to, list.extent, list.blocks(), bytes)
}

/// Returns the number of bytes of a row, which is known not to overflow.
pub(crate) fn row_bytes(row: &Shape) -> usize {
    (row.block * row.counts[2]) as usize
}
