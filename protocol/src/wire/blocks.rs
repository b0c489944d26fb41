//! Wire encoding of shapes and lists of blocks: numbers with seven bits per byte, lowest first, so that short distances take few bytes.

use pelago_base::{Block, Shape};

use super::Reader;

/// Maximum encoded size of a shape in bytes: number of dimensions, block length, and a count and a stride per dimension.
pub(crate) const SHAPE_BYTES_MAX: usize = 1 + NUMBER_BYTES_MAX * 7;

/// Maximum encoded size of a 64-bit number in bytes.
pub(crate) const NUMBER_BYTES_MAX: usize = 10;

/// Writes the head of a frame into a buffer, from its start on.
pub(crate) struct Writer<'a> {
    into: &'a mut [u8],
    at: usize,
}

impl<'a> Writer<'a> {
    /// Creates a writer at the start of `into`.
    pub(crate) fn new(into: &'a mut [u8]) -> Self {
        Self { into, at: 0 }
    }

    /// Returns the number of bytes written.
    pub(crate) fn written(&self) -> usize {
        self.at
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.into[self.at..self.at + bytes.len()].copy_from_slice(bytes);
        self.at += bytes.len();
    }

    #[inline(always)]
    pub(crate) fn number(&mut self, mut number: u64) {
        let length = number_bytes(number);
        if length <= 8
            && let Some(room) = self.into[self.at..].first_chunk_mut()
        {
            // The next number overwrites the bytes past this one.
            let more = CONTINUES & !(u64::MAX << (8 * (length - 1)));
            *room = (spread(number) | more).to_le_bytes();
            self.at += length;
            return;
        }
        while number >= 128 {
            self.bytes(&[number as u8 | 128]);
            number >>= 7;
        }
        self.bytes(&[number as u8]);
    }

    pub(crate) fn shape(&mut self, shape: &Shape) {
        let used = shape.counts.iter().position(|&count| count != 1).map_or(0, |first| 3 - first);
        self.bytes(&[used as u8]);
        self.number(shape.block);
        for (count, stride) in shape.counts.iter().zip(shape.strides).skip(3 - used) {
            self.number(*count);
            self.number(stride);
        }
    }

    /// Writes blocks, one after another.
    pub(crate) fn blocks(&mut self, blocks: impl Iterator<Item = Block>) {
        let mut previous = NO_BLOCK;
        for block in blocks {
            self.block(block, previous);
            previous = block;
        }
    }

    /// Writes a block relative to the previous one: its distance from the end of the previous block, and its length if it differs.
    #[inline]
    fn block(&mut self, block: Block, previous: Block) {
        self.number(distance(block, previous) << 1 | u64::from(block.bytes != previous.bytes));
        if block.bytes != previous.bytes {
            self.number(block.bytes);
        }
    }
}

/// Maximum extent of a list in bytes, so that a distance leaves a bit of its number free.
pub(crate) const LIST_EXTENT_MAX: u64 = 1 << 61;

/// The bit of each byte that indicates that another byte follows.
const CONTINUES: u64 = 0x8080_8080_8080_8080;

/// Spreads a number of up to 56 bits to seven bits per byte.
const fn spread(number: u64) -> u64 {
    let halves = number & 0xFFF_FFFF | (number & 0xFF_FFFF_F000_0000) << 4;
    let quarters = halves & 0x3FFF_0000_3FFF | (halves & 0xFFF_C000_0FFF_C000) << 2;
    quarters & 0x7F_007F_007F_007F | (quarters & 0x3F80_3F80_3F80_3F80) << 1
}

/// The inverse of [`spread`].
const fn joined(word: u64) -> u64 {
    let quarters = word & 0x7F_007F_007F_007F | (word & 0x7F00_7F00_7F00_7F00) >> 1;
    let halves = quarters & 0x3FFF_0000_3FFF | (quarters & 0x3FFF_0000_3FFF_0000) >> 2;
    halves & 0xFFF_FFFF | (halves & 0xFFF_FFFF_0000_0000) >> 4
}

/// Returns the encoded size of a number.
pub(crate) const fn number_bytes(number: u64) -> usize {
    match u64::BITS - number.leading_zeros() {
        0 => 1,
        bits => bits.div_ceil(7) as usize,
    }
}

/// The predecessor of the first block of a list.
pub(crate) const NO_BLOCK: Block = Block { offset: 0, bytes: 0 };

/// Returns the encoded size of a block after another one.
pub(crate) const fn block_bytes(block: Block, previous: Block) -> usize {
    let length = if block.bytes == previous.bytes { 0 } else { number_bytes(block.bytes) };
    number_bytes(distance(block, previous) << 1) + length
}

/// Returns the signed distance of a block from the end of another one in zigzag encoding, which is small if they are close. Both lie inside an
/// extent of at most [`LIST_EXTENT_MAX`].
const fn distance(block: Block, previous: Block) -> u64 {
    let distance = block.offset.wrapping_sub(previous.offset + previous.bytes);
    distance << 1 ^ (distance as i64 >> 63) as u64
}

/// Returns the encoded size of a shape.
pub(crate) fn shape_bytes(shape: &Shape) -> usize {
    let mut room = [0; SHAPE_BYTES_MAX];
    let mut writer = Writer::new(&mut room);
    writer.shape(shape);
    writer.written()
}

/// Parses a number; returns `None` if it is cut or has more than 64 bits.
#[inline(always)]
pub(crate) fn number(reader: &mut Reader<'_>) -> Option<u64> {
    if let Some(head) = reader.0.first_chunk() {
        let word = u64::from_le_bytes(*head);
        let length = ((!word & CONTINUES).trailing_zeros() as usize + 1) / 8;
        if length <= 8 && word & CONTINUES != CONTINUES {
            reader.0 = &reader.0[length..];
            return Some(joined(word & !CONTINUES & u64::MAX >> (64 - 8 * length)));
        }
    }
    let mut number = 0;
    for shift in (0..u64::BITS).step_by(7) {
        let byte = reader.u8()?;
        let bits = u64::from(byte & 127);
        if bits << shift >> shift != bits {
            return None;
        }
        number |= bits << shift;
        if byte < 128 {
            return Some(number);
        }
    }
    None
}

/// Parses a shape; returns `None` if it is malformed or its extent overflows 64 bits.
pub(crate) fn shape(reader: &mut Reader<'_>) -> Option<Shape> {
    let used = usize::from(reader.u8()?);
    let mut shape = Shape::contiguous(number(reader)?);
    for dimension in 3_usize.checked_sub(used)?..3 {
        (shape.counts[dimension], shape.strides[dimension]) = (number(reader)?, number(reader)?);
    }
    shape.extent().ok().map(|_| shape)
}

/// The encoded blocks of a received list, all inside `extent` bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BlockList<'a> {
    count: u64,
    encoded: &'a [u8],
    /// Number of bytes, from the address to which offsets are relative, that contain all blocks.
    pub(crate) extent: u64,
    /// Total size of all blocks in bytes.
    pub(crate) bytes: u64,
}

impl<'a> BlockList<'a> {
    /// Parses the list at the front; returns `None` unless it is complete and every block lies inside its extent.
    pub(crate) fn parse(reader: &mut Reader<'a>) -> Option<Self> {
        let (extent, count) = (number(reader)?, number(reader)?);
        let all = reader.0;
        let (mut previous, mut bytes) = (NO_BLOCK, 0_u64);
        if extent > LIST_EXTENT_MAX {
            return None;
        }
        for _ in 0..count {
            previous = parse_block(reader, previous)?;
            previous.offset.checked_add(previous.bytes).filter(|&end| end <= extent)?;
            bytes = bytes.checked_add(previous.bytes)?;
        }
        Some(Self { count, encoded: &all[..all.len() - reader.0.len()], extent, bytes })
    }

    /// Returns the number of blocks.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// Returns the encoded blocks.
    pub(crate) fn encoded(self) -> &'a [u8] {
        self.encoded
    }

    /// Returns the blocks, in order.
    pub(crate) fn blocks(self) -> impl ExactSizeIterator<Item = Block> + use<'a> {
        let (mut reader, mut previous) = (Reader(self.encoded), NO_BLOCK);
        (0..self.count as usize).map(move |_| {
            previous = parse_block(&mut reader, previous).expect("they were parsed before");
            previous
        })
    }
}

#[inline]
fn parse_block(reader: &mut Reader<'_>, previous: Block) -> Option<Block> {
    let first = number(reader)?;
    let distance = first >> 2 ^ (first >> 1 & 1).wrapping_neg();
    let bytes = if first & 1 == 0 { previous.bytes } else { number(reader)? };
    Some(Block { offset: (previous.offset + previous.bytes).wrapping_add(distance), bytes })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(write: impl FnOnce(&mut Writer<'_>)) -> Vec<u8> {
        let mut room = [0; 4096];
        let mut writer = Writer::new(&mut room);
        write(&mut writer);
        let length = writer.written();
        room[..length].to_vec()
    }

    fn list(extent: u64, blocks: &[Block]) -> Vec<u8> {
        written(|writer| {
            writer.number(extent);
            writer.number(blocks.len() as u64);
            writer.blocks(blocks.iter().copied());
        })
    }

    #[test]
    fn numbers_survive_the_wire() {
        for value in (0..64).flat_map(|bit| [1 << bit, (1 << bit) - 1, u64::MAX >> bit]) {
            let bytes = written(|writer| writer.number(value));
            assert_eq!(bytes.len(), number_bytes(value), "{value}");
            let mut reader = Reader(&bytes);
            assert_eq!((number(&mut reader), reader.0.len()), (Some(value), 0));
            assert_eq!(number(&mut Reader(&bytes[..bytes.len() - 1])), None);
        }
        assert_eq!(number(&mut Reader(&[0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 2])), None, "65 bits");
        assert_eq!(number(&mut Reader(&[0x80; 20])), None);
    }

    #[test]
    fn shapes_survive_the_wire() {
        for sent in [
            Shape::contiguous(7),
            Shape::strided(1 << 20, 8, 1 << 11),
            Shape { block: 3, counts: [4, 1, 9], strides: [900, 0, 30] },
            Shape { block: 8, counts: [1, 300, 300], strides: [0, 720_000, 2_400] },
            Shape { block: 1, counts: [0, 2, 3], strides: [u64::MAX; 3] },
        ] {
            let bytes = written(|writer| writer.shape(&sent));
            assert!(bytes.len() == shape_bytes(&sent) && bytes.len() <= SHAPE_BYTES_MAX);
            let mut reader = Reader(&bytes);
            assert_eq!((shape(&mut reader), reader.0.len()), (Some(sent), 0));
            (0..bytes.len()).for_each(|length| assert_eq!(shape(&mut Reader(&bytes[..length])), None));
        }
        let past_all = Shape::strided(u64::MAX, 8, u64::MAX);
        assert_eq!(shape(&mut Reader(&written(|writer| writer.shape(&past_all)))), None);
        assert_eq!(shape(&mut Reader(&[4, 1, 1, 1, 1, 1, 1, 1, 1, 1])), None, "four dimensions");
    }

    #[test]
    fn lists_survive_the_wire_and_stay_inside_their_extent() {
        let blocks = [(80, 8), (0, 1), (1, 3), (92, 8), (92, 8), (50, 0)].map(|(offset, bytes)| Block { offset, bytes });
        let bytes = list(100, &blocks);
        let mut reader = Reader(&bytes);
        let parsed = BlockList::parse(&mut reader).unwrap();
        assert_eq!((parsed.count(), parsed.bytes, parsed.extent, reader.0.len()), (6, 28, 100, 0));
        assert_eq!(parsed.blocks().collect::<Vec<_>>(), blocks);
        let lengths: usize =
            blocks.iter().scan(NO_BLOCK, |previous, &block| Some(block_bytes(block, std::mem::replace(previous, block)))).sum();
        assert_eq!(bytes.len(), 2 + lengths);
        (0..bytes.len()).for_each(|length| assert_eq!(BlockList::parse(&mut Reader(&bytes[..length])), None));
        assert_eq!(BlockList::parse(&mut Reader(&list(99, &blocks))), None, "a block reaches past the end");
        let below = written(|writer| [8, 1, 3, 1].into_iter().for_each(|value| writer.number(value)));
        assert_eq!(BlockList::parse(&mut Reader(&below)), None, "a block begins before the start");
        let many = written(|writer| [u64::MAX, u64::MAX].into_iter().for_each(|value| writer.number(value)));
        assert_eq!(BlockList::parse(&mut Reader(&many)), None, "what is counted is not there");
    }
}
