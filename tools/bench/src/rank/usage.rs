//! Memory use of this process.

use crate::error::{Error, Result};

/// Memory use of this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Usage {
    /// Memory that only this process uses: the cost of an additional process of this kind.
    pub(crate) private_bytes: u64,
    pub(crate) resident_bytes: u64,
}

impl Usage {
    pub(crate) fn now() -> Result<Self> {
        let text = std::fs::read_to_string("/proc/self/smaps_rollup")
            .map_err(|error| Error::System("/proc/self/smaps_rollup", error))?;
        Ok(Self::parse(&text))
    }

    fn parse(text: &str) -> Self {
        let bytes = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name))?;
            Some(line.split_whitespace().nth(1)?.parse::<u64>().ok()? * 1024)
        };
        let bytes = |name| bytes(name).unwrap_or(0);
        Self { private_bytes: bytes("Private_Clean") + bytes("Private_Dirty"), resident_bytes: bytes("Rss") }
    }
}

/// Returns the private memory of this process in bytes: pages that only it maps, except unwritten pages of files. The number of the latter,
/// and whether they wait to be written to disk, is decided by the system.
pub(crate) fn taken_bytes() -> Result<u64> {
    let text = std::fs::read_to_string("/proc/self/smaps").map_err(|error| Error::System("/proc/self/smaps", error))?;
    Ok(taken(&text))
}

fn taken(smaps: &str) -> u64 {
    let mut of_file = false;
    let mut kibibytes = 0;
    for line in smaps.lines() {
        let mut words = line.split_whitespace();
        let counts = match words.next() {
            Some("Anonymous:") => of_file,
            Some("Private_Clean:" | "Private_Dirty:") => !of_file,
            // First line of a mapping: addresses, permissions, offset, device, inode and path. A memfd counts as memory.
            Some(name) if !name.ends_with(':') => {
                of_file = words.nth(4).is_some_and(|path| path.starts_with('/') && !path.starts_with("/memfd:"));
                false
            }
            _ => false,
        };
        if counts {
            kibibytes += words.next().and_then(|number| number.parse::<u64>().ok()).unwrap_or(0);
        }
    }
    kibibytes * 1024
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_files_only_what_was_written_is_taken() {
        let smaps = "55d0-55d9 r-xp 00000000 fe:00 9  /bin/true\nPrivate_Clean:  16 kB\nPrivate_Dirty:  32 kB\nAnonymous:  4 kB\n\
                     7f00-7f09 rw-s 00000000 00:01 7  /memfd:heap (deleted)\nPrivate_Dirty:  8 kB\nAnonymous:  0 kB\n\
                     7f10-7f19 rw-p 00000000 00:00 0 \nPrivate_Clean:  1 kB\nPrivate_Dirty:  2 kB\nAnonymous:  3 kB\n\
                     7ffc-7ffe rw-p 00000000 00:00 0  [stack]\nPrivate_Dirty:  64 kB\nAnonymous:  64 kB\n";
        assert_eq!(taken(smaps), (4 + 8 + 1 + 2 + 64) * 1024);
    }

    #[test]
    fn clean_and_dirty_count() {
        let text = "55d0-7ffe ---p 00000000 00:00 0    [rollup]\nRss:    1692 kB\nPss:  272 kB\nPrivate_Clean:  8 kB\nPrivate_Dirty:   100 kB\n";
        assert_eq!(Usage::parse(text), Usage { private_bytes: 108 * 1024, resident_bytes: 1692 * 1024 });
    }
}
