//! Jobs of several hosts: the options of `pelago run` for them, and the hidden command `pelago host` that it runs on each.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use pelago_launch::IpNetwork;
use pelago_launch::launcher::{ClusterJob, HostList, LocalJob, RemoteShell, serve};

use crate::Refused;

/// Where a job runs, if not here.
#[derive(Args)]
#[command(next_help_heading = "Several hosts (the pelago command and the program must be at the same path on each)")]
pub(crate) struct OnHosts {
    /// Hosts, with the number of ranks on each; hosts without a number share the remaining ranks
    #[arg(long, value_name = "HOST:N,HOST:N,…", group = "where", value_parser = HostList::parse_list)]
    hosts: Option<HostList>,
    /// File with one host per line: HOST, HOST:N or HOST slots=N
    #[arg(long, value_name = "FILE", group = "where")]
    hostfile: Option<PathBuf>,
    /// Command that runs another command on a host [default: ssh {host}]
    #[arg(long, value_name = "COMMAND", requires = "where", value_parser = RemoteShell::parse)]
    remote_shell: Option<RemoteShell>,
    /// Path of the pelago command on each host [default: its path on this host]
    #[arg(long, value_name = "PATH", requires = "where")]
    remote_pelago: Option<PathBuf>,
    /// Network for the communication of ranks, such as 10.1.0.0/16 [default: the first one that all hosts share]
    #[arg(long, value_name = "ADDRESS/BITS", requires = "where")]
    network: Option<IpNetwork>,
    /// Environment variable to pass to the ranks, besides those that begin with PELAGO_; may be repeated
    #[arg(long, value_name = "NAME", requires = "where")]
    export: Vec<String>,
}

impl OnHosts {
    /// Where the pelago command is, for the ranks.
    pub(crate) fn pelago(&self) -> Result<PathBuf, Refused> {
        self.remote_pelago.clone().map_or_else(crate::this, Ok)
    }

    /// The job on several hosts, if it runs there; otherwise the job again.
    pub(crate) fn place(self, job: LocalJob) -> Result<Result<ClusterJob, LocalJob>, Refused> {
        let remote_pelago = self.pelago()?;
        let hosts = match (self.hosts, self.hostfile) {
            (None, None) => return Ok(Err(job)),
            (Some(hosts), _) => hosts,
            (None, Some(file)) => read(&file)?,
        };
        let remote_shell = self.remote_shell.unwrap_or_default();
        Ok(Ok(ClusterJob { job, hosts, remote_shell, remote_pelago, network: self.network, export: self.export }))
    }
}

/// Does one host's part of a job.
pub(crate) fn main() -> Result<ExitCode, Refused> {
    serve().map(|()| ExitCode::SUCCESS).map_err(|error| Refused(error.to_string()))
}

fn read(file: &PathBuf) -> Result<HostList, Refused> {
    let refused = |error: &dyn std::fmt::Display| Refused(format!("cannot read hosts from {}: {error}", file.display()));
    let text = std::fs::read_to_string(file).map_err(|error| refused(&error))?;
    HostList::parse_file(&text).map_err(|error| refused(&error))
}
