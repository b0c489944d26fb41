//! Stamps of files: whether a program or a file that an argument names has changed since a result.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::plan::Run;

/// A file that an argument of a program names, as it was during the run. A program whose files have a common prefix, such as `chakra`, has
/// one for all of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Input {
    name: String,
    /// Hash of the length and the time of change of each file.
    stamp: String,
}

impl Run {
    /// Returns the existing files that arguments name: as `FILE`, `--option=FILE`, or `PREFIX` of `PREFIX.RANK.et`.
    pub(crate) fn inputs(&self) -> Vec<Input> {
        let names = self.words.iter().skip(1).flat_map(|word| [Some(&**word), word.split_once('=').map(|(_, value)| value)]);
        names.flatten().filter_map(|name| Some(Input { name: name.into(), stamp: self.stamp(name)? })).collect()
    }

    /// Whether these files are unchanged.
    pub(crate) fn has_inputs(&self, inputs: &[Input]) -> bool {
        inputs.iter().all(|input| self.stamp(&input.name).as_ref() == Some(&input.stamp))
    }

    fn stamp(&self, name: &str) -> Option<String> {
        let of_ranks = || (0..self.ranks).map_while(|rank| of_file(format!("{name}.{rank}.et"))).collect::<Vec<_>>();
        let all = of_file(name).map_or_else(of_ranks, |found| vec![found]);
        (!all.is_empty()).then(|| hash(&format!("{all:?}")))
    }
}

/// Returns the length of a regular file, and when it was changed; `None` if there is none.
pub(crate) fn of_file(path: impl AsRef<Path>) -> Option<(u64, i64, i64)> {
    let found = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
    Some((found.len(), found.mtime(), found.mtime_nsec()))
}

/// Number of hexadecimal digits of a hash, as those of keys.
pub(crate) const KEY_DIGITS: usize = 16;

/// Returns the FNV-1a hash of a text, which is the same for all versions and machines.
pub(crate) fn hash(text: &str) -> String {
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
    format!("{hash:0KEY_DIGITS$x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_arguments_name_are_inputs() {
        let folder = std::env::temp_dir().join(format!("pelago-stamps-{}", std::process::id()));
        fs::create_dir(&folder).unwrap();
        let path = |name: &str| folder.join(name).to_str().unwrap().to_owned();
        for name in ["a", "b", "t.0.et", "t.1.et", "program"] {
            fs::write(folder.join(name), "first").unwrap();
        }
        let program = [path("program"), path("a"), format!("--groups={}", path("b")), path("t"), "--repeat".into(), path("none")];
        let list = format!("{program:?}");
        let text = format!("programs = [{list}]\nmachines = [\"rx200-qdr\"]\nranks = [2]");
        let run = super::super::plan::Sweep::parse(&text).unwrap().runs().unwrap().remove(0);
        let inputs = run.inputs();
        assert_eq!(inputs.iter().map(|input| input.name.clone()).collect::<Vec<_>>(), ["a", "b", "t"].map(path));
        assert!(run.has_inputs(&inputs) && run.has_inputs(&[]));
        for name in ["a", "b", "t.1.et"] {
            fs::write(folder.join(name), "longer than before").unwrap();
            assert!(!run.has_inputs(&inputs), "{name}");
            fs::write(folder.join(name), "first").unwrap();
            let inputs = run.inputs();
            fs::remove_file(folder.join(name)).unwrap();
            assert!(!run.has_inputs(&inputs), "{name}");
            fs::write(folder.join(name), "first").unwrap();
        }
        fs::remove_dir_all(folder).unwrap();
    }
}
