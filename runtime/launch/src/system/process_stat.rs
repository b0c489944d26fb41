//! The system's information on any process: `/proc/PID/stat`.

use std::fs::read_to_string;

/// The relevant part of a process's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ProcessStat {
    /// Its state, as the kernel's letter: `R` runs, `S` and `D` sleep, `T` is stopped.
    pub(crate) state: u8,
    /// Whether it is stopped, as by SIGSTOP. A process that is stopped in a debugger is not.
    pub(crate) is_stopped: bool,
    /// The parent process.
    pub(crate) parent: u32,
    /// Its group.
    pub(crate) group: u32,
    /// Its start time, in the kernel's ticks.
    pub(crate) started: u64,
}

impl ProcessStat {
    /// Reads the state of a process; `None` if the process does not exist, or is not visible.
    pub(crate) fn of(process: u32) -> Option<Self> {
        let status = read_to_string(format!("/proc/{process}/stat")).ok()?;
        // The name before the state is in parentheses, and may itself contain parentheses. The third word of the line follows.
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
