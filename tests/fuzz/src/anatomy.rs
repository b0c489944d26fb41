//! The layout of an unencrypted datagram, as in `protocol/src/wire`.
//!
//! The layout only selects the bytes to alter. With a wrong layout, the inputs would still be permitted, but would reach less code.

/// Bytes of the header.
pub(crate) const HEADER_BYTES: usize = 16;

/// Bytes of the tag at the end.
pub(crate) const TAG_BYTES: usize = 16;

/// Maximum size of a datagram.
pub(crate) const DATAGRAM_BYTES_MAX: usize = 65_507;

const RANK_MASK: u32 = (1 << 20) - 1;
const VERSION: u32 = 4 << 20;
const FLAGS_AT: usize = 3;
const SEQUENCED: u8 = 1;
const FENCED: u8 = 2;

/// Offset and length of the fields of the header and of the acknowledgement.
const FIXED_FIELDS: [(usize, usize); 10] =
    [(0, 4), (4, 4), (8, 8), (16, 8), (24, 4), (28, 2), (30, 2), (32, 8), (40, 1), (41, 1)];
const WORDS_AT: usize = 40;
const ACKNOWLEDGEMENT_END: usize = 42;

/// Kinds of frames, and the lengths of the fields that follow the kind.
pub(crate) const FRAMES: [(u8, &[usize]); 16] = [
    (1, &[2, 8]),
    (2, &[8, 8, 8]),
    (3, &[4, 8, 8]),
    (4, &[4, 8, 1, 8, 8]),
    (5, &[4, 8, 8, 8]),
    (6, &[4, 8]),
    (7, &[4, 2]),
    (8, &[8, 8, 8]),
    (9, &[4, 1]),
    (10, &[4, 4]),
    (11, &[8, 2, 1]),
    (12, &[4, 4]),
    // Numbers of shapes and lists have one byte or more.
    (13, &[8, 1, 1, 1, 1, 1]),
    (14, &[8, 1, 1, 1, 1]),
    (15, &[4, 8, 1, 1, 1, 1]),
    (16, &[4, 8, 1, 1, 1, 1, 1]),
];

/// Returns a header of `rank` with these flags.
pub(crate) fn header(rank: u32, flags: u8, start: u32, transmission: u64) -> [u8; HEADER_BYTES] {
    let mut header = [0; HEADER_BYTES];
    header[..4].copy_from_slice(&(rank & RANK_MASK | VERSION | u32::from(flags) << 24).to_le_bytes());
    header[4..8].copy_from_slice(&start.to_le_bytes());
    header[8..].copy_from_slice(&transmission.to_le_bytes());
    header
}

/// Returns the sender that a datagram names.
pub(crate) fn from(datagram: &[u8]) -> Option<usize> {
    let word = datagram.first_chunk().map(|word| u32::from_le_bytes(*word))?;
    Some((word & RANK_MASK) as usize)
}

/// Returns the sequence number of a datagram, if it has one.
pub(crate) fn sequence(datagram: &[u8]) -> Option<u64> {
    datagram.get(sequence_at(datagram)?..)?.first_chunk().map(|word| u64::from_le_bytes(*word))
}

/// Replaces the sequence number of a datagram that has one.
pub(crate) fn set_sequence(datagram: &mut [u8], sequence: u64) {
    let place = sequence_at(datagram).and_then(|at| datagram.get_mut(at..at + 8));
    place.into_iter().for_each(|place| place.copy_from_slice(&sequence.to_le_bytes()));
}

/// Returns the offset of the frames of a datagram with a sequence number.
pub(crate) fn frames_at(datagram: &[u8]) -> Option<usize> {
    let start = sequence_at(datagram)?;
    let after = if datagram[FLAGS_AT] & FENCED == 0 { 0 } else { 8 };
    Some(start + 8 + after).filter(|&at| at <= datagram.len())
}

/// Returns the fields before the frames.
pub(crate) fn fields(datagram: &[u8]) -> Vec<(usize, usize)> {
    let mut fields = FIXED_FIELDS.to_vec();
    let end = frames_at(datagram).unwrap_or(datagram.len());
    fields.extend((ACKNOWLEDGEMENT_END..end).step_by(8).map(|at| (at, 8)));
    fields.retain(|&(at, bytes)| at + bytes <= datagram.len());
    fields
}

fn sequence_at(datagram: &[u8]) -> Option<usize> {
    let words = usize::from(*datagram.get(WORDS_AT)?);
    (datagram[FLAGS_AT] & SEQUENCED != 0).then_some(ACKNOWLEDGEMENT_END + 8 * words)
}
