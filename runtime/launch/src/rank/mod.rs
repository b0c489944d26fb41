//! A process as a rank of a job: the environment that describes the job, and its cores.
//!
//! | file | content |
//! |---|---|
//! | `environment` | the variables that describe a job, as settings |
//! | `core_binding` | the cores that each rank of a host keeps to |
//! | `launch_report` | the launcher that is found, and the way that is used |
//! | `meeting_secret` | the secret of ranks that meet at one of them |
//! | `mpirun` | what `mpirun` tells its processes if they are all of one host |
//! | `quit_report` | the line that a rank writes at SIGQUIT |
//! | `slurm` | Slurm's lists of hosts |
//! | `foreign_launcher` | other launchers, whose processes cannot become ranks |

pub(crate) mod core_binding;
pub(crate) mod environment;
pub(crate) mod foreign_launcher;
pub(crate) mod launch_report;
pub(crate) mod meeting_secret;
pub(crate) mod mpirun;
pub(crate) mod quit_report;
pub(crate) mod slurm;
