//! How long an answer takes (RFC 6298), and how long to wait for one.

use pelago_base::Duration;

use crate::receiver::ACKNOWLEDGE_WITHIN;

/// Before anything is known: the round trip of a wide network.
const INITIAL: Duration = Duration::from_milliseconds(20);

/// The shortest wait. Machines share processors: an answer may come a few milliseconds late although nothing is lost.
const WAIT_MIN: Duration = Duration::from_milliseconds(4);

/// The longest wait between two tries, unless the round trip itself takes half as long: a peer is asked a hundred times before it counts
/// as lost, so that not even a network that loses four of ten datagrams makes one of a peer that is there.
const WAIT_MAX: Duration = Duration::from_milliseconds(50);

/// Smoothed round trip and its deviation, in nanoseconds; zero while nothing is known.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RoundTrip {
    smoothed: u32,
    deviation: u32,
}

impl RoundTrip {
    pub(crate) fn sample(&mut self, taken: Duration) {
        let taken = u32::try_from(taken.as_nanoseconds()).unwrap_or(u32::MAX).max(1);
        if self.smoothed == 0 {
            (self.smoothed, self.deviation) = (taken, taken / 2);
            return;
        }
        let off = self.smoothed.abs_diff(taken);
        self.deviation = self.deviation - self.deviation / 4 + off / 4;
        self.smoothed = (self.smoothed - self.smoothed / 8 + taken / 8).max(1);
    }

    /// The smoothed round trip; zero while nothing is known.
    pub(crate) fn smoothed(&self) -> Duration {
        Duration::from_nanoseconds(u64::from(self.smoothed))
    }

    /// How long to wait for an answer after `tries` tries without one.
    pub(crate) fn wait(&self, tries: u32) -> Duration {
        let smoothed = if self.smoothed == 0 { INITIAL } else { self.smoothed() }.as_picoseconds();
        let deviation = Duration::from_nanoseconds(u64::from(self.deviation)).as_picoseconds();
        let once = (smoothed + 4 * deviation + ACKNOWLEDGE_WITHIN.as_picoseconds()).max(WAIT_MIN.as_picoseconds());
        let most = WAIT_MAX.as_picoseconds().max(2 * smoothed);
        Duration::from_picoseconds((once << tries.min(10)).min(most))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_follows_what_is_measured() {
        let mut round_trip = RoundTrip::default();
        assert!(round_trip.wait(0) > INITIAL);
        (0..100).for_each(|_| round_trip.sample(Duration::from_milliseconds(10)));
        let off = round_trip.smoothed().as_nanoseconds().abs_diff(10_000_000);
        assert!(off < 1000, "{off}");
        assert!(round_trip.wait(0) >= Duration::from_milliseconds(10));
        round_trip.sample(Duration::from_seconds(100.0));
        assert!(round_trip.smoothed() > Duration::from_milliseconds(100));
    }

    #[test]
    fn waits_double_up_to_a_bound() {
        let mut round_trip = RoundTrip::default();
        (0..50).for_each(|_| round_trip.sample(Duration::from_microseconds(5)));
        assert_eq!(round_trip.wait(0), WAIT_MIN);
        assert_eq!(round_trip.wait(1).as_picoseconds(), 2 * WAIT_MIN.as_picoseconds());
        assert_eq!(round_trip.wait(60), WAIT_MAX);
    }
}
