//! Messages between ranks besides accesses to memory: requests to the owner of memory, and answers.

use std::mem::offset_of;

use pelago_base::{AtomicOperator, Failure, GlobalAddress, Rank, Width};
use pelago_platform::Address;
use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::limits::{NAME_BYTES_MAX, RAILS_MAX, SLOT_BYTES};

/// Maximum payload of a message in bytes.
pub(crate) const PAYLOAD_BYTES_MAX: usize = SLOT_BYTES - size_of::<Header>();

/// The header of every message. The meaning of the fields depends on the kind.
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(crate) struct Header {
    /// The nonce that the receiver has published: processes outside the job do not know it.
    pub(crate) nonce: U64,
    /// The rank that sends.
    pub(crate) from: U32,
    pub(crate) kind: u8,
    pub(crate) operator: u8,
    pub(crate) width: u8,
    pub(crate) code: u8,
    /// The number of a request among those of its sender; the same in its answer.
    pub(crate) id: U32,
    /// The sequence number of the message among those from its sender to its receiver.
    pub(crate) number: U32,
    /// Start address of the whole operation, its number of bytes, and the offset of a piece in it.
    pub(crate) at: U64,
    pub(crate) whole: U64,
    pub(crate) skip: U64,
    /// Number of bytes of a piece; an operand; the previous value of a word; the subject of a failure; a key; the number of grants of a region.
    pub(crate) value: U64,
    /// Comparison value of an atomic; target of a copy; remote address of a region; the sender's own nonce.
    pub(crate) other: U64,
}

/// Kinds of messages: greetings; requests; answers; the revocation of keys; tests of rails; notifications; further requests, for several blocks, for several
/// atomics, and for a write with a signal.
pub(crate) mod kind {
    /// Greeting: the sender's endpoint names follow, and its nonce is `other`.
    pub(crate) const HELLO: u8 = 1;
    /// Answer to a greeting.
    pub(crate) const WELCOME: u8 = 2;
    /// Request for the region that contains `at`.
    pub(crate) const LOOKUP: u8 = 3;
    /// Bytes to write follow.
    pub(crate) const PUT: u8 = 4;
    /// Request for `value` bytes.
    pub(crate) const GET: u8 = 5;
    pub(crate) const ATOMIC: u8 = 6;
    /// Request to copy `whole` bytes from `at` to `other`.
    pub(crate) const COPY: u8 = 7;
    /// A request was performed.
    pub(crate) const DONE: u8 = 8;
    pub(crate) const FAILED: u8 = 9;
    /// The requested bytes follow.
    pub(crate) const DATA: u8 = 10;
    /// The region begins at `at` and has `whole` bytes. It is accessible by the first `code` rails: by the first with the key `value` at the address `other`;
    /// keys and addresses for the others follow. `operator` holds the properties of the region, as bits of [`region`](super::region).
    pub(crate) const REGION: u8 = 11;
    /// A copy was not started: the fabric does not reach its target.
    pub(crate) const ELSEWHERE: u8 = 12;
    /// The receiver must give up its key of the region that begins at `at`.
    pub(crate) const REVOKE: u8 = 13;
    /// The sender has given up its key and has no access in flight; this ends `value` grants of the key.
    pub(crate) const REVOKED: u8 = 14;
    /// Sent by the rail `code` to test whether it reaches the receiver. It has no sequence number, and may arrive more than once.
    pub(crate) const RAIL: u8 = 15;
    /// The rail `code` reaches the sender of this answer.
    pub(crate) const RAIL_LEADS: u8 = 16;
    /// Notification of a write to the receiver's memory by accesses of the fabric that do not notify.
    pub(crate) const WRITTEN: u8 = 17;
    /// Blocks follow, in one of the formats of [`blocks`](super::blocks), and then their bytes.
    pub(crate) const PUT_BLOCKS: u8 = 18;
    /// Request for the bytes of the blocks that follow.
    pub(crate) const GET_BLOCKS: u8 = 19;
    /// Several atomics follow, each an [`AtomicEntry`](super::AtomicEntry).
    pub(crate) const ATOMICS: u8 = 20;
    /// They were performed, or failed: an [`AnswerEntry`](super::AnswerEntry) for each follows.
    pub(crate) const ANSWERS: u8 = 21;
    /// Bytes to write from `at` on follow; then the word `value` is written to the address `other`.
    pub(crate) const PUT_SIGNALLED: u8 = 22;
}

/// Formats of the blocks of a request, in `operator`; see `engine::blocks`.
pub(crate) mod blocks {
    /// `value` bytes of a shape, from byte `skip` on.
    pub(crate) const SHAPE: u8 = 0;
    /// `value` blocks, with offsets of four bytes.
    pub(crate) const NARROW: u8 = 1;
    /// The same with offsets of eight bytes.
    pub(crate) const WIDE: u8 = 2;
}

/// Properties of a region that accesses must take into account, as bits.
pub(crate) mod region {
    /// The region is in device memory: a write has arrived when a read behind it has completed.
    pub(crate) const DEVICE: u8 = 1;
    /// Accesses only read the region; writes are requests to its owner.
    pub(crate) const READ_ONLY: u8 = 2;
}

impl Header {
    /// Offset of the sequence number.
    pub(crate) const NUMBER_AT: u64 = offset_of!(Self, number) as u64;

    /// Whether it is a request to the owner of memory.
    pub(crate) const fn is_request(&self) -> bool {
        matches!(self.kind, kind::LOOKUP..=kind::COPY | kind::PUT_BLOCKS | kind::GET_BLOCKS | kind::ATOMICS | kind::PUT_SIGNALLED)
    }

    /// Whether it answers a request.
    pub(crate) const fn is_answer(&self) -> bool {
        matches!(self.kind, kind::DONE..=kind::ELSEWHERE | kind::ANSWERS)
    }

    /// The result of the request that this message answers.
    pub(crate) fn result(&self) -> Option<Result<u64, Failure>> {
        match self.kind {
            kind::DONE | kind::DATA => Some(Ok(self.value.get())),
            kind::FAILED => Failure::from_code(self.code, self.value.get()).map(Err),
            _ => None,
        }
    }

    /// The answer to a request of this number.
    pub(crate) fn answer(id: U32, result: Result<u64, Failure>) -> Self {
        let (code, value) = result.map_or_else(Failure::code, |found| (0, found));
        let kind = if result.is_ok() { kind::DONE } else { kind::FAILED };
        Self { kind, code, id, value: value.into(), ..Self::default() }
    }

    /// A request for an atomic.
    pub(crate) fn atomic(at: GlobalAddress, width: Width, operator: AtomicOperator, operand: u64) -> Self {
        let (operator, expected) = operator.code();
        let (value, other) = (operand.into(), expected.unwrap_or(0).into());
        let (at, width) = (at.bits().into(), width.bytes() as u8);
        Self { kind: kind::ATOMIC, operator, width, at, value, other, ..Self::default() }
    }

    /// The width and the operator of a request for an atomic.
    pub(crate) fn atomic_asked(&self) -> Option<(Width, AtomicOperator)> {
        let width = match self.width {
            4 => Width::Four,
            8 => Width::Eight,
            _ => return None,
        };
        Some((width, AtomicOperator::from_code(self.operator, self.other.get())?))
    }

    pub(crate) fn at(&self) -> GlobalAddress {
        GlobalAddress::from_bits(self.at.get())
    }
}

/// One of several atomics of a request.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(crate) struct AtomicEntry {
    id: U32,
    operator: u8,
    width: u8,
    room: [u8; 2],
    at: U64,
    value: U64,
    other: U64,
}

/// The answer to one of several atomics.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(crate) struct AnswerEntry {
    id: U32,
    kind: u8,
    code: u8,
    room: [u8; 2],
    value: U64,
}

/// Maximum number of atomics of a request.
pub(crate) const ATOMICS_MAX: usize = PAYLOAD_BYTES_MAX / size_of::<AtomicEntry>();

impl AtomicEntry {
    /// The entry for a request of this number.
    pub(crate) fn new(id: u32, header: Header) -> Self {
        let Header { operator, width, at, value, other, .. } = header;
        Self { id: id.into(), operator, width, room: [0; 2], at, value, other }
    }

    /// The request for this atomic alone.
    pub(crate) fn header(self) -> Header {
        let Self { id, operator, width, at, value, other, .. } = self;
        Header { kind: kind::ATOMIC, id, operator, width, at, value, other, ..Header::default() }
    }
}

impl AnswerEntry {
    pub(crate) fn new(id: U32, result: Result<u64, Failure>) -> Self {
        let Header { kind, code, value, .. } = Header::answer(id, result);
        Self { id, kind, code, room: [0; 2], value }
    }

    /// The number of the atomic and its result.
    pub(crate) fn result(self) -> Option<(u32, Result<u64, Failure>)> {
        let header = Header { kind: self.kind, code: self.code, value: self.value, ..Header::default() };
        header.result().map(|result| (self.id.get(), result))
    }
}

/// One end of a rail: its fabric, and its name there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct End {
    /// A number that endpoints have in common with those that they reach.
    pub(crate) fabric: u32,
    pub(crate) name: Vec<u8>,
}

impl End {
    /// Encodes ends for a message, without those that do not fit.
    pub(crate) fn join(ends: &[Self]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for End { fabric, name } in ends {
            let end = [&fabric.to_le_bytes()[..], &(name.len() as u16).to_le_bytes(), name].concat();
            if bytes.len() + end.len() > NAME_BYTES_MAX {
                break;
            }
            bytes.extend(end);
        }
        bytes
    }

    /// Decodes one or more ends; `None` if the bytes are not valid.
    pub(crate) fn split(mut bytes: &[u8]) -> Option<Vec<Self>> {
        let mut ends = Vec::new();
        while ends.is_empty() || !bytes.is_empty() {
            let (&fabric, rest) = bytes.split_first_chunk()?;
            let (&length, rest) = rest.split_first_chunk()?;
            let (name, rest) = rest.split_at_checked(u16::from_le_bytes(length).into())?;
            ends.push(Self { fabric: u32::from_le_bytes(fabric), name: name.to_vec() });
            bytes = rest;
        }
        (ends.len() <= RAILS_MAX).then_some(ends)
    }
}

/// The published address of a rank: its nonce, and its end of each rail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Published {
    pub(crate) nonce: u64,
    pub(crate) ends: Vec<End>,
}

const MARK: [u8; 4] = *b"ofi4";

/// Number of bytes that precede the ends in an address.
const HEAD_BYTES: usize = MARK.len() + 8;

/// Maximum length of an address in bytes.
pub(crate) const ADDRESS_BYTES_MAX: usize = HEAD_BYTES + NAME_BYTES_MAX;

impl Published {
    pub(crate) fn to_address(&self) -> Address {
        Address([&MARK[..], &self.nonce.to_le_bytes(), &End::join(&self.ends)].concat())
    }

    /// `None` if the address is not one of an endpoint whose first rail is of this fabric.
    pub(crate) fn parse(address: &Address, fabric: u32) -> Option<Self> {
        let (head, ends) = address.0.split_at_checked(HEAD_BYTES)?;
        let (mark, nonce) = head.split_first_chunk()?;
        let ends = End::split(ends).filter(|ends| *mark == MARK && ends[0].fabric == fabric)?;
        Some(Self { nonce: u64::from_le_bytes(nonce.try_into().ok()?), ends })
    }
}

/// The rank that a message names as its sender.
pub(crate) fn sender(header: &Header) -> Rank {
    Rank::new(header.from.get())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_a_line() {
        assert_eq!(size_of::<Header>(), 64);
    }

    #[test]
    fn answers_say_what_was_found_or_what_failed() {
        for result in [Ok(7), Err(Failure::OutOfBounds(GlobalAddress::from_bits(77))), Err(Failure::PeerLost(Rank::new(3)))] {
            assert_eq!(Header::answer(5.into(), result).result(), Some(result));
        }
        assert_eq!(Header { kind: kind::FAILED, code: 200, ..Header::default() }.result(), None);
        assert_eq!(Header { kind: kind::PUT, ..Header::default() }.result(), None);
    }

    #[test]
    fn atomics_travel_whole() {
        let at = GlobalAddress::from_bits(99);
        for (width, operator) in [(Width::Four, AtomicOperator::Max), (Width::Eight, AtomicOperator::CompareSwap { expected: 5 })]
        {
            let header = Header::atomic(at, width, operator, 8);
            assert_eq!((header.at(), header.atomic_asked(), header.value.get()), (at, Some((width, operator)), 8));
        }
        assert_eq!(Header { width: 3, ..Header::default() }.atomic_asked(), None);
        let add = Header::atomic(at, Width::Eight, AtomicOperator::Add, 8);
        let one_of_several = AtomicEntry::new(7, add).header();
        assert_eq!((one_of_several.as_bytes(), one_of_several.id.get()), (Header { id: 7.into(), ..add }.as_bytes(), 7));
        for result in [Ok(5), Err(Failure::Misaligned(at))] {
            assert_eq!(AnswerEntry::new(7.into(), result).result(), Some((7, result)));
        }
    }

    #[test]
    fn published_addresses_are_read_back_and_others_refused() {
        let end = |fabric, byte: u8| End { fabric, name: vec![byte; 3] };
        let published = Published { nonce: 9, ends: vec![end(2, 1), end(7, 4)] };
        let address = published.to_address();
        assert_eq!(Published::parse(&address, 2), Some(published));
        assert_eq!(Published::parse(&address, 3), None, "of another kind of fabric");
        let cut = |bytes: usize| address.0[..bytes].to_vec();
        let wrong = [vec![], vec![0xFF; 1024], cut(11), cut(12), cut(20), cut(address.0.len() - 1)];
        assert!(wrong.into_iter().all(|a| Published::parse(&Address(a), 2).is_none()));
        let too_many = Published { nonce: 9, ends: vec![end(2, 1); RAILS_MAX + 1] };
        assert_eq!(Published::parse(&too_many.to_address(), 2), None);
    }

    #[test]
    fn rails_whose_names_do_not_fit_are_left_out() {
        let end = |bytes: usize| End { fabric: 1, name: vec![7; bytes] };
        let ends = [end(100), end(100), end(100)];
        assert_eq!(End::split(&End::join(&ends)), Some(ends[..2].to_vec()));
    }
}
