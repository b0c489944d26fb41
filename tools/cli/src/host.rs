//! Jobs of several hosts: what `pelago run` is told about them, and the hidden command that it runs on each.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use pelago_launch::launcher::{Cluster, Hosts, Job, Network, RemoteShell, serve};

use crate::Refused;

/// Where a job runs, if not here.
#[derive(Args)]
#[command(next_help_heading = "Several hosts (the pelago command and the program are at the same path on each)")]
pub(crate) struct OnHosts {
    /// Run on these hosts, so many ranks on each, in order; hosts without a number share what is left
    #[arg(long, value_name = "HOST:N,HOST:N,…", group = "where", value_parser = Hosts::parse_list)]
    hosts: Option<Hosts>,
    /// Run on the hosts that a file names in lines of HOST, HOST:N or HOST slots=N
    #[arg(long, value_name = "FILE", group = "where")]
    hostfile: Option<PathBuf>,
    /// How a command is run on a host [default: ssh {host}]
    #[arg(long, value_name = "COMMAND", requires = "where", value_parser = RemoteShell::parse)]
    remote_shell: Option<RemoteShell>,
    /// Where the pelago command is on each host [default: where it is here]
    #[arg(long, value_name = "PATH", requires = "where")]
    remote_pelago: Option<PathBuf>,
    /// The network by which ranks reach each other, such as 10.1.0.0/16 [default: one that all hosts have]
    #[arg(long, value_name = "ADDRESS/BITS", requires = "where")]
    network: Option<Network>,
    /// Pass a variable on to the ranks, besides those that begin with PELAGO_; may be repeated
    #[arg(long, value_name = "NAME", requires = "where")]
    export: Vec<String>,
}

impl OnHosts {
    /// Where the pelago command is, for the ranks.
    pub(crate) fn pelago(&self) -> Result<PathBuf, Refused> {
        self.remote_pelago.clone().map_or_else(crate::this, Ok)
    }

    /// The job on several hosts, if it runs there; otherwise the job again.
    pub(crate) fn place(self, job: Job) -> Result<Result<Cluster, Job>, Refused> {
        let remote_pelago = self.pelago()?;
        let hosts = match (self.hosts, self.hostfile) {
            (None, None) => return Ok(Err(job)),
            (Some(hosts), _) => hosts,
            (None, Some(file)) => read(&file)?,
        };
        let remote_shell = self.remote_shell.unwrap_or_default();
        Ok(Ok(Cluster { job, hosts, remote_shell, remote_pelago, network: self.network, export: self.export }))
    }
}

/// Does one host's part of a job.
pub(crate) fn main() -> Result<ExitCode, Refused> {
    serve().map(|()| ExitCode::SUCCESS).map_err(|error| Refused(error.to_string()))
}

fn read(file: &PathBuf) -> Result<Hosts, Refused> {
    let refused = |error: &dyn std::fmt::Display| Refused(format!("cannot read hosts from {}: {error}", file.display()));
    let text = std::fs::read_to_string(file).map_err(|error| refused(&error))?;
    Hosts::parse_file(&text).map_err(|error| refused(&error))
}
