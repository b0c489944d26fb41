//! One input for a job: noise, a datagram from outside, or a datagram from inside.

use pelago_base::Rank;
use pelago_protocol::reseal;

use crate::alter::{alter, invent, noise};
use crate::anatomy::{DATAGRAM_BYTES_MAX, HEADER_BYTES, TAG_BYTES, frames_at, from, sequence, set_sequence};
use crate::job::{Job, KEY, PRESENT};
use crate::random::Random;

/// Distance from the last sent sequence number up to which injected numbers count as used; larger ones are rejected as too early.
const AHEAD: u64 = 64;

/// Number of last sent datagrams from which half of the altered ones are taken. Most of these have not arrived.
const LATEST: usize = 8;

/// An input.
pub(crate) struct Input {
    pub(crate) to: usize,
    pub(crate) bytes: Vec<u8>,
    /// Whether a rank, or another holder of the key, has sent it.
    pub(crate) is_genuine: bool,
}

/// Returns the next input, made without the key if `from_outside` is set.
pub(crate) fn make(random: &mut Random, job: &mut Job, from_outside: bool) -> Input {
    if job.recent.is_empty() || random.one_in(16) {
        return Input { to: random.below(PRESENT), bytes: noise(random), is_genuine: false };
    }
    let (to, bytes) = recent(random, job).clone();
    let other = recent(random, job).1.clone();
    if from_outside || random.one_in(6) {
        outside(random, job, (to, bytes), &other)
    } else {
        inside(random, job, (to, bytes), &other)
    }
}

/// Returns a datagram that was sent to a rank.
fn recent<'a>(random: &mut Random, job: &'a Job) -> &'a (usize, Vec<u8>) {
    let all = job.recent.len();
    let among = if random.one_in(2) { LATEST.min(all) } else { all };
    &job.recent[all - 1 - random.below(among)]
}

/// Returns a datagram of the job, repeated or altered, for the same rank or another one.
fn outside(random: &mut Random, job: &Job, (to, mut bytes): (usize, Vec<u8>), other: &[u8]) -> Input {
    if !random.one_in(16) {
        alter(random, &mut bytes, 0, other);
    }
    let is_genuine = job.recent.iter().any(|(_, genuine)| *genuine == bytes);
    Input { to: if random.one_in(16) { random.below(PRESENT) } else { to }, bytes, is_genuine }
}

/// Returns a datagram of the job that was altered before it was sealed. Its number is often one that has not arrived.
fn inside(random: &mut Random, job: &mut Job, (to, mut bytes): (usize, Vec<u8>), other: &[u8]) -> Input {
    bytes.truncate(bytes.len() - TAG_BYTES);
    let other = &other[..other.len() - TAG_BYTES];
    if random.one_in(2)
        && let Some(from) = from(&bytes)
    {
        set_sequence(&mut bytes, job.next_sequence(from, to) + random.below(3) as u64);
    }
    match random.below(16) {
        0 => alter(random, &mut bytes, 0, other),
        1..5 => alter(random, &mut bytes, HEADER_BYTES, other),
        5..9 => {
            let start = frames_at(&bytes).unwrap_or(HEADER_BYTES);
            alter(random, &mut bytes, start, other);
        }
        _ => invent(random, &mut bytes),
    }
    bytes.truncate(DATAGRAM_BYTES_MAX - TAG_BYTES);
    if let (Some(from), Some(sequence)) = (from(&bytes), sequence(&bytes))
        && sequence < job.next_sequence(from, to) + AHEAD
    {
        job.use_sequence(from, to, sequence);
    }
    bytes.extend_from_slice(&[0; TAG_BYTES]);
    let is_genuine = reseal(KEY, job.scenario.encrypt, Rank::new(to as u32), &mut bytes);
    Input { to, bytes, is_genuine }
}
