//! Bounds that hold under our launcher and others, with their reasons.

use pelago_base::Duration;

/// How often consecutive ports are looked for: with some ports of a range of tens of thousands in use, a few attempts find room for the
/// ranks of a full host.
pub(crate) const BIND_ATTEMPTS_MAX: u32 = 100;

/// How long ranks have to leave by themselves after the failure of another: time to save their work.
pub(crate) const LEAVE: Duration = Duration::from_milliseconds(500);

/// How long ranks have between SIGTERM and SIGKILL.
pub(crate) const TERMINATE: Duration = Duration::from_milliseconds(250);

/// How often, per failure limit, the launcher looks which ranks are stopped.
pub(crate) const STOP_LOOKS: u32 = 4;

/// How long ranks that another launcher has started wait for each other, unless the environment says otherwise.
pub(crate) const START_LIMIT_DEFAULT: Duration = Duration::from_milliseconds(30_000);

/// Ranks of a host that a report has lines of; those that do not wait come first. A terminal shows about as many lines.
pub(crate) const REPORT_RANKS_MAX: usize = 64;

/// Ranks that a line of a report names; of the others it gives the number.
pub(crate) const REPORT_NAMES_MAX: usize = 8;

/// Bytes of a line of a report that a signal handler writes: one `write` that a pipe takes whole.
pub(crate) const REPORT_LINE_BYTES: usize = 512;

/// Bytes of the name of a host in a list of Slurm: what the domain name system allows, with room.
pub(crate) const HOST_NAME_BYTES_MAX: usize = 255;

/// Ranges of numbers in one name of such a list: as many as Slurm itself writes.
pub(crate) const HOST_RANGES_MAX: usize = 5;
