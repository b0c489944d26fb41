//! Distributions of durations ("lengths"): exact counts in buckets whose width grows with the length.
//!
//! A bucket holds the lengths that agree in their leading bit and the three bits after it; below 16 ps each length has its own.
//! So a bucket is at most an eighth as wide as the smallest length in it, and 496 buckets cover all 64-bit lengths (as in HDR
//! histograms).

use pelago_base::Duration;
use serde::{Deserialize, Serialize};

/// Number of bits after the leading one in which the lengths of a bucket agree.
const BITS: u32 = 3;

/// A distribution of durations.
///
/// Counts, mean (rounded down), minimum and maximum are exact. A percentile is the upper bound of its bucket, limited to the
/// maximum: at least the true percentile, and larger by an eighth at most.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Distribution {
    /// Number of durations; all other values are zero if it is 0.
    pub count: u64,
    /// The minimum.
    pub min_ps: u64,
    /// The mean.
    pub mean_ps: u64,
    /// The median.
    pub median_ps: u64,
    /// The 90th percentile.
    pub p90_ps: u64,
    /// The 99th percentile.
    pub p99_ps: u64,
    /// The maximum.
    pub max_ps: u64,
    /// The buckets that are not empty, in ascending order.
    pub histogram: Vec<Bucket>,
}

/// The number of durations within two bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bucket {
    /// The smallest duration that it holds.
    pub from_ps: u64,
    /// The largest duration that it holds.
    pub to_ps: u64,
    /// Number of durations.
    pub count: u64,
}

/// A distribution that is being recorded: 4 KiB at most. Recording costs a few instructions.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counts {
    /// Number of lengths in each bucket, up to the largest bucket in use.
    buckets: Vec<u64>,
    sum_ps: u128,
    min_ps: Option<u64>,
    max_ps: u64,
}

impl Counts {
    pub(crate) fn add(&mut self, length: Duration) {
        let length = length.as_picoseconds();
        let index = index(length);
        if self.buckets.len() <= index {
            self.buckets.resize(index + 1, 0);
        }
        self.buckets[index] += 1;
        self.sum_ps += u128::from(length);
        self.min_ps = Some(self.min_ps.map_or(length, |min| min.min(length)));
        self.max_ps = self.max_ps.max(length);
    }

    pub(crate) fn distribution(&self) -> Distribution {
        let count: u64 = self.buckets.iter().sum();
        let histogram: Vec<Bucket> = (0..)
            .zip(&self.buckets)
            .filter(|(_, count)| **count > 0)
            .map(|(index, &count)| Bucket { from_ps: least(index), to_ps: least(index + 1).wrapping_sub(1), count })
            .collect();
        let percentile = |percent: u64| {
            let wanted = (u128::from(count) * u128::from(percent)).div_ceil(100);
            let mut so_far = 0;
            let bucket = histogram.iter().find(|bucket| {
                so_far += u128::from(bucket.count);
                so_far >= wanted
            });
            bucket.map_or(0, |bucket| bucket.to_ps.min(self.max_ps))
        };
        Distribution {
            count,
            min_ps: self.min_ps.unwrap_or(0),
            mean_ps: self.sum_ps.checked_div(count.into()).unwrap_or(0) as u64,
            median_ps: percentile(50),
            p90_ps: percentile(90),
            p99_ps: percentile(99),
            max_ps: self.max_ps,
            histogram,
        }
    }
}

/// Returns the index of the bucket that holds `length`.
fn index(length: u64) -> usize {
    let shift = length.checked_ilog2().unwrap_or(0).saturating_sub(BITS);
    (shift << BITS) as usize + (length >> shift) as usize
}

/// Returns the smallest length of bucket `index`; 0 past the last bucket, where 2⁶⁴ overflows.
fn least(index: u32) -> u64 {
    let shift = (index >> BITS).saturating_sub(1);
    let leading = u64::from(index - (shift << BITS));
    leading << shift
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(lengths: &[u64]) -> Distribution {
        let mut counts = Counts::default();
        lengths.iter().for_each(|&length| counts.add(Duration::from_picoseconds(length)));
        counts.distribution()
    }

    #[test]
    fn buckets_follow_each_other_without_gaps() {
        assert_eq!(index(u64::MAX), 495);
        assert_eq!(least(496), 0);
        for bucket in 0..496u32 {
            let (from, to) = (least(bucket), least(bucket + 1).wrapping_sub(1));
            assert_eq!((index(from), index(to)), (bucket as usize, bucket as usize));
            assert!(to - from <= from / 8, "{from} to {to} is at most an eighth wide");
        }
    }

    #[test]
    fn nothing_is_all_zeros() {
        assert_eq!(of(&[]), Distribution::default());
    }

    #[test]
    fn equal_lengths_have_exact_percentiles() {
        let found = of(&[156_414; 7]);
        let Distribution { min_ps, mean_ps, median_ps, p90_ps, p99_ps, max_ps, .. } = found;
        assert_eq!([min_ps, mean_ps, median_ps, p90_ps, p99_ps, max_ps], [156_414; 6]);
        assert_eq!(found.histogram, [Bucket { from_ps: 147_456, to_ps: 163_839, count: 7 }]);
    }

    #[test]
    fn the_largest_length_has_a_bucket() {
        assert_eq!(of(&[u64::MAX]).histogram, [Bucket { from_ps: 15 << 60, to_ps: u64::MAX, count: 1 }]);
    }

    proptest! {
        #[test]
        fn counts_are_exact_and_percentiles_near(
            lengths in prop::collection::vec((any::<u64>(), 0..64u32).prop_map(|(length, shift)| length >> shift), 1..300)
        ) {
            let found = of(&lengths);
            let mut sorted = lengths.clone();
            sorted.sort_unstable();
            let total: u128 = lengths.iter().map(|&length| u128::from(length)).sum();
            prop_assert_eq!(u128::from(found.mean_ps), total / lengths.len() as u128);
            prop_assert_eq!((found.min_ps, found.max_ps), (sorted[0], sorted[sorted.len() - 1]));
            for bucket in &found.histogram {
                let within = sorted.iter().filter(|length| (bucket.from_ps..=bucket.to_ps).contains(length)).count();
                prop_assert_eq!(bucket.count, within as u64);
            }
            prop_assert_eq!(found.histogram.iter().map(|bucket| bucket.count).sum::<u64>(), lengths.len() as u64);
            for (percent, value) in [(50, found.median_ps), (90, found.p90_ps), (99, found.p99_ps)] {
                let exact = sorted[(sorted.len() * percent).div_ceil(100) - 1];
                prop_assert!(value >= exact && value - exact <= exact / 8, "{}: {} for {}", percent, value, exact);
            }
        }
    }
}
