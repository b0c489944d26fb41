//! Estimation of the round trip (RFC 6298), and timeouts.

use pelago_base::{Duration, Instant};

use super::receiver::ACKNOWLEDGE_WITHIN;

/// Shortest wait for a peer whose round trip is unknown: the round trip of a wide-area network.
const INITIAL: Duration = Duration::from_milliseconds(20);

/// Shortest wait. Ranks may share cores: an answer may arrive a few milliseconds late although nothing is lost.
const WAIT_MIN: Duration = Duration::from_milliseconds(4);

/// Shortest wait before a probe, which is sent before the wait is over (RFC 9002, section 6.2): the delay by timers and other threads.
pub(crate) const PROBE_WAIT_MIN: Duration = Duration::from_microseconds(100);

/// Shortest wait before a probe while most probes prove necessary: datagrams are then lost more often than they are late.
const PROBE_WAIT_LOSSY: Duration = Duration::from_microseconds(25);

/// Additional wait for an acknowledgement that the peer may delay, in general, and while most probes are necessary: a lost answer is then
/// more likely than a delayed one.
const KEPT_BACK: Duration = Duration::from_picoseconds(2 * ACKNOWLEDGE_WITHIN.as_picoseconds());
const KEPT_BACK_LOSSY: Duration = Duration::from_microseconds(150);

/// Maximum number of consecutive probes. On a network that loses three of ten datagrams, one in fifty such series stays unanswered.
const PROBES_MAX: u32 = 6;

/// Half of the shortest time after which a request is repeated. A reply that was sent earlier did not cross the repeated request.
pub(crate) const CROSSING: Duration = Duration::from_picoseconds(PROBE_WAIT_LOSSY.as_picoseconds() / 2);

/// Maximum number of consecutive probes while most of them are necessary: in total as long as the other limit.
const PROBES_LOSSY_MAX: u32 = 10;

/// Wait up to which the waits between tries double, or up to twice the first wait if that is longer. From there on each wait is a sixteenth of
/// this longer than the one before. A peer is then asked about forty times within the default failure limit: even on a network that loses
/// four of ten datagrams, a live peer is not taken for silent, and a silent peer is asked at growing intervals.
const WAIT_DOUBLED_MAX: Duration = Duration::from_milliseconds(50);

/// Maximum random addition to a wait, as a right shift of the wait, so that ranks that started together do not stay synchronized.
const JITTER_SHIFT: u32 = 2;

/// Smoothed round trip and its deviation, in nanoseconds; zero while unknown.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RoundTrip {
    smoothed: u32,
    deviation: u32,
}

/// Parameters of a wait besides the round trip to the peer.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Patience {
    /// Round trip over all peers, for a peer whose own is unknown.
    pub(crate) typical: RoundTrip,
    /// Scheduling delay of this rank.
    pub(crate) late: Duration,
    /// A number that differs between peers and between ranks, for jitter.
    pub(crate) chance: u32,
    /// How often this rank's repetitions have been necessary so far.
    pub(crate) worth: Worth,
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

    /// Returns the smoothed round trip; zero while unknown.
    pub(crate) fn smoothed(&self) -> Duration {
        Duration::from_nanoseconds(u64::from(self.smoothed))
    }

    /// Returns how long to wait for an answer after `tries` tries without one.
    pub(crate) fn wait(&self, tries: u32, patience: Patience) -> Duration {
        let known = self.smoothed != 0;
        let guess = if known { self } else { &patience.typical };
        let least = if known { patience.worth.wait_min() } else { INITIAL };
        let usual = guess.smoothed() + guess.deviation() + ACKNOWLEDGE_WITHIN;
        let once = usual.max(least).max(patience.late + patience.late).as_picoseconds();
        let most = WAIT_DOUBLED_MAX.as_picoseconds().max(2 * once);
        let doublings = (most / once).ilog2();
        let wait = match tries.checked_sub(doublings) {
            None | Some(0) => once << tries,
            Some(more) => most + (most / 16).saturating_mul(u64::from(more - 1)),
        };
        let part = u64::from(scattered(patience.chance, tries) >> 16);
        Duration::from_picoseconds(wait + ((wait >> JITTER_SHIFT) >> 16) * part)
    }

    /// Returns how long to wait for an answer, which the peer delays by at most `kept_back`, before the next probe, after `probes` probes; `None`
    /// while the round trip is unknown, after too many probes, and if probes have not been worth their cost.
    pub(crate) fn probe_wait(&self, probes: u32, kept_back: Duration, patience: Patience) -> Option<Duration> {
        let is_lossy = patience.worth.is_lossy();
        let (least, most) = if is_lossy { (PROBE_WAIT_LOSSY, PROBES_LOSSY_MAX) } else { (PROBE_WAIT_MIN, PROBES_MAX) };
        if self.smoothed == 0 || probes >= most || !patience.worth.allows_probes() {
            return None;
        }
        let usual = self.smoothed() + self.smoothed().max(self.deviation());
        let once = usual.max(least).max(patience.late + patience.late) + kept_back;
        Some(Duration::from_picoseconds(once.as_picoseconds() << (probes / 2)))
    }

    /// Returns four times the deviation.
    fn deviation(&self) -> Duration {
        Duration::from_nanoseconds(4 * u64::from(self.deviation))
    }
}

/// Budget of repetitions: arrivals earn one repetition per [`ARRIVALS_PER_REPETITION`], and each necessary repetition earns some more. A rank
/// whose datagrams are lost therefore repeats early, and a rank whose answers are late repeats fewer than one in a hundred.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Worth {
    balance: i32,
    /// Balance of recent repetitions: above zero while more than a third of them were necessary.
    needed: i8,
}

const ARRIVALS_PER_REPETITION: i32 = 128;

/// Number of repetitions allowed before anything has arrived, and number that a necessary one earns.
const REPETITIONS_AT_FIRST: i32 = 4;
const REPETITIONS_PER_NEEDED: i32 = 4;

/// Maximum budget of repetitions.
const REPETITIONS_MAX: i32 = 32;
/// Maximum debt of repetitions.
const REPETITIONS_OWED_MAX: i32 = 24;

/// Weight of a necessary repetition relative to a spurious one.
const NEEDED_WEIGHT: i8 = 3;
/// Maximum number of necessary repetitions that are remembered.
const NEEDED_MAX: i8 = 8;

/// Number of owed repetitions for which the shortest wait doubles.
const OWED_PER_DOUBLING: i32 = 8;

impl Default for Worth {
    fn default() -> Self {
        Self { balance: REPETITIONS_AT_FIRST * ARRIVALS_PER_REPETITION, needed: 0 }
    }
}

impl Worth {
    /// Records the arrival of a datagram.
    pub(crate) fn handle_arrived(&mut self) {
        self.earn(1);
    }

    /// Records a repetition.
    pub(crate) fn handle_repeated(&mut self) {
        self.balance = (self.balance - ARRIVALS_PER_REPETITION).max(-REPETITIONS_OWED_MAX * ARRIVALS_PER_REPETITION);
        self.needed = (self.needed - 1).max(-NEEDED_MAX);
    }

    /// Records that a repetition was necessary: its answer acknowledges something not acknowledged before.
    pub(crate) fn handle_needed(&mut self) {
        self.earn((1 + REPETITIONS_PER_NEEDED) * ARRIVALS_PER_REPETITION);
        self.needed = (self.needed + NEEDED_WEIGHT).min(NEEDED_MAX);
    }

    fn earn(&mut self, earned: i32) {
        self.balance = (self.balance + earned).min(REPETITIONS_MAX * ARRIVALS_PER_REPETITION);
    }

    fn allows_probes(self) -> bool {
        self.balance >= ARRIVALS_PER_REPETITION
    }

    pub(crate) fn is_lossy(self) -> bool {
        self.needed > 0
    }

    /// Returns the additional wait for an acknowledgement that the peer may delay.
    pub(crate) fn kept_back(self) -> Duration {
        if self.is_lossy() { KEPT_BACK_LOSSY } else { KEPT_BACK }
    }

    /// Returns the shortest wait before the first probe.
    pub(crate) fn probe_wait_min(self) -> Duration {
        if self.is_lossy() { PROBE_WAIT_LOSSY } else { PROBE_WAIT_MIN }
    }

    fn wait_min(self) -> Duration {
        let owed = (-self.balance).max(0) / ARRIVALS_PER_REPETITION;
        Duration::from_picoseconds(WAIT_MIN.as_picoseconds() << (owed / OWED_PER_DOUBLING))
    }
}

/// Scheduling delay of this rank. If ranks share cores, this rank sees an answer late by that much, and its sender ran as late.
///
/// A rank that was stopped, perhaps with the whole job, is late once. Such a pause says nothing about later delays, so it is not recorded; and the
/// time of an answer that spans the pause is no round trip.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Lateness {
    late: Duration,
    noted: Instant,
    /// End of the last long delay, if there was one, and whether it was a pause.
    long: Option<(Instant, bool)>,
}

/// A recorded delay is remembered for this multiple of its length.
const LATENESS_KEPT: u64 = 4;

/// Shortest long delay, unless the largest delay that is recorded is shorter: twice as long as hundreds of ranks on two cores wait for their turns.
const PAUSE_MIN: Duration = Duration::from_milliseconds(1_000);

/// A long delay is a pause if no other long delay ended within this multiple of its length before it. Otherwise the rank lacks a core.
const PAUSE_APART: u64 = 4;

impl Lateness {
    pub(crate) fn get(&self) -> Duration {
        self.late
    }

    /// Records that a deadline was handled `late` after it was due, unless that was a pause. At most `most` counts.
    pub(crate) fn note(&mut self, now: Instant, late: Duration, most: Duration) {
        let is_pause = self.is_pause(now, late, most);
        if late > most.min(PAUSE_MIN) {
            self.long = Some((now, is_pause));
        }
        if is_pause {
            return;
        }
        let kept = Duration::from_picoseconds(self.late.as_picoseconds() * LATENESS_KEPT);
        if late >= self.late {
            (self.late, self.noted) = (late.min(most), now);
        } else if now.since(self.noted) > kept {
            (self.late, self.noted) = (Duration::from_picoseconds(self.late.as_picoseconds() / 2).max(late), now);
        }
    }

    /// Whether the time `taken` up to `now` includes a pause: one that is recorded, or one that has just ended, as a deadline passed `late` ago.
    pub(crate) fn spans_pause(&self, now: Instant, taken: Duration, late: Duration, most: Duration) -> bool {
        if taken <= most.min(PAUSE_MIN) {
            return false;
        }
        let spans_last = self.long.is_some_and(|(end, is_pause)| is_pause && now.since(end) < taken);
        spans_last || self.is_pause(now, late, most)
    }

    /// Whether the rank was stopped if it is `late` now.
    fn is_pause(&self, now: Instant, late: Duration, most: Duration) -> bool {
        let apart = Duration::from_picoseconds(late.as_picoseconds().saturating_mul(1 + PAUSE_APART));
        late > most.min(PAUSE_MIN) && self.long.is_none_or(|(end, _)| now.since(end) > apart)
    }
}

/// Hashes two numbers into a pseudo-random one.
pub(crate) fn scattered(one: u32, other: u32) -> u32 {
    let mut word = u64::from(one) << 32 | u64::from(other);
    word = (word ^ word >> 31).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    word = (word ^ word >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    (word >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Patience with almost no jitter.
    fn calm() -> Patience {
        let chance = (0..).find(|&chance| (0..3).all(|tries| scattered(chance, tries) < 1 << 28)).expect("one of many");
        Patience { chance, ..Patience::default() }
    }

    /// Whether `wait` equals `expected`, except for small jitter.
    fn is_about(wait: Duration, expected: Duration) -> bool {
        wait >= expected && wait.as_picoseconds() <= expected.as_picoseconds() / 64 * 65
    }

    #[test]
    fn it_follows_what_is_measured() {
        let mut round_trip = RoundTrip::default();
        assert!(round_trip.wait(0, calm()) >= INITIAL);
        (0..100).for_each(|_| round_trip.sample(Duration::from_milliseconds(10)));
        let off = round_trip.smoothed().as_nanoseconds().abs_diff(10_000_000);
        assert!(off < 1000, "{off}");
        assert!(round_trip.wait(0, calm()) >= Duration::from_milliseconds(10));
        round_trip.sample(Duration::from_seconds(100.0));
        assert!(round_trip.smoothed() > Duration::from_milliseconds(100));
    }

    #[test]
    fn samples_weigh_as_in_rfc_6298() {
        let mut round_trip = RoundTrip::default();
        let known = [(80_000, 80_000, 40_000), (160_000, 90_000, 50_000), (10_000, 80_000, 57_500), (1_000, 70_125, 62_875)];
        for (taken, smoothed, deviation) in known {
            round_trip.sample(Duration::from_nanoseconds(taken));
            assert_eq!((round_trip.smoothed, round_trip.deviation), (smoothed, deviation), "after {taken} ns");
        }
        let mut none = RoundTrip::default();
        (0..100).for_each(|_| none.sample(Duration::ZERO));
        assert!(none.smoothed() > Duration::ZERO, "no way is too short to be known");
        let mut far = RoundTrip::default();
        (0..2).for_each(|_| far.sample(Duration::from_milliseconds(100)));
        // Four deviations of 37.5 ms, and the time by which an acknowledgement may be delayed.
        assert!(is_about(far.wait(0, calm()), Duration::from_milliseconds(251)));
    }

    #[test]
    fn waits_are_as_long_as_they_are_documented() {
        let wait = |smoothed, tries| {
            // A seed with almost no jitter.
            let chance = (0..).find(|&chance| scattered(chance, tries) < 1 << 24).expect("one of many");
            RoundTrip { smoothed, deviation: 0 }.wait(tries, Patience { chance, ..Patience::default() })
        };
        let near = [(0, 4_000), (1, 8_000), (2, 16_000), (3, 32_000), (4, 50_000), (5, 53_125), (6, 56_250), (20, 100_000)];
        let far = [(0, 100_000), (1, 200_000), (2, 200_000), (3, 212_500), (18, 400_000)];
        let all = near.map(|known| (5_000, known)).into_iter().chain(far.map(|known| (99_000_000, known)));
        for (smoothed, (tries, expected)) in all {
            let (wait, expected) = (wait(smoothed, tries), Duration::from_microseconds(expected));
            assert!(is_about(wait, expected), "round trip of {smoothed} ns, {tries} tries: {wait:?} instead of {expected:?}");
        }
    }

    #[test]
    fn each_bit_of_what_is_scattered_changes_half_of_the_result() {
        for bit in 0..64 {
            let changed = |base: u64| {
                let of = |word: u64| scattered((word >> 32) as u32, word as u32);
                (of(base) ^ of(base ^ 1 << bit)).count_ones()
            };
            let changed: u32 = (0..256).map(|base: u64| changed(base << 24 | base)).sum();
            assert!((14 * 256..18 * 256).contains(&changed), "bit {bit}: {changed}");
        }
    }

    #[test]
    fn waits_double_and_then_grow_by_a_constant() {
        let mut round_trip = RoundTrip::default();
        (0..50).for_each(|_| round_trip.sample(Duration::from_microseconds(5)));
        assert!(is_about(round_trip.wait(0, calm()), WAIT_MIN));
        assert!(is_about(round_trip.wait(1, calm()), WAIT_MIN + WAIT_MIN));
        let late = Patience::default();
        let all: Duration = (0..42).map(|tries| round_trip.wait(tries, late)).fold(Duration::ZERO, |sum, wait| sum + wait);
        assert!(all < Duration::from_seconds(5.0), "{all:?}: asked often within the failure limit");
        let all: Duration = (0..200).map(|tries| round_trip.wait(tries, late)).fold(Duration::ZERO, |sum, wait| sum + wait);
        assert!(all > Duration::from_seconds(60.0), "{all:?}: and not often in the long run");
    }

    #[test]
    fn what_is_known_of_others_and_of_this_rank_makes_it_wait_longer() {
        let second = Duration::from_seconds(1.0);
        let mut typical = RoundTrip::default();
        typical.sample(second);
        let unknown = RoundTrip::default();
        assert!(unknown.wait(0, Patience { typical, ..calm() }) > second);
        let mut known = RoundTrip::default();
        (0..50).for_each(|_| known.sample(Duration::from_microseconds(5)));
        assert!(is_about(known.wait(0, Patience { typical, ..calm() }), WAIT_MIN), "only of those that nothing is known of");
        assert!(is_about(known.wait(0, Patience { late: second, ..calm() }), second + second));
    }

    #[test]
    fn probes_follow_the_round_trip_and_double_at_every_second() {
        let (mut round_trip, microseconds) = (RoundTrip::default(), Duration::from_microseconds);
        assert_eq!(round_trip.probe_wait(0, Duration::ZERO, calm()), None, "nothing is known");
        (0..50).for_each(|_| round_trip.sample(microseconds(5)));
        let waits = [0, 1, 2, 3, 4].map(|probes| round_trip.probe_wait(probes, Duration::ZERO, calm()));
        assert_eq!(waits, [100, 100, 200, 200, 400].map(|wait| Some(microseconds(wait))));
        assert!(round_trip.probe_wait(PROBES_MAX - 1, Duration::ZERO, calm()).is_some());
        assert_eq!(round_trip.probe_wait(PROBES_MAX, Duration::ZERO, calm()), None);
        let kept_back = Duration::from_milliseconds(2);
        assert_eq!(round_trip.probe_wait(0, kept_back, calm()), Some(microseconds(2_100)));
        let late = Patience { late: microseconds(300), ..calm() };
        assert_eq!(round_trip.probe_wait(0, Duration::ZERO, late), Some(microseconds(600)));
        let far = RoundTrip { smoothed: 1_000_000, deviation: 10_000 };
        assert_eq!(far.probe_wait(0, Duration::ZERO, calm()), Some(microseconds(2_000)), "two round trips");
        let uneven = RoundTrip { smoothed: 1_000_000, deviation: 500_000 };
        assert_eq!(uneven.probe_wait(0, Duration::ZERO, calm()), Some(microseconds(3_000)), "and four deviations");
    }

    #[test]
    fn probes_come_sooner_and_more_often_while_they_are_needed() {
        let (mut round_trip, mut worth, microseconds) = (RoundTrip::default(), Worth::default(), Duration::from_microseconds);
        (0..50).for_each(|_| round_trip.sample(microseconds(5)));
        let wait = |worth, probes| round_trip.probe_wait(probes, Duration::ZERO, Patience { worth, ..calm() });
        for (needed_of_ten, expected) in [(0, 100), (2, 100), (5, 25), (10, 25)] {
            worth = Worth { needed: 0, ..Worth::default() };
            for number in 0..100 {
                (0..ARRIVALS_PER_REPETITION).for_each(|_| worth.handle_arrived());
                worth.handle_repeated();
                if number * needed_of_ten % 10 < needed_of_ten {
                    worth.handle_needed();
                }
            }
            assert_eq!(wait(worth, 0), Some(microseconds(expected)), "{needed_of_ten} of ten needed");
            assert_eq!(worth.probe_wait_min(), microseconds(expected));
        }
        let waits = [1, 2, 4, 6, 8, PROBES_LOSSY_MAX].map(|probes| wait(worth, probes));
        assert_eq!(waits, [Some(25), Some(50), Some(100), Some(200), Some(400), None].map(|wait| wait.map(microseconds)));
    }

    #[test]
    fn repetitions_are_earned() {
        let mut worth = Worth::default();
        (0..REPETITIONS_AT_FIRST).for_each(|_| {
            assert!(worth.allows_probes());
            worth.handle_repeated();
        });
        assert!(!worth.allows_probes(), "in vain");
        let patient = |worth| RoundTrip { smoothed: 5_000, deviation: 0 }.wait(0, Patience { worth, ..calm() });
        for (owed, wait) in [(0, 4), (7, 4), (8, 8), (16, 16), (24, 32), (1_000, 32)] {
            let mut worth = worth;
            (0..owed).for_each(|_| worth.handle_repeated());
            assert!(is_about(patient(worth), Duration::from_milliseconds(wait)), "{owed} owed");
        }
        (1..ARRIVALS_PER_REPETITION).for_each(|_| worth.handle_arrived());
        assert!(!worth.allows_probes());
        worth.handle_arrived();
        assert!(worth.allows_probes(), "one of so many");
        worth.handle_repeated();
        worth.handle_needed();
        (0..=REPETITIONS_PER_NEEDED).for_each(|_| {
            assert!(worth.allows_probes());
            worth.handle_repeated();
        });
        assert!(!worth.allows_probes());
        (0..1_000).for_each(|_| worth.handle_needed());
        (0..REPETITIONS_MAX).for_each(|_| worth.handle_repeated());
        assert!(!worth.allows_probes(), "no more than that is kept");
    }

    #[test]
    fn lateness_is_kept_for_a_while_and_then_halved() {
        let (mut lateness, millisecond) = (Lateness::default(), Duration::from_milliseconds(1));
        let at = |milliseconds| Instant::ZERO + Duration::from_milliseconds(milliseconds);
        // The first delay above the maximum is a pause.
        for now in [36, 100] {
            lateness.note(at(now), Duration::from_milliseconds(64), Duration::from_milliseconds(50));
        }
        assert_eq!(lateness.get(), Duration::from_milliseconds(50), "at most that");
        lateness.note(at(300), millisecond, millisecond);
        assert_eq!(lateness.get(), Duration::from_milliseconds(50));
        lateness.note(at(301), millisecond, millisecond);
        assert_eq!(lateness.get(), Duration::from_milliseconds(25));
        lateness.note(at(302), Duration::from_milliseconds(30), Duration::from_seconds(1.0));
        assert_eq!(lateness.get(), Duration::from_milliseconds(30));
        // The same delay again renews the time of recording.
        lateness.note(at(400), Duration::from_milliseconds(30), Duration::from_seconds(1.0));
        lateness.note(at(520), millisecond, millisecond);
        assert_eq!(lateness.get(), Duration::from_milliseconds(30));
        lateness.note(at(521), Duration::from_milliseconds(20), Duration::from_seconds(1.0));
        assert_eq!(lateness.get(), Duration::from_milliseconds(20), "no less than it is now");
    }

    #[test]
    fn one_long_delay_is_a_pause_and_several_are_lateness() {
        let (mut lateness, most) = (Lateness::default(), Duration::from_seconds(2.5));
        let (at, seconds) = (|seconds| Instant::ZERO + Duration::from_seconds(seconds), Duration::from_seconds);
        let spans = |lateness: &Lateness, now, taken| lateness.spans_pause(at(now), seconds(taken), Duration::ZERO, most);
        assert!(lateness.spans_pause(at(10.0), seconds(8.1), seconds(8.0), most), "a pause that has just ended");
        assert!(!lateness.spans_pause(at(10.0), seconds(0.9), seconds(0.9), most), "too short");
        lateness.note(at(10.0), seconds(8.0), most);
        assert_eq!(lateness.get(), Duration::ZERO);
        assert!(
            spans(&lateness, 11.5, 1.6) && !spans(&lateness, 11.5, 1.5),
            "answers to what was sent before its end, and after it"
        );
        assert!(!lateness.spans_pause(at(15.0), seconds(4.0), seconds(4.0), most));
        lateness.note(at(15.0), seconds(4.0), most);
        assert_eq!(lateness.get(), most, "a second delay soon after the first one");
        assert!(!spans(&lateness, 16.5, 2.0), "whose answers count");
        lateness.note(at(35.0), seconds(4.0), most);
        assert!(!spans(&lateness, 36.5, 1.6), "no more than four times its length lies between the two");
        lateness.note(at(55.1), seconds(4.0), most);
        assert!(spans(&lateness, 56.2, 1.6), "more");
    }

    #[test]
    fn those_who_begin_together_do_not_go_on_together() {
        let wait = |chance| RoundTrip::default().wait(0, Patience { chance, ..Patience::default() });
        let waits: std::collections::BTreeSet<Duration> = (0..1000).map(wait).collect();
        let (first, last) = (*waits.first().unwrap(), *waits.last().unwrap());
        assert!(waits.len() > 900 && first >= INITIAL && last.as_picoseconds() <= INITIAL.as_picoseconds() / 4 * 5);
        assert!(last.as_picoseconds() - first.as_picoseconds() > INITIAL.as_picoseconds() / 5);
    }
}
