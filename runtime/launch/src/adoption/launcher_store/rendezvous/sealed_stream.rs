//! A TCP connection whose ends prove to each other that they know a secret, and encrypt all data after that.
//!
//! A frame is a length of four bytes, that many encrypted bytes and a tag. The key is specific to the connection, and each frame has a number, so that
//! no frame can be repeated, omitted or used elsewhere.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};

use aegis::aegis128l::{Aegis128L, Aegis128LMac};

pub(super) const NONCE_BYTES: usize = 16;
pub(super) const TAG_BYTES: usize = 16;

/// The first bytes that a server sends, followed by a nonce.
pub(super) const MAGIC: [u8; 16] = *b"pelago-meeting-2";

/// Maximum size in bytes of a frame to a client: larger than a list of all hosts.
pub(super) const TO_CLIENT_BYTES_MAX: usize = 1 << 20;
/// Maximum size in bytes of a frame to the server: larger than a key with its value.
pub(super) const TO_SERVER_BYTES_MAX: usize = 1 << 12;

/// Maximum number of bytes that one call reads, so that connections are served in turns.
const READ_BYTES_MAX: usize = 1 << 16;

/// The introduction of a rank, and the nonces of both sides: the input of the tags and the key of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Introduction {
    pub(super) server_nonce: [u8; NONCE_BYTES],
    pub(super) client_nonce: [u8; NONCE_BYTES],
    pub(super) rank: u32,
    pub(super) size: u32,
    /// The digest of the launcher's name of the job.
    pub(super) job: u64,
}

/// Bytes of an introduction that a client sends: its nonce, rank, size and job, and the tag.
pub(super) const INTRODUCTION_BYTES: usize = NONCE_BYTES + 4 + 4 + 8 + TAG_BYTES;

/// The sides of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Client,
    Server,
}

impl Introduction {
    /// The tag by which a side proves that it knows the secret.
    pub(super) fn proof(&self, secret: &[u8; 16], side: Side) -> [u8; TAG_BYTES] {
        self.derive(secret, if side == Side::Client { b"client" } else { b"server" })
    }

    fn derive(&self, secret: &[u8; 16], purpose: &[u8; 6]) -> [u8; TAG_BYTES] {
        // Purposes have the same length, so that no two inputs are equal.
        let mut mac = Aegis128LMac::<TAG_BYTES>::new(secret);
        let numbers = [&self.rank.to_le_bytes()[..], &self.size.to_le_bytes(), &self.job.to_le_bytes()];
        for part in [&purpose[..], &self.server_nonce, &self.client_nonce].into_iter().chain(numbers) {
            mac.update(part);
        }
        mac.finalize()
    }
}

/// Whether two tags are equal, in constant time.
pub(super) fn is_same(one: &[u8], other: &[u8]) -> bool {
    one.len() == other.len()
        && std::hint::black_box(one.iter().zip(other).fold(0, |differ, (one, other)| differ | one ^ other)) == 0
}

/// One end of a connection.
pub(super) struct SealedStream {
    stream: TcpStream,
    read: Vec<u8>,
    to_write: Vec<u8>,
    /// Present after the introduction.
    cipher: Option<Cipher>,
}

struct Cipher {
    key: [u8; 16],
    side: Side,
    sent: u64,
    received: u64,
}

/// The connection is closed, or its other end violates the protocol, as no end with the secret does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Closed;

impl SealedStream {
    /// Creates a connection before its introduction. No call blocks from now on.
    pub(super) fn new(stream: TcpStream) -> std::io::Result<Self> {
        stream.set_nonblocking(true)?;
        // Messages are short, and each is awaited.
        stream.set_nodelay(true)?;
        Ok(Self { stream, read: Vec::new(), to_write: Vec::new(), cipher: None })
    }

    /// Starts to encrypt, and to expect encryption.
    pub(super) fn seal(&mut self, secret: &[u8; 16], introduction: &Introduction, side: Side) {
        self.cipher = Some(Cipher { key: introduction.derive(secret, b"stream"), side, sent: 0, received: 0 });
    }

    /// Sends unencrypted bytes, for the introduction.
    pub(super) fn send_clear(&mut self, bytes: &[u8]) {
        self.to_write.extend_from_slice(bytes);
    }

    /// Returns `count` unencrypted bytes, after they have arrived.
    pub(super) fn take_clear(&mut self, count: usize) -> Option<Vec<u8>> {
        (self.read.len() >= count).then(|| self.read.drain(..count).collect())
    }

    /// Queues a message.
    pub(super) fn send(&mut self, text: &str) {
        let Some(cipher) = &mut self.cipher else { return };
        let mut bytes = text.as_bytes().to_vec();
        let length = ((bytes.len() + TAG_BYTES) as u32).to_le_bytes();
        let tag =
            Aegis128L::<TAG_BYTES>::new(&cipher.key, &nonce(cipher.side, cipher.sent)).encrypt_in_place(&mut bytes, &length);
        cipher.sent += 1;
        [&length[..], &bytes, &tag].into_iter().for_each(|part| self.to_write.extend_from_slice(part));
    }

    /// Returns the next message, if it has arrived, of at most `bytes_max` bytes.
    pub(super) fn take(&mut self, bytes_max: usize) -> Result<Option<String>, Closed> {
        let Some(cipher) = &mut self.cipher else { return Ok(None) };
        let Some((head, rest)) = self.read.split_first_chunk::<4>() else { return Ok(None) };
        let length = u32::from_le_bytes(*head) as usize;
        if !(TAG_BYTES..=bytes_max + TAG_BYTES).contains(&length) {
            return Err(Closed);
        }
        if rest.len() < length {
            return Ok(None);
        }
        let (head, mut bytes) = (*head, rest[..length].to_vec());
        self.read.drain(..head.len() + length);
        let tag: [u8; TAG_BYTES] = bytes.split_off(length - TAG_BYTES).try_into().map_err(|_| Closed)?;
        let other = if cipher.side == Side::Client { Side::Server } else { Side::Client };
        let cipher_of_frame = Aegis128L::<TAG_BYTES>::new(&cipher.key, &nonce(other, cipher.received));
        cipher_of_frame.decrypt_in_place(&mut bytes, &tag, &head).map_err(|_| Closed)?;
        cipher.received += 1;
        String::from_utf8(bytes).map(Some).map_err(|_| Closed)
    }

    /// Reads received bytes, up to a limit; an error if the connection is closed.
    pub(super) fn receive(&mut self) -> Result<(), Closed> {
        let mut piece = [0; 4096];
        let mut left = READ_BYTES_MAX;
        while left > 0 {
            match self.stream.read(&mut piece) {
                Ok(0) => return Err(Closed),
                Ok(bytes) => {
                    self.read.extend_from_slice(&piece[..bytes]);
                    left = left.saturating_sub(bytes);
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return Err(Closed),
            }
        }
        Ok(())
    }

    /// Writes as many bytes as there is room for.
    pub(super) fn flush(&mut self) -> Result<(), Closed> {
        while !self.to_write.is_empty() {
            match self.stream.write(&self.to_write) {
                Ok(0) => return Err(Closed),
                Ok(bytes) => drop(self.to_write.drain(..bytes)),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return Err(Closed),
            }
        }
        Ok(())
    }

    /// Number of queued bytes.
    pub(super) fn waiting_bytes(&self) -> usize {
        self.to_write.len()
    }

    /// Number of received bytes that were not taken.
    pub(super) fn untaken_bytes(&self) -> usize {
        self.read.len()
    }
}

impl AsFd for SealedStream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

/// Returns a nonce that is unique for each frame of a connection.
fn nonce(side: Side, number: u64) -> [u8; NONCE_BYTES] {
    let mut nonce = [0; NONCE_BYTES];
    nonce[0] = side as u8;
    nonce[8..].copy_from_slice(&number.to_le_bytes());
    nonce
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{Ipv4Addr, TcpListener};

    const SECRET: [u8; 16] = [7; 16];

    fn introduction() -> Introduction {
        Introduction { server_nonce: [1; 16], client_nonce: [2; 16], rank: 3, size: 4, job: 5 }
    }

    fn pair() -> [SealedStream; 2] {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let one = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        [one, listener.accept().unwrap().0].map(|stream| SealedStream::new(stream).unwrap())
    }

    fn receive_all(to: &mut SealedStream, bytes: usize) {
        while to.read.len() < bytes {
            to.receive().unwrap();
        }
    }

    #[test]
    fn what_is_said_is_heard_and_hidden() {
        let [mut client, mut server] = pair();
        client.seal(&SECRET, &introduction(), Side::Client);
        server.seal(&SECRET, &introduction(), Side::Server);
        for text in ["first", "", "first"] {
            client.send(text);
            client.flush().unwrap();
            receive_all(&mut server, 4 + text.len() + TAG_BYTES);
            assert!(text.is_empty() || !server.read.windows(text.len()).any(|seen| seen == text.as_bytes()));
            assert_eq!(server.take(100), Ok(Some(text.into())));
        }
        assert_eq!(server.take(100), Ok(None));
        client.send("too long");
        client.flush().unwrap();
        receive_all(&mut server, 28);
        assert_eq!(server.take(7), Err(Closed));
        drop(client);
        assert!((0..).any(|_| server.receive().is_err()));
    }

    #[test]
    fn frames_that_were_altered_repeated_or_sealed_otherwise_are_refused() {
        let [mut client, mut server] = pair();
        client.seal(&SECRET, &introduction(), Side::Client);
        client.send("text");
        let frame = client.to_write.clone();
        let mut hear = |bytes: &[u8], secret: &[u8; 16], introduction: &Introduction| {
            server.seal(secret, introduction, Side::Server);
            server.read = bytes.to_vec();
            let first = server.take(100);
            (first.clone(), if first.is_ok() { server.take(100) } else { first })
        };
        let text = Ok(Some("text".into()));
        assert_eq!(hear(&frame, &SECRET, &introduction()).0, text);
        assert_eq!(hear(&[&frame[..], &frame].concat(), &SECRET, &introduction()), (text, Err(Closed)), "repeated");
        assert_eq!(hear(&frame, &[8; 16], &introduction()).0, Err(Closed));
        assert_eq!(hear(&frame, &SECRET, &Introduction { rank: 2, ..introduction() }).0, Err(Closed));
        for place in 4..frame.len() {
            let mut altered = frame.clone();
            altered[place] ^= 1;
            assert_eq!(hear(&altered, &SECRET, &introduction()).0, Err(Closed), "byte {place}");
        }
    }

    #[test]
    fn proofs_depend_on_all_that_they_prove() {
        let proof = |introduction: &Introduction| introduction.proof(&SECRET, Side::Client);
        let one = introduction();
        let others = [
            Introduction { server_nonce: [0; 16], ..one },
            Introduction { client_nonce: [0; 16], ..one },
            Introduction { rank: 0, ..one },
            Introduction { size: 5, ..one },
            Introduction { job: 6, ..one },
        ];
        assert!(others.iter().all(|other| proof(other) != proof(&one)) && one.proof(&SECRET, Side::Server) != proof(&one));
        assert!(is_same(&proof(&one), &proof(&one)) && !is_same(&proof(&one), &proof(&others[0])) && !is_same(&[], &[0]));
    }
}
