//! Transfers of several blocks: requests that carry the blocks packed, and that the owner executes.
//!
//! The bytes of a transfer are numbered in packed order. A request concerns a range of these numbers, and each end computes the blocks of that range, so that
//! requests do not depend on each other. A range ends at a block's end or between two words of a block: of a word that two puts write at the same time, both
//! halves are from one of them. All requests name the range from the lowest byte of all blocks to the highest, and have no effect unless it belongs to one region (T8).
//!
//! ```text
//!   header   address of the lowest byte, number of bytes up to the highest, position of this range, its bytes (shape) or blocks (list)
//!   payload  the shape (7 numbers of 8 bytes), or each block: offset (4 or 8 bytes) and length (2 bytes); then, for a put, the bytes
//! ```

use std::ops::Range;

use pelago_base::limits::OVERLAPPING_BYTES_MAX;
use pelago_base::{Block, Blocks, Failure, GlobalAddress, Shape};
use pelago_memory::{Cells, Region, copy_strided, write_strided};
use pelago_platform::{Operation, PostError};

use super::{Engine, What};
use crate::message::{Header, PAYLOAD_BYTES_MAX, blocks, kind};

/// The longest element that is read and written as a whole, in bytes.
const WORD_BYTES: u64 = 8;

/// Bytes of an encoded shape.
const SHAPE_BYTES: usize = 7 * 8;

/// A transfer between blocks of local memory and blocks of a peer's memory.
pub(super) struct Scattered {
    /// Whether the peer's memory is written.
    pub(super) writes: bool,
    /// Number of bytes to move.
    pub(super) bytes: u64,
    here: Cells<'static>,
    shape: Shape,
    /// The address to which the offsets of the peer's blocks are relative.
    start: GlobalAddress,
    there: There,
    /// The range from the lowest byte of the peer's blocks to the highest.
    envelope: Range<u64>,
    /// Whether that range ends past all memory.
    is_outside: bool,
}

/// Blocks of a peer's memory.
enum There {
    Shape(Shape),
    List(List),
}

/// A list of blocks, and for each the number of the byte after its last one.
struct List {
    blocks: Box<[Block]>,
    ends: Box<[u64]>,
}

/// A request for a range of a transfer.
pub(super) struct Request {
    pub(super) header: Header,
    pub(super) payload: Vec<u8>,
    /// Number of bytes of the range.
    pub(super) bytes: u64,
}

impl Scattered {
    /// Records a transfer of blocks.
    ///
    /// # Errors
    /// [`PostError::Blocks`]: the ends differ in size, local memory does not contain its blocks, or the list is too long.
    pub(super) fn new(
        writes: bool,
        (here, shape): (Cells<'static>, &Shape),
        (start, there): (GlobalAddress, Blocks<'_>),
        blocks_max: usize,
    ) -> Result<Self, PostError> {
        let bytes = shape.bytes().map_err(|_| PostError::Blocks)?;
        let is_held = shape.extent().is_ok_and(|extent| extent <= here.bytes() as u64);
        if blocks_max == 0 || !is_held || there.bytes() != Ok(bytes) {
            return Err(PostError::Blocks);
        }
        let envelope = there.envelope();
        let reached = envelope.as_ref().map_or(u64::MAX, |envelope| envelope.end - envelope.start);
        let there = match there {
            Blocks::Shape(blocks) if bytes <= reached => There::Shape(blocks.canonical()),
            Blocks::List(list) if list.len() <= blocks_max && bytes <= reached.max(OVERLAPPING_BYTES_MAX) => {
                There::List(List::new(list))
            }
            _ => return Err(PostError::Blocks),
        };
        let is_outside = envelope.is_err();
        let envelope = envelope.unwrap_or(0..0);
        Ok(Self { writes, bytes, here, shape: shape.canonical(), start, there, envelope, is_outside })
    }

    /// The result before anything was sent: a failure if the peer's blocks reach past all memory.
    pub(super) const fn result(&self) -> Result<u64, Failure> {
        if self.is_outside { Err(Failure::OutOfBounds(self.start)) } else { Ok(0) }
    }

    /// Number of blocks of its list.
    pub(super) fn listed(&self) -> usize {
        if let There::List(list) = &self.there { list.blocks.len() } else { 0 }
    }

    /// The operation for another transport.
    pub(super) fn operation(&self) -> Operation<'_> {
        let blocks = match &self.there {
            There::Shape(shape) => Blocks::Shape(shape),
            There::List(list) => Blocks::List(&list.blocks),
        };
        match self.writes {
            true => Operation::PutBlocks { from: self.here, from_shape: &self.shape, to: self.start, blocks },
            false => Operation::GetBlocks { from: self.start, blocks, to: self.here, to_shape: &self.shape },
        }
    }

    /// The address of the lowest byte of the peer's blocks.
    pub(super) fn at(&self) -> GlobalAddress {
        GlobalAddress::from_bits(self.start.bits().wrapping_add(self.envelope.start))
    }

    /// The request for as many bytes from byte `next` on as fit.
    pub(super) fn request(&self, next: u64) -> Request {
        let whole = self.envelope.end - self.envelope.start;
        let kind = if self.writes { kind::PUT_BLOCKS } else { kind::GET_BLOCKS };
        let header = Header { kind, at: self.at().bits().into(), whole: whole.into(), skip: next.into(), ..Header::default() };
        let mut payload = Vec::with_capacity(PAYLOAD_BYTES_MAX);
        let (header, bytes) = match &self.there {
            There::Shape(shape) => {
                [shape.block].iter().chain(&shape.counts).chain(&shape.strides).for_each(|n| payload.extend(n.to_le_bytes()));
                let room = if self.writes { PAYLOAD_BYTES_MAX - SHAPE_BYTES } else { PAYLOAD_BYTES_MAX };
                let bytes = cut(shape, next, self.bytes - next, room as u64);
                (Header { operator: blocks::SHAPE, value: bytes.into(), ..header }, bytes)
            }
            There::List(list) => {
                let is_wide = whole > u32::MAX.into();
                let (count, bytes) = list.encode(next, self.envelope.start, is_wide, self.writes, &mut payload);
                let operator = if is_wide { blocks::WIDE } else { blocks::NARROW };
                (Header { operator, value: count.into(), ..header }, bytes)
            }
        };
        if self.writes {
            let head = payload.len();
            payload.resize(head + bytes as usize, 0);
            let mut rest = &mut payload[head..];
            for (offset, row) in self.shape.rows(next..next + bytes) {
                let (part, others) = std::mem::take(&mut rest).split_at_mut(row_bytes(&row));
                copy_strided(
                    row_of(self.here, offset, &row).expect("checked when posted"),
                    row,
                    Cells::from_mut(part),
                    row.packed(),
                );
                rest = others;
            }
        }
        Request { header, payload, bytes }
    }

    /// Stores the bytes from byte `from` on that the owner has read; false if there are not so many.
    pub(super) fn store(&self, from: u64, bytes: &[u8]) -> bool {
        let end = from.checked_add(bytes.len() as u64).filter(|&end| end <= self.bytes && !self.writes);
        let mut rest = bytes;
        for (offset, row) in end.into_iter().flat_map(|end| self.shape.rows(from..end)) {
            let (part, others) = rest.split_at(row_bytes(&row));
            write_strided(part, row.packed(), row_of(self.here, offset, &row).expect("checked when posted"), row);
            rest = others;
        }
        end.is_some()
    }
}

impl List {
    fn new(blocks: &[Block]) -> Self {
        let ends = blocks.iter().scan(0, |end, block| {
            *end += block.bytes;
            Some(*end)
        });
        Self { ends: ends.collect(), blocks: blocks.into() }
    }

    /// The parts of blocks from byte `next` on.
    fn parts(&self, next: u64) -> impl Iterator<Item = Block> {
        let first = self.ends.partition_point(|&end| end <= next);
        let both = self.blocks[first..].iter().zip(&self.ends[first..]);
        let part = move |(block, &end): (&Block, &u64)| {
            let skipped = next.saturating_sub(end - block.bytes);
            Block { offset: block.offset + skipped, bytes: block.bytes - skipped }
        };
        both.map(part).filter(|part| part.bytes > 0)
    }

    /// Encodes blocks from byte `next` on, relative to `lowest`, as many as fit a request with their bytes (a put) or of which the answer holds the bytes.
    /// Returns their number, and that of their bytes.
    fn encode(&self, next: u64, lowest: u64, is_wide: bool, with_bytes: bool, payload: &mut Vec<u8>) -> (u64, u64) {
        let entry = entry_bytes(is_wide);
        let (mut count, mut bytes) = (0, 0);
        for part in self.parts(next) {
            let room = PAYLOAD_BYTES_MAX - payload.len();
            let taken = if with_bytes { room.saturating_sub(entry + bytes as usize) } else { PAYLOAD_BYTES_MAX - bytes as usize };
            let taken = if part.bytes <= taken as u64 { part.bytes } else { taken as u64 / WORD_BYTES * WORD_BYTES };
            if taken == 0 || room < entry {
                break;
            }
            let offset = part.offset - lowest;
            payload.extend(&offset.to_le_bytes()[..entry - 2]);
            payload.extend((taken as u16).to_le_bytes());
            (count, bytes) = (count + 1, bytes + taken);
            if taken < part.bytes {
                break;
            }
        }
        (count, bytes)
    }
}

/// The blocks that a request names.
enum Named<'a> {
    Shape(Shape, Range<u64>),
    /// The encoded blocks, each of so many bytes.
    List(&'a [u8], usize),
}

impl<'a> Named<'a> {
    /// Decodes a request. Returns the blocks, the number of their bytes, and the rest of the payload; `None` if the request is not valid.
    fn of(header: &Header, payload: &'a [u8]) -> Option<(Self, u64, &'a [u8])> {
        let (named, bytes, rest) = match header.operator {
            blocks::SHAPE => {
                let (head, rest) = payload.split_at_checked(SHAPE_BYTES)?;
                let mut numbers = head.as_chunks().0.iter().copied().map(u64::from_le_bytes);
                let mut number = || numbers.next().unwrap_or(0);
                let (block, mut three) = (number(), || [(); 3].map(|()| number()));
                let shape = Shape { block, counts: three(), strides: three() };
                let (skip, bytes) = (header.skip.get(), header.value.get());
                let end = skip.checked_add(bytes)?;
                let is_inside = shape.extent() == Ok(header.whole.get()) && shape.bytes().is_ok_and(|all| end <= all);
                is_inside.then_some((Self::Shape(shape, skip..end), bytes, rest))?
            }
            width @ (blocks::NARROW | blocks::WIDE) => {
                let entry = entry_bytes(width == blocks::WIDE);
                let head = usize::try_from(header.value.get()).ok()?.checked_mul(entry)?;
                let (list, rest) = payload.split_at_checked(head)?;
                let ends = entries(list, entry).map(|(offset, bytes)| Some((offset.checked_add(bytes)?, bytes)));
                let inside = ends.map(|end| end.filter(|&(end, _)| end <= header.whole.get()).map(|(_, bytes)| bytes));
                (Self::List(list, entry), inside.sum::<Option<u64>>()?, rest)
            }
            _ => return None,
        };
        (bytes <= PAYLOAD_BYTES_MAX as u64).then_some((named, bytes, rest))
    }

    /// The blocks as rows: the offset of each row from the lowest byte of all blocks, and its blocks at equal distances.
    fn rows(&self) -> impl Iterator<Item = (u64, Shape)> {
        let (shape, list) = match self {
            Self::Shape(shape, range) => (Some(shape.rows(range.clone())), None),
            Self::List(list, entry) => (None, Some(entries(list, *entry))),
        };
        let list = list.into_iter().flatten().map(|(offset, bytes)| (offset, Shape::contiguous(bytes)));
        shape.into_iter().flatten().chain(list)
    }
}

impl Engine {
    /// Limits the number of blocks of a list to what another transport accepts, which may have to perform an operation; 0: no blocks.
    pub(crate) fn limit_blocks(&mut self, blocks_max: usize) {
        self.blocks_max = self.blocks_max.min(blocks_max);
    }

    /// Sends requests for blocks, as far as there is space; returns whether all were sent.
    pub(super) fn transfer_blocks(&mut self, key: usize) -> bool {
        loop {
            if !self.may_request(key) {
                return false;
            }
            let operation = &self.operations[key];
            let What::Blocks(scattered) = &operation.what else { return true };
            let (next, all) = (operation.next, scattered.bytes);
            let Request { header, payload, bytes } = scattered.request(next);
            if !self.request(key, header, Some(&payload)) {
                return false;
            }
            self.operations[key].next = next + bytes;
            // A transfer of no bytes is a request, too.
            if next + bytes >= all {
                return true;
            }
        }
    }

    /// Writes the blocks that a request contains.
    pub(super) fn put_blocks(&mut self, header: &Header, payload: &[u8]) -> Result<u64, Failure> {
        let outside = Failure::OutOfBounds(header.at());
        let (named, bytes, mut rest) = Named::of(header, payload).ok_or(outside)?;
        if bytes != rest.len() as u64 {
            return Err(outside);
        }
        let region = self.open_region(header.at(), header.whole.get())?;
        self.touched = true;
        for (offset, row) in named.rows() {
            let (part, others) = rest.split_at(row_bytes(&row));
            rest = others;
            match &region {
                Region::Host(cells) => write_strided(part, row.packed(), row_of(*cells, offset, &row).ok_or(outside)?, row),
                Region::Device(_) => each_block(&row, |from, to| {
                    let target = region.part(offset + to.start, row.block).ok_or(outside)?;
                    target.write(&part[from]).map_err(|_| Failure::Device(header.at()))
                })?,
            }
        }
        Ok(0)
    }

    /// Reads the blocks that a request names.
    pub(super) fn get_blocks(&self, header: &Header, payload: &[u8]) -> Result<Vec<u8>, Failure> {
        let outside = Failure::OutOfBounds(header.at());
        let (named, bytes, _) = Named::of(header, payload).ok_or(outside)?;
        let region = self.open_region(header.at(), header.whole.get())?;
        let mut packed = vec![0; bytes as usize];
        let mut rest = &mut packed[..];
        for (offset, row) in named.rows() {
            let (part, others) = std::mem::take(&mut rest).split_at_mut(row_bytes(&row));
            rest = others;
            match &region {
                Region::Host(cells) => {
                    copy_strided(row_of(*cells, offset, &row).ok_or(outside)?, row, Cells::from_mut(part), row.packed());
                }
                Region::Device(_) => each_block(&row, |to, from| {
                    let source = region.part(offset + from.start, row.block).ok_or(outside)?;
                    source.read(&mut part[to]).map_err(|_| Failure::Device(header.at()))
                })?,
            }
        }
        Ok(packed)
    }

    /// Performs a transfer of blocks of this rank's own memory.
    pub(super) fn perform_blocks(&mut self, key: usize) -> Result<u64, Failure> {
        let mut next = 0;
        loop {
            let What::Blocks(scattered) = &self.operations[key].what else { return Ok(0) };
            let (Request { header, payload, bytes }, writes, all) = (scattered.request(next), scattered.writes, scattered.bytes);
            if writes {
                self.put_blocks(&header, &payload)?;
            } else {
                scattered.store(next, &self.get_blocks(&header, &payload)?);
            }
            next += bytes;
            if next >= all {
                return Ok(0);
            }
        }
    }
}

/// Returns how many of `left` bytes from `next` on a request with this room takes.
fn cut(shape: &Shape, next: u64, left: u64, room: u64) -> u64 {
    if left <= room {
        return left;
    }
    // Blocks that fit as a whole are not cut, others between words.
    let within = (next + room) % shape.block.max(1);
    room - if shape.block <= room { within } else { within % WORD_BYTES }
}

/// Bytes of an encoded block of a list.
const fn entry_bytes(is_wide: bool) -> usize {
    if is_wide { 8 + 2 } else { 4 + 2 }
}

/// Decodes blocks of a list: offset and number of bytes.
fn entries(list: &[u8], entry: usize) -> impl Iterator<Item = (u64, u64)> {
    list.chunks_exact(entry).map(move |block| {
        let (offset, bytes) = block.split_at(entry - 2);
        let number = |bytes: &[u8]| bytes.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte));
        (number(offset), number(bytes))
    })
}

/// Returns the number of bytes of a row, which is known not to overflow.
const fn row_bytes(row: &Shape) -> usize {
    (row.block * row.counts[2]) as usize
}

/// The memory from the first byte of a row to its last.
fn row_of<'a>(cells: Cells<'a>, offset: u64, row: &Shape) -> Option<Cells<'a>> {
    cells.part(offset, row.extent().ok()?)
}

/// Calls `each` with the packed range and the range in memory of each block of a row.
fn each_block(row: &Shape, mut each: impl FnMut(Range<usize>, Range<u64>) -> Result<(), Failure>) -> Result<(), Failure> {
    (0..row.counts[2]).try_for_each(|index| {
        let (packed, offset) = ((index * row.block) as usize, index * row.strides[2]);
        each(packed..packed + row.block as usize, offset..offset + row.block)
    })
}

#[cfg(test)]
mod tests {
    use pelago_base::Instant;
    use pelago_platform::{Flags, Token, Transport};

    use super::*;
    use crate::around_tests::{STEP, known};
    use crate::fabric::mock::{Profile, World};
    use crate::limits::{LIST_BLOCKS_MAX, LISTED_BLOCKS_MAX};

    const START: GlobalAddress = GlobalAddress::from_bits(1 << 20);

    /// Blocks that do not overlap, up to 10,000 bytes long, some of them empty; with a gap of 2^33 bytes if `is_wide`.
    fn list(random: &mut fastrand::Rng, is_wide: bool) -> Vec<Block> {
        let (mut offset, longest) = (random.u64(..50), [9, 100, 10_000][random.usize(..3)]);
        let mut block = |index: usize| {
            offset += if is_wide && index == 1 { 1 << 33 } else { random.u64(..20) };
            let block = Block { offset, bytes: random.u64(..longest) };
            offset += block.bytes;
            block
        };
        let mut blocks: Vec<_> = (0..40).map(&mut block).collect();
        random.shuffle(&mut blocks);
        blocks
    }

    /// The requests for a transfer name all bytes once, in order, and end with a block or between two of its words; all carry the bytes of their ranges.
    #[test]
    fn requests_name_every_byte_and_cut_no_word() {
        for seed in 0..300 {
            let mut random = fastrand::Rng::with_seed(seed);
            let is_wide = seed % 7 == 0;
            let list = list(&mut random, is_wide);
            let block = [1, 12, 24, 5001][random.usize(..4)];
            let (inner, count) = (block + random.u64(1..9), 3600 / block + 1);
            let shape = Shape { block, counts: [2, 3, count], strides: [inner * count * 3 + 5, inner * count, inner] };
            let blocks = if seed % 2 == 0 { Blocks::List(&list) } else { Blocks::Shape(&shape) };
            let bytes = blocks.bytes().unwrap();
            let values: Vec<u8> = (0..bytes + 3).map(|_| random.u8(..)).collect();
            let here = Cells::from_mut(values.clone().leak());
            for writes in [true, false] {
                let local = (here, &Shape::contiguous(bytes));
                let transfer = Scattered::new(writes, local, (START, blocks), LIST_BLOCKS_MAX).unwrap();
                // Offset and block of each byte of the peer.
                let mut expected = blocks.each().flat_map(|block| (0..block.bytes).map(move |byte| (block, byte)));
                let mut next = 0;
                while next < bytes {
                    let request = transfer.request(next);
                    assert!(request.bytes > 0 && request.payload.len() <= PAYLOAD_BYTES_MAX, "seed {seed}");
                    let (named, named_bytes, rest) = Named::of(&request.header, &request.payload).expect("its own request");
                    assert_eq!((named_bytes, rest.len() as u64), (request.bytes, if writes { request.bytes } else { 0 }));
                    assert!(!writes || *rest == values[next as usize..][..rest.len()], "seed {seed}");
                    let lowest = transfer.at().bits() - START.bits();
                    let places = named.rows().flat_map(|(offset, row)| {
                        row.offsets().flat_map(move |place| (0..row.block).map(move |byte| lowest + offset + place + byte))
                    });
                    let mut last = None;
                    for place in places {
                        let (block, byte) = expected.next().expect("no byte twice");
                        assert_eq!(place, block.offset + byte, "seed {seed}");
                        last = Some((block, byte));
                    }
                    let (block, byte) = last.expect("some bytes");
                    assert!(byte + 1 == block.bytes || (byte + 1).is_multiple_of(WORD_BYTES), "seed {seed}");
                    next += request.bytes;
                }
                assert!(expected.next().is_none() && next == bytes, "seed {seed}");
            }
        }
    }

    /// A request of a peer that breaks the rules names no blocks.
    #[test]
    fn invalid_requests_are_refused() {
        let shape = Shape::strided(10, 4, 8);
        let encoded: Vec<u8> =
            [shape.block].iter().chain(&shape.counts).chain(&shape.strides).flat_map(|n| n.to_le_bytes()).collect();
        let asked = |whole: u64, skip: u64, value: u64| Header {
            operator: blocks::SHAPE,
            whole: whole.into(),
            skip: skip.into(),
            value: value.into(),
            ..Header::default()
        };
        let is_valid = |header: Header, payload: &[u8]| Named::of(&header, payload).is_some();
        assert!(is_valid(asked(76, 0, 40), &encoded));
        for (whole, skip, value) in [(75, 0, 40), (77, 0, 40), (76, 1, 40), (76, u64::MAX, 1), (76, 0, u64::MAX)] {
            assert!(!is_valid(asked(whole, skip, value), &encoded), "{whole} {skip} {value}");
        }
        assert!(!is_valid(asked(76, 0, 40), &encoded[..55]), "half a shape");
        let wide = |numbers: [u64; 7]| numbers.iter().flat_map(|n| n.to_le_bytes()).collect::<Vec<_>>();
        assert!(!is_valid(asked(0, 0, 1), &wide([0, 1, 1, 5, 0, 0, 1])), "blocks of no bytes");
        assert!(!is_valid(asked(8, 0, 8), &wide([8, 1, 1, 2, 0, 0, u64::MAX])), "past all memory");
        assert!(!is_valid(asked(8192, 0, 8192), &wide([8192, 1, 1, 1, 0, 0, 0])), "more than an answer holds");
        let list = |width, whole: u64, value: u64| Header {
            operator: width,
            whole: whole.into(),
            value: value.into(),
            ..Header::default()
        };
        let entry = [6, 0, 0, 0, 4, 0];
        assert!(is_valid(list(blocks::NARROW, 10, 1), &entry));
        assert!(!is_valid(list(blocks::NARROW, 9, 1), &entry), "past the last byte");
        assert!(!is_valid(list(blocks::NARROW, 10, 2), &entry), "half a list");
        assert!(!is_valid(list(blocks::NARROW, 10, u64::MAX), &entry));
        assert!(!is_valid(list(blocks::WIDE, u64::MAX, 1), &[0xFF; 10]), "past all memory");
        assert!(!is_valid(list(3, 10, 1), &entry), "another format");
    }

    /// Lists are kept until their operations end, and there is a limit for all of them.
    #[test]
    fn lists_are_kept_up_to_a_limit() {
        let mut job = known(World::provider(Profile::CXI, 1, 0));
        let to = job.connect(0, 1);
        let list = vec![Block { offset: 3, bytes: 1 }; LIST_BLOCKS_MAX];
        let here = Cells::from_mut(vec![7_u8; LIST_BLOCKS_MAX].leak());
        let shape = Shape::contiguous(LIST_BLOCKS_MAX as u64);
        let put = Operation::PutBlocks { from: here, from_shape: &shape, to: job.at(1, 0), blocks: Blocks::List(&list) };
        let mut post = |token| job.ends[0].post(Instant::ZERO, to, put, Flags::NONE, Token(token));
        let lists = (LISTED_BLOCKS_MAX / LIST_BLOCKS_MAX) as u64;
        (0..lists).for_each(|token| post(token).unwrap());
        assert_eq!(post(lists), Err(PostError::Full));
        job.look(2000, STEP);
        assert_eq!(job.results().len() as u64, lists);
        job.post(0, to, put, lists);
    }

    #[test]
    fn blocks_that_arrive_wake_their_rank() {
        let mut job = known(World::provider(Profile::CXI, 1, 0));
        let (to, shape) = (job.connect(0, 1), Shape::strided(2, 8, 16));
        let here = Cells::from_mut(vec![7_u64; 3].leak());
        job.post(
            0,
            to,
            Operation::PutBlocks { from: here, from_shape: &shape, to: job.at(1, 0), blocks: Blocks::Shape(&shape) },
            0,
        );
        let is_woken = (0..50).any(|_| {
            job.ends[0].progress(Instant::ZERO, &mut Vec::new());
            let mut engine = job.ends[1].shared.lock();
            engine.drive();
            engine.take_news()
        });
        assert!(is_woken);
    }

    /// Bytes that were not requested are not stored, and the operation does not succeed without those that were.
    #[test]
    fn an_answer_with_other_bytes_is_a_failure() {
        let mut job = known(World::provider(Profile::CXI, 1, 0));
        let (to, shape) = (job.connect(0, 1), Shape::strided(2, 8, 16));
        let here = Cells::from_mut(vec![7_u64; 3].leak());
        let get = Operation::GetBlocks { from: job.at(1, 0), blocks: Blocks::Shape(&shape), to: here, to_shape: &shape };
        job.post(0, to, get, 0);
        job.look(50, STEP);
        job.post(0, to, get, 1);
        {
            let mut engine = job.ends[0].shared.lock();
            let (key, _) = engine.operations.iter().next().expect("it was sent");
            let answer = Header { kind: kind::DATA, id: (key as u32).into(), skip: 9.into(), ..Header::default() };
            engine.take_answer(to.0 as usize, &answer, Cells::from_mut(vec![5_u64].leak()));
        }
        job.look(50, STEP);
        let results = job.results();
        assert!(results[&0].is_ok() && matches!(results[&1], Err(Failure::OutOfBounds(_))), "{results:?}");
        assert_eq!(here.to_vec()[16..], [0; 8]);
    }
}
