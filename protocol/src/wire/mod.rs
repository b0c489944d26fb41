//! What travels: layout, parsing and writing of datagrams. All numbers are little-endian.
//!
//! ```text
//! | header 16 | acknowledgement 18 + 8·words | sequence 8, after 8 (if flagged) | frames … | tag 16 |
//! ```
//!
//! Parsing takes any bytes and never panics.

mod frame;
mod header;
mod reader;

pub(crate) use frame::{Frame, PIECE_BYTES, frames, reply, request};
pub(crate) use header::{Acknowledgement, Header, Place, start};
pub(crate) use reader::Reader;

/// Bytes of the header, which is never encrypted.
pub(crate) const HEADER_BYTES: usize = 16;

/// Bytes of the tag.
pub(crate) const TAG_BYTES: usize = 16;

/// Words of 64 sequence numbers that an acknowledgement may have.
pub(crate) const WORDS_MAX: usize = 16;

/// Bytes of a datagram besides its frames, at most.
pub(crate) const OVERHEAD_BYTES: usize = HEADER_BYTES + Acknowledgement::FIXED_BYTES + 8 * WORDS_MAX + 16 + TAG_BYTES;
