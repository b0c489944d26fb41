//! Detection of kills because memory ran out.

use std::fs::read_to_string;

/// The number of such kills on the whole machine, for whichever memory limit; `None` if the kernel does not count them.
pub(crate) struct OomKills {
    before: Option<u64>,
}

impl OomKills {
    /// Records the number so far, before any rank runs.
    pub(crate) fn note() -> Self {
        Self { before: killed() }
    }

    /// Whether the number has increased since.
    pub(crate) fn have_risen(&self) -> bool {
        self.before.zip(killed()).is_some_and(|(before, now)| now > before)
    }
}

fn killed() -> Option<u64> {
    count(&read_to_string("/proc/vmstat").ok()?)
}

/// Returns the number in the line `oom_kill` (Linux 4.13).
fn count(vmstat: &str) -> Option<u64> {
    vmstat.lines().find_map(|line| line.strip_prefix("oom_kill ")?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kills_are_counted() {
        assert_eq!(count("nr_free_pages 7\noom_kill 12\nnuma_hit 3\n"), Some(12));
        assert_eq!((count(""), count("oom_kill_x 1\n")), (None, None));
    }
}
