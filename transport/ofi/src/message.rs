//! What ranks send each other besides accesses to memory: requests to the owner of memory, and answers.

use std::mem::offset_of;

use pelago_base::{AtomicOperator, Failure, GlobalAddress, Rank, Width};
use pelago_platform::Address;
use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::limits::{NAME_BYTES_MAX, SLOT_BYTES};

/// Maximum payload of a message in bytes.
pub(crate) const PAYLOAD_BYTES_MAX: usize = SLOT_BYTES - size_of::<Header>();

/// What every message begins with. Which fields count depends on its kind.
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(crate) struct Header {
    /// The number that the receiver has published: strangers do not know it.
    pub(crate) nonce: U64,
    /// The rank that sends.
    pub(crate) from: U32,
    pub(crate) kind: u8,
    pub(crate) operator: u8,
    pub(crate) width: u8,
    pub(crate) code: u8,
    /// The number that a request has among those of its sender, and its answer too.
    pub(crate) id: U32,
    /// The number that the message has among those from its sender to its receiver.
    pub(crate) number: U32,
    /// Where the whole operation begins, how many bytes it has, and at which of them a piece begins.
    pub(crate) at: U64,
    pub(crate) whole: U64,
    pub(crate) skip: U64,
    /// The bytes of a piece; an operand; the word that was found; what a failure names; a key; how often a region was lent.
    pub(crate) value: U64,
    /// What a word is compared with; where a copy goes to; the remote address of a region; the sender's own number.
    pub(crate) other: U64,
}

/// Kinds of messages: greetings; requests; answers; the end of what was lent.
pub(crate) mod kind {
    /// The sender's name follows, and its number is `other`.
    pub(crate) const HELLO: u8 = 1;
    /// It was understood.
    pub(crate) const WELCOME: u8 = 2;
    /// Which region holds `at`?
    pub(crate) const LOOKUP: u8 = 3;
    /// Bytes to write follow.
    pub(crate) const PUT: u8 = 4;
    /// `value` bytes are asked for.
    pub(crate) const GET: u8 = 5;
    pub(crate) const ATOMIC: u8 = 6;
    /// `whole` bytes go from `at` to `other`.
    pub(crate) const COPY: u8 = 7;
    /// A request was performed.
    pub(crate) const DONE: u8 = 8;
    pub(crate) const FAILED: u8 = 9;
    /// The bytes that were asked for follow.
    pub(crate) const DATA: u8 = 10;
    /// The region begins at `at` and has `whole` bytes; `code` is 1 if it is reached by the key `value` at the address `other`.
    pub(crate) const REGION: u8 = 11;
    /// Nothing of a copy was begun: the fabric does not lead to its target.
    pub(crate) const ELSEWHERE: u8 = 12;
    /// The region that begins at `at` is to be forgotten.
    pub(crate) const REVOKE: u8 = 13;
    /// It is, and nothing is under way to it: what was lent `value` times is given back.
    pub(crate) const REVOKED: u8 = 14;
}

impl Header {
    /// Where its number lies.
    pub(crate) const NUMBER_AT: u64 = offset_of!(Self, number) as u64;

    /// As a result of the request that it answers.
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

    /// What a request for an atomic asks for.
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

/// The address of an endpoint as it is published: its fabric, its number, and its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Published {
    /// What an endpoint has in common with those that it reaches.
    pub(crate) fabric: u32,
    pub(crate) nonce: u64,
    pub(crate) name: Vec<u8>,
}

const MARK: [u8; 4] = *b"ofi1";

impl Published {
    pub(crate) fn to_address(&self) -> Address {
        Address([&MARK[..], &self.fabric.to_le_bytes(), &self.nonce.to_le_bytes(), &self.name].concat())
    }

    /// `None` if the address is not one of an endpoint of this fabric.
    pub(crate) fn parse(address: &Address, fabric: u32) -> Option<Self> {
        let (head, name) = address.0.split_at_checked(16)?;
        let is_ours = head[..4] == MARK && head[4..8] == fabric.to_le_bytes() && name.len() <= NAME_BYTES_MAX;
        let nonce = u64::from_le_bytes(head[8..].try_into().ok()?);
        is_ours.then(|| Self { fabric, nonce, name: name.to_vec() })
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
    }

    #[test]
    fn published_addresses_are_read_back_and_others_refused() {
        let published = Published { fabric: 2, nonce: 9, name: vec![1, 2, 3] };
        let address = published.to_address();
        assert_eq!(Published::parse(&address, 2), Some(published));
        assert_eq!(Published::parse(&address, 3), None, "of another kind of fabric");
        assert!(
            [vec![], vec![0xFF; 1024], address.0[..15].to_vec()].into_iter().all(|a| Published::parse(&Address(a), 2).is_none())
        );
    }
}
