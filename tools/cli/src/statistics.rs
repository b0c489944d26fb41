//! Medians and spreads of measurements.

/// Returns the median of at least one value.
pub(crate) fn median(values: Vec<f64>) -> f64 {
    quantile(sorted(values), 0.5)
}

/// Returns the interquartile range divided by the median: the variation between measurements. `None` for fewer than three values, which are
/// too few for an estimate.
pub(crate) fn spread(values: &[f64]) -> Option<f64> {
    if values.len() < 3 {
        return None;
    }
    let values = sorted(values.to_vec());
    let [low, middle, high] = [0.25, 0.5, 0.75].map(|part| quantile(values.clone(), part));
    Some(if high > low { (high - low) / middle.abs().max(f64::MIN_POSITIVE) } else { 0.0 })
}

fn sorted(mut values: Vec<f64>) -> Vec<f64> {
    values.sort_by(f64::total_cmp);
    values
}

/// Returns the quantile `part` of the sorted values, by linear interpolation between the two adjacent ones.
fn quantile(values: Vec<f64>, part: f64) -> f64 {
    let place = part * (values.len() - 1) as f64;
    let (below, above) = (values[place.floor() as usize], values[place.ceil() as usize]);
    below + (above - below) * place.fract()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_and_spreads_are_those_of_the_middle_half() {
        assert_eq!((median(vec![4.0, 1.0]), median(vec![7.0]), median(vec![3.0, 1.0, 2.0])), (2.5, 7.0, 2.0));
        assert_eq!(spread(&[10.0, 10.0, 10.0]), Some(0.0));
        assert_eq!(spread(&[9.0, 10.0, 11.0, 10.0, 1000.0]), Some(0.1), "one outlier is no spread");
        assert_eq!(spread(&[8.0, 12.0, 10.0]), Some(0.2));
        assert_eq!((spread(&[1.0, 2.0]), spread(&[])), (None, None));
    }
}
