//! Results of runs in an append-only file, so that a killed sweep continues where it stopped.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

use pelago_simulator::SimulationSummary;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use super::stamps::{Input, KEY_DIGITS};
use crate::Refused;

/// Result of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Outcome {
    /// The exit code of the process.
    pub(crate) exit: i32,
    /// The last line on standard error, if the run failed.
    pub(crate) error: Option<String>,
    pub(crate) summary: Option<SimulationSummary>,
    /// Numbers that the program printed.
    pub(crate) outputs: BTreeMap<String, f64>,
    /// Files that arguments name and that the run has not changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) inputs: Vec<Input>,
}

/// One line of the file.
#[derive(Serialize, Deserialize)]
struct Line {
    key: String,
    #[serde(flatten)]
    outcome: Outcome,
}

/// The file of results, locked by one process at a time.
pub(crate) struct Results {
    file: File,
    pub(crate) known: HashMap<String, Outcome>,
}

impl Results {
    /// Opens the file and reads its results. An incomplete line at the end is removed.
    ///
    /// # Errors
    /// The file cannot be written, another process has locked it, or it is not of a sweep, which is not changed.
    pub(crate) fn open(path: &Path) -> Result<Self, Refused> {
        let refused = |error: &dyn std::fmt::Display| Refused(format!("cannot write {}: {error}", path.display()));
        let file = File::options().read(true).append(true).create(true).open(path).map_err(|error| refused(&error))?;
        flock(&file, FlockOperation::NonBlockingLockExclusive).map_err(|error| match error {
            Errno::WOULDBLOCK => refused(&"another sweep writes it"),
            error => refused(&error),
        })?;
        // A device may have no end.
        if !file.metadata().is_ok_and(|found| found.is_file()) {
            return Err(refused(&"it is not a regular file"));
        }
        Self::read(file).map_err(|error| refused(&error))
    }

    fn read(mut file: File) -> io::Result<Self> {
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        if !is_of_sweep(&bytes) {
            return Err(io::Error::other("it is not of a sweep: name another folder with --output"));
        }
        let whole = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |last| last + 1);
        if whole < bytes.len() {
            file.set_len(whole as u64)?;
            file.seek(SeekFrom::End(0))?;
        }
        // Invalid lines are ignored; their runs are executed again.
        let lines = bytes[..whole].split(|&byte| byte == b'\n').filter_map(|line| serde_json::from_slice::<Line>(line).ok());
        let known = lines.map(|Line { key, outcome }| (key, outcome)).collect();
        Ok(Self { file, known })
    }

    /// Appends a result as a whole line by a single write.
    pub(crate) fn append(&mut self, key: &str, outcome: Outcome) -> io::Result<()> {
        let line = Line { key: key.into(), outcome };
        let text = serde_json::to_string(&line).map_err(io::Error::other)?;
        self.file.write_all(format!("{text}\n").as_bytes())?;
        self.known.insert(line.key, line.outcome);
        Ok(())
    }
}

/// Whether a sweep has written this: a line with a key and an exit code, or a part of the first line. Those of other versions may lack other fields.
fn is_of_sweep(bytes: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Known {
        #[serde(rename = "key")]
        _key: String,
        #[serde(rename = "exit")]
        _exit: i32,
    }
    const BEGIN: &[u8] = b"{\"key\":\"";
    let of_key = |rest: &[u8]| rest.iter().take(KEY_DIGITS).all(u8::is_ascii_hexdigit);
    let is_part = BEGIN.starts_with(bytes) || bytes.strip_prefix(BEGIN).is_some_and(of_key);
    is_part || bytes.split(|&byte| byte == b'\n').any(|line| serde_json::from_slice::<Known>(line).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_no_sweep_has_written_is_left_as_it_is() {
        let path = std::env::temp_dir().join(format!("pelago-foreign-{}.jsonl", std::process::id()));
        let open = |text: &str| {
            std::fs::write(&path, text).unwrap();
            Results::open(&path).map_err(|Refused(line)| line)
        };
        for foreign in ["{\"exit\":1}\n{\"name\":\"a\"}", "{\"key\":\"a\"}", "name,value\n1,2", "\n", "x", "{}\n"] {
            let says = format!("cannot write {}: it is not of a sweep: name another folder with --output", path.display());
            assert!(open(foreign).is_err_and(|line| line == says), "{foreign}");
            assert_eq!(std::fs::read_to_string(&path).unwrap(), foreign);
        }
        for own in ["", "{", "{\"key\":\"a", "{\"key\":\"a\",\"exit\":0,\"new\":1}\n{\"key"] {
            assert!(open(own).is_ok(), "{own}");
        }
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn what_was_written_whole_is_there_again() {
        let path = std::env::temp_dir().join(format!("pelago-results-{}.jsonl", std::process::id()));
        let outcome = |exit| Outcome { exit, outputs: BTreeMap::from([("us".into(), 0.1 + 0.2)]), ..Default::default() };
        let open = |path: &Path| Results::open(path).map_err(|Refused(line)| line);
        let mut results = open(&path).unwrap();
        results.append("a", outcome(1)).unwrap();
        results.append("b", outcome(2)).unwrap();
        assert!(open(&path).is_err_and(|line| line.ends_with("another sweep writes it")));
        drop(results);
        let whole = std::fs::read(&path).unwrap();
        for cut in 1..whole.len() / 2 - 1 {
            std::fs::write(&path, &whole[..whole.len() - cut]).unwrap();
            let mut results = open(&path).unwrap();
            assert_eq!(results.known, HashMap::from([("a".into(), outcome(1))]), "{cut}");
            results.append("b", outcome(2)).unwrap();
            assert_eq!(std::fs::read(&path).unwrap(), whole, "{cut}");
        }
        std::fs::write(&path, [b"{}\nno\n", &whole[..]].concat()).unwrap();
        assert_eq!(open(&path).unwrap().known.len(), 2);
        assert!(open(Path::new("/dev/null")).is_err_and(|line| line.ends_with("/dev/null: it is not a regular file")));
        std::fs::remove_file(path).unwrap();
    }
}
