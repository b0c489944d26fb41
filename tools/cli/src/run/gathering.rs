//! What the ranks of a job leave for `pelago run --trace` and `--record`: a folder, and the parts in it.

use std::fs;
use std::path::{Path, PathBuf};

use pelago_base::{Rank, Sample};
use pelago_kit::{RecordedHost, RecordedRank};

use crate::Refused;

/// A folder in which ranks leave what they record. It is removed when the value is dropped.
pub(super) struct Gathering {
    folder: PathBuf,
}

impl Gathering {
    /// Creates the folder beside a file that will be made of what is in it.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub(super) fn begin(file: &Path) -> Result<Self, Refused> {
        let refused = |error| Refused(format!("cannot write {}: {error}", file.display()));
        let whole = std::path::absolute(file).map_err(refused)?;
        let folder = match whole.parent() {
            // A device is written as it is; its folder is no place for files.
            Some(parent) if !parent.starts_with("/dev") => parent.to_owned(),
            _ => std::env::temp_dir(),
        };
        let folder = folder.join(format!(".pelago-{}-trace", std::process::id()));
        fs::create_dir(&folder).map_err(refused)?;
        Ok(Self { folder })
    }

    /// Where ranks leave what they have recorded.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// What the ranks of a job have left, of whom those of `sample` record.
    ///
    /// # Errors
    /// Nothing.
    pub(super) fn parts(&self, ranks: u32, sample: &Sample) -> Result<Parts, String> {
        let read = |rank: u32| {
            let text = fs::read_to_string(self.folder.join(rank.to_string())).ok()?;
            text.parse::<RecordedRank>().ok().map(|recorded| (rank, recorded))
        };
        let parts = Parts::of_sample(ranks, (0..ranks).filter_map(read).collect(), sample);
        if parts.recorded.is_empty() {
            return Err(
                "no rank has recorded anything (killed, not a program of Pelago, or on a host that does not share the folder)"
                    .into(),
            );
        }
        Ok(parts)
    }
}

impl Drop for Gathering {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// What ranks have recorded.
pub(super) struct Parts {
    /// Ranks of the job.
    pub(super) ranks: u32,
    /// How many of them record.
    pub(super) sampled: u32,
    /// The hosts, as far as their first ranks have left something.
    pub(super) hosts: Vec<RecordedHost>,
    /// Ranks that have recorded something, in order.
    pub(super) recorded: Vec<(u32, RecordedRank)>,
}

#[cfg(test)]
impl Parts {
    /// What the ranks of a job have left, all of whom record.
    pub(super) fn of(ranks: u32, left: Vec<(u32, RecordedRank)>) -> Self {
        Self::of_sample(ranks, left, &Sample::ALL)
    }
}

impl Parts {
    fn of_sample(ranks: u32, left: Vec<(u32, RecordedRank)>, sample: &Sample) -> Self {
        let is_first = |(number, rank): &&(u32, RecordedRank)| rank.host.first == *number;
        let hosts = left.iter().filter(is_first).map(|(_, rank)| rank.host.clone()).collect();
        let recorded = left.into_iter().filter(|&(rank, _)| sample.has(Rank::new(rank))).collect();
        Self { ranks, sampled: sample.count(ranks), hosts, recorded }
    }

    /// What to add to the clock of the host of a rank for that of the host of rank 0, and how far that may be wrong.
    pub(super) fn offset_of(&self, rank: &RecordedRank) -> (i64, u64) {
        let host = self.hosts.iter().find(|host| host.first == rank.host.first);
        host.map_or((0, 0), |host| (host.offset_ns, host.error_ns))
    }

    /// When the clock of each rank stood at zero, in nanoseconds after the first of these clocks did.
    pub(super) fn starts(&self) -> Vec<u64> {
        let start_of = |rank: &RecordedRank| i128::from(rank.clock_ns) + i128::from(self.offset_of(rank).0);
        let starts: Vec<i128> = self.recorded.iter().map(|(_, rank)| start_of(rank)).collect();
        let zero = starts.iter().min().copied().unwrap_or(0);
        starts.into_iter().map(|start| u64::try_from(start - zero).unwrap_or(0)).collect()
    }

    /// Ranks of the sample that have left nothing.
    pub(super) fn missing(&self) -> usize {
        self.sampled as usize - self.recorded.len()
    }

    /// What a file lacks, in one line; `None` if nothing.
    pub(super) fn lacks(&self, file: &Path) -> Option<String> {
        let (missing, ranks) = (self.missing(), self.sampled);
        let dropped: u64 = self.recorded.iter().map(|(_, rank)| rank.waits_dropped + rank.operations_dropped).sum();
        (missing > 0 || dropped > 0).then(|| {
            format!(
                "{} lacks {missing} of {ranks} ranks, which were killed or are on hosts that do not share the folder, and {dropped} events beyond the bounds of ranks",
                file.display()
            )
        })
    }
}
