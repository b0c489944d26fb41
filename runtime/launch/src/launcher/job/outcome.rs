//! How a job ended: its exit code, and the one line about it.

use std::fmt;
use std::sync::Arc;

use pelago_base::{Duration, Rank};
use rustix::io::Errno;

/// How a job ended. `Display` gives the line that says so.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Outcome {
    /// Every rank ended in good order.
    Finished,
    /// The program went on when ranks were lost, and those that were left finished. How each was lost.
    Survived(Vec<Outcome>),
    /// A rank ended with an exit code other than 0.
    Failed(Process, i32),
    /// A rank ended before it had finished.
    Lost(Process, Death),
    /// A rank is alive, but another has heard nothing of it for too long.
    Unreachable(Process),
    /// A rank ended in peace, but never took part, while others did.
    Left(Process),
    /// All ranks of this program ended in peace and none took part.
    Foreign(String),
    /// This program runs, but not one of its ranks took part within the start limit.
    Idle(String, Duration),
    /// This rank, and so many others, did not take part within the start limit.
    Late(Process, u32, Duration),
    /// Every rank waits for another.
    Deadlock,
    /// The program ended the job.
    Aborted,
    /// The time limit has passed.
    TimeLimit(Duration),
    /// The launcher was asked by this signal to end the job.
    Interrupted(i32),
    /// The reader of the output is gone, or the output cannot be written.
    Output(Errno),
    /// A rank could not be started.
    NotStarted(Rank, String),
    /// This host could not take part, and why.
    Unready(Arc<str>, String),
    /// A host was lost with all of its ranks.
    HostLost {
        /// Its name.
        host: Arc<str>,
        /// The first of its ranks.
        first: Rank,
        /// How many ranks it had.
        count: u32,
    },
}

/// A rank and where it runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    /// The rank.
    pub rank: Rank,
    /// Where it runs.
    pub place: Place,
}

/// Where a rank runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// As this process of this host, as the kernel numbers it.
    Here(u32),
    /// On the host of this name.
    On(Arc<str>),
}

/// What is known of the end of a rank that was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Death {
    /// A signal killed it.
    Signal(i32),
    /// It ended with exit code 0 in the middle of the job.
    Silent,
    /// A signal killed it, as the kernel does when memory runs out, which it did meanwhile.
    Memory,
    /// It was stopped for longer than the failure limit, as by SIGSTOP.
    Stopped(Duration),
    /// Another rank says that it was lost.
    Hearsay,
}

impl Outcome {
    /// The exit code of the `pelago` command: 0 good; 1 the program failed; 2 wrong usage; 3 a rank was lost; 4 time limit;
    /// 130 interrupted; 141 the reader of the output went away, as if killed by SIGPIPE.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Survived(losses) => u8::from(losses.iter().any(|loss| matches!(loss, Self::Failed(..)))),
            Self::Finished => 0,
            Self::Failed(..) | Self::Left(_) | Self::Foreign(_) | Self::Idle(..) | Self::Late(..) => 1,
            Self::Deadlock | Self::Aborted => 1,
            Self::Output(Errno::PIPE) => 141,
            Self::Output(_) => 1,
            Self::NotStarted(..) | Self::Unready(..) => 2,
            Self::Lost(..) | Self::Unreachable(_) | Self::HostLost { .. } => 3,
            Self::TimeLimit(_) => 4,
            Self::Interrupted(_) => 130,
        }
    }

    /// Whether there is nothing to say: the job was good, or nobody listens.
    pub fn is_quiet(&self) -> bool {
        matches!(self, Self::Finished | Self::Output(Errno::PIPE))
    }
}

/// What the kernel kills a process with when memory runs out.
const KILLED: i32 = 9;

/// How a line ends about a loss that ended the job.
const ENDED: &str = "; the job was ended";

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Finished => write!(f, "every rank finished"),
            Self::Survived(losses) => {
                for loss in losses {
                    let line = loss.to_string();
                    write!(f, "{}; ", line.strip_suffix(ENDED).unwrap_or(&line))?;
                }
                write!(f, "the others finished")
            }
            Self::Failed(process, code) => write!(f, "{process} failed with exit code {code}; the job was ended"),
            Self::Lost(process, Death::Signal(signal)) => {
                write!(f, "{process} was killed by {}; the job was ended", SignalName(*signal))
            }
            Self::Lost(process, Death::Silent) => {
                write!(f, "{process} ended with exit code 0 in the middle of the job; the job was ended")
            }
            Self::Lost(process, Death::Memory) => {
                write!(f, "{process} was killed by {}, probably because memory ran out; the job was ended", SignalName(KILLED))
            }
            Self::Lost(process, Death::Stopped(limit)) => {
                let seconds = limit.as_seconds();
                write!(
                    f,
                    "{process} was stopped, not dead, for longer than the failure limit of {seconds} s (--failure-limit allows more); the job was ended"
                )
            }
            Self::Lost(process, Death::Hearsay) => write!(f, "{process} was lost; the job was ended"),
            Self::Unreachable(process) => write!(
                f,
                "{process} is alive but cannot be reached: nothing of it has come for 20 times the failure limit; check that UDP passes \
                 both ways (routes, firewalls) and, with --progress manual, that it calls the library; the job was ended"
            ),
            Self::Left(process) => {
                write!(f, "{process} ended without joining the job, which other ranks joined; the job was ended")
            }
            Self::Foreign(program) => write!(f, "{program} ended without joining the job: is it a Pelago program?"),
            Self::Idle(program, limit) => {
                let seconds = limit.as_seconds();
                write!(
                    f,
                    "{program} did not join the job within {seconds} s: is it a Pelago program? (--start-limit allows more)"
                )
            }
            Self::Late(process, others, limit) => {
                let seconds = limit.as_seconds();
                let others = if *others == 0 { String::new() } else { format!(" and {others} more") };
                write!(
                    f,
                    "{process}{others} did not join the job within {seconds} s; the job was ended (--start-limit allows more)"
                )
            }
            Self::Deadlock => write!(f, "deadlock: every rank waits and nothing is under way; the job was ended"),
            Self::Aborted => write!(f, "the program ended the job"),
            Self::TimeLimit(limit) => write!(f, "the time limit of {} s has passed; the job was ended", limit.as_seconds()),
            Self::Interrupted(signal) => write!(f, "interrupted by {}; the job was ended", SignalName(*signal)),
            Self::Output(error) => write!(f, "cannot write the output of the ranks: {error}; the job was ended"),
            Self::NotStarted(rank, why) => write!(f, "{rank} could not be started: {why}; the job was ended"),
            Self::Unready(host, why) => write!(f, "host {host} could not take part: {why}"),
            Self::HostLost { host, first, count: 1 } => write!(f, "host {host} was lost ({first}); the job was ended"),
            Self::HostLost { host, first, count } => {
                let (first, last) = (first.number(), first.number() + count - 1);
                write!(f, "host {host} was lost (ranks {first}-{last}); the job was ended")
            }
        }
    }
}

impl fmt::Display for Process {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Place::Here(process) => write!(f, "{} (process {process})", self.rank),
            Place::On(host) => write!(f, "{} (host {host})", self.rank),
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
