//! Congestion control: the number of bytes in flight to a peer, and their pace.
//!
//! The window grows while no losses occur and shrinks by three tenths when losses exceed random ones (slow start and congestion avoidance of
//! RFC 5681, with the factor of RFC 9438; the tolerance of decision 29). It never exceeds the receive window that the receiver grants: the
//! capacity of its socket, divided by the number of its senders. Many senders that start at once thus find their share within a round trip.

use pelago_base::{Duration, Instant};

/// Window in bytes for a peer without any acknowledgement yet.
const WINDOW_INITIAL: u64 = 64 << 10;

/// Maximum number of bytes in flight to one peer: more than any socket holds.
const WINDOW_MAX: u64 = 16 << 20;

/// Minimum window in datagrams, regardless of losses.
const DATAGRAMS_MIN: u64 = 2;

/// Number of arrivals per loss that counts as random: with up to two losses in a hundred the window does not shrink.
const ARRIVALS_PER_LOSS: u32 = 50;

/// Maximum number of consecutive losses that count as random, also of a peer without any acknowledgement yet. A queue that overflows loses
/// more.
const TOLERATED_MAX: u32 = 8;
const TOLERATED_AT_FIRST: u32 = 4;

/// Divisor of the window's growth per round trip after it has shrunk: by the window divided by this, but at least by a datagram (Kelly,
/// Scalable TCP, 2003). A large window that has shrunk by three tenths recovers in six round trips.
const GROWTH_PART: u64 = 16;

/// How far a sender may be ahead of its pace, besides a quarter of a round trip: the resolution of timers.
const AHEAD: Duration = Duration::from_microseconds(50);

/// Maximum round trip, in nanoseconds, that the pace takes into account.
const ROUND_TRIP_NANOSECONDS_MAX: u64 = u32::MAX as u64;

const _: () =
    assert!(ROUND_TRIP_NANOSECONDS_MAX.checked_mul(800 << 16).is_some(), "the pace of the largest datagram is a number");

/// The window and the pace of one peer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Congestion {
    window: u64,
    /// Window size above which growth is slow.
    threshold: u64,
    /// Number of the first transmission whose loss shrinks the window again.
    recovery: u64,
    /// Number of arrivals not yet offset against tolerated losses.
    tolerance: u32,
    /// Time at which the next byte is due at an even pace.
    next: Instant,
}

impl Congestion {
    /// Creates the window for a peer that has granted `receive_window`, or is expected to.
    pub(crate) fn new(receive_window: u64, datagram_bytes: u64) -> Self {
        let window = WINDOW_INITIAL.min(receive_window).max(DATAGRAMS_MIN * datagram_bytes);
        Self {
            window,
            threshold: WINDOW_MAX,
            recovery: 0,
            tolerance: TOLERATED_AT_FIRST * ARRIVALS_PER_LOSS,
            next: Instant::ZERO,
        }
    }

    /// Whether more may be sent now.
    pub(crate) fn allows(&self, in_flight: u64, receive_window: u64) -> bool {
        in_flight < self.window.min(receive_window)
    }

    /// Delays the next datagram until `at`.
    pub(crate) fn wait_until(&mut self, at: Instant) {
        self.next = at + AHEAD;
    }

    /// Returns when the pace allows the next datagram.
    pub(crate) fn due(&self, round_trip: Duration) -> Instant {
        let ahead = round_trip.as_picoseconds() / 4 + AHEAD.as_picoseconds();
        Instant::from_picoseconds(self.next.as_picoseconds().saturating_sub(ahead))
    }

    /// Records the sending of `bytes` bytes. While the round trip is unknown, and so zero, only the window limits sending.
    ///
    /// Retransmissions do not wait for the pace, and may be longer than a window that has shrunk. They delay new datagrams by a round trip at most.
    pub(crate) fn handle_sent(&mut self, now: Instant, bytes: u64, round_trip: Duration) {
        // The pace is a quarter faster than one window per round trip, so that the window is the limit.
        let pace = round_trip.as_nanoseconds().min(ROUND_TRIP_NANOSECONDS_MAX) * bytes * 800 / self.window;
        self.next = (self.next.max(now) + Duration::from_picoseconds(pace)).min(self.next.max(now + round_trip + AHEAD));
    }

    /// Records the arrival of `bytes` bytes that transmission `transmission` sent.
    pub(crate) fn handle_arrived(&mut self, bytes: u64, transmission: u64, in_flight: u64, datagram_bytes: u64) {
        self.tolerance = (self.tolerance + 1).min(TOLERATED_MAX * ARRIVALS_PER_LOSS);
        // Traffic that does not fill the window tells nothing about its size.
        if transmission < self.recovery || 2 * (in_flight + bytes) < self.window {
            return;
        }
        let growth =
            if self.window < self.threshold { bytes } else { (datagram_bytes * bytes / self.window).max(bytes / GROWTH_PART) };
        self.window = (self.window + growth).min(WINDOW_MAX);
    }

    /// Records the loss of transmission `transmission`, when `sent` transmissions have been made.
    pub(crate) fn handle_loss(&mut self, transmission: u64, sent: u64, datagram_bytes: u64) {
        if transmission < self.recovery {
            return;
        }
        if let Some(left) = self.tolerance.checked_sub(ARRIVALS_PER_LOSS) {
            self.tolerance = left;
        } else {
            self.recovery = sent;
            self.window = (self.window / 10 * 7).max(DATAGRAMS_MIN * datagram_bytes);
            self.threshold = self.window;
        }
    }

    /// Reduces the window to its minimum, as nothing arrives any more.
    pub(crate) fn handle_silence(&mut self, sent: u64, datagram_bytes: u64) {
        self.threshold = (self.window / 10 * 7).max(DATAGRAMS_MIN * datagram_bytes);
        self.window = DATAGRAMS_MIN * datagram_bytes;
        self.recovery = sent;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DATAGRAM: u64 = 1200;

    /// A window in its initial state, without tolerance.
    const FRESH: Congestion =
        Congestion { window: WINDOW_INITIAL, threshold: WINDOW_MAX, recovery: 0, tolerance: 0, next: Instant::ZERO };

    /// As `new`, without tolerance for random losses.
    fn intolerant() -> Congestion {
        Congestion { tolerance: 0, ..Congestion::new(u64::MAX, DATAGRAM) }
    }

    #[test]
    fn the_window_doubles_each_round_trip_until_something_is_lost() {
        let mut congestion = Congestion::new(u64::MAX, DATAGRAM);
        let before = congestion.window;
        let mut arrived = 0;
        while arrived < before {
            congestion.handle_arrived(DATAGRAM, 0, before, DATAGRAM);
            arrived += DATAGRAM;
        }
        assert!(congestion.window >= 2 * before);
        let before = congestion.window;
        congestion.tolerance = 0;
        congestion.handle_loss(10, 20, DATAGRAM);
        assert_eq!(congestion.window, before / 10 * 7);
        congestion.handle_loss(19, 25, DATAGRAM);
        assert_eq!(congestion.window, before / 10 * 7, "one answer to the losses of one round trip");
        let before = congestion.window;
        congestion.handle_arrived(before, 20, before, DATAGRAM);
        assert_eq!(congestion.window - before, before / GROWTH_PART, "then a part of itself in a round trip");
        let (before, mut arrived) = (congestion.window, 0);
        while arrived < before {
            congestion.handle_arrived(DATAGRAM, 20, before, DATAGRAM);
            arrived += DATAGRAM;
        }
        let growth = congestion.window - before;
        assert!(
            (before / GROWTH_PART * 7 / 8..=before / GROWTH_PART * 5 / 4).contains(&growth),
            "also if it comes little by little"
        );
        (congestion.window, congestion.threshold) = (4 * DATAGRAM, DATAGRAM);
        congestion.handle_arrived(4 * DATAGRAM, 20, 4 * DATAGRAM, DATAGRAM);
        assert_eq!(congestion.window, 5 * DATAGRAM, "a datagram at least");
    }

    #[test]
    fn whatever_is_lost_two_datagrams_may_go() {
        let mut congestion = intolerant();
        (0..1000).for_each(|number| congestion.handle_loss(number, number + 1, DATAGRAM));
        assert_eq!(congestion.window, DATAGRAMS_MIN * DATAGRAM);
        congestion.handle_silence(2000, DATAGRAM);
        assert!(congestion.allows(DATAGRAM, u64::MAX) && !congestion.allows(2 * DATAGRAM, u64::MAX));
        assert!(!congestion.allows(DATAGRAM, DATAGRAM), "the receive window counts too");
    }

    #[test]
    fn losses_by_chance_change_no_window() {
        // Evenly distributed losses, one in `one_of`; and whether the window has shrunk after ten thousand datagrams.
        for (one_of, shrinks) in [(1_000, false), (100, false), (51, false), (45, true), (10, true)] {
            let mut congestion = Congestion { window: WINDOW_MAX, ..Congestion::new(u64::MAX, DATAGRAM) };
            for number in 0..10_000 {
                if number % one_of == one_of - 1 {
                    congestion.handle_loss(number, number + 1, DATAGRAM);
                } else {
                    congestion.handle_arrived(DATAGRAM, number, congestion.window, DATAGRAM);
                }
            }
            assert_eq!(congestion.window < WINDOW_MAX, shrinks, "one of {one_of}");
        }
    }

    #[test]
    fn losses_in_a_row_are_no_chance() {
        let mut congestion = FRESH;
        (0..10_000).for_each(|number| congestion.handle_arrived(DATAGRAM, number, 0, DATAGRAM));
        let before = congestion.window;
        (0..TOLERATED_MAX.into()).for_each(|number| congestion.handle_loss(number, 20_000, DATAGRAM));
        assert_eq!(congestion.window, before, "so many are");
        congestion.handle_loss(10_000, 20_000, DATAGRAM);
        assert_eq!(congestion.window, before / 10 * 7);
        let mut fresh = Congestion::new(u64::MAX, DATAGRAM);
        (0..=TOLERATED_AT_FIRST.into()).for_each(|number| fresh.handle_loss(number, 10, DATAGRAM));
        assert!(fresh.window < WINDOW_INITIAL, "of a peer that nothing is known of, fewer");
    }

    #[test]
    fn a_window_leaves_in_about_a_round_trip() {
        let mut congestion = Congestion::new(u64::MAX, DATAGRAM);
        let (now, round_trip) = (Instant::ZERO, Duration::from_milliseconds(10));
        let mut sent = 0;
        while congestion.due(round_trip) <= now && sent < WINDOW_INITIAL {
            congestion.handle_sent(now, DATAGRAM, round_trip);
            sent += DATAGRAM;
        }
        assert!((WINDOW_INITIAL / 8..WINDOW_INITIAL / 2).contains(&sent), "a burst is a part of the window: {sent}");
        while sent < WINDOW_INITIAL {
            congestion.handle_sent(now, DATAGRAM, round_trip);
            sent += DATAGRAM;
        }
        let takes = congestion.next.since(now);
        assert!(takes > Duration::from_milliseconds(7) && takes <= round_trip, "{takes:?}");
    }

    #[test]
    fn silence_leaves_two_datagrams_and_the_way_back() {
        let mut congestion = FRESH;
        (0..100).for_each(|_| congestion.handle_arrived(WINDOW_INITIAL, 0, congestion.window, DATAGRAM));
        let before = congestion.window;
        congestion.handle_silence(50, DATAGRAM);
        assert_eq!((congestion.window, congestion.threshold), (DATAGRAMS_MIN * DATAGRAM, before / 10 * 7));
        // Transmissions before the timeout do not affect the window, whether they arrive or not.
        congestion.handle_arrived(before, 49, before, DATAGRAM);
        congestion.handle_loss(49, 50, DATAGRAM);
        assert_eq!(congestion.window, DATAGRAMS_MIN * DATAGRAM);
        while congestion.window < before / 10 * 7 {
            let window = congestion.window;
            congestion.handle_arrived(window, 50, window, DATAGRAM);
            assert_eq!(congestion.window, 2 * window, "quickly, as far as it is known to carry");
        }
        (0..2).for_each(|_| congestion.handle_silence(60, DATAGRAM));
        assert_eq!(congestion.threshold, DATAGRAMS_MIN * DATAGRAM, "nothing is known to carry less");
    }

    #[test]
    fn a_window_that_is_not_filled_does_not_grow_and_none_without_bound() {
        let mut congestion = FRESH;
        congestion.handle_arrived(DATAGRAM, 0, 0, DATAGRAM);
        assert_eq!(congestion.window, WINDOW_INITIAL);
        (0..100).for_each(|_| congestion.handle_arrived(congestion.window, 0, congestion.window, DATAGRAM));
        assert_eq!(congestion.window, WINDOW_MAX);
    }
}
