//! Construction of datagrams that no rank would send.

use pelago_base::limits::SEGMENT_BITS_MAX;

use crate::anatomy::{DATAGRAM_BYTES_MAX, FRAMES, HEADER_BYTES, fields, frames_at, header};
use crate::job::{PRESENT, RANKS};
use crate::memory::SEGMENT_BYTES;
use crate::random::Random;

/// Maximum number of alterations of one datagram.
const ALTERATIONS_MAX: usize = 4;

/// Maximum number of invented frames of one datagram.
const FRAMES_MAX: usize = 20;

/// Returns random bytes. Half of the results begin like a datagram of a rank.
pub(crate) fn noise(random: &mut Random) -> Vec<u8> {
    let most = *random.pick(&[16, 100, 300, 1_500]);
    let bytes = random.below(most + 1);
    let mut noise = random.bytes(bytes);
    if random.one_in(2) && noise.len() >= HEADER_BYTES {
        let ranks = random.below(2 * RANKS as usize) as u32;
        let made = header(ranks, random.below(8) as u8, random.below(4) as u32, random.draw());
        noise[..HEADER_BYTES].copy_from_slice(&made);
    }
    noise
}

/// Alters the bytes from `start` on, in up to four ways.
pub(crate) fn alter(random: &mut Random, datagram: &mut Vec<u8>, start: usize, other: &[u8]) {
    for _ in 0..=random.below(ALTERATIONS_MAX) {
        let start = start.min(datagram.len());
        let at = start + random.below(datagram.len() - start);
        match random.below(6) {
            0 => flip(random, datagram, at),
            1 => datagram.truncate(at),
            2 => splice(random, datagram, at, other),
            3 => extend(random, datagram),
            4 => {
                let fields: Vec<_> = fields(datagram).into_iter().filter(|(at, _)| *at >= start).collect();
                fields.get(random.below(fields.len())).into_iter().for_each(|&field| overwrite(random, datagram, field));
            }
            _ => {
                let bytes = *random.pick(&[1, 2, 4, 8]);
                overwrite(random, datagram, (at, bytes));
            }
        }
        datagram.truncate(DATAGRAM_BYTES_MAX);
    }
}

fn flip(random: &mut Random, datagram: &mut [u8], at: usize) {
    datagram.get_mut(at).into_iter().for_each(|byte| *byte ^= 1 << random.below(8));
}

/// Replaces the end by that of another datagram.
fn splice(random: &mut Random, datagram: &mut Vec<u8>, at: usize, other: &[u8]) {
    datagram.truncate(at);
    datagram.extend_from_slice(&other[random.below(other.len())..]);
}

fn extend(random: &mut Random, datagram: &mut Vec<u8>) {
    let most = *random.pick(&[1, 16, 100, 1_000, DATAGRAM_BYTES_MAX]);
    let (count, byte) = (random.below(most + 1), random.draw() as u8);
    let bytes = if random.one_in(2) { random.bytes(count) } else { vec![byte; count] };
    datagram.extend_from_slice(&bytes);
}

/// Writes an extreme number to a field, which is given by offset and length.
fn overwrite(random: &mut Random, datagram: &mut [u8], (at, bytes): (usize, usize)) {
    let end = datagram.len().min(at + bytes);
    datagram[at..end].copy_from_slice(&extreme(random).to_le_bytes()[..end - at]);
}

/// Writes invented frames to a datagram, in place of its own or after the first of them.
pub(crate) fn invent(random: &mut Random, datagram: &mut Vec<u8>) {
    let Some(at) = frames_at(datagram) else { return };
    if random.one_in(2) {
        datagram.truncate(at);
    }
    for _ in 0..=random.below(FRAMES_MAX) {
        let &(kind, lengths) = random.pick(&FRAMES);
        datagram.push(if random.one_in(64) { random.draw() as u8 } else { kind });
        lengths.iter().for_each(|&bytes| datagram.extend_from_slice(&extreme(random).to_le_bytes()[..bytes]));
        if random.one_in(2) {
            let count = random.below(64);
            datagram.extend_from_slice(&random.bytes(count));
        }
    }
    datagram.truncate(DATAGRAM_BYTES_MAX);
}

/// Returns a number near a boundary: a power of two, a bound, an address near the end of a segment, the number of an operation.
fn extreme(random: &mut Random) -> u64 {
    let near = (random.below(5) as u64).wrapping_sub(2);
    let value = match random.below(8) {
        0 => 0,
        1 => u64::MAX,
        2 => 1 << random.below(64),
        3 => *random.pick(&[960, 1_200, SEGMENT_BYTES as u64, 65_507, 1 << 20, u64::from(u32::MAX)]),
        4 | 5 => {
            // Address layout: the segment in the top bits, three bits of the rank above twenty bits of the offset.
            let (segment, rank) = (random.below(4) as u64, random.below(PRESENT + 1) as u64);
            let offset = *random.pick(&[0, 8, 64, 1_000, SEGMENT_BYTES as u64]);
            return (segment << (64 - SEGMENT_BITS_MAX) | rank << 20 | offset).wrapping_add(near);
        }
        6 => (random.below(32) | random.below(4) << 13) as u64,
        _ => return random.draw(),
    };
    value.wrapping_add(near)
}
