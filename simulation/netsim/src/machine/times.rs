//! Tables of times by size, as descriptions contain them.

use super::{MachineError, check, picoseconds};

/// Maximum number of entries of a table of times by size.
pub(super) const SIZES_MAX: usize = 64;

/// Times by size: at least one point, in ascending order of sizes; the first size is not 0.
pub(crate) struct Times(Vec<(u64, u64)>);

impl Times {
    /// Makes a table from checked pairs of bytes and nanoseconds.
    pub(crate) fn of(pairs: &[(u64, f64)]) -> Self {
        Self(pairs.iter().map(|&(bytes, time)| (bytes, picoseconds(time))).collect())
    }

    /// Checks the pairs under the key `key` of a description.
    pub(super) fn check(key: &str, times: &[(u64, f64)]) -> Result<(), MachineError> {
        if times.is_empty() || times.len() > SIZES_MAX || times[0].0 == 0 || times.windows(2).any(|pair| pair[0].0 >= pair[1].0) {
            let count = times.len();
            return Err(MachineError::value(
                key,
                format!("{count} pairs"),
                &format!("1 to {SIZES_MAX} of [bytes, nanoseconds], each of more bytes than the one before, the first of some"),
            ));
        }
        times.iter().try_for_each(|&(_, nanoseconds)| check::delay(key, nanoseconds))
    }

    /// Returns the time of `bytes` bytes: linear between two points, constant below the first, and proportional to the last beyond it.
    pub(crate) fn at(&self, bytes: u64) -> u64 {
        let after = self.0.partition_point(|&(size, _)| size < bytes);
        let (line, from, over) = match (after.checked_sub(1).map(|before| self.0[before]), self.0.get(after)) {
            (None, first) => return first.map_or(0, |&(_, time)| time),
            (Some((small, fast)), Some(&(large, slow))) => ((slow, fast), bytes - small, large - small),
            (Some((small, time)), None) => ((time, 0), bytes, small),
        };
        let part = |time: u64, from: u64| u128::from(time) * u128::from(from) / u128::from(over);
        u64::try_from(part(line.0, from) + part(line.1, over.saturating_sub(from))).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_lie_on_lines_between_what_was_measured() {
        let times = Times(vec![(8, 1_000), (64, 9_000), (1024, 5_000)]);
        assert_eq!([0, 1, 8, 36, 64, 544, 1024].map(|bytes| times.at(bytes)), [1_000, 1_000, 1_000, 5_000, 9_000, 7_000, 5_000]);
        assert_eq!([2048, 1 << 20].map(|bytes| times.at(bytes)), [10_000, 5_120_000]);
        assert_eq!(times.at(u64::MAX), u64::MAX, "no longer than there is time");
        assert_eq!(Times(vec![(8, u64::MAX)]).at(u64::MAX), u64::MAX);
    }
}
