//! Authentication and encryption of datagrams with the job's key.
//!
//! AEGIS (IRTF draft-irtf-cfrg-aegis-aead): with 128L, the tag of a small datagram costs 30 ns. With 128X4, which has a longer set-up, the tag
//! of a large one is computed at more than 90 GB/s on cores with wide AES instructions. The tag of a large unencrypted datagram uses the MAC
//! mode, which accepts a datagram in parts at any addresses. The nonce contains the transmission, its sender and its receiver, so
//! that no other rank accepts the datagram and each nonce is used once.

use aegis::aegis128l::Aegis128L;
use aegis::aegis128x4::{Aegis128X4, Aegis128X4Mac};
use pelago_base::Rank;

use crate::wire::{HEADER_BYTES, Header, TAG_BYTES};

/// Maximum size in bytes for which the cipher with the shorter set-up is faster.
const SHORT_BYTES_MAX: usize = 1024;

/// The job's secret.
#[derive(Clone, Copy)]
pub struct Key(pub [u8; 16]);

/// Seals a datagram again, as its sender would have: for tools that create or alter datagrams of a job whose key they have. The input is
/// unencrypted except for the last 16 bytes, which the tag overwrites. Returns whether it did: input without a header stays unchanged.
///
/// [`Conversations`](crate::Conversations) seals its own datagrams.
pub fn reseal(key: Key, encrypt: bool, to: Rank, datagram: &mut [u8]) -> bool {
    let Some(header) = Header::parse(datagram).filter(|_| datagram.len() >= HEADER_BYTES + TAG_BYTES) else { return false };
    Seal::new(key, encrypt).seal(header.nonce(to), datagram);
    true
}

/// Seals and opens datagrams.
pub(crate) struct Seal {
    key: Key,
    encrypt: bool,
}

impl Seal {
    pub(crate) fn new(key: Key, encrypt: bool) -> Self {
        Self { key, encrypt }
    }

    /// Whether a datagram of `bytes` bytes may be [sealed in parts](Self::tag).
    pub(crate) fn takes_parts(&self, bytes: usize) -> bool {
        !self.encrypt && bytes > SHORT_BYTES_MAX
    }

    /// Writes the tag into the last bytes of a datagram; in jobs that encrypt, also encrypts the bytes between header and tag.
    pub(crate) fn seal(&self, nonce: [u8; 16], datagram: &mut [u8]) {
        let bytes = datagram.len();
        let (text, tag) = datagram.split_at_mut(bytes - TAG_BYTES);
        if self.takes_parts(bytes) {
            tag.copy_from_slice(&self.tag(nonce, &[text]));
            return;
        }
        let (open, hidden) = self.parts(text);
        tag.copy_from_slice(&match bytes > SHORT_BYTES_MAX {
            false => Aegis128L::<TAG_BYTES>::new(&self.key.0, &nonce).encrypt_in_place(hidden, open),
            true => Aegis128X4::<TAG_BYTES>::new(&self.key.0, &nonce).encrypt_in_place(hidden, open),
        });
    }

    /// Returns the tag of an unencrypted datagram that may be [sealed in parts](Self::takes_parts). `parts` are all its bytes but the tag, at any
    /// addresses.
    pub(crate) fn tag(&self, nonce: [u8; 16], parts: &[&[u8]]) -> [u8; TAG_BYTES] {
        let mut mac = Aegis128X4Mac::<TAG_BYTES>::new_with_nonce(&self.key.0, &nonce);
        parts.iter().for_each(|part| mac.update(part));
        mac.finalize()
    }

    /// Returns the body of a datagram that was sealed with this key and nonce, decrypted in place; `None` if it was not.
    pub(crate) fn open<'a>(&self, nonce: [u8; 16], datagram: &'a mut [u8]) -> Option<&'a [u8]> {
        let long = datagram.len() > SHORT_BYTES_MAX;
        let end = datagram.len().checked_sub(TAG_BYTES).filter(|&end| end >= HEADER_BYTES)?;
        let (text, tag) = datagram.split_at_mut(end);
        let tag: &[u8; TAG_BYTES] = (&*tag).try_into().ok()?;
        if self.takes_parts(end + TAG_BYTES) {
            let mut mac = Aegis128X4Mac::<TAG_BYTES>::new_with_nonce(&self.key.0, &nonce);
            mac.update(text);
            return mac.verify(tag).ok().map(|()| &text[HEADER_BYTES..]);
        }
        let (open, hidden) = self.parts(text);
        let opened = match long {
            false => Aegis128L::<TAG_BYTES>::new(&self.key.0, &nonce).decrypt_in_place(hidden, tag, open),
            true => Aegis128X4::<TAG_BYTES>::new(&self.key.0, &nonce).decrypt_in_place(hidden, tag, open),
        };
        opened.ok().map(|()| &text[HEADER_BYTES..])
    }

    /// Splits header and body into the bytes that stay readable and those that are encrypted.
    fn parts<'a>(&self, text: &'a mut [u8]) -> (&'a [u8], &'a mut [u8]) {
        let open = if self.encrypt { HEADER_BYTES } else { text.len() };
        let (open, hidden) = text.split_at_mut(open);
        (open, hidden)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sealed_anew_is_opened_by_whom_it_is_for() {
        let header = Header {
            from: Rank::new(3),
            incarnation: 9,
            sequenced: true,
            fenced: false,
            urgent: true,
            transmission: 5,
            bytes: 100,
        };
        let (key, [me, other]) = (Key([7; 16]), [1, 2].map(Rank::new));
        for encrypt in [false, true] {
            let mut datagram = [0x11; 100];
            header.write(&mut datagram);
            assert!(reseal(key, encrypt, me, &mut datagram));
            let open =
                |to, mut datagram: [u8; 100]| Seal::new(key, encrypt).open(header.nonce(to), &mut datagram).map(<[u8]>::to_vec);
            assert_eq!(open(me, datagram), Some(vec![0x11; 100 - HEADER_BYTES - TAG_BYTES]));
            assert_eq!(open(other, datagram), None);
            assert!(!reseal(key, encrypt, me, &mut datagram[..HEADER_BYTES + TAG_BYTES - 1]), "no room for a tag");
            assert!(!reseal(key, encrypt, me, &mut [0xFF; 100]), "no header");
        }
    }

    #[test]
    fn a_tag_does_not_depend_on_how_a_datagram_is_cut_into_parts() {
        let seal = Seal::new(Key([7; 16]), false);
        let text: Vec<u8> = (0..SHORT_BYTES_MAX + 200).map(|number| number as u8).collect();
        let whole = seal.tag([1; 16], &[&text]);
        for first in [0, 1, 63, 64, 65, 127, 300, text.len()] {
            for second in [first, first + 1, first + 64, text.len()].map(|end| end.min(text.len())) {
                let parts = [&text[..first], &text[first..second], &text[second..]];
                assert_eq!(seal.tag([1; 16], &parts), whole, "cut at {first} and {second}");
            }
        }
        let mut sealed = [&text[..], &whole].concat();
        assert!(seal.open([1; 16], &mut sealed).is_some());
        for (encrypt, bytes, takes) in
            [(false, SHORT_BYTES_MAX, false), (false, SHORT_BYTES_MAX + 1, true), (true, 20_000, false)]
        {
            assert_eq!(Seal::new(Key([7; 16]), encrypt).takes_parts(bytes), takes);
        }
    }

    #[test]
    fn any_changed_bit_is_noticed() {
        for (encrypt, bytes) in [(false, 100), (true, 100), (false, SHORT_BYTES_MAX + 1), (true, SHORT_BYTES_MAX + 1)] {
            let seal = Seal::new(Key([7; 16]), encrypt);
            let text: Vec<u8> = (0..bytes).map(|number| number as u8).collect();
            let (mut sealed, body) = (text.clone(), &text[HEADER_BYTES..bytes - TAG_BYTES]);
            seal.seal([1; 16], &mut sealed);
            assert_eq!(&sealed[HEADER_BYTES..bytes - TAG_BYTES] == body, !encrypt);
            assert_eq!(seal.open([1; 16], &mut sealed.clone()), Some(body));
            assert_eq!(seal.open([2; 16], &mut sealed.clone()), None, "another nonce");
            assert_eq!(Seal::new(Key([8; 16]), encrypt).open([1; 16], &mut sealed.clone()), None, "another key");
            for bit in 0..8 * sealed.len() {
                let mut altered = sealed.clone();
                altered[bit / 8] ^= 1 << (bit % 8);
                assert_eq!(seal.open([1; 16], &mut altered), None, "bit {bit}");
            }
            for bytes in 0..sealed.len() {
                assert_eq!(seal.open([1; 16], &mut sealed[..bytes].to_vec()), None, "cut to {bytes}");
            }
        }
    }
}
