//! Messages between ranks and launcher, and the greeting of a connection.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use pelago::Rank;

/// Secret that identifies the ranks of a job.
pub(crate) type Key = [u8; 16];

/// Time limit for the greeting of a new connection.
const GREETING_LIMIT: Duration = Duration::from_secs(1);

/// A message between a rank and the launcher.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Message {
    pub(crate) kind: Kind,
    /// The sender of a message to the launcher, or the subject of a message from the launcher.
    pub(crate) rank: Rank,
    pub(crate) key: String,
    pub(crate) value: Vec<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The rank has published a value under a key.
    Published,
    /// To the launcher: the rank has entered a barrier. To a rank: all ranks have.
    Met,
    /// The rank has ended regularly.
    Finished,
    /// The rank has ended prematurely.
    Lost,
}

const KINDS: [Kind; 4] = [Kind::Published, Kind::Met, Kind::Finished, Kind::Lost];

impl Message {
    pub(crate) fn new(kind: Kind, rank: Rank) -> Self {
        Self { kind, rank, key: String::new(), value: Vec::new() }
    }

    /// Sends the message; blocks until all of it is sent.
    pub(crate) fn send(&self, mut to: impl Write) -> io::Result<()> {
        let (Ok(key), Ok(value)) = (u16::try_from(self.key.len()), u16::try_from(self.value.len())) else {
            return Err(ErrorKind::InvalidInput.into());
        };
        let [key, value] = [key, value].map(u16::to_le_bytes);
        let head = [&[self.kind as u8][..], &self.rank.number().to_le_bytes(), &key, &value];
        to.write_all(&[&head.concat(), self.key.as_bytes(), &self.value].concat())
    }

    /// Receives the next message; blocks until it has arrived.
    pub(crate) fn receive(mut from: impl Read) -> io::Result<Self> {
        let mut head = [0; 9];
        from.read_exact(&mut head)?;
        let [kind, a, b, c, d, lengths @ ..] = head;
        let kind = *KINDS.get(usize::from(kind)).ok_or(ErrorKind::InvalidData)?;
        let mut bytes = |length| {
            let mut bytes = vec![0; usize::from(u16::from_le_bytes(length))];
            from.read_exact(&mut bytes).map(|()| bytes)
        };
        let [k, l, v, w] = lengths;
        let key = String::from_utf8(bytes([k, l])?).map_err(|_| ErrorKind::InvalidData)?;
        Ok(Self { kind, rank: Rank::new(u32::from_le_bytes([a, b, c, d])), key, value: bytes([v, w])? })
    }
}

/// Sends the greeting with the key and the rank of this process.
pub(crate) fn greet(mut stream: &TcpStream, key: Key, me: Rank) -> io::Result<()> {
    stream.write_all(&[&key[..], &me.number().to_le_bytes()].concat())
}

/// Receives a greeting and returns its rank; an error if the key is wrong.
pub(crate) fn greeted(mut stream: &TcpStream, key: Key) -> io::Result<Rank> {
    let (mut said, mut rank) = (Key::default(), [0; 4]);
    stream.set_read_timeout(Some(GREETING_LIMIT))?;
    stream.read_exact(&mut said)?;
    stream.read_exact(&mut rank)?;
    stream.set_read_timeout(None)?;
    if said == key { Ok(Rank::new(u32::from_le_bytes(rank))) } else { Err(ErrorKind::PermissionDenied.into()) }
}
