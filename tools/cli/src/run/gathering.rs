//! Recordings of the ranks of a job for `pelago run --trace`, `--record` and `--report`: a folder with one file for each rank.

use std::fs;
use std::io::{Error, ErrorKind};
use std::path::{Path, PathBuf};

use pelago_base::{Rank, Sample};
use pelago_kit::{RecordedHost, RecordedRank};

use crate::Refused;

/// Maximum number of names that are tried for the folder of recordings.
const FOLDERS_MAX: usize = 100;

/// A temporary folder in which ranks write their recordings. It is removed when the value is dropped.
pub(super) struct Gathering {
    folder: PathBuf,
}

impl Gathering {
    /// Creates the folder next to the output file `file`.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub(super) fn begin(file: &Path) -> Result<Self, Refused> {
        let refused = |error| Refused(format!("cannot write {}: {error}", file.display()));
        let whole = std::path::absolute(file).map_err(refused)?;
        let folder = match whole.parent() {
            // If the output is a device, its folder cannot hold files.
            Some(parent) if !parent.starts_with("/dev") => parent.to_owned(),
            _ => std::env::temp_dir(),
        };
        // A killed launcher leaves its folder, and process numbers repeat, in containers soon.
        let name = format!(".pelago-{}-trace", std::process::id());
        let others = (1..FOLDERS_MAX).map(|number| format!("{name}-{number}"));
        let names = std::iter::once(name.clone()).chain(others).map(|name| folder.join(name));
        let mut made = names.map(|name| (fs::create_dir(&name), name));
        let is_there = |made: &Result<(), Error>| made.as_ref().is_err_and(|error| error.kind() == ErrorKind::AlreadyExists);
        match made.find(|(made, _)| !is_there(made)) {
            Some((Ok(()), folder)) => Ok(Self { folder }),
            Some((Err(error), _)) if folder == std::env::temp_dir() => Err(Refused(format!(
                "cannot create a folder in {}, in which the ranks leave their parts: {error}; set TMPDIR",
                folder.display()
            ))),
            Some((Err(error), _)) => Err(refused(error)),
            None => Err(Refused(format!("{} has {FOLDERS_MAX} folders {name} of killed jobs: remove them", folder.display()))),
        }
    }

    /// Returns the folder in which ranks write their recordings.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Reads the recordings of the ranks in `sample`, as long as `goes_on` says so.
    ///
    /// # Errors
    /// There are no recordings.
    pub(super) fn parts(&self, ranks: u32, sample: &Sample, goes_on: impl Fn() -> bool) -> Result<Parts, String> {
        let (mut left, mut unreadable) = (Vec::new(), Vec::new());
        for rank in (0..ranks).take_while(|_| goes_on()) {
            match self.read(rank) {
                Ok(recorded) => left.extend(recorded.map(|recorded| (rank, recorded))),
                Err(why) => unreadable.push(format!("the recording of rank {rank} cannot be read: {why}")),
            }
        }
        let parts = Parts { unreadable, ..Parts::of_sample(ranks, left, sample) };
        if parts.recorded.is_empty() {
            return Err(parts.unreadable.into_iter().next().unwrap_or_else(|| {
                "no rank has recorded anything (killed, not a program of Pelago, or on a host that does not share the folder)"
                    .into()
            }));
        }
        Ok(parts)
    }

    /// Reads the recording of a rank; `None` if it has left none.
    fn read(&self, rank: u32) -> Result<Option<RecordedRank>, String> {
        match fs::read_to_string(self.folder.join(rank.to_string())) {
            Ok(text) => text.parse().map(Some),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error.to_string()),
        }
    }
}

impl Drop for Gathering {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Recordings of the ranks of a job.
pub(super) struct Parts {
    /// Ranks of the job.
    pub(super) ranks: u32,
    /// Number of ranks that record.
    pub(super) sampled: u32,
    /// Hosts whose first rank has left a recording.
    pub(super) hosts: Vec<RecordedHost>,
    /// Ranks with a recording, in order.
    pub(super) recorded: Vec<(u32, RecordedRank)>,
    /// A line on each rank whose recording is incomplete, as on a full disk.
    pub(super) unreadable: Vec<String>,
}

#[cfg(test)]
impl Parts {
    /// Combines the recordings of a job in which all ranks record.
    pub(super) fn of(ranks: u32, left: Vec<(u32, RecordedRank)>) -> Self {
        Self::of_sample(ranks, left, &Sample::ALL)
    }
}

impl Parts {
    fn of_sample(ranks: u32, left: Vec<(u32, RecordedRank)>, sample: &Sample) -> Self {
        let is_first = |(number, rank): &&(u32, RecordedRank)| rank.host.first == *number;
        let hosts = left.iter().filter(is_first).map(|(_, rank)| rank.host.clone()).collect();
        let recorded = left.into_iter().filter(|&(rank, _)| sample.has(Rank::new(rank))).collect();
        Self { ranks, sampled: sample.count(ranks), hosts, recorded, unreadable: Vec::new() }
    }

    /// Returns the offset from the clock of the rank's host to that of the host of rank 0, and its maximum error.
    pub(super) fn offset_of(&self, rank: &RecordedRank) -> (i64, u64) {
        let host = self.hosts.iter().find(|host| host.first == rank.host.first);
        host.map_or((0, 0), |host| (host.offset_ns, host.error_ns))
    }

    /// Returns the zero of each rank's clock, in nanoseconds after the earliest of these zeros.
    pub(super) fn starts(&self) -> Vec<u64> {
        let start_of = |rank: &RecordedRank| i128::from(rank.clock_ns) + i128::from(self.offset_of(rank).0);
        let starts: Vec<i128> = self.recorded.iter().map(|(_, rank)| start_of(rank)).collect();
        let zero = starts.iter().min().copied().unwrap_or(0);
        starts.into_iter().map(|start| u64::try_from(start - zero).unwrap_or(0)).collect()
    }

    /// Returns the number of ranks of the sample without a recording.
    pub(super) fn missing(&self) -> usize {
        self.sampled as usize - self.recorded.len()
    }

    /// Describes in one line the data missing from a file; `None` if it is complete.
    pub(super) fn lacks(&self, file: &Path) -> Option<String> {
        let (missing, ranks) = (self.missing(), self.sampled);
        let dropped: u64 = self.recorded.iter().map(|(_, rank)| rank.waits_dropped + rank.operations_dropped()).sum();
        (missing > 0 || dropped > 0).then(|| {
            format!(
                "{} lacks {missing} of {ranks} ranks, which were killed, could not leave their parts or are on hosts that do not share the folder, and {dropped} events beyond the bounds of ranks",
                file.display()
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Here the recording of a rank whose disk was full.
    #[test]
    fn a_part_of_a_recording_is_no_recording() {
        let folder = std::env::temp_dir().join(format!("pelago-gathering-part-{}", std::process::id()));
        fs::create_dir(&folder).unwrap();
        let file = folder.join("trace.json");
        let gathering = Gathering::begin(&file).unwrap_or_else(|Refused(line)| panic!("{line}"));
        let text = RecordedRank { end_ns: 100, waits: vec![(1, 20), (30, 45)], ..RecordedRank::default() }.to_string();
        let leave = |rank: u32, text: &str| fs::write(gathering.folder().join(rank.to_string()), text).unwrap();
        let parts = || gathering.parts(3, &Sample::ALL, || true);
        leave(1, &text[..text.len() - 6]);
        let says = "the recording of rank 1 cannot be read: it is incomplete: its last line is not \"end\"";
        assert_eq!(parts().err().as_deref(), Some(says), "no rank has left a whole one");
        leave(0, &text);
        let parts = parts();
        let found = parts.as_ref().unwrap();
        assert_eq!((found.recorded.len(), found.missing(), &found.unreadable[..]), (1, 2, &[says.to_owned()][..]));
        let written = crate::run::write(&[Some(file.clone()), None, None], ("p", None), &parts);
        assert_eq!(written, Err(format!("{}: a part of the job is missing: {says}", file.display())));
        assert!(file.exists(), "the other ranks are in it");
        leave(1, &text);
        let written = crate::run::write(&[Some(file), None, None], ("p", None), &gathering.parts(3, &Sample::ALL, || true));
        assert_eq!(written, Ok(()), "rank 2 was killed");
        drop(gathering);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn the_folder_of_a_killed_job_with_this_process_number_is_left_alone() {
        let folder = std::env::temp_dir().join(format!("pelago-gathering-{}", std::process::id()));
        fs::create_dir(&folder).unwrap();
        let begin = || Gathering::begin(&folder.join("trace.json")).unwrap_or_else(|Refused(line)| panic!("{line}"));
        let names = || fs::read_dir(&folder).unwrap().count();
        let left = std::mem::ManuallyDrop::new(begin());
        let other = begin();
        assert!(other.folder() != left.folder() && names() == 2);
        drop(other);
        assert!(left.folder().is_dir() && names() == 1);
        fs::remove_dir_all(folder).unwrap();
    }
}
