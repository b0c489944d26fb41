//! Frames: the requests and answers in a datagram. The kind is one byte; a piece extends to the end of its datagram.

use pelago_base::{AtomicOperator, GlobalAddress, Rank, Shape, Width};
use zerocopy::little_endian::U64;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::Reader;
use super::blocks::{self, BlockList, NUMBER_BYTES_MAX, SHAPE_BYTES_MAX, Writer};
use crate::Denied;

/// Bytes of a piece besides its data.
pub(crate) const PIECE_BYTES: usize = size_of::<PieceLayout>();

/// Bytes, besides its data, of a last piece that carries a signal.
pub(crate) const SIGNALLED_BYTES: usize = size_of::<SignalledLayout>();

const WRITE: u8 = 1;
const PUT_PIECE: u8 = 2;
const GET: u8 = 3;
const ATOMIC: u8 = 4;
const COPY: u8 = 5;
const VALUE: u8 = 6;
const DATA: u8 = 7;
const DATA_PIECE: u8 = 8;
const DENIED: u8 = 9;
const PEER_LOST: u8 = 10;
const REFUSED: u8 = 11;
const PEER_UNREACHABLE: u8 = 12;
const PUT_SHAPE: u8 = 13;
const PUT_LIST: u8 = 14;
const GET_SHAPE: u8 = 15;
const GET_LIST: u8 = 16;
const PUT_SIGNALLED: u8 = 17;

/// Maximum size in bytes of a get request with a shape.
pub(crate) const GET_SHAPE_BYTES_MAX: usize = 13 + SHAPE_BYTES_MAX;

/// One frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Frame<'a> {
    /// Write these bytes.
    Write { to: GlobalAddress, bytes: &'a [u8] },
    /// Write these bytes at `offset` in a put of `all` bytes that begins at `to`; none unless all bytes of the put may be written.
    PutPiece { to: GlobalAddress, all: u64, offset: u64, bytes: &'a [u8] },
    /// As `PutPiece`, and then write a word. It is the last piece, and takes effect after the others.
    PutSignalled { to: GlobalAddress, all: u64, offset: u64, at: GlobalAddress, word: [u8; 8], bytes: &'a [u8] },
    /// Write these bytes at `offset` in the blocks of a shape from `to` on; none unless all of the shape may be written.
    PutShape { to: GlobalAddress, shape: Shape, offset: u64, bytes: &'a [u8] },
    /// Write these bytes to the blocks of a list, at offsets relative to `to`; none unless all of its extent, which contains all other
    /// blocks of the put too, may be written.
    PutList { to: GlobalAddress, list: BlockList<'a>, bytes: &'a [u8] },
    /// Answer with the blocks of a shape from `from` on.
    GetShape { operation: u32, from: GlobalAddress, shape: Shape },
    /// Answer with the blocks of a list, at offsets relative to `from`, as the part of the get that begins at byte `offset`.
    GetList { operation: u32, from: GlobalAddress, offset: u64, list: BlockList<'a> },
    /// Answer with `bytes` bytes.
    Get { operation: u32, from: GlobalAddress, bytes: u64 },
    /// Perform an atomic on a word and answer with its previous value.
    Atomic { operation: u32, at: GlobalAddress, width: Width, operator: AtomicOperator, operand: u64 },
    /// Move bytes to another rank and answer when they have arrived.
    Copy { operation: u32, from: GlobalAddress, to: GlobalAddress, bytes: u64 },
    /// Previous value of the word of an atomic; or the end of a copy.
    Value { operation: u32, value: u64 },
    /// The whole answer to a get.
    Data { operation: u32, bytes: &'a [u8] },
    /// A part of the answer to a get.
    DataPiece { operation: u32, offset: u64, bytes: &'a [u8] },
    /// The operation had no effect. `second` blames the second address of a copy.
    Denied { operation: u32, denied: Denied, second: bool },
    /// The destination of a copy has failed.
    PeerLost { operation: u32, rank: Rank },
    /// The destination of a copy is alive, but cannot be reached.
    PeerUnreachable { operation: u32, rank: Rank },
    /// The `index`-th write of a datagram, or its piece, had no effect.
    Refused { sequence: u64, index: u16, denied: Denied },
}

/// Returns the frames of a datagram; `None` stands for bytes that are no frame, and ends the iteration.
pub(crate) fn frames(bytes: &[u8]) -> impl Iterator<Item = Option<Frame<'_>>> {
    let mut reader = Reader(bytes);
    std::iter::from_fn(move || {
        if reader.0.is_empty() {
            return None;
        }
        let frame = Frame::parse(&mut reader);
        if frame.is_none() {
            reader.0 = &[];
        }
        Some(frame)
    })
}

/// Returns the bytes of the first of some frames; empty if there is none.
pub(crate) fn first_frame(bytes: &[u8]) -> &[u8] {
    let mut reader = Reader(bytes);
    let length = Frame::parse(&mut reader).map_or(0, |_| bytes.len() - reader.0.len());
    &bytes[..length]
}

impl<'a> Frame<'a> {
    #[inline]
    fn parse(reader: &mut Reader<'a>) -> Option<Self> {
        Some(match reader.u8()? {
            WRITE => {
                let (count, to) = (reader.u16()?, address(reader)?);
                Self::Write { to, bytes: reader.bytes(usize::from(count))? }
            }
            PUT_PIECE => {
                let (to, all, offset) = (address(reader)?, reader.u64()?, reader.u64()?);
                Self::PutPiece { to, all, offset, bytes: rest(reader) }
            }
            PUT_SIGNALLED => {
                let (to, all, offset) = (address(reader)?, reader.u64()?, reader.u64()?);
                let (at, word) = (address(reader)?, reader.bytes(8)?.try_into().ok()?);
                Self::PutSignalled { to, all, offset, at, word, bytes: rest(reader) }
            }
            PUT_SHAPE => {
                let (to, offset, shape) = (address(reader)?, blocks::number(reader)?, blocks::shape(reader)?);
                Self::PutShape { to, shape, offset, bytes: rest(reader) }
            }
            PUT_LIST => {
                let (to, list) = (address(reader)?, BlockList::parse(reader)?);
                let bytes = rest(reader);
                (list.bytes == bytes.len() as u64).then_some(Self::PutList { to, list, bytes })?
            }
            GET_SHAPE => Self::GetShape { operation: reader.u32()?, from: address(reader)?, shape: blocks::shape(reader)? },
            GET_LIST => {
                let (operation, from, offset) = (reader.u32()?, address(reader)?, blocks::number(reader)?);
                Self::GetList { operation, from, offset, list: BlockList::parse(reader)? }
            }
            GET => Self::Get { operation: reader.u32()?, from: address(reader)?, bytes: reader.u64()? },
            ATOMIC => {
                let (operation, at, code, operand) = (reader.u32()?, address(reader)?, reader.u8()?, reader.u64()?);
                let width = if code & 128 == 0 { Width::Eight } else { Width::Four };
                let operator = match AtomicOperator::from_code(code & 127, 0)? {
                    AtomicOperator::CompareSwap { .. } => AtomicOperator::CompareSwap { expected: reader.u64()? },
                    operator => operator,
                };
                Self::Atomic { operation, at, width, operator, operand }
            }
            COPY => Self::Copy { operation: reader.u32()?, from: address(reader)?, to: address(reader)?, bytes: reader.u64()? },
            VALUE => Self::Value { operation: reader.u32()?, value: reader.u64()? },
            DATA => {
                let (operation, count) = (reader.u32()?, reader.u16()?);
                Self::Data { operation, bytes: reader.bytes(usize::from(count))? }
            }
            DATA_PIECE => {
                let (operation, offset, _) = (reader.u64()?, reader.u64()?, reader.u64()?);
                Self::DataPiece { operation: u32::try_from(operation).ok()?, offset, bytes: rest(reader) }
            }
            DENIED => {
                let (operation, why) = (reader.u32()?, reader.u8()?);
                Self::Denied { operation, denied: denied(why), second: why & 2 != 0 }
            }
            PEER_LOST => Self::PeerLost { operation: reader.u32()?, rank: Rank::new(reader.u32()?) },
            PEER_UNREACHABLE => Self::PeerUnreachable { operation: reader.u32()?, rank: Rank::new(reader.u32()?) },
            REFUSED => Self::Refused { sequence: reader.u64()?, index: reader.u16()?, denied: denied(reader.u8()?) },
            _ => return None,
        })
    }

    /// Appends the frame; pieces and data are written in place instead.
    pub(crate) fn append(&self, to: &mut Vec<u8>) {
        match *self {
            Self::Write { to: at, bytes } => append_write(to, at, bytes),
            Self::Get { operation, from, bytes } => numbers(to, GET, operation, &[from.bits(), bytes]),
            Self::Atomic { operation, at, width, operator, operand } => {
                let (code, expected) = operator.code();
                numbers(to, ATOMIC, operation, &[at.bits()]);
                to.push(if width == Width::Four { code | 128 } else { code });
                to.extend_from_slice(&operand.to_le_bytes());
                to.extend(expected.into_iter().flat_map(u64::to_le_bytes));
            }
            Self::Copy { operation, from, to: target, bytes } => {
                numbers(to, COPY, operation, &[from.bits(), target.bits(), bytes]);
            }
            Self::Value { operation, value } => numbers(to, VALUE, operation, &[value]),
            Self::Data { operation, bytes } => {
                numbers(to, DATA, operation, &[]);
                to.extend_from_slice(&(bytes.len() as u16).to_le_bytes());
                to.extend_from_slice(bytes);
            }
            Self::Denied { operation, denied, second } => {
                numbers(to, DENIED, operation, &[]);
                to.push(denial(denied) | u8::from(second) << 1);
            }
            Self::PeerLost { operation, rank } => {
                numbers(to, PEER_LOST, operation, &[]);
                to.extend_from_slice(&rank.number().to_le_bytes());
            }
            Self::PeerUnreachable { operation, rank } => {
                numbers(to, PEER_UNREACHABLE, operation, &[]);
                to.extend_from_slice(&rank.number().to_le_bytes());
            }
            Self::Refused { sequence, index, denied } => {
                to.push(REFUSED);
                to.extend_from_slice(&sequence.to_le_bytes());
                to.extend_from_slice(&index.to_le_bytes());
                to.push(denial(denied));
            }
            Self::PutPiece { to: at, all, offset, bytes } => {
                to.extend_from_slice(&request(at, all, offset));
                to.extend_from_slice(bytes);
            }
            Self::PutSignalled { to: address, all, offset, at, word, bytes } => {
                to.extend_from_slice(&signalled(address, all, offset, (at, word)));
                to.extend_from_slice(bytes);
            }
            Self::DataPiece { operation, offset, bytes } => {
                to.extend_from_slice(&reply(operation, offset));
                to.extend_from_slice(bytes);
            }
            Self::PutShape { to: at, shape, offset, bytes } => {
                append(to, |writer| put_shape(writer, at, &shape, offset));
                to.extend_from_slice(bytes);
            }
            Self::GetShape { operation, from, shape } => append(to, |writer| {
                writer.bytes(&[GET_SHAPE]);
                writer.bytes(&operation.to_le_bytes());
                writer.bytes(&from.bits().to_le_bytes());
                writer.shape(&shape);
            }),
            Self::PutList { to: at, list, bytes } => {
                append(to, |writer| put_list(writer, at, list.extent, list.count()));
                to.extend_from_slice(list.encoded());
                to.extend_from_slice(bytes);
            }
            Self::GetList { operation, from, offset, list } => {
                append(to, |writer| get_list(writer, (operation, offset), from, list.extent, list.count()));
                to.extend_from_slice(list.encoded());
            }
        }
    }

    /// Minimum size in bytes of a get or copy on the wire: of a get of one contiguous block as a shape.
    pub(crate) const READ_BYTES_MIN: usize = 15;

    /// Bytes of a write on the wire besides its data.
    pub(crate) const WRITE_BYTES: usize = 11;
}

/// Maximum size in bytes of the head of a list: kind, operation, address and three numbers.
pub(crate) const LIST_HEAD_BYTES_MAX: usize = 13 + 3 * NUMBER_BYTES_MAX;

/// Writes the head of a piece of a put to a shape.
pub(crate) fn put_shape(writer: &mut Writer<'_>, to: GlobalAddress, shape: &Shape, offset: u64) {
    writer.bytes(&[PUT_SHAPE]);
    writer.bytes(&to.bits().to_le_bytes());
    writer.number(offset);
    writer.shape(shape);
}

/// Writes the head of a piece of a put to a list; the blocks follow it.
pub(crate) fn put_list(writer: &mut Writer<'_>, to: GlobalAddress, extent: u64, count: u64) {
    writer.bytes(&[PUT_LIST]);
    writer.bytes(&to.bits().to_le_bytes());
    writer.number(extent);
    writer.number(count);
}

/// Writes the head of a request for blocks of a list, which are the part of an operation that begins at byte `offset`; the blocks follow it.
pub(crate) fn get_list(writer: &mut Writer<'_>, (operation, offset): (u32, u64), from: GlobalAddress, extent: u64, count: u64) {
    writer.bytes(&[GET_LIST]);
    writer.bytes(&operation.to_le_bytes());
    writer.bytes(&from.bits().to_le_bytes());
    writer.number(offset);
    writer.number(extent);
    writer.number(count);
}

/// Appends a [`Frame::Write`]; a write of one word with a single copy.
#[inline]
pub(crate) fn append_write(to: &mut Vec<u8>, at: GlobalAddress, bytes: &[u8]) {
    let mut frame = [0; Frame::WRITE_BYTES + 8];
    frame[0] = WRITE;
    frame[1..3].copy_from_slice(&(bytes.len() as u16).to_le_bytes());
    frame[3..Frame::WRITE_BYTES].copy_from_slice(&at.bits().to_le_bytes());
    if let Ok(word) = <&[u8; 8]>::try_from(bytes) {
        frame[Frame::WRITE_BYTES..].copy_from_slice(word);
        to.extend_from_slice(&frame);
    } else {
        to.extend_from_slice(&frame[..Frame::WRITE_BYTES]);
        to.extend_from_slice(bytes);
    }
}

/// Appends the head that `write` writes.
fn append(to: &mut Vec<u8>, write: impl FnOnce(&mut Writer<'_>)) {
    let mut room = [0; 13 + NUMBER_BYTES_MAX + SHAPE_BYTES_MAX];
    let mut writer = Writer::new(&mut room);
    write(&mut writer);
    let written = writer.written();
    to.extend_from_slice(&room[..written]);
}

/// Returns the head of a piece of a put.
pub(crate) fn request(to: GlobalAddress, all: u64, offset: u64) -> [u8; PIECE_BYTES] {
    piece(PUT_PIECE, [to.bits(), all, offset])
}

/// Returns the head of a piece of the answer to a get.
pub(crate) fn reply(operation: u32, offset: u64) -> [u8; PIECE_BYTES] {
    piece(DATA_PIECE, [u64::from(operation), offset, 0])
}

/// Returns the head of the last piece of a put with a signal word.
pub(crate) fn signalled(to: GlobalAddress, all: u64, offset: u64, (at, word): (GlobalAddress, [u8; 8])) -> [u8; SIGNALLED_BYTES] {
    let words = [to.bits(), all, offset, at.bits()].map(U64::new);
    zerocopy::transmute!(SignalledLayout { kind: PUT_SIGNALLED, words, word })
}

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct SignalledLayout {
    kind: u8,
    words: [U64; 4],
    word: [u8; 8],
}

/// The wire layout of the head of a piece.
#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct PieceLayout {
    kind: u8,
    words: [U64; 3],
}

fn piece(kind: u8, words: [u64; 3]) -> [u8; PIECE_BYTES] {
    zerocopy::transmute!(PieceLayout { kind, words: words.map(U64::new) })
}

fn numbers(to: &mut Vec<u8>, kind: u8, operation: u32, words: &[u64]) {
    to.push(kind);
    to.extend_from_slice(&operation.to_le_bytes());
    words.iter().for_each(|word| to.extend_from_slice(&word.to_le_bytes()));
}

#[inline]
fn address(reader: &mut Reader<'_>) -> Option<GlobalAddress> {
    reader.u64().map(GlobalAddress::from_bits)
}

fn rest<'a>(reader: &mut Reader<'a>) -> &'a [u8] {
    std::mem::take(&mut reader.0)
}

/// Returns the code of a denial in bits 0 and 2; bit 1 is for the end of a copy.
fn denial(denied: Denied) -> u8 {
    match denied {
        Denied::Outside => 0,
        Denied::Misaligned => 1,
        Denied::Device => 4,
    }
}

fn denied(code: u8) -> Denied {
    match code & 0b101 {
        0 => Denied::Outside,
        1 => Denied::Misaligned,
        _ => Denied::Device,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_survive_the_wire() {
        let (at, to) = (GlobalAddress::from_bits(u64::MAX / 3), GlobalAddress::from_bits(77));
        let operation = 0xDEAD_BEEF;
        let atomic = |width, operator| Frame::Atomic { operation, at, width, operator, operand: u64::MAX - 5 };
        use AtomicOperator::*;
        let atomics = [
            Load,
            Swap,
            CompareSwap { expected: 9 },
            Add,
            And,
            Or,
            Xor,
            Max,
            Min,
            MaxSigned,
            MinSigned,
            AddFloat,
            MaxFloat,
            MinFloat,
        ];
        let mut sent: Vec<Frame<'_>> =
            atomics.into_iter().flat_map(|operator| [Width::Four, Width::Eight].map(|width| atomic(width, operator))).collect();
        sent.extend([
            Frame::Write { to, bytes: b"" },
            Frame::Write { to, bytes: b"bytes" },
            Frame::Get { operation, from: at, bytes: 1 << 40 },
            Frame::Copy { operation, from: at, to, bytes: 3 },
            Frame::Value { operation, value: 12 },
            Frame::Data { operation, bytes: b"data" },
            Frame::Denied { operation, denied: Denied::Outside, second: true },
            Frame::Denied { operation, denied: Denied::Misaligned, second: false },
            Frame::Denied { operation, denied: Denied::Device, second: false },
            Frame::Denied { operation, denied: Denied::Device, second: true },
            Frame::PeerLost { operation, rank: Rank::new(7) },
            Frame::PeerUnreachable { operation, rank: Rank::new(7) },
            Frame::Refused { sequence: u64::MAX, index: 500, denied: Denied::Misaligned },
            Frame::Refused { sequence: 1, index: 0, denied: Denied::Device },
            Frame::Refused { sequence: 2, index: 1, denied: Denied::Outside },
        ]);
        let shape = Shape { block: 8, counts: [1, 70, 300], strides: [0, 1 << 33, 4096] };
        sent.extend([
            Frame::GetShape { operation, from: at, shape },
            Frame::GetShape { operation, from: to, shape: Shape::contiguous(3) },
        ]);
        let list = BlockList::parse(&mut Reader(&[100, 3, 1, 2, 8, 3, 3])).unwrap();
        sent.push(Frame::GetList { operation, from: at, offset: 1 << 40, list });
        for last in [
            Frame::PutShape { to, shape, offset: 1 << 20, bytes: b"piece" },
            Frame::PutList { to, list, bytes: &[7; 7][..list.bytes as usize] },
            Frame::PutPiece { to, all: 1 << 30, offset: 1 << 20, bytes: b"piece" },
            Frame::PutSignalled { to, all: 1 << 30, offset: 1 << 20, at, word: *b"signal!!", bytes: b"piece" },
            Frame::DataPiece { operation, offset: 1 << 39, bytes: b"part" },
        ] {
            let all: Vec<Frame<'_>> = sent.iter().copied().chain([last]).collect();
            let mut bytes = Vec::new();
            all.iter().for_each(|frame| frame.append(&mut bytes));
            assert_eq!(frames(&bytes).collect::<Option<Vec<_>>>(), Some(all));
        }
    }

    #[test]
    fn no_read_is_shorter_than_the_minimum() {
        let (operation, from) = (1, GlobalAddress::NULL);
        let list = BlockList::parse(&mut Reader(&[0, 0])).unwrap();
        let reads = [
            Frame::Get { operation, from, bytes: 1 << 20 },
            Frame::GetShape { operation, from, shape: Shape::contiguous(0) },
            Frame::GetList { operation, from, offset: 0, list },
            Frame::Copy { operation, from, to: from, bytes: 0 },
        ];
        let bytes = |frame: &Frame<'_>| {
            let mut bytes = Vec::new();
            frame.append(&mut bytes);
            bytes.len()
        };
        assert_eq!(reads.iter().map(bytes).min(), Some(Frame::READ_BYTES_MIN));
    }

    #[test]
    fn cut_frames_are_none() {
        let mut bytes = Vec::new();
        Frame::Copy { operation: 1, from: GlobalAddress::NULL, to: GlobalAddress::NULL, bytes: 3 }.append(&mut bytes);
        for length in 1..bytes.len() {
            assert_eq!(frames(&bytes[..length]).collect::<Vec<_>>(), [None]);
        }
    }
}
