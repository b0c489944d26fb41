//! Messages from which the receiver can read the sender and the number, and which it can check for completeness.

use pelago::Rank;

/// A buffer for the messages of one sender.
pub(super) struct Letter(Vec<u8>);

impl AsRef<[u8]> for Letter {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

/// Header of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) sender: u32,
    pub(super) number: u32,
}

/// Bytes of sender and number, and of the checksum.
const HEAD_BYTES: usize = 8;
const CHECK_BYTES: usize = 8;

/// Weight of the first word of a message in its checksum.
const WEIGHT: u64 = 0xd6e8_feb8_6659_fd93;

/// Difference between the weights of consecutive words; even.
const STEP: u64 = 0x9e37_79b9_7f4a_7c16;

impl Letter {
    /// Length of the shortest message: one word of data.
    pub(super) const BYTES_MIN: usize = HEAD_BYTES + CHECK_BYTES + 8;

    /// Creates a buffer for messages of `bytes` bytes.
    pub(super) fn new(bytes: usize) -> Self {
        Self(vec![0; bytes])
    }

    /// Writes message `number` of `sender`.
    pub(super) fn write(&mut self, sender: Rank, number: u32) -> &[u8] {
        let (head, rest) = self.0.split_at_mut(HEAD_BYTES);
        head[..4].copy_from_slice(&sender.number().to_le_bytes());
        head[4..].copy_from_slice(&number.to_le_bytes());
        let (check, body) = rest.split_at_mut(CHECK_BYTES);
        let seed = seed(sender.number(), number);
        let (whole, last) = body.as_chunks_mut::<8>();
        for (place, word) in (0..).zip(&mut *whole) {
            *word = mixed(seed ^ place).to_le_bytes();
        }
        last.copy_from_slice(&mixed(seed ^ whole.len() as u64).to_le_bytes()[..last.len()]);
        check.copy_from_slice(&checksum(head, body).to_le_bytes());
        &self.0
    }
}

/// Returns the header of a message if its checksum is correct.
pub(super) fn read(bytes: &[u8]) -> Option<Head> {
    let (head, rest) = bytes.split_at_checked(HEAD_BYTES)?;
    let (check, body) = rest.split_first_chunk::<CHECK_BYTES>()?;
    let (halves, _) = head.as_chunks::<4>();
    let [sender, number] = [0, 1].map(|half| u32::from_le_bytes(halves[half]));
    (u64::from_le_bytes(*check) == checksum(head, body)).then_some(Head { sender, number })
}

/// Returns the sum of all words, each multiplied by a different odd number: a changed word or two swapped words change the sum. The products
/// are independent of each other.
fn checksum(head: &[u8], body: &[u8]) -> u64 {
    let word = |bytes: &[u8]| bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte));
    let (whole, last) = body.as_chunks::<8>();
    let (mut sum, mut weight) = (word(head).wrapping_mul(WEIGHT), WEIGHT);
    for &bytes in whole {
        weight = weight.wrapping_add(STEP);
        sum = sum.wrapping_add(u64::from_le_bytes(bytes).wrapping_mul(weight));
    }
    mixed(sum.wrapping_add(word(last).wrapping_mul(weight.wrapping_add(STEP))) ^ body.len() as u64)
}

fn seed(sender: u32, number: u32) -> u64 {
    u64::from(sender) << 32 | u64::from(number)
}

/// A bijection that maps close numbers to distant ones.
fn mixed(number: u64) -> u64 {
    let number = number.wrapping_add(0x9e37_79b9_7f4a_7c15).wrapping_mul(0xd6e8_feb8_6659_fd93);
    number ^ number >> 32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_read_as_it_was_written_and_no_other_is() {
        for bytes in [Letter::BYTES_MIN, 25, 64, 100] {
            let mut letter = Letter::new(bytes);
            for (sender, number) in [(0, 0), (1, 7), (u32::MAX, u32::MAX)] {
                let written = letter.write(Rank::new(sender), number).to_vec();
                assert_eq!(read(&written), Some(Head { sender, number }));
                for bit in 0..8 * bytes {
                    let mut altered = written.clone();
                    altered[bit / 8] ^= 1 << (bit % 8);
                    assert_eq!(read(&altered), None, "bit {bit} of {bytes} bytes");
                }
                assert_eq!(read(&written[..bytes - 1]), None);
            }
        }
        assert_eq!(read(&[]), None);
    }
}
