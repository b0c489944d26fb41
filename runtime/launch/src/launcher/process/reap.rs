//! Collecting killed processes, without waiting for a process that does not die.

use std::thread::sleep;
use std::time::Duration as Pause;

use pelago_base::Duration;
use pelago_platform::Clock;
use rustix::io::Errno;
use rustix::process::{Pid, WaitOptions, WaitStatus, waitpgid, waitpid};

use crate::OsClock;

/// Initial pause between two checks for killed processes, most of which end at once.
const PAUSE_MIN: Pause = Pause::from_micros(50);
/// Maximum pause between two checks for killed processes.
const PAUSE_MAX: Pause = Pause::from_millis(5);

/// Whether no child of this process is left in a group; collects those that have ended.
pub(crate) fn is_group_gone(group: Pid) -> bool {
    is_gone(|| waitpgid(group, WaitOptions::NOHANG))
}

/// Whether a child has ended; collects it in this case.
pub(crate) fn is_child_gone(child: Pid) -> bool {
    is_gone(|| waitpid(Some(child), WaitOptions::NOHANG))
}

/// Checks `is_gone` repeatedly, for the given time at most; returns its last result.
pub(crate) fn wait(limit: Duration, mut is_gone: impl FnMut() -> bool) -> bool {
    let clock = OsClock::start();
    let end = clock.now() + limit;
    let mut pause = PAUSE_MIN;
    while !is_gone() {
        if clock.now() >= end {
            return false;
        }
        sleep(pause);
        pause = (2 * pause).min(PAUSE_MAX);
    }
    true
}

/// If the system does not let this process collect its children, they count as gone, because waiting is impossible.
fn is_gone(collect: impl Fn() -> Result<Option<(Pid, WaitStatus)>, Errno>) -> bool {
    loop {
        match collect() {
            Ok(Some(_)) | Err(Errno::INTR) => {}
            Ok(None) => return false,
            Err(_) => return true,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::CommandExt;
    use std::process::Command;

    use rustix::process::{Signal, kill_process_group};

    use super::*;

    #[test]
    #[expect(clippy::zombie_processes, reason = "the group is collected as a whole")]
    fn what_was_killed_is_collected_and_what_lives_is_not_waited_for() {
        let child = Command::new("sleep").arg("1000").process_group(0).spawn().unwrap();
        let group = Pid::from_child(&child);
        assert!(!wait(Duration::from_milliseconds(1), || is_group_gone(group)), "it lives");
        kill_process_group(group, Signal::KILL).unwrap();
        assert!(wait(Duration::from_milliseconds(60_000), || is_group_gone(group)));
        assert!(is_child_gone(group), "there is no such child any more");
    }
}
