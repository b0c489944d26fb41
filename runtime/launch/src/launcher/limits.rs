//! Bounds of the launcher, with their reasons.

use pelago_base::Duration;

/// Bytes of a line of output that are held back until its end comes; a longer line is passed on in pieces.
pub(super) const LINE_BYTES_MAX: usize = 64 * 1024;

/// Bytes of output that wait for a slow reader before the ranks' pipes are left alone, so that the ranks wait and not the memory grows.
pub(super) const WAITING_BYTES_MAX: usize = 256 * 1024;

/// Bytes that a pipe with room takes without blocking the writer (`PIPE_BUF`).
pub(super) const WRITE_BYTES: usize = 4096;

/// Ranks that are started before the others are looked at again.
pub(super) const STARTS_PER_ROUND: u32 = 16;

/// Descriptors of each rank in the launcher: two pipes and the process.
pub(super) const DESCRIPTORS_PER_RANK: u64 = 3;

/// Descriptors of the launcher besides, with room for what it inherited and for those of a start under way.
pub(super) const DESCRIPTORS_BESIDES: u64 = 64;

/// How long ranks have to leave by themselves when another is lost: time to save their work.
pub(super) const LEAVE: Duration = Duration::from_milliseconds(500);

/// How long ranks have between SIGTERM and SIGKILL.
pub(super) const TERMINATE: Duration = Duration::from_milliseconds(250);

/// How long a reader of the output has, after a job that did not end well, to take what is left of it.
pub(super) const READER: Duration = Duration::from_milliseconds(500);

/// How often the launcher looks, without any event, whether the ranks have found the job at fault.
pub(super) const WATCH: Duration = Duration::from_milliseconds(500);
