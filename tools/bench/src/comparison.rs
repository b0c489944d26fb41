//! Alternating measurements of library and raw limit, so that other load of the machine affects both.

use std::time::Instant;

use crate::error::Result;

/// The measured side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Library,
    Raw,
}

/// Times of both sides, in nanoseconds per operation.
pub(crate) struct Comparison {
    pairs: Vec<(f64, f64)>,
}

/// Rounds whose times are discarded: they touch pages and warm up caches and branch predictors.
pub(crate) const WARM_UP_ROUNDS: u64 = 2;

impl Comparison {
    /// Measures both sides `repetitions` times; the order alternates.
    pub(crate) fn run(repetitions: u64, mut measure: impl FnMut(Side) -> Result<f64>) -> Result<Self> {
        let mut pairs = Vec::new();
        for round in 0..WARM_UP_ROUNDS + repetitions {
            let pair = if round % 2 == 0 {
                let library = measure(Side::Library)?;
                (library, measure(Side::Raw)?)
            } else {
                let raw = measure(Side::Raw)?;
                (measure(Side::Library)?, raw)
            };
            if round >= WARM_UP_ROUNDS {
                pairs.push(pair);
            }
        }
        Ok(Self { pairs })
    }

    #[cfg(test)]
    pub(crate) fn of(pairs: impl Into<Vec<(f64, f64)>>) -> Self {
        Self { pairs: pairs.into() }
    }

    pub(crate) fn repetitions(&self) -> u64 {
        self.pairs.len() as u64
    }

    pub(crate) fn library_median(&self) -> f64 {
        median(self.pairs.iter().map(|(library, _)| *library))
    }

    pub(crate) fn library_min(&self) -> f64 {
        self.pairs.iter().map(|(library, _)| *library).fold(f64::INFINITY, f64::min)
    }

    pub(crate) fn raw_median(&self) -> f64 {
        median(self.pairs.iter().map(|(_, raw)| *raw))
    }

    pub(crate) fn ratio_median(&self) -> f64 {
        median(self.pairs.iter().map(|(library, raw)| library / raw))
    }
}

/// Returns the time of `act`, in nanoseconds.
pub(crate) fn time(act: impl FnOnce() -> Result<()>) -> Result<f64> {
    let start = Instant::now();
    act()?;
    Ok(start.elapsed().as_secs_f64() * 1e9)
}

/// Returns the percentile `of_100` of the values.
pub(crate) fn percentile(values: &mut [f64], of_100: usize) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get((values.len() * of_100).div_ceil(100).saturating_sub(1)).copied().unwrap_or(f64::NAN)
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<_> = values.collect();
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => f64::NAN,
        count if count % 2 == 1 => values[count / 2],
        count => (values[count / 2 - 1] + values[count / 2]) / 2.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_rounds_do_not_count_and_turns_change() {
        let mut order = Vec::new();
        let comparison = Comparison::run(3, |side| {
            order.push(side);
            Ok(if side == Side::Library { 10.0 } else { 5.0 } * order.len() as f64)
        });
        let comparison = comparison.unwrap();
        assert_eq!(comparison.repetitions(), 3);
        assert_eq!(order[..4], [Side::Library, Side::Raw, Side::Raw, Side::Library]);
        assert_eq!(order.len(), 10);
        assert_eq!((comparison.library_median(), comparison.raw_median(), comparison.library_min()), (80.0, 35.0, 50.0));
    }

    #[test]
    fn a_percentile_is_one_of_the_values() {
        let mut values: Vec<_> = (1..=200).rev().map(f64::from).collect();
        assert_eq!([1, 50, 99, 100].map(|of_100| percentile(&mut values, of_100)), [2.0, 100.0, 198.0, 200.0]);
        assert_eq!(percentile(&mut [7.0], 99), 7.0);
    }

    #[test]
    fn the_ratio_is_that_of_the_same_moment() {
        // The machine was slower by a factor of three for a while, which does not affect the ratio.
        let comparison = Comparison::of([(2.0, 1.0), (6.0, 3.0), (6.0, 3.0), (2.0, 1.0)]);
        assert_eq!(comparison.ratio_median(), 2.0);
        assert_eq!(comparison.library_median(), 4.0);
    }
}
