//! The outcome of a job: its exit code, and a message of one line.

use std::fmt;
use std::sync::Arc;

use pelago_base::{Duration, Rank};
use rustix::io::Errno;

/// The outcome of a job. `Display` gives the message.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum JobOutcome {
    /// Every rank finished.
    Finished,
    /// The job is fault tolerant: ranks failed, as listed, and the remaining ranks finished.
    ContinuedAfterFailures(Vec<JobOutcome>),
    /// A rank ended with an exit code other than 0.
    ExitCode(RankProcess, i32),
    /// The process of a rank ended before the rank had finished.
    RankFailed(RankProcess, FailureCause),
    /// A rank is alive, but has sent nothing to another rank for too long.
    Unreachable(RankProcess),
    /// A rank ended with exit code 0 without joining the job, which others joined.
    LeftWithoutJoining(RankProcess),
    /// All ranks of this program ended with exit code 0, and none joined the job.
    NotAPelagoProgram(String),
    /// This program runs, but none of its ranks joined the job within the start limit.
    NoRankJoined(String, Duration),
    /// This rank, and the given number of others, did not join the job within the start limit.
    RanksDidNotJoin(RankProcess, u32, Duration),
    /// Every rank waits for another rank.
    Deadlock,
    /// The program ended the job.
    Aborted,
    /// A rank ended the job for all ranks, without an error.
    Ended,
    /// The time limit has passed.
    TimeLimit(Duration),
    /// This signal asked the launcher to end the job.
    Interrupted(i32),
    /// The output cannot be written, for instance because its reader has ended.
    Output(Errno),
    /// A rank could not be started.
    NotStarted(Rank, String),
    /// This host could not take part, for this reason.
    HostNotReady(Arc<str>, String),
    /// A host failed with all of its ranks.
    HostFailed {
        /// Its name.
        host: Arc<str>,
        /// The first of its ranks.
        first: Rank,
        /// Number of its ranks.
        count: u32,
    },
}

/// A rank and its location.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RankProcess {
    /// The rank.
    pub rank: Rank,
    /// Its location.
    pub location: ProcessLocation,
}

/// The location of a rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProcessLocation {
    /// This process of this host, by the kernel's number.
    Local(u32),
    /// The host of this name.
    Host(Arc<str>),
}

/// The way in which a rank failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureCause {
    /// A signal killed it.
    Signal(i32),
    /// It ended with exit code 0 before it had finished.
    Silent,
    /// The kernel killed it, probably because memory ran out.
    OutOfMemory,
    /// It was stopped for longer than the failure limit, as by SIGSTOP.
    Stopped(Duration),
    /// Another rank reported the failure; nothing more is known.
    ReportedByPeer,
}

impl JobOutcome {
    /// The exit code of the `pelago` command: 0 good; 1 the program failed; 2 wrong usage; 3 a rank failed; 4 time limit;
    /// 130 interrupted; 141 the reader of the output went away, as if killed by SIGPIPE.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::ContinuedAfterFailures(failures) => u8::from(failures.iter().any(|loss| matches!(loss, Self::ExitCode(..)))),
            Self::Finished | Self::Ended => 0,
            Self::ExitCode(..)
            | Self::LeftWithoutJoining(_)
            | Self::NotAPelagoProgram(_)
            | Self::NoRankJoined(..)
            | Self::RanksDidNotJoin(..) => 1,
            Self::Deadlock | Self::Aborted => 1,
            Self::Output(Errno::PIPE) => 141,
            Self::Output(_) => 1,
            Self::NotStarted(..) | Self::HostNotReady(..) => 2,
            Self::RankFailed(..) | Self::Unreachable(_) | Self::HostFailed { .. } => 3,
            Self::TimeLimit(_) => 4,
            Self::Interrupted(_) => 130,
        }
    }

    /// Whether no message is needed: the job succeeded, or its output has no reader.
    pub fn is_quiet(&self) -> bool {
        matches!(self, Self::Finished | Self::Ended | Self::Output(Errno::PIPE))
    }
}

/// The signal by which the kernel kills a process when memory runs out.
const KILLED: i32 = 9;

/// The end of a line about a failure that ended the job.
const ENDED: &str = "; the job was ended";

impl fmt::Display for JobOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Finished => write!(f, "every rank finished"),
            Self::ContinuedAfterFailures(failures) => {
                for loss in failures {
                    let line = loss.to_string();
                    write!(f, "{}; ", line.strip_suffix(ENDED).unwrap_or(&line))?;
                }
                write!(f, "the others finished")
            }
            Self::ExitCode(process, code) => write!(f, "{process} failed with exit code {code}; the job was ended"),
            Self::RankFailed(process, FailureCause::Signal(signal)) => {
                write!(f, "{process} was killed by {}; the job was ended", SignalName(*signal))
            }
            Self::RankFailed(process, FailureCause::Silent) => {
                write!(f, "{process} ended with exit code 0 in the middle of the job; the job was ended")
            }
            Self::RankFailed(process, FailureCause::OutOfMemory) => {
                write!(f, "{process} was killed by {}, probably because memory ran out; the job was ended", SignalName(KILLED))
            }
            Self::RankFailed(process, FailureCause::Stopped(limit)) => {
                let seconds = limit.as_seconds();
                write!(
                    f,
                    "{process} was stopped (not killed) for longer than the failure limit of {seconds} s (--failure-limit allows more); the job was ended"
                )
            }
            Self::RankFailed(process, FailureCause::ReportedByPeer) => write!(f, "{process} failed; the job was ended"),
            Self::Unreachable(process) => write!(
                f,
                "{process} is alive but unreachable: for 20 times the failure limit nothing of it has arrived, or a datagram has not \
                 arrived at it; check that UDP, and what --fabric uses, pass in both directions (routes, firewalls), that all links carry packets as long \
                 as the MTU of the hosts' interfaces and, with --progress manual, that the rank calls the library; the job was ended"
            ),
            Self::LeftWithoutJoining(process) => {
                write!(f, "{process} ended without joining the job, which other ranks joined; the job was ended")
            }
            Self::NotAPelagoProgram(program) => write!(f, "{program} ended without joining the job: is it a Pelago program?"),
            Self::NoRankJoined(program, limit) => {
                let seconds = limit.as_seconds();
                write!(
                    f,
                    "{program} did not join the job within {seconds} s: is it a Pelago program? (--start-limit allows more)"
                )
            }
            Self::RanksDidNotJoin(process, others, limit) => {
                let seconds = limit.as_seconds();
                let others = if *others == 0 { String::new() } else { format!(" and {others} more") };
                write!(
                    f,
                    "{process}{others} did not join the job within {seconds} s; the job was ended (--start-limit allows more)"
                )
            }
            Self::Deadlock => write!(f, "deadlock: every rank waits and nothing is under way; the job was ended"),
            Self::Aborted => write!(f, "the program ended the job"),
            Self::Ended => write!(f, "a rank ended the job"),
            Self::TimeLimit(limit) => write!(f, "the time limit of {} s has passed; the job was ended", limit.as_seconds()),
            Self::Interrupted(signal) => write!(f, "interrupted by {}; the job was ended", SignalName(*signal)),
            Self::Output(error) => write!(f, "cannot write the output of the ranks: {error}; the job was ended"),
            Self::NotStarted(rank, why) => write!(f, "rank {rank} could not be started: {why}; the job was ended"),
            Self::HostNotReady(host, why) => write!(f, "host {host} could not take part: {why}"),
            Self::HostFailed { host, first, count: 1 } => write!(f, "host {host} failed (rank {first}); the job was ended"),
            Self::HostFailed { host, first, count } => {
                let (first, last) = (first.number(), first.number() + count - 1);
                write!(f, "host {host} failed (ranks {first}-{last}); the job was ended")
            }
        }
    }
}

impl fmt::Display for RankProcess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.location {
            ProcessLocation::Local(process) => write!(f, "rank {} (process {process})", self.rank),
            ProcessLocation::Host(host) => write!(f, "rank {} (host {host})", self.rank),
        }
    }
}

struct SignalName(i32);

impl fmt::Display for SignalName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "signal {}", self.0)?;
        signal_hook::low_level::signal_name(self.0).map_or(Ok(()), |name| write!(f, " ({name})"))
    }
}
