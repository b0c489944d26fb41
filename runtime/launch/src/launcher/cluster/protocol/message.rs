//! The messages between the launcher of a job and the node daemons on its hosts.

use std::ffi::OsString;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use pelago_base::Rank;
use pelago_platform::Fault;
use pelago_shm::RankStage;
use serde::{Deserialize, Serialize};

use crate::TransportChoice;
use crate::launcher::job::state_machine::ProcessEnd;
use crate::system::network::HostAddresses;

/// Both sides must have the same version, because the messages depend on it.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// A message from a node daemon to the launcher of the job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum FromHost {
    /// The first message.
    Hello { version: String, reachable: HostAddresses },
    /// The host cannot execute its assignment.
    Refused(String),
    /// The host is ready to start its ranks. Without a network it has no port; heaps of its ranks may have this size.
    Bound { port: Option<u16>, heap_bytes: u64 },
    /// All ranks of the host were started.
    Started,
    /// A rank could not be started.
    NotStarted { rank: u32, why: String },
    /// All ranks of the host have entered this barrier of the bootstrap, counted from 1.
    Arrived(u64),
    /// A rank's process has ended.
    Ended {
        rank: u32,
        end: ProcessEnd,
        #[serde(with = "StageAsText")]
        stage: RankStage,
    },
    /// A check found a rank stopped.
    Stopped { rank: u32 },
    /// The rank is no longer stopped.
    Continued { rank: u32 },
    /// The program continues after the failure of ranks.
    FaultTolerant,
    /// The ranks of the host have reported a fault.
    Fault(WireFault),
    /// This signal asked the node daemon to end.
    Signal(i32),
    /// The host is alive, with the participation of its ranks; `still` is its count of events, if its ranks are still.
    Pong { round: u64, joined: bool, absent: Option<u32>, absent_besides: u32, still: Option<u64> },
    /// All ranks of the host have ended and their output has been forwarded: the last message.
    Done,
}

/// A message from the launcher of the job to a node daemon.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum ToHost {
    /// The assignment of the host.
    Plan(Box<HostAssignment>),
    /// Every host is ready: the datagram addresses of the ranks of each, and the maximum heap size.
    Start { hosts: Vec<(u32, SocketAddr)>, heap_bytes: u64 },
    /// All ranks of the job have entered this barrier of the bootstrap, counted from 1.
    Release(u64),
    /// The job has a fault.
    Fault(WireFault),
    /// The job continues without this failed rank.
    RankFailed(u32),
    /// End this rank.
    KillOne(u32),
    /// Ask the ranks to end.
    Terminate,
    /// End the ranks.
    Kill,
    /// Report the waits of the ranks.
    Report,
    /// Answer this ping.
    Ping(u64),
    /// Credit for more bytes of a stream.
    Room { stream: usize, bytes: u64 },
}

/// The ranks of a host and their datagram address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct HostAssignment {
    pub(crate) first: u32,
    pub(crate) count: u32,
    /// The datagram address of its ranks, if they use one.
    pub(crate) address: Option<IpAddr>,
    pub(crate) job: JobDescription,
}

/// The part of a job that is the same for all hosts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct JobDescription {
    pub(crate) ranks: u32,
    pub(crate) program: OsString,
    pub(crate) arguments: Vec<OsString>,
    /// Variables of ranks in addition to those of the host.
    pub(crate) environment: Vec<(OsString, OsString)>,
    pub(crate) folder: PathBuf,
    pub(crate) transport: TransportChoice,
    /// Maximum size of a heap in bytes; if absent, a size that every host supports.
    pub(crate) heap_bytes: Option<u64>,
    /// Maximum time for which a rank may be stopped while others run.
    pub(crate) failure_limit_ms: u64,
    /// The job's secret.
    pub(crate) key: [u8; 16],
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "RankStage")]
enum StageAsText {
    Absent,
    Joined,
    Finished,
    Failed,
}

/// A [`Fault`] in a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum WireFault {
    PeerLost(u32),
    Unreachable(u32),
    Aborted,
    Deadlock,
    Ended,
}

impl From<Fault> for WireFault {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::PeerLost(rank) => Self::PeerLost(rank.number()),
            Fault::Unreachable(rank) => Self::Unreachable(rank.number()),
            Fault::Deadlock => Self::Deadlock,
            Fault::Ended => Self::Ended,
            _ => Self::Aborted,
        }
    }
}

impl From<WireFault> for Fault {
    fn from(wire_fault: WireFault) -> Self {
        match wire_fault {
            WireFault::PeerLost(rank) => Self::PeerLost(Rank::new(rank)),
            WireFault::Unreachable(rank) => Self::Unreachable(Rank::new(rank)),
            WireFault::Aborted => Self::Aborted,
            WireFault::Deadlock => Self::Deadlock,
            WireFault::Ended => Self::Ended,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launcher::cluster::protocol::frame::{FrameReader, LauncherFrame, parse, put_message};

    #[test]
    fn a_plan_arrives_with_names_that_are_no_text() {
        use std::os::unix::ffi::OsStringExt;
        let odd = OsString::from_vec(vec![b'a', 0xff, b'\n']);
        let job = JobDescription {
            ranks: 4,
            program: odd.clone(),
            arguments: vec!["--label".into(), odd.clone()],
            environment: vec![(odd, "1".into())],
            folder: "/tmp".into(),
            transport: TransportChoice::Udp,
            heap_bytes: Some(1 << 40),
            failure_limit_ms: 2500,
            key: *b"sixteen letters.",
        };
        let plan = ToHost::Plan(Box::new(HostAssignment { first: 2, count: 2, address: Some([10, 0, 0, 1].into()), job }));
        let mut bytes = Vec::new();
        put_message(&mut bytes, &plan);
        let mut frames = FrameReader::new(1 << 20);
        frames.feed(&bytes);
        let Ok(Some(LauncherFrame::Message(message))) = frames.take() else { panic!("a message") };
        assert_eq!(parse::<ToHost>(message), Ok(plan));
    }

    #[test]
    fn faults_come_back_as_they_were() {
        let faults =
            [Fault::PeerLost(Rank::new(7)), Fault::Unreachable(Rank::new(8)), Fault::Aborted, Fault::Deadlock, Fault::Ended];
        for fault in faults {
            assert_eq!(Fault::from(WireFault::from(fault)), fault);
        }
    }
}
