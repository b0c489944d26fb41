//! Limits that apply under our launcher and under others, with their reasons.

use pelago_base::Duration;

/// Maximum number of searches for consecutive free ports. Some ports of a range of tens of thousands are in use; a few searches find enough
/// for all ranks of a full host.
pub(crate) const BIND_ATTEMPTS_MAX: u32 = 100;

/// Time that ranks have to exit after the failure of another rank, for example to save results.
pub(crate) const LEAVE: Duration = Duration::from_milliseconds(500);

/// Time between SIGTERM and SIGKILL.
pub(crate) const TERMINATE: Duration = Duration::from_milliseconds(250);

/// Number of checks for stopped ranks per failure limit.
pub(crate) const STOP_LOOKS: u32 = 4;

/// Default time that ranks of a foreign launcher wait for each other at start.
pub(crate) const START_LIMIT_DEFAULT: Duration = Duration::from_milliseconds(30_000);

/// Maximum number of ranks of a host with a line in a report; ranks that do not wait come first. A terminal shows about as many lines.
pub(crate) const REPORT_RANKS_MAX: usize = 64;

/// Maximum number of ranks that a line of a report names. The line states the number of the others.
pub(crate) const REPORT_NAMES_MAX: usize = 8;

/// Size in bytes of a report line that a signal handler writes: one `write`, which a pipe accepts as a whole.
pub(crate) const REPORT_LINE_BYTES: usize = 512;

/// Maximum length in bytes of a host name in a Slurm host list: the limit of the domain name system.
pub(crate) const HOST_NAME_BYTES_MAX: usize = 255;

/// Maximum number of numeric ranges in one name of a Slurm host list: the limit of Slurm itself.
pub(crate) const HOST_RANGES_MAX: usize = 5;
