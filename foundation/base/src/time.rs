//! Time in picoseconds: one type for real and for virtual time.
//!
//! A byte at 800 Gbit/s lasts 10 ps, so nanoseconds would be too coarse for a simulated network; 64 bits of picoseconds span
//! 213 days. Only a `Clock` creates instants; zero is the start of the job.

use core::{fmt, iter, ops};

const PICOSECONDS_PER_NANOSECOND: u64 = 1_000;
const PICOSECONDS_PER_SECOND: f64 = 1e12;

/// Units of a time in a text, and their picoseconds.
const UNITS: [(&str, u64); 5] = [("ps", 1), ("ns", 1_000), ("us", 1_000_000), ("ms", 1_000_000_000), ("s", 1_000_000_000_000)];

/// Maximum time of a text, in seconds.
const TEXT_SECONDS_MAX: f64 = 1e6;

/// A moment, in picoseconds since the start of the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Instant(u64);

/// A length of time, in picoseconds. Arithmetic saturates. `Debug` writes whole nanoseconds in the form of the standard library, such as `1.5µs`.
///
/// ```
/// # use pelago_base::Duration;
/// let round = Duration::from_microseconds(50) + std::time::Duration::from_millis(1).into();
/// assert_eq!((round * 2 / 3).as_seconds(), 0.0007);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Duration(u64);

impl Instant {
    /// The start of the job.
    pub const ZERO: Self = Self(0);

    /// The moment `picoseconds` after the start.
    pub const fn from_picoseconds(picoseconds: u64) -> Self {
        Self(picoseconds)
    }

    /// Picoseconds since the start.
    pub const fn as_picoseconds(self) -> u64 {
        self.0
    }

    /// The time from `earlier` to `self`; zero if `earlier` is later.
    pub const fn since(self, earlier: Self) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }
}

impl Duration {
    /// No time.
    pub const ZERO: Self = Self(0);

    /// `picoseconds` picoseconds.
    pub const fn from_picoseconds(picoseconds: u64) -> Self {
        Self(picoseconds)
    }

    /// `nanoseconds` nanoseconds.
    pub const fn from_nanoseconds(nanoseconds: u64) -> Self {
        Self(nanoseconds.saturating_mul(PICOSECONDS_PER_NANOSECOND))
    }

    /// `microseconds` microseconds.
    pub const fn from_microseconds(microseconds: u64) -> Self {
        Self::from_nanoseconds(microseconds.saturating_mul(1_000))
    }

    /// `milliseconds` milliseconds.
    pub const fn from_milliseconds(milliseconds: u64) -> Self {
        Self::from_microseconds(milliseconds.saturating_mul(1_000))
    }

    /// `seconds` seconds; negative and not-a-number give zero.
    pub fn from_seconds(seconds: f64) -> Self {
        Self((seconds * PICOSECONDS_PER_SECOND) as u64)
    }

    /// Parses a number with the unit `ps`, `ns`, `us`, `ms` or `s`, such as `2.5ms`, below a million seconds; `None` for any other text.
    pub fn parse(text: &str) -> Option<Self> {
        let (number, unit) = UNITS.iter().find_map(|(name, unit)| Some((text.strip_suffix(name)?, *unit)))?;
        if let Ok(whole) = number.parse::<u64>() {
            return whole.checked_mul(unit).map(Self);
        }
        let number: f64 = number.parse().ok()?;
        let seconds = number * unit as f64 / PICOSECONDS_PER_SECOND;
        (0.0..TEXT_SECONDS_MAX).contains(&seconds).then(|| Self((number * unit as f64).round() as u64))
    }

    /// Picoseconds.
    pub const fn as_picoseconds(self) -> u64 {
        self.0
    }

    /// Whole nanoseconds.
    pub const fn as_nanoseconds(self) -> u64 {
        self.0 / PICOSECONDS_PER_NANOSECOND
    }

    /// Seconds.
    pub fn as_seconds(self) -> f64 {
        self.0 as f64 / PICOSECONDS_PER_SECOND
    }
}

/// Exact up to 213 days; longer times become the maximum, 2⁶⁴ − 1 picoseconds.
impl From<core::time::Duration> for Duration {
    fn from(duration: core::time::Duration) -> Self {
        Self::from_nanoseconds(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
    }
}

/// Rounded down to whole nanoseconds; never overflows.
impl From<Duration> for core::time::Duration {
    fn from(duration: Duration) -> Self {
        Self::from_nanos(duration.as_nanoseconds())
    }
}

impl ops::Add<Duration> for Instant {
    type Output = Self;
    fn add(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(duration.0))
    }
}

impl ops::Sub for Instant {
    type Output = Duration;
    fn sub(self, earlier: Self) -> Duration {
        self.since(earlier)
    }
}

impl ops::Add for Duration {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl ops::Sub for Duration {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl ops::Mul<u32> for Duration {
    type Output = Self;
    fn mul(self, factor: u32) -> Self {
        Self(self.0.saturating_mul(factor.into()))
    }
}

/// Panics if `divisor` is 0.
impl ops::Div<u32> for Duration {
    type Output = Self;
    fn div(self, divisor: u32) -> Self {
        Self(self.0 / u64::from(divisor))
    }
}

impl iter::Sum for Duration {
    fn sum<I: Iterator<Item = Self>>(durations: I) -> Self {
        durations.fold(Self::ZERO, |sum, duration| sum + duration)
    }
}

impl fmt::Debug for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        core::time::Duration::from(*self).fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_agree() {
        assert_eq!(Duration::from_milliseconds(2), Duration::from_microseconds(2_000));
        assert_eq!(Duration::from_seconds(1.5).as_nanoseconds(), 1_500_000_000);
        assert_eq!(core::time::Duration::from(Duration::from_microseconds(7)), core::time::Duration::from_micros(7));
    }

    #[test]
    fn a_text_is_a_number_with_a_unit() {
        let picoseconds = |text| Duration::parse(text).map(Duration::as_picoseconds);
        assert_eq!(["7ps", "2ns", "2.5us", "1ms", "0s"].map(picoseconds), [7, 2000, 2_500_000, 1_000_000_000, 0].map(Some));
        for text in ["", "1", "s", "-1s", "nans", "1e9s", "99999999999999s", "1 s", "1h"] {
            assert_eq!(picoseconds(text), None, "{text}");
        }
    }

    #[test]
    fn durations_of_the_standard_library_come_and_go() {
        let longest = core::time::Duration::from_nanos(u64::MAX / PICOSECONDS_PER_NANOSECOND);
        for exact in [
            core::time::Duration::ZERO,
            core::time::Duration::from_nanos(1),
            core::time::Duration::from_secs(213 * 86_400),
            longest,
        ] {
            assert_eq!(core::time::Duration::from(Duration::from(exact)), exact);
        }
        for longer in [longest + core::time::Duration::from_nanos(1), core::time::Duration::MAX] {
            assert_eq!(Duration::from(longer).as_picoseconds(), u64::MAX);
        }
        assert_eq!(core::time::Duration::from(Duration::from_picoseconds(1_999)), core::time::Duration::from_nanos(1));
    }

    #[test]
    fn arithmetic_saturates() {
        let late = Instant::from_picoseconds(u64::MAX - 1);
        assert_eq!(late + Duration::from_nanoseconds(1), Instant::from_picoseconds(u64::MAX));
        assert_eq!(Instant::ZERO - late, Duration::ZERO);
        let (short, long) = (Duration::from_nanoseconds(1), Duration::from_seconds(1e9));
        assert_eq!(
            [short - long, long * 2, [short, long, long].into_iter().sum(), short * 3 / 2].map(Duration::as_picoseconds),
            [0, u64::MAX, u64::MAX, 1500]
        );
        assert_eq!(Duration::from_milliseconds(u64::MAX).as_picoseconds(), u64::MAX);
    }
}
