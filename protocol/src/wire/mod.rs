//! The wire format: layout, parsing and writing of datagrams. All numbers are little-endian.
//!
//! ```text
//! | header 16 | acknowledgement 26 + 8·words | sequence 8, after 8 (if flagged) | frames … | tag 16 |
//! ```
//!
//! Parsing accepts any bytes and never panics.

pub(crate) mod blocks;
mod frame;
mod header;
mod reader;
pub(crate) mod seal;

pub(crate) use blocks::BlockList;
pub(crate) use frame::{
    Frame, GET_SHAPE_BYTES_MAX, LIST_HEAD_BYTES_MAX, PIECE_BYTES, SIGNALLED_BYTES, append_write, first_frame, frames, get_list,
    put_list, put_shape, reply, request, signalled,
};
pub(crate) use header::{Acknowledgement, Header, Place, TRANSMISSION_MAX, incarnation};
pub(crate) use reader::Reader;

/// Bytes of the header, which is never encrypted.
pub(crate) const HEADER_BYTES: usize = 16;

/// Bytes of the tag.
pub(crate) const TAG_BYTES: usize = 16;

/// Maximum number of bitmap words (64 sequence numbers each) of an acknowledgement.
pub(crate) const WORDS_MAX: usize = 16;

/// Splits datagrams that the network delivered joined into one buffer, by the lengths in their headers. A rest that cannot be split stays in
/// one piece, which no endpoint accepts.
pub fn cut(joined: &mut [u8]) -> impl Iterator<Item = &mut [u8]> {
    let mut rest = Some(joined);
    std::iter::from_fn(move || {
        let joined = rest.take()?;
        let bytes = Header::parse(joined).map_or(0, |header| usize::from(header.bytes));
        if (HEADER_BYTES..joined.len()).contains(&bytes) {
            let (first, others) = joined.split_at_mut(bytes);
            rest = Some(others);
            return Some(first);
        }
        Some(joined)
    })
}

/// Maximum number of bytes of a datagram besides its frames.
pub(crate) const OVERHEAD_BYTES: usize = HEADER_BYTES + Acknowledgement::FIXED_BYTES + 8 * WORDS_MAX + 16 + TAG_BYTES;

/// Maximum number of bytes of a datagram, besides those of a put whose signal it carries.
pub const PUT_OVERHEAD_BYTES: usize = OVERHEAD_BYTES + SIGNALLED_BYTES;

#[cfg(test)]
mod tests {
    use super::*;
    use pelago_base::Rank;

    fn datagram(bytes: u16) -> Vec<u8> {
        let mut datagram = vec![bytes as u8; usize::from(bytes)];
        let header =
            Header { from: Rank::new(1), incarnation: 0, sequenced: true, fenced: false, urgent: false, transmission: 9, bytes };
        header.write(&mut datagram);
        datagram
    }

    fn lengths(joined: &[u8]) -> Vec<usize> {
        cut(&mut joined.to_vec()).map(|datagram| datagram.len()).collect()
    }

    #[test]
    fn what_was_joined_is_cut() {
        let all = [32, 100, 16, 40].map(datagram);
        assert_eq!(cut(&mut all.concat()).map(|datagram| datagram.to_vec()).collect::<Vec<_>>(), all);
    }

    #[test]
    fn what_makes_no_sense_stays_in_one_piece() {
        assert_eq!(lengths(&[0; 3]), [3]);
        assert_eq!(lengths(&[0xFF; 50]), [50]);
        assert_eq!(lengths(&[datagram(40), vec![7; 5]].concat()), [40, 5]);
        assert_eq!(lengths(&datagram(40)[..39]), [39]);
        let mut empty = datagram(40);
        Header::write_bytes(0, &mut empty);
        assert_eq!(lengths(&[empty, datagram(40)].concat()), [80]);
    }
}
