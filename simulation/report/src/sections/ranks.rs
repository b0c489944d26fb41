//! How each rank spent its time.

use std::cmp::Reverse;

use serde::{Deserialize, Serialize};

use crate::limits::RANK_ROWS_MAX;

/// All ranks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ranks {
    /// Number of ranks.
    pub count: u64,
    /// Number of ranks that had not ended when the job did.
    pub unfinished: u64,
    /// Their computing times.
    pub computing: Spread,
    /// Their waiting times.
    pub waiting: Spread,
    /// All ranks by number; if there are more than 4,096, the slowest and the fastest 2,048.
    pub rows: Vec<RankRow>,
    /// Number of ranks that are not listed: those between the slowest and the fastest.
    pub left_out: u64,
}

/// The distribution of a time over all ranks: the minimum, the mean (rounded down), quantiles and the maximum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spread {
    /// The minimum.
    pub min_ps: u64,
    /// The mean.
    pub mean_ps: u64,
    /// The median.
    #[serde(default)]
    pub median_ps: u64,
    /// The 90th percentile.
    #[serde(default)]
    pub p90_ps: u64,
    /// The 99th percentile.
    #[serde(default)]
    pub p99_ps: u64,
    /// The maximum.
    pub max_ps: u64,
}

/// One rank.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RankRow {
    /// Its number.
    pub rank: u32,
    /// Its computing time.
    pub computing_ps: u64,
    /// Its waiting time.
    pub waiting_ps: u64,
    /// When it ended; `None` if it had not ended when the job did.
    pub ended_ps: Option<u64>,
    /// Number of operations that it posted.
    pub operations: u64,
    /// Number of its operations that failed.
    pub failed: u64,
    /// Bytes of all its operations.
    pub bytes: u64,
}

impl Ranks {
    /// Cost: sorts the ranks if they are many.
    pub(crate) fn new(mut rows: Vec<RankRow>) -> Self {
        let (count, unfinished) = (rows.len(), rows.iter().filter(|row| row.ended_ps.is_none()).count());
        let computing = Spread::of(rows.iter().map(|row| row.computing_ps));
        let waiting = Spread::of(rows.iter().map(|row| row.waiting_ps));
        if count > RANK_ROWS_MAX {
            rows.sort_by_key(|row| Reverse(row.slowness()));
            rows.drain(RANK_ROWS_MAX / 2..count - RANK_ROWS_MAX / 2);
            rows.sort_by_key(|row| row.rank);
        }
        let left_out = (count - rows.len()) as u64;
        Self { count: count as u64, unfinished: unfinished as u64, computing, waiting, rows, left_out }
    }
}

impl RankRow {
    /// A sort key that is larger for slower ranks: the longer a rank computes, the longer others wait for it; among equals, the later it ends.
    fn slowness(&self) -> (u64, u64) {
        (self.computing_ps, self.ended_ps.unwrap_or(u64::MAX))
    }
}

impl Spread {
    /// Cost: sorts the times.
    fn of(times: impl Iterator<Item = u64>) -> Self {
        let mut times: Vec<u64> = times.collect();
        times.sort_unstable();
        let sum: u128 = times.iter().copied().map(u128::from).sum();
        let mean_ps = sum.checked_div(times.len() as u128).unwrap_or(0) as u64;
        let quantile = |percent: usize| {
            let index = (times.len() * percent).div_ceil(100).saturating_sub(1);
            times.get(index).copied().unwrap_or(0)
        };
        let [min_ps, median_ps, p90_ps, p99_ps, max_ps] = [0, 50, 90, 99, 100].map(quantile);
        Self { min_ps, mean_ps, median_ps, p90_ps, p99_ps, max_ps }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(rank: u32, computing_ps: u64, ended_ps: Option<u64>) -> RankRow {
        RankRow { rank, computing_ps, waiting_ps: 2, ended_ps, operations: 0, failed: 0, bytes: 0 }
    }

    #[test]
    fn few_ranks_are_all_listed() {
        let ranks = Ranks::new(vec![row(0, 10, Some(1)), row(1, 21, None)]);
        assert_eq!((ranks.count, ranks.unfinished, ranks.left_out, ranks.rows.len()), (2, 1, 0, 2));
        let computing = Spread { min_ps: 10, mean_ps: 15, median_ps: 10, p90_ps: 21, p99_ps: 21, max_ps: 21 };
        assert_eq!(ranks.computing, computing);
        assert_eq!(ranks.waiting, Spread::of([2, 2].into_iter()));
        let times = Spread::of((1..=1000).rev());
        assert_eq!([times.min_ps, times.median_ps, times.p90_ps, times.p99_ps, times.max_ps], [1, 500, 900, 990, 1000]);
        assert_eq!(Ranks::new(Vec::new()).computing, Spread::default());
    }

    #[test]
    fn of_many_ranks_the_slowest_and_the_fastest_are_listed() {
        let half = RANK_ROWS_MAX as u32 / 2;
        let ranks = Ranks::new((0..2 * half + 10).map(|rank| row(rank, 7, Some(u64::from(rank)))).collect());
        let listed: Vec<u32> = ranks.rows.iter().map(|row| row.rank).collect();
        let expected: Vec<u32> = (0..half).chain(half + 10..2 * half + 10).collect();
        assert_eq!(listed, expected);
        assert_eq!((ranks.count, ranks.left_out), (2 * u64::from(half) + 10, 10));
    }

    #[test]
    fn computing_and_never_ending_make_slow() {
        assert!(row(0, 2, Some(1)).slowness() > row(0, 1, None).slowness());
        assert!(row(0, 1, None).slowness() > row(0, 1, Some(9)).slowness());
    }
}
