//! The environment variables that describe a job: the launcher sets them, the ranks read them.

use std::ffi::OsString;
use std::fmt;
use std::num::NonZeroU32;
use std::ops::Range;
use std::os::fd::RawFd;
use std::path::PathBuf;
use std::str::FromStr;

use pelago_base::{Duration, Rank, Sample, SampleError};

use crate::limits::START_LIMIT_DEFAULT;
use crate::rank::meeting_secret::SecretSource;
use crate::rank::slurm;
use crate::{CoreBinding, ForeignLauncher, IpNetwork};

/// The names of the variables.
pub mod names {
    /// This rank's number. Set by the launcher.
    pub const RANK: &str = "PELAGO_RANK";
    /// Number of ranks of the job. Set by the launcher.
    pub const SIZE: &str = "PELAGO_SIZE";
    /// The descriptor of the memory that the ranks of this host share. Set by the launcher.
    pub const MEMORY: &str = "PELAGO_MEMORY";
    /// The descriptor of the socket by which this rank receives datagrams. Set by the launcher, if ranks reach each other over UDP.
    pub const SOCKET: &str = "PELAGO_SOCKET";
    /// The descriptor of a non-blocking pipe: the last rank of the host to enter a barrier of the bootstrap writes a byte to it. Set by the
    /// launcher, if the job has other hosts.
    pub const CALL: &str = "PELAGO_CALL";
    /// `auto`, `shm`, `udp` or `ofi`: the transport between ranks.
    pub const TRANSPORT: &str = "PELAGO_TRANSPORT";
    /// `PROVIDER` or `PROVIDER:DOMAIN` of libfabric, for the transport `ofi`; one for each rail, separated by commas.
    pub const FABRIC: &str = "PELAGO_FABRIC";
    /// `1`: data that ranks send over a network is encrypted.
    pub const ENCRYPT: &str = "PELAGO_ENCRYPT";
    /// Number of seconds for which a rank may be stopped, or not answer others over a network, before it counts as failed.
    pub const FAILURE: &str = "PELAGO_FAILURE_SECONDS";
    /// `auto`, `thread` or `manual`: whether a progress thread or the rank itself serves the requests of other ranks.
    pub const PROGRESS: &str = "PELAGO_PROGRESS";
    /// `auto` or `none`: whether ranks are bound to their own cores, if there are enough.
    pub const BIND: &str = "PELAGO_BIND";
    /// `attach` or `thread`: how registered memory of other ranks is copied.
    pub const COPY: &str = "PELAGO_COPY";
    /// Maximum size of each heap of a rank: bytes, or with K, M, G or T.
    pub const HEAP: &str = "PELAGO_HEAP";
    /// `1`: each rank writes every operation that passes through a transport to standard error.
    pub const TRACE: &str = "PELAGO_TRACE";
    /// A folder of this host, where each rank writes its record, in a file with its number. Set by `pelago run --trace`, `--record` and `--report`.
    pub const RECORD: &str = "PELAGO_RECORD";
    /// `1`: with [`RECORD`], all operations on memory of other ranks pass through a transport, and all waits are recorded. Set by `pelago run --record`
    /// and `--report`.
    pub const RECORD_ALL: &str = "PELAGO_RECORD_ALL";
    /// With [`RECORD`], the ranks that record, and the period since they joined the job: a [`Sample`](pelago_base::Sample) as text. Set by
    /// `pelago run --sample`.
    pub const RECORD_SAMPLE: &str = "PELAGO_RECORD_SAMPLE";
    /// The variables that `pelago run` sets for the ranks of one job: a job that a rank starts must not inherit them.
    #[cfg(feature = "launcher")]
    pub(crate) const OF_ONE_JOB: [&str; 6] = [MEMORY, SOCKET, CALL, RECORD, RECORD_ALL, RECORD_SAMPLE];
    /// `1`: each rank ends with a line on standard error with the counters of its operations.
    pub const STATISTICS: &str = "PELAGO_STATISTICS";
    /// Number of seconds for which every rank has to wait before a deadlock is declared; 0 is never.
    pub const DEADLOCK: &str = "PELAGO_DEADLOCK_SECONDS";
    /// `1`: the program runs alone, although another launcher has started several processes of it.
    pub const SINGLE: &str = "PELAGO_SINGLE";
    /// Number of seconds for which ranks that another launcher has started wait for each other.
    pub const START: &str = "PELAGO_START_SECONDS";
    /// The network between ranks that another launcher has started on several hosts, such as `10.1.0.0/16`.
    pub const NETWORK: &str = "PELAGO_NETWORK";
    /// The descriptor of the connection to a launcher with PMI-1. Set by that launcher, as the next two.
    pub const PMI_DESCRIPTOR: &str = "PMI_FD";
    /// The number of this process among those that the launcher has started.
    pub const PMI_RANK: &str = "PMI_RANK";
    /// Number of processes that the launcher has started.
    pub const PMI_SIZE: &str = "PMI_SIZE";
    /// The job, under a launcher with PMIx.
    pub const PMIX_JOB: &str = "PMIX_NAMESPACE";
    /// The number of this process, under a launcher with PMIx.
    pub const PMIX_RANK: &str = "PMIX_RANK";
    /// The secret of ranks that use a rendezvous, if the launcher has no store: 32 hexadecimal digits, the same for all.
    pub const SECRET: &str = "PELAGO_SECRET";
    /// The file that holds the secret instead, which no other user may read.
    pub const SECRET_FILE: &str = "PELAGO_SECRET_FILE";
    /// The port of rank 0 for the rendezvous, if it differs from [`MASTER_PORT`].
    pub const PORT: &str = "PELAGO_PORT";
    /// The number of this process, under torchrun and similar launchers.
    pub const WORLD_RANK: &str = "RANK";
    /// Number of these processes.
    pub const WORLD_SIZE: &str = "WORLD_SIZE";
    /// The host of process 0.
    pub const MASTER_ADDRESS: &str = "MASTER_ADDR";
    /// A port on that host.
    pub const MASTER_PORT: &str = "MASTER_PORT";
    /// Whether torchrun itself listens at that port.
    pub const TORCHRUN_LISTENS: &str = "TORCHELASTIC_USE_AGENT_STORE";
    /// The job, under torchrun: the same for its processes on all hosts.
    pub const TORCHRUN_JOB: &str = "TORCHELASTIC_RUN_ID";
    /// The number of this process, under srun.
    pub const SLURM_RANK: &str = "SLURM_PROCID";
    /// Number of processes that srun has started, and number of tasks of the job.
    pub const SLURM_SIZES: [&str; 2] = ["SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"];
    /// The step that srun has started; batch scripts have none.
    pub const SLURM_STEP: &str = "SLURM_STEP_ID";
    /// The number of the job.
    pub const SLURM_JOB: &str = "SLURM_JOB_ID";
    /// The hosts of the step, and of the job.
    pub const SLURM_HOSTS: [&str; 3] = ["SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST", "SLURM_NODELIST"];
    /// Number of processes that Open MPI has started.
    pub const OPEN_MPI_SIZE: &str = "OMPI_COMM_WORLD_SIZE";
    /// The number of this process, under Open MPI's `mpirun`.
    pub const OPEN_MPI_RANK: &str = "OMPI_COMM_WORLD_RANK";
    /// Number of its processes on this host.
    pub const OPEN_MPI_LOCAL_SIZE: &str = "OMPI_COMM_WORLD_LOCAL_SIZE";
    /// A secret of its job, which only its processes know.
    pub const OPEN_MPI_KEY: &str = "OMPI_MCA_orte_precondition_transports";
    /// A folder of a launcher with PMIx, whose name contains the launcher's process.
    pub const PMIX_SERVER: &str = "PMIX_SERVER_TMPDIR";
}

const DEADLOCK_SECONDS_DEFAULT: f64 = 5.0;

/// The expected value of a variable that is missing beside `PELAGO_RANK`.
const REST_EXPECTED: &str =
    "set by `pelago run` together with PELAGO_RANK; keep both for a rank, or remove PELAGO_RANK to run alone";

pub(crate) const FAILURE_LIMIT_DEFAULT: Duration = Duration::from_milliseconds(5000);

/// The recording settings of each rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordSettings {
    /// The folder for the records.
    pub folder: PathBuf,
    /// Whether everything is recorded: also operations on mapped memory, and the shortest waits.
    pub all: bool,
    /// The ranks that record, and the period.
    pub sample: Sample,
}

/// The settings of a rank, from its environment.
#[derive(Clone, Debug, PartialEq)]
pub struct LaunchSettings {
    /// The job that a launcher started, or `None` if the program was started alone.
    pub job: Option<LaunchedJob>,
    /// The job that another launcher started, and that its processes set up among themselves; `None` if a single rank is intended.
    pub adopted: Option<AdoptedJob>,
    /// Another launcher that has started the program, but whose processes cannot become ranks; `None` if a single rank is intended.
    pub foreign: Option<ForeignLauncher>,
    /// Maximum time for which ranks that another launcher has started wait for each other.
    pub start_limit: Duration,
    /// The transport between ranks.
    pub transport: TransportChoice,
    /// The fabric of the transport `ofi`, in its notation; `None` for the default.
    pub fabric: Option<String>,
    /// The network between ranks that another launcher has started on several hosts; `None` is a network that all hosts share.
    pub network: Option<IpNetwork>,
    /// Whether data that ranks send over a network is encrypted.
    pub encrypt: bool,
    /// Maximum time for which a rank may be stopped, or not answer others over a network, before it counts as failed.
    pub failure_limit: Duration,
    /// The thread that serves other ranks' requests.
    pub progress: ProgressMode,
    /// The cores to which ranks are bound.
    pub binding: CoreBinding,
    /// The process that copies registered memory of other ranks.
    pub copy: CopyMode,
    /// Whether operations of the transport are printed.
    pub trace: bool,
    /// The records of each rank for a trace; `None` if nothing is recorded.
    pub record: Option<RecordSettings>,
    /// Whether operations of the transport are counted.
    pub statistics: bool,
    /// Maximum size of a heap in bytes; `None` is as much as the machine has.
    pub heap_bytes: Option<u64>,
    /// Time for which every rank has to wait before a deadlock is declared; `None` is never.
    pub deadlock_after: Option<Duration>,
}

/// A rank's place in a job of another launcher.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdoptedJob {
    /// This rank.
    pub rank: Rank,
    /// The connection to the launcher.
    pub launcher: ForeignStore,
}

/// The access to the store of another launcher.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ForeignStore {
    /// By PMI-1 over an inherited descriptor: Hydra, MPICH, Intel MPI, `srun --mpi=pmi2`.
    Pmi {
        /// The descriptor.
        descriptor: RawFd,
        /// Number of ranks of the job.
        size: u32,
    },
    /// By the library of PMIx: Open MPI's `mpirun`, `prterun`, `srun --mpi=pmix`.
    Pmix,
    /// No store; process 0 serves one: `srun` without a plugin, torchrun and similar launchers.
    Rendezvous(RendezvousPoint),
}

/// The rendezvous of processes whose launcher has no store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RendezvousPoint {
    /// Number of ranks of the job.
    pub size: u32,
    /// The host of process 0.
    pub address: String,
    /// The port at which it listens.
    pub port: u16,
    /// The secret by which the processes recognize each other.
    pub secret: SecretSource,
    /// The launcher's name of the job, such as `Slurm step 3.0`; empty if it gives none. Processes of different jobs do not meet.
    pub job: String,
}

/// A rank's place in a job that a launcher started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaunchedJob {
    /// This rank.
    pub rank: Rank,
    /// Number of ranks of the job.
    pub size: u32,
    /// The descriptor of the memory that the ranks of this host share.
    pub memory: RawFd,
    /// The descriptor of the socket by which this rank receives datagrams, if ranks reach each other over UDP.
    pub socket: Option<RawFd>,
    /// The descriptor of the pipe by which the launcher is notified when all ranks of this host have entered a barrier of the bootstrap, if the job has
    /// other hosts.
    pub call: Option<RawFd>,
}

/// The transports between ranks. As text: `auto`, or the rails: `shm`, `udp`, `ofi`, `shm,udp` or `shm:N,udp`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "launcher", derive(serde::Serialize, serde::Deserialize), serde(try_from = "String", into = "String"))]
pub enum TransportChoice {
    /// Shared memory on one host, UDP between hosts.
    #[default]
    Auto,
    /// Shared memory only.
    Shm,
    /// UDP only, also on one host.
    Udp,
    /// A libfabric fabric between hosts, and shared memory on each; if all ranks are on one host, the fabric only.
    Ofi,
    /// Shared memory between ranks of a host that are in one group, UDP between all.
    Both {
        /// Number of consecutive ranks of a group; all ranks are one group if absent.
        group: Option<NonZeroU32>,
    },
}

impl TransportChoice {
    const EXPECTED: &'static str = "auto, shm, udp, ofi, shm,udp or shm:N,udp";

    /// Whether ranks of one host use UDP as well.
    pub fn has_network(self) -> bool {
        matches!(self, Self::Udp | Self::Both { .. })
    }

    /// The ranks whose memory `rank` maps, if they are on its host.
    pub fn mapped_ranks(self, rank: Rank) -> Range<u32> {
        let group = match self {
            Self::Udp | Self::Ofi => NonZeroU32::MIN,
            Self::Both { group: Some(group) } => group,
            Self::Auto | Self::Shm | Self::Both { group: None } => return 0..u32::MAX,
        };
        let first = rank.number() / group * group.get();
        first..first.saturating_add(group.get())
    }
}

impl fmt::Display for TransportChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Shm => f.write_str("shm"),
            Self::Udp => f.write_str("udp"),
            Self::Ofi => f.write_str("ofi"),
            Self::Both { group: None } => f.write_str("shm,udp"),
            Self::Both { group: Some(group) } => write!(f, "shm:{group},udp"),
        }
    }
}

impl FromStr for TransportChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("it is {}", Self::EXPECTED);
        match text {
            "auto" => Ok(Self::Auto),
            "shm" => Ok(Self::Shm),
            "udp" => Ok(Self::Udp),
            "ofi" => Ok(Self::Ofi),
            "shm,udp" => Ok(Self::Both { group: None }),
            _ => {
                let group = text.strip_prefix("shm:").and_then(|rest| rest.strip_suffix(",udp")).ok_or_else(wrong)?;
                Ok(Self::Both { group: Some(group.parse().map_err(|_| wrong())?) })
            }
        }
    }
}

impl TryFrom<String> for TransportChoice {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<TransportChoice> for String {
    fn from(choice: TransportChoice) -> Self {
        choice.to_string()
    }
}

/// The thread that serves other ranks' requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProgressMode {
    /// A progress thread, if the transports need one.
    #[default]
    Auto,
    /// A progress thread.
    Thread,
    /// The rank itself, inside its calls; there is no progress thread.
    Manual,
}

/// The process that copies registered memory of other ranks of the host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CopyMode {
    /// The rank that needs the copy: it attaches to the owner's process.
    #[default]
    Attach,
    /// The progress thread of the owner.
    ProgressThread,
}

/// A variable has an invalid value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the environment variable {name} cannot be {value:?}: it is {expected}")]
pub struct LaunchSettingsError {
    name: &'static str,
    value: String,
    expected: &'static str,
}

impl LaunchSettings {
    /// Reads the environment of this process.
    ///
    /// # Errors
    /// A variable has an invalid value.
    pub fn from_environment() -> Result<Self, LaunchSettingsError> {
        Self::from_variables(|name| std::env::var_os(name))
    }

    /// Reads the variables that `variable` looks up.
    ///
    /// # Errors
    /// A variable has an invalid value.
    pub fn from_variables(variable: impl Fn(&str) -> Option<OsString>) -> Result<Self, LaunchSettingsError> {
        let variables = Variables(variable);
        let progress = [("auto", ProgressMode::Auto), ("thread", ProgressMode::Thread), ("manual", ProgressMode::Manual)];
        let copy = [("attach", CopyMode::Attach), ("thread", CopyMode::ProgressThread)];
        let limit = |text: &str| seconds(text).map(Duration::from_seconds).filter(|&limit| limit > Duration::ZERO);
        let failure_limit = variables.read(names::FAILURE, "a number of seconds above 0, at most a million", limit)?;
        let is_single = variables.switch(names::SINGLE)? || variables.text(names::RANK).is_some();
        let adopted = if is_single { None } else { variables.adopted_job()? };
        let foreign = (!is_single && adopted.is_none()).then(|| ForeignLauncher::find(|name| variables.text(name))).flatten();
        let start_limit = variables.read(names::START, "a number of seconds above 0, at most a million", limit)?;
        Ok(Self {
            job: variables.job()?,
            adopted,
            foreign,
            start_limit: start_limit.unwrap_or(START_LIMIT_DEFAULT),
            transport: variables.read(names::TRANSPORT, TransportChoice::EXPECTED, |text| text.parse().ok())?.unwrap_or_default(),
            fabric: variables.text(names::FABRIC),
            network: variables.read(names::NETWORK, "a network such as 10.1.0.0/16", |text| text.parse().ok())?,
            encrypt: variables.switch(names::ENCRYPT)?,
            failure_limit: failure_limit.unwrap_or(FAILURE_LIMIT_DEFAULT),
            progress: variables.choice(names::PROGRESS, "auto, thread or manual", &progress)?,
            binding: variables.choice(names::BIND, "auto or none", &CoreBinding::WORDS)?,
            copy: variables.choice(names::COPY, "attach or thread", &copy)?,
            trace: variables.switch(names::TRACE)?,
            record: match (variables.0)(names::RECORD) {
                Some(folder) => Some(RecordSettings {
                    folder: folder.into(),
                    all: variables.switch(names::RECORD_ALL)?,
                    sample: variables
                        .read(names::RECORD_SAMPLE, SampleError::EXPECTED, |text| text.parse().ok())?
                        .unwrap_or_default(),
                }),
                None => None,
            },
            statistics: variables.switch(names::STATISTICS)?,
            heap_bytes: variables.read(names::HEAP, "a number of bytes above 0, or of K, M, G or T", |text| {
                parse_bytes(text).filter(|&bytes| bytes > 0)
            })?,
            deadlock_after: variables.deadlock_after()?,
        })
    }
}

/// Returns the time for which every rank has to wait before a deadlock is declared; `None` is never.
#[cfg(feature = "launcher")]
pub(crate) fn deadlock_after(variable: impl Fn(&str) -> Option<OsString>) -> Result<Option<Duration>, LaunchSettingsError> {
    Variables(variable).deadlock_after()
}

/// The source of the variables.
struct Variables<F>(F);

impl<F: Fn(&str) -> Option<OsString>> Variables<F> {
    fn deadlock_after(&self) -> Result<Option<Duration>, LaunchSettingsError> {
        let seconds = self.read(names::DEADLOCK, "a number of seconds, at most a million", seconds)?;
        let seconds = seconds.unwrap_or(DEADLOCK_SECONDS_DEFAULT);
        Ok((seconds > 0.0).then(|| Duration::from_seconds(seconds)))
    }

    /// Returns a value as text. A value that is no UTF-8 stays one that no variable can have, so that it is refused and not ignored.
    fn text(&self, name: &str) -> Option<String> {
        (self.0)(name).map(|value| value.to_string_lossy().into_owned())
    }

    fn job(&self) -> Result<Option<LaunchedJob>, LaunchSettingsError> {
        let (rank, size) = (self.number(names::RANK)?, self.number(names::SIZE)?);
        let [memory, socket, call] = [names::MEMORY, names::SOCKET, names::CALL].map(|name| self.number(name));
        let (memory, socket, call) = (memory?, socket?, call?);
        let Some(rank) = rank else { return Ok(None) };
        let incomplete = |name| Err(LaunchSettingsError { name, value: String::new(), expected: REST_EXPECTED });
        match (size, memory) {
            (Some(size), Some(memory)) => {
                Ok(Some(LaunchedJob { rank: Rank::new(rank as u32), size: size as u32, memory, socket, call }))
            }
            _ if self.switch(names::SINGLE)? => Ok(None),
            // Otherwise each rank of the job would take itself for a job of one rank.
            (None, _) => incomplete(names::SIZE),
            (_, None) => incomplete(names::MEMORY),
        }
    }

    /// Returns a job of several processes of a launcher with PMI-1 or PMIx.
    fn adopted_job(&self) -> Result<Option<AdoptedJob>, LaunchSettingsError> {
        if self.text(names::PMI_DESCRIPTOR).is_none() || self.text(names::PMI_SIZE).is_none() {
            return self.pmix_job();
        }
        let size = self.number(names::PMI_SIZE)?.unwrap_or(0);
        let below = |text: &str| text.parse().ok().filter(|rank| (0..size).contains(rank));
        let rank = self.read(names::PMI_RANK, "the number of this process, below PMI_SIZE", below)?;
        let (Some(rank), Some(descriptor), 2..) = (rank, self.number(names::PMI_DESCRIPTOR)?, size) else { return Ok(None) };
        let launcher = ForeignStore::Pmi { descriptor, size: size as u32 };
        Ok(Some(AdoptedJob { rank: Rank::new(rank as u32), launcher }))
    }

    /// Returns a job of a launcher with PMIx. A launcher that reports a single process has no job.
    fn pmix_job(&self) -> Result<Option<AdoptedJob>, LaunchSettingsError> {
        let is_single = self.text(names::OPEN_MPI_SIZE).is_some_and(|size| size.trim() == "1");
        if is_single {
            return Ok(None);
        }
        if self.text(names::PMIX_JOB).is_none() {
            return self.meeting_job();
        }
        let rank = self.number(names::PMIX_RANK)?;
        Ok(rank.map(|rank| AdoptedJob { rank: Rank::new(rank as u32), launcher: ForeignStore::Pmix }))
    }

    /// Returns a job of several processes of a launcher without a store, if there is a secret by which they can recognize each other.
    fn meeting_job(&self) -> Result<Option<AdoptedJob>, LaunchSettingsError> {
        let file = || (self.0)(names::SECRET_FILE).map(|path| SecretSource::File(path.into()));
        let Some(secret) = self.text(names::SECRET).map(SecretSource::Text).or_else(file) else { return Ok(None) };
        let is_slurm = self.text(names::WORLD_SIZE).is_none() && self.text(names::SLURM_STEP).is_some();
        let (rank, size) = if is_slurm {
            let sizes = names::SLURM_SIZES.map(|name| self.number(name));
            let [step, job] = sizes;
            (names::SLURM_RANK, step?.or(job?))
        } else {
            (names::WORLD_RANK, self.number(names::WORLD_SIZE)?)
        };
        let Some(size @ 2..) = size else { return Ok(None) };
        let expected = "the number of this process, below the number of processes";
        let rank = self.required(rank, expected, |text| text.parse().ok().filter(|rank| (0..size).contains(rank)))?;
        let first_host = || names::SLURM_HOSTS.iter().find_map(|name| slurm::first_host(&self.text(name)?));
        let address = match self.text(names::MASTER_ADDRESS).or_else(|| first_host().filter(|_| is_slurm)) {
            Some(address) => address,
            None => self.required(names::MASTER_ADDRESS, "the host of rank 0, by name or address", |_| None)?,
        };
        let port = |text: &str| text.parse::<u16>().ok().filter(|&port| port > 0);
        let expected = "a port of the host of rank 0, from 1 to 65535";
        let port = match (self.read(names::PORT, expected, port)?, self.read(names::MASTER_PORT, expected, port)?) {
            (Some(port), _) => port,
            (None, Some(port)) => {
                let is_taken = self.text(names::TORCHRUN_LISTENS).is_some_and(|text| text.eq_ignore_ascii_case("true"));
                port.saturating_add(u16::from(is_taken))
            }
            (None, None) if is_slurm => {
                let number = |name| self.text(name).and_then(|text| text.trim().parse().ok()).unwrap_or(0);
                slurm::port(number(names::SLURM_JOB), number(names::SLURM_STEP))
            }
            (None, None) => self.required(names::MASTER_PORT, expected, port)?,
        };
        let job = if is_slurm {
            let part = |name| self.text(name).unwrap_or_default();
            format!("Slurm step {}.{}", part(names::SLURM_JOB), part(names::SLURM_STEP))
        } else {
            self.text(names::TORCHRUN_JOB).map(|name| format!("torchrun's run {name}")).unwrap_or_default()
        };
        let point = RendezvousPoint { size: size as u32, address, port, secret, job };
        Ok(Some(AdoptedJob { rank: Rank::new(rank as u32), launcher: ForeignStore::Rendezvous(point) }))
    }

    /// As `read`, for a variable that must be set.
    fn required<T>(
        &self,
        name: &'static str,
        expected: &'static str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Result<T, LaunchSettingsError> {
        let found = self.read(name, expected, parse)?;
        found.ok_or(LaunchSettingsError { name, value: String::new(), expected })
    }

    /// Reads a rank, a number of ranks or a descriptor.
    fn number(&self, name: &'static str) -> Result<Option<i32>, LaunchSettingsError> {
        self.read(name, "a number set by the launcher", |text| text.parse().ok().filter(|&number| number >= 0))
    }

    fn switch(&self, name: &'static str) -> Result<bool, LaunchSettingsError> {
        self.choice(name, "0 or 1", &[("0", false), ("1", true)])
    }

    /// Returns the meaning of one of `words`; the default if the variable is not set.
    fn choice<T: Copy + Default>(
        &self,
        name: &'static str,
        expected: &'static str,
        words: &[(&str, T)],
    ) -> Result<T, LaunchSettingsError> {
        let meaning = |text: &str| words.iter().find(|(word, _)| *word == text).map(|&(_, meaning)| meaning);
        Ok(self.read(name, expected, meaning)?.unwrap_or_default())
    }

    fn read<T>(
        &self,
        name: &'static str,
        expected: &'static str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Result<Option<T>, LaunchSettingsError> {
        let Some(value) = self.text(name) else { return Ok(None) };
        parse(&value).map(Some).ok_or(LaunchSettingsError { name, value, expected })
    }
}

/// Parses a number of seconds, small enough to be added to any time.
fn seconds(text: &str) -> Option<f64> {
    text.parse().ok().filter(|seconds| (0.0..=1e6).contains(seconds))
}

/// Parses a number of bytes, with an optional K, M, G or T for powers of 1024.
pub(crate) fn parse_bytes(text: &str) -> Option<u64> {
    let (digits, shift) = match text.char_indices().last()? {
        (end, 'K' | 'k') => (&text[..end], 10),
        (end, 'M' | 'm') => (&text[..end], 20),
        (end, 'G' | 'g') => (&text[..end], 30),
        (end, 'T' | 't') => (&text[..end], 40),
        _ => (text, 0),
    };
    digits.parse::<u64>().ok()?.checked_mul(1 << shift)
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStringExt;

    use super::*;

    fn read(variables: &[(&str, &str)]) -> Result<LaunchSettings, LaunchSettingsError> {
        LaunchSettings::from_variables(|name| variables.iter().find(|(key, _)| *key == name).map(|(_, value)| value.into()))
    }

    #[test]
    fn an_empty_environment_is_a_program_alone() {
        let settings = read(&[]).unwrap();
        assert_eq!((settings.job, settings.progress, settings.copy), (None, ProgressMode::Auto, CopyMode::Attach));
        assert_eq!((settings.transport, settings.encrypt, settings.binding), (TransportChoice::Auto, false, CoreBinding::Auto));
        assert_eq!(settings.deadlock_after, Some(Duration::from_milliseconds(5000)));
        assert_eq!(settings.failure_limit, Duration::from_milliseconds(5000));
    }

    #[test]
    fn what_the_launcher_says_is_understood() {
        let variables = [
            (names::RANK, "3"),
            (names::SIZE, "8"),
            (names::MEMORY, "17"),
            (names::HEAP, "2G"),
            (names::PROGRESS, "manual"),
            (names::COPY, "thread"),
            (names::BIND, "none"),
            (names::DEADLOCK, "0"),
            (names::TRANSPORT, "udp"),
            (names::FABRIC, "tcp;ofi_rxm"),
            (names::ENCRYPT, "1"),
            (names::FAILURE, "0.25"),
        ];
        let settings = read(&variables).unwrap();
        let job = LaunchedJob { rank: Rank::new(3), size: 8, memory: 17, socket: None, call: None };
        assert_eq!(settings.job, Some(job));
        assert_eq!((settings.heap_bytes, settings.deadlock_after), (Some(2 << 30), None));
        assert!(
            settings.progress == ProgressMode::Manual
                && settings.copy == CopyMode::ProgressThread
                && settings.binding == CoreBinding::None
        );
        assert_eq!((settings.transport, settings.encrypt), (TransportChoice::Udp, true));
        assert_eq!(settings.fabric.as_deref(), Some("tcp;ofi_rxm"));
        assert_eq!(settings.failure_limit, Duration::from_milliseconds(250));

        let networked = [&variables[..], &[(names::SOCKET, "18"), (names::CALL, "19")]].concat();
        assert_eq!(read(&networked).unwrap().job, Some(LaunchedJob { socket: Some(18), call: Some(19), ..job }));
    }

    #[test]
    fn a_rank_without_a_part_of_what_the_launcher_says_does_not_run_alone() {
        let all = [(names::RANK, "3"), (names::SIZE, "8"), (names::MEMORY, "17")];
        for (missing, name) in [(1, names::SIZE), (2, names::MEMORY)] {
            let given: Vec<_> = (0..3).filter(|&part| part != missing).map(|part| all[part]).collect();
            let error = read(&given).unwrap_err().to_string();
            assert!(error.contains(name) && error.contains("remove PELAGO_RANK to run alone"), "{error}");
            assert_eq!(read(&[&given[..], &[(names::SINGLE, "1")]].concat()).unwrap().job, None);
        }
        assert_eq!(read(&all[1..]).unwrap().job, None, "the program has been told to run alone");
    }

    #[test]
    fn a_launcher_that_speaks_pmi_has_its_ranks_adopted() {
        let all = [(names::PMI_DESCRIPTOR, "6"), (names::PMI_RANK, "1"), (names::PMI_SIZE, "4")];
        let settings = read(&[&all[..], &[(names::START, "0.5"), ("WORLD_SIZE", "4")]].concat()).unwrap();
        let job = AdoptedJob { rank: Rank::new(1), launcher: ForeignStore::Pmi { descriptor: 6, size: 4 } };
        assert_eq!((settings.adopted, settings.foreign, settings.job), (Some(job), None, None));
        assert_eq!(settings.start_limit, Duration::from_milliseconds(500));
        let launched = [(names::RANK, "0"), (names::SIZE, "1"), (names::MEMORY, "3")];
        for single in [&[(names::SINGLE, "1")][..], &launched] {
            let settings = read(&[&all[..], single].concat()).unwrap();
            assert_eq!((settings.adopted, settings.foreign), (None, None), "{single:?}");
        }
        let one = [(names::PMI_DESCRIPTOR, "6"), (names::PMI_RANK, "0"), (names::PMI_SIZE, "1")];
        assert_eq!(read(&one).unwrap().adopted, None, "a single process needs nobody");
        assert!(read(&all[1..]).unwrap().foreign.is_some(), "without a connection to the launcher");
        for (name, value) in
            [(names::PMI_DESCRIPTOR, "x"), (names::PMI_RANK, "4"), (names::PMI_SIZE, "many"), (names::START, "0")]
        {
            let wrong: Vec<_> = all.into_iter().filter(|(other, _)| *other != name).chain([(name, value)]).collect();
            let error = read(&wrong).unwrap_err().to_string();
            assert!(error.contains(name) && error.contains(value), "{error}");
        }
    }

    #[test]
    fn ranks_of_a_launcher_without_a_store_meet_if_they_have_a_secret() {
        let torch = [("RANK", "1"), ("WORLD_SIZE", "4"), ("MASTER_ADDR", "a"), ("MASTER_PORT", "7000")];
        let slurm = [
            ("SLURM_PROCID", "1"),
            ("SLURM_NTASKS", "9"),
            ("SLURM_STEP_NUM_TASKS", "4"),
            ("SLURM_STEP_ID", "0"),
            ("SLURM_JOB_ID", "3"),
            ("SLURM_STEP_NODELIST", "n[7-9],m"),
        ];
        let (digits, secret) = ("0".repeat(32), SecretSource::Text("0".repeat(32)));
        let with =
            |variables: &[(&str, &str)], more: &[(&str, &str)]| read(&[variables, &[("PELAGO_SECRET", &*digits)], more].concat());
        let point_of = |job: &str, address: &str, port| {
            let point = RendezvousPoint { size: 4, address: address.into(), port, secret: secret.clone(), job: job.into() };
            Some(AdoptedJob { rank: Rank::new(1), launcher: ForeignStore::Rendezvous(point) })
        };
        let point = |address: &str, port| point_of("", address, port);
        assert_eq!(with(&torch, &[]).unwrap().adopted, point("a", 7000));
        let named = with(&torch, &[("TORCHELASTIC_RUN_ID", "x")]).unwrap().adopted;
        assert_eq!(named, point_of("torchrun's run x", "a", 7000));
        assert_eq!(with(&torch, &[("TORCHELASTIC_USE_AGENT_STORE", "True")]).unwrap().adopted, point("a", 7001));
        assert_eq!(with(&torch, &[("PELAGO_PORT", "9")]).unwrap().adopted, point("a", 9));
        assert_eq!(with(&slurm, &[]).unwrap().adopted, point_of("Slurm step 3.0", "n7", slurm::port(3, 0)));
        assert_eq!(
            with(&slurm, &[("MASTER_ADDR", "b"), ("MASTER_PORT", "8")]).unwrap().adopted,
            point_of("Slurm step 3.0", "b", 8)
        );
        for variables in [&torch[..], &slurm] {
            let without = read(variables).unwrap();
            let line = without.foreign.expect("a launcher").to_string();
            assert!(without.adopted.is_none() && line.contains("PELAGO_SECRET"), "{line}");
            assert_eq!(with(variables, &[("PELAGO_SINGLE", "1")]).unwrap().adopted, None);
        }
        for missing in ["RANK", "MASTER_ADDR", "MASTER_PORT"] {
            let variables: Vec<_> = torch.into_iter().filter(|(name, _)| *name != missing).collect();
            let error = with(&variables, &[]).unwrap_err().to_string();
            assert!(error.contains(missing), "{error}");
        }
        assert_eq!(with(&[("RANK", "0"), ("WORLD_SIZE", "1")], &[]).unwrap().adopted, None, "a single process needs nobody");
    }

    #[test]
    fn every_choice_of_a_transport_has_its_word() {
        use TransportChoice::{Auto, Both, Ofi, Shm, Udp};
        for choice in [Auto, Shm, Udp, Ofi, Both { group: None }, Both { group: NonZeroU32::new(4) }] {
            assert_eq!(read(&[(names::TRANSPORT, &choice.to_string())]).unwrap().transport, choice);
        }
    }

    #[test]
    fn values_that_are_no_text_are_paths_or_refused() {
        let bytes = |bytes: &[u8]| OsString::from_vec(bytes.into());
        let only = |name: &'static str| move |asked: &str| (asked == name).then(|| bytes(b"1\xff"));
        let settings = LaunchSettings::from_variables(only(names::RECORD)).unwrap();
        assert_eq!(settings.record.map(|record| record.folder), Some(bytes(b"1\xff").into()));
        for name in [names::ENCRYPT, names::HEAP, names::TRANSPORT, names::NETWORK, names::FAILURE, names::RANK] {
            let error = LaunchSettings::from_variables(only(name)).unwrap_err().to_string();
            assert!(error.contains(name), "{error}");
        }
        let meeting = |asked: &str| match asked {
            names::SECRET_FILE => Some(bytes(b"1\xff")),
            names::WORLD_RANK => Some("0".into()),
            names::WORLD_SIZE => Some("2".into()),
            names::MASTER_ADDRESS | names::MASTER_PORT => Some("7".into()),
            _ => None,
        };
        let adopted = LaunchSettings::from_variables(meeting).unwrap().adopted.map(|job| job.launcher);
        let secret = SecretSource::File(bytes(b"1\xff").into());
        assert!(matches!(adopted, Some(ForeignStore::Rendezvous(point)) if point.secret == secret));
    }

    #[test]
    fn ranks_of_a_group_are_near() {
        let mapped = |text: &str, rank| text.parse::<TransportChoice>().unwrap().mapped_ranks(Rank::new(rank));
        assert_eq!(["auto", "shm", "shm,udp"].map(|text| mapped(text, 7)), [const { 0..u32::MAX }; 3]);
        assert_eq!((mapped("udp", 7), mapped("shm:3,udp", 7), mapped("shm:3,udp", 2)), (7..8, 6..9, 0..3));
        assert_eq!(mapped("shm:4294967295,udp", 7), 0..u32::MAX);
        assert_eq!(mapped("ofi", 7), 7..8);
    }

    #[test]
    fn a_wrong_value_is_named() {
        for (name, value) in [
            (names::RANK, "x"),
            (names::SOCKET, "-1"),
            (names::CALL, "4294967295"),
            (names::HEAP, "12Q"),
            (names::HEAP, "0"),
            (names::PROGRESS, "Inline"),
            (names::TRANSPORT, "tcp"),
            (names::BIND, "core"),
            (names::TRANSPORT, "udp,shm"),
            (names::TRANSPORT, "shm:0,udp"),
            (names::TRANSPORT, "shm:4"),
            (names::ENCRYPT, "yes"),
            (names::DEADLOCK, "-1"),
            (names::FAILURE, "0"),
            (names::FAILURE, "inf"),
        ] {
            let error = read(&[(name, value)]).unwrap_err().to_string();
            assert!(error.contains(name) && error.contains(value), "{error}");
        }
    }
}
