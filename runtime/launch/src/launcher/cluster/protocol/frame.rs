//! The encoding of messages and output through a remote shell: frames of a length, a kind and bytes.
//!
//! A frame is the number of bytes that follow (32 bits, little-endian), one byte for the kind, and the contents:
//! a message as JSON, or the stream (one byte), the rank (32 bits) and the unmodified output of the rank.

use pelago_base::Rank;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The contents of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LauncherFrame<'a> {
    Message(&'a [u8]),
    Output { stream: usize, rank: Rank, bytes: &'a [u8] },
}

/// The error for bytes that are not a frame.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum LauncherFrameError {
    #[error("a frame of {0} bytes")]
    Length(u32),
    #[error("a frame of an unknown kind")]
    Kind,
    #[error("a message that is not valid in this state: {0}")]
    Message(String),
}

const MESSAGE: u8 = 0;
const OUTPUT: u8 = 1;

/// Size of the length, which precedes the kind.
const LENGTH_BYTES: usize = size_of::<u32>();

/// Size of an output frame without the output.
const OUTPUT_HEAD_BYTES: usize = 1 + 1 + size_of::<u32>();

/// Appends a message to `into`.
pub(crate) fn put_message(into: &mut Vec<u8>, message: &impl Serialize) {
    let start = begin(into, MESSAGE);
    serde_json::to_writer(&mut *into, message).expect("messages have text for keys, and memory takes all");
    end(into, start);
}

/// Appends output of a rank to `into`.
pub(crate) fn put_output(into: &mut Vec<u8>, stream: usize, rank: Rank, bytes: &[u8]) {
    let start = begin(into, OUTPUT);
    into.push(stream as u8);
    into.extend_from_slice(&rank.number().to_le_bytes());
    into.extend_from_slice(bytes);
    end(into, start);
}

/// Parses the contents of a message frame.
pub(crate) fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, LauncherFrameError> {
    serde_json::from_slice(bytes).map_err(|error| LauncherFrameError::Message(error.to_string()))
}

/// Extracts frames from a stream of bytes.
pub(crate) struct FrameReader {
    bytes: Vec<u8>,
    /// Number of bytes that have been taken.
    taken: usize,
    /// Maximum size of a frame.
    bytes_max: usize,
}

impl FrameReader {
    pub(crate) fn new(bytes_max: usize) -> Self {
        Self { bytes: Vec::new(), taken: 0, bytes_max }
    }

    /// Adds received bytes. All frames should be taken before more bytes are added: then the memory is limited to one frame and the added bytes.
    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        self.bytes.drain(..std::mem::take(&mut self.taken));
        self.bytes.extend_from_slice(bytes);
    }

    /// Returns the next frame, if it is complete.
    pub(crate) fn take(&mut self) -> Result<Option<LauncherFrame<'_>>, LauncherFrameError> {
        let Some((length, rest)) = self.bytes[self.taken..].split_first_chunk::<LENGTH_BYTES>() else { return Ok(None) };
        let length = u32::from_le_bytes(*length);
        if length == 0 || length as usize > self.bytes_max {
            return Err(LauncherFrameError::Length(length));
        }
        let Some(frame) = rest.get(..length as usize) else { return Ok(None) };
        self.taken += LENGTH_BYTES + length as usize;
        understand(frame).map(Some)
    }
}

fn understand(frame: &[u8]) -> Result<LauncherFrame<'_>, LauncherFrameError> {
    match frame {
        [MESSAGE, message @ ..] => Ok(LauncherFrame::Message(message)),
        [OUTPUT, stream @ (0 | 1), a, b, c, d, bytes @ ..] => {
            let rank = Rank::new(u32::from_le_bytes([*a, *b, *c, *d]));
            Ok(LauncherFrame::Output { stream: usize::from(*stream), rank, bytes })
        }
        _ => Err(LauncherFrameError::Kind),
    }
}

fn begin(into: &mut Vec<u8>, kind: u8) -> usize {
    let start = into.len();
    into.extend_from_slice(&[0; LENGTH_BYTES]);
    into.push(kind);
    start
}

fn end(into: &mut [u8], start: usize) {
    let length = into.len() - start - LENGTH_BYTES;
    let length = u32::try_from(length).expect("frames are shorter than the longest, which 32 bits hold");
    into[start..start + LENGTH_BYTES].copy_from_slice(&length.to_le_bytes());
}

const _: () = {
    use crate::launcher::limits::{DOWN_BYTES_MAX, LINE_BYTES_MAX, UP_BYTES_MAX};
    assert!(DOWN_BYTES_MAX <= u32::MAX as usize && UP_BYTES_MAX <= DOWN_BYTES_MAX);
    assert!(2 * LINE_BYTES_MAX + OUTPUT_HEAD_BYTES <= UP_BYTES_MAX, "what is passed on at once fits a frame");
};

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Everything that comes of `bytes`, given in pieces of these lengths, as text.
    fn all(bytes: &[u8], piece: usize, bytes_max: usize) -> Result<Vec<String>, LauncherFrameError> {
        let mut frames = FrameReader::new(bytes_max);
        let mut found = Vec::new();
        for piece in bytes.chunks(piece) {
            frames.feed(piece);
            while let Some(frame) = frames.take()? {
                found.push(format!("{frame:?}"));
            }
            assert!(frames.bytes.len() - frames.taken <= LENGTH_BYTES + bytes_max);
        }
        Ok(found)
    }

    #[test]
    fn frames_come_out_as_they_went_in_however_they_are_cut() {
        let mut bytes = Vec::new();
        put_message(&mut bytes, &("hello", 7));
        put_output(&mut bytes, 1, Rank::new(70_000), b"a\0line\n");
        put_output(&mut bytes, 0, Rank::new(0), b"");
        put_message(&mut bytes, &());
        let expected = [
            format!("{:?}", LauncherFrame::Message(br#"["hello",7]"#)),
            format!("{:?}", LauncherFrame::Output { stream: 1, rank: Rank::new(70_000), bytes: b"a\0line\n" }),
            format!("{:?}", LauncherFrame::Output { stream: 0, rank: Rank::new(0), bytes: b"" }),
            format!("{:?}", LauncherFrame::Message(b"null")),
        ];
        for piece in 1..=bytes.len() {
            assert_eq!(all(&bytes, piece, 100).unwrap(), expected, "in pieces of {piece}");
        }
        assert_eq!(parse::<(String, u32)>(br#"["hello",7]"#).unwrap(), ("hello".into(), 7));
        assert!(matches!(parse::<u32>(b"hello"), Err(LauncherFrameError::Message(_))));
    }

    #[test]
    fn what_is_no_frame_is_refused_as_soon_as_it_can_be_seen() {
        assert_eq!(all(b"Welcome to host b!", 3, 1000), Err(LauncherFrameError::Length(u32::from_le_bytes(*b"Welc"))));
        assert_eq!(all(&[0; 4], 4, 1000), Err(LauncherFrameError::Length(0)));
        assert_eq!(all(&[101, 0, 0, 0], 4, 100), Err(LauncherFrameError::Length(101)));
        assert_eq!(all(&[2, 0, 0, 0, 2, 0], 6, 100), Err(LauncherFrameError::Kind));
        assert_eq!(all(&[6, 0, 0, 0, OUTPUT, 2, 0, 0, 0, 0], 10, 100), Err(LauncherFrameError::Kind), "there are two streams");
        assert_eq!(all(&[5, 0, 0, 0, OUTPUT, 1, 0, 0, 0], 9, 100), Err(LauncherFrameError::Kind), "half a rank");
    }

    proptest! {
        #[test]
        fn any_bytes_are_frames_or_an_error(bytes in proptest::collection::vec(0..8_u8, 0..200), piece in 1..50_usize) {
            let whole = all(&bytes, bytes.len().max(1), 100);
            let pieces = all(&bytes, piece, 100);
            prop_assert_eq!(whole, pieces);
        }
    }
}
