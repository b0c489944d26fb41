//! The header, the acknowledgement and the place of a datagram.

use pelago_base::Rank;
use pelago_base::limits::RANKS_MAX;
use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::{HEADER_BYTES, Reader, WORDS_MAX};

/// Version of the wire format, incremented with every change of it.
const VERSION: u32 = 6;

const RANK_BITS: u32 = RANKS_MAX.ilog2();
const INCARNATION_BITS: u32 = 24;

/// Bits of the transmission counter of an endpoint: sufficient for a million per second for nine years.
const TRANSMISSION_BITS: u32 = 48;

/// The header of a datagram: its sender, and the number of this transmission.
///
/// ```text
/// bits 0–19 rank · 20–23 version · 24–31 flags · 32–55 incarnation · 64–111 transmission · 112–127 bytes of the datagram
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) from: Rank,
    /// Distinguishes a process from earlier ones of the same rank.
    pub(crate) incarnation: u32,
    /// Whether the datagram has a sequence number.
    pub(crate) sequenced: bool,
    /// Whether it waits for earlier datagrams to take effect.
    pub(crate) fenced: bool,
    /// Whether it should be acknowledged at once.
    pub(crate) urgent: bool,
    /// Number of this transmission among all of the sender.
    pub(crate) transmission: u64,
    /// Length of the datagram, which is otherwise lost if the network joins several datagrams.
    pub(crate) bytes: u16,
}

/// The wire layout of a header.
#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct HeaderLayout {
    rank_version_flags: U32,
    incarnation: U32,
    transmission_and_bytes: U64,
}

const _: () = assert!(size_of::<HeaderLayout>() == HEADER_BYTES);

impl Header {
    pub(crate) fn write(&self, into: &mut [u8]) {
        let flags = u32::from(self.sequenced) | u32::from(self.fenced) << 1 | u32::from(self.urgent) << 2;
        let layout = HeaderLayout {
            rank_version_flags: (self.from.number() | VERSION << RANK_BITS | flags << 24).into(),
            incarnation: self.incarnation.into(),
            transmission_and_bytes: self.last_word().into(),
        };
        into[..HEADER_BYTES].copy_from_slice(layout.as_bytes());
    }

    /// Writes the length of a datagram into the header at the start of `into`.
    pub(crate) fn write_bytes(bytes: u16, into: &mut [u8]) {
        into[HEADER_BYTES - 2..HEADER_BYTES].copy_from_slice(U16::new(bytes).as_bytes());
    }

    /// Parses a header; returns `None` if it is no header of this version.
    pub(crate) fn parse(datagram: &[u8]) -> Option<Self> {
        let (layout, _) = HeaderLayout::ref_from_prefix(datagram).ok()?;
        let (word, incarnation) = (layout.rank_version_flags.get(), layout.incarnation.get());
        let last = layout.transmission_and_bytes.get();
        let (rank, version, flags) = (word & (RANKS_MAX - 1), word >> RANK_BITS & 15, word >> 24);
        (version == VERSION && flags < 8 && incarnation >> INCARNATION_BITS == 0).then_some(Self {
            from: Rank::new(rank),
            incarnation,
            sequenced: flags & 1 != 0,
            fenced: flags & 2 != 0,
            urgent: flags & 4 != 0,
            transmission: last & TRANSMISSION_MAX,
            bytes: (last >> TRANSMISSION_BITS) as u16,
        })
    }

    fn last_word(&self) -> u64 {
        self.transmission | u64::from(self.bytes) << TRANSMISSION_BITS
    }

    /// Returns the nonce for the seal of this transmission to `to`, which is unique in the job.
    pub(crate) fn nonce(&self, to: Rank) -> [u8; 16] {
        let ends =
            u64::from(self.from.number()) | u64::from(to.number()) << RANK_BITS | u64::from(self.incarnation) << (2 * RANK_BITS);
        const { assert!(2 * RANK_BITS + INCARNATION_BITS <= 64, "both ends and the incarnation fit a word") };
        let mut nonce = [0; 16];
        nonce[..8].copy_from_slice(&ends.to_le_bytes());
        nonce[8..].copy_from_slice(&self.last_word().to_le_bytes());
        nonce
    }
}

/// Maximum transmission number of a header.
pub(crate) const TRANSMISSION_MAX: u64 = (1 << TRANSMISSION_BITS) - 1;

/// Truncates an incarnation to the bits that a header can carry.
pub(crate) const fn incarnation(number: u32) -> u32 {
    number & ((1 << INCARNATION_BITS) - 1)
}

/// The datagrams that the sender has received, and the limits of what it can take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Acknowledgement {
    /// Sequence number below which all datagrams have been received.
    pub(crate) next: u64,
    /// Number of writes that the sender has ever refused.
    pub(crate) refused: u32,
    /// Receive window that the sender grants to the receiver, in units of [`WINDOW_UNIT`](Self::WINDOW_UNIT).
    pub(crate) receive_window: u16,
    /// Maximum datagram size that the sender can receive or send.
    pub(crate) datagram_bytes: u16,
    /// The latest transmission of the receiver with a sequence number that has arrived since the last echo; 0 is none. It shows which of several
    /// tries is answered.
    pub(crate) echo: u64,
    /// Bitmap of the sequence numbers from `next` on that have been received.
    pub(crate) words: [u64; WORDS_MAX],
    /// Number of words in use.
    pub(crate) words_used: u8,
}

/// The wire layout of an acknowledgement, before its words.
#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct AcknowledgementLayout {
    next: U64,
    refused: U32,
    receive_window: U16,
    datagram_bytes: U16,
    echo: U64,
    words_used: u8,
    reserved: u8,
}

impl Acknowledgement {
    pub(crate) const FIXED_BYTES: usize = size_of::<AcknowledgementLayout>();
    pub(crate) const WINDOW_UNIT: u64 = 1024;

    /// Writes the acknowledgement and returns its size in bytes.
    pub(crate) fn write(&self, into: &mut [u8]) -> usize {
        let layout = AcknowledgementLayout {
            next: self.next.into(),
            refused: self.refused.into(),
            receive_window: self.receive_window.into(),
            datagram_bytes: self.datagram_bytes.into(),
            echo: self.echo.into(),
            words_used: self.words_used,
            reserved: 0,
        };
        let (fixed, rest) = into.split_at_mut(Self::FIXED_BYTES);
        fixed.copy_from_slice(layout.as_bytes());
        let words = &self.words[..usize::from(self.words_used)];
        for (word, place) in words.iter().zip(rest.chunks_exact_mut(8)) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        Self::FIXED_BYTES + 8 * words.len()
    }

    pub(crate) fn parse(reader: &mut Reader<'_>) -> Option<Self> {
        let layout: &AcknowledgementLayout = reader.layout()?;
        let words_used = layout.words_used;
        let mut words = [0; WORDS_MAX];
        for word in words.get_mut(..usize::from(words_used))? {
            *word = reader.u64()?;
        }
        Some(Self {
            next: layout.next.get(),
            refused: layout.refused.get(),
            receive_window: layout.receive_window.get(),
            datagram_bytes: layout.datagram_bytes.get(),
            echo: layout.echo.get(),
            words,
            words_used,
        })
    }
}

/// Position of a datagram in the sequence of its sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) sequence: u64,
    /// Sequence number below which all datagrams take effect before this one; 0 if there is no order.
    pub(crate) after: u64,
}

impl Place {
    pub(crate) fn write(&self, into: &mut [u8]) -> usize {
        into[..8].copy_from_slice(&self.sequence.to_le_bytes());
        if self.after == 0 {
            return 8;
        }
        into[8..16].copy_from_slice(&self.after.to_le_bytes());
        16
    }

    pub(crate) fn parse(reader: &mut Reader<'_>, header: &Header) -> Option<Self> {
        let sequence = reader.u64()?;
        let after = if header.fenced { reader.u64()? } else { 0 };
        Some(Self { sequence, after })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn headers_survive_the_wire(
            from in 0..RANKS_MAX, incarnation in 0..1u32 << INCARNATION_BITS, flags in any::<[bool; 3]>(),
            transmission in 0..=TRANSMISSION_MAX, bytes in any::<u16>(),
        ) {
            let [sequenced, fenced, urgent] = flags;
            let header = Header { from: Rank::new(from), incarnation, sequenced, fenced, urgent, transmission, bytes };
            let mut layout = [0; HEADER_BYTES];
            Header { bytes: 0, ..header }.write(&mut layout);
            Header::write_bytes(bytes, &mut layout);
            prop_assert_eq!(Header::parse(&layout), Some(header));
        }

        #[test]
        fn acknowledgements_survive_the_wire(
            next in any::<u64>(), refused in any::<u32>(), receive_window in any::<u16>(), datagram_bytes in any::<u16>(),
            echo in any::<u64>(), words in any::<[u64; WORDS_MAX]>(), used in 0..=WORDS_MAX,
        ) {
            let mut kept = [0; WORDS_MAX];
            kept[..used].copy_from_slice(&words[..used]);
            let words_used = used as u8;
            let sent = Acknowledgement { next, refused, receive_window, datagram_bytes, echo, words: kept, words_used };
            let mut bytes = [0; 256];
            let written = sent.write(&mut bytes);
            let mut reader = Reader(&bytes[..written]);
            prop_assert_eq!(Acknowledgement::parse(&mut reader), Some(sent));
            prop_assert!(reader.0.is_empty());
        }

        #[test]
        fn nonces_tell_everything_apart(
            from in 0..RANKS_MAX, to in 0..RANKS_MAX, incarnation in 0..1u32 << INCARNATION_BITS, transmission in 0..=TRANSMISSION_MAX,
            bytes in any::<u16>(), change in 1..=u64::MAX,
        ) {
            let flags = (false, false, false);
            let header = |from, incarnation, transmission, bytes, (sequenced, fenced, urgent)| {
                Header { from: Rank::new(from), incarnation, sequenced, fenced, urgent, transmission, bytes }
            };
            let nonce = header(from, incarnation, transmission, bytes, flags).nonce(Rank::new(to));
            // One of the inputs differs, by a single bit or by many.
            for change in [change, 1, 1 << (change % 64), u64::MAX] {
                let other = |number: u32, limit: u32| (number ^ change as u32) % limit;
                let last = (transmission ^ change) & TRANSMISSION_MAX;
                let (rank, begun) = (other(from, RANKS_MAX), other(incarnation, 1 << INCARNATION_BITS));
                prop_assert_eq!(header(rank, incarnation, transmission, bytes, flags).nonce(Rank::new(to)) == nonce, rank == from);
                prop_assert_eq!(header(from, begun, transmission, bytes, flags).nonce(Rank::new(to)) == nonce, begun == incarnation);
                prop_assert_eq!(header(from, incarnation, last, bytes, flags).nonce(Rank::new(to)) == nonce, last == transmission);
                let target = other(to, RANKS_MAX);
                prop_assert_eq!(header(from, incarnation, transmission, bytes, flags).nonce(Rank::new(target)) == nonce, target == to);
            }
        }
    }

    #[test]
    fn only_headers_of_this_version_are_headers() {
        for flag in [true, false] {
            let header = Header {
                from: Rank::new(RANKS_MAX - 1),
                incarnation: u32::MAX >> 8,
                sequenced: flag,
                fenced: flag,
                urgent: flag,
                transmission: TRANSMISSION_MAX,
                bytes: u16::MAX,
            };
            let mut layout = [0; HEADER_BYTES];
            header.write(&mut layout);
            assert_eq!(Header::parse(&layout), Some(header));
            // Each bit of the version, undefined flags, and an incarnation that is too large.
            for (byte, bit) in (4..8).map(|bit| (2, bit)).chain((3..8).map(|bit| (3, bit))).chain((0..8).map(|bit| (7, bit))) {
                let mut other = layout;
                other[byte] ^= 1 << bit;
                assert_eq!(Header::parse(&other), None, "bit {bit} of byte {byte}");
            }
        }
    }

    #[test]
    fn an_incarnation_is_as_long_as_a_header_carries() {
        assert_eq!([0, 1, 2, 0x89AB_CDEF, u32::MAX].map(incarnation), [0, 1, 2, 0xAB_CDEF, 0xFF_FFFF]);
    }
}
