//! One result.

use serde::{Deserialize, Serialize};

use crate::comparison::Comparison;

/// One result: a measurement, and the raw limit of the same run. Fields that do not apply are left out of its JSON.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Row {
    /// Name of the benchmark, as in `pelago bench --list`.
    pub name: String,
    /// Transport between the ranks: `shm`, `udp` or `ofi`.
    pub transport: String,
    /// Number of ranks of the job.
    pub ranks: u32,
    /// The plane of a face.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plane: Option<String>,
    /// The condition of paper E, or another name for a choice of steps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub condition: Option<String>,
    /// Tuning steps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steps: Option<String>,
    /// Bytes moved by one operation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Number of repetitions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repetitions: Option<u64>,
    /// Time of one operation: the median of the repetitions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub median_ns: Option<f64>,
    /// Shortest time of the repetitions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_ns: Option<f64>,
    /// 99th percentile of the times of single operations, if each was timed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p99_ns: Option<f64>,
    /// Bytes divided by the median time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gigabytes_per_second: Option<f64>,
    /// Operations divided by the median time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operations_per_second: Option<f64>,
    /// Private memory: the maximum over the ranks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub private_bytes: Option<u64>,
    /// Resident memory, including that of libraries and of other ranks: the maximum over the ranks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resident_bytes: Option<u64>,
    /// Name of the raw limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raw_name: Option<String>,
    /// Time of the raw limit: the median of the repetitions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raw_ns: Option<f64>,
    /// Memory of the raw limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raw_bytes: Option<u64>,
    /// Time (or memory) over that of the raw limit: the median of the ratios within each repetition. 1 is the limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ratio: Option<f64>,
    /// Another library, measured alternately with this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peer_name: Option<String>,
    /// Time of the other library.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peer_ns: Option<f64>,
    /// Time of the other library divided by that of Pelago: above 1, Pelago is faster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peer_ratio: Option<f64>,
}

impl Row {
    /// Returns the row with the times of a comparison with `raw_name`.
    pub(crate) fn timed(self, comparison: &Comparison, raw_name: &str) -> Self {
        Self {
            repetitions: Some(comparison.repetitions()),
            median_ns: Some(rounded(comparison.library_median())),
            min_ns: Some(rounded(comparison.library_min())),
            raw_name: Some(raw_name.into()),
            raw_ns: Some(rounded(comparison.raw_median())),
            ratio: Some(rounded(comparison.ratio_median())),
            ..self
        }
    }

    /// Returns the row with the bytes of one operation.
    pub(crate) fn sized(self, bytes: u64) -> Self {
        Self { bytes: Some(bytes), ..self }
    }

    /// Returns the row with the bytes moved by one operation, and the bandwidth.
    pub(crate) fn moved(self, bytes: u64) -> Self {
        let gigabytes_per_second = self.median_ns.map(|nanoseconds| rounded(bytes as f64 / nanoseconds));
        Self { gigabytes_per_second, ..self.sized(bytes) }
    }
}

/// Rounds to five significant digits; further digits are noise.
pub(crate) fn rounded(value: f64) -> f64 {
    format!("{value:.4e}").parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_apply_is_left_out() {
        let row = Row { name: "put".into(), transport: "shm".into(), ranks: 2, ..Row::default() };
        let row = row.timed(&Comparison::of([(2.0, 1.0), (3.0, 1.0), (4.0, 1.0)]), "store").moved(12);
        let text = serde_json::to_string(&row).unwrap();
        assert_eq!(
            text,
            r#"{"name":"put","transport":"shm","ranks":2,"bytes":12,"repetitions":3,"median_ns":3.0,"min_ns":2.0,"gigabytes_per_second":4.0,"raw_name":"store","raw_ns":1.0,"ratio":3.0}"#
        );
        assert_eq!(serde_json::from_str::<Row>(&text).unwrap(), row);
    }

    #[test]
    fn five_digits_stay() {
        assert_eq!(rounded(1.234_567), 1.2346);
        assert_eq!(rounded(123_456_789.0), 123_460_000.0);
    }
}
