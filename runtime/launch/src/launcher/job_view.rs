//! Inspection of a running job from outside, for `pelago top`: the memory of its host, opened through the launcher that holds it.
//!
//! The system decides which users may inspect a job: the descriptors of a process in `/proc` are open to its user and to root. A launcher of a job over a
//! network protects the job's key from other processes, so that only root may inspect such a job.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions, metadata, read_dir, read_link};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use pelago_base::Rank;
use pelago_shm::{HostMemory, RankStage, ShownCounters, ShownWait};

use crate::system::process_stat::ProcessStat;
use crate::system::report::monotonic_ns;

/// The kernel's name for the memory of a job among the descriptors of a process.
const MEMORY: &str = "/memfd:pelago (deleted)";

/// The memory of a job on this host, while it runs.
pub struct JobView {
    host: HostMemory,
    launcher: u32,
}

/// The current activity of one rank, and its counters.
#[derive(Clone, Debug)]
pub struct RankView {
    /// The rank.
    pub rank: Rank,
    /// Its process; 0 before it has joined.
    pub process: u32,
    /// `absent`, `finished`, `failed`, `waits`, `runs`, `sleeps` (outside the library), `stopped` or `gone`.
    pub state: &'static str,
    /// The event for which it waits, and the number of seconds.
    pub wait: Option<(String, f64)>,
    /// Its counters.
    pub counters: ShownCounters,
}

/// A job cannot be inspected.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JobViewError {
    /// No process that this user may inspect holds the memory of a job.
    #[error("no job of this user runs on this host; of a job over a network, root alone can see the memory")]
    NoJob,
    /// There are several jobs.
    #[error("several jobs run here: name the process of a launcher: {}", .0.iter().map(u32::to_string).collect::<Vec<_>>().join(", "))]
    SeveralJobs(Vec<u32>),
    /// The process cannot be inspected, or holds no memory of a job.
    #[error("process {0} is no launcher of a job that this user may look at")]
    NoLauncher(u32),
    /// The memory is of another version.
    #[error(transparent)]
    Memory(#[from] pelago_shm::HostMemoryError),
}

impl JobView {
    /// Opens the job of the launcher with this process number, or of the only launcher that this user may inspect.
    ///
    /// # Errors
    /// There is no such job, or there are several.
    pub fn open(launcher: Option<u32>) -> Result<Self, JobViewError> {
        let launcher = launcher.map_or_else(only_launcher, Ok)?;
        let file = memory_of(launcher).ok_or(JobViewError::NoLauncher(launcher))?;
        Ok(Self { host: HostMemory::attach(&file)?, launcher })
    }

    /// The launcher's process number.
    pub fn launcher(&self) -> u32 {
        self.launcher
    }

    /// Whether the launcher still runs.
    pub fn is_running(&self) -> bool {
        ProcessStat::of(self.launcher).is_some_and(|stat| stat.state != b'Z')
    }

    /// Number of ranks of the job, on all hosts.
    pub fn ranks_of_job(&self) -> u32 {
        self.host.ranks()
    }

    /// Returns the activity of the ranks of this host.
    ///
    /// Cost: a read of `/proc` for each rank that does not wait.
    pub fn ranks(&self) -> Vec<RankView> {
        let now_ns = monotonic_ns();
        let view = |(rank, control): (Rank, &pelago_shm::RankControl)| {
            let wait = control.report.waits().next();
            let process = control.process();
            let state = match control.stage() {
                RankStage::Absent => "absent",
                RankStage::Finished => "finished",
                RankStage::Failed => "failed",
                RankStage::Joined if wait.is_some() => "waits",
                RankStage::Joined => state(process),
            };
            let text = |wait: ShownWait| (wait.to_string(), wait.seconds_before(now_ns));
            RankView {
                rank,
                process,
                state,
                wait: wait.map(text).filter(|_| state == "waits"),
                counters: control.report.counters(),
            }
        };
        self.host.controls().map(view).collect()
    }
}

/// Returns the state of a process that does not wait in the library.
fn state(process: u32) -> &'static str {
    match ProcessStat::of(process).map(|stat| stat.state) {
        Some(b'R') => "runs",
        Some(b'S' | b'D') => "sleeps",
        Some(b'T' | b't') => "stopped",
        _ => "gone",
    }
}

/// A process that holds the memory of a job: the launcher, a node daemon, or a rank that has not joined the job yet.
struct Holder {
    /// Device and number of the memory.
    memory: (u64, u64),
    started: u64,
    process: u32,
}

impl Holder {
    fn of(process: u32) -> Option<Self> {
        let memory = metadata(descriptor_of(process)?).ok()?;
        Some(Self { memory: (memory.dev(), memory.ino()), started: ProcessStat::of(process)?.started, process })
    }
}

/// Returns the launcher of each job: the oldest of the processes that hold its memory, as the others have inherited it.
fn launchers(holders: impl Iterator<Item = Holder>) -> Vec<u32> {
    let mut oldest = BTreeMap::new();
    for Holder { memory, started, process } in holders {
        let known = oldest.entry(memory).or_insert((started, process));
        *known = (*known).min((started, process));
    }
    let mut launchers: Vec<_> = oldest.into_values().map(|(_, process)| process).collect();
    launchers.sort_unstable();
    launchers
}

fn only_launcher() -> Result<u32, JobViewError> {
    let processes = read_dir("/proc").into_iter().flatten().filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let launchers = launchers(processes.filter_map(Holder::of));
    match launchers[..] {
        [] => Err(JobViewError::NoJob),
        [launcher] => Ok(launcher),
        _ => Err(JobViewError::SeveralJobs(launchers)),
    }
}

/// Returns the entry in `/proc` for the memory that a process holds open.
fn descriptor_of(process: u32) -> Option<PathBuf> {
    let descriptors = read_dir(format!("/proc/{process}/fd")).ok()?;
    let mut paths = descriptors.filter_map(|entry| Some(entry.ok()?.path()));
    paths.find(|path| read_link(path).is_ok_and(|link| link.as_os_str() == MEMORY))
}

fn memory_of(process: u32) -> Option<File> {
    OpenOptions::new().read(true).write(true).open(descriptor_of(process)?).ok()
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};

    use pelago_platform::{Awaited, Tally, WaitSite};
    use pelago_shm::HostPlan;
    use rustix::process::{Pid, Signal, kill_process};

    use super::*;

    #[test]
    fn a_job_is_seen_through_the_process_that_holds_its_memory() {
        let (host, _memory) = HostMemory::create(&HostPlan::local(2, Some(1 << 16))).unwrap();
        host.join(Rank::new(1));
        let report = &host.control(Rank::new(1)).unwrap().report;
        report.tally(&Tally { operations: 3, bytes: 24, in_flight: 1 });
        let view = JobView::open(Some(std::process::id())).unwrap();
        let seen = view.ranks();
        assert_eq!((view.ranks_of_job(), seen[0].state, seen[1].process), (2, "absent", std::process::id()));
        assert_eq!((seen[1].counters.operations, seen[1].counters.bytes), (3, 24));
        report.show(&WaitSite { what: "flush", awaited: Awaited::Rank(Rank::new(0)), word: None, in_flight: 0 }, monotonic_ns());
        let waits = view.ranks().swap_remove(1);
        assert!(waits.state == "waits" && waits.wait.is_some_and(|(what, _)| what == "flush, for rank 0") && view.is_running());
    }

    #[test]
    fn ranks_that_have_not_joined_are_no_launchers() {
        let started = ["first", "second"].map(|_| {
            let (_host, memory) = HostMemory::create(&HostPlan::local(1, Some(1 << 16))).unwrap();
            // Processes inherit this descriptor.
            let _inherited = rustix::io::dup(&memory).unwrap();
            let mut launcher =
                Command::new("sh").args(["-c", "sleep 1000 & echo $!; wait"]).stdout(Stdio::piped()).spawn().unwrap();
            let mut line = String::new();
            BufReader::new(launcher.stdout.take().unwrap()).read_line(&mut line).unwrap();
            (launcher, line.trim().parse::<u32>().unwrap())
        });
        let processes = started.iter().flat_map(|(launcher, rank)| [*rank, launcher.id()]);
        let found = launchers(processes.filter_map(Holder::of));
        let mut expected = started.each_ref().map(|(launcher, _)| launcher.id());
        expected.sort_unstable();
        for (mut launcher, rank) in started {
            launcher.kill().and_then(|()| launcher.wait()).unwrap();
            kill_process(Pid::from_raw(rank as i32).unwrap(), Signal::KILL).unwrap();
        }
        assert_eq!(found, expected);
    }

    #[test]
    fn a_process_without_a_job_is_no_launcher() {
        assert!(matches!(JobView::open(Some(1 << 30)), Err(JobViewError::NoLauncher(_))));
    }
}
