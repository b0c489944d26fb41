//! Messages that are composed in a buffer: of pieces, or by an encoder.

#[cfg(feature = "serde")]
use pelago_rma::{Error, Result};

/// Makes `message` consist of the pieces.
pub(crate) fn join(pieces: &[&[u8]], message: &mut Vec<u8>) {
    message.clear();
    pieces.iter().for_each(|piece| message.extend_from_slice(piece));
}

/// Makes `message` the encoded value.
#[cfg(feature = "serde")]
pub(crate) fn encode<T: serde::Serialize + ?Sized>(value: &T, message: &mut Vec<u8>) -> Result<()> {
    message.clear();
    postcard::to_extend(value, Appended(message)).map(drop).map_err(|_| Error::Invalid("postcard does not encode this value"))
}

/// Appends bytes to a borrowed buffer, which its owner keeps also if encoding fails.
#[cfg(feature = "serde")]
struct Appended<'b>(&'b mut Vec<u8>);

#[cfg(feature = "serde")]
impl Extend<u8> for Appended<'_> {
    fn extend<I: IntoIterator<Item = u8>>(&mut self, bytes: I) {
        self.0.extend(bytes);
    }
}
