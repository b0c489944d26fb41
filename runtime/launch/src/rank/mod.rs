//! A process as a rank of a job: the environment that describes the job, and its cores.
//!
//! | file | content |
//! |---|---|
//! | `environment` | the variables that describe a job, as settings |
//! | `core_binding` | the cores to which each rank of a host is bound |
//! | `launch_report` | the detected launcher, and the way to become a rank |
//! | `meeting_secret` | the secret of ranks that use a rendezvous |
//! | `mpirun` | the variables of `mpirun` for processes that are all on one host |
//! | `quit_report` | the line that a rank writes at SIGQUIT |
//! | `shared_settings` | the settings that all ranks of a job share |
//! | `slurm` | Slurm's lists of hosts |
//! | `foreign_launcher` | other launchers, whose processes cannot become ranks |

pub(crate) mod core_binding;
pub(crate) mod environment;
pub(crate) mod foreign_launcher;
pub(crate) mod launch_report;
pub(crate) mod meeting_secret;
pub(crate) mod mpirun;
pub(crate) mod quit_report;
pub(crate) mod shared_settings;
pub(crate) mod slurm;
