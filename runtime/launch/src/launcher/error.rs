//! The reasons why a job could not be started.

use std::ffi::OsStr;
use std::net::IpAddr;
use std::path::PathBuf;

use pelago_base::limits::RANKS_PER_HOST_MAX;
use pelago_shm::HostMemoryError;

use crate::launcher::cluster::{HOST_COMMAND, HostListError};
use crate::launcher::limits::DOWN_BYTES_MAX;
use crate::launcher::system::call_error::SystemCallError;
use crate::launcher::system::program;
use crate::system::udp_ports;

/// A job could not be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LaunchError {
    /// The number of ranks is invalid.
    #[error("{0} ranks: a job has 1 to {RANKS_PER_HOST_MAX} ranks on one host")]
    Ranks(u32),
    /// The program cannot be run.
    #[error("cannot run {}: {}", .0.display(), reason(.1))]
    Program(PathBuf, std::io::Error),
    /// No program has this name.
    #[error("cannot run {0:?}: no such program in PATH; name one in this folder as ./{0}")]
    Unknown(String),
    /// Too many processes to monitor.
    #[error(
        "{processes} processes need {needed} open files in the launcher and {allowed} are allowed; raise the limit (ulimit -n) or start fewer"
    )]
    Descriptors {
        /// Number of ranks, or of remote shells.
        processes: u32,
        /// Descriptors needed.
        needed: u64,
        /// Descriptors allowed.
        allowed: u64,
    },
    /// The ranks cannot reach each other over UDP.
    #[error("cannot bind {0} UDP sockets to {1}: {2}; {hint}", hint = udp_ports::remedy(.2))]
    Sockets(u32, IpAddr, std::io::Error),
    /// The memory of the job cannot be created.
    #[error(transparent)]
    Host(#[from] HostMemoryError),
    /// The hosts do not fit the ranks.
    #[error(transparent)]
    Hosts(#[from] HostListError),
    /// Shared memory was requested between several hosts.
    #[error("ranks on {0} hosts cannot reach each other by shared memory; use --transport auto or udp")]
    Apart(usize),
    /// A variable that is to be exported is not set.
    #[error("--export {0}: this variable is not set")]
    Export(String),
    /// Arguments and variables are too long.
    #[error("the command line and its variables take {0} bytes to pass on; {DOWN_BYTES_MAX} are allowed")]
    Large(usize),
    /// The working folder of the job does not exist on this host.
    #[error("cannot enter the folder {}: {}", .0.display(), reason(.1))]
    Folder(PathBuf, std::io::Error),
    /// The working folder of the launcher has no path.
    #[error(
        "the working folder, which ranks on other hosts enter, has no path: {}; it was deleted or moved: enter it again (cd) and repeat",
        reason(.0)
    )]
    WorkingFolder(std::io::Error),
    /// A user has called the command of the node daemon.
    #[error(
        "pelago {HOST_COMMAND} is an internal command: pelago run --hosts starts it on each host and controls it through its standard input"
    )]
    Uncalled,
    /// The addresses of this host are unknown.
    #[error(
        "cannot list the network interfaces of this host: {}; getifaddrs needs netlink sockets and recvmsg, which a filter may refuse",
        reason(.0)
    )]
    Interfaces(std::io::Error),
    /// The system provides no random numbers.
    #[error("cannot draw the key of the job: getrandom and /dev/urandom give no random numbers: {}", reason(.0))]
    Key(std::io::Error),
    /// Datagrams of this host to itself do not arrive.
    #[error(
        "datagrams do not reach {0} on this machine: {1}; is its interface up (ip link set lo up)? --transport shm needs no network"
    )]
    Unreachable(IpAddr, std::io::Error),
    /// The system refuses a call.
    #[error(transparent)]
    Refused(#[from] SystemCallError),
    /// The job cannot be started for another reason.
    #[error("cannot start the job: {0}")]
    System(#[from] std::io::Error),
}

impl LaunchError {
    /// Returns why the start of `program`, a path or a name in `PATH`, has failed with `error`.
    pub fn of_start(program: &OsStr, error: std::io::Error) -> Self {
        match program::find(program, std::env::var_os("PATH").as_deref()) {
            Ok(path) => {
                let error = program::start_error(&path, error);
                Self::Program(path, error)
            }
            Err(error) => error,
        }
    }
}

/// Returns the text of an error, without its number; with the remedy if no further process may be started.
pub(crate) fn reason(error: &std::io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    match error.kind() {
        std::io::ErrorKind::WouldBlock => {
            format!("{text}: start fewer ranks, or raise the limit of processes (ulimit -u, or pids.max)")
        }
        _ => text.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_many_processes_are_said() {
        let error = |number: rustix::io::Errno| reason(&number.into());
        assert!(error(rustix::io::Errno::AGAIN).ends_with("raise the limit of processes (ulimit -u, or pids.max)"));
        assert_eq!(error(rustix::io::Errno::NOENT), "No such file or directory");
    }
}
