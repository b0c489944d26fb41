//! Bounds of the launcher, with their reasons.

use pelago_base::Duration;

pub(crate) use crate::limits::{LEAVE, STOP_LOOKS, TERMINATE};

/// Bytes of a line of output that are held back until its end comes; a longer line is passed on in pieces.
pub(crate) const LINE_BYTES_MAX: usize = 64 * 1024;

/// Bytes of output that wait for a slow reader before the ranks' pipes are left alone, so that the ranks wait and not the memory grows.
pub(crate) const WAITING_BYTES_MAX: usize = 256 * 1024;

/// Bytes that a pipe with room takes without blocking the writer (`PIPE_BUF`).
pub(crate) const WRITE_BYTES: usize = 4096;

/// Ranks that are started before the others are looked at again.
pub(crate) const STARTS_PER_ROUND: u32 = 16;

/// How long an address that cannot be used is tried again, and how often: a second and a half is what IPv6 needs to know that nobody else
/// has it. Less than a host may be silent.
pub(crate) const ADDRESS_WAIT: Duration = Duration::from_milliseconds(3000);
pub(crate) const ADDRESS_PAUSE: Duration = Duration::from_milliseconds(100);

/// Descriptors of each rank in the launcher: two pipes and the process; before its start, its socket.
pub(crate) const DESCRIPTORS_PER_RANK: u64 = 3;

/// Descriptors of the launcher besides, with room for what it inherited and for those of a start under way.
pub(crate) const DESCRIPTORS_BESIDES: u64 = 64;

/// How long a reader of the output has, after a job that did not end well, to take what is left of it.
pub(crate) const READER: Duration = Duration::from_milliseconds(500);

/// How long the launcher waits for processes that it has killed: only one that the kernel holds back takes that long, and then it is left.
pub(crate) const COLLECT: Duration = Duration::from_milliseconds(5000);

/// How long the guard has to go, and again when it was killed.
pub(crate) const GUARD_LEAVE: Duration = Duration::from_milliseconds(1000);

/// Descriptors that the guard tries to close where it cannot know which are open: more than a launcher of the largest job has.
pub(crate) const DESCRIPTORS_TRIED_MAX: u64 = 1 << 16;

/// How long the launcher has to end when a signal asks for it, in seconds: more than all of its limits together. After that the kernel ends
/// it, whatever it waits for, and with it the ranks.
pub(crate) const SIGNAL_SECONDS: u32 = 20;

/// The least time between two of these looks: one asks the kernel about each rank.
pub(crate) const STOP_PAUSE_MIN: Duration = Duration::from_milliseconds(20);

/// How often the launcher looks, without any event, whether the ranks have found the job at fault.
pub(crate) const WATCH: Duration = Duration::from_milliseconds(500);

/// Hosts that one launcher manages: each is a remote shell of some megabytes, three descriptors, and a share of what is said.
pub(crate) const REMOTE_HOSTS_MAX: usize = 1024;

/// Bytes of what a host is told at once: a plan holds a command line and variables, two mebibytes on Linux, each byte of which takes up to
/// four as JSON.
pub(crate) const DOWN_BYTES_MAX: usize = 16 << 20;

/// Bytes of what a host says at once: output is passed on in pieces of up to two of the longest lines.
pub(crate) const UP_BYTES_MAX: usize = 256 * 1024;

/// Addresses that a host names: more than the interfaces of any machine that ranks should use.
pub(crate) const ADDRESSES_MAX: usize = 256;

/// Bytes of the reason that a host gives for not taking part: some lines.
pub(crate) const REASON_BYTES_MAX: usize = 4096;

/// Bytes of each stream that a host may send before the launcher asks for more, so that what is on its way from all hosts is bounded
/// while a reader of the output stands still; enough for a gigabyte per second over a round trip of 60 µs.
pub(crate) const ROOM_BYTES: u64 = 64 * 1024;

/// Bytes that are read from a remote shell at once.
pub(crate) const READ_BYTES: usize = 64 * 1024;

/// How long a host has to answer through its remote shell, and again to get ready: logging in may take a while.
pub(crate) const HOST_START: Duration = Duration::from_milliseconds(30_000);

/// How often hosts are asked whether they are alive.
pub(crate) const PING: Duration = Duration::from_milliseconds(1000);

/// Unanswered pings in succession after which a host counts as failed: five seconds. They are counted and not timed, so that a launcher
/// that was itself stopped for a while blames no host.
pub(crate) const PINGS_MAX: u32 = 5;

/// How long the launcher on a host goes on without hearing from the job's, which may be stopped for a while (Ctrl-Z).
pub(crate) const LEADER_SILENCE: Duration = Duration::from_milliseconds(60_000);

/// How long a host has to end its ranks when it was told to.
pub(crate) const HOST_LEAVE: Duration = Duration::from_milliseconds(5000);

/// How long a remote shell has to end when nothing is left to say.
pub(crate) const SHELL_LEAVE: Duration = Duration::from_milliseconds(1000);

/// Bytes of the file in which a scheduler names the hosts of an allocation: a line of 64 bytes for each rank of the largest job.
pub(crate) const NODE_FILE_BYTES_MAX: u64 = 64 << 20;

/// Hosts that a line about an allocation names; of the others it gives the number.
pub(crate) const HOSTS_SHOWN_MAX: usize = 8;
