//! The receiving direction of one peer: which datagrams have arrived, and when to acknowledge them.

use pelago_base::{Duration, Instant};

use crate::wire::{Place, WORDS_MAX};

/// Number of sequence numbers, from the oldest missing one on, that may be received.
pub(crate) const SEQUENCE_WINDOW: u64 = 64 * WORDS_MAX as u64;

/// Delay of an acknowledgement that is not urgent, so that a datagram may carry it.
pub(crate) const ACKNOWLEDGE_WITHIN: Duration = Duration::from_milliseconds(1);

/// Number of received datagrams after which an acknowledgement is no longer delayed.
const UNACKNOWLEDGED_MAX: u32 = 8;

/// Datagrams received out of order, and pending acknowledgements. An idle peer does not need this state: exactly the datagrams below
/// `Peer::received` have arrived.
#[derive(Default)]
pub(crate) struct Receiver {
    /// One bit for each of the next [`SEQUENCE_WINDOW`] sequence numbers: bit `sequence % SEQUENCE_WINDOW`. The bit of the oldest missing number
    /// is clear.
    seen: [u64; WORDS_MAX],
    /// The largest sequence number received, plus one.
    end: u64,
    unacknowledged: u32,
    owed: Owed,
    /// Number of the peer's latest transmission with a sequence number, until it is echoed; 0 is none.
    pub(crate) echo: u64,
}

/// Whether the peer waits for an acknowledgement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Owed {
    #[default]
    Nothing,
    Later(Instant),
    Now,
}

/// What to do with a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// New: execute it.
    New,
    /// Already executed.
    Duplicate,
    /// Datagrams that must take effect first have not arrived, or it is too far ahead. The peer retransmits it.
    Early,
}

impl Receiver {
    /// Judges a datagram; `received` is the oldest sequence number that is missing.
    pub(crate) fn judge(&self, received: u64, place: Place) -> Verdict {
        match place.sequence.checked_sub(received) {
            None => Verdict::Duplicate,
            Some(distance) if distance >= SEQUENCE_WINDOW => Verdict::Early,
            Some(_) if self.has(place.sequence) => Verdict::Duplicate,
            Some(_) if place.after > received => Verdict::Early,
            Some(_) => Verdict::New,
        }
    }

    /// Records a new datagram and returns the oldest sequence number that is now missing.
    pub(crate) fn note(&mut self, mut received: u64, sequence: u64) -> u64 {
        self.end = self.end.max(sequence + 1);
        if sequence != received {
            self.seen[word(sequence)] |= bit(sequence);
            return received;
        }
        received += 1;
        while self.has(received) {
            self.seen[word(received)] &= !bit(received);
            received += 1;
        }
        received
    }

    /// Whether no datagram beyond a gap has arrived and no acknowledgement is pending.
    pub(crate) fn is_idle(&self, received: u64) -> bool {
        self.end <= received && self.owed == Owed::Nothing
    }

    /// Records that the peer waits for an acknowledgement.
    pub(crate) fn owe(&mut self, now: Instant, urgent: bool) {
        self.unacknowledged += 1;
        self.owed = match self.owed {
            _ if urgent || self.unacknowledged >= UNACKNOWLEDGED_MAX => Owed::Now,
            Owed::Nothing => Owed::Later(now + ACKNOWLEDGE_WITHIN),
            owed => owed,
        };
    }

    pub(crate) fn owed(&self) -> Owed {
        self.owed
    }

    /// Makes a delayed acknowledgement due when its time has come.
    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        if matches!(self.owed, Owed::Later(due) if now >= due) {
            self.owed = Owed::Now;
        }
    }

    /// Returns the bitmap of datagrams received from `received` on, and its length in words. No acknowledgement is pending afterwards.
    pub(crate) fn acknowledge(&mut self, received: u64) -> ([u64; WORDS_MAX], u8) {
        self.owed = Owed::Nothing;
        self.unacknowledged = 0;
        let mut words = [0; WORDS_MAX];
        let beyond = self.end.saturating_sub(received);
        for distance in 1..beyond {
            if self.has(received + distance) {
                words[word(distance)] |= bit(distance);
            }
        }
        (words, beyond.div_ceil(64) as u8)
    }

    /// Whether one of the next [`SEQUENCE_WINDOW`] sequence numbers has been received.
    fn has(&self, sequence: u64) -> bool {
        self.seen[word(sequence)] & bit(sequence) != 0
    }
}

fn word(sequence: u64) -> usize {
    (sequence / 64) as usize % WORDS_MAX
}

fn bit(sequence: u64) -> u64 {
    1 << (sequence % 64)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_datagram_is_new_once(offsets in prop::collection::vec(0..SEQUENCE_WINDOW + 40, 1..400)) {
            let (mut receiver, mut received, mut oracle) = (Receiver::default(), 0u64, BTreeSet::new());
            for offset in offsets {
                let sequence = (received + offset).saturating_sub(20);
                let expected = match sequence {
                    _ if oracle.contains(&sequence) => Verdict::Duplicate,
                    _ if sequence >= received + SEQUENCE_WINDOW => Verdict::Early,
                    _ => Verdict::New,
                };
                prop_assert_eq!(receiver.judge(received, Place { sequence, after: 0 }), expected);
                if expected == Verdict::New {
                    oracle.insert(sequence);
                    received = receiver.note(received, sequence);
                }
                prop_assert_eq!(received, (0..).find(|number| !oracle.contains(number)).unwrap());
                let (words, used) = receiver.acknowledge(received);
                for distance in 0..SEQUENCE_WINDOW {
                    let said = words[word(distance)] & bit(distance) != 0;
                    prop_assert_eq!(said, oracle.contains(&(received + distance)), "{} from {}", distance, received);
                    prop_assert!(!said || distance / 64 < u64::from(used));
                }
                prop_assert_eq!(receiver.is_idle(received), oracle.iter().all(|&number| number < received));
            }
        }
    }

    #[test]
    fn what_waits_for_others_is_early_until_they_have_come() {
        let mut receiver = Receiver::default();
        let fenced = Place { sequence: 2, after: 2 };
        assert_eq!(receiver.judge(0, fenced), Verdict::Early);
        let received = receiver.note(0, 1);
        assert_eq!(receiver.judge(received, fenced), Verdict::Early);
        let received = receiver.note(received, 0);
        assert_eq!(receiver.judge(received, fenced), Verdict::New);
    }

    #[test]
    fn acknowledgements_are_kept_back_for_a_while_unless_urgent() {
        let mut receiver = Receiver::default();
        let now = Instant::ZERO;
        receiver.owe(now, false);
        assert_eq!(receiver.owed(), Owed::Later(now + ACKNOWLEDGE_WITHIN));
        receiver.handle_timeout(now + ACKNOWLEDGE_WITHIN);
        assert_eq!(receiver.owed(), Owed::Now);
        receiver.acknowledge(0);
        assert_eq!(receiver.owed(), Owed::Nothing);
        receiver.owe(now, true);
        assert_eq!(receiver.owed(), Owed::Now);
        receiver.acknowledge(0);
        (0..UNACKNOWLEDGED_MAX).for_each(|_| receiver.owe(now, false));
        assert_eq!(receiver.owed(), Owed::Now);
    }
}
