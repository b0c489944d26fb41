//! Allocations: the hosts that a scheduler (Slurm, PBS, LSF, Grid Engine) has allocated to the job script in which this process runs.
//!
//! | file | content |
//! |---|---|
//! | `mod` | the allocation of this process, from its environment |
//! | `node_file` | the files and variables in which schedulers name hosts |
//! | `srun` | the command that starts a node daemon in an allocation of Slurm |

mod node_file;
mod srun;

use std::fmt;
use std::fs::File;
use std::io::{self, Read};

use crate::launcher::cluster::{HostList, HostListError, RemoteShell};
use crate::launcher::error::reason;
use crate::launcher::limits::{NODE_FILE_BYTES_MAX, REMOTE_HOSTS_MAX};
use crate::names;
use crate::rank::slurm;

/// A scheduler that allocates hosts to job scripts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheduler {
    /// Slurm.
    Slurm,
    /// PBS: Torque, OpenPBS, PBS Pro.
    Pbs,
    /// IBM Spectrum LSF.
    Lsf,
    /// Grid Engine and its successors.
    GridEngine,
}

/// The hosts of an allocation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allocation {
    /// The scheduler.
    pub scheduler: Scheduler,
    /// The variable that names the hosts, or the file with them.
    pub variable: &'static str,
    /// The hosts, each with its slots.
    pub hosts: HostList,
    /// The names of this host, by the scheduler and by itself.
    here: Vec<String>,
}

/// The result of the search for an allocation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AllocationSearch {
    /// No allocation.
    None,
    /// An allocation, but a launcher has started this process as part of a job: the variable that shows this.
    Nested(&'static str),
    /// An allocation.
    Found(Allocation),
}

/// The allocation cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AllocationError {
    /// A variable of a scheduler is invalid or missing.
    #[error("the hosts of this {scheduler} allocation cannot be read: {variable} is {value:?}; {IGNORE}")]
    Variable {
        /// The scheduler.
        scheduler: Scheduler,
        /// Its variable.
        variable: &'static str,
        /// The value, or its beginning.
        value: String,
    },
    /// The file of a scheduler cannot be read.
    #[error("the hosts of this {scheduler} allocation cannot be read from {path} ({variable}): {}; {IGNORE}", reason(.error))]
    File {
        /// The scheduler.
        scheduler: Scheduler,
        /// The variable that names the file.
        variable: &'static str,
        /// The file.
        path: String,
        /// The reason.
        error: io::Error,
    },
    /// A line of such a file is invalid.
    #[error(
        "the hosts of this {scheduler} allocation cannot be read from {path} ({variable}): line {line} is {text:?}; {IGNORE}"
    )]
    Line {
        /// The scheduler.
        scheduler: Scheduler,
        /// The variable that names the file.
        variable: &'static str,
        /// The file.
        path: String,
        /// The number of the line, from 1.
        line: usize,
        /// The line, or its beginning.
        text: String,
    },
    /// No hosts, or too many.
    #[error("the hosts of this {scheduler} allocation cannot be used ({variable}): {error}; {IGNORE}")]
    Hosts {
        /// The scheduler.
        scheduler: Scheduler,
        /// The variable that names the hosts.
        variable: &'static str,
        /// The reason.
        error: HostListError,
    },
    /// Slurm's command is missing.
    #[error("cannot run srun, which starts ranks on the hosts of this Slurm allocation: {}; install it (Debian: slurm-client) or put it into PATH, or name another command with --remote-shell", reason(.0))]
    Srun(io::Error),
}

const IGNORE: &str = "--no-allocation runs on this host, --hosts on others";

/// Variables that launchers set for the processes of a job.
const NESTED: [&str; 6] =
    [names::RANK, names::OPEN_MPI_SIZE, names::PMI_DESCRIPTOR, names::PMI_RANK, names::PMIX_RANK, "TORCHELASTIC_RUN_ID"];

/// The variables with the hosts of a Slurm allocation; old versions set the second.
const SLURM_HOSTS: [&str; 2] = ["SLURM_JOB_NODELIST", "SLURM_NODELIST"];
const SLURM_TASKS: &str = "SLURM_TASKS_PER_NODE";
const SLURM_CORES: &str = "SLURM_JOB_CPUS_PER_NODE";
const SLURM_CORES_PER_TASK: &str = "SLURM_CPUS_PER_TASK";
const SLURM_HERE: &str = "SLURMD_NODENAME";

/// Steps from this number on were not started by srun: the batch script, or the shell of salloc.
const SLURM_SPECIAL_STEPS: u64 = 0xffff_fff0;

const PBS_FILE: &str = "PBS_NODEFILE";
const LSF_FILE: &str = "LSB_DJOB_HOSTFILE";
const LSF_HOSTS: &str = "LSB_MCPU_HOSTS";
const GRID_ENGINE_FILE: &str = "PE_HOSTFILE";

impl Allocation {
    /// Finds the allocation of this process.
    ///
    /// # Errors
    /// There is one, but its hosts cannot be read.
    pub fn find() -> Result<AllocationSearch, AllocationError> {
        let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
        Self::find_by(|name| std::env::var(name).ok(), read, &name)
    }

    /// As `find`, for a process with these variables on a host of this name.
    pub(crate) fn find_by(
        variable: impl Fn(&str) -> Option<String>,
        read: impl Fn(&str) -> io::Result<String>,
        host: &str,
    ) -> Result<AllocationSearch, AllocationError> {
        let slurm = SLURM_HOSTS.into_iter().find(|name| variable(name).is_some()).map(|name| (Scheduler::Slurm, name));
        let [pbs, lsf_file, lsf, grid_engine] = [
            (Scheduler::Pbs, PBS_FILE),
            (Scheduler::Lsf, LSF_FILE),
            (Scheduler::Lsf, LSF_HOSTS),
            (Scheduler::GridEngine, GRID_ENGINE_FILE),
        ]
        .map(|found| Some(found).filter(|(_, name)| variable(name).is_some()));
        let Some((scheduler, name)) = slurm.or(pbs).or(lsf_file).or(lsf).or(grid_engine) else {
            return Ok(AllocationSearch::None);
        };
        if let Some(name) = nested(&variable) {
            return Ok(AllocationSearch::Nested(name));
        }
        let value = variable(name).unwrap_or_default();
        let hosts = match name {
            LSF_HOSTS => node_file::pairs(&value).ok_or_else(|| wrong(scheduler, name, &value))?,
            _ if scheduler == Scheduler::Slurm => slurm_hosts(&variable, name, &value)?,
            _ => {
                let path = || value.clone();
                let text =
                    read(&value).map_err(|error| AllocationError::File { scheduler, variable: name, path: path(), error })?;
                let parse = if name == GRID_ENGINE_FILE { node_file::columns } else { node_file::lines };
                parse(&text).map_err(|(line, text)| {
                    let text = beginning(text);
                    AllocationError::Line { scheduler, variable: name, path: path(), line, text }
                })?
            }
        };
        let hosts = HostList::with_slots(hosts).map_err(|error| AllocationError::Hosts { scheduler, variable: name, error })?;
        let here = [Some(host.to_owned()), variable(SLURM_HERE).filter(|_| scheduler == Scheduler::Slurm)];
        let allocation = Self { scheduler, variable: name, hosts, here: here.into_iter().flatten().collect() };
        Ok(AllocationSearch::Found(allocation))
    }

    /// Returns the remote shell for its hosts: `srun` in an allocation of Slurm, `ssh` in others.
    ///
    /// # Errors
    /// There is no `srun`.
    pub fn remote_shell(&self) -> Result<RemoteShell, AllocationError> {
        match self.scheduler {
            Scheduler::Slurm => srun::remote_shell().map_err(AllocationError::Srun),
            Scheduler::Pbs | Scheduler::Lsf | Scheduler::GridEngine => Ok(RemoteShell::default()),
        }
    }

    /// Whether this process runs on the host of this name.
    pub fn is_here(&self, host: &str) -> bool {
        self.here.iter().any(|here| is_same(here, host))
    }
}

impl fmt::Display for Scheduler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Slurm => "Slurm",
            Self::Pbs => "PBS",
            Self::Lsf => "LSF",
            Self::GridEngine => "Grid Engine",
        })
    }
}

impl fmt::Display for Allocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}): {}", self.scheduler, self.variable, self.hosts.summary())
    }
}

/// Returns the variable which shows that a launcher has started this process.
fn nested(variable: &impl Fn(&str) -> Option<String>) -> Option<&'static str> {
    let is_step = |step: String| step.trim().parse().is_ok_and(|step: u64| step < SLURM_SPECIAL_STEPS);
    let launcher = NESTED.into_iter().find(|name| variable(name).is_some());
    launcher.or_else(|| variable(names::SLURM_STEP).is_some_and(is_step).then_some(names::SLURM_STEP))
}

/// Returns the hosts of a Slurm allocation, each with its number of tasks, or of cores if no tasks were requested.
fn slurm_hosts(
    variable: &impl Fn(&str) -> Option<String>,
    name: &'static str,
    list: &str,
) -> Result<Vec<(String, u32)>, AllocationError> {
    let refused = |name, value: &str| wrong(Scheduler::Slurm, name, value);
    let hosts = slurm::hosts(list, REMOTE_HOSTS_MAX + 1)
        .filter(|hosts| hosts.iter().all(|host| node_file::is_host(host)))
        .ok_or_else(|| refused(name, list))?;
    if hosts.len() > REMOTE_HOSTS_MAX {
        let error = HostListError::Many(hosts.len());
        return Err(AllocationError::Hosts { scheduler: Scheduler::Slurm, variable: name, error });
    }
    let (name, per_task) = match variable(SLURM_TASKS) {
        Some(_) => (SLURM_TASKS, 1),
        None => (SLURM_CORES, variable(SLURM_CORES_PER_TASK).and_then(|text| text.trim().parse().ok()).unwrap_or(1).max(1)),
    };
    let list = variable(name).unwrap_or_default();
    let numbers = slurm::numbers(&list, hosts.len()).ok_or_else(|| refused(name, &list))?;
    let slots = numbers.into_iter().map(|number| node_file::slots((number / per_task).max(u64::from(number > 0))));
    let slots: Option<Vec<u32>> = slots.collect();
    Ok(hosts.into_iter().zip(slots.ok_or_else(|| refused(name, &list))?).collect())
}

fn wrong(scheduler: Scheduler, variable: &'static str, value: &str) -> AllocationError {
    AllocationError::Variable { scheduler, variable, value: beginning(value) }
}

/// Returns the beginning of a text that fits on a line.
fn beginning(text: &str) -> String {
    const SHOWN: usize = 60;
    let mut shown: String = text.chars().take(SHOWN).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown
}

/// Whether two names denote one host; one of them may lack the domain.
fn is_same(one: &str, other: &str) -> bool {
    let is_address = |name: &str| name.parse::<std::net::IpAddr>().is_ok();
    let short = |name: &str| name.split('.').next().unwrap_or_default().to_ascii_lowercase();
    let has_domain = |name: &str| name.contains('.');
    let may_differ = has_domain(one) != has_domain(other) && !is_address(one) && !is_address(other);
    one.eq_ignore_ascii_case(other) || may_differ && short(one) == short(other)
}

fn read(path: &str) -> io::Result<String> {
    let mut text = String::new();
    let bytes = File::open(path)?.take(NODE_FILE_BYTES_MAX + 1).read_to_string(&mut text)?;
    if bytes as u64 > NODE_FILE_BYTES_MAX {
        return Err(io::Error::other(format!("it has more than {NODE_FILE_BYTES_MAX} bytes")));
    }
    Ok(text)
}

#[cfg(test)]
mod tests;
