//! Placement of a job's ranks: the host options of `pelago run`, allocations, and the hidden command `pelago host` that runs on each host.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use pelago_launch::IpNetwork;
use pelago_launch::launcher::{
    Allocation, AllocationSearch, ClusterJob, HostList, HostListError, LocalJob, RankAmounts, RemoteShell, serve,
};

use crate::{Refused, inputs};

/// Maximum size in bytes of a file of hosts: a line of 64 bytes for each rank of a job of maximum size.
const HOST_FILE_BYTES_MAX: u64 = 64 << 20;

/// Where a job runs, if not here.
#[derive(Args)]
#[command(next_help_heading = "Several hosts (the pelago command and the program must be at the same path on each)")]
pub(crate) struct OnHosts {
    /// Hosts, with the number of ranks on each; hosts without a number share the remaining ranks [default: those of the allocation of
    /// Slurm, PBS, LSF or Grid Engine, if there is one]
    #[arg(long, value_name = "HOST:N,HOST:N,…", group = "where", value_parser = HostList::parse_list)]
    hosts: Option<HostList>,
    /// File with one host per line: HOST, HOST:N or HOST slots=N
    #[arg(long, alias = "machinefile", value_name = "FILE", group = "where")]
    hostfile: Option<PathBuf>,
    /// Run on this host although there is an allocation
    #[arg(long, conflicts_with = "where")]
    no_allocation: bool,
    /// Let hosts have more ranks than slots
    #[arg(long)]
    oversubscribe: bool,
    /// Command that runs another command on a host [default: srun in an allocation of Slurm, otherwise ssh {host}]
    #[arg(long, value_name = "COMMAND", value_parser = RemoteShell::parse)]
    remote_shell: Option<RemoteShell>,
    /// Path of the pelago command on each host [default: its path on this host]
    #[arg(long, value_name = "PATH")]
    remote_pelago: Option<PathBuf>,
    /// Network for the communication of ranks, such as 10.1.0.0/16 [default: the first one that all hosts share]
    #[arg(long, value_name = "ADDRESS/BITS")]
    network: Option<IpNetwork>,
    /// Environment variable to pass to the ranks, besides those that begin with PELAGO_; may be repeated
    #[arg(long, value_name = "NAME")]
    export: Vec<String>,
}

/// The hosts of a job, and its number of ranks.
pub(crate) struct Placement {
    pub(crate) ranks: u32,
    /// The hosts and the remote shell to reach them; `None` if the job runs on this host.
    hosts: Option<(HostList, RemoteShell)>,
}

impl Placement {
    /// Returns whether all ranks run on this host without a node daemon.
    pub(crate) const fn is_here(&self) -> bool {
        self.hosts.is_none()
    }
}

impl OnHosts {
    /// Returns the path of the pelago command on the hosts of the ranks.
    pub(crate) fn pelago(&self) -> Result<PathBuf, Refused> {
        self.remote_pelago.clone().map_or_else(crate::this, Ok)
    }

    /// Places the ranks on the named hosts, on those of the allocation, or on this host.
    pub(crate) fn placement(&self, ranks: Option<u32>, per_host: Option<u32>) -> Result<Placement, Refused> {
        let amounts = RankAmounts { ranks, per_host, oversubscribe: self.oversubscribe };
        let (hosts, allocation) = match (&self.hosts, &self.hostfile) {
            (Some(hosts), _) => (hosts.clone(), None),
            (None, Some(file)) => (read(file)?, None),
            (None, None) => match self.allocation()? {
                Some(allocation) => (allocation.hosts.clone(), Some(allocation)),
                None => return self.here(amounts),
            },
        };
        let (hosts, ranks) = hosts.with_amounts(amounts).map_err(|error| Refused(error.to_string()))?;
        let is_here = |allocation: &Allocation| hosts.only_host(ranks).is_some_and(|host| allocation.is_here(&host));
        if allocation.as_ref().is_some_and(is_here) {
            return Ok(Placement { ranks, hosts: None });
        }
        let remote_shell = match (&self.remote_shell, allocation) {
            (Some(remote_shell), _) => remote_shell.clone(),
            (None, Some(allocation)) => allocation.remote_shell().map_err(|error| Refused(error.to_string()))?,
            (None, None) => RemoteShell::default(),
        };
        Ok(Placement { ranks, hosts: Some((hosts, remote_shell)) })
    }

    fn allocation(&self) -> Result<Option<Allocation>, Refused> {
        if self.no_allocation {
            return Ok(None);
        }
        match Allocation::find().map_err(|error| Refused(error.to_string()))? {
            AllocationSearch::Found(allocation) => Ok(Some(allocation)),
            AllocationSearch::None | AllocationSearch::Nested(_) => Ok(None),
        }
    }

    /// Places all ranks on this host.
    fn here(&self, amounts: RankAmounts) -> Result<Placement, Refused> {
        let given = [
            ("--remote-shell", self.remote_shell.is_some()),
            ("--remote-pelago", self.remote_pelago.is_some()),
            ("--network", self.network.is_some()),
            ("--export", !self.export.is_empty()),
        ];
        if let Some((option, _)) = given.iter().find(|(_, given)| *given) {
            return Err(Refused(format!(
                "{option} is for other hosts: name some with --hosts or --hostfile; see pelago run --help"
            )));
        }
        match amounts {
            RankAmounts { ranks: Some(ranks), per_host: Some(count), .. } if ranks > count => {
                Err(Refused(HostListError::PerHostAll { ranks, hosts: 1, count }.to_string()))
            }
            RankAmounts { ranks, per_host, .. } => {
                let ranks = ranks.or(per_host).ok_or_else(|| Refused(HostListError::Unsaid.to_string()))?;
                Ok(Placement { ranks, hosts: None })
            }
        }
    }

    /// Returns the job as one on several hosts if it runs there; otherwise returns `job` unchanged as the error value.
    pub(crate) fn place(self, job: LocalJob, placement: Placement) -> Result<Result<ClusterJob, LocalJob>, Refused> {
        let remote_pelago = self.pelago()?;
        let Some((hosts, remote_shell)) = placement.hosts else { return Ok(Err(job)) };
        Ok(Ok(ClusterJob { job, hosts, remote_shell, remote_pelago, network: self.network, export: self.export }))
    }
}

/// Runs the node daemon: the part of a job on one host.
pub(crate) fn main() -> Result<ExitCode, Refused> {
    serve().map(|()| ExitCode::SUCCESS).map_err(|error| Refused(error.to_string()))
}

fn read(file: &Path) -> Result<HostList, Refused> {
    let refused = |error: &dyn std::fmt::Display| Refused(format!("cannot read hosts from {}: {error}", file.display()));
    let text = inputs::read(file, HOST_FILE_BYTES_MAX).map_err(|error| refused(&error))?;
    HostList::parse_file(&text).map_err(|error| refused(&error))
}
