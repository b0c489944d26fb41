//! Limits of the launcher, with their reasons.

use pelago_base::Duration;

pub(crate) use crate::limits::{LEAVE, STOP_LOOKS, TERMINATE};

/// Maximum number of bytes of an output line that the launcher holds until the line is complete. It forwards a longer line in pieces.
pub(crate) const LINE_BYTES_MAX: usize = 64 * 1024;

/// Maximum number of output bytes that wait for a slow reader. Above this limit the launcher stops reading the ranks' pipes: the ranks
/// block, and the memory of the launcher does not grow.
pub(crate) const WAITING_BYTES_MAX: usize = 256 * 1024;

/// Number of bytes that a writable pipe accepts without blocking the writer (`PIPE_BUF`).
pub(crate) const WRITE_BYTES: usize = 4096;

/// Time for which ranks are started before other events are handled: where ranks that were started before occupy all cores, one start may take
/// half a second, and a host that handles no ping for `PINGS_MAX` of them counts as failed.
pub(crate) const STARTS_PER_ROUND_LIMIT: Duration = Duration::from_milliseconds(100);

/// Number of ranks that the launcher starts before it handles other events.
pub(crate) const STARTS_PER_ROUND: u32 = 16;

/// Time during which the launcher retries an address that it cannot bind, or that its datagrams do not reach. IPv6 duplicate address detection takes
/// about 1.5 s. The time is shorter than that after which a silent host counts as failed.
pub(crate) const ADDRESS_WAIT: Duration = Duration::from_milliseconds(3000);

/// Pause between two tries of an address that the launcher cannot bind, or that its datagrams do not reach.
pub(crate) const ADDRESS_PAUSE: Duration = Duration::from_milliseconds(100);

/// Descriptors of the launcher per rank: two pipes and the process; before the start of the rank, its socket.
pub(crate) const DESCRIPTORS_PER_RANK: u64 = 3;

/// Descriptors of the launcher that belong to no rank: inherited descriptors and those of a start in progress.
pub(crate) const DESCRIPTORS_BESIDES: u64 = 64;

/// Time that the reader of the output has to consume the rest of the output after a failed job.
pub(crate) const READER: Duration = Duration::from_milliseconds(500);

/// Time that the launcher waits for processes after SIGKILL. Only a process that is blocked in the kernel takes this long; the launcher
/// then leaves it.
pub(crate) const COLLECT: Duration = Duration::from_milliseconds(5000);

/// Time that the guard process has to exit, and again after SIGKILL.
pub(crate) const GUARD_LEAVE: Duration = Duration::from_milliseconds(1000);

/// Number of descriptors that the guard closes one by one if it cannot list the open ones: more than a launcher of a job of maximum size
/// opens.
pub(crate) const DESCRIPTORS_TRIED_MAX: u64 = 1 << 16;

/// Time in seconds that the launcher has to exit after a terminating signal: more than the sum of its other time limits. The kernel then
/// ends the launcher by an alarm, and with it the ranks.
pub(crate) const SIGNAL_SECONDS: u32 = 20;

/// Minimum time between two checks for stopped ranks. Each check makes one system call per rank.
pub(crate) const STOP_PAUSE_MIN: Duration = Duration::from_milliseconds(20);

/// Time between two collections of ended processes that ranks have started and left. Each costs a system call per rank, which takes time
/// for each child of the launcher.
pub(crate) const ORPHANS_PAUSE: Duration = Duration::from_milliseconds(1000);

/// Number of ranks in a collection, which bounds its time on a host of many ranks.
pub(crate) const ORPHANS_RANKS_MAX: usize = 64;

/// Maximum number of orphans of a rank that one collection takes; more remain for the next.
pub(crate) const ORPHANS_MAX: u32 = 1024;

/// Period with which the launcher checks, in the absence of events, whether the ranks have marked the job as failed.
pub(crate) const WATCH: Duration = Duration::from_milliseconds(500);

/// Maximum number of hosts of one launcher. Each host takes a remote shell of some megabytes and three descriptors.
pub(crate) const REMOTE_HOSTS_MAX: usize = 1024;

/// Maximum size in bytes of a message to a host. The plan holds command line and environment, 2 MiB on Linux, and JSON encodes each byte in
/// up to four.
pub(crate) const DOWN_BYTES_MAX: usize = 16 << 20;

/// Maximum size in bytes of a message from a host. The host forwards output in pieces of at most two lines of maximum length.
pub(crate) const UP_BYTES_MAX: usize = 256 * 1024;

/// Maximum number of network addresses that a host reports: more than the number of interfaces that ranks use on any machine.
pub(crate) const ADDRESSES_MAX: usize = 256;

/// Maximum size in bytes of the error text of a host that cannot take part: some lines.
pub(crate) const REASON_BYTES_MAX: usize = 4096;

/// Credit in bytes of each output stream of a host. The launcher renews the credit after it has forwarded the output, which bounds the
/// bytes in flight from all hosts while a reader of the output stalls. 64 KiB sustain 1 GB/s over a round trip of 60 µs.
pub(crate) const ROOM_BYTES: u64 = 64 * 1024;

/// Number of bytes that one read from a remote shell takes.
pub(crate) const READ_BYTES: usize = 64 * 1024;

/// Time that a host has to answer through its remote shell (including the login), and again to become ready.
pub(crate) const HOST_START: Duration = Duration::from_milliseconds(30_000);

/// Period of the liveness pings to hosts.
pub(crate) const PING: Duration = Duration::from_milliseconds(1000);

/// Number of consecutive unanswered pings after which a host counts as failed: 5 s. The launcher counts pings instead of time: after the
/// launcher itself was stopped, no host counts as failed.
pub(crate) const PINGS_MAX: u32 = 5;

/// Time that a node daemon continues without messages from the launcher, which may be stopped (Ctrl-Z).
pub(crate) const LEADER_SILENCE: Duration = Duration::from_milliseconds(60_000);

/// Time that a node daemon has to end its ranks after the launcher's request.
pub(crate) const HOST_LEAVE: Duration = Duration::from_milliseconds(5000);

/// Time that a remote shell has to exit after the last message.
pub(crate) const SHELL_LEAVE: Duration = Duration::from_milliseconds(1000);

/// Maximum size in bytes of a scheduler's host file: a line of 64 bytes for each rank of a job of maximum size.
pub(crate) const NODE_FILE_BYTES_MAX: u64 = 64 << 20;

/// Maximum number of hosts that a line about an allocation names. The line states the number of the others.
pub(crate) const HOSTS_SHOWN_MAX: usize = 8;
