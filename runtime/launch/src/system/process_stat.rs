//! What the system tells of any process: `/proc/PID/stat`.

use std::fs::read_to_string;

/// A process, as far as it matters here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ProcessStat {
    /// Its state, as the kernel letters it: `R` runs, `S` and `D` sleep, `T` is stopped.
    pub(crate) state: u8,
    /// Whether it is stopped, as by SIGSTOP. One that stands in a debugger is not.
    pub(crate) is_stopped: bool,
    /// The process that has started it, or has taken its place.
    pub(crate) parent: u32,
    /// Its group.
    pub(crate) group: u32,
    /// When it was started, in the kernel's ticks.
    pub(crate) started: u64,
}

impl ProcessStat {
    /// `None` if there is no such process, or it cannot be seen.
    pub(crate) fn of(process: u32) -> Option<Self> {
        let status = read_to_string(format!("/proc/{process}/stat")).ok()?;
        // The name before it is in parentheses, and may hold any. The third word of the line follows.
        let mut words = status.rsplit_once(')')?.1.split_whitespace();
        let state = *words.next()?.as_bytes().first()?;
        let is_stopped = state == b'T';
        let parent = words.next()?.parse().ok()?;
        let group = words.next()?.parse().ok()?;
        Some(Self { state, is_stopped, parent, group, started: words.nth(16)?.parse().ok()? })
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::CommandExt;
    use std::process::Command;

    use super::*;

    #[test]
    fn a_process_that_runs_is_described() {
        let mut child = Command::new("sleep").arg("1000").process_group(0).spawn().unwrap();
        let stat = ProcessStat::of(child.id()).unwrap();
        child.kill().and_then(|()| child.wait()).unwrap();
        assert_eq!((stat.parent, stat.group), (std::process::id(), child.id()));
        assert!(!stat.is_stopped && stat.started >= ProcessStat::of(1).map_or(0, |first| first.started));
    }

    #[test]
    fn who_is_no_process_is_not_described() {
        assert_eq!(ProcessStat::of(1 << 30), None);
    }
}
