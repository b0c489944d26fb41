//! Processes of other ranks: their identity, whether they run, whether they are stopped.

use std::fmt;
use std::os::fd::OwnedFd;
use std::str::FromStr;

use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::system::process_stat::ProcessStat;

/// A process, distinguished from later ones with the same number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ProcessIdentity {
    /// Its number in the kernel.
    pub(crate) process: u32,
    /// Its start time, in the kernel's ticks; 0 if unknown.
    started: u64,
}

/// The result of looking up a process.
#[derive(Debug)]
pub(crate) enum ProcessLookup {
    /// The process runs; the descriptor becomes readable when it has ended.
    Running(OwnedFd),
    /// The process has ended.
    Ended,
    /// The system refuses the lookup.
    Unknown(Errno),
}

impl ProcessIdentity {
    /// Returns the process that has this number now, if there is one.
    pub(crate) fn of(process: u32) -> Self {
        Self { process, started: ProcessStat::of(process).map_or(0, |stat| stat.started) }
    }

    /// Returns this process, which another one has described, with the start time that this process sees for it: another time namespace shifts start times.
    /// `own` is the description of this process by the same one.
    pub(crate) fn seen_here(self, own: Self) -> Self {
        let seen = Self::of(own.process).started;
        let is_known = self.started != 0 && own.started != 0 && seen != 0;
        let started = if is_known { self.started.wrapping_add(seen).wrapping_sub(own.started) } else { 0 };
        Self { started, ..self }
    }

    /// Whether a process of this number with this start time is it. A shift of start times may be no whole number of ticks.
    fn is(self, started: u64) -> bool {
        self.started.abs_diff(started) <= 1
    }

    /// Looks up the process. The descriptor is opened first: if the identity still matches afterwards, the descriptor refers to this process.
    pub(crate) fn find(self) -> ProcessLookup {
        let Some(number) = Pid::from_raw(self.process as i32) else { return ProcessLookup::Ended };
        let descriptor = match pidfd_open(number, PidfdFlags::empty()) {
            Ok(descriptor) => descriptor,
            Err(Errno::SRCH) => return ProcessLookup::Ended,
            Err(error) => return ProcessLookup::Unknown(error),
        };
        let is_other = self.started != 0 && ProcessStat::of(self.process).is_some_and(|stat| !self.is(stat.started));
        if is_other { ProcessLookup::Ended } else { ProcessLookup::Running(descriptor) }
    }

    /// Whether the process is stopped, as by SIGSTOP. A process that is stopped in a debugger is not.
    pub(crate) fn is_stopped(self) -> bool {
        ProcessStat::of(self.process).is_some_and(|stat| stat.is_stopped && self.is(stat.started))
    }
}

impl fmt::Display for ProcessIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.process, self.started)
    }
}

impl FromStr for ProcessIdentity {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (process, started) = text.split_once(' ').ok_or(())?;
        Ok(Self { process: process.parse().map_err(drop)?, started: started.parse().map_err(drop)? })
    }
}

#[cfg(test)]
impl ProcessIdentity {
    /// Returns the process as one in another time namespace describes it.
    pub(crate) fn shifted(self, ticks: u64) -> Self {
        Self { started: self.started + ticks, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::process::{Signal, WaitOptions, kill_process, waitpid};

    const HANG: Timespec = Timespec { tv_sec: 20, tv_nsec: 0 };

    #[test]
    fn a_process_is_found_until_it_ends() {
        let mut child = Command::new("sleep").arg("1000").spawn().unwrap();
        let (identity, number) = (ProcessIdentity::of(child.id()), Pid::from_child(&child));
        assert!(identity.started > 0 && identity.to_string().parse() == Ok(identity));
        let ProcessLookup::Running(descriptor) = identity.find() else { panic!("it runs") };
        assert!(!identity.is_stopped());
        kill_process(number, Signal::STOP).unwrap();
        waitpid(Some(number), WaitOptions::UNTRACED).unwrap();
        assert!(identity.is_stopped());
        kill_process(number, Signal::KILL).unwrap();
        assert_eq!(poll(&mut [PollFd::new(&descriptor, PollFlags::IN)], Some(&HANG)), Ok(1));
        child.wait().unwrap();
        assert!(matches!(identity.find(), ProcessLookup::Ended));
    }

    #[test]
    fn another_process_of_the_same_number_is_not_it() {
        let me = ProcessIdentity::of(std::process::id());
        assert!(matches!(me.find(), ProcessLookup::Running(_)));
        assert!(matches!(ProcessIdentity { started: me.started + 2, ..me }.find(), ProcessLookup::Ended));
    }

    #[test]
    fn a_description_from_another_time_namespace_is_understood() {
        let (me, parent) = (ProcessIdentity::of(std::process::id()), ProcessIdentity::of(std::os::unix::process::parent_id()));
        let described = [me, parent].map(|process| process.shifted(1000));
        assert_eq!(described[1].seen_here(described[0]), parent);
        assert_eq!(parent.seen_here(ProcessIdentity { started: 0, ..me }).started, 0, "it is unknown");
    }

    #[test]
    fn what_is_no_identity_is_refused() {
        assert!(["", "7", "7 x", "-7 1", "7 1 1"].iter().all(|text| text.parse::<ProcessIdentity>().is_err()));
    }
}
