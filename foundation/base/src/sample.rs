//! Samples: the part of a job that is recorded.

use core::fmt;
use core::str::FromStr;

use crate::{Duration, Instant, Rank};

/// Maximum number of ranges of ranks that a sample names.
const SAMPLE_RANGES_MAX: usize = 1024;

/// A set of ranks of a job, and a part of its time; by default all of both.
///
/// Its text form is `RANKS` or `RANKS@FROM-TO`: ranks are `all`, or numbers and ranges separated by commas, and times have the unit `s`, `ms`,
/// `us`, `ns` or `ps`. Without `TO`, the sample lasts to the end of the job. A sample has at most 1024 ranges.
///
/// ```
/// use pelago_base::{Instant, Rank, Sample};
///
/// let sample: Sample = "0-7,512@1.5ms-2ms".parse().unwrap();
/// assert!(sample.has(Rank::new(7)) && !sample.has(Rank::new(8)));
/// assert_eq!(sample.from(), Instant::from_picoseconds(1_500_000_000));
/// assert_eq!(sample.to_string().parse(), Ok(sample));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    /// First and last rank of each range, in ascending order and not adjacent; `None` is all ranks.
    ranks: Option<Vec<(u32, u32)>>,
    from: Instant,
    until: Instant,
}

/// A text that is no sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SampleError(());

impl Sample {
    /// All ranks, from the start of the job to its end.
    pub const ALL: Self = Self { ranks: None, from: Instant::ZERO, until: Instant::from_picoseconds(u64::MAX) };

    /// Whether the sample contains the rank. Cost: a binary search among its ranges.
    pub fn has(&self, rank: Rank) -> bool {
        self.ranks.as_ref().is_none_or(|ranges| {
            let after = ranges.partition_point(|&(first, _)| first <= rank.number());
            after > 0 && rank.number() <= ranges[after - 1].1
        })
    }

    /// Whether the sample names ranks.
    pub const fn names_ranks(&self) -> bool {
        self.ranks.is_some()
    }

    /// Returns the number of ranks in the sample, of a job of `ranks` ranks.
    pub fn count(&self, ranks: u32) -> u32 {
        let of = |&(first, last): &(u32, u32)| (last.saturating_add(1)).min(ranks).saturating_sub(first);
        self.ranks.as_ref().map_or(ranks, |ranges| ranges.iter().map(of).sum())
    }

    /// Whether the sample covers only a part of the time of the job.
    pub fn names_times(&self) -> bool {
        (self.from, self.until) != (Self::ALL.from, Self::ALL.until)
    }

    /// Returns the start of the sample.
    pub const fn from(&self) -> Instant {
        self.from
    }

    /// Returns the end of the sample, which is exclusive.
    pub const fn until(&self) -> Instant {
        self.until
    }

    /// Whether the sample contains the moment.
    pub fn has_moment(&self, at: Instant) -> bool {
        self.from <= at && at < self.until
    }
}

impl Default for Sample {
    fn default() -> Self {
        Self::ALL
    }
}

impl SampleError {
    /// The expected form of a text.
    pub const EXPECTED: &str = "RANKS or RANKS@FROM-TO, as in 0-7,512@1.5s-2s or all@10ms-";
}

impl fmt::Display for SampleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "write {}", Self::EXPECTED)
    }
}

impl core::error::Error for SampleError {}

impl FromStr for Sample {
    type Err = SampleError;

    fn from_str(text: &str) -> Result<Self, SampleError> {
        let (ranks, times) = text.split_once('@').map_or((text, None), |(ranks, times)| (ranks, Some(times)));
        let mut sample = Self::ALL;
        if ranks != "all" {
            sample.ranks = Some(ranges(ranks).ok_or(SampleError(()))?);
        }
        if let Some(times) = times {
            let (from, until) = times.split_once('-').ok_or(SampleError(()))?;
            let at = |text| Duration::parse(text).map(|after| Instant::ZERO + after).ok_or(SampleError(()));
            sample.from = at(from)?;
            if !until.is_empty() {
                sample.until = at(until)?;
            }
            if sample.from >= sample.until {
                return Err(SampleError(()));
            }
        }
        Ok(sample)
    }
}

/// Parses numbers and ranges, and returns them sorted and joined.
fn ranges(text: &str) -> Option<Vec<(u32, u32)>> {
    let range = |text: &str| {
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        let (first, last) = (first.parse().ok()?, last.parse().ok()?);
        (first <= last).then_some((first, last))
    };
    let mut named = text.split(',').take(SAMPLE_RANGES_MAX + 1).map(range).collect::<Option<Vec<(u32, u32)>>>()?;
    if named.len() > SAMPLE_RANGES_MAX {
        return None;
    }
    named.sort_unstable();
    let mut apart: Vec<(u32, u32)> = Vec::new();
    for (first, last) in named {
        match apart.last_mut() {
            Some((_, end)) if first <= end.saturating_add(1) => *end = last.max(*end),
            _ => apart.push((first, last)),
        }
    }
    Some(apart)
}

impl fmt::Display for Sample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.ranks {
            None => f.write_str("all")?,
            Some(ranges) => {
                for (place, (first, last)) in ranges.iter().enumerate() {
                    let comma = if place == 0 { "" } else { "," };
                    if first == last { write!(f, "{comma}{first}")? } else { write!(f, "{comma}{first}-{last}")? }
                }
            }
        }
        if !self.names_times() {
            return Ok(());
        }
        write!(f, "@{}ps-", self.from.as_picoseconds())?;
        if self.until == Self::ALL.until { Ok(()) } else { write!(f, "{}ps", self.until.as_picoseconds()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_joined_and_read_again() {
        for (text, written, ranks) in [
            ("all", "all", 100),
            ("0", "0", 1),
            ("9,3-5,4-7,8", "3-9", 7),
            ("0,98-200@1s-", "0,98-200@1000000000000ps-", 3),
            ("all@0s-2.5us", "all@0ps-2500000ps", 100),
        ] {
            let sample: Sample = text.parse().unwrap();
            assert_eq!((sample.to_string().as_str(), sample.count(100)), (written, ranks), "{text}");
            assert_eq!(written.parse(), Ok(sample.clone()));
            assert_eq!((0..100).filter(|&rank| sample.has(Rank::new(rank))).count() as u32, ranks);
        }
    }

    #[test]
    fn a_moment_is_in_it_from_its_beginning_to_before_its_end() {
        let sample: Sample = "3@2ns-4ns".parse().unwrap();
        let at = |nanoseconds: u64| Instant::from_picoseconds(nanoseconds * 1000);
        assert_eq!([1, 2, 3, 4].map(|nanoseconds| sample.has_moment(at(nanoseconds))), [false, true, true, false]);
        assert!(Sample::default().has_moment(Instant::ZERO));
    }

    #[test]
    fn what_is_no_sample_is_refused() {
        for text in ["", "x", "3-1", "1,,2", "@1s-2s", "1@", "1@1s", "1@2s-1s", "1@1s-1s", "1@1-2", "-3", "1@1s-2s-3s"] {
            assert!(text.parse::<Sample>().is_err(), "{text}");
        }
        let many = |count: usize| (0..count).map(|number| (2 * number).to_string()).collect::<Vec<_>>().join(",");
        assert!(many(SAMPLE_RANGES_MAX).parse::<Sample>().is_ok() && many(SAMPLE_RANGES_MAX + 1).parse::<Sample>().is_err());
    }
}
