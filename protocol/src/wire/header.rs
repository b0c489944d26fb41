//! The header, the acknowledgement and the place of a datagram.

use pelago_base::Rank;
use pelago_base::limits::RANKS_MAX;

use super::{HEADER_BYTES, Reader, WORDS_MAX};

/// Bumped with every change of what travels.
const VERSION: u32 = 3;

const RANK_BITS: u32 = RANKS_MAX.ilog2();
const START_BITS: u32 = 24;

/// Transmissions of an endpoint: a million a second for nine years.
const TRANSMISSION_BITS: u32 = 48;

/// Who sent a datagram, and which of its transmissions this is.
///
/// ```text
/// bits 0–19 rank · 20–23 version · 24–31 flags · 32–55 start · 64–111 transmission · 112–127 bytes of the datagram
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) from: Rank,
    /// Tells a process from an earlier one of the same rank.
    pub(crate) start: u32,
    /// Whether the datagram has a sequence number.
    pub(crate) sequenced: bool,
    /// Whether it waits for earlier ones to take effect.
    pub(crate) fenced: bool,
    /// Whether it should be acknowledged at once.
    pub(crate) urgent: bool,
    /// Counts all transmissions of the sender.
    pub(crate) transmission: u64,
    /// How long the datagram is, which a network that joins several does not tell.
    pub(crate) bytes: u16,
}

impl Header {
    pub(crate) fn write(&self, into: &mut [u8]) {
        let flags = u32::from(self.sequenced) | u32::from(self.fenced) << 1 | u32::from(self.urgent) << 2;
        into[..4].copy_from_slice(&(self.from.number() | VERSION << RANK_BITS | flags << 24).to_le_bytes());
        into[4..8].copy_from_slice(&self.start.to_le_bytes());
        into[8..HEADER_BYTES].copy_from_slice(&self.last_word().to_le_bytes());
    }

    /// Writes how long the datagram is that `into` begins.
    pub(crate) fn write_bytes(bytes: u16, into: &mut [u8]) {
        into[HEADER_BYTES - 2..HEADER_BYTES].copy_from_slice(&bytes.to_le_bytes());
    }

    /// `None` if this is no header of this version.
    pub(crate) fn parse(datagram: &[u8]) -> Option<Self> {
        let mut reader = Reader(datagram);
        let (word, start, last) = (reader.u32()?, reader.u32()?, reader.u64()?);
        let (rank, version, flags) = (word & (RANKS_MAX - 1), word >> RANK_BITS & 15, word >> 24);
        (version == VERSION && flags < 8 && start >> START_BITS == 0).then_some(Self {
            from: Rank::new(rank),
            start,
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

    /// What the seal of this transmission to `to` is made with; never the same twice in a job.
    pub(crate) fn nonce(&self, to: Rank) -> [u8; 16] {
        let ends = u64::from(self.from.number()) | u64::from(to.number()) << RANK_BITS | u64::from(self.start) << (2 * RANK_BITS);
        const { assert!(2 * RANK_BITS + START_BITS <= 64, "both ends and the start have room in a word") };
        let mut nonce = [0; 16];
        nonce[..8].copy_from_slice(&ends.to_le_bytes());
        nonce[8..].copy_from_slice(&self.last_word().to_le_bytes());
        nonce
    }
}

/// The largest transmission that a header can carry.
pub(crate) const TRANSMISSION_MAX: u64 = (1 << TRANSMISSION_BITS) - 1;

/// The start that a header can carry.
pub(crate) const fn start(number: u32) -> u32 {
    number & ((1 << START_BITS) - 1)
}

/// What the sender has received, and what it can take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Acknowledgement {
    /// Everything below has been received.
    pub(crate) next: u64,
    /// How many writes it has refused, ever.
    pub(crate) refused: u32,
    /// What the receiver may have on its way to it, as the room of its socket counts it, in units of [`ROOM_UNIT`](Self::ROOM_UNIT).
    pub(crate) room: u16,
    /// The largest datagram that it can take or send.
    pub(crate) datagram_bytes: u16,
    /// The latest transmission of the receiver that has come with a number since this was told last; 0 is none. It tells which of several
    /// tries is answered.
    pub(crate) echo: u64,
    /// Which of the numbers from `next` on have been received.
    pub(crate) words: [u64; WORDS_MAX],
    /// How many of the words say anything.
    pub(crate) words_used: u8,
}

impl Acknowledgement {
    pub(crate) const FIXED_BYTES: usize = 26;
    pub(crate) const ROOM_UNIT: u64 = 1024;

    /// Writes it and returns how many bytes it took.
    pub(crate) fn write(&self, into: &mut [u8]) -> usize {
        into[..8].copy_from_slice(&self.next.to_le_bytes());
        into[8..12].copy_from_slice(&self.refused.to_le_bytes());
        into[12..14].copy_from_slice(&self.room.to_le_bytes());
        into[14..16].copy_from_slice(&self.datagram_bytes.to_le_bytes());
        into[16..24].copy_from_slice(&self.echo.to_le_bytes());
        into[24] = self.words_used;
        into[25] = 0;
        let words = &self.words[..usize::from(self.words_used)];
        for (word, place) in words.iter().zip(into[Self::FIXED_BYTES..].chunks_exact_mut(8)) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        Self::FIXED_BYTES + 8 * words.len()
    }

    pub(crate) fn parse(reader: &mut Reader<'_>) -> Option<Self> {
        let (next, refused, room, datagram_bytes) = (reader.u64()?, reader.u32()?, reader.u16()?, reader.u16()?);
        let (echo, words_used, _) = (reader.u64()?, reader.u8()?, reader.u8()?);
        let mut words = [0; WORDS_MAX];
        for word in words.get_mut(..usize::from(words_used))? {
            *word = reader.u64()?;
        }
        Some(Self { next, refused, room, datagram_bytes, echo, words, words_used })
    }
}

/// Where a datagram stands among those of its sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) sequence: u64,
    /// Everything below takes effect before this does; 0 if that does not matter.
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
            from in 0..RANKS_MAX, start in 0..1u32 << START_BITS, flags in any::<[bool; 3]>(),
            transmission in 0..=TRANSMISSION_MAX, bytes in any::<u16>(),
        ) {
            let [sequenced, fenced, urgent] = flags;
            let header = Header { from: Rank::new(from), start, sequenced, fenced, urgent, transmission, bytes };
            let mut layout = [0; HEADER_BYTES];
            Header { bytes: 0, ..header }.write(&mut layout);
            Header::write_bytes(bytes, &mut layout);
            prop_assert_eq!(Header::parse(&layout), Some(header));
        }

        #[test]
        fn acknowledgements_survive_the_wire(
            next in any::<u64>(), refused in any::<u32>(), room in any::<u16>(), datagram_bytes in any::<u16>(),
            echo in any::<u64>(), words in any::<[u64; WORDS_MAX]>(), used in 0..=WORDS_MAX,
        ) {
            let mut kept = [0; WORDS_MAX];
            kept[..used].copy_from_slice(&words[..used]);
            let words_used = used as u8;
            let sent = Acknowledgement { next, refused, room, datagram_bytes, echo, words: kept, words_used };
            let mut bytes = [0; 256];
            let written = sent.write(&mut bytes);
            let mut reader = Reader(&bytes[..written]);
            prop_assert_eq!(Acknowledgement::parse(&mut reader), Some(sent));
            prop_assert!(reader.0.is_empty());
        }

        #[test]
        fn nonces_tell_everything_apart(
            from in 0..RANKS_MAX, to in 0..RANKS_MAX, start in 0..1u32 << START_BITS, transmission in 0..=TRANSMISSION_MAX,
            bytes in any::<u16>(), change in 1..=u64::MAX,
        ) {
            let flags = (false, false, false);
            let header = |from, start, transmission, bytes, (sequenced, fenced, urgent)| {
                Header { from: Rank::new(from), start, sequenced, fenced, urgent, transmission, bytes }
            };
            let nonce = header(from, start, transmission, bytes, flags).nonce(Rank::new(to));
            // One of them differs, as little or as much as can be.
            for change in [change, 1, 1 << (change % 64), u64::MAX] {
                let other = |number: u32, limit: u32| (number ^ change as u32) % limit;
                let last = (transmission ^ change) & TRANSMISSION_MAX;
                let (rank, begun) = (other(from, RANKS_MAX), other(start, 1 << START_BITS));
                prop_assert_eq!(header(rank, start, transmission, bytes, flags).nonce(Rank::new(to)) == nonce, rank == from);
                prop_assert_eq!(header(from, begun, transmission, bytes, flags).nonce(Rank::new(to)) == nonce, begun == start);
                prop_assert_eq!(header(from, start, last, bytes, flags).nonce(Rank::new(to)) == nonce, last == transmission);
                let target = other(to, RANKS_MAX);
                prop_assert_eq!(header(from, start, transmission, bytes, flags).nonce(Rank::new(target)) == nonce, target == to);
            }
        }
    }

    #[test]
    fn only_headers_of_this_version_are_headers() {
        for flag in [true, false] {
            let header = Header {
                from: Rank::new(RANKS_MAX - 1),
                start: u32::MAX >> 8,
                sequenced: flag,
                fenced: flag,
                urgent: flag,
                transmission: TRANSMISSION_MAX,
                bytes: u16::MAX,
            };
            let mut layout = [0; HEADER_BYTES];
            header.write(&mut layout);
            assert_eq!(Header::parse(&layout), Some(header));
            // Each bit of the version, a flag that there is none of, and a start that is too large.
            for (byte, bit) in (4..8).map(|bit| (2, bit)).chain((3..8).map(|bit| (3, bit))).chain((0..8).map(|bit| (7, bit))) {
                let mut other = layout;
                other[byte] ^= 1 << bit;
                assert_eq!(Header::parse(&other), None, "bit {bit} of byte {byte}");
            }
        }
    }

    #[test]
    fn a_start_is_as_long_as_a_header_carries() {
        assert_eq!([0, 1, 2, 0x89AB_CDEF, u32::MAX].map(start), [0, 1, 2, 0xAB_CDEF, 0xFF_FFFF]);
    }
}
