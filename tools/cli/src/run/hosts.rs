//! Where the ranks of a job run: the options of `pelago run` for hosts, allocations, and the hidden command `pelago host` that it runs on each.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use pelago_launch::IpNetwork;
use pelago_launch::launcher::{
    Allocation, AllocationSearch, ClusterJob, HostList, HostListError, LocalJob, RankAmounts, RemoteShell, serve,
};

use crate::Refused;

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

/// Where a job runs, and with how many ranks.
pub(crate) struct Placement {
    pub(crate) ranks: u32,
    /// The hosts and the way to them; none if the job runs here.
    hosts: Option<(HostList, RemoteShell)>,
}

impl Placement {
    /// Whether all ranks run on this host, and it was not named as another one.
    pub(crate) const fn is_here(&self) -> bool {
        self.hosts.is_none()
    }
}

impl OnHosts {
    /// Where the pelago command is, for the ranks.
    pub(crate) fn pelago(&self) -> Result<PathBuf, Refused> {
        self.remote_pelago.clone().map_or_else(crate::this, Ok)
    }

    /// Where so many ranks run: on the hosts that are named, on those of the allocation, or here.
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

    /// A job without other hosts.
    fn here(&self, amounts: RankAmounts) -> Result<Placement, Refused> {
        let given = [
            ("--remote-shell", self.remote_shell.is_some()),
            ("--remote-pelago", self.remote_pelago.is_some()),
            ("--network", self.network.is_some()),
            ("--export", !self.export.is_empty()),
        ];
        if let Some((option, _)) = given.iter().find(|(_, given)| *given) {
            return Err(Refused(format!("{option} is for other hosts: name some with --hosts or --hostfile; see pelago --help")));
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

    /// The job on several hosts, if it runs there; otherwise the job again.
    pub(crate) fn place(self, job: LocalJob, placement: Placement) -> Result<Result<ClusterJob, LocalJob>, Refused> {
        let remote_pelago = self.pelago()?;
        let Some((hosts, remote_shell)) = placement.hosts else { return Ok(Err(job)) };
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
