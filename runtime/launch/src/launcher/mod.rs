//! The launcher: starts the ranks of a job on this host or on several, and ends them.
//!
//! | file or folder | content |
//! |---|---|
//! | `local_job` | a job whose ranks all run on this host |
//! | `cluster` | a job of several hosts |
//! | `allocation` | the hosts that a scheduler has allocated to this process |
//! | `job` | the job state machine, the event loop that drives it, and the outcome of a job |
//! | `job_view` | inspection of a running job from outside |
//! | `process` | processes of ranks and their descendants; signals to the launcher |
//! | `output` | the output of ranks, line by line |
//! | `system` | the system calls that are available, and resources for ranks |
//! | `error` | the reasons why a job could not be started |
//! | `limits` | the limits |
//!
//! A job has no name in the file system. If the launcher dies, the kernel kills the ranks, and a guard process kills processes that ranks have
//! started. The launcher blocks in `poll` only, also for signals, and for a bounded time on processes that it has killed.

mod allocation;
mod cluster;
mod error;
mod job;
mod job_view;
mod limits;
mod local_job;
mod output;
mod process;
mod system;

pub use self::allocation::{Allocation, AllocationError, AllocationSearch, Scheduler};
pub use self::cluster::{ClusterJob, HOST_COMMAND, HostList, HostListError, RankAmounts, RemoteShell, RemoteShellError, serve};
pub use self::error::LaunchError;
pub use self::job::outcome::{FailureCause, JobOutcome, ProcessLocation, RankProcess};
pub use self::job_view::{JobView, JobViewError, RankView};
pub use self::local_job::LocalJob;
pub use self::process::signals::{LateSignals, reset_inherited_signals};
pub use self::system::call_error::SystemCallError;
pub use self::system::system_calls;

/// Parses a number of bytes, with an optional K, M, G or T for powers of 1024, as everywhere in Pelago.
pub fn parse_bytes(text: &str) -> Option<u64> {
    crate::rank::environment::parse_bytes(text)
}
